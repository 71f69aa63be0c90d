"""Rows that stay where they are, in a file say, and are read piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, Given
from ldr.objectives.data.finite import check_finite, check_largest, largest_of_piece
from ldr.objectives.data.footprint import afford
from ldr.objectives.data.map_reduce import PIECE_NUMBERS
from ldr.objectives.data.samples import Array, Beside, Merge, Samples, Term
from ldr.objectives.data.sources.source import pieces_along
from ldr.solvers.limits import check
from ldr.solvers.records import dataclass, field, replace

# Times its rows that a method holds which needs them all at once: as they are, centred, turned.
_COPIES = 3


@dataclass
class Tally:
    """What has been read so far; threads append to it.

    Attributes
    ----------
    reads : list of int
        Rows of each read.
    largest : list of float
        The largest absolute value in each; 0 where its square is a number in any case.
    whole : bool
        Whether all rows have been in memory at once.
    """

    reads: list[int] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    whole: bool = False


@dataclass(frozen=True, eq=False)
class StoredSamples(Samples):
    """Samples whose rows are read when they are asked for, and checked as they are read.

    Attributes
    ----------
    array : Source
    allow_nan : bool
        Whether NaN, missing values, are accepted; whether they occur is known of a piece only.
    """

    stored = True
    is_sparse = False

    tally: Tally = field(default_factory=Tally, repr=False)
    allow_nan: bool = False

    @property
    def passes(self) -> float:
        """Passes over the data so far: rows read over rows."""
        return sum(self.tally.reads) / self.n

    def pieces(self) -> list[slice]:
        boundaries = self.array.boundaries
        if boundaries is None:
            return super().pieces()
        return pieces_along(boundaries, max(1, PIECE_NUMBERS // self.d))

    def read(self, where: slice) -> Cells:
        """Rows of a slice in their own type."""
        check()
        start, stop, _ = where.indices(self.n)
        self.tally.reads.append(stop - start)
        return np.asarray(self.array.read(start, stop))

    def piece(self, where: slice) -> Samples:
        return self.checked(self.read(where), where.start)

    def checked(self, rows: Cells, start: int) -> Samples:
        """Rows that were read as samples in memory; `start` is the number of the first."""
        piece = Samples(
            rows,
            self.feature_names,
            self.name,
            accelerator=self.accelerator,
            marks=self.marked(slice(start, start + len(rows))),
        )
        if check_finite(piece, self.allow_nan, start):
            piece = replace(piece, has_nan=True)
        self.tally.largest.append(largest_of_piece(piece))
        return piece

    def taken(self, allow_nan: bool) -> StoredSamples:
        return self if self.allow_nan == allow_nan else replace(self, allow_nan=allow_nan)

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        total = super().reduce(term, merge, *beside)
        self.check_range()
        return total

    def check_range(self) -> None:
        """Refuse numbers, of those read so far, whose squares cannot be summed."""
        check_largest(max(self.tally.largest, default=0.0), self.name)

    def rows(self, where: slice) -> Array:
        return np.ascontiguousarray(self.read(where), dtype=np.float64)

    def take(self, rows: npt.ArrayLike) -> Samples:
        wanted = np.arange(self.n)[np.asarray(rows)]
        order = np.argsort(wanted, kind="stable")
        picked = np.empty((len(wanted), self.d), self.array.dtype)
        for where in self.pieces():
            first, last = np.searchsorted(wanted[order], [where.start, where.stop])
            if last > first:
                here = order[first:last]
                picked[here] = self.read(where)[wanted[here] - where.start]
        taken = Samples(picked, self.feature_names, self.name, marks=self.marked(wanted))
        return replace(taken, has_nan=check_finite(taken, self.allow_nan))

    def centred_times(self, V: Array, mean: Array) -> Array:
        V = np.asarray(V, dtype=np.float64)
        product = np.empty((self.n, *V.shape[1:]))
        self.reduce(partial(_put_product, V=V, mean=mean), _neither, product)
        return product

    def dense(self) -> Array:
        return self.in_memory().dense()

    def afford(self, rows: int) -> None:
        """Refuse to read so many rows at once, unless there is memory for what is made of them."""
        afford(
            _COPIES * 8.0 * rows * self.d,
            f"{self.name} ({rows} x {self.d}) and what is made of it by this method, which needs "
            "all of its rows at once,",
            "give fewer rows or columns, or a method of sums over rows",
        )

    def in_memory(self) -> Samples:
        """All rows, read and checked.

        Raises
        ------
        DataError
            As float64, and what is made of them, they would take more memory than there is.
        """
        self.afford(self.n)
        self.tally.whole = True
        return self.piece(slice(0, self.n))


def is_dask(X: object) -> bool:
    """Whether something is a Dask array, DataFrame or Series; never imports Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def lazy_rows(X: object) -> Given:
    """The Dask array or DataFrame that X is, or that samples are made of; None of others."""
    rows = getattr(X.array, "array", None) if isinstance(X, StoredSamples) else X
    return rows if is_dask(rows) else None


def brought(y: object) -> Given:
    """Labels or a response, brought from the workers if they are Dask's."""
    if not is_dask(y):
        return y
    from ldr.objectives.data.sources.dask_rows import gathered

    return gathered(y)


def _put_product(piece: Samples, out: Array, V: Array, mean: Array) -> None:
    """Write the projected rows where they belong."""
    out[:] = piece.centred_times(V, mean)


def _neither(earlier: None, later: None) -> None:
    """The merge of terms that are nothing."""
