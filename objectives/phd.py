"""Principal Hessian directions: where a response bends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ldr.objectives.axes import Axes
from ldr.objectives.data.data import Data
from ldr.objectives.data.marks import Marks
from ldr.objectives.families.matrices import AbsolutePencilMatrices, DataForms
from ldr.objectives.families.shrinking import Shrinking
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.white_rows import WhiteRows
from ldr.objectives.families.whitened_trace import AbsoluteTrace, absolute_value, spectral_bound
from ldr.objectives.kernels import as_response, deviations
from ldr.objectives.needs import Need
from ldr.objectives.parameters import number
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class PrincipalHessianDirections(Shrinking):
    """Find where the response bends: max tr(M'|H|M), H = mean of (y_i - mean) z_i z_i'.

    z = C^{-1/2}(x - mean); of normal X, H is the mean Hessian of the regression function. |H| has
    the eigenvalues of H without their signs, which are those of `curvature` in the result's
    components. P = M'C^{-1/2}. Exact by the eigenvectors of H with the largest |eigenvalues|. It
    sees what sir is blind to, y = x_1^2 say, and is blind to what is linear.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of C, in units of its mean diagonal.
    """

    name = "phd"
    formula = "max tr(M'|H|M), H = mean_i (y_i - mean) z_i z_i', z = C^{-1/2} x"
    source = "Li 1992"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "eigenvectors of H with the largest |eigenvalues|"
    weighted = True
    transposed = False
    exact = "yes"
    scale_free = True

    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> Trace:
        y = as_response(data.y, data.samples.n)
        if y.shape[1] != 1:
            raise DataError(f"y has {y.shape[1]} columns; phd takes one response, one number a row")
        rows, w = WhiteRows.of(self, data, self.ridge), data.samples.weights
        e = deviations(y[:, 0], w)
        counts = e if w is None else e * w
        H, size = np.zeros_like(rows.of_all), 0.0
        for sign in (1.0, -1.0):
            part = np.maximum(sign * counts, 0.0) / data.samples.weight
            if not part.any():
                raise DataError("y is constant: it bends nowhere")
            marked = replace(rows.compact.rows, marks=Marks(part))
            mean, covariance = rows.moments(marked)
            square = part.sum() * (covariance + np.outer(mean, mean))
            H += sign * square
            size += 2.0 * spectral_bound(square)
        return rows.trace(self, absolute_value(H), r, size, partial(Hessian, signed=H))

    def forms(self, data: DataForms) -> AbsolutePencilMatrices:
        rows = data.rows
        A, C = rows.form(data.deviations() / rows.n), rows.scatter() / rows.n
        return AbsolutePencilMatrices(A, C, ridge=self.ridge)


@dataclass(frozen=True)
class Hessian(AbsoluteTrace):
    """The trace of |H|, with the signs of H's eigenvalues."""

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Also m'Hm: positive where the response bends upwards."""
        curvature = super().numbers(M, axes, seen)["eigenvalue"]
        return {**Trace.numbers(self, M, axes, seen), "curvature": curvature}
