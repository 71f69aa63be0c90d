"""Sufficient dimension reduction by kernels, and by the gradients of their regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import scipy

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
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened_trace import spectral_bound
from ldr.objectives.kernels import centred_gram, weighted_centre
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, declared, number, numbers, whole, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import (
    gradient_directions,
    gradient_outer_product,
    principal_directions,
)
from ldr.objectives.starts.slices import sliced_directions
from ldr.objectives.statistics.sums import weighted
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class SDR(Objective):
    """Keep what X says about z: min tr(Kz (K_XM + n eps I)^{-1}) over subspaces.

    K are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)), of the
    projected data XM and of the response z = y (for labels, 1 where two are equal). z is
    independent of X given XM where this is least. P = M'. There are local optima in general:
    sliced inverse regression (the heuristic), the gradient outer product of a kernel regression,
    principal components and the best of random directions after a few steps ("screened") are the
    default starts, and the best result counts. The heuristic alone
    (``starts=1``) is blind to a symmetric dependence, y = x_1^2 say, from where the solver often
    ends at a poor optimum.

    Cost of an evaluation: exact, time O(n^3 + n^2 p) and memory O(n^2), p the numerical rank of
    Kz; from m landmarks O(n m (m + p) + n d r), memory O(n (m + p)).

    Source: Fukumizu, Bach and Jordan 2009; Cunningham and Ghahramani 2015, section 3.1.8; low
    rank: Williams and Seeger 2001 (Nystrom), Fine and Scheinberg 2001 (incomplete Cholesky).

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
    annealing : tuple of float
        Factors of sigma, say (4, 2): from every start the objective with that wider kernel is
        solved first, in turn. Wider kernels have fewer local optima; a run takes about twice the
        time.
    """

    name = "sdr"
    weighted = by_pairs = True
    formula = "min tr(K_z (K_XM + n eps I)^{-1})"
    source = "Fukumizu, Bach & Jordan 2009; Cunningham & Ghahramani 2015, 3.1.8"
    sense = "min"
    needs = (Need.RESPONSE,)
    baseline = "sliced inverse regression"
    sparse = False

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True)
    response_width: float | None = number(None, optional=True, positive=True)
    slices: int = whole(10, 2)
    response: str = word("auto", KINDS)
    landmarks: int | str | None = declared("auto", keep_landmarks)
    annealing: tuple[float, ...] = numbers((), positive=True)

    def footprint(self, data: Data) -> Footprint:
        return gram_footprint(data.samples, self.landmarks)

    def bind(self, data: Data, r: int) -> BoundObjective:
        m = landmarks_of(self.name, data.samples, self.landmarks)
        if data.samples.stored:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        X, n, w = rows.X, len(rows.X), rows.weights
        response = Response.of(data.y, n, self.response, w)
        width = self.width or kernel_width(X, w, r, data.samples.d)

        @cache
        def slices() -> Array:
            return sliced_directions(X, response, r, self.slices, w)

        approximation = Approximation.of(
            X,
            width,
            partial(response.factor, self.response_width),
            lambda Z: slices(),
            m,
            pivoted=self.landmarks == "auto" and w is None,
        )
        if approximation is None:
            Z, _ = response.factor(self.response_width, None)
        else:
            Z = approximation.Z
        common: dict[str, Any] = {
            "w": w,
            "annealing": self.annealing,
            "width": width,
            "heuristics": {
                "sir": slices,
                "gradient outer product": lambda: gradient_directions(X, Z, r, self.epsilon, w),
                "pca": lambda: principal_directions(weighted(X, w), r),
            },
            "screens": True,
        }
        view = rows.view.noting(*response.notes)
        ridge = data.samples.weight * self.epsilon
        if approximation is None:
            return KernelRegression(self, (view,), X, r, Z=weighted(Z, w), ridge=ridge, **common)
        return Landmarks(
            self,
            (view.noting(approximation.note),),
            X,
            r,
            Z,
            approximation.rows,
            pivoted=approximation.pivoted,
            # Woodbury: (G + ridge I)^{-1} = (I - PC (ridge W + C'PC)^{-1} C'P) / ridge
            constant=float(np.vdot(Z, Z)) / ridge,
            scale=1.0 / ridge,
            a=ridge,
            b=1.0,
            **common,
        )


class KernelPoint(GramPoint):
    """F(K) = tr(Z'RZ), R = (G + n eps I)^{-1}, G = PKP. With T = RZ, F' = -P TT'P = -TT'.

    T is centred like Z, for R maps 1 to a multiple of 1. dT = -R dG T.

    Of weighted rows G = W^{1/2} P'KP W^{1/2}, P = I - w1'/N, and Z = W^{1/2}P'Z: W^{1/2}T takes
    T's place in F', for T is orthogonal to the roots of the weights as Z is.
    """

    def __init__(self, problem: KernelRegression, M: Array) -> None:
        super().__init__(problem, M)
        self._Z, self._w, self._ridge = problem.Z, problem.w, problem.ridge

    @cached_property
    def _factor(self) -> tuple[Array, bool]:
        if self._w is None:
            G = centred_gram(self.K)
        else:
            G = weighted(weighted(weighted_centre(self.K, self._w), self._w).T, self._w)
        G[np.diag_indices_from(G)] += self._ridge
        try:
            return scipy.linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise SingularError(
                f"the Gram matrix of XM is singular beside n epsilon = {self._ridge:.1e}: give "
                "epsilon= a larger value"
            ) from None

    @cached_property
    def _T(self) -> Array:
        return scipy.linalg.cho_solve(self._factor, self._Z, check_finite=False)

    @cached_property
    def value(self) -> float:
        return float(np.vdot(self._Z, self._T))

    @cached_property
    def _S(self) -> Array:
        """W^{1/2}T."""
        return weighted(self._T, self._w)

    @cached_property
    def weights(self) -> Array:
        return -self._S @ self._S.T

    def change_of_weights(self, dY: Array) -> Array:
        dGT = self.change_of_gram(dY) @ self._S
        dGT = weighted(dGT - np.average(dGT, axis=0, weights=self._w), self._w)
        dT = -scipy.linalg.cho_solve(self._factor, dGT, check_finite=False)
        dS = weighted(dT, self._w)
        return -np.hstack([dS, self._S]) @ np.hstack([self._S, dS]).T


@dataclass(frozen=True)
class KernelRegression(Gram):
    """Kernel dimension reduction on the Grassmann manifold, exact.

    Parameters
    ----------
    Z : ndarray (n, p)
        Centred factor of the response's Gram matrix; of weighted rows times their roots.
    ridge : float
        n eps; N eps of weighted rows.
    """

    Z: Array = field(kw_only=True)
    ridge: float = field(kw_only=True)

    def at(self, M: Array) -> KernelPoint:
        return KernelPoint(self, M)


# Rows beyond which a random sample stands for all: an n x n matrix is solved with.
_MOST_ROWS = 5000


@dataclass(frozen=True)
class GKDR(Objective):
    """Keep the directions along which the response changes: max tr(M'GM), by eigenvectors.

    G = mean_i D_i'(K + n eps I)^{-1} K_z (K + n eps I)^{-1} D_i is the mean outer product of the
    gradients of the kernel regression of the response's features on X: K and K_z are Gram matrices
    of Gaussian kernels of X and of the response (of labels, 1 where two are equal), and D_i has the
    rows (x_j - x_i)'k(x_j, x_i)/width^2. Like sdr it assumes no shape of the dependence, and needs
    no start; sdr has it as one. P = M'. Time is cubic in the rows: beyond 5000 a random sample of
    them stands for all.

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    width : float, optional
        Of X's kernel; by default the median distance of the rows.
    response_width : float, optional
        Of the response's kernel; by default the median distance of the responses.
    response : {"auto", "labels", "quantity"}
        What y is, as in sdr.
    """

    name = "gkdr"
    weighted = True
    formula = "max tr(M'GM), G = mean_i D_i'(K + n eps I)^{-1} K_z (K + n eps I)^{-1} D_i"
    source = "Fukumizu & Leng 2014"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of G"
    exact = "yes"
    sparse = False

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True, power=1)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)

    def footprint(self, data: Data) -> Footprint:
        """Rows x rows, of a sample where they are too many."""
        share = min(1.0, _MOST_ROWS / data.samples.n) if data.samples.n_known else 0.0
        return Footprint(rows=6.0, pairs=3.5 * share**2)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if data.samples.stored or data.samples.n > _MOST_ROWS:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        w = rows.weights
        width = self.width or kernel_width(rows.X, w, 1, 1)
        response = Response.of(data.y, len(rows.X), self.response, w)
        Z = response.features(self.response_width, None)[0]
        G = gradient_outer_product(rows.X, Z, width, self.epsilon, w)
        doubt = r * SUMS_ROUNDING * (1.0 + 1.0 / self.epsilon) * spectral_bound(G)
        return Trace(self, (rows.view.noting(*response.notes),), G, r, doubt=doubt)
