"""Solvers of pymanopt for the same problems, as an independent check.

pymanopt takes seconds to import and sets jax's global float64 flag; it is imported on first use,
and the flag is restored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ldr.solvers.checks import choice
from ldr.solvers.deadline import until_told
from ldr.solvers.errors import ArgumentError, needed
from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.problem import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State, Stopping
from ldr.solvers.status import Status

if TYPE_CHECKING:
    from pymanopt import Problem as TheirProblem
    from pymanopt.manifolds.manifold import Manifold as TheirManifold

PYMANOPT_SOLVERS = {
    "trust-region": "TrustRegions",
    "conjugate-gradient": "ConjugateGradient",
    "steepest-descent": "SteepestDescent",
}


@dataclass(frozen=True)
class Pymanopt(Solver[State]):
    """pymanopt's trust region, conjugate gradient or steepest descent.

    Parameters
    ----------
    algorithm : {"trust-region", "conjugate-gradient", "steepest-descent"}
    """

    default_max_iterations = 10_000

    algorithm: str = "trust-region"

    def __post_init__(self) -> None:
        choice("algorithm", self.algorithm, PYMANOPT_SOLVERS)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"pymanopt:{self.algorithm}"

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        return State(problem.at(M))

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Yield the start, then the end of pymanopt's run."""
        start = self.initialise(problem, M)
        yield start
        if problem.manifold.dimension == 0:  # pymanopt has no manifolds of dimension 0
            yield replace(start, halt=Status.ROUNDING)
        else:
            yield self._run(problem, start.point, stopping)

    def _run(self, problem: RiemannianProblem, start: RiemannianPoint, stop: Stopping) -> State:
        pymanopt = _import_pymanopt()
        manifold = problem.manifold
        limit = self.default_max_iterations if stop.max_iterations is None else stop.max_iterations
        optimizer = getattr(pymanopt.optimizers, PYMANOPT_SOLVERS[self.algorithm])(
            max_time=1e9,
            max_iterations=limit,
            min_gradient_norm=max(stop.threshold(start), np.finfo(float).tiny),
            min_step_size=0.0,
            max_cost_evaluations=10**9,
            verbosity=0,
        )
        memory = _Memory(problem, start)
        theirs = _as_pymanopt(pymanopt, problem, memory)
        try:
            with until_told() as told:
                result = optimizer.run(theirs, initial_point=_split(manifold, start.M))
        except np.linalg.LinAlgError:  # pymanopt's conjugate gradients may step to NaN
            return State(memory.best, halt=Status.NOT_FINITE)
        if told.status is not None:
            return State(memory.best, halt=told.status)
        limited = "max iterations" in result.stopping_criterion
        halt = Status.MAX_ITERATIONS if limited else Status.STALLED
        end = problem.at(_join(manifold, result.point))
        return State(end, halt=halt, iterations=result.iterations)


class _Memory:
    """Cache of the last point, shared by pymanopt's cost, gradient and Hessian callbacks."""

    def __init__(self, problem: RiemannianProblem, start: RiemannianPoint) -> None:
        self._problem = problem
        self._last = self.best = start

    def at(self, M: Array) -> RiemannianPoint:
        if not np.array_equal(M, self._last.M):
            self._last = self._problem.at(M.copy())
            if self._last.value < self.best.value:
                self.best = self._last
        return self._last


def _import_pymanopt() -> ModuleType:
    needed("jax", "a solver of pymanopt", "pymanopt")
    import jax

    flag = jax.config.jax_enable_x64  # importing pymanopt changes this flag of jax
    try:
        needed("pymanopt", "a solver of pymanopt")
        import pymanopt.manifolds
        import pymanopt.optimizers
    finally:
        jax.config.update("jax_enable_x64", flag)
    return pymanopt


def _as_pymanopt(pymanopt: ModuleType, problem: RiemannianProblem, memory: _Memory) -> TheirProblem:
    """Return pymanopt's Problem with this library's value, gradient and Hessian product."""
    manifold = problem.manifold
    theirs = _their_manifold(pymanopt, manifold)
    k = len(manifold.factors)

    def cost(*M: Array) -> float:
        return memory.at(_join(manifold, M)).value

    def gradient(*M: Array) -> Array | list[Array]:
        return _split(manifold, memory.at(_join(manifold, M)).euclidean_gradient)

    def hessian(*args: Array) -> Array | list[Array]:
        point = memory.at(_join(manifold, args[:k]))
        V = _join(manifold, args[k:])
        if not problem.problem.has_hessian:
            return _split(manifold, point.hessian(V))
        problem.count("hessian")
        return _split(manifold, point.point.hessian_vector(V))

    wrap = pymanopt.function.numpy(theirs)
    kind = "euclidean_hessian" if problem.problem.has_hessian else "riemannian_hessian"
    return pymanopt.Problem(
        theirs, wrap(cost), euclidean_gradient=wrap(gradient), **{kind: wrap(hessian)}
    )


def _their_manifold(pymanopt: ModuleType, manifold: Manifold) -> TheirManifold:
    kinds = pymanopt.manifolds
    match manifold:
        case Stiefel(d=d, r=r, retraction=retraction):
            return kinds.Stiefel(d, r, retraction=retraction)
        case Grassmann(d=d, r=r):
            return kinds.Grassmann(d, r)
        case Euclidean(d=d, r=r):
            return kinds.Euclidean(d, r)
        case Product(factors=factors):
            return kinds.Product([_their_manifold(pymanopt, f) for f in factors])
    raise ArgumentError(f"pymanopt has no counterpart of the manifold {manifold}")


def _split(manifold: Manifold, M: Array) -> Array | list[Array]:
    return manifold.split(M) if isinstance(manifold, Product) else M


def _join(manifold: Manifold, parts: Sequence[Array]) -> Array:
    """Convert pymanopt's point (a list on a product) or callback arguments to one array."""
    if isinstance(manifold, Product):
        return manifold.join(parts)
    return np.asarray(parts[0] if isinstance(parts, tuple) else parts)
