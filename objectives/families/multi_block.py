"""Sums of covariances or correlations of the projections of two or more views.

A dual upper bound certifies the values. Let A be a symmetric block matrix, and Q_i symmetric
matrices with blkdiag(Q_1, ..., Q_K) >= A. All orthonormal M_1, ..., M_K then satisfy the
inequalities

    tr(N'AN)/2 <= sum_i tr(Ni'Qi Ni)/2 <= sum_i TR_r(Qi, Ci)/2,   Ni = Mi / sqrt(tr(Mi'Ci Mi)),

where TR_r is the largest trace ratio. The Q_i are the multipliers at a stationary point: the bound
is tight if blkdiag(Q) - A is semidefinite. For other multipliers the diagonals of the Q_i are
increased until the inequality holds. The increase and the bounds of the trace ratios include
rounding errors. The least bound over all Q is a semidefinite program, which is not solved.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg import block_diag

from ldr.objectives.data.data import Data
from ldr.objectives.families.whitened import add_ridge, ridge_amount
from ldr.objectives.prediction import PairedViews
from ldr.objectives.problem import PROVED_GLOBAL, Certificate, LocalOptima, Stated, check_dimension
from ldr.objectives.starts import random_directions
from ldr.objectives.statistics import ViewMoments, view_moments
from ldr.objectives.statistics.scatters import KnownScatter, Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Axes, Compact, Range, View, noted, span_of
from ldr.solvers.deadline import decomposing
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING, largest_sum_bound
from ldr.solvers.linalg.eigen import power_of_two, rank_tolerance, top_eigenvectors, unit_diagonal
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.manifolds import Array, Product, Stiefel, polar_factor
from ldr.solvers.manifolds.manifold import qr_factor, sym, thin_svd
from ldr.solvers.problem import Point, Preconditioner, Problem

# Numbers of random initial points: for two views, and for three or more. On the digits data, split
# into three views, one of four points leads to the best value.
_STARTS_OF_TWO, _STARTS = 5, 10
# Correlation above which two components of a view are nearly collinear.
_ALIKE = 0.95


class Blocks(Problem):
    """Problem in blocks M_1, ..., M_K of r columns on a product of Stiefel manifolds.

    - widths: number of columns of each view
    """

    widths: tuple[int, ...]
    r: int

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        return Product(*(Stiefel(width, self.r) for width in self.widths))

    @cached_property
    def offsets(self) -> npt.NDArray[np.intp]:
        """Offsets of the views' columns."""
        return np.cumsum([0, *self.widths])

    def slices(self) -> list[slice]:
        return [slice(a, b) for a, b in zip(self.offsets, self.offsets[1:], strict=False)]

    def rows(self, of_views: Array) -> Array:
        """Repeat a value of each view for all of the view's columns, (k, 1)."""
        return np.repeat(of_views, self.widths)[:, None]

    @cached_property
    def inside(self) -> Array:
        """Indicator of each view's columns, (K, k, 1)."""
        return np.repeat(np.eye(len(self.widths)), self.widths, axis=1)[:, :, None]


class CoupledPoint(Point):
    """f = -tr(N'AN)/2 with the stacked blocks N of M; gradient -AN, Hessian product -AV."""

    def __init__(self, M: Array, r: int, times: Callable[[Array], Array]) -> None:
        self.M, self._r, self._times = M, r, times

    @cached_property
    def value(self) -> float:
        return 0.5 * float(np.vdot(self.M, self.gradient))

    @cached_property
    def gradient(self) -> Array:
        return self.hessian_vector(self.M)

    def hessian_vector(self, V: Array) -> Array:
        return -self._times(V.reshape(-1, self._r)).reshape(-1)


class CorrelationBlocks(Blocks):
    """Base of sums of correlations of projected views, by arrays or by products.

    - left_out: constant added to each squared denominator s_i^2 = tr(Mi'Cii Mi)
    """

    left_out: Array | float = 0.0

    @abstractmethod
    def products(self, N: Array) -> tuple[Array, Array]:
        """Return the stacked products Cii Ni, and for each j those of Cij Nj, i != j (K, k, r)."""

    @abstractmethod
    def combined(self, own: Array, s: Array) -> SymmetricOperator:
        """Return the matrix with diagonal blocks own_i Cii and other blocks -Cij / (s_i s_j)."""


