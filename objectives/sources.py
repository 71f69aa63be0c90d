"""Directions of independent sources that are cheap to find. X is white: X'X = n I."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import add

import numpy as np

from ldr.objectives.contrasts import Contrast
from ldr.objectives.families.row_sum import SAMPLE_ROWS, ProjectedTerm, added, some_rows
from ldr.objectives.samples import Samples
from ldr.solvers.eigen import symmetric_eigen
from ldr.solvers.manifolds import Array

Cost = Callable[[Array], Array]

_STEPS = 100  # of the fixed point of one direction
_SETTLED = 1e-6


def fourth_order_directions(X: Array) -> Array:
    """FOBI: all k eigenvectors of E[|x|^2 x x'], the sources' where their kurtoses differ.

    Source: Cardoso 1989.
    """
    squares = np.einsum("ij,ij->i", X, X)
    return symmetric_eigen((X * squares[:, None]).T @ X / len(X))[1]


def deflated_directions(X: Array, contrast: Contrast, first: Array) -> Array:
    """Stationary directions of E G(w'x), one after another, each orthogonal to those before.

    The fixed point w <- E[x g(w'x)] - E[g'(w'x)] w, from each column of `first` in turn.

    Source: Hyvarinen 1999 (FastICA).
    """
    found = np.empty((X.shape[1], 0))
    for start in first.T:
        w = _orthogonal(start, found)
        for _ in range(_STEPS):
            y = X @ w
            step = X.T @ contrast.first(y) / len(X) - contrast.second(y).mean() * w
            new = _orthogonal(step, found)
            settled = 1.0 - abs(new @ w) < _SETTLED
            w = new
            if settled:
                break
        found = np.column_stack([found, w])
    return found


def _orthogonal(w: Array, found: Array) -> Array:
    """The unit vector of what is left of w off the orthonormal columns found."""
    for _ in range(2):  # twice is enough
        w = w - found @ (found.T @ w)
        length = float(np.linalg.norm(w))
        if length < 1e-12:  # nothing is left: any direction off the others will do
            w = np.linalg.svd(found, full_matrices=True)[0][:, found.shape[1]]
            length = 1.0
        w = w / length
    return w


def heuristics(X: Array, r: int, contrast: Contrast, cost: Cost) -> dict[str, Callable[[], Array]]:
    """FOBI and FastICA's deflation from it: of each the r directions m with the least cost.

    The cost is a function of E G(m'x). More directions than r are deflated, for the first found
    need not be the best.
    """

    def best(M: Array, count: int) -> Array:
        return _least(M, cost(contrast.value(X @ M).mean(axis=0)), count)

    def fobi(count: int = r) -> Array:
        return best(fourth_order_directions(X), count)

    def deflation() -> Array:
        return best(deflated_directions(X, contrast, fobi(max(2 * r, r + 10))), r)

    return {"fobi": fobi, "deflation": deflation}


def _least(M: Array, costs: Array, count: int) -> Array:
    """The columns of least cost."""
    return np.ascontiguousarray(M[:, np.argsort(costs, kind="stable")[:count]])


@dataclass(frozen=True)
class ContrastTerm(ProjectedTerm):
    """The sums E G(m_k'x) of some of n rows, whose gradients are the columns of E x g(m_k'x)."""

    W: Array
    contrast: Contrast
    n: int

    def slope(self, Y: Array, Z: Array, N: Array) -> tuple[Array, Array]:
        return self.contrast.value(Y).sum(axis=0) / self.n, self.contrast.first(Y) / self.n

    def curvature(self, Y: Array, dY: Array, Z: Array, N: Array) -> Array:
        return self.contrast.second(Y) * dY / self.n


def heuristics_in_pieces(
    samples: Samples, term: ContrastTerm, r: int, cost: Cost
) -> dict[str, Callable[[], Array]]:
    """FOBI by a pass over the rows and another for the costs; deflation of a sample of rows."""

    def fobi() -> Array:
        squares = samples.reduce(partial(_fourth_order, term), add)
        M = symmetric_eigen(squares / samples.n)[1]
        means, _ = samples.reduce(partial(_at, term, M), added)
        return _least(M, cost(means), r)

    def deflation() -> Array:
        rows = some_rows(samples, SAMPLE_ROWS).dense()
        X = term.frame.of(rows) @ term.W
        return heuristics(X, r, term.contrast, cost)["deflation"]()

    return {"fobi": fobi, "deflation": deflation}


def sample_note(samples: Samples) -> str:
    return (
        "the rows are read at every evaluation; the start 'deflation' is that of a random sample "
        f"of {min(SAMPLE_ROWS, samples.n)} rows"
    )


def _at(term: ContrastTerm, M: Array, piece: Samples) -> tuple[Array, Array]:
    return term.first(M, piece)


def _fourth_order(term: ContrastTerm, piece: Samples) -> Array:
    """The sum of |x|^2 x x' of white x."""
    total = np.zeros((term.W.shape[1], term.W.shape[1]))
    for Z in term.frame.blocks(piece):
        X = Z @ term.W
        total += (X * np.einsum("ij,ij->i", X, X)[:, None]).T @ X
    return total
