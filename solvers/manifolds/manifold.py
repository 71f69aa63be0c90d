"""The protocol of a manifold; Euclidean space, Stiefel, Grassmann, and products of manifolds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ldr.solvers.errors import ArgumentError

Array = NDArray[np.float64]

# Lagrange multiplier: r x r for M'M = I, a list for a product manifold, None if unconstrained.
Multiplier = Any


class Manifold(ABC):
    """A matrix manifold embedded in a Euclidean space, with the induced metric.

    Points are denoted M and N, tangent vectors U and V, ambient matrices Z. The methods do not
    change their arguments. `project` also accepts an array of several matrices Z.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a point's array."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension of the manifold."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Length scale of trust regions, about the largest distance; `inf` if unbounded."""

    @cached_property
    def factors(self) -> tuple[Manifold, ...]:
        """Factors of a product; any other manifold is its own only factor."""
        return (self,)

    def split(self, Z: Array) -> list[Array]:
        """Split Z into the factors' matrices, as views; leading axes are kept."""
        return [Z]

    def join(self, parts: Sequence[Array]) -> Array:
        """Join the factors' matrices to one array; the inverse of `split`."""
        return parts[0]

    @abstractmethod
    def project(self, M: Array, Z: Array) -> Array:
        """Project the ambient matrix Z orthogonally onto the tangent space at M."""

    @abstractmethod
    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        """Return the retraction R_M(tV) and its exact derivative in t, a tangent vector.

        The derivative of the curve gives a line search exact slopes, which remain accurate where
        differences of f are lost in rounding.
        """

    @abstractmethod
    def multiplier(self, M: Array, G: Array) -> Multiplier:
        """Return the Lagrange multiplier of the constraint at M for the Euclidean gradient G."""

    @abstractmethod
    def hessian(self, M: Array, S: Multiplier, V: Array, HV: Array) -> Array:
        """Return the Riemannian Hessian product: the Lagrangian's product, projected.

        HV is the product of the Euclidean Hessian with V; S is the Lagrange multiplier at M.
        """

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> Array:
        """Draw a point from the uniform distribution (standard normal if unbounded)."""

    def nearest(self, Z: Array) -> Array:
        """Return the point nearest to the ambient matrix Z."""
        return np.array(Z, dtype=np.float64)

    def inner(self, M: Array, U: Array, V: Array) -> float:
        """Return the inner product of tangent vectors at M, the trace of U'V."""
        return float(np.vdot(U, V))

    def norm(self, M: Array, V: Array) -> float:
        """Return the length of a tangent vector."""
        return math.sqrt(np.vdot(V, V))

    def gradient(self, M: Array, G: Array) -> Array:
        """Return the Riemannian gradient from the Euclidean gradient G."""
        return self.project(M, G)

    def retract(self, M: Array, V: Array) -> Array:
        """Return the retraction of the tangent vector V at M."""
        return self.curve(M, V)[0]

    def transport(self, M: Array, N: Array, V: Array) -> Array:
        """Transport the tangent vector V at M (or a stack of vectors) to N, by projection."""
        return self.project(N, V)

    def random_tangent(self, M: Array, rng: np.random.Generator) -> Array:
        """Return a random tangent vector at M of unit length; zero in dimension 0."""
        V = self.project(M, rng.standard_normal(self.shape))
        if self.dimension == 0:
            return np.zeros_like(V)
        return self.project(M, V / self.norm(M, V))

    def distance_from(self, M: Array) -> float:
        """Return the violation of the constraint by the array M, 0 on the manifold."""
        return 0.0


@dataclass(frozen=True)
class Euclidean(Manifold):
    """The space of d x r matrices with the inner product tr(U'V).

    Parameters
    ----------
    d, r : int
        Rows and columns.
    """

    d: int
    r: int = 1

    def __post_init__(self) -> None:
        if self.d < 1 or self.r < 1:
            raise ArgumentError(f"d and r must be at least 1, got d = {self.d}, r = {self.r}")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.d, self.r)

    @property
    def dimension(self) -> int:
        return self.d * self.r

    @property
    def diameter(self) -> float:
        return math.inf

    def project(self, M: Array, Z: Array) -> Array:
        return Z

    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        return M + t * V, V

    def multiplier(self, M: Array, G: Array) -> None:
        return None

    def hessian(self, M: Array, S: None, V: Array, HV: Array) -> Array:
        return HV

    def random_point(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.shape)


