"""Rules for the number of dimensions: a share of the variance, parallel analysis, BIC."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.inputs import as_generator
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.memory import check_squares
from ldr.objectives.data.opening import as_samples
from ldr.objectives.objective import Objective
from ldr.solvers.checks import Pickled, choice, number, whole
from ldr.solvers.deadline import complete
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array, Grassmann
from ldr.tables import beside, text
from ldr.types import Dimension, Figure, Rows

if TYPE_CHECKING:
    from ldr.result import Result

Mask = npt.NDArray[np.bool_]


def by_rule(
    r: Dimension, objective: Objective, data: Data, solve: Callable[..., Result]
) -> tuple[int, tuple[str, ...]]:
    """Return the number of dimensions by a rule, and a message that names the rule.

    - raises ArgumentError: the objective has no such rule, or its rows are read once.
    """
    if not all(view.repeatable for view in data.views):
        raise ArgumentError(
            f"X is an iterator, but r = {r!r} reads the rows more than once: expected a whole "
            "number as r"
        )
    if r != "auto":
        return _by_share(float(r), objective, data, solve)
    if data.samples.weights is not None or objective.traits.rule is None:
        raise ArgumentError(
            "r = 'auto' is not available for objective "
            f"{objective.name!r}{' with sample weights' if objective.traits.rule else ''}: give a "
            "whole number. ldr.path with folds= compares several r by their held-out scores"
        )
    if objective.traits.rule == "bic":
        return _by_bic(objective, data, solve)
    found = parallel_analysis(data.samples, correlation=False, random_state=0).r
    if found == 0:
        return 1, ("r = 1: parallel analysis finds no eigenvalue larger than by chance",)
    return found, (f"r = {found}: by parallel analysis of the covariance",)


def _by_share(
    share: float, objective: Objective, data: Data, solve: Callable[..., Result]
) -> tuple[int, tuple[str, ...]]:
    """Return the smallest number of leading components that explain a share of the variance.

    For objectives whose directions do not depend on r. For tica and vamp the share is of the
    sum of all squared autocorrelations (Noe & Clementi 2015).
    """
    kinetic, manifold = objective.name in ("tica", "vamp"), objective.bind(data, 1).manifold
    nested = objective.traits.transposed and objective.exact == "yes"
    if not kinetic and not (nested and isinstance(manifold, Grassmann)):
        raise ArgumentError(
            f"r = {share!r}, a share of the variance, is not available for objective "
            f"{objective.name!r}: give a whole number, or use a method such as pca"
        )
    most = min(manifold.factors[0].shape[0], objective.largest_r(data))
    found = solve(objective, data, most, certify=False).directions
    if kinetic:
        squares = next(iter(found.own.values())) ** 2
        explained = np.cumsum(squares) / np.sum(squares)
        reached = np.flatnonzero(explained >= min(share, explained[-1]))
    else:
        (seen,) = found.variations
        assert seen is not None
        explained = np.cumsum(seen.variances) / seen.total
        reached = np.flatnonzero(explained > share)
    if len(reached) == 0:
        raise ArgumentError(
            f"r = {share!r} is out of reach: all {most} dimensions of {objective.name!r} explain "
            f"{explained[-1]:.4g} of the variance"
        )
    r, of_what = int(reached[0]) + 1, "kinetic variance" if kinetic else "variance"
    return r, (f"r = {r}: the smallest r that explains {share:g} of the {of_what}",)


def _by_bic(
    objective: Objective, data: Data, solve: Callable[..., Result]
) -> tuple[int, tuple[str, ...]]:
    """Return the r with the smallest BIC; the search ends when BIC has risen twice in a row."""
    least, best = np.inf, 0
    for r in range(1, objective.largest_r(data) + 1):
        try:
            model = solve(objective, data, r, certify=False).model
        except (ArgumentError, SingularError):  # the samples do not determine r factors
            break
        assert model is not None
        d = model.mean.size
        if model.free_parameters - d > d * (d + 1) // 2:
            break
        if model.bic < least:
            least, best = model.bic, r
        elif r - best >= 2:  # the BIC has not decreased for two successive values of r
            break
    if best == 0:
        raise ArgumentError(f"r = 'auto' found no r: the data are too few for {objective.name!r}")
    with suppress(DataError):  # r = 0 needs complete samples
        none = solve(objective, data, 0, certify=False).model
        if none is not None and none.bic <= least:
            return best, (f"r = {best}: the BIC is smaller still at r = 0, without common factors",)
    return best, (f"r = {best}: the smallest Bayesian information criterion (BIC), {least:.6g}",)


@dataclass(frozen=True)
class ParallelAnalysis(Pickled):
    """Eigenvalues, and thresholds from null data without correlations.

    Attributes
    ----------
    eigenvalues : ndarray (k,)
        Eigenvalues of the correlation (or covariance) matrix, descending.
    null : ndarray (draws, k)
        Eigenvalues of each null data set, which has no correlations.
    threshold : ndarray (k,)
        Quantile of each eigenvalue over the null data sets.
    r : int
        Number of leading eigenvalues that all exceed their thresholds.
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
        shown = self.r + 2
        columns = {
            "    r": [f"{k:5d}" for k in range(1, len(self.eigenvalues) + 1)][:shown],
            "eigenvalue": [text(each) for each in self.eigenvalues[:shown]],
            "threshold": [text(each) for each in self.threshold[:shown]],
        }
        head = f"parallel analysis: {self.r} of {len(self.eigenvalues)} dimensions"
        return "\n".join([head, *beside(columns)])


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
        NaN is a missing value: each correlation then uses the pairwise complete rows. The null data
        have missing values in the same places.
    null : {"permutation", "gaussian"}
        Null data: each column of X permuted separately, or Gaussian columns of equal variances.
    correlation : bool
        Use the correlation matrix, otherwise the covariance matrix. Constant columns become zero.
    draws : int
        Number of null data sets.
    quantile : float
        The threshold of each eigenvalue is this quantile, from 0 to 1, of its values in null data.
    random_state : int or Generator, optional

    Returns
    -------
    ParallelAnalysis
        The attribute `r` is the number of dimensions. After Ctrl-C the completed draws are
        returned, and a warning states their number.

    Raises
    ------
    ldr.errors.ArgumentError
        The null is unknown, the quantile is not between 0 and 1, or draws is less than 1.
    ldr.errors.DataError
        Two columns have no row in which both are observed.

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
    complete_rows = bool(there.all())
    if complete_rows:
        check_squares(samples)
    eigenvalues_of = _eigenvalues if complete_rows else _pairwise(there, correlation, samples)
    Z = np.where(there, rows - np.nanmean(rows, axis=0, dtype=np.float64), 0.0)
    if correlation:
        Z = _standardised(Z, there)
    deviations = _deviations(Z, there)

    def drawn() -> Array:
        if null == "permutation" and complete_rows:
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
    # Of N draws, this estimate is exceeded by an independent draw with probability 1 - quantile.
    threshold = np.quantile(others, quantile, axis=0, method="weibull")
    r = int(np.sum(np.cumprod(eigenvalues > threshold)))
    return ParallelAnalysis(eigenvalues, others, threshold, r)


