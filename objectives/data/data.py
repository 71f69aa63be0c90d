"""Validated data of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Cells, Given
from ldr.objectives.data.sample_metadata import as_array, as_labels
from ldr.objectives.data.samples import Samples
from ldr.solvers.errors import ArgumentError, DataError


class UnknownError(Exception):
    """An input of a formula is not available; callers catch the error and use another algorithm."""


def as_tuple(value: Given) -> tuple[Given, ...]:
    """Return the blocks of several views (a dict or tuple) or of a single view as a tuple."""
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, tuple) else (value,)


def single(blocks: Sequence[Given]) -> Given:
    """Return the block of a single view, or the tuple of blocks of several views."""
    return blocks[0] if len(blocks) == 1 else tuple(blocks)


@dataclass(frozen=True)
class Data:
    """Validated data: views, and labels or a response.

    Attributes
    ----------
    views : tuple of Samples
        Views of the same n samples; M has a block for each view.
    y : labels or a response, or None
    background : Samples or None
        Other samples with the same columns, such as noise. M has no block for the background.
    view_names : tuple of str
        Names of views given as a dict; otherwise empty.
    """

    views: tuple[Samples, ...]
    y: Given = None
    background: Samples | None = None
    view_names: tuple[str, ...] = ()

    @cached_property
    def samples(self) -> Samples:
        return self.views[0]

    @cached_property
    def labels(self) -> tuple[npt.NDArray[np.intp], Cells]:
        """Class codes of y, and the classes; see `as_labels`."""
        return as_labels(self.y, self.samples.n)

    @property
    def X(self) -> Given:
        """X in the form of `ldr.solve`: samples, a tuple of views, or samples and background."""
        if self.background is not None:
            return self.samples, self.background
        return single(self.views)

    def in_memory(self) -> Data:
        """Return the data with all rows in memory, for methods with random access to rows."""
        views = tuple(view.in_memory() for view in self.views)
        background = None if self.background is None else self.background.in_memory()
        return replace(self, views=views, background=background)

    def everywhere(self) -> Data:
        """Return the data, now allowing dense d x d arrays even for very wide sparse views."""
        if not any(view.wide for view in self.views):
            return self
        views = (replace(view, by_products=False) if view.wide else view for view in self.views)
        return replace(self, views=tuple(views))

    def check_y(self) -> None:
        """Refuse a y whose length is not the number of rows."""
        if self.y is not None and (entries := len(as_array(self.y))) != self.samples.n:
            raise DataError(f"y has {entries} entries, but X has {self.samples.n} rows")

    def of_rows_that_count(self) -> Data:
        """Return the data without rows of weight zero."""
        weights = self.samples.weights
        if weights is None or weights.all():
            return self
        self.check_y()
        rows = np.flatnonzero(weights)
        y = self.y if self.y is None else as_array(self.y)[rows]
        return replace(self, views=tuple(view.take(rows) for view in self.views), y=y)

    def on(self, device: str) -> Data:
        """Return the data with sums over rows computed on a device."""
        from ldr.objectives.data.accelerator import accelerator

        there = accelerator(device)
        views = tuple(replace(view, accelerator=there) for view in self.views)
        background = self.background and replace(self.background, accelerator=there)
        return replace(self, views=views, background=background)

    def require(self, need: str, name: str) -> None:
        """Refuse data without the labels or response that an objective needs."""
        if self.y is None:
            raise ArgumentError(f"objective {name!r} needs {need}: pass y=, got None")
