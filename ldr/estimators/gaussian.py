"""Estimators of Gaussian models, with scikit-learn's names of attributes.

PCA is a model with equal noise in all discarded directions (Tipping & Bishop 1999).
"""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldr.estimators.base import Projection, in_precision_of
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.objective import Objective
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.checks import flag
from ldr.solvers.errors import SingularError
from ldr.solvers.manifolds import Array
from ldr.types import PerView, Rows

WHITEN = """whiten : bool
    Divide the coordinates by their standard deviations (over n - 1); `inverse_transform` undoes it.
"""


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
            raise AttributeError(f"{type(self).__name__} has no loglike_")
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
                "the covariance of the model is singular, as no variance is left outside the "
                "components: use fewer components, or leave out columns that do not vary"
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
    """`PCA`, with scikit-learn's `whiten` and noise model."""

    whiten: bool

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
        """Return the samples nearest to the mean with projection X.

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
        # A remaining variance at the level of rounding errors is set to zero.
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
