"""Definitions of the methods by matrices that are sums over the samples.

The same definition serves a single data set, stacks of many small problems, and derivatives in the
rows. This module also computes optima that are eigenvectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldr.objectives.data.array_types import Cells, Given
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.statistics.products import Between
from ldr.objectives.view import WELL_CONDITIONED
from ldr.solvers.linalg.eigen import stacked_roots
from ldr.solvers.linalg.rounding import EMPTY
from ldr.solvers.manifolds import Array
from ldr.solvers.trace_ratio import stacked_trace_ratio

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ldr.objectives.graphs import HeatedEdges, NeighbourWeights

Codes: TypeAlias = NDArray[np.intp]
Grouped = TypeVar("Grouped")
# A symmetric matrix (n, n) with a weight for each pair of rows, as an array or for products only.
Kernel: TypeAlias = Array | Between
# Derivative of pairwise weights with respect to the rows; None if the weights are constant.
MovingKernel: TypeAlias = "HeatedEdges | NeighbourWeights | None"


class RowSums(Protocol):
    """Sums over the rows of a view, (d, d) for one data set, (b, d, d) for a stack of b."""

    @property
    def n(self) -> float:
        """Number of rows, or sum of weights."""

    @property
    def count(self) -> int: ...
    @property
    def weights(self) -> Array | None:
        """Weights of the rows; None if every weight is 1."""

    @property
    def trials(self) -> Codes | None:
        """Index of each row's trial; None for a single trial."""

    @property
    def mean(self) -> Array: ...
    def about(self, shares: Array) -> Self:
        """Return the rows centred by sum_i shares_i x_i instead of the mean."""

    @property
    def about_zero(self) -> Self: ...
    def form(self, K: Kernel, moving: MovingKernel = None) -> Array:
        """Return X'KX for a sparse K, or a diagonal K given as (n,), or (b, n) for a stack.

        The argument `moving` is the derivative of a K that depends on the rows of one data set.
        """

    def forms(self, counts: Sequence[Array], own_means: bool = False) -> list[Array]:
        """Return X'KX for each diagonal K >= 0, in one pass; `own_means` centres for each K."""

    def scatter(self) -> Array: ...
    def cross(self, other: Self) -> Array: ...
    def lagged(self, lag: int) -> Array: ...
    def scatter_of_changes(self) -> Array: ...
    def of_pairs(self, lag: int) -> tuple[Array, Array, Array | None]:
        """Return the reversible lagged covariance, and the covariance, of pairs of rows at a lag.

        The third returned value has the weights of the rows in the mean of all members of pairs; it
        is None if the mean is known.
        """


class DataSums(ABC):
    """Sums over all views, or over samples and background.

    A sum that cannot be computed from the available data raises `UnknownError`.
    """

    views: Sequence[RowSums]

    @property
    def rows(self) -> RowSums:
        """Sums over the rows of the first view."""
        return self.views[0]

    def unknown(self, *of: object) -> NoReturn:
        """Raise UnknownError: an input of the sum is not available."""
        raise UnknownError

    def deviations(self) -> Array:
        """Return the response minus its mean; the response must be numeric and not constant."""
        return self.unknown()

    def labels(self) -> tuple[Codes, Cells]:
        """Return the codes of the classes, and the classes."""
        return self.unknown()

    def scatters_of_classes(self) -> tuple[Array, Array]:
        """Return the scatters between and within classes."""
        return self.unknown()

    def scatters_of_groups(self, groups: Callable[[Cells], Cells]) -> tuple[Array, Array]:
        """Return the scatters between and within the groups that `groups` forms from y."""
        return self.unknown()

    def through(self, of: Callable[..., Array], *known: Array) -> RowSums:
        """Return sums over the rows of(X, *known), where `of` is linear in each trial's rows."""
        return self.unknown()

    def inverse(self, B: Array, ridge: float) -> Array:
        """Return (B + ridge mean(diag B) I)^{-1} if all columns are available."""
        return self.unknown()

    def with_inverse(self, A: Callable[[Array], Array], B: Array, ridge: float) -> Array:
        """Return A((B + ridge mean(diag B) I)^{-1}), or a function that evaluates A later."""
        return self.unknown()

    def square(self, A: Array, inverse: Array) -> Array:
        """Return A B^{-1} A for a symmetric A and the inverse of B."""
        return self.unknown()

    def times_trace(self, A: Array, inverse: Array, F: Callable[[], csr_array]) -> Array:
        """Return A tr(B^{-1}A) for A = X'F'FX and the inverse of B; `F()` returns F."""
        return self.unknown()

    def scatter_of(self, beside: Given) -> Array:
        """Return the scatter about zero of `beside`, an array independent of the rows."""
        return self.unknown()

    def groups(self, of: Callable[[Cells], Grouped]) -> Grouped:
        """Return the value of a function of y, the labels or the response."""
        return self.unknown()

    def links(
        self, weights: Callable[[Data], csr_array], check: Callable[[Data], None]
    ) -> csr_array:
        """Return weights between rows; `check` refuses weights discontinuous in the rows."""
        return self.unknown()


