"""Status of a run: an enumeration with advice for each member."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """Reason why a solver stopped; `converged` and `advice` follow from the status."""

    CONVERGED = (True, "the gradient is below the tolerance.")
    ROUNDING = (True, "the gradient is as small as the rounding of the objective allows.")
    CLOSED_FORM = (True, "the solution was computed in closed form.")
    STALLED = (
        False,
        "no step lowers the objective although the gradient is not small: check the gradient "
        "with ldr.check, or try another solver or start.",
    )
    FLAT = (
        False,
        "the gradient is zero at random points, although values differ, so that gradient methods "
        "cannot move. Counts, rounding, comparisons and stop_gradient have zero derivatives: use a "
        "smooth function instead.",
    )
    MAX_ITERATIONS = (
        False,
        "the iteration limit was reached: raise max_iterations or the tolerance, or try another "
        "solver.",
    )
    TIME_LIMIT = (False, "the time limit was reached: raise time_limit.")
    NOT_FINITE = (
        False,
        "the objective or a derivative became infinite or NaN: the last finite point is returned.",
    )
    INTERRUPTED = (
        False,
        "interrupted from the keyboard; the best point so far is returned. A second Ctrl-C within "
        "half a minute raises KeyboardInterrupt.",
    )
    OBSERVER = (False, "an observer stopped the run; the best point so far is returned.")

    def __init__(self, converged: bool, advice: str) -> None:
        self.converged = converged
        self.advice = advice

    def __repr__(self) -> str:
        return f"<Status.{self.name}>"
