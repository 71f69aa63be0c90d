"""Regressions: least squares, ridge, lasso, principal components, reduced rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.sample_metadata import as_labels, is_text
from ldr.objectives.families.matrices import DataSums, TraceMatrices
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import SumOfSquares, Unwhitened, Whitened, whiten
from ldr.objectives.families.wide_pairs import Covariances
from ldr.objectives.kernel import as_response
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, word
from ldr.objectives.prediction import LinearPredictor, Outputs, Regressed
from ldr.objectives.problem import BoundObjective, Certificate, Stated, check_dimension
from ldr.objectives.statistics import ViewMoments, mean, view_moments
from ldr.objectives.statistics.products import column_means, scaled_rows, shifted_rows
from ldr.objectives.statistics.scatters import KnownScatter, RowScatter, Variation
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import Axes, Compact, Scaling, View, check_varies, noted, signs, span_of
from ldr.solvers.checks import LARGEST
from ldr.solvers.coordinate_descent import CoordinateDescent
from ldr.solvers.deadline import decomposing
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.linalg.eigen import (
    graded_qr,
    graded_svd,
    is_graded,
    power_of_two,
    scaled_factor,
    top_eigenvectors,
)
from ldr.solvers.linalg.krylov import block_krylov
from ldr.solvers.linalg.products import LessMeans
from ldr.solvers.manifolds import Array, Euclidean, Product, Stiefel
from ldr.solvers.manifolds.manifold import thin_svd
from ldr.solvers.problem import Point

# Eigensolver: tolerance relative to the largest eigenvalue, limit of matrix-vector products.
_EXACT, _MOST_PRODUCTS = 1e-8, 300
# Function that bounds the rounding error of f, given ZM and the residual sum of squares.
Rounding = Callable[[Array, float], float]


class RegressionPoint(Point):
    """The value is f = constant + ||T - ZM||^2 + ridge ||M||^2 + lasso ||M||_1.

    For zero entries of M, the lasso's gradient is the subgradient of least magnitude.
    """

    def __init__(self, problem: Regression, M: Array) -> None:
        self.M = M
        self._problem = problem
        self.residual = problem.T - problem.Z @ M

    @cached_property
    def value(self) -> float:
        problem, M = self._problem, self.M
        fit = max(0.0, problem.constant + float(np.vdot(self.residual, self.residual)))
        root = math.sqrt(problem.ridge) * M  # scaling M first avoids overflow of |M|^2
        return fit + float(np.vdot(root, root)) + problem.lasso * float(np.abs(M).sum())

    @cached_property
    def gradient(self) -> Array:
        problem = self._problem
        smooth = -2.0 * (problem.Z.T @ self.residual) + 2.0 * problem.ridge * self.M
        at_zero = np.sign(smooth) * np.maximum(np.abs(smooth) - problem.lasso, 0.0)
        return np.where(self.M == 0, at_zero, smooth + problem.lasso * np.sign(self.M))

    def hessian_vector(self, V: Array) -> Array:
        problem = self._problem
        return 2.0 * (problem.Z.T @ (problem.Z @ V) + problem.ridge * V)


@dataclass(frozen=True)
class Regression(BoundObjective):
    """Problem of linear regression with a ridge or lasso penalty, over M in R^{k x q}.

    Parameters
    ----------
    Z : ndarray (m, k)
        Rows with the same Gram matrix as the centred inputs.
    T : ndarray (m, q)
        Outputs of these rows; `constant` is the remaining part of the outputs' sum of squares.
    r : int
        Number of rows of the map.
    inverse : ndarray (k, k), optional
        Inverse of Z, if Z is invertible.
    restricted : bool
        True if coefficients outside of the coordinates may reduce the value.
    rounding : callable, optional
        Function of the fitted values ZM and the residual sum of squares that bounds the rounding
        error of this sum; not used with a lasso.

    Z and T are divided by powers of two, and the coefficients are scaled accordingly. For any units
    of the data, the solver's variables are of order 1.
    """

    Z: Array
    T: Array
    r: int
    constant: float = 0.0
    ridge: float = 0.0
    lasso: float = 0.0
    inverse: Array | None = field(default=None, kw_only=True)
    restricted: bool = field(default=False, kw_only=True)
    outputs: Outputs = field(kw_only=True)
    rounding: Rounding | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        inputs, outputs = unit_of(self.Z), power_of_two(self.T)
        (view,) = self.views
        vars(self).update(
            views=(replace(view, coordinates=Scaling(outputs / inputs, view.coordinates)),),
            Z=self.Z * (1.0 / inputs),
            T=self.T / outputs,
            constant=self.constant / outputs**2,
            ridge=min(self.ridge / inputs**2, LARGEST**2),
            lasso=min(self.lasso / inputs / outputs, LARGEST**2),
            inverse=None if self.inverse is None else inputs * self.inverse,
            unit=outputs**2,
        )

    @cached_property
    def manifold(self) -> Euclidean:  # type: ignore[override]
        return Euclidean(self.Z.shape[1], self.T.shape[1])

    @property
    def has_corners(self) -> bool:
        return self.lasso > 0

    def at(self, M: Array) -> RegressionPoint:
        return RegressionPoint(self, M)

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        with decomposing(min(self.Z.shape)):
            return graded_svd(self.Z) if is_graded(self.Z.T) else scipy.linalg.svd(self.Z, False)

    @property
    def _there(self) -> npt.NDArray[np.bool_]:
        """True for each nonzero singular value."""
        s = self._singular[1]
        rounding = 0.0 if self.inverse is not None else max(self.Z.shape) * np.finfo(float).eps
        return s > rounding * s[0]

    def baseline(self) -> Array:
        """Return the least-squares solution of least norm, with the ridge if any."""
        if self.inverse is not None and self.ridge == 0:
            return self.inverse @ self.T
        U, s, Vt = self._singular
        shrunk = np.where(self._there, s, 0.0) / np.where(self._there, s**2 + self.ridge, 1.0)
        return Vt.T @ (shrunk[:, None] * (U.T @ self.T))

    def closed_form(self) -> Array | None:
        return self.baseline() if self.lasso == 0 else None

    def specialist(self) -> CoordinateDescent:
        return CoordinateDescent()

    def maps(self, M: Array) -> tuple[Array, ...]:
        """Return the r leading rows of S V' from the decomposition [I; M'] = U S V' (SVD).

        In these r components inputs x have the inner products of [x, xM], inputs and predictions.
        """
        coefficients = self.lift(M)[0]
        d = len(coefficients)
        U, s, Vt = np.linalg.svd(coefficients, full_matrices=False)
        if self.r > U.shape[1]:  # further orthonormal columns, up to r, do not affect predictions
            U = scipy.linalg.qr(np.hstack([U, np.eye(d, self.r)]), mode="economic")[0]
        scale = np.ones(self.r)
        scale[: min(len(s), self.r)] = np.hypot(1.0, s[: self.r])
        P = scale[:, None] * U[:, : self.r].T
        sign = signs(P)
        # Signs of components are chosen such that the response increases with its best predictor.
        sign[: min(len(s), self.r)] = signs(Vt)[: self.r]
        return (sign[:, None] * P,)

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[LinearPredictor, ...]:
        """Return the predictor by all coefficients, independent of r."""
        coefficients = self.lift(M)[0]
        return (self.outputs.predictor(coefficients.T, np.eye(coefficients.shape[1])),)

    def certificate(self, M: Array) -> Certificate:
        """Bound the optimality gap by the normal equations; for the lasso, by the duality gap."""
        point = self.at(M)
        total = float(np.vdot(self.T, self.T)) + self.constant
        found = Certificate.of_gap(
            max(0.0, self._above_optimum(point) + self._rounding(point)) * self.unit,
            1e-9 * max(total, 1e-300) * self.unit,
            "the objective is convex and the gap is zero",
            "the objective is convex: the gap bounds the distance to the optimum",
            "products do not bound the singular values of the features from below: give ridge= a "
            "positive value",
        )
        return found.restricted_to(str(span_of(self.views))) if self.restricted else found

    def _above_optimum(self, point: RegressionPoint) -> float:
        """Bound f(M) - f*, which without a lasso is g'H^{-1}g for the gradient -2g, Hessian 2H."""
        if self.lasso > 0:
            slopes = 2.0 * np.abs(self.Z.T @ point.residual).max(axis=0)
            theta = point.residual * (self.lasso / np.maximum(slopes, self.lasso))
            left = self.T - theta
            dual = float(np.vdot(self.T, self.T) - np.vdot(left, left)) + self.constant
            return point.value - dual
        if self.inverse is not None and self.ridge == 0:
            return float(np.vdot(point.residual, point.residual))
        U, s, Vt = self._singular
        g = s[:, None] * (U.T @ point.residual) - self.ridge * (Vt @ point.M)
        there = self._there
        roots = np.sqrt(s[there] ** 2 + self.ridge)
        return float(np.sum((g[there] / roots[:, None]) ** 2))

    def _rounding(self, point: RegressionPoint) -> float:
        """Return a bound of the rounding error of the value by the data's sums."""
        if self.rounding is None:
            return SUMS_ROUNDING * float(np.linalg.norm(self._sizes(point.M))) ** 2
        rest = max(0.0, self.constant + float(np.vdot(point.residual, point.residual)))
        fitted = math.sqrt(self.unit) * (self.Z @ point.M)
        return self.rounding(fitted, self.unit * rest) / self.unit

    def _sizes(self, M: Array) -> Array:
        """Return bounds of the lengths of the columns of ZM and T, with the signs ignored."""
        return np.linalg.norm(self.Z, axis=0) @ np.abs(M) + np.linalg.norm(self.T, axis=0)


