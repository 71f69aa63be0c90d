"""Objectives bound to data, and certificates of their solutions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

import numpy as np

from ldr.objectives.prediction import Answers, Predictor
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, View, signs
from ldr.solvers.checks import Pickled
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array, Grassmann, Orthonormal, polar_factor
from ldr.solvers.problem import Problem
from ldr.solvers.solver import AnySolver

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel
    from ldr.objectives.objective import Objective


# Largest optimality gap of a "global" optimum, relative to the magnitude of the value's terms.
PROVED_GLOBAL = 1e-8

# Message for an optimality gap that is at the level of rounding errors.
NEARLY_COLLINEAR = (
    "the columns are nearly collinear, so that rounding errors of the data and of sums over rows "
    "may hide a better M"
)


@dataclass(frozen=True)
class Certificate(Pickled):
    """Certificate of optimality of the returned M.

    Attributes
    ----------
    kind : {"global", "restricted", "bound", "local", "saddle", "none"}
        The claim that is proved. The kind "global" means that no M is better, up to `gap`.

        The kind "restricted" means that no M in the subspace named in the message is better by more
        than `gap`; an M outside of this subspace may be better. The kind "bound" means that no M is
        better by more than `gap`. The kind "local" means that M is a local optimum. The kinds
        "bound" and "local" also refer to a subspace if the message begins with "within". The kind
        "saddle" means that M is a saddle point. The kind "none" means that nothing is proved.
    gap : float
        Optimality gap: an upper bound of the difference between the global optimum and the value,
        in the objective's units; infinite if no bound is known. For traces and trace ratios the
        bound includes rounding errors made after the matrices were stored.
    message : str
        Reason why the claim holds, or why nothing is proved.
    curvature : float or None
        Smallest eigenvalue of the Riemannian Hessian at M, if `kind` is "local" or "saddle".
    """

    kind: str
    gap: float
    message: str
    curvature: float | None = None

    @classmethod
    def of_gap(
        cls, gap: float, none: float, proved: str, bounded: str, unbounded: str = ""
    ) -> Certificate:
        """Return a "global" certificate if gap <= `none`, else "bound"; "none" without a bound."""
        if gap <= none:
            return cls("global", gap, proved)
        if unbounded and gap == math.inf:
            return cls("none", gap, unbounded)
        return cls("bound", gap, bounded)

    @classmethod
    def of_rounded_gap(
        cls,
        missed: float,
        doubt: float,
        none: float,
        proved: str,
        bounded: str,
        span: str | None,
        restricted: bool,
    ) -> Certificate:
        """Return `of_gap` of missed + doubt, where doubt bounds the rounding errors.

        The certificate holds within `span` if it is restricted, or if rounding errors hide the gap:
        they may also hide variation outside of the span.
        """
        hidden = missed <= doubt
        why = NEARLY_COLLINEAR if hidden else bounded
        found = cls.of_gap(missed + doubt, none, proved, why, why if hidden else "")
        restricted = restricted or (hidden and found.kind == "bound")
        return found.restricted_to(span) if span is not None and restricted else found

    def searched(self, residual: float) -> Certificate:
        """Restrict the certificate to the subspace that matrix-vector products found."""
        if self.kind == "none":
            return self
        message = (
            "within the directions found by products from a random block, residual "
            f"{residual:.0e}: no M is better by more; it is not proved that none was missed"
        )
        return replace(self, kind="bound", message=message)

    @property
    def is_optimal(self) -> bool:
        """True if no M in the solver's feasible set is better."""
        return self.kind in ("global", "restricted")

    def restricted_to(self, span: str) -> Certificate:
        """Restrict the certificate to M in a subspace."""
        match self.kind:
            case "global":
                message = f"global within {span}; an M outside may be better: "
                return replace(self, kind="restricted", message=message + self.message)
            case "bound" | "local":
                return replace(self, message=f"within {span}: {self.message}")
        return self

    def __str__(self) -> str:
        bounded = self.is_optimal or self.kind == "bound"
        within = f" (gap at most {self.gap:.1e})" if bounded else ""
        return f"{self.kind}{within}: {self.message}"


