"""Estimators that predict classes, with scikit-learn's names of attributes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ldr.estimators.base import Projection, in_precision_of
from ldr.inputs import aligned, opened
from ldr.objectives.data.data import Data, as_tuple
from ldr.objectives.data.sample_metadata import CodedLabels, Marks, as_array, as_labels
from ldr.objectives.data.samples import Samples
from ldr.objectives.lda import DiscriminantMethod
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import ClassPredictor
from ldr.objectives.statistics import Codes
from ldr.objectives.statistics.sums import class_sums, counted_rows, dense
from ldr.scaling import divided
from ldr.solvers.checks import flag
from ldr.solvers.errors import ArgumentError, warn
from ldr.solvers.manifolds import Array
from ldr.types import Argument, PerRow, PerView, Rows, XandY

if TYPE_CHECKING:
    from sklearn.utils import Tags

PRIORS = """priors : array (c,), optional
    The probability of each class, in the order of `classes_`: every class weighs so much, in S_W
    and S_B too. By default the shares of the samples.
store_covariance : bool
    True to keep `covariance_`, the pooled covariance of the classes (over n), shrunk if asked.
"""


class Classifies(ClassifierMixin, Projection):
    """scikit-learn classifier: predicts the class of the nearest mean in the projection.

    See `ldr.Result.predict`. The `score` is the accuracy, as in `ldr.score`.

    Attributes
    ----------
    classes_, priors_ : ndarray (c,)
        The labels, and the share of each label in the training samples.
    coef_, intercept_ : ndarray (c, n_features), (c,)
        Coefficients of `decision_function`; for two classes (1, n_features) and (1,).
    """

    @property
    def classes_(self) -> np.ndarray:
        return self._predictor.classes

    @property
    def priors_(self) -> Array:
        return self._predictor.priors

    @property
    def coef_(self) -> Array:
        """`decision_function(X)` is X coef_' + intercept_, as in scikit-learn."""
        found = self._predictor
        coefficients = found.means @ found.W @ found.W.T @ found.P
        if len(coefficients) == 2:
            coefficients = coefficients[1:] - coefficients[:1]
        return coefficients.astype(self.components_.dtype)

    @property
    def intercept_(self) -> Array:
        found = self._predictor
        offsets = found.decision(np.zeros((1, len(found.P))))[0]
        offsets = offsets[1:] - offsets[:1] if len(offsets) == 2 else offsets
        return in_precision_of(self.components_, offsets - self.coef_ @ self.result_.mean)

    @property
    def _predictor(self) -> ClassPredictor:
        check_is_fitted(self)
        (found,) = self.result_.predictors
        assert isinstance(found, ClassPredictor)
        return found

    def predict_log_proba(self, X: Rows) -> Array:
        """Return the logarithm of `predict_proba`, without rounding to zero.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, c)
        """
        return np.asarray(log_softmax(self._predicted(X, "decision"), axis=1))

    def predict_proba(self, X: Rows) -> Array:
        """Return the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, c)
        """
        return self._predicted(X, "probabilities")

    def decision_function(self, X: Rows) -> Array:
        """Return log p(k | x) up to a constant; for two classes, the second minus the first.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, c), or (m,) for two classes
        """
        decision = self._predicted(X, "decision")
        return decision[:, 1] - decision[:, 0] if decision.shape[1] == 2 else decision

    def _given(
        self, objective: Objective, X: Rows, y: PerRow, *others: Argument, **options: Argument
    ) -> XandY:
        if getattr(y, "ndim", 1) == 2:
            y = column_or_1d(y, warn=True)
        return super()._given(objective, X, y, *others, **options)

    def score(self, X: Rows, y: PerRow, sample_weight: PerRow = None) -> float:
        """Return the accuracy; samples of data frames are paired by index."""
        return float(super().score(X, aligned(X, y, "y", "X"), sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.n_components == 1  # one component scores poorly
        return tags


class Discriminates(Classifies):
    """`LDA` and `OrthogonalLDA`, with attributes of scikit-learn's LinearDiscriminantAnalysis.

    `transform` of `LDA` has another scale than scikit-learn's: within the classes a component has
    the sum of squares 1 instead of the variance 1. For c classes and d columns predictions equal
    scikit-learn's if n_components is None, or at least c - 1 (with shrinkage, d).

    Attributes
    ----------
    means_ : ndarray (c, n_features)
        Means of the classes.
    covariance_ : ndarray (n_features, n_features)
        Covariance within classes, with `store_covariance`.
    xbar_ : ndarray (n_features,)
        Mean of the class means, weighted by `priors_`.
    scalings_ : ndarray (n_features, n_components)
        For `LDA`: (X - xbar_) scalings_ has variance 1 within the classes.
    explained_variance_ratio_ : ndarray (n_components,)
        For `LDA`: the share of each component in tr(S_W^{-1} S_B).
    """

    priors: PerRow
    store_covariance: bool
    means_: Array

    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> Self:
        (rows,) = as_tuple(samples)
        codes, classes = as_labels(y, rows.n)
        if isinstance(y, CodedLabels) and self.priors is not None:
            raise ArgumentError("priors= needs all samples at once: use fit")
        if self.priors is not None:
            beside = {**beside, "sample_weight": self._weights(codes, beside)}
        if beside.get("sample_weight") is None:  # zero weights may leave out a class
            y = CodedLabels(codes, classes)
        store = flag("store_covariance", self.store_covariance)
        super()._solve(objective, samples, y, **beside)
        weights, counted = beside.get("sample_weight"), rows
        if weights is not None:
            counted = replace(rows, marks=Marks(as_array(weights).astype(np.float64)))
        sums = counted.reduce(partial(_sums, classes=len(classes)), add, codes)
        with np.errstate(invalid="ignore"):  # the mean of a class without samples is 0/0
            self.means_ = in_precision_of(rows, sums[:, :-1] / sums[:, -1:])
        self.__dict__.pop("covariance_", None)  # the covariance of an earlier fit is outdated
        if store:
            data = opened(objective, samples, y, **beside)
            pooled = self._pooled(objective, data, float(sums[:, -1].sum()))
            self.covariance_ = in_precision_of(rows, pooled)
        own = self.result_.directions.own
        if "explained_share" in own:
            self.explained_variance_ratio_ = in_precision_of(rows, own["explained_share"])
        return self

    def _weights(self, codes: Codes, beside: dict[str, PerRow]) -> Array:
        """Return sample weights under which the classes have their priors as shares."""
        priors = as_array(self.priors, "priors").astype(np.float64)
        given = beside.get("sample_weight")
        weights = np.ones(len(codes)) if given is None else as_array(given).astype(np.float64)
        sizes = np.bincount(codes, weights)
        if priors.shape != sizes.shape:
            raise ArgumentError(f"priors has shape {priors.shape}, expected {sizes.shape}")
        if not np.all(priors > 0):
            raise ArgumentError(
                f"priors must be non-negative, and above 0 where there are samples, got {priors}"
            )
        if abs(priors.sum() - 1.0) > 1e-5:
            warn("The priors do not sum to 1. Renormalizing", UserWarning)
        shares = priors / priors.sum() * sizes.sum() / sizes
        return weights * shares[codes]

    def _pooled(self, objective: Objective, data: Data, n: float) -> Array:
        """Return the pooled covariance within classes, in the original units."""
        assert isinstance(objective, DiscriminantMethod)
        scale = self.result_.scale
        if scale is not None:
            data = divided(data, scale)
        C = objective.within(data) / n
        return C if scale is None else scale[:, None] * C * scale

    def _most(self, objective: Objective, data: Data, most: int) -> int:
        """Without shrinkage `LDA` has at most c - 1 components for c classes."""
        most = super()._most(objective, data, most)
        assert isinstance(objective, DiscriminantMethod)
        plain = objective.name == "lda" and not objective.shrinks
        return min(most, len(data.labels[1]) - 1) if plain else most

    @property
    def xbar_(self) -> Array:
        check_is_fitted(self)
        return in_precision_of(self.means_, self.priors_ @ self.means_)

    @property
    def scalings_(self) -> Array:
        (seen,) = self.result_.directions.variations
        assert seen is not None
        return np.asarray(self.components_).T * float(np.sqrt(seen.n))


def _sums(piece: Samples, codes: Codes, classes: int) -> Array:
    """Return the sum and the weight of each class's samples, in one array (c, d + 1)."""
    found = np.zeros((classes, piece.d + 1))
    for where, block in piece.blocks():
        weights = None if piece.weights is None else piece.weights[where]
        found[:, :-1] += class_sums(counted_rows(dense(block), weights), codes[where], classes)
        found[:, -1] += np.bincount(codes[where], weights, minlength=classes)
    return found
