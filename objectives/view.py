"""Views of the data: maps between samples, features, and a solver's coordinates; canonical axes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import block_diag

from ldr.objectives import statistics
from ldr.objectives.data.data import Samples
from ldr.objectives.data.memory import check_squares
from ldr.objectives.data.stored import Change
from ldr.objectives.statistics.scatters import (
    KnownScatter,
    Moments,
    RowScatter,
    Scatter,
    SpannedScatter,
)
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.linalg.eigen import (
    has_full_rank,
    orthogonal_to,
    power_of_two,
    range_basis,
    rank_tolerance,
    unit_diagonal,
)
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING, TIED
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import thin_svd

if TYPE_CHECKING:
    from ldr.objectives.families.whitened import Whitened
    from ldr.objectives.statistics import RowSpace

# Least eigenvalue of a well-conditioned matrix, relative to the diagonal (trace in `_alike`).
WELL_CONDITIONED = 1e-5


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


@dataclass(frozen=True)
class Subspace(Further):
    """M = QZ in the outer coordinates, with an orthonormal Q.

    `name` describes the span of Q in messages; None if M's part outside the span does not matter.
    """

    basis: Array | RowSpace
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
    """M = scale * Z in the outer coordinates, or M = diag(scale) Z.

    - scale: a power of two, which causes no rounding, or a vector (k,)
    """

    scale: float | Array
    outer: Coordinates = Columns()

    @property
    def is_columns(self) -> bool:  # type: ignore[override]
        return np.ndim(self.scale) == 0 and self.outer.is_columns

    @property
    def has_columns(self) -> bool:  # type: ignore[override]
        return np.ndim(self.scale) == 0 and self.outer.has_columns

    @classmethod
    def of(cls, size: float, outer: Coordinates) -> Scaling:
        """Return the scaling by the power of two nearest to `size`; by 1 for a size of zero."""
        return cls(2.0 ** round(math.log2(size)) if size > 0 else 1.0, outer)

    def lift(self, Z: Array) -> Array:
        return self.outer.lift(np.reshape(self.scale, (-1, 1)) * Z)

    def lower(self, M: Array) -> Array:
        return self.outer.lower(M) / np.reshape(self.scale, (-1, 1))


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
        U, _, Vt = thin_svd(W)
        return U @ Vt

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
    """Return True if B is well-conditioned without scaling."""
    mean = float((scale * scale).sum() / len(scale))
    least = WELL_CONDITIONED * mean
    return float(scale.min()) ** 2 > least and has_full_rank(B / mean, WELL_CONDITIONED)


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
            "the scatter matrix that the method inverts is zero: its data vary in no direction, "
            "and all projections are equally good"
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


def orthomax(L: Array, weight: float, steps: int) -> Array:
    """Return the orthogonal T that maximises sum(A^4) - weight n sum(mean(A^2)^2), where A = LT.

    Each step T <- polar factor of L'(A^3 - weight A mean(A^2)) increases the criterion.
    """
    scaled = L / (float(np.abs(L).max()) or 1.0)
    T = np.eye(L.shape[1])
    for _ in range(steps):
        A, old = scaled @ T, T
        squares = A * A  # a product is 100 times as fast as NumPy's power
        U, _, Vt = np.linalg.svd(scaled.T @ (A * (squares - weight * squares.mean(axis=0))))
        T = U @ Vt
        if np.abs(T - old).max() <= FACTOR_ROUNDING:
            break
    return T


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
    first = (size >= (1.0 - TIED) * size.max(axis=1)[:, None]).argmax(axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0).reshape(P.shape[:-1])


# Limit: squares of values between 1 / limit and limit can be multiplied without overflow.
IN_RANGE = 2.0**100


class Features(ABC):
    """A map of rows to rows of features."""

    @abstractmethod
    def __call__(self, samples: Samples) -> Samples:
        """Return the features of the rows, n x k."""


@dataclass(frozen=True)
class Composed(Features):
    """The composition of two feature maps."""

    first: Features
    second: Features

    def __call__(self, samples: Samples) -> Samples:
        return self.second(self.first(samples))


@dataclass(frozen=True)
class Quadratic(Features):
    """Degree-2 expansion: the d centred columns, and their d(d + 1)/2 products.

    Columns are centred by the mean of the training rows, to make products less collinear.

    - mean (d,)
    - unit: divisor of the products, a power of two
    """

    mean: Array
    unit: float = 1.0

    @classmethod
    def of(cls, samples: Samples, *, free: bool) -> Quadratic:
        """Return the expansion for training rows; `free` fits the products' unit to their size."""
        centre = statistics.mean(samples)
        size = power_of_two(samples.dense() - centre) if free else 1.0
        return cls(centre, 1.0 if 1.0 / IN_RANGE <= size <= IN_RANGE else size)

    def __call__(self, samples: Samples) -> Samples:
        samples.expect_columns(len(self.mean))
        Z = samples.dense() - self.mean
        i, j = np.triu_indices(samples.d)
        with np.errstate(over="ignore"):
            products = np.hstack([Z, Z[:, i] / self.unit * Z[:, j]])
        if not np.isfinite(products).all():
            raise DataError(
                f"{samples.name} has entries as large as {np.abs(Z).max():.1e}, whose squares "
                f"overflow: divide {samples.name} by a large number"
            )
        return Samples(products, None, samples.name, marks=samples.marks)


