"""Pairs of views by singular vectors, and whitened views by eigenvectors; both exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from operator import itemgetter

import numpy as np

from ldr.objectives.data.stored import Change
from ldr.objectives.families.multi_block import (
    Blocks,
    CoupledPoint,
    covariance_names,
    pair_correlations,
    sums_of,
)
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import SumOfSquares, Unwhitened, Whitened, whiten
from ldr.objectives.families.wide_pairs import leading_pairs
from ldr.objectives.prediction import PairedViews
from ldr.objectives.problem import (
    PROVED_GLOBAL,
    BoundObjective,
    Certificate,
    Fitted,
    Stated,
    check_dimension,
)
from ldr.objectives.statistics import ViewMoments, view_moments
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Axes, Compact, View, noted, span_of
from ldr.solvers.deadline import decomposing
from ldr.solvers.linalg.bounds import spectral_bound
from ldr.solvers.linalg.eigen import top_singular
from ldr.solvers.manifolds import Array, polar_factor


@dataclass(frozen=True)
class Bilinear(Blocks, BoundObjective):
    """Maximise tr(Ma'K Mb) over orthonormal Ma and Mb, by singular vectors of K.

    The value is invariant to joint rotations (MaQ, MbQ) of both views, not to separate ones.

    - K (ka, kb): the matrix K = Xa'Xb, or whitened
    - correlations: True if K's singular values are correlations
    - doubt: bound of the error of a sum of r singular values due to rounding in K's data
    - restricted: True if directions outside of the coordinates may increase the value
    """

    exchangeable = True

    K: Array
    r: int
    correlations: bool = False
    doubt: float = field(default=0.0, kw_only=True)
    restricted: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.K.shape))

    @property
    def widths(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.K.shape

    @property
    def order(self) -> int:
        return max(self.K.shape)

    def at(self, M: Array) -> CoupledPoint:
        return CoupledPoint(M, self.r, self._coupled)

    def _coupled(self, N: Array) -> Array:
        """[K Nb; K'Na]."""
        k = len(self.K)
        return np.concatenate([self.K @ N[k:], self.K.T @ N[:k]])

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        with decomposing(min(self.K.shape)):
            U, values, Vt = top_singular(self.K, self.r)
        return U[:, : self.r], values, Vt[: self.r].T

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the eigenvectors of the symmetric part of Ma'K Mb, a rotation of both views.

        At a stationary M the matrix is symmetric, and these are its singular vectors.
        """
        Ma, Mb = self.blocks(M)
        found = Axes.principal(Ma.T @ self.K @ Mb)
        return replace(found, turns=found.turns * 2)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the singular values, and the correlation of each pair."""
        rows = 1 if self.correlations or seen[0] is None else seen[0].n
        return {
            "singular_value": axes.numbers,
            "correlation": pair_correlations(axes.numbers / rows, seen),
        }

    @cached_property
    def _optimum(self) -> Array:
        U, _, V = self._singular
        return self.point([polar_factor(U), polar_factor(V)])

    def baseline(self) -> Array:
        return self._optimum

    def closed_form(self) -> Array:
        return self._optimum

    def parameters(self, M: Array) -> Fitted:
        if not self.correlations:
            return self.chosen
        return {**self.chosen, "mean_correlation": -self.at(M).value / self.r}

    def certificate(self, M: Array) -> Certificate:
        """Certify the optimum by the sum of the r largest singular values of K, an upper bound.

        Errors of the singular values are of the order of K's dimension times eps times the largest.
        """
        values = self._singular[1]
        best = float(np.sum(values[: self.r]))
        rounding = self.r * self.order * float(np.finfo(float).eps) * float(values[0])
        missed = max(0.0, best + self.at(M).value) + rounding
        return Certificate.of_rounded_gap(
            missed,
            self.doubt,
            PROVED_GLOBAL * max(best, np.finfo(float).tiny),
            "the M span leading singular subspaces and are aligned",
            "the leading singular values bound the value",
            span_of(self.views),
            self.restricted,
        )


def bilinear(objective: Stated, a: Compact, b: Compact, r: int) -> Bilinear:
    """Build the problem max tr(Ma'Xa'Xb Mb)."""
    found = leading_pairs(a.rows, b.rows, r, None)
    if found is not None:
        a, b = found.a, found.b
    views, stats = sums_of([a, b])
    return Bilinear(
        objective,
        noted(views, *(() if found is None else (found.note,))),
        stats.block(0, 1),
        r,
        answers=found or PairedViews(stats, (a.coordinates, b.coordinates)),
        searched=None if found is None else found.residual,
    )


def white_bilinear(
    objective: Stated,
    compacts: Sequence[Compact],
    r: int,
    *,
    ridge: float,
    shrunk: JointShrinkage | None = None,
) -> tuple[Bilinear, float]:
    """Build max tr(Ma'Caa^{-1/2} Cab Cbb^{-1/2} Mb), P = M'C^{-1/2}; return also n."""
    (a, b), ridges = compacts, (ridge, ridge)
    found = leading_pairs(a.rows, b.rows, r, ridge)
    if found is not None:
        a, b, ridges = found.a, found.b, found.ridges
    stats, views, (in_a, in_b), A = _white([a, b], ridges, shrunk)
    K = np.ascontiguousarray(A[: in_a.W.shape[1], in_a.W.shape[1] :])
    size = spectral_bound(K)
    bound = Bilinear(
        objective,
        noted(views, *(() if found is None else (found.note,))),
        K,
        r,
        correlations=True,
        restricted=math.inf in (in_a.outside, in_b.outside),
        answers=found or PairedViews(stats, (in_a.coordinates, in_b.coordinates), (in_a.W, in_b.W)),
        doubt=in_a.doubt(size, r) + in_b.doubt(size, r),
        chosen=chosen_by(shrunk),
        searched=None if found is None else found.residual,
    )
    return bound, stats.n


@dataclass(frozen=True)
class SharedDirections(Trace):
    """Maximise sum_{i<j} tr(Mi'Aij Mj) of white views over sum_i Mi'Mi = K I.

    The blocks of the solver's orthonormal M are Mi/sqrt(K) for K views. The objective is the trace
    tr(M'AM), where the diagonal blocks of A are zero.

    - widths: number of columns of each view
    """

    plain = False

    widths: tuple[int, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.widths))
        super().__post_init__()

    def blocks(self, M: Array) -> list[Array]:
        rows = np.split(M, np.cumsum(self.widths)[:-1])
        return [math.sqrt(len(rows)) * block for block in rows]

    def point(self, blocks: Sequence[Array]) -> Array:
        return np.concatenate(list(blocks)) / math.sqrt(len(blocks))

    def lift(self, M: Array) -> tuple[Array, ...]:
        parts = zip(self.views, self.blocks(M), strict=True)
        return tuple(view.coordinates.lift(block) for view, block in parts)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        found = super().axes(M, seen)
        return replace(found, turns=found.turns * len(self.widths))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the eigenvalues of the sum of the views' projectors, from 0 to K."""
        return {"eigenvalue": 1.0 + axes.numbers}


def shared_directions(
    objective: Stated,
    compacts: Sequence[Compact],
    r: int,
    *,
    ridge: float,
    shrunk: JointShrinkage | None,
) -> SharedDirections:
    """Return the problem of the views' shared directions, P = M'Cii^{-1/2} for each view."""
    stats, views, kept, A = _white(compacts, [ridge] * len(compacts), shrunk)
    widths = tuple(one.W.shape[1] for one in kept)
    few = []
    if ridge == 0 and shrunk is None and sum(sorted(widths)[-2:]) > stats.n - 1:
        few.append(
            f"{stats.n:g} rows are too few for {' + '.join(map(str, widths))} columns: some "
            "correlations are 1 for any data; give ridge= a positive value"
        )
    share = 0.5 * len(kept)
    return SharedDirections(
        objective,
        noted(views, *few),
        A,
        r,
        scale=share,
        widths=widths,
        outside=math.inf if math.inf in [one.outside for one in kept] else None,
        doubt=share * math.fsum(one.doubt(spectral_bound(A), r) for one in kept),
        chosen=chosen_by(shrunk),
    )


def _white(
    compacts: Sequence[Compact], ridges: Sequence[float], shrunk: JointShrinkage | None
) -> tuple[ViewMoments, list[View], list[Whitened], Array]:
    """`whitened_views` of rows, with the way back of each view."""
    names = covariance_names(len(compacts))
    stats, kept, A = whitened_views(
        lambda *changes: view_moments(
            [change(one.rows) for change, one in zip(changes, compacts, strict=True)]
        ),
        *map(Unwhitened.of, compacts, names, ridges),
        shrunk=shrunk,
    )
    parts = zip(compacts, kept, strict=True)
    return stats, [one.view(own.mean, own.scatter).within(own) for one, own in parts], kept, A


def whitened_views(
    sums: Callable[..., ViewMoments], *given: Unwhitened, shrunk: JointShrinkage | None = None
) -> tuple[ViewMoments, list[Whitened], Array]:
    """Return sums over rows of several views, the whitening of each view, and their coupling.

    The coupling of the views is the matrix of blocks Cij in whitened coordinates, without the Cii.
    """

    def with_squares(*changes: Change) -> tuple[ViewMoments, list[SumOfSquares]]:
        stats = sums(*changes)
        squares = [
            SumOfSquares.covariance(stats.block(i, i), mean, stats.n)
            for i, mean in enumerate(stats.means)
        ]
        if shrunk is not None:
            parts = zip(squares, changes, shrunk.added, strict=True)
            squares = [replace(one, B=one.B + of.of_matrix(more)) for one, of, more in parts]
        return stats, squares

    (stats, _), kept = whiten(with_squares, itemgetter(1), *given)
    ends = np.cumsum([0, *(one.W.shape[1] for one in kept)])
    A = np.zeros((ends[-1], ends[-1]))
    for i, j in permutations(range(len(kept)), 2):
        block = kept[j].rows(kept[i].rows(stats.block(i, j) / stats.n).T).T
        A[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = block
    return stats, kept, A
