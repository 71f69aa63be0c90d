"""The base class of the estimators: parameters, validation, fit, transform, partial_fit."""

from __future__ import annotations

import inspect
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import wraps
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ldr.cross_validation import score
from ldr.errors import in_words
from ldr.inputs import aligned, check_observers, is_asked, least_r, opened
from ldr.objectives.data.array_types import in_library_of, is_annotated, is_dask
from ldr.objectives.data.data import Data, Samples, as_tuple, single
from ldr.objectives.data.opening import as_samples, brought
from ldr.objectives.data.sample_metadata import (
    CodedLabels,
    Marks,
    as_array,
    as_labels,
    distinct,
    is_text,
)
from ldr.objectives.data.stored import AccumulatedSamples, Totals
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import OF_Y, Need
from ldr.objectives.pls import PLSRegression
from ldr.objectives.prediction import LinearPredictor
from ldr.objectives.registry import REGISTRY
from ldr.observers import Log, Progress
from ldr.projecting import predicted
from ldr.result import Result
from ldr.rotation import ROTATIONS
from ldr.solvers.checks import choice, flag, whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError, warn
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.trial_layout import Trials, as_trials
from ldr.types import Dimension, Labels, PerRow, PerView, Rows, Start, XandY

if TYPE_CHECKING:
    from sklearn.utils import Tags

Views: TypeAlias = Sequence[Sequence[int | str] | slice] | Mapping[str, Sequence[int | str] | slice]

_PASSED = (
    *("standardise", "solver", "start", "starts", "workers", "tolerance", "max_iterations"),
    *("time_limit", "observers", "certify", "random_state", "device"),
)
# Parameters of every estimator, with their defaults; most are passed to `ldr.solve`.
OPTIONS = {name: inspect.signature(solve).parameters[name].default for name in _PASSED}
OPTIONS |= {"verbose": False, "warm_start": False, "rotation": None}
# scikit-learn's names of some parameters, with the corresponding names in ldr.
ELSEWHERE = {"max_iter": "max_iterations", "tol": "tolerance", "scale": "standardise"}


def keeping(own: inspect.Signature, name: str, hint: str = "") -> Callable[..., None]:
    """Return an `__init__` that stores its arguments: the given parameters and OPTIONS.

    - hint: last sentence of the error for any other argument
    """
    options = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default)
        for option, default in OPTIONS.items()
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *options])

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        for unknown in kwargs.keys() - signature.parameters.keys():
            called = f"; {unknown} is called {ELSEWHERE[unknown]}" if unknown in ELSEWHERE else ""
            raise ArgumentError(
                f"{name} has no parameter {unknown!r}, expected one of "
                f"{', '.join([*signature.parameters][1:])}{called}{hint}"
            )
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{name}.__init__"
    return __init__


def from_sums(estimator: Projection) -> bool:
    """Return True if the method depends only on sums over rows, so that blocks can be added."""
    try:
        return estimator._objective().traits.from_sums
    except ArgumentError:  # `fit` will report the invalid parameter
        return False


def of_points(estimator: Projection) -> bool:
    """Return True if X holds samples; a matrix of distances has no inverse map."""
    return Need.DISTANCES not in estimator._known_objective().needs


