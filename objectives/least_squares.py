"""Linear regression by least squares."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.regression import Regression, regression
from ldr.objectives.objective import Data, Objective


@dataclass(frozen=True)
class LeastSquares(Objective):
    """Predict the response: min ||Y - XM||_F^2; where X'X is singular, the M of least norm.

    M (d x q) are the coefficients on the centred data, whatever r. P holds the r leading rows of
    S V' from the SVD [I; M'] = U S V', of inputs and predictions together; for r = d they are all.

    Source: Legendre 1805; Cunningham and Ghahramani 2015, 3.2.
    """

    name = "least-squares"
    formula = "min ||Y - XM||^2"
    source = "Legendre 1805; Cunningham & Ghahramani 2015, 3.2"
    sense = "min"
    needs = ("response",)
    baseline = "least squares"
    transposed = False
    domain = "R"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Regression:
        return regression(self, data, r)
