"""The data as rows, whatever they come in, read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ldr.objectives.accelerator import Accelerator
from ldr.objectives.pieces import PIECE_NUMBERS, fold, workers_for
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.limits import check

Array = npt.NDArray[np.float64]
Term = TypeVar("Term")

# A block of 8 MiB stays in the last-level cache with its centred copy, and is long enough for each
# product to pay for waking BLAS's threads.
_BLOCK_NUMBERS = 2**20

_REAL_KINDS = "biuf"


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of data behind one small interface; made by `as_samples`, never changed.

    Attributes
    ----------
    array : ndarray, memmap or scipy.sparse.csr_array, shape (n, d)
        The data as given, in their own type. Nothing here copies more than a block of them.
    feature_names : tuple of str or None
        Names of the columns, where the data came with names.
    name : str
        What the caller calls the data, for messages.
    has_nan : bool
        Whether NaN (missing values) occur; only ever true with ``allow_nan=True``.
    accelerator : Accelerator or None
        Where sums over dense rows are computed; None is the processor.
    """

    array: Any
    feature_names: tuple[str, ...] | None = None
    name: str = "X"
    has_nan: bool = False
    accelerator: Accelerator | None = None

    @property
    def n(self) -> int:
        """Number of samples (rows)."""
        return int(self.array.shape[0])

    @property
    def n_known(self) -> bool:
        """Whether n is known without reading all rows; of a stream it is not."""
        return True

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read as often as a method asks for them."""
        return True

    @property
    def d(self) -> int:
        """Number of features (columns)."""
        return int(self.array.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return self.n, self.d

    @property
    def is_sparse(self) -> bool:
        """Whether the data are a sparse matrix."""
        return not isinstance(self.array, np.ndarray)

    @property
    def stored(self) -> bool:
        """Whether rows are read only when they are asked for: each pass over them costs."""
        return False

    @property
    def block_rows(self) -> int:
        """Rows in a block where the caller does not say."""
        if self.is_sparse:
            return max(1, _BLOCK_NUMBERS * self.n // max(1, int(self.array.nnz)))
        return max(1, _BLOCK_NUMBERS // self.d)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"Samples({self.name}: {self.n} x {self.d}, {self.array.dtype}, {kind})"

    def rows(self, where: slice) -> Any:
        """Rows of a slice: a float64 C-contiguous array (a view where it can be one) or csr."""
        if self.is_sparse:
            return self.array[where].astype(np.float64, copy=False)
        # asarray strips the memmap subclass, whose slicing is slow; it does not load anything.
        return np.ascontiguousarray(np.asarray(self.array)[where], dtype=np.float64)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Any]]:
        """Walk over the rows in order.

        Parameters
        ----------
        rows : int, optional
            Rows in a block; by default so many that a block stays in cache. The last block
            may be shorter.

        Yields
        ------
        slice
            Which rows.
        ndarray or csr_array, shape (at most rows, d)
            Those rows in float64: C-contiguous, and a view where the data already are so (do
            not write to it); csr where the data are sparse.
        """
        for where in self.slices(rows):
            check()
            yield where, self.rows(where)

    def slices(self, rows: int | None = None) -> Iterator[slice]:
        """Give the slices of `blocks`, without reading anything."""
        step = self.block_rows if rows is None else rows
        if step < 1:
            raise ArgumentError(f"rows must be at least 1, got {rows}")
        for start in range(0, self.n, step):
            yield slice(start, min(start + step, self.n))

    def pieces(self) -> list[slice]:
        """Pieces of the rows that fit into memory; one, of data that are small or sparse."""
        if self.is_sparse:
            return [slice(0, self.n)]
        return list(self.slices(max(1, PIECE_NUMBERS // self.d)))

    def piece(self, where: slice) -> Samples:
        """Rows of a slice as samples in memory, in their own type."""
        if where == slice(0, self.n):
            return self
        return replace(self, array=self.array[where])

    def reduce(
        self,
        term: Callable[..., Term],
        merge: Callable[[Term, Term], Term],
        *beside: Samples | npt.NDArray[Any],
    ) -> Term:
        """Sum a term over pieces of the rows, in threads; see `fold`.

        Parameters
        ----------
        term : callable
            Of a piece (Samples in memory) and of what stands beside its rows.
        merge : callable
            Of the terms of two neighbouring pieces, the earlier first; it may change the earlier.
        *beside : Samples or ndarray, n rows each
            Other views, labels; cut as the rows are.
        """

        def read(where: slice) -> tuple[Any, ...]:
            return self.piece(where), *(cut(other, where) for other in beside)

        pieces = self.pieces()
        if len(pieces) == 1:
            return term(*read(pieces[0]))
        return fold(term, merge, (partial(read, where) for where in pieces), workers_for(self.d))

    def taken(self, allow_nan: bool) -> Samples:
        """These samples, by a method that can use missing values or one that cannot.

        Raises
        ------
        DataError
            It cannot, and there are some.
        """
        if self.has_nan and not allow_nan:
            raise DataError(f"{self.name} has missing values (NaN), which this method cannot use")
        return self

    def in_memory(self) -> Samples:
        """Samples of the same rows whose `array` holds them."""
        return self

    def dense(self) -> Array:
        """All rows as one float64 array, shape (n, d); a view where possible.

        Raises
        ------
        DataError
            The data are sparse.
        """
        if self.is_sparse:
            raise DataError(
                f"{self.name} is sparse ({self.n} x {self.d}) and is never made dense here; "
                f"this computation needs a dense array: pass {self.name}.toarray() if it fits"
            )
        return np.asarray(self.array, dtype=np.float64)

    def take(self, rows: npt.ArrayLike) -> Samples:
        """Samples of some rows, by index or boolean mask; copies those rows."""
        picked = self.array[np.asarray(rows)]
        array = picked if self.is_sparse else np.asarray(picked)
        return Samples(array, self.feature_names, self.name, self.has_nan)

    def centred_times(self, V: Array, mean: Array) -> Array:
        """(X - 1 mean') V, in O(n d r) and with no copy of X larger than a block.

        Parameters
        ----------
        V : ndarray, shape (d, r) or (d,)
        mean : ndarray, shape (d,)

        Returns
        -------
        ndarray, shape (n, r) or (n,)
            Dense rows are centred before the product, so a large mean costs no digits. For
            sparse rows it is X V - 1 (mean'V).
        """
        V = np.asarray(V, dtype=np.float64)
        if self.is_sparse:
            return np.asarray(self.array @ V - mean @ V)
        product = np.empty((self.n, *V.shape[1:]))
        for where, block in self.blocks():
            np.matmul(block - mean, V, out=product[where])
        return product

    def centred_transpose_times(self, Y: Array, mean: Array) -> Array:
        """(X - 1 mean')' Y, in O(n d r) and with no copy of X larger than a block.

        Parameters
        ----------
        Y : ndarray, shape (n, r) or (n,)
        mean : ndarray, shape (d,)

        Returns
        -------
        ndarray, shape (d, r) or (d,)
            Dense rows are centred before the product. For sparse rows it is
            X'Y - mean (1'Y).
        """
        Y = np.asarray(Y, dtype=np.float64)
        if self.is_sparse:
            return np.asarray(self.array.T @ Y - np.multiply.outer(mean, Y.sum(axis=0)))
        product = np.zeros((self.d, *Y.shape[1:]))
        for where, block in self.blocks():
            product += (block - mean).T @ Y[where]
        return product


def cut(beside: Samples | npt.NDArray[Any], where: slice) -> Any:
    """Rows of a slice of what stands beside samples."""
    return beside.piece(where) if isinstance(beside, Samples) else beside[where]


def as_samples(
    X: Any, name: str = "X", minimum_rows: int = 2, *, allow_nan: bool = False
) -> Samples:
    """Take data in any of the usual containers and check them.

    Parameters
    ----------
    X : array-like, shape (n, d)
        An array of any real type, a memory map, a list of lists, a scipy.sparse matrix or array
        (kept sparse), a data frame with numeric columns, or what `open_source` takes: the path of a
        file, a list of arrays or paths, an iterator of blocks of rows, whose rows are read and
        checked piece by piece when a method asks for them. Never changed. A `Samples` is returned
        as it is.
    name : str
        The argument's name in messages.
    minimum_rows : int
        The fewest rows that the caller can use.
    allow_nan : bool
        Accept NaN as missing values. Infinite values are always refused.

    Returns
    -------
    Samples

    Raises
    ------
    DataError
        Not two-dimensional; no rows, too few rows or no columns; not real numbers; a masked
        array; NaN or infinite values (read block by block).
    """
    if isinstance(X, Samples):
        if X.n_known:
            _check_shape(X, X.name, minimum_rows)
        return X.taken(allow_nan)
    stored = open_stored(X, name, minimum_rows, allow_nan)
    if stored is not None:
        if stored.n_known:
            _check_shape(stored, name, minimum_rows)
        return stored
    array, feature_names = open_matrix(X, name)
    _check_shape(array, name, minimum_rows)
    if hasattr(array, "tocsr"):
        array = _as_csr(array)
    samples = Samples(array, feature_names, name)
    has_nan = check_finite(samples, allow_nan)
    return Samples(array, feature_names, name, has_nan)


def open_stored(X: Any, name: str, minimum_rows: int, allow_nan: bool) -> Samples | None:
    """Samples of data that are larger than memory, if X stands for such data."""
    from ldr.objectives.opening import open_source

    found = open_source(X, name, minimum_rows)
    return None if found is None else replace(found, allow_nan=allow_nan)


def open_matrix(X: Any, name: str) -> tuple[Any, tuple[str, ...] | None]:
    """A matrix of real numbers of any size out of its container, and the columns' names if any.

    Raises
    ------
    DataError
        Not two-dimensional, or not real numbers.
    """
    array, feature_names = _open(X, name)
    check_dimensions(array, name)
    check_real(array, name)
    return array, feature_names


def _open(X: Any, name: str) -> tuple[Any, tuple[str, ...] | None]:
    """Unwrap the container: an ndarray or sparse matrix, and the columns' names if any."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array; a plain array was expected "
            f"(fill it, or drop the masked rows)"
        )
    if isinstance(X, np.memmap) or hasattr(X, "tocsr"):
        return X, None
    if type(X).__name__ == "LazyFrame":
        raise DataError(f"{name} is a LazyFrame, whose rows are not there yet: {name}.collect()")
    if all(hasattr(X, attribute) for attribute in ("columns", "dtypes", "to_numpy")):
        return open_frame(X, name)
    try:
        return np.asarray(X), None
    except ValueError as error:  # rows of unequal lengths
        raise DataError(
            f"{name} could not be read as a 2-D array of numbers ({error}); "
            f"samples in rows of equal length were expected"
        ) from error


def open_frame(frame: Any, name: str) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
    """Array and column names of a pandas or polars data frame (known by what they can do)."""
    names = tuple(str(column) for column in frame.columns)
    for column, dtype in zip(names, frame.dtypes, strict=True):
        if not _is_real_dtype(dtype):
            raise DataError(
                f"{name} has a column {column!r} of type {dtype}; numeric columns were expected"
            )
    array = np.asarray(frame.to_numpy())
    if array.dtype.kind not in _REAL_KINDS:
        # Columns of several types, or nullable ones, come out as objects.
        array = np.column_stack([_column(frame, j) for j in range(len(names))])
    return array, names


def _is_real_dtype(dtype: Any) -> bool:
    """Whether a column's type (numpy, pandas extension or polars) holds real numbers."""
    if callable(getattr(dtype, "is_numeric", None)):
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in _REAL_KINDS


def _column(frame: Any, j: int) -> Array:
    """Return column j of a data frame in float64, missing values as NaN."""
    if hasattr(frame, "iloc"):
        column = frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        column = frame[frame.columns[j]].to_numpy()
    return np.asarray(column, dtype=np.float64)


def _as_csr(matrix: Any) -> Any:
    """Any scipy.sparse container as csr_array, sharing memory where it is csr already.

    Entries that stand more than once are summed, in a copy: the user's matrix stays as it is.
    """
    from scipy.sparse import csr_array

    csr = csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_dimensions(array: Any, name: str) -> None:
    if array.ndim == 2:
        return
    hint = f"; for one feature pass {name}.reshape(-1, 1)" if array.ndim == 1 else ""
    raise DataError(
        f"{name} must be 2-D (samples in rows, features in columns), "
        f"but has {array.ndim} dimension(s) and shape {tuple(array.shape)}{hint}"
    )


def check_real(array: Any, name: str) -> None:
    if array.dtype.kind not in _REAL_KINDS:
        raise DataError(f"{name} must hold real numbers, but its type is {array.dtype}")


def _check_shape(array: Any, name: str, minimum_rows: int) -> None:
    n, d = array.shape
    if n == 0 or d == 0:
        missing = "rows (samples)" if n == 0 else "columns (features)"
        raise DataError(f"{name} is empty: its shape is ({n}, {d}), it has no {missing}")
    if n < minimum_rows:
        raise DataError(
            f"{name} has {n} row(s) (samples); at least {minimum_rows} are needed "
            f"(samples go in rows: shape (n, d), got ({n}, {d}))"
        )


def check_squares(samples: Samples) -> None:
    """Refuse data so large or so small that their sums of squares would not be numbers.

    Stored samples check that themselves, as they are read.

    Raises
    ------
    DataError
        The largest entry is above 1e130 or (zero excepted) below 1e-130.
    """
    if not samples.stored:
        check_largest(largest_entry(samples), samples.name)


def largest_entry(samples: Samples) -> float:
    """The largest absolute value."""
    largest = 0.0
    for _, block in samples.blocks():
        values = block.data if samples.is_sparse else block
        if values.size:
            largest = max(largest, float(values.max()), -float(values.min()))
    return largest


def largest_wide_entry(samples: Samples) -> float:
    """The largest absolute value; 0 of types whose squares are numbers whatever the value."""
    wide = samples.array.dtype.kind == "f" and samples.array.dtype.itemsize >= 8
    return largest_entry(samples) if wide else 0.0


def check_largest(largest: float, name: str) -> None:
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise DataError(
            f"{name} has a largest entry of {largest:.1e}; between {SMALLEST:.0e} and "
            f"{LARGEST:.0e} was expected, so that squares can be summed: change the unit"
        )


def check_finite(samples: Samples, allow_nan: bool, first_row: int = 0) -> bool:
    """Refuse infinite values, and NaN unless allowed; return whether NaN occur.

    `first_row` is the number of the first row in the whole of the data, for the message.
    """
    if samples.array.dtype.kind != "f":
        return False
    bad, first, has_nan = 0, (0, 0), False
    for start, values in _float_pieces(samples):
        # One sum is far cheaper than a test of each number; if it overflows, the test decides.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                continue
        nan = np.isnan(values)
        has_nan = has_nan or bool(nan.any())
        wrong = np.isinf(values) if allow_nan else nan | np.isinf(values)
        found = np.argwhere(wrong)
        if bad == 0 and len(found):
            first = _position(samples, start, found[0])
        bad += len(found)
    if bad:
        row, column = first
        _raise_not_finite(samples, bad, (first_row + row, column), allow_nan)
    return has_nan


def _float_pieces(samples: Samples) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Pieces of the stored numbers in their own type, with the place where each starts."""
    if samples.is_sparse:
        for start in range(0, len(samples.array.data), _BLOCK_NUMBERS):
            yield start, samples.array.data[start : start + _BLOCK_NUMBERS]
        return
    array = np.asarray(samples.array)
    for where in samples.slices(max(1, _BLOCK_NUMBERS // samples.d)):
        yield where.start, array[where]


def _position(samples: Samples, start: int, found: npt.NDArray[np.intp]) -> tuple[int, int]:
    """Row and column of an element found in a piece."""
    if not samples.is_sparse:
        return start + int(found[0]), int(found[1])
    stored = start + int(found[0])
    row = int(np.searchsorted(samples.array.indptr, stored, side="right")) - 1
    return row, int(samples.array.indices[stored])


def _raise_not_finite(samples: Samples, bad: int, first: tuple[int, int], allow_nan: bool) -> None:
    row, column = first
    names = samples.feature_names
    feature = f" ({names[column]!r})" if names else ""
    what = "infinite" if allow_nan else "NaN or infinite"
    raise DataError(
        f"{samples.name} has {bad} {what} value(s), the first in row {row}, "
        f"column {column}{feature}; finite numbers were expected"
    )


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
    classes: npt.NDArray[Any]

    @classmethod
    def of(cls, y: Any, n: int, classes: npt.NDArray[Any], name: str = "y") -> CodedLabels:
        """
        Raises
        ------
        DataError
            Not n labels, or a label that is none of the classes.
        """
        labels = _open_labels(y, n, name)
        codes = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
        unknown = np.flatnonzero(classes[codes] != labels)
        if len(unknown):
            raise DataError(
                f"{name} has the label {_show(labels[unknown[0]])}, which is none of the classes: "
                "all of them are to be named in the first call, classes="
            )
        return cls(codes, classes)


def as_labels(
    y: Any, n: int, name: str = "y", *, smallest_class: int = 2
) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Class labels as codes 0..c-1.

    Parameters
    ----------
    y : array-like, shape (n,)
        Strings, integers, booleans, whole floats, or a pandas Series or Categorical; or
        `CodedLabels`, which are taken as they are.
    n : int
        Number of samples the labels belong to.
    name : str
        The argument's name in messages.
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
    labels = _open_labels(y, n, name)
    try:
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise DataError(
            f"{name} mixes labels that cannot be compared ({error}); "
            f"labels of one type were expected"
        ) from error
    _check_discrete(classes, n, name)
    if len(classes) < 2:
        raise DataError(
            f"{name} has a single class ({_show(classes[0])}); at least two were expected"
        )
    _check_class_sizes(classes, counts, name, smallest_class)
    return codes.reshape(-1).astype(np.intp, copy=False), classes


def as_array(y: Any, name: str = "y") -> npt.NDArray[Any]:
    """Labels or a response as an array of one entry or row a sample, of whatever type.

    Raises
    ------
    DataError
        A masked array, a sparse matrix, rows of unequal lengths, or what is no array at all.
    """
    if isinstance(y, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array; a plain array was expected (fill it, or drop the masked "
            "rows)"
        )
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


def _open_labels(y: Any, n: int, name: str) -> npt.NDArray[Any]:
    """Labels as a 1-D array of n, none missing."""
    labels = as_array(y, name)
    if labels.ndim != 1:
        hint = f"; pass {name}.ravel()" if labels.ndim == 2 and 1 in labels.shape else ""
        raise DataError(
            f"{name} must be 1-D, one label for each of the {n} samples, "
            f"but has {labels.ndim} dimension(s) and shape {labels.shape}{hint}"
        )
    if len(labels) != n:
        raise DataError(f"{name} has {len(labels)} labels for {n} samples")
    if labels.dtype.kind in "cV":
        raise DataError(f"{name} must hold class labels, but its type is {labels.dtype}")
    missing = np.flatnonzero(_missing(labels))
    if len(missing):
        raise DataError(
            f"{name} has {len(missing)} missing or infinite label(s), the first at "
            f"position {missing[0]}; a label for each sample was expected"
        )
    return labels


def _missing(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype.kind == "O":
        return np.array([_is_missing(label) for label in labels], dtype=bool)
    return np.zeros(len(labels), dtype=bool)


def _is_missing(label: Any) -> bool:
    """None, NaN, NaT, or pandas.NA (whose comparisons have no truth value)."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def _check_discrete(classes: npt.NDArray[Any], n: int, name: str) -> None:
    if classes.dtype.kind != "f" or 2 * len(classes) <= n:
        return
    if np.any(classes != np.floor(classes)):
        raise DataError(
            f"{name} looks continuous ({len(classes)} distinct values in {n} samples); "
            f"class labels were expected"
        )


def _check_class_sizes(
    classes: npt.NDArray[Any], counts: npt.NDArray[np.intp], name: str, smallest: int
) -> None:
    small = np.flatnonzero(counts < smallest)
    if len(small) == 0:
        return
    others = f" (and {len(small) - 1} more classes are too small)" if len(small) > 1 else ""
    raise DataError(
        f"{name}: class {_show(classes[small[0]])} has {counts[small[0]]} sample(s); "
        f"at least {smallest} in each class are needed{others}"
    )


def _show(label: Any) -> str:
    """Show a label as the caller wrote it, without NumPy's type around it."""
    return repr(label.item() if isinstance(label, np.generic) else label)
