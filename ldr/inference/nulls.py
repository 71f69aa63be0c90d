"""Null hypotheses of permutation tests, and data sets in which they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldr.inference.many import Chunk, Orders
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.resampling import Resampling, Sampled
from ldr.scaling import Units
from ldr.solvers.checks import choice, flag
from ldr.solvers.errors import ArgumentError, warn
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, Rows

# Ways in which samples change places, in words.
NULLS = {
    "rows": "permuted",
    "within": "permuted within groups",
    "groups": "permuted between whole groups",
    "shift": "shifted in a circle",
}
# Part of the data that changes places, and what is true then.
_MOVED = {
    "response": ("y", "it has nothing to do with X"),
    "second view": ("the samples of all views but the first", "the views have nothing in common"),
    "background": ("samples and background", "they are alike"),
    "columns": ("every column by itself", "the columns have nothing in common"),
    "order": ("the samples", "white noise; whatever is autocorrelated rejects it"),
}
# Fewest data sets that permutations must make: with fewer no p-value reaches 0.05.
_FEWEST = 20


@dataclass(frozen=True, eq=False)
class Null:
    """Null hypothesis of a method on its data.

    - kind: A key of `NULLS`
    - moved: "response", "second view", "background", "columns" or "order" (of samples in time)
    - views (n, d): the last is the background, where there is one
    - y (n, ...), groups (n,)
    - timed: true where groups are trials of samples in time order
    """

    kind: str
    moved: str
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
        """Choose the null for data as `ldr.solve` takes them; bring them into memory."""
        choice("null", kind, ("auto", *NULLS, *tuple(_MOVED)[:-1]))
        sampled = Sampled.of(objective, X, y, "permutation of their rows", None, groups)
        data, codes = sampled.data, sampled.groups
        if flag("standardise", standardise):
            data = Units.of(objective, data).divided(data)
        views = tuple(view.dense() for view in data.views)
        if data.background is not None:
            views = (*views, data.background.dense())
        y = None if data.y is None else as_array(data.y)
        moved = _moved(objective, y)
        if kind in _MOVED:
            kind = _renamed(objective, kind, moved, codes)
        elif kind == "auto":
            kind = "rows" if codes is None else "within"
            if codes is not None and _whole_groups(moved, y, codes):
                kind = "groups"
        elif kind == "rows" and groups is not None and not sampled.ordered:
            raise ArgumentError(
                "null='rows' takes all samples as independent, groups= says that they are not: "
                "expected one of them"
            )
        return cls(kind, moved, views, y, codes, sampled.ordered)

    def check(self) -> None:
        """Refuse permutations that leave the data as they are, and nulls that do not fit."""
        if self.moved == "background" and (self.kind != "rows" or self.groups is not None):
            raise ArgumentError(
                "samples and background are mixed and dealt again, which groups= and null= other "
                f"than 'rows' do not go with; got null={self.kind!r}"
            )
        if self.kind not in ("within", "groups"):
            return
        if self.groups is None:
            raise ArgumentError(f"null={self.kind!r} needs groups=, the group of each sample")
        if self.kind == "groups":
            if self.moved not in ("response", "second view"):
                raise ArgumentError(
                    "null='groups' permutes the y of groups, or pairs trials of several views "
                    "anew; this method has neither: expected 'within', 'rows' or 'shift'"
                )
            if self.y is not None and Resampling(self.groups).of_groups(self.y) is None:
                raise ArgumentError(
                    "null='groups' permutes the y of whole groups: expected groups=, in each of "
                    "which all rows have the same y; where y varies within groups null='within'"
                )
        moved = self.y if self.moved == "response" else None
        count = Resampling(self.groups).arrangements(self.kind, moved)
        if count < _FEWEST:
            way_out = "null='groups', which permutes whole groups"
            if self.kind == "groups":
                way_out = "more groups"
                if moved is None:
                    way_out = "more trials of equal length, or null='within'"
            raise ArgumentError(
                f"null={self.kind!r} has {count:.0f} distinct permutation(s) of these data, and no "
                f"p-value below 1/{count:.0f}: expected {_FEWEST} at least; give {way_out}"
            )

    @property
    def words(self) -> str:
        """The permuted samples or columns, and the null hypothesis, in words."""
        what, claim = _MOVED[self.moved]
        if self.moved == "background":
            return f"{what} mixed and dealt again: {claim}"
        if self.kind == "shift":
            return f"{what} {NULLS['shift']}: each keeps its own autocorrelation"
        if self.kind == "groups" and self.moved == "second view":
            return f"whole trials of equal length paired anew: {claim}"
        return f"{what} {NULLS[self.kind]}: {claim}"

    @property
    def n(self) -> int:
        return len(self.views[0])

    @property
    def trials(self) -> Orders | None:
        """Trials of samples in time order; else None."""
        return self.groups if self.timed else None

    def compact(self) -> Null:
        """Replace views of more columns than samples by their principal component scores.

        For methods of covariances, whose values are the same there; permutations of y or of samples
        leave these coordinates as they are.
        """
        views = tuple(X if len(X) > X.shape[1] else _scores(X) for X in self.views)
        return replace(self, views=views)

    def own(self) -> Chunk:
        """Return the data without permutation."""
        return Chunk(self.views, self.y, 1, trials=self.trials)

    def draw(self, count: int, rng: np.random.Generator) -> Chunk:
        """Draw data sets in which the null hypothesis holds."""
        return replace(self._drawn(count, rng), trials=self.trials)

    def _drawn(self, count: int, rng: np.random.Generator) -> Chunk:
        (X, *others), y = self.views, self.y
        if self.moved == "background":
            both = np.vstack(self.views)
            orders = Resampling(np.zeros(len(both), dtype=np.intp)).permuted("rows", count, rng)
            return Chunk((both[orders[:, : self.n]], both[orders[:, self.n :]]), y, count)
        if self.moved == "columns" or (self.moved == "order" and self.kind == "shift"):
            each = [X[self.orders(rng, count), j] for j in range(X.shape[1])]
            return Chunk((np.stack(each, axis=2),), y, count)
        if self.moved == "second view":
            moved = (view[self.orders(rng, count)] for view in others)
            return Chunk((X, *moved), y, count)
        orders = self.orders(rng, count)
        if self.moved == "order":
            return Chunk((X[orders],), y, count)
        assert y is not None
        return Chunk(self.views, y[orders], count, own_y=True)

    def orders(self, rng: np.random.Generator, count: int) -> Orders:
        """Draw orders (count, n) of the samples."""
        groups = np.zeros(self.n, dtype=np.intp) if self.groups is None else self.groups
        alike = self.moved != "response"
        return Resampling(groups).permuted(self.kind, count, rng, alike)


def _scores(X: Array) -> Array:
    """Return the principal component scores of the samples."""
    W, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    kept = s > rank_tolerance(max(X.shape)) * s[0]
    return np.asarray(W[:, kept] * s[kept])


def _moved(objective: Objective, y: np.ndarray | None) -> str:
    """Name the part of the data that a method's null hypothesis permutes."""
    if objective.views > 1:
        return "second view"
    if Need.BACKGROUND in objective.needs:
        return "background"
    if y is not None:
        return "response"
    return "order" if Need.TIME_ORDER in objective.needs else "columns"


def _whole_groups(moved: str, y: np.ndarray | None, groups: Orders) -> bool:
    """Return True where whole groups are permuted by default."""
    units = Resampling(groups)
    if moved == "response":
        assert y is not None
        return len(units.sizes) > 1 and units.of_groups(y) is not None
    return moved == "second view" and len(np.unique(units.sizes)) < len(units.sizes)


def _renamed(objective: Objective, kind: str, moved: str, groups: Orders | None) -> str:
    """Return the null of an earlier name, with a warning."""
    if kind != moved:
        raise ArgumentError(
            f"null={kind!r}: a permutation test of objective {objective.name!r} permutes "
            f"{_MOVED[moved][0]}; expected one of {', '.join(map(repr, NULLS))}"
        )
    found = "rows" if groups is None else "within"
    warn(f"null={kind!r} is now null={found!r}, and will be refused", FutureWarning)
    return found
