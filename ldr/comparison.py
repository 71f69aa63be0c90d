"""What `ldr.compare` returns: methods beside one another, and what their scores say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ldr.judging import OWN
from ldr.result import Result
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.records import dataclass, replace
from ldr.types import Frame, PerRow, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# An improvement below this is none: heuristic and optimum are one.
_SAME = 1e-9
# A row of the table.
Record: TypeAlias = Mapping[str, str | float | None]


@dataclass(frozen=True, eq=False)
class Compared:
    """One method of a comparison.

    Attributes
    ----------
    name : str
    result : Result
        Of all rows.
    scores : dict of ndarray (folds,)
        Of held-out folds, by what is judged; larger is better.
    heuristic_scores : dict of ndarray (folds,), or None
        Of the heuristic; None where it is the optimum, or there is none.
    why : str
        Why it was taken.
    unconverged : int
        Folds whose solver stopped early.
    """

    name: str
    result: Result
    scores: dict[str, Array]
    heuristic_scores: dict[str, Array] | None
    why: str = ""
    unconverged: int = 0

    @property
    def heuristic(self) -> Result | None:
        """The heuristic's projection of all rows, to transform with."""
        return at_heuristic(self.result)


@dataclass(frozen=True, eq=False)
class Comparison(Pickled):
    """Methods beside one another; its repr is the table, in lines of 100 characters.

    Attributes
    ----------
    methods : tuple of Compared
    folds : int
    left_out : dict
        Methods that fit but failed, or would take long, and why.
    X, y : the data that were compared
    notes : tuple of str
        What the user should know of them all.
    """

    methods: tuple[Compared, ...]
    folds: int
    X: Rows
    y: PerRow
    left_out: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def judged_by(self) -> tuple[str, ...]:
        """What is scored; the first is what findings are about, the last the own objective."""
        return tuple(self.methods[0].scores)

    @property
    def records(self) -> list[Record]:
        """The table's rows, each method's and its heuristic's where that is another projection.

        Of each score the mean over the folds and its standard error. "held-out value" is the
        method's own objective, in its own units: not to be compared between methods.
        """
        return [row for method in self.methods for row in self._rows(method)]

    def _rows(self, method: Compared) -> Iterator[Record]:
        result = method.result
        kind = None if result.certificate is None else result.certificate.kind
        yield {
            "method": method.name,
            "projection": "optimum",
            "value": result.value,
            "improvement": result.improvement,
            "certificate": kind,
            **_means(method.scores),
            "seconds": result.seconds,
        }
        if method.heuristic_scores is not None:
            yield {
                "method": method.name,
                "projection": "heuristic",
                "value": result.baseline,
                "improvement": None,
                "certificate": None,
                **_means(method.heuristic_scores),
                "seconds": None,
            }

    @property
    def table(self) -> Frame:
        """`records` as a pandas.DataFrame; the records themselves where pandas is not installed."""
        return _framed(self.records)

    @property
    def directions(self) -> Frame:
        """The numbers of every direction of every method, as `Result.components` has them.

        A pandas.DataFrame, or the records where pandas is not installed.
        """
        numbers = [(m.name, m.result.directions.columns()) for m in self.methods]
        records: list[Record] = [
            {
                "method": name,
                "direction": k + 1,
                **{what: float(column[k]) for what, column in columns.items()},
            }
            for name, columns in numbers
            for k in range(len(next(iter(columns.values()), ())))
        ]
        return _framed(records)

    @property
    def header(self) -> list[str]:
        """Of the columns that are shown."""
        return [*self._columns, "time"]

    def cells(self, record: Record) -> list[str]:
        """A record as text, in the order of the header."""
        return [_shown(record, column) for column in (*self._columns, "seconds")]

    @property
    def _columns(self) -> list[str]:
        return ["method", "projection", *_NUMBERS, *self.judged_by]

    @property
    def findings(self) -> list[str]:
        """What the first score says of the best, and where a heuristic is not improved."""
        judged = self.judged_by[0]
        scored = [
            (float(np.mean(scores[judged])), name)
            for m in self.methods
            for name, scores in (
                (m.name, m.scores),
                (f"the heuristic of {m.name}", m.heuristic_scores),
            )
            if scores is not None and np.isfinite(np.mean(scores[judged]))
        ]
        found = []
        if scored:
            best = max(value for value, _ in scored)
            names = " and ".join(name for value, name in scored if value == best)
            nothing = "; the mean of the training rows predicts better than all" if best < 0 else ""
            found.append(f"best {judged}: {names}, {best:.3f}{nothing}")
        for m in self.methods:
            if m.heuristic_scores is None:
                continue
            ours, theirs = m.scores[judged], m.heuristic_scores[judged]
            apart, error = float(np.mean(theirs - ours)), _error(theirs - ours)
            if apart >= 0.0005:  # in the digits that are shown
                noise = ", within the noise of the folds" if apart < 2 * error else ""
                found.append(
                    f"{m.name}: the heuristic scores higher than the optimum, "
                    f"{np.mean(theirs):.3f} against {np.mean(ours):.3f} "
                    f"({judged}; by {apart:.3f} +- {error:.3f}{noise})"
                )
        for m in self.methods:
            if m.unconverged or not m.result.converged:
                rows = "" if m.result.converged else "all rows and "
                found.append(
                    f"{m.name}: not converged on {rows}{m.unconverged} of {self.folds} folds"
                )
        return found

    def plot(self, X: Rows = None, y: PerRow = None) -> Figure:
        """The projections side by side; see `ldr.plots.side_by_side`.

        Parameters
        ----------
        X, y : as in `ldr.compare`, optional
            Other rows; by default those that were compared.
        """
        from ldr.plots import side_by_side

        given = (self.X, self.y) if X is None else (X, y)
        return side_by_side(self, *given)

    def write_html(self, path: str | Path) -> None:
        """The table, what it says, and the projections, in one HTML file.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        from ldr.report import write_comparison

        write_comparison(path, self)

    def __repr__(self) -> str:
        methods = (
            "  its heuristic" if r["projection"] == "heuristic" else _shown(r, "method")
            for r in self.records
        )
        columns = {"method": ["", "method", *methods]}
        for name in (*self._columns[2:], "seconds"):
            columns[name] = [*_title(name), *(_shown(record, name) for record in self.records)]
        lines = _beside(columns)
        absent: list[str] = []
        for name in _LEFT_TO_THE_TABLE:
            if max(map(len, lines)) > _WIDTH and name in columns:
                absent.append(columns.pop(name)[1])
                lines = _beside(columns)
        lines.append(f"scores: mean +- standard error of {self.folds} held-out folds")
        text = [*self.notes, *self.findings]
        text += [f"left out: {name} ({why})" for name, why in self.left_out.items()]
        text += [f"the table has more: {', '.join(absent)}"] if absent else []
        for said in text:
            lines += wrap(
                said,
                _WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        return "\n".join(lines)


def _title(name: str) -> tuple[str, str]:
    """Of a column, in two lines."""
    above, comma, title = {"seconds": "time"}.get(name, name).rpartition(", ")
    return above + comma.strip(), title


def _beside(columns: Mapping[str, list[str]]) -> list[str]:
    """The lines of columns side by side: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in columns.values()]
    lines = [
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in zip(*columns.values(), strict=True)
    ]
    return lines if lines[0] else lines[1:]


