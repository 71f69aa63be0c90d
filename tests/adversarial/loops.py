"""Loops over solves, in a process of their own, that a parent interrupts: ``python -m ...``.

It reads the number of a trial from its standard input, solves again and again until Ctrl-C ends
that, and prints as JSON how it ended and which passes over the data it had begun.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import threadpoolctl

import ldr
from ldr.errors import ConvergenceWarning
from ldr.objectives import SparsePCA
from ldr.objectives.data.opening import as_samples
from ldr.solvers import Status, deadline

PASS = 0.02  # seconds
N, D = 400, 6
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)) ** 3 @ RNG.standard_normal((D, D))
Y = np.arange(N) % 3
MANY = RNG.standard_normal((3000, 60)) @ RNG.standard_normal((60, 60))
begun: list[float] = []


class SlowRows:
    """Rows of a file, a pass over which takes a while."""

    def __init__(self, rows):
        self._rows = rows

    def __getattr__(self, name):
        return getattr(self._rows, name)

    def read(self, start, stop):
        begun.append(time.monotonic())
        time.sleep(PASS * (stop - start) / N)
        return self._rows.read(start, stop)


def slow(file):
    samples = as_samples(file)
    return replace(samples, array=SlowRows(samples.array))


def blocks():
    begun.append(time.monotonic())
    for start in range(0, N, 100):
        time.sleep(PASS / 4)
        yield X[start : start + 100]


@ldr.objective(manifold="stiefel", sense="max", backend="numpy", gradient=lambda M, X: _slope(M, X))
def quartic(M, X):
    time.sleep(0.002)
    return np.sum((X @ M) ** 4) / len(X)


def _slope(M, X):
    return 4 * X.T @ (X @ M) ** 3 / len(X)


def loops(file):
    """Each does something for ever, one result at a time."""
    one = {"random_state": 0}
    return [
        lambda: ldr.solve("robust-pca", slow(file), 2, **one),
        lambda: ldr.solve("ica", slow(file), 2, starts=4, workers=2, **one),
        lambda: ldr.solve("ica", X, 2, starts=40, **one),
        lambda: ldr.solve("ica", X, 2, starts=40, workers=2, **one),
        lambda: ldr.solve("save", slow(file), 2, y=X[:, 0]),
        lambda: ldr.solve("sfa", blocks, 2),
        lambda: ldr.solve("orthogonal-lda", MANY, 5, y=np.arange(3000) % 7, solver="trust-region"),
        lambda: ldr.solve(SparsePCA(100.0), MANY, 3),
        lambda: ldr.solve("orthogonal-cca", (X, X[:, :4] ** 2), 2),
        lambda: ldr.solve(quartic, X, 2, starts=3, **one),
        lambda: ldr.solve("fa", MANY[:, :20], 3),
        lambda: ldr.path("orthogonal-lda", MANY, range(1, 7), y=np.arange(3000) % 7).results[-1],
        lambda: ldr.bootstrap("pca", X, 2, draws=30, **one).result,
        lambda: ldr.regularisation_path("pca", X, 2, [1.0, 10.0, 100.0]).results[-1],
        lambda: ldr.ICA(n_components=2, random_state=0).fit(X).result_,
    ]


def until_interrupted(work):
    """How a loop ended, which begins as soon as that is told."""
    first = True
    while True:
        try:
            if first:
                first = False
                print("begun", flush=True)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                result = work()
        except KeyboardInterrupt:
            return "KeyboardInterrupt"
        said = [w for w in told if "interrupted" in str(w.message)]
        if said and all(issubclass(w.category, ConvergenceWarning) for w in said):
            return "told"
        if said or result.status is Status.INTERRUPTED:
            return f"{result.status}, {[str(w.message) for w in told]}"


def threads_left():
    """Threads of Python after a while: of an executor that Ctrl-C left, they end on their own."""
    end = time.monotonic() + 5.0
    while threading.active_count() > 1 and time.monotonic() < end:
        time.sleep(0.01)
    return threading.active_count()


def main():
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "rows.npy"), X)
        every = loops(os.path.join(folder, "rows.npy"))
        for work in every:
            work()  # what is imported and compiled on the way is there
        before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
        print(len(every), flush=True)
        for line in sys.stdin:
            deadline._last_interrupt = -np.inf
            begun.clear()
            # The trial begins with a Ctrl-C that is allowed, and ends when it is not any more.
            ended = until_interrupted(every[int(line) % len(every)])
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            after = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
            found = {
                "ended": ended,
                "begun": begun[-50:],
                "threads": threads_left(),
                "blas": after == before,
            }
            print(json.dumps(found), flush=True)
            sys.stdin.readline()
            signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    main()
