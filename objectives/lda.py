"""Linear discriminant analysis: the orthogonal, the classical, the semi-supervised one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array, as_labels, stacked_labels
from ldr.objectives.families.graph import LaplacianMethod
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, SumOfSquares
from ldr.objectives.families.stacked import Stacked, StackedPencils, StackedRatios, ridged
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import GroupedRows, Groups
from ldr.objectives.statistics import class_moments
from ldr.objectives.statistics.stacked import StackedData
from ldr.objectives.view import Compact
from ldr.solvers.checks import keep_number
from ldr.solvers.errors import ArgumentError, DataError


@dataclass(frozen=True)
class LDA(NestedMethod):
    """Separate the classes: max tr(M'S_B M) / tr(M'S_W M) over orthonormal M.

    S_W = sum_i (x_i - mu_c)(x_i - mu_c)', S_B = sum_i (mu_c - mu)(mu_c - mu)'. P = M'. The
    heuristic everybody uses, the generalised eigenvectors of (S_B, S_W), maximises
    tr((M'S_W M)^{-1} M'S_B M); made orthonormal it is optimal here for r = 1 only.

    Source: Fisher 1936; Cunningham and Ghahramani 2015, section 3.1.3.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal; needed where S_W is singular.
    nested :
        See `NestedMethod`.
    """

    name = "lda"
    formula = "max tr(M'S_B M) / tr(M'S_W M)"
    source = "Fisher 1936; Cunningham & Ghahramani 2015, 3.1.3"
    sense = "max"
    needs = ("labels",)
    predicts = "classes"
    baseline = "orthonormalised generalised eigenvectors of (S_B, S_W)"
    exact = "r = 1"
    from_sums = True

    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TraceRatio:
        codes, classes = as_labels(data.y, data.samples.n)
        compact = Compact.of(data.samples)
        stats = class_moments(compact.rows, codes, len(classes))
        view = compact.view(stats.mean).noting(*_of_low_rank(r, len(classes)))
        A, B = stats.between, stats.within
        bound = trace_ratio(self, view, A, B, r, what="S_W", ridge=self.ridge, total=stats.total)
        return bound.restated(answers=Groups(classes, stats, compact.coordinates))

    def stacked(self, data: StackedData) -> Stacked | None:
        codes = stacked_labels(data.y)
        if codes is None:
            return None
        between, within = data.rows.scatters_of_classes(codes)
        return StackedRatios(between, ridged(within, self.ridge))


@dataclass(frozen=True)
class ClassicalLDA(Objective):
    """Separate the classes: max tr((M'S_W M)^{-1} M'S_B M), the ratio-trace form.

    In the whitened variable max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M), P = M'S_W^{-1/2}. Exact by the
    top generalised eigenvectors of (S_B, S_W), at most c - 1 of them informative for c classes.

    Source: Fisher 1936; Rao 1948; Burges 2010, section 4.3.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal. Without it, and where S_W is
        singular, M is restricted to the range of S_W.
    """

    name = "classical-lda"
    formula = "max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M)"
    source = "Fisher 1936; Rao 1948; Burges 2010"
    sense = "max"
    needs = ("labels",)
    predicts = "classes"
    baseline = "top generalised eigenvectors of (S_B, S_W)"
    transposed = False
    exact = "yes"
    scale_free = True
    from_sums = True

    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> Trace:
        codes, classes = as_labels(data.y, data.samples.n)
        compact = Compact.of(data.samples)

        def pencil(change: Change) -> Pencil:
            stats = class_moments(change(compact.rows), codes, len(classes))
            n = float(stats.counts.sum())
            B = SumOfSquares(stats.within, stats.mean, n, stats.total, within=True)
            return Pencil(stats.between, B, groups=stats)

        return whitened_trace(
            self,
            compact,
            pencil,
            r,
            what="S_W",
            ridge=self.ridge,
            notes=few_directions(r, len(classes), "classes"),
            classes=classes,
        )

    def stacked(self, data: StackedData) -> Stacked | None:
        codes = stacked_labels(data.y)
        if codes is None:
            return None
        between, within = data.rows.scatters_of_classes(codes)
        return StackedPencils(between, ridged(within, self.ridge))


def _of_low_rank(r: int, classes: int) -> list[str]:
    """A note where the heuristic has fewer than r directions."""
    if r < classes:
        return []
    return [
        f"S_B has rank {classes - 1}, the number of classes less one: the heuristic's further "
        "directions are arbitrary"
    ]


def few_directions(r: int, groups: int, what: str) -> list[str]:
    """A note where r exceeds the number of directions that so many groups can tell."""
    if r < groups:
        return []
    return [
        f"{groups} {what} have at most {groups - 1} informative directions: the other "
        f"{r - groups + 1} have eigenvalue 0 and are arbitrary"
    ]


@dataclass(frozen=True)
class SemiSupervisedDA(LaplacianMethod):
    """Separate the labelled classes, smoothly on all rows: S_B a = lambda (S_T + mu X'LX) a.

    S_B and S_T are of the labelled rows, X'LX of a graph on all. In the whitened variable max
    tr(M'B^{-1/2} S_B B^{-1/2} M), B = S_T + mu X'LX, P = M'B^{-1/2}; exact by the top generalised
    eigenvectors.

    Source: Cai, He and Han 2007.

    Parameters
    ----------
    mu : float
        Weight of the graph, mu >= 0.
    unlabelled : label
        What y says of rows without a label.
    graph, neighbours, heat, epsilon :
        See `LaplacianMethod`.
    ridge : float
        Added to the diagonal of B, in units of its mean diagonal.
    """

    name = "semi-supervised-da"
    formula = "max tr(M'B^{-1/2} S_B B^{-1/2} M), B = S_T + mu X'LX"
    source = "Cai, He & Han 2007"
    sense = "max"
    needs = ("labels", "graph")
    predicts = "classes"
    baseline = "top generalised eigenvectors of (S_B, S_T + mu X'LX)"
    transposed = False
    exact = "yes"

    mu: float = 0.1
    unlabelled: Any = -1
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")
        keep_number(self, "mu")
        if np.ndim(self.unlabelled) != 0:
            raise ArgumentError(f"unlabelled must be one label, got {self.unlabelled!r}")
        if isinstance(self.graph, str) and "class" in self.graph:
            raise ArgumentError(
                f"graph={self.graph!r} needs a label for every row; expected 'neighbours', "
                "'epsilon' or a matrix"
            )

    def bind(self, data: Data, r: int) -> Trace:
        y = as_array(data.y)
        if y.shape != (data.samples.n,) or y.dtype.kind in "cV":
            raise DataError(
                f"y has shape {y.shape} and type {y.dtype}, expected ({data.samples.n},) labels"
            )
        labelled = np.array([label != self.unlabelled for label in y], dtype=bool)
        if not labelled.any():
            raise DataError(f"y has no label: every row says {self.unlabelled!r}, unlabelled")
        codes, classes = as_labels(y[labelled], int(labelled.sum()))
        compact, scatters = self.sums(data)

        def pencil(change: Change) -> Pencil:
            found = scatters(change)
            stats = class_moments(change(compact.rows).take(labelled), codes, len(classes))
            B = stats.total + self.mu * found.A
            return Pencil(stats.between, SumOfSquares(B, found.mean, len(labelled), found.total))

        bound = whitened_trace(
            self,
            compact,
            pencil,
            r,
            what="S_T + mu X'LX",
            ridge=self.ridge,
            notes=few_directions(r, len(classes), "classes"),
        )
        rows = data.samples.take(np.flatnonzero(labelled))
        return bound.restated(answers=GroupedRows(classes, codes, rows))
