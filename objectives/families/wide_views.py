"""Two sparse views of very many columns: their leading pairs of directions, found by products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.wide import GUARDS, Plus
from ldr.objectives.prediction import LinearPredictor, Predictor
from ldr.objectives.statistics.products import CentredRows, Form
from ldr.objectives.view import Compact
from ldr.solvers.linalg.krylov import SymmetricOperator
from ldr.solvers.manifolds import Array
from ldr.solvers.trace_ratio.by_products import columns_of, largest_pairs


@dataclass(frozen=True, eq=False)
class Coupled:
    """[[0, K], [K', 0]]."""

    K: Form

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.K.shape), sum(self.K.shape)

    def __matmul__(self, V: Array) -> Array:
        ka = self.K.shape[0]
        return np.vstack([self.K @ V[ka:], self.K.T @ V[:ka]])


@dataclass(frozen=True, eq=False)
class Apart:
    """[[Saa, 0], [0, Sbb]]."""

    aa: SymmetricOperator
    bb: SymmetricOperator

    @property
    def shape(self) -> tuple[int, int]:
        k = self.aa.shape[0] + self.bb.shape[0]
        return k, k

    def __matmul__(self, V: Array) -> Array:
        ka = self.aa.shape[0]
        return np.vstack([self.aa @ V[:ka], self.bb @ V[ka:]])


class Identity:
    """What leaves vectors alone."""

    def __init__(self, k: int) -> None:
        self.shape = k, k

    def __matmul__(self, V: Array) -> Array:
        return V


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two views in subspaces that their leading pairs lie in.

    Attributes
    ----------
    rows : list of CentredRows
        Of the views, in all columns that vary.
    a, b : Compact
    ridges : pair of float
        In units of the covariances in the subspaces.
    note : str
    residual : float
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
        """Of either view in all its columns, from the other's coordinates: see `Pair`."""
        return tuple(
            self._predictor(rows, other, P, mean)
            for rows, other, P, mean in zip(
                self.rows, self.rows[::-1], maps, means[::-1], strict=True
            )
        )

    def _predictor(
        self, rows: CentredRows, other: CentredRows, P: Array, mean: Array
    ) -> LinearPredictor:
        Z = np.ascontiguousarray(P[:, rows.varied].T)
        CZ, cross = Form.covariance(rows) @ Z, Form.covariance(other, rows) @ Z
        B = np.linalg.lstsq(Z.T @ CZ, cross.T, rcond=None)[0]
        return LinearPredictor(P, other.in_all_columns(np.asarray(B).T).T, mean)

    def certificate(self, M: Array, value: float) -> Certificate:
        """Products prove nothing of pairs that were missed."""
        return Certificate(
            "none",
            math.inf,
            f"the leading pairs of the subspaces that were found (residual {self.residual:.0e}); "
            "that none was missed is not proved by products",
        )


def leading_pairs(a: Samples, b: Samples, r: int, ridge: float | None) -> Pairs | None:
    """The subspaces of r pairs, of columns as they are or, with a ridge, whitened.

    None where neither view has too many columns for arrays.
    """
    if not (a.wide or b.wide):
        return None
    views = [CentredRows.of(_sparse(view)) for view in (a, b)]
    K = Form.covariance(*views)
    spreads = [view.squares(view.counts) / view.weight for view in views]
    amounts = [0.0 if ridge is None else ridge * float(spread.mean()) for spread in spreads]
    scale = np.ones(sum(K.shape))
    B: SymmetricOperator = Identity(len(scale))
    if ridge is not None:
        scale = 1.0 / np.sqrt(
            np.concatenate([s + amount for s, amount in zip(spreads, amounts, strict=True)])
        )
        own = (
            Plus(Form.covariance(view), diagonal=amount)
            for view, amount in zip(views, amounts, strict=True)
        )
        B = Plus(Apart(*own), scale=scale)
    start = columns_of(min(r + GUARDS, min(K.shape)), np.empty((len(scale), 0)))
    found = largest_pairs(Plus(Coupled(K), scale=scale), B, start, r)
    Z = np.split(scale[:, None] * found.V[:, :r], [K.shape[0]])
    bases = [np.linalg.qr(block)[0] for block in Z]
    in_a, in_b = (
        Compact.along(view.in_all_columns(basis), view.mean, samples)
        for samples, view, basis in zip((a, b), views, bases, strict=True)
    )
    variances = (
        float(np.vdot(basis, Form.covariance(view) @ basis)) / r
        for view, basis in zip(views, bases, strict=True)
    )
    of_a, of_b = (amount / size for amount, size in zip(amounts, variances, strict=True))
    note = (
        f"M is sought in {r} dimensions of {a.d} and of {b.d}, which block Davidson found from "
        f"{found.products} products with the sparse rows: residual {found.residual:.0e}"
    )
    return Pairs(views, in_a, in_b, (of_a, of_b), note, found.residual)


def _sparse(samples: Samples) -> Samples:
    """Dense rows beside sparse ones, as these are."""
    if samples.is_sparse:
        return samples
    from scipy.sparse import csr_array

    return Samples(csr_array(samples.dense()), name=samples.name, marks=samples.marks)
