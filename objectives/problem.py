"""What an objective becomes when it is bound to data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes, Coordinates
from ldr.objectives.data.data import Data
from ldr.objectives.prediction import Answers, Predictor
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.view import View
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array, Grassmann, Manifold, Orthonormal, polar_factor
from ldr.solvers.problem import Problem
from ldr.solvers.run import Run
from ldr.solvers.solver import AnySolver

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel


class Stated(Protocol):
    """An `Objective`, as far as its problems look at it."""

    @property
    def name(self) -> str: ...
    @property
    def sense(self) -> str: ...
    @property
    def sign(self) -> float: ...
    @property
    def transposed(self) -> bool: ...
    @property
    def relative_improvement(self) -> bool: ...
    def check_memory(self, data: Data) -> None: ...
    def bind(self, data: Data, r: int) -> BoundObjective: ...


# What a model fits along with M, by name.
Fitted: TypeAlias = Mapping[str, float | Array]


class Rest(Protocol):
    """What is known of the columns that views leave out."""

    def certificate(self, M: Array, value: float) -> Certificate:
        """Of the user's M, with the value that is maximised, among all M."""


@dataclass(frozen=True)
class BoundObjective(Problem):
    """An objective on data: a Problem in the solver's coordinates, and the way back.

    Families subclass it. Attributes that a method sets:

    Attributes
    ----------
    objective : Stated
        The objective.
    manifold : Manifold
        Of the solver's variable.
    views : tuple of View
        The way back from the solver's coordinates, of each data matrix.
    unit : float
        Power of two by which the solver's values are smaller than the objective's.
    answers : Answers or None
        What of the data a map can be asked for besides: classes, another view.
    chosen : mapping
        Numbers of the problem that the data chose, for the result's parameters.
    rest : Rest or None
        What knows of columns that the views leave out, where what is claimed is of all.
    is_part : bool
        Whether the coordinates are a part of those of the variable: see `beyond`.
    """

    objective: Stated
    views: tuple[View, ...]
    unit: float = field(default=1.0, kw_only=True)
    answers: Answers | None = field(default=None, kw_only=True)
    chosen: Fitted = field(default_factory=dict, kw_only=True)
    rest: Rest | None = field(default=None, kw_only=True)
    is_part: bool = field(default=False, init=False)

    @property
    def baseline_exact(self) -> bool:
        """Whether the heuristic is the global optimum."""
        return False

    @property
    def has_corners(self) -> bool:
        """Whether what is minimised has a penalty that is not smooth."""
        return self.penalty is not None

    @property
    def provable(self) -> bool:
        """Whether the end of a start may be proved, after which no other is needed."""
        return False

    @property
    def easier(self) -> Sequence[Problem]:
        """With fewer local optima; solved roughly, in turn, on the way from every start."""
        return ()

    def near(self, M: Array) -> Self:
        """The function as it is approximated near M, where it is."""
        return self

    def like(self, other: Self) -> Self:
        """Of other rows, approximated from the same of them as another is, where it is."""
        return self

    def approach(self, M: Array) -> Array:
        """A better start than M, which was not given: the end of an approach from afar, say."""
        return M

    def same(self, M: Array, N: Array) -> bool:
        """Whether approaches that ended at M and at N came to the same: one run is enough."""
        return False

    @property
    def leads(self) -> bool:
        """Whether other starts may be `a_step_from` the end of the first."""
        return False

    def a_step_from(self, end: Run, M: Array) -> bool:
        """Whether a run from M would come to the end of another by its first step."""
        return False

    def hidden(self, M: Array) -> float:
        """What the rounding of the data's sums may change of the value at M, where it is known."""
        return 0.0

    def restated(
        self,
        *,
        objective: Stated | None = None,
        views: tuple[View, ...] | None = None,
        answers: Answers | None = None,
    ) -> Self:
        """The same function, as another objective's, with another way back or with answers."""
        other = copy(self)
        vars(other).update(
            objective=objective or self.objective,
            views=views or self.views,
            answers=answers or self.answers,
        )
        return other

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        """Of each view."""
        return tuple([view.coordinates for view in self.views])

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the problem."""
        return tuple(note for view in self.views for note in view.notes)

    @property
    def span(self) -> str | None:
        """The subspace that M cannot leave, in words; None where it can go everywhere."""
        spans = [c.span for c in self.coordinates if c.span is not None]
        return " and ".join(dict.fromkeys(spans)) or None

    def rewards_leaving(self, weight: float = 1.0) -> bool:
        """Whether weight * f(Q'M) may fall as M leaves the span of Q."""
        return any(not isinstance(factor, Orthonormal) for factor in self.factors)

    def beyond(self) -> Self:
        """The function of Q'M that f is of M, which may leave the span of Q: what these coordinates
        leave out has a ridge's share in it.
        """
        other = copy(self)
        vars(other).update(is_part=True)
        return other

    @property
    def factors(self) -> tuple[Manifold, ...]:
        """Of the manifold, of each view's matrix and of further parameters."""
        return self.manifold.factors

    def baseline(self) -> Array | None:
        """The heuristic's point; None of objectives that have no heuristic."""
        return None

    def starts(self) -> dict[str, Array]:
        """Points worth starting from, by name; the baseline can be one of them."""
        return {}

    def random_point(self, rng: np.random.Generator) -> Array:
        """A random start of the right scale."""
        return self.manifold.random_point(rng)

    def specialist(self) -> AnySolver | None:
        """The solver that "auto" takes, where it is not the general choice."""
        return None

    def closed_form(self) -> Array | None:
        """The global optimum where theory gives it, else None."""
        return None

    def certificate(self, M: Array) -> Certificate | None:
        """What theory knows of M; None where it knows nothing."""
        return None

    def thorough_certificate(self, M: Array) -> Certificate | None:
        """The certificate with as tight a bound as theory gives, however long it takes."""
        return self.certificate(M)

    def proof(self, M: Array) -> Certificate | None:
        """Of M's optimality, where `provable` at less than another start costs; else None."""
        return None

    def reported(self, value: float) -> float:
        """The value in the objective's own sense and units."""
        return self.objective.sign * value * self.unit

    def blocks(self, M: Array) -> list[Array]:
        """The matrices that a point stands for, one a view."""
        return self.manifold.split(M)[: len(self.views)]

    def point(self, blocks: Sequence[Array]) -> Array:
        """The point of the matrices, the inverse of `blocks`."""
        return self.manifold.join(blocks)

    def lift(self, M: Array) -> tuple[Array, ...]:
        """The user's matrices, one a view, orthonormal to the last digit where they must be."""
        lifted = [c.lift(block) for c, block in zip(self.coordinates, self.blocks(M), strict=True)]
        return tuple(
            polar_factor(M) if isinstance(factor, Orthonormal) else np.array(M)
            for factor, M in zip(self.factors, lifted, strict=False)
        )

    @property
    def exchangeable(self) -> bool:
        """Whether columns may change places and signs, those of all views alike."""
        return all(isinstance(factor, Grassmann) for factor in self.factors)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """The canonical coordinates of M, of which `seen` says how the rows vary there.

        Where the span alone matters they are the principal axes of the projected rows; of rows that
        are gone, those of M where columns count by their places, the first most. Columns that may
        change places come by their variance.
        """
        first, *others = self.factors[: len(self.views)]
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
        """The objective's own numbers of each canonical coordinate, by name; M stands in `axes`."""
        return {}

    def turned(self, M: Array, turns: Sequence[Array]) -> Array:
        """The point with the columns of each view's matrix turned."""
        blocks = self.manifold.split(M)
        views = [block @ Q for block, Q in zip(blocks, turns, strict=False)]
        return self.manifold.join([*views, *blocks[len(views) :]])

    def idle(self, M: Array) -> Sequence[Array]:
        """Tangent vectors at M, beside turns of its axes, along which nothing is said to move."""
        return ()

    def variations(self, M: Array, maps: Sequence[Array] | None = None) -> list[Variation | None]:
        """Of the rows under the maps of M, or others: at most one pass; None if rows are gone.

        Of rows with gaps, as the model at M has them.
        """
        pairs = zip(self.views, maps or self.maps(M), strict=True)
        return [None if view.scatter is None else view.scatter.variation(P) for view, P in pairs]

    def maps(self, M: Array) -> tuple[Array, ...]:
        """The linear maps P (r x d), one a view."""
        blocks = self.blocks(M)
        white = all(c.is_whitened for c in self.coordinates)  # then maps are not those of matrices
        parts = zip(self.coordinates, blocks, blocks if white else self.lift(M), strict=True)
        return tuple(c.map(block, lifted) for c, block, lifted in parts)

    def lower(self, matrices: Sequence[Array]) -> Array:
        """The point nearest to the user's matrices."""
        blocks = [c.lower(M) for c, M in zip(self.coordinates, matrices, strict=True)]
        return self.manifold.nearest(self.point(blocks))

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        """Mean of each view, subtracted before the map; of some models it is fitted with M."""
        return tuple(view.mean for view in self.views)

    def parameters(self, M: Array) -> Fitted:
        """Numbers and small matrices of a model that are fitted along with M."""
        return self.chosen

    def comparisons(self, M: Array) -> Fitted:
        """Further `parameters`, at the cost of other optima; asked for with the certificate."""
        return {}

    def value_of(self, M: Array, fitted: Fitted) -> float:
        """The function at an M that was found on other data, with what was fitted along with it.

        Raises
        ------
        ArgumentError
            That is more than a map, and cannot be carried over.
        """
        if len(self.factors) > len(self.views):
            raise ArgumentError(f"objective {self.objective.name!r} fits more than a map: no score")
        return self.near(M).value(M)

    def model(self, M: Array) -> FactorModel | None:
        """The fitted model, of likelihoods."""
        return None

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        """What is predicted of new rows, of each view; empty where nothing is.

        `maps` and `means` are those of M, or those that take their place.
        """
        return () if self.answers is None else self.answers.predictors(maps, means)

    def remarks(self, M: Array) -> list[str]:
        """What the user should know of this M, beside the notes on the problem."""
        return []


def check_dimension(r: int, k: int) -> None:
    """Refuse an r above the dimension of the space that the data leave to M."""
    if r > k:
        raise ArgumentError(
            f"r = {r} is too large: expected r <= {k}, the number of dimensions in which "
            f"the data vary"
        )
