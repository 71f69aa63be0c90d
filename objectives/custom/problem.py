"""Problems of custom objectives: f of all rows in memory, or summed over chunks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.custom.backends import Arguments, Backend, Traced
from ldr.objectives.data.array_types import Matrix
from ldr.objectives.data.data import Beside, Samples
from ldr.objectives.families.row_sum import RowTerm, part_rows
from ldr.objectives.problem import BoundObjective
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Point, read_only
from ldr.solvers.solver import AnySolver
from ldr.solvers.trust_region import GradientsFirst

if TYPE_CHECKING:
    from ldr.objectives.custom.function import CustomObjective


class CustomPoint(Point):
    """Value, gradient and Hessian of f at M, of -f if f is maximised.

    - M (d, r): the point at which f is evaluated
    - arguments: arguments of f after M
    """

    def __init__(self, term: FunctionTerm, M: Array, arguments: Arguments) -> None:
        self.M = M
        self._sign, self._derivatives = term.objective.sign, term.derivatives
        self._arguments = arguments

    @cached_property
    def _evaluated(self) -> tuple[Callable[[], Traced], ...]:
        return self._derivatives.evaluate(self.M, self._arguments)

    @cached_property
    def _of_user(self) -> Traced:
        return self._evaluated[0]()

    @property
    def returned(self) -> Traced:
        """The value of f; under jax possibly only an object with the value's shape and dtype."""
        return self._derivatives.returned(self.M, self._arguments, lambda: self._of_user)

    @cached_property
    def value(self) -> float:
        return self._sign * float(self._of_user)

    @cached_property
    def gradient(self) -> Array:
        return self._sign * self._evaluated[1]()

    @cached_property
    def _hessian(self) -> Callable[[Array], Array]:
        return self._derivatives.hessian(self.M, self._arguments)

    def hessian_vector(self, V: Array) -> Array:
        return self._sign * self._hessian(V)

    def one_product(self, V: Array) -> Array:
        """Return a single Hessian product at this point; nothing is cached."""
        return self._sign * self._derivatives.hessian_vector(self.M, V, self._arguments)


@dataclass(frozen=True)
class FunctionTerm(RowTerm):
    """f of some rows, which are centred by the mean of all rows if `center` is True.

    - means (d,): column means of each view; zero if rows are not centred
    - weighted: True if f accepts weights of the rows
    """

    objective: CustomObjective
    means: tuple[Array, ...]
    weighted: bool = False

    @property
    def derivatives(self) -> Backend:
        """Backend with the derivatives of f, or of the weighted sum over rows."""
        return self.objective.of_rows if self.weighted else self.objective.derivatives

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.derivatives.has_hessian

    def first(self, M: Array, rows: Samples, *beside: Beside) -> tuple[float, Array]:
        point = self._at(M, rows, beside)
        return point.value, point.gradient

    def second(self, M: Array, V: Array, rows: Samples, *beside: Beside) -> Array:
        return self._at(M, rows, beside).one_product(V)

    def _at(self, M: Array, rows: Samples, beside: tuple[Beside, ...]) -> CustomPoint:
        return CustomPoint(self, M, self.arguments(rows, *beside))

    def arguments(self, rows: Samples, *beside: Beside) -> Arguments:
        """Return f's arguments after M, placed on its device: views, a response, weights."""
        views = [one for one in (rows, *beside) if isinstance(one, Samples)]
        seen = [self._seen(view, mean) for view, mean in zip(views, self.means, strict=True)]
        others = [one for one in beside if not isinstance(one, Samples)]
        weights: tuple[Array, ...] = ()
        if self.weighted:
            weights = (np.ones(rows.n) if rows.weights is None else rows.weights,)
        place = self.derivatives.place
        return place(*seen, *others, *weights, accelerator=rows.accelerator)

    def _seen(self, rows: Samples, mean: Array) -> Matrix:
        if rows.is_sparse:
            return rows.array.astype(np.float64, copy=False)
        X = rows.dense()  # a copy, because the user's function may change the rows
        return read_only(X - mean if self.objective.center else X)


@dataclass(frozen=True)
class CustomProblem(BoundObjective):
    """f of rows in memory, or -f if f is maximised, with M in the user's columns.

    - arguments: arguments of f after M
    - products: True if Hessian products exist
    """

    manifold: Manifold
    term: FunctionTerm
    arguments: Arguments
    products: bool = field(default=True, kw_only=True)

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.products and self.term.has_hessian

    @property
    def _first_product_is_dear(self) -> bool:
        M = np.zeros(self.manifold.shape)
        return self.term.derivatives.first_product_is_dear(M, self.arguments)

    def specialist(self) -> AnySolver | None:
        return GradientsFirst() if self._first_product_is_dear else None

    def for_curvature(self) -> CustomProblem:
        return replace(self, products=False) if self._first_product_is_dear else self

    def at(self, M: Array) -> CustomPoint:
        return CustomPoint(self.term, M, self.arguments)

    def of_rows(self, where: slice) -> CustomProblem:
        """Return the problem restricted to a slice of rows."""
        return replace(self, arguments=tuple(array[where] for array in self.arguments))


@dataclass(frozen=True)
class SummedProblem(CustomProblem):
    """A sum over rows in memory, evaluated by a single call; a `Sum` for stochastic solvers."""

    @property
    def _starts(self) -> range:
        n = len(self.arguments[0])
        return range(0, n, part_rows(n, self.manifold.shape[0]))

    @property
    def parts(self) -> int:
        return len(self._starts)

    def each_part(self, order: np.random.Generator) -> Iterator[CustomProblem]:
        starts = self._starts
        for start in order.permutation(starts):
            yield self.of_rows(slice(start, start + starts.step))
