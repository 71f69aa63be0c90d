"""Estimators with further methods and attributes, named as in scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ldr.estimators.base import Projection, in_precision_of, loadings_of, other_rows
from ldr.inputs import aligned, opened
from ldr.objectives.data.data import Data, Samples, as_tuple
from ldr.objectives.data.sample_metadata import CodedLabels, Marks, as_array, as_labels
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.lda import DiscriminantMethod
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import ClassPredictor, LinearPredictor
from ldr.objectives.statistics import Codes
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.sums import class_sums, counted_rows, dense
from ldr.projecting import project_rows
from ldr.scaling import divided
from ldr.solvers.checks import choice, flag
from ldr.solvers.errors import ArgumentError, DataError, SingularError, warn
from ldr.solvers.manifolds import Array
from ldr.trial_layout import Trials, as_trials, log_mean_power
from ldr.types import Argument, PerRow, PerView, Rows, XandY

if TYPE_CHECKING:
    from sklearn.utils import Tags


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
        """Return the classes' log-probabilities up to a constant; of two classes the difference.

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
        tags.classifier_tags.poor_score = self.n_components == 1  # one component classifies poorly
        return tags


class Discriminates(Classifies):
    """`LDA` and `OrthogonalLDA`, with attributes of scikit-learn's LinearDiscriminantAnalysis.

    `transform` of `LDA` has another scale than scikit-learn's: within the classes a component has
    the sum of squares 1 instead of the variance 1. For c classes and d columns predictions equal
    scikit-learn's if n_components is None, or at least c - 1 (with shrinkage, d).

    Parameters
    ----------
    priors : array (c,), optional
        Prior probability of each class, in the order of `classes_`; by default the share of the
        samples in the class. S_W and S_B weight the classes by their priors.
    store_covariance : bool
        True to keep `covariance_`, the pooled within-class covariance (divisor n), after shrinkage.

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

    priors: PerRow = None
    store_covariance: bool = False
    means_: Array

    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> Self:
        (rows,) = as_tuple(samples)
        codes, classes = as_labels(y, rows.n)
        if isinstance(y, CodedLabels) and self.priors is not None:
            raise ArgumentError("partial_fit does not support priors=: use fit")
        if self.priors is not None:
            beside = {**beside, "sample_weight": self._weights(codes, beside)}
        if beside.get("sample_weight") is None:  # sample weights of zero may remove a class
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
                f"priors must be non-negative, and positive for classes with samples, got {priors}"
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


class Regresses(RegressorMixin, Projection):
    """scikit-learn regressor: predicts a response in its own units.

    See `ldr.Result.predict`. `score` is R2, as for every regressor; `ldr.score` is minus the mean
    squared error, scikit-learn's "neg_mean_squared_error". If y has labels as text, the prediction
    is the class with the largest predicted indicator (PLS-DA), and scores are accuracies.

    Attributes
    ----------
    coef_, intercept_ : ndarray (q, n_features), (q,)
        `predict` is X coef_' + intercept_. For y of shape (n,) a vector (n_features,) and a number.
    """

    @property
    def _linear(self) -> LinearPredictor:
        check_is_fitted(self)
        (found,) = self.result_.predictors
        assert isinstance(found, LinearPredictor)
        return found

    def score(self, X: Rows, y: PerRow, sample_weight: PerRow = None) -> float:
        """Return R2, or the accuracy for labels; samples of data frames are paired by index."""
        y = aligned(X, y, "y", "X")
        if self._linear.classes is not None:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = (
            self._known_objective().traits.transposed
        )  # a regression on components found without y may predict poorly
        return tags


class Latent(Regresses):
    """A regressor with scores of X and of the response: `PLSRegression`.

    ``transform(X, y)`` returns the scores of X and y, as in scikit-learn. `fit_transform` returns
    only the scores of X, as a step of a Pipeline must, unless y has several columns.

    Attributes
    ----------
    x_rotations_, y_rotations_ : ndarray (n_features, n_components), (q, n_components)
        Scores are (X - mean) rotations; y_rotations_ is pinv(y_loadings_)'.
    x_loadings_, y_loadings_ : ndarray (n_features, n_components), (q, n_components)
        Coefficients of the least squares regression of the columns on the scores of X.
    x_weights_, y_weights_ : ndarray (n_features, n_components), (q, n_components)
        Weights of NIPALS, orthonormal in the units of the fit; y_weights_ equals y_loadings_.
    """

    def transform(self, X: Rows, y: PerRow = None) -> PerView:
        """Return the scores of X, or of X and y.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y : array, memory map, sparse matrix or DataFrame (m, q) or (m,), optional
            Response. The scores u of y minimise ||y - mean - u y_loadings_'||.

        Returns
        -------
        ndarray (m, n_components), or a pair of them
        """
        scores = super().transform(X)
        return scores if y is None else (scores, self._scores_of(aligned(X, y, "y", "X")))

    def fit_transform(self, X: Rows, y: PerRow = None, **fit_params: Argument) -> PerView:
        """Fit, and return the scores of X, and of y if y has several columns.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
        y : array, memory map, sparse matrix or DataFrame (n, q) or (n,)
        **fit_params
            Arguments of `fit`.

        Returns
        -------
        ndarray (n, n_components), or a pair of them
        """
        scores = super().fit_transform(X, y, **fit_params)
        alone = len(self.y_loadings_) == 1 or self._linear.classes is not None
        return scores if alone else (scores, self._scores_of(y))

    def _scores_of(self, y: PerRow) -> Array:
        mean, classes = self._linear.mean, self._linear.classes
        if classes is not None:
            y = (as_array(y)[:, None] == classes).astype(np.float64)
        return project_rows(other_rows(y, "y"), "y", None, mean, self.y_rotations_.T, None)


class Gaussian(Projection):
    """A Gaussian model: `PCA`, `PPCA` or `FactorAnalysis`.

    Attributes
    ----------
    n_samples_ : int
    loadings_ : ndarray (n_features, n_components)
        M in the model covariance MM' + noise. The transpose equals `components_` of scikit-learn's
        factor analysis; `components_` of ldr is the map to the factors, as for every method.
    noise_variance_ : float or ndarray (n_features,)
        Variance outside the components, divided by n - 1 for PCA, and by n for likelihoods.
    """

    @property
    def n_samples_(self) -> int:
        return round(self._variation.n)

    @property
    def loadings_(self) -> PerView:
        return in_precision_of(self.components_, self._model().loadings)

    @property
    def loglike_(self) -> list[float]:
        """Log-likelihood after each iteration; not available for `PCA`."""
        check_is_fitted(self)
        if self.result_.model is None:
            raise AttributeError(f"{type(self).__name__} has no attribute loglike_")
        return [-float(value) for value in self.result_.run.history["value"]]

    def get_covariance(self) -> Array:
        """Return the model covariance, shape (n_features, n_features)."""
        return self._model().covariance

    def get_precision(self) -> Array:
        """Return the inverse of `get_covariance()`.

        Raises
        ------
        ldr.errors.SingularError
            The covariance is singular.
        """
        C = self.get_covariance()
        if np.linalg.matrix_rank(C, hermitian=True) < len(C):
            raise SingularError(
                "the covariance of the model is singular, because the components explain all "
                "variance: use fewer components, or leave out constant columns"
            )
        return np.asarray(np.linalg.inv(C))

    def score_samples(self, X: Rows) -> Array:
        """Compute the log-likelihood of each sample under the model.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m,)
        """
        model = self._model()
        samples = self._samples(self._known_objective(), X, reset=False)
        if model.noise.all():
            return model.score_samples(samples)
        K, Z = self.get_precision(), samples.dense() - model.mean
        constant = len(K) * np.log(2.0 * np.pi) - np.linalg.slogdet(K)[1]
        return np.asarray(-0.5 * (np.einsum("ij,jk,ik->i", Z, K, Z) + constant))

    def _model(self) -> FactorModel:
        check_is_fitted(self)
        model = self.result_.model
        assert model is not None
        return model

    @property
    def _variation(self) -> Variation:
        check_is_fitted(self)
        (seen,) = self.result_.directions.variations
        assert seen is not None  # variances are also computed by `partial_fit`
        return seen


class Principal(Gaussian):
    """`PCA`, a model with equal noise outside the components (Tipping & Bishop 1999).

    Parameters
    ----------
    whiten : bool
        True to divide the components by their standard deviations (divisor n - 1);
        `inverse_transform` multiplies by the standard deviations.
    """

    whiten: bool = False

    def transform(self, X: Rows) -> Rows:
        """Project samples: Y = (X - mean_) components_', with unit variance if `whiten`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, n_components), or the container chosen by `set_output`
        """
        Y = super().transform(X)
        return Y / self._scale if self.whiten else Y

    def inverse_transform(self, X: Rows) -> Array:
        """Return the samples nearest to the mean among all samples with the given projections.

        Parameters
        ----------
        X : array (m, n_components)

        Returns
        -------
        ndarray (m, d)
        """
        return super().inverse_transform(np.asarray(X) * self._scale if self.whiten else X)

    def _objective(self) -> Objective:
        flag("whiten", self.whiten)
        return super()._objective()  # type: ignore[safe-super]

    @property
    def _scale(self) -> Array:
        """Standard deviations of the components; 1 for a constant component."""
        check_is_fitted(self)
        deviations = np.sqrt(self.explained_variance_)
        return np.where(deviations > 0, deviations, 1.0)

    @property
    def noise_variance_(self) -> float:
        seen = self._variation
        n, d = seen.n, self.n_features_in_
        left = min(n, d) - self.n_components_
        total = seen.total * n / max(n - 1, 1) - self.explained_variance_.sum()
        # A noise variance at the level of rounding errors is set to zero.
        rounding = 10 * d * np.finfo(float).eps * seen.total
        return float(total / left) if left > 0 and total > rounding else 0.0

    def _model(self) -> FactorModel:
        result, noise = self.result_, self.noise_variance_
        scale = np.ones(self.n_features_in_) if result.scale is None else result.scale
        beyond = np.sqrt(np.maximum(self.explained_variance_ - noise, 0.0))
        loadings = (result.P * scale).T * beyond * scale[:, None]
        return FactorModel(result.mean, loadings, noise * scale**2, self._variation.n, np.nan, 0)


class Mixing(Projection):
    """`ICA` and `UndercompleteICA`: samples are mixtures of independent sources.

    Attributes
    ----------
    mixing_ : ndarray (n_features, n_components)
        Pseudoinverse of `components_`: X = mean_ + sources mixing_', except for variation outside
        the span of the components.
    whitening_ : ndarray (n_components, n_features)
        Pseudoinverse of the principal axes of `mixing_`, each times its singular value. For `ICA`
        (X - mean_) whitening_' is white with variance 1, and the sources are a rotation of it.
        scikit-learn's whitened data have the sum of squares 1 instead.
    """

    @property
    def whitening_(self) -> PerView:
        axes, lengths, _ = np.linalg.svd(self.mixing_, full_matrices=False)
        return in_precision_of(self.components_, (axes / lengths).T)

    @property
    def mixing_(self) -> PerView:
        check_is_fitted(self)
        return in_precision_of(self.components_, np.linalg.pinv(self.result_.P))


class OfTrials(Projection):
    """Spatial filters of trials (trials, channels, times), the layout of MNE and braindecode.

    `fit` takes an array, Epochs of MNE, or trials with another order of axes from `ldr.trials`, and
    y with one entry per trial. `fit` also takes samples in rows, which are transformed one by one.

    Parameters
    ----------
    features : {"power", "flat", "time"}
        Output of `transform` for each trial: the logarithm of the mean power of each component
        (trials, n_components), the time courses in a row (trials, n_components x times), or the
        time courses (trials, n_components, times).

    Attributes
    ----------
    filters_ : ndarray (n_components, n_channels)
        Equal to `components_`.
    patterns_ : ndarray (n_components, n_channels)
        Patterns of the components in the channels: (P C P')^-1 P C, where C is the covariance of
        all samples (Haufe et al. 2014).
    """

    features: str

    @property
    def filters_(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.components_)

    @property
    def patterns_(self) -> Array:
        check_is_fitted(self)
        (loadings,) = loadings_of(self.result_)
        assert loadings is not None  # loadings are computed whenever all rows are in memory
        return in_precision_of(self.components_, loadings.T)

    def transform(self, X: Rows) -> Rows:
        """Compute the features of each trial; if X has no trials, project its samples.

        Parameters
        ----------
        X : array (m, n_channels, times), Epochs of mne, Trials, or array (m, n_channels)

        Returns
        -------
        ndarray (m, n_components); if X has trials, `features` determines the shape
        """
        check_is_fitted(self)
        found = as_trials(X)
        if not isinstance(found, Trials):
            return super().transform(X)
        Y = np.asarray(super().transform(found.rows))
        if self.features == "power":
            return in_precision_of(X, log_mean_power(Y, found.ids))
        lengths = np.bincount(found.ids)
        if len(set(lengths)) > 1:
            raise DataError(
                f"X has trials of {lengths.min()} to {lengths.max()} samples, expected trials of "
                "one length; features='power' takes different lengths"
            )
        courses = Y.reshape(len(found), lengths[0], -1).swapaxes(1, 2)
        return courses if self.features == "time" else courses.reshape(len(found), -1)

    def _objective(self) -> Objective:
        choice("features", self.features, ("power", "flat", "time"))
        return super()._objective()  # type: ignore[safe-super]
