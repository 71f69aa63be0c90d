"""Blocks of rows, added one at a time to the sums that an objective knows its data by."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ldr.estimators.given import Given
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.data.labels import CodedLabels, as_array, as_labels, distinct
from ldr.objectives.data.partial_sums import AccumulatedSamples, Totals
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.warn import warn
from ldr.types import Labels, PerRow, PerView, Rows


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
