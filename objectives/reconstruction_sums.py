"""Robust reconstruction of rows that are read piece by piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import add

import numpy as np

from ldr.objectives.coordinates import Columns
from ldr.objectives.families.row_sum import Frame, ProjectedTerm, RowSum, added
from ldr.objectives.losses import Loss
from ldr.objectives.medians import median_in_pieces
from ldr.objectives.objective import Objective, check_dimension
from ldr.objectives.samples import Samples
from ldr.objectives.statistics import moments
from ldr.solvers.eigen import top_eigenvectors
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array, Grassmann

IN_PIECES = (
    "the rows are read at every evaluation; the heuristic is at most 10 steps of reweighted pca"
)

_REWEIGHTINGS = 10
_SETTLED = 1e-9  # relative decrease of the value at which reweighting ends


def median_frame(samples: Samples, r: int) -> Frame:
    """The rows from their geometric median, in the power of two next to their typical length.

    Raises
    ------
    DataError
        All rows are equal.
    """
    check_dimension(r, samples.d)
    stats = moments(samples)
    square = float(stats.covariance.trace())
    if square == 0:
        raise DataError("all rows of X are equal, expected data that vary")
    frame = Frame(stats.mean, 2.0 ** round(0.5 * math.log2(square)))
    return frame.moved(median_in_pieces(samples, frame))


def distances(samples: Samples, frame: Frame, M: Array | None = None) -> Array:
    """Of each row from the centre, or from the subspace of M there; n numbers."""
    return np.concatenate(samples.reduce(partial(_distances, frame=frame, M=M), add))


def _distances(piece: Samples, frame: Frame, M: Array | None) -> list[Array]:
    return [np.sqrt(_squares(Z, M)) for Z in frame.blocks(piece)]


def _squares(Z: Array, M: Array | None) -> Array:
    residual = Z if M is None else Z - (Z @ M) @ M.T
    return np.einsum("ij,ij->i", residual, residual)


def spherical_sums(samples: Samples, frame: Frame) -> tuple[Array, Array]:
    """Scatters of the rows and of the rows divided by their norms, in one pass."""
    return samples.reduce(partial(_spherical_sums, frame=frame), added)


def _spherical_sums(piece: Samples, frame: Frame) -> tuple[Array, Array]:
    plain, spherical = np.zeros((2, piece.d, piece.d))
    for Z in frame.blocks(piece):
        q = _squares(Z, None)
        plain += Z.T @ Z
        spherical += (Z.T * np.divide(1.0, q, where=q > 0, out=np.zeros_like(q))) @ Z
    return plain, spherical


def _reweighted(piece: Samples, frame: Frame, loss: Loss, M: Array) -> tuple[float, Array]:
    """The value at M, and the scatter in which each row has the weight g'(q)."""
    value, scatter = 0.0, np.zeros((piece.d, piece.d))
    for Z in frame.blocks(piece):
        q = _squares(Z, M)
        value += float(loss(q).sum())
        scatter += (Z.T * loss.slope(q)) @ Z
    return value, scatter


@dataclass(frozen=True)
class ReconstructionTerm(ProjectedTerm):
    """sum_i g(q_i), q_i = ||z_i - My_i||^2; slope and curvature as in `ReconstructionPoint`."""

    loss: Loss

    def slope(self, Y: Array, Z: Array, N: Array) -> tuple[float, Array]:
        q = self._residual_squares(Y, Z, N)
        return float(self.loss(q).sum()), -2.0 * self.loss.slope(q)[:, None] * Y

    def curvature(self, Y: Array, dY: Array, Z: Array, N: Array) -> Array:
        q = self._residual_squares(Y, Z, N)
        bend = self.loss.curvature(q) * (-2.0 * np.einsum("ij,ij->i", Y, dY))
        return -2.0 * (self.loss.slope(q)[:, None] * dY + bend[:, None] * Y)

    @staticmethod
    def _residual_squares(Y: Array, Z: Array, N: Array) -> Array:
        residual = Z - Y @ N.T  # the difference of squares would lose small q
        return np.einsum("ij,ij->i", residual, residual)


def reconstruction(
    objective: Objective,
    samples: Samples,
    frame: Frame,
    loss: Loss,
    r: int,
    *,
    unit: float,
    notes: Sequence[str],
) -> RowSum:
    """The problem on the Grassmann manifold, with its heuristics by sums."""

    def directions(which: int) -> Array:
        return top_eigenvectors(spherical_sums(samples, frame)[which], r)[1]

    def reweighted() -> Array:
        M, least = directions(1), math.inf
        best = M
        for _ in range(_REWEIGHTINGS):
            term = partial(_reweighted, frame=frame, loss=loss, M=M)
            value, scatter = samples.reduce(term, added)
            if value < least:
                best = M
            if least - value <= _SETTLED * value:
                break
            least, M = value, top_eigenvectors(scatter, r)[1]
        return best

    return RowSum(
        objective,
        (frame.centre,),
        Grassmann(samples.d, r),
        samples,
        ReconstructionTerm(frame, None, loss),
        heuristics={
            "reweighted pca": reweighted,
            "pca": lambda: directions(0),
            "spherical pca": lambda: directions(1),
        },
        coordinates=(Columns(),),
        unit=unit,
        notes=notes,
    )
