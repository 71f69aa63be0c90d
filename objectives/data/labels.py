"""Labels of rows as codes of classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, CodedCells, Column, check_unmasked
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """Labels of some rows as codes of classes that are known, though not all need occur.

    Attributes
    ----------
    codes : ndarray of int, shape (n,)
    classes : ndarray, shape (c,)
        Sorted.
    """

    codes: npt.NDArray[np.intp]
    classes: Cells

    @classmethod
    def of(cls, y: object, n: int, classes: Cells) -> CodedLabels:
        """
        Raises
        ------
        DataError
            Not n labels, or a label that is none of the classes.
        """
        labels = np.asarray(_open_labels(y, n))
        codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        unknown = np.flatnonzero(classes[codes] != labels)
        if len(unknown):
            raise DataError(
                f"y has the label {_show(labels[unknown[0]])}, which is none of the classes: "
                "all of them are to be named in the first call, classes="
            )
        return cls(codes, classes)


def as_labels(y: object, n: int, *, smallest_class: int = 2) -> tuple[npt.NDArray[np.intp], Cells]:
    """Class labels as codes 0..c-1.

    Parameters
    ----------
    y : array-like, shape (n,)
        Strings, integers, booleans, whole floats, or a pandas Series or Categorical; or
        `CodedLabels`, which are taken as they are.
    n : int
        Number of samples the labels belong to.
    smallest_class : int
        The fewest samples a class may have.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        The class of each sample.
    classes : ndarray, shape (c,)
        The sorted labels: ``classes[codes]`` is y.

    Raises
    ------
    DataError
        Not 1-D, another length, missing labels, numbers that look continuous, labels that
        cannot be ordered, a single class, or a class that is too small.
    """
    if isinstance(y, CodedLabels):
        return y.codes, y.classes
    labels = _open_labels(y, n)
    classes, codes, counts = distinct(labels, "y")
    _check_discrete(classes, n)
    if len(classes) < 2:
        found = f"a single class ({_show(classes[0])})" if len(classes) else "no labels"
        raise DataError(f"y has {found}; at least two classes were expected")
    _check_class_sizes(classes, counts, smallest_class)
    return codes.reshape(-1).astype(np.intp, copy=False), classes


def as_array(y: object, name: str = "y") -> Cells:
    """Labels or a response as an array of one entry or row a sample, of whatever type.

    Raises
    ------
    DataError
        A masked array, a sparse matrix, rows of unequal lengths, or what is no array at all.
    """
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
        raise DataError(f"{name} must hold an entry for each sample, but is one {type(y).__name__}")
    return array


def distinct(labels: Column, name: str) -> tuple[Cells, ...]:
    """The sorted classes, the class of each label, and how many labels a class has.

    Raises
    ------
    DataError
        Labels that cannot be ordered.
    """
    try:
        if isinstance(labels, np.ndarray) and labels.ndim == 1:
            labels = _coded(labels)
        if isinstance(labels, np.ndarray):
            return np.unique(labels, return_inverse=True, return_counts=True)
        counts = np.bincount(labels.codes, minlength=len(labels.entries))
        if counts.all() and (labels.entries[:-1] < labels.entries[1:]).all():
            return labels.entries, labels.codes, counts
        occurring = counts > 0
        classes, places = np.unique(labels.entries[occurring], return_inverse=True)
        place = np.zeros(len(occurring), dtype=np.intp)
        place[occurring] = places.reshape(-1)
        codes = place[labels.codes]
        return classes, codes, np.bincount(codes, minlength=len(classes))
    except TypeError as error:
        raise DataError(
            f"{name} mixes labels that cannot be compared ({error}); "
            f"labels of one type were expected"
        ) from error


def _coded(labels: Cells) -> Column:
    """Objects, and integers no further apart than there are labels: sorting them takes longer."""
    kind = labels.dtype.kind
    if kind == "O":
        return CodedCells.of(labels)
    if kind in "iu" and len(labels) and np.can_cast(labels.dtype, np.intp):
        least, most = int(labels.min()), int(labels.max())
        if most - least < len(labels):
            between = (least + np.arange(most - least + 1)).astype(labels.dtype)
            return CodedCells(between, np.subtract(labels, least, dtype=np.intp))
    return labels


def _open_labels(y: object, n: int) -> Column:
    """n labels in one dimension, none missing; objects as codes, where they can be looked up."""
    labels = y if isinstance(y, CodedCells) else _in_one_dimension(as_array(y), n)
    if len(labels) != n:
        raise DataError(f"y has {len(labels)} labels for {n} samples")
    missing = _missing(labels)
    if len(missing):
        raise DataError(
            f"y has {len(missing)} missing or infinite label(s), the first at "
            f"position {missing[0]}; a label for each sample was expected"
        )
    return labels


def _in_one_dimension(labels: Cells, n: int) -> Column:
    if labels.ndim != 1:
        hint = "; pass y.ravel()" if labels.ndim == 2 and 1 in labels.shape else ""
        raise DataError(
            f"y must be 1-D, one label for each of the {n} samples, "
            f"but has {labels.ndim} dimension(s) and shape {labels.shape}{hint}"
        )
    if labels.dtype.kind in "cV":
        raise DataError(f"y must hold class labels, but its type is {labels.dtype}")
    if labels.dtype.kind != "O":
        return labels
    try:
        return CodedCells.of(labels)
    except TypeError:
        return labels


def _missing(labels: Column) -> npt.NDArray[np.intp]:
    """Where there is no label."""
    if isinstance(labels, CodedCells):
        absent = np.zeros(len(labels.entries), dtype=bool)
        absent[_missing(labels.entries)] = True
        return np.flatnonzero(absent[labels.codes]) if absent.any() else np.empty(0, np.intp)
    if labels.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(labels))
    if labels.dtype.kind in "mM":
        return np.flatnonzero(np.isnat(labels))
    if labels.dtype.kind == "O":
        return np.flatnonzero([_is_missing(label) for label in labels])
    return np.empty(0, np.intp)


def _is_missing(label: object) -> bool:
    """None, NaN, NaT, or pandas.NA (whose comparisons have no truth value)."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def _check_discrete(classes: Cells, n: int) -> None:
    if classes.dtype.kind != "f" or 2 * len(classes) <= n:
        return
    if np.any(classes != np.floor(classes)):
        raise DataError(
            f"y looks continuous ({len(classes)} distinct values in {n} samples); "
            f"class labels were expected"
        )


def _check_class_sizes(classes: Cells, counts: npt.NDArray[np.intp], smallest: int) -> None:
    small = np.flatnonzero(counts < smallest)
    if len(small) == 0:
        return
    others = f" (and {len(small) - 1} more classes are too small)" if len(small) > 1 else ""
    raise DataError(
        f"y: class {_show(classes[small[0]])} has {counts[small[0]]} sample(s); "
        f"at least {smallest} in each class are needed{others}"
    )


def _show(label: object) -> str:
    """Show a label as the caller wrote it, without NumPy's type around it."""
    return repr(label.item() if isinstance(label, np.generic) else label)
