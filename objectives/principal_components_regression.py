"""Principal components regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.families.trace import Trace
from ldr.objectives.kernels import as_response
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.samples import Samples
from ldr.objectives.statistics import joint_moments
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class PrincipalComponentsRegression(Objective):
    """Regress the response on the leading principal components: max tr(M'X'XM), then least squares.

    M does not see the response; `parameters["residual"]` of the result is ||Y - XMB||^2 at the best
    B. P = M'. A baseline of reduced-rank regression.

    Source: Massy 1965.
    """

    name = "principal-components-regression"
    formula = "max tr(M'X'XM), then min ||Y - XMB||^2"
    source = "Massy 1965"
    sense = "max"
    needs = ("response",)
    baseline = "top eigenvectors of the covariance"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Components:
        compact = Compact.of(data.samples)
        outputs = Samples(as_response(data.y, data.samples.n), None, "y")
        stats = joint_moments(compact.rows, outputs)
        bound = Components(
            self,
            (compact.mean(stats.mean_a),),
            stats.scatter_aa,
            r,
            coordinates=(compact.coordinates,),
            notes=compact.notes,
        )
        bound.cross, bound.total = stats.scatter_ab, float(stats.scatter_bb.trace())
        return bound


class Components(Trace):
    """Trace of X'X that knows what the response leaves unexplained."""

    cross: Array
    total: float

    def parameters(self, M: Array) -> dict[str, float]:
        products = M.T @ self.cross
        coefficients, *_ = np.linalg.lstsq(self.compressed(M), products, rcond=None)
        return {"residual": max(0.0, self.total - float(np.vdot(products, coefficients)))}
