"""Jobs that take turns with their peers, and the bars that their ratios are held to."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

REPEATS = 3
# Of short jobs as many turns as take so many seconds, up to so many.
SECONDS, MOST = 2.0, 100
# What it reached, a value or a count.
Job: TypeAlias = Callable[[], float]


@dataclass(frozen=True)
class Bar:
    """A ratio, and the most that it is to be."""

    what: str
    found: float
    most: float

    def __str__(self) -> str:
        said = "met" if self.found <= self.most else "MISSED"
        return f"    {self.what:<72} {self.found:8.3g}   bar {self.most:<6g} {said}"


@dataclass(frozen=True)
class Turns:
    """Medians of jobs that took turns; the first is ours, the ratios are to it."""

    name: str
    seconds: dict[str, float]
    reached: dict[str, float]

    def __str__(self) -> str:
        first = next(iter(self.seconds.values()))
        cells = (
            f"{job} {spent:8.3f} s ({spent / first:5.2f}) {self.reached[job]:.7g}"
            for job, spent in self.seconds.items()
        )
        return f"{self.name:<24} " + "   ".join(cells)

    def ratio(self, job: str, *beside: str, most: float) -> Bar:
        """Of a job's time to that of the fastest of others."""
        least = min(self.seconds[other] for other in beside)
        what = f"{self.name}: {job} / {' or '.join(beside)}"
        return Bar(what, self.seconds[job] / least, most)

    def surplus(self, job: str, beside: str, most: float) -> Bar:
        """By how much of another's time a job takes longer."""
        bar = self.ratio(job, beside, most=most)
        return Bar(f"{self.name}: {job}, more than {beside}", bar.found - 1.0, most)

    def apart(self, job: str, beside: str, most: float, sense: int = 1) -> Bar:
        """By how much of its size the job's end is worse: above the other's, or below (-1)."""
        ours, theirs = self.reached[job], self.reached[beside]
        what = f"{self.name}: the end of {job} worse than of {beside}"
        return Bar(what, sense * (ours - theirs) / abs(theirs), most)


# What a part of the table prints, line by line.
Lines: TypeAlias = Iterator[str | Bar | Turns]


def turns(name: str, jobs: dict[str, Job], clock: Callable[[], float] = time.process_time) -> Turns:
    began = clock()
    reached = {job: run() for job, run in jobs.items()}  # libraries are loaded, caches are warm
    rounds = max(REPEATS, min(MOST, int(SECONDS / max(clock() - began, 1e-3))))
    spent: dict[str, list[float]] = {job: [] for job in jobs}
    for _ in range(rounds):
        for job, run in jobs.items():
            began = clock()
            run()
            spent[job].append(clock() - began)
    medians = {job: statistics.median(seconds) for job, seconds in spent.items()}
    return Turns(name, medians, reached)


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        program.kill()
        program.wait()


def standardised(load: Callable[..., Any]) -> tuple[Any, Any]:
    X, y = load(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y
