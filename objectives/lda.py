"""Linear discriminant analysis: the orthogonal, the classical, the semi-supervised one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldr.objectives.data.cells import Cells
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.families.laplacian import LaplacianMethod
from ldr.objectives.families.matrices import DataForms, DataSums, PencilMatrices, RatioMatrices
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares, shrunken
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.families.wide import of_classes
from ldr.objectives.parameters import Need, number
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.statistics import Codes, class_moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.statistics.products import Squares
from ldr.objectives.statistics.shrinkage import ledoit_wolf
from ldr.objectives.statistics.sums import membership
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class DiscriminantMethod(Shrinking):
    """Base of the methods of S_B against S_W, the scatters between and within classes.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal. Where S_W is singular,
        orthogonal LDA needs one; the classical one is restricted to the range of S_W without it.
    shrinkage : "auto" or None
        "auto" moves the covariance of every class, and that of all rows, towards its diagonal by
        Ledoit and Wolf's rule, as scikit-learn's LinearDiscriminantAnalysis does; S_B is their
        difference then. The shares by which they were moved are in the result's parameters.
    """

    sense = "max"
    needs = (Need.LABELS,)
    predicts = "classes"
    weighted = True
    from_sums = True
    stacks = True
    arrays = Footprint(squares=14.0, products=True)

    def scatters(self, data: Data) -> tuple[RowPencil[Pencil], int]:
        """(S_B, S_W) of the rows in any coordinates; the number of classes."""
        codes, classes = data.labels
        shrinks, compact = self.shrinkage is not None, self.compact(data.samples)
        chosen: dict[str, float | Array] = {}
        if shrinks:
            within = ledoit_wolf(compact.rows, codes, len(classes))
            total = ledoit_wolf(compact.rows)
            chosen = {"shrinkage": within.coefficients, "of_total": float(total.coefficients[0])}

        def pencil(change: Change) -> Pencil:
            stats = class_moments(change(compact.rows), codes, len(classes))
            n = int(stats.counts.sum())
            known = KnownScatter(stats.total, n)
            B = SumOfSquares(stats.within, stats.mean, float(n), stats.total, True, known)
            found = Pencil(stats.between, B, groups=stats)
            return shrunken(found, change, within.added, total.added) if shrinks else found

        wide = None if not data.samples.wide else of_classes(data.samples, codes, len(classes))
        rows = RowPencil(compact, pencil, "S_W", classes=classes, chosen=chosen, wide=wide)
        return rows, len(classes)


@dataclass(frozen=True)
class LDA(NestedMethod, DiscriminantMethod):
    """Separate the classes: max tr(M'S_B M) / tr(M'S_W M) over orthonormal M.

    S_W = sum_i (x_i - mu_c)(x_i - mu_c)', S_B = sum_i (mu_c - mu)(mu_c - mu)'. P = M'. The
    heuristic everybody uses, the generalised eigenvectors of (S_B, S_W), maximises
    tr((M'S_W M)^{-1} M'S_B M); made orthonormal it is optimal here for r = 1 only.
    """

    name = "lda"
    formula = "max tr(M'S_B M) / tr(M'S_W M)"
    source = "Fisher 1936; Cunningham & Ghahramani 2015, 3.1.3"
    baseline = "orthonormalised generalised eigenvectors of (S_B, S_W)"
    exact = "r = 1"
    sibling = "classical-lda"

    def bind(self, data: Data, r: int) -> TraceRatio:
        rows, classes = self.scatters(data)
        notes = _of_low_rank(r, classes) if self.shrinkage is None else []
        return trace_ratio(self, rows, r, ridge=self.ridge, notes=notes)

    def matrices(self, data: DataSums) -> RatioMatrices | None:
        both = data.scatters_of_classes()
        if both is None:
            return None
        return RatioMatrices(*both, 1.0, self.column_weights, ridge=self.ridge)


@dataclass(frozen=True)
class ClassicalLDA(DiscriminantMethod):
    """Separate the classes: max tr((M'S_W M)^{-1} M'S_B M), the ratio-trace form.

    In the whitened variable max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M), P = M'S_W^{-1/2}. Exact by the
    top generalised eigenvectors of (S_B, S_W), at most c - 1 of them informative for c classes.
    """

    name = "classical-lda"
    formula = "max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M)"
    source = "Fisher 1936; Rao 1948; Burges 2010, 4.3"
    baseline = "top generalised eigenvectors of (S_B, S_W)"
    transposed = False
    exact = "yes"
    scale_free = True

    def bind(self, data: Data, r: int) -> Trace:
        rows, classes = self.scatters(data)
        notes = few_directions(r, classes, "classes") if self.shrinkage is None else []
        return whitened_trace(self, rows, r, ridge=self.ridge, notes=notes)

    def matrices(self, data: DataSums) -> PencilMatrices | None:
        both = data.scatters_of_classes()
        return None if both is None else PencilMatrices(*both, ridge=self.ridge)


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
class SemiSupervisedDA(Shrinking, LaplacianMethod):
    """Separate the labelled classes, smoothly on all rows: S_B a = lambda (S_T + mu X'LX) a.

    S_B and S_T are of the labelled rows, X'LX of a graph on all. In the whitened variable max
    tr(M'B^{-1/2} S_B B^{-1/2} M), B = S_T + mu X'LX, P = M'B^{-1/2}; exact by the top generalised
    eigenvectors.

    Parameters
    ----------
    mu : float
        Weight of the graph, mu >= 0.
    unlabelled : label
        What y says of rows without a label.
    shrinkage : "auto" or None
        "auto" moves S_T, of the labelled rows, towards its diagonal by Ledoit and Wolf's rule.
    """

    name = "semi-supervised-da"
    formula = "max tr(M'B^{-1/2} S_B B^{-1/2} M), B = S_T + mu X'LX"
    source = "Cai, He & Han 2007"
    sense = "max"
    needs = (Need.LABELS, Need.GRAPH)
    predicts = "classes"
    baseline = "top generalised eigenvectors of (S_B, S_T + mu X'LX)"
    transposed = False
    exact = "yes"

    mu: float = number(0.1)
    unlabelled: Any = -1

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.unlabelled) != 0:
            raise ArgumentError(f"unlabelled must be one label, got {self.unlabelled!r}")
        if isinstance(self.graph, str) and "class" in self.graph:
            raise ArgumentError(
                f"graph={self.graph!r} needs a label for every row; expected 'neighbours', "
                "'epsilon' or a matrix"
            )

    def bind(self, data: Data, r: int) -> Trace:
        data = self._joined(data)
        labelled, codes, classes = self._labelled(as_array(data.y), data.samples.n)
        on_all = self.scatters(data)
        compact = on_all.compact

        of_labelled = replace(compact, rows=compact.rows.take(labelled))

        def scatters(change: Change) -> Pencil:
            stats = class_moments(change(compact.rows).take(labelled), codes, len(classes))
            return Pencil(stats.between, SumOfSquares(stats.total, stats.mean, stats.n))

        between = self.shrunk(RowPencil(of_labelled, scatters, "S_T"))

        def pencil(change: Change) -> Pencil:
            found, part = on_all.of(change), between.of(change)
            B = replace(
                found.B,
                B=part.B.B + self.mu * found.A,
                weight=len(labelled),
                total=found.total,
            )
            return Pencil(part.A, B)

        rows = RowPencil(compact, pencil, "S_T + mu X'LX", chosen=between.chosen)
        notes = few_directions(r, len(classes), "classes")
        bound = whitened_trace(self, rows, r, ridge=self.ridge, notes=notes)
        known = data.samples.take(np.flatnonzero(labelled))
        return bound.restated(answers=GroupedRows(classes, codes, known))

    def forms(self, data: DataForms) -> PencilMatrices | None:
        on_all, codes = self.scatter_forms(data), data.groups(self._codes)
        if on_all is None or codes is None:
            return None
        members = membership(codes + 1, int(codes.max()) + 2).tocsr()[1:]
        labelled = members.sum(axis=0)
        rows = data.rows.about(labelled / labelled.sum())
        between = rows.form(Squares(members / np.sqrt(members.sum(axis=1))[:, None]))
        B = rows.form(labelled) + self.mu * on_all.A
        return PencilMatrices(between, B, ridge=self.ridge)

    def _codes(self, y: Cells) -> Codes:
        """Of the rows, -1 without a label."""
        labelled, codes, _ = self._labelled(y, len(y))
        found = np.full(len(y), -1)
        found[labelled] = codes
        return found

    def _labelled(self, y: Cells, n: int) -> tuple[Codes, Codes, Cells]:
        """Whether each row has a label; the codes of those that do, and the classes."""
        if y.shape != (n,) or y.dtype.kind in "cV":
            raise DataError(f"y has shape {y.shape} and type {y.dtype}, expected ({n},) labels")
        labelled = np.array([label != self.unlabelled for label in y], dtype=bool)
        if not labelled.any():
            raise DataError(f"y has no label: every row says {self.unlabelled!r}, unlabelled")
        return labelled, *as_labels(y[labelled], int(labelled.sum()))
