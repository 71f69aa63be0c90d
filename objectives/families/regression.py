"""Penalised least squares over unconstrained coefficients, and the map that goes with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Scaling, signs
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import SumOfSquares
from ldr.objectives.families.unwhitened import Unwhitened
from ldr.objectives.families.whitened import Whitened, whiten
from ldr.objectives.kernels import as_response
from ldr.objectives.prediction import LinearPredictor, Outputs
from ldr.objectives.problem import BoundObjective, Stated
from ldr.objectives.statistics import JointMoments, joint_moments
from ldr.objectives.statistics.covariance import KnownScatter, RowScatter
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import Compact, View, check_varies
from ldr.solvers.checks import LARGEST
from ldr.solvers.limits import SINGULAR_COST, decomposing
from ldr.solvers.linalg.eigen import graded_svd, is_graded
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array, Euclidean
from ldr.solvers.nonsmooth.coordinate_descent import CoordinateDescent
from ldr.solvers.problem import Point
from ldr.solvers.records import dataclass, field, replace

# Of a sum of products over the rows, relative to the sizes of what is multiplied.
_ROUNDINGS = 8

# See `Regression.rounding`.
Rounding = Callable[[Array, float], float]


class RegressionPoint(Point):
    """f = constant + ||T - ZM||^2 + ridge ||M||^2 + lasso ||M||_1.

    At a zero of M, the lasso's gradient is the subgradient of least size.
    """

    def __init__(self, problem: Regression, M: Array) -> None:
        self.M = M
        self._problem = problem
        self.residual = problem.T - problem.Z @ M

    @cached_property
    def value(self) -> float:
        problem, M = self._problem, self.M
        fit = problem.constant + float(np.vdot(self.residual, self.residual))
        root = math.sqrt(problem.ridge) * M  # no square of coefficients that no ridge counts
        return fit + float(np.vdot(root, root)) + problem.lasso * float(np.abs(M).sum())

    @cached_property
    def gradient(self) -> Array:
        problem = self._problem
        smooth = -2.0 * problem.Z.T @ self.residual + 2.0 * problem.ridge * self.M
        at_zero = np.sign(smooth) * np.maximum(np.abs(smooth) - problem.lasso, 0.0)
        return np.where(self.M == 0, at_zero, smooth + problem.lasso * np.sign(self.M))

    def hessian_vector(self, V: Array) -> Array:
        problem = self._problem
        return 2.0 * (problem.Z.T @ (problem.Z @ V) + problem.ridge * V)


@dataclass(frozen=True)
class Regression(BoundObjective):
    """Linear regression with a ridge or a lasso penalty, on R^{k x q}.

    Parameters
    ----------
    Z : ndarray (m, k)
        Rows with the Gram matrix of the centred inputs.
    T : ndarray (m, q)
        Outputs in the same rows; what they leave out of the outputs' sum of squares is `constant`.
    r : int
        Rows of the map.
    inverse : ndarray (k, k), optional
        Of a Z that has one.
    restricted : bool
        Whether there may be more in the directions that the coordinates leave out.
    rounding : callable, optional
        Of the fitted values ZM and the sum of squares that they leave: by how much the rounding of
        the data may move that. Of no use with a lasso.

    Z and T are divided by powers of two, and the coefficients have the unit that belongs to them:
    whatever the units of the data, the solver's numbers are about 1.
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
        inputs, outputs = power_of_two(self.Z), power_of_two(self.T)
        (view,) = self.views
        vars(self).update(
            views=(replace(view, coordinates=Scaling(outputs / inputs, view.coordinates)),),
            Z=self.Z / inputs,
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
    def baseline_exact(self) -> bool:
        return not self.has_corners

    @property
    def has_corners(self) -> bool:
        return self.lasso > 0

    def at(self, M: Array) -> RegressionPoint:
        return RegressionPoint(self, M)

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        with decomposing(min(self.Z.shape), SINGULAR_COST):
            return graded_svd(self.Z) if is_graded(self.Z.T) else scipy.linalg.svd(self.Z, False)

    @property
    def _there(self) -> npt.NDArray[np.bool_]:
        """Which singular values are not zero."""
        s = self._singular[1]
        rounding = 0.0 if self.inverse is not None else max(self.Z.shape) * np.finfo(float).eps
        return s > rounding * s[0]

    def baseline(self) -> Array:
        """Least squares of least norm, with the ridge if there is one."""
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
        """The r leading rows of S V' from the SVD [I; M'] = U S V': the outputs' part is zero.

        In these r coordinates the inputs stand as they do beside their predictions [x, xM].
        """
        coefficients = self.lift(M)[0]
        d = len(coefficients)
        U, s, _ = np.linalg.svd(coefficients, full_matrices=False)
        if self.r > U.shape[1]:  # any orthonormal completion: the prediction is blind to it
            U = scipy.linalg.qr(np.hstack([U, np.eye(d, self.r)]), mode="economic")[0]
        scale = np.ones(self.r)
        scale[: min(len(s), self.r)] = np.hypot(1.0, s[: self.r])
        P = scale[:, None] * U[:, : self.r].T
        return (signs(P)[:, None] * P,)

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[LinearPredictor, ...]:
        """By all coefficients, whatever r."""
        coefficients = self.lift(M)[0]
        return (self.outputs.predictor(coefficients.T, np.eye(coefficients.shape[1])),)

    def _rounding(self, M: Array) -> float:
        """What the rounding of the data's sums of products can change of the value at M."""
        sizes = np.linalg.norm(self.Z, axis=0) @ np.abs(M) + np.linalg.norm(self.T, axis=0)
        return _ROUNDINGS * float(np.finfo(float).eps) * float(sizes @ sizes)

    def certificate(self, M: Array) -> Certificate:
        """What the normal equations leave of the gap; for the lasso, that to the dual value."""
        point = self.at(M)
        if self.lasso == 0:
            assert self.rounding is not None
            fitted = self.Z @ M
            rest = self.constant + float(np.vdot(point.residual, point.residual))
            rounding = self.rounding(math.sqrt(self.unit) * fitted, self.unit * rest) / self.unit
            gap = self._above_optimum(point) + rounding
        else:
            slopes = 2.0 * np.abs(self.Z.T @ point.residual).max(axis=0)
            theta = point.residual * (self.lasso / np.maximum(slopes, self.lasso))
            left = self.T - theta
            dual = float(np.vdot(self.T, self.T) - np.vdot(left, left)) + self.constant
            gap = point.value - dual + self._rounding(M)
        gap = max(0.0, gap)
        if gap <= 1e-9 * max(float(np.vdot(self.T, self.T)) + self.constant, 1e-300):
            kind, message = "global", "the objective is convex and the gap is zero"
        else:
            kind, message = "bound", "the objective is convex: the optimum is this near"
        found = Certificate(kind, gap * self.unit, message)
        return found.restricted_to(str(self.span)) if self.restricted else found

    def _above_optimum(self, point: RegressionPoint) -> float:
        """f(M) - f* = g'H^{-1}g of the quadratic f, with the gradient -2g and the Hessian 2H."""
        if self.inverse is not None and self.ridge == 0:
            return float(np.vdot(point.residual, point.residual))
        U, s, Vt = self._singular
        g = s[:, None] * (U.T @ point.residual) - self.ridge * (Vt @ point.M)
        there = self._there
        roots = np.sqrt(s[there] ** 2 + self.ridge)
        return float(np.sum((g[there] / roots[:, None]) ** 2))


def regression(
    objective: Stated, data: Data, r: int, *, ridge: float = 0.0, lasso: float = 0.0
) -> Regression:
    """Inputs X and outputs y, both centred, as a Regression.

    Without a lasso the coefficients lie in the span of the rows, so n < d costs n x n only. With
    one they do not, and for n < d the rows themselves are used.
    """
    samples = data.samples
    outputs = Samples(as_response(data.y, samples.n), None, "y", marks=samples.marks)
    compact = Compact.of_columns(samples) if lasso > 0 else Compact.of(samples)
    if lasso > 0 and samples.n < samples.d:
        return _of_rows(objective, data, outputs, r, lasso)
    fit = Fit.of(compact, outputs, "the covariance")
    of_y = Outputs.of(data.y, fit.stats.mean_b)
    if lasso > 0:
        if fit.Z.shape[1] == samples.d:
            Z, T, view, left = fit.Z, fit.T, fit.view, fit.left
        elif not (samples.stored or samples.is_sparse):  # rows know more than their sums
            return _of_rows(objective, data, outputs, r, lasso)
        else:  # the penalty is on the columns themselves, those that add nothing too
            stats = joint_moments(compact.rows, outputs)
            scatter = KnownScatter(stats.scatter_aa, stats.n)
            Z, T = _square_root(stats.scatter_aa, stats.scatter_ab)
            view, left = compact.view(stats.mean_a, scatter), _left(stats, T)
        return Regression(objective, (view,), Z, T, r, left, lasso=lasso, outputs=of_y)
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
        outputs=of_y,
        rounding=fit.rounding,
    )


