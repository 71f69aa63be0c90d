"""Objectives phi(Y) = F(K) of the Gaussian Gram matrix K of the projected samples.

Exact, O(n^2); or by the approximation C W^{-1} C' of Nystrom from m landmark samples, in time
O(n m^2) and memory O(n m). The landmarks stay the same for every M of a run, so that the result is
a smooth function of M. The pivots of an incomplete Cholesky decomposition of K at M are few
landmarks (90 for two dimensions) that give value and gradient near M to eight digits.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import scipy

from ldr.objectives.data.samples import Samples
from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.objectives.kernel import (
    gaussian,
    gaussian_gram,
    gradient_of_median,
    incomplete_cholesky,
    median_distance,
)
from ldr.objectives.statistics.sums import spread_rows
from ldr.solvers.checks import keep_whole
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.eigen import power_of_two
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Stopping
from ldr.solvers.trust_region import TrustRegion

# Rows up to so many widths have derivatives that are numbers.
_LONGEST = 1e50
# A width up to this size, or its inverse, keeps its unit.
_IN_RANGE = 2.0**100

# Of a Gram matrix: the matrix, or factors.
Change: TypeAlias = tuple[Array, ...]


@runtime_checkable
class Bilinear(Protocol):
    """A point of f bilinear in K and in K_z, centred: the change of one stands for the other."""

    def change(self, dY: Array) -> Change:
        """Of its Gram matrix."""

    def rate_of(self, change: Change) -> float:
        """f of this one and of a change of the other."""

    def slope_of(self, change: Change) -> Array:
        """Its derivative in Y."""


class GramPoint(ProjectedPoint):
    """F(K) at K_ij = exp(-||y_i - y_j||^2 / (2 sigma^2)); subclasses give F and its derivatives.

    Slope (2/sigma^2) (D_H - H)Y with H = -F'(K) o K, D_H = diag(H1). Along dY, dK = K o E with
    E_ij = -<y_i - y_j, dy_i - dy_j>/sigma^2, and in the slope's derivative dH = H o E - dF' o K.

    - K (n, n)
    - width: sigma
    """

    def __init__(self, problem: Gram, M: Array) -> None:
        super().__init__(problem.X, M)
        self.width = problem.width
        self.K = gaussian_gram(self.Y, problem.width)

    @property
    @abstractmethod
    def weights(self) -> Array:
        """F'(K), symmetric."""

    def change_of_weights(self, dY: Array) -> Array | None:
        """The derivative of F'(K) along dY; None where F is linear."""
        return None

    def change_of_gram(self, dY: Array) -> Array:
        """dK."""
        left, right = relative_change(self.Y, self.Y, dY, dY, self.width)
        dK = left @ right.T
        dK *= self.K
        return dK

    @cached_property
    def _H(self) -> Array:
        H = self.weights * self.K
        return np.negative(H, out=H)

    @cached_property
    def _HY1(self) -> Array:
        return self._H @ self.Y1

    @cached_property
    def slope(self) -> Array:
        return (2.0 / self.width**2) * self._laplacian_times(self._HY1, self.Y, self._HY1)

    def curvature(self, dY: Array) -> Array:
        left, right = relative_change(self.Y, self.Y, dY, dY, self.width)
        dHY1 = hadamard_times(self._H, left, right, self.Y1)
        change = self.change_of_weights(dY)
        if change is not None:
            change *= self.K
            dHY1 -= change @ self.Y1
        product = self._laplacian_times(dHY1, self.Y, dHY1)
        product += self._laplacian_times(self._HY1, dY, self._H @ dY)
        return (2.0 / self.width**2) * product

    def _laplacian_times(self, HY1: Array, Z: Array, HZ: Array) -> Array:
        """(D_H - H)Z from H[Y, 1], which ends in H1, and HZ, perhaps with H1 at its end too."""
        return HY1[:, -1:] * Z - HZ[:, : Z.shape[1]]


def relative_change(Y: Array, U: Array, dY: Array, dU: Array, width: float) -> tuple[Array, Array]:
    """Factors A, B with AB' = E: of the Gaussian kernel of rows of Y and of U, dK = K o E.

    E_ij = -<y_i - u_j, dy_i - du_j>/sigma^2 is of rank 2r + 2.
    """
    y, u = np.einsum("ij,ij->i", Y, dY), np.einsum("ij,ij->i", U, dU)
    left = np.column_stack([Y, dY, -y, -np.ones(len(Y))]) / width**2
    return left, np.column_stack([dU, U, np.ones(len(U)), u])


