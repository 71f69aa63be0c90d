"""Influence of each row: the change of the optimum if the row is omitted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.problem import BoundObjective, like
from ldr.sensitivity.derivative import carried, same_point
from ldr.sensitivity.moving import Line
from ldr.sensitivity.optimum import Optimum
from ldr.solvers.deadline import check
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.trust_region import TrustRegion, TrustState
from ldr.subspaces import distance
from ldr.types import Figure, Panels

# Newton's method after omission of a sample: iteration limit, relative tolerance of the gradient.
_STEPS, _NEAR = 3, 1e-3


@dataclass(frozen=True)
class Influence:
    """The influence of each row, per unit of its weight.

    The new optimum after row i is omitted follows to first order from -Hess^{-1} times the gradient
    without row i. Up to three Newton steps by conjugate gradients, preconditioned by the Hessian of
    all rows, add terms of higher order. Statistics of the rows, such as medians of distances, are
    computed without the omitted row. A time series is split at the omitted row: pairs with the row
    are dropped, and its neighbours are not paired. For large n the influence of a row is the
    influence function, the derivative in the row's weight.

    - subspace (n,): change of the projector (Frobenius norm); for several views of all projectors
    - value (n,): decrease of the objective's value if the row is omitted
    - name: name of the objective
    - rows: names of the rows, if X is a data frame
    """

    subspace: Array
    value: Array
    name: str
    rows: tuple[str, ...] | None = None

    def named(self, row: int) -> str:
        """Return a row's name, or its index from 0."""
        return self.rows[row] if self.rows else str(row)

    def largest(self, numbers: Array, count: int = 5) -> list[tuple[str, float]]:
        """Return the names and values of the rows whose values are largest in magnitude."""
        order = np.argsort(-np.abs(numbers), kind="stable")[:count]
        return [(self.named(row), float(numbers[row])) for row in order]

    def __repr__(self) -> str:
        lines = [f"{self.name}: the largest influences of {len(self.value)} rows"]
        for what, numbers in (("subspace", self.subspace), ("value", self.value)):
            told = ", ".join(f"{row} ({number:.3g})" for row, number in self.largest(numbers))
            lines.append(f"  on the {what:9} {told}")
        return "\n".join(lines)

    def plot(self, *, ax: Panels = None) -> Figure:
        """Plot the influence of each row; see `ldr.plots.influence`."""
        from ldr.plots import influence

        return influence(self, ax=ax)


def influence(optimum: Optimum, line: Line) -> Influence:
    """Compute the influence of every row, with a new optimum without this row."""
    n, weights = line.data.samples.n, line.data.samples.weights
    own = optimum.problem
    maps, whole = own.maps(optimum.M), own.reported(own.value(optimum.M))
    subspace, value = np.zeros(n), np.zeros(n)
    for i in range(n):
        check()
        weight = 1.0 if weights is None else float(weights[i])
        left = like(_without(line, 1.0 * (np.arange(n) == i), -weight), own)
        N = _optimum_of(left, optimum)
        value[i] = (whole - left.reported(left.value(N))) / weight
        moved = [distance(P.T, Q.T) for P, Q in zip(maps, left.maps(N), strict=True)]
        subspace[i] = math.sqrt(2.0) * math.hypot(*moved) / weight
    return Influence(subspace, value, own.objective.name)


def _optimum_of(problem: BoundObjective, near: Optimum) -> Array:
    """Return the optimum near a known optimum, whose Hessian is the preconditioner."""
    own, N = near.problem, same_point(near, problem)

    def inverse(N: Array, Z: Array) -> Array:
        U = near.solve(own.manifold.project(near.M, carried(problem, own, Z)))
        return problem.manifold.project(N, carried(own, problem, U))

    counted, region = RiemannianProblem(problem), TrustRegion()
    state = TrustState(counted.at(N), None, inverse)
    least = _NEAR * state.point.gradient_norm
    for _ in range(_STEPS):
        if not state.point.gradient_norm > least:
            break
        state = region.step(counted, state)
    return state.point.M


def _without(line: Line, row: Array, weight: float) -> BoundObjective:
    """Return the problem with weight 0 for a row, where rows of a series keep their positions.

    If neighbours are chosen whatever their weights, the row is removed instead.
    """
    if line.objective.traits.repeats or line.objective.traits.by_place:
        return replace(line, weights=row)(weight)
    data, kept = line.data, row == 0
    y = None if data.y is None else as_array(data.y)[kept]
    return replace(line, data=replace(data, views=(data.samples.take(kept),), y=y))(0.0)
