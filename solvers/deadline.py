"""Limits of a computation: the time limit, Ctrl-C, and the number of BLAS threads.

Long computations call `check()` before each step: a chunk of rows, an evaluation, a large
decomposition. `check` raises an exception after the time limit or Ctrl-C; `until_told` catches the
exception if there is a point to return. The second Ctrl-C raises KeyboardInterrupt as usual in
Python. The limits are context variables; a thread inherits the limits in a copy of the context.

BLAS uses one thread while this package computes, and more threads for a long decomposition while
cores are idle. A multithreaded call waits for the slowest thread: if another program occupies a
core, a solve of a thousand small calls takes ten to thirty times as long as on one thread. The
number of threads is a property of the whole process: the first of overlapping solves records the
number, the last solve restores the number.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from signal import SIGINT, default_int_handler, getsignal, signal
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from ldr.solvers import errors
from ldr.solvers.errors import TimeLimitError, warn
from ldr.solvers.status import Status

if TYPE_CHECKING:
    from threadpoolctl import LibController

Each = TypeVar("Each")

# A Ctrl-C ends only the current solve. Another within this many seconds ends a loop over solves.
INSISTING = 30.0
_last_interrupt = -math.inf

_ENDED = {
    Status.TIME_LIMIT: "the time limit was reached",
    Status.INTERRUPTED: "interrupted from the keyboard",
}


class Interrupted(KeyboardInterrupt):
    """The first Ctrl-C, which `check` raises."""


@dataclass
class Deadline:
    """End of a time limit: a value of `time.monotonic`, the limit in seconds, and the task."""

    moment: float
    seconds: float
    task: str = "a solution was sought"


@dataclass
class Told:
    """The reason why a computation ended early; None if the computation was completed."""

    status: Status | None = None


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)
_interrupt: ContextVar[threading.Event | None] = ContextVar("interrupt", default=None)
_follower: ContextVar[Callable[[int, int, str], object] | None] = ContextVar(
    "follower", default=None
)


@contextmanager
def within(seconds: float) -> Iterator[Deadline]:
    """Limit the time: no step in the context begins after the limit or an outer limit."""
    deadline, around = Deadline(monotonic() + seconds, seconds), _deadline.get()
    if around is not None and around.moment <= deadline.moment:
        deadline = around
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)


@contextmanager
def hearing() -> Iterator[threading.Event]:
    """Set an event at the first Ctrl-C; the next `check` then ends the computation.

    The handler of Ctrl-C is installed in the main thread only, as Python requires, and not if the
    program has a handler of its own.
    """
    if (around := _interrupt.get()) is not None:
        yield around
        return
    heard = threading.Event()

    def hear(*_: object) -> None:
        global _last_interrupt
        again = heard.is_set() or monotonic() < _last_interrupt + INSISTING
        _last_interrupt = monotonic()
        heard.set()
        if again:
            raise KeyboardInterrupt

    token = _interrupt.set(heard)
    main = threading.current_thread() is threading.main_thread()
    handled = main and getsignal(SIGINT) is default_int_handler
    if handled:
        signal(SIGINT, hear)
    try:
        yield heard
    except Interrupted:  # callers get an ordinary KeyboardInterrupt
        raise KeyboardInterrupt from None
    finally:
        if handled:
            signal(SIGINT, default_int_handler)
        _interrupt.reset(token)


@contextmanager
def unlimited() -> Iterator[None]:
    """Ignore time limits and Ctrl-C in the context, for steps that must be completed."""
    deadline, interrupt = _deadline.set(None), _interrupt.set(None)
    try:
        yield
    finally:
        _deadline.reset(deadline)
        _interrupt.reset(interrupt)


@contextmanager
def until_told() -> Iterator[Told]:
    """End the context at the time limit or the first Ctrl-C, without an exception."""
    told, around = Told(), _interrupt.get()
    with hearing() if around is None else nullcontext(around) as heard:
        try:
            yield told
        except TimeLimitError:
            told.status = Status.TIME_LIMIT
        except Interrupted:
            pass
    if heard.is_set():
        told.status = Status.INTERRUPTED


@contextmanager
def followed(follower: Callable[[int, int, str], object]) -> Iterator[None]:
    """Report the progress of loops in the context to `follower`: items done and in all."""
    token = _follower.set(follower)
    try:
        yield
    finally:
        _follower.reset(token)


def complete(found: Iterable[Each], total: int, what: str) -> list[Each]:
    """Return the items found before Ctrl-C or the time limit, with a warning if some are missing.

    - raises KeyboardInterrupt, TimeLimitError: No item was found.
    """
    kept: list[Each] = []
    follower = _follower.get() or (lambda *_: None)
    follower(0, total, what)
    with hearing() as heard:
        with until_told() as told:
            for each in found:
                if heard.is_set():
                    break
                kept.append(each)
                follower(len(kept), total, what)
        if not kept and told.status is not None:
            check()
    if heard.is_set():  # Ctrl-C takes precedence over the time limit
        told.status = Status.INTERRUPTED
    if told.status is not None:
        warn(
            f"stopped after {len(kept)} of {total} {what}: {_ENDED[told.status]}",
            errors.ConvergenceWarning,
        )
    return kept


def check() -> None:
    """Raise an exception after Ctrl-C or the end of the time limit.

    Raises
    ------
    Interrupted
    TimeLimitError
    """
    interrupt, deadline = _interrupt.get(), _deadline.get()
    if interrupt is not None and interrupt.is_set():
        raise Interrupted
    if deadline is not None and monotonic() >= deadline.moment:
        raise TimeLimitError(
            f"the time limit of {deadline.seconds:g} s was reached while {deadline.task}, before "
            "any M was found: raise time_limit, or use less data"
        )


# Number of operations of 0.1 s of matrix products on one thread: between two tests of the time
# limit, or d^3 of a d x d matrix whose decomposition is long.
_STEP = 1e9


def steps(n: int, work: float, most: int | None = None) -> Iterator[slice]:
    """Yield slices of n rows, each at most 0.1 s of work; `check` between slices.

    - work: operations per row; an evaluation of an elementwise function counts as 100
    - most: the largest number of rows of a slice
    """
    rows = min(max(1, int(_STEP / max(work, 1.0))), most or n)
    for start in range(0, n, rows):
        if start:
            check()
        yield slice(start, min(start + rows, n))


def over() -> bool:
    """Return True if `check` would raise."""
    try:
        check()
    except (Interrupted, TimeLimitError):
        return True
    return False


def pass_on(status: Status) -> None:
    """Raise the exception of a run's status if a limit or an interrupt ended the run.

    - raises Interrupted
    - raises TimeLimitError
    """
    if status is Status.INTERRUPTED:
        raise Interrupted
    if status is Status.TIME_LIMIT:
        check()


def decomposing(order: int) -> AbstractContextManager[None]:
    """Let a decomposition use BLAS on idle cores; no decomposition begins after the limit.

    A decomposition of order below 100 uses one thread and is not preceded by a `check`.
    """
    if order < 100:
        return nullcontext()
    check()
    return idle_cores(order)


def result_of(task: Future[Each]) -> Each:
    """Return the result of a thread; the main thread wakes ten times a second for Ctrl-C."""
    while not wait([task], 0.1).done:
        pass
    return task.result()


_lock, _lent = threading.Lock(), threading.Lock()
_holders = 0
_before: list[int] = []


@cache
def _libraries() -> list[LibController]:
    import threadpoolctl

    return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the outermost such context ends."""
    global _holders
    with _lock:
        if not _holders:
            _before[:] = [library.num_threads for library in _libraries()]
            _share(1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders:
                _share(math.inf)


@contextmanager
def idle_cores(order: int) -> Iterator[None]:
    """Let BLAS use all idle cores within the context, if the decomposition is long."""
    lent = order**3 >= _STEP and _lent.acquire(blocking=False)
    with _lock:
        if lent and _holders:
            _share(idle_count())
    try:
        yield
    finally:
        if lent:
            with _lock:
                if _holders:
                    _share(1)
            _lent.release()


def idle_count() -> int:
    """Return the number of cores that were idle in the last minute."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, (os.cpu_count() or 1) + 1 - round(load))  # the system load includes this process


def _share(count: float) -> None:
    """Limit the threads of each BLAS library to `count`."""
    for library, before in zip(_libraries(), _before, strict=True):
        if before > 1:
            # threadpoolctl 3.8 ignores limits set by other threads than the controlling thread.
            clear = getattr(library, "clear_controlling_thread", lambda force: None)
            clear(force=True)
            library.set_num_threads(min(count, before))
            clear(force=True)