def hadamard_times(H: Array, left: Array, right: Array, Z: Array) -> Array:
    """(H o AB')Z = sum_k diag(a_k) H diag(b_k) Z, without forming AB'."""
    n, k = right.shape
    columns = (right[:, :, None] * Z[:, None, :]).reshape(n, k * Z.shape[1])
    return np.einsum("ik,ikj->ij", left, (H @ columns).reshape(len(H), k, Z.shape[1]))


@dataclass(frozen=True)
class Gram(Projected):
    """An objective of the Gram matrix of Y = XM.

    - width: sigma of the kernel of Y's rows
    - annealing: widths, in units of sigma, of the easier problems
    - own: sigma of z's kernel, where z are the rows themselves
    """

    width: float = field(kw_only=True)
    annealing: tuple[float, ...] = field(default=(), kw_only=True)
    own: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        X, width = in_range(self.X, self.width)
        own = None if self.own is None else self.own * (width / self.width)
        vars(self).update(X=X, width=width, own=own)

    @cached_property
    def of_median(self) -> Array:
        """The derivative of the logarithm of the rows' median distance in them."""
        return gradient_of_median(self.X)

    def _chosen(self, width: str) -> bool:
        """Whether the rows choose it: by their median distance."""
        return getattr(self.objective, width, None) is None

    if TYPE_CHECKING:  # where `own` is given

        @property
        def of_z(self) -> Bilinear:
            """The Gram matrix of the rows themselves, at M = I."""

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        """phi is of Y/sigma, and K_z moves with the rows that it is of."""
        value, slope = super().rate_at(point, dX)
        if self._chosen("width"):
            rate = -float(np.vdot(self.of_median, dX))
            value = rate * float(np.vdot(point.slope, point.Y))
            slope = rate * (point.slope + point.curvature(point.Y))
        if self.own is None:
            return value, slope
        assert isinstance(point, Bilinear)
        if self._chosen("response_width"):
            dX = dX - np.vdot(self.of_median, dX) * self.X
        change = self.of_z.change(dX)
        return value + point.rate_of(change), slope + point.slope_of(change)

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        found = super().pulled_at(point, dY)
        if self._chosen("width"):
            share = np.vdot(point.slope + point.curvature(point.Y), dY)
            found = -float(share) * self.of_median
        if self.own is None:
            return found
        assert isinstance(point, Bilinear)
        pulled = self.of_z.slope_of(point.change(dY))
        if self._chosen("response_width"):
            pulled = pulled - np.vdot(self.X, pulled) * self.of_median
        return found + pulled

    @cached_property
    def easier(self) -> Sequence[Self]:
        return [replace(self, width=t * self.width, annealing=()) for t in self.annealing]


def in_range(X: Array, width: float) -> tuple[Array, float]:
    """Rows and the width of their kernel in a unit in which the width's powers are numbers."""
    longest = float(np.abs(X).max(initial=0.0))
    if longest / _LONGEST > width:
        raise ArgumentError(
            f"width = {width:.1e} is too small beside rows of X of the length {longest:.1e}: "
            "to the kernel each row would be alone"
        )
    if 1.0 / _IN_RANGE <= width <= _IN_RANGE:
        return X, width
    unit = power_of_two(np.array(width))
    return X / unit, width / unit


def kernel_width(X: Array, weights: Array | None, r: int, d: int) -> float:
    """A sigma for r of d dimensions: the median distance of X's rows, times sqrt(r/d)."""
    width = median_distance(X, weights) * math.sqrt(r / d)
    if width == 0:
        raise DataError("X has more than half of its rows equal; give width= a value")
    return width


# Added to W's diagonal of ones: landmarks that all but coincide must not make it singular. Pivots
# are never that close.
_JITTER, _PIVOTS_JITTER = 1e-6, 1e-12
# Up to this many rows the exact form is taken unless landmarks are asked for; beyond it pivots,
# where so many of them leave out a negligible share of the traces of K and of Kz.
_FEW_ROWS = 500
_MOST_PIVOTS = 300
_NEGLIGIBLE, _NEGLIGIBLE_Z = 1e-10, 1e-8
# Where they do not: up to this many rows the exact form; beyond it so many random landmarks.
_EXACT_ROWS = 2000
_DEFAULT = 200
# Rows, and random landmarks of them, that show where to begin.
_ROUGH_ROWS, _ROUGH_LANDMARKS = 1000, 100
_ROUGHLY = Stopping(1e-4, 50)


