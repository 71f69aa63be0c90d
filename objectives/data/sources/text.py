"""Rows of a .csv or .tsv file."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, CellType
from ldr.objectives.data.map_reduce import PIECE_NUMBERS
from ldr.objectives.data.sources.columns import check_distinct, check_known
from ldr.solvers.errors import ArgumentError, DataError, DataWarning

SEPARATORS = {".csv": ",", ".tsv": "\t"}

# Bytes in which the first rows are looked for, that are scanned at a time, and more than which no
# row has.
_HEAD = 2**16
_CHUNK = 2**24
_LONGEST_ROW = 2**28
# Blocks in a piece: pieces of another file may begin within a block, which is then parsed twice.
_BLOCKS = 8
# Of text in UTF-8, as some systems write it.
_MARK = b"\xef\xbb\xbf"
# Cells without a number, as pandas has them.
_MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
]
# What the column of row numbers is called: nothing, as pandas and R write it, or what pandas makes
# of that.
_UNNAMED = ("", "Unnamed: 0")
# Numbers that are names: 007 is not 7. And whole numbers of more digits than a float has.
_CODE = r"^[+-]?0[0-9xX]"
_LONG = r"^[+-]?[0-9]{16,}$"


@dataclass(frozen=True)
class TextFile:
    """Numeric columns of a text file with a line of their names first; empty cells are NaN.

    A first line of numbers is a row, of columns 0, 1, ...; a first column without a name has the
    numbers or names of the rows and is left out: of both a DataWarning tells. Lines end as on any
    system.

    One pass over the bytes finds where rows begin. From then on a block of rows is found at once,
    and each pass over the rows reads and parses the bytes again.

    Attributes
    ----------
    path : Path
    cells : tuple of str
        The names of all of a row's cells, for the parser.
    columns : tuple of str
        Those of the columns that can be read.
    starts : tuple of int
        The byte at which each block begins, and the end of the last.
    boundaries : tuple of int
        The row at which each block begins, and n.
    feature_names : tuple of str
        Of the columns to read.
    """

    path: Path
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    starts: tuple[int, ...]
    boundaries: tuple[int, ...]
    feature_names: tuple[str, ...]
    name: str = "X"

    dtype: ClassVar[CellType] = np.dtype(np.float64)

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
        head = Head.of(path, name)
        with path.open("rb") as file:
            file.seek(head.begin)
            rows = max(1, PIECE_NUMBERS // _BLOCKS // len(head.cells))
            starts, boundaries = _scan(file, rows, path.name)
        return cls(path, head.cells, head.columns, starts, boundaries, head.columns, name)

    @property
    def shape(self) -> tuple[int, int]:
        return self.boundaries[-1], len(self.feature_names)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    def select(self, columns: Sequence[str]) -> TextFile:
        check_known(columns, self.columns, self.path.name)
        return replace(self, feature_names=tuple(columns))

    def column(self, name: str) -> Cells:
        check_known([name], self.columns, self.path.name)
        pyarrow, _ = _libraries()
        types = {name: pyarrow.string()}
        blocks = [self._parsed(k, (name,), types) for k in range(len(self.starts) - 1)]
        chunks = [chunk for block in blocks for chunk in block.column(name).chunks]
        texts = pyarrow.chunked_array(chunks, pyarrow.string())
        return np.asarray(_values(texts).to_numpy())

    def read(self, start: int, stop: int) -> Cells:
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

    def _parsed(self, block: int, columns: Sequence[str], types: dict[str, object]) -> Any:
        """Columns of a block as a pyarrow table, of types given or guessed."""
        pyarrow, parser = _libraries()
        with self.path.open("rb") as file:
            file.seek(self.starts[block])
            text = file.read(self.starts[block + 1] - self.starts[block])
        first = self.boundaries[block]
        wrong: list[Any] = []

        def refuse(row: object) -> str:
            wrong.append(row)
            return "error"

        def table(types: dict[str, object]) -> Any:
            return parser.read_csv(
                io.BytesIO(text),
                parser.ReadOptions(
                    use_threads=False, block_size=len(text) + 1, column_names=self.cells
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
                    f"{wrong[0].actual_columns} cells, expected {len(self.cells)}"
                ) from None
            cells = table(dict.fromkeys(columns, pyarrow.binary()))
            texts = [name for name, kind in types.items() if kind == pyarrow.string()]
            raise self._wrong_cell(cells, first, texts) or DataError(
                f"{self.name}: {self.path.name} cannot be read: {error}"
            ) from None
        if found.num_rows != self.boundaries[block + 1] - first:
            raise DataError(f"{self.name}: {self.path.name} has changed since it was opened")
        return found

    def _wrong_cell(self, cells: Any, first: int, texts: Sequence[str]) -> DataError | None:
        """What to say of the first cell that cannot be read: as a number, or as text."""
        for column, values in zip(cells.column_names, cells.itercolumns(), strict=True):
            for row, cell in enumerate(values.to_pylist()):
                place = f"{self.name}: row {first + row} (the first is row 0), column {column!r}"
                try:
                    text = "" if cell is None else cell.decode()
                except UnicodeDecodeError:
                    return DataError(f"{place}: {cell!r} is not text in UTF-8")
                if text and column not in texts and not _is_number(text):
                    return DataError(
                        f"{place}: {text!r} is no number; leave the column out, or make it the "
                        "label"
                    )
        return None


def _values(texts: object) -> Any:
    """Cells as numbers or truth values, if they lose nothing by it."""
    from pyarrow import ArrowInvalid, compute, float64, int64

    trimmed = compute.utf8_trim_whitespace(texts)

    def some(pattern: str) -> bool:
        return bool(compute.any(compute.match_substring_regex(trimmed, pattern)).as_py())

    if some(_CODE):
        return texts
    kinds = (int64(), "bool") if some(_LONG) else (int64(), float64(), "bool")
    for kind in kinds:
        try:
            return compute.cast(trimmed, kind)
        except ArrowInvalid:
            continue
    return texts


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _separator(path: Path) -> str:
    return SEPARATORS[path.suffix.lower()]


@dataclass(frozen=True)
class Head:
    """What the first lines say.

    Attributes
    ----------
    cells : tuple of str
        The names of a row's cells.
    columns : tuple of str
        Of those that are data.
    named : bool
        Whether the first line has the names.
    begin : int
        The byte at which the rows begin.
    """

    cells: tuple[str, ...]
    columns: tuple[str, ...]
    named: bool
    begin: int

    @classmethod
    def of(cls, path: Path, name: str = "X") -> Head:
        """Raises as `TextFile.open` does."""
        first, second, begin, after = _first_lines(path)
        cells, following = (_cells(line, path, name) for line in (first, second))
        if not cells:
            raise DataError(f"{name}: {path.name} has no line of column names first")
        if _is_row(cells) and b'"' not in first:
            _tell(
                f"{path.name}: the first line is of numbers and is taken as a row, of columns 0, "
                "1, ...; if it has their names, put them in quotes"
            )
            columns = tuple(str(j) for j in range(len(cells)))
            return cls(columns, columns, False, begin)
        if len(following) == len(cells) + 1:  # as R writes the names of rows
            cells = ("", *cells)
        check_distinct(cells, path.name, name)
        if cells[0] not in _UNNAMED or len(cells) == 1:
            return cls(cells, cells, True, after)
        _tell(
            f"{path.name}: the first column has no name and is left out, as the numbers or names "
            "of the rows; if it is data, give it a name in the file"
        )
        return cls(cells, cells[1:], True, after)


def _tell(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)


def _first_lines(path: Path) -> tuple[bytes, bytes, int, int]:
    """The first two lines that are not empty, and the bytes at which the first begins and ends."""
    text = b""
    with path.open("rb") as file:
        while chunk := file.read(max(len(text), _HEAD)):
            text += chunk
            if len(_rows_in(text)[0]) > 2:
                break
    mark = len(_MARK) if text.startswith(_MARK) else 0
    begins, used = _rows_in(text[mark:])
    edges = [mark + int(begin) for begin in (*begins[:3], used)]
    first, second = [*(text[a:b] for a, b in pairwise([*edges, len(text)])), b""][:2]
    return first, second, edges[0], edges[0] + len(first)


def _cells(line: bytes, path: Path, name: str) -> tuple[str, ...]:
    try:
        text = line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: {path.name} is not text in UTF-8: {error}") from error
    return tuple(next(csv.reader([text], delimiter=_separator(path)), []))


def _is_row(cells: tuple[str, ...]) -> bool:
    """Whether a first line has numbers, but not the names 0, 1, ... that pandas gives columns."""
    counted = tuple(str(j) for j in range(len(cells)))
    numbers = all(_is_number(cell) or cell in _MISSING for cell in cells)
    return cells != counted and numbers and _is_number(cells[0])


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
    ends = letters == ord("\n")
    if text.count(b"\r") > text.count(b"\r\n"):  # alone it ends a line too
        ends[:-1] |= (letters[:-1] == ord("\r")) & ~ends[1:]
    ends = np.flatnonzero(ends)
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
            f"text files need {error.name}, which is not installed: "
            "pip install 'ldr-manifold[files]'"
        ) from None
    return pyarrow, parser
