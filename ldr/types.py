"""Types of arguments and results, with aliases that spare callers the narrowing of unions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

Rows: TypeAlias = Any
"""Samples in rows, as the X of `ldr.solve`.

An array, a memory map, a sparse matrix, a DataFrame of pandas or polars, an array or a frame of
Dask's, the path of a file, blocks of rows, `Samples`; for several views, and for samples with
a background, a tuple of them. Projections have the same container.
"""

PerRow: TypeAlias = Any
"""Data of each sample: labels, a response, weights, trials.

An array, a Series, a list, the name of a column, the path of an .npy file; for estimators of two
views the second view.
"""

Dimension: TypeAlias = int | float | Literal["auto"]
"""Number of components, a share of the variance, or "auto"."""

Labels: TypeAlias = npt.ArrayLike | None
"""All distinct labels."""

Start: TypeAlias = str | Array | Sequence[Array]
"""Initial point of a solver: a name, or the matrix of each view."""

PerView: TypeAlias = Any
"""An array, a tuple of the views' arrays, or None."""

Frame: TypeAlias = Any
"""A pandas.DataFrame, or without pandas its records or columns."""

Figure: TypeAlias = "MatplotlibFigure"
"""A figure of matplotlib, which is imported only to draw."""

Panels: TypeAlias = "Axes | Sequence[Axes] | np.ndarray | None"
"""Axes given by the user, one for each panel; None makes a new figure."""

XandY: TypeAlias = tuple[Rows, PerRow]
"""Samples and their data."""

Argument: TypeAlias = Any
"""An argument that another function validates."""


class Splitter(Protocol):
    """Protocol of scikit-learn's splitters."""

    def split(
        self, X: Rows, y: PerRow = None, groups: PerRow = None
    ) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Yield the indices of training and held-out rows of each fold."""
