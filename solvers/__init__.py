"""How to optimise: manifolds and algorithms. Knows no data and no method."""

from ldr.solvers.descent.conjugate_gradient import ConjugateGradient
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.descent.steepest_descent import SteepestDescent
from ldr.solvers.expectation_maximisation import ExpectationMaximisation
from ldr.solvers.from_pymanopt import PymanoptRun, from_pymanopt
from ldr.solvers.gradients_first import GradientsFirst
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.nonsmooth.coordinate_descent import CoordinateDescent
from ldr.solvers.nonsmooth.penalty import L1, Penalty
from ldr.solvers.nonsmooth.proximal_gradient import ProximalGradient
from ldr.solvers.nonsmooth.smoothing import Smoothing
from ldr.solvers.problem import Point, Problem, Sum
from ldr.solvers.pymanopt import Pymanopt
from ldr.solvers.registry import named_solver, solver_names
from ldr.solvers.run import Iteration, Run, Stopping
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status
from ldr.solvers.stochastic import SVRG
from ldr.solvers.trace_ratio.davidson import Davidson
from ldr.solvers.trace_ratio.self_consistent_field import SelfConsistentField
from ldr.solvers.trust_region import TrustRegion
from ldr.solvers.variable_projection import VariableProjection

__all__ = [
    "L1",
    "LBFGS",
    "SVRG",
    "ConjugateGradient",
    "CoordinateDescent",
    "Davidson",
    "Euclidean",
    "ExpectationMaximisation",
    "GradientsFirst",
    "Grassmann",
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
