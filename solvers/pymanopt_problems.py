"""Problems defined with pymanopt, for the solvers of this library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.problem import Point, Problem
from ldr.solvers.registry import named_solver
from ldr.solvers.solver import AnySolver, Observer, Run, Stopping, minimise

if TYPE_CHECKING:
    from pymanopt import Problem as TheirProblem
    from pymanopt.manifolds.manifold import Manifold as TheirManifold


_FITTING = ("Stiefel", "Grassmann", "Sphere", "Euclidean")


@dataclass(frozen=True)
class PymanoptRun(Run):
    """A run with its final point in pymanopt's form.

    Attributes
    ----------
    point : ndarray or list of ndarray
        The final point; a list for a product manifold.
    """

    point: Any = None


def from_pymanopt(
    problem: TheirProblem,
    initial_point: Any = None,
    *,
    solver: str | AnySolver = "trust-region",
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
) -> PymanoptRun:
    """Minimise the cost of a pymanopt Problem by a solver of this library.

    Parameters
    ----------
    problem : pymanopt.Problem
        Its manifold is a Stiefel, Grassmann, Sphere or Euclidean manifold of real numbers, a power
        of one (``k=``) or a Product of these. Gradient and Hessian are those of the problem. If the
        Hessian is missing, differences of gradients replace it. The problem's preconditioner and
        the manifold's retraction are not used.
    initial_point : ndarray or list of ndarray, optional
        The initial point in pymanopt's form; by default the manifold's random point from NumPy's
        global generator, as in pymanopt.
    solver : str or Solver
        A solver for smooth functions: "trust-region", "lbfgs", "gradients-first",
        "conjugate-gradient" or "steepest-descent".
    stopping : Stopping, optional
    observers : sequence of callables
        Each is called with every `Iteration`.

    Returns
    -------
    PymanoptRun
        The attribute `point` has the form of pymanopt's results; `value` is the cost at this point.

    Raises
    ------
    ldr.errors.ArgumentError
        The problem is not a pymanopt Problem, the manifold has no counterpart in this library, or
        the initial point has the wrong shape.

    Notes
    -----
    An object whose `run` is this function can replace a pymanopt optimiser in libraries that call
    ``optimizer.run(problem, initial_point=...)``.

    Examples
    --------
    >>> import numpy as np, pymanopt
    >>> from pymanopt.manifolds import Grassmann
    >>> from ldr.solvers import from_pymanopt
    >>> A = np.diag([5.0, 4.0, 1.0, 0.5])
    >>> manifold = Grassmann(4, 2)
    >>> @pymanopt.function.autograd(manifold)
    ... def cost(U):
    ...     return -np.trace(U.T @ A @ U)
    >>> run = from_pymanopt(pymanopt.Problem(manifold, cost))
    >>> run.point.shape, round(run.value, 10)
    ((4, 2), -9.0)
    """
    pymanopt = sys.modules.get("pymanopt")
    if pymanopt is None or not isinstance(problem, pymanopt.Problem):
        raise ArgumentError(f"expected a pymanopt.Problem, got {type(problem).__name__}")
    if initial_point is None:
        initial_point = problem.manifold.random_point()
    layout = _Layout.of(pymanopt.manifolds, problem.manifold, initial_point)
    method = named_solver(solver) if isinstance(solver, str) else solver
    start = layout.ours(initial_point)
    run = minimise(_Theirs(problem, layout, start), start, method, stopping, observers)
    told = {field.name: getattr(run, field.name) for field in fields(run)}
    return PymanoptRun(**told, point=layout.theirs(run.M))


@dataclass(frozen=True)
class _Layout:
    """Map between pymanopt's point, an array or a list of arrays, and a single array.

    - manifold: the manifold of this library
    - shapes: shapes of pymanopt's arrays
    """

    manifold: Manifold
    shapes: tuple[tuple[int, ...], ...]
    listed: bool

    @classmethod
    def of(cls, kinds: Any, manifold: TheirManifold, point: Any) -> _Layout:
        listed = isinstance(manifold, kinds.Product)
        factors, points = (manifold.manifolds, point) if listed else ((manifold,), (point,))
        for factor in factors:
            if type(factor) not in [getattr(kinds, name) for name in _FITTING]:
                raise ArgumentError(
                    f"the manifold {factor} of the pymanopt problem has no counterpart in ldr, "
                    f"expected {', '.join(_FITTING)} or a Product of these; use an optimizer of "
                    "pymanopt instead"
                )
        if len(points) != len(factors):
            raise ArgumentError(
                f"initial_point has {len(points)} arrays, expected one per factor of {manifold}"
            )
        shapes = tuple(np.shape(part) for part in points)
        parts = zip(factors, shapes, strict=True)
        ours = [one for factor, shape in parts for one in _counterparts(kinds, factor, shape)]
        return cls(ours[0] if len(ours) == 1 else Product(*ours), shapes, listed)

    def ours(self, theirs: Any) -> Array:
        parts = theirs if self.listed else (theirs,)
        flat = np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])
        return flat.reshape(self.manifold.shape)

    def theirs(self, Z: Array) -> Any:
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        cut = np.split(np.array(Z).ravel(), ends[:-1])
        parts = [part.reshape(shape) for part, shape in zip(cut, self.shapes, strict=True)]
        return parts if self.listed else parts[0]


def _counterparts(kinds: Any, theirs: TheirManifold, shape: tuple[int, ...]) -> list[Manifold]:
    """Return the manifolds that correspond to a pymanopt manifold, several for a power."""
    kind, size = type(theirs), int(np.prod(shape))
    found: list[Manifold]
    if kind in (kinds.Euclidean, kinds.Sphere):
        found = [Euclidean(size) if kind is kinds.Euclidean else Stiefel(size, 1)]
    else:
        if len(shape) not in (2, 3):
            raise ArgumentError(f"initial_point has shape {shape}, expected an n x p matrix")
        *power, d, r = shape
        ours = Stiefel if kind is kinds.Stiefel else Grassmann
        found = [ours(d, r) for _ in range(power[0] if power else 1)]
    if sum(one.dimension for one in found) != theirs.dim:
        raise ArgumentError(f"initial_point has the wrong shape {shape} for the manifold {theirs}")
    return found


class _Theirs(Problem):
    """A pymanopt cost with the derivatives that pymanopt provides.

    A problem that has only a Riemannian gradient and Hessian uses these as Euclidean ones: the
    Lagrange multiplier of a tangent gradient is zero, so that the Riemannian results are unchanged.
    """

    def __init__(self, problem: TheirProblem, layout: _Layout, M: Array) -> None:
        self.manifold, self.cost, self.layout = layout.manifold, problem.cost, layout
        point = layout.theirs(M)
        direction = layout.theirs(self.manifold.project(M, np.ones_like(M)))
        there = [
            (
                _if_there(problem, f"{kind}_gradient", point),
                _if_there(problem, f"{kind}_hessian", point, direction),
            )
            for kind in ("euclidean", "riemannian")
        ]
        whole = [pair for pair in there if None not in pair]
        self.first, self.second = next((pair for pair in (*whole, *there) if pair[0]), (None, None))
        if self.first is None:
            raise ArgumentError(
                "the pymanopt problem has no gradient: its backend computes no gradients; give "
                "euclidean_gradient=, or write the cost for another backend"
            )
        self.has_hessian = self.second is not None

    def at(self, M: Array) -> Point:
        return _TheirPoint(self, M)


def _if_there(problem: TheirProblem, name: str, *arguments: Any) -> Callable[..., Any] | None:
    """Return a derivative of the problem; None if its backend does not provide it."""
    try:
        found: Callable[..., Any] = getattr(problem, name)
        found(*arguments)
    except NotImplementedError:
        return None
    return found


class _TheirPoint(Point):
    def __init__(self, problem: _Theirs, M: Array) -> None:
        self.M = M
        self._problem, self._point = problem, problem.layout.theirs(M)

    @cached_property
    def value(self) -> float:
        return float(self._problem.cost(self._point))

    @cached_property
    def gradient(self) -> Array:
        assert self._problem.first is not None
        return self._problem.layout.ours(self._problem.first(self._point))

    def hessian_vector(self, V: Array) -> Array:
        layout = self._problem.layout
        assert self._problem.second is not None
        return layout.ours(self._problem.second(self._point, layout.theirs(V)))
