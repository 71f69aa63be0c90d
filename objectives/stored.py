"""Rows that stay where they are, in a file say, and are read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ldr.objectives.samples import (
    Array,
    Samples,
    Term,
    check_finite,
    check_largest,
    largest_entry,
)
from ldr.objectives.storage import MemoryMap, NpyFile
from ldr.solvers.errors import DataError


class Source(Protocol):
    """Where rows are stored.

    Attributes
    ----------
    shape : tuple of int
        (n, d).
    dtype : numpy.dtype
        Of what is read.
    feature_names : tuple of str or None
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def feature_names(self) -> tuple[str, ...] | None: ...

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Rows start..stop-1 as an array of their own; called from several threads at a time."""
        ...


# The share of the machine's memory that a method which needs all rows at once may take.
_SHARE = 0.5


@dataclass
class Tally:
    """What has been read so far.

    Attributes
    ----------
    rows : int
    largest : float
        Absolute value, of float64 data.
    """

    rows: int = 0
    largest: float = 0.0


@dataclass(frozen=True, eq=False)
class StoredSamples(Samples):
    """Samples whose rows are read when they are asked for, and checked as they are read.

    Attributes
    ----------
    array : Source
    tally : Tally
    allow_nan : bool
        Whether NaN, missing values, are accepted; whether they occur is known of a piece only.
    """

    tally: Tally = field(default_factory=Tally, repr=False)
    allow_nan: bool = False

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def stored(self) -> bool:
        return True

    @property
    def passes(self) -> float:
        """Passes over the data so far: rows read over rows."""
        return self.tally.rows / self.n

    def read(self, where: slice) -> npt.NDArray[Any]:
        """Rows of a slice in their own type."""
        start, stop, _ = where.indices(self.n)
        self.tally.rows += stop - start
        return np.asarray(self.array.read(start, stop))

    def piece(self, where: slice) -> Samples:
        piece = Samples(
            self.read(where), self.feature_names, self.name, accelerator=self.accelerator
        )
        if check_finite(piece, self.allow_nan, where.start):
            piece = replace(piece, has_nan=True)
        if piece.array.dtype.itemsize >= 8 and piece.array.dtype.kind == "f":
            self.tally.largest = max(self.tally.largest, largest_entry(piece))
        return piece

    def reduce(
        self,
        term: Callable[..., Term],
        merge: Callable[[Term, Term], Term],
        *beside: Samples | npt.NDArray[Any],
    ) -> Term:
        total = super().reduce(term, merge, *beside)
        check_largest(self.tally.largest, self.name)
        return total

    def rows(self, where: slice) -> Array:
        return np.ascontiguousarray(self.read(where), dtype=np.float64)

    def take(self, rows: npt.ArrayLike) -> Samples:
        wanted = np.arange(self.n)[np.asarray(rows)]
        order = np.argsort(wanted, kind="stable")
        picked = np.empty((len(wanted), self.d), self.array.dtype)
        for where in self.pieces():
            first, last = np.searchsorted(wanted[order], [where.start, where.stop])
            if last > first:
                here = order[first:last]
                picked[here] = self.read(where)[wanted[here] - where.start]
        taken = Samples(picked, self.feature_names, self.name)
        return replace(taken, has_nan=check_finite(taken, self.allow_nan))

    def dense(self) -> Array:
        """All rows as one float64 array.

        Raises
        ------
        DataError
            They would take more than half of the machine's memory.
        """
        size, memory = 8 * self.n * self.d, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if size > _SHARE * memory:
            raise DataError(
                f"{self.name} ({self.n} x {self.d}) would take {size / 2**30:.1f} GiB in memory, "
                f"where this method needs all of it at once; the machine has "
                f"{memory / 2**30:.1f} GiB"
            )
        return np.asarray(self.piece(slice(0, self.n)).array, dtype=np.float64)


def open_source(X: Any, name: str, allow_nan: bool = False) -> StoredSamples | None:
    """Stored samples of a path to a file or of a large memory map; None of anything else.

    Raises
    ------
    DataError
        The file does not hold a matrix of real numbers.
    FileNotFoundError
    """
    source: Source
    if isinstance(X, (str, Path)):
        source = NpyFile.open(Path(X), name)
    elif isinstance(X, np.memmap) and MemoryMap.worthwhile(X):
        source = MemoryMap(X)
    else:
        return None
    return StoredSamples(source, source.feature_names, name, allow_nan=allow_nan)
