"""Default calls of all methods, beside the default calls of their peers.

    python -m benchmarks [--only NAME ...] [--size 2000x50] [--part PART ...] [--quick]
    python -m benchmarks --write docs/peers.md [--resume]

A row is a method and a size: what a user writes, `ldr.solve(name, X, r)`, the same without a
certificate, and the peer's own default call, in milliseconds of the processor with one BLAS
thread, the medians of calls that take turns. The parts are "methods", "growth" and "particular",
and by name alone "files", larger than memory, and "sparse", of very many features. The tables of
the solvers on the problems of the paper are ``python -m benchmarks --against NAME``.

With ``--write`` each row goes into the table of a file, between the comments that name the part. A
whole run begins with empty tables; with ``--resume``, ``--only`` or ``--size`` the other rows stay,
and with ``--resume`` rows that are there are not measured.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import defaults, larger_than_memory, paper, particular, sparse_wide
from benchmarks.turns import Job, measure
from ldr.objectives import REGISTRY

QUICK = ("pca", "fa", "lda", "cca")
LIMIT = 60.0
# Label of a table row, and the function that measures the row.
Rows = Iterator[tuple[str, Callable[[], str]]]


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def stated(value: float | None) -> str:
    return "" if value is None else f"{value:.7g}"


def method_row(name: str, n: int, d: int, limit: float) -> str:
    """Return the cells of a method at a size."""
    found = measure(partial(defaults.jobs, name, n, d), limit)
    first = found.seconds.get("ldr")
    if first is None:
        why = found.failed.get("ldr", f"not run, {n:,} x {n:,} distances")
        return f"{why} | | | | |"
    without = found.seconds.get("uncertified")
    share = "" if without is None else f"{max(0.0, 1 - without / first):.2f}"
    peers = []
    for peer in (job for job in found.seconds if job not in {"ldr", "uncertified"}):
        spent = found.seconds[peer]
        value = stated(found.values.get(peer))
        peers.append(f"{peer} {milliseconds(spent)} ({first / spent:.2g}){value and ', ' + value}")
    peers += [f"{job} {why}" for job, why in found.failed.items() if job != "uncertified"]
    return (
        f"{milliseconds(first)} | {share} | {found.memory:.0f} | "
        f"{stated(found.values.get('ldr'))} | {'; '.join(peers)} |"
    )


def methods(names: Sequence[str], sizes: Sequence[tuple[int, int]], limit: float) -> Rows:
    """Yield the rows of methods."""
    for name in names:
        for n, d in sizes:
            yield f"| {name} | {n:,} x {d} |", partial(method_row, name, n, d, limit)


def growing(name: str, sizes: Sequence[tuple[int, int]]) -> dict[str, Job]:
    """Return the default call at several sizes."""
    return {f"{n} x {d}": defaults.jobs(name, n, d)["ldr"] for n, d in sizes}


def growth_row(name: str, sizes: Sequence[tuple[int, int]], limit: float) -> str:
    """Return the time at the first size, and the exponents of n and of d."""
    found = measure(partial(growing, name, sizes), limit)
    first, *others = (found.seconds.get(f"{n} x {d}", np.nan) for n, d in sizes)
    why = next(iter(found.failed.values()), "")
    powers = (why if np.isnan(t) else f"{np.log(t / first) / np.log(4):.2f}" for t in others)
    return f"{milliseconds(first)} | {' | '.join(powers)} |"


def growth(names: Sequence[str], base: tuple[int, int], limit: float) -> Rows:
    """Yield the rows of growth, to four times as many samples and features."""
    n, d = base
    for name in names:
        yield f"| {name} |", partial(growth_row, name, (base, (4 * n, d), (n, 4 * d)), limit)


def case_row(case: particular.Case, limit: float) -> str:
    """Return the cells of a row on particular data."""
    found = measure(case.jobs, limit)
    times = ", ".join(f"{job} {milliseconds(s)}" for job, s in found.seconds.items())
    values = ", ".join(f"{job} {stated(v)}" for job, v in found.values.items() if v is not None)
    failed = "".join(f"; {job}: {why}" for job, why in found.failed.items())
    figure = "not measured"
    with suppress(KeyError):  # a failed job has no measurements
        figure = case.figure(found)
    return f"{figure} | {case.wanted} | {times}{failed} | {values} | {case.tuned} |"


def sparse(names: Sequence[str], n: int, d: int) -> Rows:
    """Yield the rows of sparse data."""
    for name in (name for name in sparse_wide.METHODS if name in names):
        yield f"| {name} |", partial(sparse_wide.cells, name, n, d)


def cases(quick: bool, words: Sequence[str] | None, limit: float) -> Rows:
    """Yield the rows on particular data whose names begin with one of the words."""
    for case in particular.cases(quick):
        if not words or case.name.startswith(tuple(words)):
            yield f"| {case.name} |", partial(case_row, case, limit)


HEADERS = {
    "methods": "| method | samples | ms | certificate's share | MB | value | "
    "peer: ms (ratio), value |\n|---|---|---|---|---|---|---|",
    "growth": "| method | ms | exponent of n | exponent of d |\n|---|---|---|---|",
    "particular": "| call | found | wanted | ms | values | tuned |\n|---|---|---|---|---|---|",
    "files": "| | seconds | over bare X'X | peak memory, GB | value |\n|---|---|---|---|---|",
    "sparse": "| method | value | seconds | MiB | limit | certificate, gap | arrays |\n"
    "|---|---|---|---|---|---|---|",
}


@dataclass
class Table:
    """The rows of a part, in a file between comments that name it."""

    path: Path
    part: str

    @property
    def _places(self) -> re.Pattern[str]:
        return re.compile(rf"(<!-- {self.part} -->\n)(.*?)(<!-- end -->)", re.DOTALL)

    def rows(self) -> list[str]:
        found = self._places.search(self.path.read_text())
        if found is None:
            raise SystemExit(f"{self.path} has no line <!-- {self.part} --> before <!-- end -->.")
        return found[2].splitlines()[HEADERS[self.part].count("\n") + 1 :]

    def write(self, rows: Sequence[str]) -> None:
        table = "\n".join([HEADERS[self.part], *rows])
        text = self._places.sub(lambda m: f"{m[1]}{table}\n{m[3]}", self.path.read_text())
        self.path.write_text(text)


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if {"--against", "--large"} & set(given):
        paper.main(given)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some methods")
    parser.add_argument("--size", metavar="NxD", help="one size")
    parser.add_argument("--part", nargs="+", choices=HEADERS, default=[*HEADERS][:3])
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds a call")
    parser.add_argument("--quick", action="store_true", help="four methods, small sizes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the rows into its tables")
    parser.add_argument("--resume", action="store_true", help="measure the rows that lack there")
    options = parser.parse_args(given)
    names = options.only or (QUICK if options.quick else tuple(REGISTRY))
    sizes = ((60, 6),) if options.quick else defaults.SIZES
    if options.size:
        sizes = (tuple(map(int, options.size.split("x"))),)  # type: ignore[assignment]
    of_methods = [name for name in names if name in REGISTRY]
    parts = {
        "methods": methods(of_methods, sizes, options.limit),
        "growth": growth(of_methods, (50, 5) if options.quick else (1000, 20), options.limit / 3),
        "particular": cases(options.quick, options.only, options.limit),
        "files": larger_than_memory.rows(*(sizes[0] if options.size else (8_000_000, 200))),
        "sparse": sparse(names, *(sizes[0] if options.size else (10**6, 10**5))),
    }
    whole = not (options.only or options.size or options.resume)
    print(f"r = {defaults.R}; the limit of a call is {options.limit:g} s of the processor.")
    for part in options.part:
        table = Table(options.write, part) if options.write else None
        rows = table.rows() if table and not whole else []
        print(f"\n{HEADERS[part]}")
        for begins, measured in parts[part]:
            old = next((k for k, row in enumerate(rows) if row.startswith(begins)), len(rows))
            if options.resume and old < len(rows):
                continue
            rows[old : old + 1] = [f"{begins} {measured()}"]
            print(rows[old], flush=True)
            if table:
                table.write(rows)


if __name__ == "__main__":
    main()
