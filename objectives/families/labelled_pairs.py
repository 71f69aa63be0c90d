"""Objectives of the projected distances and of classes, over all matrices M."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ldr.objectives.axes import Axes
from ldr.objectives.coordinates import ColumnScaling
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_labels
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pairwise import Pairwise, row_slices
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.problem import Stated
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.lengths import column_lengths, typical_length
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import View
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors, range_basis, top_eigenvectors
from ldr.solvers.manifolds import Array, Euclidean, Manifold


@dataclass(frozen=True)
class LabelledRows:
    """The data sorted by class and centred, each column in a unit in which it is about 1.

    M is free, so that a unit of a column costs nothing, and columns of very different units make
    no ill-conditioned problem.

    Attributes
    ----------
    X : ndarray (n, k)
    lengths : ndarray (k,)
        X times these has the user's distances, up to a factor.
    boundaries : ndarray (c + 1,)
        Class c has the rows from boundaries[c] on.
    view : View
    weights : ndarray (n,) or None
    """

    X: Array
    lengths: Array
    boundaries: np.ndarray
    view: View
    weights: Array | None

    @classmethod
    def of(cls, data: Data, objective: Stated, smallest_class: int = 2) -> LabelledRows:
        codes, _ = as_labels(data.y, data.samples.n, smallest_class=smallest_class)
        rows = DenseRows.centred(data, objective)
        length, lengths = typical_length(rows.X), column_lengths(rows.X)
        order, w = np.argsort(codes, kind="stable"), rows.weights
        return cls(
            rows.X[order] / lengths,
            lengths / length,
            np.concatenate([[0], np.cumsum(np.bincount(codes))]),
            replace(rows.view, coordinates=ColumnScaling(1.0 / lengths, rows.view.coordinates)),
            None if w is None else w[order],
        )


@dataclass(frozen=True)
class LabelledPairs(Pairwise):
    """A problem of the projected distances and of classes; its heuristic is lda.

    Parameters
    ----------
    lengths : ndarray (k,)
        X times these has the user's distances, up to a factor.
    boundaries : ndarray (c + 1,)
        Class c has the rows from boundaries[c] on.
    """

    lengths: Array
    boundaries: np.ndarray

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        return Euclidean(self.X.shape[1], self.r)

    @cached_property
    def strips(self) -> list[slice]:
        """Rows that are worked on together, of one class."""
        ends, n = map(int, self.boundaries), len(self.X)
        return [rows for start, stop in pairwise(ends) for rows in row_slices(start, stop, n)]

    @property
    def exchangeable(self) -> bool:
        return True

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """In which the user's columns of M are orthogonal, the longest first."""
        (lifted,) = self.lift(M)
        _, lengths, Vt = np.linalg.svd(lifted, full_matrices=False)
        return Axes((Vt.T,), lengths**2, free=True)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Of the columns of the user's M."""
        return {"squared_length": axes.numbers}

    def own(self, rows: slice) -> slice:
        """All rows of the class of these."""
        c = int(np.searchsorted(self.boundaries, rows.start, side="right"))
        return slice(int(self.boundaries[c - 1]), int(self.boundaries[c]))

    def emptied(self) -> LabelledPairs:
        """Without rows, as a template for others."""
        return replace(self, X=self.X[:0], w=None, boundaries=np.zeros(2, dtype=np.intp))

    def on(self, rows: Array, codes: np.ndarray, *, w: Array | None = None) -> LabelledPairs | None:
        """The problem of other rows of the user's and of their classes."""
        (view,) = self.views
        assert isinstance(view.coordinates, ColumnScaling)
        order = np.argsort(codes, kind="stable")
        _, sizes = np.unique(codes, return_counts=True)
        X = (rows[order] - view.mean) * view.coordinates.scale
        w, boundaries = None if w is None else w[order], np.concatenate([[0], np.cumsum(sizes)])
        return replace(self, X=X, w=w, boundaries=boundaries)

    @cached_property
    def weight(self) -> float:
        """Of all rows together."""
        return len(self.X) if self.w is None else float(self.w.sum())

    @cached_property
    def _scatters(self) -> ClassMoments:
        sizes = np.diff(self.boundaries)
        codes = np.repeat(np.arange(len(sizes)), sizes)
        return class_moments(Samples(self.X, marks=Marks(self.w)), codes, len(sizes))

    def baseline(self) -> Array:
        """Top generalised eigenvectors of (S_B, S_W), of unit variance within classes.

        They are sought in the range of S_W. Beyond the c - 1 that c classes have, principal
        directions of what is left of the data fill up.
        """
        k = self.X.shape[1]
        within, between = self._scatters.within, self._scatters.between
        if not within.any():
            return self.principal_directions(self.r)
        Q = range_basis(within)
        basis = np.eye(k) if Q is None else Q
        informative = min(self.r, len(self.boundaries) - 2, basis.shape[1])
        _, vectors = generalised_top_eigenvectors(
            basis.T @ between @ basis, basis.T @ within @ basis, informative
        )
        found = math.sqrt(self.weight) * (basis @ vectors)
        if informative == self.r:
            return found
        return np.hstack([found, self.principal_directions(self.r - informative, found)])

    def principal_directions(self, r: int, besides: Array | None = None) -> Array:
        """Leading principal axes in the user's units, of unit variance within classes on average.

        Where classes do not vary there, the whole data have it. `besides` some directions, they are
        the axes of what those leave of the data.
        """
        rest = np.eye(self.X.shape[1])
        if besides is not None:
            span = np.linalg.qr(besides)[0]
            rest -= span @ span.T
        scaled = rest * self.lengths
        rows = weighted(self.X, self.w)
        A = rows @ scaled
        M = scaled @ top_eigenvectors(A.T @ A, r)[1]
        Y = rows @ M
        squares = float(np.vdot(M, self._scatters.within @ M)) or float(np.vdot(Y, Y))
        return M * math.sqrt(self.weight * r / squares) if squares > 0 else M
