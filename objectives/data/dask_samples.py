"""Samples in chunks of a Dask array or DataFrame: sums on the workers, and totals here.

A worker takes a chunk, makes its term and sends that to the worker of its neighbour's, where the
two are merged, and so on: a binary tree in the order of the rows, of which the last term alone
comes back.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import dask.array
import numpy as np
import numpy.typing as npt
from dask.delayed import Delayed, delayed

from ldr.objectives.data.array_types import Cells, CellType
from ldr.objectives.data.change import MadeSamples, of_made
from ldr.objectives.data.dask_rows import DaskRows, check_dense, chunked, computed
from ldr.objectives.data.memory import check_finite, check_largest, largest_of_piece
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.data.samples import Array, Beside, Merge, Samples, Term, piece_rows
from ldr.objectives.data.stored import StoredSamples
from ldr.solvers.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class DaskSamples(StoredSamples):
    """Samples whose rows are on workers, and checked there as they are summed."""

    @classmethod
    def open(cls, X: object, name: str) -> DaskSamples:
        """
        - raises DataError: Not a matrix of real numbers.
        """
        source = DaskRows.open(X, name)
        return cls(source, source.feature_names, name)

    def reduce(
        self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside | dask.array.Array
    ) -> Term:
        """Sum a term over pieces of the rows, on the workers.

        - term, merge: as in `Samples.reduce`; they can be pickled
        - *beside: Dask's are taken to the chunks of the rows. Others are sent with the tasks, but
          for rows of files, which the workers read.
        """
        if any(isinstance(other, MadeSamples) for other in beside):
            return of_made(self, None, term, merge, *beside)
        views = (self, *(other for other in beside if isinstance(other, Samples)))
        rows = piece_rows(sum(view.d for view in views))
        chunk_sum = _ChunkSum(term, merge, tuple(map(_kind, (self, *beside))), rows)
        of_chunk = delayed(chunk_sum, pure=False, traverse=False)
        columns = (self.array.array.to_delayed().ravel(), *map(self._cut, beside))
        terms = [
            of_chunk(where, self.marked(where), *chunks)
            for where, *chunks in zip(self.array.places, *columns, strict=True)
        ]
        total, largest = computed(_tree(partial(_merged, merge), terms))
        self.tally.rows += self.n
        for view, entry in zip(views, largest, strict=True):
            check_largest(entry, view.name)
        return total

    def take(self, rows: npt.ArrayLike) -> Samples:
        wanted = np.arange(self.n)[np.asarray(rows)]
        order = np.argsort(wanted, kind="stable")
        picked = np.empty((len(wanted), self.d), self.array.array.dtype)
        picked[order] = computed(self.array.array[wanted[order]])
        return replace(self._checked(picked, 0), marks=self.marked(wanted))

    def centred_transpose_times(self, Y: Array, mean: Array) -> Array:
        term = partial(_centred_transpose_times, mean=mean)
        return self.reduce(term, np.add, np.asarray(Y, dtype=np.float64))

    def each(
        self,
        change: Callable[[Cells], Cells],
        names: tuple[str, ...] | None = None,
        d: int | None = None,
    ) -> DaskSamples:
        array = self.array.array.map_blocks(change, dtype=np.float64)
        return replace(self, array=DaskRows(array, self.feature_names, self.name))

    def _cut(self, other: Beside | dask.array.Array) -> list[object]:
        """What stands beside the rows, cut as the chunks are."""
        if isinstance(other, DaskSamples):
            other = other.array.array
        if isinstance(other, dask.array.Array):
            if other.shape[0] != self.n:
                raise DataError(
                    f"what stands beside {self.name} has {other.shape[0]} rows, expected {self.n}"
                )
            return list(chunked(other, self.array.array.chunks[0]).to_delayed().ravel())
        if isinstance(other, StoredSamples):
            read = delayed(other.array.read, pure=False)
            return [read(where.start, where.stop) for where in self.array.places]
        rows = other.array if isinstance(other, Samples) else _narrow(other)
        return [rows[where] for where in self.array.places]


def _kind(argument: Beside | dask.array.Array) -> Samples | CellType:
    """Samples without rows, which tell how theirs are taken; or the type of an array's cells."""
    if not isinstance(argument, Samples):
        return argument.dtype
    return Samples(
        np.empty((0, argument.d)),
        argument.feature_names,
        argument.name,
        argument.has_nan or getattr(argument, "allow_nan", False),
        argument.accelerator,
    )


@dataclass(frozen=True, eq=False)
class _ChunkSum:
    """The task of a worker: the term of a chunk, in pieces that fit into its memory.

    - kinds: of the chunk, and of what stands beside it; see `_kind`
    - rows: in a piece
    """

    term: Callable[..., object]
    merge: Merge[Any]
    kinds: tuple[Samples | CellType, ...]
    rows: int

    def __call__(self, where: slice, marks: Marks | None, *chunks: Cells) -> tuple[object, Array]:
        name, n = self.kinds[0].name, where.stop - where.start
        check_dense(chunks[0], name)
        if len(chunks[0]) != n:
            raise DataError(
                f"{name} has a chunk of {len(chunks[0])} rows, for which its Dask array says {n}"
            )
        pieces = (slice(start, start + self.rows) for start in range(0, max(1, n), self.rows))
        terms = (
            self._of_piece(
                where.start + rows.start, marks and marks[rows], [chunk[rows] for chunk in chunks]
            )
            for rows in pieces
        )
        return reduce(partial(_joined, self.merge), terms)

    def _of_piece(
        self, first: int, marks: Marks | None, parts: list[Cells]
    ) -> tuple[object, Array]:
        given: list[Beside] = []
        for kind, rows in zip(self.kinds, parts, strict=True):
            if isinstance(kind, Samples):
                piece = replace(kind, array=rows, marks=marks, has_nan=False)
                given.append(replace(piece, has_nan=check_finite(piece, kind.has_nan, first)))
            else:
                given.append(rows.astype(kind, copy=False))
        largest = [largest_of_piece(piece) for piece in given if isinstance(piece, Samples)]
        return self.term(*given), np.array(largest)


Total = tuple[object, Array]


def _joined(merge: Merge[Any], earlier: Total, later: Total) -> Total:
    return merge(earlier[0], later[0]), np.maximum(earlier[1], later[1])


def _merged(merge: Merge[Any], earlier: Total, later: Total) -> Total:
    """Merged copies: a task may be run again on what it was given, after a worker was lost."""
    return _joined(merge, copy.deepcopy(earlier), copy.deepcopy(later))


def _tree(merge: Callable[..., Total], terms: list[Delayed]) -> Delayed:
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


def _centred_transpose_times(piece: Samples, Y: Array, mean: Array) -> Array:
    return piece.centred_transpose_times(Y, mean)
