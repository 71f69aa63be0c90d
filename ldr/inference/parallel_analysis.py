"""Horn's parallel analysis: the number of components above those of unrelated columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.inputs import as_generator
from ldr.objectives.data.memory import check_squares
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.samples import Samples
from ldr.objectives.statistics import mean
from ldr.solvers.checks import Pickled, choice, number, whole
from ldr.solvers.deadline import complete
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.types import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ParallelAnalysis(Pickled):
    """Eigenvalues, and thresholds from data without correlations.

    Attributes
    ----------
    eigenvalues : ndarray (k,)
        Eigenvalues of the correlation (or covariance) matrix, descending.
    null : ndarray (draws, k)
        Eigenvalues of data without correlations.
    threshold : ndarray (k,)
        Quantile of each null eigenvalue.
    r : int
        The number of leading eigenvalues above their thresholds, up to the first that is not.
    """

    eigenvalues: Array
    null: Array
    threshold: Array
    r: int

    def plot(self) -> Figure:
        """Plot the eigenvalues and the thresholds; see `ldr.plots.parallel_analysis`."""
        from ldr.plots import parallel_analysis

        return parallel_analysis(self)

    def __repr__(self) -> str:
        shown = min(len(self.eigenvalues), self.r + 2)
        lines = [f"parallel analysis: {self.r} of {len(self.eigenvalues)} dimensions"]
        lines.append("       eigenvalue   threshold")
        lines += [
            f"{k + 1:5d}  {self.eigenvalues[k]:10.6g}  {self.threshold[k]:10.6g}"
            for k in range(shown)
        ]
        return "\n".join(lines)


def parallel_analysis(
    X: Rows,
    *,
    null: str = "permutation",
    correlation: bool = True,
    draws: int = 100,
    quantile: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> ParallelAnalysis:
    """Choose the number of principal components by Horn's parallel analysis.

    Source: Horn 1965 (means of Gaussian data); Buja and Eyuboglu 1992 (permutations, quantiles).

    Parameters
    ----------
    X : array, memory map or DataFrame (n, d)
        NaN is a missing value: the matrix is then of pairwise complete rows, the null's too, whose
        values are missing in the same places.
    null : {"permutation", "gaussian"}
        Columns of X each permuted, or normal columns of the same variances.
    correlation : bool
        Take the correlation matrix, else the covariance matrix. Constant columns count as zero.
    draws : int
        Number of data sets without correlations.
    quantile : float
        Quantile of each null eigenvalue that is its threshold; between 0 and 1.
    random_state : int or Generator, optional

    Returns
    -------
    ParallelAnalysis
        Its `r` is the number of dimensions; with `plot()`. After Ctrl-C it is of the draws that
        were done, and a warning says how many.

    Raises
    ------
    ldr.errors.ArgumentError
        An unknown null, a quantile that is none, draws below 1.
    ldr.errors.DataError
        Two columns are never observed together.

    Examples
    --------
    >>> import ldr, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8))
    >>> X += 0.5 * rng.standard_normal((200, 8))
    >>> ldr.parallel_analysis(X, random_state=0).r
    2
    """
    choice("null", null, ("permutation", "gaussian"))
    number("quantile", quantile, positive=True, below=1.0)
    whole("draws", draws, 1)
    rng = as_generator(random_state)
    samples = as_samples(X, allow_nan=True)
    rows = samples.dense()
    there = ~np.isnan(rows)
    if there.all():
        check_squares(samples)
        eigenvalues_of: Callable[[Array], Array] = _eigenvalues
        Z = rows - mean(samples)
    else:
        eigenvalues_of = _pairwise(there, correlation, samples)
        Z = np.where(there, rows - np.nanmean(rows, axis=0), 0.0)
    if correlation:
        Z = _standardised(Z, there)
    deviations = _deviations(Z, there)

    def drawn() -> Array:
        if null == "permutation" and there.all():
            return rng.permuted(Z, axis=0)
        if null == "permutation":
            permuted = np.zeros_like(Z)
            for j, places in enumerate(there.T):
                permuted[places, j] = rng.permutation(Z[places, j])
            return permuted
        N = np.where(there, rng.standard_normal(Z.shape), 0.0)
        N -= np.where(there, N.mean(axis=0, where=there), 0.0)
        return (_standardised(N, there) if correlation else N) * deviations

    eigenvalues = eigenvalues_of(Z)
    drawings = (eigenvalues_of(drawn()) for _ in range(draws))
    others = np.array(complete(drawings, draws, "draws"))
    threshold = np.quantile(others, quantile, axis=0)
    r = int(np.sum(np.cumprod(eigenvalues > threshold)))
    return ParallelAnalysis(eigenvalues, others, threshold, r)


def _deviations(Z: Array, there: Mask) -> Array:
    """Return the standard deviations of centred columns, over the observed entries."""
    return np.asarray(np.sqrt((Z**2).sum(axis=0) / there.sum(axis=0)))


def _standardised(Z: Array, there: Mask) -> Array:
    """Divide centred columns by their standard deviations; constant ones stay zero."""
    deviations = _deviations(Z, there)
    flat = deviations <= 1e-12 * np.abs(Z).max(initial=0.0)  # rounding of the centring
    return np.where(flat, 0.0, Z / np.where(flat, 1.0, deviations))


def _eigenvalues(Z: Array) -> Array:
    """Return the eigenvalues of Z'Z/n, descending, as many as can be positive."""
    return np.asarray(np.linalg.svd(Z, compute_uv=False) ** 2 / len(Z))


def _pairwise(there: Mask, correlation: bool, samples: Samples) -> Callable[[Array], Array]:
    """Return a function of centred columns, zero at missing values, to eigenvalues.

    They are those of the pairwise complete covariances or correlations, descending.
    """
    T = there.astype(np.float64)
    n = T.T @ T  # rows that have both columns
    if n.min() < 2:
        i, j = np.unravel_index(int(np.argmin(n)), n.shape)
        names = samples.feature_names or range(samples.d)
        raise DataError(
            f"{samples.name}: columns {names[i]!r} and {names[j]!r} have {n[i, j]:.0f} row(s) in "
            "which both are observed, expected 2 at least: leave one of them out"
        )

    def eigenvalues(Z: Array) -> Array:
        means = Z.T @ T / n  # of column i, over the rows that have j
        C = Z.T @ Z / n - means * means.T
        if correlation:
            V = np.maximum((Z**2).T @ T / n - means**2, 0.0)
            scale = np.sqrt(V * V.T)
            C = np.divide(C, scale, out=np.zeros_like(C), where=scale > 0)
        return np.asarray(np.linalg.eigvalsh(C)[::-1])

    return eigenvalues
