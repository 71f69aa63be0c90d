"""Samples that do not fit a result: Hotelling's T2 and Q, with their limits, and predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from ldr.errors import in_words
from ldr.inputs import aligned
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import as_array
from ldr.result import Result, check_result
from ldr.solvers.checks import Pickled, real
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array
from ldr.types import Figure, Panels, PerRow, Rows


@dataclass(frozen=True, eq=False)
class Diagnosis(Pickled):
    """Hotelling's T2 and squared prediction errors Q of samples, with limits, and predictions.

    Attributes
    ----------
    t2 : ndarray (m,)
        Hotelling's T2: the squared Mahalanobis distance of the scores from their mean. A sample
        with a large T2 is extreme within the model.
    q : ndarray (m,)
        Squared prediction error (SPE): the squared distance of a sample from its reconstruction.
        With ``standardise=True`` features are in units of their standard deviations.
    t2_limit, q_limit : float
        Limits of T2 and Q, below which a share `level` of samples from the model is expected. The
        limit of Q is NaN if the components explain all variance of X.
    level : float
    measured, predicted : ndarray (m,) or (m, q), or None
        The response, and its prediction by the result.
    """

    t2: Array
    q: Array
    t2_limit: float
    q_limit: float
    level: float
    measured: Array | None = None
    predicted: Array | None = None

    @property
    def outside(self) -> np.ndarray:
        """Return True for each sample whose T2 or Q exceeds its limit."""
        return np.asarray((self.t2 > self.t2_limit) | (self.q > self.q_limit))

    @property
    def rmse(self) -> Array | float | None:
        """Return the root mean squared error (RMSE) of the predictions, for each response.

        The value is called RMSEC for the samples of the fit, and RMSEP for new samples.
        The cross-validated RMSECV is `rmsecv` of `ldr.path`.
        """
        if self.measured is None or self.predicted is None:
            return None
        found = np.sqrt(np.mean((self.measured - self.predicted) ** 2, axis=0))
        return float(found) if found.ndim == 0 else np.asarray(found)

    def plot(self, *, ax: Panels = None) -> Figure:
        """Plot T2 against Q, and predictions against measurements; see `ldr.plots.diagnosis`."""
        from ldr.plots import diagnosis

        return diagnosis(self, ax=ax)

    def __repr__(self) -> str:
        count = int(self.outside.sum())
        lines = [
            f"{count} of {len(self.t2)} samples exceed a limit at the level {self.level:g}",
            f"  T2   limit {self.t2_limit:.4g}, largest {self.t2.max():.4g}",
            f"  Q    limit {self.q_limit:.4g}, largest {self.q.max():.4g}",
        ]
        if self.rmse is not None:
            lines.append(f"  RMSE {', '.join(f'{each:.4g}' for each in np.ravel(self.rmse))}")
        return "\n".join(lines)


@in_words
def diagnose(
    result: Result,
    X: Rows,
    y: PerRow = None,
    *,
    new: Rows = None,
    level: float = 0.95,
) -> Diagnosis:
    """Find the samples that are far from a model, within its subspace (T2) or off it (Q).

    The scores of a sample x are t = P (x - mean); the scores of the n samples of X have the
    covariance S. L contains the regression coefficients of X on the scores: P' for pca, the
    loadings for pls-regression. With scores t of covariance S, Hotelling's T2 is t'S^{-1}t; Q is
    ||x - mean - Lt||^2 for coefficients L.

    For r components and new samples the limit of T2 is a quantile of r (n^2 - 1) / (n (n - r))
    F_{r, n-r}. For the samples of X the limit of T2 is a quantile of (n - 1)^2 / n Beta_{r/2,
    (n-r-1)/2}. The limit of Q follows from the eigenvalues of the residuals' covariance by Jackson
    and Mudholkar's formula. The limits of T2 and Q assume that the samples of X are Gaussian,
    independent and free of outliers. The limit of Q also ignores errors of the components: with 20
    Gaussian columns and level .95 it includes 87 % of new samples if n = 30, and 95 % if n = 500.

    For robust-pca the limits of T2 and Q resist outliers: T2 uses the minimum covariance
    determinant estimate of the scores' covariance, and its limit is a quantile of chi^2_r. The
    limit of Q for robust-pca assumes that Q^{1/3} is Gaussian with the observed median and median
    absolute deviation. For robust-pca the limits of T2 and Q at level .95 include 74 % and 83 % of
    new samples if n = 30, and 94 % if n = 500.

    Source: Hotelling 1947; Jackson & Mudholkar 1979; Hubert, Rousseeuw & Vanden Branden 2005.

    Parameters
    ----------
    result : Result
        A result of one view, without a kernel.
    X : array, sparse matrix or DataFrame (n, d)
        The samples that the result was solved for.
    y : array (m,) or (m, q), optional
        The response of the examined samples, for a method that predicts one.
    new : array, sparse matrix or DataFrame (m, d), optional
        Other samples to examine instead of the samples of X.
    level : float
        Share of the samples within each limit, 0 < level < 1.

    Returns
    -------
    Diagnosis

    Raises
    ------
    ldr.errors.ArgumentError
        The result has several views or a feature map, or y is given but the method predicts no y.
    ldr.errors.DataError
        X has fewer than r + 2 samples.
    ldr.errors.SingularError
        The scores are collinear.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, _ = load_wine(return_X_y=True)
    >>> result = ldr.solve("pca", X, 3, standardise=True)
    >>> int(ldr.diagnose(result, X).outside.sum())
    20
    """
    check_result(result)
    share = real(level)
    if share is None or not 0 < share < 1:
        raise ArgumentError(f"level must be a number above 0 and below 1, got {level!r}")
    if isinstance(result.P, tuple) or result.features is not None:
        raise ArgumentError("result must have a single view and no feature map")
    Z, T = _centred(result, X, "X")
    n, r = T.shape
    if n < r + 2:
        raise DataError(f"T2 limits of {r} components need {r + 2} or more samples, got {n}")
    lengths = np.linalg.norm(T, axis=0) / math.sqrt(n - 1)
    if not lengths.all() or np.linalg.matrix_rank(T / lengths) < r:
        raise SingularError("T2 is undefined for collinear scores of X: solve for a smaller r")
    centre, robust = np.zeros(r), result.objective.name == "robust-pca"
    if robust:
        from sklearn.covariance import MinCovDet

        found = MinCovDet(random_state=0).fit(T / lengths)
        centre, correlation, loadings = found.location_, found.covariance_, result.M.T
    else:
        correlation = (T / lengths).T @ (T / lengths) / (n - 1)
        loadings = np.linalg.lstsq(T / lengths, Z, rcond=None)[0] / lengths[:, None]
    rest = Z - T @ loadings
    q = np.sum(rest**2, axis=1)
    left = np.linalg.svd(rest, compute_uv=False) ** 2 / (n - 1)
    rounding = (10.0 * Z.shape[1] * np.finfo(float).eps) ** 2 * np.sum(Z**2) / (n - 1)
    beside = math.nan
    if left.sum() > rounding:
        beside = robust_q_limit(q, share) if robust else q_limit(left, share)
    if robust:
        bound = scipy.stats.chi2.ppf(share, r)
    elif new is None:
        bound = (n - 1) ** 2 / n * scipy.stats.beta.ppf(share, r / 2, (n - r - 1) / 2)
    else:
        bound = r * (n**2 - 1) / (n * (n - r)) * scipy.stats.f.ppf(share, r, n - r)
    if new is not None:
        Z, T = _centred(result, new, "new")
        q = np.sum((Z - T @ loadings) ** 2, axis=1)
    measured = predicted = None
    if y is not None:
        if getattr(next(iter(result.predictors), None), "classes", None) is not None:
            raise ArgumentError("the result predicts classes, which have no RMSE: leave out y")
        rows = X if new is None else new
        predicted = np.asarray(result.predict(rows), dtype=np.float64)
        measured = as_array(aligned(rows, y, "y", "X" if new is None else "new"))
        measured = measured.astype(np.float64)
        if measured.shape != predicted.shape:
            raise DataError(f"y has shape {measured.shape}, expected {predicted.shape}")
    S = T / lengths - centre
    t2 = np.sum(S * np.linalg.solve(correlation, S.T).T, axis=1)
    return Diagnosis(t2, q, float(bound), beside, share, measured, predicted)


def _centred(result: Result, X: Rows, name: str) -> tuple[Array, Array]:
    """The centred samples of X in the result's units, and their scores."""
    samples = as_samples(X, name, 1)
    T = np.asarray(result.transform(X), dtype=np.float64)
    Z = samples.dense() - result.mean
    return Z if result.scale is None else Z / result.scale, T


def robust_q_limit(q: Array, level: float) -> float:
    """Return the limit of Q for Gaussian Q^{1/3}, from its median and median deviation."""
    roots = np.cbrt(q)
    middle = np.median(roots)
    spread = float(scipy.stats.median_abs_deviation(roots, scale="normal"))
    return float((middle + spread * scipy.stats.norm.ppf(level)) ** 3)


def q_limit(eigenvalues: Array, level: float) -> float:
    """Return the limit of Q from the eigenvalues of the covariance of the residuals."""
    first, second, third = (float(np.sum(eigenvalues**m)) for m in (1, 2, 3))
    h = 1.0 - 2.0 * first * third / (3.0 * second**2)
    k = float(scipy.stats.norm.ppf(level)) * math.sqrt(2.0 * second) / first
    k += second * (h - 1.0) / first**2
    if h * k <= -1.0:
        return math.inf if h < 0 else 0.0
    return first * math.exp(math.log1p(h * k) / h if h else k)  # e^k is the limit for h -> 0
