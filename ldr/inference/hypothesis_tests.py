"""Tests of an optimum against a null hypothesis: by permutations, and parametric."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy

from ldr.errors import in_words
from ldr.inference.many import Chunk, Orders, Solutions, chunk_size, optima
from ldr.inputs import as_generator, as_objective, as_seconds
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.objective import Objective
from ldr.objectives.sir import SAVE, SIR
from ldr.objectives.slices import sliced
from ldr.resampling import Resampling, Sampled
from ldr.scaling import Units
from ldr.solvers.checks import Pickled, choice, flag, whole
from ldr.solvers.checks import workers as check_workers
from ldr.solvers.deadline import complete, within
from ldr.solvers.errors import ArgumentError, DataError, SingularError, warn
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.linalg.rounding import TIED
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.tables import beside, text
from ldr.types import Argument, Figure, Panels, PerRow, Rows

# With fewer than 20 distinct permutations no p-value can reach 0.05.
_FEWEST = 20
# Ways to permute the samples, with their descriptions in reports.
NULLS = {
    "rows": "permuted",
    "within": "permuted within groups",
    "groups": "permuted between whole groups",
    "shift": "shifted circularly",
}
# Parts of the data that a test permutes, each with a description and the null hypothesis.
_MOVED = {
    "response": ("y", "y is independent of X"),
    "second view": ("the samples of all views but the first", "the views are independent"),
    "background": ("samples and background", "their distributions are equal"),
    "columns": ("every column by itself", "the columns are independent"),
    "order": ("the samples", "the samples are white noise (any autocorrelation rejects this)"),
}


@dataclass(frozen=True, eq=False)
class Null:
    """Null hypothesis of a method on its data; draws data under the hypothesis."""

    kind: str  # how samples are permuted: "rows", "within", "groups" or "shift"
    moved: str  # permuted data: "response", "second view", "background", "columns" or "order"
    views: tuple[Array, ...]  # arrays of shape (n, d); the last may be background data
    y: np.ndarray | None
    sampled: Sampled
    standardise: bool = False  # True if the columns are divided by their standard deviations

    @classmethod
    def of(
        cls,
        objective: Objective,
        X: Rows,
        y: PerRow,
        kind: str,
        groups: PerRow,
        standardise: bool = False,
    ) -> Null:
        """Choose the null hypothesis for data of `ldr.solve`, and load the data into memory."""
        choice("null", kind, ("auto", *NULLS, *tuple(_MOVED)[:-1]))
        sampled = Sampled.of(objective, X, y, "permutation of their rows", None, groups)
        data, codes = sampled.data, sampled.groups
        if flag("standardise", standardise):
            data = Units.of(objective, data).divided(data)
        views = tuple(view.dense() for view in data.views)
        if data.background is not None:
            views = (*views, data.background.dense())
        y = None if data.y is None else as_array(data.y)
        moved = "order" if sampled.ordered else "columns"
        moved = moved if y is None else "response"
        moved = moved if data.background is None else "background"
        moved = moved if objective.views == 1 else "second view"
        default = "rows" if codes is None else "within"
        if kind == "auto":
            kind = "groups" if _whole_groups(moved, y, codes) else default
        elif kind == "rows" and groups is not None and not sampled.ordered:
            raise ArgumentError(
                "null='rows' assumes independent samples, but groups= declares dependent samples: "
                "give either null='rows' or groups="
            )
        elif kind in _MOVED:  # names of null hypotheses in version 0.9
            if kind != moved:
                raise ArgumentError(
                    f"null={kind!r} does not fit objective {objective.name!r}, whose test permutes "
                    f"{_MOVED[moved][0]}: null must be one of {', '.join(map(repr, NULLS))}"
                )
            warn(f"null={kind!r} will become an error: write null={default!r}", FutureWarning)
            kind = default
        return cls(kind, moved, views, y, sampled, standardise)

    def check(self) -> None:
        """Refuse permutations that change nothing, and null hypotheses that do not apply."""
        groups = self.sampled.groups
        if self.moved == "background" and (self.kind != "rows" or groups is not None):
            raise ArgumentError(
                "for objectives with background data, the permutation test exchanges rows of the "
                "samples and of the background: expected null='rows' without groups=, got "
                f"null={self.kind!r}"
            )
        if self.kind not in ("within", "groups"):
            y = self.y if self.moved == "response" else None
            if not (groups is None or y is None or Resampling(groups).of_groups(y) is None):
                raise ArgumentError(
                    f"null={self.kind!r} moves y between samples, but y is constant within each "
                    "group or trial, whose samples are dependent: give null='groups'"
                )
            return
        if groups is None:
            raise ArgumentError(f"null={self.kind!r} needs groups=, the group of each sample")
        units, way_out = Resampling(groups), "null='groups', which permutes whole groups"
        if self.kind == "groups":
            way_out = "more groups"
            if self.moved == "second view":
                way_out = "more trials of equal length, or null='within'"
            elif self.moved != "response":
                raise ArgumentError(
                    "null='groups' permutes y, or one of several views, between groups, but this "
                    "method has neither: give null='within', 'rows' or 'shift'"
                )
            if self.y is not None and units.of_groups(self.y) is None:
                raise ArgumentError(
                    "null='groups' permutes the y of whole groups: expected groups= with the same "
                    "y in all samples of a group; if y varies within groups, use null='within'"
                )
        count = units.arrangements(self.kind, self.y if self.moved == "response" else None)
        if count < _FEWEST:
            raise ArgumentError(
                f"null={self.kind!r} allows {count:.0f} distinct permutation(s), so p-values are "
                f"at least 1/{count:.0f}: expected at least {_FEWEST} permutations; give {way_out}"
            )

    @property
    def words(self) -> str:
        """Description of the permuted samples or columns, and of the null hypothesis."""
        what, claim = _MOVED[self.moved]
        if self.moved == "background":
            return f"{what} permuted together: {claim}"
        if self.kind == "shift":
            return f"{what} {NULLS['shift']}: valid only for stationary series"
        if self.kind == "groups" and self.moved == "second view":
            return f"whole trials of equal length paired anew: {claim}"
        return f"{what} {NULLS[self.kind]}: {claim}"

    def compact(self) -> Null:
        """Replace views of more columns than samples by their principal component scores."""
        centred = (X - X.mean(axis=0) for X in self.views)
        views = (Z if len(Z) > Z.shape[1] else np.multiply(*_principal(Z)) for Z in centred)
        return replace(self, views=tuple(views))

    def own(self) -> Chunk:
        """Return the data without permutation."""
        return Chunk(self.views, self.y, 1, trials=self.sampled.trials)

    def draw(self, count: int, rng: np.random.Generator) -> Chunk:
        """Draw data sets under the null hypothesis."""
        (X, *others), y, views, n = self.views, self.y, self.views, self.sampled.n
        if self.moved == "background":
            both = np.vstack(views)
            orders = Resampling(np.zeros(len(both), dtype=np.intp)).permuted("rows", count, rng)
            views = both[orders[:, :n]], both[orders[:, n:]]
            if self.standardise:  # each draw has its own units, those of its samples, as the data
                units = views[0].std(axis=1, keepdims=True)
                views = tuple(view / np.where(units > 0, units, 1.0) for view in views)
        elif self.moved == "second view":
            views = (X, *(view[self.orders(rng, count)] for view in others))
        elif self.moved == "columns" or (self.moved == "order" and self.kind == "shift"):
            # One data set after the other, so that no draw depends on the size of a batch.
            orders = self.orders(rng, count * X.shape[1]).reshape(count, X.shape[1], -1)
            views = (X[orders.transpose(0, 2, 1), np.arange(X.shape[1])],)
        elif y is None:
            views = (X[self.orders(rng, count)],)
        else:
            y = y[self.orders(rng, count)]
        return Chunk(views, y, count, self.moved == "response", self.sampled.trials)

    def orders(self, rng: np.random.Generator, count: int) -> Orders:
        """Draw orders (count, n) of the samples."""
        known = self.sampled.groups
        groups = np.zeros(self.sampled.n, dtype=np.intp) if known is None else known
        return Resampling(groups).permuted(self.kind, count, rng, alike=self.moved != "response")


def _whole_groups(moved: str, y: np.ndarray | None, groups: Orders | None) -> bool:
    """Return True if whole groups are permuted by default."""
    if groups is None or moved not in ("response", "second view"):
        return False
    units = Resampling(groups)
    if y is not None:
        return len(units.sizes) > 1 and units.of_groups(y) is not None
    return len(np.unique(units.sizes)) < len(units.sizes)


def _principal(X: Array) -> tuple[Array, Array]:
    """Return the left singular vectors and the singular values of centred samples of X's rank."""
    W, s, _ = np.linalg.svd(X, full_matrices=False)
    kept = s > rank_tolerance(X.shape[1]) * s.max(initial=0.0)
    return W[:, kept], s[kept]


