"""Bootstrap confidence intervals: percentile intervals, or with bias and skewness correction."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ldr.errors import in_words
from ldr.inputs import as_generator, as_objective
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.objective import Objective
from ldr.resampling import Sampled
from ldr.result import Result
from ldr.solvers import errors
from ldr.solvers.checks import Pickled, number, whole
from ldr.solvers.deadline import complete
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import power_of_two
from ldr.solvers.manifolds import Array, polar_factor
from ldr.solvers.solver import Solver
from ldr.solvers.status import Status
from ldr.solving import solve
from ldr.subspaces import principal_angles
from ldr.tables import view_letters
from ldr.types import Argument, Figure, PerRow, PerView, Rows, XandY


def aligned(P: Array, reference: Array, scores: Array | None) -> Array:
    """Rotate a map P (r, d): return QP for the orthogonal Q that brings QP nearest to a reference.

    With scores (n, d) of centred samples, the distance is between projections, not between maps.
    """
    ours, theirs = P.T, reference.T
    if scores is not None:
        ours, theirs = scores @ ours, scores @ theirs
    # Both factors are scaled by powers of two, so that their product does not overflow.
    turn = polar_factor((theirs / power_of_two(theirs)).T @ (ours / power_of_two(ours)))
    return turn @ P


def bias_corrected(
    draws: Array, estimate: Array, without: Array, level: float
) -> tuple[Array, Array]:
    """Return BCa intervals: quantiles corrected for bias and jackknife skewness (Efron 1987).

    The array `draws` (b, ...) has bootstrap estimates, `without` (g, ...) jackknife estimates.
    """
    normal, count = scipy.stats.norm, len(draws)
    below = np.mean(draws < estimate, axis=0) + 0.5 * np.mean(draws == estimate, axis=0)
    bias = normal.ppf(np.clip(below, 0.5 / count, 1.0 - 0.5 / count))
    change = without.mean(axis=0) - without
    squares = np.sum(change**2, axis=0)
    skewness = np.where(squares > 0, squares, 1.0) ** -1.5 * np.sum(change**3, axis=0) / 6.0

    def end(share: float) -> Array:
        shifted = bias + normal.ppf(share)
        at = np.ravel(normal.cdf(bias + shifted / (1.0 - skewness * shifted)))
        found = map(np.quantile, draws.reshape(count, -1).T, at)
        return np.array([*found]).reshape(np.shape(estimate))

    return end((1 - level) / 2), end((1 + level) / 2)


@dataclass(frozen=True)
class Bootstrap(Pickled):
    """Bootstrap of a subspace: principal angles, values and maps of resampled data.

    Attributes
    ----------
    result : Result
        Result on all samples.
    angles : ndarray (draws, r)
        Principal angles in radians, ascending, between the span of P' of each draw and the span of
        P' of `result`; a pair of arrays for two views.
    values : ndarray (draws,)
        Optimal value of each draw.
    converged : ndarray of bool (draws,)
    maps : ndarray (draws, r, d)
        P of each draw, rotated as close as possible to P of `result` (orthogonal Procrustes). The
        rotation minimises the distance between the maps if P is orthonormal, otherwise between the
        projections of all samples. A pair of arrays for two views, with a common rotation.
    without : ndarray (groups, r, d) or None
        For each group, P without its samples, rotated like `maps`; None if ``bca=False``.
    """

    question: ClassVar[str] = "How stable are the numbers?"

    result: Result
    angles: PerView
    values: Array
    converged: np.ndarray
    maps: PerView
    without: PerView = None

    def quantiles(self, q: float | Sequence[float] = (0.05, 0.5, 0.95)) -> PerView:
        """Return quantiles of each principal angle.

        Parameters
        ----------
        q : float or sequence of float

        Returns
        -------
        ndarray (len(q), r), in radians; a pair of arrays for two views
        """
        return single([np.quantile(angles, q, axis=0) for angles in as_tuple(self.angles)])

    def interval(self, level: float = 0.9) -> PerView:
        """Return an interval for every entry of P: BCa with ``bca=True``, else percentiles.

        The maps of the draws are first rotated to be as close as possible to P. An interval
        therefore refers to the true map after a rotation that brings it as close as possible to P.

        Parameters
        ----------
        level : float
            Between 0 and 1.

        Returns
        -------
        (low, high) : ndarrays (r, d)
            For two views, one pair (low, high) for each view.

        Raises
        ------
        ldr.errors.ArgumentError
            A level that is not between 0 and 1.
        """
        number("level", level, positive=True, below=1.0)
        maps = as_tuple(self.maps)
        if self.without is None:
            ends = (1 - level) / 2, (1 + level) / 2
            return single([tuple(np.quantile(draws, ends, axis=0)) for draws in maps])
        views = zip(maps, as_tuple(self.result.P), as_tuple(self.without), strict=True)
        return single([bias_corrected(*each, level) for each in views])

    def region(self, level: float = 0.9) -> PerView:
        """Return the quantile `level` over draws of the largest principal angle, in radians.

        The angle is the radius of a confidence region around the span of P', for each view. For
        few samples the region is too small: of level .9, for lda of two classes and six columns, it
        contains the span of the population in 83 % of data sets of 100 samples, in 88 % of 400
        samples, and in 72 % of 30 groups of five samples.
        """
        number("level", level, positive=True, below=1.0)
        return single([float(np.quantile(a[:, -1], level)) for a in as_tuple(self.angles)])

    def plot_loadings(self, level: float = 0.9) -> Figure:
        """Plot every entry of P with its interval; see `ldr.plots.intervals`."""
        from ldr.plots import intervals

        return intervals(self, level)

    def plot(self) -> Figure:
        """Plot the angles over the draws; see `ldr.plots.bootstrap`."""
        from ldr.plots import bootstrap

        return bootstrap(self)

    def __repr__(self) -> str:
        several = isinstance(self.angles, tuple)
        called = self.result.view_names or view_letters(len(self.angles))
        lines = [f"{self.result.objective!r}, r = {self.result.r}: {len(self.values)} draws"]
        for k, found in enumerate(as_tuple(self.quantiles())):
            view = f" of view {called[k]}" if several else ""
            lines.append(f"  principal angles{view} in degrees: median (5 % to 95 %)")
            for i, (low, middle, high) in enumerate(np.degrees(found).T):
                lines.append(f"  {i + 1:5d}  {middle:7.3f}  ({low:.3f} to {high:.3f})")
        left = int(np.sum(~self.converged))
        if left:
            lines.append(f"  {left} draws did not converge")
        lines += [f"  solution of all rows: {note}" for note in self.result.notes]
        return "\n".join(lines)


@in_words
def bootstrap(
    objective: str | Objective,
    X: Rows,
    r: int,
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    draws: int = 100,
    block: int | None = None,
    bca: bool = False,
    solver: str | Solver = "auto",
    tolerance: float = 1e-8,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> Bootstrap:
    """Bootstrap a result: solve again for resampled samples, and compare the subspaces.

    Samples are drawn with replacement and keep their weights; if the method uses labels, they are
    drawn within classes. If `groups` are given, whole groups are drawn (the cluster bootstrap),
    within classes if each group has a single label. If data have trials, whole trials are drawn.
    Time series are drawn in blocks of `block` successive samples (the moving block bootstrap).
    Where blocks meet, successive samples are unrelated: blocks should be long compared with the
    method's lag. Repeated samples have distance zero, which distorts graphs of neighbours.
    Iterative solvers start at the M of all samples, so the draws describe only the optimum near M.

    Source: Efron 1979; Kuensch 1989 (blocks); Davison and Hinkley 1997, section 3.8 (groups).

    Parameters
    ----------
    objective, X, r, y, sample_weight, standardise, solver
        As in `ldr.solve`.
    groups : array (n,), optional
        Subject, batch or trial of each sample. Data from `ldr.trials` need no groups. If the method
        requires time order, groups are trials.
    draws : int
    block : int, optional
        Length of the blocks, required for methods of time series unless there are trials.
    bca : bool
        Correct intervals for bias and skewness (BCa), by up to 100 further solutions that each omit
        some groups. BCa is unsuitable for optima on the boundary, such as fa with a noise variance
        of zero: there BCa intervals cover too little, and percentile intervals cover well.
    tolerance : float
        As in `ldr.solve`, for the draws.
    random_state : int or Generator, optional
    **parameters
        Parameters of the objective, if `objective` is a name.

    Returns
    -------
    Bootstrap
        An object with `quantiles` and `plot`. Ctrl-C returns the completed draws, with a warning.

    Raises
    ------
    ldr.errors.ArgumentError
        `block` is missing for a method of time series, is longer than the data, or is combined with
        groups. There is only one group, or the method has a background and groups are given. The
        objective takes distances or a kernel, whose matrices cannot be resampled.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = ldr.bootstrap("orthogonal-lda", X / X.std(axis=0), 2, y=y, draws=20, random_state=0)
    >>> found.angles.shape
    (20, 2)
    """
    objective = as_objective(objective, parameters)
    sampled = Sampled.of(objective, X, y, "bootstrap", sample_weight, groups)
    whole("draws", draws, 1)
    _check(sampled, block)
    rng = as_generator(random_state)
    own: dict[str, Argument] = {"standardise": standardise, "solver": solver, "random_state": rng}
    result = solve(objective, sampled.data, r, **own)
    if any(as_tuple(result.features)):
        raise ArgumentError(
            f"the bootstrap does not support objective {objective.name!r}: its feature map is "
            "fitted to the samples, so features of different bootstrap samples do not correspond"
        )
    own["start"] = "baseline" if result.solver == "closed-form" else result.M
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt

    def again(data: XandY) -> Result:
        X, y = data
        with warnings.catch_warnings():
            # Draws whose solver does not converge give no warnings: the result counts these draws.
            warnings.simplefilter("ignore", errors.ConvergenceWarning)
            return solve(objective, X, r, y=y, tolerance=tolerance, certify=False, **own)

    drawn = (again(sampled.drawn(rng, block)) for _ in range(draws))
    found = complete(drawn, draws, "draws")
    without = [again(sampled.take(kept)) for kept in sampled.left_out(block)] if bca else []
    angles = [
        np.array([principal_angles(P.T, as_tuple(other.P)[k].T) for other in found])
        for k, P in enumerate(as_tuple(result.P))
    ]
    scores = None
    if not objective.traits.transposed:  # draws are aligned by their scores, not by their maps
        views = zip(sampled.data.views, as_tuple(result.mean), strict=True)
        scores = np.hstack([view.dense() - mean for view, mean in views])
    return Bootstrap(
        result,
        single(angles),
        np.array([other.value for other in found]),
        np.array([other.converged for other in found]),
        _turned(result, found, scores),
        _turned(result, without, scores) if bca else None,
    )


def _turned(result: Result, found: list[Result], scores: Array | None) -> PerView:
    """Rotate the maps of all draws, (draws, r, d), to the result's map, all views alike."""
    reference, widths = np.hstack(as_tuple(result.P)), [P.shape[1] for P in as_tuple(result.P)]
    maps = np.array([aligned(np.hstack(as_tuple(o.P)), reference, scores) for o in found])
    return single(np.split(maps, np.cumsum(widths)[:-1], axis=2))


def _check(sampled: Sampled, block: object) -> None:
    """Refuse resampling that the data do not allow."""
    name, groups = sampled.objective.name, sampled.groups
    if groups is None and block is None and sampled.ordered:
        raise ArgumentError(
            f"objective {name!r} needs rows in time order, which a draw of single rows "
            "would destroy: pass block=, the number of successive rows to draw together"
        )
    if groups is None and block is not None and whole("block", block, 1) > sampled.n:
        raise ArgumentError(f"block = {block} is too long: expected at most n = {sampled.n}")
    if groups is not None and block is not None:
        raise ArgumentError(
            f"block = {block!r} cannot be combined with groups or trials, which are drawn whole: "
            "leave out block="
        )
    if groups is not None and groups.max() == 0:
        raise ArgumentError("groups= has a single group; expected at least two")
    if groups is not None and sampled.data.background is not None:
        raise ArgumentError(
            f"objective {name!r} has background samples without groups: leave out groups="
        )
