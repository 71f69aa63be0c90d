"""How to optimise: manifolds and algorithms. Knows no data and no method."""

from ldr.solvers.conjugate_gradient import ConjugateGradient
from ldr.solvers.coordinate_descent import CoordinateDescent
from ldr.solvers.davidson import Davidson
from ldr.solvers.expectation_maximisation import ExpectationMaximisation
from ldr.solvers.lbfgs import LBFGS
from ldr.solvers.manifolds import Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.penalty import L1, Penalty
from ldr.solvers.problem import Point, Problem, Sum
from ldr.solvers.proximal_gradient import ProximalGradient
from ldr.solvers.pymanopt import Pymanopt
from ldr.solvers.registry import named_solver, solver_names
from ldr.solvers.self_consistent_field import SelfConsistentField
from ldr.solvers.smoothing import Smoothing
from ldr.solvers.solver import Iteration, Run, Solver, State, Stopping, minimise
from ldr.solvers.status import Status
from ldr.solvers.steepest_descent import SteepestDescent
from ldr.solvers.stochastic import SVRG
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
    "Grassmann",
    "Iteration",
    "Manifold",
    "Penalty",
    "Point",
    "Problem",
    "Product",
    "ProximalGradient",
    "Pymanopt",
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
    "minimise",
    "named_solver",
    "solver_names",
]
