"""Reduced-rank regression: least squares over the singular vectors of the coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.regression import Fit, Rounding
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, word
from ldr.objectives.prediction import LinearPredictor
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.statistics.covariance import KnownScatter, Variation
from ldr.objectives.view import Compact
from ldr.solvers.linalg.eigen import graded_qr, top_eigenvectors
from ldr.solvers.manifolds import Array, Product, Stiefel
from ldr.solvers.problem import Point
from ldr.solvers.records import dataclass, field
from ldr.solvers.spectral import thin_svd


class ReducedRankPoint(Point):
    """f = t - sum_k c_k^2/a_k, which is ||Y - X Min S Mout'||^2 at the best diagonal S.

    It is added up of what least squares leaves and of ||T - Z Min S Mout'||^2, with Z'Z = X'X and
    Z'T = X'Y: squares, where the difference could be negative.

    t = ||Y||^2, c_k = m_k'X'Y n_k and a_k = m_k'X'X m_k for the columns m_k of Min and n_k of Mout;
    S_k = c_k/a_k, whose sign is a matter of m_k's. Gradient [-2 X'Y n S + 2 X'X m S^2; -2 Y'X m S].
    Products are of Zm and Tn, X'X = Z'Z and X'Y = Z'T: Z knows the short ones, Z'Z does not.
    """

    def __init__(self, problem: ReducedRank, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._in, self._out = problem.manifold.split(M)
        self.fitted = problem.Z @ self._in
        Tn = problem.T @ self._out
        self._Kn = problem.Z.T @ Tn
        self._Km = problem.T.T @ self.fitted
        self._Am = problem.Z.T @ self.fitted
        self._a = np.einsum("ik,ik->k", self.fitted, self.fitted)
        self._c = np.einsum("ik,ik->k", self.fitted, Tn)
        there = self._a > 0  # a direction in which nothing varies explains nothing
        self.S = np.divide(self._c, self._a, out=np.zeros_like(self._a), where=there)

    @cached_property
    def value(self) -> float:
        problem = self._problem
        rest = problem.T - (self.fitted * self.S) @ self._out.T
        return problem.unexplained + float(np.vdot(rest, rest))

    @cached_property
    def gradient(self) -> Array:
        inward = -2.0 * self.S * self._Kn + 2.0 * self.S * (self.S * self._Am)
        return self._problem.manifold.join([inward, -2.0 * self.S * self._Km])

    def hessian_vector(self, V: Array) -> Array:
        problem = self._problem
        Vin, Vout = problem.manifold.split(V)
        ZV = problem.Z @ Vin
        KV, AV = problem.Z.T @ (problem.T @ Vout), problem.Z.T @ ZV
        dc = np.einsum("ik,ik->k", Vin, self._Kn) + np.einsum("ik,ik->k", self._in, KV)
        da = 2.0 * np.einsum("ik,ik->k", Vin, self._Am)
        return self.changed(KV, problem.T.T @ ZV, AV, dc, da)[0]

    def changed(
        self, dKn: Array, dKm: Array, dAm: Array, dc: Array, da: Array
    ) -> tuple[Array, Array]:
        """Of the gradient and of S, where X'Y n, Y'X m, X'X m, c and a change."""
        S = self.S
        dS = (dc - S * da) / self._a
        inward = -2.0 * (dS * self._Kn + S * dKn) + 2.0 * S * (2.0 * dS * self._Am + S * dAm)
        outward = -2.0 * (dS * self._Km + S * dKm)
        return self._problem.manifold.join([inward, outward]), dS

    def slope_of(self, s: Array) -> Array:
        """The derivative of <s, S>."""
        share = s / self._a
        inward = share * (self._Kn - 2.0 * self.S * self._Am)
        return self._problem.manifold.join([inward, share * self._Km])

    def pulled(self, V: Array, s: Array) -> tuple[Array, Array, Array]:
        """The derivative of <s, S> - <V, gradient> in the data.

        P, Q and R: PN' + MQ' in X'Y and -MR' in X'X, M of the inputs and N of the outputs.
        """
        S, (u, w) = self.S, self._problem.manifold.split(V)
        of_c = np.einsum("ik,ik->k", u, self._Kn - 2.0 * S * self._Am)
        of_c += np.einsum("ik,ik->k", w, self._Km)
        share = (s + 2.0 * of_c) / self._a
        P = 2.0 * S * u + share * self._in
        return P, 2.0 * S * w, S * P


