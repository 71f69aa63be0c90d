"""Tables in files, read by pyarrow: .csv, .tsv, .parquet and folders of .parquet files."""

from __future__ import annotations

import re
import warnings
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from pathlib import Path
from types import ModuleType

import numpy as np

from ldr.objectives.data.array_types import Cells, CellType, Given
from ldr.objectives.data.samples import BLOCK_NUMBERS
from ldr.objectives.data.sources import OTHER_SEPARATOR, Source, after, check_known
from ldr.solvers.errors import ArgumentError, DataError, DataWarning, needed

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Bytes of text in a block; pyarrow reads about 32 blocks in advance.
_BLOCK_BYTES = 2**20
# Bytes of a Parquet column that are fetched at a time.
_BUFFER = 2**16
# Codes such as 007 or 0xff, which are not numbers, although they parse as numbers.
_CODE = r"^[+-]?0[0-9xX]"
_LONG = r"^[+-]?[0-9]{16,}$"

_WAY_OUT = "leave the column out, or make it the label"


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
            with self._reader(threads=False) as reader:  # multithreaded errors name no row
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
        with self.path.open("rb") as file:
            first = len(file.readline(16 * _BLOCK_BYTES))
        missing = [*csv.ConvertOptions().null_values, "<NA>", "None"]  # pandas' missing values
        return csv.open_csv(
            self.path,
            csv.ReadOptions(
                use_threads=threads,
                block_size=max(_BLOCK_BYTES, 8 * first),  # a block must hold a whole row
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
            with self._reader(kinds, threads=False) as reader:  # multithreaded errors name no row
                deque(reader, maxlen=0)
            raise

    def _typed(self, values: Given) -> Given:
        return typed(values)

    def _unreadable(self, error: Exception) -> DataError:
        """Return the error that names the column and the non-numeric cell."""

        def column(found: re.Match[str]) -> str:
            return f"column {self._cells[int(found[1])]!r}"

        hint = OTHER_SEPARATOR if len(self._cells) == 1 else _WAY_OUT
        message = str(error)
        if self._cells:
            message = re.sub(r"In CSV column #(\d+)", column, message)
        message = re.sub(
            r"CSV conversion error to \w+: invalid value (.*)",
            rf"\1 is no number; {hint}",
            message,
            flags=re.DOTALL,
        )
        return super()._unreadable(ValueError(message))


class ParquetFiles(Table):
    """A Parquet file or a folder of Parquet files; missing values are NaN.

    Folders named key=value define columns for labels, not features. Files are decoded block by
    block, so that row groups may be large.
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
            index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise self._unreadable(error) from None
        self.all_columns = tuple(name for name in names if name not in index)
        check_distinct(self.all_columns, path.name, name)
        self.n = sum(rows for _, rows, _ in self._parts)
        self._choose(self.all_columns)

    def _choose(self, columns: Sequence[str]) -> None:
        keys = self._parts[0][2]
        super()._choose([column for column in columns if column not in keys])

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
        rows = max(1, BLOCK_NUMBERS // max(1, len(columns)))
        for path, n, keys in self._parts:
            if labels and columns[0] in keys:
                yield pyarrow.record_batch([pyarrow.repeat(keys[columns[0]], n)], list(columns))
                continue
            # Prefetching would load entire columns of a row group into memory.
            with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
                check_known(columns, file.schema_arrow.names, f"{self.name} ({path.name})")
                for batch in file.iter_batches(rows, columns=list(columns)):
                    yield batch.select(list(columns))


def named(cells: tuple[str, ...], file: str) -> tuple[str, ...]:
    """Return the names of a text file's columns, without a leading column of row numbers."""
    # pandas and R write row numbers under an empty name, which pandas reads as Unnamed: 0.
    if cells[0] not in ("", "Unnamed: 0") or len(cells) == 1:
        return cells
    warnings.warn(
        f"{file}: the first column has no name and is left out as row numbers or names; if it is "
        "data, give it a name in the file",
        DataWarning,
        stacklevel=4,
    )
    return cells[1:]


def check_distinct(columns: Sequence[str], file: str, name: str) -> None:
    """Refuse duplicate column names."""
    column, times = Counter(columns).most_common(1)[0] if columns else ("", 0)
    if times > 1:
        raise DataError(f"{name}: {file} has {times} columns called {column!r}")


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
