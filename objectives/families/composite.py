"""Weighted sums of bound objectives on a common manifold, optionally with an l1 penalty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ldr.objectives.families.trace import Trace
from ldr.objectives.problem import (
    BoundObjective,
    Certificate,
    Fitted,
    LocalOptima,
    Stated,
    certificate_of,
    check_dimension,
    like,
    near,
)
from ldr.objectives.view import Columns, Coordinates, Subspace, noted
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
from ldr.solvers.problem import L1, Point


def beyond(bound: Any) -> BoundObjective:
    """Return the objective for M not restricted to the span of the coordinates."""
    return bound.beyond() if hasattr(bound, "beyond") else bound


def rewards_leaving(bound: Any, weight: float) -> bool:
    """Return True if weight * f may be smaller for M outside the span of the coordinates."""
    if hasattr(bound, "rewards_leaving"):
        return bound.rewards_leaving(weight)
    return any(not isinstance(factor, Orthonormal) for factor in bound.manifold.factors)


@dataclass(frozen=True)
class Term:
    """A bound objective whose point Z is a linear function of the sum's point M.

    - weight: weight of the function that the bound objective minimises
    - maps: T with Z = TM, one for each view; None means the identity
    """

    weight: float
    bound: BoundObjective
    maps: tuple[Array | None, ...]

    @cached_property
    def same_point(self) -> bool:
        """True if the term's point is the sum's point."""
        return all(T is None for T in self.maps)

    def lower(self, manifold: Manifold, M: Array) -> Array:
        """Return the term's point or tangent vector Z for the sum's point or tangent vector M."""
        if self.same_point:
            return M
        blocks = zip(self.maps, manifold.split(M), strict=True)
        return self.bound.point([Z if T is None else T @ Z for T, Z in blocks])

    def lift(self, manifold: Manifold, G: Array) -> Array:
        """Return the gradient at the sum's point from the gradient G at the term's point."""
        if self.same_point:
            return G
        blocks = zip(self.maps, self.bound.blocks(G), strict=True)
        return manifold.join([Z if T is None else T.T @ Z for T, Z in blocks])


class WeightedPoint(Point):
    """F(M) = c + sum_k w_k f_k(T_k M), with gradient sum_k w_k T_k' grad f_k(T_k M)."""

    def __init__(self, problem: WeightedSum, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._points = [
            (term, term.bound.at(term.lower(problem.manifold, M))) for term in problem.active
        ]

    @cached_property
    def value(self) -> float:
        return self._problem.constant + sum(t.weight * point.value for t, point in self._points)

    @cached_property
    def gradient(self) -> Array:
        return self._total(lambda term, point: point.gradient)

    def hessian_vector(self, V: Array) -> Array:
        manifold = self._problem.manifold
        return self._total(lambda term, point: point.hessian_vector(term.lower(manifold, V)))

    def _total(self, derivative: Callable[[Term, Point], Array]) -> Array:
        manifold, total = self._problem.manifold, np.zeros(self._problem.manifold.shape)
        for term, point in self._points:
            total += term.weight * term.lift(manifold, derivative(term, point))
        return total


def _of_the_only_term(name: str, *, if_same: bool = False) -> Any:
    """Return a method that a multiple of a single objective inherits from the objective."""

    def method(self: WeightedSum, *given: Any) -> Any:
        only = self.only if self.same_optimum or not if_same else None
        return getattr(only or super(WeightedSum, self), name)(*given)

    return method


@dataclass(frozen=True)
class WeightedSum(LocalOptima):
    """Minimise c + sum_k w_k f_k(T_k M) + penalty, f_k the bound objectives.

    With a penalty, entries of M that are zero remain zero in the user's coordinates. A multiple of
    a single objective has that objective's initial points, model and parameters. It also has the
    certificate if the weight is positive and there is no penalty.
    """

    manifold: Manifold
    terms: Sequence[Term]
    constant: float = 0.0
    penalty: L1 | None = None

    starts = _of_the_only_term("starts")
    point = _of_the_only_term("point")
    mean_at = _of_the_only_term("mean_at")
    model = _of_the_only_term("model")
    remarks = _of_the_only_term("remarks")
    axes = _of_the_only_term("axes", if_same=True)
    numbers = _of_the_only_term("numbers", if_same=True)
    closed_form = _of_the_only_term("closed_form", if_same=True)

    @cached_property
    def only(self) -> BoundObjective | None:
        """The objective of which the sum is a multiple; None for several objectives."""
        alone = len(self.terms) == 1 and self.terms[0].same_point
        return self.terms[0].bound if alone else None

    @property
    def same_optimum(self) -> bool:
        """True if the sum has the same optimum as a single objective."""
        return self.only is not None and self.penalty is None and self.terms[0].weight > 0

    @cached_property
    def active(self) -> list[Term]:
        """Terms with nonzero weight."""
        return [term for term in self.terms if term.weight != 0]

    @cached_property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return all(term.bound.has_hessian for term in self.active)

    @property
    def easier(self) -> Sequence[Any]:
        bound = self.terms[0].bound
        return bound.easier if self.same_optimum and isinstance(bound, LocalOptima) else ()

    @property
    def exchangeable(self) -> bool:
        return all(term.bound.exchangeable for term in self.terms)

    def at(self, M: Array) -> WeightedPoint:
        return WeightedPoint(self, M)

    def near(self, M: Array) -> Self:
        return self._of([near(term.bound, term.lower(self.manifold, M)) for term in self.terms])

    def like(self, other: Self) -> Self:
        pairs = zip(self.terms, other.terms, strict=True)
        return self._of([like(own.bound, term.bound) for own, term in pairs])

    def beyond(self) -> Self:
        return self._of([beyond(term.bound) for term in self.terms])

    def _of(self, bounds: Sequence[BoundObjective]) -> Self:
        """Return the sum with its terms replaced."""
        pairs = list(zip(self.terms, bounds, strict=True))
        if all(bound is term.bound for term, bound in pairs):
            return self
        return replace(self, terms=[replace(term, bound=bound) for term, bound in pairs])

    def hidden(self, M: Array) -> float:
        lowered = [(term, term.lower(self.manifold, M)) for term in self.active]
        return sum(abs(term.weight) * term.bound.hidden(Z) for term, Z in lowered)

    def rewards_leaving(self, weight: float = 1.0) -> bool:
        return any(rewards_leaving(term.bound, weight * term.weight) for term in self.terms)

    def baseline(self) -> Array | None:
        return best_heuristic(self, self.terms)

    def random_point(self, rng: np.random.Generator) -> Array:
        first = self.terms[0]
        return (first.bound if first.same_point else self.manifold).random_point(rng)

    def lift(self, M: Array) -> tuple[Array, ...]:
        lifted: tuple[Array, ...] = _of_the_only_term("lift")(self, M)
        if self.penalty is None:
            return lifted
        exact = (
            view.coordinates.lift(Z) for view, Z in zip(self.views, self.blocks(M), strict=True)
        )
        return tuple(np.where(E == 0, 0.0, N) for E, N in zip(exact, lifted, strict=True))

    def lower(self, matrices: Sequence[Array]) -> Array:
        """Return the point nearest to the user's matrices; a penalty keeps their zero entries."""
        if self.penalty is None:
            return super().lower(matrices)
        blocks = [view.coordinates.lower(M) for view, M in zip(self.views, matrices, strict=True)]
        return nearest_with_its_zeros(self.manifold, self.point(blocks))

    def maps(self, M: Array) -> tuple[Array, ...]:
        if self.objective.traits.transposed:
            return tuple(N.T for N in self.lift(M))
        first = self.terms[0]
        return first.bound.maps(first.lower(self.manifold, M))

    def comparisons(self, M: Array) -> Fitted:
        return getattr(self.only, "comparisons", lambda M: {})(M)

    def parameters(self, M: Array) -> Fitted:
        """Return the model's parameters and, with a penalty, the share of zeros in M."""
        fitted: Fitted = _of_the_only_term("parameters")(self, M)
        if self.penalty is None:
            return fitted
        matrices = self.lift(M)
        zeros = sum(int(np.sum(N == 0)) for N in matrices)
        return {**fitted, "sparsity": zeros / sum(N.size for N in matrices)}

    def certificate(self, M: Array) -> Certificate | None:
        known = certificate_of(self.terms[0].bound, M) if self.same_optimum else None
        return known and replace(known, gap=known.gap * self.terms[0].weight)


@dataclass(frozen=True)
class TraceSum(Trace):
    """A weighted sum of traces tr(M'AM), which is a trace again.

    - terms: terms whose baselines are the candidates for the sum's baseline
    """

    terms: Sequence[Term] = ()

    def baseline(self) -> Array:
        found = best_heuristic(self, self.terms)
        return super().baseline() if found is None else found


def best_heuristic(problem: BoundObjective, terms: Sequence[Term]) -> Array | None:
    """Return the terms' baseline with the smallest value of the sum; None without baselines."""
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
    """Return c + sum_k w_k f_k + penalty ||M||_1 as a problem, in the objectives' units.

    A sum of traces tr(M'AM) without penalty is a trace with a closed form; other sums are problems
    of the class `kind`.

    - raises ArgumentError: The terms have no common subspace.
    """
    _check_common(bounds)
    if penalty > 0:
        _check_penalised(weights, bounds)
    common = [_common_view(bounds, view, penalty > 0) for view in range(len(bounds[0].views))]
    frames = [frame for frame, _ in common]
    maps = [tuple(maps[k] for _, maps in common) for k in range(len(bounds))]
    manifold = _manifold(bounds, maps, penalty > 0)
    unit = max(bound.unit for bound in bounds)
    if penalty > 1e100 * unit:  # the square of so large a penalty would overflow
        raise ArgumentError(
            f"a penalty of {penalty:g} is too large relative to the objective's values, which are "
            f"of the order of {unit:g}: expected at most {1e100 * unit:g}"
        )
    terms = [
        Term(weight * (b.unit / unit), b if all(each is None for each in T) else beyond(b), T)
        for weight, b, T in zip(weights, bounds, maps, strict=True)
    ]
    notes = []
    if penalty > 0 and any(not term.same_point for term in terms):
        notes.append(
            "the penalty is of all columns: M may leave the subspace of a restricted term, which "
            "is then evaluated at the projection of M"
        )
    centre = [view.centre for view in bounds[0].views]
    alike = [bound for bound in bounds if [view.centre for view in bound.views] == centre]
    if len(alike) < len(bounds):
        notes.append("the terms subtract different means: the map subtracts the first mean")
    views = []
    for k, frame in enumerate(frames):
        each = dict.fromkeys(note for bound in bounds for note in bound.views[k].notes)
        views.append(replace(bounds[0].views[k], coordinates=frame, notes=tuple(each)))
    stated: dict[str, Any] = {
        "objective": objective,
        "views": noted(views, *notes),
        "answers": next((bound.answers for bound in alike if bound.answers is not None), None),
        "terms": terms,
    }
    if penalty == 0 and isinstance(manifold, Grassmann):
        trace = _as_trace(terms, manifold, unit, constant)
        if trace is not None:
            return TraceSum(**stated, **trace)
    stated |= {"manifold": manifold, "unit": unit, "constant": constant / unit}
    if penalty == 0:
        return WeightedSum(**stated)
    return kind(**stated, penalty=_penalty(manifold, frames, penalty / unit))


def _check_common(bounds: Sequence[BoundObjective]) -> None:
    """Refuse terms with M of different meaning."""
    for bound in bounds:
        name = bound.objective.name
        if bound.penalty is not None:
            raise ArgumentError(
                f"objective {name!r} has its own penalty and cannot be a term of a sum: add the "
                "penalty to the sum"
            )
        if len(bound.manifold.factors) < len(bound.views):
            raise ArgumentError(
                f"objective {name!r} cannot be weighted, summed or penalised: all its views share "
                "one variable, not one matrix M for each view"
            )
        if len(bounds) > 1 and any(view.features is not None for view in bound.views):
            raise ArgumentError(
                f"objective {name!r} has a feature map and cannot be a term of a sum: apply "
                "ldr.kernel to the whole sum"
            )


def _check_penalised(weights: Sequence[float], bounds: Sequence[BoundObjective]) -> None:
    """Refuse a penalty if M's entries do not refer to columns, or M is restricted.

    A restricted objective f(Q'M) is defined for M in all columns; it is refused if the optimum may
    lie outside of the subspace.
    """
    for weight, bound in zip(weights, bounds, strict=True):
        name = bound.objective.name
        if any(v.features is not None or not v.coordinates.has_columns for v in bound.views):
            raise ArgumentError(
                f"objective {name!r} takes no penalty: the rows of its M do not correspond to "
                "columns of X, but to whitened columns or features"
            )
        in_columns = all(view.coordinates.is_columns for view in bound.views)
        if not in_columns and rewards_leaving(bound, weight):
            raise ArgumentError(
                f"objective {name!r} takes no penalty if X has fewer rows than columns, or "
                "collinear columns: M must stay in the span of the rows, but a penalty could move "
                "M out of this span. Give ridge= a positive value, if the method has ridge=, or "
                "leave out columns"
            )


def _common_view(
    bounds: Sequence[BoundObjective], view: int, penalised: bool
) -> tuple[Coordinates, list[Array | None]]:
    """Coordinates of a view that all terms have in common, and each term's map from them."""
    own = [
        (bound.views[view].coordinates, bound.manifold.factors[view].shape[0]) for bound in bounds
    ]
    basis: Array | None = None
    frame: Coordinates = own[0][0]
    if any(not coordinates.is_columns for coordinates, _ in own):
        frame, basis = (Columns(), None) if penalised else _intersection(own)
    return frame, [_to(coordinates, k, frame, basis) for coordinates, k in own]


def _intersection(own: Sequence[tuple[Coordinates, int]]) -> tuple[Coordinates, Array]:
    """Coordinates of the directions that all have in common, and their basis in the columns."""
    frame, Q = own[0][0], None
    for coordinates, k in own:
        if coordinates.is_columns:
            continue
        lifted = coordinates.lift(np.eye(k))
        lifted = lifted / np.abs(lifted).max(axis=0)  # scaled, so that squares do not overflow
        basis = lifted / np.linalg.norm(lifted, axis=0)
        if Q is None:
            frame, Q = coordinates, basis
            continue
        U, cosines, _ = np.linalg.svd(Q.T @ basis)
        inside = np.sum(cosines > 1.0 - 1e-10)  # principal angles below 1e-5 are rounding errors
        if inside < Q.shape[1]:
            Q = Q @ U[:, :inside]
            frame = Subspace(Q, name="the subspace that the terms have in common")
    assert Q is not None
    return frame, Q


def _to(coordinates: Coordinates, k: int, frame: Coordinates, basis: Array | None) -> Array | None:
    """T with Z = TM from the frame to a term's coordinates; None where they are the same."""
    if coordinates is frame or (type(coordinates) is type(frame) is Columns):
        return None
    # The coordinates of M in an orthonormal basis Q are Q'M.
    T = coordinates.lift(np.eye(k)).T if basis is None else coordinates.lower(basis)
    same = T.shape[0] == T.shape[1] and np.allclose(T, np.eye(len(T)), rtol=0.0, atol=1e-12)
    return None if same else np.asarray(T)


def _manifold(
    bounds: Sequence[BoundObjective], maps: Sequence[tuple[Array | None, ...]], penalised: bool
) -> Manifold:
    """Return the common manifold: Grassmann only if all terms have it and there is no penalty."""
    factors = list(bounds[0].manifold.factors)  # one manifold per view, then one per parameter
    for view in range(len(maps[0])):
        kinds = [bound.manifold.factors[view] for bound in bounds]
        pairs = zip(kinds, (T[view] for T in maps), strict=True)
        shapes = {(Z.shape[0] if T is None else T.shape[1], Z.shape[1]) for Z, T in pairs}
        if len(shapes) > 1 or len({isinstance(kind, Orthonormal) for kind in kinds}) > 1:
            listed = ", ".join(
                f"{bound.objective.name!r} on {type(kind).__name__}{kind.shape}"
                for bound, kind in zip(bounds, kinds, strict=True)
            )
            raise ArgumentError(f"objectives on different manifolds cannot be added: {listed}")
        k, r = shapes.pop()
        if not isinstance(kinds[0], Orthonormal):
            factors[view] = Euclidean(k, r)
            continue
        check_dimension(r, k)
        spans = all(isinstance(kind, Grassmann) for kind in kinds) and not penalised
        factors[view] = Grassmann(k, r) if spans else Stiefel(k, r)
    return Product(*factors) if isinstance(bounds[0].manifold, Product) else factors[0]


def _penalty(manifold: Manifold, frames: Sequence[Coordinates], weight: float) -> L1:
    """Return the penalty of the user's matrices; a model's other parameters have none."""
    weights = np.zeros(len(manifold.factors))
    for view, (frame, factor) in enumerate(zip(frames, manifold.factors, strict=False)):
        unit_vector = np.eye(factor.shape[0], 1)
        weights[view] = weight * (length(frame.lift(unit_vector)) if frame.is_columns else 1.0)
    if len(weights) == 1:
        return L1(float(weights[0]))
    pairs = zip(manifold.factors, weights, strict=True)
    return L1(manifold.join([np.full(factor.shape, each) for factor, each in pairs]))


def _as_trace(
    terms: Sequence[Term], manifold: Grassmann, unit: float, constant: float
) -> dict[str, Any] | None:
    """Return sum_k w_k (offset_k - scale_k tr(M'A_k M)) as a trace; None if impossible."""
    k, r = manifold.shape
    A, offset, doubt, outside = np.zeros((k, k)), constant, 0.0, []
    active = [term for term in terms if term.weight != 0]
    for term in active:
        trace, weight = term.bound, unit * term.weight
        if not (isinstance(trace, Trace) and trace.plain and isinstance(trace.A, np.ndarray)):
            return None
        if trace.searched is not None:  # A is known only in the subspace that iterations found
            return None
        (T,) = term.maps
        A += (weight * trace.scale) * (trace.A if T is None else T.T @ trace.A @ T)
        offset += weight * trace.offset
        doubt += abs(weight) * (trace.doubt / trace.unit)
        outside.append(trace.outside)
        is_square = trace.is_square and weight > 0 and len(active) == 1 and constant == 0
    if not active:
        return None
    # If all terms use the same coordinates and are zero outside of them, so is their sum.
    alone = all(term.same_point for term in active) and not any(outside)
    left_out = None if None in outside else (0.0 if alone else math.inf)
    found = {"A": A, "r": r, "offset": offset, "doubt": doubt}
    return {**found, "is_square": is_square, "outside": left_out}
