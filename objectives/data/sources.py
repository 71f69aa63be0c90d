"""Sources of rows read on demand: .npy files, lists, streams, and tables read by pyarrow.

Tables are .csv, .tsv and .parquet files, and folders of .parquet files.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from copy import copy
from functools import partial
from itertools import accumulate, chain
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ldr.objectives.data.array_types import Cells, CellType, Given, open_matrix
from ldr.objectives.data.data import BLOCK_NUMBERS, piece_rows
from ldr.objectives.data.memory import SMALL
from ldr.solvers.errors import ArgumentError, DataError, DataWarning, needed, warn

OTHER_SEPARATOR = "For another separator, give --sep, or pass pandas.read_csv(path, sep=)"
AGAIN = (
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
            raise DataError(f"{part} has {d} columns, expected {self.d}, as in {first}")
        if names != self.feature_names:
            raise DataError(f"{part} must have the column names of {first}, in the same order")

    def check_unchanged(self) -> None:
        """Refuse files that were changed since the first call."""
        now = [(found.st_size, found.st_mtime_ns) for found in map(os.stat, self.files)]
        before = vars(self).setdefault("_seen", now)
        for file, then, stat in zip(self.files, before, now, strict=True):
            if then != stat:
                raise DataError(
                    f"{self.name}: {file.name} has changed since it was opened: solve again when "
                    "no other program writes it"
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
            raise ArgumentError(f"{file} has no column {column!r}; its columns are: {there}{hint}")


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

        A large part of a map is also mapped again: its pages remain in the process's memory.
        """
        base: Any = X
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        part = not isinstance(X.base, mmap.mmap)
        if not isinstance(base, mmap.mmap) or X.mode != "r" or (part and X.nbytes <= SMALL):
            return None
        if X.filename is None or X.ndim != 2 or X.dtype.kind not in "biuf" or min(X.strides) < 0:
            return None
        begins = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY  # mmap begins at page boundaries
        both = X, np.frombuffer(base, np.uint8)
        first, whole = (array.__array_interface__["data"][0] for array in both)
        place = begins + first - whole
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
            raise DataError(f"{name} has no blocks of rows, expected at least one")
        array, self.feature_names = self._matrix(first, 0)
        self.d = array.shape[1]
        self._begun: Iterator[object] | None = chain([first], blocks)

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        begun, self._begun = self._begun, None
        if begun is None and not self.repeatable:
            raise DataError(
                f"{self.name} is an iterator, whose blocks can be read only once, but this method "
                f"reads the rows several times: {AGAIN}"
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


SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Codes such as 007 or 0xff, which are not numbers, although they parse as numbers.
_CODE = r"^[+-]?0[0-9xX]"
_LONG = r"^[+-]?[0-9]{16,}$"

_WAY_OUT = "leave the column out, or use it as the label"
_NUMBERS = "numbers have a decimal point, and missing values are empty cells"


def arrow(module: str = "", files: str = "such") -> ModuleType:
    """Import pyarrow, or a module of pyarrow."""
    return needed(f"pyarrow.{module}" if module else "pyarrow", f"a {files} file")


class Table(Source):
    """Named columns of one or several files; the selected numeric columns are features.

    - dtype: dtype of the rows
    """

    dtype: CellType
    path: Path
    feature_names: tuple[str, ...]

    def __init__(self, path: Path, name: str, files: tuple[Path, ...]) -> None:
        self.path, self.name, self.files = path, name, files
        with files[0].open("rb"):  # a missing file raises FileNotFoundError
            pass

    def select(self, columns: Sequence[str]) -> Table:
        """Return the table restricted to the named columns."""
        check_known(columns, self.columns, self.name)
        if len(set(columns)) < len(columns):  # pyarrow reads a column once
            raise ArgumentError(f"{self.name}: a column is selected twice in {', '.join(columns)}")
        chosen = copy(self)
        chosen._choose(columns)
        return chosen

    def _choose(self, columns: Sequence[str]) -> None:
        self.feature_names, self.d = tuple(columns), len(columns)

    def column(self, name: str, as_text: bool = False) -> Cells:
        """Return one column of all rows, of any type, as text if `as_text`."""
        check_known([name], self.columns, self.name)
        pyarrow = arrow()
        chunks = [batch.column(0) for batch in self._read([name], labels=True)]
        if not chunks:
            return np.empty(0, dtype=object)
        values = pyarrow.chunked_array(chunks)
        if pyarrow.types.is_nested(values.type):
            raise DataError(
                f"{self.name}: column {name!r} is of type {values.type}; text or numbers were "
                "expected"
            )
        try:
            if pyarrow.types.is_dictionary(values.type):
                values = values.cast(values.type.value_type)
            values = values.cast(pyarrow.string()) if as_text else self._typed(values)
            return np.asarray(values.to_numpy())
        except (pyarrow.ArrowException, ValueError) as error:
            raise DataError(
                f"{self.name}: column {name!r} of {self.path.name} cannot be read: {error}"
            ) from None

    def blocks(self, start: int = 0) -> Iterator[Cells]:
        names = self.feature_names
        types = arrow().types
        for column, kind in zip(names, self._types(names), strict=True):
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise DataError(
                    f"{self.name}: column {column!r} is of type {kind}, which is not numeric; "
                    f"{_WAY_OUT}"
                )
        return after(start, map(self._numbers, self._read(names)))

    def _numbers(self, batch: Given) -> Cells:
        rows = np.empty((batch.num_rows, self.d), self.dtype)
        for j, column in enumerate(batch.columns):
            rows[:, j] = column.to_numpy(zero_copy_only=False)
        return rows

    def _read(self, columns: Sequence[str], labels: bool = False) -> Iterator[Given]:
        """Yield record batches of some columns; errors of pyarrow name the file."""
        pyarrow = arrow()
        try:
            yield from self._batches(columns, labels)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            if isinstance(error, (FileNotFoundError, PermissionError, DataError)):
                raise
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> DataError:
        file = self.path.name
        named = file if self.name == file else f"{self.name}: {file}"
        return DataError(f"{named} cannot be read: {error}")

    def _typed(self, values: Given) -> Given:
        return values

    @abstractmethod
    def _types(self, columns: Sequence[str]) -> list[Given]:
        """Arrow's types of some columns."""

    @abstractmethod
    def _batches(self, columns: Sequence[str], labels: bool) -> Iterator[Given]:
        """Record batches of some columns, in their order."""


class TextFile(Table):
    """A .csv or .tsv file; the first line has the columns' names unless `header` is False.

    Without a header line columns are named 0, 1, and so on. A first column without a name contains
    row numbers or names: a DataWarning reports that the column is not read. Empty cells are NaN.
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self, path: Path, name: str = "X", separator: str = "", header: bool = True
    ) -> None:
        super().__init__(path, name, (path,))
        self._separator = separator or SEPARATORS[path.suffix.lower()]
        self._header = header
        self._cells: tuple[str, ...] = ()
        pyarrow = arrow("", "text")
        try:
            with self._reader(threads=False) as reader:  # a threaded reader reports no row number
                self._schema = reader.schema
            names = self._schema.names  # raises an error if names are not UTF-8
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        self._cells = tuple(names) if header else tuple(map(str, range(len(names))))
        check_distinct(self._cells, path.name, name)
        self.all_columns = named(self._cells, path.name) if header else self._cells
        self._choose(self.all_columns)
        self.n = sum(batch.num_rows for batch in self._read(self._cells[:1], labels=True))

    def _cell(self, column: str) -> str:
        """Return pyarrow's name of a column."""
        return column if self._header else f"f{column}"

    def _reader(
        self, types: dict[str, Given] | None = None, threads: bool = True
    ) -> AbstractContextManager[Given]:
        """Open pyarrow's reader of all columns, or of the columns with given types."""
        csv = arrow("csv", "text")
        block = csv.ReadOptions().block_size  # pyarrow reads about 32 blocks in advance
        with self.path.open("rb") as file:
            first = file.readline(16 * block)
        missing = [*csv.ConvertOptions().null_values, "<NA>", "None"]  # pandas' missing-value marks
        return csv.open_csv(
            self.path,
            csv.ReadOptions(
                use_threads=threads,
                block_size=max(block, 8 * len(first)),  # a block must hold a whole row
                encoding="utf-16" if first.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf8",
                autogenerate_column_names=not self._header,
            ),
            csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types,
                include_columns=None if types is None else list(types),
                null_values=missing,
                strings_can_be_null=True,
            ),
        )

    def _types(self, columns: Sequence[str]) -> list[Given]:
        """Return boolean for columns that are boolean in the first rows, else float."""
        pyarrow = arrow()
        found = [self._schema.field(self._cell(column)).type for column in columns]
        return [kind if pyarrow.types.is_boolean(kind) else pyarrow.float64() for kind in found]

    def _batches(self, columns: Sequence[str], labels: bool) -> Iterator[Given]:
        pyarrow = arrow()
        types = [pyarrow.string()] * len(columns) if labels else self._types(columns)
        kinds = dict(zip(map(self._cell, columns), types, strict=True))
        try:
            with self._reader(kinds) as reader:
                yield from reader
        except (pyarrow.ArrowException, ValueError):
            with self._reader(kinds, threads=False) as reader:
                deque(reader, maxlen=0)
            raise

    def _typed(self, values: Given) -> Given:
        return typed(values)

    def _unreadable(self, error: Exception) -> DataError:
        """Return the error that names the column and the non-numeric cell."""

        def column(found: re.Match[str]) -> str:
            return f"column {self._cells[int(found[1])]!r}"

        hint = OTHER_SEPARATOR if len(self._cells) == 1 else f"{_WAY_OUT}; {_NUMBERS}"
        message = str(error)
        if "Expected 1 columns" in message:
            message += f". {OTHER_SEPARATOR}"
        elif re.search("utf-?8", message, re.IGNORECASE):
            message += "; save the file in UTF-8"
        if self._cells:
            message = re.sub(r"In CSV column #(\d+)", column, message)
        message = re.sub(
            r"CSV conversion error to \w+: invalid value (.*)",
            rf"\1 is not a number; {hint}",
            message,
            flags=re.DOTALL,
        )
        return super()._unreadable(ValueError(message))


