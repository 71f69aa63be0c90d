"""Terms of a sum: the sum of several, the multiple of one, and a penalty around either.

Weighted sums of bound objectives on their common manifold, in their common coordinates.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Self

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes, Columns, Coordinates, Subspace
from ldr.objectives.families.trace import Trace
from ldr.objectives.problem import BoundObjective, Fitted, Stated, check_dimension
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.view import View, noted
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import length
from ldr.solvers.manifolds import (
    Array,
    Euclidean,
    Grassmann,
    Manifold,
    Orthonormal,
    Product,
    Stiefel,
    nearest_with_its_zeros,
)
from ldr.solvers.nonsmooth.penalty import L1
from ldr.solvers.problem import Point, Problem

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel


@dataclass(frozen=True)
class Term:
    """A bound objective, and its point as a linear function of the sum's.

    - weight: of the function that the bound objective minimises
    - maps: T with Z = TM, one a view; None is the identity
    """

    weight: float
    bound: BoundObjective
    maps: tuple[Array | None, ...]

    @cached_property
    def same_point(self) -> bool:
        """Whether its point is the sum's."""
        return all(T is None for T in self.maps)

    def lower(self, manifold: Manifold, M: Array) -> Array:
        """The term's point Z of the sum's point M, or tangent vector."""
        if self.same_point:
            return M
        blocks = zip(self.maps, manifold.split(M), strict=True)
        return self.bound.point([Z if T is None else T @ Z for T, Z in blocks])

    def lift(self, manifold: Manifold, G: Array) -> Array:
        """The gradient in the sum's point of the gradient G in the term's."""
        if self.same_point:
            return G
        blocks = zip(self.maps, self.bound.blocks(G), strict=True)
        return manifold.join([Z if T is None else T.T @ Z for T, Z in blocks])


