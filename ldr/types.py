"""Types of arguments and results, where a union of types would have to be narrowed first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.solvers.manifolds import Array

Rows: TypeAlias = Any
"""Samples in rows, as the X of `ldr.solve`.

An array, a memory map, a sparse matrix, a DataFrame of pandas or polars, an array or a frame of
Dask's, the path of a file, blocks of rows, `Samples`; of several views, and of samples with a
background, a tuple of them. Rows that are projected come back in their kind.
"""

PerRow: TypeAlias = Any
"""What goes with each row: labels, a response, weights, trials.

An array, a Series, a list, the name of a column, the path of an .npy file; to estimators of two
views the second one. None is nothing.
"""

Dimension: TypeAlias = int | float | Literal["auto"]
"""To how many dimensions: a number, a share of the variance, or "auto"."""

Labels: TypeAlias = npt.ArrayLike | None
"""All the labels there are, once each."""

Start: TypeAlias = str | Array | Sequence[Array]
"""Where a solver starts, by a name or by the matrix of each view."""

PerView: TypeAlias = Any
"""An array, or of several views a tuple with that of each; None where there is none."""

Frame: TypeAlias = Any
"""A pandas.DataFrame, or without pandas the records or columns that it would be made of."""

XandY: TypeAlias = tuple[Rows, PerRow]
"""Rows and what goes with them."""

Argument: TypeAlias = Any
"""What is handed on to another function, which says what it may be."""


class Splitter(Protocol):
    """Protocol of scikit-learn's splitters."""

    def split(
        self, X: Rows, y: PerRow = None, groups: PerRow = None
    ) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        """Pairs of the numbers of training rows and of held-out ones."""
