"""Problems of sparse rows with very many columns, by products with the rows.

A method of a matrix pair (A, B) only needs a subspace that contains the solution. A block Davidson
iteration finds the subspace by products; the problem in this subspace is small and dense.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.families.matrices import Against
from ldr.objectives.statistics.products import Between, CentredRows, Form
from ldr.objectives.statistics.sums import Codes
from ldr.objectives.statistics.time import check_lag, count_pairs, pair_matrix
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.linalg.products import (
    Found,
    columns_of,
    conjugate_gradients,
    largest_pairs,
    ratio_steps,
)
from ldr.solvers.linalg.rounding import EMPTY
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator


def operator(k: int, times: Callable[[Array], Array]) -> LinearOperator:
    """Return the symmetric k x k operator with the given products."""
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator((k, k), matvec=times, matmat=times, dtype=np.float64)


def diagonal_matrix(d: Array) -> LinearOperator:
    """Return diag(d)."""
    return operator(len(d), lambda V: d[:, None] * V)


def scaled(S: LinearOperator, scale: Array) -> LinearOperator:
    """Return diag(scale) S diag(scale)."""
    D = diagonal_matrix(scale)
    return D @ S @ D


def coupled(K: Form) -> LinearOperator:
    """Return [[0, K], [K', 0]]."""
    ka = K.shape[0]
    return operator(sum(K.shape), lambda V: np.concatenate([K @ V[ka:], K.T @ V[:ka]]))


def apart(aa: LinearOperator, bb: LinearOperator) -> LinearOperator:
    """Return [[aa, 0], [0, bb]]."""
    ka, kb = aa.shape[0], bb.shape[0]
    return operator(ka + kb, lambda V: np.concatenate([aa @ V[:ka], bb @ V[ka:]]))


# Number of extra columns of a block, which accelerate the convergence of the wanted eigenvectors.
GUARDS = 4


def check_varies_along(M: Array, B: SymmetricOperator, diagonal: Array) -> None:
    """Refuse an M with a constant direction."""
    if not M.shape[1]:
        return
    units = np.linalg.inv(np.linalg.cholesky(sym(M.T @ (diagonal[:, None] * M))))
    if np.linalg.eigvalsh(sym(units @ (M.T @ (B @ M)) @ units.T))[0] <= EMPTY:
        raise SingularError(
            "columns of the sparse X are collinear, so that M would contain directions without "
            "variance: leave out collinear columns, or, if the objective is maximised, give "
            "ridge= a positive value"
        )


@dataclass(frozen=True, eq=False)
class WidePencil:
    """The pair (A, B + ridge I) as operators, for the non-constant columns.

    - A, within: numerator A and denominator B
    - spread (k,): diagonal of B
    - U (k, q): factor with A = UU' if A has a small rank, else None
    """

    rows: CentredRows
    A: LinearOperator
    within: LinearOperator
    spread: Array
    U: Array | None = None
    ridge: float = 0.0
    minimised: bool = False

    @cached_property
    def B(self) -> LinearOperator:
        return self.within + diagonal_matrix(np.full(len(self.spread), self.ridge))

    @property
    def diagonal(self) -> Array:
        """Diagonal of B + ridge I, at least the level of rounding errors."""
        least = float(np.finfo(float).eps) * float(self.spread.max())
        return np.maximum(self.spread + self.ridge, least)

    def against(self, ridge: float, sign: float) -> WidePencil:
        """Return the pair with a ridge relative to B's mean diagonal, and sign * A for A."""
        amount = ridge * self.rows.mean_of(self.spread)
        A, U = (self.A, self.U) if sign > 0 else (-self.A, None)
        return replace(self, A=A, U=U, ridge=amount, minimised=sign < 0)

    def solved(self, r: int, weights: Array | None = None) -> tuple[Array, str, float]:
        """Return a subspace that contains the r top eigenvectors, or a trace ratio's optimum.

        - weights (r,): weights of the columns of a trace ratio
        - returns: an orthonormal basis in all columns, a message, and the eigenvectors' residual
        """
        Z, products, residual = self._pairs(r)
        if weights is not None:
            width = max(r + GUARDS, min(Z.shape[1], 2 * r + GUARDS))
            start = columns_of(min(width, len(self.spread)), Z)
            found = Found.last(ratio_steps(self.A, self.B, start, weights, self._preconditioned))
            Z, products = np.hstack([found.V, Z[:, :r]]), products + found.products
            residual = max(residual, found.residual)
        if self.minimised if self.ridge > 0 else weights is not None:
            check_varies_along(Z[:, :r], self.within, replace(self, ridge=0.0).diagonal)
        basis = self.rows.in_all_columns(np.linalg.qr(Z)[0])
        d, k = basis.shape
        note = (
            f"M is sought in {k} of {d} dimensions, found by block Davidson iterations with "
            f"{products} products with the sparse rows: residual {residual:.0e}"
        )
        return basis, note, residual

    def _preconditioned(self, R: Array, rho: Array, theta: Array) -> Array:
        """R over the positive part of the diagonal of theta + rho B."""
        return R / (np.maximum(theta, 0.0) + np.abs(rho) * self.diagonal[:, None])

    def _pairs(self, r: int) -> tuple[Array, int, float]:
        """Generalised eigenvectors, products and the residual; where A = UU' from B^{-1}U."""
        scale = 1.0 / np.sqrt(self.diagonal)
        B = scaled(self.B, scale)
        if self.U is not None:
            U = scale[:, None] * self.U
            Y, products = conjugate_gradients(lambda V: B @ V, U)
            residual = float(np.linalg.norm(B @ Y - U) / np.linalg.norm(U))
            V = np.linalg.eigh(sym(U.T @ Y))[1]
            return scale[:, None] * (Y @ V[:, ::-1]), products, residual
        start = columns_of(min(r + GUARDS, len(scale)), np.empty((len(scale), 0)))
        found = largest_pairs(scaled(self.A, scale), B, start, r)
        return scale[:, None] * found.V, found.products, found.residual


@dataclass(frozen=True, eq=False)
class Known:
    """A symmetric matrix given by products.

    - diagonal (k,), U (k, q): diagonal, and factor U if the matrix is UU'; None if unknown
    """

    products: LinearOperator
    diagonal: Array | None = None
    U: Array | None = None

    def __add__(self, other: Known) -> Known:
        both = None
        if self.diagonal is not None and other.diagonal is not None:
            both = self.diagonal + other.diagonal
        return Known(self.products + other.products, both)

    def __truediv__(self, divisor: float) -> Known:
        diagonal = None if self.diagonal is None else self.diagonal / divisor
        U = None if self.U is None else self.U / math.sqrt(divisor)
        return Known((1.0 / divisor) * self.products, diagonal, U)


@dataclass(frozen=True, eq=False)
class WideRows:
    """The `RowSums` of sparse rows with very many columns: matrices by their products."""

    samples: Samples
    rows: CentredRows

    @property
    def n(self) -> float:
        return self.rows.weight

    @property
    def count(self) -> int:
        return self.samples.n

    @property
    def weights(self) -> Array | None:
        return self.samples.weights

    def about(self, shares: Array) -> WideRows:
        mean = self.rows.mean
        middle = mean + self.samples.centred_transpose_times(shares, mean)
        return replace(self, rows=self.rows.about(middle))

    def form(self, K: Between | Array, moving: object = None) -> Known:
        diagonal = self.rows.squares(K) if isinstance(K, np.ndarray) else None
        return Known(operator(self.rows.k, Form(self.rows, self.rows, K).__matmul__), diagonal)

    def scatter(self) -> Known:
        return self.form(self.rows.counts)

    def lagged(self, lag: int) -> Known:
        check_lag(lag, self.count, self.samples.name)
        pairs = pair_matrix(self.samples, lag, np.array([0.0, 0.5]))
        return self.form(pairs) / count_pairs(self.samples, lag)

    def scatter_of_changes(self) -> Known:
        return self.form(pair_matrix(self.samples, 1, np.array([1.0, -1.0])))

    def of_classes(self, codes: Codes, classes: int) -> tuple[Known, Known]:
        """Return the scatters between and within classes."""
        rows = self.rows
        sizes = np.bincount(codes, rows.counts, minlength=classes)
        sums = rows.sums(codes, classes) / np.sqrt(sizes)
        shares = np.sqrt(sizes / rows.weight)
        contrasts = np.linalg.qr(np.column_stack([shares, np.eye(classes)[:, 1:]]))[0][:, 1:]
        U, own = sums @ contrasts, np.sum(sums**2, axis=1)
        spread = np.maximum(rows.squares(rows.counts) - own, 0.0)
        within = Form(rows, rows, rows.counts, less=sums)
        of_within = operator(rows.k, within.__matmul__)
        of_between = operator(rows.k, lambda V: U @ (U.T @ V))
        return Known(of_between, np.sum(U**2, axis=1), U), Known(of_within, spread)


class WideSums:
    """`DataSums` of wide sparse rows."""

    def __init__(self, data: Data, links: Callable[..., csr_array]) -> None:
        rows = CentredRows.of(data.samples).distinct
        self.data, self.views, self._links = data, [WideRows(data.samples, rows)], links

    def labels(self) -> tuple[Codes, Cells]:
        return self.data.labels

    @property
    def rows(self) -> WideRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Known, Known]:
        codes, classes = self.labels()
        return self.rows.of_classes(codes, len(classes))

    def links(
        self, weights: Callable[[Data], csr_array], check: Callable[[Data], None]
    ) -> csr_array:
        return self._links(weights)

    def pencil(self, found: Against) -> WidePencil:
        """Return the pair (A, B) of a method."""
        rows, A, B = self.rows, cast(Known, found.A), cast(Known, found.B)
        if found.shares is not None:
            rows = rows.about(found.shares)
        assert B.diagonal is not None
        return WidePencil(rows.rows, A.products, B.products, B.diagonal, A.U)
