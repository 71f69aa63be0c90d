"""A sum over rows in which each row counts as its weight says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ldr.objectives.custom.backends import Backend, Jax
from ldr.objectives.custom.compiling import Function
from ldr.objectives.custom.problem import Differentiated


@dataclass(frozen=True)
class PerRow:
    """sum_i w_i f(M, x_i), or f(M, x_i, y_i), of a sum over rows f written with jax.

    Attributes
    ----------
    function : callable
        f, which sees one row at a time, as an array of one row.
    """

    function: Function

    def __call__(self, M: Any, *data: Any) -> Any:
        import jax

        *rows, weights = data

        def of_row(*row: Any) -> Any:
            return self.function(M, *(one[None] for one in row))

        return weights @ jax.vmap(of_row)(*rows)


@dataclass(frozen=True)
class WeightedFunction:
    """An objective of one's own whose last argument is the weights of the rows."""

    objective: Differentiated
    function: Function

    def __reduce__(self) -> tuple[Any, ...]:
        return WeightedFunction, (self.objective, self.function)

    @property
    def center(self) -> bool:
        return self.objective.center

    @property
    def sign(self) -> float:
        return self.objective.sign

    @cached_property
    def derivatives(self) -> Backend:
        return Jax(PerRow(self.function))
