"""Rows of a Dask array or DataFrame. Imported only where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

import dask.array
import numpy as np
from dask.base import get_scheduler
from dask.delayed import delayed

from ldr.objectives.data.cells import Cells, CellType, CodedCells, Column, Given, check_real
from ldr.objectives.data.containers import check_dimensions, open_frame
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass
from ldr.solvers.threads import one_thread

# Neighbouring chunks are put together up to so many numbers: a task costs about a millisecond.
_LEAST_NUMBERS = 2**20


@dataclass(frozen=True, eq=False)
class DaskRows:
    """Rows in chunks, which are computed where they are needed.

    Attributes
    ----------
    array : dask.array.Array, shape (n, d)
        Of known shape; a chunk has all columns.
    feature_names : tuple of str or None
    """

    array: dask.array.Array
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def open(cls, X: object, name: str) -> DaskRows:
        """
        Where lengths of chunks are not known, as in a DataFrame, the chunks are computed for their
        lengths; nothing is kept in memory.

        Raises
        ------
        DataError
            Not a matrix, or a column that is not of real numbers.
        """
        names = None
        if is_frame(X):
            array, names = _matrix(X, name)
            array = _with_lengths(array)
        elif isinstance(X, dask.array.Array):
            check_dimensions(X, name)
            check_real(X.dtype, name)
            if not isinstance(X._meta, np.ndarray):
                raise DataError(
                    f"{name} has chunks of type {type(X._meta).__name__}; chunks that are NumPy "
                    f"arrays were expected: {name}.map_blocks(lambda chunk: chunk.toarray())"
                )
            array = _with_lengths(X)
        else:
            raise DataError(
                f"{name} is a {type(X).__name__}; a Dask array or DataFrame was expected, samples "
                "in rows"
            )
        rows = _grouped(array.chunks[0], max(1, _LEAST_NUMBERS // max(1, array.shape[1])))
        return cls(chunked(array, rows), names)

    @property
    def shape(self) -> tuple[int, int]:
        return self.array.shape

    @property
    def dtype(self) -> CellType:
        return self.array.dtype

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows in each chunk."""
        return self.array.chunks[0]

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The rows at which chunks begin, and n."""
        return (0, *accumulate(self.rows))

    def read(self, start: int, stop: int) -> Cells:
        return np.asarray(computed(self.array[start:stop]))


def is_frame(X: object) -> bool:
    """Whether something of Dask's is a DataFrame: a Delayed has any attribute, a Series columns."""
    return hasattr(getattr(X, "_meta", None), "columns")


def computed(lazy: Given) -> Given:
    """The value of something lazy: on the active cluster, else in threads of this process.

    Raises
    ------
    ClusterError
        The cluster's scheduler or its workers were lost.
    """
    client = getattr(get_scheduler(collections=[lazy]), "__self__", None)
    with one_thread():  # a thread a task, not a thread a core in each of them
        if client is None:
            return lazy.compute()
        from ldr.objectives.data.sources.cluster import awaited

        return awaited(client, lazy)


def chunked(array: dask.array.Array, rows: Sequence[int]) -> dask.array.Array:
    """An array in chunks of so many rows each, and of all columns."""
    columns = [(size,) for size in array.shape[1:]]
    return array.rechunk((tuple(rows), *columns), method="tasks")


def gathered(y: Given) -> Column:
    """Labels or a response of a Dask array, Series or DataFrame, in memory.

    Of strings, a worker sends each string once and the codes of the rows.
    """
    of = getattr(y, "_meta", np.empty((0, 0)))  # a Delayed has none
    if of.ndim != 1 or of.dtype.kind in "biufmM":
        return np.asarray(computed(y))
    return CodedCells.below(computed(delayed([delayed(_coded)(part) for part in y.to_delayed()])))


def _coded(labels: object) -> CodedCells:
    """Labels as Python objects, each of them once."""
    return CodedCells.of(np.asarray(labels).astype(object))


def _matrix(frame: Given, name: str) -> tuple[dask.array.Array, tuple[str, ...]]:
    """Array of a DataFrame, and the names of its columns."""
    empty, names = open_frame(frame._meta, name)
    if not names:
        raise DataError(f"{name} has no columns")
    return frame.map_partitions(partial(_numbers, name=name, dtype=empty.dtype), meta=empty), names


def _numbers(part: object, name: str, dtype: CellType) -> Cells:
    """A partition as an array."""
    return open_frame(part, name)[0].astype(dtype, copy=False)


def _with_lengths(array: dask.array.Array) -> dask.array.Array:
    """The array, with the lengths of its chunks found where they are not known.

    They are those of the chunks themselves: of fewer columns, Dask may read other partitions.
    """
    if not np.isnan(array.shape[0]):
        return array
    chunks = array.to_delayed()[:, 0]
    lengths = computed(delayed([delayed(len)(chunk) for chunk in chunks]))
    known = tuple(int(rows) for rows in lengths), array.chunks[1]
    return dask.array.Array(array.dask, array.name, known, meta=array._meta)


def _grouped(rows: Sequence[int], least: int) -> list[int]:
    """Lengths of chunks after neighbours have been put together; none is zero but of no rows."""
    grouped = [0]
    for length in rows:
        if grouped[-1] + length <= least:
            grouped[-1] += length
        elif length:
            grouped = [*grouped, length] if grouped[-1] else [length]
    return grouped