@dataclass(frozen=True, eq=False)
class StackedOptima:
    """Optima of a stack of b problems.

    - values (b,): optimal values of the objective
    - maps (b, r, k): P, one for each view
    - numbers (b, r): scores of the components: eigenvalues or singular values, as in
      `Result.components`
    - gaps (b,): optimality gaps without rounding errors; None if zero or not requested
    - sound (b,): True if columns are not nearly dependent, so that results are accurate
    """

    values: Array
    maps: tuple[Array, ...]
    numbers: Array | None
    gaps: Array | None
    sound: np.ndarray


@dataclass(frozen=True, eq=False)
class Matrices:
    """Base of the matrices that define a method's problem.

    - shares (n,): weights of the rows in the mean that the result's map subtracts; by default equal
    """

    shares: Array | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Divided(Matrices):
    """Matrices of a method with denominator matrices, to which a ridge is added.

    - ridge: ridge relative to the mean of each denominator matrix's diagonal
    """

    ridge: float = field(default=0.0, kw_only=True)

    @property
    @abstractmethod
    def divisors(self) -> tuple[Array, ...]:
        """Denominator matrices without ridge, one for each view."""


@dataclass(frozen=True, eq=False)
class Against(Divided):
    """A numerator matrix A and a denominator matrix B.

    - cancels: size of the terms that cancel in A, relative to B, or its function of a bound of A
    - offsets: function that returns the columns' sums of squares minus B's diagonal, for bounds of
      rounding errors; None if this difference is due to the mean only
    - total: total scatter of the rows if larger than B
    - unrelated: function that returns the expected ratio of A to B for independent rows
    """

    A: Array
    B: Array
    cancels: float | Callable[[float], float] = field(default=0.0, kw_only=True)
    offsets: Callable[[], Array | float] | None = field(default=None, kw_only=True)
    total: Array | None = field(default=None, kw_only=True)
    unrelated: Callable[[], float] | None = field(default=None, kw_only=True)

    @property
    def divisors(self) -> tuple[Array, ...]:
        return (self.B,)


class Solvable(Matrices, ABC):
    """Matrices of b problems that are solved by eigenvectors."""

    @abstractmethod
    def solve(self, r: int, certify: bool = True) -> StackedOptima:
        """Return the global optima for r columns, with optimality gaps if `certify`."""


@dataclass(frozen=True, eq=False)
class TraceMatrices(Solvable):
    """Maximise scale tr(M'AM), or minimise the sum of squared residuals.

    - A (b, k, k): the matrix of each problem
    - residual: True if the value is |scale| (tr A - tr M'AM), A >= 0
    - varied: function that returns the covariance (b, k, k); M is restricted to its range
    - decoder (b, k, k): D with P' = DM; None if P' = M
    """

    A: Array
    scale: float = 1.0
    residual: bool = field(default=False, kw_only=True)
    varied: Callable[[], Array] | None = field(default=None, kw_only=True)
    decoder: Array | None = field(default=None, kw_only=True)

    def solve(self, r: int, certify: bool = True) -> StackedOptima:
        values, vectors = (each[..., ::-1] for each in np.linalg.eigh(self.A))
        sound = np.array([True]) if self.varied is None else of_full_rank(self.varied())
        if self.scale < 0:
            values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        numbers = values[:, :r]
        rest = np.sum(np.maximum(values[:, r:], 0.0), axis=1)
        found = abs(self.scale) * (rest if self.residual else np.sum(numbers, axis=1))
        maps = np.ascontiguousarray(vectors[:, :, :r].transpose(0, 2, 1))
        return StackedOptima(found, (maps,), numbers, None, np.broadcast_to(sound, found.shape))


