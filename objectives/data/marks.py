"""What goes with each row wherever it goes: how much it counts, and the trial that it is of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, Given, check_real
from ldr.objectives.data.labels import as_array
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marks:
    """Of some rows, in their order.

    Attributes
    ----------
    weights : ndarray (n,) or None
        At least 0; None is 1 each.
    trials : ndarray (n,) or None
        Ids, equal for rows of one trial, which stand next to one another; None is one trial.
    """

    weights: Array | None = None
    trials: Cells | None = None

    def __getitem__(self, rows: slice | Cells) -> Marks:
        """Those of a slice of the rows, of some by index, or by a boolean mask."""
        return Marks(
            *(None if each is None else each[rows] for each in (self.weights, self.trials))
        )

    @property
    def codes(self) -> npt.NDArray[np.intp] | None:
        """The trial of each row as 0, 1, ...; None where there is one only."""
        if self.trials is None:
            return None
        return np.cumsum(np.append(False, self.trials[1:] != self.trials[:-1]))

    def before(self, later: Marks) -> Array:
        """How much pairs of a row and its later partner count: sqrt(w w'), 0 across trials."""
        together = True if self.trials is None else self.trials == later.trials
        if self.weights is None or later.weights is None:
            return np.asarray(together, dtype=np.float64)
        return np.asarray(np.sqrt(self.weights) * np.sqrt(later.weights) * together)

    def followed_by(self, later: Marks) -> Marks:
        """Of these rows and the later ones."""
        pairs = ((self.weights, later.weights), (self.trials, later.trials))
        return Marks(*(None if a is None else np.concatenate([a, b]) for a, b in pairs))


def as_weights(given: Given, n: int) -> Array:
    """Weights of n rows.

    Raises
    ------
    DataError
        Not n numbers, negative or not finite ones, or nothing but zeros.
    """
    weights = as_array(given, "sample_weight")
    check_real(weights.dtype, "sample_weight")
    if weights.shape != (n,):
        raise DataError(
            f"sample_weight has shape {weights.shape}, expected ({n},): a weight for each row"
        )
    weights = weights.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(
            f"sample_weight has {len(wrong)} weight(s) that are negative or not finite, the first "
            f"is {weights[wrong[0]]} in row {wrong[0]}; numbers >= 0 were expected"
        )
    if not weights.any():
        raise DataError("sample_weight is zero in every row: no row counts")
    return weights


def as_trials(given: Given, n: int) -> Cells:
    """The trials of n rows.

    Raises
    ------
    DataError
        Not n ids, or rows of one trial that do not stand next to one another.
    """
    ids = as_array(given, "groups")
    if ids.shape != (n,):
        raise DataError(f"groups has shape {ids.shape}, expected ({n},): a trial for each row")
    first = ids[np.append(True, ids[1:] != ids[:-1])]
    distinct, times = np.unique(first, return_counts=True)
    if len(distinct) < len(first):
        raise DataError(
            f"groups: the rows of trial {distinct[np.argmax(times)]} do not stand next to one "
            "another; sort the rows by trial, each in the order of time"
        )
    return ids
