"""Some columns of a source, and columns in other units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, CellType
from ldr.objectives.data.sources.source import Source
from ldr.solvers.errors import ArgumentError, DataError


@dataclass(frozen=True, eq=False)
class Derived:
    """A source that is read from another one.

    Attributes
    ----------
    source : Source
    """

    source: Source

    @property
    def boundaries(self) -> Sequence[int] | None:
        return self.source.boundaries

    @property
    def files(self) -> tuple[Path, ...]:
        return self.source.files


@dataclass(frozen=True)
class Columns(Derived):
    """Some columns of a source that reads whole rows.

    Attributes
    ----------
    where : tuple of int
    """

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
    """A source whose columns are divided by numbers.

    Attributes
    ----------
    units : ndarray (d,)
    """

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
