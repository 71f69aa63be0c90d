"""Independent component analysis (ICA): orthogonal, and undercomplete (a product of experts)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from operator import add
from typing import Any

import numpy as np

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.families.projected import SAME, Projected, ProjectedPoint
from ldr.objectives.families.row_sum import (
    SAMPLE_ROWS,
    Frame,
    InParts,
    InPieces,
    Part,
    ProjectedTerm,
    added,
    some_rows,
)
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts import few_or_more, oriented, random_points
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.sums import counted_rows, counting_rows
from ldr.objectives.view import Axes
from ldr.solvers.linalg.eigen import orthogonal_to, symmetric_eigen
from ldr.solvers.manifolds import Array, Euclidean, Manifold, Stiefel, polar_factor
from ldr.solvers.problem import Point
from ldr.solvers.solver import Stopping, minimise
from ldr.solvers.trust_region import TrustRegion

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Contrast:
    """A contrast function G with first and second derivatives, elementwise.

    - gaussian: E G(nu) for a standard normal nu; None for experts (negative log-densities)
    """

    value: Function
    first: Function
    second: Callable[[Array, Array], Array]
    gaussian: float | None = None

    def costs(self, means: Array) -> Array:
        """Return each direction m's cost -(E G(m'x) - E G(nu))^2; for experts E G(m'x)."""
        return means if self.gaussian is None else -((means - self.gaussian) ** 2)


def _log_cosh(y: Array) -> Array:
    """Return log cosh y without overflow."""
    size = np.abs(y)
    rest = np.exp(-2.0 * size)
    rest += 1.0
    size += np.log(rest)
    size -= math.log(2.0)
    return size


LOG_COSH = Contrast(_log_cosh, np.tanh, lambda y, slope: 1.0 - slope * slope, 0.374567207491438)
KURTOSIS = Contrast(lambda y: 0.25 * y**4, lambda y: y**3, lambda y, slope: 3.0 * y**2, 0.75)
EXP = Contrast(
    lambda y: -np.exp(-0.5 * y**2),
    lambda y: y * np.exp(-0.5 * y**2),
    lambda y, slope: (1.0 - y**2) * np.exp(-0.5 * y**2),
    -math.sqrt(0.5),
)

CONTRASTS = {"log cosh": LOG_COSH, "kurtosis": KURTOSIS, "exp": EXP}


def hyperbolic_secant() -> Contrast:
    """Return the expert -log p(y) for p(y) = 1/(pi cosh y)."""
    constant = math.log(math.pi)
    return replace(LOG_COSH, value=lambda y: constant + _log_cosh(y), gaussian=None)


def student(degrees: float) -> Contrast:
    """Return the expert -log p(y) for Student's t distribution."""
    nu = degrees
    constant = math.lgamma(nu / 2) - math.lgamma((nu + 1) / 2) + 0.5 * math.log(nu * math.pi)
    return Contrast(
        lambda y: constant + 0.5 * (nu + 1.0) * np.log1p(y**2 / nu),
        lambda y: (nu + 1.0) * y / (nu + y**2),
        lambda y, slope: (nu + 1.0) * (nu - y**2) / (nu + y**2) ** 2,
    )


# Fixed-point iterations end after this many steps, or if 1 - cos of a step's angle is this small.
_STEPS, _SETTLED = 20, 1e-6
# Largest number of random directions, and of that number times the number of entries of X.
_DIRECTIONS, _ENTRIES = 30, 2**22


def deflated_directions(
    X: Array, contrast: Contrast, first: Array, r: int, w: Array | None = None
) -> Array:
    """Return r stationary directions of E G(m'x), each orthogonal to the ones before.

    The iteration m <- E[x g(m'x)] - E[g'(m'x)] m with g = G' starts from all columns of `first` at
    once; the result of least cost is selected. With r columns, direction k starts from column k.

    Source: Hyvarinen 1999 (FastICA).
    """
    n = len(X) if w is None else w.sum()
    found = np.empty((X.shape[1], 0))
    for k in range(r):
        Q = orthogonal_to(found) if k else np.eye(X.shape[1])
        Z, M = X @ Q, _units(Q.T @ (first if first.shape[1] > r else first[:, [k]]))
        moving = np.arange(M.shape[1])
        for _ in range(_STEPS):
            Y = Z @ M[:, moving]
            slope = contrast.first(Y)
            second = counted_rows(contrast.second(Y, slope), w).sum(axis=0)
            new = _units((Z.T @ counted_rows(slope, w) - second * M[:, moving]) / n)
            settled = 1.0 - np.abs(np.sum(new * M[:, moving], axis=0)) < _SETTLED
            M[:, moving] = new
            moving = moving[~settled]
            if len(moving) == 0:
                break
        best = np.argmin(contrast.costs(ContrastPoint(Z, M, contrast, w=w).value))
        found = np.column_stack([found, Q @ M[:, best]])
    return found


def _units(M: Array) -> Array:
    """Return the columns of M with unit length; the first unit vector for a column of zeros."""
    lengths = np.linalg.norm(M, axis=0)
    M = M / np.where(lengths > 0, lengths, 1.0)
    M[0, lengths == 0] = 1.0
    return M


def heuristics(
    samples: Samples, term: ProjectedTerm, contrast: Contrast, r: int
) -> dict[str, Callable[[], Array]]:
    """Return two initialisations: FOBI (fourth-order blind identification) and FastICA.

    Each initialisation has the r directions with the least costs. FastICA's deflation uses a sample
    of many rows; it starts from FOBI's and random directions.

    - term: the means E G(m'x) of the rows
    """
    frame = term.frame

    @cache
    def directions() -> Array:
        """FOBI's directions in the order of their costs."""
        axes = symmetric_eigen(samples.reduce(partial(_fourth_order, frame), add))[1]
        means = samples.reduce(partial(term.first, axes), added)[0]
        return axes[:, np.argsort(contrast.costs(np.asarray(means)), kind="stable")]

    def fobi() -> Array:
        return np.ascontiguousarray(directions()[:, :r])

    def deflation() -> Array:
        some = some_rows(samples, SAMPLE_ROWS)
        X, w = white_sample(frame.white(some.dense()), some.weights)
        axes, k = oriented(directions(), X, w), X.shape[1]
        count = max(1, min(_DIRECTIONS, _ENTRIES // X.size))
        if r == k and len(X) >= 100 * k:  # with many samples no random directions are needed
            count = 0
        drawn = axes @ np.random.default_rng(0).standard_normal((k, count))
        first = np.hstack([directions()[:, : max(2 * r, r + 10)], drawn])
        return deflated_directions(X, contrast, first, r, w)

    return {"fobi": fobi, "deflation": deflation}


class ContrastPoint(ProjectedPoint):
    """The r means E G(m_k'x) over rows of total weight n; X contains some or all rows.

    The gradient of mean k is E x g(m_k'x); its derivative along V is E x g'(m_k'x) x'v_k.
    """

    def __init__(
        self,
        X: Array,
        M: Array,
        contrast: Contrast,
        n: float | None = None,
        w: Array | None = None,
    ) -> None:
        super().__init__(X, M)
        self._contrast = contrast
        self._w = w
        self._n = n or (len(X) if w is None else w.sum())

    @cached_property
    def value(self) -> Any:
        counts = np.ones(len(self.Y)) if self._w is None else self._w
        return counts @ self._contrast.value(self.Y) / self._n

    @cached_property
    def _first(self) -> Array:
        return self._contrast.first(self.Y)

    @cached_property
    def slope(self) -> Array:
        return counted_rows(self._first, self._w) / self._n

    @cached_property
    def _second(self) -> Array:
        """Weighted second derivatives g'(Y)/n."""
        return counted_rows(self._contrast.second(self.Y, self._first), self._w) / self._n

    def curvature(self, dY: Array) -> Array:
        return self._second * dY


def _fourth_order(frame: Frame, piece: Samples) -> Array:
    """The sum of |x|^2 x x' of white x."""
    X = frame.white(piece.dense())
    return (counted_rows(X, piece.weights) * np.einsum("ij,ij->i", X, X)[:, None]).T @ X


class SourcesPoint(Point):
    """The value is f = sum_k F(c_k) of the means c_k = E G(m_k'x) of a contrast G, with F(c) =
    -(c - E G(nu))^2 for a standard normal nu.

    For experts F(c) = c, and the term -1/2 log|M'M| is added, which prevents equal columns. Let h_k
    be the gradient of the mean c_k: along V, the derivative of F'(c_k) h_k is F'(c_k) dh_k +
    F''(c_k) (h_k'v_k) h_k, and with S = M'M the derivative of M S^{-1} is (V - M S^{-1} dS) S^{-1}.

    - share: share of the rows in the total weight; log|S| is multiplied by this share
    """

    def __init__(self, means: Point, contrast: Contrast, share: float = 1.0) -> None:
        self.M, self._means = means.M, means
        self._contrast, self._gaussian, self._share = contrast, contrast.gaussian, share

    @cached_property
    def _inverse(self) -> Array:
        """S^{-1}."""
        return np.asarray(np.linalg.inv(self.M.T @ self.M), dtype=np.float64)

    @cached_property
    def _pull(self) -> Array | float:
        """F'(c)."""
        return 1.0 if self._gaussian is None else -2.0 * (self._means.value - self._gaussian)

    @cached_property
    def value(self) -> float:
        found = float(np.sum(self._contrast.costs(np.asarray(self._means.value))))
        if self._gaussian is not None:
            return found
        return found - 0.5 * self._share * float(np.linalg.slogdet(self.M.T @ self.M)[1])

    @cached_property
    def gradient(self) -> Array:
        found = self._pull * self._means.gradient
        return found if self._gaussian is not None else found - self._share * self.M @ self._inverse

    def hessian_vector(self, V: Array) -> Array:
        h, dh = self._means.gradient, self._means.hessian_vector(V)
        if self._gaussian is not None:
            return self._pull * dh - 2.0 * np.sum(h * V, axis=0) * h
        M, inverse = self.M, self._inverse
        return dh - self._share * (V - M @ (inverse @ (V.T @ M + M.T @ V))) @ inverse


class Sources(BoundObjective):
    """Base of the problems of independent sources.

    - contrast: contrast function, or an expert (negative log-density), with M unconstrained
    """

    exchangeable = True

    contrast: Contrast

    @abstractmethod
    def means(self, M: Array) -> Point:
        """Return the point of the means E G(m_k'x)."""

    def at(self, M: Array) -> SourcesPoint:
        return SourcesPoint(self.means(M), self.contrast)

    def random_point(self, rng: np.random.Generator) -> Array:
        """Draw random directions, with sources of unit variance."""
        k, r = self.manifold.shape
        return Stiefel(k, r).random_point(rng)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        costs = self.contrast.costs(np.asarray(self.means(M).value))
        return Axes.ordered(np.log(np.linalg.norm(M, axis=0)) - costs)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the contribution of each component to the value."""
        return {"contribution": axes.numbers}


def _manifold(k: int, r: int, contrast: Contrast) -> Manifold:
    return Euclidean(k, r) if contrast.gaussian is None else Stiefel(k, r)


# A first solve uses a sample of 100 rows per column: at least 2000 rows, at most n / 4.
_SAMPLE_ROWS, _LEAST_SAMPLE, _MANY = 100, 2000, 4
_ROUGHLY = Stopping(1e-4, 50)


def white_sample(X: Array, w: Array | None) -> tuple[Array, Array | None]:
    """Return a sample of whitened rows and its weights, or all rows if they are few."""
    count = max(_LEAST_SAMPLE, _SAMPLE_ROWS * X.shape[1])
    if (len(X) if w is None else np.count_nonzero(w)) < _MANY * count:
        return X, w
    rows = counting_rows(len(X), w, count)
    Z, v = X[rows], None if w is None else w[rows]
    total, roots = (count, 1.0) if v is None else (v.sum(), np.sqrt(v)[:, None])
    return polar_factor(roots * Z) * (np.sqrt(total) / roots), v


@dataclass(frozen=True)
class SourcesInMemory(Sources, Projected):
    """Problem of sources for whitened rows in memory; a run on a sample of many rows is first."""

    contrast: Contrast = field(kw_only=True)

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        return _manifold(self.X.shape[1], self.r, self.contrast)

    def means(self, M: Array) -> ContrastPoint:
        return ContrastPoint(self.X, M, self.contrast, w=self.w)

    def starts(self) -> dict[str, Array]:
        found = super().starts()
        if self.contrast.gaussian is None:
            drawn = random_points(self, self.X, few_or_more(self.X.shape[1], 100), self.w)
            found |= {f"random direction {k + 1}": M for k, M in enumerate(drawn)}
        return found

    @cached_property
    def rough(self) -> SourcesInMemory:
        """The problem for a sample of the rows; for few rows the problem itself."""
        X, w = white_sample(self.X, self.w)
        return self if X is self.X else replace(self, X=X, w=w)

    def approach(self, M: Array) -> Array:
        """Return the optimum for a sample of the rows, by a run from M; for few rows M itself."""
        return M if self.rough is self else minimise(self.rough, M, TrustRegion(), _ROUGHLY).M

    def same(self, M: Array, N: Array) -> bool:
        """Return True if the sample's optima M and N agree up to order and signs of columns."""
        if self.rough is self:
            return False
        products = M.T @ N / np.linalg.norm(M, axis=0)[:, None]
        match = np.abs(products).argmax(axis=0)
        matched = M[:, match] * np.sign(products[match, np.arange(len(match))])
        return bool(np.linalg.norm(matched - N) <= SAME * np.linalg.norm(N))


@dataclass(frozen=True)
class SourcesInPieces(Sources, InPieces):
    """Problem of sources for rows that are read at every evaluation."""

    contrast: Contrast = field(kw_only=True)

    def means(self, M: Array) -> Point:
        return InPieces.at(self, M)


class SourceMethod(Objective, weighted=True, scale_free=True, sparse=False, transposed=False):
    """Base of the methods that find independent sources of whitened rows."""

    baseline = "FOBI (fourth-order blind identification)"

    @abstractmethod
    def _contrast(self) -> Contrast:
        """The contrast, or the expert."""

    def bind(self, data: Data, r: int) -> BoundObjective:
        contrast = self._contrast()
        samples, frame, view = Frame.whitening(data.samples, r)
        term = ProjectedTerm(frame, partial(ContrastPoint, contrast=contrast, n=samples.weight))
        starts = heuristics(samples, term, contrast, r)
        if not samples.in_pieces:
            X, w = frame.white(samples.dense()), samples.weights
            return SourcesInMemory(self, (view,), X, r, w=w, contrast=contrast, heuristics=starts)
        assert frame.W is not None
        manifold = _manifold(frame.W.shape[1], r, contrast)
        note = (
            "the rows are read at every evaluation; other initial M than FOBI's are computed from "
            f"a random sample of {min(SAMPLE_ROWS, samples.n)} rows"
        )
        kind = ExpertsInPieces if contrast.gaussian is None else SourcesInPieces
        views = (view.noting(note),)
        return kind(self, views, manifold, samples, term, contrast=contrast, heuristics=starts)


@dataclass(frozen=True)
class ICA(SourceMethod):
    r"""Independent component analysis (ICA), by FastICA's contrast.

    .. math:: \max_{M'M=I} \sum_k \left(\mathrm{E}\, G(m_k'x) - \mathrm{E}\, G(\nu)\right)^2

    The variable nu is standard normal. Each term is the contrast of FastICA, large for tails
    heavier or lighter than Gaussian. The samples x are whitened, C^{-1/2}(x - mean), and P =
    M'C^{-1/2}: components are uncorrelated, of variance 1, and in descending order of contribution
    to the value. The baseline is FOBI (fourth-order blind identification); the other default start
    is the result of FastICA's deflation from many directions. For many samples a run on a subset
    precedes the run on all samples. An evaluation takes O(n d r) time and O(n d) memory. Samples in
    files or on a cluster are read in chunks, once per evaluation; FastICA's deflation uses a random
    subset.

    Use it when features are mixtures of independent sources, at most one of which is Gaussian. Do
    not use it for Gaussian sources, whose directions are not identifiable.

    Source: Hyvarinen 1999.

    Parameters
    ----------
    contrast : {"log cosh", "kurtosis", "exp"}
        G(y) = log cosh y, y^4/4 or -exp(-y^2/2). "kurtosis" is sensitive to outliers; "exp" suits
        sources with very heavy tails.
    """

    name = "ica"
    sense = "max"
    domain = "St"

    contrast: str = word("log cosh", CONTRASTS)

    def _contrast(self) -> Contrast:
        return CONTRASTS[self.contrast]


@dataclass(frozen=True)
class PartOfExperts(Part):
    """The experts' sum over some rows, with the rows' share of the term log|M'M|."""

    contrast: Contrast = field(kw_only=True)
    share: float = field(kw_only=True)

    def at(self, M: Array) -> SourcesPoint:  # type: ignore[override]
        return SourcesPoint(super().at(M), self.contrast, self.share)


class ExpertsInPieces(SourcesInPieces, InParts):
    """A sum over rows, for stochastic solvers."""

    def each_part(self, order: np.random.Generator) -> Iterator[PartOfExperts]:
        for part in super().each_part(order):
            share = part.samples.weight / self.samples.weight
            of_rows = self.manifold, part.samples, self.term
            yield PartOfExperts(*of_rows, contrast=self.contrast, share=share)


EXPERTS = ("log cosh", "student-t")


@dataclass(frozen=True)
class UndercompleteICA(SourceMethod):
    r"""Undercomplete independent component analysis (ICA), by maximum likelihood.

    .. math:: \min_M -\frac{1}{2} \log|M'M| - \frac{1}{n} \sum_{ik} \log p(m_k'x_i)

    M is any d x r matrix: sources need not be orthogonal, and their scales are estimated. The
    samples x are whitened, C^{-1/2}(x - mean), and P = M'C^{-1/2}. The density p of a source
    (`expert`) has heavier tails than a Gaussian, so that sources with heavier tails are found; for
    lighter tails see `ICA`. Components are in descending order of their contribution to the value.
    The baseline is FOBI (fourth-order blind identification). A further default start is the result
    of FastICA's deflation from many initial directions. If data in memory have few features, random
    directions are default starts too. For many samples a run on a subset precedes the run on all
    samples. An evaluation takes O(n d r) time and O(n d) memory. Samples in files or on a cluster
    are read in chunks, once per evaluation; FastICA's deflation uses a random subset.

    Use it for fewer sources than features. Do not use it for as many sources as features: take ica.

    Source: Porrill & Stone 1998; Welling, Zemel & Hinton 2004; Cunningham & Ghahramani 2015.

    Parameters
    ----------
    expert : {"log cosh", "student-t"}
        Density p of a source: 1/(pi cosh y), or Student's t.
    degrees : float
        Degrees of freedom of Student's t.
    """

    name = "uica"
    sense = "min"
    domain = "R"

    expert: str = word("log cosh", EXPERTS)
    degrees: float = number(3.0, positive=True)

    def _contrast(self) -> Contrast:
        return hyperbolic_secant() if self.expert == "log cosh" else student(self.degrees)
