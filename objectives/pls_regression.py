"""Partial least squares regression: directions that vary with the response, one after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ldr.objectives.axes import Axes, signs
from ldr.objectives.coordinates import Subspace
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.regression import Fit, Regression
from ldr.objectives.kernels import as_response
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import word
from ldr.objectives.prediction import Outputs
from ldr.objectives.problem import Fitted, check_dimension
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.view import Compact
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array

# Products with the response below this share of the first ones are rounding.
_EXPLAINED = 1e-13


@dataclass(frozen=True)
class PLSRegression(Objective):
    """Predict from r weights: min ||Y - XM||_F^2 over the M in the span of w_1 .. w_r.

    w_k maximises ||w'X'Y|| among unit vectors whose scores Xw are uncorrelated with the earlier
    ones (simpls), or does so of what the earlier scores leave of X (nipals). M (d x q) are the
    coefficients on the centred data; P has the weights with which the scores are uncorrelated and
    of unit variance. `parameters["vip"]` is the importance of each column of X, whose mean square
    is 1: sqrt(d sum_k s_k w_jk^2 / sum_k s_k), s_k what score k explains of ||Y||^2. Columns of X
    and of Y in different units should be standardised. Once the response is explained, further
    weights are of principal components of what is left of X, and the coefficients stay.

    Parameters
    ----------
    algorithm : {"simpls", "nipals"}
        nipals is scikit-learn's PLSRegression. They agree for one response, and where all of X is
        used.
    """

    name = "pls-regression"
    weighted = True
    formula = "min ||Y - XM||^2, M in the span of w_1 .. w_r, each max ||w'X'Y||"
    source = "de Jong 1993 (SIMPLS); Wold 1975 (NIPALS)"
    sense = "min"
    needs = (Need.RESPONSE,)
    predicts = "response"
    baseline = "least squares on the scores"
    transposed = False
    domain = "R"
    exact = "yes"
    from_sums = True

    algorithm: str = word("simpls", ("simpls", "nipals"))

    def bind(self, data: Data, r: int) -> ScoreRegression:
        outputs = Samples(as_response(data.y, data.samples.n), None, "y", marks=data.samples.marks)
        fit = Fit.of(Compact.of(data.samples), outputs, "the covariance")
        check_dimension(r, fit.Z.shape[1])
        weights, rotations = successive_weights(fit.Z, fit.T, r, self.algorithm == "nipals")
        Q = np.linalg.qr(rotations)[0]
        coordinates = fit.view.coordinates
        return ScoreRegression(
            self,
            (replace(fit.view, coordinates=Subspace(Q, coordinates)),),
            fit.Z @ Q,
            fit.T,
            r,
            fit.left,
            outputs=Outputs.of(data.y, fit.stats.mean_b),
            rounding=fit.rounding,
            weights=coordinates.lift(weights),
            P=math.sqrt(fit.stats.n) * coordinates.lift(rotations).T,
            explained=np.sum((fit.T.T @ fit.Z @ rotations) ** 2, axis=0),
        )


def successive_weights(Z: Array, T: Array, r: int, nipals: bool) -> tuple[Array, Array]:
    """Unit weights, and rotations R of rows Z to orthonormal scores ZR that span the same spaces.

    The weight is the leading singular vector of S, the products Z'T less those of earlier scores.
    Where they leave nothing of T, Z stands in its place.
    """
    k, q, unit = Z.shape[1], T.shape[1], power_of_two(Z)
    Z, T = Z / unit, T / power_of_two(T)
    S = Z.T @ np.hstack([T, Z])
    least = _EXPLAINED * np.linalg.norm(S[:, :q])
    W, R, P, V = (np.zeros((k, r)) for _ in range(4))
    for j in range(r):
        explained = np.linalg.norm(S[:, :q]) <= least
        w = np.linalg.svd(S[:, q:] if explained else S[:, :q], full_matrices=False)[0][:, 0]
        t = Z @ w
        rotation = w
        for _ in range(2):  # once more for what rounding left
            along = (Z @ R[:, :j]).T @ t
            rotation, t = rotation - R[:, :j] @ along, t - Z @ (R[:, :j] @ along)
        length = np.linalg.norm(t)
        W[:, j], R[:, j], P[:, j] = w, rotation / length, Z.T @ (t / length)
        if nipals:
            S = S - np.outer(P[:, j], R[:, j] @ S)
            continue
        v = P[:, j]
        for _ in range(2):
            v = v - V[:, :j] @ (V[:, :j].T @ v)
        V[:, j] = v / np.linalg.norm(v)
        S = S - np.outer(V[:, j], V[:, j] @ S)
    return W, R / unit


@dataclass(frozen=True)
class ScoreRegression(Regression):
    """Least squares on scores, whose map is that of the scores.

    Parameters
    ----------
    weights : ndarray (d, r)
        Of length 1.
    P : ndarray (r, d)
        To scores of unit variance.
    explained : ndarray (r,)
        What each score explains of the outputs' sum of squares.
    """

    weights: Array = field(kw_only=True)
    P: Array = field(kw_only=True)
    explained: Array = field(kw_only=True)

    def maps(self, M: Array) -> tuple[Array, ...]:
        return (signs(self.P)[:, None] * self.P,)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """The share of the outputs' sum of squares that each score explains."""
        total = self.unit * (self.constant + float(np.vdot(self.T, self.T)))
        return {"explained_share": self.explained / (total or 1.0)}

    def parameters(self, M: Array) -> Fitted:
        squares = self.weights**2 @ self.explained
        return {"vip": np.sqrt(len(squares) * squares / (self.explained.sum() or 1.0))}
