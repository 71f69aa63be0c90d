"""The points that a solver starts from: the heuristic, the objective's own, random, given ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ldr.inputs import as_generator
from ldr.objectives.data.data import Data
from ldr.objectives.problem import BoundObjective
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.errors import ArgumentError, TimeLimitError
from ldr.solvers.manifolds import Array
from ldr.types import Start

Made = TypeVar("Made")

# The name of a start that is an array.
GIVEN = "given"


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """What a function gives, made when it is first asked for."""
    made: list[Made] = []

    def asked() -> Made:
        if not made:
            made.append(make())
        return made[0]

    return asked


def uses_own_starts(start: Start, count: int | None) -> bool:
    """Whether the objective's own starts are wanted: they can cost as much as an iteration."""
    if isinstance(start, str):
        return start != "random" and (count != 1 or start != "baseline")
    return count is not None and count > 1


def own_starts(problem: BoundObjective, start: Start, baseline: Array | None) -> dict[str, Array]:
    """The objective's own starts; none where the time is over and the heuristic will do."""
    try:
        return problem.starts()
    except TimeLimitError:
        if start != "baseline" or baseline is None:
            raise
        return {}


def points_from(
    problem: BoundObjective,
    start: Start,
    first: Array,
    named_starts: Mapping[str, Array],
    count: int | None,
    rng: Callable[[], np.random.Generator],
) -> dict[str, Array]:
    """`count` points to solve from: the first, then the objective's own, then random ones.

    Without a count, the first and, where that is the baseline, the objective's own.

    One of the objective's own that is the first itself gives it its name and comes once.
    """
    name = start if isinstance(start, str) else GIVEN
    others = {}
    for own, point in named_starts.items():
        if np.array_equal(point, first):
            name = own
        else:
            others[own] = point
    if count is None:
        count = 1 + len(others) if isinstance(start, str) and start == "baseline" else 1
    points = dict(list({name: first, **others}.items())[:count])
    for k in range(1, count - len(points) + 1):
        points[f"random {k}"] = problem.random_point(rng())
    return points


def as_random(random_state: int | np.random.Generator | None) -> Callable[[], np.random.Generator]:
    """The generator, for whoever asks for it: the system's entropy takes as long as statistics."""
    if random_state is None:
        return once(np.random.default_rng)
    rng = as_generator(random_state)
    return lambda: rng


def start_point(
    start: Start,
    problem: BoundObjective,
    data: Data,
    baseline: Array | None,
    named_starts: Callable[[], Mapping[str, Array]],
    rng: Callable[[], np.random.Generator],
) -> Array:
    if isinstance(start, str):
        if start == "random" or (start == "baseline" and baseline is None):
            return problem.random_point(rng())
        if start == "baseline":
            assert baseline is not None
            return baseline
        own = named_starts()
        if start in own:
            return own[start]
        known = ", ".join(map(repr, ("baseline", "random", *own)))
        raise ArgumentError(f"start must be one of {known}, or an array, got {start!r}")
    given = start if len(data.views) > 1 else (start,)
    count = len(data.views)
    if not isinstance(given, (tuple, list)) or len(given) != count:
        raise ArgumentError(f"start must be {count} arrays, one a view")
    shapes = [M.shape for M in problem.lift(problem.random_point(np.random.default_rng(0)))]
    matrices = [_start_matrix(M, shape) for M, shape in zip(given, shapes, strict=True)]
    return problem.lower(matrices)


def _start_matrix(given: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """A start of the user's as a matrix of full rank."""
    try:
        M = np.asarray(given)
    except ValueError:
        raise ArgumentError(f"start must be an array of shape {shape}") from None
    if M.dtype.kind not in "biuf":
        raise ArgumentError(f"start must hold real numbers, but its type is {M.dtype}")
    if M.shape != shape:
        raise ArgumentError(f"start has shape {M.shape}, expected {shape}")
    M = M.astype(np.float64)
    if not np.isfinite(M).all():
        raise ArgumentError("start has NaN or infinite entries")
    if not SMALLEST <= np.abs(M).max() <= LARGEST:
        raise ArgumentError(
            f"start has a largest entry of {np.abs(M).max():.1e}, expected one between "
            f"{SMALLEST:.0e} and {LARGEST:.0e}"
        )
    rank = int(np.linalg.matrix_rank(M))
    if rank < shape[1]:
        raise ArgumentError(f"start has rank {rank}, expected {shape[1]}, its number of columns")
    return M
