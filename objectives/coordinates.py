"""Coordinates of solvers, maps to the user's columns, and canonical axes of a solution."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import block_diag

from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.eigen import has_full_rank, power_of_two, unit_diagonal
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import polar_by_svd

# Columns are not scaled if their lengths differ at most by this factor.
_ALIKE = 2.0
# Columns are not scaled if all eigenvalues of the covariance exceed this share of its trace.
_CONDITIONED = 1e-5


class Coordinates(ABC):
    """Linear map from points Z (k x r) of a solver to the user's matrices M (d x r), and back.

    - is_columns: True if Z equals M, up to a scalar factor
    - has_columns: True if the rows of M correspond to the user's columns in one unit; False for
      whitened variables or columns with separate units
    - is_whitened: True if P is scaled to unit variance on the data
    """

    is_columns: bool = False
    has_columns: bool = False
    is_whitened: bool = False

    @property
    def span(self) -> str | None:
        """Description of the subspace to which M is restricted; None without a restriction."""
        return None

    @abstractmethod
    def lift(self, Z: Array) -> Array:
        """Return the matrix M (d x r) of the point Z (k x r)."""

    @abstractmethod
    def lower(self, M: Array) -> Array:
        """Return the point Z (k x r) of M (d x r), not orthonormal if M is not in the subspace."""

    def map(self, Z: Array, M: Array) -> Array:
        """Return the linear map P (r x d) of the point Z."""
        return M.T

    def rows(self, A: Array) -> Array:
        """Return the centred rows of the data (m x d) with the coordinates A (m x k)."""
        return self.lift(A.T).T

    def carried(self, M: Array, P: Array) -> Array:
        """Return the point Z for a matrix M and a map P that were fitted to other data.

        Z is not orthonormal if M is not in the subspace.
        """
        return self.lower(M)


@dataclass(frozen=True)
class Columns(Coordinates):
    """Identity coordinates, Z = M."""

    is_columns = has_columns = True

    def lift(self, Z: Array) -> Array:
        return Z

    def lower(self, M: Array) -> Array:
        return M


class Further(Coordinates):
    """Coordinates composed with outer coordinates."""

    outer: Coordinates

    @property
    def span(self) -> str | None:
        return self.outer.span

    @property
    def has_columns(self) -> bool:  # type: ignore[override]
        return self.outer.has_columns


class Basis(Protocol):
    """An orthonormal basis Q of a subspace, by the products QZ and Q'M."""

    def lift(self, Z: Array) -> Array: ...

    def lower(self, M: Array) -> Array: ...


@dataclass(frozen=True)
class Subspace(Further):
    """M = QZ in the outer coordinates, with an orthonormal Q.

    `name` describes the span of Q in messages; None if M's part outside the span does not matter.
    """

    basis: Array | Basis
    outer: Coordinates = Columns()
    name: str | None = None

    @property
    def span(self) -> str | None:
        return self.name or self.outer.span

    @property
    def is_whitened(self) -> bool:  # type: ignore[override]
        return self.outer.is_whitened

    def lift(self, Z: Array) -> Array:
        return self.outer.lift(self._outward(Z))

    def lower(self, M: Array) -> Array:
        return self._inward(self.outer.lower(M))

    def map(self, Z: Array, M: Array) -> Array:
        return self.outer.map(self._outward(Z), M)

    def rows(self, A: Array) -> Array:
        return self.outer.rows(self._outward(A.T).T)

    def carried(self, M: Array, P: Array) -> Array:
        return self._inward(self.outer.carried(M, P))

    def _outward(self, Z: Array) -> Array:
        return self.basis @ Z if isinstance(self.basis, np.ndarray) else self.basis.lift(Z)

    def _inward(self, Z: Array) -> Array:
        return self.basis.T @ Z if isinstance(self.basis, np.ndarray) else self.basis.lower(Z)


