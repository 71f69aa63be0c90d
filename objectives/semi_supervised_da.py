"""Semi-supervised discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.change import Change
from ldr.objectives.classical_lda import few_directions
from ldr.objectives.families.graph import LaplacianMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Pencil, SumOfSquares, whitened_trace
from ldr.objectives.objective import Data
from ldr.objectives.samples import as_array, as_labels
from ldr.objectives.statistics import class_moments
from ldr.solvers.checks import keep_number
from ldr.solvers.errors import ArgumentError, DataError


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
        codes, classes = as_labels(y[labelled], int(labelled.sum()))
        compact, scatters = self.sums(data)

        def pencil(change: Change) -> Pencil:
            found = scatters(change)
            stats = class_moments(change(compact.rows).take(labelled), codes, len(classes))
            B = stats.within + stats.between + self.mu * found.A
            return Pencil(stats.between, SumOfSquares(B, found.mean, len(labelled), found.total))

        return whitened_trace(
            self,
            compact,
            pencil,
            r,
            what="S_T + mu X'LX",
            ridge=self.ridge,
            notes=few_directions(r, len(classes), "classes"),
        )