@dataclass(frozen=True)
class WideRegression(Regression):
    """Regression on sparse rows with very many columns, by products."""

    Z: LessMeans  # type: ignore[assignment]

    @cached_property
    def _solution(self) -> Array:
        """Solve min |T - ZM|^2 + ridge |M|^2 by Golub and Kahan's bidiagonalisation (LSMR)."""
        from scipy.sparse.linalg import lsmr

        eps = float(np.finfo(float).eps)
        # A lasso only needs a baseline; otherwise rounding errors can slow the convergence of LSMR.
        steps = None if self.lasso > 0 else 50 * min(self.Z.shape)
        Z, damp = self.Z.operator(), math.sqrt(self.ridge)
        solved = partial(lsmr, Z, damp=damp, atol=eps, btol=eps, conlim=0.0, maxiter=steps)
        return np.column_stack([solved(t)[0] for t in self.T.T])

    def baseline(self) -> Array:
        return self._solution

    def _above_optimum(self, point: RegressionPoint) -> float:
        """Bound g'H^{-1}g for the gradient 2g by H >= ridge I."""
        if self.lasso > 0:
            return super()._above_optimum(point)
        slope = 0.5 * float(np.linalg.norm(point.gradient))
        return slope**2 / self.ridge if self.ridge > 0 else math.inf

    def _sizes(self, M: Array) -> Array:
        return np.linalg.norm(self.Z.sizes(M), axis=0) + np.linalg.norm(self.T, axis=0)


