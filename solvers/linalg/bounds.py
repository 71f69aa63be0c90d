"""Proved upper bounds of eigenvalue sums and trace ratios: every rounding error is inside them.

Ky Fan: for N with orthonormal columns, D >= 0 diagonal and K <= sI + NDN' + delta I, the sum of the
r largest eigenvalues of K is at most r (s + delta) + tr D. That the difference H is positive
semidefinite is shown by one Cholesky factorisation. If it runs to completion on a stored symmetric
matrix, in floating point and in whatever order, then (Demmel 1989; Rump, Verification of positive
definiteness, BIT 46, 2006) that is semidefinite but for an E with

    |E_ij| <= gamma_k / (1 - gamma_k) sqrt(H_ii H_jj),   gamma_k = ku / (1 - ku), u = 2^-53.

Errors with |E_ij| <= c_i c_j, those and the rounding of H's own entries, have room in one of two
ways. ||E||_F <= sum c_i^2, so that they add at most sqrt(r) times that to the sum of r eigenvalues.
Or, as E <= k diag(c_i^2) by Cauchy and Schwarz, so much is taken off H's diagonal before it is
factorised, and nothing is added: each column has room of its own size, and one that outweighs the
others does not spoil their digits, for M has small entries there.

With s the smallest Ritz value of M in K and D the rest, delta need only exceed ||R||^2 over the
spacing of the eigenvalues plus rounding, R the residual of M: the bound is second order in M's
error, and as tight as rounding lets it be.

Products of matrices without the rounding of their sums.

Of each row of A and column of B the leading digits are split off, so few that the products of
those add up without rounding, in any order (Ozaki, Ogita, Oishi, Rump 2012). What is left is
smaller by as many digits, and so is its rounding.

That no large eigenvalue was missed, from products alone: but for a chance that is stated.

Of a Gaussian b, the part u'b along any unit vector u is Gaussian too: it is below s in size with a
chance of less than s sqrt(2/pi). Where H has an eigenvalue above tau, a polynomial p that grows
beyond tau therefore makes |p(H)b| >= p(tau) s, but for that chance; where p(H)b is shorter, there
is none. Nothing is assumed of H: where p is small only decides how much can be told.

Source: J. Kuczynski and H. Wozniakowski, Estimating the largest eigenvalue by the power and Lanczos
algorithms with a random start, SIAM J. Matrix Anal. Appl. 13 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from ldr.solvers.checks import LARGEST
from ldr.solvers.deadline import check
from ldr.solvers.linalg.eigen import cholesky, generalised_top_eigenvectors, top_eigenvectors
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym

_U = 0.5 * float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
# Rounding of norms and sums that enter the margins themselves is covered by this factor.
_SAFETY = 1.01
# Of products that are summed: 16 eps.
OF_SUMS = 32
SUMS_ROUNDING = OF_SUMS * _U
# By how much delta grows after a factorisation that failed.
_GROWTH = 64.0
_TRIES_AT_M, _TRIES, _NEWTON_STEPS = 2, 60, 4


def _gamma(k: float) -> float:
    return k * _U / (1.0 - k * _U)


class Majorant:
    """sI + NDN' + delta I >= K, of which the r largest eigenvalues are known.

    N spans M's columns, N'KN = sI + D with D >= 0.

    - squares (k,): c_i^2 with |K_ij| <= c_i c_j
    - roundings: proofs cover every symmetric K + E with |E_ij| <= roundings u c_i c_j
    """

    def __init__(self, K: Array, M: Array, squares: Array | None = None, roundings: int = 0):
        mu, V = np.linalg.eigh(M.T @ K @ M)
        self.K, self.N, self.s, self.D = K, M @ V, float(mu[0]), np.maximum(mu - mu[0], 0.0)
        self.squares = entry_squares(np.abs(K)) if squares is None else squares
        self.roundings = roundings
        self._diagonal = np.einsum("ij,ij->i", self.N * self.D, self.N)

    def _errors(self, delta: float) -> tuple[Array, float, float]:
        """c_i^2 of the errors E, what they add to the sum, and the shift that makes room for them.

        Beyond k + 1 operations an entry: a BLAS may multiply by reciprocals where the proof
        divides.
        """
        (k, r), diagonal = self.N.shape, self._diagonal
        gamma = _gamma(k + 8)
        errors = gamma / (1.0 - gamma) * np.abs(diagonal - self.K.diagonal() + self.s + delta)
        errors += k * _TINY + _gamma(r + 4) * diagonal + (3 + self.roundings) * _U * self.squares
        errors = _SAFETY * (errors + 3.0 * _U * (abs(self.s) + delta))
        # The largest x'diag(k c_i^2)x of unit vectors x in N's span.
        along = k * float(np.linalg.eigvalsh(self.N.T @ (errors[:, None] * self.N))[-1])
        return errors, math.sqrt(r) * float(errors.sum()), along

    def top_sum(self, delta: float) -> float:
        """A number that the sum of the r largest eigenvalues of K is proved not to exceed.

        Infinite where the factorisation failed: nothing is proved, M is not good enough for delta.
        """
        N, (k, r) = self.N, self.N.shape
        size = float(np.vdot(N, N)) * _SAFETY
        defect = float(np.linalg.norm(N.T @ N - np.eye(r))) * _SAFETY + _gamma(k + 1) * size
        total = float(self.D.sum()) * (1.0 + defect) * (1.0 + _gamma(r + 2))
        errors, rounding, along = self._errors(delta)
        H = (N * self.D) @ N.T
        H -= self.K
        diagonal = np.einsum("ii->i", H)
        diagonal += self.s + delta
        if r * along < rounding:
            diagonal -= k * errors
            rounding = 0.0
        if not np.isfinite(diagonal).all() or cholesky(H.T) is None:  # in LAPACK's order
            return math.inf
        bound = r * (self.s + delta) + total + rounding
        return bound + 8.0 * r * _U * (r * (abs(self.s) + delta) + total + rounding)

    def least_shift(self) -> tuple[float, float]:
        """The least delta that is worth a try, what rounding usually needs; and what it adds
        besides to the sum of the r largest.
        """
        k, r = self.N.shape
        _, rounding, along = self._errors(0.0)
        if r * along < rounding:
            return 1.5 * along, 0.0
        sizes = 16.0 * math.sqrt(k) * float(np.linalg.norm(self.K))
        return _U * max(sizes, 2.0 * float(np.linalg.norm(self.squares))), rounding


def entry_squares(sizes: Array) -> Array:
    """c_i^2 with S_ij <= c_i c_j, of a symmetric S >= 0.

    Of a semidefinite matrix the diagonal will do, elsewhere a multiple of it or the largest entries
    of the rows.
    """
    rows, diagonal = sizes.max(axis=1), sizes.diagonal()
    there = rows > 0
    if not (diagonal[there] > 0).all():
        return rows
    roots = np.sqrt(np.where(there, diagonal, 1.0))
    multiple = float((sizes / roots / roots[:, None]).max(initial=1.0))
    by_diagonal = _SAFETY * multiple * diagonal
    larger = float(np.log(by_diagonal[there] / rows[there]).sum()) >= 0
    return rows if larger else by_diagonal


class WeightedMajorant:
    """sum_j v_j lambda_j, lambda_j K's eigenvalues from the largest on and v_1 >= ... >= v_r > 0
    the weights: it is sum_k (v_k - v_{k+1}) times the sum of the k largest, v_{r+1} = 0.
    """

    def __init__(
        self,
        K: Array,
        M: Array,
        weights: Array,
        squares: Array | None = None,
        roundings: int = 0,
    ) -> None:
        v = [*weights.tolist(), 0.0]
        self.parts = [
            (v[k - 1] - v[k], Majorant(K, M[:, :k], squares, roundings))
            for k in range(1, len(v))
            if v[k - 1] != v[k]
        ]

    def top_sum(self, delta: float) -> float:
        """A number that the weighted sum is proved not to exceed."""
        sums = [weight * part.top_sum(delta) for weight, part in self.parts]
        return math.fsum(sums) + _SAFETY * _gamma(4) * math.fsum(map(abs, sums))


def largest_sum_bound(
    K: Array, M: Array, eigenvectors: Array, roundings: int = 0, sizes: Array | None = None
) -> float:
    """A proved bound of the sum of the r largest eigenvalues, M perhaps far from spanning them.

    `sizes` are those of the terms that K's entries are sums of, to which rounding is relative.
    """
    squares = entry_squares(np.abs(K) if sizes is None else sizes)
    for N, tries in ((M, _TRIES_AT_M), (eigenvectors, _TRIES)):
        above = Majorant(K, N, squares, roundings)
        delta, _ = above.least_shift()
        for _ in range(tries):
            bound = above.top_sum(delta)
            if math.isfinite(bound):
                return bound
            delta *= _GROWTH
    return math.inf


def rounding_of_correlations(
    N: Array, squares: Array, views: Sequence[slice], shares: Array
) -> float:
    """What |E_ij| <= 16 eps c_i c_j, the rounding of sums, moves sum_{i<j} tr(Ni'Cij Nj) by.

    Ni = Mi/s_i with s_i^2 = tr(Mi'Cii Mi), which the same sums make.

    - N (k, r): the Ni below one another
    - squares (k,): c_i^2
    - views: where each Ni is
    - shares: sum_{j != i} tr(Ni'Cij Nj) of each
    """
    parts = np.sqrt(squares)[:, None] * np.abs(N)
    sizes = np.stack([parts[where].sum(axis=0) for where in views])
    own, total = np.sum(sizes**2, axis=1), sizes.sum(axis=0)
    moved = float(total @ total) + float((np.abs(shares) - 1.0) @ own)
    return 0.5 * SUMS_ROUNDING * moved


# Of an overflow an infinite bound comes, which proves nothing.
@np.errstate(over="ignore", invalid="ignore")
def trace_ratio_bound(
    A: Array,
    B: Array,
    M: Array,
    weights: Array | float = 1.0,
    sums: tuple[Array, Array] | None = None,
) -> float:
    """A number that tr(VN'AN)/tr(VN'BN) is proved not to exceed, for every N with tr(VN'BN) > 0.

    It is a t at which sum_j v_j lambda_j(A - tB) is proved not to be positive. Where M's columns do
    not span the top eigenspaces, the proof is made at the point that Newton's iteration leads to
    from there.

    - weights (r,): V's diagonal, v_1 >= ... >= v_r > 0.
    - sums (k,): a_i and b_i: the proof covers all A + E and B + F with |E_ij| <= 16 eps sqrt(a_i
      a_j), which is what sums of products round, and F likewise
    """
    weights = weights * np.ones(M.shape[1])
    rho = _ratio(A, B, M, weights)
    for _ in range(_TRIES):
        bound = _bound_at(A, B, M, weights, sums, rho, _TRIES_AT_M)
        if math.isfinite(bound):
            return bound
        _, N = top_eigenvectors(A - rho * B, M.shape[1])
        new = _ratio(A, B, N, weights)
        if not new > rho + 4.0 * _U * abs(rho):
            return min(_bound_at(A, B, Q, weights, sums, max(rho, new), _TRIES) for Q in (N, M))
        M, rho = N, new
    return math.inf


def _bound_at(
    A: Array,
    B: Array,
    M: Array,
    weights: Array,
    sums: tuple[Array, Array] | None,
    rho: float,
    tries: int,
) -> float:
    """The bound t = rho + eta, eta grown by Newton steps until the sum is proved not positive.

    At rho the sum is zero, but for rounding, and its bound is what delta and rounding add to that:
    the first step is known without a factor.
    """
    b = float(np.vdot(M * weights, B @ M))
    if not b > 0:
        return math.inf

    def at(t: float) -> WeightedMajorant:
        squares = entry_squares(np.abs(A) + abs(t) * np.abs(B))
        if sums is not None:
            squares = np.maximum(squares, sums[0] + abs(t) * sums[1])
        roundings = 2 if sums is None else 2 + OF_SUMS
        return WeightedMajorant(A - t * B, M, weights, squares, roundings)

    last = at(rho).parts[-1][1]
    delta, rounding = last.least_shift()
    value = float(np.vdot(M * weights, last.K @ M))
    bound = float(value + delta * weights.sum() + rounding * weights[-1])
    eta = 1.1 * max(bound, 0.0) / b
    above = at(rho + eta)
    for _ in range(tries):
        for _ in range(_NEWTON_STEPS):
            bound = above.top_sum(delta)
            if bound <= 0:
                return rho + eta
            if not math.isfinite(bound):
                break
            eta = max(eta + 1.1 * bound / b, 1.1 * eta)  # more than the rounding of rho + eta
            above = at(rho + eta)
        delta *= _GROWTH
    return math.inf


def _ratio(A: Array, B: Array, M: Array, weights: Array) -> float:
    N = M * weights
    return float(np.vdot(N, A @ M)) / float(np.vdot(N, B @ M))


# That a statement here is false, over the random vector, which tells at most two things.
CHANCE = 1e-10
_LEAST_PART = 0.5 * CHANCE * math.sqrt(math.pi / 2)
# Half of the interval in which the polynomial is small, at least, relative to its ends.
_NARROWEST = 1e-8
_ROUNDINGS = 64 * float(np.finfo(float).eps)
# By how much the rest is raised for what couples it to the eigenvectors, as powers of ten.
_RAISED = np.arange(-16.0, 1.0, 0.5)
# Steps beyond a ratio at which a bound is tried, as powers of ten of it.
_BEYOND = np.arange(-14.0, 1.0, 0.25)
# Of the way from the largest eigenvalue of the rest to the least one that counts.
_SHARE = 0.7


def largest_of_rest(
    H: Callable[[Array], Array], Q: Array, most_products: int, *, enough: float | None = None
) -> float:
    """What no eigenvalue of PHP exceeds, P = I - QQ', but for half of `CHANCE`.

    - H: the products of a symmetric k x k matrix
    - Q (k, m): orthonormal columns
    - enough: nothing smaller need be told; by default no less than half of a negative eigenvalue
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
    """About the least eigenvalue of H, and the largest, by twenty steps of Lanczos from b."""
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
    """What the largest eigenvalues of [[L, R'], [R, D]] do not exceed, one by one, D <= rest.

    For each a > 0 the matrix is at most diag(L + R'R/a, rest + a); of these the least weighted sum.
    """
    r, squares = len(weights), R.T @ R
    size = float(np.linalg.norm(L, 2)) + (abs(rest) if math.isfinite(rest) else 0.0)
    found = []
    for a in size * 10.0**_RAISED:
        inside = np.linalg.eigvalsh(L + squares / a)
        found.append(np.sort(np.append(inside, np.full(r, rest + a)))[::-1][:r])
    return min(found, key=lambda values: float(weights @ values)) + _ROUNDINGS * size


def top_values(A: SymmetricOperator, Q: Array, r: int, most_products: int) -> Array:
    """What the r largest eigenvalues of A do not exceed; Q (k x m) is near their eigenvectors."""
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
    """What the r largest generalised eigenvalues of (A, B) do not exceed, the diagonal of B near 1.

    By Sylvester's law of inertia no more of them exceed tau than V has columns, where A - tau B is
    at most 0 on what is B-orthogonal to V; where it is at most e there and B at least b, tau + e/b
    takes its place. Infinite where B is not told to be definite.

    - V (k, m): near the eigenvectors of the m >= r largest
    - outside: A further eigenvalue, of directions that are left out
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
    """What no tr(WM'AM)/tr(WM'BM) exceeds, W = diag(weights), B >= 0; rho is near the largest.

    f(t) = sum_j w_j lambda_j(A - tB) falls with t, and so does A - tB on what is orthogonal to V:
    t exceeds all ratios where what f(t) does not exceed is negative. And f falls by the least of B.

    - V (k, m): near the eigenvectors of the m >= r largest eigenvalues of A - rho B
    - diagonal (k,): of B, positive
    - least: what B is at least
    - outside: A further eigenvalue of A - rho B, of directions that are left out
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
