"""Rows of a NumPy memory map."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np

from ldr.objectives.data.cells import Cells, CellType

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
        page = mmap.PAGESIZE
        begin, end = -(-first // page) * page, (first + (stop - start) * self._row) // page * page
        if end > begin:
            self._map.madvise(mmap.MADV_DONTNEED, begin, end - begin)

    @property
    def _row(self) -> int:
        """Bytes of a row."""
        return self.shape[1] * self.dtype.itemsize
