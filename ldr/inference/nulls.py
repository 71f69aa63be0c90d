"""What "nothing is there" means for a method, and data sets in which it holds.

Each null draws orders of the rows: of the labels, of one view, of every column by itself. With
groups the orders stay inside them, or whole groups change places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.inference.chunks import Chunk
from ldr.inputs import as_data
from ldr.objectives.data.labels import as_array
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.solvers.checks import choice, flag
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.standardising import Units

Orders = npt.NDArray[np.intp]

# What is permuted, and what is true then.
NULLS = {
    "response": "y permuted: it has nothing to do with the rows",
    "second view": "the rows of the second view permuted: the views have nothing in common",
    "background": "rows and background mixed and dealt again: they are alike",
    "columns": "every column permuted by itself: the columns have nothing in common",
    "rows": "the rows permuted: a row says nothing of the next (white noise; whatever is "
    "autocorrelated rejects it)",
    "shift": "one thing shifted in a circle against the rest: each keeps its own autocorrelation",
}


@dataclass(frozen=True, eq=False)
class Null:
    """A null hypothesis on data.

    Attributes
    ----------
    kind : str
        Of `NULLS`.
    views : tuple of ndarray (n, d)
        The last is the background, where there is one.
    y : ndarray (n, ...) or None
    groups : ndarray of int (n,) or None
        Rows change places only inside a group.
    """

    kind: str
    views: tuple[Array, ...]
    y: np.ndarray | None
    groups: Orders | None

    @classmethod
    def of(
        cls,
        objective: Objective,
        X: Any,
        y: Any,
        kind: str,
        groups: Any,
        standardise: bool = False,
    ) -> Null:
        """Of data as `ldr.solve` takes them, which are brought into memory."""
        if Need.DISTANCES in objective.needs:
            raise ArgumentError(
                f"objective {objective.name!r} is of distances, of which no rows can be permuted"
            )
        choice("null", kind, ("auto", *NULLS))
        data = as_data(objective, X, y)
        if flag("standardise", standardise):
            data = Units.of(objective, data).divided(data)
        views = tuple(view.dense() for view in data.views)
        if data.background is not None:
            views = (*views, data.background.dense())
        given = None if data.y is None else as_array(data.y)
        kind = _natural(objective, given) if kind == "auto" else kind
        if kind == "response" and given is None:
            raise ArgumentError(
                f"null='response' permutes y: objective {objective.name!r} has none"
            )
        if kind == "second view" and objective.views < 2:
            raise ArgumentError(f"null='second view': objective {objective.name!r} has one view")
        if kind == "background" and data.background is None:
            raise ArgumentError(f"null='background': objective {objective.name!r} has none")
        codes = None if groups is None else _codes(groups, len(views[0]))
        if codes is not None and kind in ("background", "shift"):
            raise ArgumentError(f"groups= does not go with null={kind!r}")
        return cls(kind, views, given, codes)

    @property
    def n(self) -> int:
        return len(self.views[0])

    def draw(self, count: int, rng: np.random.Generator) -> Chunk:
        """So many data sets in which the null holds."""
        views, y = self.views, self.y
        if self.kind == "background":
            both = np.vstack(views)
            orders = _orders(rng, count, len(both))
            return Chunk((both[orders[:, : self.n]], both[orders[:, self.n :]]), y, count)
        moved = self._moved()
        if moved == "columns":
            X = views[0]
            kept = [self.orders(rng, count) for _ in range(X.shape[1])]
            return Chunk(
                (np.stack([X[o, j] for j, o in enumerate(kept)], axis=2), *views[1:]), y, count
            )
        orders = self.orders(rng, count)
        if moved == "response":
            assert y is not None
            return Chunk(views, y[orders], count, own_y=True)
        if moved == "second view":
            others = (view[self.orders(rng, count)] for view in views[2:])
            return Chunk((views[0], views[1][orders], *others), y, count)
        return Chunk((views[0][orders], *views[1:]), y, count)

    def _moved(self) -> str:
        """What is permuted, or shifted."""
        if self.kind != "shift":
            return self.kind
        if self.y is not None:
            return "response"
        return "second view" if len(self.views) > 1 else "columns"

    def orders(self, rng: np.random.Generator, count: int) -> Orders:
        """Orders of the rows, (count, n)."""
        if self.kind == "shift":
            steps = rng.integers(self.n, size=count)
            return np.asarray((np.arange(self.n) + steps[:, None]) % self.n)
        if self.groups is None:
            return _orders(rng, count, self.n)
        keys = rng.random((count, self.n)) + self.groups
        # the j-th of a group in the random order takes the place of its j-th row
        places = np.argsort(self.groups, kind="stable")
        orders = np.empty((count, self.n), dtype=np.intp)
        orders[:, places] = np.argsort(keys, axis=1)
        return orders


def _natural(objective: Objective, y: Any) -> str:
    """The null that fits a method."""
    if objective.views > 1:
        return "second view"
    if Need.BACKGROUND in objective.needs:
        return "background"
    if y is not None:
        return "response"
    return "rows" if Need.TIME_ORDER in objective.needs else "columns"


def _orders(rng: np.random.Generator, count: int, n: int) -> Orders:
    return np.argsort(rng.random((count, n)), axis=1)


def _codes(groups: Any, n: int) -> Orders:
    given = np.asarray(groups)
    if given.shape != (n,):
        raise DataError(f"groups has shape {given.shape}, expected ({n},), one group a row")
    return np.unique(given, return_inverse=True)[1]
