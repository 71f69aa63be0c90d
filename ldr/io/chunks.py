"""Rows of data frames aligned by index, and projections of Dask arrays chunk by chunk."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ldr.objectives.data.containers import check_dimensions, like
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.types import Argument, PerRow, Rows

# Of data and their name in messages.
Project = Callable[[Rows, str], Array]


def project_chunks(X: Rows, project: Project, name: str, names: Sequence[str]) -> Rows:
    """The projected rows, of which nothing has been computed yet.

    - X (m, d): lengths of chunks need not be known
    - project: of a chunk, and what to call it
    - names: of the r columns
    - returns (m, r): in the same chunks of rows; a DataFrame has X's index, and these columns.
    - raises ldr.errors.ArgumentError, ldr.errors.DataError: At once for columns that do not fit;
      for NaN when it is computed.
    """
    from ldr.objectives.data.dask_rows import is_frame

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


_EXAMPLES = 3


def by_index(objective: Objective, X: Rows, y: PerRow, **beside: PerRow) -> tuple[Rows, ...]:
    """X, y and what else stands beside the rows, all in the order of the index of the first view.

    A background has rows of its own.
    """
    beside = {"y": y, **beside}
    if objective.views == 1 and Need.BACKGROUND not in objective.needs:
        return X, *(aligned(X, other, name, "X") for name, other in beside.items())
    if not isinstance(X, (tuple, list)) or not X:
        return X, *beside.values()
    first, *others = X
    if objective.views > 1:
        others = [aligned(first, other, f"X[{i}]", "X[0]") for i, other in enumerate(others, 1)]
    rows = (aligned(first, other, name, "X[0]") for name, other in beside.items())
    return (first, *others), *rows


def aligned(first: Rows, other: PerRow, name: str, first_name: str) -> PerRow:
    """The other's rows in the order of the first's index, where both are pandas'; else as they are.

    Two Dask frames whose divisions are known must begin and end alike.

    - raises DataError: The indices differ by more than their order, or have duplicates and differ
      in order.
    """
    if other is None:
        return None
    _check_divisions(first, other, name, first_name)
    index, others = _index(first), _index(other)
    if index is None or others is None or len(index) != len(others) or index.equals(others):
        return other
    by_place = f"reset both indices, or pass {name}.to_numpy(), to pair rows by their place"
    if not (index.is_unique and others.is_unique):
        raise DataError(
            f"{first_name} and {name} have indices that differ and hold duplicates, so it cannot "
            f"be told which rows belong together; {by_place}"
        )
    places = others.get_indexer(index)
    absent = index[places < 0]
    if len(absent):
        examples = ", ".join(map(repr, absent[:_EXAMPLES].tolist()))
        raise DataError(
            f"{first_name} and {name} have different indices: {len(absent)} of {first_name}'s "
            f"{len(index)} are not in {name}'s, the first {examples}; {by_place}"
        )
    return other.iloc[places]


def _index(rows: Rows) -> PerRow:
    """Of a pandas DataFrame or Series; None of anything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(rows, (pandas.DataFrame, pandas.Series)):
        return None
    return rows.index


def _check_divisions(first: Rows, other: PerRow, name: str, first_name: str) -> None:
    ends = [
        (rows.divisions[0], rows.divisions[-1])
        for rows in (first, other)
        if getattr(rows, "known_divisions", False) is True  # of a Delayed it is another one
    ]
    if len(ends) == 2 and ends[0] != ends[1]:
        raise DataError(
            f"{first_name} and {name} have different indices: from {ends[0][0]!r} to "
            f"{ends[0][1]!r} and from {ends[1][0]!r} to {ends[1][1]!r}; pass arrays, "
            f"{name}.to_dask_array(), to pair rows by their place"
        )
