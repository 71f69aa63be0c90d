"""`ldr.permutation_test`: an optimum beside its null distribution."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from ldr.inference.many import Chunk, Solutions, chunk_size, optima
from ldr.inference.nulls import Null
from ldr.inference.parametric import canonical_bases, exceedances, pairs_of
from ldr.inputs import as_generator, as_objective, as_seconds
from ldr.objectives.objective import Objective
from ldr.solvers.checks import Pickled, whole
from ldr.solvers.deadline import complete, within
from ldr.solvers.errors import SingularError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import Argument, PerRow, Rows
from ldr.validation import in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.plots.canvas import Panels

# Relative difference up to which values are equal: solutions agree to about 1e-12.
_SAME = 1e-10


@dataclass(frozen=True, eq=False)
class PermutationTest(Pickled):
    """Optimal value, its null distribution by permutations, and p-values.

    Attributes
    ----------
    objective : Objective
    r : int
    kind : str
        How samples change places: "rows", "within", "groups" or "shift".
    words : str
        The permuted samples or columns, and the null hypothesis.
    value : float
        The objective at its optimum.
    null : ndarray (permutations,)
        The optima of permuted data.
    p_value : float
        (1 + the permutations at least as good) / (1 + permutations).
    error : float
        Standard error of the p-value, of so many permutations.
    p_values : tuple of float or None
        One of each direction, none smaller than the one before. For cca and lda, classical or not,
        and sir those of the canonical correlations (of the columns with the classes, the slices),
        with the ridge, tested one after the other; of lda the ridge is in units of the covariance
        of all samples there. For other methods with a number for every direction, and with
        shrinkage, of each number against the best of permuted data, which is conservative after the
        first (against the k-th of permuted data it would be far too small). NaN where every
        permutation has the same number, or there is no such direction. None where directions have
        no numbers.
    """

    question: ClassVar[str] = "Is it more than chance?"

    objective: Objective
    r: int
    kind: str
    words: str
    value: float
    null: Array
    p_value: float
    error: float
    p_values: tuple[float, ...] | None

    def plot(self, *, ax: Panels = None) -> Figure:
        """Plot the null distribution and the value; see `ldr.plots.permutation_test`."""
        from ldr.plots import permutation_test

        return permutation_test(self, ax=ax)

    def __repr__(self) -> str:
        low, middle, high = np.quantile(self.null, (0.05, 0.5, 0.95))
        lines = [
            f"{self.objective!r}, r = {self.r}: {len(self.null)} permutations",
            f"  value     {self.value:.6g}",
            f"  null      {middle:.6g} (median), {low:.6g} to {high:.6g} (5 % to 95 %)",
            f"            {self.words}",
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
    """Permutation test of the optimal value, and of each direction.

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
    null : {"auto", "rows", "within", "groups", "shift"}
        How samples change places. What changes places is y for methods of labels or a response, the
        samples of all views but the first, those of samples and background together, every column
        by itself where there is X alone, the order of the samples for methods of time series (which
        says only that they are not white noise).

        - "rows": all samples, which are independent.
        - "within": those of each group, where samples are alike (exchangeable) within groups.
        - "groups": the y of whole groups, where all samples of a group have the same, in groups of
          any sizes; of several views whole trials are paired anew, those of equal length. Groups
          must be independent and alike: under a drift over the session, which trials share, it
          rejects far too often.
        - "shift": y, the other views or every column in a circle, within groups: each keeps its
          autocorrelation. Approximate, for stationary series; the p-value is at least 1/n.

        "auto" is "rows" without groups; with them it is "groups" where y is constant in groups or
        several views have trials of equal length, else "within".
    groups : array (n,), optional
        Subjects, blocks or trials. The trials of an array (trials, time, channels) are groups
        without it. For methods of time order they are trials, as in `ldr.solve`.
    standardise : bool
        Divide the columns by their standard deviations first.
    stop_after : int, optional
        Stop at so many permutations that are at least as good: the p-value is their share, and no
        smaller than what more permutations would say.
    workers : int
        Number of threads; -1 is one for every core.
    time_limit : float, optional
        Seconds, after which the permutations that were done count.
    progress : callable, optional
        Called with the permutations done and all of them.
    random_state : int or Generator, optional
    **parameters
        Parameters of an objective that is given by name.

    Returns
    -------
    PermutationTest
        With `plot()`. After Ctrl-C it is of the permutations that were done, and a warning says how
        many.

    Raises
    ------
    ldr.errors.ArgumentError
        A null that does not fit the method; fewer than 20 distinct permutations within or of
        groups; an objective of distances.
    ldr.errors.SingularError
        So few samples that every permutation has the same value: a ridge, or shrinkage, with which
        each is solved again, makes them differ.
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
    hypothesis.check()
    options: dict[str, Argument] = {
        "certify": False,
        "random_state": int(rng.integers(2**31)),
    }  # the same starts
    own = hypothesis.own()
    with within(as_seconds(time_limit)):
        given, labels = own.problem(0)
        value = solve(objective, given, r, y=labels, groups=own.trials, **options).value
        steps = _steps(objective, hypothesis)
        if steps is not None:
            hypothesis = hypothesis.compact()
        size = _batch(objective, hypothesis, workers)
        sizes = [min(size, permutations - first) for first in range(0, permutations, size)]

        def batches() -> Iterator[Solutions]:
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
    found = Solutions.joined(parts)
    better, count = _as_good(found.values, value, objective.sense), len(found.values)
    stopped = stop_after is not None and better >= stop_after and count < permutations
    p = better / count if stopped else (1 + better) / (1 + count)
    if steps is None:
        p_values = _of_numbers(objective, found, optima(objective, [own], r))
    else:
        p_values = _of_steps(hypothesis, steps, count, rng)
    same = np.abs(found.values - value) <= _SAME * abs(value)
    if same.all() and getattr(objective, "ridge", None) == 0:
        raise _nothing_to_compare(objective, f"all {count} permutations have its value")
    return PermutationTest(
        objective,
        r,
        hypothesis.kind,
        hypothesis.words,
        value,
        found.values,
        p,
        math.sqrt(p * (1.0 - p) / count),
        None if p_values is None else tuple([*p_values.tolist(), *[math.nan] * r][:r]),
    )