# Type of a problem's objective, left untyped to avoid a circular import.
Stated: TypeAlias = "Objective"


# Quantities that a method estimates together with M, by name.
Fitted: TypeAlias = Mapping[str, float | Array]


@dataclass(frozen=True)
class BoundObjective(Problem):
    """An objective on data: a Problem in the solver's coordinates, mapped to the user's.

    There are subclasses for traces and for trace ratios. Methods of the library set the attributes:

    Attributes
    ----------
    objective : Objective
        Method with its parameters.
    manifold : Manifold
        Manifold of the solver's variable.
    views : tuple of View
        Map from the solver's coordinates to the columns of each data matrix.
    unit : float
        Power of two; the solver receives the values of the objective divided by it.
    answers : Answers or None
        Classes, a response or another view, if the result is to predict them; otherwise None.
    chosen : mapping
        Parameters estimated from the data, reported in the result's parameters.
    searched : float or None
        If M is restricted to the span of eigenvectors that were computed iteratively from sparse
        rows, their residual; otherwise None.

    A problem may also have these methods:

    - proof(M): a proof that M is optimal, or None; cheaper than a run from another start
    - thorough_certificate(M): a certificate with a tighter bound, at greater cost
    - comparisons(M): other optima, as parameters that are computed with the certificate
    - value_of(M, fitted): the value at M for parameters fitted on other data
    - beyond(): the function of M with parts outside of the coordinates; by default it does not
      depend on these parts
    - rewards_leaving(weight): True if weight * f may be smaller for M outside of the coordinates
    """

    objective: Stated
    views: tuple[View, ...]
    unit: float = field(default=1.0, kw_only=True)
    answers: Answers | None = field(default=None, kw_only=True)
    chosen: Fitted = field(default_factory=dict, kw_only=True)
    searched: float | None = field(default=None, kw_only=True)

    def hidden(self, M: Array) -> float:
        """Bound the rounding error of the value at M due to sums over the data; 0 if unknown."""
        return 0.0

    def baseline(self) -> Array | None:
        """Return the baseline's point; None for objectives without a baseline."""
        return None

    def starts(self) -> dict[str, Array]:
        """Return initial points by name, possibly with the baseline."""
        return {}

    def random_point(self, rng: np.random.Generator) -> Array:
        """Return a random start; unconstrained variables have the scale of the data."""
        return self.manifold.random_point(rng)

    def specialist(self) -> AnySolver | None:
        """Return the solver that "auto" selects; None for the general choice."""
        return None

    def closed_form(self) -> Array | None:
        """Return the global optimum if there is a closed form, else None."""
        return None

    def certificate(self, M: Array) -> Certificate | None:
        """Return a certificate of M by a proof for this problem, or None."""
        return None

    def reported(self, value: float) -> float:
        """Return the value of the objective from that of the minimised function."""
        return self.objective.sign * value * self.unit + 0.0  # adding 0.0 turns -0.0 into 0.0

    def blocks(self, M: Array) -> list[Array]:
        """Split a point into the matrices of the views."""
        return self.manifold.split(M)[: len(self.views)]

    def point(self, blocks: Sequence[Array]) -> Array:
        """Return the point of the views' matrices, the inverse of `blocks`."""
        return self.manifold.join(blocks)

    def lift(self, M: Array) -> tuple[Array, ...]:
        """Return the user's matrix of each view, orthonormal to machine precision if required."""
        manifold, lifted = self.manifold, []
        for view, factor, Z in zip(self.views, manifold.factors, manifold.split(M), strict=False):
            N = view.coordinates.lift(Z)
            lifted.append(polar_factor(N) if isinstance(factor, Orthonormal) else np.array(N))
        return tuple(lifted)

    @property
    def exchangeable(self) -> bool:
        """True if the value is invariant to joint permutations and sign changes of columns."""
        return all(isinstance(factor, Grassmann) for factor in self.manifold.factors)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the canonical axes of M; `seen` has the covariances of the projected rows.

        If only the span of M matters, the canonical axes are the principal axes of the projected
        rows. If `seen` has None instead of a covariance, M alone determines the axes. If the value
        does not depend on the order of M's columns, the columns are ordered by variance.
        """
        first, *others = self.manifold.factors[: len(self.views)]
        if others or not isinstance(first, Grassmann):
            variances = [np.diag(one.within) for one in seen if one is not None]
            if self.exchangeable and len(variances) == len(seen):
                return Axes.ordered(np.sum(variances, axis=0), len(seen))
            return Axes.given(first.shape[1], len(self.views))
        if seen[0] is not None:
            return Axes.principal(seen[0].within)
        (lifted,) = self.lift(M)
        return Axes.principal(lifted.T @ (np.arange(len(lifted), 0.0, -1.0)[:, None] * lifted))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the components' scores by name, for M in canonical `axes`."""
        return {}

    def variations(self, M: Array, maps: Sequence[Array] | None = None) -> list[Variation | None]:
        """Return the covariances of the components of each view (a `Variation`), in one pass.

        The covariance is None if the rows of a view can be read only once, as from an iterator. If
        entries of X are missing, the covariance is computed from the model at M.
        """
        pairs = zip(self.views, maps or self.maps(M), strict=True)
        return [None if view.scatter is None else view.scatter.variation(P) for view, P in pairs]

    def maps(self, M: Array) -> tuple[Array, ...]:
        """Return the linear map P (r x d) of each view."""
        blocks = self.blocks(M)
        # The maps of whitened views do not need M in the original columns: it is not computed.
        white = all(view.coordinates.is_whitened for view in self.views)
        parts = zip(self.views, blocks, blocks if white else self.lift(M), strict=True)
        return tuple(view.coordinates.map(block, lifted) for view, block, lifted in parts)

    def lower(self, matrices: Sequence[Array]) -> Array:
        """Return the point nearest to the user's matrices."""
        blocks = [view.coordinates.lower(M) for view, M in zip(self.views, matrices, strict=True)]
        return self.manifold.nearest(self.point(blocks))

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        """Return the mean of each view, subtracted before the map; some models estimate it."""
        return tuple([view.mean for view in self.views])

    def parameters(self, M: Array) -> Fitted:
        """Return scalars and small matrices that are estimated together with M."""
        return self.chosen

    def model(self, M: Array) -> FactorModel | None:
        """Return the fitted model of a likelihood, else None."""
        return None

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        """Return the predictor of each view; an empty tuple if the method predicts nothing.

        Predictions use `maps` and `means`, the linear maps and the means of the views at M.
        """
        return () if self.answers is None else self.answers.predictors(maps, means)

    def remarks(self, M: Array) -> list[str]:
        """Return messages on M, in addition to messages on the problem."""
        return []


