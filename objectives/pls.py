"""Partial least squares (PLS) of two views, and PLS regression."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.families.matrices import DataSums, PairMatrices
from ldr.objectives.families.multi_block import MultiTrace, multi_trace
from ldr.objectives.families.white_views import Bilinear, bilinear
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, word
from ldr.objectives.prediction import LinearPredictor, Outputs
from ldr.objectives.problem import Fitted, check_dimension
from ldr.objectives.regression import (
    Fit,
    Regression,
    RegressionPoint,
    Rounding,
    WideRows,
    centred_outputs,
    outputs_of,
    unit_of,
)
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, Compact, Subspace, View, signs
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.linalg.eigen import power_of_two
from ldr.solvers.linalg.products import LessMeans
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class PLS(
    Objective,
    weighted=True,
    any_views=True,
    predicts="view",
    from_sums=True,
    stacks=True,
    products="optimum",
):
    r"""Partial least squares (PLS) of two views, by singular value decomposition.

    .. math:: \max_{M_a'M_a = M_b'M_b = I} \operatorname{tr}(M_a'X_a'X_b M_b)

    The maps of the two views are P_a = M_a' and P_b = M_b'. The leading singular vectors of
    X_a'X_b, for centred views, are the exact solution. For three or more views and n samples the
    value is n times that of maxdiff, and the solution is not exact.

    Use it for directions of large covariance between two views: unlike orthogonal-cca, directions
    of small variance have no influence, and no matrix is inverted. Do not use it if correlation is
    of interest rather than covariance: take cca.

    Source: Wold 1975; Bookstein 1994 (singular value decomposition).
    """

    name = "pls"
    sense = "max"
    views = 2
    needs = (Need.SECOND_VIEW,)
    baseline = "leading singular vectors of Xa'Xb"
    domain = "St x St"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Bilinear | MultiTrace:
        if len(data.views) > 2:
            return multi_trace(self, data, r, room=r, summed=True)
        a, b = (Compact.of(view, quiet=True, by_products=True) for view in data.views)
        return bilinear(self, a, b, r)

    def matrices(self, data: DataSums) -> PairMatrices:
        a, b, *more = data.views
        if more:
            raise UnknownError
        return PairMatrices(a.cross(b))


@dataclass(frozen=True)
class PLSRegression(
    Objective,
    weighted=True,
    predicts="response",
    transposed=False,
    from_sums=True,
    products="optimum",
):
    r"""Partial least squares (PLS) regression.

    .. math:: \min_M \|Y - XM\|_F^2, \quad M \in \operatorname{span}(w_1, \dots, w_r)

    The vector w_k maximises ||w'X'Y|| over unit vectors whose scores Xw are uncorrelated with
    earlier scores (simpls), or after X is deflated by earlier scores (nipals). The matrix M (d x q)
    contains the regression coefficients for centred data. The map P gives uncorrelated scores of
    unit variance. The scores U of the responses Y minimise ||Y - UQ'||_F with least norm, where Q
    are the coefficients of Y on X's scores. `parameters["vip"]` contains the variable importance in
    projection (VIP), with mean square 1. The square of the VIP of feature j is d times the weighted
    mean of w_jk^2 over components k. The weights are the parts of ||Y||^2 that components explain.
    The number w_jk is entry j of the k-th orthonormal weight vector of NIPALS. If features have
    different units, standardise them first. If the first components explain the whole response,
    further components do not change the coefficients.

    Use it to predict responses from many collinear features and few samples, by directions of large
    covariance with the responses. Do not use it for a nonlinear dependence on X: take sir or sdr.

    Source: de Jong 1993 (SIMPLS); Wold 1975 (NIPALS).

    Parameters
    ----------
    algorithm : {"simpls", "nipals"}
        "nipals" gives the results of scikit-learn's PLSRegression. "simpls" and "nipals" agree for
        a single response, and if the scores span all of X.
    """

    name = "pls-regression"
    sense = "min"
    needs = (Need.RESPONSE,)
    baseline = "least squares on the scores"
    domain = "R"
    exact = "yes"

    algorithm: str = word("simpls", ("simpls", "nipals"))

    def bind(self, data: Data, r: int) -> ScoreRegression:
        if data.samples.wide:
            return self._of_products(data, r)
        fit = Fit.of(Compact.of(data.samples), outputs_of(data), "the covariance")
        outputs = Outputs.of(data.y, fit.stats.means[1])
        found = self._rotations(fit.Z, fit.T, r)
        return self._on_scores(
            fit.view, fit.Z, fit.T, *found, fit.stats.n, outputs, fit.rounding, fit.left
        )

    def _of_products(self, data: Data, r: int) -> ScoreRegression:
        """Return the problem in the coordinates of the scores."""
        rows, (Y, outputs) = WideRows.of(data.samples), centred_outputs(data)
        found, doubt = self._rotations(rows.Z, Y, r)
        scores = rows.Z @ found
        Z, T = (rows.Z.T @ scores).T, scores.T @ Y
        rest = float(np.linalg.norm(Y - scores @ T) ** 2)
        sizes = np.linalg.norm(rows.Z.sizes(found), axis=0)
        rounding = ScoreRounding(sizes, float(np.linalg.norm(Y)))
        view = rows.view("one weight after another")
        n = data.samples.weight
        return self._on_scores(view, Z, T, found, doubt, n, outputs, rounding, rest)

    def _rotations(self, Z: Array | LessMeans, T: Array, r: int) -> tuple[Array, float]:
        check_dimension(r, min(Z.shape))
        return score_rotations(Z, T, r, self.algorithm == "nipals")

    def _on_scores(
        self,
        view: View,
        Z: Array,
        T: Array,
        rotations: Array,
        doubt: float,
        n: float,
        outputs: Outputs,
        rounding: Rounding,
        left: float,
    ) -> ScoreRegression:
        """Return the problem of given rotations."""
        Q = np.linalg.qr(rotations)[0]
        P = math.sqrt(n) * view.coordinates.lift(rotations).T
        sign = signs(P)
        return ScoreRegression(
            self,
            (replace(view, coordinates=Subspace(Q, view.coordinates)),),
            Z @ Q,
            T,
            r=len(P),
            constant=left,
            outputs=outputs,
            rounding=rounding,
            weights=view.coordinates.lift(Q),
            P=sign[:, None] * P,
            scores=Z @ rotations * sign,
            n=n,
            doubt=doubt,
        )


@dataclass(frozen=True)
class ScoreRounding:
    """Bound of the rounding error of a fit that is computed by products with sparse rows.

    - sizes (r,): each score's norm of sums of absolute terms, for scores of length 1
    - outputs: Frobenius norm of Y
    """

    sizes: Array
    outputs: float

    def __call__(self, fitted: Array, rest: float) -> float:
        """See `Regression.rounding`."""
        size = float(np.linalg.norm(self.sizes @ np.abs(fitted))) + self.outputs
        return SUMS_ROUNDING * size**2


def score_rotations(Z: Array | LessMeans, T: Array, r: int, nipals: bool) -> tuple[Array, float]:
    """Return rotations R with orthonormal scores ZR for outputs T, one after the other.

    Each weight is the leading singular vector of S = Z'T, deflated by earlier scores. Once Z
    explains T, Z takes the place of T.

    - returns the change of |T - fit|^2 by the rounding of the weights: errors of at most
      eps |z_j| |T| in the entries of S turn the score by the angle eps |T| (sum_j |z_j|^2
      |e_j|^2)^(1/2) / (|S| |score|), where e_j is the part of column z_j outside of earlier
      scores, and eps is the unit roundoff times the number of terms in a sum
    """
    k, unit, eps = Z.shape[1], unit_of(Z), max(Z.shape) * float(np.finfo(np.float64).eps)
    Z, T = Z * (1.0 / unit), T / (scale := power_of_two(T))
    S = Z.T @ T
    least = FACTOR_ROUNDING * np.linalg.norm(S)
    if isinstance(Z, LessMeans):
        sizes = np.sqrt(np.asarray(Z.K.multiply(Z.K).sum(axis=0)).ravel())
    else:
        sizes = np.linalg.norm(Z, axis=0)
    left_of_T = total = float(np.linalg.norm(T))
    doubt = 0.0
    R, P, left, right = (np.zeros((k, r)) for _ in range(4))
    for j in range(r):
        explained = np.linalg.norm(S) <= least
        if explained:
            w = _leading_vector(Z, left[:, :j], right[:, :j])
        else:
            w = np.linalg.svd(S, full_matrices=False)[0][:, 0]
        t = Z @ w
        rotation = w
        for _ in range(2):  # repeating the orthogonalisation removes rounding errors
            along = (Z @ R[:, :j]).T @ t
            rotation, t = rotation - R[:, :j] @ along, t - Z @ (R[:, :j] @ along)
        length = np.linalg.norm(t)
        if not explained:
            beyond = np.sqrt(np.maximum(sizes**2 - np.sum(P**2, axis=1), eps * sizes**2))
            error = eps * total * np.linalg.norm(sizes * beyond)
            part = float(np.linalg.norm(t @ T) / length)
            angle = min(1.0, error / (np.linalg.norm(S) * length))
            doubt += (2.0 * part + angle * left_of_T) * angle * left_of_T
            left_of_T = math.sqrt(max(0.0, left_of_T**2 - part**2))
        R[:, j], P[:, j] = rotation / length, Z.T @ (t / length)
        left[:, j], right[:, j] = P[:, j], R[:, j]
        if not nipals:
            for _ in range(2):
                left[:, j] -= left[:, :j] @ (left[:, :j].T @ left[:, j])
            left[:, j] /= np.linalg.norm(left[:, j])
            right[:, j] = left[:, j]
        S = S - np.outer(left[:, j], right[:, j] @ S)
    return R / unit, doubt * scale**2


def _leading_vector(Z: Array | LessMeans, left: Array, right: Array) -> Array:
    """Return the leading left singular vector of Z'Z minus the products of earlier scores."""

    def deflated(G: Array) -> Array:
        for a, b in zip(left.T, right.T, strict=True):
            G = G - np.multiply.outer(a, b @ G)
        return G

    if isinstance(Z, np.ndarray):
        return np.linalg.svd(deflated(Z.T @ Z))[0][:, 0]

    def back(u: Array) -> Array:
        for a, b in zip(left.T[::-1], right.T[::-1], strict=True):
            u = u - b * (a @ u)
        return Z.T @ (Z @ u)

    from scipy.sparse.linalg import LinearOperator, svds

    k = Z.shape[1]
    G = LinearOperator((k, k), lambda v: deflated(Z.T @ (Z @ v.ravel())), back, dtype=np.float64)
    return np.asarray(svds(G, 1, v0=np.ones(k))[0][:, 0])


