"""What a method holds in memory at once, so that what does not fit is refused before any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ldr.objectives.data.memory import afford
from ldr.objectives.data.samples import Samples

_NUMBER = 8.0
# Vectors as long as the rows and the columns, where there are products alone.
_VECTORS = 64

_WAYS_OUT = {
    "columns x columns": "leave out columns, or take a method of few directions of sparse rows "
    "(pca, lda, maf, pls)",
    "rows x columns": "give fewer rows or columns, or a method of sums over rows and the rows as a "
    "path or in blocks",
    "rows x rows": "give fewer rows, or landmarks= or components= where there are such",
    "(rows + columns) x directions": "give fewer rows or columns",
}


@dataclass(frozen=True)
class Footprint:
    """How many arrays of numbers there are at the same time, of which shapes, beside the rows.

    What was measured of each method, rounded up.

    Attributes
    ----------
    squares : float
        Columns x columns, of all views together; of fewer rows than columns, of their span.
    span : float or None
        Rows x columns, of fewer rows than columns; None where they have squares all the same.
    rows : float
        Rows x columns, of rows that are in memory.
    row : float
        Numbers beside each of them.
    pairs : float
        Rows x rows, of rows that are in memory.
    products : bool
        Whether products are enough, of sparse rows of very many columns.
    """

    squares: float = 8.0
    span: float | None = 4.0
    rows: float = 0.0
    row: float = 0.0
    pairs: float = 0.0
    products: bool = False

    def sizes(self, views: Sequence[Samples]) -> dict[str, float]:
        """Bytes, by shape; of rows that were not counted, those of the columns alone."""
        d = sum(view.d for view in views)
        if not all(view.n_known for view in views):
            return {"columns x columns": _NUMBER * self.squares * d**2}
        n = views[0].n
        if self.products and any(view.wide for view in views):
            return {"(rows + columns) x directions": _NUMBER * _VECTORS * (n + d)}
        few = [] if self.span is None else [view for view in views if view.n < view.d]
        k = d - sum(view.d - view.n for view in few)
        numbers = {
            "columns x columns": self.squares * k**2,
            "rows x columns": (self.span or 0.0) * sum(view.n * view.d for view in few),
        }
        if not views[0].stored:
            filled = 0.0 if views[0].is_sparse else self.rows * d
            numbers["rows x columns"] += n * (filled + self.row)
            numbers["rows x rows"] = self.pairs * n**2
        return {shape: _NUMBER * size for shape, size in numbers.items()}

    def afford(self, name: str, views: Sequence[Samples]) -> None:
        """Refuse what would not fit.

        Raises
        ------
        TooLargeError
            It names the size, the limit and the way out.
        """
        sizes = self.sizes(views)
        shape = max(sizes, key=lambda shape: sizes[shape])
        afford(sum(sizes.values()), f"{name}, with its arrays of {shape},", _WAYS_OUT[shape])
