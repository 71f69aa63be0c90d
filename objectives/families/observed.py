"""Rows with missing entries, by which are missing; and of the factors given what is there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ldr.solvers.manifolds import Array

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows of which some entries are missing, sorted by which.

    The likelihood is a sum over the rows of functions of x - mean that are quadratic, the same for
    all rows of a pattern. Of these it knows no more than the sums of (1, x)(1, x)', so that other
    rows (u, z) with the same sums may stand for them: sqrt(w)(1, x) of a row of weight w, or the
    few rows of a triangular factor.

    Attributes
    ----------
    Z : ndarray (n, d)
        The rows, zero where nothing was observed.
    ones : ndarray (n, 1)
        What stands for the 1 beside each: how often the mean is in it.
    patterns : ndarray (p, d)
        The distinct rows of the mask: 1 observed, 0 missing.
    which : ndarray (n,)
        The pattern of each row.
    rows : ndarray (p,)
        Number of rows of each pattern, or what they weigh.
    """

    Z: Array
    ones: Array
    patterns: Array
    which: Indices
    rows: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None = None) -> Observed:
        """Rows with NaN where an entry is missing."""
        missing = np.isnan(X)
        patterns, which = np.ones((1, X.shape[1])), np.zeros(len(X), dtype=np.intp)
        if missing.any():
            firsts, which = _distinct(missing)
            patterns = (~missing[firsts]).astype(np.float64)
            X = np.where(missing, 0.0, X)
        rows = np.bincount(which, weights, minlength=len(patterns)).astype(np.float64)
        ones = np.ones((len(X), 1)) if weights is None else np.sqrt(weights)[:, None]
        return cls(X if weights is None else ones * X, ones, patterns, which, rows)

    def compressed(self) -> Observed:
        """As few rows of each pattern as have the same sums: R of their QR decomposition."""
        ends = np.cumsum(np.bincount(self.which, minlength=len(self.patterns)))[:-1]
        parts = [
            (k, *self._compressed(members, self.patterns[k] > 0))
            for k, members in enumerate(np.split(np.argsort(self.which, kind="stable"), ends))
        ]
        which = np.concatenate([np.full(len(ones), k) for k, ones, _ in parts])
        Z, ones = (np.concatenate([part[i] for part in parts]) for i in (2, 1))
        return replace(self, Z=Z, ones=ones, which=which)

    def _compressed(self, members: Indices, there: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        """(ones, Z) of some rows of one pattern."""
        ones, Z = self.ones[members], self.Z[members]
        columns = np.flatnonzero(there)
        if len(members) <= len(columns) + 1:
            return ones, Z
        R = np.asarray(np.linalg.qr(np.hstack([ones, Z[:, columns]]), mode="r"))
        Z = np.zeros((len(R), len(there)))
        Z[:, columns] = R[:, 1:]
        return R[:, :1], Z

    @cached_property
    def mask(self) -> Array:
        """(n, d): 1 observed, 0 missing."""
        return self.patterns[self.which]

    def times(self, matrices: Array, rows: Array) -> Array:
        """A_k v_i of each row i, of its pattern k."""
        if len(matrices) == 1:
            return np.asarray(rows @ matrices[0].T)
        return times(matrices[self.which], rows)

    @cached_property
    def counts(self) -> Array:
        """Number of observed entries of each column, (d,)."""
        return self.rows @ self.patterns


def _distinct(mask: npt.NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """A row of each kind, and the kind of each row: 64 columns a number, which sort fast."""
    words = np.zeros((len(mask), -(-mask.shape[1] // 64) * 8), dtype=np.uint8)
    bits = np.packbits(mask, axis=1)
    words[:, : bits.shape[1]] = bits
    numbers = words.view(np.uint64)
    found = np.unique(
        numbers.ravel() if numbers.shape[1] == 1 else numbers,
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    return found[1], found[2].ravel()


# Of a column's |M_j|^2/psi_j, beyond which it is left out of sums of squares.
_HEAVY = 1e3


class Posterior:
    """Of y given what was observed of each row, y ~ N(0, I), x = mean + My + N(0, diag psi).

    With o the observed columns of a row, K = I + M_o' psi_o^{-1} M_o and V = K^{-1}, y given x_o
    is N(V M_o' psi_o^{-1} (x_o - mean_o), V). Rows of one pattern share K: nothing larger than
    r x r is inverted, and complete rows cost O(n d r).

    Columns with next to no noise, Heywood cases, are large in K, and what V says of the others
    would be lost in their rounding. They come in by a QR decomposition, K = R'R, and y has a step
    of refinement.

    Attributes
    ----------
    B : ndarray (d, r)
        psi^{-1} M.
    R, V : ndarray (p, r, r)
        Of each pattern; R is triangular.
    y : ndarray (n, r)
        Posterior means.
    residual : ndarray (n, d)
        x - mean - My where observed, else zero.
    """

    def __init__(self, observed: Observed, mean: Array, M: Array, psi: Array) -> None:
        self.observed, self.M, self.psi = observed, M, psi
        r = M.shape[1]
        self.B = M / psi[:, None]
        root = M / np.sqrt(psi)[:, None]
        sizes = np.sum(root**2, axis=1)
        heavy = np.flatnonzero(sizes > _HEAVY)
        light = np.where(sizes > _HEAVY, 0.0, observed.patterns)
        K = np.eye(r) + over_columns(light, outer(root, root))
        self.R = np.linalg.cholesky(K).swapaxes(1, 2)
        if len(heavy):
            heavy = heavy[np.argsort(-sizes[heavy])]  # QR keeps the digits of small rows so
            rows = observed.patterns[:, heavy, None] * root[heavy]
            self.R = np.asarray(np.linalg.qr(np.concatenate([rows, self.R], axis=1), mode="r"))
        inverse = np.asarray(np.linalg.inv(self.R), dtype=np.float64)
        self.V = inverse @ inverse.swapaxes(1, 2)
        mask = observed.mask
        deviation = mask * (observed.Z - observed.ones * mean)
        self.y = observed.times(self.V, deviation @ self.B)
        self.residual = deviation - mask * (self.y @ M.T)
        if len(heavy):
            self.y += observed.times(self.V, self.residual @ self.B - self.y)
            self.residual = deviation - mask * (self.y @ M.T)

    def over_S(self, Z: Array) -> tuple[Array, Array]:
        """M_o'S_oo^{-1}z_i and S_oo^{-1}z_i of rows that are zero where nothing was observed."""
        y = self.observed.times(self.V, Z @ self.B)
        return y, (Z - self.observed.mask * (y @ self.M.T)) / self.psi

    @property
    def log_likelihoods(self) -> Array:
        """log p(x_o) of each row, (n,), of rows that stand for themselves."""
        return np.asarray(-0.5 * (self._logs[self.observed.which] + self._squares))

    @property
    def log_likelihood(self) -> float:
        """Of all rows."""
        return -0.5 * float(self.observed.rows @ self._logs + self._squares.sum())

    @cached_property
    def _logs(self) -> Array:
        """log |2 pi S_oo| of each pattern."""
        found = self.observed.patterns @ (math.log(2 * math.pi) + np.log(self.psi))
        diagonals = np.abs(np.diagonal(self.R, axis1=1, axis2=2))
        return np.asarray(found + 2.0 * np.log(diagonals).sum(axis=1))

    @cached_property
    def _squares(self) -> Array:
        """(x - mean)' S^{-1} (x - mean) = |psi^{-1/2} residual|^2 + |y|^2 of each row.

        A sum of squares, where Woodbury's difference would cancel for a small psi.
        """
        return np.asarray(self.residual**2 @ (1.0 / self.psi) + np.sum(self.y**2, axis=1))

    @cached_property
    def spread(self) -> Array:
        """(d, r, r): the sum of V over the rows that have the column."""
        return self.summed(self.V)

    def summed(self, V: Array) -> Array:
        """The sum over the rows that have each column, of an r x r matrix a pattern."""
        return over_columns((self.observed.rows[:, None] * self.observed.patterns).T, V)


def outer(A: Array, B: Array) -> Array:
    """a_j b_j' of each row."""
    return A[:, :, None] * B[:, None, :]


def over_columns(weights: Array, matrices: Array) -> Array:
    """sum_j w_ij A_j for each i: weights (m, k), matrices (k, ...)."""
    product = weights @ matrices.reshape(len(matrices), -1)
    return product.reshape(len(weights), *matrices.shape[1:])


def times(matrices: Array, vectors: Array) -> Array:
    """A_i v_i for each i."""
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]