@dataclass(frozen=True)
class Scaling(Further):
    """M = unit * Z in the outer coordinates; the unit is a power of two, without rounding."""

    unit: float
    outer: Coordinates = Columns()

    @property
    def is_columns(self) -> bool:  # type: ignore[override]
        return self.outer.is_columns

    @classmethod
    def of(cls, size: float, outer: Coordinates) -> Scaling:
        """Return the scaling by the power of two nearest to `size`; by 1 for a size of zero."""
        return cls(2.0 ** round(math.log2(size)) if size > 0 else 1.0, outer)

    def lift(self, Z: Array) -> Array:
        return self.unit * self.outer.lift(Z)

    def lower(self, M: Array) -> Array:
        return self.outer.lower(M) / self.unit


@dataclass(frozen=True)
class ColumnScaling(Further):
    """M = diag(scale) Z in the outer coordinates."""

    has_columns = False

    scale: Array
    outer: Coordinates = Columns()

    def lift(self, Z: Array) -> Array:
        return self.outer.lift(self.scale[:, None] * Z)

    def lower(self, M: Array) -> Array:
        return self.outer.lower(M) / self.scale[:, None]


@dataclass(frozen=True)
class Whitening(Further):
    """Whitened coordinates for a matrix B: P = Z'W' with W'BW = I, and M = B^{1/2} W Z.

    The solver can use any W; M refers to the symmetric root, P = M'B^{-1/2}. As WW' = B^{-1}, the
    rotation B^{1/2}W is the polar factor of W.

    - W, inverse (k, k): the whitening matrix W, and its inverse
    - orthogonal: True if W's columns are orthogonal; normalised columns then form the polar factor
    """

    is_whitened = True
    has_columns = False

    W: Array
    inverse: Array
    outer: Coordinates = Columns()
    orthogonal: bool = False

    @classmethod
    def of(cls, B: Array, outer: Coordinates) -> Whitening:
        """Return whitened coordinates for a positive definite B."""
        W, inverse, orthogonal = inverse_root(B)
        return cls(W, inverse, outer, orthogonal)

    @cached_property
    def _rotation(self) -> Array:
        W = self.W / power_of_two(self.W)
        if self.orthogonal:
            return np.asarray(W / np.linalg.norm(W, axis=0))
        return polar_by_svd(W)[0]

    def lift(self, Z: Array) -> Array:
        return self.outer.lift(self._rotation @ Z)

    def lower(self, M: Array) -> Array:
        return self._rotation.T @ self.outer.lower(M)

    def map(self, Z: Array, M: Array) -> Array:
        return self.outer.lift(self.W @ Z).T

    def rows(self, A: Array) -> Array:
        return self.outer.rows(A @ self.inverse)

    def carried(self, M: Array, P: Array) -> Array:
        """Return Z with WZ = P', because M depends on the matrix B of the other data."""
        return self.inverse @ self.outer.lower(P.T)


def _alike(B: Array, scale: Array) -> bool:
    """Return True if B needs no scaling: similar column lengths, or well conditioned anyway."""
    if scale.max() <= _ALIKE * scale.min():
        return True
    mean = float((scale * scale).sum() / len(scale))
    return float(scale.min()) ** 2 > _CONDITIONED * mean and has_full_rank(B / mean, _CONDITIONED)


def inverse_root(B: Array) -> tuple[Array, Array, bool]:
    """Return W with W'BW = I, its inverse, and True if W's columns are orthogonal.

    For accuracy B is scaled to a unit diagonal, unless the columns have similar lengths: without
    scaling W's columns are orthogonal. For a zero column of B, W has a zero row. Eigenvalues below
    the level of rounding are replaced by this level.
    """
    scale = np.sqrt(np.maximum(B.diagonal(), 0.0))
    if scale.all() and _alike(B, scale):
        unit = power_of_two(scale)
        return *_root_of_scaled(B / unit / unit, unit), True
    there = np.flatnonzero(scale)
    if len(there) == 0:
        raise SingularError(
            "the matrix to be inverted is zero: the data vary in no direction, and all directions "
            "have the same value"
        )
    W, inverse = np.zeros((len(B), len(there))), np.zeros((len(there), len(B)))
    scaled = unit_diagonal(B)[0][np.ix_(there, there)]
    W[there], inverse[:, there] = _root_of_scaled(scaled, scale[there])
    return W, inverse, False


