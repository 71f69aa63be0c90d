"""Objectives phi(Y) = F(K) of the Gaussian Gram matrix K of the projected samples.

The exact Gram matrix takes O(n^2) time, as a function of pairs of rows. The Nystrom approximation C
W^{-1} C' with m landmark samples takes time O(n m^2) and memory O(n m). The landmarks are fixed
during a run, so that the value is a smooth function of M. The pivots of an incomplete Cholesky
decomposition of K at M are a small set of landmarks (90 for two dimensions), accurate to eight
digits of value and gradient near M.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import scipy

from ldr.objectives.data.data import DENSE, Samples
from ldr.objectives.families.projected import Change, Projected, ProjectedPoint
from ldr.objectives.kernel import gaussian, gradient_of_median, incomplete_cholesky, median_distance
from ldr.objectives.view import IN_RANGE
from ldr.solvers.checks import keep_whole
from ldr.solvers.deadline import check, steps
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.eigen import cross_product, power_of_two, product
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Gram(Projected):
    """An objective phi(Y) = F(K) of the Gaussian Gram matrix K of the rows of Y = XM.

    - width: width sigma of the kernel of Y's rows
    - annealing: factors of sigma; problems with these wider kernels are smoother and give starts
    - own: width of the second kernel K_z if it is a kernel of X's rows, else None
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
        """Gradient of the logarithm of the rows' median distance with respect to the rows."""
        return gradient_of_median(self.X)

    def _chosen(self, width: str) -> bool:
        """Return True if the median distance of the rows determines the width."""
        return getattr(self.objective, width, None) is None

    if TYPE_CHECKING:  # defined by subclasses whose f is bilinear in two kernel matrices

        @property
        def of_rows(self) -> Gram:
            """Problem in which K is the kernel matrix of X's own rows, with the width `own`."""

        def moved(self, point: Any, dY: Array) -> Sequence[tuple[float, Gram]]:
            """Return weighted problems, the sum of which is f's derivative in K_z along dY."""

    @cached_property
    def of_z(self) -> Any:
        """The kernel matrix K_z of X's own rows, as a point of `of_rows` with M = I."""
        return self.of_rows.at(np.eye(self.X.shape[1]))

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        """Return derivatives of phi and phi' along dX due to width and K_z, with Y fixed."""
        value, slope = super().rate_at(point, dX)
        if self._chosen("width"):
            rate = -float(np.vdot(self.of_median, dX))
            value = rate * float(np.vdot(point.slope, point.Y))
            slope = rate * (point.slope + point.curvature(point.Y))
        if self.own is not None:
            if self._chosen("response_width"):
                dX = dX - np.vdot(self.of_median, dX) * self.X
            for share, problem in self.moved(self.of_z, dX):
                there = cast(ProjectedPoint, problem.at(point.M))
                value, slope = value + share * there.value, slope + share * there.slope
        return value, slope

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        found = super().pulled_at(point, dY)
        if self._chosen("width"):
            rate = float(np.vdot(point.slope + point.curvature(point.Y), dY))
            found = -rate * self.of_median
        if self.own is None:
            return found
        pulled = np.zeros_like(found)
        for share, problem in self.of_rows.moved(point, dY):
            pulled += share * cast(ProjectedPoint, problem.at(self.of_z.M)).slope
        if self._chosen("response_width"):
            pulled = pulled - np.vdot(self.X, pulled) * self.of_median
        return found + pulled

    @cached_property
    def easier(self) -> Sequence[Self]:
        return [replace(self, width=t * self.width, annealing=()) for t in self.annealing]


def in_range(X: Array, width: float) -> tuple[Array, float]:
    """Scale rows and kernel width by a unit so that powers of the width do not overflow."""
    longest = float(np.abs(X).max(initial=0.0))
    if longest / IN_RANGE > width:  # derivatives may overflow
        raise ArgumentError(
            f"width = {width:.1e} is too small for X, whose largest entry is {longest:.1e}: the "
            "kernel between any two rows would be 0"
        )
    if 1.0 / IN_RANGE <= width <= IN_RANGE:
        return X, width
    unit = power_of_two(np.array(width))
    return X / unit, width / unit


