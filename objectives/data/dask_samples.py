"""Rows in chunks of a Dask array or DataFrame, with sums computed by the workers.

Workers compute the terms of chunks and merge neighbouring terms in a binary tree, in the order of
the rows. Only the total sum is sent to this process.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate, pairwise
from typing import Any

import dask.array
import numpy as np
import numpy.typing as npt
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed

from ldr.objectives.data.array_types import (
    Cells,
    CellType,
    Given,
    check_dimensions,
    check_real,
    open_frame,
)
from ldr.objectives.data.data import BLOCK_NUMBERS, Array, Beside, Merge, Samples, Term, piece_rows
from ldr.objectives.data.memory import check_finite, check_largest, largest_of_piece
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.data.sources import Source
from ldr.objectives.data.stored import MadeSamples, StoredSamples, of_made
from ldr.solvers.deadline import check, one_thread
from ldr.solvers.errors import ClusterError, DataError

_LOOK = 0.5  # seconds between tests of the time limit
# Largest share of the workers' memory for cached rows: Dask writes to disk if 60 % are used.
_SHARE = 0.2


class DaskRows(Source):
    """Rows of a Dask array, computed by workers chunk by chunk.

    - array (n, d): array of known shape; a chunk has all columns. Small neighbours are merged.
    """

    seekable = True

    def __init__(
        self, array: dask.array.Array, feature_names: tuple[str, ...] | None, name: str
    ) -> None:
        self.array, self.feature_names, self.name = array, feature_names, name
        self.n, self.d = array.shape
        self._passes = 0

    @classmethod
    def open(cls, X: object, name: str) -> DaskRows:
        """Open a Dask array or frame; chunks of unknown length are computed to count rows.

        Raises
        ------
        DataError
            X is not a matrix, or a column does not consist of real numbers.
        """
        names = None
        if is_frame(X):
            array, names = _matrix(X, name)
        elif isinstance(X, dask.array.Array):
            array = X
            check_dimensions(array, name)
            check_real(array.dtype, name)
            check_dense(array._meta, name)
        else:
            raise DataError(
                f"{name} is a {type(X).__name__}; a Dask array or DataFrame was expected, samples "
                "in rows"
            )
        array = _with_lengths(array)
        rows = _grouped(array.chunks[0], BLOCK_NUMBERS // max(1, array.shape[1]))
        return cls(chunked(array, rows), names, name)

    @property
    def places(self) -> list[slice]:
        """Slices of the rows of the chunks."""
        return [slice(*ends) for ends in pairwise((0, *accumulate(self.array.chunks[0])))]

    def chunks(self) -> list[Delayed]:
        """Return the chunks for another pass; from the third on, workers keep them if they fit."""
        self._passes += 1
        client = _client(self.array) if self._passes == 3 else None
        if client is not None:
            workers = client.scheduler_info()["workers"].values()
            if self.array.nbytes <= _SHARE * sum(each["memory_limit"] or 0 for each in workers):
                self.array = client.persist(self.array)
        return list(self.array.to_delayed().ravel())

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        for where in self.places:
            if where.stop > start:
                yield self.read(max(start, where.start), where.stop)

    def read(self, start: int, stop: int) -> Cells:
        rows = computed(self.array[start:stop])
        check_dense(rows, self.name)
        return np.asarray(rows)


def is_frame(X: object) -> bool:
    """Return True for a Dask DataFrame, which has `_meta.columns`; a Delayed has any attribute."""
    return hasattr(getattr(X, "_meta", None), "columns")


def _client(lazy: Given) -> Any:
    """Return the client of the active cluster, or None."""
    return getattr(get_scheduler(collections=[lazy]), "__self__", None)


def computed(lazy: Given) -> Given:
    """Compute a lazy value on the active cluster, else in threads of this process.

    Dask's setting `distributed.scheduler.no-workers-timeout` limits the wait for workers.
    """
    check()
    client = _client(lazy)
    if client is None:
        with one_thread():  # Dask already runs one task per core
            return lazy.compute()
    from distributed import wait
    from distributed.scheduler import KilledWorker

    future = client.compute(lazy)
    try:
        while not future.done():
            try:
                wait(future, timeout=_LOOK)
            except TimeoutError:
                check()
        return future.result()
    except KilledWorker as error:
        raise ClusterError(
            f"{error.allowed_failures + 1} workers of the Dask cluster, the last at "
            f"{error.last_worker.address}, were lost in turn at the same task, usually for lack of "
            "memory: start workers with more (`dask worker --memory-limit`), make the chunks of "
            "rows smaller (X.rechunk), or read the workers' logs"
        ) from error
    except CancelledError as error:
        raise ClusterError("the scheduler of the Dask cluster was lost: restart it") from error
    finally:
        future.release()


def chunked(array: dask.array.Array, rows: Sequence[int]) -> dask.array.Array:
    """Return an array in chunks, each with all columns and `rows` rows."""
    columns = [(size,) for size in array.shape[1:]]
    return array.rechunk((tuple(rows), *columns), method="tasks")


def check_dense(chunk: object, name: str) -> None:
    """Refuse sparse chunks, which the sums on workers do not support."""
    if not isinstance(chunk, np.ndarray):
        raise DataError(
            f"{name} has chunks of type {type(chunk).__name__}; chunks that are NumPy arrays were "
            f"expected: {name}.map_blocks(lambda chunk: chunk.toarray()) makes them dense, a chunk "
            f"at a time; {name}.compute() returns one sparse matrix"
        )


def _matrix(frame: Given, name: str) -> tuple[dask.array.Array, tuple[str, ...]]:
    """Return the array of a DataFrame and the columns' names."""
    empty, names = open_frame(frame._meta, name)
    if not names:
        raise DataError(f"{name} has no columns, expected at least one")
    return frame.map_partitions(partial(_numbers, name=name, dtype=empty.dtype), meta=empty), names


