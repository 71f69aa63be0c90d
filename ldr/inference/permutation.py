"""`ldr.permutation_test`: whether an optimum is more than the best of nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldr.doors import in_words
from ldr.inference.chunks import Chunk, chunk_size
from ldr.inference.engine import Optima, optima
from ldr.inference.nulls import NULLS, Null
from ldr.inference.stepwise import canonical_bases, exceedances, pairs_of
from ldr.inputs import as_generator, as_objective, as_seconds
from ldr.objectives.objective import Objective
from ldr.solvers.checks import whole
from ldr.solvers.limits import complete, within
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.records import dataclass
from ldr.solving import solve
from ldr.types import Argument, PerRow, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.plots.canvas import Panels

# A permuted value counts as reaching the value where it is this near, relative: it is the same.
_SAME = 1e-10


@dataclass(frozen=True, eq=False)
class PermutationTest(Pickled):
    """An optimum beside those of data in which there is nothing to be found.

    Attributes
    ----------
    objective : Objective
    r : int
    kind : str
        Of the null; `ldr.inference.NULLS` has them in words.
    value : float
        The objective at its optimum.
    null : ndarray (permutations,)
        The optima of permuted data.
    p_value : float
        (1 + the permutations at least as good) / (1 + permutations).
    error : float
        Standard error of the p-value, of so many permutations.
    p_values : tuple of float or None
        Of each direction, none smaller than the one before. For cca and lda, classical or not, and
        sir those of the canonical correlations (of the columns with the classes, the slices),
        tested one after the other; for other methods with a number for every direction, of each
        number against the best of permuted data, which is conservative after the first (against
        the k-th of permuted data it would be far too small). None where directions have no
        numbers.
    """

    question: ClassVar[str] = "Is it more than chance?"

    objective: Objective
    r: int
    kind: str
    value: float
    null: Array
    p_value: float
    error: float
    p_values: tuple[float, ...] | None

    def plot(self, *, ax: Panels = None) -> Figure:
        """The permuted values, and where the value stands; see `ldr.plots.permutation_test`."""
        from ldr.plots import permutation_test

        return permutation_test(self, ax=ax)

    def __repr__(self) -> str:
        low, middle, high = np.quantile(self.null, (0.05, 0.5, 0.95))
        lines = [
            f"{self.objective!r}, r = {self.r}: {len(self.null)} permutations",
            f"  value     {self.value:.6g}",
            f"  null      {middle:.6g} (median), {low:.6g} to {high:.6g} (5 % to 95 %)",
            f"            {NULLS[self.kind]}",
            f"  p-value   {self.p_value:.3g} +- {self.error:.1g}",
        ]
        if self.p_values is not None:
            lines.append("  of each direction  " + "  ".join(f"{p:.3g}" for p in self.p_values))
        return "\n".join(lines)


@in_words
def permutation_test(
    objective: str | Objective,
    X: Rows,
    r: int,
    *,
    y: PerRow = None,
    permutations: int = 999,
    null: str = "auto",
    groups: PerRow = None,
    standardise: bool = False,
    stop_after: int | None = None,
    workers: int = -1,
    time_limit: float | None = None,
    progress: Callable[[int, int], object] | None = None,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> PermutationTest:
    """Whether an optimum is more than what the method finds where there is nothing.

    The method optimises, so that its value is large for noise too: it is compared with its optima
    on permuted data, each found in the same way. Methods with an eigen-solution take thousands of
    permutations a second, see `ldr.solve_many`.

    Source: Phipson and Smyth 2010 (the p-value is never 0); Besag and Clifford 1991 (stopping);
    Winkler, Renaud, Smith and Nichols 2020 (steps).

    Parameters
    ----------
    objective, X, r, y
        As in `ldr.solve`; the rows are brought into memory.
    permutations : int
    null : {"auto", "response", "groups", "second view", "background", "columns", "rows", "shift"}
        What is permuted: y for methods of labels or a response, that of whole groups where all rows
        of each group have the same, the rows of the second view, which
        rows belong to the background, every column by itself where there is X alone, the order of
        the rows for methods of time series. The last says only that rows are not white noise, which
        every autocorrelated series rejects. "shift" shifts y, the second view or every column in a
        circle: each keeps its autocorrelation. It is right for stationary series only, and its
        p-value for one thing against another is at least 1/n.
    groups : array (n,), optional
        Blocks, subjects: rows change places only inside a group, or y is permuted between whole
        groups. For methods of time order they are trials, as in `ldr.solve`.
    standardise : bool
        Divide the columns by their standard deviations first.
    stop_after : int, optional
        Stop at so many permutations that are at least as good: the p-value is their share, and no
        smaller than what more permutations would say.
    workers : int
        Of threads; -1 is one for every core.
    time_limit : float, optional
        Seconds, after which the permutations that were done count.
    progress : callable, optional
        Called with the permutations done and all of them.
    random_state : int or Generator, optional
    **parameters
        Of the objective, where it is given by name.

    Returns
    -------
    PermutationTest
        With `plot()`. After Ctrl-C it is of the permutations that were done, and a warning says how
        many.

    Raises
    ------
    ldr.errors.ArgumentError
        A null that does not fit the method; an objective of distances.
    ldr.errors.DataError
        As `ldr.solve` raises; groups that do not fit.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = ldr.permutation_test("lda", X / X.std(axis=0), 2, y=y, random_state=0)
    >>> found.p_value, found.p_values
    (0.001, (0.001, 0.001))
    """
    objective = as_objective(objective, parameters)
    whole("permutations", permutations, 1)
    if stop_after is not None:
        whole("stop_after", stop_after, 1)
    rng = as_generator(random_state)
    hypothesis = Null.of(objective, X, y, null, groups, standardise)
    options: dict[str, Argument] = {
        "certify": False,
        "random_state": int(rng.integers(2**31)),
    }  # the same starts
    own = hypothesis.own()
    with within(as_seconds(time_limit)):
        given, labels = own.problem(0)
        value = solve(objective, given, r, y=labels, groups=own.trials, **options).value
        size = _batch(objective, hypothesis, workers)
        sizes = [min(size, permutations - first) for first in range(0, permutations, size)]

        def batches() -> Iterator[Optima]:
            better = done = 0
            for count in sizes:
                drawn = _drawn(hypothesis, count, rng)
                part = optima(objective, drawn, r, workers=workers, with_maps=False, **options)
                done += count
                better += _as_good(part.values, value, objective.sense)
                if progress is not None:
                    progress(done, permutations)
                yield part
                if stop_after is not None and better >= stop_after:
                    return

        parts = complete(batches(), len(sizes), "batches of permutations")
    found = Optima.joined(parts)
    better, count = _as_good(found.values, value, objective.sense), len(found.values)
    stopped = stop_after is not None and better >= stop_after and count < permutations
    p = better / count if stopped else (1 + better) / (1 + count)
    return PermutationTest(
        objective,
        r,
        hypothesis.kind,
        value,
        found.values,
        p,
        math.sqrt(p * (1.0 - p) / count),
        _of_directions(objective, hypothesis, found, optima(objective, [own], r), count, rng),
    )


def _batch(objective: Objective, null: Null, workers: int) -> int:
    """Permutations between two looks at the clock: a few chunks of every worker."""
    threads = (os.cpu_count() or 1) if workers < 0 else workers
    if not objective.stacks:
        return 4 * threads
    return 2 * threads * chunk_size(null.views)


def _drawn(null: Null, count: int, rng: np.random.Generator) -> Iterator[Chunk]:
    size = chunk_size(null.views)
    for first in range(0, count, size):
        yield null.draw(min(size, count - first), rng)


def _as_good(values: Array, value: float, sense: str) -> int:
    """How many of the values are as good as the value, but for rounding."""
    slack = _SAME * abs(value)
    good = values >= value - slack if sense == "max" else values <= value + slack
    return int(np.sum(good))


def _of_directions(
    objective: Objective,
    null: Null,
    found: Optima,
    own: Optima,
    count: int,
    rng: np.random.Generator,
) -> tuple[float, ...] | None:
    """The p-value of each direction; none is smaller than the one before."""
    pair = pairs_of(objective, null)
    r = own.maps[0].shape[1]
    if pair is not None:
        d, U, V = canonical_bases(*pair)
        counts = np.zeros(len(d), dtype=np.intp)
        for first in range(0, count, chunk_size(pair)):
            orders = null.orders(rng, min(chunk_size(pair), count - first))
            counts += exceedances(U, V, d, orders)
        reached = counts[:r]
    elif (numbers := own.sizes(objective)) is not None and (
        drawn := found.sizes(objective)
    ) is not None:
        best, numbers = drawn[:, 0], numbers[0]
        sense = "min" if numbers[0] < numbers[-1] else "max"
        if r == 1:  # nothing beside it tells whether the number is to be large
            best, numbers, sense = found.values, own.values, objective.sense
        reached = np.array([_as_good(best, number, sense) for number in numbers])
    else:
        return None
    return tuple(float(p) for p in np.maximum.accumulate((1 + reached) / (1 + count)))
