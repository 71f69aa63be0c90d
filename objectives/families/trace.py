"""Trace of a single symmetric matrix: min or max tr(M'AM) over subspaces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldr.objectives.problem import (
    PROVED_GLOBAL,
    BoundObjective,
    Certificate,
    check_dimension,
)
from ldr.objectives.statistics.covariance import CovarianceOperator
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import IN_RANGE, Axes, span_of
from ldr.solvers.linalg.bounds import OF_SUMS, largest_sum_bound
from ldr.solvers.linalg.eigen import (
    few_of_many,
    power_of_two,
    scaled_factor,
    symmetric_eigen,
    top_eigenvectors,
)
from ldr.solvers.linalg.krylov import Ritz, block_krylov
from ldr.solvers.linalg.rounding import CANCELLED, FACTOR_ROUNDING
from ldr.solvers.manifolds import Array, Grassmann, polar_factor
from ldr.solvers.problem import Point


class TracePoint(Point):
    """f(M) = offset - scale tr(M'AM), gradient -2 scale AM, Hessian product -2 scale AV.

    If f is a sum of squares and the difference cancels, f is computed as this sum.
    """

    def __init__(self, problem: Trace, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._AM = problem.A @ M

    @cached_property
    def value(self) -> float:
        problem = self._problem
        value = problem.offset - problem.scale * float(np.vdot(self.M, self._AM))
        return problem.squares(self.M, value) if problem.is_square else value

    @cached_property
    def gradient(self) -> Array:
        return (-2.0 * self._problem.scale) * self._AM

    def hessian_vector(self, V: Array) -> Array:
        return (-2.0 * self._problem.scale) * (self._problem.A @ V)


@dataclass(frozen=True)
class Trace(BoundObjective):
    """Minimise offset - scale tr(M'AM) on the Grassmann manifold; exact by eigenvectors.

    Parameters
    ----------
    A : symmetric matrix (k x k), or with scale > 0 an operator
    scale, offset : float
        scale > 0 maximises tr(M'AM), scale < 0 minimises it.
    is_square : bool
        True if the value is a sum of squares: A is positive semidefinite and minimised, or
        maximised with the offset scale tr A.
    outside : float or None
        Eigenvalue of A in the directions outside of the coordinates, infinite if unbounded; None if
        M has no part outside of the coordinates.
    doubt : float
        Bound of the error of a sum of r eigenvalues due to rounding in A, in the objective's units.
    """

    A: Array | CovarianceOperator
    r: int
    scale: float = 1.0
    offset: float = 0.0
    is_square: bool = field(default=False, kw_only=True)
    outside: float | None = field(default=0.0, kw_only=True)
    doubt: float = field(default=0.0, kw_only=True)
    _size: float = field(default=1.0, init=False)  # power of two by which A is divided
    _by_krylov: list[Ritz] = field(default_factory=list, init=False)

    plain = True  # f depends on M through tr(M'AM) only

    def __post_init__(self) -> None:
        check_dimension(self.r, self.A.shape[0])
        if not isinstance(self.A, np.ndarray):
            return
        size = power_of_two(self.A)
        scale, unit = self.scale * size, 1.0
        if not 1.0 / IN_RANGE <= abs(scale) <= IN_RANGE:
            unit = power_of_two(np.array(abs(scale)))
        A, offset = (self.A + self.A.T) * (0.5 / size), self.offset / unit
        vars(self).update(A=A, scale=scale / unit, offset=offset, unit=unit, _size=size)

    @cached_property
    def manifold(self) -> Grassmann:  # type: ignore[override]
        return Grassmann(self.A.shape[0], self.r)

    def rewards_leaving(self, weight: float = 1.0) -> bool:
        return weight * self.scale < 0

    def at(self, M: Array) -> TracePoint:
        return TracePoint(self, M)

    @cached_property
    def _factor(self) -> Array:
        """F with F'F = A, or the -A of a sum of traces that is minimised."""
        assert isinstance(self.A, np.ndarray)
        return scaled_factor(self.A if self.offset else -np.sign(self.scale) * self.A)

    @cached_property
    def _all_squares(self) -> float:
        assert isinstance(self.A, np.ndarray)
        return abs(self.scale) * float(np.abs(np.trace(self.A)))

    def squares(self, M: Array, value: float) -> float:
        """Return the value without cancellation, as a sum of squares with A = F'F.

        Minimised values are |scale| ||FM||^2, residuals are scale ||F - FMM'||^2. For an operator A
        the factor F would take a pass over the rows: only negative values are replaced, by 0.
        """
        if not isinstance(self.A, np.ndarray):
            return max(value, 0.0)
        if value > CANCELLED * self._all_squares:
            return value
        left = self._factor @ M
        if self.offset:
            if np.abs(M.T @ M - np.eye(self.r)).max() > FACTOR_ROUNDING:
                return max(value, 0.0)  # M may be a block of a larger orthonormal matrix
            left = self._factor - left @ M.T
        return abs(self.scale) * float(np.vdot(left, left))

    def compressed(self, M: Array) -> Array:
        """Return M'AM (r x r) in the objective's units."""
        return self._size * (M.T @ (self.A @ M))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """The r extreme eigenvalues of A, and eigenvectors."""
        if isinstance(self.A, np.ndarray):
            few = self.is_square and self.scale > 0 and few_of_many(self.A, self.r)
            return self._by_products(self.A, len(self.A) // 4) if few else self._of(self.A)
        return self._by_products(self.A, self.A.most_products)

    def _of(self, array: Array) -> tuple[Array, Array]:
        sign = np.sign(self.scale)
        values, vectors = top_eigenvectors(sign * array, self.r)
        return sign * values, polar_factor(vectors)

    def _by_products(self, A: Array | CovarianceOperator, most: int) -> tuple[Array, Array]:
        """Return top eigenpairs by block Krylov; if slow, from the dense matrix, if affordable."""
        ritz = block_krylov(A, self.r, tolerance=FACTOR_ROUNDING, most_products=most)
        if not ritz.converged:
            array = A if isinstance(A, np.ndarray) else A.array()
            if array is not None:
                return self._of(array)
        self._by_krylov.append(ritz)
        return ritz.values, polar_factor(ritz.vectors)

    def remarks(self, M: Array) -> list[str]:
        return [
            f"the eigenvectors are from block Krylov iterations with {ritz.products} products: "
            f"their residual is {ritz.accuracy:.0e} of the largest eigenvalue"
            for ritz in self._by_krylov
        ]

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the eigenvectors of M'AM, the best first."""
        return Axes.principal(np.sign(self.scale) * self.compressed(M))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the diagonal of M'AM, and scores that the objective computes from it."""
        found = {"eigenvalue": np.sign(self.scale) * axes.numbers}
        derived = getattr(self.objective, "derived_numbers", None)
        if derived is not None and isinstance(self.A, np.ndarray) and self.searched is None:
            found |= derived(found["eigenvalue"], self._size * float(np.trace(self.A)))
        return found

    def baseline(self) -> Array:
        return self._eigen[1]

    def closed_form(self) -> Array:
        return self._eigen[1]

    def certificate(self, M: Array) -> Certificate | None:
        """Bound the optimality gap by a proved bound of the sum of extreme eigenvalues.

        If A is known by matrix-vector products only, the products cannot prove that no eigenvalue
        was missed. For dense rows A is therefore computed, by default only if this takes no longer
        than the solver's products. For sparse rows the certificate is restricted to the subspace
        found. The optimality gap includes contributions of directions outside of the coordinates;
        if these are unbounded, the certificate is restricted.
        """
        V = self._eigen[1]
        if isinstance(self.A, np.ndarray):
            return self._proved(M, largest_sum_bound(np.sign(self.scale) * self.A, M, V), 4)
        products = sum(ritz.products for ritz in self._by_krylov) or self.A.most_products
        affordable = self.A.is_sparse or self.A.worth_squaring(products)
        return self.thorough_certificate(M) if affordable else None

    def thorough_certificate(self, M: Array) -> Certificate | None:
        if isinstance(self.A, np.ndarray):
            return self.certificate(M)
        if (found := self.A.squared()) is None:
            ritz = self._by_krylov[-1]
            most = float(np.sum(ritz.values))
            return self._proved(M, most, OF_SUMS).searched(ritz.accuracy)
        K, across = found
        bound = largest_sum_bound(K, across(M), across(self._eigen[1]), OF_SUMS)
        return self._proved(M, bound, OF_SUMS)

    def _proved(self, M: Array, bound: float, roundings: int) -> Certificate:
        """Return the certificate of M from a bound of the sum of extreme eigenvalues."""
        value, most = self.at(M).value, abs(self.scale) * bound
        size = abs(self.offset) + abs(self.scale) * float(np.sum(np.abs(self._eigen[0])))
        eps = float(np.finfo(float).eps)
        rounding = roundings * eps * (abs(value) + abs(self.offset) + abs(most))
        doubt, none = self.doubt / self.unit, PROVED_GLOBAL * size
        missed = max(0.0, value - self.offset + most + rounding)
        restricted, span = False, span_of(self.views)
        if span is not None:
            more = self._more_outside()
            restricted = more > 0 and missed + doubt + more > none
            missed += 0.0 if restricted else more
        return Certificate.of_rounded_gap(
            missed * self.unit,
            doubt * self.unit,
            none * self.unit,
            "M spans an extreme eigenspace of A (proved)",
            "a proved bound of the sum of extreme eigenvalues bounds the value",
            span,
            restricted,
        )

    def _more_outside(self) -> float:
        """Bound the improvement by directions outside of the coordinates."""
        if self.outside is None:
            return 0.0
        if math.isinf(self.outside):
            return math.inf
        gains = np.sign(self.scale) * (self.outside / self._size - self._eigen[0])
        return abs(self.scale) * float(np.sum(np.maximum(gains, 0.0)))


@dataclass(frozen=True)
class SpectralTrace(Trace):
    """tr(M'h(S)M) for a function h of the eigenvalues of a symmetric S.

    - signed (k, k): the matrix S
    """

    plain = False

    signed: Array = field(kw_only=True)


@dataclass(frozen=True)
class AbsoluteTrace(SpectralTrace):
    """The trace tr(M'|S|M), where |S| has the absolute values of the eigenvalues of S."""

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the diagonal of M'SM."""
        return {"eigenvalue": np.sum(M * (self.signed @ M), axis=0)}


def absolute_value(A: Array) -> Array:
    """Return (A^2)^{1/2} of a symmetric A."""
    values, vectors = symmetric_eigen(0.5 * (A + A.T))
    return np.asarray((vectors * np.abs(values)) @ vectors.T)