def canonical_bases(
    A: Array, B: Array, ridges: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array, Array]:
    """Return the canonical correlations of A and B, and their canonical variables in pairs."""
    Qa, Qb = (_whitened(X - X.mean(axis=0), ridge) for X, ridge in zip((A, B), ridges, strict=True))
    L, d, Rt = np.linalg.svd(Qa.T @ Qb)
    return np.minimum(d, 1.0), Qa @ L, Qb @ Rt.T


def _whitened(X: Array, ridge: float) -> Array:
    """Return X(X'X + gamma I)^{-1/2} in its row space, gamma in units of the mean diagonal."""
    if ridge == 0:  # without a ridge the scale of a column has no effect
        sizes = np.linalg.norm(X, axis=0)
        X = X[:, sizes > 0] / sizes[sizes > 0]
    W, s = _principal(X)
    return np.asarray(W * (s / np.sqrt(s**2 + ridge * np.mean(s**2)) if ridge else 1.0))


def _statistic(d: Array) -> Array:
    """Return -sum log(1 - d_j^2) over canonical correlations d_j in the last axis."""
    d = np.minimum(d, 1.0 - np.finfo(float).eps)
    return np.asarray(-np.sum(np.log1p(-(d**2)), axis=-1))


def pairs_of(objective: Objective, null: Null) -> tuple[Array, Array, tuple[float, float]] | None:
    """Return the two matrices whose canonical correlations a method maximises, and their ridges.

    A test permutes the first matrix. The result is None for methods that maximise no canonical
    correlations, and with shrinkage. Classes and slices are coded as indicators; the ridge of
    orthogonal-lda refers to total covariance.
    """
    ridge, y = float(getattr(objective, "ridge", 0.0)), np.asarray(null.y)
    if getattr(objective, "shrinks", False):
        return None
    if objective.name in ("orthogonal-cca", "cca") and len(null.views) == 2:
        return *null.views[::-1], (ridge, ridge)
    if objective.name in ("orthogonal-lda", "lda"):
        codes = np.unique(y, return_inverse=True)[1]
    elif isinstance(objective, SIR):
        codes = sliced(y, len(y), objective.slices)
    else:
        return None
    members = np.asarray(codes[:, None] == np.arange(codes.max()), dtype=np.float64)
    return members, null.views[0], (0.0, ridge)


