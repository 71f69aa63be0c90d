"""Estimators that compare X with other rows."""

from __future__ import annotations

from typing import Self

from sklearn.utils.metaestimators import available_if

from ldr.estimators.base import Projection, of_points
from ldr.estimators.partial_fit import from_sums
from ldr.types import Labels, PerRow, Rows


class WithBackground(Projection):
    """An estimator that compares X with a background: noise, or what is to be ignored."""

    def fit(self, X: Rows, y: PerRow = None, *, background: Rows = None) -> Self:
        """Find the projection.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
        y : ignored
        background : array, memory map, sparse matrix or DataFrame (m, d)
            Rows of the same columns. In a Pipeline it is passed by the step's name, as in
            ``pipeline.fit(X, opca__background=noise)``; steps before do not transform it.

        Returns
        -------
        self
        """
        return self._fit(X, y, background)

    @available_if(from_sums)
    def partial_fit(
        self, X: Rows, y: PerRow = None, *, classes: Labels = None, background: Rows = None
    ) -> Self:
        """Add a block of rows, and one of the background; see `Projection.partial_fit`.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (m, d)
        y, classes : ignored, but for a `Reducer` of labels
        background : array, sparse matrix or DataFrame (k, d)
            As in `fit`.

        Returns
        -------
        self
        """
        return self._add(X, y, classes, background)

    @available_if(of_points)
    def score(self, X: Rows, y: PerRow = None, *, background: Rows = None) -> float:
        """The objective of other data and another background; see `Projection.score`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y : ignored
        background : array, memory map, sparse matrix or DataFrame

        Returns
        -------
        float
        """
        return self._score(X, y, background)
