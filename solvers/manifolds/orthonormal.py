"""Orthonormal columns: what Stiefel and Grassmann manifolds share."""

from __future__ import annotations

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds.manifold import Array, Manifold
from ldr.solvers.spectral import eigh, thin_svd

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
    eigenvalues, W = eigh(Y.T @ Y)
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
