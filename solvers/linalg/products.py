"""Eigenvectors of matrices given by products, and bounds for missed eigenvalues.

Eigenvectors are found by a locally optimal block method.

Products alone prove that no large eigenvalue was missed, with a stated probability of error.

For a standard normal vector b and any unit vector u, P(|u'b| < s) < s sqrt(2/pi). Let H be
symmetric and p a polynomial that increases beyond tau. If H has an eigenvalue above tau, |p(H)b| >=
p(tau) s, except with this probability; a smaller |p(H)b| excludes such an eigenvalue. H is
arbitrary: the interval on which p is small only determines how tight the bound is.

Source: J. Kuczynski and H. Wozniakowski, Estimating the largest eigenvalue by the power and Lanczos
algorithms with a random start, SIAM J. Matrix Anal. Appl. 13 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy

from ldr.solvers.checks import LARGEST
from ldr.solvers.deadline import check
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors
from ldr.solvers.linalg.krylov import SymmetricOperator, complement
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator

# Convergence tolerance of residuals, relative to the terms that cancel; limit of steps.
_RESIDUAL, _STEPS = 1e-10, 300
# Conjugate gradients: tolerance relative to the right-hand side, and limit of steps.
_SOLVED, _SOLVING_STEPS = 1e-11, 500
# Eigenvalues of B below this share of the largest count as zero.
_IN_RANGE = 1e-10
# Tolerance of the trace ratio on a small basis, relative to the improvement.
_LITTLE = 0.01
_EPS = float(np.finfo(float).eps)

# Function of A and B projected on a small basis. It returns coefficients U of the best vectors,
# best first, and s and t of the residuals R = AU - BU diag(s) - U diag(t).
Small = Callable[[Array, Array], tuple[Array, Array, Array]]
Preconditioned = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class LessMeans:
    """Z = K - ab' with a sparse K, for products; Z is never formed."""

    K: csr_array
    a: Array
    b: Array

    def __matmul__(self, Y: Array) -> Array:
        check()
        return np.asarray(self.K @ Y - np.multiply.outer(self.a, self.b @ Y))

    def __mul__(self, number: float) -> LessMeans:
        return LessMeans(self.K * number, self.a, self.b * number)

    @cached_property
    def T(self) -> LessMeans:
        return LessMeans(self.K.T, self.b, self.a)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.K.shape
        return n, d

    def sizes(self, Y: Array) -> Array:
        """Return (|K| + |a||b|')|Y|, a bound of the terms summed in ZY."""
        Y = np.abs(Y)
        return np.asarray(abs(self.K) @ Y + np.multiply.outer(np.abs(self.a), np.abs(self.b) @ Y))

    def columns(self, which: npt.NDArray[np.intp]) -> LessMeans:
        """Return the matrix of some of Z's columns."""
        return LessMeans(self.K[:, which], self.a, self.b[which])

    def operator(self) -> LinearOperator:
        """Return the matrix as an operator of SciPy."""
        from scipy.sparse.linalg import LinearOperator

        times, back = self.__matmul__, self.T.__matmul__
        return LinearOperator(self.shape, times, back, times, np.float64, back)


@dataclass(frozen=True)
class Found:
    """Approximate solutions with their residual.

    - V (d, m): columns, the wanted ones first
    - residual: norm of the residual relative to the terms that cancel
    - products: number of vectors multiplied by A and B
    """

    V: Array
    residual: float
    products: int

    @classmethod
    def last(cls, steps: Iterator[Found]) -> Found:
        """Return the first iterate with a residual below the tolerance, or the last iterate."""
        for _, found in zip(range(_STEPS), steps, strict=False):
            check()
            if found.residual <= _RESIDUAL:
                break
        return found


