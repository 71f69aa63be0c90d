"""Weighted sums of bound objectives on their common manifold, in their common coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ldr.objectives.families.common_variable import (
    Common,
    Maps,
    check_common,
)
from ldr.objectives.families.terms import Multiple, Penalised, Term, WeightedSum, best_heuristic
from ldr.objectives.families.trace import Trace
from ldr.objectives.problem import BoundObjective, Stated
from ldr.objectives.view import View, noted
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.nonsmooth.penalty import L1

# In units of the objective; beyond it squares of the penalty's slope would leave the range.
_LARGEST_PENALTY = 1e100


@dataclass(frozen=True)
class TraceSum(Trace):
    """A sum of traces of one matrix each: again such a trace.

    Parameters
    ----------
    terms : sequence of Term
        Whose heuristics are its own.
    """

    baseline_exact = False

    terms: Sequence[Term] = ()

    def baseline(self) -> Array:
        found = best_heuristic(self, self.terms)
        return super().baseline() if found is None else found


def weighted_sum(
    objective: Stated,
    weights: Sequence[float],
    bounds: Sequence[BoundObjective],
    *,
    constant: float = 0.0,
    penalty: float = 0.0,
    kind: type[Penalised] = Penalised,
) -> BoundObjective:
    """c + sum_k w_k f_k + penalty ||M||_1, f_k what each minimises, in the objectives' units.

    A sum of traces of one matrix each is again such a trace, and is solved in closed form; with a
    penalty, a problem of the class `kind`.

    Raises
    ------
    ArgumentError
        The terms have no common variable.
    """
    check_common(bounds)
    if penalty > 0:
        _check_penalised(weights, bounds)
    common = Common.of(bounds, penalty > 0)
    manifold = common.manifold
    unit = max(bound.unit for bound in bounds)
    if penalty > _LARGEST_PENALTY * unit:
        raise ArgumentError(
            f"a penalty of {penalty:g} is too large beside an objective whose values have the unit "
            f"{unit:g}: expected at most {_LARGEST_PENALTY * unit:g}"
        )
    terms = [
        Term(weight * (bound.unit / unit), bound if _same(T) else bound.beyond(), T)
        for weight, bound, T in zip(weights, bounds, common.maps, strict=True)
    ]
    notes = []
    if penalty > 0 and any(not term.same_point for term in terms):
        notes.append(
            "the penalty is of the columns: M may leave the subspace to which terms are restricted,"
            " and they see its projection"
        )
    centred_alike = [bound for bound in bounds if _centres(bound) == _centres(bounds[0])]
    if len(centred_alike) < len(bounds):
        notes.append("the terms subtract different means: the map subtracts the first one's")
    views = noted(_views(common, bounds), *notes)
    answers = next((b.answers for b in centred_alike if b.answers is not None), None)
    if penalty == 0 and isinstance(manifold, Grassmann):
        active = [term for term in terms if term.weight != 0]
        if active and all(_is_trace(term.bound) for term in active):
            A, offset = _summed(active, manifold.shape[0], unit)
            return TraceSum(
                objective,
                views,
                A,
                manifold.shape[1],
                offset=constant + offset,
                terms=terms,
                is_square=constant == 0 and _is_square(active),
                outside=_outside(active),
                answers=answers,
                doubt=unit * sum(abs(term.weight) * _doubt(term.bound) for term in active),
            )
    alone = len(terms) == 1 and terms[0].same_point
    smooth = (Multiple if alone else WeightedSum)(
        objective, views, manifold, terms, constant / unit, unit=unit, answers=answers
    )
    if penalty == 0:
        return smooth
    penalised = _penalty(common, penalty / unit)
    return kind(objective, views, manifold, smooth, penalised, unit=unit, answers=answers)


def _same(maps: Maps) -> bool:
    """Whether a term has the coordinates of the sum."""
    return all(T is None for T in maps)


def _views(common: Common, bounds: Sequence[BoundObjective]) -> list[View]:
    """The way back from the common coordinates, with the first one's means and all notes."""
    each = zip(*(bound.views for bound in bounds), strict=True)
    return [
        replace(own[0], coordinates=frame, notes=_union(view.notes for view in own))
        for frame, own in zip(common.coordinates, each, strict=True)
    ]


def _centres(bound: BoundObjective) -> list[str]:
    return [view.centre for view in bound.views]


def _union(notes: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(chain.from_iterable(notes)))


def _check_penalised(weights: Sequence[float], bounds: Sequence[BoundObjective]) -> None:
    """Refuse a penalty where M's entries belong to no columns, or where M must stay in a subspace.

    A restricted objective is still a function of M in all columns, f(Q'M), but where that rewards
    leaving the subspace the optimum would lie outside, where nothing varies.
    """
    for weight, bound in zip(weights, bounds, strict=True):
        name = bound.objective.name
        if any(v.features is not None or not v.coordinates.has_columns for v in bound.views):
            raise ArgumentError(
                f"objective {name!r} takes no penalty: the entries of its M do not belong to "
                "columns of X, because its variable is whitened or of features"
            )
        in_columns = all(one.is_columns for one in bound.coordinates)
        if not in_columns and bound.rewards_leaving(weight):
            raise ArgumentError(
                f"objective {name!r} takes no penalty here: with fewer rows than columns, or "
                "with collinear ones, M is restricted to the span of the rows, where a penalty of "
                "the columns cannot keep it; give ridge= a positive value, which what is left out "
                "has too, where the method takes one, or leave columns out first"
            )


def _penalty(common: Common, weight: float) -> L1:
    """The penalty of the views' matrices; a model's other parameters have none."""
    manifold, lengths = common.manifold, common.lengths
    if len(manifold.factors) == 1:
        return L1(weight * lengths[0])
    lengths = [*lengths, *(0.0 for _ in manifold.factors[len(lengths) :])]
    pairs = zip(manifold.factors, lengths, strict=True)
    return L1(manifold.join([np.full(factor.shape, weight * c) for factor, c in pairs]))


def _is_trace(bound: BoundObjective) -> bool:
    """Whether it is the trace of a matrix and nothing besides."""
    return isinstance(bound, Trace) and bound.plain and isinstance(bound.A, np.ndarray)


def _is_square(terms: Sequence[Term]) -> bool:
    """Whether the sum is a multiple of one sum of squares."""
    term = terms[0]
    alone = len(terms) == 1 and term.weight > 0
    return alone and isinstance(term.bound, Trace) and term.bound.is_square


def _outside(terms: Sequence[Term]) -> float | None:
    """See `Trace`: where a term of its own says that M has no part outside, it stands alone."""
    outside = [term.bound.outside for term in terms if isinstance(term.bound, Trace)]
    if None in outside:
        return None
    return 0.0 if all(term.same_point for term in terms) and not any(outside) else math.inf


def _doubt(bound: BoundObjective) -> float:
    """See `Trace`, in units of the term's own."""
    return bound.doubt / bound.unit if isinstance(bound, Trace) else 0.0


def _summed(terms: Sequence[Term], k: int, unit: float) -> tuple[Array, float]:
    """sum_k w_k (offset_k - scale_k tr(M'A_k M)) as one trace: its matrix and its constant."""
    A, offset = np.zeros((k, k)), 0.0
    for term in terms:
        trace, (T,) = term.bound, term.maps
        assert isinstance(trace, Trace) and isinstance(trace.A, np.ndarray)
        own = trace.A if T is None else T.T @ trace.A @ T
        A += (unit * term.weight * trace.scale) * own
        offset += unit * term.weight * trace.offset
    return A, offset