def predicts(estimator: Projection) -> bool:
    """Return True if the method predicts a response, a class or a view of new samples."""
    return bool(estimator._known_objective().traits.predicts)


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the estimators, which project samples X to n_components dimensions.

    A subclass has `n_components` and the names in OPTIONS as parameters, and defines the objective.

    Attributes
    ----------
    result_ : Result
        Result of `ldr.solve`, with value, baseline, certificate and history.
    components_ : ndarray (n_components, n_features)
        The linear map P; a pair of maps for two views.
    mean_ : ndarray (n_features,)
        Mean of the samples, which is subtracted before the map; a pair for two views.
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray (n_components,)
        As in scikit-learn's PCA, for methods whose map has orthonormal rows.
    noise_variance_ : float or ndarray (n_features,)
        Noise variance of models with a likelihood.
    x_weights_, y_weights_, x_loadings_, y_loadings_ : ndarray (n_features, n_components)
        For two views: weights are the coefficients of features in components, loadings are the
        coefficients of components in features.
    n_iter_, n_components_, n_features_in_ : int
        Iterations of the solver (0 for a closed form), number of components, number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.
    """

    n_components: Dimension
    standardise: bool
    rotation: str | None
    verbose: bool
    warm_start: bool
    n_features_in_: int
    feature_names_in_: np.ndarray
    n_samples_seen_: int
    result_: Result
    components_: PerView
    mean_: PerView
    _totals: tuple[Totals, ...]
    _classes: np.ndarray | None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if vars(cls).get("__doc__"):
            cls.__doc__ = _with_attributes(cls.__doc__ or "")

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective with its parameters."""

    @abstractmethod
    def _known_objective(self) -> Objective:
        """An objective with the same views and needs, also if parameters are invalid."""

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        background: Rows = None,
        sample_weight: PerRow = None,
        groups: PerRow = None,
    ) -> Self:
        """Fit the projection.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
            Samples in rows, in time order for methods of time series. For several views X is the
            first view (y contains the others), or a list or dict of all views; with the parameter
            `views`, X is one array of all columns.
        y : array (n,), optional
            Labels or a response, for methods that use y; other methods ignore y. For two views y is
            the second view, (n, e) or (n,); for more views y is a list of all views but the first.
        background : array, memory map, sparse matrix or DataFrame (m, d)
            Background (or noise) samples with the same columns; the projection suppresses the
            variation of the background. In a Pipeline the step's name is a prefix, as in
            ``pipeline.fit(X, opca__background=noise)``; earlier steps do not transform it.
        sample_weight : array (n,), optional
            Sample weights, >= 0; see `ldr.solve`.
        groups : array (n,), optional
            The trial of each sample; see `ldr.solve`. Not needed if X is an array (trials,
            channels, times), a list of arrays (channels, times), or a result of `ldr.trials`.

        Returns
        -------
        self
        """
        objective = self._objective()
        samples, y = self._given(objective, X, y, background, reset=True)
        for name in ("n_samples_seen_", "_totals", "_classes"):  # `fit` discards earlier samples
            self.__dict__.pop(name, None)
        return self._solve(objective, samples, y, sample_weight=sample_weight, groups=groups)

    @available_if(from_sums)
    def partial_fit(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        classes: Labels = None,
        background: Rows = None,
        sample_weight: PerRow = None,
        groups: PerRow = None,
    ) -> Self:
        """Add a block of rows to the earlier blocks, and fit the projection to all of them.

        The method is available if the objective depends only on sums over rows. The estimator keeps
        the sums, some d x d matrices, and not the rows. Each call of `partial_fit` solves once,
        after one pass over the block, so large blocks are faster. `fit` discards earlier blocks and
        stores no sums: partial_fit after `fit` starts anew.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (m, d)
            Rows, in time order for time series; the first block must suffice for a solution.
        y : array (m,), or the second view (m, e)
            As in `fit`.
        classes : array (c,), optional
            All labels, in the first call; by default the labels of the first block.
        background, sample_weight, groups
            As in `fit`, for the block.

        Returns
        -------
        self
            Unchanged if a block is refused. `n_samples_seen_` is the total number of rows.
        """
        if self.standardise:
            raise ArgumentError(
                "standardise=True needs all rows at once: use fit, or scale the blocks yourself"
            )
        objective = self._objective()
        begun = hasattr(self, "_totals")
        if not begun and hasattr(self, "result_"):
            warn("partial_fit ignores the samples given to fit earlier", UserWarning)
        samples, y = self._given(objective, X, y, background, reset=not begun, minimum_rows=1)
        if Need.RESPONSE in objective.needs and is_text(y):
            raise DataError(
                "y holds labels as text, which partial_fit does not take as a response: use fit, "
                "or code each class as a column of zeros and ones"
            )
        blocks = as_tuple(samples)
        if objective.views > 1 and len({block.n for block in blocks}) > 1:
            rows = " and ".join(str(block.n) for block in blocks)
            raise DataError(f"the views have {rows} rows, expected the same number")
        if any(block.has_nan for block in blocks):
            raise DataError("X has missing values (NaN), which partial_fit does not take: use fit")
        before = self._totals if begun else ({},) * len(blocks)
        views = tuple(
            AccumulatedSamples.of(block.in_memory(), sums)
            for block, sums in zip(blocks, before, strict=True)
        )
        known = None
        if Need.LABELS in objective.needs:
            known = self._known_classes(y, blocks[0].n, classes)
            y = CodedLabels.of(y, blocks[0].n, known)
        self._solve(objective, single(views), y, sample_weight=sample_weight, groups=groups)
        self._totals, self._classes = tuple(view.totals for view in views), known
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + blocks[0].n
        return self

    def _known_classes(self, y: PerRow, n: int, classes: Labels) -> np.ndarray:
        """Return all labels, which the first call determines."""
        given = None if classes is None else distinct(as_array(classes, "classes"), "classes")[0]
        if given is not None and len(given) == 0:
            raise DataError("classes is empty, expected all labels, or None")
        known = getattr(self, "_classes", None)
        if known is None:
            return as_labels(y, n, smallest_class=1)[1] if given is None else given
        if given is not None and not np.array_equal(given, known):
            raise DataError(f"classes = {given} differ from the classes of the first call, {known}")
        return known

    def transform(self, X: Rows) -> Rows:
        """Project samples: Y = (X - mean_) components_'.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, n_components), or the container chosen by `set_output`
            If X is an array of jax, torch or another array API library, so is the result.
        """
        check_is_fitted(self)
        if is_dask(X):
            return self.result_.transform(X)
        samples = self._samples(self._known_objective(), X, reset=False)
        return in_library_of(X, in_precision_of(samples, self.result_.transform(samples)))

    @available_if(of_points)
    def inverse_transform(self, X: Rows) -> Array:
        """Return the samples nearest to the mean among all samples with the projections X.

        The samples are mean_ + X pinv(components_)', for orthonormal components mean_ + X
        components_. With ``standardise=True`` distances are in units of standard deviations.

        Parameters
        ----------
        X : array (m, n_components)

        Returns
        -------
        ndarray (m, d)

        Raises
        ------
        ldr.errors.ArgumentError
            The estimator has a feature map before the projection, such as a kernel's.
        """
        check_is_fitted(self)
        return self._lift(X, self.result_.P, self.result_.mean, self.result_.scale)

    @available_if(predicts)
    def predict(self, X: Rows) -> Rows:
        """Predict the class, response or second view of each sample; see `ldr.Result.predict`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m,) or (m, q)
        """
        return self._predicted(X)

    @available_if(of_points)
    def score(
        self,
        X: Rows,
        y: PerRow = None,
        *,
        background: Rows = None,
        sample_weight: PerRow = None,
        groups: PerRow = None,
    ) -> float:
        """Return the score of the projection on new data, larger is better; see `ldr.score`.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y, background, sample_weight, groups
            As in `fit`.

        Returns
        -------
        float
            As in `ldr.score`.
        """
        check_is_fitted(self)
        objective = self._objective()
        data, y = self._given(objective, X, y, background, reset=False, minimum_rows=1)
        return score(self.result_, data, y, sample_weight=sample_weight, groups=groups)

    def _given(
        self,
        objective: Objective,
        X: Rows,
        y: PerRow,
        background: Rows,
        *,
        reset: bool,
        minimum_rows: int = 2,
    ) -> XandY:
        """Return X, or a pair, and y in the form for `ldr.solve`."""
        y = aligned(X, y, "y", "X")
        samples: Rows = self._samples(objective, X, reset=reset, minimum_rows=minimum_rows)
        if y is None and _requires_y(objective):
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if objective.views > 1:
            return (samples, *other_views(y)), None
        if Need.BACKGROUND in objective.needs:
            if background is None:
                raise DataError(f"{type(self).__name__} needs background=, the background samples")
            return (samples, other_rows(background, "background")), None
        y = brought(y)
        return samples, _numbers(y) if Need.RESPONSE in objective.needs else y

    @in_words
    def _samples(
        self, objective: Objective, X: Rows, *, reset: bool, minimum_rows: int = 1
    ) -> Samples:
        """X validated by scikit-learn's rules, with the names of its columns."""
        if type(X) is not np.ndarray and is_dask(X):  # scikit-learn would load a whole Dask array
            samples = as_samples(X, "X", minimum_rows, allow_nan=objective.traits.missing)
            if reset:
                self.n_features_in_ = samples.d
                if samples.feature_names:
                    self.feature_names_in_ = np.array(samples.feature_names, dtype=object)
            elif samples.d != self.n_features_in_:
                raise DataError(f"X has {samples.d} features, expected {self.n_features_in_}")
            return samples
        ids = names = None
        distances = Need.DISTANCES in objective.needs
        if not isinstance(X, np.ndarray) and is_annotated(X):
            X, names = X.X, tuple(map(str, X.var_names))
        if Need.TIME_ORDER in objective.needs:
            X = as_trials(X)
            if isinstance(X, Trials):
                X, ids, names = X.rows, X.ids, X.names or None
        array = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_min_samples=minimum_rows,
            ensure_all_finite=distances,  # `as_samples` reports where X has missing values
            ensure_non_negative=distances,
        )
        samples = as_samples(array, "X", minimum_rows, allow_nan=objective.traits.missing)
        if ids is not None:
            later = getattr(self, "n_samples_seen_", 0)  # offset that keeps trial ids distinct
            samples = replace(samples, marks=Marks(trials=ids + later))
        names = getattr(self, "feature_names_in_", names)
        return samples if names is None else replace(samples, feature_names=tuple(names))

    def __sklearn_tags__(self) -> Tags:
        tags, objective = super().__sklearn_tags__(), self._known_objective()
        tags.target_tags.required = _requires_y(objective)
        tags.target_tags.two_d_labels = objective.views > 1
        tags.input_tags.pairwise = tags.input_tags.positive_only = Need.DISTANCES in objective.needs
        tags.input_tags.allow_nan = objective.traits.missing
        tags.input_tags.sparse = objective.traits.sparse
        return tags

    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> Self:
        """Fit the projection and set the fitted attributes."""
        r, rotation, verbose = self.n_components, self.rotation, self.verbose
        if r is not None:
            r = r if is_asked("n_components", r) else whole("n_components", r, least_r(objective))
        options = {name: getattr(self, name) for name in _PASSED}
        if isinstance(options["random_state"], np.random.RandomState):  # NumPy's legacy generator
            options["random_state"] = int(options["random_state"].randint(np.iinfo(np.int32).max))
        # scikit-learn accepts integers for verbose; ldr requires True or False.
        followed = flag("verbose", bool(verbose) if type(verbose) is int else verbose)
        if rotation is not None:
            choice("rotation", rotation, tuple(ROTATIONS))
        try:
            data = opened(objective, samples, y, **beside)
            most = objective.largest_r(data)
            if r is None:
                r = self._most(objective, data, most)
            if isinstance(r, int) and r > most:
                raise ArgumentError(
                    f"n_components = {r} is out of range: expected n_components <= {most}"
                )
            if flag("warm_start", self.warm_start) and hasattr(self, "result_"):
                options["start"] = self._last(data)
            with self._follower() if followed else nullcontext() as follower:
                if follower is not None:
                    check_observers(options["observers"])
                    options["observers"] = [*options["observers"], follower]
                result = solve(objective, data, r, **options)
            self.result_ = result if rotation is None else result.rotate(rotation)
            self.n_iter_ = result.run.iterations
        except (ArgumentError, DataError, SingularError) as error:  # add X's shape to the message
            shape = f"n_samples = {as_tuple(samples)[0].n}, n_features = {self.n_features_in_}"
            raise type(error)(f"{error} ({shape})") from error
        first = as_tuple(samples)[0]
        self.components_ = in_precision_of(first, self.result_.P)
        self.mean_ = in_precision_of(first, self.result_.mean)
        for name, value in _by_other_names(self.result_).items():
            setattr(self, name, in_precision_of(first, value))
        return self

    def _follower(self) -> Progress | Log:
        """Return `Progress` on a terminal; elsewhere `Log`, with a line for each iteration."""
        shown = sys.stderr.isatty() and find_spec("rich") is not None
        return Progress() if shown else Log(type(self).__name__)

    def _last(self, data: Data) -> Start:
        """The solution of the previous fit, where a warm start begins."""
        for view, M in zip(data.views, as_tuple(self.result_.M), strict=False):
            if self.result_.features is None and view.d != len(M):
                raise ArgumentError(
                    f"The new inputs dimensionality ({view.d}) does not match the input "
                    f"dimensionality of the previously learned transformation ({len(M)}). Fit a "
                    "clone, or give warm_start=False"
                )
        return self.result_.M

    def _most(self, objective: Objective, data: Data, most: int) -> int:
        """Number of components for n_components=None: the dimension of the data's variation."""
        return min(objective.bind(data, 1).manifold.factors[0].shape[0], most)

    def _predicted(self, X: Rows, question: str = "predict") -> Array:
        check_is_fitted(self)
        samples = self._samples(self._known_objective(), X, reset=False)
        return in_precision_of(samples, predicted(self.result_, samples, 0, question))

    def _lift(self, Y: Rows, P: Array, mean: Array, scale: Array | None) -> Array:
        """Map Y back to the nearest samples, in the units of the fit."""
        if any(as_tuple(self.result_.features)):
            raise ArgumentError("the feature map before the projection has no inverse")
        given = as_samples(Y, "X", 1)
        if given.d != len(P):
            raise ArgumentError(f"X has {given.d} columns, expected n_components = {len(P)}")
        units = 1.0 if scale is None else scale
        P = P * units
        with np.errstate(over="ignore"):
            orthonormal = np.allclose(P @ P.T, np.eye(len(P)), rtol=0, atol=1e-12)
        back = P if orthonormal else np.linalg.pinv(P).T
        return in_precision_of(given, given.dense() @ back * units + mean)

    @property
    def n_components_(self) -> int:
        check_is_fitted(self)
        return self.result_.r

    @property
    def _n_features_out(self) -> int:
        return self.result_.r


