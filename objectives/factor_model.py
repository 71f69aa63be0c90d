"""The Gaussian model x = mean + My + noise: what a fitted likelihood says of rows, old and new."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.containers import like
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.samples import Samples
from ldr.objectives.statistics.sums import dense
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled

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
        V = self.V[observed.which]
        self.y = times(V, deviation @ self.B)
        self.residual = deviation - mask * (self.y @ M.T)
        if len(heavy):
            self.y += times(V, self.residual @ self.B - self.y)
            self.residual = deviation - mask * (self.y @ M.T)

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


@dataclass(frozen=True, eq=False)
class FactorModel(Pickled):
    """x = mean + My + noise with y ~ N(0, I_r) and independent noise in each column.

    So x ~ N(mean, MM' + diag(noise)). Rows may have missing entries (NaN) everywhere: what is said
    of them is said given the entries observed. By Sherman, Morrison and Woodbury no matrix larger
    than r x r is inverted: O(n d r) for complete rows, O(p d r^2) more for p patterns of missing
    entries. The `model` of a `Result` of ppca and fa.

    Attributes
    ----------
    mean : ndarray (d,)
    loadings : ndarray (d, r)
        M.
    noise : ndarray (d,)
        Noise variance of each column; all equal for ppca, of columns in common units.
    n : float
        Rows that it was fitted to, or the sum of their weights.
    log_likelihood : float
        Of those rows (of their observed entries): the sum of log p(x_i).
    free_parameters : int
        Of mean, M up to a rotation, and noise.
    turn : ndarray (r, r), optional
        T of oblique factors, which have the covariance T'T.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, _ = load_wine(return_X_y=True)
    >>> model = ldr.solve("fa", X[::2], r=2).model
    >>> model.score(X[1::2]) < model.score(X[::2])
    True
    """

    mean: Array
    loadings: Array
    noise: Array
    n: float
    log_likelihood: float
    free_parameters: int
    turn: Array | None = None

    def in_units(self, scale: Array, logarithm: float) -> FactorModel:
        """The model of columns that were divided by a scale, for the columns as they came.

        `logarithm` is the sum of log scale over all entries, by which densities are smaller.
        """
        return replace(
            self,
            mean=self.mean * scale,
            loadings=self.loadings * scale[:, None],
            noise=self.noise * scale**2,
            log_likelihood=self.log_likelihood - logarithm,
        )

    @property
    def bic(self) -> float:
        """free_parameters log n - 2 log_likelihood: the lower the better (Schwarz 1978)."""
        return self.free_parameters * math.log(self.n) - 2.0 * self.log_likelihood

    @property
    def communalities(self) -> Array:
        """The share of each column's variance that the factors explain, shape (d,)."""
        explained = np.sum(self._uncorrelated**2, axis=1)
        return np.asarray(explained / (explained + self.noise))

    @property
    def uniquenesses(self) -> Array:
        """The share that is the column's own, shape (d,)."""
        return 1.0 - self.communalities

    @cached_property
    def posterior_covariance(self) -> Array:
        """Of y given a complete row, (I + M' noise^{-1} M)^{-1}, shape (r, r)."""
        return np.asarray(self._T.T @ self._spread @ self._T)

    @property
    def _T(self) -> Array:
        return np.eye(self.loadings.shape[1]) if self.turn is None else self.turn

    @property
    def _uncorrelated(self) -> Array:
        """The loadings of factors that are uncorrelated, MT'."""
        return self.loadings @ self._T.T

    @cached_property
    def _spread(self) -> Array:
        """The posterior covariance of these."""
        M = self._uncorrelated
        return np.asarray(np.linalg.inv(np.eye(M.shape[1]) + M.T @ (M / self.noise[:, None])))

    def turned(self, T: Array, oblique: bool) -> FactorModel:
        """Of the factors T'y."""
        loadings = self.loadings @ np.linalg.inv(T).T
        return replace(self, loadings=loadings, turn=self._T @ T if oblique else self.turn)

    @cached_property
    def P(self) -> Array:
        """The map to the posterior mean of a complete row, M'(MM' + diag noise)^{-1}, (r, d)."""
        return self._T.T @ self._spread @ (self._uncorrelated / self.noise[:, None]).T

    def score_samples(self, X: object) -> Array:
        """log p of the observed entries of each row.

        Parameters
        ----------
        X : array-like (m, d)
            Missing entries as NaN.

        Returns
        -------
        ndarray (m,)

        Raises
        ------
        DataError, ArgumentError
            X is no table of numbers, or has other than d columns.
        """
        return np.concatenate([part.log_likelihoods for part in self._posteriors(X)])

    def score(self, X: object) -> float:
        """Mean log-likelihood of a row, weighted if X is: what held-out rows compare models by.

        Takes and raises the same as `score_samples`.
        """
        weights = X.weights if isinstance(X, Samples) else None
        return float(np.average(self.score_samples(X), weights=weights))

    def posterior_mean(self, X: object) -> Array:
        """E[y | observed entries] of each row, shape (m, r); (X - mean) P' of complete rows.

        Takes and raises the same as `score_samples`.
        """
        return np.concatenate([part.y @ self._T for part in self._posteriors(X)])

    def posterior_covariances(self, X: object) -> Array:
        """Cov[y | observed entries] of each row, shape (m, r, r).

        `posterior_covariance` for complete rows, larger for others. Takes and raises the same as
        `score_samples`.
        """
        T = self._T
        return np.concatenate(
            [(T.T @ part.V @ T)[part.observed.which] for part in self._posteriors(X)]
        )

    def impute(self, X: object) -> Any:
        """X with its missing entries replaced by their expectation given the observed ones.

        Takes and raises the same as `score_samples`; a copy, shape (m, d), of a data frame one with
        its index and columns.
        """
        parts = [
            np.where(
                part.observed.mask > 0, part.observed.Z, self.mean + part.y @ self._uncorrelated.T
            )
            for part in self._posteriors(X)
        ]
        return like(X, np.concatenate(parts), getattr(X, "columns", ()))

    def _posteriors(self, X: object) -> Iterator[Posterior]:
        """Block by block."""
        samples = as_samples(X, "X", minimum_rows=1, allow_nan=True)
        if samples.d != len(self.mean):
            raise ArgumentError(
                f"X has {samples.d} columns, expected {len(self.mean)}, as in the data solved for"
            )
        for _, block in samples.blocks():
            yield Posterior(Observed.of(dense(block)), self.mean, self._uncorrelated, self.noise)


def check_observed(samples: Samples) -> Array:
    """The rows, NaN where missing, each row and each column with something observed.

    Raises
    ------
    DataError
        A row or a column has nothing; the data are sparse.
    """
    if samples.is_sparse:
        raise DataError(
            f"{samples.name} is sparse and has missing values (NaN); pass {samples.name}.toarray()"
        )
    X = samples.dense()
    missing = np.isnan(X)
    for what, lines in (("row", missing.all(axis=1)), ("column", missing.all(axis=0))):
        empty = np.flatnonzero(lines)
        if len(empty):
            raise empty_line(samples.name, what, len(empty), int(empty[0]))
    return X


def empty_line(name: str, what: str, count: int, first: int) -> DataError:
    """The error of rows or columns without any entry."""
    return DataError(
        f"{name} has {count} {what}(s) with nothing observed (all NaN), the "
        f"first is {what} {first}; drop them"
    )
