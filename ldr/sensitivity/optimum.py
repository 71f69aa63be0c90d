"""An optimum as a function of its data: the point and the inverse of its Hessian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import norm

from ldr.objectives.exponential_family_pca import NaturalParameters
from ldr.objectives.problem import BoundObjective, Placed, has_orthonormal_maps, turned_point
from ldr.objectives.view import Axes
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.rounding import TIED
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.second_order import FlatError, HessianInverse
from ldr.tables import Directions

# Largest number of Newton steps.
_STEPS = 3
# Numbers that are computed in two ways agree if their relative difference is at most this: those of
# jax and of the problem, differences of two step lengths, M and the end of its last Newton step.
ALIKE = 1e-5


class Observed(NamedTuple):
    """Quantities of a result at a point, which can be subtracted.

    - P, M, mean: one array for each view
    - within (r, r): the matrix that canonical axes diagonalise; empty if there is none
    """

    P: tuple[Array, ...]
    M: tuple[Array, ...]
    mean: tuple[Array, ...]
    value: float
    within: Array

    @classmethod
    def of(cls, problem: BoundObjective, M: Array) -> Observed:
        value = problem.reported(problem.value(M))
        maps = problem.maps(M)
        return cls(maps, problem.lift(M), problem.mean_at(M), value, within(problem, M))


def combined(c: float, one: Any, d: float, other: Any) -> Any:
    """Return the linear combination c one + d other of arrays, or of nested tuples."""
    if not isinstance(one, tuple):
        return c * one + d * other
    parts = [combined(c, x, d, y) for x, y in zip(one, other, strict=True)]
    return type(one)(*parts) if hasattr(one, "_fields") else tuple(parts)


class Rate(NamedTuple):
    """Derivatives in t, at fixed M, of a problem's gradient and observed quantities.

    The `observed` quantities may lack M.
    """

    gradient: Array
    observed: Observed


def apart(ones: Sequence[Array], others: Sequence[Array], least: Sequence[float]) -> float:
    """Return the largest relative distance of arrays, at scales of at least `least`."""

    def size(x: Array) -> float:
        return float(norm(x, check_finite=False))  # SciPy's norm does not overflow

    triples = zip(ones, others, least, strict=True)
    return max((size(x - y) / max(size(x), small) for x, y, small in triples), default=0.0)


def within(problem: BoundObjective, M: Array) -> Array:
    """Return the matrix that canonical axes diagonalise, in the basis of M's columns."""
    return matrix_of(problem.axes(M, problem.variations(M)))


def numbers(problem: BoundObjective, M: Array) -> Mapping[str, Array]:
    """Return the component scores, with the columns of M as canonical axes."""
    seen = problem.variations(M)
    axes = problem.axes(M, seen)
    S = matrix_of(axes)
    if len(S):
        turns = (np.eye(len(S)),) * len(axes.turns)
        axes = replace(axes, turns=turns, numbers=np.diag(S).copy())
    own = problem.numbers(M, axes, seen)
    return Directions(own, seen, has_orthonormal_maps(problem), free=axes.free).columns()


def matrix_of(axes: Axes) -> Array:
    """Return the symmetric matrix with the axes as eigenvectors; empty without such axes."""
    if not (axes.free or axes.levels):
        return np.zeros((0, 0))
    Q = axes.turns[0]
    return (Q * axes.numbers) @ Q.T


@dataclass(frozen=True)
class Optimum:
    """A problem at its optimum, in canonical coordinates, with the inverse of its Hessian.

    - M: the point in the solver's coordinates
    - axes: the canonical axes
    - inverse: inverse Hessian on tangent vectors that do not rotate the axes
    """

    problem: BoundObjective
    M: Array
    axes: Axes
    inverse: HessianInverse

    @classmethod
    def of(cls, problem: BoundObjective, M: Array) -> Optimum:
        """Refine a nearby M by Newton steps, because derivatives are only as accurate as M.

        - raises SingularError: M is no stationary point.
        """
        inverse = hessian_inverse(problem, M)
        for _ in range(_STEPS):
            step = _solved(problem, M, inverse, -inverse.gradient)
            N = problem.manifold.retract(M, step)
            if not np.linalg.norm(_gradient(problem, N)) < np.linalg.norm(_gradient(problem, M)):
                break
            M = N
            if _near(M, inverse.M):
                break
            inverse = hessian_inverse(problem, M)
        left = float(np.linalg.norm(step) / np.linalg.norm(M))
        if not left <= ALIKE:
            raise SingularError(
                "the gradient is not zero at M, so no derivative of an optimum exists there: a "
                f"Newton step changes M by {left:.1e} of its norm, expected at most {ALIKE:g}. "
                "Solve with more max_iterations or a smaller tolerance; an optimum at which the "
                "objective is not smooth has no derivative"
            )
        placed = Placed.both(problem, [M])[0]
        if not _near(placed.M, inverse.M):
            inverse = hessian_inverse(problem, placed.M)
        return cls(problem, placed.M, placed.axes, inverse)

    def solve(self, Z: Array) -> Array:
        """Return Hess^{-1}[Z] for the projection of Z to the tangent space.

        - raises SingularError: other optima are adjacent, or the Hessian cannot exclude them.
        """
        return _solved(self.problem, self.M, self.inverse, Z)

    def moved(self, U: Array, turn: Array | None = None) -> Array:
        """Return the point after a step U, with axes rotated by the skew `turn`, to first order."""
        N = self.M + U
        if turn is None:
            return N
        return turned_point(self.problem, N, [np.eye(len(turn)) + turn] * len(self.axes.turns))

    def turn(self, change: Array) -> Array:
        """Return the rotation Om_kl = dS_kl/(s_l - s_k) of S's eigenvectors, with eigenvalues s.

        - raises SingularError: two of the scores s tie.
        """
        numbers = self.axes.numbers
        together = _levels(self.axes)
        gaps = numbers[None, :] - numbers[:, None]
        tied = together & (np.abs(gaps) <= TIED * np.abs(numbers).max())
        if tied.any():
            i, j = map(int, np.argwhere(tied)[0])
            raise SingularError(
                f"components {i} and {j} have equal scores, {numbers[i]:.12g} and "
                f"{numbers[j]:.12g}, so their axes are arbitrary: M, P and the scores have no "
                "derivatives. Use the derivative of the subspace, `projector`"
            )
        return np.where(together, change / np.where(together, gaps, 1.0), 0.0)

    def turned(self, V: Sequence[Array]) -> Array:
        """Return the derivative of <V', maps> in S with axes as eigenvectors; zero without S."""
        pairs = zip(self.problem.maps(self.M), V, strict=True)
        inside = np.sum([P @ each for P, each in pairs], axis=0)
        if not len(matrix_of(self.axes)):
            return np.zeros_like(inside)
        return sym(self.turn(inside))

    @property
    def of_subspace(self) -> Optimum:
        """The optimum for functions of the subspace, which do not depend on the axes."""
        return replace(self, axes=replace(self.axes, free=False, levels=()))


