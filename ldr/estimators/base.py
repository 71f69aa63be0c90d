"""The base class of the estimators: parameters, validation, fit, transform, partial_fit."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from ldr.cross_validation import score
from ldr.errors import in_words
from ldr.inputs import aligned, check_observers, check_r, is_asked, opened
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
from ldr.objectives.data.stored import AccumulatedSamples
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import OF_Y, Need
from ldr.objectives.prediction import ClassPredictor, LinearPredictor
from ldr.objectives.statistics.scatters import Variation
from ldr.observers import Log, Progress
from ldr.projecting import predicted, views_of
from ldr.result import Result
from ldr.rotation import ROTATIONS
from ldr.solvers.checks import choice, flag
from ldr.solvers.errors import ArgumentError, DataError, SingularError, warn
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.trial_layout import Trials, as_trials
from ldr.types import Argument, Dimension, Labels, PerRow, PerView, Rows, Start, XandY

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

# Decorators of methods that depend on the objective: rows can be added in blocks if it needs only
# sums, and a matrix of distances has no inverse map and no score.
from_sums = available_if(lambda made: made._known_objective().traits.from_sums)
of_points = available_if(lambda made: Need.DISTANCES not in made._known_objective().needs)
predicts = available_if(lambda made: bool(made._known_objective().traits.predicts))


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the estimators, which project samples X to n_components dimensions.

    A subclass has as parameters `n_components`, the fields of the objective's class `_method` and
    the names in OPTIONS.

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
    components_: PerView
    _totals: tuple[dict[bytes, Any], ...]
    _method: type[Objective]

    def _objective(self) -> Objective:
        """The objective with its parameters."""
        of = fields(self._method)  # type: ignore[arg-type]
        return self._method(**{field.name: getattr(self, field.name) for field in of})

    def _known_objective(self) -> Objective:
        """An objective with the same views and needs, also if parameters are invalid."""
        try:
            return self._objective()
        except ArgumentError:  # `fit` will report any invalid parameter
            return self._method()

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
        samples, y = self._given(objective, X, y, background, reset=True, minimum_rows=2)
        for name in ("n_samples_seen_", "_totals", "_classes"):  # `fit` discards earlier samples
            self.__dict__.pop(name, None)
        beside = paired(X, sample_weight=sample_weight, groups=groups)
        return self._solve(objective, samples, y, **beside)

    @from_sums
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
        samples, y = self._given(objective, X, y, background, reset=not begun)
        if Need.RESPONSE in objective.needs and is_text(y):
            raise DataError(
                "y holds labels as text, which partial_fit does not take as a response: use fit, "
                "or code each class as a column of zeros and ones"
            )
        blocks, n = as_tuple(samples), as_tuple(samples)[0].n
        if objective.views > 1 and any(block.n != n for block in blocks):
            counts = " and ".join(str(block.n) for block in blocks)
            raise DataError(f"the views have {counts} rows, expected the same number")
        if any(block.has_nan for block in blocks):
            raise DataError("X has missing values (NaN), which partial_fit does not take: use fit")
        before = self._totals if begun else ({},) * len(blocks)
        rows = (block.in_memory() for block in blocks)
        views = tuple(map(AccumulatedSamples.of, rows, before))
        known = None
        if Need.LABELS in objective.needs:
            known = self._known_classes(y, n, classes)
            y = CodedLabels.of(y, n, known)
        beside = paired(X, sample_weight=sample_weight, groups=groups)
        self._solve(objective, single(views), y, **beside)
        self._totals, self._classes = tuple(view.totals for view in views), known
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + n
        return self

    def _known_classes(self, y: PerRow, n: int, classes: Labels) -> np.ndarray:
        """Return all labels, which the first call determines."""
        known = getattr(self, "_classes", None)
        if classes is None:
            return as_labels(y, n)[1] if known is None else known
        given = distinct(as_array(classes, "classes"), "classes")[0]
        if len(given) == 0:
            raise DataError("classes is empty, expected all labels, or None")
        if known is not None and not np.array_equal(given, known):
            raise DataError(f"classes = {given} differ from the classes of the first call, {known}")
        return given

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
            return self._projected(X)
        samples = self._samples(self._known_objective(), X, reset=False)
        return in_library_of(X, in_precision_of(samples, self._projected(samples)))

    def _projected(self, X: Rows) -> Rows:
        return self.result_.transform(X)

    @of_points
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
        return self._lifted([X])[0]

    def _lifted(self, given: Sequence[Rows]) -> tuple[Array, ...]:
        """Return the samples nearest to the mean with the given projections of the first views."""
        result = self.result_
        if any(as_tuple(result.features)):
            raise ArgumentError("the feature map before the projection has no inverse")
        scales = (1.0,) * len(given) if result.scale is None else as_tuple(result.scale)
        maps = zip(as_tuple(result.P), as_tuple(result.mean), scales, strict=False)
        return tuple(_nearest(Y, *each) for Y, each in zip(given, maps, strict=False))

    @predicts
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

    @of_points
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
        data, y = self._given(objective, X, y, background, reset=False)
        beside = paired(X, sample_weight=sample_weight, groups=groups)
        return score(self.result_, data, y, **beside)

    def _given(
        self, objective: Objective, X: Rows, y: PerRow, background: Rows, **rows: Any
    ) -> XandY:
        """Return X, or a pair, and y in the form for `ldr.solve`; for **rows see `_samples`."""
        y = None if y is None else paired(X, y=y)["y"]
        if isinstance(self, ClassifierMixin) and getattr(y, "ndim", 1) == 2:
            y = column_or_1d(y, warn=True)
        samples: Rows = self._samples(objective, X, **rows)
        if y is None and self.__sklearn_tags__().target_tags.required:
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
        if Need.RESPONSE in objective.needs and as_array(y).dtype.kind == "O":
            with suppress(TypeError, ValueError):  # text remains, and is read as labels
                y = as_array(y).astype(np.float64)
        return samples, y

    @in_words
    def _samples(
        self, objective: Objective, X: Rows, *, reset: bool, minimum_rows: int = 1
    ) -> Samples:
        """X validated by scikit-learn's rules, with the names of its columns."""
        if type(X) is not np.ndarray and is_dask(X):  # scikit-learn would load a whole Dask array
            samples = as_samples(X, "X", minimum_rows, allow_nan=objective.traits.missing)
            if reset:
                self.n_features_in_ = samples.d
                self.__dict__.pop("feature_names_in_", None)
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
        tags.target_tags.required = objective.views > 1 or not OF_Y.isdisjoint(objective.needs)
        tags.target_tags.two_d_labels = objective.views > 1
        tags.input_tags.pairwise = tags.input_tags.positive_only = Need.DISTANCES in objective.needs
        tags.input_tags.allow_nan = objective.traits.missing
        tags.input_tags.sparse = objective.traits.sparse
        return tags

    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> Self:
        """Fit the projection and set the fitted attributes."""
        r, verbose = self.n_components, self.verbose
        options = {name: getattr(self, name) for name in _PASSED}
        if isinstance(options["random_state"], np.random.RandomState):  # NumPy's legacy generator
            options["random_state"] = int(options["random_state"].randint(np.iinfo(np.int32).max))
        # scikit-learn accepts integers for verbose; ldr requires True or False.
        followed = flag("verbose", bool(verbose) if type(verbose) is int else verbose)
        if self.rotation is not None:
            choice("rotation", self.rotation, tuple(ROTATIONS))
        try:
            data = opened(objective, samples, y, **beside)
            if r is None:
                r = self._most(objective, data, objective.largest_r(data))
            elif not is_asked("n_components", r):
                r = check_r(r, objective, data, "n_components")
            if flag("warm_start", self.warm_start) and hasattr(self, "result_"):
                options["start"] = self._last(data)
            with self._follower() if followed else nullcontext() as follower:
                if follower is not None:
                    check_observers(options["observers"])
                    options["observers"] = [*options["observers"], follower]
                result = solve(objective, data, r, **options)
            self.result_ = result.rotate(self.rotation) if self.rotation else result
            for name in self.__dict__.pop("_names", ()):  # attributes of an earlier fit
                self.__dict__.pop(name, None)
        except (ArgumentError, DataError, SingularError) as error:  # add X's shape to the message
            shape = f"n_samples = {as_tuple(samples)[0].n}, n_features = {self.n_features_in_}"
            raise type(error)(f"{error} ({shape})") from error
        first = as_tuple(samples)[0]
        self._set(first, self._attributes())
        return self

    def _set(self, rows: Samples, found: dict[str, Argument]) -> None:
        """Set attributes, except those that are None, in the precision of the rows."""
        kept = {
            name: value if name == "classes_" else in_precision_of(rows, value)
            for name, value in found.items()
            if value is not None
        }
        self.__dict__.update(kept)
        self._names = [*getattr(self, "_names", ()), *kept]

    def _follower(self) -> Progress | Log:
        """Return `Progress` on a terminal; elsewhere `Log`, with a line for each iteration."""
        return Progress() if sys.stderr.isatty() and find_spec("rich") else Log(type(self).__name__)

    def _last(self, data: Data) -> Start:
        """The solution of the previous fit, where a warm start begins."""
        d, before = data.samples.d, len(as_tuple(self.result_.M)[0])
        if self.result_.features is None and d != before:
            raise ArgumentError(
                f"The new inputs dimensionality ({d}) does not match the input dimensionality of "
                f"the previously learned transformation ({before}). Fit a clone, or give "
                "warm_start=False"
            )
        return self.result_.M

    def _most(self, objective: Objective, data: Data, most: int) -> int:
        """Number of components for n_components=None: the dimension of the data's variation."""
        return min(objective.bind(data, 1).manifold.factors[0].shape[0], most)

    def _predicted(self, X: Rows, question: str = "predict") -> Array:
        check_is_fitted(self)
        samples = self._samples(self._known_objective(), X, reset=False)
        found = predicted(self.result_, samples, 0, question)
        classes = question == "predict" and isinstance(self.result_.predictors[0], ClassPredictor)
        return found if classes else in_precision_of(samples, found)

    @property
    def _variation(self) -> Variation:
        """Covariances of the components of a single view, whose samples can be read again."""
        (seen,) = self.result_.directions.variations
        assert seen is not None
        return seen

    def _attributes(self) -> dict[str, Argument]:
        """Return the fitted attributes with scikit-learn's names.

        Variances are over n - 1, as in scikit-learn's PCA, and only for orthonormal maps.
        """
        result = self.result_
        found = {"components_": result.P, "mean_": result.mean, "n_components_": result.r}
        found["n_iter_"] = result.run.iterations
        seen = result.directions.variations
        if len(seen) == 1 and seen[0] is not None and result.directions.orthonormal:
            variances, n = seen[0].variances, seen[0].n
            found["explained_variance_"] = variances * (n / max(n - 1, 1))
            found["explained_variance_ratio_"] = seen[0].shares
            found["singular_values_"] = np.sqrt(n * variances)
        for name in {"noise_variance", "noise_variances"} & result.parameters.keys():
            found["noise_variance_"] = result.parameters[name]
        if result.predictors and isinstance(first := result.predictors[0], LinearPredictor):
            # PLS predicts the response, or the second view if there is no response.
            coefficients = first.B.T @ first.P
            offsets = first.mean - coefficients @ as_tuple(result.mean)[0]
            found["coef_"] = coefficients[0] if first.flat else coefficients
            found["intercept_"] = float(offsets[0]) if first.flat else offsets
        return found

    @property
    def _n_features_out(self) -> int:
        return self.result_.r