def _framed(records: list[Record]) -> Frame:
    try:
        import pandas
    except ImportError:
        return records
    return pandas.DataFrame(records)


_NUMBERS = ("value", "improvement", "certificate")
# Characters of a printed line, and what is not printed where it would be longer, the first first.
_WIDTH = 100
_LEFT_TO_THE_TABLE = (OWN, "seconds", "certificate", "improvement")


def _shown(record: Record, column: str) -> str:
    """A cell of the table as text."""
    value = record[column]
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if f"{column} (error)" in record:
        number = ".4g" if column == OWN else ".3f"
        text = f"{value:{number}} +- {record[f'{column} (error)']:{number}}"
        return "-" if math.isnan(value) else text
    if column == "improvement":
        return "0 (exact)" if value == 0 else f"{value:+.3g}"
    return f"{value:.2g} s" if column == "seconds" else f"{value:.6g}"


def _means(scores: Mapping[str, Array]) -> dict[str, float]:
    found = {}
    for name, each in scores.items():
        found[name], found[f"{name} (error)"] = float(np.mean(each)), _error(each)
    return found


def _error(scores: Array) -> float:
    """The standard error of the mean."""
    return float(np.std(scores, ddof=1) / math.sqrt(len(scores)))


def at_heuristic(result: Result) -> Result | None:
    """The heuristic's projection as a result, to transform and to score with.

    None where there is none, or it is the optimum, or the start of a model that is fitted.
    """
    same = result.improvement is None or abs(result.improvement) <= _SAME
    if same or result.baseline_P is None or result.model is not None:
        return None
    return replace(result, M=result.baseline_M, P=result.baseline_P, predictors=())
