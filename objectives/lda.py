"""Linear discriminant analysis: the orthogonal and the classical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldr.objectives import statistics
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares, shrunken
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.parameters import Need
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from ldr.objectives.families.matrices import DataSums, PencilMatrices, RatioMatrices
    from ldr.objectives.families.trace import Trace


@dataclass(frozen=True)
class DiscriminantMethod(Shrinking):
    """Base of the methods of S_B against S_W, the scatters between and within classes.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal. Where S_W is singular,
        orthogonal LDA needs one; the classical one is restricted to the range of S_W without it.
    shrinkage : "auto" or None
        "auto" moves the covariance of every class, and that of all rows, towards its diagonal by
        Ledoit and Wolf's rule, as scikit-learn's LinearDiscriminantAnalysis does; S_B is their
        difference then. The shares by which they were moved are in the result's parameters.
    """

    sense = "max"
    needs = (Need.LABELS,)
    predicts = "classes"
    weighted = True
    from_sums = True
    stacks = True
    arrays = Footprint(squares=14.0, products=True)

    def scatters(self, data: Data) -> tuple[RowPencil[Pencil], int]:
        """(S_B, S_W) of the rows in any coordinates; the number of classes."""
        codes, classes = data.labels
        shrinks, compact = self.shrinkage is not None, self.compact(data.samples)
        chosen: dict[str, float | Array] = {}
        if shrinks:
            within = statistics.ledoit_wolf(compact.rows, codes, len(classes))
            total = statistics.ledoit_wolf(compact.rows)
            chosen = {"shrinkage": within.coefficients, "of_total": float(total.coefficients[0])}

        def pencil(change: Change) -> Pencil:
            stats = statistics.class_moments(change(compact.rows), codes, len(classes))
            n = int(stats.counts.sum())
            known = KnownScatter(stats.total, n)
            B = SumOfSquares(stats.within, stats.mean, float(n), stats.total, True, known)
            found = Pencil(stats.between, B, groups=stats)
            return shrunken(found, change, within.added, total.added) if shrinks else found

        wide = None
        if data.samples.wide:
            from ldr.objectives.families.wide import of_classes

            wide = of_classes(data.samples, codes, len(classes))
        rows = RowPencil(compact, pencil, "S_W", classes=classes, chosen=chosen, wide=wide)
        return rows, len(classes)


@dataclass(frozen=True)
class LDA(NestedMethod, DiscriminantMethod):
    """Separate the classes: max tr(M'S_B M) / tr(M'S_W M) over orthonormal M.

    S_W = sum_i (x_i - mu_c)(x_i - mu_c)', S_B = sum_i (mu_c - mu)(mu_c - mu)'. P = M'. The
    heuristic everybody uses, the generalised eigenvectors of (S_B, S_W), maximises
    tr((M'S_W M)^{-1} M'S_B M); made orthonormal it is optimal here for r = 1 only.
    """

    name = "lda"
    formula = "max tr(M'S_B M) / tr(M'S_W M)"
    source = "Fisher 1936; Cunningham & Ghahramani 2015, 3.1.3"
    baseline = "orthonormalised generalised eigenvectors of (S_B, S_W)"
    exact = "r = 1"
    sibling = "classical-lda"

    def bind(self, data: Data, r: int) -> TraceRatio:
        rows, classes = self.scatters(data)
        notes = _of_low_rank(r, classes) if self.shrinkage is None else []
        return trace_ratio(self, rows, r, ridge=self.ridge, notes=notes)

    def matrices(self, data: DataSums) -> RatioMatrices:
        from ldr.objectives.families.matrices import RatioMatrices

        return RatioMatrices(
            *data.scatters_of_classes(), 1.0, self.column_weights, ridge=self.ridge
        )


@dataclass(frozen=True)
class ClassicalLDA(DiscriminantMethod):
    """Separate the classes: max tr((M'S_W M)^{-1} M'S_B M), the ratio-trace form.

    In the whitened variable max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M), P = M'S_W^{-1/2}. Exact by the
    top generalised eigenvectors of (S_B, S_W), at most c - 1 of them informative for c classes.
    """

    name = "classical-lda"
    formula = "max tr(M'S_W^{-1/2} S_B S_W^{-1/2} M)"
    source = "Fisher 1936; Rao 1948; Burges 2010, 4.3"
    baseline = "top generalised eigenvectors of (S_B, S_W)"
    arrays = Footprint(squares=23.0, products=True)
    transposed = False
    exact = "yes"
    scale_free = True

    def bind(self, data: Data, r: int) -> Trace:
        from ldr.objectives.families.whitened_trace import whitened_trace

        rows, classes = self.scatters(data)
        notes = few_directions(r, classes, "classes") if self.shrinkage is None else []
        return whitened_trace(self, rows, r, ridge=self.ridge, notes=notes)

    def matrices(self, data: DataSums) -> PencilMatrices:
        from ldr.objectives.families.matrices import PencilMatrices

        return PencilMatrices(*data.scatters_of_classes(), ridge=self.ridge)


def _of_low_rank(r: int, classes: int) -> list[str]:
    """A note where the heuristic has fewer than r directions."""
    if r < classes:
        return []
    return [
        f"S_B has rank {classes - 1}, the number of classes less one: the heuristic's further "
        "directions are arbitrary"
    ]


def few_directions(r: int, groups: int, what: str) -> list[str]:
    """A note where r exceeds the number of directions that so many groups can tell."""
    if r < groups:
        return []
    return [
        f"{groups} {what} have at most {groups - 1} informative directions: the other "
        f"{r - groups + 1} have eigenvalue 0 and are arbitrary"
    ]
