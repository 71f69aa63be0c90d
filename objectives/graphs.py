"""Graphs of the data: sparse symmetric weights between rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.objectives.samples import Samples
from ldr.solvers.errors import ArgumentError, DataError


@dataclass(frozen=True)
class Graph:
    """How rows are connected: by name with its parameters, or the user's weights."""

    kind: Any = "neighbours"
    neighbours: int = 10
    heat: float | str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kind, str) and self.kind not in ("neighbours", "classes"):
            raise ArgumentError(
                f"graph must be 'neighbours', 'classes' or a sparse matrix, got {self.kind!r}"
            )
        if isinstance(self.neighbours, bool) or not (
            isinstance(self.neighbours, int) and self.neighbours >= 1
        ):
            raise ArgumentError(f"neighbours must be a whole number >= 1, got {self.neighbours!r}")
        numeric = isinstance(self.heat, (int, float)) and math.isfinite(self.heat) and self.heat > 0
        if self.heat is not None and self.heat != "median" and not numeric:
            raise ArgumentError(f"heat must be a number > 0, 'median' or None, got {self.heat!r}")


def as_graph(graph: Graph, samples: Samples) -> Any:
    """The sparse symmetric n x n weights of a neighbour graph or of the user's."""
    if not isinstance(graph.kind, str):
        return _checked(graph.kind, samples.n)
    return neighbour_graph(samples, graph.neighbours, graph.heat)


def neighbour_graph(samples: Samples, neighbours: int, heat: float | str | None) -> Any:
    """k nearest neighbours: i and j are joined if either is a neighbour of the other."""
    from sklearn.neighbors import kneighbors_graph

    if neighbours >= samples.n:
        raise ArgumentError(
            f"neighbours must be below the number of rows, {samples.n}, got {neighbours}"
        )
    rows = samples.array if samples.is_sparse else samples.dense()
    distances = kneighbors_graph(rows, neighbours, mode="distance")
    edges = distances.maximum(distances.T).tocsr()
    if heat is None:
        edges.data = np.ones_like(edges.data)
        return edges
    squared = edges.data**2
    width = float(np.median(squared)) if heat == "median" else float(heat)
    edges.data = np.exp(-squared / width) if width > 0 else np.ones_like(squared)
    return edges


def _checked(W: Any, n: int) -> Any:
    from scipy.sparse import csr_array, issparse

    if not issparse(W) and np.ndim(W) != 2:
        raise ArgumentError(
            f"graph must be 'neighbours', 'classes' or an n x n matrix, got {type(W).__name__}"
        )
    W = csr_array(W).astype(np.float64)
    if W.shape != (n, n):
        raise DataError(f"graph has shape {W.shape}, expected ({n}, {n}), one row a sample")
    if not np.all(np.isfinite(W.data)) or (W.data < 0).any():
        raise DataError("graph has weights that are negative or not finite, expected >= 0")
    if abs(W - W.T).max() > 1e-12 * max(float(abs(W).max()), np.finfo(float).tiny):
        raise DataError("graph is not symmetric; pass 0.5 * (W + W.T) if that is meant")
    return W