def _deviations(Z: Array, there: Mask) -> Array:
    """Return the standard deviations of centred columns, over the observed entries."""
    return np.asarray(np.sqrt((Z**2).sum(axis=0) / there.sum(axis=0)))


def _standardised(Z: Array, there: Mask) -> Array:
    """Divide centred columns by their standard deviations; constant columns stay zero."""
    deviations = _deviations(Z, there)
    flat = deviations <= 1e-12 * np.abs(Z).max(initial=0.0)  # rounding makes constant columns vary
    return np.where(flat, 0.0, Z / np.where(flat, 1.0, deviations))


def _eigenvalues(Z: Array) -> Array:
    """Return the positive eigenvalues of Z'Z/n, in descending order."""
    return np.asarray(np.linalg.svd(Z, compute_uv=False) ** 2 / len(Z))


def _pairwise(there: Mask, correlation: bool, samples: Samples) -> Callable[[Array], Array]:
    """Return a function from centred columns, zero at missing values, to eigenvalues.

    The eigenvalues are of the pairwise complete covariances or correlations, in descending order.
    """
    T = there.astype(np.float64)
    n = T.T @ T  # numbers of rows in which both columns of a pair are observed
    if n.min() < 2:
        i, j = np.unravel_index(int(np.argmin(n)), n.shape)
        names = samples.feature_names or range(samples.d)
        raise DataError(
            f"{samples.name}: columns {names[i]!r} and {names[j]!r} have {n[i, j]:.0f} row(s) in "
            "which both are observed, expected at least 2: leave out one of the two columns"
        )

    def eigenvalues(Z: Array) -> Array:
        means = Z.T @ T / n  # mean of column i over rows where column j is observed
        C = Z.T @ Z / n - means * means.T
        if correlation:
            V = np.maximum((Z**2).T @ T / n - means**2, 0.0)
            scale = np.sqrt(V * V.T)
            C = np.divide(C, scale, out=np.zeros_like(C), where=scale > 0)
        return np.asarray(np.linalg.eigvalsh(C)[::-1])

    return eigenvalues
