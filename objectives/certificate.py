"""What is known about a solution: global optimum, within a bound of it, local, or nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ldr.solvers.checks import Pickled

# A proved gap, with every rounding error in it, is called "global" up to this relative size: that
# of the value for ratios, of the terms it is the difference of for traces.
PROVED_GLOBAL = 1e-8

# What a gap says that is the rounding of the data and of their sums.
NEARLY_COLLINEAR = (
    "the columns are so nearly collinear that the rounding of the data and of their sums may hide "
    "as much"
)


@dataclass(frozen=True)
class Certificate(Pickled):
    """A statement about the returned M, and the theory behind it.

    Attributes
    ----------
    kind : {"global", "restricted", "bound", "local", "saddle", "none"}
        "global": no M is better, up to `gap`. "restricted": no M is better, up to `gap`, of those
        in the subspace that the message names, but one outside may be. "bound": no M is better by
        more than `gap`. "local": no M nearby is better. Where the message of these two begins with
        "within", they are about the M in that subspace. "saddle": a better M is nearby. "none":
        nothing is known.
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

    @classmethod
    def of_gap(
        cls, gap: float, none: float, proved: str, bounded: str, unbounded: str = ""
    ) -> Certificate:
        """ "global" of a gap up to one that counts as none, else "bound"; "none" of no bound."""
        if gap <= none:
            return cls("global", gap, proved)
        if unbounded and gap == math.inf:
            return cls("none", gap, unbounded)
        return cls("bound", gap, bounded)

    @classmethod
    def of_chance(cls, gap: float, residual: float, within: str = "") -> Certificate:
        """ "bound" of a gap that a random vector told; "none" of no gap."""
        if gap == math.inf:
            message = (
                f"eigenvectors from products, residual {residual:.0e}; as many products again do "
                "not tell that none was missed: there may be others that are nearly as good, or "
                "directions in which next to nothing varies"
            )
            return cls("none", gap, message)
        from ldr.solvers.linalg.products import CHANCE

        where = f"within {within}: " if within else ""
        message = (
            f"{where}products with the rows bound the value, but for a chance of {CHANCE:.0e} of "
            "the random vector that would have shown what was missed"
        )
        return cls("bound", gap, message)

    @property
    def is_optimal(self) -> bool:
        """Whether no M is better of those that a solver was free to choose."""
        return self.kind in ("global", "restricted")

    def restricted_to(self, span: str) -> Certificate:
        """The same of the M in a subspace, outside of which there may be a better one."""
        match self.kind:
            case "global":
                message = f"global within {span}, outside of which an M may be better: "
                return replace(self, kind="restricted", message=message + self.message)
            case "bound" | "local":
                return replace(self, message=f"within {span}: {self.message}")
        return self

    def __str__(self) -> str:
        bounded = self.is_optimal or self.kind == "bound"
        within = f" (gap at most {self.gap:.1e})" if bounded else ""
        return f"{self.kind}{within}: {self.message}"
