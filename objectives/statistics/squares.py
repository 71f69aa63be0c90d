"""Several sums of squares of the same rows, about zero."""

from __future__ import annotations

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.sparse import scaled_rows
from ldr.objectives.statistics.sums import added, dense


def second_moments(samples: Samples, counts: Array) -> Array:
    """sum_i c_ik x_i x_i' for each column of the counts, in one pass.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    counts : ndarray, shape (n, q)
        Of either sign; a row costs nothing where it counts zero. Weights of the rows are not looked
        at.

    Returns
    -------
    ndarray, shape (q, d, d)
    """
    return samples.reduce(_squares, added, counts)


def _squares(piece: Samples, counts: Array) -> Array:
    found = np.zeros((counts.shape[1], piece.d, piece.d))
    for where, block in piece.blocks():
        for square, of_block in zip(found, counts[where].T, strict=True):
            there = np.flatnonzero(of_block)
            rows, count = block[there], of_block[there]
            scaled = scaled_rows(rows, count) if piece.is_sparse else rows * count[:, None]
            square += dense(rows.T @ scaled)
    return 0.5 * (found + found.transpose(0, 2, 1))
