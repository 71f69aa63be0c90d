"""Rows of a .csv or .tsv file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldr.objectives.pieces import PIECE_NUMBERS
from ldr.objectives.storage.columns import check_distinct, check_known
from ldr.solvers.errors import ArgumentError, DataError

SEPARATORS = {".csv": ",", ".tsv": "\t"}

# Bytes that are scanned at a time, and more than which no row has.
_CHUNK = 2**24
_LONGEST_ROW = 2**28
# Blocks in a piece: pieces of another file may begin within a block, which is then parsed twice.
_BLOCKS = 8
# Cells without a number, as pandas has them.
_MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
]


@dataclass(frozen=True)
class TextFile:
    """Numeric columns of a text file with a line of their names first; empty cells are NaN.

    One pass over the bytes finds where rows begin. From then on a block of rows is found at once,
    and each pass over the rows reads and parses the bytes again.

    Attributes
    ----------
    path : Path
    columns : tuple of str
        All of the file's.
    starts : tuple of int
        The byte at which each block begins, and the end of the last.
    boundaries : tuple of int
        The row at which each block begins, and n.
    feature_names : tuple of str
        Of the columns to read.
    """

    path: Path
    columns: tuple[str, ...]
    starts: tuple[int, ...]
    boundaries: tuple[int, ...]
    feature_names: tuple[str, ...]
    name: str = "X"

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)

    @classmethod
    def open(cls, path: Path, name: str = "X") -> TextFile:
        """
        Raises
        ------
        FileNotFoundError
        ArgumentError
            pyarrow is not installed.
        DataError
            No line of names, two columns of one name, a quote that is not closed.
        """
        with path.open("rb") as file:
            line = file.readline().removeprefix(b"\xef\xbb\xbf")
            columns = _names(line, _separator(path), path.name, name)
            rows = max(1, PIECE_NUMBERS // _BLOCKS // len(columns))
            starts, boundaries = _scan(file, rows, path.name)
        return cls(path, columns, starts, boundaries, columns, name)

    @property
    def shape(self) -> tuple[int, int]:
        return self.boundaries[-1], len(self.feature_names)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    def select(self, columns: Sequence[str]) -> TextFile:
        check_known(columns, self.columns, self.path.name)
        return replace(self, feature_names=tuple(columns))

    def column(self, name: str) -> npt.NDArray[Any]:
        check_known([name], self.columns, self.path.name)
        pyarrow, _ = _libraries()
        every = range(len(self.starts) - 1)
        blocks = [self._parsed(k, (name,), {}) for k in every]
        if any(pyarrow.types.is_string(block.schema.types[0]) for block in blocks):
            blocks = [self._parsed(k, (name,), {name: pyarrow.string()}) for k in every]
        together = pyarrow.concat_tables(blocks, promote_options="permissive")
        return np.asarray(together.column(name).to_pandas())

    def read(self, start: int, stop: int) -> npt.NDArray[Any]:
        rows = np.empty((stop - start, self.shape[1]))
        block = int(np.searchsorted(self.boundaries, start, side="right")) - 1
        while self.boundaries[block] < stop:
            first, last = self.boundaries[block : block + 2]
            begin, end = max(start, first), min(stop, last)
            table = self._parsed(block, self.feature_names, self._types)
            for j, column in enumerate(table.itercolumns()):
                numbers = column.slice(begin - first, end - begin).to_numpy()
                rows[begin - start : end - start, j] = numbers
            block += 1
        return rows

    @cached_property
    def _types(self) -> dict[str, Any]:
        """Numbers, or truth values, as the first block has them."""
        pyarrow, _ = _libraries()
        guessed = self._parsed(0, self.feature_names, {}).schema
        return {
            field.name: field.type if pyarrow.types.is_boolean(field.type) else pyarrow.float64()
            for field in guessed
        }

    def _parsed(self, block: int, columns: Sequence[str], types: dict[str, Any]) -> Any:
        """Columns of a block as a pyarrow table, of types given or guessed."""
        pyarrow, parser = _libraries()
        with self.path.open("rb") as file:
            file.seek(self.starts[block])
            text = file.read(self.starts[block + 1] - self.starts[block])
        first = self.boundaries[block]
        wrong: list[Any] = []

        def refuse(row: Any) -> str:
            wrong.append(row)
            return "error"

        def table(types: dict[str, Any]) -> Any:
            return parser.read_csv(
                io.BytesIO(text),
                parser.ReadOptions(
                    use_threads=False, block_size=len(text) + 1, column_names=self.columns
                ),
                parser.ParseOptions(
                    delimiter=_separator(self.path),
                    newlines_in_values=b'"' in text,
                    invalid_row_handler=refuse,
                ),
                parser.ConvertOptions(
                    column_types=types,
                    include_columns=columns,
                    null_values=_MISSING,
                    strings_can_be_null=True,
                ),
            )

        try:
            found = table(types)
        except pyarrow.ArrowInvalid as error:
            if wrong:
                raise DataError(
                    f"{self.name}: row {first + wrong[0].number - 1} (the first is row 0) has "
                    f"{wrong[0].actual_columns} cells, expected {len(self.columns)}"
                ) from None
            cells = table(dict.fromkeys(columns, pyarrow.string()))
            raise self._no_number(cells, first) or DataError(
                f"{self.name}: {self.path.name} cannot be read: {error}"
            ) from None
        if found.num_rows != self.boundaries[block + 1] - first:
            raise DataError(f"{self.name}: {self.path.name} has changed since it was opened")
        return found

    def _no_number(self, cells: Any, first: int) -> DataError | None:
        """What to say of the first cell that cannot be read as a number."""
        for column, values in zip(cells.column_names, cells.itercolumns(), strict=True):
            for row, cell in enumerate(values.to_pylist()):
                if cell is not None and not _is_number(cell):
                    return DataError(
                        f"{self.name}: row {first + row} (the first is row 0), column {column!r}: "
                        f"{cell!r} is no number; leave the column out, or make it the label"
                    )
        return None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _separator(path: Path) -> str:
    return SEPARATORS[path.suffix.lower()]


def _names(line: bytes, separator: str, file: str, name: str) -> tuple[str, ...]:
    """The names of the columns, from the first line."""
    try:
        names = next(csv.reader([line.decode().rstrip("\r\n")], delimiter=separator), [])
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: {file} is not text in UTF-8: {error}") from error
    if not names:
        raise DataError(f"{name}: {file} has no line of column names first")
    check_distinct(names, file, name)
    return tuple(names)


def _scan(file: Any, rows: int, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where every so many rows begin, in bytes and in rows; the ends come last.

    Newlines within quotes end no row, and empty lines are none.
    """
    starts: list[int] = []
    boundaries: list[int] = []
    n = 0
    position, rest = file.tell(), b""
    while chunk := file.read(_CHUNK):
        text = rest + chunk
        begins, used = _rows_in(text)
        if used == 0 and len(text) > _LONGEST_ROW:
            raise DataError(f"{name}: row {n} does not end; is there a quote that is not closed?")
        every = begins[-n % rows :: rows]
        starts += (position + every).tolist()
        boundaries += range(n + -n % rows, n + len(begins), rows)
        n += len(begins)
        position, rest = position + used, text[used:]
    if rest.strip(b"\r"):
        if n % rows == 0:
            starts.append(position)
            boundaries.append(n)
        n += 1
    return (*starts, position + len(rest)), (*boundaries, n)


def _rows_in(text: bytes) -> tuple[npt.NDArray[np.intp], int]:
    """Where the rows that end in a text begin, and where the last one ends."""
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    if b'"' in text:
        quotes = np.flatnonzero(letters == ord('"'))
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    if len(ends) == 0:
        return ends, 0
    begins = np.concatenate([[0], ends[:-1] + 1])
    empty = (ends == begins) | ((ends == begins + 1) & (letters[begins] == ord("\r")))
    return begins[~empty], int(ends[-1]) + 1


def _libraries() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import csv as parser
    except ImportError as error:
        raise ArgumentError(
            f"large text files need {error.name}, which is not installed: "
            "pip install 'ldr-manifold[files]'"
        ) from None
    return pyarrow, parser
