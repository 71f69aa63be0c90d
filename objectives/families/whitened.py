"""Whitened trace: max or min tr(M'B^{-1/2} A B^{-1/2} M), a Trace in whitening coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ldr.objectives.coordinates import Coordinates, Whitening
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Objective, Range
from ldr.objectives.ridge import add_ridge
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Whitened:
    """Coordinates in which B is the identity: B restricted to its range, a ridge added on request.

    Attributes
    ----------
    kept : Range
    coordinates : Whitening
    notes : list of str
    outside : float or None
        The whitened eigenvalue of directions outside the range: see `Trace`.
    """

    kept: Range
    coordinates: Whitening
    notes: list[str]
    outside: float | None

    @classmethod
    def of(
        cls,
        B: Array,
        coordinates: Coordinates,
        what: str,
        ridge: float = 0.0,
        total: Array | None = None,
    ) -> Whitened:
        """Whiten B, `what` in messages, on its range.

        With a ridge, on the range of `total` (B by default): a direction in which nothing varies
        stays out, whatever the ridge. Without one, a direction outside the range has no place in P
        with PBP' = I, unless it is in the range of `total`, where the whitened trace has no bound.
        """
        if ridge > 0 and total is not None:
            kept = Range.of(total, coordinates, "the total scatter")
        else:
            kept = Range.of(B, coordinates, what)
        definite, ridged = add_ridge(kept(B), ridge, what)
        outside: float | None = 0.0
        if ridge == 0:
            outside = None
            if total is not None and kept.notes:
                outside = math.inf if kept.rank < Range.of(total, coordinates, what).rank else None
        whitening = Whitening.of(definite, kept.coordinates)
        return cls(kept, whitening, kept.notes + ridged, outside)

    def __call__(self, A: Array) -> Array:
        """The symmetric A in these coordinates."""
        return self.coordinates(self.kept(A))

    def rows(self, A: Array) -> Array:
        """A's rows in these coordinates, W'A."""
        return self.coordinates.W.T @ self.kept.rows(A)


def whitened_trace(
    objective: Objective,
    mean: Array,
    A: Array,
    B: Array,
    r: int,
    *,
    coordinates: Coordinates,
    what: str,
    ridge: float = 0.0,
    total: Array | None = None,
    notes: Sequence[str] = (),
) -> Trace:
    """tr(M'B^{-1/2} A B^{-1/2} M) in the objective's sense; P = M'B^{-1/2}.

    Exact by the extreme generalised eigenvectors of (A, B).
    """
    whitened = Whitened.of(B, coordinates, what, ridge, total)
    return Trace(
        objective,
        (mean,),
        whitened(A),
        r,
        scale=-objective.sign,
        coordinates=(whitened.coordinates,),
        is_square=objective.sense == "min",
        outside=whitened.outside,
        notes=[*notes, *whitened.notes],
    )