def _steps(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    r: int,
    small: Small,
    preconditioned: Preconditioned,
) -> Iterator[Found]:
    """Yield the best r columns on the bases [block, last step, preconditioned residual].

    The start has as many columns as the block. The iteration ends if the residuals lie in the span
    of the basis.

    Source: locally optimal blocks as in A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001).
    """
    m = products = start.shape[1]
    V = np.linalg.qr(start / np.linalg.norm(start, axis=0))[0]
    basis = np.stack([V, A @ V, B @ V])
    while True:
        V, AV, BV = basis
        U, s, t = (each[..., :m] for each in small(sym(V.T @ AV), sym(V.T @ BV)))
        X, AX, BX = basis @ U
        R = AX - BX * s - X * t
        sizes = np.linalg.norm(AX, axis=0) + np.linalg.norm(BX * s, axis=0)
        residual = float((np.linalg.norm(R, axis=0) / sizes)[:r].max())
        yield Found(X, residual, products)
        best, last = np.linalg.qr(U)[0], np.vstack([np.zeros((m, m)), U[m:]])
        basis = basis @ np.hstack([best, complement(best, last)])
        T = complement(basis[0], preconditioned(R, s, t))
        if not T.shape[1]:
            return
        basis = np.concatenate([basis, [T, A @ T, B @ T]], axis=2)
        products += T.shape[1]


def ratio_steps(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    weights: Array,
    preconditioned: Preconditioned,
) -> Iterator[Found]:
    """Yield iterates with increasing tr(VM'AM)/tr(VM'BM); V = diag(weights)."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        """Apply Newton's method from the ratio of the first columns."""
        r = len(weights)
        first = rho = float(weights @ np.diag(A)[:r]) / float(weights @ np.diag(B)[:r])
        while True:
            theta, Q = np.linalg.eigh(A - rho * B)
            theta, Q = theta[::-1], Q[:, ::-1]
            U = Q[:, :r] * weights
            ratio = float(np.vdot(U, A @ Q[:, :r])) / float(np.vdot(U, B @ Q[:, :r]))
            if not ratio - rho > max(_LITTLE * (rho - first), 4 * _EPS * abs(rho)):
                return Q, np.full(len(theta), rho), theta
            rho = ratio

    return _steps(A, B, start, len(weights), small, preconditioned)


