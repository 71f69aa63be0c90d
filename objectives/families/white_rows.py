"""Rows in coordinates in which their covariance is the identity, for traces of other moments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import Pencil, RowPencil, SumOfSquares
from ldr.objectives.families.shrinking import Shrinking
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.unwhitened import Unwhitened
from ldr.objectives.families.whitened import Whitened, whiten
from ldr.objectives.statistics import moments
from ldr.objectives.view import Compact
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class WhiteRows:
    """Rows z = C^{-1/2}(x - mean), of which moments are taken; P = M'C^{-1/2}.

    Attributes
    ----------
    compact : Compact
        The rows.
    whitened : Whitened
    of_all : ndarray (k, k)
        Cov(z): the identity, but where a ridge or shrinkage was added to C.
    chosen : mapping
        See `BoundObjective`.
    """

    compact: Compact
    whitened: Whitened
    of_all: Array
    chosen: Mapping[str, float | Array]

    @classmethod
    def of(cls, method: Shrinking, data: Data, ridge: float) -> WhiteRows:
        compact = method.compact(data.samples)

        def covariance(change: Change) -> Pencil:
            stats = moments(change(compact.rows))
            B = SumOfSquares.covariance(stats.scatter, stats.mean, stats.n)
            return Pencil(B.B, B)

        rows = method.shrunk(RowPencil(compact, covariance, "the covariance"))
        given = Unwhitened.of(compact, rows.what, ridge)
        found, (whitened,) = whiten(rows.of, lambda found: (found.B,), given)
        return cls(compact, whitened, whitened(found.A), rows.chosen)

    def moments(self, rows: Samples) -> tuple[Array, Array]:
        """Mean and covariance of z of some of the rows."""
        stats = moments(self.whitened.change(rows))
        centre = self.whitened.mean if self.whitened.change.T is None else 0.0
        return self.whitened.rows(stats.mean - centre), self.whitened(stats.covariance)

    def trace(
        self, method: Shrinking, A: Array, r: int, size: float, kind: Callable[..., Trace] = Trace
    ) -> Trace:
        """max tr(M'AM), where a relative error of C moves A by `size` times that."""
        return kind(
            method,
            (self.compact.view(self.whitened.mean, self.whitened.scatter).within(self.whitened),),
            A,
            r,
            outside=self.whitened.outside,
            chosen=self.chosen,
            doubt=self.whitened.doubt(size, r),
        )
