"""A method's matrices as what is optimised of them: a trace, a ratio or a correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.families.matrices import (
    AbsolutePencilMatrices,
    CorrelationMatrices,
    Divided,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    TraceMatrices,
)
from ldr.objectives.families.shrinking import forms_of
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Form, Quadratic
from ldr.sensitivity.quadratic import QuadraticData
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Ratio:
    """tr A / (prod_j tr B_j)^{1/m}, maximised.

    Attributes
    ----------
    A : Form
    diagonal : Form
        What canonical coordinates diagonalise.
    over : sequence of Quadratic
        The B_j.
    white : sequence of Quadratic
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
    """

    A: Form
    diagonal: Form
    over: Sequence[Quadratic] = ()
    white: Sequence[Quadratic] = ()
    ridge: float = 0.0
    residual: bool = False
    shares: Array | None = None
    weights: Array | None = None

    @classmethod
    def of(cls, objective: Objective, data: QuadraticData, r: int) -> Ratio | None:
        """Of a method that states its matrices; None of others."""
        found = forms_of(objective, data)  # type: ignore[arg-type]
        ridge = found.ridge if isinstance(found, Divided) else 0.0
        over = _forms(*found.divisors) if isinstance(found, Divided) else []
        match found:
            case TraceMatrices(A=S, scale=scale):
                (A,) = _forms(scale * S)
                return cls(A, A, residual=found.residual)
            case PencilMatrices(A=S, scale=scale):
                (A,) = _forms(scale * S)
                return cls(A, A, white=over, ridge=ridge, shares=found.shares)
            case AbsolutePencilMatrices(A=S):
                (A,) = _forms(S)
                return cls(A, A, white=over, ridge=ridge, shares=found.shares)
            case RatioMatrices(A=S, sign=sign):
                (A,) = _forms(S)
                of_rows, v = data.rows.scatter() / data.rows.n, found.weights(r)
                weights = None if (v == 1.0).all() else v
                return cls(sign * A, of_rows, over, (), ridge, False, found.shares, weights)
            case PairMatrices(K=S):
                (A,) = _forms(S)
                return cls(A, A, white=over, ridge=ridge)
            case CorrelationMatrices(K=S):
                (A,) = _forms(S)
                return cls(A, A, over=over, ridge=ridge)
        return None

    def value(self, traces: Array) -> float:
        """f, of the traces of A and of the B_j."""
        a, *b = traces
        return -float(a) / float(np.prod(b)) ** (1.0 / max(len(b), 1))

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


def _forms(*matrices: Any) -> list[Quadratic]:
    """A page's matrices, made of `QuadraticRows`, as what they are."""
    return list(matrices)
