"""Sums over pieces of rows: the one way in which data larger than memory are read.

A sum is a `term`, a function of a piece of the rows that is small enough for memory, and a
`merge` of two terms of neighbouring pieces. Where the pieces end depends on the shape of the data
alone, and terms are merged in the order of the rows, so that the same data give the same bits
however many threads there are.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import local
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ldr.solvers.limits import check
from ldr.solvers.pool import Pool, result_of
from ldr.solvers.threads import one_thread

Term = TypeVar("Term")

# Numbers in the largest piece: 64 MiB in float64. Files of fewer numbers are one piece.
PIECE_NUMBERS = 2**23
# Numbers in the sums of all threads together, columns x columns each: 2 GiB.
_SUMS = 2**28
# Of each thread of a fold, the room that its last pieces have left.
_left = local()


def workers_for(columns: int) -> int:
    """How many pieces to work on at a time."""
    return max(1, min(os.cpu_count() or 1, _SUMS // columns**2))


def fold(
    term: Callable[..., Term],
    merge: Callable[[Term, Term], Term],
    pieces: Iterable[Callable[[], tuple[object, ...]]],
    workers: int,
) -> Term:
    """merge(... merge(merge(t_0, t_1), t_2) ...) of t_i = term(*pieces_i()), in threads.

    Parameters
    ----------
    term : callable
        Must not change its arguments.
    merge : callable
        Of two neighbouring terms, the earlier first; it may change and return the earlier.
    pieces : iterable of callables
        Each reads the arguments of one term; called in the threads. At least one.
    workers : int
        Terms at a time; one more may wait, so that memory does not grow with their number.
    """

    def work(piece: Callable[[], tuple[object, ...]]) -> Term:
        return term(*piece())

    if workers == 1:
        return _merged(merge, map(work, _in_time(pieces)))
    with one_thread(), Pool(workers, initializer=_begin) as pool:
        waiting: deque[Future[Term]] = deque()

        def results() -> Iterable[Term]:
            for piece in _in_time(pieces):
                waiting.append(pool.submit(work, piece))
                if len(waiting) > workers:
                    yield result_of(waiting.popleft())
            while waiting:
                yield result_of(waiting.popleft())

        try:
            return _merged(merge, results())
        finally:
            for late in waiting:
                late.cancel()


def _begin() -> None:
    _left.rooms = []


@contextmanager
def room(rows: int, columns: int) -> Iterator[npt.NDArray[np.float64]]:
    """For blocks of a piece, and then for those of the thread's next: fresh pages cost a third."""
    rooms = getattr(_left, "rooms", [])
    numbers = rooms.pop() if rooms else np.empty(0)
    if len(numbers) < rows * columns:
        numbers = np.empty(rows * columns)
    try:
        yield numbers[: rows * columns].reshape(rows, columns)
    finally:
        rooms.append(numbers)


def _in_time(pieces: Iterable[Term]) -> Iterator[Term]:
    """The pieces, as long as the time limit and Ctrl-C let another begin."""
    for piece in pieces:
        check()
        yield piece


def _merged(merge: Callable[[Term, Term], Term], terms: Iterable[Term]) -> Term:
    terms = iter(terms)
    total = next(terms)
    for term in terms:
        total = merge(total, term)
    return total