def unit_of(Z: Array | LessMeans) -> float:
    """Return the power of two next above the largest (stored) entry."""
    return power_of_two(Z.K.data if isinstance(Z, LessMeans) else Z)


@dataclass(frozen=True)
class WideRows:
    """Sparse rows with very many columns minus the mean, by products.

    - Z: the centred rows times square roots of the weights
    - mean (d,)
    """

    samples: Samples
    Z: LessMeans
    mean: Array

    @classmethod
    def of(cls, samples: Samples) -> WideRows:
        X, shift = shifted_rows(samples)
        w, centre = samples.weights, column_means(X, samples.weights)
        roots = np.ones(samples.n) if w is None else np.sqrt(w)
        columns = scaled_rows(X, None if w is None else roots).tocsc()
        # Indices of 32 bits take half of the memory of 64 bits.
        if max(*columns.shape, columns.nnz) <= np.iinfo(np.int32).max:
            columns.indices = columns.indices.astype(np.int32, copy=False)
            columns.indptr = columns.indptr.astype(np.int32, copy=False)
        return cls(samples, LessMeans(columns, roots, centre), shift + centre)

    def view(self, how: str) -> View:
        note = f"the coefficients are computed by products with the sparse rows ({how})"
        return View(self.mean, notes=(note,), scatter=RowScatter(self.samples, self.mean))


