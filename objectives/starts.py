"""Initialisations: cheap directions of the centred rows X, and screened random points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import numpy as np

from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics.sums import Codes, class_sums, counted_rows, weighted
from ldr.solvers.descent import LBFGS
from ldr.solvers.linalg.eigen import (
    generalised_top_eigenvectors,
    power_of_two,
    range_basis,
    rank_tolerance,
    symmetric_eigen,
    top_eigenvectors,
)
from ldr.solvers.linalg.rounding import TIED
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Stopping, run_through


def principal_directions(X: Array, r: int) -> Array:
    """Return the leading principal components, orthonormal k x r."""
    return top_eigenvectors(X.T @ X, r)[1]


def fourth_order_directions(X: Array, weights: Array | None = None) -> Array:
    """Return all k eigenvectors of E[|x|^2 x x'] (FOBI).

    For whitened X the eigenvectors are the directions of sources with different kurtoses.

    Source: Cardoso 1989.
    """
    squares = np.einsum("ij,ij->i", X, X)
    return symmetric_eigen((counted_rows(X, weights) * squares[:, None]).T @ X / len(X))[1]


def oriented(axes: Array, X: Array, weights: Array | None = None) -> Array:
    """Return the axes with signs that give the projected rows a positive skewness."""
    Y = X @ axes
    return axes * np.where(counted_rows(Y * Y * Y, weights).sum(axis=0) < 0, -1.0, 1.0)


SCREENED = "screened"
_RUNS, _GROUP = 5, 8  # number of short runs, and of random points before each run
_SHORT = Stopping(1e-6, 10)


def screened(problem: BoundObjective, X: Array, weights: Array | None = None) -> Array:
    """Return the best final point of short runs from random points of a fixed seed.

    Each run starts from the best point of a group of random points: the best points of all groups
    together could lie in a single basin.
    """
    points = random_points(problem, X, _RUNS * _GROUP, weights)
    starts = (min(islice(points, _GROUP), key=problem.value) for _ in range(_RUNS))
    ends = [run_through(problem, M, LBFGS(), _SHORT) for M in starts]
    return min(ends, key=lambda run: run.value).M


def random_points(
    problem: BoundObjective, X: Array, count: int, weights: Array | None = None
) -> Iterator[Array]:
    """Draw M, equivariant to rotations of X's columns and independent of the rows' order.

    The random M are combinations of the eigenvectors of E[|x|^2 x x'] with variance, signed for
    positive skewness.
    """
    X = X / power_of_two(X)  # scaled, so that fourth powers do not overflow
    axes = oriented(fourth_order_directions(X, weights), X, weights)
    lengths, (k, r) = np.linalg.norm(X @ axes, axis=0), problem.manifold.shape
    varied = lengths > rank_tolerance(k) * lengths.max()
    rng, m = np.random.default_rng(0), int(varied.sum())
    draw, manifold = problem.random_point, cast(Any, problem.manifold)
    if r <= m < k:
        axes, draw = axes[:, varied], replace(manifold, d=m).random_point
    for _ in range(count):
        yield axes @ draw(rng)


def few_or_more(k: int, share: int, least: int = 0) -> int:
    """Return share / k^2, a number of random starts for k columns, but 12 at most."""
    return max(least, min(12, share // (k * k)))


def random_directions(problem: BoundObjective, count: int = 5) -> dict[str, Array]:
    """Return random starts from a fixed seed."""
    rng = np.random.default_rng(0)
    return {f"random direction {k + 1}": problem.random_point(rng) for k in range(count)}


def _untied(values: Array, directions: Array, count: int) -> Array:
    """Return the first directions; ties in the eigenvalue are broken by variance per length.

    With few samples several eigenvalues can be 1.
    """
    tied = np.abs(values - values[count - 1]) <= TIED * values[0]
    chosen = directions.copy()
    if tied[count:].any():
        lengths = directions[:, tied].T @ directions[:, tied]
        chosen[:, tied] = directions[:, tied] @ np.linalg.eigh(lengths)[1]
    return chosen[:, :count]


def sliced_directions(X: Array, codes: Codes, r: int, weights: Array | None = None) -> Array:
    """Return an orthonormal basis for the top r SIR directions C^{-1/2} eta; X is centred.

    The directions eta are eigenvectors of Cov(E[z | slice]) for whitened rows z; `codes` are the
    slices. If r exceeds slices - 1, principal components of the orthogonal complement are added.
    """
    d = X.shape[1]
    counts = np.bincount(codes, weights)
    n, rows = counts.sum(), weighted(X, weights)
    sums = class_sums(counted_rows(X, weights), codes, len(counts))
    between = (sums / counts[:, None]).T @ sums / n
    C = rows.T @ rows / n
    Q = range_basis(C)
    basis = np.eye(d) if Q is None else Q
    informative = min(r, len(counts) - 1, basis.shape[1])
    found = np.zeros((d, 0))
    if informative > 0:
        every = min(len(counts) - 1, basis.shape[1])
        values, directions = generalised_top_eigenvectors(
            basis.T @ between @ basis, basis.T @ C @ basis, every
        )
        found = np.linalg.qr(basis @ _untied(values, directions, informative))[0]
    if informative == r:
        return found
    rest = rows - (rows @ found) @ found.T
    _, _, Vt = np.linalg.svd(rest, full_matrices=False)
    return np.linalg.qr(np.hstack([found, Vt[: r - informative].T]))[0]
