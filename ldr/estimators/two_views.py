"""Estimators of two views of the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ldr.estimators.base import Projection, are_views, in_precision_of, other_views
from ldr.objectives.data.array_types import is_dask
from ldr.objectives.data.data import single
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.objective import Objective
from ldr.result import Result
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, PerView, Rows, XandY

if TYPE_CHECKING:
    from sklearn.utils import Tags

# Column numbers or names, or a slice, of each view.
Views: TypeAlias = Sequence[Sequence[int | str] | slice] | Mapping[str, Sequence[int | str] | slice]


class TwoViews(Projection):
    """An estimator of two views: y is the second, as in scikit-learn's cross decomposition.

    `fit_transform`, as in a step of a Pipeline, gives the first view's projection;
    ``transform(X, y)`` gives both, and `predict` the second view. X may be a list of all views, or
    a dict of them by name, and ``transform(X)`` is then of all; or, with column groups as `views`,
    one array that holds them.
    """

    views: Views | None = None

    def transform(self, X: Rows, y: PerRow = None) -> Rows:
        """Project the first view, or all.

        Parameters
        ----------
        X : array, memory map, sparse matrix or DataFrame (m, d)
            Or a list or a dict of all views.
        y : array, memory map, sparse matrix or DataFrame (m, e), optional

        Returns
        -------
        ndarray (m, n_components)
            Or one of each view where these are given; with `views` those of all side by side.
        """
        check_is_fitted(self)
        if self.views is not None:
            views = self._grouped(self._traits(), X, reset=False)
            first = next(iter(views.values() if isinstance(views, dict) else views))
            return in_precision_of(first, np.hstack(self.result_.transform(views)))
        if not isinstance(self.components_, tuple):  # of a `Reducer`
            return super().transform(X)
        if y is None and _all_views(X):
            return self.result_.transform(X)
        first = X if is_dask(X) else self._samples(self._traits(), X, reset=False)
        if y is not None:
            found = self.result_.transform((first, *other_views(y)))
        else:
            found = _first_view(self.result_).transform(first)
        return found if is_dask(X) else in_precision_of(first, found)

    def _grouped(self, objective: Objective, X: Rows, **rows: Any) -> PerView:
        """The views in the columns of X, by name where they have names."""
        samples = self._samples(objective, X, **rows)
        if samples.stored:
            raise DataError("views= takes X in memory: give further views as y instead")
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
        """The column numbers of each group, of d columns with names."""
        if not isinstance(self.views, (list, tuple, dict)) or len(self.views) < 2:
            raise ArgumentError(
                "views must be two groups of columns or more, as ([0, 1, 2], [3, 4]) or a dict of "
                f"them by name, got {self.views!r}"
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
                raise ArgumentError(f"views[{key!r}] = {group!r} has no column")
        return groups

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = tags.target_tags.required and self.views is None
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.result_.r * (1 if self.views is None else len(self.components_))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the coordinates, with those of the views where they have names.

        Parameters
        ----------
        input_features : None
            Not looked at.

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
                f"views= is for objectives of several views, but {objective.name!r} has one: leave "
                "it out"
            )
        if self.views is not None:
            return self._grouped(objective, X, **{"minimum_rows": 2, **rows}), None
        names = None
        if objective.views > 1 and y is None and _all_views(X):
            names = tuple(X) if isinstance(X, dict) else None
            X, y = _apart(X)
        given, response = super()._given(objective, X, y, background, **rows)
        if rows["reset"]:  # of a y that is no ragged list any more
            alone = y is not None and not are_views(y)
            self._flat = alone and (getattr(y, "ndim", None) or as_array(y).ndim) == 1
        return given if names is None else dict(zip(names, given, strict=True)), response

    def _predicted(self, X: Rows, question: str = "predict") -> Array:
        if self.views is not None:
            raise ArgumentError("predict is of views that are given apart: leave out views=")
        found = super()._predicted(X, question)
        return found[:, 0] if isinstance(self.components_, tuple) and self._flat else found

    def inverse_transform(self, X: Rows, y: PerRow = None) -> Rows:
        """Back from projected rows, of the first view or of both; see `Projection`.

        Parameters
        ----------
        X : array (m, n_components)
            Or a list of those of all views.
        y : array (m, n_components), optional
            Of the second view; a list of those of the further views.

        Returns
        -------
        ndarray (m, d)
            Or one of each view that is given; with `views` all columns, NaN in those of no view.
        """
        check_is_fitted(self)
        if not isinstance(self.components_, tuple):  # of a `Reducer`
            return super().inverse_transform(X)
        if self.views is not None:
            return self._ungrouped(X)
        if y is None and _all_views(X):
            X, y = _apart(X)
        return single(self._lifted((X, *y) if isinstance(y, (list, tuple)) else (X, y)))

    def _ungrouped(self, X: Rows) -> Array:
        """The columns of all views, of the coordinates of all side by side."""
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
        """The columns of each view, of its coordinates; of the views that are given."""
        scales = self.result_.scale or (None,) * len(self.components_)
        views = zip(given, self.result_.P, self.result_.mean, scales, strict=False)
        return tuple(self._lift(Y, *view) for Y, *view in views if Y is not None)


def _all_views(X: PerView) -> bool:
    """Whether X is a list or a dict of two views or more."""
    return (isinstance(X, dict) or are_views(X)) and len(X) > 1


def _apart(X: PerView) -> tuple[Rows, PerRow]:
    """The first view and the others, of a list or a dict of all."""
    first, *others = X.values() if isinstance(X, dict) else X
    return first, others


def _first_view(result: Result) -> Result:
    """A result of two views as one of the first."""
    return replace(
        result,
        P=result.P[0],
        mean=result.mean[0],
        features=None if result.features is None else result.features[0],
        feature_names=result.feature_names[0],
    )
