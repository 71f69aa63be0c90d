"""Trace ratios stated by their matrices, on the range of the denominator."""

from __future__ import annotations

from collections.abc import Sequence

from ldr.objectives.coordinates import Coordinates
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.problem import Range, Stated
from ldr.objectives.ridge import add_ridge, ridge_amount
from ldr.solvers.manifolds import Array


def trace_ratio(
    objective: Stated,
    mean: Array,
    A: Array,
    B: Array,
    r: int,
    *,
    coordinates: Coordinates,
    what: str,
    ridge: float = 0.0,
    notes: Sequence[str] = (),
) -> TraceRatio:
    """tr(M'AM) / tr(M'BM) in the objective's sense, where A vanishes wherever B does.

    M is restricted to the range of B: outside it the ratio is 0/0. A minimum is the maximum with
    the sign of A changed.
    """
    kept = Range.of(B, coordinates, what)
    definite, ridged = add_ridge(kept(B), ridge, what)
    return TraceRatio(
        objective,
        (mean,),
        -objective.sign * kept(A),
        definite,
        r,
        coordinates=(kept.coordinates,),
        restricted=bool(kept.notes),
        outside=ridge_amount(kept(B), ridge),
        notes=[*notes, *kept.notes, *ridged],
    )