def _nearest(Y: Rows, P: Array, mean: Array, scale: Array | float) -> Array:
    """Return the rows nearest to the mean with projections Y, for columns in units of `scale`."""
    given, P = as_samples(Y, "X", 1), P * scale
    if given.d != len(P):
        raise ArgumentError(f"X has {given.d} columns, expected n_components = {len(P)}")
    with np.errstate(over="ignore"):
        orthonormal = np.allclose(P @ P.T, np.eye(len(P)), rtol=0, atol=1e-12)
    back = P if orthonormal else np.linalg.pinv(P).T
    return in_precision_of(given, given.dense() @ back * scale + mean)


def are_views(y: PerRow) -> bool:
    """Return True if y is a list of matrices."""
    listed = isinstance(y, (list, tuple)) and len(y) > 0
    return listed and all(getattr(view, "ndim", 0) == 2 for view in y)


def paired(X: Rows, **beside: PerRow) -> dict[str, PerRow]:
    """Return y (or each view in y), weights and groups in the order of the index of X."""
    first = (*_apart(X), X)[0]
    return {
        name: [aligned(first, view, f"{name}[{i}]", "X") for i, view in enumerate(given)]
        if are_views(given)
        else aligned(first, given, name, "X")
        for name, given in beside.items()
    }


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
        given, accept_sparse="csr", ensure_2d=False, ensure_all_finite=False, input_name=name
    )
    return as_samples(array[:, None] if array.ndim == 1 else array, name, 1)


