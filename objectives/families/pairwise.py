"""Objectives of the projected distances D_ij = ||y_i - y_j||^2, Y = XM, taken in blocks of rows.

A method defines phi of some rows of D, W = dphi/dD there, and the derivative of W.

Objectives of pairs of rows, where the rows are read piece by piece: sums over batches of rows.

Rows that are far apart in a file cannot form a pair. A piece is cut into batches, each of rows
spread over the whole piece, and the objective is the sum of its values on the batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldr.objectives.coordinates import Axes, ColumnScaling
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import Marks, as_array, as_labels
from ldr.objectives.data.samples import Beside, Samples
from ldr.objectives.families.projected import (
    KEPT,
    Change,
    DenseRows,
    Projected,
    ProjectedPoint,
)
from ldr.objectives.families.row_sum import InPieces, TermOfPoints
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective, Stated, restated
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.sums import (
    Codes,
    column_lengths,
    spread_rows,
    typical_length,
    weighted,
)
from ldr.solvers.deadline import check, steps
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors, range_basis, top_eigenvectors
from ldr.solvers.manifolds import Array, Euclidean, Manifold
from ldr.solvers.problem import Point

# A block of half a MiB fits into the cache.
_BLOCK_NUMBERS = 2**16

# For some rows of D: their summand of phi, W there, and dD -> dW, which may overwrite dD.
Told = tuple[float, Array, Callable[[Array], Array]]
# Function that adds the summand of some rows to a Hessian product, halved.
RowProduct = Callable[[Array, Change], None]


class PairwisePoint(ProjectedPoint):
    """phi as a sum over rows of D, block by block.

    With L(W) = diag(W1 + W'1) - W - W' the slope is 2 L(W)Y, and along dY it changes by
    2 L(W)dY + 2 L(dW)Y, dD_ij = 2 (y_i - y_j)'(dy_i - dy_j). O(n^2 r) time. Memory is O(n r), and
    for n <= 2048 what Hessian products at a point share, some n^2 numbers.

    - symmetric: True if phi is a sum over pairs, each counted once
    """

    symmetric = False

    def __init__(self, problem: Any, M: Array, blocks: Sequence[slice]) -> None:
        super().__init__(problem.X, M)
        self._problem, self._blocks = problem, blocks

    def pairs(self, rows: slice, D: Array) -> Told:
        """Return phi and its slopes for some rows of D, which may be overwritten."""
        raise NotImplementedError

    def told(self, rows: slice) -> tuple[float, Array, RowProduct]:
        """Return phi of some rows of D, their W, and their part of Hessian products."""
        value, W, dW = self.pairs(rows, self.squares(rows))

        def add(product: Array, change: Change) -> None:
            dD = change.of_squares(rows, self.columns(rows))
            self.add_laplacian(product, W, rows, change.dY1)
            self.add_laplacian(product, dW(dD), rows, self.Y1)

        return value, W, add

    @cached_property
    def _alone(self) -> tuple[float, Array, RowProduct]:
        """The parts of the only block, which value and products share."""
        return self.told(self._blocks[0])

    def _each(self) -> Iterable[tuple[float, Array, RowProduct]]:
        return [self._alone] if len(self._blocks) == 1 else map(self.told, self._blocks)

    @cached_property
    def _kept(self) -> list[RowProduct]:
        return [add for _, _, add in self._each()]

    def columns(self, rows: slice) -> slice:
        """Return the columns of D that are evaluated for some rows."""
        return slice(rows.start if self.symmetric else 0, None)

    def twice(self, W: Array) -> Array:
        """Double the weights of pairs of a row and a later row, in place."""
        if W.shape[1] > len(W):
            W[:, len(W) :] *= 2.0
        return W

    def squares(self, rows: slice) -> Array:
        """Return D of some rows; the differences are squared themselves, not expanded.

        Distances of close points keep their digits in this way.
        """
        from scipy.spatial.distance import cdist

        check()
        first, second = self.Y[rows], self.Y[self.columns(rows)]
        D = np.empty((len(first), len(second)))
        for at in steps(len(first), 100 * len(second)):
            cdist(first[at], second, "sqeuclidean", out=D[at])
        return D

    def add_laplacian(self, total: Array, W: Array, rows: slice, Y1: Array) -> None:
        """Add L(W)Y of a W that is zero elsewhere, from [Y, 1]."""
        Y, columns = Y1[:, :-1], self.columns(rows)
        forth = W @ Y1[columns]
        same = self.symmetric and len(W) == W.shape[1]  # then W is symmetric
        back = forth if same else W.T @ Y1[rows]
        total[rows] += forth[:, -1:] * Y[rows] - forth[:, :-1]
        total[columns] += back[:, -1:] * Y[columns] - back[:, :-1]

    @cached_property
    def _value_and_slope(self) -> tuple[float, Array]:
        value, slope = 0.0, np.zeros(self.Y.shape)
        for rows, (added, W, _) in zip(self._blocks, self._each(), strict=True):
            self.add_laplacian(slope, W, rows, self.Y1)
            value += added
        return value, 2.0 * slope

    @property
    def value(self) -> float:
        return self._value_and_slope[0]

    @property
    def slope(self) -> Array:
        return self._value_and_slope[1]

    def curvature(self, dY: Array) -> Array:
        product, change = np.zeros_like(dY), Change(self.Y, dY)
        few = len(self.Y) ** 2 <= KEPT
        for add in self._kept if few else (add for _, _, add in self._each()):
            check()
            add(product, change)
        return 2.0 * product


@dataclass(frozen=True)
class Pairwise(Projected):
    """An objective of the projected distances."""

    def specialist(self) -> LBFGS | None:
        """Return L-BFGS, as a Hessian product takes about as long as an evaluation."""
        return LBFGS()

    @cached_property
    def row_blocks(self) -> list[slice]:
        """Rows that are worked on together."""
        return row_slices(len(self.X))


def row_slices(n: int) -> list[slice]:
    """Return slices of the rows of an n x n matrix, in blocks."""
    step = max(1, _BLOCK_NUMBERS // n)
    return [slice(a, min(a + step, n)) for a in range(0, n, step)]


def labelled_rows(
    data: Data, objective: Stated, smallest_class: int = 1
) -> tuple[DenseRows, Array, Codes]:
    """Return centred rows with each column scaled to order 1, the column lengths, and classes.

    M is free, so that scaling costs nothing and avoids an ill-conditioned problem.

    - returns lengths (k,): factors of X that give the user's distances, up to a common factor
    """
    codes, _ = as_labels(data.y, data.samples.n, smallest_class=smallest_class)
    rows = DenseRows.centred(data, objective)
    lengths = column_lengths(rows.X)
    coordinates = ColumnScaling(1.0 / lengths, rows.view.coordinates)
    scaled = DenseRows(rows.X / lengths, replace(rows.view, coordinates=coordinates), rows.marks)
    return scaled, lengths / typical_length(rows.X), codes


@dataclass(frozen=True)
class LabelledPairs(Pairwise):
    """A problem of projected distances and classes; its baseline is orthogonal-lda.

    - lengths (k,): factors of X that give the user's distances, up to a common factor
    - codes (n,): the classes
    """

    exchangeable = True

    lengths: Array
    codes: Codes

    def __post_init__(self) -> None:
        """Allow any r: distances depend on MM' alone, which a few columns can make."""

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        return Euclidean(self.X.shape[1], self.r)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return axes in which the user's columns of M are orthogonal, the longest first."""
        (lifted,) = self.lift(M)
        _, lengths, Vt = np.linalg.svd(lifted, full_matrices=False)
        return Axes((Vt.T,), lengths**2, free=True)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the squared lengths of the columns of the user's M."""
        return {"squared_length": axes.numbers}

    def alike(self, rows: slice) -> np.ndarray:
        """Return, for each of some rows, True for the rows of its class."""
        return np.equal(self.codes[rows, None], self.codes)

    def on(self, rows: Array, codes: Codes, *, w: Array | None = None) -> LabelledPairs | None:
        """Return the problem of new rows and their classes."""
        (view,) = self.views
        assert isinstance(view.coordinates, ColumnScaling)
        return replace(self, X=(rows - view.mean) * view.coordinates.scale, w=w, codes=codes)

    @cached_property
    def weight(self) -> float:
        """Total weight of all rows."""
        return len(self.X) if self.w is None else float(self.w.sum())

    @cached_property
    def _scatters(self) -> ClassMoments:
        classes = int(self.codes.max()) + 1
        return class_moments(Samples(self.X, marks=Marks(self.w)), self.codes, classes)

    def baseline(self) -> Array:
        """Return the top generalised eigenvectors of (S_B, S_W), of unit variance within classes.

        They are sought in the range of S_W. Beyond the c - 1 that c classes have, principal
        directions of the remaining variation follow.
        """
        k = self.X.shape[1]
        within, between = self._scatters.within, self._scatters.between
        if not within.any():
            return self.principal_directions(self.r)
        Q = range_basis(within)
        basis = np.eye(k) if Q is None else Q
        informative = min(self.r, len(self._scatters.means) - 1, basis.shape[1])
        _, vectors = generalised_top_eigenvectors(
            basis.T @ between @ basis, basis.T @ within @ basis, informative
        )
        found = math.sqrt(self.weight) * (basis @ vectors)
        if informative == self.r:
            return found
        return np.hstack([found, self.principal_directions(self.r - informative, found)])

    def principal_directions(self, r: int, besides: Array | None = None) -> Array:
        """Return principal axes in the user's units, of mean variance 1 within classes.

        If classes do not vary in a direction, the whole data determine its scale. With `besides`,
        they are the axes of the variation outside these directions.
        """
        rest = np.eye(self.X.shape[1])
        if besides is not None:
            span = np.linalg.qr(besides)[0]
            rest -= span @ span.T
        scaled = rest * self.lengths
        rows = weighted(self.X, self.w)
        A = rows @ scaled
        M = scaled @ top_eigenvectors(A.T @ A, min(r, A.shape[1]))[1]
        M = np.pad(M, ((0, 0), (0, r - M.shape[1])))
        Y = rows @ M
        squares = float(np.vdot(M, self._scatters.within @ M)) or float(np.vdot(Y, Y))
        return M * math.sqrt(self.weight * r / squares) if squares > 0 else M


# Pairs for each row; the time of an evaluation is proportional to it.
BATCH_ROWS = 250
# Rows of a file that are loaded for starts and units.
_SAMPLE_ROWS = 2000
# Size of a random sample that replaces all rows where an n x n matrix is solved.
STANDING_ROWS = 5000


@dataclass(frozen=True)
class BatchTerm(TermOfPoints):
    """The sum of an objective over the batches of a piece.

    - template: problem whose `on` makes the same problem of other rows; None if these say nothing
    """

    template: Any

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[Point]:
        batches = max(1, round(rows.n / BATCH_ROWS))
        # In sorted data each batch gets its share of every class.
        order = np.argsort(beside[0], kind="stable") if beside else np.arange(rows.n)
        for b in range(batches):
            batch = order[b::batches]
            X = np.asarray(rows.array[batch], dtype=np.float64)
            w = None if rows.weights is None else rows.weights[batch]
            problem = self.template.on(X, *(other[batch] for other in beside), w=w)
            if problem is not None:
                yield problem.at(M)


@dataclass(frozen=True)
class Batches(InPieces):
    """A sum over batches; its starts come from a sample of rows.

    - sample: the problem of the sample
    """

    sample: BoundObjective = field(kw_only=True)

    @property
    def exchangeable(self) -> bool:
        return self.sample.exchangeable

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        return self.sample.axes(M, seen)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        return self.sample.numbers(M, axes, seen)

    def baseline(self) -> Array | None:
        return self.sample.baseline()

    def starts(self) -> dict[str, Array]:
        return self.sample.starts()


def in_batches(
    objective: Stated,
    data: Data,
    r: int,
    *,
    smallest_class: int | None = None,
    bind: Callable[[Data, int], BoundObjective] | None = None,
) -> Batches:
    """Return the sum over batches, with labels beside the rows if classes must be that large.

    `bind` makes the problem of a sample, in coordinates of all rows.
    """
    samples, labels = data.samples, None
    beside: tuple[Beside, ...] = ()
    chosen = spread_rows(samples.n, max(_SAMPLE_ROWS, samples.d))
    if smallest_class is not None:
        codes, _ = as_labels(data.y, samples.n, smallest_class=smallest_class)
        enough = np.bincount(codes[chosen], minlength=codes.max() + 1) >= smallest_class
        chosen = chosen[enough[codes[chosen]]]
        beside, labels = (codes,), codes[chosen]
    sample = (bind or objective.bind)(Data((samples.take(chosen),), labels), r)
    note = (
        "the rows are read at every evaluation: the value counts the pairs within batches of "
        f"{BATCH_ROWS} rows, not all pairs, and the starts are found on {len(chosen)} rows"
    )
    (view,) = sample.views
    template: Any = restated(sample, views=(replace(view, scatter=None),))
    return Batches(
        objective,
        (view.of_all(samples).noting(note),),
        sample.manifold,
        samples,
        BatchTerm(replace(template, X=template.X[:0], w=None, heuristics={})),
        beside=beside,
        sample=sample,
        unit=sample.unit,
    )


def on_some_rows(objective: Objective, data: Data, r: int) -> BoundObjective:
    """Return the problem of a random sample of rows, with a note."""
    samples, y = data.samples, data.y
    chosen = spread_rows(samples.n, STANDING_ROWS)
    if y is not None:
        y = as_array(y)
        if y.ndim == 0 or len(y) != samples.n:
            raise DataError(
                f"y has shape {y.shape}, expected an entry for each of {samples.n} rows"
            )
        y = y[chosen]
    some = Data((samples.take(chosen),), y)
    objective.check_memory(some)
    problem = objective.bind(some, r)
    note = f"{objective.name} was solved on a random sample of {len(chosen)} of {samples.n} rows"
    (view,) = problem.views
    return restated(problem, views=(view.of_all(samples).noting(note),))
