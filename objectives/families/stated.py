"""Problems defined by a method's matrices, as used also for stacks and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from ldr.objectives import statistics
from ldr.objectives.data.array_types import Cells, Given
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.memory import check_squares
from ldr.objectives.data.opening import derivatives_of
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.data.stored import Change
from ldr.objectives.families.matrices import (
    Against,
    DataSums,
    Grouped,
    Kernel,
    Matrices,
    MovingKernel,
    TraceMatrices,
)
from ldr.objectives.families.trace import AbsoluteTrace, Trace
from ldr.objectives.families.trace_ratio import NestedMethod, TraceRatio, trace_ratio
from ldr.objectives.families.whitened import Pencil, RowPencil, Shrinking, diagonal, whitened_trace
from ldr.objectives.families.wide import WidePencil, WideSums
from ldr.objectives.objective import Objective, of_features
from ldr.objectives.statistics import ClassMoments, Codes
from ldr.objectives.statistics.graph import diagonal_forms, linked_form
from ldr.objectives.statistics.scatters import KnownScatter, Moments
from ldr.objectives.statistics.sums import added, weighted
from ldr.objectives.view import Compact, Range
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class SampleRows:
    """The `RowSums` of samples in memory or in files, in changed coordinates.

    Mean and scatter that a pass over classes or pairs has computed are cached.

    - shares (n,): weights of the rows in a weighted mean used as centre; None means the mean
    """

    def __init__(self, given: Samples, change: Change, shares: Array | None = None) -> None:
        self.given, self.change, self.shares = given, change, shares
        self.classes: ClassMoments | None = None
        self.found: Moments | None = None

    @cached_property
    def samples(self) -> Samples:
        if self.change.T is None:
            return self.given
        return (self.change.about_zero if self._at_zero else self.change)(self.given)

    @property
    def _at_zero(self) -> bool:
        return self.shares is not None and not self.shares.any()

    @property
    def moments(self) -> Moments:
        if self.found is None:
            self.found = statistics.moments(self.samples)
        return self.found

    @property
    def n(self) -> float:
        return self.given.weight if self.given.n_known else self.moments.n

    @property
    def count(self) -> int:
        return self.given.n

    @property
    def weights(self) -> Array | None:
        return self.given.weights

    @property
    def trials(self) -> Codes | None:
        return None if self.given.marks is None else self.given.marks.codes

    @property
    def mean(self) -> Array:
        return self.moments.mean

    @property
    def centre(self) -> list[Array]:
        """Vectors that are subtracted from the rows one after the other.

        If the mean is far larger than the deviations, one vector is not accurate enough. For rows
        in memory the second vector is the mean of the remainder.
        """
        if self._at_zero:
            return []
        mean, shares, given = self.mean, self.shares, self.given
        if shares is None and (given.stored or given.is_sparse or self.change.T is not None):
            return [mean]
        if shares is None:
            counts = np.ones(given.n) if given.weights is None else given.weights
            shares = counts / given.weight
        rest = self.samples.reduce(partial(_shared, mean=mean), added, shares)
        return [mean + rest] if given.is_sparse else [mean, rest]  # two vectors keep all digits

    def about(self, shares: Array) -> SampleRows:
        other = SampleRows(self.given, self.change, shares)
        if shares.any():
            other.found = self.moments
        return other

    @property
    def about_zero(self) -> SampleRows:
        return self.about(np.zeros(1))

    def form(self, K: Kernel, moving: MovingKernel = None) -> Array:
        if isinstance(K, np.ndarray):
            return diagonal_forms(self.samples, [K], self.centre)[0]
        return linked_form(self.samples, K, self.centre)

    def forms(self, counts: Sequence[Array], own_means: bool = False) -> list[Array]:
        if own_means:
            return [part.scatter for part in statistics.moments_of_parts(self.samples, counts)]
        return diagonal_forms(self.samples, counts, self.centre)

    def scatter(self) -> Array:
        if self._at_zero:
            found = self.moments
            return found.scatter + found.n * np.outer(found.mean, found.mean)
        return self.moments.scatter

    def lagged(self, lag: int) -> Array:
        self.found = found = statistics.lagged_moments(self.samples, lag)
        return found.lagged

    def scatter_of_changes(self) -> Array:
        return statistics.difference_scatter(self.samples)

    def of_pairs(self, lag: int) -> tuple[Array, Array, None]:
        """Return lagged covariance and covariance of pairs, centred by the mean of all members."""
        stats = statistics.pair_moments(self.samples, lag)
        (before, after), S = stats.means, stats.block
        mean, half = 0.5 * (before + after), 0.5 * (before - after)
        between = stats.n * np.outer(half, half)
        scatter = 0.5 * (S(0, 0) + S(1, 1)) + between
        self.found = Moments(stats.n, mean, scatter)
        lagged = 0.5 * (S(0, 1) + S(1, 0)) - between
        return lagged / stats.n, scatter / stats.n, None

    def of_groups(self, codes: Codes, groups: int) -> tuple[Array, Array]:
        """Return the scatters between and within groups."""
        self.classes = found = statistics.class_moments(self.samples, codes, groups)
        self.found = Moments(found.n, found.mean, found.total)
        return found.between, found.within


def _shared(piece: Samples, shares: Array, mean: Array) -> Array:
    """Return the weighted sum of the rows minus a mean."""
    return piece.centred_transpose_times(shares, mean)


@dataclass(frozen=True, eq=False)
class Opened:
    """The rows from which a method's matrices are computed, in coordinates with few columns.

    - samples: samples and background, in these coordinates
    """

    name: str
    data: Data
    compact: Compact
    samples: Sequence[Samples]
    _links: list[csr_array] = field(default_factory=list)

    def at(self, change: Change) -> SampleSums:
        """Return sums over the rows in changed coordinates; a background has its own mean."""
        changes = [change] * len(self.samples)
        if change.T is not None:
            means = [statistics.mean(each) for each in self.samples[1:]]
            changes[1:] = [Change(change.T, mean) for mean in means]
        return SampleSums(self, change, list(map(SampleRows, self.samples, changes)))

    def links(self, weights: Callable[[Data], csr_array]) -> csr_array:
        """Return weights between the rows, computed once."""
        if not self._links:
            self._links.append(weights(self.data))
        return self._links[0]


@dataclass(frozen=True, eq=False)
class SampleSums:
    """The `DataSums` of samples in memory or in files."""

    opened: Opened
    change: Change
    views: Sequence[SampleRows]

    @property
    def rows(self) -> SampleRows:
        return self.views[0]

    def deviations(self) -> Array:
        from ldr.objectives.kernel import as_response, deviations

        samples = self.opened.data.samples
        y = as_response(self.opened.data.y, samples.n)
        if y.shape[1] != 1:
            raise DataError(
                f"y has {y.shape[1]} columns, but {self.opened.name} takes a single response: one "
                "number for each row or trial"
            )
        found = deviations(y[:, 0], samples.weights)
        if not found.any():
            raise DataError("y is constant over all rows or trials: expected a varying quantity")
        return found

    def labels(self) -> tuple[Codes, Cells]:
        return self.opened.data.labels

    def scatters_of_classes(self) -> tuple[Array, Array]:
        codes, classes = self.opened.data.labels
        return self.rows.of_groups(codes, len(classes))

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> tuple[Array, Array]:
        codes = groups(self.opened.data.y)
        return self.rows.of_groups(codes, int(codes.max()) + 1)

    def groups(self, of: Callable[[Cells], Grouped]) -> Grouped:
        return of(as_array(self.opened.data.y))

    def links(
        self, weights: Callable[[Data], csr_array], check: Callable[[Data], None]
    ) -> csr_array:
        return self.opened.links(weights)

    def through(self, of: Callable[..., Array], *known: Array) -> SampleRows:
        given = self.rows.given
        X = given.dense()
        found = np.zeros_like(X)
        for run in given.runs:
            found[run] = of(X[run], *known)
        return SampleRows(Samples(found), self.change)

    def with_inverse(
        self, A: Callable[[Array], Array], B: Array, ridge: float
    ) -> Callable[[Array], Array]:
        """Return A as a function of W, WW' = B^{-1}: products with B^{-1} are less accurate."""
        return A

    def square(self, A: Array, inverse: Array) -> Array:
        half = A @ inverse
        return half @ half.T

    def times_trace(self, A: Array, inverse: Array, F: Callable[[], csr_array]) -> Array:
        return float(np.vdot(inverse, A @ inverse)) * A

    def scatter_of(self, beside: Given) -> Array:
        given, space = self.rows.given, self.opened.compact.space
        X = derivatives_of(beside, (given.n, given.d if space is None else len(space.mean)))
        if space is not None:
            X = np.ascontiguousarray(space.lower(X.T).T)
        X = weighted(X if self.change.T is None else X @ self.change.T, given.weights)
        return X.T @ X

    def pencil(self, found: Against) -> Pencil:
        """Return the pair (A, B), with sizes from which rounding errors are bounded."""
        rows, shares = self.rows, found.shares
        pencil = partial(
            Pencil,
            A=found.A,
            size=found.cancels,
            groups=rows.classes,
            unrelated=found.unrelated,
        )
        if rows.classes is not None and found.B is rows.classes.within:
            total, mean, n = rows.classes.total, rows.mean, rows.n
            sizes = np.sqrt(diagonal(total) + n * mean**2)
            return pencil(found.B, mean, sizes, total, KnownScatter(total, n))
        mean, scatter = np.zeros(len(found.B)), None
        if shares is None:
            mean, scatter = rows.mean, KnownScatter(rows.scatter(), rows.moments.n)
        elif shares.any():
            mean = np.sum(rows.about(shares).centre, axis=0)
        offsets = self._offsets(mean, found.B) if found.offsets is None else found.offsets()
        sizes = np.sqrt(diagonal(found.B) + offsets)
        return pencil(found.B, mean, sizes, found.total, scatter)

    def _offsets(self, mean: Array, B: Array) -> Array:
        """Return the mean's part in the squared data, in units of B, for varying columns."""
        if not mean.any():
            return mean
        if len(self.views) > 1:
            parts = [np.where(np.diag(v.scatter()) > 0, v.mean**2, 0.0) for v in self.views]
            return np.sum(parts, axis=0)
        variances = diagonal(self.rows.scatter()) / self.rows.moments.n
        shares = np.divide(mean**2, variances, out=np.zeros_like(mean), where=variances > 0)
        return diagonal(B) * shares


