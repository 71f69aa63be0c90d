"""Estimators with further methods and attributes, named as in scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from ldr.estimators.base import Projection, in_precision_of, loadings_of, other_rows, paired
from ldr.inputs import aligned, opened
from ldr.objectives.data.data import Data, Samples, as_tuple
from ldr.objectives.data.sample_metadata import CodedLabels, Marks, as_array, as_labels
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.lda import DiscriminantMethod
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import ClassPredictor, LinearPredictor
from ldr.objectives.statistics import Codes
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

    def _attributes(self) -> dict[str, Argument]:
        # `decision_function(X)` is X coef_' + intercept_, as in scikit-learn.
        (found,), mean = self.result_.predictors, self.result_.mean
        assert isinstance(found, ClassPredictor)
        coefficients = found.means @ found.W @ found.W.T @ found.P
        offsets = found.decision(np.zeros((1, len(found.P))))[0] - coefficients @ mean
        if len(offsets) == 2:
            coefficients, offsets = (each[1:] - each[:1] for each in (coefficients, offsets))
        own = {"classes_": found.classes, "priors_": found.priors, "coef_": coefficients}
        return super()._attributes() | own | {"intercept_": offsets}

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

    def score(self, X: Rows, y: PerRow, sample_weight: PerRow = None) -> float:
        """Return the accuracy; samples of data frames are paired by index."""
        return float(super().score(X, **paired(X, y=y, sample_weight=sample_weight)))

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
    priors_: Array

    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> Self:
        (rows,) = as_tuple(samples)
        codes, classes = as_labels(y, rows.n)
        if isinstance(y, CodedLabels) and self.priors is not None:
            raise ArgumentError("partial_fit does not support priors=: use fit")
        weights = beside.get("sample_weight")
        if self.priors is not None:
            weights = self._weights(codes, weights)
            beside = {**beside, "sample_weight": weights}
        if weights is None:  # sample weights of zero may remove a class
            y = CodedLabels(codes, classes)
        store, counted = flag("store_covariance", self.store_covariance), rows
        super()._solve(objective, samples, y, **beside)
        if weights is not None:
            counted = replace(rows, marks=Marks(as_array(weights).astype(np.float64)))
        sums = counted.reduce(partial(_sums, classes=len(classes)), add, codes)
        sums = sums[np.isin(classes, self.classes_)]  # without classes of weight zero
        means = sums[:, :-1] / sums[:, -1:]
        found = {"means_": means, "xbar_": self.priors_ @ means, "covariance_": None}
        found["scalings_"] = self.result_.P.T * float(np.sqrt(self._variation.n))
        if store:
            S_W = self._within(objective, opened(objective, samples, y, **beside))
            found["covariance_"] = S_W / float(sums[:, -1].sum())
        if "explained_share" in (own := self.result_.directions.own):
            found["explained_variance_ratio_"] = own["explained_share"]
        self._set(rows, found)
        return self

    def _weights(self, codes: Codes, given: PerRow) -> Array:
        """Return sample weights under which the classes have their priors as shares."""
        priors = as_array(self.priors, "priors").astype(np.float64)
        weights = np.ones(len(codes)) if given is None else as_array(given).astype(np.float64)
        sizes = np.bincount(codes, weights)
        if priors.shape != sizes.shape:
            raise ArgumentError(f"priors has shape {priors.shape}, expected {sizes.shape}")
        if not np.all((priors > 0) | (sizes == 0)):
            raise ArgumentError(
                f"priors must be non-negative, and positive for classes with samples, got {priors}"
            )
        if abs(priors.sum() - 1.0) > 1e-5:
            warn("The priors do not sum to 1. Renormalizing", UserWarning)
        shares = priors / priors[sizes > 0].sum() * sizes.sum() / np.where(sizes > 0, sizes, 1)
        return weights * shares[codes]

    def _within(self, objective: Objective, data: Data) -> Array:
        """Return S_W after shrinkage, in the original units."""
        assert isinstance(objective, DiscriminantMethod)
        scale = self.result_.scale
        if scale is None:
            return objective.within(data)
        return scale[:, None] * objective.within(divided(data, scale)) * scale

    def _most(self, objective: Objective, data: Data, most: int) -> int:
        """Without shrinkage `LDA` has at most c - 1 components for c classes."""
        most = super()._most(objective, data, most)
        assert isinstance(objective, DiscriminantMethod)
        plain = objective.name == "lda" and not objective.shrinks
        return min(most, len(data.labels[1]) - 1) if plain else most


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
        y, sample_weight = paired(X, y=y, sample_weight=sample_weight).values()
        if self._linear.classes is not None:
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        # A regression on components found without y may predict poorly.
        tags.regressor_tags.poor_score = self._known_objective().traits.transposed
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

    def _attributes(self) -> dict[str, Argument]:
        result, B = self.result_, self._linear.B
        # scikit-learn's x_rotations_ are orthonormal x_weights_ times a triangular matrix.
        Q, R = np.linalg.qr((result.P * (1.0 if result.scale is None else result.scale)).T)
        return super()._attributes() | {
            "x_rotations_": result.P.T,
            "x_loadings_": loadings_of(result)[0],
            "x_weights_": Q * np.sign(np.diag(R)),
            "y_weights_": B.T,
            # Loadings of the response below 1e-13 of the largest are rounding errors.
            "y_rotations_": np.asarray(np.linalg.pinv(B, rcond=1e-13)),
            "y_loadings_": B.T,
        }

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
        return scores if y is None else (scores, self._scores_of(X, y))

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
        return scores if alone else (scores, self._scores_of(X, y))

    def _scores_of(self, X: Rows, y: PerRow) -> Array:
        y = aligned(X, y, "y", "X")
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
    loglike_ : list of float
        Log-likelihood after each iteration; not available for `PCA`.
    """

    def _attributes(self) -> dict[str, Argument]:
        model = self._model()
        found: dict[str, Argument] = {"n_samples_": round(model.n), "loadings_": model.loadings}
        if self.result_.model is not None:
            found["loglike_"] = [-float(value) for value in self.result_.run.history["value"]]
        return super()._attributes() | found

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


