"""The Gaussian model x = mean + My + noise: what a fitted likelihood says of rows, old and new."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from ldr.objectives.data.cells import Given
from ldr.objectives.data.containers import like
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.observed import Observed, Posterior
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.sums import dense
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.records import dataclass, replace


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

    def __repr__(self) -> str:
        d, r = self.loadings.shape
        low, high = self.noise.min(), self.noise.max()
        noise = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return (
            f"FactorModel: {r} factors of {d} columns, noise {noise}, "
            f"log-likelihood {self.log_likelihood:.9g} of {self.n:g} rows, bic {self.bic:.6g}"
        )

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
        """free_parameters log n - 2 log_likelihood, the lower the better (Schwarz 1978)."""
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

    def variation(self, P: Array) -> Variation:
        """Of x under a linear map (r, d), by its covariance MM' + diag(noise)."""
        M = self._uncorrelated
        total = float(np.vdot(M, M) + self.noise.sum())
        return Variation.of(P, M @ (P @ M).T + self.noise[:, None] * P.T, total, self.n)

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

    def impute(self, X: object) -> Given:
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
        samples.expect_columns(len(self.mean))
        for _, block in samples.blocks():
            yield Posterior(Observed.of(dense(block)), self.mean, self._uncorrelated, self.noise)


def empty_line(name: str, what: str, count: int, first: int) -> DataError:
    """The error of rows or columns without any entry."""
    return DataError(
        f"{name} has {count} {what}(s) with nothing observed (all NaN), the "
        f"first is {what} {first}; drop them"
    )