@dataclass(frozen=True, eq=False)
class PermutationTest(Pickled):
    """Optimal value, its null distribution by permutations, and p-values.

    Attributes
    ----------
    objective : Objective
    r : int
    kind : str
        Kind of permutation: "rows", "within", "groups" or "shift" (see `ldr.permutation_test`).
    words : str
        Description for reports, such as "y permuted: y is independent of X".
    value : float
        Optimal value of the data.
    null : ndarray (permutations,)
        Optimal values of permuted data.
    p_value : float
        (1 + the number of permutations at least as good) / (1 + permutations); see `stop_after`.
    error : float
        Monte Carlo standard error of the p-value.
    p_values : tuple of float or None
        A p-value for each direction; none is smaller than the one before. None if directions have
        no scores. For cca, lda (orthogonal or not) and sir, the tested scores are canonical
        correlations between two views, or between X and indicators of classes or slices. For other
        methods, and with shrinkage, each score is compared with the best score of permuted data.
        That test is conservative after the first direction. A p-value is NaN if every permutation
        has the same score, or if the direction does not exist.
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
    """Test the optimal value, and each direction, by permutations.

    Optimal values are large for noise too, because the method optimises. The test therefore
    compares the value with optimal values of permuted data. For methods solved by eigenvectors,
    thousands of permutations take about a second (see `ldr.solve_many`).

    Source: Phipson and Smyth 2010 (the p-value is never 0); Besag and Clifford 1991 (stopping);
    Winkler, Renaud, Smith and Nichols 2020 (stepwise p-values).

    Parameters
    ----------
    objective, X, r, y
        As in `ldr.solve`; the samples are loaded into memory.
    permutations : int
        Number of permutations.
    null : {"auto", "rows", "within", "groups", "shift"}
        Kind of permutation. If the method uses y, y is permuted. If X has several views, the
        samples of all views but the first are permuted. If X has a background, samples and
        background are exchanged at random. In a time series the order of the samples is permuted
        (the null hypothesis is white noise). Otherwise every column of X is permuted separately.

        ``null="rows"`` permutes all samples, which are assumed independent. ``null="within"``
        permutes samples within each group; the samples of a group are assumed exchangeable.
        ``null="groups"`` exchanges y between whole groups, also of unequal sizes; y must be
        constant within each group. For several views ``null="groups"`` permutes whole trials of
        equal length, in all views but the first. ``null="groups"`` assumes that groups are
        independent and identically distributed: if trials share a drift over the session, the test
        rejects far too often. ``null="shift"`` replaces the permutation by a circular shift within
        groups, which keeps autocorrelations. The test with ``null="shift"`` is approximate and
        requires stationary series: it rejects 34 % of pairs of unrelated random walks of 200
        samples, and all pairs if both drift, so differences of such series should be tested. With
        shifts p is at least 1/n. If no groups are given, "auto" is "rows". If
        groups are given, "auto" is "groups" if y is constant within each group, or if several views
        have trials of equal length; otherwise "within".
    groups : array (n,), optional
        Subject, block or trial of each sample. If the method requires time order, groups are
        trials, as in `ldr.solve`. Data from `ldr.trials` need no groups.
    standardise : bool
        Divide the columns by their standard deviations first.
    stop_after : int, optional
        Stop after this number of permutations with values at least as good as the data's. The share
        of such permutations so far is then the p-value, which is valid too (Besag and Clifford).
    workers : int
        Number of threads; -1 is one for every core.
    time_limit : float, optional
        Limit in seconds; the test then uses the completed permutations.
    progress : callable, optional
        Function called with the number of completed permutations and the number of all.
    random_state : int or Generator, optional
    **parameters
        Parameters of the objective, if `objective` is a name.

    Returns
    -------
    PermutationTest
        An object with `plot()`. After Ctrl-C the completed permutations are used, with a warning.

    Raises
    ------
    ldr.errors.ArgumentError
        `null` does not fit the method, groups allow under 20 permutations, or X has distances
        between samples.
    ldr.errors.SingularError
        All permutations have equal values: samples are few (give ridge= or shrinkage=), or the
        value does not depend on what is permuted, such as y for principal-components-regression.
    ldr.errors.DataError
        As in `ldr.solve`, or groups that do not match the samples.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = ldr.permutation_test("orthogonal-lda", X / X.std(axis=0), 2, y=y, random_state=0)
    >>> found.p_value, found.p_values
    (0.001, (0.001, 0.001))
    """
    objective = as_objective(objective, parameters)
    whole("permutations", permutations, 1)
    threads = check_workers(workers)
    if stop_after is not None:
        whole("stop_after", stop_after, 1)
    rng = as_generator(random_state)
    hypothesis = Null.of(objective, X, y, null, groups, standardise)
    hypothesis.check()
    same_starts = int(rng.integers(2**31))
    options: dict[str, Argument] = {"certify": False, "random_state": same_starts}
    own, same = hypothesis.own(), deepcopy(rng)  # all steps of the test use the same permutations
    with within(as_seconds(time_limit)):
        given, labels = own.problem(0)
        value = solve(objective, given, r, y=labels, groups=own.trials, **options).value
        steps = _steps(objective, hypothesis)
        if steps is not None:
            hypothesis = hypothesis.compact()
        size = chunk_size(hypothesis.views)
        # Number of permuted problems that are solved between two tests of the time limit.
        batch = 2 * threads * size if objective.traits.stacks else 4 * threads

        def batches() -> Iterator[Solutions]:
            better = 0
            for of_batch in _parts(permutations, batch):
                drawn = (hypothesis.draw(len(each), rng) for each in _parts(len(of_batch), size))
                part = optima(objective, drawn, r, workers=workers, with_maps=False, **options)
                better += np.sum(_as_good(part.values, value, objective.sense))
                if progress is not None:
                    progress(of_batch.stop, permutations)
                yield part
                if stop_after is not None and better >= stop_after:
                    return

        parts = complete(batches(), -(-permutations // batch), "batches of permutations")
    found = Solutions.joined(parts)
    good = np.flatnonzero(_as_good(found.values, value, objective.sense))
    if stop_after is not None and len(good) >= stop_after:
        # The share is a valid p-value only if the last permutation counted is as good as the data.
        count = int(good[stop_after - 1]) + 1
        found, p = found.first(count), stop_after / count
    else:
        count = len(found)
        p = (1 + len(good)) / (1 + count)
    if steps is None:
        p_values = _of_numbers(found, optima(objective, [own], r))
    else:
        p_values = _of_steps(hypothesis, steps, count, same)
    equal = np.abs(found.values - value) <= TIED * abs(value)
    untested = p_values is not None and np.isnan(p_values).all()
    if equal.all() and (untested or getattr(objective, "ridge", None) == 0):
        raise _nothing_to_compare(objective, f"all {count} permutations have the value of the data")
    each = None if p_values is None else tuple([*p_values.tolist(), *[math.nan] * r][:r])
    error = math.sqrt(p * (1.0 - p) / count)
    kind, words = hypothesis.kind, hypothesis.words
    return PermutationTest(objective, r, kind, words, value, found.values, p, error, each)


def _parts(count: int, size: int) -> Iterator[range]:
    """Yield ranges of at most `size` indices."""
    return (range(k, min(k + size, count)) for k in range(0, count, size))


def _steps(objective: Objective, null: Null) -> tuple[Array, Array, Array] | None:
    """Return correlations and bases of the stepwise test; None for methods without the test."""
    pair = pairs_of(objective, null)
    if pair is None:
        return None
    d, U, V = canonical_bases(*pair)
    if not any(pair[2]) and U.shape[1] + V.shape[1] > len(U) - 1:
        raise _nothing_to_compare(
            objective,
            f"with {len(U)} samples and {U.shape[1]} + {V.shape[1]} dimensions every permutation "
            "has canonical correlations of 1",
        )
    return d, U, V


def _nothing_to_compare(objective: Objective, why: str) -> SingularError:
    """Return the error for data with the same value in all permutations."""
    ways = "give ridge= a positive value, take fewer columns, or more samples"
    if not hasattr(objective, "ridge"):
        ways = "take a smaller r, or a method whose value depends on what is permuted"
    return SingularError(
        f"the null distribution of {objective.name} is a single value: {why}; {ways}"
    )


def _as_good(values: Array, value: float, sense: str) -> np.ndarray:
    """Return True for values at least as good as the given value, up to rounding errors."""
    slack = TIED * abs(value)
    return np.asarray(values >= value - slack if sense == "max" else values <= value + slack)


def _of_steps(
    null: Null, steps: tuple[Array, Array, Array], count: int, rng: np.random.Generator
) -> Array:
    """Compute p-values of canonical correlations, each given all larger correlations.

    The first k pairs are removed from both views (Winkler, Renaud, Smith and Nichols 2020): the
    test uses G = U[pi]'V without its first k rows and columns. If the permutation pi repeats
    samples, U[pi] is orthonormalised again.
    """
    d, U, V = steps
    again = null.kind == "groups" and null.y is not None
    own, drawn = np.array([_statistic(d[k:]) for k in range(len(d))]), np.empty((count, len(d)))
    for part in _parts(count, chunk_size((U, V))):
        permuted = U[null.orders(rng, len(part))]
        G = permuted.transpose(0, 2, 1) @ V
        for k in range(len(d)):
            left = G[:, k:, k:]
            if again:
                Z = permuted[:, :, k:]
                Q = np.linalg.qr(Z - Z.mean(axis=1, keepdims=True))[0]
                left = Q.transpose(0, 2, 1) @ V[:, k:]
            drawn[part, k] = _statistic(np.asarray(np.linalg.svd(left, compute_uv=False)))
    same = np.abs(drawn - own) <= TIED * own
    return _increasing(np.sum(same | (drawn > own), axis=0), same.all(axis=0), count)


def _of_numbers(found: Solutions, own: Solutions) -> Array | None:
    """Compute p-values of the components' scores against the best score of permuted data."""
    numbers, drawn = own.sizes, found.sizes
    if numbers is None or drawn is None:
        return None
    best, numbers = drawn[:, 0], numbers[0]
    sense = "min" if numbers[0] < numbers[-1] else "max"
    if len(numbers) == 1:  # one score alone does not show whether large values are better
        best, numbers, sense = found.values, own.values, own.objective.sense
    reached = [np.sum(_as_good(best, number, sense)) for number in numbers]
    same = np.abs(best[:, None] - numbers) <= TIED * np.abs(numbers)
    return _increasing(reached, np.logical_or.accumulate(same.all(axis=0)), len(best))


