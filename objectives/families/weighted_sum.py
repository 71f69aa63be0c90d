"""Weighted sums of bound objectives on their common manifold, in their common coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from ldr.objectives.coordinates import Columns, Coordinates, Subspace
from ldr.objectives.families.terms import Multiple, Penalised, Term, WeightedSum, best_heuristic
from ldr.objectives.families.trace import Trace
from ldr.objectives.problem import BoundObjective, Stated, check_dimension
from ldr.objectives.view import View, noted
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.lengths import length
from ldr.solvers.manifolds import (
    Array,
    Euclidean,
    Grassmann,
    Manifold,
    Orthonormal,
    Product,
    Stiefel,
)
from ldr.solvers.nonsmooth.penalty import L1
from ldr.solvers.records import dataclass, replace

# Directions whose angle with a subspace has a cosine this near to 1 lie in it.
_INSIDE = 1.0 - 1e-10
# Coordinates that agree to this are the same.
_SAME = 1e-12

Maps = tuple[Array | None, ...]


@dataclass(frozen=True)
class Common:
    """The common variable.

    Attributes
    ----------
    coordinates : tuple of Coordinates
        Of each view.
    maps : list of tuple of (ndarray or None)
        Of each problem: T with Z = TM, one a view; None is the identity.
    lengths : list of float
        |M| of a unit vector of the coordinates, of each view.
    """

    manifold: Manifold
    coordinates: tuple[Coordinates, ...]
    maps: list[Maps]
    lengths: list[float]

    @classmethod
    def of(cls, bounds: Sequence[BoundObjective], penalised: bool) -> Common:
        """
        Raises
        ------
        ArgumentError
            There is none.
        """
        frames, maps, lengths = _frames(bounds, penalised)
        return cls(_manifold(bounds, frames, maps, penalised), frames, maps, lengths)


def check_common(bounds: Sequence[BoundObjective]) -> None:
    """Refuse terms whose M is not the same thing."""
    for bound in bounds:
        name = bound.objective.name
        if bound.penalty is not None:
            raise ArgumentError(
                f"objective {name!r} has a penalty of its own and does not add up with others: "
                "add the penalty to the sum"
            )
        if len(bound.factors) < len(bound.views):
            raise ArgumentError(
                f"objective {name!r} has one variable for all views together and takes no weight, "
                "no further terms and no penalty"
            )
        if len(bounds) == 1:
            continue
        if any(view.features is not None for view in bound.views):
            raise ArgumentError(
                f"objective {name!r} is of features of the rows and does not add up with "
                "others: apply ldr.kernel to the sum"
            )


def _frames(
    bounds: Sequence[BoundObjective], penalised: bool
) -> tuple[tuple[Coordinates, ...], list[Maps], list[float]]:
    """Coordinates of the sum, of each view; each term's maps to its own; the frames' lengths."""
    frames: list[Coordinates] = []
    maps: list[list[Array | None]] = [[] for _ in bounds]
    lengths: list[float] = []
    for view in range(len(bounds[0].views)):
        sizes = [bound.factors[view].shape[0] for bound in bounds]
        own = [bound.coordinates[view] for bound in bounds]
        if all(one.is_columns for one in own):
            frame, lifted = own[0], None
        elif penalised:
            frame, lifted = Columns(), None
        else:
            frame, lifted = _intersection(own, sizes)
        frames.append(frame)
        lengths.append(_length(frame, sizes[0]))
        for i, (coordinates, k) in enumerate(zip(own, sizes, strict=True)):
            maps[i].append(_to(coordinates, k, frame, lifted))
    return tuple(frames), [tuple(T) for T in maps], lengths


def _length(frame: Coordinates, k: int) -> float:
    """|M| of a unit vector of the frame."""
    return length(frame.lift(np.eye(k, 1))) if frame.is_columns else 1.0


def _intersection(own: Sequence[Coordinates], sizes: Sequence[int]) -> tuple[Coordinates, Array]:
    """Coordinates of the directions that all have in common, and their basis in the columns."""
    frame, Q = own[0], None
    for coordinates, k in zip(own, sizes, strict=True):
        if coordinates.is_columns:
            continue
        lifted = coordinates.lift(np.eye(k))
        basis = lifted / np.linalg.norm(lifted, axis=0)
        if Q is None:
            frame, Q = coordinates, basis
            continue
        U, cosines, _ = np.linalg.svd(Q.T @ basis)
        inside = cosines > _INSIDE
        if inside.sum() < Q.shape[1]:
            Q = Q @ U[:, : inside.sum()]
            frame = Subspace(Q, name="the subspace that the terms have in common")
    assert Q is not None
    return frame, Q


def _to(coordinates: Coordinates, k: int, frame: Coordinates, lifted: Array | None) -> Array | None:
    """T with Z = TM from the frame to a term's coordinates; None where they are the same."""
    if coordinates is frame or (type(coordinates) is type(frame) is Columns):
        return None
    # Where the frame is the columns, Q' of the orthonormal basis Q.
    T = coordinates.lift(np.eye(k)).T if lifted is None else coordinates.lower(lifted)
    same = T.shape[0] == T.shape[1] and np.abs(T - np.eye(len(T))).max() <= _SAME
    return None if same else np.asarray(T)


def _manifold(
    bounds: Sequence[BoundObjective],
    frames: Sequence[Coordinates],
    maps: Sequence[Maps],
    penalised: bool,
) -> Manifold:
    """The most specific manifold that fits all: Grassmann only where all are, and no penalty."""
    first = bounds[0].factors
    factors = []
    for view in range(len(first)):
        kinds = [bound.factors[view] for bound in bounds]
        if view >= len(frames):  # a parameter of the only term's model
            factors.append(first[view])
            continue
        shapes = {
            (kind.shape[0] if T is None else T.shape[1], kind.shape[1])
            for kind, T in zip(kinds, (T[view] for T in maps), strict=True)
        }
        if len(shapes) > 1 or len({isinstance(kind, Orthonormal) for kind in kinds}) > 1:
            listed = ", ".join(
                f"{bound.objective.name!r} on {type(kind).__name__}{kind.shape}"
                for bound, kind in zip(bounds, kinds, strict=True)
            )
            raise ArgumentError(f"these objectives have no common manifold: {listed}")
        k, r = shapes.pop()
        if not isinstance(kinds[0], Orthonormal):
            factors.append(Euclidean(k, r))
            continue
        check_dimension(r, k)
        spans = all(isinstance(kind, Grassmann) for kind in kinds) and not penalised
        factors.append(Grassmann(k, r) if spans else Stiefel(k, r))
    return Product(*factors) if isinstance(bounds[0].manifold, Product) else factors[0]


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