def centred_outputs(data: Data) -> tuple[Array, Outputs]:
    """Return the centred response times square roots of the weights, and its `Outputs`."""
    Y, w = outputs_of(data).dense(), data.samples.weights
    mean = np.average(Y, 0, w)
    return weighted(Y - mean, w), Outputs.of(data.y, mean)


def outputs_of(data: Data) -> Samples:
    """Return the response as Samples; labels have an indicator column per class."""
    samples = data.samples
    if is_text(data.y):
        codes, classes = as_labels(data.y, samples.n)
        values = np.eye(len(classes))[codes]
    else:
        values = as_response(data.y, samples.n)
    return Samples(values, None, "y", marks=samples.marks)


def regression(objective: Stated, data: Data, r: int, *, ridge: float = 0.0) -> Regression:
    """Build the least-squares problem of inputs X and outputs y, both centred.

    The coefficients are in the span of the rows: n < d requires n x n arrays only.
    """
    if data.samples.wide:
        return _of_products(objective, data, r, "LSMR", ridge=ridge)
    fit = Fit.of(Compact.of(data.samples), outputs_of(data), "the covariance")
    return Regression(
        objective,
        (fit.view,),
        fit.Z,
        fit.T,
        r,
        fit.left,
        ridge,
        inverse=fit.inverse,
        restricted=fit.restricted,
        outputs=Outputs.of(data.y, fit.stats.means[1]),
        rounding=fit.rounding,
    )


def lasso(objective: Stated, data: Data, r: int, penalty: float) -> Regression:
    """Build the lasso of inputs X and outputs y, both centred, in all columns of X.

    Coefficients outside of the span of the rows may be better than those inside.
    """
    samples = data.samples
    few = samples.n < samples.d
    if samples.wide or (few and samples.is_sparse and not samples.is_small):
        return _of_products(objective, data, r, "coordinate descent", lasso=penalty)
    if few:
        Y, outputs = centred_outputs(data)
        centre = mean(samples)
        Z, T, left = weighted(samples.dense_if_few() - centre, samples.weights), Y, 0.0
        view = View(centre, scatter=RowScatter(samples, centre))
    else:
        compact = Compact.of_columns(samples)
        stats = view_moments((samples, outputs_of(data)))
        gram = stats.block(0, 0)
        Z, T = _square_root(gram, stats.block(0, 1))
        left, outputs = _left(stats, T), Outputs.of(data.y, stats.means[1])
        view = compact.view(stats.means[0], KnownScatter(gram, stats.n))
    return Regression(objective, (view,), Z, T, r, left, lasso=penalty, outputs=outputs)


def _of_products(
    objective: Stated, data: Data, r: int, how: str, ridge: float = 0.0, lasso: float = 0.0
) -> WideRegression:
    rows, (T, outputs) = WideRows.of(data.samples), centred_outputs(data)
    views = (rows.view(how),)
    return WideRegression(objective, views, rows.Z, T, r, 0.0, ridge, lasso, outputs=outputs)


def _inputs(stats: ViewMoments) -> tuple[SumOfSquares]:
    return (SumOfSquares.of_rows(stats.block(0, 0), stats.means[0], stats.n),)


def _left(stats: ViewMoments, T: Array) -> float:
    """Return the outputs' sum of squares outside T; rounding errors may make it negative."""
    return float(stats.block(1, 1).trace()) - float(np.vdot(T, T))


