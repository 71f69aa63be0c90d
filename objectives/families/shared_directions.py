"""Directions that several views share: eigenvectors of their whitened covariances side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

import numpy as np

from ldr.objectives.axes import Axes
from ldr.objectives.data.change import Change
from ldr.objectives.families.pencil import SumOfSquares, added_to
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.unwhitened import Unwhitened
from ldr.objectives.families.whitened import whiten
from ldr.objectives.families.whitened_trace import spectral_bound
from ldr.objectives.problem import Stated, check_dimension
from ldr.objectives.statistics import ViewMoments, view_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Compact, noted
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class SharedDirections(Trace):
    """Maximise sum_{i<j} tr(Mi'Aij Mj) of white views over sum_i Mi'Mi = K I.

    The blocks of the solver's M, which is orthonormal, are the Mi/sqrt(K), and the trace is that of
    A with zeros on its diagonal blocks.

    Parameters
    ----------
    widths : tuple of int
        Of the views.
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