def _requires_y(objective: Objective) -> bool:
    return objective.views > 1 or not OF_Y.isdisjoint(objective.needs)


def are_views(y: PerRow) -> bool:
    """Return True if y is a list of matrices."""
    listed = isinstance(y, (list, tuple)) and len(y) > 0
    return listed and all(getattr(view, "ndim", 0) == 2 for view in y)


def other_views(y: PerRow) -> tuple[Samples, ...]:
    """Return all views but the first: y, or each matrix of a list."""
    if are_views(y):
        return tuple(other_rows(view, f"y[{i}]") for i, view in enumerate(y))
    return (other_rows(y, "y"),)


@in_words
def other_rows(given: Rows, name: str) -> Samples:
    """Validate a second view or background by the rules for X; one column may have shape (n,)."""
    framed = type(given).__name__ == "LazyFrame" or hasattr(given, "columns")
    if framed or is_annotated(given) or is_dask(given):
        return as_samples(given, name, 1)
    array = check_array(
        given,
        accept_sparse="csr",
        ensure_2d=False,
        dtype="numeric",
        ensure_all_finite=False,
        input_name=name,
    )
    return as_samples(array[:, None] if array.ndim == 1 else array, name, 1)


def in_precision_of(rows: Rows, found: PerView) -> PerView:
    """Convert arrays computed in float64 to float32 if the rows are float32."""
    if getattr(getattr(rows, "array", rows), "dtype", None) != np.float32:
        return found
    if isinstance(found, tuple):
        return tuple(in_precision_of(rows, one) for one in found)
    return found.astype(np.float32) if getattr(found, "dtype", None) == np.float64 else found