def largest_pairs(A: SymmetricOperator, B: SymmetricOperator, start: Array, r: int) -> Found:
    """Compute the top r generalised eigenvectors of (A, B) in B's range; diag B is near 1."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        sizes, Q = np.linalg.eigh(B)
        kept = sizes > _IN_RANGE * sizes[-1]
        W = Q[:, kept] / np.sqrt(sizes[kept])
        values, U = np.linalg.eigh(W.T @ A @ W)
        return (W @ U)[:, ::-1], values[::-1], np.zeros(len(values))

    return Found.last(_steps(A, B, B @ start, r, small, lambda R, s, t: R))


def conjugate_gradients(
    H: Callable[[Array], Array], R: Array, preconditioned: Callable[[Array], Array]
) -> tuple[Array, int]:
    """Return H^{-1}R for a positive definite H, and the number of products with H."""
    X, left = np.zeros_like(R), R.copy()
    z = preconditioned(left)
    p, size = z.copy(), np.sum(left * z, axis=0)
    enough = _SOLVED * np.linalg.norm(R, axis=0)
    steps = 0
    while steps < _SOLVING_STEPS and (np.linalg.norm(left, axis=0) > enough).any():
        Hp = H(p)
        curved = np.sum(p * Hp, axis=0)
        step = np.divide(size, curved, where=curved > 0, out=np.zeros_like(size))
        X += step * p
        left -= step * Hp
        z = preconditioned(left)
        before, size = size, np.sum(left * z, axis=0)
        p *= np.divide(size, before, where=before > 0, out=np.zeros_like(size))
        p += z
        steps += 1
    return X, steps * R.shape[1]


def columns_of(width: int, V: Array) -> Array:
    """Return the first `width` columns of V, padded with random columns."""
    more = np.random.default_rng(0).standard_normal((len(V), max(0, width - V.shape[1])))
    return np.hstack([V[:, :width], more])


# Probability that a bound is false because of its random vector; a solve uses at most two bounds.
CHANCE = 1e-10
_LEAST_PART = 0.5 * CHANCE * math.sqrt(math.pi / 2)
# Least half-width of the polynomial's interval, relative to the end points.
_NARROWEST = 1e-8
_ROUNDINGS = 64 * float(np.finfo(float).eps)
# Exponents of 10 of the values of a in `largest_values`.
_RAISED = np.arange(-16.0, 1.0, 0.5)
# Exponents of 10 of the distances t - rho at which `ratio_bound` is attempted.
_BEYOND = np.arange(-14.0, 1.0, 0.25)
# Position of the filter's edge between the largest other and the least required eigenvalue.
_SHARE = 0.7


def largest_of_rest(
    H: Callable[[Array], Array], Q: Array, most_products: int, *, enough: float | None = None
) -> float:
    """Bound the eigenvalues of (I - QQ')H(I - QQ') from above; P(error) <= `CHANCE` / 2.

    - H: function for products with a symmetric k x k matrix
    - Q (k, m): orthonormal columns
    - enough: the bound need not be below this level; by default half of the largest eigenvalue if
      negative
    """
    if Q.shape[1] >= len(Q):
        return -math.inf

    def inside(V: Array) -> Array:
        return V - Q @ (Q.T @ V)

    b = inside(np.random.default_rng(0).standard_normal((len(Q), 1)))
    low, high = _ends(lambda V: inside(H(V)), b)
    enough = 0.5 * high if enough is None else enough
    middle, least = 0.5 * (high + low), _NARROWEST * max(abs(high), abs(low), 1.0 / LARGEST)
    half = max(0.5 * (high - low), least)
    before, now = b, (inside(H(b)) - middle * b) / half
    told, k = math.inf, 1
    while (size := float(np.linalg.norm(now)) / _LEAST_PART) < LARGEST:
        told = min(told, middle + half * math.cosh(math.acosh(max(size, 1.0)) / k))
        if told <= enough or k >= most_products:
            break
        check()
        before, now = now, (2.0 / half) * (inside(H(now)) - middle * now) - before
        k += 1
    return told + _ROUNDINGS * (abs(low) + abs(high))


def _ends(H: Callable[[Array], Array], b: Array) -> tuple[float, float]:
    """Approximate the least and the largest eigenvalue of H by twenty Lanczos steps from b."""
    V, k, v = np.empty((min(20, len(b)), len(b))).T, 0, b
    diagonal, beside, size = [], [float(np.linalg.norm(b))], 0.0
    while beside[-1] > _NARROWEST * size and k < V.shape[1]:
        V[:, k : k + 1] = v / beside[-1]
        v = H(V[:, k : k + 1])
        diagonal.append(float(V[:, k] @ v[:, 0]))
        size = max(size, float(np.linalg.norm(v)))
        k += 1
        for _ in range(2):
            v = v - V[:, :k] @ (V[:, :k].T @ v)
        beside.append(float(np.linalg.norm(v)))
    theta, U = scipy.linalg.eigh_tridiagonal(diagonal, beside[1:-1])
    return float(theta[0]) - beside[-1] * abs(float(U[-1, 0])), float(theta[-1])


def largest_values(L: Array, R: Array, rest: float, weights: Array) -> Array:
    """Bound the r largest eigenvalues of [[L, R'], [R, D]] from above for any D <= rest.

    For each a > 0 the matrix is at most diag(L + R'R/a, rest + a). The a with the smallest weighted
    sum of eigenvalues is used.
    """
    r, squares = len(weights), R.T @ R
    size = float(np.linalg.norm(L, 2)) + (abs(rest) if math.isfinite(rest) else 0.0)
    found = []
    for a in size * 10.0**_RAISED:
        inside = np.linalg.eigvalsh(L + squares / a)
        found.append(np.sort(np.append(inside, np.full(r, rest + a)))[::-1][:r])
    return min(found, key=lambda values: float(weights @ values)) + _ROUNDINGS * size


def top_values(A: SymmetricOperator, Q: Array, r: int, most_products: int) -> Array:
    """Bound the r largest eigenvalues of A from above; Q (k x m) is near their eigenvectors."""
    AQ = A @ Q
    L = sym(Q.T @ AQ)
    theta = np.linalg.eigvalsh(L)[::-1]
    enough = _SHARE * theta[r - 1] + (1.0 - _SHARE) * theta[-1]
    rest = largest_of_rest(lambda Z: A @ Z, Q, most_products, enough=enough)
    return largest_values(L, AQ - Q @ L, rest, np.ones(r))


def pencil_values(
    A: SymmetricOperator,
    B: SymmetricOperator,
    V: Array,
    r: int,
    most_products: int,
    outside: float = -math.inf,
) -> Array:
    """Bound the r largest generalised eigenvalues of (A, B); the diagonal of B is near 1.

    If A - tau B is at most 0 on the B-orthogonal complement of V, no more eigenvalues exceed tau
    than V has columns (Sylvester's law of inertia). If A - tau B is at most e on this complement
    and B is at least b > 0, tau + e/b takes the place of tau. The bound is infinite if no b > 0 is
    found.

    - V (k, m): approximate eigenvectors of the m >= r largest eigenvalues
    - outside: A further eigenvalue, of directions outside of the coordinates
    """
    theta, U = generalised_top_eigenvectors(sym(V.T @ (A @ V)), sym(V.T @ (B @ V)), V.shape[1])
    V = V @ U
    BV = B @ V
    least = -largest_of_rest(lambda Z: -(B @ Z), V[:, :0], most_products)
    if not least > 0:
        return np.full(r, math.inf)
    tau = _SHARE * theta[r - 1] + (1.0 - _SHARE) * theta[-1]
    beyond = largest_of_rest(
        lambda Z: A @ Z - tau * (B @ Z), np.linalg.qr(BV)[0], most_products, enough=0.0
    )
    R = (A @ V - BV * theta) / math.sqrt(least)
    rest = max(tau + max(beyond, 0.0) / least, outside)
    return largest_values(np.diag(theta), R, rest, np.ones(r))


def ratio_bound(
    A: SymmetricOperator,
    B: SymmetricOperator,
    V: Array,
    rho: float,
    weights: Array,
    diagonal: Array,
    most_products: int,
    least: float = 0.0,
    outside: float = -math.inf,
) -> float:
    """Bound tr(WM'AM)/tr(WM'BM) from above, W = diag(weights), B >= 0, rho near the maximum.

    The function f(t) = sum_j w_j lambda_j(A - tB) decreases with t. If an upper bound of f(t) is
    negative, t exceeds all ratios. The slope of f is at most -sum_j w_j times the least eigenvalue
    of B.

    - V (k, m): approximate eigenvectors of the m >= r largest eigenvalues of A - rho B
    - diagonal (k,): diagonal of B, positive
    - least: lower bound of B
    - outside: A further eigenvalue of A - rho B, of directions outside of the coordinates
    """
    Q, r = np.linalg.qr(V)[0], len(weights)
    theta = np.linalg.eigvalsh(sym(Q.T @ (A @ Q - rho * (B @ Q))))[::-1]
    tau = _SHARE * theta[r - 1] + (1.0 - _SHARE) * theta[-1]
    scale = 1.0 / np.sqrt(abs(rho) * diagonal[:, None])

    def scaled(Z: Array) -> Array:
        Z = scale * Z
        return scale * (A @ Z - rho * (B @ Z) - tau * Z)

    beyond = largest_of_rest(scaled, np.linalg.qr(scale * Q)[0], most_products, enough=0.0)
    rest = max(tau + max(beyond, 0.0) / float(np.min(scale)) ** 2, outside)
    AQ, BQ = A @ Q, B @ Q

    def f(t: float) -> float:
        HQ = AQ - t * BQ
        L = sym(Q.T @ HQ)
        return float(weights @ largest_values(L, HQ - Q @ L, rest, weights))

    tried = rho + abs(rho) * 10.0**_BEYOND
    fallen = rho + f(rho) / (least * float(np.sum(weights))) if least > 0 else math.inf
    return next((float(t) for t in tried if t >= fallen or f(t) <= 0), fallen)
