"""The base class of the estimators: parameters, validation, fit, transform, partial_fit."""

from __future__ import annotations

import inspect
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ldr.cross_validation import score
from ldr.dimension_rule import check_asked, is_open
from ldr.inputs import as_data, of_list
from ldr.io.chunks import aligned
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import CodedLabels, Marks, as_array, as_labels, distinct
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.stored import AccumulatedSamples, Totals, brought, is_dask
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import OF_Y, Need
from ldr.objectives.prediction import LinearPredictor
from ldr.objectives.registry import REGISTRY
from ldr.observers import Progress
from ldr.projecting import predicted
from ldr.result import Result
from ldr.rotation import ROTATIONS
from ldr.solvers.checks import choice, flag, whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError, warn
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Solver
from ldr.solving import solve
from ldr.types import Argument, Dimension, Labels, PerRow, PerView, Rows, Start, XandY
from ldr.validation import in_words

if TYPE_CHECKING:
    from sklearn.utils import Tags


Initialises = TypeVar("Initialises", bound=Callable[..., None])


class Options(TypedDict, total=False):
    """What every estimator passes on to `ldr.solve`.

    `verbose` is the observer that follows the run on the terminal, `rotation` what is done to the
    result.
    """

    standardise: bool
    solver: str | Solver
    start: Start
    starts: int | None
    workers: int
    tolerance: float
    max_iterations: int | None
    time_limit: float | None
    certify: bool | str
    random_state: int | np.random.Generator | np.random.RandomState | None
    device: str
    verbose: bool
    rotation: str | None


_HINT = (
    "; parameters of an objective go into the objective itself, as in "
    "ldr.Reducer(ldr.objectives.MAF(lag=2))"
)

# Their default values.
OPTIONS = {
    **{
        name: each.default
        for name, each in inspect.signature(solve).parameters.items()
        if name in Options.__annotations__
    },
    "verbose": False,
    "rotation": None,
}


def with_options(own: Iterable[inspect.Parameter]) -> inspect.Signature:
    """Parameters, and OPTIONS behind them but for names that they have."""
    known = {each.name: each for each in own if each.kind is not each.VAR_KEYWORD}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in OPTIONS.items()
        if name not in known
    ]
    return inspect.Signature([*known.values(), *options])


