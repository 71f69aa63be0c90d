"""Sums over pieces of rows, in threads: a term of each piece, merged in the order of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

from ldr.solvers.deadline import check, result_of
from ldr.solvers.threads import one_thread

Term = TypeVar("Term")


def fold(
    term: Callable[..., Term],
    merge: Callable[[Term, Term], Term],
    pieces: Iterable[tuple[object, ...]],
    workers: int,
) -> Term:
    """merge(... merge(merge(t_0, t_1), t_2) ...) of t_i = term(*pieces[i]): the same bits always.

    - term: must not change its arguments
    - merge: of two neighbouring terms, the earlier first; it may change and return the earlier
    - pieces: at least one; made in the caller's thread, as they are needed
    - workers: threads; one piece more may wait, so that memory does not grow with their number
    """

    pieces = iter(pieces)
    begun = list(islice(pieces, 2))

    def terms() -> Iterator[Term]:
        if workers == 1 or len(begun) == 1:
            for piece in chain(begun, pieces):
                check()
                yield term(*piece)
            return
        waiting: deque[Future[Term]] = deque()
        with one_thread(), ThreadPoolExecutor(workers) as pool:
            try:
                for piece in chain(begun, pieces):
                    check()
                    waiting.append(pool.submit(term, *piece))
                    if len(waiting) > workers:
                        yield result_of(waiting.popleft())
                while waiting:
                    yield result_of(waiting.popleft())
            finally:
                for late in waiting:
                    late.cancel()

    found = terms()
    total = next(found)
    for later in found:
        total = merge(total, later)
    return total