def _increasing(reached: npt.ArrayLike, missing: npt.ArrayLike, count: int) -> Array:
    """Return p-values, none smaller than the one before; NaN if `missing`."""
    found = np.where(missing, np.nan, (1.0 + np.asarray(reached)) / (1.0 + count))
    return np.where(missing, np.nan, np.fmax.accumulate(found))


@dataclass(frozen=True)
class Statistic:
    """A test of one null hypothesis.

    - step: number of directions under the null hypothesis, which are accepted before the test
    - law: the null distribution, "F" or "chi2"
    - df: degrees of freedom of the null distribution
    """

    name: str
    step: int
    value: float
    law: str
    df: tuple[float, ...]
    p_value: float


def _chi2(name: str, step: int, value: float, df: float) -> Statistic:
    return Statistic(name, step, value, "chi2", (df,), float(scipy.stats.chi2.sf(value, df)))


def _F(name: str, step: int, value: float, F: float, *df: float) -> Statistic:
    return Statistic(name, step, value, "F", df, float(scipy.stats.f.sf(F, *df)))


@dataclass(frozen=True)
class ParametricTest(Pickled):
    """Sequence of significance tests: of all directions, of all but the first, and so on.

    Attributes
    ----------
    objective : Objective
    statistics : tuple of Statistic
    """

    objective: Objective
    statistics: tuple[Statistic, ...]

    def __getitem__(self, name: str) -> tuple[Statistic, ...]:
        """Return the tests of a statistic by its name, in order of the step."""
        return tuple(each for each in self.statistics if each.name == name)

    def __repr__(self) -> str:
        tests = self.statistics
        columns = {
            "  given": [f"{each.step:7d}" for each in tests],
            "statistic": [each.name for each in tests],
            "value": [text(each.value, ".5g") for each in tests],
            "distribution": [
                f"{each.law}({', '.join(f'{df:.5g}' for df in each.df)})" for each in tests
            ],
            "p-value": [text(each.p_value, ".3g") for each in tests],
        }
        head, notes = f"{self.objective!r}: is there more than so many directions?", []
        if len(self["Wilks"]) > 1:
            notes.append("  Roy: the p-value is a lower bound")
        if self["save"]:
            notes.append(
                "  save: valid only if X is Gaussian; see ldr.permutation_test for other X"
            )
        return "\n".join([head, *beside(columns), *notes])


