"""Slow feature analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.coordinates import Coordinates
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Whitened
from ldr.objectives.features import Features, Quadratic
from ldr.objectives.objective import Compact, Data, Objective, Range
from ldr.objectives.samples import Samples, as_samples, check_squares
from ldr.objectives.statistics import difference_scatter, mean, moments
from ldr.solvers.checks import keep_flag, keep_whole
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class SFA(Objective):
    """Find what changes slowly: min tr(M'X_dot'X_dot M), X_dot the differences of successive rows.

    Plain, P = M' with orthonormal M; with `whiten`, the usual SFA: features of unit variance,
    min tr(M'C^{-1/2} X_dot'X_dot C^{-1/2} M), P = M'C^{-1/2}. Exact by the bottom eigenvectors.

    Source: Wiskott and Sejnowski 2002; Cunningham and Ghahramani 2015, section 3.1.6.

    Parameters
    ----------
    whiten : bool
        Ask for features of unit variance instead of orthonormal directions.
    degree : {1, 2}
        2 puts the products of all pairs of columns beside them, d(d + 3)/2 features in all;
        `transform` expands new rows too.
    derivatives : array (n, d), optional
        X_dot, where it is known better than by differences; for degree 1.
    """

    name = "sfa"
    formula = "min tr(M'X_dot'X_dot M)"
    source = "Wiskott & Sejnowski 2002; Cunningham & Ghahramani 2015, 3.1.6"
    sense = "min"
    needs = ("time order",)
    baseline = "bottom eigenvectors of X_dot'X_dot"
    exact = "yes"

    whiten: bool = False
    degree: int = 1
    derivatives: Any = None

    def __post_init__(self) -> None:
        keep_flag(self, "whiten")
        keep_whole(self, "degree", 1)
        if self.degree > 2:
            raise ArgumentError(f"degree must be 1 or 2, got {self.degree!r}")
        if self.degree == 2 and self.derivatives is not None:
            raise ArgumentError("derivatives= are of the columns, expected degree=1 with them")

    @property
    def transposed(self) -> bool:  # type: ignore[override]
        return not self.whiten

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """An expansion fills what is empty, for it is of the centred columns."""
        return self.degree == 1

    @property
    def from_sums(self) -> bool:
        """Of the columns themselves; an expansion depends on their mean."""
        return self.degree == 1 and self.derivatives is None

    def largest_r(self, data: Data) -> int:
        d = data.samples.d
        return d if self.degree == 1 else d * (d + 3) // 2

    def bind(self, data: Data, r: int) -> Trace:
        samples, features = self._features(data.samples)
        compact = Compact.of(samples)
        stats = moments(compact.rows)
        A = self._scatter_of_changes(compact)
        # A direction in which nothing varies is not slow, it is empty: leave those out.
        if self.whiten:
            total = None if self.derivatives is None else stats.scatter + A
            whitened = Whitened.of(
                stats.covariance, compact.coordinates, "the covariance", total=total
            )
            coordinates: Coordinates = whitened.coordinates
            A, notes, outside = whitened(A), whitened.notes, whitened.outside
        else:
            kept = Range.of(stats.scatter, compact.coordinates, "the covariance")
            A, coordinates, notes, outside = kept(A), kept.coordinates, kept.notes, 0.0
        return Trace(
            self,
            (compact.mean(stats.mean),),
            A,
            r,
            scale=-1.0,
            is_square=True,
            coordinates=(coordinates,),
            notes=compact.notes + notes,
            outside=outside,
            features=() if features is None else (features,),
        )

    def _features(self, samples: Samples) -> tuple[Samples, Features | None]:
        if self.degree == 1:
            return samples, None
        expansion = Quadratic(mean(samples))
        return expansion(samples), expansion

    def _scatter_of_changes(self, compact: Compact) -> Array:
        """X_dot'X_dot, in the coordinates of the rows."""
        if self.derivatives is None:
            return difference_scatter(compact.rows)
        given = as_samples(self.derivatives, "derivatives")
        check_squares(given)
        if given.n != compact.rows.n:
            raise DataError(f"derivatives has {given.n} rows, expected {compact.rows.n}")
        X_dot = given.dense()
        if compact.space is not None:
            X_dot = np.ascontiguousarray(compact.space.lower(X_dot.T).T)
        return X_dot.T @ X_dot
