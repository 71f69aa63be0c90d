"""What the first lines of a .csv or .tsv file say of its columns."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.sources.source import check_distinct
from ldr.solvers.errors import DataError, DataWarning
from ldr.solvers.records import dataclass

SEPARATORS = {".csv": ",", ".tsv": "\t"}
# Other characters that such files are found to have between their cells.
_SEPARATORS = (",", ";", "\t", "|")

# Bytes in which the first rows are looked for, and how many of them are looked at.
_HEAD = 2**16
_LINES = 100
# Of text in UTF-8, as some systems write it.
_MARK = b"\xef\xbb\xbf"
# Cells without a number, as pandas has them.
MISSING = [
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
]
# What the column of row numbers is called: nothing, as pandas and R write it, or what pandas makes
# of that.
_UNNAMED = ("", "Unnamed: 0")


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
    def of(cls, path: Path, name: str = "X", separator: str = "") -> Head:
        """Raises as `TextFile.open` does."""
        separator = separator or separator_of(path)
        (first, *others), begin, after = _first_lines(path)
        _check_text(first, *others[:1], path=path, name=name)
        cells, following = (_split(line, separator) for line in (first, *others[:1], b"")[:2])
        if not cells:
            raise DataError(f"{name}: {path.name} has no line of column names first")
        _check_separated(cells, following, separator, f"{name}: {path.name}")
        numbers = [
            j
            for j, cell in enumerate(cells)
            if is_number(cell) and f'"{cell}"'.encode() not in first
        ]
        if _is_row(cells, numbers, lambda: [_split(line, separator) for line in others], path.name):
            _tell(
                f"{path.name}: the first line has numbers and is taken as a row, of columns 0, "
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


def _first_lines(path: Path) -> tuple[list[bytes], int, int]:
    """The first lines that are not empty, and the bytes at which the very first begins and ends."""
    text = b""
    with path.open("rb") as file:
        while chunk := file.read(max(len(text), _HEAD)):
            text += chunk
            if len(rows_in(text)[0]) > 2:
                break
    mark = len(_MARK) if text.startswith(_MARK) else 0
    begins, used = rows_in(text[mark:])
    edges = [mark + int(begin) for begin in (*begins[:_LINES], used)]
    first, *others = [text[a:b] for a, b in pairwise([*edges, len(text)])] or [b""]
    return [first, *others], edges[0], edges[0] + len(first)


def _check_text(*lines: bytes, path: Path, name: str) -> None:
    try:
        b"".join(lines).decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{name}: {path.name} is not text in UTF-8: {error}") from error


def _split(line: bytes, separator: str) -> tuple[str, ...]:
    text = line.decode(errors="replace").rstrip("\r\n")
    return tuple(next(csv.reader([text], delimiter=separator), []))


def _check_separated(
    cells: tuple[str, ...], following: tuple[str, ...], separator: str, file: str
) -> None:
    """Refuse lines of one cell that another separator cuts into several, as many in both."""
    if len(cells) > 1:
        return
    for other in _SEPARATORS:
        count = len(_split(cells[0].encode(), other))
        below = separator.join(following)
        if other != separator and count == len(_split(below.encode(), other)) > 1:
            raise DataError(
                f"{file} has no {separator!r} between its cells; if that is {other!r}, say so: "
                f"--sep on the command line, or hand over pandas.read_csv(path, sep={other!r})"
            )


def _is_row(
    cells: tuple[str, ...],
    numbers: Sequence[int],
    others: Callable[[], Sequence[tuple[str, ...]]],
    file: str,
) -> bool:
    """Whether a first line, with numbers at some places, is a row and not the names of columns.

    Not where they are the names 0, 1, ... that pandas gives columns. A line of numbers alone is a
    row. Beside texts, it is one where the lines after it have numbers at the same places, and a
    text stands there again or the numbers neither rise nor fall, as years and wavelengths do.
    """
    if all(cells[j] == str(j) for j in numbers):
        return False
    texts = [j for j, cell in enumerate(cells) if j not in numbers and cell not in MISSING]
    if not texts:
        return 0 in numbers
    rows = [row for row in others() if len(row) == len(cells)]
    if not rows or not all(is_number(row[j]) or row[j] in MISSING for row in rows for j in numbers):
        return False
    steps = np.diff([float(cells[j]) for j in numbers])
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    if not in_order or any(row[j] == cells[j] for row in rows for j in texts):
        return True
    _tell(
        f"{file}: the first line has numbers and is taken as the names of the columns; put them in "
        "quotes, or if it is a row put a line of names before it"
    )
    return False


def rows_in(text: bytes) -> tuple[npt.NDArray[np.intp], int]:
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


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def separator_of(path: Path) -> str:
    return SEPARATORS[path.suffix.lower()]
