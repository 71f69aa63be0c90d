"""Jobs that take turns, in a process of their own that ends with the limit of a job."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ldr.solvers.deadline import one_thread

# Turns of a measurement: total seconds by the wall clock, least and largest number of turns.
SECONDS, LEAST, MOST = 1.0, 3, 50
# Jobs run once if together they take longer than this number of seconds by the wall clock.
LONG = 5.0
OVER_LIMIT = 124
# Timed call, and function that returns the value of the call's result, or None.
Job: TypeAlias = tuple[Callable[[], Any], Callable[[Any], Any]]


@dataclass
class Measured:
    """Median processor seconds of each job, its value, and what else is known of it."""

    seconds: dict[str, float] = field(default_factory=dict)
    # Wall-clock seconds of the first turns.
    clock: dict[str, float] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    # Mebibytes that the first job added to the memory of the process.
    memory: float = 0.0
    # Map from each failed job to its error, or to the message that it exceeded the time limit.
    failed: dict[str, str] = field(default_factory=dict)


def solve_job(solve: Callable[[], Any]) -> Job:
    """Return a job of this library, whose value is that of the result."""
    return solve, lambda result: float(result.value)


def in_mebibytes(key: str) -> float:
    """Return an entry of the status of this process: VmRSS is its memory, VmHWM its peak."""
    if sys.platform != "linux":
        return np.nan
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024


def measure(
    jobs: Callable[[], dict[str, Job]], limit: float, blas_threads: Callable[[], Any] = one_thread
) -> Measured:
    """Return the medians of jobs that take turns in a forked process, of one BLAS thread.

    A job that takes more than `limit` seconds of the processor ends the process, and those after
    it are not run.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(jobs, limit, blas_threads, sender))
    child.start()
    sender.close()
    measured, running = Measured(), "data"
    turns: dict[str, list[float]] = {}
    with contextlib.suppress(EOFError):
        while True:
            kind, job, what = receiver.recv()
            if kind == "begins":
                running = job
            elif kind == "seconds":
                turns.setdefault(job, []).append(what)
            elif kind == "clock":
                measured.clock[job] = what
            elif kind == "memory":
                measured.memory = what
            elif kind == "failed":
                measured.failed[job] = what
            else:
                measured.values[job] = what
    child.join()
    if child.exitcode:
        over = child.exitcode == OVER_LIMIT
        measured.failed[running] = f"over {limit:g} s" if over else "failed"
    # The first turn loads modules: it counts only if it is the only turn.
    measured.seconds = {job: statistics.median(all_[1:] or all_) for job, all_ in turns.items()}
    return measured


class Watch(threading.Thread):
    """End the process when a job has taken its limit of processor time."""

    def __init__(self, limit: float) -> None:
        super().__init__(daemon=True)
        self.limit, self.began = limit, time.process_time()

    def run(self) -> None:
        while time.process_time() - self.began < self.limit:
            time.sleep(0.5)
        os._exit(OVER_LIMIT)


def _run(
    jobs: Callable[[], dict[str, Job]],
    limit: float,
    blas_threads: Callable[[], Any],
    sender: Connection,
) -> None:
    warnings.simplefilter("ignore")
    watch = Watch(limit)
    watch.start()
    with (
        blas_threads(),
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        clock: dict[str, float] = {}
        try:
            made = jobs()
        except MemoryError:
            return
        for name, (call, value) in made.items():
            sender.send(("begins", name, None))
            with contextlib.suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5")  # resets the peak memory use
            before = in_mebibytes("VmRSS")
            began = time.perf_counter()
            try:
                spent, result = _timed(call, watch)
            except ImportError:
                continue
            except Exception as error:  # the table row of a method shows the method's error
                sender.send(("failed", name, type(error).__name__))
                continue
            clock[name] = time.perf_counter() - began
            if len(clock) == 1:
                sender.send(("memory", name, in_mebibytes("VmHWM") - before))
            sender.send(("seconds", name, spent))
            sender.send(("clock", name, clock[name]))
            sender.send(("value", name, value(result)))
            del result
        whole = max(sum(clock.values()), 1e-3)
        for _ in range(0 if whole > LONG else min(MOST, max(LEAST, int(SECONDS / whole)))):
            for name in clock:
                sender.send(("seconds", name, _timed(made[name][0], watch)[0]))


def _timed(call: Callable[[], Any], watch: Watch) -> tuple[float, Any]:
    watch.began = began = time.process_time()
    result = call()
    return time.process_time() - began, result
