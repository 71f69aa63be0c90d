"""Rows in time order: the scatter of their differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.pairs import Edge, pair_counts
from ldr.objectives.statistics.sparse import scaled_rows
from ldr.objectives.statistics.sums import (
    add_square,
    dense,
    full,
    sparse_rows,
    symmetric,
    weighted,
    zeros,
)
from ldr.solvers.errors import DataError


def difference_scatter(samples: Samples, *, rows: int | None = None) -> Array:
    """Xdot'Xdot, where Xdot holds the n - 1 differences x_{t+1} - x_t of rows in time order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
        At least two rows.
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ndarray, shape (d, d)
        A sum of squares of differences of the stored numbers: nothing cancels, whatever the
        mean.

    Raises
    ------
    DataError
        Fewer than two rows.
    """
    if samples.n_known and samples.n < 2:
        raise DataError(f"{samples.name} has {samples.n} row(s); differences need at least 2")
    return full(samples.reduce(partial(_differences, rows=rows), DifferenceSpread.merge).squares)


@dataclass(eq=False)
class DifferenceSpread:
    """The scatter of differences of neighbouring rows; can be merged with later rows.

    Attributes
    ----------
    squares : ndarray, shape (d, d)
        Its upper triangle, in Fortran order.
    first, last : Edge
        One row each.
    """

    squares: Array
    first: Edge
    last: Edge

    def merge(self, later: DifferenceSpread) -> DifferenceSpread:
        """That of both, in place, with the difference across."""
        self.squares += later.squares
        across = later.first.rows - self.last.rows
        counts = self.last.counts(later.first)
        self.squares = add_square(self.squares, weighted(across, counts))
        self.last = later.last
        return self


def _differences(piece: Samples, rows: int | None) -> DifferenceSpread:
    first, last = Edge.of(piece, slice(0, 1)), Edge.of(piece, slice(piece.n - 1, piece.n))
    counts = pair_counts(piece.marks, piece.n, 1)
    if piece.is_sparse:
        X = sparse_rows(piece)
        steps = X[1:] - X[:-1]
        squares = np.asfortranarray(symmetric(dense(steps.T @ scaled_rows(steps, counts))))
        return DifferenceSpread(squares, first, last)
    squares = zeros(piece.d, piece.d)
    for where in piece.slices(rows):
        block = piece.rows(slice(where.start, where.stop + 1))  # and the next block's first row
        if len(block) > 1:
            squares = add_square(squares, weighted(block[1:] - block[:-1], counts, where))
    return DifferenceSpread(squares, first, last)
