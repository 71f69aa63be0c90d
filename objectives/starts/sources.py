"""Independent sources: functions that tell them from Gaussians, and directions cheap to find."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from operator import add
from typing import Any

import numpy as np

from ldr.objectives.data.samples import Samples
from ldr.objectives.families.projected import ProjectedPoint
from ldr.objectives.families.row_sum import SAMPLE_ROWS, WhitenedColumns, added
from ldr.objectives.families.white_projected import white_sample
from ldr.objectives.starts.directions import fourth_order_directions
from ldr.objectives.statistics.sums import counted, counted_rows
from ldr.solvers.linalg.eigen import symmetric_eigen
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import once
from ldr.solvers.records import dataclass

Function = Callable[[Array], Array]

_FACTORS = 16  # of a product whose logarithm is taken


@dataclass(frozen=True)
class Contrast:
    """G with its first and second derivative, each elementwise; the second from y and G'(y).

    `total` is the sums of the columns of G(y), where of many they cost less than all of it.
    """

    value: Function
    first: Function
    second: Callable[[Array, Array], Array]
    total: Function | None = None

    def of_gaussian(self) -> float:
        """E G(nu), nu standard normal: the trapezoidal rule, exact to rounding for smooth G."""
        step = 0.05
        nu = np.arange(-14.0, 14.0 + step, step)
        density = np.exp(-0.5 * nu**2) / math.sqrt(2.0 * math.pi)
        return step * float(density @ self.value(nu))


def _log_cosh(y: Array) -> Array:
    """log cosh y, without overflow.

    log1p would be ten times as slow, and of no use beside |y| and log 2.
    """
    size = np.abs(y)
    rest = np.exp(-2.0 * size)
    rest += 1.0
    size += np.log(rest)
    size -= math.log(2.0)
    return size


def _sum_of_log_cosh(y: Array) -> Array:
    """A logarithm for each product of 16 rows of 1 + exp(-2|y|), which are at most 2^16."""
    n, r = y.shape
    whole = n - n % _FACTORS
    rest = np.abs(y)
    sizes = np.ones(n) @ rest
    rest *= -2.0
    np.exp(rest, out=rest)
    rest += 1.0
    products = np.multiply.reduce(rest[:whole].reshape(_FACTORS, -1, r))
    logarithms = np.log(products).sum(axis=0) + np.log(rest[whole:]).sum(axis=0)
    return np.asarray(sizes + logarithms - n * math.log(2.0))


def _rest_of_square(y: Array, slope: Array) -> Array:
    square = slope * slope
    return np.subtract(1.0, square, out=square)


LOG_COSH = Contrast(_log_cosh, np.tanh, _rest_of_square, _sum_of_log_cosh)
KURTOSIS = Contrast(lambda y: 0.25 * y**4, lambda y: y**3, lambda y, slope: 3.0 * y**2)
EXP = Contrast(
    lambda y: -np.exp(-0.5 * y**2),
    lambda y: y * np.exp(-0.5 * y**2),
    lambda y, slope: (1.0 - y**2) * np.exp(-0.5 * y**2),
)

CONTRASTS = {"log cosh": LOG_COSH, "kurtosis": KURTOSIS, "exp": EXP}


def hyperbolic_secant() -> Contrast:
    """-log p(y) of p(y) = 1/(pi cosh y)."""
    constant = math.log(math.pi)
    return Contrast(
        lambda y: constant + _log_cosh(y),
        LOG_COSH.first,
        LOG_COSH.second,
        lambda y: len(y) * constant + _sum_of_log_cosh(y),
    )


def student(degrees: float) -> Contrast:
    """-log p(y) of Student's t: (nu + 1)/2 log(1 + y^2/nu) and a constant."""
    nu = degrees
    constant = math.lgamma(nu / 2) - math.lgamma((nu + 1) / 2) + 0.5 * math.log(nu * math.pi)
    return Contrast(
        lambda y: constant + 0.5 * (nu + 1.0) * np.log1p(y**2 / nu),
        lambda y: (nu + 1.0) * y / (nu + y**2),
        lambda y, slope: (nu + 1.0) * (nu - y**2) / (nu + y**2) ** 2,
    )


Cost = Callable[[Array], Array]

# Numbers that stay in the cache, where arrays are made of them and where there is one.
_BLOCK, _ONE_BLOCK = 2**14, 2**16
_STEPS = 100  # of the fixed point of one direction
_SETTLED = 1e-6


def deflated_directions(
    X: Array, contrast: Contrast, first: Array, w: Array | None = None
) -> Array:
    """Stationary directions of E G(m'x), one after another, each orthogonal to those before.

    The fixed point m <- E[x g(m'x)] - E[g'(m'x)] m, from each column of `first` in turn.

    Source: Hyvarinen 1999 (FastICA).
    """
    n = len(X) if w is None else w.sum()
    found = np.empty((X.shape[1], 0))
    for start in first.T:
        m = _orthogonal(start, found)
        for _ in range(_STEPS):
            y = X @ m
            slope = contrast.first(y)
            second = counted(contrast.second(y, slope), w).sum()
            new = _orthogonal((counted(slope, w) @ X - second * m) / n, found)
            settled = 1.0 - abs(new @ m) < _SETTLED
            m = new
            if settled:
                break
        found = np.column_stack([found, m])
    return found


