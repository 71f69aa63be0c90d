"""The estimator of any objective."""

from __future__ import annotations

from typing import Unpack

from ldr.estimators.base import Options, keeping
from ldr.estimators.named import WithBackground
from ldr.estimators.two_views import TwoViews, Views
from ldr.inputs import as_objective
from ldr.objectives.objective import Objective
from ldr.objectives.registry import REGISTRY
from ldr.types import Dimension, PerRow, Rows


class Reducer(TwoViews, WithBackground):
    """Linear dimensionality reduction by any objective, as a scikit-learn transformer.

    The named estimators (`ldr.OrthogonalLDA`, `ldr.MAF`, ...) have the parameters of their
    objective as their own, for grid searches; this one takes objectives of your own, kernel
    versions, and names.

    Parameters
    ----------
    objective : str or Objective
        A name in the registry, an objective with its parameters (``ldr.objectives.MAF(lag=2)``), a
        kernel version (`ldr.kernel`), or one of your own (`ldr.objective`).
    n_components : int
        Dimension to reduce to.
    views : sequence of column groups, or a dict of them by name, optional
        Of an objective of several views: X then holds all in one array; see `ldr.OrthogonalCCA`.
    standardise, solver, start, starts, workers, tolerance, max_iterations, time_limit, certify
        As in `ldr.solve`.
    random_state, device
        As in `ldr.solve`.
    verbose : bool
        Whether to follow each run on the terminal; see `ldr.observers.Progress`.
    rotation : str, optional
        See `ldr.Result.rotate`.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> view = make_pipeline(StandardScaler(), ldr.Reducer("lda", n_components=2))
    >>> view.fit_transform(X, y).shape
    (178, 2)
    """

    @keeping
    def __init__(
        self,
        objective: str | Objective = "lda",
        n_components: Dimension = 2,
        *,
        views: Views | None = None,
        **options: Unpack[Options],
    ) -> None: ...

    def _objective(self) -> Objective:
        return as_objective(self.objective, {})

    def _traits(self) -> Objective:
        """Of an objective that does not exist, those of the plainest: `fit` refuses it."""
        if isinstance(self.objective, Objective):
            return self.objective
        return REGISTRY.get(str(self.objective).lower(), REGISTRY["pca"])()

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        background: Rows = None,
        sample_weight: PerRow = None,
        groups: PerRow = None,
    ) -> Reducer:
        """Find the projection.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
            Samples in rows; in their order, for methods of time series.
        y : array, optional
            Labels or a response (n,), or the second view (n, e), where the objective needs them.
        background : array (m, d), optional
            Noise, or what is to be ignored, where the objective needs it.
        sample_weight, groups : array (n,), optional
            Weights and trials of the rows; see `ldr.solve`.

        Returns
        -------
        self
        """
        return self._fit(X, y, background, sample_weight=sample_weight, groups=groups)
