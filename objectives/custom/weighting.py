"""A sum over rows in which each row counts as its weight says."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ldr.objectives.custom.backends import Arguments, Backend, Jax
from ldr.objectives.custom.compiling import Function, Traced
from ldr.objectives.custom.problem import Differentiated
from ldr.objectives.data.accelerator import Accelerator
from ldr.solvers.records import dataclass

# Up to so many rows an evaluation takes less time than a compilation saves; more are as they are.
MOST_PADDED = 1024
_FEWEST = 64


@dataclass(frozen=True)
class PerRow:
    """sum_i w_i f(M, x_i), or f(M, x_i, y_i), of a sum over rows f written with jax.

    Attributes
    ----------
    function : callable
        f, which sees one row at a time, as an array of one row.
    """

    function: Function

    def __call__(self, M: Traced, *data: Traced) -> Traced:
        import jax

        *rows, weights = data

        def of_row(*row: Traced) -> Traced:
            return self.function(M, *(one[None] for one in row))

        return weights @ jax.vmap(of_row)(*rows)


@dataclass(frozen=True)
class JaxOfRows(Jax):
    """A sum of weighted rows, of which few are made a power of two by rows of weight zero.

    So folds and data of other lengths need no compiling. What is added is the last row again, where
    f is sure to have a value.
    """

    def place(self, *data: Traced, accelerator: Accelerator | None = None) -> Arguments:
        *rows, weights = data
        n = len(weights)
        if n <= MOST_PADDED:
            further = max(_FEWEST, 1 << (n - 1).bit_length()) - n
            weights = np.append(weights, np.zeros(further))
            rows = [np.concatenate([a, np.repeat(a[-1:], further, axis=0)]) for a in rows]
        return super().place(*rows, weights, accelerator=accelerator)


@dataclass(frozen=True)
class WeightedFunction:
    """An objective of one's own whose last argument is the weights of the rows."""

    objective: Differentiated
    function: Function

    def __reduce__(self) -> tuple[object, ...]:
        return WeightedFunction, (self.objective, self.function)

    @property
    def center(self) -> bool:
        return self.objective.center

    @property
    def sign(self) -> float:
        return self.objective.sign

    @cached_property
    def derivatives(self) -> Backend:
        return JaxOfRows(PerRow(self.function))
