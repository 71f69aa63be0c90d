"""Optima whose change with their rows is known: by products with the rows, nothing bound again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ldr.objectives.data.data import Data
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks
from ldr.sensitivity.optimum import Optimum, Rate
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Known(ABC):
    """An optimum of rows in memory that all count alike."""

    optimum: Optimum

    # Whether coordinates must be of all columns; others move with the rows.
    of_columns = True

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

        Raises
        ------
        SingularError
            Numbers of coordinates tie.
        """


def plain(data: Data) -> bool:
    """Whether rows are in memory, without weights or trials."""
    return not any(
        one.marks is not None or one.is_sparse or one.stored
        for one in (*data.views, *filter(None, (data.background,)))
    )


def of_all_columns(optimum: Optimum, data: Data) -> bool:
    """Whether the coordinates are."""
    kept = zip(optimum.problem.blocks(optimum.M), data.views, strict=True)
    return all(len(block) == view.d for block, view in kept)