def initialiser(signature: inspect.Signature, name: str, hint: str = "") -> Callable[..., None]:
    """The `__init__` that keeps its arguments, as scikit-learn wants it; others it refuses."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        for unknown in kwargs.keys() - signature.parameters.keys():
            raise ArgumentError(
                f"{name} has no parameter {unknown!r}; it has: "
                f"{', '.join([*signature.parameters][1:])}{hint}"
            )
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        given.apply_defaults()
        for parameter, value in list(given.arguments.items())[1:]:
            setattr(self, parameter, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{name}.__init__"
    return __init__


def keeping(given: Initialises) -> Initialises:
    """An `__init__` whose parameters stand written, with OPTIONS in the place of **options."""
    signature = with_options(inspect.signature(given).parameters.values())
    return initialiser(signature, given.__qualname__.partition(".")[0], _HINT)  # type: ignore[return-value]


class Given(BaseEstimator):
    """An estimator of an objective, which knows from it what data it takes."""

    n_features_in_: int
    feature_names_in_: np.ndarray

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective with its parameters.

        - raises ldr.errors.ArgumentError: A parameter is out of range.
        """

    @abstractmethod
    def _traits(self) -> Objective:
        """Something with the objective's views and needs, whatever the parameters are."""

    def _given(
        self,
        X: Rows,
        y: PerRow,
        background: Rows,
        objective: Objective,
        reset: bool,
        minimum_rows: int = 2,
    ) -> XandY:
        """The data as `ldr.solve` takes them: X, or a pair, and y."""
        y = aligned(X, y, "y", "X")
        samples: Rows = self._samples(X, reset=reset, minimum_rows=minimum_rows)
        if self._requires_y() and y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if objective.views > 1:
            return (samples, *other_views(y)), None
        if Need.BACKGROUND in objective.needs:
            if background is None:
                raise DataError(f"{type(self).__name__} needs background=, samples to compare with")
            return (samples, other_rows(background, "background")), None
        y = brought(y)
        return samples, _numbers(y) if Need.RESPONSE in objective.needs else y

    @in_words
    def _samples(self, X: Rows, *, reset: bool, minimum_rows: int = 1) -> Samples:
        """X checked by scikit-learn's rules, with the names of its columns."""
        if is_dask(X):
            return self._lazy_samples(X, reset, minimum_rows)
        traits, trials = self._traits(), None
        distances = Need.DISTANCES in traits.needs
        if Need.TIME_ORDER in traits.needs:
            X, trials = of_list(X)
        array = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_min_samples=minimum_rows,
            ensure_all_finite=distances,  # of others as_samples says where, and who takes gaps
            ensure_non_negative=distances,
        )
        names = getattr(self, "feature_names_in_", None)
        samples = as_samples(array, "X", minimum_rows, allow_nan=traits.missing)
        if trials is not None:
            later = getattr(self, "n_samples_seen_", 0)  # trials of another block are other ones
            samples = replace(samples, marks=Marks(trials=trials + later))
        return samples if names is None else replace(samples, feature_names=tuple(names))

    def _lazy_samples(self, X: Rows, reset: bool, minimum_rows: int) -> Samples:
        """Dask's rows, which scikit-learn would bring into memory to check them."""
        samples = as_samples(X, "X", minimum_rows, allow_nan=self._traits().missing)
        if reset:
            self.n_features_in_ = samples.d
            if samples.feature_names:
                self.feature_names_in_ = np.array(samples.feature_names, dtype=object)
        elif samples.d != self.n_features_in_:
            raise DataError(f"X has {samples.d} features, expected {self.n_features_in_}")
        return samples

    def _requires_y(self) -> bool:
        traits = self._traits()
        return traits.views > 1 or not OF_Y.isdisjoint(traits.needs)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        traits = self._traits()
        tags.target_tags.required = self._requires_y()
        tags.target_tags.two_d_labels = traits.views > 1
        tags.input_tags.pairwise = tags.input_tags.positive_only = Need.DISTANCES in traits.needs
        tags.input_tags.allow_nan = traits.missing
        tags.input_tags.sparse = traits.sparse
        return tags


def are_views(y: PerRow) -> bool:
    """Whether y is a list of matrices."""
    listed = isinstance(y, (list, tuple)) and len(y) > 0
    return listed and all(getattr(view, "ndim", 0) == 2 for view in y)


def other_views(y: PerRow) -> tuple[Samples, ...]:
    """The views beside the first: y, or where it is a list of matrices each of them."""
    if are_views(y):
        return tuple(other_rows(view, f"y[{i}]") for i, view in enumerate(y))
    return (other_rows(y, "y"),)


@in_words
def other_rows(given: Rows, name: str) -> Samples:
    """A second view or a background, by the rules for X; a single column may come as (n,)."""
    if type(given).__name__ == "LazyFrame" or hasattr(given, "columns") or is_dask(given):
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


def _numbers(y: PerRow) -> PerRow:
    """A response of Python objects as numbers, where they are numbers."""
    array = as_array(y)
    if array.dtype.kind != "O":
        return y
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return y


# Loadings of the response below this share of the largest are rounding.
_NOTHING = 1e-13


