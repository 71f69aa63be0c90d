"""Rows of a Dask array or DataFrame, and waiting for the workers that compute them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from itertools import accumulate, pairwise

import dask.array
import numpy as np
from dask.base import get_scheduler
from dask.delayed import delayed

from ldr.objectives.data.array_types import (
    Cells,
    CellType,
    Given,
    check_dimensions,
    check_real,
    open_frame,
)
from ldr.objectives.data.samples import BLOCK_NUMBERS
from ldr.objectives.data.sources import Source
from ldr.solvers.deadline import check
from ldr.solvers.errors import ClusterError, DataError
from ldr.solvers.threads import one_thread

_LOOK = 0.5  # seconds between two looks at the time limit


class DaskRows(Source):
    """Rows in chunks, which are computed where they are needed.

    - array (n, d): of known shape; a chunk has all columns. Small neighbouring chunks are put
      together.
    """

    seekable = True

    def __init__(
        self, array: dask.array.Array, feature_names: tuple[str, ...] | None, name: str
    ) -> None:
        self.array, self.feature_names, self.name = array, feature_names, name
        self.n, self.d = array.shape

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
        """The rows of each chunk."""
        return [slice(*ends) for ends in pairwise((0, *accumulate(self.array.chunks[0])))]

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        for where in self.places:
            if where.stop > start:
                yield self.read(max(start, where.start), where.stop)

    def read(self, start: int, stop: int) -> Cells:
        rows = computed(self.array[start:stop])
        check_dense(rows, self.name)
        return np.asarray(rows)


def is_frame(X: object) -> bool:
    """Whether something of Dask's is a DataFrame: a Delayed has any attribute, a Series columns."""
    return hasattr(getattr(X, "_meta", None), "columns")


def computed(lazy: Given) -> Given:
    """The value of something lazy: on the active cluster, else in threads of this process.

    How long a cluster without workers is waited for is Dask's setting
    `distributed.scheduler.no-workers-timeout`.

    - raises ClusterError: The scheduler was lost, or its workers were lost one after the other at a
      task.
    - raises KeyboardInterrupt, TimeLimitError: While there was nothing yet; the workers are told to
      leave it.
    """
    client = getattr(get_scheduler(collections=[lazy]), "__self__", None)
    if client is None:
        with one_thread():  # a thread a task, not a thread a core in each of them
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
            f"{error.allowed_failures + 1} workers of the Dask cluster were lost one after the "
            f"other while they worked at the same task, the last at {error.last_worker.address}: "
            "mostly their memory was too small; start them with more (`dask worker "
            "--memory-limit`), make the chunks of rows smaller (X.rechunk), or see their logs"
        ) from error
    except CancelledError as error:
        raise ClusterError("the scheduler was lost while its workers computed") from error
    finally:
        future.release()


def chunked(array: dask.array.Array, rows: Sequence[int]) -> dask.array.Array:
    """An array in chunks of so many rows each, and of all columns."""
    columns = [(size,) for size in array.shape[1:]]
    return array.rechunk((tuple(rows), *columns), method="tasks")


def check_dense(chunk: object, name: str) -> None:
    """Refuse sparse chunks, of which the sums on the workers know nothing."""
    if not isinstance(chunk, np.ndarray):
        raise DataError(
            f"{name} has chunks of type {type(chunk).__name__}; chunks that are NumPy arrays were "
            f"expected: {name}.map_blocks(lambda chunk: chunk.toarray()) makes them dense, a chunk "
            f"at a time; {name}.compute() is one sparse matrix in memory"
        )


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
