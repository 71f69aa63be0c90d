"""What ends a computation before it is done: a time limit, and Ctrl-C.

Whatever takes long asks `check()` before each part of its work: a piece of the rows, an evaluation,
a large decomposition. There the first Ctrl-C and the end of the time raise; `until_told` catches
them where there is something to return. Limits are the context's (`contextvars`): work that is
given to other threads takes them along in a copy of the context.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, ContextVar, Token, copy_context
from functools import cache
from signal import SIGINT, default_int_handler, getsignal, signal
from time import monotonic, perf_counter
from typing import TypeVar

import numpy as np

from ldr.solvers.errors import ConvergenceWarning, TimeLimitError
from ldr.solvers.records import dataclass
from ldr.solvers.status import Status
from ldr.solvers.threads import idle_cores, one_thread
from ldr.solvers.warn import warn

Each = TypeVar("Each")

# Seconds within which a second Ctrl-C is taken as a wish to leave the program, not this run only.
INSISTING = 30.0

# The order of the decomposition that is timed to know how long another takes; nothing smaller is
# worth an estimate. What others cost, in decompositions of the same order into all eigenvectors:
# a few eigenvectors, eigenvalues alone, Cholesky's factor, singular vectors.
_TIMED_ORDER = 300
_MISSES = 2.0  # larger matrices do not stay in the caches
FEW_COST, VALUES_COST, CHOLESKY_COST, SINGULAR_COST = 0.6, 0.4, 0.1, 2.5

_ENDED = {
    Status.TIME_LIMIT: "the time limit was reached",
    Status.INTERRUPTED: "interrupted from the keyboard",
}

# When a Ctrl-C was last answered with what there was.
_answered = -math.inf


@dataclass
class Deadline:
    """A moment of `time.monotonic`, the seconds that led to it, and what is being done."""

    moment: float
    seconds: float
    task: str = "a solution was sought"


class Interrupt:
    """Whether Ctrl-C was heard, here or around, and whether it came again."""

    def __init__(self, around: Interrupt | None = None) -> None:
        self._around, self._heard, self.again = around, False, False

    @property
    def heard(self) -> bool:
        return self._heard or (self._around is not None and self._around.heard)

    def end(self) -> None:
        """Let the threads that have this one end as if they had heard Ctrl-C."""
        self._heard = True

    def context(self) -> Context:
        """A copy of the context, which has this one."""
        copy = copy_context()
        copy.run(_interrupt.set, self)
        return copy

    def hear(self, *_: object) -> None:
        """The first is noted, for the next `check`. A second one, now or soon, raises.

        Raises
        ------
        KeyboardInterrupt
        """
        global _answered
        now = monotonic()
        self.again = self.heard or now < _answered + INSISTING
        self._heard = True
        if self.again:
            raise KeyboardInterrupt
        _answered = now


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)
_interrupt: ContextVar[Interrupt | None] = ContextVar("interrupt", default=None)
_follower: ContextVar[Callable[[int, int, str], object] | None] = ContextVar(
    "follower", default=None
)


class within:
    """Nothing within is begun after so many seconds, nor after the time limit around it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> Deadline:
        around = _deadline.get()
        deadline = Deadline(monotonic() + self._seconds, self._seconds)
        if around is not None and around.moment <= deadline.moment:
            deadline = around
        # without an end there is nothing to look at the clock for
        self._token = _deadline.set(deadline if deadline.moment < math.inf else None)
        return deadline

    def __exit__(self, *_: object) -> None:
        _deadline.reset(self._token)


class hearing:
    """The first Ctrl-C within is noted, and ends what is within at its next `check`.

    In the main thread only, as Python has it, and unless the program has a handler of its own.
    Like those around it, it is entered some twenty times a solve, and therefore no generator.
    """

    _token: Token[Interrupt | None] | None = None
    _handled = False

    def __enter__(self) -> Interrupt:
        around = _interrupt.get()
        if around is not None:
            return around
        interrupt = Interrupt()
        main = threading.current_thread() is threading.main_thread()
        self._handled = main and getsignal(SIGINT) is default_int_handler
        if self._handled:  # first: from here on Ctrl-C raises nothing that would leave a token
            signal(SIGINT, interrupt.hear)
        self._token = _interrupt.set(interrupt)
        return interrupt

    def __exit__(self, *_: object) -> None:
        try:
            if self._handled:
                signal(SIGINT, default_int_handler)
        finally:  # Ctrl-C raises again, here too
            if self._token is not None:
                _interrupt.reset(self._token)


