"""Sources of rows read on demand: .npy files, lists of arrays and paths, streams."""

from __future__ import annotations

import errno
import mmap
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ldr.objectives.data.array_types import Cells, Given, open_matrix
from ldr.objectives.data.memory import SMALL
from ldr.objectives.data.samples import piece_rows
from ldr.solvers.errors import ArgumentError, DataError

OTHER_SEPARATOR = "Has the file another separator? --sep, or pass pandas.read_csv(path, sep=)"
_AGAIN = (
    "pass a function that returns a new iterator of blocks, a list of arrays, or the path of a file"
)


class Source(ABC):
    """Rows read in blocks, from the first row at each pass.

    - name: name of the data in messages
    - n: number of rows; None until a stream has been read to the end
    - files: the files that are read
    - n_known: True if n is known before the rows are read
    - repeatable: True if the rows can be read again
    - seekable: True if any row can be read without the rows before
    """

    name: str
    d: int
    n: int | None
    feature_names: tuple[str, ...] | None = None
    all_columns: tuple[str, ...] = ()  # names of all columns in the file, read or not
    files: tuple[Path, ...] = ()
    n_known = True
    repeatable = True
    seekable = False

    @property
    def shape(self) -> tuple[int | None, int]:
        return self.n, self.d

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns; without names, the indices from 0 as text."""
        return self.all_columns or self.feature_names or tuple(map(str, range(self.d)))

    def select(self, columns: Sequence[str]) -> Source:
        """Return a source of the same rows, restricted to the named columns."""
        check_known(columns, self.columns, self.name)
        where = [self.columns.index(column) for column in columns]
        names = None if self.feature_names is None else tuple(columns)
        return Changed(self, itemgetter((slice(None), where)), names, len(where))

    def column(self, name: str, as_text: bool = False) -> Cells:
        """Return one column of all rows, labels for example, as text if `as_text`."""
        check_known([name], self.columns, self.name)
        j = self.columns.index(name)
        found = np.concatenate([np.array(block[:, j]) for block in self.blocks()])
        return found.astype(str) if as_text else found

    def check_alike(self, d: int, names: tuple[str, ...] | None, part: str, first: str) -> None:
        """Refuse a later part whose columns differ from the first part's."""
        if d != self.d:
            raise DataError(f"{part} has {d} columns, expected {self.d} as {first} has")
        if names != self.feature_names:
            raise DataError(f"{part} has other names of columns than {first}, or in another order")

    def check_unchanged(self) -> None:
        """Refuse files that were changed since the first call."""
        now = [(found.st_size, found.st_mtime_ns) for found in map(os.stat, self.files)]
        before = vars(self).setdefault("_seen", now)
        for file, then, stat in zip(self.files, before, now, strict=True):
            if then != stat:
                raise DataError(
                    f"{self.name}: {file.name} has changed since it was opened: solve again with a "
                    "file that is not being written"
                )

    @abstractmethod
    def blocks(self, start: int = 0) -> Iterator[Cells]:
        """Yield the rows from row `start` on, in read-only blocks."""

    def read(self, start: int, stop: int) -> Cells:
        """Read the rows start..stop-1."""
        rows = Portions(self.blocks(start)).take(stop - start)
        if len(rows) < stop - start:
            self.finish(start + len(rows))
        return rows

    def finish(self, rows: int) -> None:
        """Check that a whole pass has found n rows."""
        if rows != self.n:
            changed = ": the file has changed since it was opened" if self.files else ""
            raise DataError(f"{self.name} returned {rows} rows, expected {self.n}{changed}")


def check_known(wanted: Sequence[str], columns: Sequence[str], file: str) -> None:
    """Refuse names of columns that do not exist."""
    for column in wanted:
        if column not in columns:
            shown = columns if len(columns) <= 20 else [*columns[:20], "..."]
            hint = f". {OTHER_SEPARATOR}" if len(columns) == 1 else ""
            there = ", ".join(shown)
            raise ArgumentError(f"{file} has no column {column!r}; it has: {there}{hint}")


