"""Sources below one another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import ClassVar, cast

import numpy as np

from ldr.objectives.data.cells import Cells, CellType, CodedCells, Column
from ldr.objectives.data.sources.source import Source, TableSource, check_known
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass, field, replace


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows of an array."""

    array: Cells
    feature_names: tuple[str, ...] | None = None

    boundaries = None
    files: ClassVar[tuple[Path, ...]] = ()

    @property
    def shape(self) -> tuple[int, int]:
        return cast(tuple[int, int], self.array.shape)

    @property
    def dtype(self) -> CellType:
        return self.array.dtype

    def read(self, start: int, stop: int) -> Cells:
        return self.array[start:stop]


@dataclass(frozen=True, eq=False)
class Stack:
    """The rows of several sources with the same columns, one source after the other.

    Attributes
    ----------
    sources : tuple of Source
        At least one.
    name : str
        For messages.
    """

    sources: tuple[Source, ...]
    name: str = "X"

    def __post_init__(self) -> None:
        """
        Raises
        ------
        DataError
            Another number of columns, or other names of columns, than the first has.
        """
        first = self.sources[0]
        for i, source in enumerate(self.sources):
            if source.shape[1] != first.shape[1]:
                raise DataError(
                    f"{self.name}[{i}] has {source.shape[1]} columns, expected {first.shape[1]} as "
                    f"{self.name}[0] has"
                )
            if source.feature_names != first.feature_names:
                raise DataError(
                    f"{self.name}[{i}] has other names of columns than {self.name}[0], or in "
                    "another order"
                )

    @cached_property
    def starts(self) -> list[int]:
        """The row at which each source begins, and n."""
        return [0, *accumulate(source.shape[0] for source in self.sources)]

    @property
    def shape(self) -> tuple[int, int]:
        return self.starts[-1], self.sources[0].shape[1]

    @cached_property
    def dtype(self) -> CellType:
        return np.result_type(*(source.dtype for source in self.sources))

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.sources[0].feature_names

    @cached_property
    def boundaries(self) -> list[int] | None:
        if all(source.boundaries is None for source in self.sources):
            return None
        found = [0]
        for start, source in zip(self.starts, self.sources, strict=False):
            found += [start + row for row in source.boundaries or (0, source.shape[0])][1:]
        return found

    @property
    def files(self) -> tuple[Path, ...]:
        return sum((source.files for source in self.sources), ())

    @property
    def columns(self) -> tuple[str, ...]:
        return cast(TableSource, self.sources[0]).columns

    def select(self, columns: Sequence[str]) -> Stack:
        check_known(columns, self.columns, self.name)
        tables = cast(tuple[TableSource, ...], self.sources)
        return replace(self, sources=tuple(table.select(columns) for table in tables))

    def column(self, name: str, as_text: bool = False) -> Column:
        tables = cast(tuple[TableSource, ...], self.sources)
        columns = [table.column(name, as_text) for table in tables]
        if any(isinstance(column, CodedCells) for column in columns):
            return CodedCells.below(columns)
        return np.concatenate(columns)

    def read(self, start: int, stop: int) -> Cells:
        parts = [
            source.read(max(start - first, 0), min(stop - first, source.shape[0]))
            for first, source in zip(self.starts, self.sources, strict=False)
            if first < stop and start < first + source.shape[0]
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Partitions(Stack):
    """Files in folders that are called key=value: a key is a column of labels, and no feature.

    Attributes
    ----------
    keys : dict of ndarray
        The value of each key in each of the sources.
    """

    keys: dict[str, Cells] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return *super().columns, *self.keys

    def select(self, columns: Sequence[str]) -> Stack:
        check_known(columns, self.columns, self.name)
        return super().select([column for column in columns if column not in self.keys])

    def column(self, name: str, as_text: bool = False) -> Column:
        if name not in self.keys:
            return super().column(name, as_text)
        keys = self.keys[name].astype(str).astype(object) if as_text else self.keys[name]
        values = CodedCells(keys, np.repeat(np.arange(len(self.sources)), np.diff(self.starts)))
        return values if values.entries.dtype.kind == "O" else np.asarray(values)