@dataclass(frozen=True)
class LocalOptima(BoundObjective):
    """Base of problems with methods for a search from several initialisations."""

    @property
    def easier(self) -> Sequence[Problem]:
        """Easier problems, with fewer local optima, solved to low accuracy before each run."""
        return ()

    def approach(self, M: Array) -> Array:
        """Return an improved initial point found from M, unless M is given by the user."""
        return M

    def near(self, M: Array) -> Self:
        """Return the problem, with the approximation chosen near M if there is one."""
        return self

    def like(self, other: Self) -> Self:
        """Return the problem, with the approximation of `other` if there is one."""
        return self

    def same(self, M: Array, N: Array) -> bool:
        """Return True if the improved initial points M and N are the same local optimum."""
        return False


@dataclass(frozen=True)
class Placed:
    """A point with canonical axes, and the covariances of its components (see `Variation`).

    - M: the point in the solver's coordinates
    - matrices, maps: the user's matrix M and map P of each view
    """

    M: Array
    axes: Axes
    seen: Sequence[Variation | None]
    matrices: tuple[Array, ...]
    maps: tuple[Array, ...]

    @classmethod
    def both(cls, problem: BoundObjective, points: Sequence[Array]) -> list[Placed]:
        """Return one or two points with canonical axes, by one pass over the rows."""
        transposed = problem.objective.traits.transposed
        matrices, maps = [], []
        for M in points:
            lifted = problem.lift(M)
            matrices.append(lifted)
            maps.append(tuple([np.array(N.T) for N in lifted]) if transposed else problem.maps(M))
        every = maps[0] if len(maps) == 1 else tuple(map(np.vstack, zip(*maps, strict=True)))
        seen, r = problem.variations(points[0], every), len(maps[0][0])
        placed = []
        for k, M in enumerate(points):
            own = [one and one.of_rows(slice(k * r, (k + 1) * r)) for one in seen]
            placed.append(_turned(problem, M, matrices[k], maps[k], own))
        return placed


