"""Tables on disk that grow job by job, and survive being stopped."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldr.files import replaced

Row = dict[str, Any]


class Store:
    """A CSV file to which jobs append their rows, flushed after each; sorted when all is done.

    Opening it drops what a stopped run left unfinished: a line without its end, and a job with
    fewer rows than its column `rows` says (where there is such a column; else a job is one row).

    Parameters
    ----------
    path : Path
    columns : sequence of str
    key : sequence of str
        The columns that tell one job from another.
    """

    def __init__(self, path: Path, columns: Sequence[str], key: Sequence[str]) -> None:
        self.path, self.columns, self.key = path, tuple(columns), tuple(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        jobs = self._finished_jobs() if path.exists() else {}
        self.done = set(jobs)
        self._rewrite(row for rows in jobs.values() for row in rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Append the rows of one job."""
        with self.path.open("a", newline="") as file:
            file.write(self._lines([_as_text(row) for row in rows]))
            file.flush()
            os.fsync(file.fileno())
        self.done.add(self.key_of(_as_text(rows[0])))

    def key_of(self, row: Row) -> tuple[str, ...]:
        """What tells a row's job from others."""
        return tuple(str(row[name]) for name in self.key)

    def sort(self) -> None:
        """Bring the jobs into the order of their keys, whatever order they ended in."""
        jobs = self._finished_jobs()
        ordered = sorted(jobs, key=lambda key: [_sortable(part) for part in key])
        self._rewrite(row for key in ordered for row in jobs[key])

    def _finished_jobs(self) -> dict[tuple[str, ...], list[Row]]:
        text = self.path.read_text()
        whole = text[: text.rfind("\n") + 1]
        reader = csv.DictReader(io.StringIO(whole))
        if whole and tuple(reader.fieldnames or ()) != self.columns:
            raise SystemExit(
                f"{self.path} has other columns than this version writes: "
                "move it away, or give another --out"
            )
        jobs: dict[tuple[str, ...], list[Row]] = {}
        for row in reader:
            jobs.setdefault(self.key_of(row), []).append(row)
        return {k: rows for k, rows in jobs.items() if len(rows) == int(rows[0].get("rows", 1))}

    def _rewrite(self, rows: Iterable[Row]) -> None:
        """Replace the file in one step, so that no moment is without a whole table."""
        with replaced(self.path) as file:
            file.write_text(",".join(self.columns) + "\n" + self._lines(rows))

    def _lines(self, rows: Iterable[Row]) -> str:
        text = io.StringIO()
        csv.DictWriter(text, self.columns, lineterminator="\n").writerows(rows)
        return text.getvalue()


class Table:
    """A finished CSV file as columns: numbers where every entry is one, words elsewhere."""

    def __init__(self, columns: dict[str, np.ndarray]) -> None:
        self.columns = columns

    @classmethod
    def read(cls, path: Path) -> Table:
        """The table of a file; a table without rows where there is none."""
        if not path.exists():
            return cls({})
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        names = rows[0] if rows else ()
        return cls({name: _numbers_or_words([row[name] for row in rows]) for name in names})

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, **values: Any) -> Table:
        """The rows in which the columns have these values."""
        if not self.columns:
            return self
        kept = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            kept &= self.columns[name] == value
        return self.rows(kept)

    def rows(self, kept: np.ndarray) -> Table:
        """The rows of a mask."""
        return Table({name: column[kept] for name, column in self.columns.items()})

    def groups(self, name: str) -> Iterator[tuple[Any, Table]]:
        """The rows of each value of a column, in the order of the values."""
        for value in np.unique(self.columns[name]) if self.columns else ():
            yield value.item(), self.where(**{name: value})


def _as_text(row: Row) -> Row:
    """Numbers with all their digits, times with fewer."""
    return {
        name: f"{value:.4g}" if "seconds" in name and isinstance(value, float) else str(value)
        for name, value in row.items()
    }


def _sortable(part: str) -> tuple[float, str]:
    try:
        return float(part), ""
    except ValueError:
        return -1.0, part


def _numbers_or_words(entries: list[str]) -> np.ndarray:
    try:
        return np.array([float(entry) for entry in entries])
    except ValueError:
        return np.array(entries)
