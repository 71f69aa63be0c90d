"""Trace ratio: max tr(M'AM) / tr(M'BM) over subspaces, or over nested ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy
from scipy.linalg.lapack import dsygv

from ldr.objectives.families.whitened import (
    RowPencil,
    add_ridge,
    check_comparable,
    diagonal,
    ridge_amount,
)
from ldr.objectives.objective import Objective
from ldr.objectives.problem import (
    PROVED_GLOBAL,
    BoundObjective,
    Certificate,
    Fitted,
    check_dimension,
)
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, Range, check_varies, span_of
from ldr.solvers.checks import number, whole
from ldr.solvers.deadline import decomposing
from ldr.solvers.errors import ArgumentError, SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING, trace_ratio_bound
from ldr.solvers.linalg.eigen import (
    generalised_top_eigenvectors,
    has_full_rank,
    length,
    power_of_two,
    rank_tolerance,
    symmetric_eigen,
)
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING
from ldr.solvers.manifolds import Array, Grassmann, Stiefel
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.problem import Point, Preconditioner
from ldr.solvers.solver import AnySolver, run_through
from ldr.solvers.trace_ratio import SelfConsistentField


@dataclass(frozen=True)
class NestedMethod(Objective):
    """Base of the trace-ratio methods, with optional nested subspaces.

    Optimal subspaces of different dimensions are not nested in general. For levels r_1 < ... < r_K
    = r with weights w_k the value is sum_k w_k tr(M_k'AM_k) / sum_k w_k tr(M_k'BM_k), where M_k has
    the first r_k columns of M. A result's parameters contain the ratio at each level and, for
    comparison, the optimum for that dimension alone.

    Source: Szwagier and Pennec 2025.

    Attributes
    ----------
    sibling : str
        Method with the same matrices and the whitened criterion tr((M'BM)^{-1} M'AM).

    Parameters
    ----------
    nested : bool, sequence of int, or dict of int to float
        Dimensions of the nested subspaces: True for all from 1 to r; a sequence whose largest
        element is r; or a weight for each dimension.
    """

    sibling: ClassVar[str]

    nested: Any = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "nested", _levels(self.nested))
        if self.nested:
            named = "1, ..., r" if self.nested is True else ", ".join(map(str, self.nested))
            formula = f"{self.formula}, each trace summed over the levels {named}"
            vars(self).update(domain="St", formula=formula)

    def column_weights(self, r: int) -> Array:
        """Return the column weights v_j, sums of the weights of levels r_k >= j, with v_1 = 1."""
        if not self.nested:
            return np.ones(r)
        levels = range(1, r + 1) if self.nested is True else self.nested
        if max(levels) != r:
            raise ArgumentError(
                f"the largest number in nested={self.nested!r} must be r = {r}, got {max(levels)}"
            )
        steps = np.zeros(r)
        for level in levels:
            steps[level - 1] = levels[level] if isinstance(levels, dict) else 1.0
        sums = np.cumsum(steps[::-1] / steps.max())[::-1]
        return sums / sums[0]


def _levels(nested: Any) -> Any:
    """True or False; levels in order, as a tuple; or a dict of levels in order and weights."""
    if isinstance(nested, (bool, np.bool_)):
        return bool(nested)
    several = isinstance(nested, (Mapping, Sequence, np.ndarray)) and not isinstance(nested, str)
    if not several or np.ndim(nested) > 1 or len(nested) == 0:
        raise ArgumentError(
            "nested must be True, False, different whole numbers such as (1, 2, 5), or a dict of "
            f"their weights such as {{1: 2.0, 5: 1.0}}, got {nested!r}"
        )
    levels = sorted(whole("each level of nested", level, 1) for level in nested)
    if len(set(levels)) < len(levels):
        raise ArgumentError(f"nested must be different whole numbers, got {nested!r}")
    if not isinstance(nested, Mapping):
        return tuple(levels)
    weights = {k: number("each weight of nested", nested[k], positive=True) for k in levels}
    if not PROVED_GLOBAL * max(weights.values()) <= min(weights.values()):
        raise ArgumentError(
            f"the largest weight in nested={nested!r} is more than {1.0 / PROVED_GLOBAL:.0e} times "
            "the smallest weight, which therefore has no effect: give more similar weights"
        )
    return weights


# A component is nearly constant if its share of tr(M'BM) is below this threshold / r.
_LEAST_SHARE = 1e-2
# Factor that lowers the tolerance for the rank of B after a change of basis.
_TURNED = 1e-2


class TraceRatioPoint(Point):
    """f(M) = -rho, the ratio rho = a/b with a = tr(VM'AM), b = tr(VM'BM) and column weights V.

    The gradient of f is -(2/b)(AM - rho BM)V. With K = A - rho B, computed once, the Hessian
    product along U is -(2/b)(KU - drho BM)V - (db/b) gradient, drho = -<gradient, U>, db = 2 <BMV,
    U>: one product with a k x k matrix. `products` are AM and BM; `denominator` is b.
    """

    # The attributes replace abstract properties, so that `__init__` can set them.
    value, gradient = math.nan, np.empty(0)

    def __init__(self, problem: TraceRatio, M: Array) -> None:
        self.M = M
        self._problem = problem
        self.products = self._AM, self._BM = problem.A.dot(M), problem.inside.dot(M)
        weighted = M * problem.weights
        self.denominator = float(np.vdot(weighted, self._BM)) + problem.left_out
        a = float(np.vdot(weighted, self._AM))
        # If the ratio is minimised, A is minus the numerator: a positive trace is a rounding error.
        self._rho = (a if problem.objective.sense == "max" else min(a, 0.0)) / self.denominator
        self.value = 0.0 - self._rho  # 0.0 - x is never negative zero
        G = (-2.0 / self.denominator) * (self._AM - self._rho * self._BM)
        self.gradient = G * problem.weights

    @cached_property
    def _BMV(self) -> Array:
        return self._BM * self._problem.weights

    @cached_property
    def _K(self) -> Array:
        return (-2.0 / self.denominator) * (self._problem.A - self._rho * self._problem.inside)

    def hessian_vector(self, V: Array) -> Array:
        drho = -float(np.vdot(self.gradient, V))
        db = 2.0 * float(np.vdot(self._BMV, V))
        HV = self._K.dot(V)
        HV += (2.0 * drho / self.denominator) * self._BM
        HV *= self._problem.weights
        HV -= (db / self.denominator) * self.gradient
        return HV


@dataclass(frozen=True)
class TraceRatio(BoundObjective):
    """Minimise -tr(M'AM) / tr(M'BM) on the Grassmann manifold.

    The baseline consists of the orthonormalised top r generalised eigenvectors of (A, B). These
    eigenvectors maximise another objective, tr((M'BM)^{-1} M'AM), and are optimal for r = 1 only.

    With descending weights the objective is -tr(VM'AM) / tr(VM'BM), V = diag(weights), on the
    Stiefel manifold. The column weights decrease after each level; rotations of the columns of a
    level do not change the value. The largest ratio is the root of f(rho) = sum_j v_j lambda_j(A -
    rho B), attained by eigenvectors in descending order (Szwagier and Pennec 2025).

    Parameters
    ----------
    A, B : symmetric k x k, B positive semidefinite of rank above k - r
    restricted : bool
        True if B's null space has been excluded: small eigenvalues of B then count as nonzero down
        to the level of rounding.
    outside : float
        Eigenvalue of B in the directions outside of the coordinates; there A is zero.
    weights : ndarray (r,)
        Weights of the columns, positive and descending with the first one 1; by default all 1.
    sums : pair of ndarray (k,), optional
        Sizes of the terms summed in A and B, for bounds of errors; see `trace_ratio_bound`.
    sibling : str
        Method with the same matrices and the whitened criterion tr((M'BM)^{-1} M'AM).
    inside, left_out : symmetric k x k, float
        By default B and 0. If M may have a part outside of the coordinates, B minus `outside` I,
        and `outside` times the sum of the weights.

    Both matrices are symmetrised and divided by a power of two near B's size, against overflow.
    """

    A: Array
    B: Array
    r: int
    restricted: bool = field(default=False, kw_only=True)
    outside: float = field(default=0.0, kw_only=True)
    weights: Array = field(default_factory=lambda: np.ones(1), kw_only=True)
    sums: tuple[Array, Array] | None = field(default=None, kw_only=True)
    sibling: str = field(default="", kw_only=True)
    inside: Array = field(init=False)
    left_out: float = field(default=0.0, init=False)
    _size: float = field(default=1.0, init=False)  # power of two by which A and B are divided
    _rank: int = field(init=False)  # numerical rank of B after scaling to a unit diagonal

    def __post_init__(self) -> None:
        check_dimension(self.r, len(self.A))
        shrink = 0.5 / power_of_two(self.B)
        vars(self).update(
            _size=0.5 / shrink,
            A=(self.A + self.A.T) * shrink,
            B=(self.B + self.B.T) * shrink,
            outside=2.0 * shrink * self.outside,
            sums=self.sums and (2.0 * shrink * self.sums[0], 2.0 * shrink * self.sums[1]),
            weights=self.weights * np.ones(self.r),
        )
        vars(self).update(inside=self.B, _rank=self._rank_of_B())
        if self._rank <= len(self.B) - self.r:
            raise SingularError(
                f"the ratio is unbounded: some M of r = {self.r} columns has the denominator "
                f"tr M'BM = 0, because the {len(self.B)} x {len(self.B)} matrix B has rank "
                f"{self._rank}. Give ridge= a positive value, or use fewer columns of X"
            )

    @cached_property
    def levels(self) -> np.ndarray:
        """Dimensions of the nested subspaces."""
        return np.flatnonzero(np.diff(self.weights, append=0.0) < 0) + 1

    @cached_property
    def nested(self) -> bool:
        """True if column weights are not all equal."""
        return bool(self.weights[-1] < self.weights[0])

    @cached_property
    def manifold(self) -> Grassmann | Stiefel:  # type: ignore[override]
        return (Stiefel if self.nested else Grassmann)(len(self.A), self.r)

    def _rank_of_B(self) -> int:
        scale = 1.0 / np.sqrt(np.maximum(np.diag(self.B), np.finfo(float).tiny))
        scaled = self.B * scale * scale[:, None]
        tolerance = rank_tolerance(len(self.B)) * (_TURNED if self.restricted else 1.0)
        if has_full_rank(scaled, tolerance):
            return len(self.B)
        with decomposing(len(scaled)):
            spectrum = scipy.linalg.eigh(scaled, eigvals_only=True, check_finite=False)
        return int(np.sum(spectrum > tolerance * spectrum[-1]))

    @property
    def definite(self) -> bool:
        """True if B has full rank."""
        return self._rank == len(self.B)

    def rewards_leaving(self, weight: float = 1.0) -> bool:
        maximised = (self.objective.sense == "max") == (weight > 0)
        return not (maximised and 0 < self.outside < math.inf)

    def beyond(self) -> Self:
        if not math.isfinite(self.outside):
            return self
        other = copy(self)
        inside = self.B - self.outside * np.eye(len(self.B))
        vars(other).update(inside=inside, left_out=self.outside * float(np.sum(self.weights)))
        return other

    def at(self, M: Array) -> TraceRatioPoint:
        return TraceRatioPoint(self, M)

    def hidden(self, M: Array) -> float:
        point, N = self.at(M), np.abs(M) * np.sqrt(self.weights)
        a, b = (float(np.sum((np.sqrt(c) @ N) ** 2)) for c in self.sums or np.zeros((2, len(M))))
        return SUMS_ROUNDING * (a + abs(point.value) * b) / point.denominator

    def preconditioner(self, M: Array) -> Preconditioner:
        """Return the inverse of (2/b)(theta_r - K), with theta_r the r-th eigenvalue of K.

        At the optimum M spans the top eigenvectors of K = A - rho B. The Hessian multiplies the
        component of V's column i along the j-th eigenvector by (2/b)(theta_i - theta_j), i <= r <
        j, with theta the eigenvalues of K.
        """
        point = self.at(M)
        theta, Q = symmetric_eigen(self.A + point.value * self.B)
        gaps = theta[self.r - 1] - theta  # as accurate as the largest eigenvalue
        least = max(gaps[min(self.r, len(theta) - 1)], FACTOR_ROUNDING * gaps[-1])
        inverse = (Q * (0.5 * point.denominator / np.maximum(gaps, least or 1.0))) @ Q.T
        project = self.manifold.project
        return lambda N, U: project(N, inverse @ U / self.weights)

    @cached_property
    def _heuristic(self) -> Array:
        # Adding a semidefinite A (or -A) to a singular B keeps the eigenvectors and their order.
        size = self.A if self.objective.sense == "max" else -self.A
        B = self.B if self.definite else size + self.B
        _, vectors = generalised_top_eigenvectors(self.A, B, self.r)
        return np.linalg.qr(vectors / np.linalg.norm(vectors, axis=0))[0]

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the axes of nested subspaces: eigenvectors of A - rho B within each level."""
        if not self.nested:
            return super().axes(M, seen)
        return Axes.nested(M.T @ (self.A + self.at(M).value * self.B) @ M, self.levels.tolist())

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return a_k = m_k'Am_k, b_k = m_k'Bm_k, a_k/b_k and b_k/sum b of M's columns m_k.

        The ratio rho is the mean of the components' ratios weighted by their shares of b. The
        generalised eigenvalues of (M'AM, M'BM) describe the span of M, not single columns.
        """
        AM, BM = self.at(M).products
        sign = -self.objective.sign
        a = sign * self._size * np.sum(M * AM, axis=0)
        b = self._size * np.sum(M * BM, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = {"ratio": a / b, "share": b / b.sum(), "numerator": a, "denominator": b}
        values, _, failed = dsygv(M.T @ AM, M.T @ BM, jobz="N")
        if failed:  # the Cholesky decomposition of M'BM has failed
            return found
        return {**found, "generalised_eigenvalue": sign * values[::-1]}

    def baseline(self) -> Array:
        return self._heuristic

    def closed_form(self) -> Array | None:
        return self._heuristic if self.r == 1 else None

    def specialist(self) -> AnySolver:
        return SelfConsistentField()

    def certificate(self, M: Array) -> Certificate:
        """Bound the optimality gap by a t with f(t) = sum_j v_j lambda_j(A - tB) <= 0.

        The function f decreases with t, and its root is the largest ratio, so that no ratio exceeds
        t. The proof of f(t) <= 0 includes rounding errors. A direction outside of the coordinates
        has the eigenvalue -t `outside`. If that exceeds the least of the r eigenvalues, the
        direction would increase the ratio, and the certificate is restricted.
        """
        rho = -self.at(M).value
        bound = trace_ratio_bound(self.A, self.B, M, self.weights, self.sums)
        gap = max(0.0, float(np.nextafter(bound - rho, np.inf)))
        if not all(view.coordinates.is_columns for view in self.views):
            # Rounding of M in the columns of X, which may be 1e12 apart, changes the ratio.
            gap += 4.0 * abs(rho + self.at(self.lower(self.lift(M))).value)
        top = "top eigenspaces at all levels" if self.nested else "a top eigenspace"
        found = Certificate.of_gap(
            gap,
            PROVED_GLOBAL * abs(rho),
            f"M spans {top} of A - rho B (proved)",
            "a Cholesky factor proves that no ratio is larger by more",
            "rounding errors are too large for a proof",
        )
        if (span := span_of(self.views)) is None or not self._better_outside(M):
            return found
        return found.restricted_to(span)

    def parameters(self, M: Array) -> Fitted:
        """Return the ratio at each level of nested subspaces."""
        if not self.nested:
            return self.chosen
        a, b = (np.cumsum(np.sum(M * N, axis=0))[self.levels - 1] for N in self.at(M).products)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.objective.sign * (-a / b)
        return {**self.chosen, "levels": self.levels, "ratios": ratios}

    def comparisons(self, M: Array) -> Fitted:
        """Return the optimum for the dimension of each level alone; infinite if unbounded."""
        if not self.nested:
            return {}
        return {"unnested": np.array([self._alone(M[:, :level]) for level in self.levels])}

    def _alone(self, M: Array) -> float:
        """Return the optimal ratio for the number of M's columns, from M."""
        k = M.shape[1]
        try:
            alone = replace(self, r=k, weights=np.ones(1))
        except SingularError:
            return math.inf
        return self.reported(run_through(alone, M, alone.specialist()).value)

    def remarks(self, M: Array) -> list[str]:
        """Return a message if columns m of M have a denominator m'Bm of nearly 0."""
        if not self.sibling:
            return []
        AM, BM = self.at(M).products
        least = _LEAST_SHARE / self.r
        shares, Q = np.linalg.eigh(sym(M.T @ BM) / float(np.vdot(M, BM)))
        if not (empty := int(np.sum(shares < least))):
            return []
        whitened = Q / np.sqrt(np.maximum(shares, np.finfo(float).eps))
        values = np.linalg.eigvalsh(whitened.T @ sym(M.T @ AM) @ whitened) / float(np.vdot(M, BM))
        listed = ", ".join(f"{self.reported(-value):.3g}" for value in values[::-1])
        carry = "carries" if empty == 1 else "carry"
        return [
            f"{empty} of the {self.r} directions of M {carry} less than {100 * least:.2g} % of the "
            f"denominator (the least share is {100 * shares[0]:.2g} %), so that the ratio hardly "
            f"counts them. The generalised eigenvalues in the span of M are {listed}. "
            f"{self.sibling} counts all directions alike"
        ]

    def _better_outside(self, M: Array) -> bool:
        """Return True unless all omitted directions are worse than M's, beyond rounding."""
        if math.isinf(self.outside):
            return True
        if self.outside == 0.0:  # with 0/0 in place of a direction less than average, rho grows
            return self.r > 1
        value, eps = self.at(M).value, float(np.finfo(float).eps)
        least = float(np.linalg.eigvalsh(sym(M.T @ (self.A + value * self.B) @ M))[0])
        terms = np.abs(M).T @ (np.abs(self.A) + abs(value) * np.abs(self.B)) @ np.abs(M)
        rounding = 4 * len(self.A) * eps * float(np.linalg.norm(terms))
        return value * self.outside - least > -rounding


def trace_ratio(
    objective: NestedMethod,
    rows: RowPencil,
    r: int,
    *,
    ridge: float = 0.0,
    notes: Sequence[str] = (),
) -> TraceRatio:
    """Build tr(M'AM) / tr(M'BM) in the objective's sense, on the range of total scatter or B.

    Outside of the range the trace ratio is 0/0. A minimum of the trace ratio is minus the maximum
    for -A. The objective's option `nested` determines the weights.
    """
    weights, sign = objective.column_weights(r), -objective.sign
    rows, ridge = rows.narrowed(r, ridge, sign, weights)
    plain, coordinates = rows.plain, rows.compact.coordinates
    A, B, total = plain.A, plain.B, plain.total
    check_comparable(A, rows.what, length(B))
    view, spread = rows.view.noting(*notes, *rows.notes), diagonal(B)
    check_varies(B, rows.what, total)
    varied, name = (B, rows.what) if total is None else (total, "the total scatter")
    kept = Range.of(varied, view.coordinates, name)
    definite, amount = kept(B), 0.0
    ridged: list[str] = []
    if ridge > 0:
        amount = ridge_amount(definite, ridge)
        definite, ridged = add_ridge(definite, ridge, rows.what)
    # Directions whose variance is below rounding errors are excluded; see `whitened`.
    lost = ridge == 0 and kept.rank < int(np.count_nonzero(np.diag(varied) > 0))
    return TraceRatio(
        objective,
        (view.within(kept).noting(*ridged),),
        sign * kept(A),
        definite,
        r,
        restricted=total is None and bool(kept.notes),
        outside=math.inf if lost else amount,
        weights=weights,
        sums=(
            kept.squares(np.abs(np.diag(A)) + plain.terms(0.0) * spread),
            kept.squares(spread),
        ),
        sibling=objective.sibling,
        answers=rows.answers(plain, coordinates, ridged=B if amount else None, ridge=amount),
        chosen=rows.chosen,
        searched=rows.searched,
    )
