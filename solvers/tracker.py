"""What is kept of a run on its way."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from ldr.solvers.limits import unlimited
from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.run import Iteration, Observer, Run, Stopping
from ldr.solvers.solver import AnySolver, State
from ldr.solvers.status import Status
from ldr.solvers.verdict import Verdict

# What is kept of each iteration.
_HISTORY = ("iteration", "value", "gradient_norm", "seconds")


class Tracker:
    """The history of a run, its last and its best point, who looks on, and why it ends."""

    def __init__(
        self,
        problem: RiemannianProblem,
        solver: AnySolver,
        stopping: Stopping,
        observers: Sequence[Observer],
    ) -> None:
        limit = stopping.max_iterations
        self._limit = solver.default_max_iterations if limit is None else limit
        self._problem, self._patience = problem, solver.patience
        self._stopping, self._observers = stopping, observers
        self._seen: list[tuple[int, float, float, float]] = []
        self._began = time.perf_counter()
        self._number = 0
        self._best: RiemannianPoint | None = None
        self._last: RiemannianPoint | None = None
        self._verdict: Verdict | None = None
        self._status: Status | None = None

    def ends_at(self, state: State) -> bool:
        """Whether the run ends at this state, of which note is taken."""
        self._last = point = state.point
        with unlimited():  # what a step has led to is not given up
            finite = math.isfinite(point.value) and math.isfinite(point.gradient_norm)
        if not finite:
            self._status = Status.NOT_FINITE
            return True
        if self._verdict is None:
            self._verdict = Verdict(point, self._stopping, self._limit, self._patience)
            self._problem.threshold = self._verdict.threshold
        else:
            self._number += state.iterations
        if self._best is None or point.value <= self._best.value:
            self._best = point
        self._note(point)
        self._status = self._verdict.of(state, self._number, self._asked(point))
        return self._status is not None

    def run(self, start: Array, told: Status | None) -> Run:
        """All of it.

        Parameters
        ----------
        start : ndarray
            What there is to return where no state was seen.
        told : Status or None
            What ended the run from outside.

        Raises
        ------
        KeyboardInterrupt
            Before there was a state.
        """
        status = told or self._status
        if self._last is None:
            if status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            with unlimited():
                self._best = self._problem.at(start)
                self._note(self._best)
        final = self._final(status)
        assert status is not None
        return Run(
            M=final.M.copy(),
            value=final.value,
            gradient_norm=final.gradient_norm,
            status=status,
            iterations=self._number,
            evaluations=dict(self._problem.evaluations),
            history={name: [seen[k] for seen in self._seen] for k, name in enumerate(_HISTORY)},
            seconds=self._seconds,
        )

    def _final(self, status: Status | None) -> RiemannianPoint:
        """The best point.

        Where values agree to rounding, "lowest" means nothing: there the flattest one is the best.
        """
        if status is Status.ROUNDING and self._verdict is not None:
            return self._verdict.flattest
        final = self._last if status is Status.CONVERGED else self._best or self._last
        assert final is not None
        return final

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._began

    def _note(self, point: RiemannianPoint) -> None:
        """Put what there is to see at a point into the history."""
        self._seen.append((self._number, point.value, point.gradient_norm, self._seconds))

    def _asked(self, point: RiemannianPoint) -> bool:
        """Whether an observer of the point, which all of them see, asks to stop."""
        if not self._observers:
            return False
        number, value, norm, seconds = self._seen[-1]
        seen = Iteration(number, point.M, value, norm, self._problem.threshold, seconds)
        wishes = [_is_true(observer(seen)) for observer in self._observers]
        return any(wishes)


def _is_true(wish: object) -> bool:
    """True itself, of Python's or of NumPy's: other truthy values are no wish to stop."""
    return isinstance(wish, (bool, np.bool_)) and bool(wish)
