"""Estimators of two views of the same rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldr.estimators.base import Projection
from ldr.estimators.given import are_views


class TwoViews(Projection):
    """An estimator of two views: y is the second, as in scikit-learn's cross decomposition.

    `fit_transform`, as in a step of a Pipeline, gives the first view's projection;
    ``transform(X, y)`` gives both, and `predict` the second view.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the projections of both views.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
            The first view.
        y : array, memory map, sparse matrix or DataFrame (n, e) or (n,)
            The second view of the same rows; a list of the further views where the method takes
            any number.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Project the first view, or both.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y : array, memory map, sparse matrix or DataFrame (m, e), optional

        Returns
        -------
        ndarray (m, n_components), or one of each view where y is given
        """
        return self._project(X, y)

    def _given(
        self,
        X: Any,
        y: Any,
        background: Any,
        objective: Any,
        reset: bool,
        minimum_rows: int = 2,
    ) -> Any:
        given = super()._given(X, y, background, objective, reset, minimum_rows)
        if reset:  # of a y that is no ragged list any more
            several = are_views(y)
            self._flat = not several and (y if hasattr(y, "ndim") else np.asarray(y)).ndim == 1
        return given

    def _predicted(self, X: Any, question: str = "predict") -> Any:
        found = super()._predicted(X, question)
        return found[:, 0] if isinstance(self.components_, tuple) and self._flat else found

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Back from projected rows, of the first view or of both; see `Projection`.

        Parameters
        ----------
        X : array (m, n_components)
        y : array (m, n_components), optional
            Of the second view; a list of those of the further views.

        Returns
        -------
        ndarray (m, d), or one of each view that is given
        """
        check_is_fitted(self)
        given = (X, *y) if isinstance(y, (list, tuple)) else (X, y)
        scales = self.result_.scale or (None,) * len(self.components_)
        blocks = zip(given, self.components_, self.mean_, scales, strict=False)
        parts = tuple(
            self._lift(given, P, mean, scale)
            for given, P, mean, scale in blocks
            if given is not None
        )
        return parts if len(parts) > 1 else parts[0]
