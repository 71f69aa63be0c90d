"""Rows of an .npy file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.solvers.errors import DataError


@dataclass(frozen=True)
class NpyFile:
    """A matrix in an .npy file, row after row; see `numpy.save`.

    It is read, not mapped: pages of a mapped file would count as the process's memory.
    """

    path: Path
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    offset: int
    feature_names: None = None
    boundaries: None = None

    @classmethod
    def open(cls, path: Path, name: str = "X") -> NpyFile:
        """
        Raises
        ------
        FileNotFoundError
        DataError
            No .npy file, or not a matrix of real numbers stored row after row.
        """
        from numpy.lib import format as npy

        with path.open("rb") as file:
            try:
                version = npy.read_magic(file)
                reader = (
                    npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                )
                shape, by_columns, dtype = reader(file)
            except ValueError as error:
                raise DataError(f"{name}: {path.name} cannot be read as .npy: {error}") from error
            offset = file.tell()
        if len(shape) != 2 or dtype.kind not in "biuf":
            raise DataError(
                f"{name}: {path.name} holds an array of shape {shape} and type {dtype}, expected a "
                "matrix of real numbers, samples in rows"
            )
        if by_columns and min(shape) > 1:
            raise DataError(
                f"{name}: {path.name} is stored column after column (Fortran order), so that its "
                "rows cannot be read one after the other: save numpy.ascontiguousarray(X)"
            )
        short = os.path.getsize(path) - offset - dtype.itemsize * shape[0] * shape[1]
        if short < 0:
            raise DataError(f"{name}: {path.name} is cut off, {-short} bytes are missing")
        return cls(path, shape, dtype, offset)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.offset + start * self.shape[1] * self.dtype.itemsize)
            view = rows.data.cast("B")
            while view:
                count = file.readinto(view)
                if not count:
                    raise DataError(f"{self.path.name} ended while it was read")
                view = view[count:]
        return rows