def in_precision_of(rows: Rows, found: PerView) -> PerView:
    """Convert arrays computed in float64 to float32 if the rows are float32."""
    if getattr(getattr(rows, "array", rows), "dtype", None) != np.float32:
        return found
    if isinstance(found, tuple):
        return tuple(in_precision_of(rows, one) for one in found)
    return found.astype(np.float32) if getattr(found, "dtype", None) == np.float64 else found


def loadings_of(result: Result) -> list[Array | None]:
    """Return the coefficients (d, r) of components in the columns of each view."""
    seen = result.directions.variations
    scales = (1.0,) * len(seen) if result.scale is None else as_tuple(result.scale)
    return [
        None if one is None else (one.loadings.T * scale).T
        for one, scale in zip(seen, scales, strict=True)
    ]


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

    Attributes
    ----------
    x_weights_, y_weights_, x_loadings_, y_loadings_ : ndarray (n_features, n_components)
        For two views: weights are the coefficients of features in components, loadings are the
        coefficients of components in features.
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
        if not isinstance(self.components_, tuple):  # with one view `components_` is an array
            return super().transform(X)
        objective, result, first = self._known_objective(), self.result_, X
        if self.views is not None:
            views = self._grouped(objective, X, reset=False)
            return in_precision_of(as_tuple(views)[0], np.hstack(as_tuple(result.transform(views))))
        if y is None and (views := _apart(X)):
            return in_precision_of(views[0], result.transform(X))
        if not is_dask(X):
            first = self._samples(objective, X, reset=False)
        if y is None:
            return in_precision_of(first, _first_view(result).transform(first))
        others = other_views(paired(X, y=y)["y"])
        return in_precision_of(first, result.transform((first, *others)))

    def _attributes(self) -> dict[str, Argument]:
        found, result = super()._attributes(), self.result_
        if isinstance(result.P, tuple) and len(result.P) == 2:  # scikit-learn has two views only
            for view, P, loading in zip("xy", result.P, loadings_of(result), strict=True):
                found[f"{view}_weights_"] = found[f"{view}_rotations_"] = P.T
                found[f"{view}_loadings_"] = loading
        return found

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
            return self._grouped(objective, X, **rows), None
        names: tuple[object, ...] = ()
        if objective.views > 1 and y is None and (views := _apart(X)):
            names = tuple(X) if isinstance(X, dict) else ()
            X, y = views[0], views[1:]
        given, response = super()._given(objective, X, y, background, **rows)
        if rows["reset"]:  # y has been checked: it is no ragged list
            alone = not (y is None or are_views(y) or is_annotated(y))
            self._flat = alone and (getattr(y, "ndim", None) or as_array(y).ndim) == 1
        return dict(zip(names, given, strict=True)) if names else given, response

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
        if y is None and _apart(X):
            return self._lifted(views_of(X, len(self.components_), self.result_.view_names))
        others = y if isinstance(y, (list, tuple)) else () if y is None else (y,)
        return single(self._lifted([X, *others]))

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


def _apart(X: PerView) -> tuple[Rows, ...]:
    """Return the views in a list or a dict of two or more; otherwise an empty tuple."""
    views = tuple(X.values() if isinstance(X, dict) else X if are_views(X) else ())
    return views if len(views) > 1 else ()


def _first_view(result: Result) -> Result:
    """Return the result of the first view of two."""
    return replace(
        result,
        P=result.P[0],
        mean=result.mean[0],
        features=None if result.features is None else result.features[0],
        feature_names=result.feature_names[0],
    )
