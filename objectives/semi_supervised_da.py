"""Semi-supervised discriminant analysis: classes of the rows with labels, neighbours among all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ldr.objectives.data.cells import Cells
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.families.laplacian import LaplacianMethod
from ldr.objectives.families.matrices import DataForms, PencilMatrices
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.lda import few_directions
from ldr.objectives.parameters import Need, number
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.statistics import Codes, class_moments, moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.statistics.products import Squares
from ldr.objectives.statistics.sums import membership
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.records import dataclass, replace


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
            stats = moments(change(compact.rows))
            B = replace(
                found.B,
                B=part.B.B + self.mu * found.A,
                weight=len(labelled),
                total=stats.scatter,
                scatter=KnownScatter(stats.scatter, stats.n),
            )
            return Pencil(part.A, B)

        rows = RowPencil(compact, pencil, "S_T + mu X'LX", chosen=between.chosen)
        notes = few_directions(r, len(classes), "classes")
        bound = whitened_trace(self, rows, r, ridge=self.ridge, notes=notes)
        known = data.samples.take(np.flatnonzero(labelled))
        return bound.restated(answers=GroupedRows(classes, codes, known))

    def forms(self, data: DataForms) -> PencilMatrices:
        on_all, codes = self.scatter_forms(data), data.groups(self._codes)
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
