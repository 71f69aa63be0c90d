"""Weighted sums of bound objectives on their common manifold, in their common coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Columns, Coordinates, Subspace
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.families.trace import Trace
from ldr.objectives.problem import BoundObjective, Stated, check_dimension
from ldr.objectives.view import View, noted
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import (
    Array,
    Euclidean,
    Grassmann,
    Manifold,
    Orthonormal,
    Product,
    Stiefel,
    nearest_with_zeros,
)
from ldr.solvers.nonsmooth.penalty import L1
from ldr.solvers.problem import Point, Problem

# Directions whose angle with a subspace has a cosine this near to 1 lie in it.
_INSIDE = 1.0 - 1e-10
# In units of the objective; beyond it squares of the penalty's slope would leave the range.
_LARGEST_PENALTY = 1e100
# Coordinates that agree to this are the same.
_SAME = 1e-12


@dataclass(frozen=True)
class Term:
    """A bound objective, and its point as a linear function of the sum's.

    Attributes
    ----------
    weight : float
        Of the function that the bound objective minimises.
    bound : BoundObjective
    maps : tuple of (ndarray or None)
        T with Z = TM, one a view; None is the identity.
    """

    weight: float
    bound: BoundObjective
    maps: tuple[Array | None, ...]

    @property
    def same_point(self) -> bool:
        """Whether its point is the sum's."""
        return all(T is None for T in self.maps)

    def lower(self, manifold: Manifold, M: Array) -> Array:
        """The term's point Z of the sum's point M, or tangent vector."""
        if self.same_point:
            return M
        blocks = manifold.split(M) if isinstance(manifold, Product) else [M]
        return self.bound.point(
            [Z if T is None else T @ Z for T, Z in zip(self.maps, blocks, strict=True)]
        )

    def lift(self, manifold: Manifold, G: Array) -> Array:
        """The gradient in the sum's point of the gradient G in the term's."""
        if self.same_point:
            return G
        blocks = zip(self.maps, self.bound.blocks(G), strict=True)
        lifted = [Z if T is None else T.T @ Z for T, Z in blocks]
        return manifold.join(lifted) if isinstance(manifold, Product) else lifted[0]


class WeightedPoint(Point):
    """F(M) = c + sum_k w_k f_k(T_k M); gradient sum_k w_k T_k' grad f_k, and so the Hessian."""

    def __init__(self, problem: WeightedSum, M: Array) -> None:
        self.M = M
        self._problem = problem
        manifold = problem.manifold
        self._points = [term.bound.at(term.lower(manifold, M)) for term in problem.active]

    @cached_property
    def value(self) -> float:
        parts = zip(self._problem.active, self._points, strict=True)
        return self._problem.constant + sum(term.weight * point.value for term, point in parts)

    @cached_property
    def gradient(self) -> Array:
        return self._total([point.gradient for point in self._points])

    def hessian_vector(self, V: Array) -> Array:
        manifold = self._problem.manifold
        parts = zip(self._problem.active, self._points, strict=True)
        return self._total([point.hessian_vector(term.lower(manifold, V)) for term, point in parts])

    def _total(self, derivatives: list[Array]) -> Array:
        manifold = self._problem.manifold
        total = np.zeros(manifold.shape)
        for term, derivative in zip(self._problem.active, derivatives, strict=True):
            total += term.weight * term.lift(manifold, derivative)
        return total