class CorrelationPoint(Point):
    """f = -sum_{i<j} tr(Mi'Cij Mj)/(s_i s_j) with s_i^2 = tr(Mi'Cii Mi).

    The gradient of f is (f_i/s_i^2) Cii Mi - R_i with T_ij = Cij Mj/(s_i s_j), R_i = sum_j T_ij and
    f_i = tr(Mi'R_i). The derivative of the gradient along U, with e_i = <Cii Mi, Ui>/s_i^2, is KU +
    sum_j e_j T_ij + e_i R_i + (df_i - 2 e_i f_i)/s_i^2 Cii Mi. K has the blocks (f_i/s_i^2) Cii and
    -Cij/(s_i s_j), and df_i = <Ui, R_i> + sum_j <T_ji, Uj> - sum_j e_j tr(Mi'T_ij) - e_i f_i.

    The attributes are `squares` (s_i^2), `shares` (f_i) and `scaled` (the stacked Mi/s_i). The
    attribute `_terms` has the T_.j, R_i and Cii Mi as rows, each with zeros for the other views.
    """

    def __init__(self, problem: CorrelationBlocks, M: Array) -> None:
        self.M, self._problem = M, problem
        N, inside = M.reshape(-1, problem.r), problem.inside
        each = len(inside), M.size
        own, across = problem.products(N)
        own = inside * own
        self.squares = own.reshape(each) @ M + problem.left_out
        self.s = np.sqrt(self.squares)
        s = problem.rows(self.s)
        self.scaled = N / s
        T = across / s / self.s[:, None, None]
        self._between = (inside * N).reshape(each) @ T.reshape(each).T
        self.shares = self._between.sum(axis=1)
        self._terms = np.concatenate([T, inside * T.sum(axis=0), own]).reshape(-1, M.size)

    @property
    def value(self) -> float:
        return -0.5 * float(self.shares.sum())

    @cached_property
    def gradient(self) -> Array:
        k = len(self.shares)
        return np.append(np.full(k, -1.0), self.shares / self.squares) @ self._terms[k:]

    @cached_property
    def matrix(self) -> SymmetricOperator:
        """Matrix K whose product with a tangent vector is the main term of the Hessian product."""
        return self._problem.combined(self.shares / self.squares, self.s)

    def hessian_vector(self, V: Array) -> Array:
        f = self.shares
        across, along, own = (self._terms @ V).reshape(3, -1)
        e = own / self.squares
        df = along + across - self._between @ e - e * f
        HV = (self.matrix @ V.reshape(-1, self._problem.r)).reshape(-1)
        return HV + np.concatenate([e, e, (df - 2.0 * e * f) / self.squares]) @ self._terms


