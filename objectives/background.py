"""Samples beside a background (or noise) with the same columns, in common coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.finite import check_squares
from ldr.objectives.data.samples import Samples
from ldr.objectives.statistics.covariance import RowScatter, Scatter
from ldr.objectives.view import Compact, View
from ldr.solvers.errors import DataError
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
        # The rows and their negatives have mean zero, so that centring leaves them alone.
        known = samples.n_known and background.n_known
        if in_columns or not known or 2 * (samples.n + background.n) >= samples.d:
            return cls(samples, background, Compact.of_columns(samples))
        if samples.is_sparse or background.is_sparse:
            raise DataError("X is sparse with fewer rows than columns; pass dense arrays here")
        both = np.vstack([samples.dense(), background.dense()])
        compact = Compact.of(Samples(np.vstack([both, -both])), room=room)
        space = compact.space
        assert space is not None
        lowered = [
            Samples(space.lower(s.dense().T).T, marks=s.marks) for s in (samples, background)
        ]
        return cls(lowered[0], lowered[1], compact)

    def view(self, mean: Array, scatter: Scatter | None = None) -> View:
        """The way back, from the mean of `samples`, and their scatter where it is known."""
        of_columns = self.compact.coordinates.lift(mean[:, None])[:, 0]
        if scatter is None and self.samples.repeatable:
            scatter = RowScatter(self.samples, mean)
        return replace(self.compact.view(mean, scatter), mean=of_columns)