class ParquetFiles(Table):
    """A Parquet file or a folder of Parquet files; missing values are NaN.

    Folders named key=value, and the index of pandas, are columns for labels, not features. Files
    are decoded block by block, so that row groups may be large.
    """

    def __init__(self, path: Path, name: str = "X") -> None:
        folder = path.is_dir()
        files = tuple(sorted(path.rglob("*.parquet"))) if folder else (path,)
        if not files:
            raise ArgumentError(f"{name}: the folder {str(path)!r} has no .parquet files")
        super().__init__(path, name, files)
        dataset, pyarrow = arrow("dataset", ".parquet"), arrow()
        try:
            found = dataset.dataset(
                list(map(str, files)),
                format="parquet",
                partitioning="hive" if folder else None,
                partition_base_dir=str(path) if folder else None,
            )
            self._parts = [
                (
                    Path(part.path),
                    part.count_rows(),
                    dataset.get_partition_keys(part.partition_expression),
                )
                for part in found.get_fragments()
            ]
            self._schema = found.schema
            names = self._schema.names
            self._index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        self.all_columns = tuple(names)
        check_distinct(self.all_columns, path.name, name)
        self.n = sum(rows for _, rows, _ in self._parts)
        self._choose(self.all_columns)

    def _choose(self, columns: Sequence[str]) -> None:
        beside = [*self._parts[0][2], *self._index]
        super()._choose([column for column in columns if column not in beside])

    @property
    def dtype(self) -> CellType:  # type: ignore[override]
        """float32 if float32 represents the dtype of every column, else float64."""
        kinds = (kind.to_pandas_dtype() for kind in self._types(self.feature_names))
        return np.result_type(np.float32, *kinds)

    def _types(self, columns: Sequence[str]) -> list[Given]:
        return [self._schema.field(column).type for column in columns]

    def _batches(self, columns: Sequence[str], labels: bool) -> Iterator[Given]:
        parquet, pyarrow = arrow("parquet"), arrow()
        # Blocks are small, because values are in memory twice: as Arrow columns and as rows.
        rows = max(1, BLOCK_NUMBERS // max(1, 2 * len(columns)))
        for path, n, keys in self._parts:
            if labels and columns[0] in keys:
                yield pyarrow.record_batch([pyarrow.repeat(keys[columns[0]], n)], list(columns))
                continue
            # Prefetching would load entire columns of a row group into memory.
            with parquet.ParquetFile(
                path, pre_buffer=False, buffer_size=io.DEFAULT_BUFFER_SIZE
            ) as file:
                check_known(columns, file.schema_arrow.names, f"{self.name} ({path.name})")
                for batch in file.iter_batches(rows, columns=list(columns)):
                    yield batch.select(list(columns))


def named(cells: tuple[str, ...], file: str) -> tuple[str, ...]:
    """Return the names of a text file's columns, without a leading column of row numbers."""
    # pandas and R write row numbers under an empty name, which pandas reads as Unnamed: 0.
    if cells[0] in ("", "Unnamed: 0") and len(cells) > 1:
        warn(
            f"{file}: the first column has no name and is left out, because it may hold row "
            "numbers or names; if it holds data, give it a name in the file",
            DataWarning,
        )
        return cells[1:]
    with suppress(ValueError):
        steps = np.diff(np.array(cells, dtype=np.float64))
        if not ((steps > 0).all() or (steps < 0).all()):  # sorted names may be wavelengths or years
            warn(
                f"{file}: the first line is read as the names of the columns, but has only "
                "numbers; if it is data, pass header=False (--no-header on the command line)",
                DataWarning,
            )
    return cells


def check_distinct(columns: Sequence[str], file: str, name: str) -> None:
    """Refuse duplicate column names."""
    column, times = Counter(columns).most_common(1)[0] if columns else ("", 0)
    if times > 1:
        raise DataError(
            f"{name if name == file else f'{name}: {file}'} has {times} columns called {column!r}: "
            "rename one; if the first line is data, pass header=False (--no-header on the command "
            "line)"
        )


def typed(texts: Given) -> Given:
    """Convert a pyarrow array of text to numbers or booleans if no information is lost."""
    compute, pyarrow = arrow("compute"), arrow()
    trimmed = compute.utf8_trim_whitespace(texts)

    def some(pattern: str) -> bool:
        return bool(compute.any(compute.match_substring_regex(trimmed, pattern)).as_py())

    if some(_CODE):
        return texts
    for kind in ("int64", "bool") if some(_LONG) else ("int64", "float64", "bool"):
        try:
            return compute.cast(trimmed, kind)
        except pyarrow.ArrowInvalid:
            continue
    return texts
