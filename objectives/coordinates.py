"""Coordinates of a solver, the way back to the user's columns, and a solution's canonical ones."""

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

# If the sizes of the columns are within this factor, scaling them saves no accuracy.
_ALIKE = 2.0
# Scaling saves no accuracy either if no eigenvalue is below this share of the trace.
_CONDITIONED = 1e-5


class Coordinates(ABC):
    """A linear correspondence of k x r points Z and the d x r matrices M of the user.

    - is_columns: True if Z is M, up to a factor
    - has_columns: True if M's entries belong to the user's columns; False if its variable is
      whitened or each column has its own unit
    - is_whitened: True if P depends on the data that it was found on: there it has unit variance
    """

    is_columns: bool = False
    has_columns: bool = False
    is_whitened: bool = False

    @property
    def span(self) -> str | None:
        """The subspace that M cannot leave, in words; None without such a restriction."""
        return None

    @abstractmethod
    def lift(self, Z: Array) -> Array:
        """Return M (d x r) of the point Z (k x r)."""

    @abstractmethod
    def lower(self, M: Array) -> Array:
        """Return Z (k x r) of M (d x r); not orthonormal if M leaves the subspace."""

    def map(self, Z: Array, M: Array) -> Array:
        """Return the linear map P (r x d) of the point Z."""
        return M.T

    def rows(self, A: Array) -> Array:
        """Return centred rows of the data (m x d) that have the coordinates A (m x k)."""
        return self.lift(A.T).T

    def carried(self, M: Array, P: Array) -> Array:
        """Return Z of a matrix and a map that were found on other data.

        It is not orthonormal: if M leaves the subspace, the data do not depend on the rest.
        """
        return self.lower(M)


@dataclass(frozen=True)
class Columns(Coordinates):
    """The columns themselves: Z = M."""

    is_columns = has_columns = True

    def lift(self, Z: Array) -> Array:
        return Z

    def lower(self, M: Array) -> Array:
        return M


class Further(Coordinates):
    """Coordinates on top of the outer coordinates."""

    outer: Coordinates

    @property
    def span(self) -> str | None:
        return self.outer.span

    @property
    def has_columns(self) -> bool:  # type: ignore[override]
        return self.outer.has_columns


class Basis(Protocol):
    """An orthonormal basis Q of a subspace, perhaps never formed: QZ and Q'M."""

    def lift(self, Z: Array) -> Array: ...

    def lower(self, M: Array) -> Array: ...


@dataclass(frozen=True)
class Subspace(Further):
    """M = QZ with orthonormal Q, in the outer coordinates.

    `name` describes the span of Q; None if its complement is irrelevant.
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
    """M = unit * Z, in the outer coordinates; multiplying by a power of two is exact."""

    unit: float
    outer: Coordinates = Columns()

    @property
    def is_columns(self) -> bool:  # type: ignore[override]
        return self.outer.is_columns

    @classmethod
    def of(cls, size: float, outer: Coordinates) -> Scaling:
        """Scale by the power of two nearest to a size; 1 for a size of zero."""
        return cls(2.0 ** round(math.log2(size)) if size > 0 else 1.0, outer)

    def lift(self, Z: Array) -> Array:
        return self.unit * self.outer.lift(Z)

    def lower(self, M: Array) -> Array:
        return self.outer.lower(M) / self.unit


@dataclass(frozen=True)
class ColumnScaling(Further):
    """M = diag(scale) Z, in the outer coordinates."""

    has_columns = False

    scale: Array
    outer: Coordinates = Columns()

    def lift(self, Z: Array) -> Array:
        return self.outer.lift(self.scale[:, None] * Z)

    def lower(self, M: Array) -> Array:
        return self.outer.lower(M) / self.scale[:, None]


@dataclass(frozen=True)
class Whitening(Further):
    """P = Z'W' with W'BW = I, M = B^{1/2} W Z: the variable in which x'Bx is the unit sphere.

    The solver can use any W; the reported M belongs to the symmetric root, P = M'B^{-1/2}. As WW' =
    B^{-1}, the rotation B^{1/2}W is the polar factor of W.

    - W, inverse (k, k)
    - orthogonal: True if W's columns are, so that their normalisation gives the polar factor
    """

    is_whitened = True
    has_columns = False

    W: Array
    inverse: Array
    outer: Coordinates = Columns()
    orthogonal: bool = False

    @classmethod
    def of(cls, B: Array, outer: Coordinates) -> Whitening:
        """Whiten the positive definite B."""
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
        """Return Z with WZ = P', because M belongs to the B of the data that M was found on."""
        return self.inverse @ self.outer.lower(P.T)