def _orthogonal(w: Array, found: Array) -> Array:
    """The unit vector of what is left of w off the orthonormal columns found."""
    for _ in range(2):  # twice is enough
        w = w - found @ (found.T @ w)
        length = math.sqrt(w @ w)
        if length < 1e-12:  # nothing is left: any direction off the others will do
            w = np.linalg.svd(found, full_matrices=True)[0][:, found.shape[1]]
            length = 1.0
        w = w / length
    return w


def heuristics(
    X: Array, r: int, contrast: Contrast, cost: Cost, w: Array | None = None
) -> dict[str, Callable[[], Array]]:
    """FOBI and FastICA's deflation from it: of each the r directions m with the least cost.

    The cost is a function of E G(m'x). More directions than r are deflated, for the first found
    need not be the best; of many rows with a sample of them.
    """
    directions = cache(partial(fourth_order_directions, X, w))

    def costs(M: Array) -> Array:
        return cost(ContrastPoint(X, M, contrast, w=w).value)

    @cache
    def known() -> Array:
        return costs(directions())

    def fobi(count: int = r) -> Array:
        return _least(directions(), known(), count)

    def deflation() -> Array:
        some, v = white_sample(X, w)
        M = deflated_directions(some, contrast, fobi(max(2 * r, r + 10)), v)
        return _least(M, costs(M), r)

    return {"fobi": fobi, "deflation": deflation}


def _least(M: Array, costs: Array, count: int) -> Array:
    """The columns of least cost."""
    return np.ascontiguousarray(M[:, np.argsort(costs, kind="stable")[:count]])


class ContrastPoint(ProjectedPoint):
    """The r means E G(m_k'x) of rows of the total weight n, of which X are some or all.

    The gradients of the means are the columns of E x g(m_k'x), their changes along V those of
    E x g'(m_k'x) x'v_k.
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

    @once
    def value(self) -> Any:
        """A block at a time: what is made of it on the way stays in the cache."""
        total: Any = 0.0
        counts = np.ones(len(self.Y)) if self._w is None else self._w
        many = self.Y.size > _BLOCK
        of_equal = self._contrast.total if many and self._w is None else None
        rows = max(1, (_ONE_BLOCK if of_equal else _BLOCK) // self.Y.shape[1])
        for first in range(0, len(self.Y), rows):
            Y = self.Y[first : first + rows]
            if of_equal:
                total = total + of_equal(Y)
            else:
                total = total + counts[first : first + rows] @ self._contrast.value(Y)
        return total / self._n

    @once
    def _first(self) -> Array:
        return self._contrast.first(self.Y)

    @property
    def slope(self) -> Array:
        return counted_rows(self._first, self._w) / self._n

    @once
    def gradient(self) -> Array:
        return self.X.T @ counted_rows(self._first, self._w) / self._n

    @once
    def second(self) -> Array:
        """g'(Y)/n, times the weights."""
        second = counted_rows(self._contrast.second(self.Y, self._first), self._w)
        second /= self._n
        return second

    def curvature(self, dY: Array) -> Array:
        return self.second * dY

    def hessian_vector(self, V: Array) -> Array:
        dY = self.X @ V
        dY *= self.second
        return self.X.T @ dY


def heuristics_in_pieces(
    samples: Samples, columns: WhitenedColumns, r: int, contrast: Contrast, cost: Cost
) -> dict[str, Callable[[], Array]]:
    """FOBI by a pass over the rows and another for the costs; deflation of a sample of rows."""

    def fobi() -> Array:
        outer = samples.reduce(partial(_fourth_order, columns), add)
        M = symmetric_eigen(outer / samples.weight)[1]
        term = columns.term(partial(ContrastPoint, contrast=contrast, n=samples.weight))
        means, _ = samples.reduce(partial(term.first, M), added)
        return _least(M, cost(means), r)

    def deflation() -> Array:
        X, w = columns.sample(samples)
        return heuristics(X, r, contrast, cost, w)["deflation"]()

    return {"fobi": fobi, "deflation": deflation}


def sample_note(samples: Samples) -> str:
    return (
        "the rows are read at every evaluation; other starts than FOBI are those of a random "
        f"sample of {min(SAMPLE_ROWS, samples.n)} rows"
    )


def _fourth_order(columns: WhitenedColumns, piece: Samples) -> Array:
    """The sum of |x|^2 x x' of white x."""
    total = np.zeros((columns.W.shape[1], columns.W.shape[1]))
    for X, w in columns.blocks(piece):
        total += (counted_rows(X, w) * np.einsum("ij,ij->i", X, X)[:, None]).T @ X
    return total
