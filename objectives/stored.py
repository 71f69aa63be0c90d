"""Rows that stay where they are, in a file say, and are read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.objectives.pieces import PIECE_NUMBERS
from ldr.objectives.samples import (
    Array,
    Samples,
    Term,
    as_samples,
    check_finite,
    check_largest,
    largest_entry,
)
from ldr.objectives.storage import (
    SEPARATORS,
    InMemory,
    MemoryMap,
    NpyFile,
    ParquetFile,
    Source,
    Stack,
    TextFile,
    pieces_along,
)
from ldr.objectives.streams import StreamSamples
from ldr.solvers.errors import ArgumentError, DataError


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
    """

    tally: Tally = field(default_factory=Tally, repr=False)

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

    def pieces(self) -> list[slice]:
        boundaries = self.array.boundaries
        if boundaries is None:
            return super().pieces()
        return pieces_along(boundaries, max(1, PIECE_NUMBERS // self.d))

    def read(self, where: slice) -> npt.NDArray[Any]:
        """Rows of a slice in their own type."""
        start, stop, _ = where.indices(self.n)
        self.tally.rows += stop - start
        return np.asarray(self.array.read(start, stop))

    def piece(self, where: slice) -> Samples:
        piece = Samples(self.read(where), self.feature_names, self.name)
        check_finite(piece, False, where.start)
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
        check_finite(taken, False)
        return taken

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


def open_source(X: Any, name: str) -> Samples | None:
    """Stored samples of what `as_samples` takes for larger than memory; None of anything else.

    Raises
    ------
    ArgumentError
        The ending of a path is not known.
    DataError
        What is stored is no matrix of real numbers.
    FileNotFoundError
    """
    if StreamSamples.takes(X):
        return StreamSamples.of(X, name)
    source: Source
    if isinstance(X, (str, Path)):
        source = open_path(X, name)
    elif isinstance(X, list) and X and all(map(_is_part, X)):
        source = Stack(tuple(_part(part, f"{name}[{i}]") for i, part in enumerate(X)), name)
    elif isinstance(X, np.memmap) and MemoryMap.worthwhile(X):
        source = MemoryMap(X)
    else:
        return None
    return stored(source, name)


def stored(source: Source, name: str) -> StoredSamples:
    """Samples of a source, whose columns must hold numbers."""
    if source.dtype.kind not in "biuf":
        raise DataError(f"{name} must hold real numbers, but its type is {source.dtype}")
    return StoredSamples(source, source.feature_names, name)


def open_path(X: str | Path, name: str) -> Source:
    """The source of a file, or of a folder of Parquet files."""
    path = Path(X)
    ending = path.suffix.lower()
    if path.is_dir():
        files = sorted(path.rglob("*.parquet"))
        if not files:
            raise ArgumentError(f"{name}: the folder {str(path)!r} has no .parquet files")
        return Stack(tuple(ParquetFile(file, name) for file in files), name)
    if ending == ".parquet":
        return ParquetFile(path, name)
    if ending in SEPARATORS:
        return TextFile.open(path, name)
    if ending == ".npy":
        return NpyFile.open(path, name)
    if ending in (".npz", ".mat"):
        raise ArgumentError(
            f"{name}: {ending} files are read as a whole: pass the array that "
            f"{'numpy.load' if ending == '.npz' else 'scipy.io.loadmat'} finds in {path.name}"
        )
    known = ", ".join((".npy", ".parquet", *SEPARATORS))
    raise ArgumentError(
        f"{name} is the string {str(X)!r}; an array was expected, or the path of a file that ends "
        f"in one of {known}, or of a folder of .parquet files"
    )


def with_column(X: Any, y: Any) -> tuple[Any, Any]:
    """X and y where y may be the name of a column of X's file, or the path of an .npy file.

    Returns
    -------
    X : as given, or Samples of the columns that are left
    y : as given, or ndarray (n,)
    """
    if isinstance(y, Path) or (isinstance(y, str) and y.lower().endswith(".npy")):
        return X, np.load(y)
    if not isinstance(y, str) or not isinstance(X, (str, Path, list)):
        return X, y
    source = open_path(X, "X") if not isinstance(X, list) else open_source(X, "X").array
    if not hasattr(source, "columns"):
        raise ArgumentError(f"y is the name {y!r}, but the columns of X have no names")
    rest = [column for column in source.columns if column != y]
    labels = source.column(y)
    return stored(source.select(rest), "X"), labels


def _is_part(X: Any) -> bool:
    """Whether an element of a list holds rows by itself."""
    return isinstance(X, (str, Path)) or (hasattr(X, "shape") and len(X.shape) == 2)


def _part(X: Any, name: str) -> Source:
    """The source of an element of a list."""
    found = open_source(X, name)
    if found is not None:
        return found.array
    samples = as_samples(X, name, 0)
    if samples.is_sparse:
        raise DataError(f"{name} is sparse; lists are of dense arrays: stack them, scipy.sparse.vstack")
    return InMemory(samples.array, samples.feature_names)