@dataclass(frozen=True)
class StatedMethod(Objective):
    """Base of the methods defined by `matrices`: a trace, or a pair (A, B).

    Attributes
    ----------
    divisor : str
        The name of B, for messages; empty without B.
    about_zero, by_size : bool
        True if sums are about zero, not means; True if components are ordered by absolute scores.
    """

    divisor: ClassVar[str] = "the covariance"
    about_zero: ClassVar[bool] = False
    by_size: ClassVar[bool] = False
    spectral: ClassVar[type[AbsoluteTrace]] = AbsoluteTrace

    def opened(self, data: Data, room: int) -> Opened:
        """Return the rows that determine the matrices, with at most `room` added directions."""
        samples = data.samples
        # For n < d a minimised objective is zero in the directions that are orthogonal to all rows.
        empty_is_best = self.sense == "min" and samples.n_known and samples.n < samples.d
        if not self.traits.products or empty_is_best:
            data = data.everywhere()
        parts = data.samples, *filter(None, [data.background])
        for part in parts[1:]:  # the samples, parts[0], were checked when they were opened
            check_squares(part)
        if isinstance(self, Shrinking) and self.shrinks:
            return Opened(self.name, data, self.compact(data.samples), parts)
        if len(parts) > 1 or self.about_zero:
            return Opened(self.name, data, *Compact.about_zero(*parts, room=room))
        compact = Compact.of(data.samples, room=room, by_products=True)
        return Opened(self.name, data, compact, [compact.rows])

    def bind(self, data: Data, r: int) -> Trace | TraceRatio:
        opened = self.opened(data, r if self.sense == "max" and not self.divisor else 0)
        notes = self.notes_on(data, r)
        if not self.divisor:
            return self._trace(opened, r, notes)
        rows = self.shrunken(self._pencil(opened), data)
        ridge = float(getattr(self, "ridge", 0.0))
        if isinstance(self, NestedMethod):
            return trace_ratio(self, rows, r, ridge=ridge, notes=notes)
        kind = self.spectral if self.by_size else None
        return whitened_trace(self, rows, r, ridge=ridge, notes=notes, spectral=kind)

    def _stated(self, sums: SampleSums | WideSums) -> Matrices:
        """Return the class's matrices of the features, also if an instance has none of its own."""
        method = of_features(self)
        return type(method).matrices(method, cast(DataSums, sums))

    def _trace(self, opened: Opened, r: int, notes: Sequence[str]) -> Trace:
        """Return the trace problem; minima are restricted to directions with variance."""
        sums = opened.at(Change())
        found = self._stated(sums)
        assert isinstance(found, TraceMatrices)
        view = opened.compact.view_of(sums.rows.moments).noting(*notes)
        if self.sense == "max":
            return Trace(self, (view,), found.A, r)
        kept = Range.of(sums.rows.scatter(), view.coordinates, "the covariance")
        square = found.varied is not None
        return Trace(self, (view.within(kept),), kept(found.A), r, -1.0, is_square=square)

    def _pencil(self, opened: Opened) -> RowPencil:
        """Return the matrix pair of the rows in any coordinates."""

        def of(change: Change) -> Pencil:
            sums = opened.at(change)
            found = self._stated(sums)
            assert isinstance(found, Against)
            return sums.pencil(found)

        data = opened.data
        return RowPencil(
            opened.compact,
            of,
            self.divisor,
            opened.samples[1:],
            classes=self.classes(data),
            wide=self._wide(opened) if data.samples.wide else None,
        )

    def _wide(self, opened: Opened) -> WidePencil:
        """Return the pair (A, B) of very wide sparse rows, by products."""
        sums = WideSums(opened.data, opened.links)
        found = self._stated(sums)
        assert isinstance(found, Against)
        return sums.pencil(found)

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        """Return the matrix pair, with B shrunk towards its diagonal if shrinkage is requested."""
        return rows

    def classes(self, data: Data) -> Cells | None:
        """Return the classes that predictors use, from the groups of the rows."""
        return None

    def notes_on(self, data: Data, r: int) -> list[str]:
        """Return messages about the choice of r."""
        return []