@dataclass(frozen=True)
class WeightedSum(BoundObjective):
    """Minimise c + sum_k w_k f_k(T_k M) + h(M), f_k what each bound objective minimises.

    Parameters
    ----------
    manifold : Manifold
    terms : list of Term
    constant : float
    penalty : L1 or None
    """

    manifold: Manifold
    terms: Sequence[Term]
    constant: float = 0.0
    penalty: L1 | None = None

    @cached_property
    def active(self) -> Sequence[Term]:
        """The terms that count."""
        return [term for term in self.terms if term.weight != 0]

    @cached_property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return all(term.bound.has_hessian for term in self.active)

    @property
    def _alone(self) -> Term | None:
        """The only term, where the sum's point is its own."""
        return self.terms[0] if len(self.terms) == 1 and self.terms[0].same_point else None

    @property
    def _multiplied(self) -> Term | None:
        """The only term, where it counts positively and nothing is added."""
        alone = self._alone
        plain = alone is not None and alone.weight > 0 and self.penalty is None
        return alone if plain else None

    @property
    def baseline_exact(self) -> bool:
        return self._multiplied is not None and self._multiplied.bound.baseline_exact

    @property
    def easier(self) -> Sequence[Problem]:
        return () if self._multiplied is None else self._multiplied.bound.easier

    @property
    def order(self) -> int:
        return max(term.bound.order for term in self.terms)

    def at(self, M: Array) -> WeightedPoint:
        return WeightedPoint(self, M)

    def baseline(self) -> Array | None:
        return best_heuristic(self, self.terms)

    def rewards_leaving(self, weight: float = 1.0) -> bool:
        return any(term.bound.rewards_leaving(weight * term.weight) for term in self.terms)

    def starts(self) -> dict[str, Array]:
        """Those of the only term."""
        alone = self._alone
        return {} if alone is None else alone.bound.starts()

    def random_point(self, rng: np.random.Generator) -> Array:
        first = self.terms[0]
        return (first.bound if first.same_point else self.manifold).random_point(rng)

    def closed_form(self) -> Array | None:
        return None if self._multiplied is None else self._multiplied.bound.closed_form()

    def certificate(self, M: Array) -> Certificate | None:
        """What theory knows of the only term; of a sum it knows nothing."""
        term = self._multiplied
        known = None if term is None else term.bound.certificate(M)
        if term is None or known is None:
            return None
        return Certificate(known.kind, known.gap * term.weight * self.unit, known.message)

    def point(self, blocks: Sequence[Array]) -> Array:
        alone = self._alone
        return super().point(blocks) if alone is None else alone.bound.point(blocks)

    def lift(self, M: Array) -> tuple[Array, ...]:
        """The user's matrices; what a penalty made zero stays zero."""
        alone = self._alone
        lifted = super().lift(M) if alone is None else alone.bound.lift(M)
        if self.penalty is None:
            return lifted
        exact = (c.lift(Z) for c, Z in zip(self.coordinates, self.blocks(M), strict=True))
        return tuple(np.where(E == 0, 0.0, N) for E, N in zip(exact, lifted, strict=True))

    def lower(self, matrices: Sequence[Array]) -> Array:
        """The point nearest to the user's matrices; with a penalty, near them with their zeros."""
        if self.penalty is None:
            return super().lower(matrices)
        blocks = [c.lower(M) for c, M in zip(self.coordinates, matrices, strict=True)]
        pairs = zip(self.factors, blocks, strict=False)
        return self.point(
            [nearest_with_zeros(Z) if isinstance(f, Orthonormal) else Z for f, Z in pairs]
        )

    def maps(self, M: Array) -> tuple[Array, ...]:
        if self.objective.transposed:
            return tuple(N.T for N in self.lift(M))
        return self.terms[0].bound.maps(M)

    def parameters(self, M: Array) -> dict[str, float]:
        """Those of the only term; with a penalty, the share of zeros in M."""
        alone = self._alone
        own = {} if alone is None else dict(alone.bound.parameters(M))
        if self.penalty is None:
            return own
        matrices = self.lift(M)
        zeros = sum(int(np.sum(N == 0)) for N in matrices)
        return {**own, "sparsity": zeros / sum(N.size for N in matrices)}

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        alone = self._alone
        return super().mean_at(M) if alone is None else alone.bound.mean_at(M)

    def model(self, M: Array) -> FactorModel | None:
        """The fitted model, of the only term."""
        alone = self._alone
        return None if alone is None else alone.bound.model(M)

    def remarks(self, M: Array) -> list[str]:
        """Those of the only term."""
        alone = self._alone
        return [] if alone is None else alone.bound.remarks(M)


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


def best_heuristic(problem: BoundObjective, terms: Sequence[Term]) -> Array | None:
    """Of the terms' heuristics the one that is best for the sum."""
    found = []
    for term in terms:
        M = term.bound.baseline()
        if M is not None:
            found.append(M if term.same_point else problem.lower(term.bound.lift(M)))
    return min(found, key=problem.value) if found else None


