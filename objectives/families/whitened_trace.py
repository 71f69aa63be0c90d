"""Whitened trace: max or min tr(M'B^{-1/2} A B^{-1/2} M), a Trace in whitening coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.change import Change
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import Pencil
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, whiten
from ldr.objectives.prediction import Groups
from ldr.objectives.problem import Stated
from ldr.objectives.view import Compact
from ldr.solvers.linalg.lengths import length
from ldr.solvers.manifolds import Array


def whitened_trace(
    objective: Stated,
    compact: Compact,
    pencil: Callable[[Change], Pencil],
    r: int,
    *,
    what: str,
    ridge: float = 0.0,
    others: Sequence[Samples] = (),
    notes: Sequence[str] = (),
    classes: npt.NDArray[Any] | None = None,
) -> Trace:
    """tr(M'B^{-1/2} A B^{-1/2} M) in the objective's sense; P = M'B^{-1/2}.

    Exact by the extreme generalised eigenvectors of (A, B).

    Parameters
    ----------
    objective : Objective
    compact : Compact
        The rows.
    pencil : callable
        A and B of the rows, changed as it is told.
    r : int
    what : str
        The name of B, for messages.
    ridge : float
    others : sequence of Samples
        What else the matrices are made of.
    notes : sequence of str
    classes : ndarray (c,), optional
        The labels of the pencil's groups.
    """
    rows = Unwhitened.of(compact, what, ridge, *others)
    found, (whitened,) = whiten(pencil, lambda found: (found.B,), rows)
    A = whitened(found.A)
    answers = None
    if classes is not None and found.groups is not None:
        answers = Groups(classes, found.groups.through(whitened.W), whitened.coordinates)
    view = compact.view(whitened.mean).noting(*notes).within(whitened)
    return Trace(
        objective,
        (view,),
        A,
        r,
        scale=-objective.sign,
        is_square=objective.sense == "min",
        outside=whitened.outside,
        answers=answers,
        doubt=whitened.doubt(max(spectral_bound(A), found.size), r)
        + whitened.doubt_of_numerator(found.A, r),
    )


def spectral_bound(A: Array) -> float:
    """A number that no singular value of A exceeds."""
    rows, columns = (float(np.abs(A).sum(axis=axis).max()) for axis in (1, 0))
    return min(length(A), math.sqrt(rows) * math.sqrt(columns))
