"""A method's matrices as what is optimised of them: a trace, a ratio or a correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.families.matrices import (
    AbsolutePencilMatrices,
    CorrelationMatrices,
    DataForms,
    DeterminantMatrix,
    Divided,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    TraceMatrices,
)
from ldr.objectives.families.pencil import forms_of
from ldr.objectives.objective import Objective
from ldr.solvers.manifolds import Array

# A matrix of the rows: a `Form`, or a traced array of jax's.
Square = Any


@dataclass(frozen=True)
class Ratio:
    """tr A / (prod_j tr B_j)^{1/m}, maximised.

    Attributes
    ----------
    A : Form or array
    diagonal : Form or array
        What canonical coordinates diagonalise.
    over : sequence of Form or array
        The B_j.
    white : sequence of Form or array
        The B of T'BT = I, one a view; T'T = I where there are none.
    ridge : float
        Of the B, in units of the mean of each diagonal.
    residual : bool
        Whether the value is tr A of all columns less that of T.
    shares : ndarray (n,) or None
        See `Matrices`.
    weights : ndarray (r,) or None
        Of T's columns in the traces, where they are not alike: canonical coordinates diagonalise
        A + f B then.
    decoder : Form or None
        D with P' = DT, where that is not T.
    of : {"trace", "sizes", "determinant"}
        What stands in the place of tr A: the sizes of its eigenvalues, or its log-determinant.
    """

    A: Square
    diagonal: Square
    over: Sequence[Square] = ()
    white: Sequence[Square] = ()
    ridge: float = 0.0
    residual: bool = False
    shares: Array | None = None
    weights: Array | None = None
    decoder: Square | None = None
    of: str = "trace"

    @classmethod
    def stated(cls, objective: Objective, data: DataForms, r: int) -> Ratio | None:
        """Of a method that states its matrices; None of others."""
        found = forms_of(objective, data)
        ridge = found.ridge if isinstance(found, Divided) else 0.0
        over: Sequence[Square] = found.divisors if isinstance(found, Divided) else ()
        match found:
            case TraceMatrices(A=S, scale=scale):
                A = scale * S
                return cls(A, A, residual=found.residual, decoder=found.decoder)
            case PencilMatrices(A=S, scale=scale):
                A = scale * S
                return cls(A, A, white=over, ridge=ridge, shares=found.shares)
            case AbsolutePencilMatrices(A=A):
                return cls(A, A, white=over, ridge=ridge, shares=found.shares, of="sizes")
            case RatioMatrices(A=S, sign=sign):
                of_rows, v = data.rows.scatter() / data.rows.n, found.weights(r)
                weights = None if (v == 1.0).all() else v
                A = sign * S
                return cls(A, of_rows, over, (), ridge, False, found.shares, weights)
            case PairMatrices(K=A):
                return cls(A, A, white=over, ridge=ridge)
            case CorrelationMatrices(K=A):
                return cls(A, A, over=over, ridge=ridge)
            case DeterminantMatrix(C=A):
                return cls(A, A, of="determinant")
        return None

    def value(self, traces: Any) -> Any:
        """f, of the traces of A and of the B_j."""
        a, *b = traces
        return -a / math.prod(b) ** (1.0 / max(len(b), 1))

    def slopes(self, traces: Array) -> Array:
        """Its derivatives in them."""
        a, b = traces[0], traces[1:]
        first = self.value(np.array([1.0, *b]))
        return np.array([first, *(-first * a / (len(b) * b))])

    def rate_of_slopes(self, traces: Array, rates: Array) -> Array:
        """How those change with the traces."""
        a, b, db = traces[0], traces[1:], rates[1:]
        first, *others = self.slopes(traces)
        bent = -first * float(np.mean(db / b)) if len(b) else 0.0
        value = first * rates[0] + bent * a
        return np.array([bent, *(-value / (len(b) * b) - np.array(others) * db / b)])
