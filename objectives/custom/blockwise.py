"""Functions of several views, f(M1, ..., Mk, X1, ..., Xk), as functions of one flat M."""

from __future__ import annotations

from math import prod

import numpy as np

from ldr.objectives.custom.compiling import Function, Traced
from ldr.solvers.errors import ObjectiveError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class Blockwise:
    """f of the entries of M1, ..., Mk one after another, and of X1, ..., Xk and what follows.

    Parameters
    ----------
    function : callable
    directions : int
        How many arguments at the end are as M is: the direction of a Hessian product.
    """

    function: Function
    views: int
    directions: int = 0

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __call__(self, M: Traced, *data: Traced) -> Traced:
        return self.function(*self._arguments(M, data))

    def _arguments(self, M: Traced, data: tuple[Traced, ...]) -> tuple[Traced, ...]:
        widths = [X.shape[1] for X in data[: self.views]]
        last = len(data) - self.directions
        along = [block for V in data[last:] for block in _blocks(V, widths)]
        return (*_blocks(M, widths), *data[:last], *along)


@dataclass(frozen=True)
class BlockwiseDerivative(Blockwise):
    """A function that returns a matrix for each view, here the entries of all."""

    def __call__(self, M: Traced, *data: Traced) -> Array:
        arguments = self._arguments(M, data)
        returned = self.function(*arguments)
        shapes = [np.shape(block) for block in arguments[: self.views]]
        listed = isinstance(returned, (tuple, list))
        got = [np.shape(block) for block in returned] if listed else np.shape(returned)
        if got != shapes:
            raise ObjectiveError(
                f"{self.__name__!r} returned shapes {got}, expected a matrix for each view, "
                f"of shapes {shapes}"
            )
        return np.concatenate([np.asarray(block, np.float64).ravel() for block in returned])


def _blocks(M: Traced, widths: list[int]) -> list[Traced]:
    """The matrices whose entries M has, one after another."""
    r = prod(M.shape) // sum(widths)
    found, first = [], 0
    for width in widths:
        found.append(M[first : first + width * r].reshape(width, r))
        first += width * r
    return found