def _numbers(part: object, name: str, dtype: CellType) -> Cells:
    """Return a partition as an array."""
    return open_frame(part, name)[0].astype(dtype, copy=False)


def _with_lengths(array: dask.array.Array) -> dask.array.Array:
    """Return the array with known chunk lengths, computed from whole chunks if unknown."""
    if not np.isnan(array.shape[0]):
        return array
    chunks = array.to_delayed()[:, 0]
    lengths = computed(delayed([delayed(len)(chunk) for chunk in chunks]))
    known = tuple(int(rows) for rows in lengths), array.chunks[1]
    return dask.array.Array(array.dask, array.name, known, meta=array._meta)


def _grouped(rows: Sequence[int], least: int) -> list[int]:
    """Return the lengths of chunks after merging small neighbours."""
    grouped = [0]
    for length in rows:
        if grouped[-1] + length <= least:
            grouped[-1] += length
        elif length:
            grouped = [*grouped, length] if grouped[-1] else [length]
    return grouped


@dataclass(frozen=True, eq=False, repr=False)
class DaskSamples(StoredSamples):
    """Samples whose rows are checked and summed by Dask workers."""

    @classmethod
    def open(cls, X: object, name: str) -> DaskSamples:
        source = DaskRows.open(X, name)
        return cls(source, source.feature_names, name)

    def reduce(
        self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside | dask.array.Array
    ) -> Term:
        """Sum a term over chunks of the rows, on the workers.

        - term, merge: picklable functions as in `Samples.reduce`
        - *beside: Other arrays of n rows, such as labels. Dask arrays are rechunked like the rows,
          workers read rows of files, and other arrays are sent with the tasks.
        """
        if any(isinstance(other, MadeSamples) for other in beside):
            return of_made(self, None, term, merge, *beside)
        views = (self, *(other for other in beside if isinstance(other, Samples)))
        rows = piece_rows(sum(view.d for view in views))
        chunk_sum = _ChunkSum(term, merge, tuple(map(_kind, (self, *beside))), rows)
        of_chunk = delayed(chunk_sum, pure=False, traverse=False)
        columns = (self.array.chunks(), *map(self._cut, beside))
        terms = [
            of_chunk(where, self.marked(where), *chunks)
            for where, *chunks in zip(self.array.places, *columns, strict=True)
        ]
        total, largest = computed(_tree(partial(_merged, merge), terms))
        self.tally.rows += self.n
        for view, entry in zip(views, largest, strict=True):
            check_largest(entry, view.name)
        return total

    def _in_order(self, wanted: npt.NDArray[np.intp]) -> Cells:
        return np.asarray(computed(self.array.array[wanted]))

    def centred_transpose_times(self, Y: Array, mean: Array) -> Array:
        Y = np.asarray(Y, dtype=np.float64)
        return self.reduce(lambda piece, Y: piece.centred_transpose_times(Y, mean), np.add, Y)

    def each(self, change: Callable[[Cells], Cells]) -> DaskSamples:
        array = self.array.array.map_blocks(change, dtype=np.float64)
        return replace(self, array=DaskRows(array, self.feature_names, self.name))

    def _cut(self, other: Beside | dask.array.Array) -> list[object]:
        """Cut an array of n rows at the chunk boundaries of these samples."""
        if isinstance(other, DaskSamples):
            other = other.array.array
        if isinstance(other, dask.array.Array):
            if other.shape[0] != self.n:
                raise DataError(
                    f"an array passed with {self.name} has {other.shape[0]} rows, expected {self.n}"
                )
            return list(chunked(other, self.array.array.chunks[0]).to_delayed().ravel())
        if isinstance(other, StoredSamples):
            read = delayed(other.array.read, pure=False)
            return [read(where.start, where.stop) for where in self.array.places]
        rows = other.array if isinstance(other, Samples) else other
        return [rows[where] for where in self.array.places]


def _kind(argument: Beside | dask.array.Array) -> Samples | CellType:
    """Return samples without rows, as a description, or the dtype of an array."""
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
    """Task of a worker: the term of a chunk, computed in parts that fit into memory.

    - kinds: description of the chunk and of companions; see `_kind`
    - rows: number of rows of a part
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
                f"{name} has a chunk of {len(chunks[0])} rows, where the Dask array declares {n}"
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
    """Return merged copies: after a lost worker a task may run again on its inputs."""
    return _joined(merge, copy.deepcopy(earlier), copy.deepcopy(later))


def _tree(merge: Callable[..., Total], terms: list[Delayed]) -> Delayed:
    """Merge neighbouring terms pairwise, until a single term remains."""
    join = delayed(merge, pure=False, traverse=False)
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [join(a, b) for a, b in zip(terms[:-1:2], terms[1::2], strict=True)] + odd
    return terms[0]