@dataclass(frozen=True, eq=False)
class PencilMatrices(Against, Solvable):
    """tr(M'B^{-1/2}AB^{-1/2}M), maximised for scale > 0: whitened traces, P = M'B^{-1/2}."""

    scale: float = 1.0

    def solve(self, r: int, certify: bool = True) -> StackedOptima:
        W, least = stacked_roots(ridged(self.B, self.ridge))
        found = TraceMatrices(W.transpose(0, 2, 1) @ self.A @ W, self.scale).solve(r)
        maps = found.maps[0] @ W.transpose(0, 2, 1)
        sound = found.sound & (least > WELL_CONDITIONED)
        return StackedOptima(found.values, (maps,), found.numbers, found.gaps, sound)


@dataclass(frozen=True, eq=False)
class SpectralMatrices(Against, Solvable):
    """max tr(M'h(B^{-1/2}AB^{-1/2})M); h is the absolute value ("sizes") or root ("roots")."""

    of: str = "sizes"

    def solve(self, r: int, certify: bool = True) -> StackedOptima:
        """Return the eigenvectors of the r largest absolute eigenvalues; scores keep signs."""
        every = PencilMatrices(self.A, self.B, ridge=self.ridge).solve(self.A.shape[-1])
        assert every.numbers is not None and self.of == "sizes"
        best = np.argsort(-np.abs(every.numbers), axis=1, kind="stable")[:, :r]
        numbers = np.take_along_axis(every.numbers, best, axis=1)
        maps = np.take_along_axis(every.maps[0], best[:, :, None], axis=1)
        return replace(every, values=np.abs(numbers).sum(axis=1), maps=(maps,), numbers=numbers)


@dataclass(frozen=True, eq=False)
class RatioMatrices(Against, Solvable):
    """The trace ratio tr(M'AM) / tr(M'BM), maximised if sign > 0, else minimised.

    - A, B (b, k, k): the numerator and denominator matrices
    - weights: weights of the columns as a function of r, unequal for nested projections
    """

    sign: float = 1.0
    weights: Callable[[int], Array] = np.ones

    @cached_property
    def _divisor(self) -> Array:
        return ridged(self.B, self.ridge)

    @cached_property
    def _both(self) -> tuple[Array, Array]:
        """A and B of each problem, divided by the size of B."""
        shape = np.broadcast_shapes(self.A.shape, self.B.shape)
        size = np.trace(self._divisor, axis1=1, axis2=2)[:, None, None]
        size = np.where(size > 0, size, 1.0)
        A, B = self.sign * self.A / size, self._divisor / size
        return np.broadcast_to(A, shape), np.broadcast_to(B, shape)

    def solve(self, r: int, certify: bool = True) -> StackedOptima:
        A, B = self._both
        weights = self.weights(r)
        rho, M, f = stacked_trace_ratio(A, B, weights)
        sound = np.broadcast_to(of_full_rank(self._divisor), rho.shape)
        gaps = None
        if certify:
            smallest = np.linalg.eigvalsh(B[: len(self.B)])[:, :r] @ weights
            smallest = np.broadcast_to(np.where(smallest > 0, smallest, np.nan), rho.shape)
            gaps = np.nan_to_num(np.maximum(f, 0.0) / smallest, nan=np.inf)
        maps = np.ascontiguousarray(M.transpose(0, 2, 1))
        return StackedOptima(self.sign * rho, (maps,), None, gaps, sound)


@dataclass(frozen=True, eq=False)
class OfViews(Divided):
    """Matrices of several views, with the covariances Cii of the views as denominators if any."""

    squares: Sequence[Array] = field(default=(), kw_only=True)

    @property
    def divisors(self) -> tuple[Array, ...]:
        return tuple(self.squares)


