"""A scheduler and workers in processes of their own, as the commands of the guide start them."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import ldr

ROOT = Path(ldr.__file__).resolve().parent.parent
_PATIENCE = 60.0  # seconds


def start(*arguments, folder):
    """A Dask command, without its log."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_until(happened, what):
    """Until something is true, for a minute at most."""
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def in_this_process(n_workers):
    """A cluster in threads, whatever ports are taken and without a network."""
    from distributed import LocalCluster

    here = {"host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, **here)


@contextmanager
def scheduler(folder):
    """The address of a scheduler without workers."""
    file = folder / "scheduler.json"
    process = start(
        *("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
        *("--dashboard-address", ":0", "--scheduler-file", str(file)),
        folder=folder,
    )
    try:
        wait_until(file.exists, "the scheduler")
        import json

        wait_until(lambda: file.read_text(), "the scheduler's file")
        yield json.loads(file.read_text())["address"]
    finally:
        process.kill()
        process.wait(60)


@contextmanager
def cluster(folder, count=2):
    """A client of a scheduler with some workers of one thread each, and the workers' processes.

    The workers have no nannies: one that is killed stays away.
    """
    from distributed import Client

    with scheduler(folder) as address:
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        workers = [start("worker", address, *options, folder=folder) for _ in range(count)]
        try:
            with Client(address, timeout=_PATIENCE) as client:
                client.wait_for_workers(count, timeout=_PATIENCE)
                yield client, workers
        finally:
            for worker in workers:
                worker.kill()
                worker.wait(60)