def _alike(B: Array, scale: Array) -> bool:
    """Return True if B needs no scaling: similar column lengths, or well conditioned anyway."""
    if scale.max() <= _ALIKE * scale.min():
        return True
    mean = float((scale * scale).sum() / len(scale))
    return float(scale.min()) ** 2 > _CONDITIONED * mean and has_full_rank(B / mean, _CONDITIONED)


def inverse_root(B: Array) -> tuple[Array, Array, bool]:
    """Return W with W'BW = I, its inverse, and True if W's columns are orthogonal.

    B is scaled to a unit diagonal for accuracy, unless its columns have similar lengths: then W's
    columns are orthogonal. Columns in which B is zero are left out of W, which has zeros there.
    Eigenvalues that are lost to rounding are replaced by the level of rounding.
    """
    scale = np.sqrt(np.maximum(B.diagonal(), 0.0))
    if scale.all() and _alike(B, scale):
        unit = power_of_two(scale)
        return *_root_of_scaled(B / unit / unit, unit), True
    there = np.flatnonzero(scale)
    if len(there) == 0:
        raise SingularError(
            "the matrix to be inverted is zero: nothing varies there, and all directions have the "
            "same value"
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


# Entries of a row of P whose sizes are this close tie for the largest.
_LARGEST = 1.0 - 1e-8
# Eigenvalues this close, relative to the largest, leave the axes between them arbitrary.
TIED = 1e-10


@dataclass(frozen=True)
class Axes:
    """Orthogonal matrices that turn the columns of each view's M to its canonical coordinates.

    Most objectives depend only on the span of M, or on M up to the order of its columns, and the M
    at which a solver ends depends on its start. The reported M has canonical axes: they diagonalise
    the objective's matrix, with the best or the largest first.

    - turns (r, r): rotations, one for each view
    - numbers (r,): scores that order the axes, largest first; none if the solver's order stays
    - levels: the numbers of first columns within which axes are free
    - signed: True if the signs of the columns are given too
    - free: True if other axes of the span have the same value
    """

    turns: tuple[Array, ...]
    numbers: Array = field(default_factory=lambda: np.zeros(0))
    levels: tuple[int, ...] = ()
    signed: bool = False
    free: bool = False

    @classmethod
    def given(cls, r: int, views: int = 1) -> Axes:
        """Keep the columns as they are, since each has a meaning of its own."""
        return cls((np.eye(r),) * views, signed=True)

    @classmethod
    def principal(cls, S: Array) -> Axes:
        """Return the eigenvectors of the symmetric S, largest first."""
        values, Q = np.linalg.eigh(0.5 * (S + S.T))
        return cls((np.ascontiguousarray(Q[:, ::-1]),), values[::-1], free=True)

    @classmethod
    def nested(cls, S: Array, levels: Sequence[int]) -> Axes:
        """Return eigenvectors of the diagonal blocks of S, of the columns that each level adds."""
        starts = (0, *levels[:-1])
        blocks = [cls.principal(S[i:j, i:j]) for i, j in zip(starts, levels, strict=True)]
        numbers = np.concatenate([block.numbers for block in blocks])
        return cls((block_diag(*(block.turns[0] for block in blocks)),), numbers, tuple(levels))

    @classmethod
    def singular(cls, K: Array) -> Axes:
        """Return eigenvectors of sym(K), one rotation for both views, which keeps tr(K).

        At a stationary M, K is symmetric, and its singular vectors are the axes.
        """
        both = cls.principal(K)
        return cls(both.turns * 2, both.numbers, free=True)

    @classmethod
    def ordered(cls, numbers: Array, views: int = 1) -> Axes:
        """Return the columns by their numbers, largest first."""
        order = np.argsort(-numbers, kind="stable")
        return cls((np.eye(len(numbers))[:, order],) * views, numbers[order])

    def ties(self) -> tuple[str, ...]:
        """Return a note if numbers agree to rounding."""
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
            f"components {which} (of 0 to {len(self.numbers) - 1}) have neighbours of equal "
            "score, to rounding: the axes between them are arbitrary",
        )


def signs(P: Array) -> Array:
    """Return 1 or -1 for each row: the sign of the first of its largest entries."""
    rows = P.reshape(-1, P.shape[-1])
    size = np.abs(rows)
    first = (size >= _LARGEST * size.max(axis=1)[:, None]).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0).reshape(P.shape[:-1])
