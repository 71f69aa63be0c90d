"""Sufficient dimension reduction by kernels (KDR, HSIC, gKDR).

KDR and HSIC are functions phi(Y) = F(K) of the Gaussian Gram matrix K of the projected samples. The
exact Gram matrix takes O(n^2) time, as a function of pairs of rows. The Nystrom approximation C
W^{-1} C' with m landmark samples takes time O(n m^2) and memory O(n m). The landmarks are fixed
during a run, so that the value is a smooth function of M. The pivots of an incomplete Cholesky
decomposition of K at M are a small set of landmarks (90 for two dimensions), accurate to eight
digits of value and gradient near M.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import scipy

from ldr.objectives.data.data import DENSE, WIDE, Data, Samples
from ldr.objectives.families.pairwise import PairwisePoint, Told, on_some_rows, row_slices
from ldr.objectives.families.projected import Change, DenseRows, Projected, ProjectedPoint
from ldr.objectives.families.trace import Trace
from ldr.objectives.kernel import (
    KINDS,
    Response,
    centred_gram,
    gaussian,
    gaussian_gram,
    gradient_of_median,
    incomplete_cholesky,
    median_distance,
)
from ldr.objectives.objective import Objective, chance_notes
from ldr.objectives.parameters import Need, declared, number, numbers, whole, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.slices import gradient_directions, gradient_outer_product, slice_codes
from ldr.objectives.starts import principal_directions, sliced_directions
from ldr.objectives.statistics.sums import counted_rows, weighted
from ldr.objectives.view import IN_RANGE
from ldr.solvers.checks import keep_whole
from ldr.solvers.deadline import check
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING, spectral_bound
from ldr.solvers.linalg.eigen import (
    cholesky,
    cholesky_solve,
    cross_product,
    power_of_two,
    product,
    top_eigenvectors,
)
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
    rows = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
    return partial(Landmarks, Z=Z, rows=rows), Z, note


def pivots(Y: Array, width: float) -> tuple[np.ndarray, float]:
    """Return pivots among the rows of Y, and the omitted share of the Gram matrix's trace."""
    most = min(_MOST_PIVOTS, len(Y) // 4)
    _, rows, left_out = incomplete_cholesky(Y, width, most, _NEGLIGIBLE)
    return np.sort(rows), left_out


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
        return scipy.linalg.solve_triangular(self._L, C.T, lower=True, check_finite=False)

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


# Function that computes an initial M from a factor of the response's Gram matrix.
Heuristic = Callable[[Array], Array]


class KernelMethod(Objective, weighted=True, by_pairs=True, sparse=False):
    """Base of methods of two Gram matrices: K_XM of the projected rows, and K_z of z.

    Parameters
    ----------
    width : float, optional
        Width sigma of XM's kernel; by default sqrt(r/d) times the median distance between samples.
    response : {"auto", "labels", "quantity"}
        Kind of y. "auto" treats strings, booleans and integers with at most 20 distinct values as
        labels, and all other values, including floats, as a quantity. A message reports the choice
        if y has few distinct integer values.
    landmarks : int, "auto" or None
        Number of landmarks: random rows for the Nystrom approximation of K_XM. K_z is then
        approximated by an incomplete Cholesky decomposition of at most this rank. None uses the
        full matrices, as does "auto" for n <= 500. For larger n "auto" tries an incomplete Cholesky
        decomposition of K_XM with at most 300 pivots. If it omits at most 1e-10 of the trace, the
        pivots are the landmarks. If it omits more, "auto" uses the full matrices for n <= 2000, and
        200 landmarks for larger n.
    """

    width: float | None
    response_width: float | None
    response: str
    landmarks: int | str | None

    def order(self, data: Data) -> int:
        """Return the order of the largest arrays, n x n for the exact form."""
        rows = data.samples
        in_memory = rows.n_known and not rows.stored
        exact = in_memory and landmarks_for(rows.n, self.landmarks) is None
        return max(super().order(data), rows.n if exact else 0)

    def bind(self, data: Data, r: int) -> BoundObjective:
        m = landmarks_of(self.name, data.samples, self.landmarks)
        if data.samples.stored:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        X, n, w = rows.X, len(rows.X), rows.weights
        z = Response(None, X, w) if data.y is None else Response.of(data.y, n, self.response, w)
        width = self.width or kernel_width(X, w, r, data.samples.d)
        first = self.heuristic(X, z, r)
        pivoted = self.landmarks == "auto" and w is None
        factor = partial(z.factor, self.response_width)
        near = approximation(X, width, factor, first, m, pivoted=pivoted)
        notes = z.notes if near is None else (*z.notes, near[2])
        form = self.form(X, r, z, near, first, data.samples.weight)
        return form(self, (rows.view.noting(*notes),), X, r, width=width)

    @abstractmethod
    def heuristic(self, X: Array, z: Response, r: int) -> Heuristic:
        """Return the function that computes an initial M from a factor of K_z."""

    @abstractmethod
    def form(
        self, X: Array, r: int, z: Response, near: Approximation | None, first: Heuristic, n: float
    ) -> Callable[..., Gram]:
        """Return the constructor of the problem, exact or with landmarks, for total weight n."""


@dataclass(frozen=True)
class SDR(KernelMethod):
    r"""Kernel sufficient dimension reduction (SDR).

    .. math:: \min_{M'M=I} \operatorname{tr}\left(K_z (K_{XM} + n\varepsilon I)^{-1}\right)

    K_XM and K_z are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)),
    of the projected data XM and of the response z = y. For labels the kernel of y is 1 for equal
    labels, else 0. At the minimum the response z is independent of X given XM. P = M'. The
    objective has local optima in general. The default starts are sliced inverse regression (the
    baseline), the gradient outer product of a kernel regression, principal components, and
    "screened": a few steps are taken from each of several random M, and the best is used. From the
    baseline alone (``starts=1``) a symmetric dependence, such as y = x_1^2, is often missed.

    An evaluation of the exact form takes O(n^3 + n^2 p) time and O(n^2) memory for K_z of rank p.
    With m landmarks an evaluation takes O(n m (m + p) + n d r) time and O(n (m + p)) memory.

    Use it when a response depends on few directions in an unknown way, as no form of the dependence
    is assumed. Do not use it without landmarks for thousands of samples: matrices are n x n.

    Source: Fukumizu, Bach & Jordan 2009; Cunningham & Ghahramani 2015, 3.1.8; low rank: Williams &
    Seeger 2001 (Nystrom), Fine & Scheinberg 2001 (incomplete Cholesky).

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    response_width : float, optional
        Width sigma of the response's kernel; by default the median distance between responses.
    slices : int
        Number of slices of a continuous response, for the baseline (sliced inverse regression).
    annealing : tuple of float
        Factors of the kernel's width, such as (4, 2): each run first solves the problems with these
        wider kernels, which have fewer local optima. A run then takes about twice the time.
    """

    name = "sdr"
    sense = "min"
    needs = (Need.RESPONSE,)
    baseline = "sliced inverse regression"

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True)
    response_width: float | None = number(None, optional=True, positive=True)
    slices: int = whole(10, 2)
    response: str = word("auto", KINDS)
    landmarks: int | str | None = declared("auto", keep_landmarks)
    annealing: tuple[float, ...] = numbers((), positive=True)

    def heuristic(self, X: Array, z: Response, r: int) -> Heuristic:
        codes = partial(slice_codes, z, self.slices, z.weights)
        slices = cache(lambda: sliced_directions(X, codes(), r, z.weights))
        return lambda Z: slices()

    def form(
        self, X: Array, r: int, z: Response, near: Approximation | None, first: Heuristic, n: float
    ) -> Callable[..., Gram]:
        w, ridge = z.weights, n * self.epsilon
        kind: Callable[..., Gram]
        if near is None:
            Z = z.factor(self.response_width, None)[0]
            kind = partial(KernelRegression, Z=weighted(Z, w), ridge=ridge)
        else:
            # By Woodbury's identity a matrix of the landmarks, not of all rows, is inverted.
            made, Z, _ = near
            constant = float(np.vdot(Z, Z)) / ridge
            kind = partial(made, constant=constant, scale=1.0 / ridge, a=ridge, b=1.0)
        heuristics = {
            "sir": lambda: first(Z),
            "gradient outer product": lambda: gradient_directions(X, Z, r, self.epsilon, w),
            "pca": lambda: principal_directions(weighted(X, w), r),
        }
        return partial(kind, w=w, annealing=self.annealing, heuristics=heuristics, screens=True)


