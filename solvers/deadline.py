"""Limits of a computation: the time limit, Ctrl-C, and the number of BLAS threads.

Long computations call `check()` before each step: a piece of the rows, an evaluation, a large
decomposition. It raises once the time is over or the first Ctrl-C came; `until_told` catches that
where there is a point to return. The second Ctrl-C is Python's own. Limits are context variables:
work in other threads takes them along in a copy of the context.

BLAS has one thread while this package works, and more for a single long call while cores are idle.
A call of many threads ends with the last of them: where another program has one of the cores, a
solve of a thousand small calls takes ten to thirty times as long as on one thread. The number of
threads belongs to the whole process: the first of the solves that overlap notes it, the last one
restores it.
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

# Seconds after a Ctrl-C within which the next one raises, also in another solve: two end a loop.
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
    """A moment of `time.monotonic`, the seconds that led to it, and what is being done."""

    moment: float
    seconds: float
    task: str = "a solution was sought"


@dataclass
class Told:
    """What ended a computation early; None if nothing did."""

    status: Status | None = None


_deadline: ContextVar[Deadline | None] = ContextVar("deadline", default=None)
_interrupt: ContextVar[threading.Event | None] = ContextVar("interrupt", default=None)
_follower: ContextVar[Callable[[int, int, str], object] | None] = ContextVar(
    "follower", default=None
)


@contextmanager
def within(seconds: float) -> Iterator[Deadline]:
    """No step within begins after so many seconds, nor after the time limit around it."""
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
    """The first Ctrl-C within sets the event, and ends what is within at its next `check`.

    In the main thread only, as Python has it, and unless the program has a handler of its own.
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
    except Interrupted:  # a program that this ends is one that the signal ended: by no subclass
        raise KeyboardInterrupt from None
    finally:
        if handled:
            signal(SIGINT, default_int_handler)
        _interrupt.reset(token)


@contextmanager
def unlimited() -> Iterator[None]:
    """What is within is done to its end: there would be nothing to return without it."""
    deadline, interrupt = _deadline.set(None), _interrupt.set(None)
    try:
        yield
    finally:
        _deadline.reset(deadline)
        _interrupt.reset(interrupt)


@contextmanager
def until_told() -> Iterator[Told]:
    """What is within ends at the time limit or at the first Ctrl-C, and the program goes on."""
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
    """Each `complete` within says how many it has, of how many, of what."""
    token = _follower.set(follower)
    try:
        yield
    finally:
        _follower.reset(token)


def complete(found: Iterable[Each], total: int, what: str) -> list[Each]:
    """What a loop finds before Ctrl-C or the end of its time; a warning says what is missing.

    - raises KeyboardInterrupt, TimeLimitError: Nothing was found.
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
    if heard.is_set():  # also since the loop ended
        told.status = Status.INTERRUPTED
    if told.status is not None:
        warn(
            f"{_ENDED[told.status]} after {len(kept)} of {total} {what}", errors.ConvergenceWarning
        )
    return kept


def check() -> None:
    """Raise if Ctrl-C was heard or the time is over.

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
            "there was a point to return: raise time_limit, or give less data"
        )


def over() -> bool:
    """Whether `check` would raise."""
    try:
        check()
    except (Interrupted, TimeLimitError):
        return True
    return False


def pass_on(status: Status) -> None:
    """Raise what ended a run, if it was one of these.

    - raises Interrupted
    - raises TimeLimitError
    """
    if status is Status.INTERRUPTED:
        raise Interrupted
    if status is Status.TIME_LIMIT:
        check()


def decomposing(order: int) -> AbstractContextManager[None]:
    """A context for a decomposition, with BLAS on the idle cores; none begins after the limit.

    One of few columns is no step of its own: it takes less than what is done between two others.
    """
    if order < 100:
        return nullcontext()
    check()
    return idle_cores(order)


def result_of(task: Future[Each]) -> Each:
    """What another thread finds; the main thread wakes ten times a second to hear Ctrl-C."""
    while not wait([task], 0.1).done:
        pass
    return task.result()


# The order from which a decomposition into eigenvectors takes a tenth of a second on one thread.
_LONG_ORDER = 1000

_lock, _lent = threading.Lock(), threading.Lock()
_holders = 0
_before: list[int] = []


@cache
def _libraries() -> list[LibController]:
    import threadpoolctl

    return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which BLAS has one thread, until the last of those who hold it lets go."""
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
    """A context for one decomposition: if it is long, BLAS has a thread for each idle core."""
    lent = order >= _LONG_ORDER and _lent.acquire(blocking=False)
    with _lock:
        if lent and _holders:
            _share(_idle())
    try:
        yield
    finally:
        if lent:
            with _lock:
                if _holders:
                    _share(1)
            _lent.release()


def _idle() -> int:
    """The cores that no other program used in the last minute."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, (os.cpu_count() or 1) + 1 - round(load))  # one of the load is this program


def _share(count: float) -> None:
    """Give each library so many threads, but no more than it had before."""
    for library, before in zip(_libraries(), _before, strict=True):
        if library.num_threads != min(count, before):
            # threadpoolctl 3.8 obeys only the thread that asked first, until that is cleared
            clear = getattr(library, "clear_controlling_thread", lambda force: None)
            clear(force=True)
            library.set_num_threads(min(count, before))
            clear(force=True)
