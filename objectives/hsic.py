"""Dependence measured by the Hilbert-Schmidt independence criterion."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.batches import on_some_rows
from ldr.objectives.families.gram import Gram, GramPoint, kernel_width
from ldr.objectives.families.landmarks import (
    Approximation,
    Landmarks,
    gram_footprint,
    keep_landmarks,
    landmarks_of,
)
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.families.responses import KINDS, Response
from ldr.objectives.kernels import centred_gram
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import declared, number, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import principal_directions
from ldr.objectives.statistics.sums import weighted
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class HSIC(Objective):
    """Depend as much as possible on z: max tr(K_XM Kz)/(n - 1)^2 over subspaces.

    K are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)), of the
    projected data XM and of the response z = y (for labels, 1 where two are equal). Without y, z is
    X itself: the projection that keeps the similarities of the rows (unsupervised). P = M'. The
    heuristic is the solution for a linear kernel of XM, the top eigenvectors of X'Kz X.

    Cost of an evaluation: exact, time O(n^2 r) and memory O(n^2); from m landmarks and a factor of
    Kz of rank p <= m O(n m (m + p) + n d r), memory O(n (m + p)).

    Source: Gretton, Bousquet, Smola and Schoelkopf 2005; Barshan, Ghodsi, Azimifar and Zolghadri
    Jahromi 2011 (linear kernel); Wang, Sha and Jordan 2010 (unsupervised).

    Parameters
    ----------
    width : float, optional
        sigma of XM's kernel; by default the median distance of the rows of X, times sqrt(r/d).
    response_width : float, optional
        sigma of z's kernel; by default the median distance of its rows.
    response : {"auto", "labels", "quantity"}
        What y is. "auto" reads strings, booleans and at most 20 distinct whole numbers as labels;
        where it guessed so from numbers, a note says it.
    landmarks : int, "auto" or None
        How many random landmark rows approximate K_XM (Nystrom), Kz then being approximated by
        incomplete Cholesky of at most that rank; the approximated objective has exact derivatives.
        None is the exact form. "auto" takes, above n = 500, the pivots of an incomplete Cholesky
        decomposition of K_XM where 300 (or n/4) leave out 1e-10 of its trace, as in few dimensions:
        the landmarks of a part of the run are those at its beginning, and a note tells how far the
        value may be from the exact one. Where they do not suffice, it is 200 random rows above n =
        2000 and the exact form up to it.
    """

    name = "hsic"
    weighted = by_pairs = True
    formula = "max tr(K_XM K_z)/(n - 1)^2"
    source = "Gretton et al. 2005; Barshan et al. 2011"
    sense = "max"
    baseline = "top eigenvectors of X'K_z X (supervised pca)"
    sparse = False

    width: float | None = number(None, optional=True, positive=True)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)
    landmarks: int | str | None = declared("auto", keep_landmarks)

    def explains(self, data: Data) -> bool:
        return data.y is not None

    def footprint(self, data: Data) -> Footprint:
        return gram_footprint(data.samples, self.landmarks)

    def bind(self, data: Data, r: int) -> BoundObjective:
        m = landmarks_of(self.name, data.samples, self.landmarks)
        if data.samples.stored:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        X, n, w = rows.X, len(rows.X), rows.weights
        width = self.width or kernel_width(X, w, r, data.samples.d)
        z = Response(None, X, w) if data.y is None else Response.of(data.y, n, self.response, w)
        approximation = Approximation.of(
            X,
            width,
            partial(z.factor, self.response_width),
            lambda Z: top_eigenvectors(_squared(X.T @ Z), r)[1],
            m,
            pivoted=self.landmarks == "auto" and w is None,
        )
        if approximation is None:
            G = centred_gram(z.gram(self.response_width), w)
            outer = X.T @ (G @ X)
        else:
            outer = _squared(X.T @ approximation.Z)
        common: dict[str, Any] = {
            "width": width,
            "heuristics": {
                "supervised pca": lambda: top_eigenvectors(outer, r)[1],
                "pca": lambda: principal_directions(weighted(X, w), r),
            },
        }
        view = rows.view.noting(*z.notes)
        if approximation is None:
            return Dependence(self, (view,), X, r, G=G, n=data.samples.weight, **common)
        return Landmarks(
            self,
            (view.noting(approximation.note),),
            X,
            r,
            approximation.Z,
            approximation.rows,
            pivoted=approximation.pivoted,
            scale=1.0 / (n - 1) ** 2,
            **common,
        )


def _squared(A: Array) -> Array:
    return A @ A.T


class DependencePoint(GramPoint):
    """F(K) = -tr(K G)/(n - 1)^2, linear in K."""

    def __init__(self, problem: Dependence, M: Array) -> None:
        super().__init__(problem, M)
        self._weights = problem.weights

    @cached_property
    def value(self) -> float:
        return float(np.vdot(self.K, self._weights))

    @property
    def weights(self) -> Array:
        return self._weights


@dataclass(frozen=True)
class Dependence(Gram):
    """HSIC on the Grassmann manifold, exact.

    Parameters
    ----------
    G : ndarray (n, n)
        Centred Gram matrix of z; of weighted rows W H'KH W, H = I - w1'/N.
    n : float
        N.
    """

    G: Array = field(kw_only=True)
    n: float = field(kw_only=True)

    @cached_property
    def weights(self) -> Array:
        return self.G / -((self.n - 1.0) ** 2)

    def at(self, M: Array) -> DependencePoint:
        return DependencePoint(self, M)