@dataclass(frozen=True)
class MultiBlock(Blocks, LocalOptima):
    """A function of blocks, invariant to joint rotations, with a dual bound by multipliers.

    - C (k, k): covariance of the concatenated views, in the solver's coordinates
    - is_part: True if M also has parts outside of these coordinates; see `beyond`
    """

    exchangeable = True

    C: Array
    widths: tuple[int, ...]
    r: int
    is_part: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.widths))

    @property
    def order(self) -> int:
        """Number of columns of all views."""
        return sum(self.widths)

    @cached_property
    def within_views(self) -> Array:
        """Block-diagonal matrix of the Cii."""
        return block_diag(*(self.C[where, where] for where in self.slices()))

    @cached_property
    def between(self) -> Array:
        """C without the blocks Cii."""
        return self.C - self.within_views

    @property
    @abstractmethod
    def A(self) -> Array:
        """Matrix A that couples the views."""

    def made_orthonormal(self, N: Array, how: Callable[[Array], Array] = polar_factor) -> Array:
        """Return the point of the blocks of N after orthonormalising each block."""
        blocks = [N[where] for where in self.slices()]
        return self.point([how(block / power_of_two(block)) for block in blocks])

    def _leading(self, A: Array) -> tuple[Array, Array]:
        """Return the r largest eigenvalues and eigenvectors of A."""
        *_, first, last = self.slices()
        if len(self.widths) > 2 or A[first, first].any() or A[last, last].any():
            return top_eigenvectors(A, self.r)
        U, values, Vt = thin_svd(A[first, last])
        return values[: self.r], np.concatenate([U[:, : self.r], Vt[: self.r].T])

    @cached_property
    def joint_directions(self) -> Array:
        """The leading eigenvectors of A."""
        return self._leading(self.A)[1]

    @cached_property
    def canonical(self) -> tuple[Array, Array]:
        """The r largest lambda with C w = (1 + lambda) blkdiag(Cii) w, and their eigenvectors w."""
        roots = [_inverse_factor(self.C[where, where]) for where in self.slices()]
        pairs = list(zip(self.slices(), roots, strict=True))
        values, V = self._leading(
            np.block([[U.T @ self.between[a, b] @ W for b, W in pairs] for a, U in pairs])
        )
        return values, np.concatenate([W @ V[where] for where, W in pairs])

    def starts(self) -> dict[str, Array]:
        two = len(self.widths) == 2
        joint = self.made_orthonormal(self.joint_directions)
        found = {"singular vectors" if two else "joint eigenvectors": joint}
        with suppress(SingularError):
            found["cca" if two else "mcca"] = self.made_orthonormal(self.canonical[1])
        own = [top_eigenvectors(self.C[w, w], self.r)[1] for w in self.slices()]
        found["pca of each view"] = self.made_orthonormal(np.concatenate(own))
        return found | random_directions(self, _STARTS_OF_TWO if two else _STARTS)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the eigenvectors of N'AN/2, where N stacks the blocks Mi/s_i of M."""
        N = self.scaled(M)
        turn = Axes.principal(0.5 * N.T @ self.A @ N)
        return replace(turn, turns=turn.turns * len(self.widths))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return each component's contribution to the value; components may be correlated."""
        return {"contribution": axes.numbers * self.unit}

    @abstractmethod
    def scaled(self, M: Array) -> Array:
        """Return the stacked blocks of M (k, r), each divided by the view's denominator."""

    @property
    @abstractmethod
    def bounds(self) -> MultiBound:
        """Dual bounds for covariances Ci as denominators, s_i^2 = tr(Mi'Ci Mi)."""

    def bound(self, M: Array) -> float:
        """Return an upper bound of all values."""
        return self.bounds.of(self.blocks(M))

    def certificate(self, M: Array) -> Certificate:
        """Certify M by the dual bound of its multipliers.

        At a stationary M the bound is tight if blkdiag(Q) - A is positive semidefinite for the
        multipliers Q. See `MultiBound`.
        """
        value, bound = -self.at(M).value, self.bound(M)
        size = max(abs(value), abs(bound)) if math.isfinite(bound) else abs(value)
        gap = max(0.0, bound - value) + 4 * self.order * float(np.finfo(float).eps) * size
        found = Certificate.of_gap(
            (gap + self.hidden(M)) * self.unit,
            PROVED_GLOBAL * size * self.unit,
            "the dual bound equals the value",
            "no value exceeds the dual bound",
            "the covariances are too close to singular for a bound",
        )
        if (span := span_of(self.views)) is None or self.holds_outside(value):
            return found
        return found.restricted_to(span)

    def holds_outside(self, value: float) -> bool:
        """Return True if the certificate also holds for M outside of the coordinates."""
        return False

    def beyond(self) -> Self:
        """Return the same function, defined also for M with parts outside of the coordinates."""
        other = copy(self)
        vars(other).update(is_part=True)
        return other

    def proof(self, M: Array) -> Certificate | None:
        if self.searched is not None:  # the dual bound needs all columns of X
            return None
        found = self.certificate(M)
        return found if found.is_optimal else None


@dataclass(frozen=True)
class MultiTrace(MultiBlock):
    """Maximise sum_{i<j} tr(Mi'Cij Mj), plus half of sum_i tr(Mi'Cii Mi) if `within`.

    - within: True if the views' own covariances are included
    """

    within: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        size = power_of_two(self.C)
        vars(self).update(C=self.C / size, unit=self.unit * size)

    @property
    def A(self) -> Array:
        return self.C if self.within else self.between

    def at(self, M: Array) -> CoupledPoint:
        return CoupledPoint(M, self.r, self.A.__matmul__)

    def scaled(self, M: Array) -> Array:
        return M.reshape(-1, self.r)

    def baseline(self) -> Array:
        return self.made_orthonormal(self.joint_directions)

    @property
    def bounds(self) -> MultiBound:
        """Dual bounds with the denominators tr(Mi'Mi)/r = 1."""
        return MultiBound(self.A, [np.eye(width) / self.r for width in self.widths])