class Portions:
    """Blocks of any sizes, regrouped into portions of given numbers of rows."""

    def __init__(self, blocks: Iterator[Cells]) -> None:
        self._blocks = blocks
        self._left: Cells | None = None

    def take(self, count: int) -> Cells:
        """Return the next `count` rows; fewer or none at the end."""
        parts, missing = [], count
        while missing > 0:
            block = self._left if self._left is not None else next(self._blocks, None)
            if block is None:
                break
            self._left = block[missing:] if len(block) > missing else None
            parts.append(block[:missing])
            missing -= len(parts[-1])
        if not parts:
            return np.empty((0, 0))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def after(start: int, blocks: Iterable[Cells]) -> Iterator[Cells]:
    """Yield the rows of the blocks from row `start` on."""
    for block in blocks:
        if start < len(block):
            yield block[start:]
        start = max(0, start - len(block))


class MappedFile(Source):
    """A matrix in an .npy file, or in a memory map or a large part of a memory map.

    Each chunk is mapped separately: pages of earlier chunks do not count as memory of the process.
    """

    seekable = True

    def __init__(self, path: Path, name: str, mapped: Callable[[], Cells] | None = None) -> None:
        self.name, self.files = name, (path,)
        self._mapped = partial(load_npy, path, name) if mapped is None else mapped
        array = self._mapped()
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise DataError(
                f"{name}: {path.name} holds an array of shape {array.shape} and type "
                f"{array.dtype}, expected a matrix of real numbers, samples in rows"
            )
        self.n, self.d = array.shape

    @classmethod
    def of(cls, X: np.memmap, name: str) -> MappedFile | None:
        """Return the rows of a read-only memory map if the file can be mapped again, else None.

        A large part of a map is also mapped again, because pages that were read remain in the
        process's memory.
        """
        base: Any = X
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        part = not isinstance(X.base, mmap.mmap)
        if not isinstance(base, mmap.mmap) or X.mode != "r" or (part and X.nbytes <= SMALL):
            return None
        if X.filename is None or X.ndim != 2 or X.dtype.kind not in "biuf" or min(X.strides) < 0:
            return None
        begins = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY  # maps begin at page boundaries
        place = begins + X.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
        file = Path(X.filename)

        def again() -> Cells:
            return np.ndarray(X.shape, X.dtype, np.memmap(file, np.uint8, "r"), place, X.strides)

        return cls(file, name, again)

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        step = piece_rows(self.d)
        for first in range(start, self.n or 0, step):
            array = self._mapped()
            self.finish(len(array))
            yield np.ascontiguousarray(np.asarray(array)[first : first + step])


