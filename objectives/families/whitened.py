"""Matrix pairs (A, B), B a sum of squares, and traces in coordinates in which B is the identity.

The computed sum of squares B is less accurate than the rows. Entries of a sum of squares are
accurate to u = 1e-16 of the diagonal: directions with a variance below u times the columns'
variance are lost. Generalised eigenvalues are accurate to u = 1e-16 times the condition number of
B, the square of the condition number of the rows. If this accuracy is insufficient, B is computed
again in coordinates that whiten the first B, as in repeated Cholesky QR (Fukaya et al. 2014, 2020),
which needs sums over rows only. The remaining error is u = 1e-16 times the condition number of the
rows, as large as the effect of rounding in the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from scipy.linalg import block_diag

from ldr.objectives import statistics
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, Samples, UnknownError
from ldr.objectives.data.stored import Change
from ldr.objectives.families.trace import AbsoluteTrace, Trace, absolute_value
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, optional_word
from ldr.objectives.prediction import Groups
from ldr.objectives.problem import Stated
from ldr.objectives.statistics import Moments, moments
from ldr.objectives.statistics.scatters import KnownScatter
from ldr.objectives.view import (
    WELL_CONDITIONED,
    Compact,
    Coordinates,
    Range,
    View,
    Whitening,
    check_varies,
    inverse_root,
    nothing_varies,
)
from ldr.solvers.checks import LARGEST
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING, spectral_bound
from ldr.solvers.linalg.eigen import (
    cross_product,
    defect_of,
    has_full_rank,
    length,
    rank_tolerance,
    scaled_basis,
    unit_diagonal,
)
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from ldr.objectives.families.wide import WidePencil
    from ldr.objectives.statistics import ClassMoments, JointShrinkage, Shrinkage


@dataclass(frozen=True)
class SumOfSquares:
    """A positive semidefinite matrix B = sum_i w_i x_i x_i' of rows x_i.

    - B (k, k): the matrix, the weighted sum of squares
    - mean (k,): of the rows
    - sizes (k,): root of each column's sum of squares, for bounds of rounding errors
    - total (k, k): total scatter of the rows if larger than B
    - scatter: scatter of the rows
    """

    B: Array
    mean: Array
    sizes: Array
    total: Array | None = None
    scatter: KnownScatter | None = None

    @classmethod
    def of_rows(cls, scatter: Array, mean: Array, n: float) -> SumOfSquares:
        """Return the scatter of n rows."""
        sizes = np.sqrt(diagonal(scatter) + n * mean**2)
        return cls(scatter, mean, sizes, scatter=KnownScatter(scatter, n))

    @classmethod
    def covariance(cls, scatter: Array, mean: Array, n: float) -> SumOfSquares:
        """Return the covariance of n rows with a known scatter."""
        sizes = np.sqrt(diagonal(scatter / n) + mean**2)
        return cls(scatter / n, mean, sizes, scatter=KnownScatter(scatter, n))


@dataclass(frozen=True)
class Pencil(SumOfSquares):
    """The numerator matrix A and the denominator matrix B of a method.

    - A (k, k): matrix, or function that returns the matrix from a W with WW' = B^{-1}
    - size: size of the terms that cancel in A, relative to B
    - groups: classes of the rows, if any
    - unrelated: function that returns the expected ratio of A to B for independent rows
    """

    A: Array = field(kw_only=True)
    size: float | Callable[[float], float] = field(default=0.0, kw_only=True)
    groups: ClassMoments | None = field(default=None, kw_only=True)
    unrelated: Callable[[], float] | None = field(default=None, kw_only=True)

    def terms(self, a: float) -> float:
        """Return the size of the terms whose sum is A, given a bound `a` of A."""
        return self.size(a) if callable(self.size) else max(a, self.size)


@dataclass(frozen=True)
class RowPencil:
    """The matrix pair (A, B) of a method as a function of the rows' coordinates.

    - compact: the rows
    - of: function of a `Change` that returns the matrix pair of the changed rows
    - what: the name of B, for messages
    - others: further samples that the matrices depend on
    - classes (c,): labels of the groups
    - chosen: parameters estimated from the rows; see `BoundObjective`
    - wide: the matrix pair as operators if the rows have too many columns for arrays
    - notes, searched: the message, and `BoundObjective.searched`, if coordinates come from products
    """

    compact: Compact
    of: Callable[[Change], Pencil]
    what: str
    others: Sequence[Samples] = ()
    classes: Cells | None = None
    chosen: Mapping[str, float | Array] = field(default_factory=dict)
    wide: WidePencil | None = None
    notes: tuple[str, ...] = ()
    searched: float | None = None

    def narrowed(
        self, r: int, ridge: float, sign: float, weights: Array | None = None
    ) -> tuple[RowPencil, float]:
        """Return the matrix pair in a subspace that contains the optimum, for very wide rows.

        The second result is the ridge relative to B in the subspace. The method maximises the
        numerator A times `sign`.
        """
        if self.wide is None:
            return self, ridge
        pencil = self.wide.against(ridge, sign)
        basis, note, residual = pencil.solved(r, weights)
        inside = Change(basis, pencil.rows.mean)
        rows = replace(
            self,
            compact=Compact.along(basis, pencil.rows.mean, self.compact.rows),
            of=lambda later: self.of(inside.then(later)),
            wide=None,
            notes=(note,),
            searched=residual,
        )
        share = pencil.ridge / float(diagonal(rows.plain.B).mean()) if ridge > 0 else 0.0
        return rows, share

    @cached_property
    def plain(self) -> Pencil:
        """The matrix pair in the coordinates of the rows."""
        return self.of(Change())

    @property
    def view(self) -> View:
        """The View (map to the user's columns), centred by the mean of the rows."""
        return self.compact.view(self.plain.mean, self.plain.scatter)

    def changed(
        self, how: Callable[[Pencil, Change], Pencil], **chosen: float | Array
    ) -> RowPencil:
        """Return the pair with changed matrices; `chosen` are the estimated parameters."""

        def of(change: Change) -> Pencil:
            return how(self.plain if change.T is None else self.of(change), change)

        return replace(self, of=of, chosen={**self.chosen, **chosen})

    def answers(
        self,
        found: Pencil,
        coordinates: Coordinates,
        W: Array | None = None,
        ridged: Array | None = None,
        ridge: float = 0.0,
    ) -> Groups | None:
        """Return the predictor of classes by the class means in the coordinates W'x.

        With a ridge, `ridged` is B plus the ridge in these coordinates and replaces the scatter
        within groups. Otherwise class probabilities for few samples would be too extreme. If
        `ridge` is given, `ridged` is B, and `ridge` is added in all columns.
        """
        if self.classes is None or found.groups is None:
            return None
        return Groups(self.classes, found.groups, coordinates, W, ridged, ridge)


def check_comparable(A: Array, what: str, size: float = 1.0) -> None:
    """Refuse an A too large relative to B; `what` is B's name in the message."""
    if not length(A) <= LARGEST**2 * size:
        raise DataError(
            f"the objective divides by {what}, which is so small in some direction that the value "
            f"exceeds {LARGEST**2:.0e}: bring columns to similar units, or drop near-constant ones"
        )


def diagonal(B: Array) -> Array:
    """Return the diagonal of B; negative rounding errors become 0."""
    return np.maximum(np.diag(B), 0.0)


def ridge_amount(B: Array, ridge: float) -> float:
    """Return the constant added to B's diagonal by a ridge relative to the mean diagonal."""
    amount = ridge * float(B.trace()) / len(B)
    if not math.isfinite(amount):
        raise ArgumentError(f"ridge = {ridge:g} is too large for the unit of the data: reduce it")
    return amount


def add_ridge(B: Array, ridge: float, name: str) -> tuple[Array, list[str]]:
    """Return B + ridge * mean(diag B) * I and a message; B if ridge = 0."""
    if ridge == 0:
        return B, []
    amount = ridge_amount(B, ridge)
    return B + amount * np.eye(len(B)), [f"ridge: {amount:.3g} was added to the diagonal of {name}"]


@dataclass(frozen=True)
class Unwhitened:
    """Description of rows to be whitened.

    - coordinates: coordinates of the rows
    - what: name of B in messages
    - repeatable: True if B can be computed again from dense rows
    - behind: for rows that were computed from data, size of each column before cancellation,
      relative to the norm of the rows; else None
    - computed: True if the columns are features, which are rounded before they are compared
    """

    coordinates: Coordinates
    what: str
    ridge: float = 0.0
    repeatable: bool = True
    behind: Array | None = None
    computed: bool = False

    @classmethod
    def of(cls, compact: Compact, what: str, ridge: float = 0.0, *others: Samples) -> Unwhitened:
        """Return the rows of `compact`, with the sum of squares to be whitened."""
        again = all(rows.repeatable and not rows.is_sparse for rows in (compact.rows, *others))
        space = compact.space if compact.whole is None else None
        behind = None if space is None else space.sizes / (np.linalg.norm(space.scores) or 1.0)
        computed = compact.features is not None
        return cls(compact.coordinates, what, ridge, again, behind, computed)

    def varied(self, sums: SumOfSquares) -> tuple[Array, str]:
        """Return the matrix to whose range M is restricted, and its name.

        This matrix is B, or with a ridge the total scatter: directions without variance are
        excluded even with a ridge.
        """
        if self.ridge > 0 and sums.total is not None:
            return sums.total, "the total scatter"
        return sums.B, self.what

    def sizes(self, sums: SumOfSquares) -> Array:
        """Return the length of each column before cancellation, the scale of rounding errors."""
        sizes = sums.sizes
        if self.ridge > 0 and sums.total is not None:
            sizes = np.maximum(sizes, np.sqrt(diagonal(sums.total)))
        return sizes if self.behind is None else np.maximum(sizes, length(sizes) * self.behind)

    def known(self, sums: SumOfSquares) -> SumOfSquares:
        """Return the sums with zeros for columns that consist of rounding errors."""
        if self.behind is None:
            return sums
        least = (rank_tolerance(len(sums.B)) * self.sizes(sums)) ** 2

        def kept(S: Array) -> Array:
            there = np.diag(S) > least
            return np.where(there[:, None] & there, S, 0.0)

        return replace(sums, B=kept(sums.B), total=None if sums.total is None else kept(sums.total))

    def told_by(self, sums: SumOfSquares) -> bool:
        """Return True if the sums determine the whitening as accurately as the rows."""
        B, _ = add_ridge(sums.B, self.ridge, self.what)
        return all(map(_well_conditioned, (B, self.varied(sums)[0]) if self.ridge > 0 else (B,)))


def _well_conditioned(S: Array) -> bool:
    """Return True if S, scaled to a unit diagonal, has no small eigenvalue."""
    scaled, scale = unit_diagonal(S)
    if not scale.all():
        scaled = scaled[np.ix_(scale > 0, scale > 0)]
    return has_full_rank(scaled, 0.5 * WELL_CONDITIONED / max(1, len(scaled)))


def astray(onto: Array, rounding: Array, W: Array) -> Array:
    """Return S such that rounding changes W by SC, with rows of C of length at most 1.

    If no direction is left out, S has no columns.

    E are the rounding errors of the rows G with B = G'G. If GN = 0 and W'G'GW = I, (G + E)(N + D) =
    0 has the solution D = -WW'G'EN. The W orthogonal to N + D is W - N(N'N)^{-1}D'W = W +
    N(N'N)^{-1}N' E'GW W'W. For errors of B, E'G is replaced by the error of B.

    - onto (k, d): the projection N(N'N)^{-1}N' of the user's columns, in W's coordinates
    - rounding (d,): upper bounds of the lengths of the rows of E'GW
    - W (d, m): W in the user's columns
    """
    return onto * (rounding * length(W.T @ W)) if onto.any() else onto[:, :0]


Sums = TypeVar("Sums")

_EPS = float(np.finfo(float).eps)
# Relative rounding error of the rows after a change of coordinates.
ROWS_ROUNDING = 8.0 * _EPS


@dataclass(frozen=True)
class Whitened:
    """Coordinates in which B, restricted to its range and plus a ridge, is the identity.

    - W (k, m): map to whitened coordinates from those in which B and other sums are computed
    - change: map from the original rows to the coordinates in which sums are computed
    - mean: mean of the original rows
    - coordinates: map back to the user's columns
    - root (m, d): factor with root'root = B, for the original rows
    - outside: the whitened eigenvalue of directions outside the range: see `Trace`
    - sizes, spreads (d, m): each column's root sum of squares, and root of B's diagonal, times the
      map to whitened coordinates, for rounding errors
    - defect: ||W'BW - I||
    - astray (k, p): bound S of the change of W by rounding along directions outside of B's range;
      see the function `astray`
    - scatter: scatter of the original rows, if computed
    """

    W: Array
    change: Change
    mean: Array
    coordinates: Whitening
    root: Array
    notes: list[str]
    outside: float | None
    sizes: Array
    spreads: Array
    defect: float
    astray: Array
    scatter: KnownScatter | None = None

    def __call__(self, A: Array) -> Array:
        """Return W'AW, the symmetric A in whitened coordinates."""
        return self.W.T @ A @ self.W

    def rows(self, A: Array) -> Array:
        """Return W'A."""
        return self.W.T @ A

    @property
    def error(self) -> float:
        """Bound of ||W'BW - I|| that includes rounding errors of rows, sums and W."""
        return self._of(self.sizes, self.spreads)

    def error_along(self, M: Array) -> float:
        """Bound ||M'W'BWM - I||, the error of whitening, for an orthonormal M."""
        return self._of(self.sizes @ M, self.spreads @ M)

    def _of(self, sizes: Array, spreads: Array) -> float:
        of_sums = SUMS_ROUNDING * float(np.vdot(spreads, spreads))
        return ROWS_ROUNDING * float(np.linalg.norm(sizes)) + of_sums + self.defect

    def doubt(self, size: float, r: int) -> float:
        """Bound the rounding error of a sum of r eigenvalues (singular values) up to a given size.

        The bound of the rounding error includes errors of the whitening. Rows of length s with
        errors e have squares between (s - e)^2 and (s + e)^2. The smallest eigenvalue of W'BW is at
        least 1 - error; if this is negative, eigenvalues have no bound.
        """
        error = self.error
        if error >= 1.0:
            return math.inf
        return math.sqrt(r) * (size + 2.0 * math.sqrt(size) + error) * error / (1.0 - error)

    @np.errstate(over="ignore")
    def doubt_of_numerator(self, A: Array, r: int) -> float:
        """Bound the error of a sum of r eigenvalues of W'AW by rounding in A.

        The bound is large if directions outside of B's range had to be removed from large entries
        of A. If W changes by SC, with S = `astray` and rows of C of length at most 1, W'AW changes
        by W'ASC, its transpose and C'S'ASC.
        """
        W, moved = np.abs(self.W), A @ self.astray
        of_sums = SUMS_ROUNDING * length(W.T @ np.abs(A) @ W)
        of_directions = 2.0 * sum(map(length, self.rows(moved).T))
        of_directions += float(np.abs(self.astray.T @ moved).sum())
        return math.sqrt(r) * (of_sums + of_directions)

    def doubt_of_fit(self, C: Array, outputs: Array, rest: float) -> float:
        """Return a bound of the rounding error of the residual rest = ||Y - ZC||^2, Z whitened.

        The bound includes the error of the coefficients C = Z'Y, and is at most ||Y||^2.

        - C (m, q): the coefficients Z'Y
        - outputs (q,): root of the sum of squares of each column of Y
        """
        size = float(np.linalg.norm(outputs))
        moved = ROWS_ROUNDING * (float(np.linalg.norm(self.sizes @ C)) + size)
        moved += self.error**2 * size
        summed = outputs + np.abs(self.spreads @ C).sum(axis=0)
        of_sums = SUMS_ROUNDING * float(summed @ summed) + self.defect * float(np.vdot(C, C))
        return min(moved * (2.0 * math.sqrt(rest) + moved) + of_sums, size**2)


def whiten(
    sums: Callable[..., Sums], squares: Callable[[Sums], Sequence[SumOfSquares]], *given: Unwhitened
) -> tuple[Sums, list[Whitened]]:
    """Return sums over rows, and the whitening of each view.

    - sums: function of a `Change` for each view that returns sums over the changed rows
    - squares: the matrices to be whitened, one for each view
    """
    found = sums(*(Change() for _ in given))
    first = list(map(Unwhitened.known, given, squares(found)))
    told = list(map(Unwhitened.told_by, given, first))
    if all(told) or not all(one.repeatable for one in given):
        return found, list(map(_of_sums, given, first, told))
    roots = list(map(_root, given, first))
    found = sums(*(Change(T, one.mean) for (T, _), one in zip(roots, first, strict=True)))
    return found, list(map(_of_rows, given, first, roots, squares(found)))


def whiten_rows(samples: Samples, given: Unwhitened) -> Whitened:
    """Return the coordinates in which the covariance of the rows is the identity."""
    return whiten(lambda change: moments(change(samples)), _covariance, given)[1][0]


def root_of_rows(compact: Compact, stats: Moments) -> Array | None:
    """Return F with F'F the covariance of the rows; None if the covariance is as accurate."""
    rows = Unwhitened.of(compact, "the covariance")
    if not rows.repeatable or rows.told_by(*_covariance(stats)):
        return None

    def again(change: Change) -> Moments:
        return stats if change.T is None else moments(change(compact.rows))

    return whiten(again, _covariance, rows)[1][0].root


def _covariance(stats: Moments) -> tuple[SumOfSquares]:
    return (SumOfSquares.covariance(stats.scatter, stats.mean, stats.n),)


def _of_sums(given: Unwhitened, sums: SumOfSquares, told: bool) -> Whitened:
    """Return the whitening from sums of the original rows.

    `told` is True if these sums are accurate enough; otherwise lost directions may have variance.
    """
    varied, name = given.varied(sums)
    if told and varied.diagonal().all():
        kept = Range(given.coordinates, [], len(varied), None)
    else:
        kept = Range.of(varied, given.coordinates, name)
    inside = kept(sums.B)
    # Each direction in the range of B has some variance, which rounding errors may hide.
    hidden = np.maximum(0.0, _EPS * kept.squares(diagonal(sums.B)) - np.diag(inside))
    B, ridged = add_ridge(inside + np.diag(hidden), given.ridge, given.what)
    whitening = Whitening.of(B, kept.coordinates)
    W = kept.lift(whitening.W)
    scale, sizes = np.sqrt(diagonal(sums.B)), given.sizes(sums)
    left_out = kept.left_out
    rounding = ROWS_ROUNDING * sizes + SUMS_ROUNDING * length(scale[:, None] * W) * scale
    more = kept.rank < int(np.count_nonzero(diagonal(varied)))
    if sums.total is not None:
        terms = np.sqrt(diagonal(sums.total)) @ np.abs(left_out)
        more = more or _varies_along(left_out, sums.total, rank_tolerance(len(scale)) * terms**2)
    return Whitened(
        W,
        Change(),
        sums.mean,
        whitening,
        kept.lift(whitening.inverse.T).T,
        kept.notes + ridged,
        _outside(given, more),
        sizes[:, None] * W,
        scale[:, None] * W,
        defect_of(whitening.W, B),
        astray(left_out @ left_out.T, rounding, W),
        sums.scatter,
    )


def _root(given: Unwhitened, first: SumOfSquares) -> tuple[Array, Array]:
    """Return T (d, k) and its inverse: B is the identity in T'(x - mean), up to rounding."""
    varied, name = given.varied(first)
    check_varies(varied, name)
    T, inverse, _ = inverse_root(varied)
    if first.total is not None:  # refuse a B that is too small relative to the total scatter
        with np.errstate(over="ignore", invalid="ignore"):
            check_comparable(np.sum(T * (first.total @ T), axis=0), name)
    return T, inverse


def _of_rows(
    given: Unwhitened, first: SumOfSquares, root: tuple[Array, Array], sums: SumOfSquares
) -> Whitened:
    """Return the whitening from sums of the rows in the coordinates of `_root`.

    These sums separate variance from rounding errors. With a ridge the range is that of the total
    scatter.
    """
    (T, back), (varied, name) = root, given.varied(sums)
    d, tolerance, scale = len(T), rank_tolerance(len(T)), given.sizes(first)[:, None]
    sized = scale * T  # entry (i, j): magnitude of column i's contribution to new column j
    # First columns without variance are left out, then combinations of columns without variance.
    there = diagonal(varied) > tolerance**2 / d * np.sum(sized * sized, axis=0)
    W, inverse, _ = inverse_root(np.where(there[:, None] & there, varied, 0.0))
    squares, turn = np.linalg.eigh(cross_product(sized @ W, sized @ W))
    W, inverse, silent = W @ turn, turn.T @ inverse, np.eye(len(W))[:, ~there]
    inverse[:, ~there] = W.T @ varied[:, ~there]
    W = np.hstack([W, silent - W @ inverse[:, ~there]])
    inverse = np.vstack([inverse, silent.T])
    lost = np.append(squares * tolerance**2 >= 1.0, silent.any(axis=0))
    nothing, W = W[:, lost], W[:, ~lost]
    onto, inverse = nothing @ inverse[lost] @ back, inverse[~lost]
    if not W.size:
        raise nothing_varies(name)
    kept = Range(given.coordinates, [], d, None)
    if W.shape[1] < d:
        V = (inverse @ back).T / np.where(scale > 0, scale, 1.0)
        Q = scaled_basis(V / np.linalg.norm(V, axis=0), scale[:, 0], tolerance)
        why = f"outside of it the rows vary by less than {tolerance:.1e} of their size"
        kept = Range.along(Q, given.coordinates, name, why)
        onto = onto - kept.lift(kept.rows(onto.T)).T
    for _ in range(2 if nothing.size else 0):  # repeating the step removes rounding errors
        # M becomes orthogonal to directions outside B's range, where A may be nonzero.
        W = W - onto @ (T @ W)
    V, B = W, sums.B
    ridged: list[str] = []
    if given.ridge > 0:  # (TW)'(TW) does not cancel if columns have very different units
        before = kept(first.B)
        ridged = add_ridge(before, given.ridge, given.what)[1]
        V = np.vstack([W, kept.rows(T @ W)])
        B = block_diag(B, ridge_amount(before, given.ridge) * np.eye(kept.rank))
    full = W.shape[1]
    for _ in range(2 if given.ridge > 0 else 1):
        more, less, _ = inverse_root(V.T @ B @ V)
        W, V, inverse = W @ more, V @ more, less @ inverse
    lift, inverse = T @ W, inverse @ back
    terms = np.sum((sized @ nothing) ** 2, axis=0)
    # Rounding errors of an excluded direction are at most 8 eps, relative to the summed terms.
    varies = _varies_along(nothing, varied, (8.0 * _EPS) ** 2 * terms)
    varies = varies or (given.computed and nothing.size > 0)
    if first.total is not None:
        varies = varies or bool(diagonal(first.total)[~T.any(axis=1)].any())
    if sums.total is not None:
        varies = varies or _varies_along(nothing, sums.total, tolerance**2 / d * terms)
    return Whitened(
        W,
        Change(T, first.mean),
        first.mean,
        Whitening(kept.rows(lift), kept.rows(inverse.T).T, kept.coordinates),
        inverse,
        kept.notes + ridged,
        _outside(given, varies),
        sized @ W,
        np.sqrt(diagonal(B))[:, None] * V,
        defect_of(V, B) + full - W.shape[1],  # a direction that is lost misses a 1 of I
        astray(onto, ROWS_ROUNDING * scale[:, 0], lift),
    )


def _varies_along(N: Array, total: Array, least: Array | float) -> bool:
    """Return True if some column of N carries more variation than its rounding error."""
    return bool(np.any(np.sum(N * (total @ N), axis=0) > least))


def _outside(given: Unwhitened, more: bool) -> float | None:
    """Return the eigenvalue outside of the range; see `Trace.outside`.

    With a ridge A is zero outside. Without a ridge the whitened trace is unbounded if the total
    scatter has a larger range than B.
    """
    if given.ridge > 0:
        return 0.0
    return math.inf if more else None


def whitened_trace(
    objective: Stated,
    rows: RowPencil,
    r: int,
    *,
    ridge: float = 0.0,
    notes: Sequence[str] = (),
    spectral: type[AbsoluteTrace] | None = None,
) -> Trace:
    """Build tr(M'B^{-1/2} A B^{-1/2} M) in the objective's sense; P = M'B^{-1/2}.

    Extreme generalised eigenvectors of (A, B) are the exact solution. With `spectral`, the matrix
    B^{-1/2} A B^{-1/2} is replaced by its absolute value.
    """
    rows, ridge = rows.narrowed(r, ridge, -objective.sign)
    given = Unwhitened.of(rows.compact, rows.what, ridge, *rows.others)
    found, (whitened,) = whiten(rows.of, lambda found: (found,), given)
    of_rows: Any = found.A
    if callable(of_rows):
        of_rows = of_rows(whitened.W)
    with np.errstate(over="ignore", invalid="ignore"):
        A = whitened(of_rows)
    check_comparable(A, rows.what)
    size = found.terms(spectral_bound(A))
    view = rows.compact.view(whitened.mean, whitened.scatter)
    view = view.noting(*notes, *rows.notes).within(whitened)
    kind = Trace if spectral is None else partial(spectral, signed=A)
    return kind(
        objective,
        (view,),
        A if spectral is None else absolute_value(A),
        r,
        scale=-objective.sign,
        is_square=objective.sense == "min",
        outside=whitened.outside,
        answers=rows.answers(
            found, whitened.coordinates, whitened.W, np.eye(len(A)) if ridge > 0 else None
        ),
        chosen=rows.chosen,
        searched=rows.searched,
        doubt=whitened.doubt(size, r) + whitened.doubt_of_numerator(of_rows, r),
    )


@dataclass(frozen=True)
class Shrinking(Objective):
    """Base of the methods that divide by a covariance.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks the covariance towards its diagonal, with the intensity that Ledoit and
        Wolf's rule gives for the standardised columns in two additional passes over the rows. The
        result's parameters contain the intensity.
    ridge : float
        Constant added to the diagonal of the denominator, relative to the mean eigenvalue in the
        span of the samples, or with shrinkage in all columns.
    """

    shrinkage: float | str | None = optional_word(("auto",))
    ridge: float = number(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shrinks:  # shrinkage reads the rows twice and needs their number
            weighted = self.traits.weighted and isinstance(self.shrinkage, float)
            self._set_traits(weighted=weighted, from_sums=False)
            vars(self).update(matrices=_unknown)

    @property
    def shrinks(self) -> bool:
        """Return True if the covariance is shrunk."""
        return self.shrinkage is not None

    def compact(self, samples: Samples) -> Compact:
        """Return the rows in coordinates of their span, or in all columns with shrinkage."""
        if not self.shrinks:
            return Compact.of(samples)
        if samples.wide:
            raise DataError(
                f"shrinkage of the sparse {samples.name} needs a dense {samples.d} x {samples.d} "
                f"matrix, {8 * samples.d**2 / 2**30:.3g} GiB: give ridge= a positive value "
                "instead, or fewer columns"
            )
        return Compact.of_columns(samples)

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        """Shrink B towards its diagonal by Ledoit and Wolf's intensity if shrinkage is requested.

        If A (variation between neighbours) is minimised relative to B (all variation), A is also
        shrunk, towards a multiple of the diagonal of B: the expected A if rows are independent. If
        B were shrunk and A were not, nearly constant directions would be optimal.
        """
        if self.shrinkage is None:
            return rows
        times = None if rows.plain.unrelated is None else rows.plain.unrelated()
        return moved(rows, statistics.ledoit_wolf(rows.compact.rows), times)


@dataclass(frozen=True)
class ShrinkingViews(Shrinking):
    """Base of methods that divide by the covariance of each view.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks the covariance of the concatenated views towards its diagonal by Ledoit and
        Wolf's rule. Covariances within and between views are shrunk with the same intensity s,
        so that no correlation exceeds 1, and divided by 1 - s. The result's parameters contain s.
    """

    def opened(self, data: Data) -> tuple[list[Compact], JointShrinkage | None]:
        """Return the views and the shrinkage; with shrinkage the views have all columns."""
        if self.shrinkage is None:
            two = len(data.views) == 2
            return [Compact.of(view, quiet=True, by_products=two) for view in data.views], None
        opened = [Compact.of_columns(view) for view in data.views]
        return opened, statistics.ledoit_wolf_of_views([view.rows for view in opened])


def _unknown(data: object) -> NoReturn:
    """Raise UnknownError: sums over rows do not determine a function of the rows."""
    raise UnknownError


def moved(rows: RowPencil, by: Shrinkage, times: float | None = None) -> RowPencil:
    """Shrink B towards its diagonal D, and A towards `times` D unless `times` is None."""
    s = float(by.coefficients[0])
    diagonal = statistics.target(rows.plain.B, by.units[0])

    def towards(S: Array, times: float, change: Change) -> Array:
        return (1.0 - s) * S + s * times * change.of_matrix(diagonal)

    def how(found: Pencil, change: Change) -> Pencil:
        A = found.A if times is None else towards(found.A, times, change)
        B = towards(found.B, 1.0, change)
        total = found.total if found.total is None else found.total + B - found.B
        return replace(found, A=A, B=B, total=total)

    return rows.changed(how, shrinkage=s)
