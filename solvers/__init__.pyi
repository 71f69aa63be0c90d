from .coordinate_descent import CoordinateDescent
from .descent import LBFGS, ConjugateGradient, SteepestDescent
from .likelihoods import ExpectationMaximisation, Imputation, VariableProjection
from .manifolds import Euclidean, Grassmann, Manifold, Product, Stiefel
from .problem import L1, Penalty, Point, Problem, Sum
from .proximal_gradient import ProximalGradient, Smoothing
from .pymanopt import Pymanopt
from .pymanopt_problems import PymanoptRun, from_pymanopt
from .registry import named_solver, solver_names
from .solver import Iteration, Run, Solver, State, Stopping, minimise
from .status import Status
from .stochastic import SVRG
from .trace_ratio import SelfConsistentField
from .trust_region import GradientsFirst, TrustRegion

__all__ = [
    "L1",
    "LBFGS",
    "SVRG",
    "ConjugateGradient",
    "CoordinateDescent",
    "Euclidean",
    "ExpectationMaximisation",
    "GradientsFirst",
    "Grassmann",
    "Imputation",
    "Iteration",
    "Manifold",
    "Penalty",
    "Point",
    "Problem",
    "Product",
    "ProximalGradient",
    "Pymanopt",
    "PymanoptRun",
    "Run",
    "SelfConsistentField",
    "Smoothing",
    "Solver",
    "State",
    "Status",
    "SteepestDescent",
    "Stiefel",
    "Stopping",
    "Sum",
    "TrustRegion",
    "VariableProjection",
    "from_pymanopt",
    "minimise",
    "named_solver",
    "solver_names",
]