@dataclass(frozen=True, init=False)
class Product(Manifold):
    """The product M_1 x ... x M_k; points are flat arrays of all factors' entries.

    `split` returns the matrices of all factors as NumPy views; `join` returns the flat array.

    Parameters
    ----------
    *factors : Manifold
        One or more manifolds.
    """

    factors: tuple[Manifold, ...] = ()
    # Place and shape of each factor of a product manifold in the flat array.
    _places: tuple[tuple[slice, tuple[int, ...]], ...] = field(
        default=(), repr=False, compare=False
    )

    def __init__(self, *factors: Manifold) -> None:
        if not factors:
            raise ArgumentError("a Product needs at least one factor, got none")
        object.__setattr__(self, "factors", factors)
        ends = list(accumulate((math.prod(f.shape) for f in factors), initial=0))
        places = tuple(
            (slice(*pair), f.shape) for pair, f in zip(pairwise(ends), factors, strict=True)
        )
        object.__setattr__(self, "_places", places)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._places[-1][0].stop,)

    @property
    def dimension(self) -> int:
        return sum(f.dimension for f in self.factors)

    @property
    def diameter(self) -> float:
        return math.hypot(*(f.diameter for f in self.factors))

    def split(self, Z: Array) -> list[Array]:
        stack = Z.shape[:-1]
        return [Z[..., place].reshape(stack + shape) for place, shape in self._places]

    def join(self, parts: Sequence[Array]) -> Array:
        stack = parts[0].shape[: parts[0].ndim - len(self._places[0][1])]
        places = zip(self._places, parts, strict=True)
        flat = [Z.reshape(*stack, place.stop - place.start) for (place, _), Z in places]
        return np.concatenate(flat, axis=-1)

    def _each(self, method: str, *arrays: Array) -> Array:
        parts = zip(self.factors, *map(self.split, arrays), strict=True)
        return self.join([getattr(f, method)(*args) for f, *args in parts])

    @cached_property
    def _free(self) -> bool:
        """True if no factor has a constraint, so that all vectors are tangent."""
        return all(type(f) is Euclidean for f in self.factors)

    def project(self, M: Array, Z: Array) -> Array:
        return Z if self._free else self._each("project", M, Z)

    def multiplier(self, M: Array, G: Array) -> list[Multiplier]:
        parts = zip(self.factors, self.split(M), self.split(G), strict=True)
        return [f.multiplier(m, g) for f, m, g in parts]

    def hessian(self, M: Array, S: list[Multiplier], V: Array, HV: Array) -> Array:
        if self._free:
            return HV
        parts = zip(self.factors, self.split(M), S, self.split(V), self.split(HV), strict=True)
        return self.join([f.hessian(*part) for f, *part in parts])

    def nearest(self, Z: Array) -> Array:
        return self._each("nearest", Z)

    def retract(self, M: Array, V: Array) -> Array:
        return self._each("retract", M, V)

    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        parts = zip(self.factors, self.split(M), self.split(V), strict=True)
        points, velocities = zip(*(f.curve(m, v, t) for f, m, v in parts), strict=True)
        return self.join(points), self.join(velocities)

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.join([f.random_point(rng) for f in self.factors])

    def distance_from(self, M: Array) -> float:
        return max(f.distance_from(m) for f, m in zip(self.factors, self.split(M), strict=True))


RETRACTIONS = ("polar", "qr")

# Condition number of Y'Y above which an SVD of Y replaces the eigendecomposition of Y'Y.
_GRAM_CONDITION = 1e4


def sym(S: Array) -> Array:
    """Return the symmetric part of a square matrix or of each matrix of a stack."""
    return 0.5 * (S + S.swapaxes(-1, -2))


def polar_factor(Y: Array) -> Array:
    """Return the nearest matrix with orthonormal columns to Y (d x r, full column rank)."""
    return _polar(Y)[0]


