"""Whitened traces: max or min tr(M'B^{-1/2} A B^{-1/2} M), a Trace in whitening coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ldr.objectives.families.pencil import RowPencil, check_comparable
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, whiten
from ldr.objectives.problem import Stated
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.view import Axes
from ldr.solvers.linalg.eigen import length, symmetric_eigen
from ldr.solvers.manifolds import Array


def whitened_trace(
    objective: Stated,
    rows: RowPencil,
    r: int,
    *,
    ridge: float = 0.0,
    notes: Sequence[str] = (),
    spectral: type[AbsoluteTrace] | None = None,
) -> Trace:
    """Build tr(M'B^{-1/2} A B^{-1/2} M) in the objective's sense; P = M'B^{-1/2}.

    Extreme generalised eigenvectors of (A, B) are the exact solution. With `spectral`, the matrix
    B^{-1/2} A B^{-1/2} is replaced by its absolute value.
    """
    rows, ridge = rows.narrowed(r, ridge, -objective.sign)
    given = Unwhitened.of(rows.compact, rows.what, ridge, *rows.others)
    found, (whitened,) = whiten(rows.of, lambda found: (found,), given)
    of_rows: Any = found.A
    if callable(of_rows):
        of_rows = of_rows(whitened.W)
    with np.errstate(over="ignore", invalid="ignore"):
        A = whitened(of_rows)
    check_comparable(A, rows.what)
    size = found.terms(spectral_bound(A))
    view = rows.compact.view(whitened.mean, whitened.scatter)
    view = view.noting(*notes, *rows.notes).within(whitened)
    kind = Trace if spectral is None else partial(spectral, signed=A)
    return kind(
        objective,
        (view,),
        A if spectral is None else absolute_value(A),
        r,
        scale=-objective.sign,
        is_square=objective.sense == "min",
        outside=whitened.outside,
        answers=rows.answers(
            found, whitened.coordinates, whitened.W, np.eye(len(A)) if ridge > 0 else None
        ),
        chosen=rows.chosen,
        searched=rows.searched,
        doubt=whitened.doubt(size, r) + whitened.doubt_of_numerator(of_rows, r),
    )


@dataclass(frozen=True)
class SpectralTrace(Trace):
    """tr(M'h(S)M) for a function h of the eigenvalues of a symmetric S.

    - signed (k, k): the matrix S
    """

    plain = False

    signed: Array = field(kw_only=True)


@dataclass(frozen=True)
class AbsoluteTrace(SpectralTrace):
    """The trace tr(M'|S|M), where |S| has the absolute values of the eigenvalues of S."""

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the diagonal of M'SM."""
        return {"eigenvalue": np.sum(M * (self.signed @ M), axis=0)}


def absolute_value(A: Array) -> Array:
    """Return (A^2)^{1/2} of a symmetric A."""
    values, vectors = symmetric_eigen(0.5 * (A + A.T))
    return np.asarray((vectors * np.abs(values)) @ vectors.T)


def spectral_bound(A: Array) -> float:
    """Return an upper bound of the singular values of A."""
    rows, columns = (float(np.abs(A).sum(axis=axis).max()) for axis in (1, 0))
    return min(length(A), math.sqrt(rows) * math.sqrt(columns))