def _numbers(y: PerRow) -> PerRow:
    """Convert a response of Python objects to numbers, if all objects are numbers."""
    array = as_array(y)
    if array.dtype.kind != "O":
        return y
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return y


def _by_other_names(result: Result) -> dict[str, float | Array]:
    """Return the attributes with scikit-learn's names that are defined for the result.

    Variances are over n - 1, as in scikit-learn's PCA, and only for orthonormal maps. Weights are
    coefficients of features in a component, (X - mean) weights. Loadings are least squares
    coefficients of components in a feature.
    """
    seen = result.directions.variations
    found: dict[str, float | Array | None] = {}
    if len(seen) == 1 and seen[0] is not None and result.directions.orthonormal:
        variances, n = seen[0].variances, seen[0].n
        found["explained_variance_"] = variances * (n / max(n - 1, 1))
        found["explained_variance_ratio_"] = seen[0].shares
        found["singular_values_"] = np.sqrt(n * variances)
    for name in ("noise_variance", "noise_variances"):
        if name in result.parameters:
            found["noise_variance_"] = result.parameters[name]
    if isinstance(result.objective, PLSRegression):
        (predictor,) = result.predictors
        assert isinstance(predictor, LinearPredictor)
        found["x_rotations_"], found["x_loadings_"] = result.P.T, loadings_of(result)[0]
        # scikit-learn's x_rotations_ are orthonormal x_weights_ times a triangular matrix.
        Q, R = np.linalg.qr((result.P * (1.0 if result.scale is None else result.scale)).T)
        found["x_weights_"], found["y_weights_"] = Q * np.sign(np.diag(R)), predictor.B.T
        # Loadings of the response below 1e-13 of the largest are rounding errors.
        found["y_rotations_"] = np.asarray(np.linalg.pinv(predictor.B, rcond=1e-13))
        found["y_loadings_"] = predictor.B.T
    if isinstance(result.P, tuple) and len(result.P) == 2:  # scikit-learn's PLS has two views only
        for view, P, loading in zip("xy", result.P, loadings_of(result), strict=True):
            found[f"{view}_weights_"] = found[f"{view}_rotations_"] = P.T
            found[f"{view}_loadings_"] = loading
    if result.predictors and isinstance(first := result.predictors[0], LinearPredictor):
        # PLS predicts the response, or the second view if there is no response.
        coefficients = first.B.T @ first.P
        offsets = first.mean - coefficients @ as_tuple(result.mean)[0]
        found["coef_"] = coefficients[0] if first.flat else coefficients
        found["intercept_"] = float(offsets[0]) if first.flat else offsets
    return {name: value for name, value in found.items() if value is not None}


