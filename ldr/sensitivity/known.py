"""Optima whose change with their rows is known: by products with the rows, nothing bound again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.optimum import Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym


@dataclass(frozen=True)
class Known(ABC):
    """An optimum of rows in memory."""

    optimum: Optimum

    # Whether coordinates must be of all columns; others move with the rows.
    of_columns = True
    # Whether they must be the columns themselves.
    of_own_columns = False
    # Whether rows may have weights or trials.
    of_marks = False

    @classmethod
    @abstractmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> Self | None:
        """None of other problems; the rows are `plain`."""

    @abstractmethod
    def rate(self, dX: Blocks) -> Rate:
        """Along dX, of each view, and of the background."""

    @abstractmethod
    def pulled(self, V: Sequence[Array]) -> list[Array]:
        """The derivative in X of <V', the maps>, of the rows of each view.

        - raises SingularError: Numbers of coordinates tie.
        """


class Summand(Known):
    """Which may be a term of a sum."""

    @property
    def additive(self) -> bool:
        """Whether its M is orthonormal, in the columns."""
        return True

    @abstractmethod
    def crossed(self, U: Array) -> list[Array]:
        """The derivative in X of <U, gradient>, M fixed."""


@dataclass(frozen=True)
class Variances:
    """M'CM, C the covariance of rows X: what canonical axes diagonalise unless a method says more.

    - X (n, d), M (d, r)
    - scores (n, r): centred, X'times them is CM
    """

    X: Array
    M: Array
    scores: Array

    @classmethod
    def of(cls, X: Array, M: Array, Y: Array, unit: float = 1.0) -> Variances:
        """Of Y = XM, in which the unit of the map is larger."""
        return cls(X, M, centred(Y) / (len(Y) * unit**2))

    def rate(self, dY: Array) -> Array:
        """Where M stays."""
        return 2.0 * sym(dY.T @ self.scores)

    def slope(self, W: Array) -> Array:
        """The derivative of <W, M'CM> in M."""
        return self.X.T @ self.scores @ (W + W.T)

    def pulled(self, W: Array) -> Array:
        """And in X, centred."""
        return np.asarray(self.scores @ (W + W.T) @ self.M.T)


def plain(data: Data) -> bool:
    """Whether rows are without weights or trials."""
    return all(one.marks is None for one in all_of(data))


def in_memory(data: Data) -> bool:
    """Whether rows are."""
    return not any(one.is_sparse or one.stored for one in all_of(data))


def all_of(data: Data) -> Sequence[Samples]:
    """Of the views and of the background."""
    return (*data.views, *filter(None, (data.background,)))


def of_all_columns(optimum: Optimum, data: Data) -> bool:
    """Whether the coordinates are."""
    kept = zip(optimum.problem.blocks(optimum.M), data.views, strict=True)
    return all(len(block) == view.d for block, view in kept)