def kernel_width(X: Array, weights: Array | None, r: int, d: int) -> float:
    """Return the kernel width sqrt(r/d) times the median distance of X's rows."""
    width = median_distance(X, weights) * math.sqrt(r / d)
    if width == 0:
        raise DataError("more than half of the rows of X are equal: give width= a value")
    return width


# Largest rank of a pivoted Cholesky decomposition that approximates the matrix of more rows.
_MOST_PIVOTS = 300
_NEGLIGIBLE, _NEGLIGIBLE_Z = 1e-10, 1e-8  # shares of the trace, for X and for the response
# Number of random landmarks that approximate the kernel matrix of many rows, unless pivots do.
_DEFAULT = 200


def keep_landmarks(owner: object, name: str) -> None:
    """Refuse a number of landmarks that is neither "auto", None nor an integer above 1."""
    value = getattr(owner, name)
    if not (isinstance(value, str) and value == "auto"):
        keep_whole(owner, name, 2, optional=True)


def landmarks_for(n: int, landmarks: int | str | None) -> int | None:
    """Return the number of landmarks for n rows; None for the exact form."""
    if isinstance(landmarks, str):  # the only valid string is "auto"
        return None if n <= DENSE else _DEFAULT
    return None if landmarks is None else min(landmarks, n)


def landmarks_of(name: str, samples: Samples, landmarks: int | str | None) -> int | None:
    """Return the number of landmarks; None for the exact form, which accepts weights."""
    m = None if samples.stored else landmarks_for(samples.n, landmarks)
    if samples.weights is not None and (samples.stored or m is not None):
        raise ArgumentError(
            f"{name} takes sample_weight= only for rows in memory and the exact kernel: pass an "
            "array, and landmarks=None"
        )
    return m


# Constructor of an approximate problem, factor Z of the response's kernel matrix ZZ', and message.
Approximation = tuple[Callable[..., "Landmarks"], Array, str]


def approximation(
    X: Array,
    width: float,
    factor: Callable[[int], tuple[Array, float]],
    heuristic: Callable[[Array], Array],
    m: int | None,
    *,
    pivoted: bool,
) -> Approximation | None:
    """Choose pivots as landmarks if few suffice; else m random rows; None for the exact form.

    - factor: function of the largest number of columns, which returns Z with Kz = ZZ'
      approximately, and the share of tr Kz that ZZ' omits
    - heuristic: function of Z that returns an M
    """
    n = len(X)
    if pivoted and n > _MOST_PIVOTS:
        Z, left_out = factor(_MOST_PIVOTS)
        if left_out <= _NEGLIGIBLE_Z:
            rows, missing = pivots(X @ heuristic(Z), width)
            if missing <= _NEGLIGIBLE:
                note = "K_XM is approximated by its incomplete Cholesky decomposition"
                note += _of_response(Z, left_out)
                return partial(Landmarks, Z=Z, rows=rows, pivoted=True), Z, note
    if m is None:
        return None
    Z, left_out = factor(m)
    note = f"K_XM is approximated from {m} landmark rows" + _of_response(Z, left_out)
    return partial(Landmarks, Z=Z, rows=landmark_rows(n, m)), Z, note