def loadings_of(result: Result) -> list[Array | None]:
    """Return the coefficients (d, r) of components in the columns of each view."""
    seen = result.directions.variations
    scales = (1.0,) * len(seen) if result.scale is None else as_tuple(result.scale)
    return [
        None if one is None else (one.loadings.T * scale).T
        for one, scale in zip(seen, scales, strict=True)
    ]


def _with_attributes(text: str) -> str:
    """A class's docstring with the attributes of all estimators after its parameters."""
    text, heading = inspect.cleandoc(text), "Attributes\n----------\n"
    if "\nParameters\n" not in text or heading in text:
        return text
    attributes = inspect.cleandoc(Projection.__doc__ or "").partition(heading)[2]
    behind = re.search(r"^(See Also|References|Examples)\n-", text, re.MULTILINE)
    at = len(text) if behind is None else behind.start()
    return f"{text[:at].rstrip()}\n\n{heading}{attributes.rstrip()}\n\n{text[at:]}"


class TwoViews(Projection):
    """An estimator of two views: y is the second, as in scikit-learn's cross decomposition.

    `fit_transform` returns the first view's projection, as a step of a Pipeline must.
    ``transform(X, y)`` returns both projections, and `predict` the second view. X may also be a
    list of all views, or a dict by name; ``transform(X)`` then projects all views. If the parameter
    `views` gives groups of columns, X is one array of all views.

    Parameters
    ----------
    views : sequence of column groups, or a dict of them by name, optional
        For each view a list of column numbers or names, or a slice: X then holds all views in one
        array, as in a Pipeline, and `transform` joins the components of all views.
    """

    views: Views | None = None

    def transform(self, X: Rows, y: PerRow = None) -> Rows:
        """Project the first view, or all views.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
            The first view, or a list or a dict of all views.
        y : array, memory map, sparse matrix or DataFrame (m, e), optional

        Returns
        -------
        ndarray (m, n_components)
            If several views are given, a tuple of their projections; if the parameter `views` is
            set, one array of the projections side by side.
        """
        check_is_fitted(self)
        if self.views is not None:
            views = self._grouped(self._known_objective(), X, reset=False)
            first = as_tuple(views)[0]
            return in_precision_of(first, np.hstack(as_tuple(self.result_.transform(views))))
        if not isinstance(self.components_, tuple):  # with one view `components_` is an array
            return super().transform(X)
        if y is None and _all_views(X):
            return in_precision_of(_apart(X)[0], self.result_.transform(X))
        first = X if is_dask(X) else self._samples(self._known_objective(), X, reset=False)
        if y is not None:
            found = self.result_.transform((first, *other_views(y)))
        else:
            found = _first_view(self.result_).transform(first)
        return found if is_dask(X) else in_precision_of(first, found)

    def _grouped(self, objective: Objective, X: Rows, **rows: Any) -> PerView:
        """Return the views in the columns of X, by name if `views` is a dict."""
        samples = self._samples(objective, X, **rows)
        if samples.stored:
            raise DataError("views= needs X in memory: give the views of stored data as X and y")
        groups = self._columns(samples.d, samples.feature_names or ())
        names = samples.feature_names
        found = {
            key: replace(
                samples,
                array=samples.array[:, group],
                name=f"X[views[{key!r}]]",
                feature_names=tuple(names[k] for k in group) if names else None,
            )
            for key, group in groups.items()
        }
        return found if isinstance(self.views, dict) else tuple(found.values())

    def _columns(self, d: int, names: Sequence[str]) -> dict[object, list[int]]:
        """Return the column indices of each group, for d columns with names."""
        if not isinstance(self.views, (list, tuple, dict)) or len(self.views) < 2:
            raise ArgumentError(
                "views must be two or more groups of columns, such as ([0, 1, 2], [3, 4]) or a "
                f"dict of groups by name, got {self.views!r}"
            )
        numbers = {name: k for k, name in enumerate(names)} | {k: k for k in range(d)}
        given = self.views if isinstance(self.views, dict) else dict(enumerate(self.views))
        groups: dict[object, list[int]] = {}
        for key, group in given.items():
            listed = range(d)[group] if isinstance(group, slice) else group
            try:
                groups[key] = [numbers[c] for c in listed]
            except (TypeError, KeyError) as error:
                raise ArgumentError(
                    f"views[{key!r}] = {group!r}: expected a slice, or a list of names or numbers "
                    f"of X's {d} columns"
                ) from error
            if not groups[key]:
                raise ArgumentError(f"views[{key!r}] = {group!r} selects no column of X")
        return groups

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.required and self.views is None
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.result_.r * (1 if self.views is None else len(self.components_))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Return the names of the components; they contain the names of the views, if any.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        if not isinstance(self.views, dict):
            return super().get_feature_names_out(input_features)
        check_is_fitted(self)
        return np.asarray(list(chain(*self.result_.columns)), dtype=object)

    def _given(
        self, objective: Objective, X: Rows, y: PerRow, background: Rows, **rows: Any
    ) -> XandY:
        if self.views is not None and objective.views == 1:
            raise ArgumentError(
                f"objective {objective.name!r} has one view, but views= is for objectives of "
                "several views: leave out views="
            )
        if self.views is not None:
            return self._grouped(objective, X, **{"minimum_rows": 2, **rows}), None
        names = None
        if objective.views > 1 and y is None and _all_views(X):
            names = tuple(X) if isinstance(X, dict) else None
            X, y = _apart(X)
        given, response = super()._given(objective, X, y, background, **rows)
        if rows["reset"]:  # y has been checked: it is no ragged list
            alone = y is not None and not are_views(y) and not is_annotated(y)
            self._flat = alone and (getattr(y, "ndim", None) or as_array(y).ndim) == 1
        return given if names is None else dict(zip(names, given, strict=True)), response

    def _predicted(self, X: Rows, question: str = "predict") -> Array:
        if self.views is not None:
            raise ArgumentError("predict does not support views=: fit with two arrays instead")
        found = super()._predicted(X, question)
        return found[:, 0] if isinstance(self.components_, tuple) and self._flat else found

    def inverse_transform(self, X: Rows, y: PerRow = None) -> Rows:
        """Return the samples nearest to the mean among all samples with the given projections.

        Parameters
        ----------
        X : array (m, n_components)
            Projections of the first view, or a list of the projections of all views.
        y : array (m, n_components), optional
            Projections of the second view, or a list of the projections of all views but the first.

        Returns
        -------
        ndarray (m, d)
            If several views are given, a tuple of arrays; if the parameter `views` is set, one
            array of all columns, with NaN in columns that belong to no view.
        """
        check_is_fitted(self)
        if not isinstance(self.components_, tuple):  # with one view `components_` is an array
            return super().inverse_transform(X)
        if self.views is not None:
            return self._ungrouped(X)
        if y is None and _all_views(X):
            X, y = _apart(X)
        return single(self._lifted((X, *y) if isinstance(y, (list, tuple)) else (X, y)))

    def _ungrouped(self, X: Rows) -> Array:
        """Map projections of all views side by side back to the columns of X."""
        coordinates = as_samples(X, "X", 1).dense()
        if coordinates.shape[1] != self._n_features_out:
            raise ArgumentError(
                f"X has {coordinates.shape[1]} columns, expected {self._n_features_out}"
            )
        found = np.full((len(coordinates), self.n_features_in_), np.nan)
        names = getattr(self, "feature_names_in_", ())
        groups = list(self._columns(self.n_features_in_, names).values())
        parts = self._lifted(np.split(coordinates, len(groups), axis=1))
        for group, part in zip(groups, parts, strict=True):
            found[:, group] = part
        return found

    def _lifted(self, given: Sequence[Rows]) -> tuple[Array, ...]:
        """Map the projections of the given views back to their columns."""
        scales = self.result_.scale or (None,) * len(self.components_)
        views = zip(given, self.result_.P, self.result_.mean, scales, strict=False)
        return tuple(self._lift(Y, *view) for Y, *view in views if Y is not None)


