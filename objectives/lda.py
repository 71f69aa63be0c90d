"""Orthogonal linear discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.objective import Compact, Data, Objective, Range
from ldr.objectives.ridge import add_ridge, ridge_amount
from ldr.objectives.samples import as_labels
from ldr.objectives.statistics import class_moments
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class LDA(Objective):
    """Separate the classes: max tr(M'S_B M) / tr(M'S_W M) over orthonormal M.

    S_W = sum_i (x_i - mu_c)(x_i - mu_c)', S_B = sum_i (mu_c - mu)(mu_c - mu)'. P = M'. The
    heuristic everybody uses, the generalised eigenvectors of (S_B, S_W), maximises
    tr((M'S_W M)^{-1} M'S_B M); made orthonormal it is optimal here for r = 1 only.

    Source: Fisher 1936; Cunningham and Ghahramani 2015, section 3.1.3.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal; needed where S_W is singular.
    """

    name = "lda"
    formula = "max tr(M'S_B M) / tr(M'S_W M)"
    source = "Fisher 1936; Cunningham & Ghahramani 2015, 3.1.3"
    sense = "max"
    needs = ("labels",)
    baseline = "orthonormalised generalised eigenvectors of (S_B, S_W)"
    exact = "r = 1"
    from_sums = True

    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TraceRatio:
        codes, classes = as_labels(data.y, data.samples.n)
        compact = Compact.of(data.samples)
        stats = class_moments(compact.rows, codes, len(classes))
        kept = Range.of(stats.within + stats.between, compact.coordinates, "the total scatter")
        within = kept(stats.within)
        S_W, ridged = add_ridge(within, self.ridge, "S_W")
        notes = [*compact.notes, *kept.notes, *ridged]
        if r > len(classes) - 1:
            notes.append(
                f"S_B has rank {len(classes) - 1}, the number of classes less one: the heuristic's "
                "further directions are arbitrary"
            )
        return TraceRatio(
            self,
            (compact.mean(stats.mean),),
            kept(stats.between),
            S_W,
            r,
            outside=ridge_amount(within, self.ridge),
            coordinates=(kept.coordinates,),
            notes=notes,
        )