@dataclass(frozen=True)
class Fit:
    """Inputs X = QZ and outputs Y = QT + a part orthogonal to Q, with orthonormal Q.

    - view: map from the coefficients M of Z to those of the user's columns
    - whitened: whitening of the inputs; Q are the whitened rows
    - stats: joint moments of the inputs, in changed coordinates, and the outputs
    - beyond: sum of squares of the outputs outside the subspace to which they were reduced
    """

    view: View
    whitened: Whitened
    stats: ViewMoments
    beyond: float = 0.0

    @classmethod
    def of(cls, inputs: Compact, outputs: Samples, what: str) -> Fit:
        stats, (whitened,) = whiten(
            lambda change: view_moments((change(inputs.rows), outputs)),
            _inputs,
            Unwhitened.of(inputs, what, 0.0, outputs),
        )
        whole = inputs.view(whitened.mean, whitened.scatter).within(whitened)
        return cls(replace(whole, coordinates=whitened.coordinates.outer), whitened, stats)

    @property
    def Z(self) -> Array:
        return self.whitened.coordinates.inverse

    @property
    def inverse(self) -> Array:
        """Inverse of Z."""
        return self.whitened.coordinates.W

    @cached_property
    def T(self) -> Array:
        return self.whitened.rows(self.stats.block(0, 1))

    @cached_property
    def left(self) -> float:
        """Sum of squares of the outputs outside T."""
        return self.beyond + _left(self.stats, self.T)

    @property
    def restricted(self) -> bool:
        """See `Regression`."""
        return self.whitened.outside is not None

    def rounding(self, fitted: Array, rest: float) -> float:
        """See `Regression.rounding`."""
        stats = self.stats
        sizes = np.sqrt(np.diag(stats.block(1, 1)) + stats.n * stats.means[1] ** 2)
        return self.whitened.doubt_of_fit(fitted, sizes, rest)


def _square_root(gram: Array, cross: Array) -> tuple[Array, Array]:
    """Z with Z'Z the Gram matrix and T with Z'T the cross products, k rows for any n."""
    check_varies(gram, "the covariance")
    Z = scaled_factor(gram)
    scale = np.linalg.norm(Z, axis=0)
    scale[scale == 0.0] = 1.0
    return Z, np.linalg.lstsq((Z / scale).T, cross / scale[:, None], rcond=None)[0]


class LinearRegression(Objective, weighted=True, predicts="response", transposed=False):
    """Base of the regressions; M are the coefficients."""

    sense = "min"
    needs = (Need.RESPONSE,)
    domain = "R"


@dataclass(frozen=True)
class PenalisedRegression(LinearRegression):
    """Base of regressions with a penalty on the coefficients.

    Parameters
    ----------
    penalty : float
        Weight lambda >= 0 of the penalty that is added to the sum of squared residuals.
    """

    penalty: float = number(1.0, power=2)


@dataclass(frozen=True)
class LeastSquares(LinearRegression, products="optimum", from_sums=True):
    r"""Least squares regression.

    .. math:: \min_M \|Y - XM\|_F^2

    The coefficients M (d x q) for centred data do not depend on r; if X'X is singular M has least
    norm. The rows of P are the r leading right singular vectors, times their singular values, of
    the matrix [I; M'] from inputs x to inputs and predictions.

    Use it to predict responses by a linear function of all features. Do not use it with nearly as
    many features as samples: take ridge-regression.

    Source: Legendre 1805; Cunningham & Ghahramani 2015, 3.2.
    """

    name = "least-squares"
    baseline = "least squares"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r)


