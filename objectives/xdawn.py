"""Evoked responses: what is alike in all trials of a class, against all that varies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import DataForms, PencilMatrices
from ldr.objectives.families.pencil import Pencil, RowPencil, SumOfSquares
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number
from ldr.objectives.statistics import Codes, class_moments
from ldr.objectives.statistics.products import Squares
from ldr.objectives.statistics.sums import membership
from ldr.objectives.view import Compact
from ldr.solvers.errors import ArgumentError, DataError


@dataclass(frozen=True)
class Xdawn(Objective):
    """Find what a class evokes in every trial: max tr((M'RM)^{-1} M'EM).

    E is the second moment over time of the mean of the trials of a class, R that of all rows, both
    about zero. In the whitened variable max tr(M'R^{-1/2} E R^{-1/2} M), P = M'R^{-1/2}; exact by
    the top generalised eigenvectors: an eigenvalue is the power of the response in units of that of
    all rows. Trials are of one length, and aligned: without trials each row is one.

    Parameters
    ----------
    target : label, optional
        The class whose response is wanted; by default the mean of E over all classes.
    ridge : float
        Added to the diagonal of R, in units of its mean diagonal.
    """

    name = "xdawn"
    formula = "max tr(M'R^{-1/2} E R^{-1/2} M), E of the mean trial, R of all rows"
    source = "Rivet, Souloumiac, Attina & Gibert 2009"
    sense = "max"
    needs = (Need.LABELS, Need.TIME_ORDER)
    baseline = "top generalised eigenvectors of (E, R)"
    weighted = True
    transposed = False
    exact = "yes"
    scale_free = True
    arrays = Footprint(squares=8.0, span=14.0)

    target: Any = None
    ridge: float = number(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.target) != 0:
            raise ArgumentError(f"target must be one label, got {self.target!r}")

    def bind(self, data: Data, r: int) -> Trace:
        codes, classes = data.labels
        compact, (samples,) = Compact.about_zero(data.samples)
        times = places(data.samples)
        if (codes != codes[np.arange(len(times)) - times]).any():
            raise DataError("y has several classes within a trial, expected one a trial")
        length = int(times.max()) + 1
        wanted = np.arange(len(classes)) if self.target is None else self._wanted(classes)

        def pencil(change: Change) -> Pencil:
            cells = codes * length + times
            stats = class_moments(change.about_zero(samples), cells, len(classes) * length)
            responses = stats.means.reshape(len(classes), length, -1)[wanted]
            evoked = responses.reshape(-1, responses.shape[2])
            R = stats.total / stats.n + np.outer(stats.mean, stats.mean)
            return Pencil(evoked.T @ evoked / len(evoked), SumOfSquares(R, np.zeros(len(R)), 0.0))

        rows = RowPencil(compact, pencil, "the second moment of the rows")
        return whitened_trace(self, rows, r, ridge=self.ridge)

    def forms(self, data: DataForms) -> PencilMatrices | None:
        """Of rows that are trials by themselves."""
        if (found := data.labels()) is None:
            return None
        codes, classes = found
        counts = np.bincount(codes)
        means = membership(codes, len(classes)).tocsr() / counts[:, None]
        if self.target is not None:
            means = means[self._wanted(classes)]
        n, zero = len(codes), np.zeros(len(codes))
        rows = data.rows.about(zero)
        E = rows.form(Squares(means.tocsr())) / means.shape[0]
        R = rows.form(np.full(n, 1.0 / n))
        return PencilMatrices(E, R, ridge=self.ridge, shares=zero)

    def _wanted(self, classes: Any) -> Codes:
        found = np.flatnonzero([label == self.target for label in classes])
        if len(found) == 0:
            shown = ", ".join(map(repr, classes.tolist()[:9]))
            raise ArgumentError(
                f"target = {self.target!r} is no label of y: expected one of {shown}"
            )
        return found


def places(samples: Samples) -> Codes:
    """The place of each row in its trial.

    Raises
    ------
    DataError
        Trials of different lengths.
    """
    codes = None if samples.marks is None else samples.marks.codes
    if codes is None:
        return np.zeros(samples.n, dtype=np.intp)
    lengths = np.bincount(codes)
    if len(set(lengths)) > 1:
        raise DataError(
            f"trials have from {lengths.min()} to {lengths.max()} rows, expected the same number "
            "in each, aligned at the event"
        )
    return np.arange(samples.n) % lengths[0]
