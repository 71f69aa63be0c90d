"""Reduced-rank regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.reduced_rank import ReducedRank
from ldr.objectives.families.regression import Fit
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import word
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.view import Compact
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array


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