class WeightedPoint(Point):
    """F(M) = c + sum_k w_k f_k(T_k M); gradient sum_k w_k T_k' grad f_k, and so the Hessian."""

    def __init__(self, problem: WeightedSum, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._terms = problem.active
        self._points = [term.bound.at(term.lower(problem.manifold, M)) for term in self._terms]

    @cached_property
    def value(self) -> float:
        parts = zip(self._terms, self._points, strict=True)
        return self._problem.constant + sum(term.weight * point.value for term, point in parts)

    @cached_property
    def gradient(self) -> Array:
        return self._total([point.gradient for point in self._points])

    def hessian_vector(self, V: Array) -> Array:
        manifold = self._problem.manifold
        parts = zip(self._terms, self._points, strict=True)
        return self._total([point.hessian_vector(term.lower(manifold, V)) for term, point in parts])

    def _total(self, derivatives: list[Array]) -> Array:
        manifold, parts = self._problem.manifold, zip(self._terms, derivatives, strict=True)
        lifted = [term.weight * term.lift(manifold, derivative) for term, derivative in parts]
        return sum(lifted[1:], lifted[0]) if lifted else np.zeros(manifold.shape)


@dataclass(frozen=True)
class WeightedSum(BoundObjective):
    """Minimise c + sum_k w_k f_k(T_k M), f_k what each bound objective minimises."""

    manifold: Manifold
    terms: Sequence[Term]
    constant: float = 0.0

    @cached_property
    def active(self) -> list[Term]:
        """The terms that count."""
        return [term for term in self.terms if term.weight != 0]

    @cached_property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return all(term.bound.has_hessian for term in self.active)

    def at(self, M: Array) -> WeightedPoint:
        return WeightedPoint(self, M)

    def near(self, M: Array) -> Self:
        return self._of([term.bound.near(term.lower(self.manifold, M)) for term in self.terms])

    def like(self, other: Self) -> Self:
        pairs = zip(self.terms, other.terms, strict=True)
        return self._of([own.bound.like(term.bound) for own, term in pairs])

    def _of(self, bounds: Sequence[BoundObjective]) -> Self:
        """The sum of other forms of the same terms."""
        pairs = list(zip(self.terms, bounds, strict=True))
        if all(bound is term.bound for term, bound in pairs):
            return self
        return replace(self, terms=[replace(term, bound=bound) for term, bound in pairs])

    def hidden(self, M: Array) -> float:
        return sum(
            abs(term.weight) * term.bound.hidden(term.lower(self.manifold, M))
            for term in self.active
        )

    def baseline(self) -> Array | None:
        return best_heuristic(self, self.terms)

    @property
    def exchangeable(self) -> bool:
        return all(term.bound.exchangeable for term in self.terms)

    def rewards_leaving(self, weight: float = 1.0) -> bool:
        return any(term.bound.rewards_leaving(weight * term.weight) for term in self.terms)

    def beyond(self) -> Self:
        return replace(
            self, terms=[replace(term, bound=term.bound.beyond()) for term in self.terms]
        )

    def random_point(self, rng: np.random.Generator) -> Array:
        first = self.terms[0]
        return (first.bound if first.same_point else self.manifold).random_point(rng)

    def maps(self, M: Array) -> tuple[Array, ...]:
        if self.objective.transposed:
            return tuple(N.T for N in self.lift(M))
        first = self.terms[0]
        return first.bound.maps(first.lower(self.manifold, M))


class Around(BoundObjective):
    """A function of the same point as the problem inside, whose starts and whose M are its own."""

    @property
    @abstractmethod
    def inside(self) -> BoundObjective: ...

    def starts(self) -> dict[str, Array]:
        return self.inside.starts()

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.inside.random_point(rng)

    def point(self, blocks: Sequence[Array]) -> Array:
        return self.inside.point(blocks)

    def lift(self, M: Array) -> tuple[Array, ...]:
        return self.inside.lift(M)

    def parameters(self, M: Array) -> Fitted:
        return self.inside.parameters(M)

    def comparisons(self, M: Array) -> Fitted:
        return self.inside.comparisons(M)

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        return self.inside.mean_at(M)

    def model(self, M: Array) -> FactorModel | None:
        return self.inside.model(M)

    def remarks(self, M: Array) -> list[str]:
        return self.inside.remarks(M)


@dataclass(frozen=True)
class Multiple(Around, WeightedSum):
    """c + w f: where w is positive, what is known of the optimum of f is known of it."""

    @property
    def inside(self) -> BoundObjective:
        return self.terms[0].bound

    @property
    def _same_optimum(self) -> bool:
        return self.terms[0].weight > 0

    @property
    def baseline_exact(self) -> bool:
        return self._same_optimum and self.inside.baseline_exact

    @property
    def easier(self) -> Sequence[Problem]:
        return self.inside.easier if self._same_optimum else ()

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        return self.inside.axes(M, seen) if self._same_optimum else super().axes(M, seen)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        return self.inside.numbers(M, axes, seen) if self._same_optimum else {}

    def closed_form(self) -> Array | None:
        return self.inside.closed_form() if self._same_optimum else None

    def certificate(self, M: Array) -> Certificate | None:
        known = self.inside.certificate(M) if self._same_optimum else None
        if known is None:
            return None
        return Certificate(known.kind, known.gap * self.terms[0].weight, known.message)


@dataclass(frozen=True)
class Penalised(Around):
    """A sum and the penalty; entries of M that are zero stay zero on the way back."""

    manifold: Manifold
    smooth: WeightedSum
    penalty: L1

    @property
    def inside(self) -> BoundObjective:
        return self.smooth

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.smooth.has_hessian

    def at(self, M: Array) -> WeightedPoint:
        return self.smooth.at(M)

    def near(self, M: Array) -> Self:
        smooth = self.smooth.near(M)
        return self if smooth is self.smooth else replace(self, smooth=smooth)

    def hidden(self, M: Array) -> float:
        return self.smooth.hidden(M)

    def baseline(self) -> Array | None:
        return best_heuristic(self, self.smooth.terms)

    def lift(self, M: Array) -> tuple[Array, ...]:
        exact = (c.lift(Z) for c, Z in zip(self.coordinates, self.blocks(M), strict=True))
        return tuple(np.where(E == 0, 0.0, N) for E, N in zip(exact, super().lift(M), strict=True))

    @property
    def exchangeable(self) -> bool:
        return self.smooth.exchangeable

    def lower(self, matrices: Sequence[Array]) -> Array:
        """The point near the user's matrices that has their zeros."""
        blocks = [c.lower(M) for c, M in zip(self.coordinates, matrices, strict=True)]
        return nearest_with_its_zeros(self.manifold, self.point(blocks))

    def maps(self, M: Array) -> tuple[Array, ...]:
        if self.objective.transposed:
            return tuple(N.T for N in self.lift(M))
        return self.smooth.maps(M)

    def parameters(self, M: Array) -> Fitted:
        """Those inside, and the share of zeros in M."""
        matrices = self.lift(M)
        zeros = sum(int(np.sum(N == 0)) for N in matrices)
        return {**super().parameters(M), "sparsity": zeros / sum(N.size for N in matrices)}


def best_heuristic(problem: BoundObjective, terms: Sequence[Term]) -> Array | None:
    """Of the terms' heuristics the one that is best for the sum."""
    found = []
    for term in terms:
        M = term.bound.baseline()
        if M is not None:
            found.append(M if term.same_point else problem.lower(term.bound.lift(M)))
    return min(found, key=problem.value) if found else None


class Exchangeable(BoundObjective):
    """A sum over columns that may change places: they come in the order of what they contribute."""

    exchangeable = True

    @abstractmethod
    def contributions(self, M: Array) -> Array:
        """Of each column to -f."""

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        return Axes.ordered(self.contributions(M))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """What each column adds."""
        return {"contribution": axes.numbers}


# Directions whose angle with a subspace has a cosine this near to 1 lie in it.
_INSIDE = 1.0 - 1e-10
# Coordinates that agree to this are the same.
_SAME = 1e-12

Maps = tuple[Array | None, ...]


@dataclass(frozen=True)
class Common:
    """The common variable.

    - coordinates: of each view
    - maps: of each problem: T with Z = TM, one a view; None is the identity
    - lengths: |M| of a unit vector of the coordinates, of each view
    """

    manifold: Manifold
    coordinates: tuple[Coordinates, ...]
    maps: list[Maps]
    lengths: list[float]


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
        lifted = lifted / np.abs(lifted).max(axis=0)  # whose squares do not overflow
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

    - terms: whose heuristics are its own
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

    - raises ArgumentError: The terms have no common variable.
    """
    check_common(bounds)
    if penalty > 0:
        _check_penalised(weights, bounds)
    frames, maps, lengths = _frames(bounds, penalty > 0)
    manifold = _manifold(bounds, frames, maps, penalty > 0)
    common = Common(manifold, frames, maps, lengths)
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
