"""How a regression moves with its inputs, by products with the rows.

The gradient of ||Y - XB||^2 is 2X'R with R = XB - Y, whose change is 2(dX'R + X'dX B).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.regression import Regression
from ldr.objectives.kernels import as_response
from ldr.sensitivity.forms import centred
from ldr.sensitivity.moving import Line
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class FittedRows:
    """An optimum of least squares, with a ridge or without.

    Attributes
    ----------
    optimum : Optimum
    X : ndarray (n, d)
        Centred.
    coefficients : ndarray (d, q)
    residual : ndarray (n, q)
    lifting : ndarray (d, k)
        From the solver's coordinates to the coefficients.
    """

    optimum: Optimum
    X: Array
    coefficients: Array
    residual: Array
    lifting: Array

    @classmethod
    def of(cls, optimum: Optimum, data: Data) -> FittedRows | None:
        """None of other problems, and of rows with weights."""
        problem, samples = optimum.problem, data.samples
        if type(problem) is not Regression or samples.marks is not None or samples.is_sparse:
            return None
        if len(optimum.M) != samples.d or samples.stored:
            return None  # the coordinates move with the rows
        X, Y = centred(samples.dense()), centred(as_response(data.y, samples.n))
        (coefficients,) = problem.lift(optimum.M)
        lifting = problem.coordinates[0].lift(np.eye(samples.d))
        return cls(optimum, X, coefficients, X @ coefficients - Y, lifting)

    def rate(self, line: Line) -> Rate | None:
        """None where something else than the inputs moves."""
        if line.y is not None or line.weights is not None or line.parameters:
            return None
        (dX,), B, R, problem = line.views, self.coefficients, self.residual, self.optimum.problem
        assert dX is not None
        mean = dX.mean(axis=0)
        dX = dX - mean
        fitted = dX @ B
        gradient = self.lifting.T @ (dX.T @ R + self.X.T @ fitted) * (2.0 / problem.unit)
        observed = Observed(
            tuple(map(np.zeros_like, problem.maps(self.optimum.M))),
            (np.zeros_like(B),),
            (mean,),
            2.0 * float(np.vdot(R, fitted)),
            np.zeros_like(matrix_of(self.optimum.axes)),
        )
        return Rate(gradient, observed)
