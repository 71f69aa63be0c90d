"""Rows of a .csv or .tsv file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from ldr.objectives.data.cells import Cells, CellType, Column, Given
from ldr.objectives.data.map_reduce import PIECE_NUMBERS
from ldr.objectives.data.sources.head import MISSING, Head, is_number, rows_in, separator_of
from ldr.objectives.data.sources.source import arrow, check_known, coded
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass, replace

# Bytes that are scanned at a time, and more than which no row has.
_CHUNK = 2**24
_LONGEST_ROW = 2**28
# Blocks in a piece: pieces of another file may begin within a block, which is then parsed twice.
_BLOCKS = 8
# Numbers that are names: 007 is not 7. And whole numbers of more digits than a float has.
_CODE = r"^[+-]?0[0-9xX]"
_LONG = r"^[+-]?[0-9]{16,}$"

_libraries = partial(arrow, "csv", "text")


@dataclass(frozen=True)
class TextFile:
    """Numeric columns of a text file with a line of their names first; empty cells are NaN.

    A first line with numbers may be a row, of columns 0, 1, ... (see `Head`); a first column
    without a name has the numbers or names of the rows and is left out: of both a DataWarning
    tells. Lines end as on any system.

    One pass over the bytes finds where rows begin. From then on a block of rows is found at once,
    and each pass over the rows reads and parses the bytes again.

    Attributes
    ----------
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
    separator : str
        What stands between the cells of a row.
    """

    path: Path
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    starts: tuple[int, ...]
    boundaries: tuple[int, ...]
    feature_names: tuple[str, ...]
    name: str = "X"
    separator: str = ","

    dtype: ClassVar[CellType] = np.dtype(np.float64)

    @classmethod
    def open(cls, path: Path, name: str = "X", separator: str = "") -> TextFile:
        """The rows of a file; its ending tells the separator that is not given.

        Raises
        ------
        FileNotFoundError
        ArgumentError
            pyarrow is not installed.
        DataError
            No line of names, two columns of one name, a quote that is not closed.
        """
        separator = separator or separator_of(path)
        head = Head.of(path, name, separator)
        with path.open("rb") as file:
            file.seek(head.begin)
            rows = max(1, PIECE_NUMBERS // _BLOCKS // len(head.cells))
            starts, boundaries = _scan(file, rows, path.name)
        columns = head.columns
        return cls(path, head.cells, columns, starts, boundaries, columns, name, separator)

    @property
    def shape(self) -> tuple[int, int]:
        return self.boundaries[-1], len(self.feature_names)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    def select(self, columns: Sequence[str]) -> TextFile:
        check_known(columns, self.columns, self.path.name)
        return replace(self, feature_names=tuple(columns))

    def column(self, name: str, as_text: bool = False) -> Column:
        check_known([name], self.columns, self.path.name)
        pyarrow, _ = _libraries()
        texts, codes = pyarrow.string(), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())

        def chunks(blocks: range, kind: Given) -> list[Given]:
            tables = (self._parsed(k, (name,), {name: kind}) for k in blocks)
            return [chunk for table in tables for chunk in table.column(name).chunks]

        blocks = range(len(self.starts) - 1)
        first = chunks(blocks[:1], codes)
        if sum(2 * len(chunk.dictionary) - len(chunk) for chunk in first) > 0:  # hardly any recurs
            cells = pyarrow.chunked_array(chunks(blocks, texts), texts)
            return np.asarray((cells if as_text else typed(cells)).to_numpy())
        values = pyarrow.chunked_array(first + chunks(blocks[1:], codes), codes)
        return coded(values) if as_text else coded(values, typed)

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
    def _types(self) -> dict[str, Given]:
        """Numbers, or truth values, as the first block has them."""
        pyarrow, _ = _libraries()
        guessed = self._parsed(0, self.feature_names, {}).schema
        return {
            field.name: field.type if pyarrow.types.is_boolean(field.type) else pyarrow.float64()
            for field in guessed
        }

    def _parsed(self, block: int, columns: Sequence[str], types: dict[str, object]) -> Given:
        """Columns of a block as a pyarrow table, of types given or guessed."""
        pyarrow, parser = _libraries()
        with self.path.open("rb") as file:
            file.seek(self.starts[block])
            text = file.read(self.starts[block + 1] - self.starts[block])
        first = self.boundaries[block]
        wrong: list[Given] = []

        def refuse(row: object) -> str:
            wrong.append(row)
            return "error"

        def table(types: dict[str, object]) -> Given:
            return parser.read_csv(
                io.BytesIO(text),
                parser.ReadOptions(
                    use_threads=False, block_size=len(text) + 1, column_names=self.cells
                ),
                parser.ParseOptions(
                    delimiter=self.separator,
                    newlines_in_values=b'"' in text,
                    invalid_row_handler=refuse,
                ),
                parser.ConvertOptions(
                    column_types=types,
                    include_columns=columns,
                    null_values=MISSING,
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
            numbers = (pyarrow.float64(), pyarrow.bool_())
            texts = [name for name, kind in types.items() if kind not in numbers]
            raise self._wrong_cell(cells, first, texts) or DataError(
                f"{self.name}: {self.path.name} cannot be read: {error}"
            ) from None
        if found.num_rows != self.boundaries[block + 1] - first:
            raise DataError(f"{self.name}: {self.path.name} has changed since it was opened")
        return found

    def _wrong_cell(self, cells: Given, first: int, texts: Sequence[str]) -> DataError | None:
        """What to say of the first cell that cannot be read: as a number, or as text."""
        for column, values in zip(cells.column_names, cells.itercolumns(), strict=True):
            for row, cell in enumerate(values.to_pylist()):
                place = f"{self.name}: row {first + row} (the first is row 0), column {column!r}"
                try:
                    text = "" if cell is None else cell.decode()
                except UnicodeDecodeError:
                    return DataError(f"{place}: {cell!r} is not text in UTF-8")
                if text and column not in texts and not is_number(text):
                    return DataError(
                        f"{place}: {text!r} is no number; leave the column out, or make it the "
                        "label"
                    )
        return None


def typed(texts: object) -> Given:
    """Cells (a pyarrow array) as numbers or truth values, if they lose nothing by it."""
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


def _scan(file: Given, rows: int, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where every so many rows begin, in bytes and in rows; the ends come last.

    Newlines within quotes end no row, and empty lines are none.
    """
    starts: list[int] = []
    boundaries: list[int] = []
    n = 0
    position, rest = file.tell(), b""
    while chunk := file.read(_CHUNK):
        text = rest + chunk
        begins, used = rows_in(text)
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