def _all_views(X: PerView) -> bool:
    """Return True for a list or a dict of two views or more."""
    return (isinstance(X, dict) or are_views(X)) and len(X) > 1


def _apart(X: PerView) -> tuple[Rows, PerRow]:
    """Return the first view and a list of the others, from a list or dict of all views."""
    first, *others = X.values() if isinstance(X, dict) else X
    return first, others


def _first_view(result: Result) -> Result:
    """Return the result of the first view of two."""
    return replace(
        result,
        P=result.P[0],
        mean=result.mean[0],
        features=None if result.features is None else result.features[0],
        feature_names=result.feature_names[0],
    )


# Inputs in addition to X and y, each accepted by some methods only.
_BESIDE = ("background", "sample_weight", "groups")


def taken_by(method: type[Objective]) -> tuple[str, ...]:
    """Return the arguments that a method's estimator accepts besides X and y.

    scikit-learn assumes that a weight repeats rows, and that weighted rows may be shuffled. Only
    `ldr.solve` and `Reducer` accept weights that do not repeat rows, and weights of time series.
    """
    background = ("background",) if Need.BACKGROUND in method.needs else ()
    if Need.TIME_ORDER in method.needs:
        return (*background, "groups")
    return (*background, "sample_weight") if method().traits.repeats else background