@dataclass(frozen=True)
class ScoreRegression(Regression):
    """Least squares on scores, with the map P to the scores.

    - weights (d, r): orthonormal; the first k weights span the first k rotations for each k
    - P (r, d): map to scores of unit variance
    - scores (m, r): scores of the rows of Z, with columns of length 1
    - n: number of rows of the data, or sum of weights
    - doubt: change of the sum of squares by the rounding of the weights, see `score_rotations`
    """

    weights: Array = field(kw_only=True)
    P: Array = field(kw_only=True)
    scores: Array = field(kw_only=True)
    n: float = field(kw_only=True)
    doubt: float = field(kw_only=True)

    @property
    def explained(self) -> Array:
        """Sum of squares of the outputs explained by each score, (r,)."""
        return np.asarray(self.unit * np.sum((self.T.T @ self.scores) ** 2, axis=0))

    def maps(self, M: Array) -> tuple[Array, ...]:
        return (self.P,)

    def _above_optimum(self, point: RegressionPoint) -> float:
        """Return the gap above the optimum, with the rounding of the scores."""
        s = self._singular[1][self._there]
        moved = len(s) * float(np.finfo(float).eps) * s[0] / s[-1]
        return (
            super()._above_optimum(point)
            + moved**2 * float(np.vdot(self.T, self.T))
            + self.doubt / self.unit
        )

    def predictors(
        self, M: Array, maps: tuple[Array, ...], means: tuple[Array, ...]
    ) -> tuple[LinearPredictor, ...]:
        """Return the predictor of the outputs by the scores."""
        loadings = self.scores.T @ (self.Z @ M) * math.sqrt(self.unit / self.n)
        return (self.outputs.predictor(self.P, loadings),)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the share of the outputs' sum of squares that each score explains."""
        total = self.unit * (self.constant + float(np.vdot(self.T, self.T)))
        return {"explained_share": self.explained / (total or 1.0)}

    def parameters(self, M: Array) -> Fitted:
        squares = self.weights**2 @ self.explained
        return {"vip": np.sqrt(len(squares) * squares / (self.explained.sum() or 1.0))}
