"""Matrices with orthonormal columns: the Stiefel and Grassmann manifolds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds.manifold import Array, Manifold

RETRACTIONS = ("polar", "qr")

# Above this condition number of Y'Y the Gram matrix has lost too much of Y: use the SVD of Y.
_GRAM_CONDITION = 1e4


def transpose(Z: Array) -> Array:
    """Transpose of a matrix or of each matrix of a stack."""
    return Z.swapaxes(-1, -2)


def sym(S: Array) -> Array:
    """Symmetric part of a square matrix or of each matrix of a stack."""
    return 0.5 * (S + transpose(S))


def polar_factor(Y: Array) -> Array:
    """The matrix with orthonormal columns nearest to Y (d x r, full column rank)."""
    return _polar(Y)[0]


def _polar(Y: Array) -> tuple[Array, Array]:
    """Polar factor of Y and (Y'Y)^{-1/2}, orthonormal to the last digit.

    Y (Y'Y)^{-1/2} through the r x r Gram matrix costs a third of an SVD; one Newton-Schulz step
    squares the loss of orthogonality that forming Y'Y costs.
    """
    eigenvalues, W = np.linalg.eigh(Y.T @ Y)
    if eigenvalues[0] * _GRAM_CONDITION <= eigenvalues[-1]:
        return polar_by_svd(Y)
    inverse_root = (W / np.sqrt(eigenvalues)) @ W.T
    N = Y @ inverse_root
    return 1.5 * N - 0.5 * (N @ (N.T @ N)), inverse_root


def polar_by_svd(Y: Array) -> tuple[Array, Array]:
    """The same of columns of several scales, whose squares lose their digits."""
    U, s, Vt = thin_svd(Y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return U @ Vt, (Vt.T / s) @ Vt


def qr_factor(Y: Array) -> Array:
    """Q of Y = QR, the diagonal of R positive."""
    return _qr(Y)[0]


def _qr(Y: Array) -> tuple[Array, Array]:
    """QR decomposition with a positive diagonal, which makes Q a continuous function of Y."""
    Q, R = np.linalg.qr(Y)
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    return Q * signs, R * signs[:, None]


class Orthonormal(Manifold):
    """Base of the manifolds whose points are d x r matrices with M'M = I."""

    d: int
    r: int
    retraction: str

    def __post_init__(self) -> None:
        if not 1 <= self.r <= self.d:
            raise ArgumentError(f"r must satisfy 1 <= r <= d = {self.d}, got r = {self.r}")
        if self.retraction not in RETRACTIONS:
            raise ArgumentError(
                f"retraction must be one of {', '.join(RETRACTIONS)}, got {self.retraction!r}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.d, self.r)

    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        Y = M + t * V
        if self.retraction == "qr":
            return self._qr_curve(Y, V)
        # d/dt of Y S^{-1/2} with S = Y'Y = I + t^2 V'V is V S^{-1/2} + N B, where B is symmetric
        # because S and its derivative commute; the projection at N removes N B exactly.
        N, inverse_root = _polar(Y)
        return N, self.project(N, V @ inverse_root)

    def retract(self, M: Array, V: Array) -> Array:
        Y = M + V
        return _qr(Y)[0] if self.retraction == "qr" else polar_factor(Y)

    def _qr_curve(self, Y: Array, V: Array) -> tuple[Array, Array]:
        """Y = QR and dQ = (I - QQ') V R^{-1} + Q skew(Q' V R^{-1})."""
        Q, R = _qr(Y)
        W = np.linalg.solve(R.T, V.T).T
        QW = Q.T @ W
        lower = np.tril(QW, -1)
        return Q, self.project(Q, W - Q @ QW + Q @ (lower - lower.T))

    def gradient(self, M: Array, G: Array) -> Array:
        """Projection of G, twice.

        Near a solution G is nearly normal, and what one projection leaves of it, eps |G|, would be
        as large as the gradient.
        """
        return self.project(M, self.project(M, G))

    def hessian(self, M: Array, S: Array, V: Array, HV: Array) -> Array:
        """Projection of HV - VS; the second term is the curvature of the constraint."""
        curved = V @ S
        return self.project(M, np.subtract(HV, curved, curved))

    def random_point(self, rng: np.random.Generator) -> Array:
        return _qr(rng.standard_normal(self.shape))[0]

    def nearest(self, Z: Array) -> Array:
        return polar_factor(polar_factor(np.asarray(Z, dtype=np.float64)))

    def distance_from(self, M: Array) -> float:
        return float(np.linalg.norm(M.T @ M - np.eye(self.r), 2))


def thin_svd(A: Array) -> tuple[Array, Array, Array]:
    """U, s, Vt with A = U diag(s) Vt; by QR steps where divide and conquer does not converge."""
    try:
        return np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(A, full_matrices=False, lapack_driver="gesvd", check_finite=False)


@dataclass(frozen=True)
class Stiefel(Orthonormal):
    """St(d, r) = {M in R^{d x r} : M'M = I} with the embedded metric tr(U'V).

    Parameters
    ----------
    d, r : int
        Rows and columns, 1 <= r <= d.
    retraction : {"polar", "qr"}
        "polar" is the nearest point to M + V and a second-order retraction, which the trust region
        needs for its rate; "qr" is first-order.
    """

    d: int
    r: int
    retraction: str = "polar"

    @property
    def dimension(self) -> int:
        return self.d * self.r - self.r * (self.r + 1) // 2

    @property
    def diameter(self) -> float:
        return math.pi * math.sqrt(self.r)

    def project(self, M: Array, Z: Array) -> Array:
        """Z - M sym(M'Z)."""
        return Z - M @ sym(M.T @ Z)

    def multiplier(self, M: Array, G: Array) -> Array:
        """sym(M'G)."""
        return sym(M.T @ G)


@dataclass(frozen=True)
class Grassmann(Orthonormal):
    """Gr(d, r): the r-dimensional subspaces of R^d, for functions with f(MQ) = f(M).

    A point is any orthonormal basis M of the subspace; tangent vectors are horizontal, M'V = 0.

    Parameters
    ----------
    d, r : int
        Dimension of the space and of the subspaces, 1 <= r <= d.
    retraction : {"polar", "qr"}
        Both reach the span of M + V and both are second-order here; they differ in the basis.
    """

    d: int
    r: int
    retraction: str = "polar"

    @property
    def dimension(self) -> int:
        return self.r * (self.d - self.r)

    @property
    def diameter(self) -> float:
        return 0.5 * math.pi * math.sqrt(self.r)

    def project(self, M: Array, Z: Array) -> Array:
        """(I - MM') Z, or that of each matrix of a stack."""
        times = np.dot if Z.ndim == 2 else np.matmul  # of few columns in two thirds of the time
        normal = times(M, times(M.T, Z))
        return np.subtract(Z, normal, normal)

    def multiplier(self, M: Array, G: Array) -> Array:
        """M'G.

        V M'G is horizontal already; that `hessian` projects it too keeps the rounding in V from
        growing in Krylov methods, where M'G may act as negative curvature.
        """
        return M.T @ G
