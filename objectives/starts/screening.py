"""A point to start from, found among many: a look at all of them, short runs from some."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import numpy as np

from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import fourth_order_directions
from ldr.objectives.statistics.sums import counted_rows
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.loop import run_through
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Stopping

_RUNS = 5
_GROUP = 8  # points, from the lowest of which there is a run
_SHORT = Stopping(1e-6, 10)


def screened(problem: BoundObjective, X: Array, weights: Array | None = None) -> Array:
    """The lowest end of short runs from random points, the same ones at every call.

    A run starts from the lowest of each group of points: the lowest of all may be in one basin.
    """
    points = random_points(problem, X, _RUNS * _GROUP, weights)
    starts = (min(islice(points, _GROUP), key=problem.value) for _ in range(_RUNS))
    ends = [run_through(problem, M, LBFGS(), _SHORT) for M in starts]
    return min(ends, key=lambda run: run.value).M


def random_points(
    problem: BoundObjective, X: Array, count: int, weights: Array | None = None
) -> Iterator[Array]:
    """Random M that turn with the columns of X and do not depend on the order of its rows.

    They are made in the eigenvectors of E[|x|^2 x x'], with positive skewness, those in which
    something varies. X is centred.
    """
    X = X / power_of_two(X)  # fourth powers stay in range
    axes = fourth_order_directions(X, weights)
    Y = X @ axes
    axes = axes * np.where(counted_rows(Y**3, weights).sum(axis=0) < 0, -1.0, 1.0)
    lengths, (k, r) = np.linalg.norm(Y, axis=0), problem.manifold.shape
    varied = lengths > rank_tolerance(k) * lengths.max()
    rng, m = np.random.default_rng(0), int(varied.sum())
    draw, manifold = problem.random_point, cast(Any, problem.manifold)
    if r <= m < k:
        axes, draw = axes[:, varied], replace(manifold, d=m).random_point
    for _ in range(count):
        yield axes @ draw(rng)


def random_directions(problem: BoundObjective, count: int = 5) -> dict[str, Array]:
    """Random starts, always the same."""
    rng = np.random.default_rng(0)
    return {f"random direction {k + 1}": problem.random_point(rng) for k in range(count)}