class KernelPoint(PairwisePoint):
    """F(K) = tr(Z'RZ) with R = (G + n eps I)^{-1} and G = PKP. With T = RZ, dF/dK = -TT'.

    T is centred because Z is centred and 1 is an eigenvector of R. Derivatives are dT = -R dG T and
    dK = c K o dD (entrywise), with c = -1/(2 sigma^2).

    For weighted rows G = W^{1/2} P'KP W^{1/2}, P = I - w1'/N, and Z = W^{1/2}P'Z: in dF/dK,
    S = W^{1/2}T replaces T.
    """

    symmetric = True
    _problem: KernelRegression

    def pairs(self, rows: slice, D: Array) -> Told:
        problem, w = self._problem, self._problem.w
        c = -0.5 / problem.width**2
        K = np.exp(np.multiply(D, c, out=D), out=D)
        G = weighted(weighted(centred_gram(K, w), w).T, w)
        G.flat[:: len(G) + 1] += problem.ridge
        factor = cholesky(G.T)
        if factor is None:
            raise SingularError(
                f"the Gram matrix of XM is singular relative to n epsilon = {problem.ridge:.1e}: "
                "give epsilon= a larger value"
            )
        T = cholesky_solve(factor, problem.Z)
        S = weighted(T, w)
        W = product(S, S.T)
        W *= -c * K

        def change(dD: Array) -> Array:
            dGS = c * (K * dD) @ S
            dGT = weighted(dGS - np.average(dGS, axis=0, weights=w), w)
            dS = weighted(-cholesky_solve(factor, dGT), w)
            A = product(dS, S.T)
            dD *= W
            dD -= (A + A.T) * K
            dD *= c
            return dD

        return float(np.vdot(problem.Z, T)), W, change