def _turned(
    problem: BoundObjective,
    M: Array,
    matrices: tuple[Array, ...],
    maps: tuple[Array, ...],
    seen: Sequence[Variation | None],
) -> Placed:
    """Return the point with matrices and maps rotated to canonical axes, with signs."""
    axes = problem.axes(M, seen)
    if axes.signed:
        return Placed(M, axes, seen, matrices, maps)
    flips, transposed = signs(axes.turns[0].T @ maps[0]), problem.objective.traits.transposed
    turns, varied, turned, mapped = [], [], [], []
    factors = problem.manifold.factors
    inexact = (axes.free or axes.levels) and len(factors) >= len(matrices)
    for i, (turn, N, P, one) in enumerate(zip(axes.turns, matrices, maps, seen, strict=True)):
        turns.append(Q := turn * flips)
        varied.append(one and one.turned(Q))
        Y = N @ Q
        if inexact and isinstance(factors[i], Orthonormal):
            # A Newton-Schulz step makes M orthonormal to machine precision.
            Y = 1.5 * Y - 0.5 * (Y @ (Y.T @ Y))
        turned.append(Y)
        mapped.append(np.array(Y.T) if transposed else Q.T @ P)
    return Placed(turned_point(problem, M, turns), axes, varied, tuple(turned), tuple(mapped))


Bound = TypeVar("Bound", bound=BoundObjective)


def restated(
    problem: Bound,
    *,
    objective: Stated | None = None,
    views: tuple[View, ...] | None = None,
    answers: Answers | None = None,
) -> Bound:
    """Return the problem with a new objective, new views or new `answers`."""
    other = copy(problem)
    vars(other).update(
        objective=objective or problem.objective,
        views=views or problem.views,
        answers=answers or problem.answers,
    )
    return other


def turned_point(problem: BoundObjective, M: Array, turns: Sequence[Array]) -> Array:
    """Return the point with the columns of each view's matrix rotated by `turns`."""
    blocks = problem.manifold.split(M)
    views = [block @ Q for block, Q in zip(blocks, turns, strict=False)]
    return problem.manifold.join([*views, *blocks[len(views) :]])


def certificate_of(problem: BoundObjective, M: Array) -> Certificate | None:
    """Return the certificate of M, restricted if the coordinates span only part of the columns."""
    found = problem.certificate(M)
    return found if found is None or problem.searched is None else found.searched(problem.searched)


def has_orthonormal_maps(problem: BoundObjective) -> bool:
    """Test if P has orthonormal rows, so that variances are shares of x's total variance."""
    return problem.objective.traits.transposed and all(
        isinstance(factor, Orthonormal) for factor in problem.manifold.factors
    )


def near(problem: BoundObjective, M: Array) -> BoundObjective:
    """Return the problem, with the approximation chosen near M if there is one."""
    return problem.near(M) if isinstance(problem, LocalOptima) else problem


def like(problem: BoundObjective, other: BoundObjective) -> BoundObjective:
    """Return the problem, with the approximation of `other` if there is one."""
    if isinstance(problem, LocalOptima) and isinstance(other, LocalOptima):
        return problem.like(other)
    return problem


def check_dimension(r: int, k: int) -> None:
    """Refuse an r above the dimension of the space in which the data vary."""
    if r > k:
        raise ArgumentError(
            f"r = {r} is too large: expected r <= {k}, the number of dimensions in which "
            f"the data vary"
        )