@dataclass(frozen=True)
class RidgeRegression(PenalisedRegression, products="optimum", from_sums=True):
    r"""Ridge regression.

    .. math:: \min_M \|Y - XM\|_F^2 + \lambda \|M\|_F^2

    lambda is `penalty`. The coefficients M (d x q) for centred data do not depend on r. The rows of
    P are the r leading right singular vectors, times their singular values, of the matrix [I; M']
    from inputs x to inputs and predictions.

    Use it instead of least-squares if features are nearly collinear or samples are few. Do not use
    it to exclude irrelevant features: take lasso.

    Source: Hoerl & Kennard 1970; Cunningham & Ghahramani 2015, 3.2.
    """

    name = "ridge-regression"
    baseline = "closed form"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r, ridge=self.penalty)


@dataclass(frozen=True)
class Lasso(PenalisedRegression, products="optimum"):
    r"""Least absolute shrinkage and selection operator (lasso).

    .. math:: \min_M \|Y - XM\|_F^2 + \lambda \sum_{ij} |m_{ij}|

    lambda is `penalty`. The solver is coordinate descent; the duality gap certifies the optimum.
    The coefficients M (d x q) for centred data do not depend on r. The rows of P are the r leading
    right singular vectors, times their singular values, of the matrix [I; M'] from inputs x to
    inputs and predictions.

    Use it instead of least-squares to select a few relevant features. Do not use it to interpret a
    selection among collinear features, because the selection is arbitrary.

    Source: Tibshirani 1996; Cunningham & Ghahramani 2015, 3.2.
    """

    name = "lasso"
    baseline = "least squares"
    exact = "penalty = 0"

    def bind(self, data: Data, r: int) -> Regression:
        return lasso(self, data, r, self.penalty) if self.penalty else regression(self, data, r)


@dataclass(frozen=True)
class PrincipalComponentsRegression(Objective, weighted=True, predicts="response", from_sums=True):
    r"""Principal components regression (PCR).

    .. math:: \max_{M'M=I} \operatorname{tr}(M'X'XM), \quad \text{then } \min_B \|Y - XMB\|_F^2

    The components do not depend on the response. The result's `parameters["residual"]` is ||Y -
    XMB||^2 at the best regression coefficients B. P = M'.

    Use it to predict a response from the leading principal components. Do not use it if components
    of large variance may be irrelevant for the response: take pls-regression.

    Source: Massy 1965.
    """

    name = "principal-components-regression"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of the covariance"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Components:
        compact = Compact.of(data.samples)
        stats = view_moments((compact.rows, outputs_of(data)))
        (mean, mean_y), scatter = stats.means, stats.block(0, 0)
        return Components(
            self,
            (compact.view(mean, KnownScatter(scatter, stats.n)),),
            scatter,
            r,
            cross=stats.block(0, 1),
            total=float(stats.block(1, 1).trace()),
            answers=Regressed(stats, compact.coordinates, Outputs.of(data.y, mean_y)),
        )

    def matrices(self, data: DataSums) -> TraceMatrices:
        return TraceMatrices(data.rows.scatter())


@dataclass(frozen=True)
class Components(Trace):
    """Trace tr(M'X'XM), with the residuals of the response.

    - cross (k, q): X'Y
    - total: ||Y||^2
    """

    plain = False

    cross: Array = field(kw_only=True)
    total: float = field(kw_only=True)

    def parameters(self, M: Array) -> dict[str, float]:
        products = M.T @ self.cross
        coefficients, *_ = np.linalg.lstsq(self.compressed(M), products, rcond=None)
        return {"residual": max(0.0, self.total - float(np.vdot(products, coefficients)))}


