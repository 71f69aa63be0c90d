"""Terms of a sum: the sum of several, the multiple of one, and a penalty around either."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.problem import BoundObjective, Fitted
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.manifolds import Array, Manifold, nearest_with_its_zeros
from ldr.solvers.nonsmooth.penalty import L1
from ldr.solvers.problem import Point, Problem
from ldr.solvers.records import dataclass, replace

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel


@dataclass(frozen=True)
class Term:
    """A bound objective, and its point as a linear function of the sum's.

    Attributes
    ----------
    weight : float
        Of the function that the bound objective minimises.
    maps : tuple of (ndarray or None)
        T with Z = TM, one a view; None is the identity.
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
