"""Labels of rows as class codes, and metadata of rows: weights and trials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Cells, Given, check_real, check_unmasked
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """Class codes of some rows, with all classes; a class may be absent from the rows.

    - codes (n,)
    - classes (c,): sorted
    """

    codes: npt.NDArray[np.intp]
    classes: Cells

    @classmethod
    def of(cls, y: object, n: int, classes: Cells) -> CodedLabels:
        labels = _open_labels(y, n)
        codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        unknown = np.flatnonzero(classes[codes] != labels)
        if len(unknown):
            raise DataError(
                f"y has the label {shown(labels[unknown[0]])}, which is not one of the classes: "
                "pass all classes as classes= in the first call"
            )
        return cls(codes, classes)


def as_labels(y: object, n: int, *, smallest_class: int = 1) -> tuple[npt.NDArray[np.intp], Cells]:
    """Return class labels as codes 0..c-1.

    - y (n,): strings, integers, booleans, whole floats, or a pandas Series or Categorical; or
      `CodedLabels`, which are returned
    - n: number of samples of the labels
    - smallest_class: smallest allowed number of samples of a class
    - returns codes (n,): the class of each sample.
    - returns classes (c,): the sorted labels: ``classes[codes]`` is y.
    - raises DataError: y is not 1-D, has the wrong length, missing labels, continuous values,
      labels that cannot be ordered, a single class, or a class that is too small.
    """
    if isinstance(y, CodedLabels):
        return y.codes, y.classes
    labels = _open_labels(y, n)
    classes, codes, counts = distinct(labels, "y")
    check_discrete(classes, n)
    if len(classes) < 2:
        found = f"a single class ({shown(classes[0])})" if len(classes) else "no labels"
        raise DataError(f"y has {found}; at least two classes were expected")
    _check_class_sizes(classes, counts, smallest_class)
    return codes.reshape(-1).astype(np.intp, copy=False), classes


def as_array(y: object, name: str = "y") -> Cells:
    """Return labels or a response as an array with an entry or a row per sample."""
    if type(y) is np.ndarray and y.ndim:
        return y
    check_unmasked(y, name)
    if hasattr(y, "tocsr"):
        raise DataError(f"{name} is sparse, a dense array was expected: pass {name}.toarray()")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise DataError(
            f"{name} could not be read as an array ({error}); one entry or one row of equal length "
            "for each sample was expected"
        ) from error
    if array.ndim == 0:
        raise DataError(f"{name} must have an entry for each sample, but is a {type(y).__name__}")
    return array


def is_text(y: object) -> bool:
    """Return True for a vector of strings."""
    array = as_array(y)
    if array.dtype.kind == "O":
        return array.ndim == 1 and all(isinstance(each, str) for each in array)
    return array.dtype.kind in "US" and array.ndim == 1


def distinct(labels: Cells, name: str) -> tuple[Cells, ...]:
    """Return the sorted classes, the class code of each label, and the size of each class."""
    try:
        if labels.dtype.kind not in "OSU" or labels.ndim != 1:
            return np.unique(labels, return_inverse=True, return_counts=True)
        # For strings of few classes, counting by a dict takes a fifth of the time of sorting.
        places: dict[object, int] = {}
        listed = labels.tolist()
        codes = np.array([places.setdefault(label, len(places)) for label in listed], np.intp)
        entries = np.empty(len(places), dtype=labels.dtype)
        entries[:] = list(places)
        classes, place = np.unique(entries, return_inverse=True)
        codes = place[codes]
        return classes, codes, np.bincount(codes, minlength=len(classes))
    except TypeError as error:
        raise DataError(
            f"{name} has labels of different types, which cannot be sorted ({error}); labels of "
            "one type were expected"
        ) from error


def _open_labels(y: object, n: int) -> Cells:
    """Return n labels as a vector; refuse missing labels."""
    labels = as_array(y)
    if labels.ndim != 1:
        hint = "; pass np.ravel(y)" if labels.ndim == 2 and 1 in labels.shape else ""
        raise DataError(
            f"y must be 1-D, one label for each of the {n} samples, "
            f"but has {labels.ndim} dimension(s) and shape {labels.shape}{hint}"
        )
    if labels.dtype.kind in "cV":
        raise DataError(f"y must hold class labels, but its type is {labels.dtype}")
    if len(labels) != n:
        raise DataError(f"y has {len(labels)} labels, expected {n}, one for each sample")
    missing = _missing(labels)
    if len(missing):
        raise DataError(
            f"y has {len(missing)} missing or infinite label(s), the first at "
            f"position {missing[0]}; a label for each sample was expected "
            "(semi-supervised-da takes samples whose label is -1 as unlabelled)"
        )
    return labels


def _missing(labels: Cells) -> npt.NDArray[np.intp]:
    """Return the positions of missing labels."""
    if labels.dtype.kind in "fmM":
        return np.flatnonzero(~np.isfinite(labels))
    if labels.dtype.kind == "O":
        return np.flatnonzero([_is_missing(label) for label in labels])
    return np.empty(0, np.intp)


def _is_missing(label: object) -> bool:
    """Return True for None, NaN, NaT and pandas.NA."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def check_discrete(classes: Cells, n: int, entries: str = "samples") -> None:
    if classes.dtype.kind != "f" or 2 * len(classes) <= n:
        return
    if np.any(classes != np.floor(classes)):
        raise DataError(
            f"y looks continuous ({len(classes)} distinct values in {n} {entries}); "
            f"class labels were expected"
        )


