"""Observers: callables that receive every iteration, and end the run by returning True.

>>> import numpy as np, ldr
>>> from ldr.observers import Trace
>>> X = np.random.default_rng(0).standard_normal((100, 5))
>>> trace = Trace()
>>> result = ldr.solve("pca", X, r=2, solver="trust-region", start="random", random_state=0,
...                    observers=[trace])
>>> len(trace.iterations) == result.iterations + 1
True
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from ldr.solvers.checks import number
from ldr.solvers.deadline import followed
from ldr.solvers.errors import needed
from ldr.solvers.solver import Iteration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.progress import TaskID
    from rich.text import Text


class Trace:
    """Keep every iteration, with its point, in a list.

    Attributes
    ----------
    iterations : list of Iteration
        All iterations from the start. A new run with the same observer clears the list.
    """

    def __init__(self) -> None:
        self.iterations: list[Iteration] = []

    def __call__(self, iteration: Iteration) -> None:
        if iteration.number == 0:
            self.iterations = []
        self.iterations.append(iteration)


class TimeLimit:
    """End the run after a number of seconds, at the end of the current iteration.

    Parameters
    ----------
    seconds : float
        Positive. The time before the first iteration, for statistics of the data, is excluded.

    Raises
    ------
    ldr.errors.ArgumentError
        `seconds` is not a positive number.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = number("seconds", seconds, positive=True, finite=False)

    def __call__(self, iteration: Iteration) -> bool:
        return iteration.seconds >= self.seconds


class Progress:
    """Show the progress of a run on the terminal; without a terminal nothing is shown.

    The line shows the iteration, the minimised value, the norm of the gradient, its tolerance, and
    the time. The line ends with the ``with`` block of the observer. Without a ``with`` block the
    line ends if the run converges, another run starts or the observer is deleted.

    Parameters
    ----------
    console : rich.console.Console, optional
        Console to write to; standard error by default.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> with Progress() as progress:
    ...     result = ldr.solve("pca", X, r=2, solver="trust-region", observers=[progress])
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or needed("rich.console", "a line of progress").Console(stderr=True)
        self._live: Live | None = None
        self._last_refresh = -math.inf
        self._one_at_a_time = threading.RLock()  # threads update the display one at a time

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __call__(self, iteration: Iteration) -> None:
        if self._console.is_terminal:
            with self._one_at_a_time:
                self._show(iteration)

    def _show(self, iteration: Iteration) -> None:
        if iteration.number == 0:
            self.close()
        if self._live is None:
            self._live = self._open()
        done = iteration.gradient_norm <= iteration.threshold
        due = iteration.seconds - self._last_refresh >= 0.1
        self._live.update(_line(iteration), refresh=due or done)
        if due:
            self._last_refresh = iteration.seconds
        if done:
            self.close()

    def close(self) -> None:
        """Show the last iteration, and leave its line on the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._last_refresh = -math.inf

    def _open(self) -> Live:
        from rich.live import Live

        # The line changes only at an iteration: rich needs no thread that refreshes it regularly.
        live = Live(console=self._console, auto_refresh=False)
        live.start()
        weakref.finalize(self, live.stop)  # stopping a display twice does no harm
        return live


class Log:
    """Print a line for each iteration to standard output, in notebooks and log files too.

    A line has the iteration, the value of the objective (not of the minimised function), and the
    seconds of the run. The iterations of each initial point are counted from 0. As a context
    manager the observer prints a last line with the seconds of all runs.

    Parameters
    ----------
    name : str
        Prefix of each line.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> with Log("pca") as log:  # doctest: +SKIP
    ...     result = ldr.solve("pca", X, r=2, solver="trust-region", observers=[log])
    """

    def __init__(self, name: str = "ldr") -> None:
        self.name = name
        self.reported: Callable[[float], float] = float  # `ldr.solve` converts to the user's units
        self._one_at_a_time = threading.Lock()  # threads write their lines one at a time
        self._began: float | None = None

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        header = f"{'Iteration':>10} {'Objective Value':>20} {'Time(s)':>10}"
        self._print("", f" {header}", f" {'-' * len(header)}")
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._began is not None
        self._print(f" Training took {time.perf_counter() - self._began:8.2f}s.")

    def __call__(self, iteration: Iteration) -> None:
        value = self.reported(iteration.value)
        self._print(f" {iteration.number:>10} {value:>20.6e} {iteration.seconds:>10.2f}")

    def _print(self, *lines: str) -> None:
        with self._one_at_a_time:
            print("\n".join(f"[{self.name}]{line}" for line in lines))


class Bar:
    """A progress bar over many runs; without a terminal nothing is shown.

    In a `with` statement the bar shows the progress of paths, comparisons, bootstraps and tests.

    Parameters
    ----------
    console : rich.console.Console, optional
        Console to write to; standard error by default.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> with Bar():
    ...     path = ldr.path("pca", X, range(1, 4))
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or needed("rich.console", "a line of progress").Console(stderr=True)

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        if self._console.is_terminal:  # old versions of `rich` write progress bars to files, too
            from rich.progress import Progress as Bars

            self._bars = self._stack.enter_context(Bars(console=self._console, transient=True))
            self._tasks: dict[str, TaskID] = {}
            self._stack.enter_context(followed(self._show))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _show(self, done: int, total: int, what: str) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what)
        self._bars.update(self._tasks[what], completed=done, total=total)


def _line(iteration: Iteration) -> Text:
    from rich.text import Text

    text = (
        f"iteration {iteration.number}   value {iteration.value:.10g}   "
        f"|gradient| {iteration.gradient_norm:.1e} (stops at {iteration.threshold:.1e})   "
        f"{iteration.seconds:.1f} s"
    )
    return Text(text, no_wrap=True, overflow="ellipsis")
