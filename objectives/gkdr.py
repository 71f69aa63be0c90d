"""Gradient-based kernel dimension reduction: where the regression of a response changes."""

from __future__ import annotations

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.batches import on_some_rows
from ldr.objectives.families.gram import kernel_width
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened_trace import spectral_bound
from ldr.objectives.kernels import KINDS, Response
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.responses import gradient_outer_product
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.records import dataclass

# Rows beyond which a random sample stands for all: an n x n matrix is solved with.
_MOST_ROWS = 5000


@dataclass(frozen=True)
class GKDR(Objective):
    """Keep the directions along which the response changes: max tr(M'GM), by eigenvectors.

    G = mean_i D_i'(K + n eps I)^{-1} K_z (K + n eps I)^{-1} D_i is the mean outer product of the
    gradients of the kernel regression of the response's features on X: K and K_z are Gram matrices
    of Gaussian kernels of X and of the response (of labels, 1 where two are equal), and D_i has the
    rows (x_j - x_i)'k(x_j, x_i)/width^2. Like sdr it assumes no shape of the dependence, and needs
    no start; sdr has it as one. P = M'. Time is cubic in the rows: beyond 5000 a random sample of
    them stands for all.

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    width : float, optional
        Of X's kernel; by default the median distance of the rows.
    response_width : float, optional
        Of the response's kernel; by default the median distance of the responses.
    response : {"auto", "labels", "quantity"}
        What y is, as in sdr.
    """

    name = "gkdr"
    weighted = True
    formula = "max tr(M'GM), G = mean_i D_i'(K + n eps I)^{-1} K_z (K + n eps I)^{-1} D_i"
    source = "Fukumizu & Leng 2014"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of G"
    exact = "yes"
    sparse = False

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True, power=1)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)

    def footprint(self, data: Data) -> Footprint:
        """Rows x rows, of a sample where they are too many."""
        share = min(1.0, _MOST_ROWS / data.samples.n) if data.samples.n_known else 0.0
        return Footprint(rows=6.0, pairs=4.5 * share**2)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if data.samples.stored or data.samples.n > _MOST_ROWS:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        w = rows.weights
        width = self.width or kernel_width(rows.X, w, 1, 1)
        response = Response.of(data.y, len(rows.X), self.response, w)
        Z = response.features(self.response_width, None)[0]
        G = gradient_outer_product(rows.X, Z, width, self.epsilon, w)
        doubt = r * SUMS_ROUNDING * (1.0 + 1.0 / self.epsilon) * spectral_bound(G)
        return Trace(self, (rows.view.noting(*response.notes),), G, r, doubt=doubt)