def _check_class_sizes(classes: Cells, counts: npt.NDArray[np.intp], smallest: int) -> None:
    if counts.max() == 1:
        raise DataError(
            f"The number of samples must be more than the number of classes: y has {len(classes)} "
            "samples, each with its own label"
        )
    small = np.flatnonzero(counts < smallest)
    if len(small) == 0:
        return
    others = f" (and {len(small) - 1} more classes are too small)" if len(small) > 1 else ""
    raise DataError(
        f"class {shown(classes[small[0]])} has {counts[small[0]]} sample(s); each class of y needs "
        f"at least {smallest}{others}"
    )


def shown(label: object) -> str:
    """Format a label without NumPy's type."""
    return repr(label.item() if isinstance(label, np.generic) else label)


Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marks:
    """Metadata of some samples, in the samples' order.

    - weights (n,): at least 0; None means 1 for each sample
    - trials (n,): trial ids; the rows of a trial are contiguous. None means a single trial
    """

    weights: Array | None = None
    trials: Cells | None = None

    def __getitem__(self, rows: slice | Cells) -> Marks:
        """Return the metadata of samples selected by slice, index or mask."""
        return Marks(
            *(None if each is None else each[rows] for each in (self.weights, self.trials))
        )

    @property
    def codes(self) -> npt.NDArray[np.intp] | None:
        """Index of each sample's trial from 0; None for a single trial."""
        if self.trials is None:
            return None
        return np.cumsum(begins(self.trials)) - 1

    def before(self, later: Marks) -> Array:
        """Return the weight sqrt(w w') of each pair of samples with the weights w and w'."""
        together = True if self.trials is None else self.trials == later.trials
        if self.weights is None or later.weights is None:
            return np.asarray(together, dtype=np.float64)
        return np.asarray(np.sqrt(self.weights) * np.sqrt(later.weights) * together)

    def followed_by(self, later: Marks) -> Marks:
        """Join the metadata with the metadata of later samples."""
        pairs = ((self.weights, later.weights), (self.trials, later.trials))
        return Marks(*(None if a is None else np.concatenate([a, b]) for a, b in pairs))


def as_weights(given: Given, n: int) -> Array:
    """Check the weights of n rows.

    - raises DataError: The weights are not n finite numbers >= 0 or are all zero, or rounding
      errors dominate because weights differ too much or are too far from 1.
    """
    weights = as_array(given, "sample_weight")
    check_real(weights.dtype, "sample_weight")
    if weights.shape != (n,):
        raise DataError(
            f"sample_weight has shape {weights.shape}, expected ({n},): one weight for each row"
        )
    weights = weights.astype(np.float64)
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(
            f"sample_weight has {len(wrong)} weight(s) that are negative or not finite, the first "
            f"is {weights[wrong[0]]} in row {wrong[0]}; numbers >= 0 were expected"
        )
    if not weights.any():
        raise DataError("sample_weight is zero in every row, expected at least one positive weight")
    largest, least = float(weights.max()), float(weights[weights > 0].min())
    ratio = 1.0 / FACTOR_ROUNDING  # smaller weights could be lost in rounding errors of sums
    if not FACTOR_ROUNDING <= largest <= ratio:
        raise DataError(
            f"the largest sample_weight is {largest:.3g}, expected between {FACTOR_ROUNDING:.0e} "
            f"and {ratio:.0e}; divide all weights by the largest"
        )
    if largest * FACTOR_ROUNDING > least:
        raise DataError(
            f"positive entries of sample_weight range from {least:.3g} to {largest:.3g}, expected "
            f"a ratio of at most {ratio:.0e}; give weight 0 to rows that do not count"
        )
    return weights


def begins(trials: Cells) -> npt.NDArray[np.bool_]:
    """Return a mask that is True at the first row of each trial; a trial's rows are contiguous."""
    return np.append(True, trials[1:] != trials[:-1])


def as_trials(given: Given, n: int) -> Cells:
    """Check the trial ids of n rows."""
    ids = as_array(given, "groups")
    if ids.shape != (n,):
        raise DataError(
            f"groups has shape {ids.shape}, expected ({n},): one trial label per row. To hold out "
            "sessions of trials, pass folds=PredefinedSplit(session) with a number for each trial"
        )
    if len(missing := _missing(ids)):
        raise DataError(
            f"groups has {len(missing)} missing entries, the first at position {missing[0]}; the "
            "trial of each sample was expected"
        )
    first = ids[begins(ids)]
    distinct, times = np.unique(first, return_counts=True)
    if len(distinct) < len(first):
        raise DataError(
            f"groups: the rows of trial {distinct[np.argmax(times)]} are not contiguous; sort the "
            "rows by trial, and by time within each trial"
        )
    return ids