class Principal(Gaussian):
    """`PCA`, a model with equal noise outside the components (Tipping & Bishop 1999).

    Parameters
    ----------
    whiten : bool
        True to divide the components by their standard deviations (divisor n - 1);
        `inverse_transform` multiplies by the standard deviations.
    """

    whiten: bool = False

    def _projected(self, X: Rows) -> Rows:
        Y = super()._projected(X)
        return Y / self._deviations if self.whiten else Y

    def _lifted(self, given: Sequence[Rows]) -> tuple[Array, ...]:
        (Y,) = given
        return super()._lifted([np.asarray(Y) * self._deviations if self.whiten else Y])

    def _objective(self) -> Objective:
        flag("whiten", self.whiten)
        return super()._objective()

    @property
    def _deviations(self) -> Array:
        """Standard deviations of the components; 1 for a constant component."""
        deviations = np.sqrt(self.explained_variance_)
        return np.where(deviations > 0, deviations, 1.0)

    def _attributes(self) -> dict[str, Argument]:
        return super()._attributes() | {"noise_variance_": self._variances[1]}

    @property
    def _variances(self) -> tuple[Array, float]:
        """Variances of the components, and the mean variance outside them, over n - 1."""
        seen, d = self._variation, self.n_features_in_
        share = seen.n / max(seen.n - 1, 1)
        variances = seen.variances * share
        left, remaining = min(seen.n, d) - len(variances), seen.total * share - variances.sum()
        # A noise variance at the level of rounding errors is set to zero.
        noisy = left > 0 and remaining > 10 * d * np.finfo(float).eps * seen.total
        return variances, float(remaining / left) if noisy else 0.0

    def _model(self) -> FactorModel:
        check_is_fitted(self)
        (variances, noise), result = self._variances, self.result_
        scale = np.ones(len(result.mean)) if result.scale is None else result.scale
        beyond = np.sqrt(np.maximum(variances - noise, 0.0))
        loadings = (result.P * scale).T * beyond * scale[:, None]
        n = self._variation.n
        return FactorModel(result.mean, loadings, noise * scale**2, n, np.nan, 0)


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

    def _attributes(self) -> dict[str, Argument]:
        mixing = np.linalg.pinv(self.result_.P)
        axes, lengths, _ = np.linalg.svd(mixing, full_matrices=False)
        own = {"mixing_": mixing, "whitening_": (axes / lengths).T}
        return super()._attributes() | own


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
    _times: int

    def _given(
        self, objective: Objective, X: Rows, y: PerRow, background: Rows, **rows: Any
    ) -> XandY:
        X = as_trials(X)
        if rows["reset"]:
            self._times = len(X.rows) // len(X) if isinstance(X, Trials) else 1
        return super()._given(objective, X, y, background, **rows)

    @property
    def _n_features_out(self) -> int:
        return self.result_.r * (self._times if self.features == "flat" else 1)

    def _attributes(self) -> dict[str, Argument]:
        (loadings,) = loadings_of(self.result_)
        own = {"filters_": self.result_.P, "patterns_": None if loadings is None else loadings.T}
        return super()._attributes() | own

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
        samples = self._samples(self._known_objective(), found.rows, reset=False)
        Y = in_precision_of(samples, self._projected(samples))
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
        return super()._objective()
