"""Estimators that also predict: classes, or a response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ldr.estimators.base import Projection
from ldr.estimators.given import other_rows
from ldr.io.alignment import aligned
from ldr.objectives.prediction import ClassPredictor, LinearPredictor
from ldr.projecting import project_rows
from ldr.solvers.manifolds import Array
from ldr.types import Argument, PerRow, PerView, Rows, XandY

if TYPE_CHECKING:
    from sklearn.utils import Tags


class Classifies(ClassifierMixin, Projection):
    """A classifier of scikit-learn: it predicts the class of the nearest mean in the projection.

    See `ldr.Result.predict`. As of every classifier the `score` is the accuracy;
    ``ldr.score(estimator.result_, X, y)`` is the objective of new data.

    Attributes
    ----------
    classes_ : ndarray (c,)
    """

    @property
    def classes_(self) -> np.ndarray:
        check_is_fitted(self)
        (found,) = self.result_.predictors
        assert isinstance(found, ClassPredictor)
        return found.classes

    def predict_proba(self, X: Rows) -> Array:
        """The probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, c)
        """
        return self._predicted(X, "probabilities")

    def decision_function(self, X: Rows) -> Array:
        """log p(k | x) up to what no class changes; of two classes the second's less the first's.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, c), of two classes (m,)
        """
        decision = self._predicted(X, "decision")
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def _given(self, X: Rows, y: PerRow, *others: Argument, **options: Argument) -> XandY:
        if getattr(y, "ndim", 1) == 2:
            y = column_or_1d(y, warn=True)
        return super()._given(X, y, *others, **options)

    def score(self, X: Rows, y: PerRow, sample_weight: PerRow = None) -> float:
        """The accuracy; of data frames, rows that belong together by their index."""
        return float(super().score(X, aligned(X, y, "y", "X"), sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.n_components == 1  # of more than two classes
        return tags


class Regresses(RegressorMixin, Projection):
    """A regressor of scikit-learn: it predicts a response on its own scale.

    See `ldr.Result.predict`. As of every regressor the `score` is R2;
    ``ldr.score(estimator.result_, X, y)`` is the objective of new data.
    """

    def score(self, X: Rows, y: PerRow, sample_weight: PerRow = None) -> float:
        """R2; of data frames, rows that belong together by their index."""
        return float(super().score(X, aligned(X, y, "y", "X"), sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = self._traits().transposed  # few components know no y
        return tags


class Latent(Regresses):
    """A regressor by scores, of which the response has its own: `PLSRegression`.

    ``transform(X, y)`` gives the scores of both, as scikit-learn's does. `fit_transform` gives
    those of X alone, as a step of a Pipeline wants them, unless y has several columns.

    Attributes
    ----------
    x_rotations_, y_rotations_ : ndarray (n_features, n_components), (q, n_components)
        Scores are (X - mean) rotations; y's is the pseudoinverse of its loadings, transposed.
    x_loadings_, y_loadings_ : ndarray (n_features, n_components), (q, n_components)
        Of the scores of X in the columns, by least squares.
    """

    def transform(self, X: Rows, y: PerRow = None) -> PerView:
        """Scores of X, or of both.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y : array, memory map, sparse matrix or DataFrame (m, q) or (m,), optional
            The response of the same rows. Its scores u are those that predict it best: the least
            ||y - mean - u y_loadings_'||.

        Returns
        -------
        ndarray (m, n_components), or a pair of them
        """
        scores = self._project(X)
        return scores if y is None else (scores, self._scores_of(aligned(X, y, "y", "X")))

    def fit_transform(self, X: Rows, y: PerRow = None, **fit_params: Argument) -> PerView:
        """`fit`, and the scores of X; of a y of several columns those of both.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
        y : array, memory map, sparse matrix or DataFrame (n, q) or (n,)
        **fit_params
            Of `fit`.

        Returns
        -------
        ndarray (n, n_components), or a pair of them
        """
        scores = super().fit_transform(X, y, **fit_params)
        return scores if len(self.y_loadings_) == 1 else (scores, self._scores_of(y))

    def _scores_of(self, y: PerRow) -> Array:
        (found,) = self.result_.predictors
        assert isinstance(found, LinearPredictor)
        return project_rows(other_rows(y, "y"), "y", None, found.mean, self.y_rotations_.T, None)
