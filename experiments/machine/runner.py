"""Jobs on several processes, each finished one written at once, with the time left."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.machine.store import Row, Store

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_STEADY = 3600.0  # seconds over which the speed is averaged: job lengths differ 1000-fold


def stop_at_ctrl_c() -> None:
    """Let every Ctrl-C raise: a run that was interrupted is no result.

    Solves hear the first Ctrl-C only where the handler is Python's own.
    """
    signal.signal(signal.SIGINT, lambda *given: signal.default_int_handler(*given))


def run_jobs(
    store: Store,
    jobs: Sequence[Any],
    work: Callable[[Any], Sequence[Row]],
    cost: Callable[[Any], float],
    workers: int,
    title: str,
    console: Console,
) -> list[str]:
    """Run the jobs that the store does not have yet, the shortest first; return what failed.

    So a run that is stopped has most of the points.

    Each process has one BLAS thread: seconds are those of one core. A job that fails is reported
    and not stored, so that the next run tries it again.

    Parameters
    ----------
    jobs : sequence of dataclass instances
        Their fields include the store's key.
    work : callable
        A function of a module: from a job to its rows.
    cost : callable
        About the seconds that a job takes, for the time left.
    """
    todo = [job for job in jobs if store.key_of(asdict(job)) not in store.done]
    todo.sort(key=cost)
    failures: list[str] = []
    if not todo:
        return failures
    for name in _THREADS:  # for the new processes; this process has loaded its BLAS already
        os.environ[name] = "1"
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=stop_at_ctrl_c)
    with _progress(console) as progress:
        task = progress.add_task(title, total=sum(map(cost, todo)), jobs=f"0/{len(todo)} jobs")
        waiting = list(reversed(todo))
        running: dict[Future[Sequence[Row]], Any] = {}
        finished = 0
        try:
            while waiting or running:
                while waiting and len(running) < 2 * workers:
                    job = waiting.pop()
                    running[pool.submit(work, job)] = job
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    job = running.pop(future)
                    try:
                        store.add(future.result())
                    except Exception:
                        failures.append(f"{job}: {traceback.format_exc(limit=-1).strip()}")
                        console.print(f"failed: {failures[-1]}", style="red", markup=False)
                    finished += 1
                    progress.update(task, advance=cost(job), jobs=f"{finished}/{len(todo)} jobs")
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    store.sort()
    return failures


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[jobs]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        speed_estimate_period=_STEADY,
    )