@dataclass(frozen=True)
class HalfSquaredDistances(Features):
    """The squared distances times -1/2; double centring would give inner products."""

    def __call__(self, samples: Samples) -> Samples:
        return Samples(-0.5 * samples.dense() ** 2, samples.feature_names, samples.name)


@dataclass(frozen=True)
class LogCounts(Features):
    """The logarithm of counts, and -m for counts of zero.

    - saturation: m
    """

    saturation: float

    def of(self, X: Array) -> Array:
        return np.log(X, where=X > 0, out=np.full_like(X, -self.saturation))

    def __call__(self, samples: Samples) -> Samples:
        X = np.asarray(samples.dense(), dtype=np.float64)
        return Samples(self.of(X), samples.feature_names, samples.name, marks=samples.marks)


def then(first: Features | None, second: Features | None) -> Features | None:
    """Return the composition of two feature maps; None is the identity."""
    if first is None or second is None:
        return second if first is None else first
    return Composed(first, second)


def span_of(views: Sequence[View]) -> str | None:
    """Return a description of the subspaces to which M is restricted; None if unrestricted."""
    spans = dict.fromkeys([view.coordinates.span for view in views])
    return " and ".join(filter(None, spans)) or None


@dataclass(frozen=True)
class View:
    """Map between a data matrix and a solver's coordinates.

    - mean (d,): vector subtracted from the rows before the map
    - coordinates: coordinates of the solver
    - notes: messages on restrictions to a subspace and ridges
    - features: feature map before the objective
    - scatter: scatter of the rows in the columns of the map; None if rows cannot be read again
    - centre in {"mean", "median", "zero"}: kind of centre in `mean`
    """

    mean: Array
    coordinates: Coordinates = field(default_factory=Columns)
    notes: tuple[str, ...] = ()
    features: Features | None = None
    scatter: Scatter | None = None
    centre: str = "mean"

    def noting(self, *notes: str) -> View:
        """Return the view with further messages."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    def of_all(self, samples: Samples) -> View:
        """Return the view of all rows, for a problem of some of the rows."""
        centre = statistics.mean(samples)
        return replace(self, mean=centre, scatter=RowScatter(samples, centre))

    def within(self, restriction: Range | Whitened) -> View:
        """Return the view in restricted coordinates."""
        notes = (*self.notes, *restriction.notes)
        return replace(self, coordinates=restriction.coordinates, notes=notes)

    def after(self, features: Features, note: str) -> View:
        """Return the view of features of the data, with a message."""
        return replace(self, features=then(features, self.features), notes=(note, *self.notes))


def noted(views: Sequence[View], *notes: str) -> tuple[View, ...]:
    """Return the views with messages on the problem, which are appended to the last view."""
    *others, last = views
    return (*others, last.noting(*notes))


@dataclass(frozen=True)
class Compact:
    """The data in at most n columns, with the map to the user's d columns.

    - rows: the data, for n < d in coordinates of the span of the centred rows
    - quiet: True if no message on the span is needed, because directions outside are not better or
      the certificate mentions the span
    - features: feature map that was applied to the data, if any
    - whole: the rows in all columns, if `rows` are projected to a subspace
    """

    rows: Samples
    coordinates: Coordinates
    space: RowSpace | None = None
    quiet: bool = False
    features: Features | None = None
    whole: Samples | None = None

    @classmethod
    def of(
        cls,
        samples: Samples,
        *,
        room: int = 0,
        quiet: bool = False,
        features: Features | None = None,
        by_products: bool = False,
    ) -> Compact:
        """Return the rows in coordinates of their span if n < d, without d x d arrays.

        The reduction is exact if the optimum is in the span of the rows. With `room` for r
        directions outside the span, the reduction is also exact if directions without variance may
        be optimal, because all directions outside are equivalent. A stream of rows is assumed to
        have n >= d. Wide sparse rows are not reduced if matrix-vector products suffice.
        """
        if not samples.in_range:
            check_squares(samples)
        wide = by_products and samples.wide
        if not samples.n_known or samples.n >= samples.d or wide:
            return cls(samples, Columns(), features=features)
        if samples.stored:  # assumption: if n < d, all rows of a file fit into memory
            samples = samples.take(np.arange(samples.n))
            check_squares(samples)
        space = statistics.WidenedRowSpace.of(statistics.row_space(samples), room)
        if space.scores.shape[1] == 0:
            raise SingularError(
                f"all rows of {samples.name} are equal, so that all projections are equally good"
            )
        name = None if room else "the span of the rows"
        coordinates = Subspace(space, name=name)
        rows = Samples(space.scores, marks=samples.marks)
        return cls(rows, coordinates, space, quiet, features)

    @classmethod
    def about_zero(cls, *parts: Samples, room: int = 0) -> tuple[Compact, list[Samples]]:
        """Return rows reduced for sums about zero over several samples, and these samples.

        The span is that of the rows and their negatives, of mean zero: centring has no effect.
        """
        for each in parts:
            check_squares(each)
        if not all(s.n_known for s in parts) or 2 * sum(s.n for s in parts) >= parts[0].d:
            return cls.of_columns(parts[0]), list(parts)
        if any(s.is_sparse for s in parts):
            raise DataError("X is sparse with fewer rows than columns: pass dense arrays instead")
        rows = np.vstack([s.dense() for s in parts])
        compact = cls.of(Samples(np.vstack([rows, -rows])), room=room)
        assert compact.space is not None
        lower = compact.space.lower
        lowered = [Samples(lower(s.dense().T).T, marks=s.marks) for s in parts]
        return replace(compact, rows=lowered[0]), lowered

    @classmethod
    def along(cls, basis: Array, mean: Array, samples: Samples) -> Compact:
        """Return the rows projected onto a subspace with an orthonormal basis (d, k)."""
        empty = np.empty((0, basis.shape[1]))
        space = statistics.DenseRowSpace(mean, empty, np.zeros(basis.shape[1]), basis)
        rows = Change(basis, mean)(samples)
        return cls(rows, Subspace(basis), space, True, whole=samples)

    @classmethod
    def of_columns(cls, samples: Samples) -> Compact:
        """Return the rows in all columns."""
        check_squares(samples)
        return cls(samples, Columns())

    def view(self, mean: Array, scatter: Scatter | None = None) -> View:
        """Return the view for the mean of `rows`, and the scatter of `rows` if known."""
        if scatter is None and self.rows.repeatable:
            scatter = RowScatter(self.rows, mean)
        if self.space is not None:
            mean = self.space.mean + self.space.lift(mean[:, None])[:, 0]
            scatter = None if scatter is None else SpannedScatter(self.space, scatter)
        if self.whole is not None and self.space is not None:
            mean = self.space.mean
            scatter = RowScatter(self.whole, mean)
        view = View(mean, self.coordinates, features=self.features, scatter=scatter)
        span = self.coordinates.span
        if span is None or self.quiet:
            return view
        return view.noting(f"there are fewer rows than columns: M is restricted to {span}")

    def view_of(self, stats: Moments) -> View:
        """Return the view for the moments of `rows`."""
        return self.view(stats.mean, KnownScatter(stats.scatter, stats.n))


@dataclass(frozen=True)
class Range:
    """Range of a positive semidefinite matrix, to which M is restricted.

    - coordinates: coordinates in the range
    - notes: messages on the restriction; empty for full rank
    - rank: rank of the matrix
    """

    coordinates: Coordinates
    notes: list[str]
    rank: int
    _Q: Array | None

    @classmethod
    def of(cls, total: Array, coordinates: Coordinates, what: str) -> Range:
        check_varies(total, what)
        Q = range_basis(total)
        if Q is None:
            return cls(coordinates, [], len(total), None)
        why = (
            f"eigenvalues below {rank_tolerance(len(total)):.1e} of the largest count as zero, for "
            "columns of unit variance"
        )
        return cls.along(Q, coordinates, what, why)

    @classmethod
    def along(cls, Q: Array, coordinates: Coordinates, what: str, why: str) -> Range:
        """Return the range with the orthonormal basis Q; `why` explains the rank in a message."""
        d, rank = Q.shape
        note = f"{what} has rank {rank} of {d}: M is restricted to its range ({why})"
        return cls(Subspace(Q, coordinates, f"the range of {what}"), [note], rank, Q)

    @property
    def left_out(self) -> Array:
        """Orthonormal basis of the orthogonal complement of the range, (d, d - rank)."""
        if self._Q is None:
            return np.zeros((self.rank, 0))
        return orthogonal_to(self._Q)

    def squares(self, spread: Array) -> Array:
        """Return c_i^2 such that |E_ij| <= s_i s_j, s_i^2 = spread, gives |Q'EQ|_ij <= c_i c_j."""
        return spread if self._Q is None else (np.abs(self._Q).T @ np.sqrt(spread)) ** 2

    def rows(self, A: Array) -> Array:
        """Return Q'A."""
        return A if self._Q is None else self._Q.T @ A

    def lift(self, A: Array) -> Array:
        """Return QA."""
        return A if self._Q is None else self._Q @ A

    def __call__(self, A: Array) -> Array:
        """Return Q'AQ, the symmetric A restricted to the range."""
        return A if self._Q is None else self._Q.T @ A @ self._Q


def nothing_varies(what: str) -> SingularError:
    """Return the SingularError for a zero matrix."""
    return SingularError(f"{what} is zero, so that all directions are equally good")


def check_varies(squares: Array, what: str, total: Array | None = None) -> None:
    """Refuse sums of squares that are all zero, or mere rounding errors relative to the total."""
    largest = 0.0 if total is None else SUMS_ROUNDING**2 * np.diag(total)
    if np.all(np.abs(np.diag(squares)) <= largest):
        raise nothing_varies(what)