@in_words
def parametric_test(
    objective: str | Objective, X: Rows, *, y: PerRow = None, **parameters: object
) -> ParametricTest:
    """Compute the classical tests of cca, lda, sir and save, exact or asymptotic.

    The tests of cca, lda and their orthogonal variants use the canonical correlations d_j of the
    two views, or of X and class indicators. The hypothesis that only d_1, ..., d_k are nonzero is
    tested by Wilks' lambda prod_{j>k}(1 - d_j^2), with Rao's F and Bartlett's chi-square. The
    hypothesis that all d_j are zero is also tested by Pillai's trace sum d_j^2, by Hotelling and
    Lawley's trace sum d_j^2/(1 - d_j^2), and by Roy's largest root d_1^2/(1 - d_1^2). The p-value
    of Roy's root is too small: the F statistic of Roy's root is a bound. These tests assume that
    one of the two sets of columns is Gaussian.

    For sir and save the hypothesis is that only the first k directions are informative; the
    statistics have asymptotic chi-square distributions. The statistic of sir is n times the sum of
    the eigenvalues of sir's matrix after the k-th. The statistic of save is (n/2) sum_h f_h
    ||T'W_hT||^2, where slice h contains the share f_h of the samples, and W_h is I minus its
    covariance of whitened samples. The columns of T are the directions of save after the k-th. The
    test of save assumes Gaussian X: at the level 5 % it rejects in 96 % of data sets of 200 samples
    of four exponential columns that are independent of y.

    Source: Rao 1951; Bartlett 1938; Pillai 1955; McKeon 1974; Li 1991; Shao, Cook & Weisberg 2007.

    Parameters
    ----------
    objective, X, y
        As in `ldr.solve`; "orthogonal-cca", "orthogonal-lda", "cca", "lda", "sir" or "save".
    **parameters
        Parameters of the objective, if `objective` is a name.

    Returns
    -------
    ParametricTest

    Raises
    ------
    ldr.errors.ArgumentError
        The objective has no such test or has a positive ridge, or X has trials.
    ldr.errors.DataError
        X has too few samples.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_linnerud
    >>> data = load_linnerud()
    >>> found = ldr.parametric_test("cca", (data.data, data.target))
    >>> [round(each.p_value, 3) for each in found["Wilks"]]
    [0.064, 0.949, 0.775]
    """
    objective = as_objective(objective, parameters)
    ridge = getattr(objective, "ridge", 0.0)
    if ridge > 0:
        raise ArgumentError(f"ridge = {ridge:g}: the null distribution is known for ridge = 0 only")
    null = Null.of(objective, X, y, "auto", None)
    if null.sampled.groups is not None:
        raise ArgumentError(
            "X has trials, and these tests assume independent samples: expected an array (n, d), "
            "one sample for each trial, or use ldr.permutation_test"
        )
    if isinstance(objective, (SIR, SAVE)):
        return ParametricTest(objective, tuple(_of_slices(objective, null)))
    pair = pairs_of(objective, null)
    if pair is None:
        raise ArgumentError(
            f"objective {objective.name!r} has no parametric test, expected lda, cca, "
            "orthogonal-lda, orthogonal-cca, sir or save; use ldr.permutation_test instead"
        )
    d, U, V = canonical_bases(*pair)
    return ParametricTest(objective, tuple(_of_correlations(d, len(U), U.shape[1], V.shape[1])))


