"""Default calls of all methods, beside the default calls of their peers.

    python -m benchmarks [--only NAME ...] [--size 2000x50] [--part PART ...] [--quick]

A row is a method and a size: what a user writes, `ldr.solve(name, X, r)`, the same without a
certificate, and the peer's own default call, in milliseconds of the processor with one BLAS
thread, the medians of calls that take turns. The parts are "methods", "growth" and "particular".
The tables of the solvers on the problems of the paper are ``python -m benchmarks --against NAME``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks import defaults, paper, particular
from benchmarks.turns import Job, Measured, measure
from ldr.objectives import REGISTRY

PARTS = ("methods", "growth", "particular")
QUICK = ("pca", "fa", "lda", "cca")
LIMIT = 60.0


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:,.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def stated(value: float | None) -> str:
    return "" if value is None else f"{value:.7g}"


def method_line(name: str, size: tuple[int, int], found: Measured) -> str:
    """Return a row of Markdown of a method at a size."""
    n, d = size
    first = found.seconds.get("ldr")
    if first is None:
        why = found.failed.get("ldr", f"not run, {n} x {n} distances")
        return f"| {name} | {n} x {d} | {why} | | | | | |"
    without = found.seconds.get("uncertified")
    share = "" if without is None else f"{max(0.0, 1 - without / first):.2f}"
    peers = []
    for peer in (job for job in found.seconds if job not in {"ldr", "uncertified"}):
        spent = found.seconds[peer]
        value = stated(found.values.get(peer))
        peers.append(f"{peer} {milliseconds(spent)} ({first / spent:.2g}){value and ', ' + value}")
    peers += [f"{job} {why}" for job, why in found.failed.items() if job != "uncertified"]
    return (
        f"| {name} | {n} x {d} | {milliseconds(first)} | {share} | {found.memory:.0f} | "
        f"{stated(found.values.get('ldr'))} | {'; '.join(peers)} |"
    )


METHODS_HEADER = """
| method | samples | ms | certificate's share | MB | value | peer: ms (ratio), value |
|---|---|---|---|---|---|---|"""


def methods(names: Sequence[str], sizes: Sequence[tuple[int, int]], limit: float) -> Iterator[str]:
    """Yield the table of methods."""
    yield METHODS_HEADER
    for name in names:
        for n, d in sizes:
            yield method_line(name, (n, d), measure(partial(defaults.jobs, name, n, d), limit))


def growing(name: str, sizes: Sequence[tuple[int, int]]) -> dict[str, Job]:
    """Return the default call at several sizes."""
    return {f"{n} x {d}": defaults.jobs(name, n, d)["ldr"] for n, d in sizes}


def growth(names: Sequence[str], base: tuple[int, int], limit: float) -> Iterator[str]:
    """Yield the exponents of n and of d, each of four times as many."""
    n, d = base
    sizes = (base, (4 * n, d), (n, 4 * d))
    yield f"\n| method | ms, {n} x {d} | exponent of n | exponent of d |\n|---|---|---|---|"
    for name in names:
        found = measure(partial(growing, name, sizes), limit)
        first, rows, columns = (found.seconds.get(f"{n} x {d}", np.nan) for n, d in sizes)
        powers = (f"{np.log(more / first) / np.log(4):.2f}" for more in (rows, columns))
        yield f"| {name} | {milliseconds(first)} | {' | '.join(powers)} |"


def cases(quick: bool, words: Sequence[str] | None, limit: float) -> Iterator[str]:
    """Yield the rows on particular data."""
    yield "\n| call | found | wanted | ms | values | tuned |\n|---|---|---|---|---|---|"
    for case in particular.cases(quick):
        if words and not any(case.name.startswith(word) for word in words):
            continue
        found = measure(case.jobs, limit)
        times = ", ".join(f"{job} {milliseconds(s)}" for job, s in found.seconds.items())
        values = ", ".join(f"{job} {stated(v)}" for job, v in found.values.items() if v is not None)
        failed = "".join(f"; {job}: {why}" for job, why in found.failed.items())
        yield (
            f"| {case.name} | {case.figure(found)} | {case.wanted} | {times}{failed} | {values} | "
            f"{case.tuned} |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    if {"--against", "--large"} & set(given):
        paper.main(given)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some methods")
    parser.add_argument("--size", metavar="NxD", help="one size")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds a call")
    parser.add_argument("--quick", action="store_true", help="four methods, small sizes")
    options = parser.parse_args(given)
    names = options.only or (QUICK if options.quick else tuple(REGISTRY))
    sizes = ((60, 6),) if options.quick else defaults.SIZES
    if options.size:
        sizes = (tuple(map(int, options.size.split("x"))),)  # type: ignore[assignment]
    print(f"r = {defaults.R}; the limit of a call is {options.limit:g} s of the processor.")
    for part, lines in {
        "methods": methods(names, sizes, options.limit),
        "growth": growth(names, (50, 5) if options.quick else (1000, 20), options.limit),
        "particular": cases(options.quick, options.only, 10 * options.limit),
    }.items():
        if part in options.part:
            for line in lines:
                print(line, flush=True)


if __name__ == "__main__":
    main()
