"""Two sparse views with very many columns: subspaces of the solution, by products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ldr.objectives.data.data import Samples
from ldr.objectives.families.multi_block import CorrelationBlocks, CorrelationPoint
from ldr.objectives.families.wide import (
    GUARDS,
    apart,
    check_varies_along,
    coupled,
    diagonal_matrix,
    operator,
    scaled,
)
from ldr.objectives.prediction import LinearPredictor, Predictor
from ldr.objectives.statistics.products import CentredRows, Form
from ldr.objectives.view import Compact
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.linalg.products import Found, columns_of, conjugate_gradients, largest_pairs
from ldr.solvers.linalg.rounding import EMPTY
from ldr.solvers.manifolds import Array, polar_factor
from ldr.solvers.problem import Preconditioner
from ldr.solvers.solver import run_through
from ldr.solvers.trust_region import TrustRegion

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator


Pencil: TypeAlias = tuple[SymmetricOperator, SymmetricOperator]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two views in subspaces that contain the leading pairs of directions.

    - rows: rows of the views, in all non-constant columns
    - ridges: ridges relative to the mean variances in the subspaces
    - residual: residual of the eigenvectors
    """

    rows: list[CentredRows]
    a: Compact
    b: Compact
    ridges: tuple[float, float]
    note: str
    residual: float

    def predictors(
        self, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[Predictor, ...]:
        """Return predictors of each view's columns from the components of the other view."""
        return tuple(
            self._predictor(rows, other, P, mean)
            for rows, other, P, mean in zip(
                self.rows, self.rows[::-1], maps, means[::-1], strict=True
            )
        )

    def _predictor(
        self, rows: CentredRows, other: CentredRows, P: Array, mean: Array
    ) -> LinearPredictor:
        Z = np.ascontiguousarray(rows.basis.T @ P.T)
        CZ, cross = Form.covariance(rows) @ Z, Form.covariance(other, rows) @ Z
        B = np.linalg.lstsq(Z.T @ CZ, cross.T, rcond=None)[0]
        return LinearPredictor(P, other.in_all_columns(np.asarray(B).T).T, mean)


@dataclass(frozen=True, eq=False)
class Covariances:
    """Covariances of two views with too many columns for dense arrays, by products.

    - K: covariance between the views
    - spreads: the diagonal of each view's covariance
    - ridges: constants added to the variances
    """

    samples: tuple[Samples, Samples]
    rows: list[CentredRows]
    K: Form
    spreads: list[Array]
    ridges: list[float]

    @classmethod
    def of(cls, a: Samples, b: Samples, ridge: float) -> Covariances:
        rows = [CentredRows.of(_sparse(view)).distinct for view in (a, b)]
        spreads = [view.squares(view.counts) / view.weight for view in rows]
        ridges = [ridge * view.mean_of(each) for view, each in zip(rows, spreads, strict=True)]
        return cls((a, b), rows, Form.covariance(*rows), spreads, ridges)

    @cached_property
    def own(self) -> list[LinearOperator]:
        """Covariance of each view, with its ridge."""
        return [
            operator(view.k, Form.covariance(view).__matmul__)
            + diagonal_matrix(np.full(view.k, ridge))
            for view, ridge in zip(self.rows, self.ridges, strict=True)
        ]

    @cached_property
    def variances(self) -> Array:
        """Variances plus ridges of both views' columns."""
        return np.concatenate(
            [s + ridge for s, ridge in zip(self.spreads, self.ridges, strict=True)]
        )

    def blocks(self, V: Array) -> list[Array]:
        """Return the rows of each view."""
        return np.split(V, [self.K.shape[0]])

    def leading(self, r: int, *whitened: bool) -> tuple[Array, Found]:
        """Return the r leading pairs of directions, and how they were found.

        Directions of a whitened view have unit variance, of the other views unit length.
        """
        own = [
            C if white else diagonal_matrix(np.ones(C.shape[0]))
            for C, white in zip(self.own, whitened, strict=True)
        ]
        scale = np.where(np.repeat(whitened, self.K.shape), 1.0 / np.sqrt(self.variances), 1.0)
        start = columns_of(min(r + GUARDS, *self.K.shape), np.empty((len(scale), 0)))
        found = largest_pairs(scaled(coupled(self.K), scale), scaled(apart(*own), scale), start, r)
        return scale[:, None] * found.V[:, :r], found

    def inside(self, Z: Array) -> tuple[Compact, Compact, tuple[float, float]]:
        """Return the views in the spans of their blocks of Z, with ridges relative to variances."""
        bases = [np.linalg.qr(block)[0] for block in self.blocks(Z)]
        a, b = (
            Compact.along(view.in_all_columns(basis), view.mean, samples)
            for samples, view, basis in zip(self.samples, self.rows, bases, strict=True)
        )
        of_a, of_b = (
            ridge * Z.shape[1] / float(np.vdot(basis, Form.covariance(view) @ basis))
            for basis, view, ridge in zip(bases, self.rows, self.ridges, strict=True)
        )
        return a, b, (of_a, of_b)


def leading_pairs(a: Samples, b: Samples, r: int, ridge: float | None) -> Pairs | None:
    """Return the subspaces of r pairs, of whitened columns if a ridge is given.

    The function returns None if no view has too many columns for arrays.
    """
    if not (a.wide or b.wide):
        return None
    known = Covariances.of(a, b, ridge or 0.0)
    Z, found = known.leading(r, ridge is not None, ridge is not None)
    note = (
        f"M is sought in {r} dimensions of {a.d} and of {b.d}, by block Davidson iterations with "
        f"{found.products} products with the sparse rows: residual {found.residual:.0e}"
    )
    return Pairs(known.rows, *known.inside(Z), note, found.residual)


class WideCorrelations(CorrelationBlocks):
    """Correlations of two views by products."""

    def __init__(self, known: Covariances, r: int) -> None:
        self.known, self.widths, self.r = known, known.K.shape, r

    def products(self, N: Array) -> tuple[Array, Array]:
        K, (Na, Nb), across = self.known.K, self.known.blocks(N), np.zeros((2, *N.shape))
        across[0, len(Na) :], across[1, : len(Na)] = K.T @ Na, K @ Nb
        return apart(*self.known.own) @ N, across

    def combined(self, own: Array, s: Array) -> LinearOperator:
        first, second = (f * C for f, C in zip(own.tolist(), self.known.own, strict=True))
        return apart(first, second) - float(1.0 / np.prod(s)) * coupled(self.known.K)

    def at(self, M: Array) -> CorrelationPoint:
        return CorrelationPoint(self, M)

    def preconditioner(self, M: Array) -> Preconditioner:
        """Return the division by the columns' variances plus ridges, followed by projection."""
        inverse = 1.0 / self.known.variances[:, None]
        project = self.manifold.project
        return lambda N, U: project(N, (inverse * project(N, U).reshape(-1, self.r)).reshape(-1))


@dataclass(frozen=True, eq=False)
class Correlated(Pairs):
    """Pairs of orthogonal-cca, found by the trust region because no eigenproblem exists.

    - ends: Ma and Mb, in the non-constant columns
    """

    ends: tuple[Array, Array]

    @property
    def in_columns(self) -> tuple[Array, Array]:
        """The two orthonormal matrices Ma and Mb in all columns."""
        a, b = (view.in_all_columns(M) for view, M in zip(self.rows, self.ends, strict=True))
        return a, b


def correlated(views: Sequence[Compact], r: int, ridge: float) -> Correlated | None:
    """Return subspaces that contain the optimum of orthogonal-cca and its baseline.

    The function returns None for more than two views and for views with few columns.
    """
    if len(views) > 2 or not any(view.rows.wide for view in views):
        return None
    a, b = (view.rows for view in views)
    known = Covariances.of(a, b, ridge)
    directions, found = known.leading(r, True, True)
    problem = WideCorrelations(known, r)
    heuristic = map(polar_factor, known.blocks(directions))
    start = problem.manifold.join(list(heuristic))
    run = run_through(problem, start, TrustRegion())
    Ma, Mb = problem.manifold.split(run.M)
    for M, C, spread in zip((Ma, Mb), known.own, known.spreads, strict=True):
        if ridge == 0:
            check_varies_along(_not_spanned(C, M), C, spread)
    note = (
        f"M is sought in {2 * r} dimensions of {a.d} and of {b.d}: those of cca, and those that a "
        "trust region found from there by products with the sparse rows, to a gradient of "
        f"{run.gradient_norm:.0e}"
    )
    both = np.hstack([np.concatenate([Ma, Mb]), directions])
    return Correlated(known.rows, *known.inside(both), note, found.residual, (Ma, Mb))


def _not_spanned(C: LinearOperator, M: Array) -> Array:
    """Return an orthonormal basis of the part of M outside the range of C."""
    made, _ = conjugate_gradients(lambda V: C @ V, C @ M)
    U, sizes, _ = np.linalg.svd(M - made, full_matrices=False)
    return U[:, sizes**2 > EMPTY]


def _sparse(samples: Samples) -> Samples:
    """Return dense rows as sparse rows."""
    if samples.is_sparse:
        return samples
    from scipy.sparse import csr_array

    return Samples(csr_array(samples.dense()), name=samples.name, marks=samples.marks)