def pivots(Y: Array, width: float) -> tuple[np.ndarray, float]:
    """Return pivots among the rows of Y, and the omitted share of the Gram matrix's trace."""
    most = min(_MOST_PIVOTS, len(Y) // 4)
    _, rows, left_out = incomplete_cholesky(Y, width, most, _NEGLIGIBLE)
    return np.sort(rows), left_out


def landmark_rows(n: int, m: int) -> np.ndarray:
    """Return m of n row indices at random, sorted; the seed is fixed."""
    return np.sort(np.random.default_rng(0).choice(n, m, replace=False))


def _of_response(Z: Array, left_out: float) -> str:
    """Describe the approximation of K_z, if any."""
    if left_out <= 0:
        return ""
    return f", K_z by rank {Z.shape[1]} (which omits {left_out:.1e} of its trace)"


class LandmarkPoint(ProjectedPoint):
    """f = constant - scale tr(B'E^{-1}B), with B = C'Z, E = a W + b C'PC, P = I - 11'/n.

    C is the kernel matrix between the rows Y and the landmarks U, W is that of the landmarks, and K
    = [C; W] stacks both. With Q = E^{-1}B the derivatives of f are -2 scale (Z - b PCQ)Q' in C and
    a scale QQ' in W; H is the entrywise product of these derivatives and K. Along a change dV of V
    = [Y; U], the kernel matrix changes by dK_il = -K_il <v_i - u_l, dv_i - du_l> / sigma^2. The
    gradient in V is therefore -(diag(H1) V - H U)/sigma^2, plus -(diag(H'1) U - H'V)/sigma^2 for
    the landmarks U. Products with the second derivative differentiate the gradient term by term.

    For accuracy E is factorised as L(a I + b Phi'Phi)L' with Phi = PCL^{-T} and W = LL'.
    """

    def __init__(self, problem: Landmarks, M: Array) -> None:
        check()
        super().__init__(problem.X, M)
        self._problem = problem
        self._V, n = self._stacked(self.Y), len(self.Y)
        self._K = gaussian(self._V, self._V[n:], problem.width)
        self._C, self._W = self._K[:n], self._K[n:]
        np.fill_diagonal(self._W, 1.0)
        # Random landmarks can nearly coincide, so that their kernel matrix needs a larger jitter.
        jitter = 1e-12 if problem.pivoted else 1e-6
        self._L = np.linalg.cholesky(self._W + jitter * np.eye(len(self._W)))

    def _stacked(self, Y: Array) -> Array:
        """Return the rows followed by the landmarks."""
        return np.vstack([Y, Y[self._problem.rows]])

    def _whitened(self, C: Array) -> Array:
        """L^{-1}C'."""
        Phi = np.empty(C.shape).T
        for rows in steps(len(C), C.shape[1] * (C.shape[1] + 100)):
            Phi[:, rows] = scipy.linalg.solve_triangular(
                self._L, C[rows].T, lower=True, check_finite=False
            )
        return Phi

    @property
    def error(self) -> float:
        """Bound of f's error by approximating K, tr(K - C W^{-1} C') |R'R| scale/a, R = Z - b PCQ.

        The bound holds because f is convex in the kernel matrix K with the derivative -RR' scale/a.
        """
        problem, Phi = self._problem, self._whitened(self._C)
        left_out = max(len(self.Y) - float(np.vdot(Phi, Phi)), 0.0)
        steepest = float(np.linalg.eigvalsh(self._residual.T @ self._residual)[-1])
        return left_out * steepest * problem.scale / problem.a

    @cached_property
    def _core(self) -> Array:
        """The lower Cholesky factor of a I + b Phi'Phi."""
        check()
        problem, m = self._problem, len(self._W)
        core = problem.a * np.eye(m)
        if problem.b:
            Phi = self._whitened(_centred(self._C)).T
            core += problem.b * cross_product(Phi, Phi)
        return np.asarray(np.linalg.cholesky(core), dtype=np.float64)

    def _solve(self, R: Array) -> Array:
        """E^{-1}R."""
        R = scipy.linalg.solve_triangular(self._L, R, lower=True, check_finite=False)
        R = scipy.linalg.cho_solve((self._core, True), R, check_finite=False)
        return scipy.linalg.solve_triangular(self._L, R, lower=True, trans=1, check_finite=False)

    @cached_property
    def _B(self) -> Array:
        return cross_product(self._C, self._problem.Z)

    @cached_property
    def _Q(self) -> Array:
        return self._solve(self._B)

    @cached_property
    def value(self) -> float:
        problem = self._problem
        return problem.constant - problem.scale * float(np.vdot(self._B, self._Q))

    @cached_property
    def _residual(self) -> Array:
        """Z - b PCQ."""
        problem = self._problem
        if not problem.b:
            return problem.Z
        return problem.Z - problem.b * _centred(product(self._C, self._Q))

    @cached_property
    def _H(self) -> Array:
        problem, n = self._problem, len(self.Y)
        H = np.empty_like(self._K)
        product(-2.0 * problem.scale * self._residual, self._Q.T, out=H[:n])
        np.matmul(problem.a * problem.scale * self._Q, self._Q.T, out=H[n:])
        H *= self._K
        return H

    def _pulled_back(self, H: Array, V: Array) -> Array:
        """Return the bilinear form of the slope in H and V."""
        n, k = V.shape[0] - len(self._W), V.shape[1]
        beside = np.column_stack([V, np.ones(len(V))])  # a column of ones yields the row sums of H
        across, down = H @ beside[n:], H.T @ beside
        slope = across[:, k:] * V - across[:, :k]
        slope[n:] += down[:, k:] * V[n:] - down[:, :k]
        slope[self._problem.rows] += slope[n:]
        return slope[:n] / -(self._problem.width**2)

    @cached_property
    def slope(self) -> Array:
        return self._pulled_back(self._H, self._V)

    def _relative(self, dY: Array) -> Array:
        """Return E with dK = K o E, of rank 2r + 2."""
        change, n = Change(self._V, self._stacked(dY)), len(self.Y)
        left = change.left / (-2.0 * self._problem.width**2)
        return np.asarray(left @ change.right[n:].T)

    def change_of_factor(self, dY: Array) -> tuple[Array, Array]:
        """Return a centred F with FF' = C W^{-1} C', and dF with d(FF') = dF F' + F dF'."""
        dK, n = self._K * self._relative(dY), len(self.Y)
        half = dK[:n] - 0.5 * self._C @ self._solve(dK[n:]) * self._problem.a
        F, dF = (self._whitened(_centred(each)).T for each in (self._C, half))
        return F, dF

    def curvature(self, dY: Array) -> Array:
        problem, Q, n = self._problem, self._Q, len(self.Y)
        dH = self._relative(dY)
        dK = self._K * dH
        dH *= self._H
        dC, dEQ = dK[:n], problem.a * (dK[n:] @ Q)
        if problem.b:
            dCQ = _centred(product(dC, Q))
            dEQ += problem.b * cross_product(self._C, dCQ)
        # dQ solves the derivative of Q's linear equations, which contain C on both sides.
        dQ = self._solve(cross_product(dC, self._residual) - dEQ)
        lefts, rights = self._residual, dQ
        if problem.b:
            dR = -problem.b * (dCQ + _centred(product(self._C, dQ)))
            lefts, rights = np.hstack([lefts, dR]), np.hstack([rights, Q])
        dJ = Q @ dQ.T
        dG = product(-2.0 * problem.scale * lefts, rights.T)
        dG *= self._C
        dH[:n] += dG
        dH[n:] += problem.a * problem.scale * (dJ + dJ.T) * self._W
        return self._pulled_back(dH, self._V) + self._pulled_back(self._H, self._stacked(dY))


def _centred(A: Array) -> Array:
    """PA."""
    return A - A.mean(axis=0)


@dataclass(frozen=True)
class Landmarks(Gram):
    """An objective of the Gram matrix of Y = XM by landmark rows; see `LandmarkPoint`.

    - Z (n, p): centred factor of the second kernel matrix, Kz = ZZ'
    - rows (m,): indices of the landmarks
    - pivoted: True if the landmarks are pivots, which are chosen again near another M
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
    def of_rows(self) -> Landmarks:
        """Problem whose kernel matrix is that of X's own rows; the landmarks are its pivots."""
        assert self.own is not None
        rows = incomplete_cholesky(self.X, self.own, self.Z.shape[1], 0.0)[1]
        return replace(self, rows=rows, pivoted=True, width=self.own, own=None)

    def moved(self, point: LandmarkPoint, dY: Array) -> Sequence[tuple[float, Landmarks]]:
        """Return the two problems of a central difference along dZ; f is quadratic in Z."""
        Z, dZ = point.change_of_factor(dY)
        step = float(np.linalg.norm(Z)) / (float(np.linalg.norm(dZ)) or 1.0)
        return [(0.5 * t / step**2, replace(self, Z=Z + t * dZ)) for t in (step, -step)]

    def near(self, M: Array) -> Self:
        """Return the problem with new landmarks: the pivots of the kernel matrix at M."""
        return replace(self, rows=pivots(self.X @ M, self.width)[0]) if self.pivoted else self

    def like(self, other: Self) -> Self:
        return replace(self, rows=other.rows) if self.pivoted else self

    def remarks(self, M: Array) -> list[str]:
        """Return a message with the error of the value if landmarks are pivots."""
        if not self.pivoted:
            return []
        point = self.at(M)
        share = point.error / abs(point.value)
        return [
            f"with {len(self.rows)} pivots the value has a relative error of at most {share:.1e}"
        ]
