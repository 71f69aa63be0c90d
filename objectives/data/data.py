"""Validated data: samples (rows that are read block by block), their views, and labels."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.array_types import Cells, Given, Matrix
from ldr.objectives.data.sample_metadata import Marks, as_array, as_labels
from ldr.solvers.deadline import check, one_thread, result_of
from ldr.solvers.errors import ArgumentError, DataError, MissingValuesError

Array = npt.NDArray[np.float64]
Term = TypeVar("Term")
Merge: TypeAlias = Callable[[Term, Term], Term]
# Number of entries in a block and in a chunk of data (16 MiB); threads and file readers process
# whole chunks.
BLOCK_NUMBERS = 2**21
# Largest number d of columns for which a d x d array counts as small (200 MB). Then each thread
# has its own array, and sparse data get a dense covariance.
WIDE = 5000
# Largest order of a d x d or n x n array (32 MB) that is preferred to products or approximations.
DENSE = 2000


def piece_rows(columns: int) -> int:
    """Return the number of rows in a chunk with this many columns."""
    return max(1, BLOCK_NUMBERS // max(1, columns))


@dataclass(frozen=True, eq=False)
class Samples:
    """Rows of data behind a common interface, created by `as_samples`; immutable.

    - array (n, d): the data as given, in their own dtype. Methods copy at most a block of rows.
    - feature_names: names of the columns, if the data have names
    - name: name of the data in messages
    - has_nan: True if NaN (missing values) occur, which requires ``allow_nan=True``
    - accelerator: device for sums over dense rows; None means the processor
    - marks: weights and trials of the rows; None if all weights are 1 and there is a single trial
    - in_range: True if the squares of the entries are known to be finite
    - by_products: True if large d x d arrays are avoided
    """

    # n_known: the number of rows n is known before reading. repeatable: rows can be read twice.
    # stored: rows are in a file, so that each pass takes time.
    n_known: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    stored: ClassVar[bool] = False

    array: Given
    feature_names: tuple[str, ...] | None = None
    name: str = "X"
    has_nan: bool = False
    accelerator: Accelerator | None = None
    marks: Marks | None = None
    by_products: bool = True
    in_range: bool = False

    @cached_property
    def n(self) -> int:
        """Number of samples (rows)."""
        return int(self.array.shape[0])

    @property
    def runs(self) -> list[slice]:
        """Slices of successive rows of positive weight within a trial."""
        there = np.ones(self.n, dtype=bool) if self.weights is None else self.weights > 0
        codes = None if self.marks is None else self.marks.codes
        cuts = there[1:] != there[:-1]
        if codes is not None:
            cuts |= codes[1:] != codes[:-1]
        ends = [0, *(np.flatnonzero(cuts) + 1), self.n]
        return [slice(a, b) for a, b in pairwise(ends) if there[a]]

    @cached_property
    def weights(self) -> Array | None:
        """Weights of the rows, shape (n,); None if every weight is 1."""
        return None if self.marks is None else self.marks.weights

    @property
    def weight(self) -> float:
        """Sum of the rows' weights; n without weights."""
        return self.n if self.weights is None else float(self.weights.sum())

    @property
    def counting(self) -> int:
        """Number of rows with positive weight."""
        return self.n if self.weights is None else int(np.count_nonzero(self.weights))

    def marked(self, rows: slice | Cells) -> Marks | None:
        """Return the metadata of some rows, given by a slice, an index or a mask."""
        return None if self.marks is None else self.marks[rows]

    @cached_property
    def d(self) -> int:
        """Number of features (columns)."""
        return int(self.array.shape[1])

    def expect_rows(self, beside: object) -> None:
        """Set the number of rows of a stream to the length of the labels `beside`."""

    def expect_columns(self, d: int) -> None:
        """Refuse data whose number of columns is not d, that of the solved data."""
        if self.d != d:
            raise ArgumentError(
                f"{self.name} has {self.d} columns, expected {d}, as in the data of the fit"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows n and of columns d."""
        return self.n, self.d

    @cached_property
    def is_sparse(self) -> bool:
        """True if the data are a sparse matrix."""
        return not isinstance(self.array, np.ndarray)

    @property
    def wide(self) -> bool:
        """True if the data are sparse, and both d x d and n x n arrays would be large."""
        return self.by_products and self.is_sparse and min(self.shape) > WIDE

    @property
    def is_small(self) -> bool:
        """True if a dense array of all rows is small: n d <= `WIDE`^2."""
        return self.n * self.d <= WIDE**2

    @property
    def in_pieces(self) -> bool:
        """True if n >= d and the rows are read from files at each pass."""
        return self.stored and self.n >= self.d

    @property
    def block_rows(self) -> int:
        """Default number of rows in a block."""
        if self.is_sparse:
            return max(1, BLOCK_NUMBERS * self.n // max(1, int(self.array.nnz)))
        return piece_rows(self.d)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return f"Samples({self.name}: {self.n} x {self.d}, {self.array.dtype}, {kind})"

    def rows(self, where: slice) -> Matrix:
        """Return a slice of rows: a C-contiguous float64 array (a view if possible) or csr."""
        if self.is_sparse:
            return self.array[where].astype(np.float64, copy=False)
        # Slicing a memmap is slow; asarray gives a plain array without reading data.
        return np.ascontiguousarray(np.asarray(self.array)[where], dtype=np.float64)

    def less(self, shift: Array | None) -> Array:
        """Return the rows of a dense chunk in float64 minus a shift; without shift, a view."""
        return self.dense() if shift is None else np.subtract(self.array, shift, dtype=np.float64)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Matrix]]:
        """Yield slices and blocks of the rows in order.

        - rows: rows per block, by default as many as fit into the cache; the last may be shorter
        - yields: slice of the block's rows.
        - yields (at most rows, d): the block in float64, C-contiguous, and csr for sparse data. A
          block may be a view of the data and must not be changed.
        """
        if 0 < self.n <= (self.block_rows if rows is None else rows):
            check()
            yield slice(0, self.n), self.rows(slice(0, self.n))
            return
        for where in self.slices(rows):
            check()
            yield where, self.rows(where)

    def slices(self, rows: int | None = None) -> Iterator[slice]:
        """Yield the slices of `blocks` without reading data."""
        step = self.block_rows if rows is None else rows
        if step < 1:
            raise ArgumentError(f"rows must be at least 1, got {rows}")
        for start in range(0, self.n, step):
            yield slice(start, min(start + step, self.n))

    def piece(self, where: slice) -> Samples:
        """Return the rows of a slice as samples in memory, with the dtype of the data."""
        if where == slice(0, self.n):
            return self
        return replace(self, array=self.array[where], marks=self.marked(where))

    def walk(self, *beside: Beside, rows: int | None = None) -> Iterator[tuple[Beside, ...]]:
        """Yield chunks of the rows in order, with the same rows of other arrays.

        - *beside: the other arrays: further views, labels
        - rows: largest number of rows in a chunk; by default, sparse data are one chunk
        """
        most = rows or (max(1, self.n) if self.is_sparse else piece_rows(self.d))
        for where in self.slices(most):
            yield self.piece(where), *(cut(other, where) for other in beside)

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        """Sum a term over chunks of the rows, in threads; see `fold`.

        - term: function of a chunk (Samples in memory) and of the same rows of other arrays
        - merge: function of the terms of two neighbouring chunks, in order; it may change the first
        """
        if not self.stored and (self.is_sparse or self.n <= piece_rows(self.d)):
            check()
            return term(self, *[cut(other, slice(0, self.n)) for other in beside])
        workers = os.cpu_count() or 1 if self.d <= WIDE else 1
        return fold(term, merge, self.walk(*beside), workers)

    def in_turn(
        self, rows: int, order: np.random.Generator, *beside: Beside
    ) -> Iterator[tuple[Given, ...]]:
        """Yield chunks of `rows` rows in random order, with the same rows of other arrays."""
        pieces = list(self.slices(rows))
        for i in order.permutation(len(pieces)):
            yield self.piece(pieces[i]), *(cut(other, pieces[i]) for other in beside)

    def taken(self, allow_nan: bool) -> Samples:
        """Return the samples; refuse missing values unless `allow_nan`."""
        if self.has_nan and not allow_nan:
            raise MissingValuesError(
                f"{self.name} has missing values (NaN), which this method cannot use"
            )
        return self

    def in_memory(self) -> Samples:
        """Return samples of the same rows with an `array` in memory."""
        return self

    def dense(self) -> Array:
        """Return all rows as a float64 array (n, d), a view if possible."""
        if self.is_sparse:
            raise DataError(
                f"{self.name} is sparse ({self.n} x {self.d}), but this computation needs a dense "
                f"array: pass {self.name}.toarray() if it fits into memory"
            )
        return np.asarray(self.array, dtype=np.float64)

    def dense_if_few(self) -> Array:
        """Return `dense`; small sparse data are made dense, large sparse data refused."""
        if not self.is_sparse or not self.is_small:
            return self.dense()
        return np.asarray(self.array.toarray(), dtype=np.float64)

    def take(self, rows: npt.ArrayLike) -> Samples:
        """Return copies of some rows as samples, by index or boolean mask."""
        rows = np.asarray(rows)
        picked = self.array[rows]
        array = picked if self.is_sparse else np.asarray(picked)
        marks = self.marked(rows)
        return Samples(array, self.feature_names, self.name, self.has_nan, marks=marks)

    def centred_times(self, V: Array, mean: Array) -> Array:
        """Return (X - 1 mean') V, in O(n d r) and with no copy of X larger than a block.

        - returns (n, r): Dense rows are centred before the product, so that a large mean does not
          reduce the accuracy. For sparse rows the result is X V - 1 (mean'V).
        """
        V = np.asarray(V, dtype=np.float64)
        if self.is_sparse:
            found = np.asarray(self.array @ V)
            found -= mean @ V
            return found
        product = np.empty((self.n, *V.shape[1:]))
        for where, block in self.blocks():
            np.matmul(block - mean, V, out=product[where])
        return product

    def centred_transpose_times(self, Y: Array, mean: Array) -> Array:
        """Return (X - 1 mean')' Y, in O(n d r) and with no copy of X larger than a block.

        - returns (d, r): Dense rows are centred before the product. For sparse rows the result is
          X'Y - mean (1'Y).
        """
        Y = np.asarray(Y, dtype=np.float64)
        if self.is_sparse:
            sums = np.asarray(self.array.T @ Y)
            sums -= np.multiply.outer(mean, Y.sum(axis=0))
            return sums
        product = np.zeros((self.d, *Y.shape[1:]))
        for where, block in self.blocks():
            product += (block - mean).T @ Y[where]
        return product


# A second view, labels or a response, which have one row for each sample.
Beside: TypeAlias = Samples | Cells


def cut(beside: Beside, where: slice) -> Beside:
    """Return a slice of an array or of samples."""
    return beside.piece(where) if isinstance(beside, Samples) else beside[where]


def fold(
    term: Callable[..., Term],
    merge: Callable[[Term, Term], Term],
    pieces: Iterable[tuple[object, ...]],
    workers: int,
) -> Term:
    """Merge t_i = term(*pieces[i]) from the left; the number of threads does not affect the result.

    - term: function of a chunk, which must not change the arguments
    - merge: function of two neighbouring terms, in order, which may change and return the first
    - pieces: at least one chunk; chunks are created in the caller's thread when needed
    - workers: number of threads. At most one more chunk waits, which bounds the memory
    """

    pieces = iter(pieces)
    begun = list(islice(pieces, 2))

    def terms() -> Iterator[Term]:
        if workers == 1 or len(begun) == 1:
            for piece in chain(begun, pieces):
                check()
                yield term(*piece)
            return
        waiting: deque[Future[Term]] = deque()
        with one_thread(), ThreadPoolExecutor(workers) as pool:
            try:
                for piece in chain(begun, pieces):
                    check()
                    waiting.append(pool.submit(term, *piece))
                    if len(waiting) > workers:
                        yield result_of(waiting.popleft())
                while waiting:
                    yield result_of(waiting.popleft())
            finally:
                for late in waiting:
                    late.cancel()

    found = terms()
    total = next(found)
    for later in found:
        total = merge(total, later)
    return total


class UnknownError(Exception):
    """An input of a formula is not available; callers catch the error and use another algorithm."""


def as_tuple(value: Given) -> tuple[Given, ...]:
    """Return the blocks of several views (a dict or tuple) or of a single view as a tuple."""
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, tuple) else (value,)


def single(blocks: Sequence[Given]) -> Given:
    """Return the block of a single view, or the tuple of blocks of several views."""
    return blocks[0] if len(blocks) == 1 else tuple(blocks)


@dataclass(frozen=True)
class Data:
    """Validated data: views, and labels or a response.

    Attributes
    ----------
    views : tuple of Samples
        Views of the same n samples; M has a block for each view.
    y : labels or a response, or None
    background : Samples or None
        Other samples with the same columns, such as noise. M has no block for the background.
    view_names : tuple of str
        Names of views given as a dict; otherwise empty.
    """

    views: tuple[Samples, ...]
    y: Given = None
    background: Samples | None = None
    view_names: tuple[str, ...] = ()

    @cached_property
    def samples(self) -> Samples:
        return self.views[0]

    @cached_property
    def labels(self) -> tuple[npt.NDArray[np.intp], Cells]:
        """Class codes of y, and the classes; see `as_labels`."""
        return as_labels(self.y, self.samples.n)

    @property
    def X(self) -> Given:
        """X in the form of `ldr.solve`: samples, a tuple of views, or samples and background."""
        if self.background is not None:
            return self.samples, self.background
        return single(self.views)

    def in_memory(self) -> Data:
        """Return the data with all rows in memory, for methods with random access to rows."""
        views = tuple(view.in_memory() for view in self.views)
        background = None if self.background is None else self.background.in_memory()
        return replace(self, views=views, background=background)

    def everywhere(self) -> Data:
        """Return the data, now allowing dense d x d arrays even for very wide sparse views."""
        if not any(view.wide for view in self.views):
            return self
        views = (replace(view, by_products=False) if view.wide else view for view in self.views)
        return replace(self, views=tuple(views))

    def check_y(self) -> None:
        """Refuse a y whose length is not the number of rows."""
        if self.y is not None and (entries := len(as_array(self.y))) != self.samples.n:
            raise DataError(f"y has {entries} entries, but X has {self.samples.n} rows")

    def of_rows_that_count(self) -> Data:
        """Return the data without rows of weight zero."""
        weights = self.samples.weights
        if weights is None or weights.all():
            return self
        self.check_y()
        return self.take(np.flatnonzero(weights))

    def take(self, rows: Cells) -> Data:
        """Return copies of some rows of all views, with their entries of y, by index or mask."""
        y = self.y if self.y is None else as_array(self.y)[rows]
        return replace(self, views=tuple(view.take(rows) for view in self.views), y=y)

    def on(self, device: str) -> Data:
        """Return the data with sums over rows computed on a device."""
        from ldr.objectives.data.accelerator import accelerator

        there = accelerator(device)
        views = tuple(replace(view, accelerator=there) for view in self.views)
        background = self.background and replace(self.background, accelerator=there)
        return replace(self, views=views, background=background)

    def require(self, need: str, name: str) -> None:
        """Refuse data without the labels or response that an objective needs."""
        if self.y is None:
            raise ArgumentError(f"objective {name!r} needs {need}: pass y=, got None")
