"""Quadratic forms Xc'KXc of centred rows Xc, for a diagonal or sparse K."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ldr.objectives.data.data import Array, Samples
from ldr.objectives.statistics.products import Between, Squares, scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import Codes, added, class_sums, dense, symmetric, zeros

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Centre: TypeAlias = Sequence[Array]


def less(rows: Array, centre: Centre) -> Array:
    for part in centre:
        rows = rows - part
    return rows


def diagonal_forms(samples: Samples, counts: Sequence[Array], centre: Centre = ()) -> list[Array]:
    """Return sum_i c_i (x_i - m)(x_i - m)' for each vector c of weights, in a single pass.

    - samples (n, d): the rows x_i, whose own weights are ignored
    - counts (n,): the vectors c, with entries of any sign
    - centre: m, as vectors (d,) that are subtracted one after the other; empty means zero
    """
    term = partial(_diagonal_forms, centre=centre)
    total: Array = samples.reduce(term, added, np.column_stack(counts))
    return [symmetric(form) for form in total]


def _diagonal_forms(piece: Samples, counts: Array, centre: Centre) -> Array:
    return np.array([_diagonal_form(piece, c, centre) for c in counts.T])


def _diagonal_form(piece: Samples, counts: Array, centre: Centre) -> Array:
    if piece.is_sparse:
        X, m = _shifted(piece, centre)
        sums = np.asarray(X.T @ counts)
        return dense(X.T @ scaled_rows(X, counts)) - _moved(sums, m, float(counts.sum()))
    found = zeros(piece.d, piece.d)
    for where, Z in piece.blocks():
        c = counts[where]
        if not c.all():
            Z, c = Z[there := np.flatnonzero(c)], c[there]
        Z = less(Z, centre)
        if (c > 0).all():  # the symmetric product Z'Z takes half of a general product's time
            Z = Z * np.sqrt(c)[:, None]
            found += Z.T @ Z
        else:
            found += Z.T @ (c[:, None] * Z)
    return found


def linked_form(samples: Samples, K: Between, centre: Centre = ()) -> Array:
    """Return (X - 1m')'K(X - 1m') for a symmetric n x n matrix K: sparse, or F'F by `Squares`.

    - samples (n, d): the rows, in chunks if F sums over disjoint groups of rows, else all in memory
    - centre: m, as vectors (d,) that are subtracted one after the other
    - returns (d, d): errors are relative to |Xc|'|K||Xc|, or for `Squares` to the errors of FX
    """
    F = K.F if isinstance(K, Squares) else None
    if samples.is_sparse:
        X, m = _shifted(samples, centre)
        LX, RX = (X, K @ X) if F is None else (F @ X, F @ X)
        of_ones = np.asarray((K if F is None else F) @ np.ones((samples.n, 1)))[:, 0]
        total = float(of_ones.sum()) if F is None else float(of_ones @ of_ones)
        return symmetric(dense(LX.T @ RX) - _moved(np.asarray(LX.T @ of_ones), m, total))
    if F is None:
        Z = _centred(samples, centre)
        return symmetric(Z.T @ (K @ Z))
    columns = F.tocsc()
    there = np.diff(columns.indptr) > 0
    if columns.nnz > np.count_nonzero(there):  # some row belongs to several groups
        Z = np.asarray(F @ _centred(samples, centre))
    else:
        codes, shares = np.zeros(samples.n, dtype=np.intp), np.zeros(samples.n)
        codes[there], shares[there] = columns.indices, columns.data
        term = partial(_sums, groups=F.shape[0], centre=centre)
        Z = samples.reduce(term, added, codes, shares)
    return np.asarray(Z.T @ Z)


def _sums(piece: Samples, codes: Codes, shares: Array, groups: int, centre: Centre) -> Array:
    """Return sums over groups of the rows times their shares."""
    return class_sums(shares[:, None] * _centred(piece, centre), codes, groups)


def _centred(samples: Samples, centre: Centre) -> Array:
    return less(samples.in_memory().dense(), centre)


def _shifted(samples: Samples, centre: Centre) -> tuple[csr_array, Array]:
    """Return sparse rows minus a shift, and the centre minus the shift."""
    X, shift = shifted_rows(samples)
    return X, sum(centre, -shift)


def _moved(sums: Array, m: Array, total: float) -> Array:
    """Return the correction of X'KX for rows less m, from X'K1 and 1'K1."""
    return np.outer(sums, m) + np.outer(m, sums - total * m)