def keep_landmarks(owner: object, name: str) -> None:
    """Refuse a field that is neither "auto", None nor a whole number above 1."""
    value = getattr(owner, name)
    if not (isinstance(value, str) and value == "auto"):
        keep_whole(owner, name, 2, optional=True)


def landmarks_for(n: int, landmarks: int | str | None) -> int | None:
    """How many landmarks to take for n rows; None for the exact form."""
    if isinstance(landmarks, str):  # "auto"
        return None if n <= _EXACT_ROWS else _DEFAULT
    return None if landmarks is None else min(landmarks, n)


def landmarks_of(name: str, samples: Samples, landmarks: int | str | None) -> int | None:
    """How many landmarks to take of the rows; None for the exact form, which takes weights."""
    m = None if samples.stored else landmarks_for(samples.n, landmarks)
    if samples.weights is not None and (samples.stored or m is not None):
        raise ArgumentError(
            f"{name} takes weights (sample_weight=) of rows in memory and in its exact form: pass "
            "an array, and landmarks=None"
        )
    return m


@dataclass(frozen=True)
class Approximation:
    """Of both Gram matrices.

    - Z (n, p): centred, Kz = ZZ'
    - rows (m,): the landmarks
    - pivoted: whether they are pivots at the heuristic's M
    """

    Z: Array
    rows: np.ndarray
    pivoted: bool
    note: str

    @classmethod
    def of(
        cls,
        X: Array,
        width: float,
        factor: Callable[[int], tuple[Array, float]],
        heuristic: Callable[[Array], Array],
        m: int | None,
        *,
        pivoted: bool,
    ) -> Approximation | None:
        """By pivots where they may be and are few; else from m random landmarks, or none.

        - factor: gives Z of at most so many columns, and the share of the trace of Kz left out
        - heuristic: gives an M from Z
        """
        n = len(X)
        if pivoted and n > _FEW_ROWS:
            Z, left_out = factor(_MOST_PIVOTS)
            if left_out <= _NEGLIGIBLE_Z:
                rows, missing = pivots(X @ heuristic(Z), width)
                if missing <= _NEGLIGIBLE:
                    note = "K_XM is approximated by its incomplete Cholesky decomposition"
                    return cls(Z, rows, True, note + _of_response(Z, left_out))
        if m is None:
            return None
        Z, left_out = factor(m)
        note = f"K_XM is approximated from {m} landmark rows" + _of_response(Z, left_out)
        return cls(Z, landmark_rows(n, m), False, note)

    def form(
        self, *, scale: float, constant: float = 0.0, a: float = 1.0, b: float = 0.0
    ) -> Callable[..., Landmarks]:
        """The problem from these landmarks, but for what it is of."""
        made = partial(Landmarks, Z=self.Z, rows=self.rows, pivoted=self.pivoted)
        return partial(made, constant=constant, scale=scale, a=a, b=b)