def _of_correlations(d: Array, n: int, p: int, q: int) -> list[Statistic]:
    """Test the canonical correlations of p columns with q columns, of n samples."""
    if n - 1 <= p + q:
        raise DataError(
            f"{n} rows are too few: expected more than {p + q + 1} for {p} and {q} columns; use "
            "ldr.permutation_test"
        )
    wilks, bartlett = [], []
    w = n - 1 - (p + q + 1) / 2
    for k in range(len(d)):
        a, b = p - k, q - k
        log_wilks = float(np.sum(np.log1p(-(d[k:] ** 2))))
        t = math.sqrt((a**2 * b**2 - 4) / (a**2 + b**2 - 5)) if a * b > 2 else 1.0
        df2 = w * t - a * b / 2 + 1
        F = math.expm1(-log_wilks / t) * df2 / (a * b)
        wilks.append(_F("Wilks", k, math.exp(log_wilks), F, a * b, df2))
        bartlett.append(_chi2("Bartlett", k, -w * log_wilks, a * b))
    # Multivariate tests that combine the canonical correlations of all directions.
    s, ratios = len(d), d**2 / (1.0 - d**2)
    V, U, largest = float(np.sum(d**2)), float(np.sum(ratios)), float(ratios[0])
    b = n - 1 - p - q  # sample size minus 1 for the mean, minus the columns of both sets
    df1, df2 = s * max(p, q), s * (b + s)
    of_all = [_F("Pillai", 0, V, V / (s - V) * df2 / df1, df1, df2)]
    if b > 3:  # McKeon's F approximation divides by b - 3, which must be positive
        c = (b - 1 + p) * (b - 1 + q) / (b * (b - 3))
        df = 4 + (p * q + 2) / (c - 1)
        F = U * df / (p * q) * (b - 1) / (df - 2)
        of_all.append(_F("Hotelling-Lawley", 0, U, F, p * q, df))
    df1 = max(p, q)
    of_all.append(_F("Roy", 0, largest, largest * (n - 1 - df1) / df1, df1, n - 1 - df1))
    return [*wilks, *bartlett, *of_all]


def _of_slices(objective: SIR | SAVE, null: Null) -> list[Statistic]:
    """Test sir or save, using all d directions."""
    X = _whitened(null.views[0] - null.views[0].mean(axis=0), 0.0)  # columns may be collinear
    n, d = X.shape
    codes = sliced(np.asarray(null.y), n, objective.slices)
    P = np.asarray(solve(objective, X, d, y=null.y, certify=False).P)
    scores = X @ P.T
    slices, shares = [scores[codes == h] for h in range(codes.max() + 1)], np.bincount(codes) / n
    groups = len(slices)
    if isinstance(objective, SIR):
        numbers = shares @ np.array([rows.mean(axis=0) for rows in slices]) ** 2
        return [
            _chi2("sir", k, n * float(np.sum(numbers[k:])), (d - k) * (groups - k - 1))
            for k in range(min(d, groups - 1))
        ]
    changes = [np.eye(d) - np.cov(rows.T, bias=True).reshape(d, d) for rows in slices]
    found = []
    for k in range(d):
        squares = [float(np.sum(change[k:, k:] ** 2)) for change in changes]
        df = (groups - 1) * (d - k) * (d - k + 1) / 2
        found.append(_chi2("save", k, 0.5 * n * float(shares @ squares), df))
    return found