def _root_of_scaled(scaled: Array, scale: Array | float) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(scaled)
    roots = np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))
    W = vectors / roots / np.reshape(scale, (-1, 1))
    return W, np.ascontiguousarray(roots[:, None] * vectors.T * scale)


# Loadings whose magnitudes differ relatively by less than 1e-8 tie for the largest.
_LARGEST = 1.0 - 1e-8
# Eigenvectors are arbitrary if the relative difference of their eigenvalues is below this value.
TIED = 1e-10


@dataclass(frozen=True)
class Axes:
    """Orthogonal matrices that rotate the columns of each view's M to canonical axes.

    Most objectives depend only on the span of M, or on M up to the order of the columns; the M that
    a solver finds then depends on the start. The reported M has canonical axes: eigenvectors of the
    objective's r x r matrix, in descending order of scores.

    - turns (r, r): rotations, one for each view
    - numbers (r,): scores that order the axes, largest first; empty to keep the solver's order
    - levels: dimensions of nested subspaces, between which axes are not exchangeable
    - signed: True if the signs of the columns are fixed
    - free: True if the value depends only on the span of M
    """

    turns: tuple[Array, ...]
    numbers: Array = field(default_factory=lambda: np.zeros(0))
    levels: tuple[int, ...] = ()
    signed: bool = False
    free: bool = False

    @classmethod
    def given(cls, r: int, views: int = 1) -> Axes:
        """Return the identity: the objective determines each column."""
        return cls((np.eye(r),) * views, signed=True)

    @classmethod
    def principal(cls, S: Array) -> Axes:
        """Return the eigenvectors of the symmetric S (r x r), by descending eigenvalue."""
        values, Q = np.linalg.eigh(0.5 * (S + S.T))
        return cls((np.ascontiguousarray(Q[:, ::-1]),), values[::-1], free=True)

    @classmethod
    def nested(cls, S: Array, levels: Sequence[int]) -> Axes:
        """Return eigenvectors of diagonal blocks of S, a block for the columns of each level."""
        starts = (0, *levels[:-1])
        blocks = [cls.principal(S[i:j, i:j]) for i, j in zip(starts, levels, strict=True)]
        numbers = np.concatenate([block.numbers for block in blocks])
        return cls((block_diag(*(block.turns[0] for block in blocks)),), numbers, tuple(levels))

    @classmethod
    def singular(cls, K: Array) -> Axes:
        """Return the eigenvectors of (K + K')/2, a rotation for both views.

        A rotation of both views does not change tr(K). At a stationary M, K is symmetric, and the
        axes are the singular vectors of K.
        """
        both = cls.principal(K)
        return cls(both.turns * 2, both.numbers, free=True)

    @classmethod
    def ordered(cls, numbers: Array, views: int = 1) -> Axes:
        """Return the permutation that sorts the columns by `numbers`, the largest first."""
        order = np.argsort(-numbers, kind="stable")
        return cls((np.eye(len(numbers))[:, order],) * views, numbers[order])

    def ties(self) -> tuple[str, ...]:
        """Return a message that names components with equal scores, up to rounding."""
        if len(self.numbers) < 2:
            return ()
        apart = np.abs(self.numbers[1:] - self.numbers[:-1])
        near = apart <= TIED * np.abs(self.numbers).max()
        close = set(near.nonzero()[0].tolist()) - {level - 1 for level in self.levels[:-1]}
        if not close:
            return ()
        tied = sorted(close | {k + 1 for k in close})
        which = ", ".join(str(k) for k in tied)
        return (
            f"components {which} (of 0 to {len(self.numbers) - 1}) have equal scores, to rounding: "
            "axes of components with equal scores are arbitrary in their span",
        )


def signs(P: Array) -> Array:
    """Return the sign of the entry of largest magnitude in each row, in a tie of the first one."""
    rows = P.reshape(-1, P.shape[-1])
    size = np.abs(rows)
    first = (size >= _LARGEST * size.max(axis=1)[:, None]).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0).reshape(P.shape[:-1])
