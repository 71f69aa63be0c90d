"""What all estimators share: the methods of `Result` under scikit-learn's names and rules."""

from __future__ import annotations

import inspect
import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ldr.asking import check_asked, is_open
from ldr.estimators.fitted import named
from ldr.estimators.given import Given, other_views
from ldr.estimators.partial_fit import PartialFit
from ldr.estimators.signatures import OPTIONS
from ldr.inputs import as_data
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.stored import is_dask
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.observers import Progress
from ldr.predicting import predicted
from ldr.result import Result
from ldr.rotation import ROTATIONS
from ldr.scoring import score
from ldr.solvers.checks import choice, flag, whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import Argument, Dimension, PerRow, PerView, Rows


def of_points(estimator: Given) -> bool:
    """Whether X holds points: distances to the n rows have no inverse, and no score elsewhere."""
    return Need.DISTANCES not in estimator._traits().needs


def predicts(estimator: Given) -> bool:
    """Whether new rows can be asked for more than their coordinates."""
    return bool(estimator._traits().predicts)


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PartialFit):
    """Base of the estimators: projects the rows of X to n_components dimensions.

    Subclasses have `n_components` and the names of OPTIONS as parameters, and say what is
    optimised.

    Attributes
    ----------
    result_ : Result
        Of `ldr.solve`: value, baseline, certificate, history and the rest.
    components_ : ndarray (n_components, n_features)
        The linear map P; a pair of them for two views.
    mean_ : ndarray (n_features,)
        Subtracted before the map; a pair for two views.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray (n_components,)
        As scikit-learn's PCA has them, of the methods whose map has orthonormal rows.
    noise_variance_ : float or ndarray (n_features,)
        Of likelihoods.
    x_weights_, y_weights_, x_loadings_, y_loadings_ : ndarray (n_features, n_components)
        Of two views: of the columns in a coordinate, and of the coordinates in a column.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.
    """

    n_components: Dimension
    result_: Result
    components_: PerView
    mean_: PerView

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if vars(cls).get("__doc__"):
            cls.__doc__ = _with_attributes(cls.__doc__ or "")

    def fit(self, X: Rows, y: PerRow = None) -> Self:
        """Find the projection.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
            Samples in rows; in their order, for methods of time series.
        y : array (n,), optional
            Labels or a response, where the method takes them; others do not look at it.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def transform(self, X: Rows) -> Rows:
        """Project rows: Y = (X - mean_) components_'.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, n_components), or what `set_output` asks for
        """
        return self._project(X)

    @available_if(of_points)
    def inverse_transform(self, X: Rows) -> Array:
        """The rows nearest to the mean whose projection is X: mean_ + X pinv(components_)'.

        With orthonormal components it is mean_ + X components_; with ``standardise=True`` nearest
        is meant in units of standard deviations.

        Parameters
        ----------
        X : array (m, n_components)

        Returns
        -------
        ndarray (m, d)

        Raises
        ------
        ldr.errors.ArgumentError
            There is a feature map before the projection, such as a kernel's.
        """
        check_is_fitted(self)
        return self._lift(X, self.components_, self.mean_, self.result_.scale)

    @available_if(predicts)
    def predict(self, X: Rows) -> Rows:
        """The class, the response or the second view of each row; see `ldr.Result.predict`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m,) or (m, q)
        """
        return self._predicted(X)

    @available_if(of_points)
    def score(self, X: Rows, y: PerRow = None) -> float:
        """The quality of the projection on other data: larger is better; see `ldr.score`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y : array (m,), optional
            As in `fit`.

        Returns
        -------
        float
            The mean log-likelihood of a row, of likelihood methods; otherwise the objective of the
            new data, or minus it where it is minimised.
        """
        return self._score(X, y)

    def _fit(self, X: Rows, y: PerRow = None, background: Rows = None, **beside: PerRow) -> Self:
        objective = self._objective()
        samples, y = self._given(X, y, background, objective, reset=True)
        self._forget()
        self._solve(objective, samples, y, **beside)
        return self

    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> None:
        """Find the projection and set what is fitted."""
        r = self.n_components
        check_asked("n_components", r)
        if not is_open(r):
            r = whole("n_components", r, 1)
        options = {name: getattr(self, name) for name in OPTIONS}
        options["random_state"] = _generator(options["random_state"])
        following = _observer(options.pop("verbose"))
        rotation = options.pop("rotation")
        if rotation is not None:
            choice("rotation", rotation, tuple(ROTATIONS))
        try:
            most = objective.largest_r(as_data(objective, samples, y, **beside))
            if isinstance(r, int) and r > most:
                raise ArgumentError(
                    f"n_components = {r} is out of range: expected 1 <= n_components <= {most}"
                )
            with following as progress:
                observers = [] if progress is None else [progress]
                result = solve(objective, samples, r, y=y, observers=observers, **beside, **options)
            self.result_ = result if rotation is None else result.rotate(rotation)
        except (ArgumentError, DataError, SingularError) as error:  # in a pipeline, say of what
            shape = f"n_samples = {as_tuple(samples)[0].n}, n_features = {self.n_features_in_}"
            raise type(error)(f"{error} ({shape})") from error
        self.components_ = self.result_.P
        self.mean_ = self.result_.mean
        for name, value in named(self.result_).items():
            setattr(self, name, value)

    def _project(self, X: Rows, y: PerRow = None) -> Rows:
        check_is_fitted(self)
        samples = X if is_dask(X) else self._samples(X, reset=False)
        if not isinstance(self.components_, tuple):
            return self.result_.transform(samples)
        if y is not None:
            return self.result_.transform((samples, *other_views(y)))
        return _first_view(self.result_).transform(samples)

    def _predicted(self, X: Rows, question: str = "predict") -> Array:
        check_is_fitted(self)
        return predicted(self.result_, self._samples(X, reset=False), 0, question)

    def _lift(self, Y: Rows, P: Array, mean: Array, scale: Array | None) -> Array:
        """Nearest in the units that the projection was found in."""
        if any(as_tuple(self.result_.features)):
            raise ArgumentError("there is no inverse of the feature map before the projection")
        given = as_samples(Y, "X", 1)
        if given.d != len(P):
            raise ArgumentError(f"X has {given.d} columns, expected n_components = {len(P)}")
        units = 1.0 if scale is None else scale
        P = P * units
        with np.errstate(over="ignore"):
            orthonormal = np.allclose(P @ P.T, np.eye(len(P)), rtol=0, atol=1e-12)
        back = P if orthonormal else np.linalg.pinv(P).T
        return np.asarray(given.dense() @ back * units + mean)

    def _score(self, X: Rows, y: PerRow = None, background: Rows = None, **beside: PerRow) -> float:
        check_is_fitted(self)
        data, y = self._given(X, y, background, self._objective(), reset=False)
        return score(self.result_, data, y, **beside)

    @property
    def _n_features_out(self) -> int:
        return self.result_.r


def _with_attributes(text: str) -> str:
    """A class's docstring with the attributes of all estimators, behind its parameters."""
    text, heading = inspect.cleandoc(text), "Attributes\n----------\n"
    if "\nParameters\n" not in text or heading in text:
        return text
    attributes = inspect.cleandoc(Projection.__doc__ or "").partition(heading)[2]
    behind = re.search(r"^(See Also|References|Examples)\n-", text, re.MULTILINE)
    at = len(text) if behind is None else behind.start()
    return f"{text[:at].rstrip()}\n\n{heading}{attributes.rstrip()}\n\n{text[at:]}"


def _first_view(result: Result) -> Result:
    """A result of two views as one of the first."""
    return replace(
        result,
        P=result.P[0],
        mean=result.mean[0],
        features=None if result.features is None else result.features[0],
        feature_names=result.feature_names[0],
    )


def _generator(random_state: Argument) -> int | np.random.Generator | None:
    """scikit-learn's RandomState as a seed; the rest is what `ldr.solve` takes."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    return random_state


def _observer(verbose: object) -> AbstractContextManager[Progress | None]:
    """What follows a run; scikit-learn's users say 1 for True."""
    wanted = flag("verbose", bool(verbose) if type(verbose) is int else verbose)
    return Progress() if wanted else nullcontext()
