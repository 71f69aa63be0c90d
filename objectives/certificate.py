"""What is known about a solution: global optimum, within a bound of it, local, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

# A proved gap, with every rounding error in it, is called "global" up to this relative size: that
# of the value for ratios, of the terms it is the difference of for traces.
PROVED_GLOBAL = 1e-8


@dataclass(frozen=True)
class Certificate:
    """A statement about the returned M, and the theory behind it.

    Attributes
    ----------
    kind : {"global", "bound", "local", "saddle", "none"}
        "global": no M is better, up to `gap`. "bound": no M is better by more than `gap`.
        "local": no M nearby is better. "saddle": a better M is nearby. "none": nothing is known.
    gap : float
        An upper bound of how much better the global optimum may be, in the objective's own units;
        infinite where there is no bound. Of traces and trace ratios it is a proved number for the
        matrices as they are stored: rounding of its own computation is inside it.
    message : str
        Why, in a sentence.
    curvature : float or None
        Smallest eigenvalue of the Riemannian Hessian, for "local" and "saddle".
    """

    kind: str
    gap: float
    message: str
    curvature: float | None = None

    def __str__(self) -> str:
        within = f" (gap at most {self.gap:.1e})" if self.kind in ("global", "bound") else ""
        return f"{self.kind}{within}: {self.message}"
