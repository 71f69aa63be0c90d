"""How a regression moves with its inputs, by products with the rows.

The gradient of ||Y - XB||^2 is 2X'R with R = XB - Y, whose change is 2(dX'R + X'dX B). The rows of
the map are (1 + s^2)^{1/2} u' of the leading singular values and left singular vectors of B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.regression import Regression
from ldr.objectives.kernels import as_response
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, Centring
from ldr.sensitivity.known import Known, moved_vectors
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class FittedRows(Known):
    """An optimum of least squares, with a ridge or without.

    Attributes
    ----------
    centre : Centring
    X : ndarray (n, d)
        So centred.
    coefficients : ndarray (d, q)
    residual : ndarray (n, q)
    lifting : ndarray (d, k)
        From the solver's coordinates to the coefficients.
    """

    centre: Centring
    X: Array
    coefficients: Array
    residual: Array
    lifting: Array

    of_marks = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> FittedRows | None:
        problem, samples = optimum.problem, data.samples
        if type(problem) is not Regression:
            return None
        centre = Centring(samples.weights)
        X, Y = centre(samples.dense()), centre(as_response(data.y, samples.n))
        (coefficients,) = problem.lift(optimum.M)
        lifting = problem.coordinates[0].lift(np.eye(samples.d))
        return cls(optimum, centre, X, coefficients, X @ coefficients - Y, lifting)

    def rate(self, dX: Blocks) -> Rate:
        B, R, problem = self.coefficients, self.residual, self.optimum.problem
        mean, moved = self.centre.mean(dX[0]), self.centre(dX[0])
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

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        problem, B, X = self.optimum.problem, self.coefficients, self.X
        lowered = self.lifting.T @ self._pulled_of_map(V[0])
        u = (2.0 / problem.unit) * (self.lifting @ self.optimum.solve(lowered))
        return [-self.centre.back(self.residual @ u.T + X @ u @ B.T)]

    def _pulled_of_map(self, V: Array) -> Array:
        """The derivative in B of <V', the map>."""
        (P,), B, r = self.optimum.problem.maps(self.optimum.M), self.coefficients, V.shape[1]
        U, s, Vt = np.linalg.svd(B, full_matrices=False)
        if r > len(s):
            raise ArgumentError(
                f"the map of {len(s)} response(s) has {len(s)} row(s) of its own, and r = {r}: the "
                f"others are arbitrary; expected r <= {len(s)}"
            )
        lead, values, right, lengths = U[:, :r], s[:r], Vt[:r], np.hypot(1.0, s[:r])
        V = V * np.sign(np.einsum("kd,dk->k", P, lead))
        turned = moved_vectors(U, s, V, "singular values of the coefficients") * lengths
        longer = np.einsum("dk,dk->k", lead, V) * values / lengths
        found: Array = (turned * values + lead * longer) @ right + lead @ (turned.T @ B)
        return found
