"""Any number of blocks: the covariances, or correlations, of projected views added up."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import block_diag

from ldr.objectives.certificate import PROVED_GLOBAL, Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.data.data import Data
from ldr.objectives.families.bilinear import CoupledPoint
from ldr.objectives.families.joint_bound import DualBounded, Effort, MultiBound, dual_certificate
from ldr.objectives.families.whitened import add_ridge
from ldr.objectives.problem import Stated, check_dimension
from ldr.objectives.starts import random_directions
from ldr.objectives.statistics import ViewMoments, view_moments
from ldr.objectives.statistics.covariance import KnownScatter, Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Compact, Range, View
from ldr.solvers.linalg.bounds import rounding_of_correlations
from ldr.solvers.linalg.eigen import power_of_two, top_eigenvectors
from ldr.solvers.manifolds import Array, Product, Stiefel, polar_factor
from ldr.solvers.problem import Point

_EPS = float(np.finfo(float).eps)
# One in four reached the best of digits in three strips.
_RANDOM_STARTS = 10


class MultiRatioPoint(Point):
    """f = -sum_{i<j} tr(Mi'Cij Mj)/(s_i s_j), s_i^2 = tr(Mi'Cii Mi).

    With R_i = sum_{j != i} Cij Mj/(s_i s_j) and f_i = tr(Mi'R_i) the gradient is
    -(R_i - (f_i/s_i^2) Cii Mi). Its derivative along U, e_i = <Cii Mi, Ui>/s_i^2, has
    dR_i = sum_{j != i} Cij(Uj - (e_i + e_j)Mj)/(s_i s_j) and df_i = <Ui, R_i> + <Mi, dR_i>.
    `squares` are the s_i^2 and `shares` the f_i of the views.
    """

    def __init__(self, problem: MultiRatio, M: Array) -> None:
        self.M = M
        self._problem = problem
        N = self._N = M.reshape(-1, problem.r)
        self._own = problem.own @ N
        self.squares = problem.of_views(N, self._own)
        self._s = problem.rows(np.sqrt(self.squares))
        self.R = (problem.A @ (N / self._s)) / self._s
        self.shares = problem.of_views(N, self.R)

    @property
    def value(self) -> float:
        return -0.5 * float(np.sum(self.shares))

    @cached_property
    def gradient(self) -> Array:
        return (self._problem.rows(self.shares / self.squares) * self._own - self.R).reshape(-1)

    def hessian_vector(self, V: Array) -> Array:
        problem, rows = self._problem, self._problem.rows
        U = V.reshape(-1, problem.r)
        e = problem.of_views(self._own, U) / self.squares
        moved = (U - rows(e) * self._N) / self._s
        dR = (problem.A @ moved) / self._s - rows(e) * self.R
        df = problem.of_views(U, self.R) + problem.of_views(self._N, dR)
        HV = rows((df - 2.0 * e * self.shares) / self.squares) * self._own - dR
        HV += rows(self.shares / self.squares) * (problem.own @ U)
        return HV.reshape(-1)


@dataclass(frozen=True)
class MultiBlock(DualBounded):
    """Blocks M_1, ..., M_K on a product of Stiefel manifolds; they may be turned together.

    - C (k, k): the covariance of the views side by side, in their coordinates
    - widths: of the views
    """

    exchangeable = True

    C: Array
    widths: tuple[int, ...]
    r: int

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.widths))

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        return Product(*(Stiefel(width, self.r) for width in self.widths))

    @property
    def order(self) -> int:
        return sum(self.widths)

    @cached_property
    def ends(self) -> npt.NDArray[np.intp]:
        """Where the views begin and end among the columns."""
        return np.cumsum([0, *self.widths])

    def slices(self) -> list[slice]:
        return [slice(a, b) for a, b in zip(self.ends, self.ends[1:], strict=False)]

    def rows(self, of_views: Array) -> Array:
        """A number of each view at all its rows, (k, 1)."""
        return np.repeat(of_views, self.widths)[:, None]

    def of_views(self, X: Array, Y: Array) -> Array:
        """tr(Xi'Yi) of each view."""
        return np.add.reduceat(np.einsum("ij,ij->i", X, Y), self.ends[:-1])

    @cached_property
    def own(self) -> Array:
        """The blocks Cii on the diagonal."""
        return block_diag(*(self.C[where, where] for where in self.slices()))

    @property
    @abstractmethod
    def A(self) -> Array:
        """What the views are coupled by."""

    def stacked(self, M: Array) -> Array:
        """The blocks below one another."""
        return M.reshape(-1, self.r)

    def polar(self, N: Array) -> Array:
        """The point of the matrices nearest to the blocks of N."""
        return self.point([polar_factor(_of_unit_size(N[where])) for where in self.slices()])

    def joint_directions(self) -> Array:
        """The leading eigenvectors of A, their blocks made orthonormal."""
        return self.polar(top_eigenvectors(self.A, self.r)[1])

    def classical_directions(self) -> Array | None:
        """Those of C w = lambda blkdiag(Cii) w, made orthonormal; None where a Cii is singular."""
        try:
            W = np.linalg.inv(np.linalg.cholesky(self.own)).T
        except np.linalg.LinAlgError:
            return None
        return self.polar(W @ top_eigenvectors(W.T @ self.C @ W, self.r)[1])

    def starts(self) -> dict[str, Array]:
        found = {"joint eigenvectors": self.joint_directions()}
        if (classical := self.classical_directions()) is not None:
            found["classical mcca"] = classical
        own = [top_eigenvectors(self.C[w, w], self.r)[1] for w in self.slices()]
        found["pca of each view"] = self.point([polar_factor(V) for V in own])
        return found | random_directions(self, _RANDOM_STARTS)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """The eigenvectors of M'AM/2, the views in units of what they are divided by."""
        N = self.stacked(M) / self.scales(M)
        turn = Axes.principal(0.5 * N.T @ self.A @ N)
        return replace(turn, turns=turn.turns * len(self.widths))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """What each direction adds to the value; between them the views may covary too."""
        return {} if axes.numbers is None else {"contribution": axes.numbers * self.unit}

    @abstractmethod
    def scales(self, M: Array) -> Array:
        """What the rows of each view's block are divided by, (k, 1)."""

    def certified(self, M: Array, effort: Effort | None) -> Certificate:
        value, bound = -self.at(M).value, self.bound(M, effort)
        size = max(abs(value), abs(bound)) if math.isfinite(bound) else abs(value)
        gap = max(0.0, bound - value) + 4 * self.order * _EPS * size + self.hidden(M)
        found = dual_certificate(gap * self.unit, PROVED_GLOBAL * size * self.unit)
        return found if self.span is None else found.restricted_to(self.span)

    def bound(self, M: Array, effort: Effort | None = None) -> float:
        """A number that no value exceeds; with an effort nearer the least that is known."""
        value = -self.at(M).value
        return self.bounds().of(self.blocks(M), value, effort)

    @abstractmethod
    def bounds(self) -> MultiBound:
        """Of the Ci with s_i^2 = tr(Mi'Ci Mi)."""


@dataclass(frozen=True)
class MultiTrace(MultiBlock):
    """Maximise tr(M'AM)/2 = sum_{i<j} tr(Mi'Cij Mj), and half of those with i = j where `within`.

    - within: whether the views' own covariances count
    """

    within: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        size = power_of_two(self.C)
        vars(self).update(C=self.C / size, unit=self.unit * size)

    @cached_property
    def A(self) -> Array:
        return self.C if self.within else self.C - self.own

    def at(self, M: Array) -> CoupledPoint:
        return CoupledPoint(M, self.r, self.A.__matmul__)

    def scales(self, M: Array) -> Array:
        return np.ones((self.order, 1))

    def baseline(self) -> Array:
        return self.joint_directions()

    def bounds(self) -> MultiBound:
        """Nothing is divided by: tr(Mi'Mi)/r = 1."""
        return MultiBound(self.A, [np.eye(width) / self.r for width in self.widths])


@dataclass(frozen=True)
class MultiRatio(MultiBlock):
    """Maximise sum_{i<j} tr(Mi'Cij Mj) / (s_i s_j), s_i^2 = tr(Mi'Cii Mi).

    - sums (k,): what the rounding of C is relative to, which may be more than its diagonal: c_i^2
    """

    sums: Array

    def __post_init__(self) -> None:
        super().__post_init__()
        # Powers of two, so that nothing is rounded: f does not depend on the units of the views.
        traces = [float(np.trace(self.C[where, where])) for where in self.slices()]
        shifts = np.repeat([-(math.frexp(trace)[1] // 2) for trace in traces], self.widths)
        vars(self).update(
            C=np.ldexp(self.C, shifts[:, None] + shifts), sums=np.ldexp(self.sums, 2 * shifts)
        )

    @cached_property
    def A(self) -> Array:
        return self.C - self.own

    def at(self, M: Array) -> MultiRatioPoint:
        return MultiRatioPoint(self, M)

    def scales(self, M: Array) -> Array:
        return self.rows(np.sqrt(self.at(M).squares))

    def baseline(self) -> Array:
        found = self.classical_directions()
        return self.joint_directions() if found is None else found

    def hidden(self, M: Array) -> float:
        point = self.at(M)
        N = self.stacked(M) / self.scales(M)
        return rounding_of_correlations(N, self.sums, self.slices(), point.shares)

    def bounds(self) -> MultiBound:
        return MultiBound(self.A, [self.C[where, where] for where in self.slices()])


def multi_trace(
    objective: Stated,
    data: Data,
    r: int,
    *,
    within: bool = False,
    room: int = 0,
    summed: bool = False,
) -> MultiTrace:
    """The covariances of the views, or with `summed` their sums over the rows."""
    views, stats = _sums([Compact.of(view, room=room, quiet=True) for view in data.views])
    widths = tuple(map(len, stats.means))
    C = stats.scatter if summed else stats.scatter / stats.n
    return MultiTrace(objective, tuple(views), C, widths, r, within=within)


def multi_ratio(
    objective: Stated,
    compacts: Sequence[Compact],
    r: int,
    *,
    ridge: float,
    shrunk: JointShrinkage | None,
) -> MultiRatio:
    """The correlations of the views, each on the range of its covariance."""
    views, stats = _sums(compacts)
    if shrunk is not None:
        stats = replace(stats, scatter=stats.scatter + stats.n * block_diag(*shrunk.added))
    kept = [
        Range.of(stats.block(i, i), view.coordinates, f"the covariance of view {i + 1}")
        for i, view in enumerate(views)
    ]
    rows: list[list[Array]] = [[] for _ in kept]
    for i, a in enumerate(kept):
        for j, b in enumerate(kept):
            block = b.rows(a.rows(stats.block(i, j) / stats.n).T).T
            if i == j:
                block, ridged = add_ridge(block, ridge, f"C{i + 1}{i + 1}")
                views[i] = views[i].within(a).noting(*ridged)
            rows[i].append(block)
    widths = tuple(len(row[0]) for row in rows)
    spread = [np.diag(stats.block(i, i)) / stats.n for i in range(len(kept))]
    sums = np.concatenate([one.squares(of) for one, of in zip(kept, spread, strict=True)])
    chosen = chosen_by(shrunk)
    return MultiRatio(objective, tuple(views), np.block(rows), widths, r, sums, chosen=chosen)


def _sums(compacts: Sequence[Compact]) -> tuple[list[View], ViewMoments]:
    """The way back of each view, and the sums of all side by side."""
    stats = view_moments([compact.rows for compact in compacts])
    views = [
        compact.view(mean, KnownScatter(stats.block(i, i), stats.n))
        for i, (compact, mean) in enumerate(zip(compacts, stats.means, strict=True))
    ]
    return views, stats


def _of_unit_size(B: Array) -> Array:
    """A multiple of B whose squares are numbers: views may be in units far apart."""
    size = float(np.abs(B).max())
    return B / size if size > 0 else B
