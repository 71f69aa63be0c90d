"""What every place where rows are stored can do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from ldr.objectives.data.cells import Cells, CellType, Column
from ldr.solvers.errors import ArgumentError


class Source(Protocol):
    """Where rows are stored.

    Attributes
    ----------
    shape : tuple of int
        (n, d).
    dtype : numpy.dtype
        Of what is read.
    feature_names : tuple of str or None
    boundaries : sequence of int, or None
        The rows at which the stretches begin that are best read whole, and n at the end; None where
        any stretch of rows is read as cheaply as another.
    files : tuple of Path
        That are read.
    """

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> CellType: ...

    @property
    def feature_names(self) -> tuple[str, ...] | None: ...

    @property
    def boundaries(self) -> Sequence[int] | None: ...

    @property
    def files(self) -> tuple[Path, ...]: ...

    def read(self, start: int, stop: int) -> Cells:
        """Rows start..stop-1, not to be written to; called from several threads at a time."""
        ...


def not_installed(files: str, error: ImportError) -> ArgumentError:
    """What to say of files that need a package of an extra."""
    return ArgumentError(
        f"{files} files need {error.name}, which is not installed: "
        "pip install 'ldr-manifold[files]'"
    )


class TableSource(Source, Protocol):
    """A source whose columns have names, and need not be numbers as long as nobody reads them.

    Attributes
    ----------
    columns : tuple of str
        All of the file's.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...

    def select(self, columns: Sequence[str]) -> TableSource:
        """The source of some columns, which must hold numbers, in this order."""
        ...

    def column(self, name: str) -> Column:
        """One column of all rows, of any type: labels, say."""
        ...


def pieces_along(boundaries: Sequence[int], most: int) -> list[slice]:
    """Pieces of at most `most` rows that follow boundaries.

    Neighbouring stretches are joined as long as they are no more rows together; a longer stretch is
    cut into equal parts.
    """
    pieces: list[slice] = []
    begin = boundaries[0]
    for first, last in pairwise(boundaries):
        if last - begin <= most:
            continue
        if first > begin:
            pieces.append(slice(begin, first))
        parts = -(-(last - first) // most)
        edges = [first + (last - first) * k // parts for k in range(parts + 1)]
        pieces += [slice(a, b) for a, b in pairwise(edges[:-1])]
        begin = edges[-2]
    if boundaries[-1] > begin:
        pieces.append(slice(begin, boundaries[-1]))
    return pieces
