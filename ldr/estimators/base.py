"""What all estimators share: the methods of `Result` under scikit-learn's names and rules."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ldr.inputs import as_data
from ldr.io.alignment import aligned
from ldr.objectives.data.labels import CodedLabels, as_array, as_labels, distinct
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.partial_sums import AccumulatedSamples, Totals
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.stored import brought, is_dask
from ldr.objectives.objective import Objective
from ldr.result import Result, as_tuple
from ldr.scoring import score
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array
from ldr.solvers.warn import warn
from ldr.solving import solve

# What every estimator passes on to `ldr.solve`, with its default value.
OPTIONS: dict[str, Any] = {
    "solver": "auto",
    "start": "baseline",
    "starts": None,
    "tolerance": 1e-10,
    "max_iterations": None,
    "certify": True,
    "random_state": None,
    "device": "cpu",
}


def _of_points(estimator: Projection) -> bool:
    """Whether X holds points: distances to the n rows have no inverse, and no score elsewhere."""
    return "distances" not in estimator._traits().needs


def _from_sums(estimator: Projection) -> bool:
    """Whether blocks of rows can be added one at a time."""
    try:
        return estimator._objective().from_sums
    except ArgumentError:  # a parameter that `fit` will refuse
        return False


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.
    """

    n_components: int
    result_: Result
    components_: Any
    mean_: Any
    n_features_in_: int
    feature_names_in_: Any
    n_samples_seen_: int
    _totals: tuple[Totals, ...]
    _classes: Any

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective with its parameters.

        Raises
        ------
        ldr.errors.ArgumentError
            A parameter is out of range.
        """

    @abstractmethod
    def _traits(self) -> Objective:
        """Something with the objective's views and needs, whatever the parameters are."""

    def fit(self, X: Any, y: Any = None) -> Projection:
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

    @available_if(_from_sums)
    def partial_fit(self, X: Any, y: Any = None, *, classes: Any = None) -> Projection:
        """Add a block of rows to those seen so far, and find the projection for all of them.

        For methods that know the data by sums over rows. The rows are not kept; the sums are, with
        d x d numbers or a few times that. Each call solves once more, on top of one pass over the
        block, so that blocks of many rows are the better ones. `fit`
        forgets what was seen, and keeps no sums itself: after it, partial_fit begins anew.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (m, d)
            Any number of rows; the first block must be enough for a solution. Blocks of time series
            come in the order of time.
        y : array (m,), or the second view (m, e)
            As in `fit`.
        classes : array (c,), optional
            All the labels there are, for the first call; by default those of the first block.

        Returns
        -------
        self
            Where a block is refused, as it was before. `n_samples_seen_` counts the rows.
        """
        return self._add(X, y, classes)

    def transform(self, X: Any) -> Any:
        """Project rows: Y = (X - mean_) components_'.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)

        Returns
        -------
        ndarray (m, n_components), or what `set_output` asks for
        """
        return self._project(X)

    @available_if(_of_points)
    def inverse_transform(self, X: Any) -> Array:
        """The rows nearest to the mean whose projection is X: mean_ + X pinv(components_)'.

        With orthonormal components it is mean_ + X components_.

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
        return self._lift(X, self.components_, self.mean_)

    @available_if(_of_points)
    def score(self, X: Any, y: Any = None) -> float:
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

    def _fit(self, X: Any, y: Any, background: Any = None) -> Projection:
        objective = self._objective()
        samples, y = self._given(X, y, background, objective, reset=True)
        self._forget()
        self._solve(objective, samples, y)
        return self

    def _forget(self) -> None:
        """Leave what `partial_fit` has seen."""
        for name in ("n_samples_seen_", "_totals", "_classes"):
            self.__dict__.pop(name, None)

    def _add(self, X: Any, y: Any, classes: Any, background: Any = None) -> Projection:
        objective = self._objective()
        begun = hasattr(self, "_totals")
        if not begun and hasattr(self, "result_"):
            warn("partial_fit begins anew: fit keeps no sums to add to", UserWarning)
        samples, y = self._given(X, y, background, objective, not begun, minimum_rows=1)
        blocks = as_tuple(samples)
        if any(block.has_nan for block in blocks):
            raise DataError("X has missing values (NaN), which need all rows at once: use fit")
        before = self._totals if begun else ({},) * len(blocks)
        views = tuple(
            AccumulatedSamples.of(block.in_memory(), sums)
            for block, sums in zip(blocks, before, strict=True)
        )
        known = None
        if "labels" in objective.needs:
            known = self._known_classes(y, blocks[0].n, classes)
            y = CodedLabels.of(y, blocks[0].n, known)
        self._solve(objective, views if len(views) > 1 else views[0], y)
        self._totals, self._classes = tuple(view.totals for view in views), known
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + blocks[0].n
        return self

    def _known_classes(self, y: Any, n: int, classes: Any) -> Any:
        """The labels of the first call."""
        given = None if classes is None else distinct(as_array(classes, "classes"), "classes")[0]
        known = getattr(self, "_classes", None)
        if known is None:
            return as_labels(y, n, smallest_class=1)[1] if given is None else given
        if given is not None and not np.array_equal(given, known):
            raise DataError(f"classes = {given} are others than those of the first call, {known}")
        return known

    def _solve(self, objective: Objective, samples: Any, y: Any) -> None:
        """Find the projection and set what is fitted."""
        r = whole("n_components", self.n_components, 1)
        options = {name: getattr(self, name) for name in OPTIONS}
        options["random_state"] = _generator(options["random_state"])
        try:
            most = objective.largest_r(as_data(objective, samples, y))
            if r > most:
                raise ArgumentError(
                    f"n_components = {r} is out of range: expected 1 <= n_components <= {most}"
                )
            self.result_ = solve(objective, samples, r, y=y, **options)
        except (ArgumentError, DataError, SingularError) as error:  # in a pipeline, say of what
            shape = f"n_samples = {as_tuple(samples)[0].n}, n_features = {self.n_features_in_}"
            raise type(error)(f"{error} ({shape})") from error
        self.components_ = self.result_.P
        self.mean_ = self.result_.mean

    def _given(
        self,
        X: Any,
        y: Any,
        background: Any,
        objective: Any,
        reset: bool,
        minimum_rows: int = 2,
    ) -> Any:
        """The data as `ldr.solve` takes them: X, or a pair, and y."""
        y = aligned(X, y, "y", "X")
        samples: Any = self._samples(X, reset=reset, minimum_rows=minimum_rows)
        if self._requires_y() and y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if objective.views > 1:
            return (samples, _other(y, "y")), None
        if "background" in objective.needs:
            if background is None:
                raise DataError(f"{type(self).__name__} needs background=, samples to compare with")
            return (samples, _other(background, "background")), None
        y = brought(y)
        return samples, _numbers(y) if "response" in objective.needs else y

    def _samples(self, X: Any, *, reset: bool, minimum_rows: int = 1) -> Samples:
        """X checked by scikit-learn's rules, with the names of its columns."""
        if is_dask(X):
            return self._lazy_samples(X, reset, minimum_rows)
        array = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_min_samples=minimum_rows,
            ensure_all_finite="allow-nan" if self._allows_nan() else True,
            ensure_non_negative="distances" in self._traits().needs,
        )
        names = getattr(self, "feature_names_in_", None)
        samples = as_samples(array, "X", minimum_rows, allow_nan=self._allows_nan())
        return samples if names is None else replace(samples, feature_names=tuple(names))

    def _lazy_samples(self, X: Any, reset: bool, minimum_rows: int) -> Samples:
        """Dask's rows, which scikit-learn would bring into memory to check them."""
        samples = as_samples(X, "X", minimum_rows, allow_nan=self._allows_nan())
        if reset:
            self.n_features_in_ = samples.d
            if samples.feature_names:
                self.feature_names_in_ = np.array(samples.feature_names, dtype=object)
        elif samples.d != self.n_features_in_:
            raise DataError(f"X has {samples.d} features, expected {self.n_features_in_}")
        return samples

    def _project(self, X: Any, y: Any = None) -> Any:
        check_is_fitted(self)
        samples = X if is_dask(X) else self._samples(X, reset=False)
        if not isinstance(self.components_, tuple):
            return self.result_.transform(samples)
        if y is not None:
            return self.result_.transform((samples, _other(y, "y")))
        return _first_view(self.result_).transform(samples)

    def _lift(self, Y: Any, P: Array, mean: Array) -> Array:
        features = self.result_.features
        if any(features) if isinstance(features, tuple) else features is not None:
            raise ArgumentError("there is no inverse of the feature map before the projection")
        given = as_samples(Y, "X", 1)
        if given.d != len(P):
            raise ArgumentError(f"X has {given.d} columns, expected n_components = {len(P)}")
        orthonormal = np.allclose(P @ P.T, np.eye(len(P)), rtol=0, atol=1e-12)
        back = P if orthonormal else np.linalg.pinv(P).T
        return np.asarray(given.dense() @ back + mean)

    def _score(self, X: Any, y: Any, background: Any = None) -> float:
        check_is_fitted(self)
        data, y = self._given(X, y, background, self._objective(), reset=False)
        return score(self.result_, data, y)

    def _requires_y(self) -> bool:
        traits = self._traits()
        graph = getattr(self, "graph", getattr(traits, "graph", None))
        by_class = isinstance(graph, str) and "class" in graph
        return by_class or traits.views > 1 or bool({"labels", "response"} & set(traits.needs))

    def _allows_nan(self) -> bool:
        """Whether NaN is a missing value."""
        return self._traits().missing

    @property
    def _n_features_out(self) -> int:
        return self.result_.r

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        traits = self._traits()
        tags.target_tags.required = self._requires_y()
        tags.target_tags.two_d_labels = traits.views > 1
        tags.input_tags.pairwise = tags.input_tags.positive_only = "distances" in traits.needs
        tags.input_tags.allow_nan = self._allows_nan()
        tags.input_tags.sparse = traits.sparse
        return tags


