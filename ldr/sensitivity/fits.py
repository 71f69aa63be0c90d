"""How a regression moves with its inputs, by products with the rows.

The gradient of ||Y - XB||^2 is 2X'R with R = XB - Y, whose change is 2(dX'R + X'dX B).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.regression import Regression
from ldr.objectives.kernels import as_response
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class FittedRows(Known):
    """An optimum of least squares, with a ridge or without.

    Attributes
    ----------
    X : ndarray (n, d)
        Centred.
    coefficients : ndarray (d, q)
    residual : ndarray (n, q)
    lifting : ndarray (d, k)
        From the solver's coordinates to the coefficients.
    """

    X: Array
    coefficients: Array
    residual: Array
    lifting: Array

    transposes = False

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> FittedRows | None:
        problem, samples = optimum.problem, data.samples
        if type(problem) is not Regression:
            return None
        X, Y = centred(samples.dense()), centred(as_response(data.y, samples.n))
        (coefficients,) = problem.lift(optimum.M)
        lifting = problem.coordinates[0].lift(np.eye(samples.d))
        return cls(optimum, X, coefficients, X @ coefficients - Y, lifting)

    def rate(self, dX: Blocks) -> Rate:
        B, R, problem = self.coefficients, self.residual, self.optimum.problem
        mean = dX[0].mean(axis=0)
        moved = dX[0] - mean
        fitted = moved @ B
        gradient = self.lifting.T @ (moved.T @ R + self.X.T @ fitted) * (2.0 / problem.unit)
        observed = Observed(
            tuple(map(np.zeros_like, problem.maps(self.optimum.M))),
            (np.zeros_like(B),),
            (mean,),
            2.0 * float(np.vdot(R, fitted)),
            np.zeros_like(matrix_of(self.optimum.axes)),
        )
        return Rate(gradient, observed)