class ReducedRankPoint(Point):
    """The value is f = t - sum_k c_k^2/a_k, equal to ||Y - X Min S Mout'||^2 at the best diagonal
    S, with t = ||Y||^2, c_k = m_k'X'Y n_k and a_k = m_k'X'X m_k for the columns m_k of Min and n_k
    of Mout, and S_k = c_k/a_k.

    For accuracy f is computed as a sum of squares, the least-squares residual plus ||T - Z Min S
    Mout'||^2, with Z'Z = X'X and Z'T = X'Y.

    The gradient in (Min, Mout) has the columns [-2 X'Y n S + 2 X'X m S^2; -2 Y'X m S]. Products use
    Z and T, which are more accurate than Z'Z and Z'T for short columns.
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
        there = self._a > 0  # a component without variance predicts nothing
        self.S = np.divide(self._c, self._a, out=np.zeros_like(self._a), where=there)

    @cached_property
    def value(self) -> float:
        problem = self._problem
        rest = problem.T - (self.fitted * self.S) @ self._out.T
        return max(0.0, problem.fit.left + float(np.vdot(rest, rest)))

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
        S = self.S
        dS = (dc - S * da) / self._a
        inward = -2.0 * (dS * self._Kn + S * KV) + 2.0 * S * (2.0 * dS * self._Am + S * AV)
        outward = -2.0 * (dS * self._Km + S * (problem.T.T @ ZV))
        return problem.manifold.join([inward, outward])


@dataclass(frozen=True)
class ReducedRank(BoundObjective):
    """Minimise ||Y - X Min S Mout'||_F^2 over orthonormal Min, Mout and diagonal S >= 0.

    The diagonal S has a closed form for given Min and Mout. The exact solution is the singular
    value decomposition Min S Mout' of B_r = B V_r V_r', with B the least-squares coefficients and
    V_r the leading right singular vectors of the fitted values XB.

    - fit: Z and T with Z'Z = X'X, positive definite, and Z'T = X'Y
    - heuristic in {"pcr", "pls"}: directions of X on which the baseline regresses Y
    """

    exchangeable = True

    fit: Fit
    r: int
    heuristic: str

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.T.shape))

    @property
    def Z(self) -> Array:
        return self.fit.Z

    @property
    def T(self) -> Array:
        return self.fit.T

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        k, q = self.T.shape
        return Product(Stiefel(k, self.r), Stiefel(q, self.r))

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
        """The optimum, or the baseline if rounding makes it better."""
        U, values, Vt = self._singular
        r = self.r
        found = self._factored(self.fit.inverse @ (U[:, :r] * values[:r]), Vt[:r].T)
        return min(found, self.baseline(), key=lambda M: self.at(M).value)

    def closed_form(self) -> Array:
        return self._optimum

    def baseline(self) -> Array:
        return self._heuristic

    @cached_property
    def _heuristic(self) -> Array:
        Z, T = self.Z, self.T
        if self.heuristic == "pcr":
            E = top_eigenvectors(Z.T @ Z, self.r)[1]
        else:
            E = np.linalg.svd(Z.T @ T, full_matrices=False)[0][:, : self.r]
        coefficients = np.linalg.lstsq(Z @ E, T, rcond=None)[0]
        return self._factored(E, np.asarray(coefficients.T, dtype=np.float64))

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the singular vectors of the coefficients, by descending singular value."""
        return Axes.ordered(np.abs(self.at(M).S), views=2)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the singular values of the coefficients."""
        return {"singular_value": np.abs(self.at(M).S)}

    def lift(self, M: Array) -> tuple[Array, ...]:
        """Return Min and Mout, with signs of Min's columns that make S >= 0."""
        signs = np.where(self.at(M).S < 0, -1.0, 1.0)
        inward, outward = super().lift(M)
        return inward * signs, outward

    def maps(self, M: Array) -> tuple[Array, ...]:
        """Return Pin = S Min' and Pout = Mout'; the fitted values are (x - mean)Pin'Pout."""
        inward, outward = self.lift(M)
        return np.abs(self.at(M).S)[:, None] * inward.T, outward.T

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[LinearPredictor, ...]:
        """Return the predictor of the outputs from the inputs."""
        return (LinearPredictor(maps[0], maps[1], means[1]),)

    def parameters(self, M: Array) -> dict[str, float]:
        return {f"S_{k + 1}": float(abs(s)) for k, s in enumerate(self.at(M).S)}

    def certificate(self, M: Array) -> Certificate:
        """Certify the optimum by the sum of T's r largest squared singular values."""
        point = self.at(M)
        best = self.fit.left + float(np.sum(self._singular[1][self.r :] ** 2))
        fitted = (point.fitted * point.S) @ self.manifold.split(M)[1].T
        gap = max(0.0, point.value - best) + self.fit.rounding(fitted, max(0.0, point.value))
        found = Certificate.of_gap(
            gap,
            1e-9 * float(self.fit.stats.block(1, 1).trace()),
            "no fit of rank r is closer",
            "no fit of rank r is closer by more than the gap",
        )
        return found.restricted_to(str(span_of(self.views))) if self.fit.restricted else found


