"""Sparse rows less a shift that keeps them sparse: what takes the digits of a large mean back.

X'X - n mean mean' cancels where a mean is large against the spread. Of a column with a share p of
its entries stored, |mean| <= sqrt(p/(1 - p)) standard deviations: only of a nearly full one can it
be, and to subtract from such a column what it is near to stores few more entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.sums import NO_SHIFT, Codes, dense, membership, sparse_rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# The share of entries beyond which a mean can exceed NO_SHIFT standard deviations: 25/26.
_NEARLY_FULL = NO_SHIFT**2 / (1.0 + NO_SHIFT**2)


def shifted_rows(samples: Samples) -> tuple[csr_array, Array]:
    """X - 1 shift' as csr, and the shift: near the mean of a nearly full column, zero elsewhere.

    Constant columns that are full become empty. At most a 25th more entries are stored.
    """
    codes = np.zeros(samples.n, dtype=np.intp)
    rows, shift = shifted_classes(samples, codes, np.array([samples.n]))
    return rows, shift[0]


def shifted_classes(samples: Samples, codes: Codes, counts: Codes) -> tuple[csr_array, Array]:
    """The same with a shift for each class, (c, d), of columns nearly full in the class.

    Every class must occur; `counts` are their sizes.
    """
    X, (c, d) = sparse_rows(samples), (len(counts), samples.d)
    stored = np.bincount(X.indices, minlength=d)
    if not np.any(stored > _NEARLY_FULL * counts.min()):  # in most data there are no such columns
        return X, np.zeros((c, d))
    cells = X.indices + d * np.repeat(codes, np.diff(X.indptr))
    stored = np.bincount(cells, minlength=c * d).reshape(c, d)
    nearly_full = stored > _NEARLY_FULL * counts[:, None]
    first = np.unique(codes, return_index=True)[1]
    shift = np.where(nearly_full, X[first].toarray(), 0.0)  # of constant columns it is their value
    sums = dense(membership(codes, c).tocsr() @ less(X, shift, codes))
    shift += np.where(nearly_full, sums / counts[:, None], 0.0)
    return less(X, shift, codes), shift


def less(X: csr_array, shift: Array, codes: Codes) -> csr_array:
    """The rows of X less the shift of their class, of which most entries are zero."""
    from scipy.sparse import csr_array

    return (X - csr_array(shift)[codes]).tocsr()


def column_means(rows: csr_array, weights: Array | None = None) -> Array:
    """Means of the columns of sparse rows; zero of rows without weight."""
    if weights is None:
        return np.asarray(rows.sum(axis=0)).ravel() / rows.shape[0]
    return np.asarray(rows.T @ weights) / (weights.sum() or 1.0)


def scaled_rows(rows: csr_array, weights: Array | None) -> csr_array:
    """WX of sparse rows; X itself where every row counts once."""
    if weights is None:
        return rows
    from scipy.sparse import diags_array

    return (diags_array(weights) @ rows).tocsr()


def differences(plus: np.ndarray, minus: np.ndarray, n: int) -> csr_array:
    """A sparse matrix with rows e_plus - e_minus."""
    from scipy.sparse import csr_array

    columns, rows = np.column_stack([plus, minus]).ravel(), 2 * np.arange(len(plus) + 1)
    signs = np.ones(len(columns))
    signs[1::2] = -1.0
    return csr_array((signs, columns, rows), shape=(len(plus), n))
