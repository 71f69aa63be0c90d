"""Regression: least squares, with a penalty on the coefficients, on principal components."""

from __future__ import annotations

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import DataSums, TraceMatrices
from ldr.objectives.families.regression import Regression, regression
from ldr.objectives.families.trace import Trace
from ldr.objectives.kernels import as_response
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number
from ldr.objectives.prediction import Outputs, Regressed
from ldr.objectives.statistics import joint_moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.view import Compact
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field


class LinearRegression(Objective):
    """Base of the regressions, whose M are coefficients."""

    weighted = True
    sense = "min"
    needs = (Need.RESPONSE,)
    predicts = "response"
    transposed = False
    domain = "R"
    arrays = Footprint(squares=12.0)


@dataclass(frozen=True)
class PenalisedRegression(LinearRegression):
    """Base of those with a penalty on the coefficients.

    Parameters
    ----------
    penalty : float
        In units of the sum of squared residuals, penalty >= 0.
    """

    arrays = Footprint(squares=15.0)

    penalty: float = number(1.0, power=2)


@dataclass(frozen=True)
class LeastSquares(LinearRegression):
    """Predict the response: min ||Y - XM||_F^2; where X'X is singular, the M of least norm.

    M (d x q) are the coefficients on the centred data, whatever r. P holds the r leading rows of
    S V' from the SVD [I; M'] = U S V', of inputs and predictions together; for r = d they are all.
    """

    name = "least-squares"
    formula = "min ||Y - XM||^2"
    source = "Legendre 1805; Cunningham & Ghahramani 2015, 3.2"
    baseline = "least squares"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r)


@dataclass(frozen=True)
class RidgeRegression(PenalisedRegression):
    """Predict the response with small coefficients: min ||Y - XM||_F^2 + penalty ||M||_F^2.

    M (d x q) are the coefficients on the centred data, whatever r. P holds the r leading rows of
    S V' from the SVD [I; M'] = U S V', of inputs and predictions together; for r = d they are all.
    """

    name = "ridge-regression"
    formula = "min ||Y - XM||^2 + penalty ||M||^2"
    source = "Hoerl & Kennard 1970; Cunningham & Ghahramani 2015, 3.2"
    baseline = "closed form"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r, ridge=self.penalty)


@dataclass(frozen=True)
class Lasso(PenalisedRegression):
    """Predict the response from few columns: min ||Y - XM||_F^2 + penalty sum |m_ij|.

    Solved by coordinate descent, certified by the duality gap.

    M (d x q) are the coefficients on the centred data, whatever r. P holds the r leading rows of
    S V' from the SVD [I; M'] = U S V', of inputs and predictions together; for r = d they are all.
    """

    name = "lasso"
    formula = "min ||Y - XM||^2 + penalty sum |m_ij|"
    source = "Tibshirani 1996; Cunningham & Ghahramani 2015, 3.2"
    baseline = "least squares"
    exact = "penalty = 0"
    arrays = Footprint(squares=15.0, span=5.0)

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r, lasso=self.penalty)


@dataclass(frozen=True)
class PrincipalComponentsRegression(Objective):
    """Regress the response on the leading principal components: max tr(M'X'XM), then least squares.

    M does not see the response; `parameters["residual"]` of the result is ||Y - XMB||^2 at the best
    B. P = M'. A baseline of reduced-rank regression.
    """

    name = "principal-components-regression"
    weighted = True
    formula = "max tr(M'X'XM), then min ||Y - XMB||^2"
    source = "Massy 1965"
    sense = "max"
    needs = (Need.RESPONSE,)
    predicts = "response"
    baseline = "top eigenvectors of the covariance"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Components:
        compact = Compact.of(data.samples)
        outputs = Samples(as_response(data.y, data.samples.n), None, "y", marks=data.samples.marks)
        stats = joint_moments(compact.rows, outputs)
        return Components(
            self,
            (compact.view(stats.mean_a, KnownScatter(stats.scatter_aa, stats.n)),),
            stats.scatter_aa,
            r,
            cross=stats.scatter_ab,
            total=float(stats.scatter_bb.trace()),
            answers=Regressed(stats, compact.coordinates, Outputs.of(data.y, stats.mean_b)),
        )

    def matrices(self, data: DataSums) -> TraceMatrices:
        return TraceMatrices(data.rows.scatter())


@dataclass(frozen=True)
class Components(Trace):
    """Trace of X'X that knows what the response leaves unexplained.

    Parameters
    ----------
    cross : ndarray (k, q)
        X'Y.
    total : float
        ||Y||^2.
    """

    plain = False

    cross: Array = field(kw_only=True)
    total: float = field(kw_only=True)

    def parameters(self, M: Array) -> dict[str, float]:
        products = M.T @ self.cross
        coefficients, *_ = np.linalg.lstsq(self.compressed(M), products, rcond=None)
        return {"residual": max(0.0, self.total - float(np.vdot(products, coefficients)))}
