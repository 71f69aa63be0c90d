"""Graphs of the data: sparse symmetric weights between rows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Matrix, check_real
from ldr.objectives.data.containers import open_matrix
from ldr.objectives.data.labels import as_labels
from ldr.objectives.data.samples import Samples
from ldr.objectives.statistics.sparse import shifted_rows
from ldr.objectives.statistics.sums import dense, spread_rows
from ldr.solvers.checks import SMALLEST, keep_number, keep_whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Integers = npt.NDArray[np.intp]

KINDS = ("neighbours", "epsilon", "classes", "class-neighbours")

# Products in a part of a search for neighbours, and the fewest rows of it a core: on fewer dense
# ones scikit-learn is several times slower.
_PRODUCTS, _QUERIES = 2**30, 1100
# Of fewer rows, or more columns, no tree is made; so many rows are asked how many it looks at. The
# distance of one takes so many times as long as by a product, and so much more of each column.
_LEAST_ROWS, _MOST_COLUMNS, _ASKED = 1000, 100, 50
_CALL, _CALL_PER_COLUMN = 2.0, 0.15
# Rows in a leaf of the tree.
_LEAF = 64
# From here on the user is told.
_MANY_ROWS = 20_000
# Numbers in a batch of local Gram problems, and in one that stays in the cache.
_BATCH, _CACHED = 2**20, 2**16
# Distances that are this close, relatively, are equal but for rounding.
_EQUAL = 1e-10


@dataclass(frozen=True)
class Graph:
    """How rows are connected: by name with its parameters, or the user's weights."""

    kind: str | Matrix = "neighbours"
    neighbours: int = 10
    heat: float | str | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS if isinstance(self.kind, str) else not _is_matrix(self.kind):
            raise ArgumentError(
                f"graph must be one of {', '.join(map(repr, KINDS))} or an n x n matrix, "
                f"got {self.kind!r}"
            )
        keep_whole(self, "neighbours", 1)
        if not (isinstance(self.heat, str) and self.heat == "median"):
            keep_number(self, "heat", optional=True, power=2, positive=True)
        keep_number(self, "epsilon", optional=True, positive=True)
        if self.epsilon is None and isinstance(self.kind, str) and self.kind == "epsilon":
            raise ArgumentError("graph='epsilon' needs epsilon=, a distance > 0, got None")


def _is_matrix(given: npt.ArrayLike) -> bool:
    try:
        return np.ndim(given) == 2
    except ValueError:  # rows of unequal lengths
        return False


def as_graph(graph: Graph, samples: Samples, y: object = None) -> csr_array:
    """The sparse symmetric n x n weights of a graph of the rows or of the user's."""
    if not isinstance(graph.kind, str):
        return _adjacency(graph.kind, samples.n)
    if graph.kind == "epsilon":
        assert graph.epsilon is not None
        return epsilon_graph(samples, graph.epsilon, graph.heat)
    if graph.kind == "class-neighbours":
        return within_classes(
            lambda rows, k: neighbour_graph(rows, k, graph.heat), samples, y, graph.neighbours
        )
    return neighbour_graph(samples, graph.neighbours, graph.heat)


def notes_on(graph: Graph, n: int) -> list[str]:
    """What takes long of so many rows."""
    if n <= _MANY_ROWS or not (isinstance(graph.kind, str) and "neighbours" in graph.kind):
        return []
    return [
        f"the neighbours of {n} rows are found exactly: in a tree where the rows fill few "
        "dimensions, elsewhere among all pairs, which takes time as the square of their number"
    ]


def neighbour_graph(
    samples: Samples, neighbours: int, heat: float | str | None = None
) -> csr_array:
    """k nearest neighbours, symmetrised: joined if either is a neighbour of the other."""
    distances, indices = _nearest(samples, neighbours)
    i = np.repeat(np.arange(samples.n), neighbours)
    return _symmetric_graph(i, indices.ravel(), distances.ravel(), samples.n, heat)


def epsilon_graph(samples: Samples, epsilon: float, heat: float | str | None = None) -> csr_array:
    """Rows within the distance epsilon of one another."""
    from sklearn.neighbors import radius_neighbors_graph

    edges = radius_neighbors_graph(_rows(samples), epsilon, mode="distance").tocoo()
    if edges.nnz == 0:
        raise DataError(f"no two rows are within epsilon = {epsilon:g} of one another")
    return _symmetric_graph(edges.row, edges.col, edges.data, samples.n, heat)


def within_classes(
    weights: Callable[[Samples, int], csr_array], samples: Samples, y: object, neighbours: int
) -> csr_array:
    """A graph made of the graphs of each class by itself, k at most the class's size less one."""
    from scipy.sparse import block_diag, csr_array

    codes, classes = as_labels(y, samples.n)
    members = [np.flatnonzero(codes == k) for k in range(len(classes))]
    parts = [weights(samples.take(rows), min(neighbours, len(rows) - 1)) for rows in members]
    place = np.argsort(np.concatenate(members))
    return csr_array(block_diag(parts, format="csr")[place][:, place])