def named(result: Result) -> dict[str, float | Array]:
    """Attributes by scikit-learn's names, those that have a meaning here.

    Variances are over n - 1, as scikit-learn's PCA has them, those of orthonormal maps alone.
    Weights are those of the columns in a coordinate, (X - mean) weights; loadings those of the
    coordinates in a column, by least squares.
    """
    seen = result.directions.variations
    found: dict[str, float | Array | None] = {}
    if len(seen) == 1 and seen[0] is not None and result.directions.orthonormal:
        variances, n = seen[0].variances, seen[0].n
        found["explained_variance_"] = variances * (n / max(n - 1, 1))
        if seen[0].shares is not None:
            found["explained_variance_ratio_"] = seen[0].shares
        found["singular_values_"] = np.sqrt(n * variances)
    for name in ("noise_variance", "noise_variances"):
        if name in result.parameters:
            found["noise_variance_"] = result.parameters[name]
    scales = (1.0,) * len(seen) if result.scale is None else as_tuple(result.scale)
    loadings = [
        None if one is None else (one.loadings.T * scale).T
        for one, scale in zip(seen, scales, strict=True)
    ]
    if result.objective.latent:
        (predictor,) = result.predictors
        assert isinstance(predictor, LinearPredictor)
        found["x_rotations_"], found["x_loadings_"] = result.P.T, loadings[0]
        found["y_rotations_"] = np.asarray(np.linalg.pinv(predictor.B, rcond=_NOTHING))
        found["y_loadings_"] = predictor.B.T
    if isinstance(result.P, tuple) and len(result.P) == 2:  # of more there are no such names
        for view, P, loading in zip("xy", result.P, loadings, strict=True):
            found[f"{view}_weights_"], found[f"{view}_loadings_"] = P.T, loading
    return {name: value for name, value in found.items() if value is not None}


def from_sums(estimator: Given) -> bool:
    """Whether blocks of rows can be added one at a time."""
    try:
        return estimator._objective().from_sums
    except ArgumentError:  # a parameter that `fit` will refuse
        return False


class PartialFit(Given):
    """The part of an estimator that learns from blocks of rows."""

    standardise: bool
    n_samples_seen_: int
    _totals: tuple[Totals, ...]
    _classes: np.ndarray | None

    @abstractmethod
    def _solve(self, objective: Objective, samples: PerView, y: PerRow, **beside: PerRow) -> None:
        """Find the projection and set what is fitted."""

    @available_if(from_sums)
    def partial_fit(self, X: Rows, y: PerRow = None, *, classes: Labels = None) -> Self:
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

    def _forget(self) -> None:
        """Leave what `partial_fit` has seen."""
        for name in ("n_samples_seen_", "_totals", "_classes"):
            self.__dict__.pop(name, None)

    def _add(
        self,
        X: Rows,
        y: PerRow = None,
        classes: Labels = None,
        background: Rows = None,
        **beside: PerRow,
    ) -> Self:
        if self.standardise:
            raise ArgumentError(
                "standardise=True needs all rows at once: use fit, or divide the blocks yourself"
            )
        objective = self._objective()
        begun = hasattr(self, "_totals")
        if not begun and hasattr(self, "result_"):
            warn("partial_fit begins anew: fit keeps no sums to add to", UserWarning)
        samples, y = self._given(X, y, background, objective, not begun, minimum_rows=1)
        blocks = as_tuple(samples)
        if objective.views > 1 and len({block.n for block in blocks}) > 1:
            rows = " and ".join(str(block.n) for block in blocks)
            raise DataError(f"the views have {rows} rows, expected the same number")
        if any(block.has_nan for block in blocks):
            raise DataError("X has missing values (NaN), which need all rows at once: use fit")
        before = self._totals if begun else ({},) * len(blocks)
        views = tuple(
            AccumulatedSamples.of(block.in_memory(), sums)
            for block, sums in zip(blocks, before, strict=True)
        )
        known = None
        if Need.LABELS in objective.needs:
            known = self._known_classes(y, blocks[0].n, classes)
            y = CodedLabels.of(y, blocks[0].n, known)
        self._solve(objective, single(views), y, **beside)
        self._totals, self._classes = tuple(view.totals for view in views), known
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0) + blocks[0].n
        return self

    def _known_classes(self, y: PerRow, n: int, classes: Labels) -> np.ndarray:
        """The labels of the first call."""
        given = None if classes is None else distinct(as_array(classes, "classes"), "classes")[0]
        if given is not None and len(given) == 0:
            raise DataError("classes is empty, expected all the labels there are, or None")
        known = getattr(self, "_classes", None)
        if known is None:
            return as_labels(y, n, smallest_class=1)[1] if given is None else given
        if given is not None and not np.array_equal(given, known):
            raise DataError(f"classes = {given} are others than those of the first call, {known}")
        return known


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
            As `ldr.score` has it.
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
        data, y = self._given(X, y, background, self._objective(), reset=False, minimum_rows=1)
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


