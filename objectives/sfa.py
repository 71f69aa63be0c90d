"""Slow feature analysis: what changes least, whitened or not, or by a ratio of traces."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.opening import as_samples, derivatives_of
from ldr.objectives.families.matrices import (
    DataForms,
    DataSums,
    PencilMatrices,
    RatioMatrices,
    RowSums,
    TraceMatrices,
)
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.families.wide import of_differences
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, flag, whole
from ldr.objectives.statistics import difference_scatter, moments
from ldr.objectives.statistics.pairs import count_pairs
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import Compact, Quadratic
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace


@dataclass(frozen=True)
class SlowMethod(Objective):
    """Base of the methods of the differences of successive rows, in time order."""

    sense = "min"
    needs = (Need.TIME_ORDER,)
    weighted = True
    from_sums = True
    stacks = True
    arrays = Footprint(squares=10.0, products=True)


@dataclass(frozen=True)
class SFA(SlowMethod):
    """Find what changes slowly: min tr(M'X_dot'X_dot M), X_dot the differences of successive rows.

    Plain, P = M' with orthonormal M; with `whiten`, the usual SFA: features of unit variance,
    min tr(M'C^{-1/2} X_dot'X_dot C^{-1/2} M), P = M'C^{-1/2}. Exact by the bottom eigenvectors.

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
    baseline = "bottom eigenvectors of X_dot'X_dot"
    exact = "yes"

    whiten: bool = flag(False)
    degree: int = whole(1, 1)
    derivatives: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree > 2:
            raise ArgumentError(f"degree must be 1 or 2, got {self.degree!r}")
        if self.degree == 2 and self.derivatives is not None:
            raise ArgumentError("derivatives= are of the columns, expected degree=1 with them")

    @property
    def transposed(self) -> bool:  # type: ignore[override]
        return not self.whiten

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        return self.whiten

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """An expansion fills what is empty, for it is of the centred columns."""
        return self.degree == 1

    @property
    def from_sums(self) -> bool:  # type: ignore[override]
        """Of the columns themselves; an expansion depends on their mean."""
        return self.degree == 1 and self.derivatives is None

    def of_features(self) -> SFA:
        return replace(self, degree=1)

    def largest_r(self, data: Data) -> int:
        d = data.samples.d
        return d if self.degree == 1 else d * (d + 3) // 2

    def bind(self, data: Data, r: int) -> Trace:
        features = None if self.degree == 1 else Quadratic.of(data.samples, free=self.whiten)
        samples = data.samples if features is None else features(data.samples)
        compact = Compact.of(samples, features=features)
        if not self.whiten:
            stats = moments(compact.rows)
            A = self._scatter_of_changes(compact, Change())
            view = compact.view_of(stats)
            return trace_where_varied(self, view, A, stats.scatter, r)

        wide = of_differences(samples) if samples.wide else None

        def pencil(change: Change) -> Pencil:
            stats = moments(change(compact.rows))
            A = self._scatter_of_changes(compact, change)
            C = SumOfSquares.covariance(stats.scatter, stats.mean, stats.n)
            if self.derivatives is not None:
                C = replace(C, total=C.B + A / stats.n)
            return Pencil(A, C)

        return whitened_trace(self, RowPencil(compact, pencil, "the covariance", wide=wide), r)

    def matrices(self, data: DataSums) -> PencilMatrices | TraceMatrices:
        if self.degree > 1 or self.derivatives is not None:
            raise UnknownError
        # Wirtinger's inequality of sums: with s = sin^2(pi/2n), A/4 <= X'X <= A/(4s) in one trial
        shown = 0.0 if data.rows.trials is not None else math.sin(0.5 * math.pi / data.rows.n) ** 2
        return self._of(data.rows, data.rows.scatter_of_changes(), shown)

    def forms(self, data: DataForms) -> PencilMatrices | TraceMatrices:
        if self.derivatives is None:
            return self.matrices(data)
        X_dot = as_samples(self.derivatives, "derivatives").dense()
        return self._of(data.rows, data.fixed(X_dot.T @ X_dot))

    def _of(self, rows: RowSums, A: Array, shown: float = 0.0) -> PencilMatrices | TraceMatrices:
        if self.whiten:
            return PencilMatrices(A, rows.scatter() / rows.n, -1.0)
        return TraceMatrices(A, -1.0, varied=rows.scatter, shown=shown)

    def _scatter_of_changes(self, compact: Compact, change: Change) -> Array:
        """X_dot'X_dot, in the coordinates of the rows that are changed."""
        if self.derivatives is None:
            return difference_scatter(change(compact.rows))
        d = compact.rows.d if compact.space is None else len(compact.space.mean)
        X_dot = derivatives_of(self.derivatives, (compact.rows.n, d))
        if compact.space is not None:
            X_dot = np.ascontiguousarray(compact.space.lower(X_dot.T).T)
        if change.T is not None:
            X_dot = X_dot @ change.T
        X_dot = weighted(X_dot, compact.rows.weights)
        return X_dot.T @ X_dot


@dataclass(frozen=True)
class OrthogonalSFA(NestedMethod, Shrinking, SlowMethod):
    """Find what changes slowly against its variance: min tr(M'X_dot'X_dot M) / tr(M'CM).

    M orthonormal, X_dot the differences of successive rows, C = X'X/n. P = M'. The heuristic is the
    bottom generalised eigenvectors (whitened slow feature analysis) made orthonormal.
    """

    name = "orthogonal-sfa"
    formula = "min tr(M'X_dot'X_dot M) / tr(M'CM)"
    source = "Wiskott & Sejnowski 2002; Cunningham & Ghahramani 2015, 3.1.6"
    baseline = "orthonormalised generalised eigenvectors of (X_dot'X_dot, C)"
    exact = "r = 1"
    sibling = "sfa with whiten=True"

    def bind(self, data: Data, r: int) -> TraceRatio:
        compact = self.compact(data.samples)
        wide = of_differences(data.samples) if data.samples.wide else None

        def pencil(change: Change) -> Pencil:
            changed = change(compact.rows)
            stats = moments(changed)
            C = SumOfSquares.covariance(stats.scatter, stats.mean, stats.n)
            return Pencil(difference_scatter(changed), C)

        rows = self.shrunk(
            RowPencil(compact, pencil, "the covariance", wide=wide),
            lambda _: 2.0 * count_pairs(compact.rows, 1),  # a difference of two rows
        )
        return trace_ratio(self, rows, r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> RatioMatrices:
        A, C = data.rows.scatter_of_changes(), data.rows.scatter() / data.rows.n
        return RatioMatrices(A, C, -1.0, self.column_weights, ridge=self.ridge)