def taking(function: Callable[..., Any], method: type[Objective]) -> Callable[..., Any]:
    """Return a method of `Projection` without the arguments that an objective refuses."""
    name, signature = function.__name__, inspect.signature(function)
    refused = set(_BESIDE) - set(taken_by(method))
    kept = [each for each in signature.parameters.values() if each.name not in refused]
    signature = signature.replace(parameters=kept)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            for each in sorted(refused & kwargs.keys()):
                owner = type(args[0]).__name__ if args else "the estimator"
                _refuse(each, f"{owner}.{name}", method)
            raise TypeError(f"{name}: {error}") from None
        return function(*given.args, **given.kwargs)

    called.__doc__ = inspect.cleandoc(function.__doc__ or "")
    for each in refused:  # remove from the docstring the arguments that a method refuses
        entry = rf"^{each} : .*\n(?:    .*\n)+|^{each}, |, {each}$|(?<=, ){each}, "
        called.__doc__ = re.sub(entry, "", called.__doc__, flags=re.MULTILINE)
    called.__signature__ = signature  # type: ignore[attr-defined]
    return called


def _refuse(name: str, function: str, method: type[Objective]) -> None:
    """Refuse weights, trials or a background of a method without them, with the reason."""
    names = ", ".join(each for each, one in REGISTRY.items() if name in taken_by(one))
    if name == "background":
        raise ArgumentError(f"{function} takes no {name}=: only the estimators of {names} do")
    if name == "groups":
        why = "the method ignores the order of rows, and therefore trials"
    elif Need.TIME_ORDER in method.needs:
        why = "scikit-learn may shuffle weighted rows, but these rows are in the order of time"
    else:
        why = "a weight of scikit-learn repeats a row, but no row may be its own neighbour"
    raise ArgumentError(
        f"{function} takes no {name}=: {why}. Use ldr.solve({method.name!r}, X, {name}=) or "
        f"ldr.Reducer({method.name!r}). The estimators that take {name}= are those of {names}"
    )


class Named(Projection):
    """An estimator whose parameters are n_components, the objective's fields and OPTIONS."""

    _method: type[Objective]

    def _objective(self) -> Objective:
        of = fields(self._method)  # type: ignore[arg-type]
        return self._method(**{field.name: getattr(self, field.name) for field in of})

    def _known_objective(self) -> Objective:
        try:
            return self._objective()
        except ArgumentError:  # `fit` will report any invalid parameter
            return self._method()
