"""What an estimator is given: checked by scikit-learn's rules, as `ldr.solve` takes it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from ldr.doors import in_words
from ldr.io.alignment import aligned
from ldr.marking import of_list
from ldr.objectives.data.labels import as_array
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.stored import brought, is_dask
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import OF_Y, Need
from ldr.solvers.errors import DataError
from ldr.types import PerRow, Rows, XandY

if TYPE_CHECKING:
    from sklearn.utils import Tags


class Given(BaseEstimator):
    """An estimator of an objective, which knows from it what data it takes."""

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Parameters that the version which pickled it did not have are as by default."""
        super().__setstate__({**type(self)().get_params(deep=False), **state})

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
        trials, distances = None, Need.DISTANCES in self._traits().needs
        if Need.TIME_ORDER in self._traits().needs:
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
        samples = as_samples(array, "X", minimum_rows, allow_nan=self._allows_nan())
        if trials is not None:
            later = getattr(self, "n_samples_seen_", 0)  # trials of another block are other ones
            samples = replace(samples, marks=Marks(trials=trials + later))
        return samples if names is None else replace(samples, feature_names=tuple(names))

    def _lazy_samples(self, X: Rows, reset: bool, minimum_rows: int) -> Samples:
        """Dask's rows, which scikit-learn would bring into memory to check them."""
        samples = as_samples(X, "X", minimum_rows, allow_nan=self._allows_nan())
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

    def _allows_nan(self) -> bool:
        """Whether NaN is a missing value."""
        return self._traits().missing

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        traits = self._traits()
        tags.target_tags.required = self._requires_y()
        tags.target_tags.two_d_labels = traits.views > 1
        tags.input_tags.pairwise = tags.input_tags.positive_only = Need.DISTANCES in traits.needs
        tags.input_tags.allow_nan = self._allows_nan()
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
