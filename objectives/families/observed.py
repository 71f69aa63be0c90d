"""Rows with missing entries, by which are missing; and of the factors given what is there."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace

Indices = npt.NDArray[np.intp]

# Rows of a pattern, by those of their triangle, from which it saves more than it takes.
_WORTH_A_TRIANGLE = 2


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
        members = np.bincount(self.which, minlength=len(self.patterns))
        common = np.flatnonzero(members > _WORTH_A_TRIANGLE * (self.patterns.sum(axis=1) + 1))
        order = np.argsort(self.which, kind="stable")
        starts = np.cumsum(members) - members
        others = np.sort(order[np.isin(self.which[order], common, invert=True)])
        parts = [(self.which[others], self.ones[others], self.Z[others])]
        for k in common:
            ones, Z = self._triangle(
                order[starts[k] : starts[k] + members[k]], np.flatnonzero(self.patterns[k])
            )
            parts.append((np.full(len(ones), k), ones, Z))
        which, ones, Z = (np.concatenate([part[i] for part in parts]) for i in range(3))
        return replace(self, Z=Z, ones=ones, which=which)

    def _triangle(self, members: Indices, there: Indices) -> tuple[Array, Array]:
        """(ones, Z) of rows of one pattern."""
        rows = np.hstack([self.ones[members], self.Z[np.ix_(members, there)]])
        step = max(2 * rows.shape[1], _IN_CACHE // rows.shape[1])
        whole = len(rows) // step * step
        if whole > step:  # a block at a time
            tops = np.linalg.qr(rows[:whole].reshape(-1, step, rows.shape[1]), mode="r")
            rows = np.concatenate([*np.asarray(tops), rows[whole:]])
        R = np.asarray(np.linalg.qr(rows, mode="r"))
        Z = np.zeros((len(R), self.Z.shape[1]))
        Z[:, there] = R[:, 1:]
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

    def products(self, rows: Array, columns: Array) -> Array:
        """sum_i a_ij (rows_i'columns_j) rows_i of each column j, over the rows that have it."""
        step = max(1, _IN_CACHE // len(columns))
        total = np.zeros_like(columns)
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            part = rows[some] @ columns.T
            part *= self.mask[some]
            total += part.T @ rows[some]
        return total

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


# Numbers of a block of rows that are gone over more than once.
_IN_CACHE = 2**16
# Of a block of patterns, r a column.
_BLOCK = 2**20
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
    deviation, residual : ndarray (n, d)
        x - mean, and x - mean - My, where observed, else zero.
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
        self._inverse = np.asarray(np.linalg.inv(self.R), dtype=np.float64)
        self.V = self._inverse @ self._inverse.swapaxes(1, 2)
        mask = observed.mask
        self.deviation = observed.Z - mask * (observed.ones * mean)
        self.y = observed.times(self.V, self.deviation @ self.B)
        self.residual = self.deviation - mask * (self.y @ M.T)
        if len(heavy):
            self.y += observed.times(self.V, self.residual @ self.B - self.y)
            self.residual = self.deviation - mask * (self.y @ M.T)

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

    def expected(self, mean: Array) -> Array:
        """The sum over the rows of E[(1, x)(1, x)'] given what was observed, (d + 1, d + 1).

        What is missing has the mean mean_m + M_m y and the covariance M_m V M_m' + diag psi_m.
        """
        observed, M = self.observed, self.M
        n, (d, r) = observed.rows.sum(), M.shape
        filled = observed.ones * mean + self.y @ M.T
        rows = np.hstack([observed.ones, observed.Z + (1.0 - observed.mask) * filled])
        moments = np.asarray(rows.T @ rows)
        missing = 1.0 - observed.patterns
        with_gaps = np.flatnonzero(missing.any(axis=1))
        step = max(1, _BLOCK // (d * r))
        for start in range(0, len(with_gaps), step):
            some = with_gaps[start : start + step]
            weights = missing[some].T * np.sqrt(observed.rows[some])
            roots = np.asarray(M @ self._inverse[some].swapaxes(0, 1).reshape(r, -1))
            roots *= np.repeat(weights, r, axis=1)
            moments[1:, 1:] += roots @ roots.T
        moments[np.diag_indices(d + 1)] += np.append(0.0, self.psi * (n - observed.counts))
        return moments


def outer(A: Array, B: Array) -> Array:
    """a_j b_j' of each row."""
    return A[:, :, None] * B[:, None, :]


def over_columns(weights: Array, matrices: Array) -> Array:
    """sum_j w_ij A_j for each i: weights (m, k), matrices (k, ...)."""
    product = weights @ matrices.reshape(len(matrices), -1)
    return product.reshape(len(weights), *matrices.shape[1:])


def times(matrices: Array, vectors: Array) -> Array:
    """A_i v_i for each i."""
    return np.asarray(np.einsum("ijk,ik->ij", matrices, vectors))
