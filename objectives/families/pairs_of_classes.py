"""Pairs of classes of rows, those of like sizes padded with rows without a share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

Rows = npt.NDArray[np.intp]

# Distances that are in the cache together, and the least size of a class padded to the largest.
_NUMBERS, _LIKE = 2**15, 0.75


@dataclass(frozen=True)
class Classes:
    """Classes of like sizes: their codes, their rows, (c, m), and the share that each has."""

    codes: Rows
    rows: Rows
    shares: Array

    def __getitem__(self, which: Rows | slice) -> Classes:
        return Classes(self.codes[which], self.rows[which], self.shares[which])


@dataclass(frozen=True)
class Pairs:
    """Pairs of classes: those of `a` with those of `b`, each with itself or with a later one.

    `kinds` are 0 within a class and 1 between two.
    """

    a: Classes
    b: Classes
    kinds: Rows

    @property
    def numbers(self) -> int:
        """Distances in them."""
        return self.a.rows.size * self.b.rows.shape[1]

    @classmethod
    def of(cls, codes: Rows, weights: Array | None) -> list[Pairs]:
        """All of them, so many at a time as the cache holds."""
        groups = list(_like_sizes(codes, weights))
        found = []
        for one in groups:
            for other in groups:  # after few steps W(c, c') is not W(c', c): the first is moved
                i, j = np.nonzero(one.codes[:, None] <= other.codes)
                a, b = one[i], other[j]
                found.append(cls(a, b, (a.codes != b.codes).astype(np.intp)))
        return [part for pairs in found for part in pairs._parts()]

    def _parts(self) -> Iterator[Pairs]:
        step = max(1, _NUMBERS // (self.a.rows.shape[1] * self.b.rows.shape[1]))
        for start in range(0, len(self.kinds), step):
            where = slice(start, start + step)
            yield Pairs(self.a[where], self.b[where], self.kinds[where])


def _like_sizes(codes: Rows, weights: Array | None) -> Iterator[Classes]:
    """Classes by their sizes, the large ones first, filled up with their first rows."""
    w = np.ones(len(codes)) if weights is None else weights
    counted = [np.flatnonzero((codes == c) & (w > 0)) for c in range(int(codes.max()) + 1)]
    sizes = np.array([len(own) for own in counted])
    pairs, most = np.count_nonzero(sizes) * (np.count_nonzero(sizes) + 1) // 2, int(sizes.max())
    likeness = 0.0 if pairs * most**2 <= _NUMBERS else _LIKE  # all at once
    while sizes.any():
        most = int(sizes.max())
        like = np.flatnonzero((sizes > 0) & (sizes >= likeness * most))
        sizes[like] = 0
        rows, shares = np.empty((len(like), most), dtype=np.intp), np.zeros((len(like), most))
        for k, c in enumerate(like):
            own = counted[c]
            rows[k, : len(own)], rows[k, len(own) :] = own, own[0]
            shares[k, : len(own)] = w[own] / w[own].sum()
        yield Classes(like, rows, shares)
