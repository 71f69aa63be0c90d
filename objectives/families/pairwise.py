"""Objectives of the projected distances D_ij = ||y_i - y_j||^2, Y = XM.

The matrix D of squared distances is computed in blocks of rows. A method defines phi as a function
of some rows of D, the derivative W = dphi/dD, and the derivative of W.

For rows in files the objective is a sum over batches of rows, because rows of different chunks
cannot form a pair. Each batch consists of rows from all parts of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import DENSE, WIDE, Beside, Data, Samples
from ldr.objectives.data.sample_metadata import Marks, as_array, as_labels
from ldr.objectives.families.projected import (
    Change,
    DenseRows,
    Projected,
    ProjectedPoint,
)
from ldr.objectives.families.row_sum import InPieces, TermOfPoints
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective, Stated, restated
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.sums import (
    Codes,
    column_lengths,
    spread_rows,
    typical_length,
    weighted,
)
from ldr.objectives.view import Axes, Scaling
from ldr.solvers.deadline import check, steps
from ldr.solvers.descent import LBFGS
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors, range_basis, top_eigenvectors
from ldr.solvers.manifolds import Array, Euclidean, Manifold
from ldr.solvers.problem import Point

# Number of distances in a block: half a MiB, so that it fits into the cache.
_BLOCK_NUMBERS = 2**16


# Value, gradient and Hessian product at some distances. The product may overwrite its argument.
Told = tuple[float, Array, Callable[[Array], Array]]


class PairwisePoint(ProjectedPoint):
    """phi as a sum over rows of D, computed in blocks of rows.

    The gradient in Y is 2 L(W)Y with the Laplacian L(W) = diag(W1 + W'1) - W - W'. Along dY it
    changes by 2 L(W)dY + 2 L(dW)Y with dD_ij = 2 (y_i - y_j)'(dy_i - dy_j). Time is O(n^2 r).
    Memory is O(n r); for n <= 2000 some n x n matrices are cached for Hessian products.

    - symmetric: True if phi is a sum over unordered pairs
    """

    symmetric = False

    def __init__(self, problem: Any, M: Array, blocks: Sequence[slice]) -> None:
        super().__init__(problem.X, M)
        self._problem, self._blocks = problem, blocks

    if TYPE_CHECKING:  # declares the method `pairs` of subclasses to type checkers

        def pairs(self, rows: slice, D: Array) -> Told:
            """Return phi, W and the map dD -> dW for some rows of D, which it may overwrite."""

    def _told(self, rows: slice) -> Told:
        return self.pairs(rows, self.squares(rows))

    @cached_property
    def _kept(self) -> list[Told]:
        return [self._told(rows) for rows in self._blocks]

    def _each(self, keep: bool) -> Iterable[Told]:
        """Return phi, W and the map dD -> dW of each block; if `keep`, few rows are cached."""
        few = len(self.Y) <= DENSE
        kept = len(self._blocks) == 1 or (keep and few)
        return self._kept if kept else map(self._told, self._blocks)

    def columns(self, rows: slice) -> slice:
        """Return the columns of D that are computed for the given rows of D."""
        return slice(rows.start if self.symmetric else 0, None)

    def twice(self, W: Array) -> Array:
        """Double the entries of W for pairs of a row and a later row, in place."""
        if W.shape[1] > len(W):
            W[:, len(W) :] *= 2.0
        return W

    def squares(self, rows: slice) -> Array:
        """Return some rows of D as sums of squared differences.

        Unlike the expanded square, a sum of squared differences is accurate for close points.
        """
        from scipy.spatial.distance import cdist

        check()
        first, second = self.Y[rows], self.Y[self.columns(rows)]
        D = np.empty((len(first), len(second)))
        for at in steps(len(first), 100 * len(second)):
            cdist(first[at], second, "sqeuclidean", out=D[at])
        return D

    def add_products(self, total: Array, W: Array, rows: slice, Y1: Array) -> None:
        """Add (W + W')Y1, Y1 = [Y, 1], for the given rows of W to `total`."""
        columns = self.columns(rows)
        forth = W @ Y1[columns]
        same = self.symmetric and len(W) == W.shape[1]  # a symmetric W needs one product, not two
        total[rows] += forth
        total[columns] += forth if same else W.T @ Y1[rows]

    @cached_property
    def _value_and_slope(self) -> tuple[float, Array]:
        value, products = 0.0, np.zeros_like(self.Y1)
        for rows, (added, W, _) in zip(self._blocks, self._each(False), strict=True):
            self.add_products(products, W, rows, self.Y1)
            value += added
        return value, 2.0 * laplacian(products, self.Y1)

    @property
    def value(self) -> float:
        return self._value_and_slope[0]

    @property
    def slope(self) -> Array:
        return self._value_and_slope[1]

    def curvature(self, dY: Array) -> Array:
        change = Change(self.Y, dY)
        of_W, of_dW = np.zeros((2, *self.Y1.shape))
        for rows, (_, W, dW) in zip(self._blocks, self._each(True), strict=True):
            check()
            self.add_products(of_W, W, rows, change.dY1)
            dD = change.of_squares(rows, self.columns(rows))
            self.add_products(of_dW, dW(dD), rows, self.Y1)
        return 2.0 * (laplacian(of_W, change.dY1) + laplacian(of_dW, self.Y1))


def laplacian(products: Array, Y1: Array) -> Array:
    """Return L(W)Y from the products (W + W')Y1, Y1 = [Y, 1]."""
    return products[:, -1:] * Y1[:, :-1] - products[:, :-1]


@dataclass(frozen=True)
class Pairwise(Projected):
    """Problem of an objective of the projected distances."""

    def specialist(self) -> LBFGS | None:
        """Return L-BFGS, because a Hessian product takes about as long as an evaluation."""
        return LBFGS()

    @cached_property
    def row_blocks(self) -> list[slice]:
        """Slices of the rows of D that are computed together."""
        return row_slices(len(self.X))


def row_slices(n: int) -> list[slice]:
    """Return slices of the rows of an n x n matrix, in blocks."""
    step = max(1, _BLOCK_NUMBERS // n)
    return [slice(a, min(a + step, n)) for a in range(0, n, step)]


def labelled_rows(
    data: Data, objective: Stated, smallest_class: int = 1
) -> tuple[DenseRows, Array, Codes]:
    """Return centred rows with each column scaled to order 1, the column lengths, and classes.

    Scaling the columns changes only the problem's condition, because M is unconstrained.

    - returns lengths (k,): factors of X that restore the user's distances, up to a common factor
    """
    codes, _ = as_labels(data.y, data.samples.n, smallest_class=smallest_class)
    rows = DenseRows.centred(data, objective)
    lengths = column_lengths(rows.X)
    coordinates = Scaling(1.0 / lengths, rows.view.coordinates)
    scaled = DenseRows(rows.X / lengths, replace(rows.view, coordinates=coordinates), rows.marks)
    return scaled, lengths / typical_length(rows.X), codes


@dataclass(frozen=True)
class LabelledPairs(Pairwise):
    """Problem of an objective of projected distances and classes.

    - lengths (k,): factors of X's columns that restore the user's distances, up to a common factor
    - codes (n,): the classes
    """

    exchangeable = True

    lengths: Array
    codes: Codes

    def __post_init__(self) -> None:
        """Allow any r, because M is unconstrained."""

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        return Euclidean(self.X.shape[1], self.r)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return axes in which the user's M has orthogonal columns, the longest first."""
        (lifted,) = self.lift(M)
        _, lengths, Vt = np.linalg.svd(lifted, full_matrices=False)
        return Axes((Vt.T,), lengths**2, free=True)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the squared lengths of the columns of the user's M."""
        return {"squared_length": axes.numbers}

    @cached_property
    def _short_codes(self) -> Codes:
        """The classes in the smallest type, which is compared five times as fast."""
        return self.codes.astype(np.min_scalar_type(int(self.codes.max())))

    def alike(self, rows: slice) -> np.ndarray:
        """Return True for each pair of a given row and any row with equal classes."""
        return np.equal(self._short_codes[rows, None], self._short_codes)

    def on(self, rows: Array, codes: Codes, *, w: Array | None = None) -> LabelledPairs | None:
        """Return the problem of new rows and their classes."""
        (view,) = self.views
        assert isinstance(view.coordinates, Scaling)
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

        The eigenvectors are in the range of S_W, the scatter within classes. If r exceeds c - 1 for
        c classes, principal directions of the remaining variation are added.
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
        """Return principal axes in the user's units, scaled to mean variance 1 within classes.

        A direction without variance within classes is scaled by its total variance. The argument
        `besides` restricts the variation to the complement of some directions. Columns beyond the
        number of remaining directions are zero.
        """
        rest, left = np.eye(self.X.shape[1]), self.X.shape[1]
        if besides is not None:
            span = np.linalg.qr(besides)[0]
            rest, left = rest - span @ span.T, left - span.shape[1]
        scaled = rest * self.lengths
        rows = weighted(self.X, self.w)
        A = rows @ scaled
        M = scaled @ top_eigenvectors(A.T @ A, min(r, left))[1]
        M = np.pad(M, ((0, 0), (0, r - M.shape[1])))
        Y = rows @ M
        # A component of zero variance keeps its length: a division would magnify rounding errors.
        rounding = np.finfo(np.float64).eps * len(rows)
        length = float(np.linalg.norm(rows * self.lengths))
        within = float(np.vdot(M, self._scatters.within @ M))
        squares = within if within > rounding * length**2 else float(np.vdot(Y, Y))
        if squares > (rounding * length) ** 2:
            return M * math.sqrt(self.weight * r / squares)
        return M


# Number of rows in a batch; pairs of rows are evaluated within batches only.
BATCH_ROWS = 250


@dataclass(frozen=True)
class BatchTerm(TermOfPoints):
    """The sum of an objective over the batches of a chunk.

    - template: problem whose method `on` returns the problem of other rows, or None
    """

    template: Any

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[Point]:
        batches = max(1, round(rows.n / BATCH_ROWS))
        # In every batch the classes have the same shares, even if the samples are sorted by class.
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
    """Problem of a sum over batches, with starts from a sample of rows.

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
    """Return the problem of the sum over batches, with labels if `smallest_class` is given.

    The function `bind` returns the problem of a sample of rows, in coordinates of all rows.
    """
    samples, labels = data.samples, None
    beside: tuple[Beside, ...] = ()
    chosen = spread_rows(samples.n, max(DENSE, samples.d))
    if smallest_class is not None:
        codes, _ = as_labels(data.y, samples.n, smallest_class=smallest_class)
        enough = np.bincount(codes[chosen], minlength=codes.max() + 1) >= smallest_class
        chosen = chosen[enough[codes[chosen]]]
        beside, labels = (codes,), codes[chosen]
    sample = (bind or objective.bind)(Data((samples.take(chosen),), labels), r)
    note = (
        "the rows are read at every evaluation: the value counts the pairs within batches of "
        f"{BATCH_ROWS} rows, not all pairs, and the initial M are found on {len(chosen)} rows"
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
    """Return the problem of a random sample of rows, with a message."""
    samples, y = data.samples, data.y
    chosen = spread_rows(samples.n, WIDE)
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
