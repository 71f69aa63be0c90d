"""That no large eigenvalue was missed, from products alone: but for a chance that is stated.

Of a Gaussian b, the part u'b along any unit vector u is Gaussian too: it is below s in size with a
chance of less than s sqrt(2/pi). Where H has an eigenvalue above tau, a polynomial p that grows
beyond tau therefore makes |p(H)b| >= p(tau) s, but for that chance; where p(H)b is shorter, there
is none. Nothing is assumed of H: where p is small only decides how much can be told.

Source: J. Kuczynski and H. Wozniakowski, Estimating the largest eigenvalue by the power and Lanczos
algorithms with a random start, SIAM J. Matrix Anal. Appl. 13 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from ldr.solvers.checks import LARGEST
from ldr.solvers.limits import check
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym

# That a statement here is false, over the random vector, which tells at most two things.
CHANCE = 1e-10
_LEAST_PART = 0.5 * CHANCE * math.sqrt(math.pi / 2)
# Steps that find where the eigenvalues are.
_LANCZOS = 20
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

    Parameters
    ----------
    H : callable
        The products of a symmetric k x k matrix.
    Q : ndarray (k, m)
        Orthonormal columns.
    most_products : int
    enough : float, optional
        Nothing smaller need be told; by default no less than half of a negative eigenvalue.
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
    """About the least eigenvalue of H, and the largest, by Lanczos from b."""
    V, k, v = np.empty((min(_LANCZOS, len(b)), len(b))).T, 0, b
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

    Parameters
    ----------
    V : ndarray (k, m)
        Near the eigenvectors of the m >= r largest.
    outside : float
        A further eigenvalue, of directions that are left out.
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

    Parameters
    ----------
    V : ndarray (k, m)
        Near the eigenvectors of the m >= r largest eigenvalues of A - rho B.
    diagonal : ndarray (k,)
        Of B, positive.
    least : float
        What B is at least.
    outside : float
        A further eigenvalue of A - rho B, of directions that are left out.
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