@dataclass(frozen=True)
class ReducedRankRegression(
    Objective,
    weighted=True,
    predicts="view",
    transposed=False,
    from_sums=True,
    products="optimum",
):
    r"""Reduced-rank regression.

    .. math:: \min_{\operatorname{rank} B \le r} \|Y - XB\|_F^2

    X is a pair (inputs, outputs). The coefficients are B = M_in S M_out', with M_in for inputs,
    M_out for outputs, and a diagonal S >= 0. The maps are P_in = S M_in' with this S and P_out =
    M_out'; B = P_in'P_out. The prediction for a row x is (x - mean_in) B + mean_out. The singular
    vectors of the least-squares fitted values give the exact solution. The baseline regresses the
    outputs on r directions of the inputs, by principal components or partial least squares.

    Use it to predict many responses through few components of X. Do not use it for a single
    response, for which least-squares is the same.

    Source: Izenman 1975; Cunningham & Ghahramani 2015, 3.2.

    Parameters
    ----------
    heuristic : {"pcr", "pls"}
        Directions of the baseline: principal components, or partial least squares.
    """

    name = "reduced-rank-regression"
    sense = "min"
    views = 2
    needs = (Need.SECOND_VIEW,)
    baseline = "principal components regression, or partial least squares"
    domain = "St x St"
    exact = "no (the closed form is)"

    heuristic: str = word("pcr", ("pcr", "pls"))

    def bind(self, data: Data, r: int) -> ReducedRank:
        if any(view.wide for view in data.views):
            return self._of_products(data, r)
        a, b = (Compact.of(view, quiet=True) for view in data.views)
        fit = Fit.of(a, b.rows, "the covariance of the inputs")
        outputs = KnownScatter(fit.stats.block(1, 1), fit.stats.n)
        views = (fit.view, b.view(fit.stats.means[1], outputs))
        return ReducedRank(self, views, fit, r, self.heuristic)

    def _of_products(self, data: Data, r: int) -> ReducedRank:
        """Make the problem in a subspace with the optimum and the baseline, by products.

        The optimum has the leading pairs of w'Kv, K the covariance of inputs and outputs, of w with
        w'Cw = 1, C that of the inputs, and of v of length 1.
        """
        check_dimension(r, min(min(view.shape) for view in data.views))
        inputs, outputs = data.views
        known = Covariances.of(inputs, outputs, 0.0)
        best, found = known.leading(r, True, False)
        if self.heuristic == "pcr":
            E = block_krylov(
                known.own[0], r, tolerance=_EXACT, most_products=_MOST_PRODUCTS
            ).vectors
        else:
            E = known.blocks(known.leading(r, False, False)[0])[0]
        a, b, _ = known.inside(np.hstack([best, np.concatenate([E, known.K.T @ E])]))
        fit = Fit.of(a, b.rows, "the covariance of the inputs")
        n = known.rows[0].weight
        total = n * float(known.spreads[1].sum())
        fit = replace(fit, beyond=max(0.0, total - float(fit.stats.block(1, 1).trace())))
        note = (
            f"M is sought in {a.rows.d} dimensions of {inputs.d} and in {b.rows.d} of {outputs.d}, "
            f"by block Davidson iterations with {found.products} products with the sparse rows: "
            f"residual {found.residual:.0e}"
        )
        return ReducedRank(
            self,
            noted((fit.view, b.view(fit.stats.means[1])), note),
            fit,
            r,
            self.heuristic,
            searched=found.residual,
        )