def _steps(objective: Objective, null: Null) -> tuple[Array, Array, Array] | None:
    """Return the correlations and bases of the stepwise test, for methods that have one.

    - raises SingularError: Correlations of 1 are certain, because there are so few samples.
    """
    pair = pairs_of(objective, null)
    if pair is None:
        return None
    A, B, ridges = pair
    d, U, V = canonical_bases(A, B, ridges)
    if not any(ridges) and U.shape[1] + V.shape[1] > null.n - 1:
        raise _nothing_to_compare(
            objective,
            f"{null.n} samples are too few for {U.shape[1]} + {V.shape[1]} dimensions, in which "
            "every permutation has canonical correlations of 1",
        )
    return d, U, V


def _nothing_to_compare(objective: Objective, why: str) -> SingularError:
    """Return the error for data of which all permutations have the same value."""
    return SingularError(
        f"{objective.name} has nothing to be compared with: {why}; give ridge= a positive value, "
        "take fewer columns, or more samples"
    )


def _batch(objective: Objective, null: Null, workers: int) -> int:
    """Return the number of permutations between two looks at the clock."""
    threads = (os.cpu_count() or 1) if workers < 0 else workers
    if not objective.stacks:
        return 4 * threads
    return 2 * threads * chunk_size(null.views)


def _drawn(null: Null, count: int, rng: np.random.Generator) -> Iterator[Chunk]:
    size = chunk_size(null.views)
    for first in range(0, count, size):
        yield null.draw(min(size, count - first), rng)


def _as_good(values: Array, value: float, sense: str) -> int:
    """Count the values that are at least as good as one value, up to rounding."""
    slack = _SAME * abs(value)
    good = values >= value - slack if sense == "max" else values <= value + slack
    return int(np.sum(good))


def _of_steps(
    null: Null, steps: tuple[Array, Array, Array], count: int, rng: np.random.Generator
) -> Array:
    """Compute p-values of canonical correlations, each after those before it."""
    d, U, V = steps
    reached, equal = np.zeros((2, len(d)), dtype=np.intp)
    size = chunk_size((U, V))
    for first in range(0, count, size):
        orders = null.orders(rng, min(size, count - first))
        found = exceedances(U, V, d, orders, null.kind == "groups" and null.y is not None)
        reached, equal = reached + found[0], equal + found[1]
    return _increasing(reached, equal == count, count)


def _of_numbers(objective: Objective, found: Solutions, own: Solutions) -> Array | None:
    """Compute p-values of the directions' numbers against the best of permuted data."""
    numbers, drawn = own.sizes, found.sizes
    if numbers is None or drawn is None:
        return None
    best, numbers = drawn[:, 0], numbers[0]
    sense = "min" if numbers[0] < numbers[-1] else "max"
    if len(numbers) == 1:  # nothing beside it tells whether the number is to be large
        best, numbers, sense = found.values, own.values, objective.sense
    reached = np.array([_as_good(best, number, sense) for number in numbers])
    same = np.abs(best[:, None] - numbers) <= _SAME * np.abs(numbers)
    return _increasing(reached, same.all(axis=0), len(best))


def _increasing(reached: npt.ArrayLike, missing: npt.ArrayLike, count: int) -> Array:
    """Return p-values, none smaller than the one before; NaN where they are missing."""
    found = np.where(missing, np.nan, (1.0 + np.asarray(reached)) / (1.0 + count))
    return np.where(missing, np.nan, np.fmax.accumulate(found))
