"""How methods of matrices quadratic in the rows change, by products with the rows.

With f = -tr(T'AT)/(tr T'B_1T ... tr T'B_mT)^{1/m}, a trace, a ratio or a correlation for m = 0, 1
and 2, the gradient in T is the sum of 2 f_F FT over these matrices F, f_F the derivative of f in
the trace of F. Where T'BT = I, T = LQ with L'BL = I; L stays, and with E = L'dB L the problem at t
is that of T = L(I - tE/2)Q over orthonormal Q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldr.objectives.coordinates import Columns
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array
from ldr.objectives.families.matrices import (
    CorrelationMatrices,
    Divided,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    TraceMatrices,
)
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.shrinking import matrices_of
from ldr.objectives.objective import Objective
from ldr.sensitivity.moving import Line
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.quadratic import (
    Blocks,
    Quadratic,
    QuadraticData,
    QuadraticRows,
    inner,
    projected,
)
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym

# To which value, gradient and axes agree with the method's own, or they are not used.
_ALIKE = 1e-9


@dataclass(frozen=True)
class Ratio:
    """tr A / (prod_j tr B_j)^{1/m}, maximised.

    Attributes
    ----------
    A : Quadratic
    diagonal : Quadratic
        What canonical coordinates diagonalise.
    over : sequence of Quadratic
        The B_j.
    white : sequence of Quadratic
        The B of T'BT = I, one a view; T'T = I where there are none.
    ridge : float
        Of the B, in units of the mean of each diagonal.
    residual : bool
        Whether the value is tr A of all columns less that of T.
    """

    A: Quadratic
    diagonal: Quadratic
    over: Sequence[Quadratic] = ()
    white: Sequence[Quadratic] = ()
    ridge: float = 0.0
    residual: bool = False

    @classmethod
    def of(cls, objective: Objective, data: QuadraticData) -> Ratio | None:
        """Of a method that states its matrices; None of others."""
        if isinstance(objective, NestedMethod) and objective.nested:
            return None
        found = matrices_of(objective, data)  # type: ignore[arg-type]
        ridge = found.ridge if isinstance(found, Divided) else 0.0
        over = _forms(*found.divisors) if isinstance(found, Divided) else []
        match found:
            case TraceMatrices(A=S, scale=scale):
                (A,) = _forms(S)
                return cls(scale * A, scale * A, residual=found.residual)
            case PencilMatrices(A=S, scale=scale):
                (A,) = _forms(S)
                return cls(scale * A, scale * A, white=over, ridge=ridge)
            case RatioMatrices(A=S, sign=sign):
                (A,) = _forms(S)
                return cls(sign * A, data.rows.scatter() / data.rows.n, over=over, ridge=ridge)
            case PairMatrices(K=S):
                (A,) = _forms(S)
                return cls(A, A, white=over, ridge=ridge)
            case CorrelationMatrices(K=S):
                (A,) = _forms(S)
                return cls(A, A, over=over, ridge=ridge)
        return None

    def value(self, traces: Array) -> float:
        """f, of the traces of A and of the B_j."""
        a, *b = traces
        return -float(a) / float(np.prod(b)) ** (1.0 / max(len(b), 1))

    def slopes(self, traces: Array) -> Array:
        """Its derivatives in them."""
        a, b = traces[0], traces[1:]
        first = self.value(np.array([1.0, *b]))
        return np.array([first, *(-first * a / (len(b) * b))])

    def rate_of_slopes(self, traces: Array, rates: Array) -> Array:
        """How those change with the traces."""
        a, b, db = traces[0], traces[1:], rates[1:]
        first, *others = self.slopes(traces)
        bent = -first * float(np.mean(db / b)) if len(b) else 0.0
        value = first * rates[0] + bent * a
        return np.array([bent, *(-value / (len(b) * b) - np.array(others) * db / b)])


@dataclass(frozen=True)
class Products:
    """An optimum of matrices quadratic in the rows.

    Attributes
    ----------
    optimum : Optimum
    formula : Ratio
    X : sequence of ndarray
        The rows of each view; of methods of a background, samples and background.
    frames : sequence of (ndarray or None)
        L of each view; None where T is Q.
    """

    optimum: Optimum
    formula: Ratio
    X: Blocks
    frames: Sequence[Array | None]

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> Products | None:
        """None where the method states no matrices, or rows are not all that its optimum is of."""
        problem = optimum.problem
        samples = (*data.views, *filter(None, (data.background,)))
        if any(one.marks is not None or one.is_sparse or one.stored for one in samples):
            return None
        if any(view.centre != "mean" or view.features is not None for view in problem.views):
            return None
        blocks = problem.blocks(optimum.M)
        if any(len(Q) != one.d for Q, one in zip(blocks, data.views, strict=True)):
            return None  # the coordinates move with the rows
        y = None if data.y is None else as_array(data.y)
        views = [QuadraticRows(one.n, i) for i, one in enumerate(samples)]
        formula = Ratio.of(objective, QuadraticData(views, y))
        if formula is None:
            return None
        frames: list[Array | None] = []
        for coordinates, Q in zip(problem.coordinates, blocks, strict=True):
            unit = np.eye(len(Q))
            plain = type(coordinates) is Columns
            frames.append(None if plain else coordinates.map(unit, coordinates.lift(unit)).T)
        found = cls(optimum, formula, [one.dense() for one in samples], frames)
        return found if found._holds else None

    def rate(self, line: Line) -> Rate | None:
        """None where something else than the rows moves."""
        if line.y is not None or line.weights is not None or line.parameters:
            return None
        problem, M, T, f = self.optimum.problem, self.optimum.M, self._T, self.formula
        moves = (*line.views, line.background)[: len(self.X)]
        dX = [np.zeros_like(X) if d is None else d for X, d in zip(self.X, moves, strict=True)]
        dY = projected(dX, T)

        def times(F: Quadratic, ridged: int | None = None) -> list[Array]:
            found = F.rate_of_times(self.X, T, self._Y, dX, dY)
            return self._ridged(found, ridged, F.rate_of_trace, dX)

        changes = [times(f.A), *(times(B, v) for v, B in enumerate(f.over))]
        rates = np.array([inner(T, dFT) for dFT in changes])
        value = float(self._slopes @ rates)
        if f.residual:
            value += f.A.rate_of_trace(self.X, dX)
        bent = _weighted(f.rate_of_slopes(self._traces, rates), self._times)
        straight = _weighted(self._slopes, changes)
        both = [one + other for one, other in zip(straight, bent, strict=True)]
        gradient = problem.point(self._in_coordinates(both))
        dT = [np.zeros_like(each) for each in T]
        if f.white:
            point, Q = problem.at(M), problem.blocks(M)
            of_B = [times(B, v)[v] for v, B in enumerate(f.white)]
            EQ = [problem.unit * each for each in self._in_coordinates(of_B)]
            own = problem.blocks(point.gradient)
            inside = [E @ (block.T @ g) for E, block, g in zip(EQ, Q, own, strict=True)]
            bent_by = point.hessian_vector(problem.point(EQ)) + problem.point(inside)
            gradient = gradient - 0.5 * bent_by
            value -= 0.5 * problem.unit * inner(own, EQ)
            lifted = zip(self.frames, EQ, strict=True)
            dT = [-0.5 * (each if L is None else L @ each) for L, each in lifted]
        return Rate(
            problem.manifold.project(M, gradient),
            Observed(
                tuple(each.T for each in dT),
                () if f.white else tuple(dT),
                tuple(each.mean(axis=0) for each in dX[: len(T)]),
                problem.objective.sign * value,
                self._within(times(f.diagonal), dT),
            ),
        )

    def _within(self, change: Blocks, dT: Blocks) -> Array:
        """How T'DT changes, D and T moving, in the axes' own unit."""
        if not len(matrix_of(self.optimum.axes)):
            return np.zeros((0, 0))
        own = zip(self._T, change, dT, self._diagonal_times, strict=True)
        found = np.sum([T.T @ dDT + 2.0 * d.T @ DT for T, dDT, d, DT in own], axis=0)
        return self._unit_of_axes * sym(found)

    def _ridged(
        self, found: list[Array], view: int | None, trace: Callable[..., float], *beside: Blocks
    ) -> list[Array]:
        """BT, or its rate, with the ridge that belongs to its trace, or to that of its rate."""
        if view is not None and self.formula.ridge:
            T = self._T[view]
            found[view] += self.formula.ridge * trace(self.X, *beside) / len(T) * T
        return found

    def _in_coordinates(self, G: Blocks) -> list[Array]:
        """L'G of each view, in the problem's unit."""
        pairs, unit = zip(self.frames, G, strict=True), self.optimum.problem.unit
        return [(each if L is None else L.T @ each) / unit for L, each in pairs]

    @cached_property
    def _T(self) -> list[Array]:
        return [P.T for P in self.optimum.problem.maps(self.optimum.M)]

    @cached_property
    def _Y(self) -> list[Array]:
        return projected(self.X, self._T)

    @cached_property
    def _times(self) -> list[list[Array]]:
        """AT and the B_jT."""
        f, T = self.formula, self._T
        divisors = (self._ridged(B.times(self.X, T), v, B.trace) for v, B in enumerate(f.over))
        return [f.A.times(self.X, T), *divisors]

    @cached_property
    def _diagonal_times(self) -> list[Array]:
        return self.formula.diagonal.times(self.X, self._T)

    @cached_property
    def _traces(self) -> Array:
        return np.array([inner(self._T, FT) for FT in self._times])

    @cached_property
    def _slopes(self) -> Array:
        return self.formula.slopes(self._traces)

    @cached_property
    def _axes(self) -> Array:
        """T'DT."""
        pairs = zip(self._T, self._diagonal_times, strict=True)
        return sym(np.sum([T.T @ DT for T, DT in pairs], axis=0))

    @cached_property
    def _unit_of_axes(self) -> float:
        """By what the method's own numbers are larger."""
        found = np.diag(self._axes)
        return float(self.optimum.axes.numbers @ found / (found @ found))

    @property
    def _holds(self) -> bool:
        """Whether value, gradient and axes are the method's."""
        problem, axes, f = self.optimum.problem, self.optimum.axes, self.formula
        point, value = problem.at(self.optimum.M), f.value(self._traces)
        if f.residual:
            value += f.A.trace(self.X)
        if not _same(np.array(value), np.array(point.value * problem.unit)):
            return False
        found = problem.point(self._in_coordinates(_weighted(self._slopes, self._times)))
        most = problem.point(self._in_coordinates(_weighted(self._slopes[:1], self._times[:1])))
        if not np.linalg.norm(found - point.gradient) <= _ALIKE * np.linalg.norm(most):
            return False
        S = self._unit_of_axes * self._axes
        return not len(matrix_of(axes)) or _same(S, np.diag(axes.numbers))


def _forms(*matrices: Any) -> list[Quadratic]:
    """A page's matrices, made of `QuadraticRows`, as what they are."""
    return list(matrices)


def _weighted(slopes: Array, times: Sequence[Blocks]) -> list[Array]:
    """2 sum_F f_F FT of each view."""
    return [
        2.0 * np.sum([slope * FT for slope, FT in zip(slopes, of_view, strict=True)], axis=0)
        for of_view in zip(*times, strict=True)
    ]


def _same(found: Array, expected: Array) -> bool:
    return bool(np.linalg.norm(found - expected) <= _ALIKE * np.linalg.norm(expected))