def _polar(Y: Array) -> tuple[Array, Array]:
    """Return the polar factor of Y and (Y'Y)^{-1/2}.

    Y (Y'Y)^{-1/2} through the r x r Gram matrix costs a third of an SVD; one Newton-Schulz step
    squares the loss of orthogonality that forming Y'Y costs.
    """
    eigenvalues, W = np.linalg.eigh(Y.T.dot(Y))
    if eigenvalues[0] * _GRAM_CONDITION <= eigenvalues[-1]:
        return polar_by_svd(Y)
    inverse_root = (W / np.sqrt(eigenvalues)).dot(W.T)
    N = Y.dot(inverse_root)
    return 1.5 * N - 0.5 * N.dot(N.T.dot(N)), inverse_root


def polar_by_svd(Y: Array) -> tuple[Array, Array]:
    """Compute the polar factor and (Y'Y)^{-1/2} by SVD, for ill-conditioned Y."""
    U, s, Vt = thin_svd(Y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return U @ Vt, (Vt.T / s) @ Vt


def qr_factor(Y: Array) -> Array:
    """Return Q of Y = QR with a positive diagonal of R."""
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
        # The polar factor N of Y = M + tV has the derivative V (Y'Y)^{-1/2} plus N times a
        # symmetric matrix. The projection onto the tangent space removes the second term.
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
        """Project G onto the tangent space at M twice.

        Near a solution the projected gradient is much smaller than the Euclidean gradient G. The
        first projection has a rounding error of the size of G's, which the second removes.
        """
        return self.project(M, self.project(M, G))

    def hessian(self, M: Array, S: Array, V: Array, HV: Array) -> Array:
        """Project HV - VS; the term VS is due to the curvature of the constraint."""
        curved = V.dot(S)
        return self.project(M, np.subtract(HV, curved, curved))

    def random_point(self, rng: np.random.Generator) -> Array:
        return _qr(rng.standard_normal(self.shape))[0]

    def nearest(self, Z: Array) -> Array:
        return polar_factor(polar_factor(np.asarray(Z, dtype=np.float64)))

    def distance_from(self, M: Array) -> float:
        return float(np.linalg.norm(M.T @ M - np.eye(self.r), 2))


def thin_svd(A: Array) -> tuple[Array, Array, Array]:
    """Return the thin SVD U, s, Vt, by QR iteration if divide and conquer fails."""
    try:
        return np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(A, full_matrices=False, lapack_driver="gesvd", check_finite=False)


@dataclass(frozen=True)
class Stiefel(Orthonormal):
    """St(d, r) = {M in R^{d x r} : M'M = I}, the Stiefel manifold, with the metric tr(U'V).

    Parameters
    ----------
    d, r : int
        Rows and columns, 1 <= r <= d.
    retraction : {"polar", "qr"}
        "polar" takes the nearest orthonormal matrix, and "qr" the factor Q of a QR decomposition.
        Only "polar" is of second order, which the trust region needs for superlinear convergence.
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
        """Return the projection Z - M sym(M'Z)."""
        if Z.ndim > 2:
            return Z - M @ sym(M.T @ Z)
        S = M.T.dot(Z)  # for few columns `dot` takes a third of the time of `@`
        return Z - M.dot(0.5 * (S + S.T))

    def multiplier(self, M: Array, G: Array) -> Array:
        """Return sym(M'G)."""
        return sym(M.T.dot(G))


@dataclass(frozen=True)
class Grassmann(Orthonormal):
    """Gr(d, r), the r-dimensional subspaces of R^d, for functions of the span of M only.

    A point is any orthonormal basis M of the subspace; tangent vectors are horizontal, M'V = 0.

    Parameters
    ----------
    d, r : int
        Dimension of the space and of the subspaces, 1 <= r <= d.
    retraction : {"polar", "qr"}
        Decomposition that gives an orthonormal basis of the span of M + V. Both decompositions give
        the same subspace, and a retraction of second order.
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
        """Return the projection (I - MM') Z, for a matrix or a stack."""
        if Z.ndim > 2:
            return Z - M @ (M.T @ Z)
        return Z - M.dot(M.T.dot(Z))  # `dot` takes a third of the time of `@` for few columns

    def multiplier(self, M: Array, G: Array) -> Array:
        """Return M'G.

        The product of a tangent V and M'G is tangent except for rounding errors. `hessian` removes
        rounding errors by a projection, because they could grow in Krylov methods.
        """
        return M.T.dot(G)
