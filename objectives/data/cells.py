"""What rows come in: arrays of whatever type, and sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Cells: TypeAlias = npt.NDArray[Any]
CellType: TypeAlias = np.dtype[Any]
# What stands in memory.
Matrix: TypeAlias = "Cells | csr_array"
