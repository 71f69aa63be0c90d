"""Whitened traces: max or min tr(M'B^{-1/2} A B^{-1/2} M), a Trace in whitening coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter

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
    added_to,
    check_comparable,
)
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, Whitened, whiten
from ldr.objectives.problem import Stated, check_dimension
from ldr.objectives.statistics import ViewMoments, moments, view_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Compact, noted
from ldr.solvers.linalg.eigen import length, symmetric_eigen
from ldr.solvers.manifolds import Array


def whitened_trace(
    objective: Stated,
    rows: RowPencil[Pencil],
    r: int,
    *,
    ridge: float = 0.0,
    notes: Sequence[str] = (),
    absolute: bool = False,
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
    view = view.noting(*rows.notes, *notes).within(whitened)
    kind = partial(AbsoluteTrace, signed=A) if absolute else Trace
    return kind(
        objective,
        (view,),
        absolute_value(A) if absolute else A,
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

        rows = method.shrunk(RowPencil(compact, covariance, "the covariance"))
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


@dataclass(frozen=True)
class SharedDirections(Trace):
    """Maximise sum_{i<j} tr(Mi'Aij Mj) of white views over sum_i Mi'Mi = K I.

    The blocks of the solver's M, which is orthonormal, are the Mi/sqrt(K), and the trace is that of
    A with zeros on its diagonal blocks.

    - widths: of the views
    """

    plain = False

    widths: tuple[int, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.widths))
        super().__post_init__()

    def blocks(self, M: Array) -> list[Array]:
        rows = np.split(M, np.cumsum(self.widths)[:-1])
        return [math.sqrt(len(rows)) * block for block in rows]

    def point(self, blocks: Sequence[Array]) -> Array:
        return np.concatenate(list(blocks)) / math.sqrt(len(blocks))

    def lift(self, M: Array) -> tuple[Array, ...]:
        parts = zip(self.coordinates, self.blocks(M), strict=True)
        return tuple(c.lift(block) for c, block in parts)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        found = super().axes(M, seen)
        return replace(found, turns=found.turns * len(self.widths))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """The eigenvalues of the sum of the projectors on the views, from 0 to K."""
        return {"eigenvalue": 1.0 + axes.numbers}


def shared_directions(
    objective: Stated,
    compacts: Sequence[Compact],
    r: int,
    *,
    ridge: float,
    shrunk: JointShrinkage | None,
) -> SharedDirections:
    """Those of the views, P = M'Cii^{-1/2} of each."""
    names = [f"the covariance of view {i + 1}" for i in range(len(compacts))]

    def sums(*changes: Change) -> tuple[ViewMoments, list[SumOfSquares]]:
        parts = zip(changes, compacts, strict=True)
        stats = view_moments([change(compact.rows) for change, compact in parts])
        squares = [
            SumOfSquares.covariance(stats.block(i, i), mean, stats.n)
            for i, mean in enumerate(stats.means)
        ]
        if shrunk is not None:
            squares = added_to(squares, changes, shrunk.added)
        return stats, squares

    given = [Unwhitened.of(one, name, ridge) for one, name in zip(compacts, names, strict=True)]
    (stats, _), kept = whiten(sums, itemgetter(1), *given)
    widths = tuple(one.W.shape[1] for one in kept)
    A = np.block(
        [
            [b.rows(a.rows(stats.block(i, j) / stats.n).T).T for j, b in enumerate(kept)]
            for i, a in enumerate(kept)
        ]
    )
    for end, width in zip(np.cumsum(widths), widths, strict=True):
        A[end - width : end, end - width : end] = 0.0
    parts = zip(compacts, kept, strict=True)
    views = [compact.view(one.mean, one.scatter).within(one) for compact, one in parts]
    few = []
    if ridge == 0 and shrunk is None and sum(sorted(widths)[-2:]) > stats.n - 1:
        few.append(
            f"{stats.n:g} rows are too few for {' + '.join(map(str, widths))} columns: some "
            "correlations are 1 whatever the data; give ridge= a positive value"
        )
    share = 0.5 * len(kept)
    return SharedDirections(
        objective,
        noted(views, *few),
        A,
        r,
        scale=share,
        widths=widths,
        outside=math.inf if math.inf in [one.outside for one in kept] else None,
        doubt=share * math.fsum(one.doubt(spectral_bound(A), r) for one in kept),
        chosen=chosen_by(shrunk),
    )