@dataclass(frozen=True, eq=False)
class PairMatrices(OfViews, Solvable):
    """max tr(Ma'K Mb), whitened by Caa and Cbb with the ridge if these are given."""

    K: Array

    def solve(self, r: int, certify: bool = True) -> StackedOptima:
        K, sound = self.K, np.ones(len(self.K), dtype=bool)
        roots: list[Array | None] = [None, None]
        for side, C in enumerate(self.squares):
            W, least = stacked_roots(ridged(C, self.ridge))
            K = W.transpose(0, 2, 1) @ K if side == 0 else K @ W
            sound, roots[side] = sound & (least > WELL_CONDITIONED), W
        U, values, Vt = np.linalg.svd(K, full_matrices=False)
        maps = [U[:, :, :r].transpose(0, 2, 1), Vt[:, :r]]
        of_user = tuple(
            M if W is None else M @ W.transpose(0, 2, 1) for M, W in zip(maps, roots, strict=True)
        )
        numbers = values[:, :r]
        return StackedOptima(numbers.sum(axis=1), of_user, numbers, np.zeros(len(numbers)), sound)


@dataclass(frozen=True, eq=False)
class SharedMatrices(OfViews):
    """max tr(M'KM) of jointly whitened views, sum_i Mi'Cii Mi = K I for K views."""

    K: Array


@dataclass(frozen=True, eq=False)
class CorrelationMatrices(OfViews):
    """max sum_{i<j} tr(Mi'Kij Mj) / sqrt(tr(Mi'Cii Mi) tr(Mj'Cjj Mj)), a ridge added to the Cii."""

    pairs: Sequence[Array]


@dataclass(frozen=True, eq=False)
class DeterminantMatrix(Matrices):
    """max log|M'CM|."""

    C: Array


def of_full_rank(S: Array) -> np.ndarray:
    """Return True for each S whose eigenvalues, for unit diagonal, exceed rounding."""
    diagonal = np.einsum("bii->bi", S)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = S / scale[:, :, None] / scale[:, None, :]
    try:
        np.linalg.cholesky(scaled - EMPTY * np.eye(scaled.shape[-1]))
    except np.linalg.LinAlgError:
        return np.linalg.eigvalsh(scaled)[:, 0] > EMPTY
    return np.ones(len(S), dtype=bool)


def links_of_pairs(rows: RowSums, lag: int) -> csr_array:
    """Return weights of the pairs of rows (t, t + lag) in a trial: normalised geometric means."""
    from scipy.sparse import diags_array

    n, trials = rows.count, rows.trials
    weights = np.ones(n) if rows.weights is None else rows.weights
    together = np.sqrt(weights[lag:] * weights[:-lag])
    if trials is not None:
        together[trials[lag:] != trials[:-lag]] = 0.0
    if not together.any():
        raise UnknownError
    return diags_array(together / together.sum(), offsets=lag, shape=(n, n)).tocsr()


def reversible_links(rows: RowSums, lag: int) -> csr_array:
    """Return the symmetric part of `links_of_pairs`."""
    K = links_of_pairs(rows, lag)
    return (0.5 * (K + K.T)).tocsr()


def by_links_of_pairs(rows: RowSums, lag: int) -> tuple[Array, Array, Array]:
    """See `RowSums.of_pairs`."""
    K = reversible_links(rows, lag)
    shares = K.sum(axis=1)
    about = rows.about(shares)
    return about.form(K), about.form(shares), shares


def form_by_form(rows: RowSums, counts: Sequence[Array], own_means: bool = False) -> list[Array]:
    """See `RowSums.forms`."""
    return [(rows.about(c / c.sum()) if own_means else rows).form(c) for c in counts]


def ridged(B: Array, ridge: float) -> Array:
    """Return B + ridge * mean(diag B) * I of each problem."""
    if ridge == 0:
        return B
    k = B.shape[-1]
    return B + (ridge / k) * np.trace(B, axis1=1, axis2=2)[:, None, None] * np.eye(k)
