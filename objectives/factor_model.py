"""The Gaussian model x = mean + My + noise: likelihood, factors and imputation of samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Given, like
from ldr.objectives.data.data import BLOCK_NUMBERS, Samples
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.sums import dense
from ldr.solvers.checks import Pickled
from ldr.solvers.linalg.rounding import CANCELLED
from ldr.solvers.manifolds import Array

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows with missing entries, grouped by the pattern of missing entries.

    The log-likelihood is a sum over rows of quadratic functions of x - mean, the same function for
    all rows of a pattern. Only the sums of (1, x)(1, x)' for each pattern matter. Other rows (u, z)
    with equal sums may replace the rows (1, x), such as sqrt(w)(1, x) for a weight w, or the rows
    of a triangular factor.

    - Z (n, d): rows z, with zeros for missing entries; for complete sparse rows a linear
      operator, whose columns have the mean square 1
    - ones (n, 1): u of each row, the factor of the mean
    - patterns (p, d): distinct patterns: 1 observed, 0 missing
    - which (n,): index of each row's pattern
    - rows (p,): number of rows of each pattern, or sum of weights
    """

    Z: Any
    ones: Array
    patterns: Array
    which: Indices
    rows: Array

    @classmethod
    def of(cls, X: Array, weights: Array | None = None) -> Observed:
        """Group rows with NaN by the pattern of missing entries."""
        missing = np.isnan(X)
        patterns, which = np.ones((1, X.shape[1])), np.zeros(len(X), dtype=np.intp)
        if missing.any():
            bits = np.ascontiguousarray(np.packbits(missing, axis=1))
            kinds = bits.view(f"V{bits.shape[1]}").ravel()  # packed bytes sort faster than bits
            _, firsts, which = np.unique(kinds, return_index=True, return_inverse=True)
            patterns = (~missing[firsts]).astype(np.float64)
            X = np.where(missing, 0.0, X)
        rows = np.bincount(which, weights, minlength=len(patterns)).astype(np.float64)
        ones = np.ones((len(X), 1)) if weights is None else np.sqrt(weights)[:, None]
        return cls(X if weights is None else ones * X, ones, patterns, which, rows)

    @classmethod
    def complete(cls, Z: Any, n: float) -> Observed:
        """Return complete, centred rows (an array or a linear operator) whose weights sum to n."""
        nothing, which = np.zeros((Z.shape[0], 1)), np.zeros(Z.shape[0], dtype=np.intp)
        return cls(Z, nothing, np.ones((1, Z.shape[1])), which, np.array([n]))

    def compressed(self) -> Observed:
        """Return fewer rows with equal sums: for each pattern R of a QR decomposition."""
        order = np.argsort(self.which, kind="stable")
        members = np.bincount(self.which, minlength=len(self.patterns))
        parts = []
        for k, group in enumerate(np.split(order, np.cumsum(members)[:-1])):
            ones, Z = self.ones[group], self.Z[group]
            there = np.flatnonzero(self.patterns[k])
            if len(group) > 2 * (len(there) + 1):  # QR saves time if it halves the number of rows
                R = np.asarray(np.linalg.qr(np.hstack([ones, Z[:, there]]), mode="r"))
                ones, Z = R[:, :1], np.zeros((len(R), Z.shape[1]))
                Z[:, there] = R[:, 1:]
            parts.append((np.full(len(ones), k), ones, Z))
        which, ones, Z = (np.concatenate(each) for each in zip(*parts, strict=True))
        return replace(self, Z=Z, ones=ones, which=which)

    @cached_property
    def mask(self) -> Array:
        """Mask (n, d), or (1, d) for a single pattern: 1 observed, 0 missing."""
        return self.patterns if len(self.patterns) == 1 else self.patterns[self.which]

    @property
    def n(self) -> float:
        """Number of rows, or sum of weights."""
        return float(self.rows.sum())

    def times(self, matrices: Array, rows: Array) -> Array:
        """Return A_k v_i for each row i, where k is the pattern of missing entries in the row."""
        if len(matrices) == 1:
            return np.asarray(rows @ matrices[0].T)
        return times(matrices[self.which], rows)

    def products(self, rows: Array, columns: Array) -> Array:
        """Return sum_i (rows_i'columns_j) rows_i for each column j, over rows that observe j."""
        if len(self.patterns) == 1:
            return np.asarray(self.patterns.T * columns @ (rows.T @ rows))
        part = rows @ columns.T
        part *= self.mask
        return np.asarray(part.T @ rows)

    @cached_property
    def counts(self) -> Array:
        """Number of observed entries of each column, (d,)."""
        return self.rows @ self.patterns


