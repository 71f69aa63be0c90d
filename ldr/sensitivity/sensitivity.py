"""`result.sensitivity`: the optimum as a function of its data, its derivatives, and influences."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.errors import in_words
from ldr.inputs import as_data, check_weighted
from ldr.objectives.data.data import Data, UnknownError, as_tuple, single
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective, like, near
from ldr.objectives.regression import Regression
from ldr.objectives.sir import SlicedMethod
from ldr.sensitivity.derivative import Derivative, Line, as_line, carried, real_numbers, same_point
from ldr.sensitivity.optimum import ALIKE, Optimum
from ldr.solvers.deadline import check
from ldr.solvers.errors import ArgumentError, DataError, needed
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.trust_region import TrustRegion, TrustState
from ldr.subspaces import distance
from ldr.types import Figure, Panels, PerRow, PerView, Rows

if TYPE_CHECKING:
    from ldr.result import Result
    from ldr.sensitivity.rule import Known


@dataclass(frozen=True)
class Sensitivity:
    """An optimum as a function of its data, the sample weights and its parameters.

    The method ``result.sensitivity(X, ...)`` returns a `Sensitivity`. Slices of a response (sir,
    save) are held fixed, because they change discontinuously with the rows.
    """

    objective: Objective
    data: Data
    r: int
    optimum: Optimum
    rows: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"{self.objective!r}, r = {self.r}: derivatives by along, pullback and influence"

    @in_words
    def along(
        self,
        X: Rows = None,
        *,
        y: PerRow = None,
        sample_weight: PerRow = None,
        **parameters: npt.ArrayLike,
    ) -> Derivative:
        """Compute the derivative along a direction: of X + t dX, y + t dy, weights, parameters.

        - X (n, d): direction of the data
        - y: direction of a numerical response
        - sample_weight (n,): direction of the sample weights, for methods that accept them
        - **parameters: directions of numeric parameters: ``ridge=1``; for a sum ``weights=(1, 0)``
        - raises ldr.errors.SingularError: the optimum is not isolated, or the problem is
          discontinuous along this direction.
        - raises ldr.errors.ArgumentError, ldr.errors.DataError: a direction in which the data
          cannot change, or a direction of another shape.
        """
        line = as_line(
            self.objective,
            self.data,
            self.r,
            X=X,
            y=y,
            sample_weight=sample_weight,
            parameters=parameters,
        )
        known, dX = None, line.of_rows
        if dX is not None and self.known is not None:
            with suppress(UnknownError):
                known = self.known.rate(dX)
        return Derivative.along(self.optimum, line, known)

    @cached_property
    def known(self) -> Known | None:
        """The optimum, if its derivative in the rows is known by products; else None."""
        from ldr.sensitivity.methods import known  # imported late: the module loads jax

        return known(self.optimum, self.objective, self.data)

    @in_words
    def pullback(self, P: PerView) -> PerView:
        """Return the derivative in X of <P, map>, where P is the gradient of a loss.

        Methods of sums over rows, graphs, spectra, projected rows and factors have this derivative.
        With sample weights and trials only regressions and methods of covariances, lags, classes
        and graphs have this derivative. An objective of your own must be in jax and
        have one view.

        - P (r, d): the gradient of a loss with respect to the map P
        - returns ndarray (n, d), or one for each view: the gradient with respect to X
        - raises ldr.errors.ArgumentError: no such derivative, or none for weights or trials.
        - raises ldr.errors.SingularError: scores of components tie.
        """
        maps = self.optimum.problem.maps(self.optimum.M)
        given = P if isinstance(P, (tuple, list)) and len(maps) > 1 else (P,)
        if len(given) != len(maps):
            raise DataError(f"P must be {len(maps)} arrays, one for each view, got {_count(P)}")
        cotangents = [
            real_numbers(one, each.shape, "P").T for one, each in zip(given, maps, strict=True)
        ]
        if self.known is not None:
            with suppress(UnknownError):
                return single(tuple(self.known.pulled(cotangents)))
        raise ArgumentError(
            f"{self.objective!r} has no reverse-mode derivatives (pullback) for these data. "
            "Derivatives exist only along given directions: use `along` or `jax.jvp`"
        )

    @in_words
    def influence(self) -> Influence:
        """Compute the influence of each row: the change of the optimum if the row is omitted.

        For each row a new problem is set up.

        - raises ldr.errors.ArgumentError: the method accepts no sample weights.
        """
        check_weighted(self.objective)
        found = influence(self.optimum, Line(self.objective, self.data, self.r))
        return replace(found, rows=self.rows)


@in_words
def sensitivity(
    result: Result,
    X: Rows,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
) -> Sensitivity:
    """Return the optimum of a result as a function of its data."""
    needed("jax", "a derivative of the optimum")
    if result.scale is not None:
        raise ArgumentError(
            "derivatives are not supported for results with standardise=True: scale the columns "
            "of X yourself and solve without standardise="
        )
    if any(as_tuple(result.features)):
        raise ArgumentError(
            f"the map of {result.objective.name} acts on features that are fitted to the data: "
            "derivatives are supported only for methods whose map acts on the columns of X"
        )
    if np.ndim(sample_weight) == 1 and not np.all(np.asarray(sample_weight)):
        raise ArgumentError(
            "sample_weight has zeros, at which only one-sided derivatives exist: leave out rows "
            "of zero weight"
        )
    data = as_data(result.objective, X, y, sample_weight, groups)
    if isinstance(result.objective, SlicedMethod):
        data = result.objective.held(data)
    problem = result.objective.bind(data, result.r)
    has_corners = isinstance(problem, Regression) and problem.has_corners
    if problem.penalty is not None or has_corners:
        raise ArgumentError(
            f"{result.objective!r} has a nonsmooth penalty, so its optimum has no derivative where "
            "a loading becomes zero; ldr.refit finds the optimum without the penalty"
        )
    M = np.array(result.run.M)
    if M.shape != tuple(problem.manifold.shape):
        raise DataError(
            "X is not the data of the result: M would have shape "
            f"{tuple(problem.manifold.shape)}, expected {M.shape}"
        )
    problem = near(problem, M)
    value = problem.reported(problem.value(M))
    if not abs(value - result.run.value) <= ALIKE * max(abs(value), abs(result.run.value)):
        raise DataError(
            f"the data differ from the data of the result: the value at M is {value:.12g}, "
            f"expected {result.run.value:.12g} as in the result"
        )
    return Sensitivity(result.objective, data, result.r, Optimum.of(problem, M), _names(X))


def _count(P: object) -> str:
    return f"{len(P)}" if isinstance(P, (tuple, list)) else f"one {type(P).__name__}"


def _names(X: Rows) -> tuple[str, ...] | None:
    """Return the names of the rows of a data frame."""
    first = X[0] if isinstance(X, tuple) else X
    return tuple(map(str, first.index)) if hasattr(first, "iloc") else None


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
    return replace(line, data=line.data.take(row == 0))(0.0)
