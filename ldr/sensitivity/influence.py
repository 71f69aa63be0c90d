"""Which rows decide: how an optimum moves where each of them is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.labels import as_array
from ldr.sensitivity.derivative import across, still
from ldr.sensitivity.moving import Line
from ldr.sensitivity.optimum import Optimum
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.plots.canvas import Panels

# Of the size of M: differences are good to its square.
_STEP = 1e-3


@dataclass(frozen=True)
class Influence:
    """The influence of each row, for each unit of its weight.

    Where row i is left out, its weight 0, the optimum moves by -Hess^{-1} of the gradient of what
    is left, to first order. All that rows choose is chosen again without it, as medians of
    distances are. A series is cut there: pairs of rows that it is in go, its neighbours are not
    joined. For many rows this is the influence function, the derivative in the row's weight.

    Attributes
    ----------
    subspace : ndarray (n,)
        How far the projector moves (Frobenius, to first order); of several views all together.
    value : ndarray (n,)
        What the row adds to the objective's value: leaving it out takes that away.
    name : str
        The objective's.
    rows : tuple of str or None
        Names of the rows, where X is a data frame.
    """

    subspace: Array
    value: Array
    name: str
    rows: tuple[str, ...] | None = None

    def named(self, row: int) -> str:
        """A row's name, or its number from 0."""
        return self.rows[row] if self.rows else str(row)

    def largest(self, numbers: Array, count: int = 5) -> list[tuple[str, float]]:
        """The names of the rows whose numbers are farthest from zero, and these."""
        order = np.argsort(-np.abs(numbers), kind="stable")[:count]
        return [(self.named(row), float(numbers[row])) for row in order]

    def __repr__(self) -> str:
        lines = [f"{self.name}: the influence of {len(self.value)} rows, the largest"]
        for what, numbers in (("subspace", self.subspace), ("value", self.value)):
            told = ", ".join(f"{row} ({number:.3g})" for row, number in self.largest(numbers))
            lines.append(f"  on the {what:9} {told}")
        return "\n".join(lines)

    def plot(self, *, ax: Panels = None) -> Figure:
        """See `ldr.plots.influence`."""
        from ldr.plots import influence

        return influence(self, ax=ax)


def influence(optimum: Optimum, line: Line) -> Influence:
    """Of every row; one problem is bound for each."""
    n = line.data.samples.n
    weights = line.data.samples.weights
    maps = optimum.problem.maps(optimum.M)
    inverses = [np.asarray(np.linalg.pinv(P), dtype=np.float64) for P in maps]
    subspace, value = np.zeros(n), np.zeros(n)
    whole = still(optimum, line, 0.0)
    for i in range(n):
        check()
        weight = 1.0 if weights is None else float(weights[i])
        without = still(optimum, *_without(line, 1.0 * (np.arange(n) == i), -weight))
        rate = whole.combined(1.0 / weight, -1.0 / weight, without)
        move = -optimum.solve(rate.gradient)
        value[i] = rate.observed.value
        rates: list[Array] = [
            dP + P for dP, P in zip(rate.observed.P, _moved(optimum, move), strict=True)
        ]
        subspace[i] = _turned(maps, inverses, rates)
    return Influence(subspace, value, optimum.problem.objective.name)


def _without(line: Line, row: Array, weight: float) -> tuple[Line, float]:
    """Its weight to 0; the row left out, where others choose it for a neighbour whatever it weighs.

    Rows of a series keep their places so.
    """
    if line.objective.repeats or line.objective.by_place:
        return replace(line, weights=row), weight
    data, kept = line.data, row == 0
    y = None if data.y is None else as_array(data.y)[kept]
    return replace(line, data=replace(data, views=(data.samples.take(kept),), y=y)), 0.0


def _moved(optimum: Optimum, move: Array) -> list[Array]:
    """How the maps change with M."""
    size = float(np.linalg.norm(move))
    step = _STEP * float(np.linalg.norm(optimum.M)) / size if size else 1.0
    ahead, behind = (optimum.problem.maps(optimum.moved(t * move)) for t in (step, -step))
    return [np.asarray(a - b) / (2.0 * step) for a, b in zip(ahead, behind, strict=True)]


def _turned(maps: Sequence[Array], inverses: Sequence[Array], rates: Sequence[Array]) -> float:
    """Length of the derivatives of the projectors P^+P, which have two orthogonal equal halves."""
    halves = ((A.T @ A, across(P, A, dP)) for P, A, dP in zip(maps, inverses, rates, strict=True))
    return float(np.sqrt(2.0 * sum(np.vdot(W, gram @ W) for gram, W in halves)))