def pivots(Y: Array, width: float) -> tuple[np.ndarray, float]:
    """Landmarks of rows of Y, and the share of the trace of their Gram matrix that is left out."""
    most = min(_MOST_PIVOTS, len(Y) // 4)
    _, rows, left_out = incomplete_cholesky(Y, width, most, _NEGLIGIBLE)
    return np.sort(rows), left_out


def landmark_rows(n: int, m: int) -> np.ndarray:
    """m of n rows at random, the same ones at every call, in order."""
    return np.sort(np.random.default_rng(0).choice(n, m, replace=False))


def _of_response(Z: Array, left_out: float) -> str:
    """How K_z is approximated, if it is."""
    if left_out <= 0:
        return ""
    return f", K_z by rank {Z.shape[1]} (all but {left_out:.1e} of its trace)"


class LandmarkPoint(ProjectedPoint):
    """f = constant - scale tr(B'E^{-1}B), B = C'Z, E = a W + b C'PC, P = I - 11'/n.

    With Q = E^{-1}B the derivatives of f in the kernels are G = -2 scale (Z - b PCQ)Q' in C and
    J = a scale QQ' in W; H = G o C, S = J o W. Along dY, dC_il = -C_il <y_i - u_l, dy_i - du_l> /
    sigma^2: the slope is -(1/sigma^2)(D Y - H U) with D = diag(H1), and at the landmarks U there
    is added -(1/sigma^2)(diag(H'1) U - H'Y + 2 (diag(S1) - S) U). The product with the second
    derivative is the derivative of the slope, term by term.

    E = L(a I + b Phi'Phi)L', Phi = PCL^{-T}, W = LL': so formed its condition is harmless.
    """

    def __init__(self, problem: Landmarks, M: Array) -> None:
        super().__init__(problem.X, M)
        self._problem = problem
        self._U = self.Y[problem.rows]
        self._C = gaussian(self.Y, self._U, problem.width)
        self._W = gaussian(self._U, self._U, problem.width)
        np.fill_diagonal(self._W, 1.0)
        jitter = _PIVOTS_JITTER if problem.pivoted else _JITTER
        self._L = np.linalg.cholesky(self._W + jitter * np.eye(len(self._W)))

    def _whitened(self, C: Array) -> Array:
        """L^{-1}C'."""
        Phi = scipy.linalg.solve_triangular(self._L, C.T, lower=True, check_finite=False)
        return np.asarray(Phi)

    @property
    def error(self) -> float:
        """The most that f is above its value for K: tr(K - C W^{-1} C') |R'R| scale/a.

        R = Z - b PCQ, for the derivative of f in K is -RR' scale/a, and f is convex in K.
        """
        problem, Phi = self._problem, self._whitened(self._C)
        left_out = max(len(self.Y) - float(np.vdot(Phi, Phi)), 0.0)
        steepest = float(np.linalg.eigvalsh(self._residual.T @ self._residual)[-1])
        return left_out * steepest * problem.scale / problem.a

    @cached_property
    def _core(self) -> Array:
        """The lower Cholesky factor of a I + b Phi'Phi."""
        problem, m = self._problem, len(self._W)
        core = problem.a * np.eye(m)
        if problem.b:
            Phi = self._whitened(self._C - self._C.mean(axis=0))
            core += problem.b * (Phi @ Phi.T)
        return np.asarray(np.linalg.cholesky(core), dtype=np.float64)

    def _solve(self, R: Array) -> Array:
        """E^{-1}R."""
        R = scipy.linalg.solve_triangular(self._L, R, lower=True, check_finite=False)
        R = scipy.linalg.cho_solve((self._core, True), R, check_finite=False)
        return scipy.linalg.solve_triangular(self._L, R, lower=True, trans=1, check_finite=False)

    @cached_property
    def _B(self) -> Array:
        return self._C.T @ self._problem.Z

    @cached_property
    def _Q(self) -> Array:
        return self._solve(self._B)

    @cached_property
    def value(self) -> float:
        problem = self._problem
        return problem.constant - problem.scale * float(np.vdot(self._B, self._Q))

    @cached_property
    def _PCQ(self) -> Array:
        return _centred(self._C @ self._Q)

    @cached_property
    def _residual(self) -> Array:
        """Z - b PCQ."""
        problem = self._problem
        return problem.Z - problem.b * self._PCQ if problem.b else problem.Z

    @cached_property
    def _H(self) -> Array:
        H = (-2.0 * self._problem.scale * self._residual) @ self._Q.T
        H *= self._C
        return H

    @cached_property
    def _S(self) -> Array:
        return self._problem.a * self._problem.scale * (self._Q @ self._Q.T) * self._W

    def _pulled_back(self, H: Array, S: Array, Y: Array, U: Array) -> Array:
        """The slope's form in H and S, Y and U; it is linear in either pair."""
        slope = H.sum(axis=1)[:, None] * Y - H @ U
        at_landmarks = H.sum(axis=0)[:, None] * U - H.T @ Y
        at_landmarks += 2.0 * (S.sum(axis=1)[:, None] * U - S @ U)
        slope[self._problem.rows] += at_landmarks
        return slope / -(self._problem.width**2)

    @cached_property
    def slope(self) -> Array:
        return self._pulled_back(self._H, self._S, self.Y, self._U)

    def _relative(self, dY: Array) -> tuple[Array, Array]:
        """E and F of dC = C o E, dW = W o F."""
        problem, dU = self._problem, dY[self._problem.rows]
        left, right = relative_change(self.Y, self._U, dY, dU, problem.width)
        E = left @ right.T
        left, right = relative_change(self._U, self._U, dU, dU, problem.width)
        return E, left @ right.T

    def change(self, dY: Array) -> Change:
        """A and C of d(C W^{-1} C') = AC' + CA', centred; b = 0."""
        E, F = self._relative(dY)
        half = self._C * E - 0.5 * self._C @ self._solve(self._W * F)
        return _centred(self._solve(half.T).T), _centred(self._C)

    def rate_of(self, change: Change) -> float:
        A, B = (self._C.T @ each for each in change)
        return -2.0 * self._problem.scale * float(np.vdot(A, self._solve(B)))

    def slope_of(self, change: Change) -> Array:
        A, B = change
        of_A, of_B = (self._solve(self._C.T @ each) for each in change)
        H = (-2.0 * self._problem.scale) * (A @ of_B.T + B @ of_A.T) * self._C
        J = self._problem.scale * (of_A @ of_B.T)
        return self._pulled_back(H, (J + J.T) * self._W, self.Y, self._U)

    def curvature(self, dY: Array) -> Array:
        problem, Q = self._problem, self._Q
        dU = dY[problem.rows]
        E, F = self._relative(dY)
        dC, dW = self._C * E, self._W * F
        dEQ = problem.a * (dW @ Q)
        if problem.b:
            dCQ = _centred(dC @ Q)
            dEQ += problem.b * (self._C.T @ dCQ)
        # Both B and E hold dC: dC'(Z - b PCQ).
        dQ = self._solve(dC.T @ self._residual - dEQ)
        terms = [(self._residual, dQ)]
        if problem.b:
            terms.append((-problem.b * (dCQ + _centred(self._C @ dQ)), Q))
        lefts, rights = (np.hstack(factors) for factors in zip(*terms, strict=True))
        dH = (-2.0 * problem.scale * lefts) @ rights.T
        dH *= self._C
        E *= self._H
        dH += E
        dJ = Q @ dQ.T
        dS = problem.a * problem.scale * (dJ + dJ.T) * self._W + self._S * F
        return self._pulled_back(dH, dS, self.Y, self._U) + self._pulled_back(
            self._H, self._S, dY, dU
        )


def _centred(A: Array) -> Array:
    """PA."""
    return A - A.mean(axis=0)


@dataclass(frozen=True)
class Landmarks(Gram):
    """An objective of the Gram matrix of Y = XM from landmark rows; see `LandmarkPoint`.

    - Z (n, p): centred factor of the other Gram matrix, Kz = ZZ'
    - rows (m,): the landmarks
    - pivoted: whether they are pivots, and chosen anew near another M
    """

    Z: Array
    rows: np.ndarray
    pivoted: bool = field(default=False, kw_only=True)
    constant: float = field(default=0.0, kw_only=True)
    scale: float = field(kw_only=True)
    a: float = field(default=1.0, kw_only=True)
    b: float = field(default=0.0, kw_only=True)

    def at(self, M: Array) -> LandmarkPoint:
        return LandmarkPoint(self, M)

    @cached_property
    def of_z(self) -> LandmarkPoint:
        """The pivots that Z was made of are its landmarks."""
        assert self.own is not None
        rows = incomplete_cholesky(self.X, self.own, self.Z.shape[1], 0.0)[1]
        known = replace(self, rows=rows, pivoted=True, width=self.own, own=None)
        return LandmarkPoint(known, np.eye(self.X.shape[1]))

    def near(self, M: Array) -> Self:
        """With the pivots at M."""
        return replace(self, rows=pivots(self.X @ M, self.width)[0]) if self.pivoted else self

    def like(self, other: Self) -> Self:
        return replace(self, rows=other.rows) if self.pivoted else self

    @cached_property
    def rough(self) -> Landmarks:
        """From random landmarks of a sample of the rows; a and the value go with their number."""
        if not self.pivoted:
            return self
        chosen = spread_rows(len(self.X), _ROUGH_ROWS)
        share, Z = len(chosen) / len(self.X), _centred(self.Z[chosen])
        return replace(
            self,
            X=self.X[chosen],
            Z=Z,
            rows=landmark_rows(len(chosen), min(_ROUGH_LANDMARKS, len(chosen))),
            pivoted=False,
            a=self.a * share,
            scale=self.scale / share,
            constant=self.constant / share * float(np.vdot(Z, Z) / np.vdot(self.Z, self.Z)),
        )

    def approach(self, M: Array) -> Array:
        """Of many rows, the end of a run on some of them."""
        if self.annealing or not self.pivoted or len(self.X) <= _ROUGH_ROWS:
            return M
        return minimise(self.rough, M, TrustRegion(), _ROUGHLY).M

    def remarks(self, M: Array) -> list[str]:
        """How far the value may be off, where that is little."""
        if not self.pivoted:
            return []
        point = self.at(M)
        share = point.error / abs(point.value)
        return [f"with {len(self.rows)} pivots the value is that of K_XM to {share:.1e} of itself"]
