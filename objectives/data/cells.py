"""What rows come in: arrays of whatever type, and sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass

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


@dataclass(frozen=True, eq=False)
class CodedCells:
    """A column whose entries stand once, or a few times, and for each row which of them it has.

    Arrow's dictionaries are such columns. Millions of texts are handled by their codes; whoever
    needs them as an array gets it from NumPy.
    """

    entries: Cells
    codes: Cells

    ndim = 1

    @classmethod
    def of(cls, cells: Cells) -> CodedCells:
        """Objects, looked up one by one: sorting millions of texts takes many times as long.

        Raises
        ------
        TypeError
            One cannot be hashed.
        """
        places: dict[object, int] = {}
        codes = (places.setdefault(cell, len(places)) for cell in cells)
        found = np.fromiter(codes, np.intp, len(cells))
        entries = np.empty(len(places), dtype=object)
        entries[:] = list(places)
        return cls(entries, found)

    @classmethod
    def below(cls, columns: Sequence[Column]) -> CodedCells:
        """Columns below one another; of plain ones every row has an entry of its own."""
        parts = [
            part
            if isinstance(part, CodedCells)
            else CodedCells(part.astype(object), np.arange(len(part)))
            for part in columns
        ]
        starts = accumulate((len(part.entries) for part in parts), initial=0)
        codes = [part.codes + start for part, start in zip(parts, starts, strict=False)]
        return cls(np.concatenate([part.entries for part in parts]), np.concatenate(codes))

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: CellType | None = None, copy: bool | None = None) -> Cells:
        return self.entries[self.codes].astype(dtype or self.entries.dtype, copy=False)


# A column of a table.
Column: TypeAlias = Cells | CodedCells


def check_unmasked(array: object, name: str) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array; a plain array was expected (fill it, or drop the masked "
            "rows)"
        )


def check_real(dtype: CellType, name: str) -> None:
    if dtype.kind not in REAL_KINDS:
        raise DataError(f"{name} must hold real numbers, but its type is {dtype}")