class Posterior:
    """Posterior of y given the observed entries, y ~ N(0, I), x = mean + My + N(0, diag psi).

    The factors y given the observed x_o are N(V M_o' psi_o^{-1} (x_o - mean_o), V), where K = I +
    M_o' psi_o^{-1} M_o and V = K^{-1} for the observed columns o of a row. Rows with equal
    missing entries share K; no matrix above r x r is inverted, and complete rows take O(n d r).

    Columns with almost no noise (Heywood cases) dominate K: by their rounding errors V would be
    inaccurate for the other columns. Columns with almost no noise therefore enter by a QR
    decomposition, K = R'R, and y is improved by one step of iterative refinement.

    - B (d, r): psi^{-1} M
    - R, V (p, r, r): upper triangular R, and V, of each pattern
    - y (n, r): posterior means
    - deviation (n, d): x - mean; zero for missing entries
    """

    def __init__(self, observed: Observed, mean: Array | float, M: Array, psi: Array) -> None:
        self.observed, self.mean, self.M, self.psi = observed, mean, M, psi
        r = M.shape[1]
        self.B = M / psi[:, None]
        root = M / np.sqrt(psi)[:, None]
        sizes = np.sum(root**2, axis=1)
        heavy = np.flatnonzero(CANCELLED * sizes > 1.0)
        light = np.where(CANCELLED * sizes > 1.0, 0.0, observed.patterns)
        K = np.eye(r) + over_columns(light, outer(root, root))
        self.R = np.linalg.cholesky(K).swapaxes(1, 2)
        if len(heavy):
            heavy = heavy[np.argsort(-sizes[heavy])]  # QR is more accurate with large rows first
            rows = observed.patterns[:, heavy, None] * root[heavy]
            self.R = np.asarray(np.linalg.qr(np.concatenate([rows, self.R], axis=1), mode="r"))
        self._inverse = np.asarray(np.linalg.inv(self.R), dtype=np.float64)
        self.V = self._inverse @ self._inverse.swapaxes(1, 2)
        self.deviation = observed.Z
        if np.any(mean):
            self.deviation = observed.Z - observed.mask * (observed.ones * mean)
        self.y = observed.times(self.V, self.deviation @ self.B)
        if len(heavy):
            self.y += observed.times(self.V, self.residual @ self.B - self.y)
            del self.residual

    @cached_property
    def residual(self) -> Any:
        """x - mean - My, (n, d); zero for missing entries."""
        if isinstance(self.deviation, np.ndarray):
            return self.deviation - self.observed.mask * (self.y @ self.M.T)
        from scipy.sparse.linalg import aslinearoperator

        return self.deviation - aslinearoperator(self.y) @ aslinearoperator(self.M.T)

    @cached_property
    def squares(self) -> Array:
        """Sums of squares of the residual's columns, (d,)."""
        if isinstance(self.residual, np.ndarray):
            return np.einsum("ij,ij->j", self.residual, self.residual)
        M, targets = self.M, self.deviation.T @ self.y
        explained = np.einsum("jk,jk->j", 2.0 * targets - M @ (self.y.T @ self.y), M)
        return np.asarray(self.observed.n - explained)

    @property
    def log_likelihoods(self) -> Array:
        """Log-density log p(x_o) of each row's observed entries, (n,), for uncompressed rows."""
        squares = self.residual**2 @ (1.0 / self.psi) + np.sum(self.y**2, axis=1)
        return np.asarray(-0.5 * (self._logs[self.observed.which] + squares))

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of all rows.

        The terms (x - mean)' S^{-1} (x - mean) are |psi^{-1/2} residual|^2 + |y|^2.
        """
        squares = float(self.squares @ (1.0 / self.psi)) + float(np.vdot(self.y, self.y))
        return -0.5 * (float(self.observed.rows @ self._logs) + squares)

    @cached_property
    def _logs(self) -> Array:
        """log |2 pi S_oo| of each pattern."""
        found = self.observed.patterns @ (math.log(2 * math.pi) + np.log(self.psi))
        diagonals = np.abs(np.diagonal(self.R, axis1=1, axis2=2))
        return np.asarray(found + 2.0 * np.log(diagonals).sum(axis=1))

    @cached_property
    def spread(self) -> Array:
        """Sum of the posterior covariance V over the rows that observe each column, (d, r, r)."""
        return self.summed(self.V)

    def summed(self, V: Array) -> Array:
        """Return the sum of the patterns' matrices V over the rows that observe each column."""
        return over_columns((self.observed.rows[:, None] * self.observed.patterns).T, V)

    def expected(self) -> Array:
        """Return the sum over rows of E[(1, x)(1, x)' | observed entries], (d + 1, d + 1).

        Missing entries m have the mean mean_m + M_m y and the covariance M_m V M_m' + diag psi_m.
        """
        observed, M = self.observed, self.M
        n, (d, r) = observed.rows.sum(), M.shape
        filled = observed.ones * self.mean + self.y @ M.T
        rows = np.hstack([observed.ones, observed.Z + (1.0 - observed.mask) * filled])
        moments = np.asarray(rows.T @ rows)
        missing = 1.0 - observed.patterns
        with_gaps = np.flatnonzero(missing.any(axis=1))
        step = max(1, BLOCK_NUMBERS // (d * r))
        for start in range(0, len(with_gaps), step):
            some = with_gaps[start : start + step]
            weights = missing[some].T * np.sqrt(observed.rows[some])
            roots = np.asarray(M @ self._inverse[some].swapaxes(0, 1).reshape(r, -1))
            roots *= np.repeat(weights, r, axis=1)
            moments[1:, 1:] += roots @ roots.T
        moments[np.diag_indices(d + 1)] += np.append(0.0, self.psi * (n - observed.counts))
        return moments


def outer(A: Array, B: Array) -> Array:
    """Return the outer products a_j b_j' of the rows of A and B."""
    return A[:, :, None] * B[:, None, :]


def over_columns(weights: Array, matrices: Array) -> Array:
    """Return sum_j w_ij A_j for each i: weights (m, k), matrices (k, ...)."""
    product = weights @ matrices.reshape(len(matrices), math.prod(matrices.shape[1:]))
    return product.reshape(len(weights), *matrices.shape[1:])


def times(matrices: Array, vectors: Array) -> Array:
    """Return the products A_i v_i of a matrix and a vector for each i."""
    return np.asarray(np.einsum("ijk,ik->ij", matrices, vectors))


@dataclass(frozen=True, eq=False)
class FactorModel(Pickled):
    """Gaussian factor model x = mean + My + noise, y ~ N(0, I_r), with independent noise.

    The samples are distributed as x ~ N(mean, MM' + diag(noise)). Methods accept rows with missing
    entries (NaN) and condition on the observed entries. By the Sherman-Morrison-Woodbury formula no
    matrix larger than r x r is inverted: the cost is O(n d r) for complete rows, plus O(p d r^2)
    for p patterns of missing entries. The `model` of a `Result` of ppca and fa is a FactorModel.

    - mean (d,)
    - loadings (d, r): M
    - noise (d,): noise variance of each column; all equal for ppca unless columns were scaled
    - n: number of rows of the fit, or sum of weights
    - log_likelihood: sum of log p over these rows' observed entries
    - free_parameters: number of parameters of mean, M up to a rotation, and noise
    - turn (r, r): T of oblique factors T'y, whose covariance is T'T

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

    def __repr__(self) -> str:
        d, r = self.loadings.shape
        low, high = self.noise.min(), self.noise.max()
        noise = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return (
            f"FactorModel: {r} factors of {d} columns, noise {noise}, "
            f"log-likelihood {self.log_likelihood:.9g} of {self.n:g} rows, bic {self.bic:.6g}"
        )

    def in_units(self, scale: Array, logarithm: float) -> FactorModel:
        """Return the model of the original columns from the model of scaled columns.

        The argument `logarithm` is the sum of log scale over all entries; it is subtracted from the
        log-likelihood.
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
        """Bayesian information criterion (BIC), free_parameters log n - 2 log_likelihood."""
        return self.free_parameters * math.log(self.n) - 2.0 * self.log_likelihood

    @property
    def communalities(self) -> Array:
        """Share of each column's variance explained by the factors, (d,)."""
        explained = np.sum(self._uncorrelated**2, axis=1)
        return np.asarray(explained / (explained + self.noise))

    @property
    def uniquenesses(self) -> Array:
        """Share of each column's variance due to noise, (d,)."""
        return 1.0 - self.communalities

    @cached_property
    def posterior_covariance(self) -> Array:
        """Posterior covariance of y given a complete row, (I + M' noise^{-1} M)^{-1}, (r, r)."""
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
        """Posterior covariance of the uncorrelated factors."""
        M = self._uncorrelated
        return np.asarray(np.linalg.inv(np.eye(M.shape[1]) + M.T @ (M / self.noise[:, None])))

    def turned(self, T: Array, oblique: bool) -> FactorModel:
        """Return the model whose factors are T'y instead of y."""
        loadings = self.loadings @ np.linalg.inv(T).T
        return replace(self, loadings=loadings, turn=self._T @ T if oblique else self.turn)

    @cached_property
    def P(self) -> Array:
        """Map P = M'(MM' + diag noise)^{-1} (r, d) from a complete row to the posterior mean."""
        return self._T.T @ self._spread @ (self._uncorrelated / self.noise[:, None]).T

    @property
    def covariance(self) -> Array:
        """Covariance of x, MM' + diag(noise), (d, d)."""
        M = self._uncorrelated
        return M @ M.T + np.diag(self.noise)

    def variation(self, P: Array) -> Variation:
        """Return the covariances of the components Px (a `Variation`), by the model."""
        M = self._uncorrelated
        total = float(np.vdot(M, M) + self.noise.sum())
        return Variation.of(P, M @ (P @ M).T + self.noise[:, None] * P.T, total, self.n)

    def score_samples(self, X: object) -> Array:
        """Return the log-density of the observed entries of each row.

        - X (m, d): missing entries as NaN
        - returns ndarray (m,)
        - raises DataError, ArgumentError: X is not a numeric table, or does not have d columns.
        """
        return np.concatenate([part.log_likelihoods for part in self._posteriors(X)])

    def score(self, X: object) -> float:
        """Return the (weighted) mean of `score_samples`, to compare models on new data.

        The argument and the exceptions are those of `score_samples`.
        """
        weights = X.weights if isinstance(X, Samples) else None
        return float(np.average(self.score_samples(X), weights=weights))

    def posterior_mean(self, X: object) -> Array:
        """Return E[y | observed entries] of each row, (m, r); (X - mean) P' for complete rows.

        Argument and exceptions are those of `score_samples`.
        """
        return np.concatenate([part.y @ self._T for part in self._posteriors(X)])

    def posterior_covariances(self, X: object) -> Array:
        """Return Cov[y | observed entries] of each row, shape (m, r, r).

        For complete rows the covariance is `posterior_covariance`, for incomplete rows it is
        larger. Argument and exceptions are those of `score_samples`.
        """
        T = self._T
        return np.concatenate(
            [(T.T @ part.V @ T)[part.observed.which] for part in self._posteriors(X)]
        )

    def impute(self, X: object) -> Given:
        """Return a copy of X with missing entries replaced by conditional expectations.

        Argument and exceptions are those of `score_samples`. For a data frame X the copy is a data
        frame with X's index and columns.
        """
        parts = [
            np.where(
                part.observed.mask > 0, part.observed.Z, self.mean + part.y @ self._uncorrelated.T
            )
            for part in self._posteriors(X)
        ]
        return like(X, np.concatenate(parts), getattr(X, "columns", ()))

    def _posteriors(self, X: object) -> Iterator[Posterior]:
        """Yield the posteriors of blocks of rows."""
        samples = as_samples(X, "X", minimum_rows=1, allow_nan=True)
        samples.expect_columns(len(self.mean))
        for _, block in samples.blocks():
            yield Posterior(Observed.of(dense(block)), self.mean, self._uncorrelated, self.noise)
