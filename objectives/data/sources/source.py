"""What every place where rows are stored can do; some columns of it, columns in other units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, CellType, CodedCells, Column, Given
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.records import dataclass


class Source(Protocol):
    """Where rows are stored.

    Attributes
    ----------
    shape : tuple of int
        (n, d).
    dtype : numpy.dtype
        Of what is read.
    feature_names : tuple of str or None
    boundaries : sequence of int, or None
        The rows at which the stretches begin that are best read whole, and n at the end; None where
        any stretch of rows is read as cheaply as another.
    files : tuple of Path
        That are read.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> CellType: ...

    @property
    def feature_names(self) -> tuple[str, ...] | None: ...

    @property
    def boundaries(self) -> Sequence[int] | None: ...

    @property
    def files(self) -> tuple[Path, ...]: ...

    def read(self, start: int, stop: int) -> Cells:
        """Rows start..stop-1, not to be written to; called from several threads at a time."""
        ...


def not_installed(files: str, error: ImportError) -> ArgumentError:
    """What to say of files that need a package of an extra."""
    return ArgumentError(
        f"{files} files need {error.name}, which is not installed: "
        "pip install 'ldr-manifold[files]'"
    )


def arrow(module: str, files: str) -> tuple[ModuleType, ModuleType]:
    """pyarrow, and the module of it that reads such files."""
    try:
        return import_module("pyarrow"), import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise not_installed(files, error) from None


class TableSource(Source, Protocol):
    """A source whose columns have names, and need not be numbers as long as nobody reads them.

    Attributes
    ----------
    columns : tuple of str
        All of the file's.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...

    def select(self, columns: Sequence[str]) -> TableSource:
        """The source of some columns, which must hold numbers, in this order."""
        ...

    def column(self, name: str, as_text: bool = False) -> Column:
        """One column of all rows, of any type: labels, say; or its cells as texts."""
        ...


def pieces_along(boundaries: Sequence[int], most: int) -> list[slice]:
    """Pieces of at most `most` rows that follow boundaries.

    Neighbouring stretches are joined as long as they are no more rows together; a longer stretch is
    cut into equal parts.
    """
    pieces: list[slice] = []
    begin = boundaries[0]
    for first, last in pairwise(boundaries):
        if last - begin <= most:
            continue
        if first > begin:
            pieces.append(slice(begin, first))
        parts = -(-(last - first) // most)
        edges = [first + (last - first) * k // parts for k in range(parts + 1)]
        pieces += [slice(a, b) for a, b in pairwise(edges[:-1])]
        begin = edges[-2]
    return [*pieces, slice(begin, boundaries[-1])]


@dataclass(frozen=True, eq=False)
class Derived:
    """A source that is read from another one."""

    source: Source

    @property
    def boundaries(self) -> Sequence[int] | None:
        return self.source.boundaries

    @property
    def files(self) -> tuple[Path, ...]:
        return self.source.files


@dataclass(frozen=True)
class Columns(Derived):
    """Some columns of a source that reads whole rows."""

    where: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape[0], len(self.where)

    @property
    def dtype(self) -> CellType:
        return self.source.dtype

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        names = self.source.feature_names
        return None if names is None else tuple(names[j] for j in self.where)

    def read(self, start: int, stop: int) -> Cells:
        return self.source.read(start, stop)[:, self.where]


@dataclass(frozen=True, eq=False)
class Scaled(Derived):
    """A source whose columns are divided by numbers."""

    units: npt.NDArray[np.float64]

    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.source.feature_names

    def read(self, start: int, stop: int) -> Cells:
        return np.asarray(self.source.read(start, stop) / self.units)


def check_distinct(columns: Sequence[str], file: str, name: str) -> None:
    """Refuse two columns of one name."""
    column, times = Counter(columns).most_common(1)[0] if columns else ("", 0)
    if times > 1:
        raise DataError(f"{name}: {file} has {times} columns called {column!r}")


def check_known(wanted: Sequence[str], columns: Sequence[str], file: str) -> None:
    """Refuse a column that is not there."""
    for column in wanted:
        if column not in columns:
            shown = columns if len(columns) <= 20 else [*columns[:20], "..."]
            raise ArgumentError(f"{file} has no column {column!r}; it has: {', '.join(shown)}")


def coded(values: Given, as_type: Callable[[Given], Given] = lambda entries: entries) -> Column:
    """A dictionary-encoded column of Arrow, its entries made once; texts keep their codes.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
    as_type : callable
        Of the entries, all of them as one pyarrow array: of another type.
    """
    import pyarrow

    chunks = values.chunks
    nothing = [pyarrow.nulls(1, values.type.value_type)] if values.null_count else []
    entries = pyarrow.chunked_array(
        [chunk.dictionary for chunk in chunks] + nothing, values.type.value_type
    )
    starts = accumulate((len(chunk.dictionary) for chunk in chunks), initial=0)
    indices = (chunk.indices.fill_null(-1).to_numpy() for chunk in chunks)
    codes = [
        np.where(places < 0, len(entries) - 1, places + start)
        for places, start in zip(indices, starts, strict=False)
    ]
    made = as_type(entries).to_numpy()
    found = CodedCells(made, np.concatenate([np.empty(0, np.intp), *codes]))
    return found if made.dtype.kind == "O" else np.asarray(found)