class unlimited:
    """What is within is done to its end: there would be nothing to return without it.

    Entered at every iteration, and therefore no generator.
    """

    def __enter__(self) -> None:
        self._tokens = _deadline.set(None), _interrupt.set(None)

    def __exit__(self, *_: object) -> None:
        _deadline.reset(self._tokens[0])
        _interrupt.reset(self._tokens[1])


@dataclass
class Told:
    """How what was to be done was ended before it was done; None where it was not."""

    status: Status | None = None


class until_told:
    """What is within ends at the time limit or at the first Ctrl-C, and the program goes on.

    Raises
    ------
    KeyboardInterrupt
        At the second.
    """

    def __enter__(self) -> Told:
        self._hearing, self._told = hearing(), Told()
        self._interrupt = self._hearing.__enter__()
        return self._told

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> bool:
        interrupt, told = self._interrupt, self._told
        try:
            if isinstance(error, TimeLimitError):
                told.status = Status.TIME_LIMIT
            elif isinstance(error, KeyboardInterrupt):
                if interrupt.again:
                    return False
                if not interrupt.heard:  # of a program's own handler
                    interrupt.hear()
            elif error is not None:
                return False
            if interrupt.heard:
                told.status = Status.INTERRUPTED
            return True
        finally:
            self._hearing.__exit__()


@contextmanager
def followed(follower: Callable[[int, int, str], object]) -> Iterator[None]:
    """Each `complete` within says how many it has, of how many, of what."""
    token = _follower.set(follower)
    try:
        yield
    finally:
        _follower.reset(token)


def complete(found: Iterable[Each], total: int, what: str) -> list[Each]:
    """What a loop finds before Ctrl-C or the end of its time; of less a warning says how much.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
        Nothing was found.
    """
    kept: list[Each] = []
    follower = _follower.get() or (lambda *_: None)
    follower(0, total, what)
    with hearing() as interrupt:
        with until_told() as told:
            for each in found:
                if interrupt.heard:
                    break
                kept.append(each)
                follower(len(kept), total, what)
        if told.status is not None and not kept:
            check()
    if told.status is not None:
        warn(f"{_ENDED[told.status]} after {len(kept)} of {total} {what}", ConvergenceWarning)
    return kept


def insist() -> None:
    """Let every Ctrl-C from now on raise: of a program for which one run is but a part."""
    global _answered
    _answered = math.inf


def check(seconds: float = 0.0) -> None:
    """Raise if Ctrl-C was heard or the time is over.

    Parameters
    ----------
    seconds : float
        About what the next part takes, where it cannot be interrupted: it is not begun if it would
        end too late.

    Raises
    ------
    KeyboardInterrupt
    TimeLimitError
    """
    interrupt, deadline = _interrupt.get(), _deadline.get()
    if interrupt is not None and interrupt.heard:
        raise KeyboardInterrupt
    if deadline is None or monotonic() + seconds < deadline.moment:
        return
    raise _late(deadline, seconds)


def pass_on(status: Status) -> None:
    """Raise what ended a run.

    Raises
    ------
    KeyboardInterrupt
    TimeLimitError
    """
    deadline = _deadline.get()
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if status is Status.TIME_LIMIT and deadline is not None:
        raise _late(deadline)


def _late(deadline: Deadline, seconds: float = 0.0) -> TimeLimitError:
    unfit = f", where the next step of {seconds:.2g} s would not fit," if seconds else ","
    return TimeLimitError(
        f"the time limit of {deadline.seconds:g} s was reached while {deadline.task}{unfit} before "
        "there was a point to return: raise time_limit, or give less data"
    )


def decomposing(order: int, cost: float = 1.0) -> AbstractContextManager[None]:
    """A context for all eigenvectors of a symmetric matrix, or what costs so much of them.

    It `check`s that there is time for them, and lends BLAS what cores are idle.
    """
    estimated = _deadline.get() is not None and order > _TIMED_ORDER
    check(cost * _seconds_of_eigen() * (order / _TIMED_ORDER) ** 3 if estimated else 0.0)
    return idle_cores(order, cost)


def over() -> bool:
    """Whether `check` would raise."""
    try:
        check()
    except (KeyboardInterrupt, TimeLimitError):
        return True
    return False


@cache
def _seconds_of_eigen() -> float:
    """Of one decomposition here, timed once: to decide whether to begin another."""
    S = np.random.default_rng(0).standard_normal((_TIMED_ORDER, _TIMED_ORDER))
    times = []
    with one_thread():  # two cores that others use too can take ten times as long as one
        for _ in range(5):
            began = perf_counter()
            np.linalg.eigh(S + S.T)
            times.append(perf_counter() - began)
    return _MISSES * min(times)
