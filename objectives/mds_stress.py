"""Metric multidimensional scaling by stress."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ldr.objectives.families.batches import in_batches
from ldr.objectives.families.pairwise import Pairwise, PairwisePoint
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.families.row_sum import in_pieces
from ldr.objectives.lengths import typical_length
from ldr.objectives.objective import BoundObjective, Data, Objective
from ldr.solvers.checks import choice, keep_number
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array

WEIGHTS = ("none", "sammon")

# Up to this many distances (256 MiB) are kept; beyond it they are computed at each evaluation.
_KEPT = 2**25


@dataclass(frozen=True)
class MDSStress(Objective):
    """Keep every distance: min sum_ij w_ij (d_ij - ||M'(x_i - x_j)||)^2 over subspaces.

    d_ij = ||x_i - x_j||; w_ij = 1, or 1/d_ij for Sammon's mapping (his stress is this divided by
    sum_ij d_ij). Where two projected points coincide their distance has a kink, therefore every
    distance t, of rows and of projected points alike, is taken as sqrt(t^2 + e^2): a projection
    that keeps all of them still has stress 0. P = M'. There are local optima in general. An
    evaluation takes O(n^2 r) time, after O(n^2 d) once. Memory is n^2 numbers, or O(n (d + r)) for
    n > 5792, where the O(n^2 d) are spent at each evaluation.

    Source: Kruskal 1964; Sammon 1969; Cunningham and Ghahramani 2015, section 3.1.2.

    Parameters
    ----------
    weights : {"none", "sammon"}
        w_ij.
    epsilon : float
        e, in units of the root mean square distance of the rows from their mean.
    """

    name = "mds-stress"
    formula = "min sum_ij w_ij (||x_i - x_j|| - ||M'(x_i - x_j)||)^2"
    source = "Kruskal 1964; Sammon 1969; Cunningham & Ghahramani 2015, 3.1.2"
    sense = "min"
    baseline = "pca"
    sparse = False

    weights: str = "none"
    epsilon: float = 1e-3

    def __post_init__(self) -> None:
        choice("weights", self.weights, WEIGHTS)
        keep_number(self, "epsilon", positive=True)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if in_pieces(data.samples):
            return in_batches(self, data, r)
        rows = DenseRows.centred(data, self)
        length = typical_length(rows.X)
        X = rows.X / length
        spread = float(np.sqrt(np.mean(np.sum(X**2, axis=1))))
        return Stress(
            self,
            (rows.mean,),
            X,
            r,
            smoothing=self.epsilon * spread,
            sammon=self.weights == "sammon",
            unit=length if self.weights == "sammon" else length**2,
            coordinates=(rows.coordinates,),
            notes=rows.notes,
        )


class StressPoint(PairwisePoint):
    """phi = sum_ij w_ij (s_ij - d_ij)^2 with s_ij = sqrt(D_ij + e^2), d_ij likewise of the rows.

    W = w (1 - d/s), dW = w d/(2 s^3) dD.
    """

    def __init__(self, problem: Stress, M: Array) -> None:
        super().__init__(problem, M)
        self._problem = problem

    def _lengths(self, rows: slice, D: Array) -> tuple[Array, Array]:
        """d and s."""
        D += self._problem.smoothing**2
        return self._problem.distances(rows), np.sqrt(D, out=D)

    def weights(self, rows: slice, D: Array) -> tuple[float, Array]:
        d, s = self._lengths(rows, D)
        residual = s - d
        W = residual / d if self._problem.sammon else residual
        return float(np.vdot(W, residual)), W / s

    def weights_change(self, rows: slice, D: Array, dD: Array) -> tuple[Array, Array]:
        d, s = self._lengths(rows, D)
        ratio = d / s
        dD *= ratio
        dD /= s
        dD /= s
        dD *= 0.5
        W = np.subtract(1.0, ratio, out=ratio)
        return (W / d, dD / d) if self._problem.sammon else (W, dD)


@dataclass
class Stress(Pairwise):
    """Stress on the Grassmann manifold.

    Parameters
    ----------
    smoothing : float
        e.
    sammon : bool
        Whether w_ij = 1/d_ij.
    """

    smoothing: float = 0.0
    sammon: bool = False
    _kept: Array | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.X) ** 2 <= _KEPT:
            self._kept = self._measured(slice(None))

    def emptied(self) -> Stress:
        """Without rows, as a template for others."""
        return replace(self, X=self.X[:0])

    def on(self, rows: Array) -> Stress:
        """The problem of other rows of the user's."""
        length = self.unit if self.sammon else math.sqrt(self.unit)
        return replace(self, X=(rows - self.means[0]) / length)

    def _measured(self, rows: slice) -> Array:
        from scipy.spatial.distance import cdist

        d = cdist(self.X[rows], self.X, "sqeuclidean")
        d += self.smoothing**2
        return np.sqrt(d, out=d)

    def distances(self, rows: slice) -> Array:
        """These rows of d."""
        return self._measured(rows) if self._kept is None else self._kept[rows]

    def at(self, M: Array) -> StressPoint:
        return StressPoint(self, M)

    def baseline(self) -> Array:
        return top_eigenvectors(self.X.T @ self.X, self.r)[1]
