"""The smoothed trace ratio, an upper bound with derivatives."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy

from ldr.solvers.linalg.eigen import symmetric_eigen
from ldr.solvers.manifolds import Array


class SmoothedRatio:
    """t = max (<Q, F> + mu S(F)) / <C, F> over 0 <= F <= I, tr F = r.

    S is the entropy -sum f log f + (1 - f) log(1 - f) of F's eigenvalues f. At an F of rank r it
    is zero, so that t is at least the largest tr(M'QM)/tr(M'CM); it exceeds it by `slack` at most.
    The maximum is expit((Q - tC - nu)/mu), the occupations f = expit((theta - nu)/mu) of the
    eigenvectors of Q - tC with nu such that they add up to r.

    - temperature: mu, in units of the mean eigenvalue of `near` C
    - near: what Newton's iteration for t begins at
    - value: t
    - gradient (d, d): of t in Q: F / <C, F>
    - top (d, r): the eigenvectors most occupied
    """

    def __init__(self, Q: Array, C: Array, r: int, temperature: float, near: float) -> None:
        mu = temperature * abs(near) * float(np.trace(C)) / len(C)
        t = near
        for _ in range(50):
            theta, V = symmetric_eigen(Q - t * C)
            f = _occupations(theta, r, mu)
            entropy = -float(
                np.sum(scipy.special.xlogy(f, f) + scipy.special.xlogy(1.0 - f, 1.0 - f))
            )
            size = float(f @ np.einsum("ij,ij->j", V, C @ V))
            step = (float(f @ theta) + mu * entropy) / size
            t += step
            if not step * step > 1e-15 * temperature * t * t:  # the error that the step leaves
                break
        self.top = np.ascontiguousarray(V[:, :r])
        self.value, self.slack = t, mu * entropy / size
        self._C, self._mu, self._size = C, mu, size
        self._theta, self._V, self._f = theta, V, f
        self._occupied = V[:, : np.count_nonzero(f > 1e-14)]
        self.gradient = (self._occupied * (f[: self._occupied.shape[1]] / size)) @ self._occupied.T

    @cached_property
    def _differences(self) -> Array:
        """(f_i - f_j)/(theta_i - theta_j) of the occupied i and all j."""
        theta, f = self._theta, self._f
        occupied = slice(self._occupied.shape[1])
        apart = theta[occupied, None] - theta
        tied = np.abs(apart) < 1e-6 * self._mu  # there the derivative, not the difference
        slopes = 0.5 * (self._slopes[occupied, None] + self._slopes)
        return np.where(tied, slopes, (f[occupied, None] - f) / np.where(tied, 1.0, apart))

    @cached_property
    def _slopes(self) -> Array:
        return self._f * (1.0 - self._f) / self._mu

    def derivative(self, E: Array) -> Array:
        """Return the change of the gradient along a symmetric E."""
        E = E - float(np.vdot(self.gradient, E)) * self._C
        V, N = self._V, self._occupied
        X = (N.T @ E) @ V
        slopes = self._slopes
        change = self._differences * X
        total = float(slopes.sum())
        if total > 0:  # nu moves too, so that the occupations go on adding up to r
            k = np.arange(len(X))
            change[k, k] -= slopes[k] * float(slopes[k] @ X[k, k]) / total
        change[:, : len(X)] *= 0.5
        D = N @ (change @ V.T)
        D += D.T
        return (D - float(np.vdot(self._C, D)) * self.gradient) / self._size


def _occupations(theta: Array, r: int, mu: float) -> Array:
    """expit((theta - nu)/mu) that add up to r, by Newton's method within bounds; theta descending.

    SciPy's root finders take three times as many sums, a twelfth of a solve of orthogonal-cca.
    """
    low, high = theta[-1] - 50.0 * mu, theta[0] + 50.0 * mu
    nu = 0.5 * (theta[r - 1] + theta[min(r, len(theta) - 1)])
    for _ in range(100):
        f = scipy.special.expit((theta - nu) / mu)
        excess = float(f.sum()) - r
        if abs(excess) <= 1e-13 * r:
            break
        low, high = (nu, high) if excess > 0 else (low, nu)
        slope = float(np.sum(f * (1.0 - f))) / mu
        newton = nu + excess / slope if slope > 0 else low
        nu = newton if low < newton < high else 0.5 * (low + high)
    return f
