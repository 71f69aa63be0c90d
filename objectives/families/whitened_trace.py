"""Whitened traces: max or min tr(M'B^{-1/2} A B^{-1/2} M), a Trace in whitening coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ldr.objectives.coordinates import Axes
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import (
    Pencil,
    RowPencil,
    Shrinking,
    SumOfSquares,
    check_comparable,
)
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, Whitened, whiten
from ldr.objectives.problem import Stated
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.view import Compact
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
    """tr(M'B^{-1/2} A B^{-1/2} M) in the objective's sense; P = M'B^{-1/2}.

    Exact by the extreme generalised eigenvectors of (A, B). Or of the absolute value of the matrix,
    whose eigenvalues count by their size.
    """
    rows, ridge, rest = rows.narrowed(r, ridge, -objective.sign)
    notes = [*notes, *(() if rest is None else (rest.note,))]
    given = Unwhitened.of(rows.compact, rows.what, ridge, *rows.others)
    found, (whitened,) = whiten(rows.of, lambda found: (found.B,), given)
    with np.errstate(over="ignore", invalid="ignore"):
        A = whitened(found.A)
    check_comparable(A, rows.what)
    view = rows.compact.view(whitened.mean, whitened.scatter)
    view = view.noting(*notes).within(whitened)
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
        rest=rest,
        doubt=whitened.doubt(max(spectral_bound(A), found.size), r)
        + whitened.doubt_of_numerator(found.A, r),
    )


@dataclass(frozen=True)
class SpectralTrace(Trace):
    """tr(M'h(S)M), h(S) with the eigenvectors of S and numbers h of its eigenvalues.

    - signed (k, k): S
    """

    plain = False

    signed: Array = field(kw_only=True)


@dataclass(frozen=True)
class AbsoluteTrace(SpectralTrace):
    """tr(M'|S|M): of the absolute values of the eigenvalues."""

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """The diagonal of M'AM."""
        return {"eigenvalue": np.sum(M * (self.signed @ M), axis=0)}


def absolute_value(A: Array) -> Array:
    """(A^2)^{1/2} of a symmetric A."""
    values, vectors = symmetric_eigen(0.5 * (A + A.T))
    return np.asarray((vectors * np.abs(values)) @ vectors.T)


def spectral_bound(A: Array) -> float:
    """A number that no singular value of A exceeds."""
    rows, columns = (float(np.abs(A).sum(axis=axis).max()) for axis in (1, 0))
    return min(length(A), math.sqrt(rows) * math.sqrt(columns))


@dataclass(frozen=True)
class WhiteRows:
    """Rows z = C^{-1/2}(x - mean), of which moments are taken; P = M'C^{-1/2}.

    - compact: the rows
    - of_all (k, k): cov(z): the identity, but where a ridge or shrinkage was added to C
    - chosen: see `BoundObjective`
    """

    compact: Compact
    whitened: Whitened
    of_all: Array
    chosen: Mapping[str, float | Array]

    @classmethod
    def of(cls, method: Shrinking, data: Data) -> WhiteRows:
        compact = method.compact(data.samples)

        def covariance(change: Change) -> Pencil:
            stats = moments(change(compact.rows))
            B = SumOfSquares.covariance(stats.scatter, stats.mean, stats.n)
            return Pencil(B.B, B)

        rows = method.shrunken(RowPencil(compact, covariance, "the covariance"), data)
        given = Unwhitened.of(compact, rows.what, method.ridge)
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
