"""A method's matrices as what is optimised of them: a trace, a ratio or correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ldr.objectives.families.matrices import (
    CorrelationMatrices,
    DataForms,
    DeterminantMatrix,
    Divided,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    SharedMatrices,
    SpectralMatrices,
    TraceMatrices,
)
from ldr.objectives.objective import Objective
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field

# A matrix of the rows: a `Form`, or a traced array of jax's.
Square = Any
# What formulas in jax know.
TRACED = ("trace", "sizes", "determinant")


@dataclass(frozen=True)
class Ratio:
    """sum_p tr A_p / prod_j (tr B_j)^{e_pj}, maximised.

    Attributes
    ----------
    above : sequence of Form or array
        The A_p.
    diagonal : Form or array or None
        What canonical coordinates diagonalise; None where that is the sum of the A_p over what they
        are divided by, or, of columns with weights, what the gradient is of.
    over : sequence of Form or array
        The B_j.
    exponents : sequence of sequence of float
        The e_pj.
    white : sequence of Form or array
        The B of T'BT = I, one a view; T'T = I where there are none.
    ridge : float
        Of the B, in units of the mean of each diagonal.
    residual : bool
        Whether the value is tr A of all columns less that of T.
    shares : ndarray (n,) or None
        See `Matrices`.
    weights : ndarray (r,) or None
        Of T's columns in the traces, where they are not alike.
    decoder : Form or None
        D with P' = DT, where that is not T.
    of : {"trace", "sizes", "roots", "determinant", "shared"}
        What stands in the place of tr A: its eigenvalues by their size or root, or its
        log-determinant; or what the views are white together in.
    """

    above: Sequence[Square]
    diagonal: Square | None = None
    over: Sequence[Square] = ()
    exponents: Sequence[Sequence[float]] = ((),)
    white: Sequence[Square] = ()
    ridge: float = field(default=0.0, kw_only=True)
    residual: bool = field(default=False, kw_only=True)
    shares: Array | None = field(default=None, kw_only=True)
    weights: Array | None = field(default=None, kw_only=True)
    decoder: Square | None = field(default=None, kw_only=True)
    of: str = field(default="trace", kw_only=True)

    @classmethod
    def stated(cls, objective: Objective, data: DataForms, r: int) -> Ratio:
        """Of a method that states its matrices."""
        found = objective.forms(data)
        shares = found.shares
        ridge = found.ridge if isinstance(found, Divided) else 0.0
        over: Sequence[Square] = found.divisors if isinstance(found, Divided) else ()
        match found:
            case TraceMatrices(A=S, scale=scale):
                A = scale * S
                return cls([A], residual=found.residual, decoder=found.decoder)
            case PencilMatrices(A=S, scale=scale):
                A = scale * S
                return cls([A], white=over, ridge=ridge, shares=shares)
            case SpectralMatrices(A=A, of=of):
                return cls([A], white=over, ridge=ridge, shares=shares, of=of)
            case RatioMatrices(A=S, sign=sign):
                A, v = sign * S, found.weights(r)
                options: dict[str, Any] = {"ridge": ridge, "shares": shares}
                if (v == 1.0).all():
                    of_rows = data.rows.scatter() / data.rows.n
                    return cls([A], of_rows, over, [[1.0]], **options)
                return cls([A], None, over, [[1.0]], **options, weights=v)
            case SharedMatrices(K=A):
                return cls([A], white=over, ridge=ridge, of="shared")
            case PairMatrices(K=A):
                return cls([A], white=over, ridge=ridge)
            case CorrelationMatrices(pairs=pairs):
                views = range(len(over))
                roots = [[0.5 * (v in pair) for v in views] for pair in combinations(views, 2)]
                return cls(pairs, None, over, roots, ridge=ridge)
        assert isinstance(found, DeterminantMatrix)
        return cls([found.C], of="determinant")

    @property
    def A(self) -> Square:
        """Of a single one."""
        (A,) = self.above
        return A

    def split(self, traces: Any) -> tuple[Any, Any]:
        """Those of the A_p, and of the B_j."""
        return traces[: len(self.above)], traces[len(self.above) :]

    def divided(self, traces: Any) -> list[Any]:
        """1/prod_j (tr B_j)^{e_pj}."""
        b = self.split(traces)[1]
        products = (math.prod(map(pow, b, each)) for each in self.exponents)
        return [1.0 / product for product in products]

    def value(self, traces: Any) -> Any:
        """f, of the traces of the A_p and of the B_j."""
        a = self.split(traces)[0]
        return -sum(t * w for t, w in zip(a, self.divided(traces), strict=True))

    def slopes(self, traces: Array) -> Array:
        """Its derivatives in them."""
        (a, b), w = self.split(traces), np.array(self.divided(traces))
        return np.concatenate([-w, (a * w) @ np.array(self.exponents) / b])

    def rate_of_slopes(self, traces: Array, rates: Array) -> Array:
        """How those change with the traces."""
        (a, b), w = self.split(traces), np.array(self.divided(traces))
        (da, db), E = self.split(rates), np.array(self.exponents)
        dw = -w * (E @ (db / b))
        of_b = (da * w + a * dw) @ E - (a * w) @ E * db / b
        return np.concatenate([-dw, of_b / b])

    def shares_of_diagonal(self, slopes: Array) -> Array:
        """Of the matrices in what canonical coordinates diagonalise, where that is made of them."""
        counted = np.ones(len(slopes)) if self.weights is not None else np.zeros(len(slopes))
        counted[: len(self.above)] = 1.0
        return -counted * slopes
