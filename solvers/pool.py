"""Threads that the main thread gives tasks to and waits for, whenever Ctrl-C comes.

Python runs the handler of a signal between any two steps of the main thread. What it raises amid
the standard library's own leaves one of their locks held, and then a thread waits for the lock, and
who joins the thread waits for it, for ever. A signal that comes just as the main thread begins to
wait, or that another thread is given, does not wake it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from types import FrameType
from typing import TypeVar

Found = TypeVar("Found")

# Seconds that the main thread waits at a time.
_ASLEEP = 0.1
# What handlers mostly end a program by.
_ENDING = [getattr(signal, s) for s in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, s)]


class Pool(ThreadPoolExecutor):
    """Threads, none of which is left waiting by a Ctrl-C amid `submit`."""

    def submit(
        self, task: Callable[..., Found], /, *given: object, **options: object
    ) -> Future[Found]:
        return whole(partial(super().submit, task, *given, **options))


def result_of(task: Future[Found]) -> Found:
    """What another thread finds; Ctrl-C is heard meanwhile."""
    while not whole(partial(wait, (task,), _ASLEEP)).done:
        pass
    return whole(task.result)


def whole(step: Callable[[], Found], signals: Sequence[int] = _ENDING) -> Found:
    """What a short step gives; what signals' handlers raise meanwhile is raised after it."""
    if not signals:
        return step()
    with _later(signals[0]):
        return whole(step, signals[1:])


class _later:
    """What a signal's handler raises within is raised at the end, in the main thread."""

    _raised: BaseException | None = None

    def __init__(self, number: int) -> None:
        self._number, self._handler = number, signal.getsignal(number)
        main = threading.current_thread() is threading.main_thread()
        self._held = main and callable(self._handler)

    def __enter__(self) -> None:
        if self._held:
            signal.signal(self._number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        try:
            self._handler(number, frame)  # type: ignore[operator, misc]
        except BaseException as error:
            self._raised = error

    def __exit__(self, *_: object) -> None:
        if self._held:
            signal.signal(self._number, self._handler)
        if self._raised is not None:
            raise self._raised
