"""`result.sensitivity`: the optimum as a differentiable function of its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from ldr.errors import in_words
from ldr.inputs import as_data, check_weighted
from ldr.objectives.data.data import Data, UnknownError, as_tuple, single
from ldr.objectives.objective import Objective
from ldr.objectives.problem import near
from ldr.objectives.regression import Regression
from ldr.objectives.sir import SlicedMethod
from ldr.sensitivity.derivative import Derivative
from ldr.sensitivity.influence import Influence, influence
from ldr.sensitivity.moving import Line, as_line, numbers
from ldr.sensitivity.optimum import Optimum
from ldr.solvers.errors import ArgumentError, DataError, needed
from ldr.types import PerRow, PerView, Rows

if TYPE_CHECKING:
    from ldr.result import Result
    from ldr.sensitivity.rule import Known

Found = TypeVar("Found")
# Largest relative difference between jax's value at the optimum and the value of the result.
_SAME = 1e-6


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
        dX = line.of_rows
        known = None if dX is None else self._unless_unknown(lambda known: known.rate(dX))
        return Derivative.along(self.optimum, line, known)

    def _unless_unknown(self, of: Callable[[Known], Found]) -> Found | None:
        """Apply a function to the known derivative in the rows; None if it is unknown."""
        if self.known is None:
            return None
        try:
            return of(self.known)
        except UnknownError:
            return None

    @cached_property
    def known(self) -> Known | None:
        """The optimum, if its derivative in the rows is known by products; else None."""
        from ldr.sensitivity.shapes import known  # imported late: the module loads jax

        return known(self.optimum, self.objective, self.data)

    @in_words
    def pullback(self, P: PerView) -> PerView:
        """Return the derivative in X of <P, map>, where P is the gradient of a loss.

        Methods of sums over rows, graphs, spectra, projected rows and factors have this derivative.
        With sample weights and trials only regressions and methods of covariances, lags, classes
        and graphs have this derivative. An objective of your own must be in jax.

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
            numbers(one, each.shape, "P").T for one, each in zip(given, maps, strict=True)
        ]
        found = self._unless_unknown(lambda known: known.pulled(cotangents))
        if found is not None:
            return single(tuple(found))
        raise ArgumentError(
            f"{self.objective!r} has no pullback for these data: it has derivatives only along "
            "given directions (`along`, `jax.jvp`)"
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
            "the result is of standardised columns, whose standard deviations depend on the data: "
            "scale the columns of X yourself and solve without standardise="
        )
    if any(as_tuple(result.features)):
        raise ArgumentError(
            f"the map of {result.objective.name} acts on features fitted to the data, so it has no "
            "derivative: expected a method whose map acts on the columns of X"
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
            "X has another number of columns, or another rank, than the data of the result: M "
            f"would have shape {tuple(problem.manifold.shape)}, expected {M.shape}"
        )
    problem = near(problem, M)
    value = problem.reported(problem.value(M))
    if not abs(value - result.run.value) <= _SAME * max(abs(value), abs(result.run.value)):
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