def _levels(axes: Axes) -> np.ndarray:
    """Return True for pairs of distinct axes that belong to the same level."""
    r = len(axes.numbers)
    ends = axes.levels or (r,)
    level = np.searchsorted(ends, np.arange(r), side="right")
    return np.asarray((level[:, None] == level[None, :]) & ~np.eye(r, dtype=bool))


def _near(M: Array, N: Array) -> bool:
    """Return True if the Hessian at M is accurate enough at N."""
    return bool(np.linalg.norm(M - N) <= TIED * np.linalg.norm(M))


def _gradient(problem: BoundObjective, M: Array) -> Array:
    return RiemannianProblem(problem).at(M).gradient


def hessian_inverse(problem: BoundObjective, M: Array) -> HessianInverse:
    """Invert the Hessian at M, excluding rotations of axes and directions without effect."""
    axes = problem.axes(M, problem.variations(M))
    idle = problem.idle(M) if isinstance(problem, NaturalParameters) else ()
    return HessianInverse(problem, M, [*_turns(problem, M, axes), *idle])


def _turns(problem: BoundObjective, M: Array, axes: Axes) -> list[Array]:
    """Return the tangent vectors of axis rotations that leave the value unchanged."""
    if not (axes.free or axes.levels):
        return []
    found = []
    for i, j in np.argwhere(np.triu(_levels(axes))):
        turn = np.zeros((len(axes.numbers),) * 2)
        turn[i, j], turn[j, i] = 1.0, -1.0
        identity = np.eye(len(turn))
        views = len(axes.turns)
        ahead = turned_point(problem, M, [identity + turn] * views)
        ahead = ahead - turned_point(problem, M, [identity] * views)
        found.append(problem.manifold.project(M, ahead))
    return [U for U in found if np.linalg.norm(U) > TIED * np.linalg.norm(M)]


def _solved(problem: BoundObjective, M: Array, inverse: HessianInverse, Z: Array) -> Array:
    """Return Hess^{-1}[Z]; the error for a singular Hessian names the tie."""
    try:
        return inverse(Z)
    except FlatError as error:
        relative = error.curvature / error.largest if error.largest else 0.0
        raise SingularError(
            "the optimum is not isolated, so it is no smooth function of the data. "
            f"{_tied(problem, M, error.direction)}The curvature of the objective in this direction "
            f"is {error.curvature:.3g}, which is {relative:.1e} times the largest curvature. "
            "Another r, a positive ridge= or columns of similar units can make the optimum isolated"
        ) from error


def _tied(problem: BoundObjective, M: Array, direction: Array) -> str:
    """Return a message with the component that can leave the subspace, and the tied scores."""
    blocks = problem.blocks(direction)
    U, _, Vt = np.linalg.svd(np.vstack(blocks), full_matrices=False)
    k = int(np.argmax(np.abs(Vt[0])))
    axes = problem.axes(M, problem.variations(M))
    stays = f"Component {k} can turn out of the subspace without a change of the value. "
    if not len(matrix_of(axes)) or len(problem.manifold.factors) > 1:
        return stays
    inside = float(Vt[0] @ matrix_of(axes) @ Vt[0])
    turned = problem.manifold.nearest(M - np.outer(M @ Vt[0], Vt[0]) + np.outer(U[:, 0], Vt[0]))
    there = matrix_of(problem.axes(turned, problem.variations(turned)))
    outside = float(Vt[0] @ there @ Vt[0])
    if not abs(inside - outside) <= ALIKE * abs(inside):
        return stays
    return (
        f"Component {k}, with score {inside:.12g}, can turn to a direction outside the subspace, "
        f"with score {outside:.12g}. "
    )