@dataclass(frozen=True)
class ReducedRank(BoundObjective):
    """Minimise ||Y - X Min S Mout'||_F^2 over St x St and diagonal S >= 0, S in closed form.

    Exact: with the fitted values of least squares F = X B, B_r = B V_r V_r' for the leading right
    singular vectors V_r of F, and Min S Mout' the singular value decomposition of B_r.

    Parameters
    ----------
    Z, inverse : ndarray (k, k)
        With Z'Z = X'X, positive definite.
    T : ndarray (k, q)
        With Z'T = X'Y.
    total : float
        ||Y||^2.
    directions : callable
        From r to the heuristic's k x r directions of X, on which Y is regressed.
    rounding : callable
    restricted : bool
        See `Regression`.
    """

    exchangeable = True

    Z: Array
    inverse: Array
    T: Array
    total: float
    r: int
    directions: Callable[[int], Array]
    rounding: Rounding = field(kw_only=True)
    restricted: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.T.shape))

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        k, q = self.T.shape
        return Product(Stiefel(k, self.r), Stiefel(q, self.r))

    @cached_property
    def unexplained(self) -> float:
        """The sum of squares that least squares leaves."""
        return max(0.0, self.total - float(np.vdot(self.T, self.T)))

    def at(self, M: Array) -> ReducedRankPoint:
        return ReducedRankPoint(self, M)

    def _factored(self, left: Array, right: Array) -> Array:
        """The point of the coefficients left @ right', from their singular vectors."""
        Q, R, pivots = graded_qr(left)
        Qr, Rr = np.linalg.qr(right[:, pivots])
        U, _, Vt = np.linalg.svd(R @ Rr.T)
        return self.manifold.nearest(self.point([Q @ U, Qr @ Vt.T]))

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        return thin_svd(self.T)

    @cached_property
    def _optimum(self) -> Array:
        """Where rounding leaves it above the heuristic, that."""
        U, values, Vt = self._singular
        r = self.r
        found = self._factored(self.inverse @ (U[:, :r] * values[:r]), Vt[:r].T)
        return min(found, self.baseline(), key=lambda M: self.at(M).value)

    def closed_form(self) -> Array:
        return self._optimum

    def baseline(self) -> Array:
        return self._heuristic

    @cached_property
    def _heuristic(self) -> Array:
        E = self.directions(self.r)
        coefficients = np.linalg.lstsq(self.Z @ E, self.T, rcond=None)[0]
        return self._factored(E, np.asarray(coefficients.T, dtype=np.float64))

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """The singular vectors of the coefficients, by their singular values."""
        return Axes.ordered(np.abs(self.at(M).S), views=2)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """The singular values of the coefficients."""
        return {"singular_value": np.abs(self.at(M).S)}

    def lift(self, M: Array) -> tuple[Array, ...]:
        """Min's columns have the signs that make S >= 0."""
        signs = np.where(self.at(M).S < 0, -1.0, 1.0)
        inward, outward = super().lift(M)
        return inward * signs, outward

    def maps(self, M: Array) -> tuple[Array, ...]:
        """Pin = S Min' and Pout = Mout', so that the fitted values are (x - mean)Pin'Pout."""
        inward, outward = self.lift(M)
        return np.abs(self.at(M).S)[:, None] * inward.T, outward.T

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[LinearPredictor, ...]:
        """The outputs', of the inputs."""
        return (LinearPredictor(maps[0], maps[1], means[1]),)

    def parameters(self, M: Array) -> dict[str, float]:
        return {f"S_{k + 1}": float(abs(s)) for k, s in enumerate(self.at(M).S)}

    def certificate(self, M: Array) -> Certificate:
        """No fit of rank r explains more than the r largest singular values of T."""
        point = self.at(M)
        best = self.unexplained + float(np.sum(self._singular[1][self.r :] ** 2))
        fitted = (point.fitted * point.S) @ self.manifold.split(M)[1].T
        gap = max(0.0, point.value - best) + self.rounding(fitted, max(0.0, point.value))
        found = Certificate.of_gap(
            gap,
            1e-9 * self.total,
            "no fit of rank r is closer: the gap is zero",
            "no fit of rank r is closer by more",
        )
        return found.restricted_to(str(self.span)) if self.restricted else found


@dataclass(frozen=True)
class ReducedRankRegression(Objective):
    """Predict one view from r numbers of the other: min ||Y - X Min S Mout'||_F^2, S >= 0 diagonal.

    X is a pair (inputs, outputs). Pin = S Min', Pout = Mout': the prediction is
    mean_out + (x - mean_in) Pin' Pout. Exact by the singular vectors of the fitted values of least
    squares. The heuristic regresses the outputs on a few directions of the inputs that were chosen
    without the regression.

    Parameters
    ----------
    heuristic : {"pcr", "pls"}
        Directions of the baseline: principal components, or partial least squares'.
    """

    name = "reduced-rank-regression"
    weighted = True
    formula = "min ||Y - X Min S Mout'||^2"
    source = "Izenman 1975; Cunningham & Ghahramani 2015, 3.2"
    sense = "min"
    views = 2
    needs = (Need.SECOND_VIEW,)
    predicts = "view"
    baseline = "principal components regression, or partial least squares"
    transposed = False
    domain = "St x St"
    exact = "no (the closed form is)"
    from_sums = True
    arrays = Footprint(span=3.0)

    heuristic: str = word("pcr", ("pcr", "pls"))

    def bind(self, data: Data, r: int) -> ReducedRank:
        a, b = (Compact.of(view, quiet=True) for view in data.views)
        fit = Fit.of(a, b.rows, "the covariance of the inputs")
        Z, T = fit.Z, fit.T

        def directions(r: int) -> Array:
            if self.heuristic == "pcr":
                return top_eigenvectors(Z.T @ Z, r)[1]
            return np.linalg.svd(Z.T @ T, full_matrices=False)[0][:, :r]

        return ReducedRank(
            self,
            (fit.view, b.view(fit.stats.mean_b, KnownScatter(fit.stats.scatter_bb, fit.stats.n))),
            Z,
            fit.inverse,
            T,
            float(fit.stats.scatter_bb.trace()),
            r,
            directions,
            rounding=fit.rounding,
            restricted=fit.restricted,
        )