def load_npy(path: Path, name: str) -> Cells:
    """Map the array in an .npy file into memory."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of files written by Python 2
            return np.lib.format.open_memmap(path, mode="r")
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # a damaged header may raise any exception
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError(str(error)) from None
        raise DataError(f"{name}: {path.name} cannot be read as .npy: {error}") from None


class InMemory(Source):
    """Rows of an array in memory."""

    seekable = True

    def __init__(self, array: Cells, feature_names: tuple[str, ...] | None, name: str) -> None:
        self.array, self.feature_names, self.name = array, feature_names, name
        self.n, self.d = array.shape

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        yield self.array[start:]


class Stack(Source):
    """The rows of several sources with equal columns, one source after another.

    - sources: at least one source
    """

    def __init__(self, sources: Sequence[Source], name: str) -> None:
        first = sources[0]
        for i, source in enumerate(sources):
            first.check_alike(source.d, source.feature_names, f"{name}[{i}]", f"{name}[0]")
        self.sources, self.name, self.d = tuple(sources), name, first.d
        self.feature_names = first.feature_names
        self.files = sum((source.files for source in sources), ())
        self.seekable = all(source.seekable for source in sources)
        self.starts = [0, *accumulate(source.n or 0 for source in sources)]
        self.n = self.starts[-1]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.sources[0].columns

    def select(self, columns: Sequence[str]) -> Stack:
        return Stack([source.select(columns) for source in self.sources], self.name)

    def column(self, name: str, as_text: bool = False) -> Cells:
        return np.concatenate([source.column(name, as_text) for source in self.sources])

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        for first, source in zip(self.starts, self.sources, strict=False):
            if start < first + (source.n or 0):
                yield from source.blocks(max(0, start - first))


class Changed(Source):
    """Blocks of another source, changed by a function."""

    def __init__(
        self,
        source: Source,
        change: Callable[[Cells], Cells],
        names: tuple[str, ...] | None,
        d: int,
    ) -> None:
        self.source, self.change, self.feature_names, self.d = source, change, names, d
        self.name, self.files, self.n_known = source.name, source.files, source.n_known
        self.repeatable, self.seekable = source.repeatable, source.seekable

    @property
    def n(self) -> int | None:  # type: ignore[override]
        return self.source.n

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        return map(self.change, self.source.blocks(start))

    def finish(self, rows: int) -> None:
        self.source.finish(rows)


def is_stream(X: object) -> bool:
    """Return True if X is an iterator of blocks, or a function that returns such an iterator."""
    return hasattr(X, "__next__") or (callable(X) and not isinstance(X, type))


class Stream(Source):
    """Blocks of an iterator, read once, or of a function that is called for each pass.

    The number of rows is known after the first pass, or from the length of a response.
    """

    n_known = False

    def __init__(self, X: Given, name: str, minimum_rows: int = 1) -> None:
        """- X: yields blocks that `as_samples` accepts: arrays (m, d) or data frames; m may be 0
        - minimum_rows: smallest allowed number of rows
        """
        self.name, self.n, self._minimum_rows = name, None, minimum_rows
        self.repeatable = not hasattr(X, "__next__")
        self._X = X
        blocks = self._opened() if self.repeatable else iter(X)
        first = next(blocks, None)
        if first is None:
            raise DataError(f"{name} has no blocks of rows")
        array, self.feature_names = self._matrix(first, 0)
        self.d = array.shape[1]
        self._begun: Iterator[object] | None = chain([first], blocks)

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        begun, self._begun = self._begun, None
        if begun is None and not self.repeatable:
            raise DataError(
                f"{self.name} is an iterator, whose blocks can be read once, and this method needs "
                f"another pass: {_AGAIN}"
            )
        return after(start, self._checked(self._opened() if begun is None else begun))

    def _checked(self, blocks: Iterator[object]) -> Iterator[Cells]:
        for i, block in enumerate(blocks):
            array, names = self._matrix(block, i)
            self.check_alike(array.shape[1], names, f"{self.name}: block {i}", "block 0")
            yield array

    def _opened(self) -> Iterator[object]:
        blocks = self._X()
        if not hasattr(blocks, "__iter__"):
            raise ArgumentError(
                f"{self.name} is a function that returned {type(blocks).__name__}, expected an "
                "iterator of blocks of rows"
            )
        return iter(blocks)

    def _matrix(self, block: object, i: int) -> tuple[Cells, tuple[str, ...] | None]:
        """Return a block as an array, and the columns' names."""
        array, names = open_matrix(block, f"{self.name} (block {i})")
        if not isinstance(array, np.ndarray):
            raise DataError(f"{self.name}: block {i} is sparse, dense rows were expected")
        return array, names

    def finish(self, rows: int) -> None:
        if rows < self._minimum_rows:
            raise DataError(
                f"{self.name} has {rows} row(s) (samples); at least {self._minimum_rows} are needed"
            )
        self.n = rows if self.n is None else self.n
        super().finish(rows)
