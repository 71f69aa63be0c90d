"""The lasso."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.regression import Regression, regression
from ldr.objectives.objective import Data, Objective
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class Lasso(Objective):
    """Predict the response from few columns: min ||Y - XM||_F^2 + penalty sum |m_ij|.

    Solved by coordinate descent, certified by the duality gap.

    M (d x q) are the coefficients on the centred data, whatever r. P holds the r leading rows of
    S V' from the SVD [I; M'] = U S V', of inputs and predictions together; for r = d they are all.

    Source: Tibshirani 1996; Cunningham and Ghahramani 2015, 3.2.

    Parameters
    ----------
    penalty : float
        In units of the sum of squared residuals, penalty >= 0.
    """

    name = "lasso"
    formula = "min ||Y - XM||^2 + penalty sum |m_ij|"
    source = "Tibshirani 1996; Cunningham & Ghahramani 2015, 3.2"
    sense = "min"
    needs = ("response",)
    baseline = "least squares"
    transposed = False
    domain = "R"
    exact = "penalty = 0"

    penalty: float = 1.0

    def __post_init__(self) -> None:
        keep_number(self, "penalty", power=2)

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r, lasso=self.penalty)
