"""Samples in chunks of a Dask array or DataFrame: sums on the workers, and totals here.

A worker takes a chunk, makes its term and sends that to the worker of its neighbour's, where the
two are merged, and so on: a binary tree in the order of the rows, of which the last term alone
comes back.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import dask.array
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed, delayed

from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.cells import Cells, CellType
from ldr.objectives.data.finite import check_finite, check_largest, largest_of_piece
from ldr.objectives.data.map_reduce import PIECE_NUMBERS
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.samples import Array, Beside, Merge, Samples, Term
from ldr.objectives.data.sources.dask_rows import DaskRows, chunked, computed
from ldr.objectives.data.stored import StoredSamples
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass, replace


@dataclass(frozen=True, eq=False, repr=False)
class DaskSamples(StoredSamples):
    """Samples whose rows are on workers, and checked there as they are summed."""

    @classmethod
    def open(cls, X: object, name: str) -> DaskSamples:
        """
        Raises
        ------
        DataError
            Not a matrix of real numbers.
        """
        source = DaskRows.open(X, name)
        return cls(source, source.feature_names, name)

    def reduce(
        self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside | dask.array.Array
    ) -> Term:
        """Sum a term over pieces of the rows, on the workers.

        Parameters
        ----------
        term, merge : callable
            As in `Samples.reduce`; they can be pickled.
        *beside : Samples, ndarray or Dask array, n rows each
            Dask's are taken to the chunks of the rows. Others are sent with the tasks, but for rows
            of files, which the workers read.
        """
        views = (self, *(other for other in beside if isinstance(other, Samples)))
        lots = [self._lots(other) for other in beside]
        chunk_sum = _ChunkSum(
            term,
            merge,
            tuple(_View.of(other) for other in (self, *beside)),
            max(1, PIECE_NUMBERS // sum(view.d for view in views)),
        )
        of_chunk = delayed(chunk_sum, pure=False, traverse=False)
        terms = [
            of_chunk(where, self.marked(where), chunk, *lot)
            for where, chunk, *lot in zip(self._places(), self._chunks(), *lots, strict=True)
        ]
        total = computed(_tree(partial(_merged, merge), terms))
        self.tally.reads.append(self.n)
        for view, largest in zip(views, total.largest, strict=True):
            check_largest(largest, view.name)
        return total.term

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        step = self.block_rows if rows is None else rows
        for where in self._places():
            chunk = self.rows(where)
            for start in range(0, len(chunk), step):
                block = chunk[start : start + step]
                first = where.start + start
                yield slice(first, first + len(block)), block

    def take(self, rows: npt.ArrayLike) -> Samples:
        wanted = np.arange(self.n)[np.asarray(rows)]
        order = np.argsort(wanted, kind="stable")
        picked = np.empty((len(wanted), self.d), self.array.dtype)
        picked[order] = computed(self.array.array[wanted[order]])
        return replace(self.checked(picked, 0), marks=self.marked(wanted))

    def centred_times(self, V: Array, mean: Array) -> Array:
        V = np.asarray(V, dtype=np.float64)
        columns = V.reshape(self.d, -1)
        product = self.array.array.map_blocks(
            _centred_times,
            columns,
            mean,
            dtype=np.float64,
            chunks=(self.array.rows, columns.shape[1:]),
        )
        return np.asarray(computed(product)).reshape(self.n, *V.shape[1:])

    def centred_transpose_times(self, Y: Array, mean: Array) -> Array:
        term = partial(_centred_transpose_times, mean=mean)
        return self.reduce(term, np.add, np.asarray(Y, dtype=np.float64))

    def _places(self) -> list[slice]:
        """Where the chunks are."""
        return [slice(start, stop) for start, stop in pairwise(self.array.boundaries)]

    def _chunks(self) -> list[Delayed]:
        return list(self.array.array.to_delayed().ravel())

    def _lots(self, other: Beside | dask.array.Array) -> list[object]:
        """What stands beside the rows, cut as the chunks are."""
        if isinstance(other, DaskSamples):
            other = other.array.array
        if isinstance(other, dask.array.Array):
            if other.shape[0] != self.n:
                raise DataError(
                    f"what stands beside {self.name} has {other.shape[0]} rows, expected {self.n}"
                )
            return list(chunked(other, self.array.rows).to_delayed().ravel())
        if isinstance(other, StoredSamples):
            read = delayed(other.array.read, pure=False)
            return [read(where.start, where.stop) for where in self._places()]
        rows = other.array if isinstance(other, Samples) else _narrow(other)
        return [rows[where] for where in self._places()]


@dataclass(frozen=True)
class _View:
    """What a worker must know of one of the arguments of a term.

    Attributes
    ----------
    name, feature_names
        Of Samples; a name of None is an array.
    allow_nan : bool
        Whether missing values are accepted.
    accelerator : Accelerator or None
        Of samples; the worker's.
    dtype : numpy.dtype or None
        Of an array, which may have been sent in a narrower one.
    """

    name: str | None
    feature_names: tuple[str, ...] | None = None
    allow_nan: bool = False
    accelerator: Accelerator | None = None
    dtype: CellType | None = None

    @classmethod
    def of(cls, argument: Beside | dask.array.Array) -> _View:
        if isinstance(argument, Samples):
            missing = argument.has_nan or getattr(argument, "allow_nan", False)
            return cls(argument.name, argument.feature_names, missing, argument.accelerator)
        return cls(None, dtype=argument.dtype)

    def piece(self, rows: Cells, first: int, marks: Marks | None) -> Beside:
        """Rows as the term takes them; samples are checked."""
        if self.name is None:
            return rows.astype(self.dtype, copy=False)
        piece = Samples(
            rows, self.feature_names, self.name, accelerator=self.accelerator, marks=marks
        )
        return replace(piece, has_nan=check_finite(piece, self.allow_nan, first))


@dataclass(frozen=True, eq=False)
class _Total:
    """A term, and the largest entry in each of the samples that it was made of."""

    term: object
    largest: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _ChunkSum:
    """The task of a worker: the term of a chunk, in pieces that fit into its memory.

    Attributes
    ----------
    term, merge : callable
    views : tuple of _View
        Of the chunk, and of what stands beside it.
    rows : int
        In a piece.
    """

    term: Callable[..., object]
    merge: Merge[Any]
    views: tuple[_View, ...]
    rows: int

    def __call__(self, where: slice, marks: Marks | None, *chunks: Cells) -> _Total:
        n = where.stop - where.start
        if len(chunks[0]) != n:
            raise DataError(
                f"{self.views[0].name} has a chunk of {len(chunks[0])} rows, for which its Dask "
                f"array says {n}"
            )

        def of_piece(start: int) -> _Total:
            rows = slice(start, start + self.rows)
            piece = [chunk[rows] for chunk in chunks]
            return self._of_piece(where.start + start, marks and marks[rows], piece)

        total = of_piece(0)
        for start in range(self.rows, n, self.rows):
            total = _joined(self.merge, total, of_piece(start))
        return total

    def _of_piece(self, first: int, marks: Marks | None, rows: list[Cells]) -> _Total:
        given = [
            view.piece(part, first, marks) for view, part in zip(self.views, rows, strict=True)
        ]
        largest = tuple(largest_of_piece(piece) for piece in given if isinstance(piece, Samples))
        return _Total(self.term(*given), largest)


def _joined(merge: Merge[Any], earlier: _Total, later: _Total) -> _Total:
    largest = tuple(map(max, earlier.largest, later.largest))
    return _Total(merge(earlier.term, later.term), largest)


def _merged(merge: Merge[Any], earlier: _Total, later: _Total) -> _Total:
    """Merged copies: a task may be run again on what it was given, after a worker was lost."""
    return _joined(merge, copy.deepcopy(earlier), copy.deepcopy(later))


def _tree(merge: Merge[Any], terms: list[Delayed]) -> Delayed:
    """Neighbours merged, then neighbours of those, down to one."""
    join = delayed(merge, pure=False, traverse=False)
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [join(a, b) for a, b in zip(terms[:-1:2], terms[1::2], strict=True)] + odd
    return terms[0]


def _narrow(beside: Cells) -> Cells:
    """Codes in the smallest type that holds them, to be sent with the tasks."""
    if beside.dtype.kind not in "iu" or beside.min() < 0:
        return beside
    return beside.astype(np.min_scalar_type(beside.max()))


def _centred_times(chunk: Cells, V: Array, mean: Array) -> Array:
    return Samples(chunk).centred_times(V, mean)


def _centred_transpose_times(piece: Samples, Y: Array, mean: Array) -> Array:
    return piece.centred_transpose_times(Y, mean)