_ENTRIES = {
    "sample_weight": """sample_weight : array (m,), optional
    How much each row counts, >= 0; see `ldr.solve`.
""",
    "groups": """groups : array (m,), optional
    The trial of each row; see `ldr.solve`. Or X is a list of arrays, or (trials, time, channels).
""",
}
# The doors, and the methods behind them.
TARGETS = {"fit": "_fit", "partial_fit": "_add", "score": "_score"}
_CONDITIONS = {"partial_fit": from_sums, "score": of_points}


def taken_by(method: type[Objective]) -> tuple[str, ...]:
    """What the estimator of an objective takes beside its rows.

    Weights that do not repeat rows, which scikit-learn takes them to do, are left to `ldr.solve`
    and the `Reducer`; so are those in time order, as to it weighted rows may be shuffled.
    """
    if Need.TIME_ORDER in method.needs:
        return ("groups",)
    return ("sample_weight",) if method().repeats else ()


def doors(base: type[Projection], method: type[Objective]) -> dict[str, Any]:
    """`fit`, `partial_fit` and `score` of a base, with what the objective takes beside."""
    return {name: _door(base, name, taken_by(method)) for name in TARGETS}


def check_taken(estimator: Projection, door: str, given: Iterable[str]) -> None:
    """Refuse weights or trials where they are not taken, in words.

    - raises ArgumentError: There are some.
    """
    method = type(estimator._traits())
    for name in sorted(set(_ENTRIES) & set(given)):
        if name == "groups":
            why = "it does not look at the order of rows, and so at no trials"
        elif Need.TIME_ORDER in method.needs:
            why = "rows in the order of time cannot be shuffled, as scikit-learn may weighted ones"
        else:
            why = "no row is its own neighbour, while to scikit-learn a weight repeats its row"
        way_out = f"ldr.solve({method.name!r}, X, {name}=) and ldr.Reducer({method.name!r}) take it"
        names = (each for each, one in REGISTRY.items() if name in taken_by(one))
        raise ArgumentError(
            f"{type(estimator).__name__}.{door} takes no {name}=: {why}; {way_out}, and so do the "
            f"estimators of {', '.join(names)}"
        )


def _door(base: type[Projection], name: str, names: tuple[str, ...]) -> Any:
    original = inspect.unwrap(inspect.getattr_static(base, name))
    own = inspect.signature(original)
    keyword = inspect.Parameter.KEYWORD_ONLY
    further = [
        inspect.Parameter(each, keyword, default=None, annotation="PerRow") for each in names
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *further])
    target = TARGETS[name]

    def door(*args: Any, **kwargs: Any) -> Any:
        if args:
            check_taken(args[0], name, kwargs.keys() - signature.parameters.keys())
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        self = given.arguments.pop("self")
        return getattr(self, target)(**given.arguments)

    before, heading, after = inspect.cleandoc(original.__doc__ or "").partition("\nReturns\n")
    entries = "".join(_ENTRIES[each] for each in names)
    door.__signature__ = signature  # type: ignore[attr-defined]
    door.__doc__ = f"{before.rstrip()}\n{entries}{heading}{after}"
    door.__name__, door.__qualname__ = name, f"{base.__name__}.{name}"
    condition = _CONDITIONS.get(name)
    return door if condition is None else available_if(condition)(door)
