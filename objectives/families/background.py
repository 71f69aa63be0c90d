"""Samples beside a background (or noise) with the same columns, in common coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldr.objectives.data.data import Data
from ldr.objectives.data.finite import check_squares
from ldr.objectives.data.samples import Samples
from ldr.objectives.statistics.covariance import RowScatter, Scatter
from ldr.objectives.view import Compact, View
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Pair:
    """Samples and background; where both have fewer rows than columns, in the span of their rows.

    The span holds the rows themselves, not only their differences from the mean, so that second
    moments about zero are kept too.
    """

    samples: Samples
    background: Samples
    compact: Compact

    @classmethod
    def of(cls, data: Data, *, room: int = 0, in_columns: bool = False) -> Pair:
        """With room for directions outside the span, as `Compact` has it; or in all columns."""
        assert data.background is not None
        samples, background = data.samples, data.background
        check_squares(background)
        if in_columns:
            return cls(samples, background, Compact.of_columns(samples))
        compact, (samples, background) = Compact.about_zero(samples, background, room=room)
        return cls(samples, background, compact)

    def view(self, mean: Array, scatter: Scatter | None = None) -> View:
        """The way back, from the mean of `samples`, and their scatter where it is known."""
        of_columns = self.compact.coordinates.lift(mean[:, None])[:, 0]
        if scatter is None and self.samples.repeatable:
            scatter = RowScatter(self.samples, mean)
        return replace(self.compact.view(mean, scatter), mean=of_columns)
