"""What "nothing is there" means for a method, and data sets in which it holds.

Each null draws orders of the rows: of the labels, of one view, of every column by itself. With
groups the orders stay inside them, or whole groups change labels.
"""

from __future__ import annotations

import numpy as np

from ldr.inference.chunks import Chunk, Orders
from ldr.inputs import data_in_order, in_order
from ldr.objectives.data.labels import as_array
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.solvers.checks import choice, flag
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace
from ldr.standardising import Units
from ldr.types import PerRow, Rows

# What is permuted, and what is true then.
NULLS = {
    "response": "y permuted: it has nothing to do with the rows",
    "groups": "the y of whole groups permuted: it has nothing to do with the groups",
    "second view": "the rows of all views but the first permuted: the views have nothing in common",
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
        Rows change places only inside a group, but for the null of groups.
    timed : bool
        Whether groups are trials of rows in time order.
    """

    kind: str
    views: tuple[Array, ...]
    y: np.ndarray | None
    groups: Orders | None
    timed: bool = False

    @classmethod
    def of(
        cls,
        objective: Objective,
        X: Rows,
        y: PerRow,
        kind: str,
        groups: PerRow,
        standardise: bool = False,
    ) -> Null:
        """Of data as `ldr.solve` takes them, which are brought into memory."""
        if Need.DISTANCES in objective.needs:
            raise ArgumentError(
                f"objective {objective.name!r} is of distances, of which no rows can be permuted"
            )
        choice("null", kind, ("auto", *NULLS))
        timed = Need.TIME_ORDER in objective.needs
        X, y, groups = in_order(objective, X, y, groups=groups)
        data = data_in_order(objective, X, y, groups=groups)
        if flag("standardise", standardise):
            data = Units.of(objective, data).divided(data)
        views = tuple(view.dense() for view in data.views)
        if timed:
            marks = data.samples.marks
            groups = None if marks is None else marks.trials
        if data.background is not None:
            views = (*views, data.background.dense())
        given = None if data.y is None else as_array(data.y)
        codes = None if groups is None else _codes(groups, len(views[0]))
        kind = _natural(objective, given, codes) if kind == "auto" else kind
        if kind in ("response", "groups") and given is None:
            raise ArgumentError(f"null={kind!r} permutes y: objective {objective.name!r} has none")
        if kind == "groups" and not _shared(given, codes):
            raise ArgumentError(
                "null='groups' permutes the y of whole groups: expected groups=, in each of which "
                "all rows have the same y"
            )
        if kind == "second view" and objective.views < 2:
            raise ArgumentError(f"null='second view': objective {objective.name!r} has one view")
        if kind == "background" and data.background is None:
            raise ArgumentError(f"null='background': objective {objective.name!r} has none")
        if codes is not None and kind == "background":
            raise ArgumentError("groups= does not go with null='background'")
        return cls(kind, views, given, codes, timed)

    @property
    def n(self) -> int:
        return len(self.views[0])

    @property
    def trials(self) -> Orders | None:
        """Of rows in time order."""
        return self.groups if self.timed else None

    def own(self) -> Chunk:
        """The data as they are."""
        return Chunk(self.views, self.y, 1, trials=self.trials)

    def draw(self, count: int, rng: np.random.Generator) -> Chunk:
        """So many data sets in which the null holds."""
        return replace(self._drawn(count, rng), trials=self.trials)

    def _drawn(self, count: int, rng: np.random.Generator) -> Chunk:
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
        if self.kind == "groups":
            return "response"
        if self.kind != "shift":
            return self.kind
        if self.y is not None:
            return "response"
        return "second view" if len(self.views) > 1 else "columns"

    def orders(self, rng: np.random.Generator, count: int) -> Orders:
        """Orders of the rows, (count, n)."""
        groups = np.zeros(self.n, dtype=np.intp) if self.groups is None else self.groups
        # the rows of the first group, then of the second, ...
        places = np.argsort(groups, kind="stable")
        sizes = np.bincount(groups)
        starts = np.cumsum(sizes) - sizes
        if self.kind == "groups":
            others = _orders(rng, count, len(sizes))
            return np.asarray(places[starts[others]][:, groups])
        orders = np.empty((count, self.n), dtype=np.intp)
        if self.kind == "shift":
            at = np.arange(self.n) - np.repeat(starts, sizes)
            steps = np.repeat(rng.integers(sizes, size=(count, len(sizes))), sizes, axis=1)
            orders[:, places] = places[
                np.repeat(starts, sizes) + (at + steps) % sizes[groups[places]]
            ]
            return orders
        # the j-th of a group in the random order takes the place of its j-th row
        orders[:, places] = np.argsort(rng.random((count, self.n)) + groups, axis=1)
        return orders


def _natural(objective: Objective, y: PerRow, groups: Orders | None) -> str:
    """The null that fits a method, and its groups."""
    if objective.views > 1:
        return "second view"
    if Need.BACKGROUND in objective.needs:
        return "background"
    if y is not None:
        return "groups" if _shared(y, groups) else "response"
    return "rows" if Need.TIME_ORDER in objective.needs else "columns"


def _orders(rng: np.random.Generator, count: int, n: int) -> Orders:
    return np.argsort(rng.random((count, n)), axis=1)


def _shared(y: PerRow, groups: Orders | None) -> bool:
    """Whether y is the same in all rows of each group, and there are several groups of several."""
    if groups is None:
        return False
    firsts = np.unique(groups, return_index=True)[1]
    return 1 < len(firsts) < len(groups) and bool((y == y[firsts[groups]]).all())


def _codes(groups: PerRow, n: int) -> Orders:
    given = np.asarray(groups)
    if given.shape != (n,):
        raise DataError(f"groups has shape {given.shape}, expected ({n},), one group a row")
    return np.unique(given, return_inverse=True)[1]
