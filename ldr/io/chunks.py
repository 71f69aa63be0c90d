"""Projections of Dask arrays and DataFrames: chunk by chunk, when they are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ldr.objectives.data.containers import check_dimensions, like
from ldr.objectives.data.sources.dask_rows import is_frame
from ldr.solvers.manifolds import Array
from ldr.types import Argument, Rows

# Of data and their name in messages.
Project = Callable[[Rows, str], Array]


def project_chunks(X: Rows, project: Project, name: str, names: Sequence[str]) -> Rows:
    """The projected rows, of which nothing has been computed yet.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame (m, d)
        Lengths of chunks need not be known.
    project : callable
        Of a chunk, and what to call it.
    name : str
    names : sequence of str
        Of the r columns.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame (m, r)
        In the same chunks of rows; a DataFrame has X's index, and these columns.

    Raises
    ------
    ldr.errors.ArgumentError, ldr.errors.DataError
        At once for columns that do not fit; for NaN when it is computed.
    """
    if is_frame(X):
        row = X._meta_nonempty
        empty = like(row, project(row, name), names).iloc[:0]
        return X.map_partitions(partial(_partition, project, name, empty), meta=empty)
    check_dimensions(X, name)
    r = project(np.ones((1, *X.shape[1:]), X.dtype), name).shape[1]
    return X.rechunk({1: -1}).map_blocks(
        partial(_chunk, project, name, r), chunks=(X.chunks[0], (r,)), meta=np.empty((0, 0))
    )


def _partition(
    project: Project, name: str, empty: Rows, part: Rows, partition_info: Argument
) -> Rows:
    if len(part) == 0:
        return empty
    number = partition_info["number"]
    return like(part, project(part, f"{name}, partition {number}"), empty.columns)


def _chunk(project: Project, name: str, r: int, chunk: Rows, block_id: Argument) -> Array:
    if len(chunk) == 0:
        return np.empty((0, r))
    return project(chunk, f"{name}, chunk {block_id[0]}")