class TwoViews(Projection):
    """An estimator of two views: y is the second, as in scikit-learn's cross decomposition.

    `fit_transform`, as in a step of a Pipeline, gives the first view's projection;
    ``transform(X, y)`` gives both.
    """

    def fit(self, X: Any, y: Any = None) -> Projection:
        """Find the projections of both views.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (n, d)
            The first view.
        y : array, memory map, sparse matrix or DataFrame (n, e) or (n,)
            The second view of the same rows.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def transform(self, X: Any, y: Any = None) -> Any:
        """Project the first view, or both.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
        y : array, memory map, sparse matrix or DataFrame (m, e), optional

        Returns
        -------
        ndarray (m, n_components), or a pair of them where y is given
        """
        return self._project(X, y)

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Back from projected rows, of the first view or of both; see `Projection`.

        Parameters
        ----------
        X : array (m, n_components)
        y : array (m, n_components), optional

        Returns
        -------
        ndarray (m, d), or a pair (m, d) and (m, e)
        """
        check_is_fitted(self)
        parts = tuple(
            self._lift(given, P, mean)
            for given, P, mean in zip((X, y), self.components_, self.mean_, strict=True)
            if given is not None
        )
        return parts if len(parts) > 1 else parts[0]


class WithBackground(Projection):
    """An estimator that compares X with a background: noise, or what is to be ignored."""

    def fit(self, X: Any, y: Any = None, *, background: Any = None) -> Projection:
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

    @available_if(_from_sums)
    def partial_fit(
        self, X: Any, y: Any = None, *, classes: Any = None, background: Any = None
    ) -> Projection:
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

    @available_if(_of_points)
    def score(self, X: Any, y: Any = None, *, background: Any = None) -> float:
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


def _other(given: Any, name: str) -> Samples:
    """A second view or a background, by the rules for X; a single column may come as (n,)."""
    if type(given).__name__ == "LazyFrame" or hasattr(given, "columns") or is_dask(given):
        return as_samples(given, name, 1)
    array = check_array(
        given, accept_sparse="csr", ensure_2d=False, dtype="numeric", input_name=name
    )
    return as_samples(array[:, None] if array.ndim == 1 else array, name, 1)


def _numbers(y: Any) -> Any:
    """A response of Python objects as numbers, where they are numbers."""
    array = as_array(y)
    if array.dtype.kind != "O":
        return y
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return y


def _first_view(result: Result) -> Result:
    """A result of two views as one of the first."""
    return replace(
        result,
        P=result.P[0],
        mean=result.mean[0],
        features=None if result.features is None else result.features[0],
        feature_names=result.feature_names[0],
    )


def _generator(random_state: Any) -> Any:
    """scikit-learn's RandomState as a seed; the rest is what `ldr.solve` takes."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    return random_state
