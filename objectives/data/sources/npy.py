"""Rows of an .npy file, and of a NumPy memory map."""

from __future__ import annotations

import mmap
import os
from io import RawIOBase
from pathlib import Path
from tokenize import TokenError
from typing import Literal

import numpy as np

from ldr.objectives.data.cells import Cells, CellType
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class NpyFile:
    """A matrix in an .npy file, row after row or column after column; see `numpy.save`.

    It is read, not mapped: pages of a mapped file would count as the process's memory.
    """

    path: Path
    shape: tuple[int, int]
    dtype: CellType
    offset: int
    by_columns: bool
    feature_names: None = None
    boundaries: None = None

    @classmethod
    def open(cls, path: Path, name: str = "X") -> NpyFile:
        """
        Raises
        ------
        FileNotFoundError
        DataError
            No .npy file, or not a matrix of real numbers.
        """
        from numpy.lib import format as npy

        with path.open("rb") as file:
            try:
                version = npy.read_magic(file)
                reader = (
                    npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                )
                shape, by_columns, dtype = reader(file)
            except (ValueError, SyntaxError, TokenError) as error:
                raise DataError(f"{name}: {path.name} cannot be read as .npy: {error}") from error
            offset = file.tell()
        if len(shape) != 2 or dtype.kind not in "biuf":
            raise DataError(
                f"{name}: {path.name} holds an array of shape {shape} and type {dtype}, expected a "
                "matrix of real numbers, samples in rows"
            )
        short = os.path.getsize(path) - offset - dtype.itemsize * shape[0] * shape[1]
        if short < 0:
            raise DataError(f"{name}: {path.name} is cut off, {-short} bytes are missing")
        return cls(path, shape, dtype, offset, by_columns)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    def read(self, start: int, stop: int) -> Cells:
        n, d = self.shape
        order: Literal["C", "F"] = "F" if self.by_columns else "C"
        rows = np.empty((stop - start, d), self.dtype, order)
        # Each part is of numbers that lie side by side, both in the file and in `rows`.
        parts = rows.T if self.by_columns else rows.reshape(1, -1)
        first, step = (start, n) if self.by_columns else (start * d, 0)
        with self.path.open("rb", buffering=0) as file:
            for j, part in enumerate(parts):
                file.seek(self.offset + (first + j * step) * self.dtype.itemsize)
                self._fill(part, file)
        return rows

    def _fill(self, part: Cells, file: RawIOBase) -> None:
        view = part.data.cast("B")
        while view:
            count = file.readinto(view)
            if not count:
                raise DataError(f"{self.path.name} ended while it was read")
            view = view[count:]


# Smaller maps are arrays like any other.
_LEAST_BYTES = 2**28


class MemoryMap:
    """Rows of a memory map, read so that the process does not hold on to what it has read.

    Pages of a file that were touched count as the process's memory until the system wants them
    back; here they are given back at once.
    """

    feature_names = None
    boundaries = None

    def __init__(self, array: np.memmap[tuple[int, int], CellType]) -> None:
        self.shape: tuple[int, int] = array.shape
        self.dtype = array.dtype
        self._map: mmap.mmap = array._mmap  # type: ignore[attr-defined]
        self._array = np.asarray(array)
        self.files = () if array.filename is None else (Path(array.filename),)
        self._origin = np.frombuffer(self._map, np.uint8).ctypes.data

    @staticmethod
    def worthwhile(array: np.memmap[tuple[int, int], CellType]) -> bool:
        """Whether it is large, read-only (so that nothing can be lost) and row after row."""
        return (
            array.ndim == 2
            and array.nbytes >= _LEAST_BYTES
            and array.mode == "r"
            and array.flags.c_contiguous
            and array.dtype.kind in "biuf"
            and isinstance(getattr(array, "_mmap", None), mmap.mmap)
        )

    def read(self, start: int, stop: int) -> Cells:
        rows = self._array[start:stop].copy()
        self._forget(start, stop)
        return rows

    def _forget(self, start: int, stop: int) -> None:
        """Give back the pages that lie within some rows."""
        first = self._array[start:stop].ctypes.data - self._origin
        last = first + (stop - start) * self.shape[1] * self.dtype.itemsize
        page = mmap.PAGESIZE
        begin, end = -(-first // page) * page, last // page * page
        if end > begin:
            self._map.madvise(mmap.MADV_DONTNEED, begin, end - begin)