def _inputs(stats: JointMoments) -> tuple[SumOfSquares]:
    scatter = KnownScatter(stats.scatter_aa, stats.n)
    return (SumOfSquares(stats.scatter_aa, stats.mean_a, stats.n, scatter=scatter),)


def _left(stats: JointMoments, T: Array) -> float:
    """Of the outputs' sum of squares, without T's."""
    return max(0.0, float(stats.scatter_bb.trace()) - float(np.vdot(T, T)))


@dataclass(frozen=True)
class Fit:
    """Inputs and outputs as a regression sees them: X = QZ and Y = QT + what is orthogonal to Q.

    Attributes
    ----------
    view : View
        Of the coefficients M of Z.
    whitened : Whitened
        The inputs, in whose whitened coordinates the rows are Q.
    stats : JointMoments
        Of inputs, changed as `whitened` says, and outputs.
    """

    view: View
    whitened: Whitened
    stats: JointMoments

    @classmethod
    def of(cls, inputs: Compact, outputs: Samples, what: str) -> Fit:
        stats, (whitened,) = whiten(
            lambda change: joint_moments(change(inputs.rows), outputs),
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
        """Of Z."""
        return self.whitened.coordinates.W

    @property
    def T(self) -> Array:
        return self.whitened.rows(self.stats.scatter_ab)

    @property
    def left(self) -> float:
        """Of the outputs' sum of squares, without T's."""
        return _left(self.stats, self.T)

    @property
    def restricted(self) -> bool:
        """See `Regression`."""
        return self.whitened.outside is not None

    def rounding(self, fitted: Array, rest: float) -> float:
        """See `Regression.rounding`."""
        stats = self.stats
        sizes = np.sqrt(np.diag(stats.scatter_bb) + stats.n * stats.mean_b**2)
        return self.whitened.doubt_of_fit(fitted, sizes, rest)


def _square_root(gram: Array, cross: Array) -> tuple[Array, Array]:
    """Z with Z'Z the Gram matrix and T with Z'T the cross products, k rows for any n."""
    check_varies(gram, "the covariance")
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = scipy.linalg.eigh(gram / scale / scale[:, None])
    kept = values > len(gram) * np.finfo(float).eps * values[-1]
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return (roots * vectors * scale[:, None]).T, (vectors / roots).T @ (cross / scale[:, None])


def _of_rows(objective: Stated, data: Data, outputs: Samples, r: int, lasso: float) -> Regression:
    X, Y = data.samples.dense_if_few(), outputs.dense()
    w = data.samples.weights
    mean, mean_y = np.average(X, 0, w), np.average(Y, 0, w)
    of_y = Outputs.of(data.y, mean_y)
    view = View(mean, scatter=RowScatter(data.samples, mean))
    rows = weighted(X - mean, w), weighted(Y - mean_y, w)
    return Regression(objective, (view,), *rows, r, lasso=lasso, outputs=of_y)