@dataclass(frozen=True)
class KernelRegression(Gram):
    """Problem of kernel dimension reduction in the exact form, on the Grassmann manifold.

    - Z (n, p): centred factor of the response's Gram matrix, times square roots of weights
    - ridge: n eps, or N eps for weights of sum N
    """

    Z: Array = field(kw_only=True)
    ridge: float = field(kw_only=True)

    def at(self, M: Array) -> KernelPoint:
        return KernelPoint(self, M, [slice(0, len(self.X))])  # the residual matrix R needs all rows


@dataclass(frozen=True)
class HSIC(KernelMethod):
    r"""Hilbert-Schmidt independence criterion (HSIC), maximised.

    .. math:: \max_{M'M=I} \frac{\operatorname{tr}(K_{XM} K_z)}{(n-1)^2}

    K_XM and K_z are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)),
    of the projected data XM and of the response z = y. For labels the kernel of y is 1 for equal
    labels, else 0. If no y is given, z is X, and the projection preserves similarities of samples.
    P = M'. The baseline is the solution for a linear kernel of XM, the top eigenvectors of X'K_z X.

    An evaluation of the exact form takes O(n^2 r) time and O(n^2) memory. With m landmarks and K_z
    of rank p <= m an evaluation takes O(n m (m + p) + n d r) time and O(n (m + p)) memory.

    Use it for a projection with a strong dependence of any form on a response, cheaper than sdr. Do
    not use it if the kernel width is uncertain: directions depend on it more than in sdr.

    Source: Gretton, Bousquet, Smola & Schoelkopf 2005; Barshan, Ghodsi, Azimifar & Zolghadri
    Jahromi 2011 (linear kernel); Wang, Sha & Jordan 2010 (unsupervised).

    Parameters
    ----------
    response_width : float, optional
        Width sigma of z's kernel; by default the median distance between rows of z.
    """

    name = "hsic"
    sense = "max"
    baseline = "top eigenvectors of X'K_z X (supervised pca)"

    width: float | None = number(None, optional=True, positive=True)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)
    landmarks: int | str | None = declared("auto", keep_landmarks)

    def cautions(self, value: float, data: Data, d: int, r: int) -> list[str]:
        return [] if data.y is None else chance_notes(self, data, d)

    def heuristic(self, X: Array, z: Response, r: int) -> Heuristic:
        return lambda Z: principal_directions(Z.T @ X, r)

    def form(
        self, X: Array, r: int, z: Response, near: Approximation | None, first: Heuristic, n: float
    ) -> Callable[..., Gram]:
        w = z.weights
        kind: Callable[..., Gram]
        if near is None:
            G = centred_gram(z.gram(self.response_width), w)
            G = counted_rows(counted_rows(G, w).T, w)
            # Weights of mean 1/2 or less are shares, not counts: N - 1 may then be 0 or negative.
            mean = 1.0 if w is None else n / np.count_nonzero(w)
            outer = X.T @ product(G, X)
            kind = partial(Dependence, G=G, scale=(n - (1.0 if mean > 0.5 else mean)) ** 2)
        else:
            made, Z, _ = near
            outer = (A := X.T @ Z) @ A.T
            kind = partial(made, scale=1.0 / (len(X) - 1) ** 2)
        own = z.width(self.response_width) if z.values is X else None
        heuristics = {
            "supervised pca": lambda: top_eigenvectors(outer, r)[1],
            "pca": lambda: principal_directions(weighted(X, w), r),
        }
        return partial(kind, own=own, heuristics=heuristics)


