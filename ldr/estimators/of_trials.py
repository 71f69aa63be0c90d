"""Estimators whose samples are trials, for pipelines of scikit-learn and MNE."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldr.estimators.base import Projection, in_precision_of, loadings_of
from ldr.objectives.objective import Objective
from ldr.solvers.checks import choice
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.trial_layout import Trials, as_trials, log_mean_power
from ldr.types import Rows

PARAMETER = """features : {"power", "flat", "time"}
    What `transform` makes of a trial: the logarithm of the mean power of each component (trials,
    n_components), the time courses in a row (trials, n_components x times), or the time courses
    (trials, n_components, times).
"""


class OfTrials(Projection):
    """Spatial filters of trials (trials, channels, times), the layout of MNE and braindecode.

    `fit` takes an array, Epochs of MNE, or trials with another order of axes from `ldr.trials`, and
    y with one entry per trial. `fit` also takes samples in rows, which are transformed one by one.

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
        """Compute the features of each trial; samples in rows are projected.

        Parameters
        ----------
        X : array (m, n_channels, times), Epochs of mne, Trials, or array (m, n_channels)

        Returns
        -------
        ndarray (m, n_components), or the shape that `features` implies
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
                f"X has trials of {lengths.min()} to {lengths.max()} samples: time courses need "
                "trials of one length; features='power' does not"
            )
        courses = Y.reshape(len(found), lengths[0], -1).swapaxes(1, 2)
        return courses if self.features == "time" else courses.reshape(len(found), -1)

    def _objective(self) -> Objective:
        choice("features", self.features, ("power", "flat", "time"))
        return super()._objective()  # type: ignore[safe-super]
