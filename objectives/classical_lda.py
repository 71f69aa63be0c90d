"""Classical linear discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.change import Change
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Pencil, SumOfSquares, whitened_trace
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.samples import as_labels
from ldr.objectives.statistics import class_moments
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class ClassicalLDA(Objective):
    """Separate the classes: max tr((M'S_W M)^{-1} M'S_B M), the ratio-trace form.

    In the whitened variable max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M), P = M'S_W^{-1/2}. Exact by the
    top generalised eigenvectors of (S_B, S_W), at most c - 1 of them informative for c classes.

    Source: Fisher 1936; Rao 1948; Burges 2010, section 4.3.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal. Without it, and where S_W is
        singular, M is restricted to the range of S_W.
    """

    name = "classical-lda"
    formula = "max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M)"
    source = "Fisher 1936; Rao 1948; Burges 2010"
    sense = "max"
    needs = ("labels",)
    baseline = "top generalised eigenvectors of (S_B, S_W)"
    transposed = False
    exact = "yes"
    from_sums = True

    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> Trace:
        codes, classes = as_labels(data.y, data.samples.n)
        compact = Compact.of(data.samples)

        def pencil(change: Change) -> Pencil:
            stats = class_moments(change(compact.rows), codes, len(classes))
            total = stats.within + stats.between
            n = float(stats.counts.sum())
            B = SumOfSquares(stats.within, stats.mean, n, total, within=True)
            return Pencil(stats.between, B)

        return whitened_trace(
            self,
            compact,
            pencil,
            r,
            what="S_W",
            ridge=self.ridge,
            notes=few_directions(r, len(classes), "classes"),
        )


def few_directions(r: int, groups: int, what: str) -> list[str]:
    """A note where r exceeds the number of directions that so many groups can tell."""
    if r < groups:
        return []
    return [
        f"{groups} {what} have at most {groups - 1} informative directions: the other "
        f"{r - groups + 1} have eigenvalue 0 and are arbitrary"
    ]
