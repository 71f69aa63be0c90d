"""Sufficient dimension reduction by kernels (kernel dimension reduction)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ldr.objectives.families.projected import CentredRows, Projected, ProjectedPoint
from ldr.objectives.kernels import centred_gram, median_distance, response_gram
from ldr.objectives.objective import Data, Objective
from ldr.objectives.slices import check_slices, sliced_directions
from ldr.solvers.checks import number
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class SDR(Objective):
    """Keep what X says about z: min tr(Kz (K_XM + n eps I)^{-1}) over subspaces.

    K are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)), of the
    projected data XM and of the response z = y (for labels, 1 where two are equal). z is
    independent of X given XM where this is least. P = M'. Time O(n^3), memory O(n^2). There are
    local optima in general; the heuristic start is sliced inverse regression.

    Source: Fukumizu, Bach and Jordan 2009; Cunningham and Ghahramani 2015, section 3.1.8.

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    width : float, optional
        sigma of XM's kernel; by default the median distance of the rows of X, times sqrt(r/d).
    response_width : float, optional
        sigma of the response's kernel; by default the median distance of the responses.
    slices : int
        Of the heuristic, for a continuous response.
    """

    name = "sdr"
    formula = "min tr(K_z (K_XM + n eps I)^{-1})"
    source = "Fukumizu, Bach & Jordan 2009; Cunningham & Ghahramani 2015, 3.1.8"
    sense = "min"
    needs = ("response",)
    baseline = "sliced inverse regression"

    epsilon: float = 1e-3
    width: float | None = None
    response_width: float | None = None
    slices: int = 10

    def __post_init__(self) -> None:
        for name in ("epsilon", "width", "response_width"):
            given = getattr(self, name)
            if name != "epsilon" and given is None:
                continue
            number(name, given, positive=True)
        check_slices(self.slices)

    def bind(self, data: Data, r: int) -> KernelRegression:
        rows = CentredRows.of(data, self)
        X, n = rows.X, len(rows.X)
        width = self.width or median_distance(X) * math.sqrt(r / data.samples.d)
        if width == 0:
            raise DataError("X has more than half of its rows equal; give width= a value")
        return KernelRegression(
            self,
            (rows.mean,),
            X,
            r,
            response_gram(data.y, n, self.response_width),
            width=width,
            regularisation=n * self.epsilon,
            directions=lambda: sliced_directions(X, data.y, r, self.slices),
            coordinates=(rows.coordinates,),
            notes=rows.notes,
        )


class KernelPoint(ProjectedPoint):
    """f = tr(Gz R), R = (G + n eps I)^{-1}, G = PKP the centred Gram matrix of Y = XM.

    Slope (2/sigma^2) (D_H - H)Y with H = (PAP) o K, A = R Gz R, D_H = diag(H1). Its derivative
    replaces H by dH = (P dA P) o K + (PAP) o dK with dA = -(R dG A + A dG R), dG = P dK P,
    dK = -K o (u_i + u_j - U_ij - U_ji)/sigma^2, U = Y dY', u = diag(U).
    """

    def __init__(self, problem: KernelRegression, M: Array) -> None:
        super().__init__(problem, M)
        self._problem = problem
        squares = np.einsum("ij,ij->i", self.Y, self.Y)
        distances = squares[:, None] + squares - 2.0 * (self.Y @ self.Y.T)
        np.fill_diagonal(distances, 0.0)
        self._K = np.exp(np.maximum(distances, 0.0) / (-2.0 * problem.width**2))

    @cached_property
    def _R(self) -> Array:
        G = centred_gram(self._K)
        G[np.diag_indices_from(G)] += self._problem.regularisation
        factor = scipy.linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
        return scipy.linalg.cho_solve(factor, np.eye(len(G)), check_finite=False)

    @cached_property
    def value(self) -> float:
        return float(np.vdot(self._problem.response, self._R))

    @cached_property
    def _A(self) -> Array:
        return self._R @ self._problem.response @ self._R

    @cached_property
    def _PAP(self) -> Array:
        return centred_gram(self._A)

    @cached_property
    def _H(self) -> Array:
        return self._PAP * self._K

    def _laplacian_times(self, H: Array, Y: Array) -> Array:
        """(D_H - H) Y."""
        return H.sum(axis=1)[:, None] * Y - H @ Y

    @cached_property
    def slope(self) -> Array:
        return (2.0 / self._problem.width**2) * self._laplacian_times(self._H, self.Y)

    def curvature(self, dY: Array) -> Array:
        width = self._problem.width
        U = self.Y @ dY.T
        u = np.diag(U)
        dK = self._K * (U + U.T - u - u[:, None]) / width**2
        T = self._R @ centred_gram(dK) @ self._A
        dH = centred_gram(-(T + T.T)) * self._K + self._PAP * dK
        dLY = self._laplacian_times(dH, self.Y) + self._laplacian_times(self._H, dY)
        return (2.0 / width**2) * dLY


@dataclass
class KernelRegression(Projected):
    """Kernel dimension reduction on the Grassmann manifold.

    Parameters
    ----------
    response : ndarray (n, n)
        Centred Gram matrix of the response.
    width, regularisation : float
        sigma of XM's kernel, and n eps.
    directions : callable
        Gives the heuristic's orthonormal k x r matrix.
    """

    response: Array
    width: float = 1.0
    regularisation: float = 1.0
    directions: Any = None

    def at(self, M: Array) -> KernelPoint:
        return KernelPoint(self, M)

    def baseline(self) -> Array:
        return self.directions()