def weighted_sum(
    objective: Stated,
    weights: Sequence[float],
    bounds: Sequence[BoundObjective],
    *,
    constant: float = 0.0,
    penalty: float = 0.0,
    kind: type[WeightedSum] = WeightedSum,
) -> BoundObjective:
    """c + sum_k w_k f_k + penalty ||M||_1, f_k what each minimises, in the objectives' units.

    A sum of traces of one matrix each is again such a trace, and is solved in closed form; with a
    penalty, a problem of the class `kind`.

    Raises
    ------
    ArgumentError
        The terms have no common variable.
    """
    _check_common(bounds)
    if penalty > 0:
        _check_penalised(weights, bounds)
    frames, maps, scales = _frames(bounds, penalty > 0)
    manifold = _common_manifold(bounds, frames, maps, penalty > 0)
    unit = max(bound.unit for bound in bounds)
    if penalty > _LARGEST_PENALTY * unit:
        raise ArgumentError(
            f"a penalty of {penalty:g} is too large beside an objective whose values have the unit "
            f"{unit:g}: expected at most {_LARGEST_PENALTY * unit:g}"
        )
    terms = [
        Term(weight * (bound.unit / unit), bound, T)
        for weight, bound, T in zip(weights, bounds, maps, strict=True)
    ]
    notes = []
    if penalty > 0 and any(not term.same_point for term in terms):
        notes.append(
            "the penalty is of the columns: M may leave the subspace to which terms are restricted,"
            " and they see its projection"
        )
    if any(not _same_means(bound, bounds[0]) for bound in bounds):
        notes.append("the terms subtract different means: the map subtracts the first one's")
    views = noted(
        [
            View(own[0].mean, frame, _union(view.notes for view in own), own[0].features)
            for frame, *own in zip(frames, *(bound.views for bound in bounds), strict=True)
        ],
        *notes,
    )
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
                doubt=unit * sum(abs(term.weight) * _doubt(term.bound) for term in active),
            )
    return (kind if penalty > 0 else WeightedSum)(
        objective,
        views,
        manifold,
        terms,
        constant / unit,
        _penalty(manifold, penalty / unit, scales) if penalty > 0 else None,
        unit=unit,
    )


def _same_means(a: BoundObjective, b: BoundObjective) -> bool:
    pairs = zip(a.views, b.views, strict=True)
    return all(np.allclose(one.mean, other.mean, rtol=1e-6) for one, other in pairs)


def _union(notes: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(chain.from_iterable(notes)))


def _check_common(bounds: Sequence[BoundObjective]) -> None:
    """Refuse terms whose M is not the same thing."""
    for bound in bounds:
        name = bound.objective.name
        if bound.penalty is not None:
            raise ArgumentError(
                f"objective {name!r} has a penalty of its own and does not add up with others: "
                "add the penalty to the sum"
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
) -> tuple[tuple[Coordinates, ...], list[tuple[Array | None, ...]], list[float]]:
    """Coordinates of the sum, of each view; each term's maps to its own; the frames' lengths."""
    frames: list[Coordinates] = []
    maps: list[list[Array | None]] = [[] for _ in bounds]
    scales: list[float] = []
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
        scales.append(_length(frame, sizes[0]))
        for i, (coordinates, k) in enumerate(zip(own, sizes, strict=True)):
            maps[i].append(_to(coordinates, k, frame, lifted))
    return tuple(frames), [tuple(T) for T in maps], scales


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
                "the columns cannot keep it; leave columns out first"
            )


def _length(frame: Coordinates, k: int) -> float:
    """|M| of a unit vector of the frame."""
    return float(np.linalg.norm(frame.lift(np.eye(k, 1)))) if frame.is_columns else 1.0


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
    if lifted is not None:
        T = coordinates.lower(lifted)
    elif coordinates.is_columns:
        T = coordinates.lower(frame.lift(np.eye(k)))
    else:  # the frame is the columns: Q' of the orthonormal basis Q
        T = coordinates.lift(np.eye(k)).T
    same = T.shape[0] == T.shape[1] and np.abs(T - np.eye(len(T))).max() <= _SAME
    return None if same else np.asarray(T)


def _common_manifold(
    bounds: Sequence[BoundObjective],
    frames: Sequence[Coordinates],
    maps: Sequence[tuple[Array | None, ...]],
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


def _penalty(manifold: Manifold, weight: float, scales: Sequence[float]) -> L1:
    """The penalty of the views' matrices; a model's other parameters have none."""
    if not isinstance(manifold, Product):
        return L1(weight * scales[0])
    lengths = [*scales, *(0.0 for _ in manifold.factors[len(scales) :])]
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
