"""Whitened trace: max or min tr(M'B^{-1/2} A B^{-1/2} M), a Trace in whitening coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldr.objectives.families.pencil import Pencil, RowPencil, check_comparable
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, whiten
from ldr.objectives.problem import Stated
from ldr.solvers.linalg.lengths import length
from ldr.solvers.manifolds import Array


def whitened_trace(
    objective: Stated,
    rows: RowPencil[Pencil],
    r: int,
    *,
    ridge: float = 0.0,
    notes: Sequence[str] = (),
) -> Trace:
    """tr(M'B^{-1/2} A B^{-1/2} M) in the objective's sense; P = M'B^{-1/2}.

    Exact by the extreme generalised eigenvectors of (A, B).
    """
    given = Unwhitened.of(rows.compact, rows.what, ridge, *rows.others)
    found, (whitened,) = whiten(rows.of, lambda found: (found.B,), given)
    with np.errstate(over="ignore", invalid="ignore"):
        A = whitened(found.A)
    check_comparable(A, rows.what)
    view = rows.compact.view(whitened.mean, whitened.scatter).noting(*notes).within(whitened)
    return Trace(
        objective,
        (view,),
        A,
        r,
        scale=-objective.sign,
        is_square=objective.sense == "min",
        outside=whitened.outside,
        answers=rows.answers(found, whitened.coordinates, whitened.W),
        chosen=rows.chosen,
        doubt=whitened.doubt(max(spectral_bound(A), found.size), r)
        + whitened.doubt_of_numerator(found.A, r),
    )


def spectral_bound(A: Array) -> float:
    """A number that no singular value of A exceeds."""
    rows, columns = (float(np.abs(A).sum(axis=axis).max()) for axis in (1, 0))
    return min(length(A), math.sqrt(rows) * math.sqrt(columns))