def lle_weights(samples: Samples, neighbours: int, regularisation: float = 1e-3) -> csr_array:
    """Weights that reconstruct each row from its k nearest neighbours, summing to 1.

    min ||x_i - sum_j w_ij x_j||^2: G w = 1, w / sum w, with G the Gram matrix of the differences
    x_j - x_i. Where k exceeds the dimension G is singular, so `regularisation` times its trace is
    added to its diagonal.

    Source: Roweis and Saul 2000.
    """
    from scipy.sparse import csr_array

    n, k = samples.n, neighbours
    _, indices = _nearest(samples, k)
    weights = np.empty((n, k))
    for where in samples.slices(max(1, _BATCH // (k * samples.d))):
        weights[where] = _barycentres(samples, where, indices[where], regularisation)
    starts = np.arange(0, n * k + 1, k)
    return csr_array((weights.ravel(), indices.ravel(), starts), shape=(n, n))


def _barycentres(samples: Samples, where: slice, indices: Integers, regularisation: float) -> Array:
    picked, rows = dense(samples.array[indices.ravel()]), dense(samples.rows(where))
    k = indices.shape[1]
    Z = np.asarray(picked, dtype=np.float64).reshape(len(rows), k, -1) - rows[:, None]
    G = regularised(Z @ Z.transpose(0, 2, 1), regularisation)
    try:
        weights = np.linalg.solve(G, np.ones((len(rows), k, 1)))[..., 0]
    except np.linalg.LinAlgError:
        raise SingularError(
            "the local Gram matrices of the neighbours are singular; give regularisation= a "
            "positive value"
        ) from None
    return weights / weights.sum(axis=1, keepdims=True)


def regularised(G: Array, regularisation: float) -> Array:
    trace = np.trace(G, axis1=1, axis2=2)[:, None, None]
    return np.asarray(G + regularisation * np.where(trace > 0, trace, 1.0) * np.eye(G.shape[1]))


def few(rows: Integers, numbers: int) -> list[Integers]:
    """Rows in parts, of so many numbers each, that stay in the cache."""
    return np.array_split(rows, -(-len(rows) * numbers // _CACHED) or 1)


def check_settled(samples: Samples, neighbours: int) -> None:
    """Refuse rows of which the last neighbour and the next row are equally far."""
    k = neighbours
    if k >= samples.n - 1:
        return
    distances, _ = nearest_others(_rows(samples), k + 1)
    last, next_ = distances[:, k - 1], distances[:, k]
    for i in np.flatnonzero(next_ <= last * (1.0 + _EQUAL))[:1]:
        raise SingularError(
            f"the problem does not change smoothly: row {i} is as far from its neighbour number "
            f"{k} as from the next, {last[i]:.12g} and {next_[i]:.12g}, and the graph jumps as "
            "rows move; another number of neighbours, or graph= as a matrix, which stays"
        )


def _nearest(samples: Samples, neighbours: int) -> tuple[Array, Integers]:
    """Distances and indices of each row's k nearest others, n x k; of equals those that come first.

    A search alone returns any of the rows that are equally far, which depends on its threads.
    """
    n, k = samples.n, neighbours
    if k >= n:
        raise ArgumentError(f"neighbours must be below the number of rows, {n}, got {k}")
    distances, indices = nearest_others(_rows(samples), min(k + 1, n - 1))
    if k < n - 1:
        last, next_ = distances[:, k - 1], distances[:, k]
        tied = np.flatnonzero(next_ <= last * (1.0 + _EQUAL))
        distances, indices = distances[:, :k], indices[:, :k]
        for rows in np.array_split(tied, -(-len(tied) * n // _BATCH) or 1):
            _first_of_equals(samples, rows, distances, indices)
    order = np.argsort(indices, axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


def nearest_others(X: Matrix, k: int) -> tuple[Array, Integers]:
    """Distances and indices of the k nearest of the other rows of each; part by part."""
    n, d = X.shape
    dense = isinstance(X, np.ndarray)
    if dense:
        X = X - X.mean(axis=0)  # differences of squares of large numbers would cancel
    search, order = _tree(X, k) or (_products(X), np.arange(n))
    parts = min(n * n * d // _PRODUCTS, n // (_QUERIES * (os.cpu_count() or 1) if dense else 1))
    distances, indices = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
    for rows in np.array_split(order, max(1, parts)):
        check()
        away, found = search(X[rows], k + 1)
        others = found != rows[:, None]
        others[others.all(axis=1), 0] = False  # k + 1 rows are equal to it
        distances[rows], indices[rows] = away[others].reshape(-1, k), found[others].reshape(-1, k)
    return distances, indices


# Distances and indices of the k nearest of some rows, from the nearest on.
_Search = Callable[[Matrix, int], tuple[Array, Integers]]


def _products(X: Matrix) -> _Search:
    """Distances from all rows, by products with them."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(algorithm="brute").fit(X).kneighbors


def _tree(X: Matrix, k: int) -> tuple[_Search, Integers] | None:
    """Distances from the rows near by in a tree; None where that takes longer than products do.

    What a tree leaves to be looked at depends on how many dimensions the rows fill: scikit-learn's
    counts it for some. SciPy's takes a half to a tenth of its time, of rows that lie in memory, and
    are asked for, in the order of its leaves, which comes with it.
    """
    n, d = X.shape
    if not isinstance(X, np.ndarray) or n < _LEAST_ROWS or d > _MOST_COLUMNS:
        return None
    from scipy.spatial import KDTree
    from sklearn import neighbors

    counted = neighbors.KDTree(X)
    counted.query(X[spread_rows(n, _ASKED)], k + 1)
    if counted.get_n_calls() * (_CALL + _CALL_PER_COLUMN * d) > n * _ASKED:
        return None
    order = np.asarray(KDTree(X, _LEAF).indices)
    tree = KDTree(X[order], _LEAF)

    def search(rows: Matrix, k: int) -> tuple[Array, Integers]:
        distances, places = tree.query(rows, k)
        return distances, order[places]

    return search, order


def _first_of_equals(samples: Samples, rows: Integers, distances: Array, indices: Integers) -> None:
    """Replace the neighbours of some rows: the nearer ones, then of those equally far the first."""
    from sklearn.metrics import pairwise_distances

    if len(rows) == 0:
        return
    k, matrix = indices.shape[1], _rows(samples)
    for i, away in zip(rows, pairwise_distances(matrix[rows], matrix), strict=True):
        away[i] = math.inf
        bound = np.partition(away, k - 1)[k - 1]
        within = np.flatnonzero(away <= bound * (1.0 + _EQUAL))
        nearer = away[within] < bound * (1.0 - _EQUAL)
        chosen = np.concatenate([within[nearer], within[~nearer]])[:k]
        distances[i], indices[i] = away[chosen], chosen


def _rows(samples: Samples) -> Matrix:
    """The rows as scikit-learn takes them: sparse ones shifted, as their squares cancel there."""
    return shifted_rows(samples)[0] if samples.is_sparse else samples.dense()


def _symmetric_graph(
    i: Integers, j: Integers, distances: Array, n: int, heat: float | str | None
) -> csr_array:
    """Each pair once, so that rows that coincide keep their edge of length zero."""
    from scipy.sparse import csr_array

    pairs = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
    pairs, first = np.unique(pairs, return_index=True)
    weights = _heat_weights(distances[first], heat)
    upper = csr_array((weights, (pairs // n, pairs % n)), shape=(n, n))
    return (upper + upper.T).tocsr()


def _heat_weights(distances: Array, heat: float | str | None) -> Array:
    squared = np.asarray(distances, dtype=np.float64) ** 2
    if heat is None:
        return np.ones_like(squared)
    width = float(np.median(squared)) if heat == "median" else float(heat)
    if width == 0:
        return np.ones_like(squared)
    weights = np.exp(-squared / width)
    if weights.size and weights.max() < SMALLEST:
        raise DataError(
            f"heat = {width:.2g} is so small beside the edges' squared lengths, "
            f"{squared.min():.2g} and more, that every weight is all but zero: give a larger one, "
            "or heat='median'"
        )
    return np.asarray(weights)


def given_weights(given: Matrix, n: int) -> csr_array:
    """The user's matrix of finite real weights between n rows, as csr."""
    from scipy.sparse import csr_array, issparse

    W = csr_array(given if issparse(given) else open_matrix(given, "graph")[0])
    check_real(W.dtype, "graph")
    if W.shape != (n, n):
        raise DataError(f"graph has shape {W.shape}, expected ({n}, {n}), one row a sample")
    W = W.astype(np.float64)
    if not np.all(np.isfinite(W.data)):
        raise DataError("graph has weights that are not finite")
    return W


def _adjacency(given: Matrix, n: int) -> csr_array:
    """The user's symmetric weights, none of them negative."""
    W = given_weights(given, n)
    if (W.data < 0).any():
        raise DataError("graph has weights that are negative, expected >= 0")
    if abs(W - W.T).max() > 1e-12 * max(float(abs(W).max()), np.finfo(float).tiny):
        raise DataError("graph is not symmetric; pass 0.5 * (W + W.T) if that is meant")
    return W