class DependencePoint(PairwisePoint):
    """F(K) = -tr(K G)/(n - 1)^2 is linear in K; dK/dD = cK entrywise, c = -1/(2 sigma^2)."""

    symmetric = True
    _problem: Dependence

    @property
    def c(self) -> float:
        return -0.5 / self._problem.width**2

    def pairs(self, rows: slice, D: Array) -> Told:
        c = self.c
        W = np.exp(np.multiply(D, c, out=D), out=D)
        W *= self._problem.weights[rows, self.columns(rows)]
        value = float(self.twice(W).sum())
        W *= c
        return value, W, lambda dD: np.multiply(np.multiply(dD, W, out=dD), c, out=dD)

    def change(self, dY: Array) -> Array:
        """Return the derivative of K along dY."""
        along = Change(self.Y, dY)
        return self.c * gaussian_gram(self.Y, self._problem.width) * (along.left @ along.right.T)


@dataclass(frozen=True)
class Dependence(Gram):
    """Problem of HSIC in the exact form, on the Grassmann manifold.

    - G (n, n): centred Gram matrix of z, for weighted rows W H'KH W, H = I - w1'/N
    - scale: (n - 1)^2 for n rows
    """

    G: Array = field(kw_only=True)
    scale: float = field(kw_only=True)

    @cached_property
    def weights(self) -> Array:
        return self.G / -self.scale

    def at(self, M: Array) -> DependencePoint:
        return DependencePoint(self, M, row_slices(len(self.X)))

    @cached_property
    def of_rows(self) -> Dependence:
        assert self.own is not None
        return replace(self, width=self.own, own=None)

    def moved(self, point: DependencePoint, dY: Array) -> Sequence[tuple[float, Dependence]]:
        return [(1.0, replace(self, G=centred_gram(point.change(dY))))]


@dataclass(frozen=True)
class GKDR(Objective, weighted=True, sparse=False):
    r"""Gradient-based kernel dimension reduction (gKDR).

    .. math::

        \max_{M'M=I} \operatorname{tr}(M'GM), \quad G = \frac{1}{n} \sum_i D_i'(K + n\varepsilon
        I)^{-1} K_z (K + n\varepsilon I)^{-1} D_i

    A kernel regression on X predicts kernel features of the response; G is the mean outer product
    of the regression's gradients. K and K_z are Gram matrices of Gaussian kernels of X and of the
    response (for labels 1 if equal, else 0). Row j of the matrix D_i is (x_j - x_i)' times k(x_j,
    x_i)/width^2, for the kernel k of X. No form of the response's dependence on X is assumed. P =
    M'. Time is cubic in the number of samples; for more than 5000 samples a random subset is used.

    Use it in place of sdr to avoid local optima: a single eigenproblem gives the solution, which is
    near that of sdr if the response is a smooth function of X. Do not use it with many samples,
    because matrices are n x n: sir and directional-regression only need sums over samples.

    Source: Fukumizu & Leng 2014.

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    width : float, optional
        Width of X's kernel; by default the median distance between samples.
    response_width : float, optional
        Width of the response's kernel; by default the median distance between responses.
    response : {"auto", "labels", "quantity"}
        Kind of y, as in sdr.
    """

    name = "gkdr"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of G"
    exact = "yes"

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True, power=1)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)

    def order(self, data: Data) -> int:
        """Return the number of rows, or of sampled rows: arrays are n x n."""
        rows = min(data.samples.n, WIDE) if data.samples.n_known else 0
        return max(super().order(data), rows)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if data.samples.stored or data.samples.n > WIDE:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        w = rows.weights
        width = self.width or kernel_width(rows.X, w, 1, 1)
        response = Response.of(data.y, len(rows.X), self.response, w)
        Z = response.features(self.response_width, None)[0]
        G, rounding = gradient_outer_product(rows.X, Z, width, self.epsilon, w)
        doubt = r * (SUMS_ROUNDING * (1.0 + 1.0 / self.epsilon) * spectral_bound(G) + rounding)
        return Trace(self, (rows.view.noting(*response.notes),), G, r, doubt=doubt)
