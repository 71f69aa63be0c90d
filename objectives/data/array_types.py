"""What rows come in: arrays of whatever type, and sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.solvers.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Cells: TypeAlias = npt.NDArray[Any]
CellType: TypeAlias = np.dtype[Any]
# What a user hands over, or a library without types: an array, a frame, a table, a column.
Given: TypeAlias = Any
# What stands in memory.
Matrix: TypeAlias = "Cells | csr_array"

# Of real numbers, among NumPy's kinds.
REAL_KINDS = "biuf"


def check_unmasked(array: object, name: str) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array; a plain array was expected (fill it, or drop the masked "
            "rows)"
        )


def check_real(dtype: CellType, name: str) -> None:
    if dtype.kind not in REAL_KINDS:
        raise DataError(f"{name} must hold real numbers, but its type is {dtype}")