@dataclass(frozen=True)
class MultiRatio(MultiBlock, CorrelationBlocks):
    """Maximise sum_{i<j} tr(Mi'Cij Mj) / (s_i s_j), s_i^2 = tr(Mi'Cii Mi).

    - sums (k,): sizes c_i^2 of the terms summed in C, for bounds of rounding errors
    - ridges: constants added to the diagonals of the Cii, also outside of the coordinates
    - only_constant: True if only constant columns are outside of the coordinates
    - orthonormalise in {"polar", "qr"}: orthonormalisation of the baseline's directions
    - ends: the user's Mi at the optimum found from the baseline in a larger space
    """

    sums: Array
    ridges: Array = field(default_factory=lambda: np.zeros(1), kw_only=True)
    only_constant: bool = field(default=True, kw_only=True)
    orthonormalise: str = field(default="polar", kw_only=True)
    ends: tuple[Array, Array] | None = field(default=None, kw_only=True)
    _units: Array = field(init=False)  # factors (powers of two) that scale the views

    def __post_init__(self) -> None:
        super().__post_init__()
        # The scale of a view does not change f, and a power of two causes no rounding.
        traces = [float(np.trace(self.C[where, where])) for where in self.slices()]
        shifts = np.array([-(math.frexp(trace)[1] // 2) for trace in traces])
        each = np.repeat(shifts, self.widths)
        vars(self).update(
            C=np.ldexp(self.C, each[:, None] + each),
            sums=np.ldexp(self.sums, 2 * each),
            ridges=np.ldexp(np.broadcast_to(self.ridges, shifts.shape), 2 * shifts),
            _units=np.ldexp(1.0, shifts),
        )

    @property
    def A(self) -> Array:
        return self.between

    @property
    def own(self) -> Array:
        """Block-diagonal matrix of the Cii, without ridges if `is_part`."""
        if not (self.is_part and self.ridges.any()):
            return self.within_views
        return self.within_views - np.diag(np.repeat(self.ridges, self.widths))

    @property
    def left_out(self) -> Array | float:  # type: ignore[override]
        """The ridges times tr(Mi'Mi), unless `own` contains the ridges."""
        return self.ridges * self.r if self.is_part else 0.0

    def products(self, N: Array) -> tuple[Array, Array]:
        return self.own @ N, np.array(
            [self.between[:, where] @ N[where] for where in self.slices()]
        )

    def combined(self, own: Array, s: Array) -> Array:
        s = self.rows(s)
        return self.rows(own) * self.own - self.between / s / s.T

    def at(self, M: Array) -> CorrelationPoint:
        return CorrelationPoint(self, M)

    def scaled(self, M: Array) -> Array:
        return self.at(M).scaled

    def preconditioner(self, M: Array) -> Preconditioner | None:
        if len(self.widths) > 2:
            return None
        point = self.at(M)
        matrix = self.combined(point.shares / point.squares, point.s)
        apply = joint_inverse(matrix, *self.blocks(M))
        project = self.manifold.project
        return lambda N, U: project(N, apply(U.reshape(-1, self.r)).reshape(-1))

    def baseline(self) -> Array:
        how = polar_factor if self.orthonormalise == "polar" else qr_factor
        return self.made_orthonormal(self.canonical[1], how)

    def closed_form(self) -> Array | None:
        return self.baseline() if self.r == 1 and len(self.widths) == 2 else None

    def approach(self, M: Array) -> Array:
        """Return the optimum found from the baseline in a larger space, if M is the baseline."""
        if self.ends is None or not np.array_equal(M, self.baseline()):
            return M
        return self.lower(list(self.ends))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return each component's contribution and, for two views, the pair's correlation."""
        found = super().numbers(M, axes, seen)
        if len(self.widths) > 2:
            return found
        covariances = axes.numbers * float(np.prod(self.at(M).s / self._units))
        return {"correlation": pair_correlations(covariances, seen), **found}

    def hidden(self, M: Array) -> float:
        """Bound the rounding error of the value, also due to directions lost in the covariances.

        Errors |E_ij| <= 16 eps c_i c_j of C change both the covariances and the denominators.
        """
        point = self.at(M)
        columns = np.sqrt(self.sums) @ np.abs(point.scaled)
        found = 0.5 * SUMS_ROUNDING * len(self.widths) * float(columns @ columns)
        if not self.is_part or self.only_constant:
            return found
        sizes = [
            float(np.sum(self.sums[where]))
            * float(np.vdot(point.scaled[where], point.scaled[where]))
            for where in self.slices()
        ]
        return found + math.sqrt(rank_tolerance(self.order) / self.r) * sum(map(math.sqrt, sizes))

    @property
    def bounds(self) -> MultiBound:
        return MultiBound(self.between, [self.C[where, where] for where in self.slices()])

    def holds_outside(self, value: float) -> bool:
        """Return True if the value reaches the bound by the largest canonical correlation.

        The bound holds over all columns if only constant columns are outside of the coordinates.
        """
        largest = 0.5 * len(self.widths) * min(float(self.canonical[0][0]), len(self.widths) - 1.0)
        return self.only_constant and largest - value <= PROVED_GLOBAL

    def remarks(self, M: Array) -> list[str]:
        """Return a message if components of either of two views are nearly collinear."""
        if len(self.widths) > 2:
            return []
        first, last = self.slices()
        Ma, Mb = self.blocks(M)
        U, _, Vt = np.linalg.svd(Ma.T @ self.C[first, last] @ Mb)
        notes = []
        for which, N, where in (("first", Ma @ U, first), ("second", Mb @ Vt.T, last)):
            found = unit_diagonal(N.T @ self.C[where, where] @ N)[0]
            largest = float(np.abs(np.triu(found, 1)).max())
            if largest > _ALIKE:
                notes.append(
                    f"two components of the {which} view have correlation {largest:.3f}, although "
                    "their directions are orthogonal; the components of cca are uncorrelated"
                )
        return notes


def pair_correlations(covariances: Array, seen: Sequence[Variation | None]) -> Array:
    """Return correlations of pairs from their covariances; NaN for constant components."""
    a, b = (np.full(len(covariances), np.nan) if one is None else one.variances for one in seen)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(covariances / np.sqrt(a) / np.sqrt(b))


def multi_trace(
    objective: Stated,
    data: Data,
    r: int,
    *,
    within: bool = False,
    room: int = 0,
    summed: bool = False,
) -> MultiTrace:
    """Return the problem of the views' covariances; if `summed`, of the sums over rows."""
    views, stats = sums_of([Compact.of(view, room=room, quiet=True) for view in data.views])
    widths = tuple(map(len, stats.means))
    C = stats.scatter if summed else stats.scatter / stats.n
    return MultiTrace(objective, tuple(views), C, widths, r, within=within)


def multi_ratio(
    objective: Stated,
    compacts: Sequence[Compact],
    r: int,
    *,
    ridge: float | Sequence[float],
    shrunk: JointShrinkage | None,
    orthonormalise: str = "polar",
    searched: float | None = None,
    ends: tuple[Array, Array] | None = None,
) -> MultiRatio:
    """Return the problem of the correlations of the views, each in the range of its covariance."""
    views, stats = sums_of(compacts)
    n, count = stats.n, len(views)
    if shrunk is not None:
        stats = replace(stats, scatter=stats.scatter + n * block_diag(*shrunk.added))
    names = covariance_names(count)
    own = [stats.block(i, i) for i in range(count)]
    kept = list(map(Range.of, own, [compact.coordinates for compact in compacts], names))
    blocks = [
        [b.rows(a.rows(stats.block(i, j) / n).T).T for j, b in enumerate(kept)]
        for i, a in enumerate(kept)
    ]
    ridges = [float(each) for each in np.broadcast_to(ridge, count)]
    amounts = np.array([ridge_amount(blocks[i][i], ridges[i]) for i in range(count)])
    for i, name in enumerate(names):
        blocks[i][i], ridged = add_ridge(blocks[i][i], ridges[i], name)
        views[i] = views[i].within(kept[i]).noting(*ridged)
    widths = tuple(len(row[0]) for row in blocks)
    few = []
    if count == 2 and not any(ridges) and shrunk is None and sum(widths) > n - 1:
        few.append(
            f"{n} rows are too few for {widths[0]} + {widths[1]} columns: some canonical "
            "correlations are 1 for any data; give ridge= a positive value"
        )
    spreads = list(map(np.diag, own))
    pair = (compacts[0].coordinates, compacts[-1].coordinates)
    return MultiRatio(
        objective,
        noted(views, *few),
        np.block(blocks),
        widths,
        r,
        np.concatenate([one.squares(of / n) for one, of in zip(kept, spreads, strict=True)]),
        ridges=amounts,
        only_constant=all(
            one.rank == np.count_nonzero(of) for one, of in zip(kept, spreads, strict=True)
        ),
        orthonormalise=orthonormalise,
        ends=ends,
        searched=searched,
        answers=PairedViews(stats, pair) if count == 2 else None,
        chosen=chosen_by(shrunk),
    )


def covariance_names(count: int) -> list[str]:
    """Return the names of the covariances of a number of views, for messages."""
    views = ["the first view", "the second view"]
    return [
        f"the covariance of {views[i] if count == 2 else f'view {i + 1}'}" for i in range(count)
    ]


def sums_of(compacts: Sequence[Compact]) -> tuple[list[View], ViewMoments]:
    """Return each view's View (map to the user's columns), and the joint moments of the views."""
    stats = view_moments([compact.rows for compact in compacts])
    views = [
        compact.view(mean, KnownScatter(stats.block(i, i), stats.n))
        for i, (compact, mean) in enumerate(zip(compacts, stats.means, strict=True))
    ]
    return views, stats


def _inverse_factor(C: Array) -> Array:
    """W with W'CW = I, from the Cholesky factor of C scaled to a unit diagonal."""
    scaled, scale = unit_diagonal(C)
    try:
        L = scipy.linalg.cholesky(scaled, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise SingularError(
            "the covariance of a view is singular to machine precision: give ridge= a positive "
            "value, or bring the columns to similar units"
        ) from None
    inverse = scipy.linalg.solve_triangular(L, np.eye(len(C)), lower=True, check_finite=False)
    return inverse.T / scale[:, None]


_EPS = float(np.finfo(float).eps)


def proven_ratio(Q: Array, C: Array, M: Array) -> float:
    """Return a proved upper bound of max tr(M'QM) / tr(M'CM), by Newton's method from M.

    The ratio is at most t if the sum of the r largest eigenvalues of Q - tC is <= 0.
    """
    ratio, r = -math.inf, M.shape[1]
    while (below := float(np.vdot(M, C @ M))) > 0:
        found = float(np.vdot(M, Q @ M)) / below
        if not found - ratio > 2 * _EPS * abs(found):  # a smaller increase is a rounding error
            break
        ratio, M = found, top_eigenvectors(Q - found * C, r)[1]
    else:
        return math.inf
    more = 4 * len(Q) * _EPS * abs(ratio)
    while 0 < more <= abs(ratio):
        t = ratio + more
        K, sizes = Q - t * C, np.abs(Q) + abs(t) * np.abs(C)
        M = top_eigenvectors(K, r)[1]
        if largest_sum_bound(K, M, M, 2, sizes) <= 0:
            return t
        more *= 4.0
    return math.inf


@dataclass(frozen=True)
class MultiBound:
    """Dual bounds of tr(N'AN)/2, N the stacked blocks Mi/s_i, s_i^2 = tr(Mi'Ci Mi).

    - A (d, d): symmetric matrix that couples the blocks
    - C: denominator matrices; with I/r the ratios are sums of r eigenvalues
    """

    A: Array
    C: list[Array]

    def of(self, blocks: Sequence[Array]) -> float:
        """Return a proved upper bound of the value, by the multipliers at the Mi."""
        found = self.semidefinite(self.multipliers(blocks))
        return 0.5 * math.fsum(map(proven_ratio, found, self.C, blocks))

    def multipliers(self, blocks: Sequence[Array]) -> list[Array]:
        """Return the multipliers at the Mi, Qi = f_i Ci + s_i^2 [Mi(Li - ti I)Mi' + ti I].

        In this formula Ri = sum_j Aij Mj/(s_i s_j), f_i = tr(Mi'Ri), Li = sym(Mi'(Ri - (f_i/s_i^2)
        Ci Mi)), and ti is the least eigenvalue of Li. If the dual bound is tight, it equals the
        value at optimal Mi.
        """
        own = [C @ M for C, M in zip(self.C, blocks, strict=True)]
        squares = [float(np.vdot(M, CM)) for M, CM in zip(blocks, own, strict=True)]
        N = np.concatenate([M / math.sqrt(s) for M, s in zip(blocks, squares, strict=True)])
        ends = np.cumsum([len(M) for M in blocks])[:-1]
        found = []
        for M, C, CM, s, across in zip(
            blocks, self.C, own, squares, np.split(self.A @ N, ends), strict=True
        ):
            R = across / math.sqrt(s)
            f = float(np.vdot(M, R))
            L = sym(M.T @ (R - (f / s) * CM))
            least = float(np.linalg.eigvalsh(L)[0])
            Q = f * C + s * sym(M @ (L - least * np.eye(len(L))) @ M.T)
            Q[np.diag_indices_from(Q)] += s * least
            found.append(Q)
        return found

    def semidefinite(self, found: Sequence[Array]) -> list[Array]:
        """Increase the diagonals of the Q until blkdiag(Q) - A is semidefinite.

        Each diagonal entry is increased by the same share, which includes rounding errors.
        """
        S = block_diag(*found) - self.A
        sizes = np.abs(np.diag(S))
        sizes = np.maximum(sizes, _EPS * sizes.max(initial=1.0))
        scale = np.exp2(np.round(0.5 * np.log2(sizes)))  # scaling by powers of two is exact
        with decomposing(len(S)):
            values = np.linalg.eigvalsh(S / scale / scale[:, None])
        # Eigenvalues and sums of entries have errors of n eps times the largest eigenvalue.
        rounding = 2 * len(S) * _EPS * float(np.abs(values).max())
        missing = max(0.0, rounding - float(values[0]))
        added = np.split(missing * scale**2, np.cumsum(list(map(len, found)))[:-1])
        return [Q + np.diag(more) for Q, more in zip(found, added, strict=True)]


def joint_inverse(K: Array, Ma: Array, Mb: Array) -> Callable[[Array], Array]:
    """Return an approximate inverse of the Riemannian Hessian at M = [Ma; Mb], for a symmetric K.

    Up to terms of low rank and multipliers, which are small relative to K at a solution, the
    Hessian maps a tangent vector V to the projection of KV. Tangent vectors orthogonal to joint
    rotations satisfy M'V = 0 and sym(J'V) = 0, J = [Ma; -Mb]. The condition M'V = 0 restricts K to
    the complement of M. The condition sym(J'V) = 0 requires a symmetric Theta with KV = U - J Theta
    and the Lyapunov equation W Theta + Theta W = 2 sym(J'K^{-1}U), W = J'K^{-1}J, solved in the
    eigenvectors of W. K is replaced by |K|, so that the inverse is positive semidefinite.
    """
    M, J = np.concatenate([Ma, Mb]), np.concatenate([Ma, -Mb])
    complement = np.eye(len(M)) - 0.5 * (M @ M.T)
    with decomposing(len(K)):
        eigenvalues, Q = scipy.linalg.eigh(
            complement @ K @ complement, driver="evd", check_finite=False
        )
    magnitude = np.abs(eigenvalues)
    least = rank_tolerance(len(K)) * magnitude.max()  # smaller eigenvalues are rounding errors
    Q = complement @ (Q / np.sqrt(np.maximum(magnitude, least)))
    inverse = Q @ Q.T
    w, R = scipy.linalg.eigh(J.T @ inverse @ J, check_finite=False)
    JR = J @ R
    inverse_JR = inverse @ JR
    denominator = np.maximum(w[:, None] + w, np.finfo(float).eps * w[-1])

    def apply(U: Array) -> Array:
        C = inverse_JR.T @ (U @ R)
        Theta = (C + C.T) / denominator
        return inverse @ U - inverse_JR @ Theta @ R.T

    return apply
