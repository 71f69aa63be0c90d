"""Neighbour graphs of samples, and the Laplacian and reconstruction scatters of graph methods."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Matrix, check_real, open_matrix
from ldr.objectives.data.data import Data, Samples, UnknownError
from ldr.objectives.data.sample_metadata import as_labels
from ldr.objectives.families.matrices import (
    DataSums,
    PencilMatrices,
    RatioMatrices,
    RowSums,
    TraceMatrices,
)
from ldr.objectives.families.stated import Opened, StatedMethod
from ldr.objectives.families.trace_ratio import NestedMethod
from ldr.objectives.families.whitened import Shrinking
from ldr.objectives.objective import in_memory
from ldr.objectives.parameters import Need, declared, number, whole
from ldr.objectives.statistics.products import scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import dense, spread_rows
from ldr.solvers.checks import SMALLEST, keep_number
from ldr.solvers.deadline import idle_count, steps
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.linalg.rounding import TIED
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from threadpoolctl import ThreadpoolController


Integers = npt.NDArray[np.intp]
Kind = TypeVar("Kind", PencilMatrices, RatioMatrices)

KINDS = ("neighbours", "epsilon", "classes", "class-neighbours")

# A k-d tree needs this many rows, at most this many columns, and a trial of this many searches.
_LEAST_ROWS, _MOST_COLUMNS, _ASKED = 1000, 100, 50
# Time of a distance in a k-d tree relative to matrix products: constant, increase per column.
_CALL, _CALL_PER_COLUMN = 2.0, 0.15
# Size of n^2 d above which a search for neighbours takes over a second on one thread.
_LONG = 2**33
# Number of rows in a leaf of the k-d tree.
_LEAF = 64
# Largest number of entries in a batch of rows, and in a smaller batch that fits into the cache.
_BATCH, _CACHED = 2**20, 2**16


def _keep_graph(owner: object, name: str) -> None:
    """Refuse a field that is neither the name of a graph nor a matrix."""
    given = getattr(owner, name)
    if given not in KINDS if isinstance(given, str) else not _is_matrix(given):
        raise ArgumentError(
            f"graph must be one of {', '.join(map(repr, KINDS))} or an n x n matrix, got {given!r}"
        )


def _is_matrix(given: npt.ArrayLike) -> bool:
    try:
        return np.ndim(given) == 2
    except ValueError:  # rows of unequal lengths form no array
        return False


def _keep_heat(owner: object, name: str) -> None:
    """Refuse a field that is neither "median", None nor a number above 0."""
    heat = getattr(owner, name)
    if not (isinstance(heat, str) and heat == "median"):
        keep_number(owner, name, optional=True, power=2, positive=True)


def neighbour_graph(
    samples: Samples, neighbours: int, heat: float | str | None = None
) -> csr_array:
    """Return the k-nearest-neighbour graph: i and j share an edge if either is a neighbour."""
    distances, indices = _nearest(samples, neighbours)
    i = np.repeat(np.arange(samples.n), neighbours)
    return _symmetric_graph(i, indices.ravel(), distances.ravel(), samples.n, heat)


def epsilon_graph(samples: Samples, epsilon: float, heat: float | str | None = None) -> csr_array:
    """Return the graph of pairs of rows with a distance of at most epsilon."""
    from sklearn.neighbors import radius_neighbors_graph

    edges = radius_neighbors_graph(_rows(samples), epsilon, mode="distance").tocoo()
    if edges.nnz == 0:
        raise DataError(f"no two rows are within the distance epsilon = {epsilon:g}: increase it")
    return _symmetric_graph(edges.row, edges.col, edges.data, samples.n, heat)


def within_classes(
    weights: Callable[[Samples, int], csr_array], samples: Samples, y: object, neighbours: int
) -> csr_array:
    """Return the union of the graphs of the classes, with k at most the class size minus 1."""
    from scipy.sparse import block_diag, csr_array

    codes, classes = as_labels(y, samples.n, smallest_class=2)
    members = [np.flatnonzero(codes == k) for k in range(len(classes))]
    parts = [weights(samples.take(rows), min(neighbours, len(rows) - 1)) for rows in members]
    place = np.argsort(np.concatenate(members))
    return csr_array(block_diag(parts, format="csr")[place][:, place])


def lle_weights(samples: Samples, neighbours: int, regularisation: float = 1e-3) -> csr_array:
    """Return weights that reconstruct each row from its k nearest neighbours, summing to 1.

    The weights minimise ||x_i - sum_j w_ij x_j||^2: solve G w = 1 with the Gram matrix G of the
    differences x_j - x_i, and divide w by its sum. As G is singular if k exceeds the dimension,
    `regularisation` times the trace is added to the diagonal.

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
    diagonal = np.einsum("ijj->ij", G)
    try:
        # Cholesky fails if an eigenvalue of the Gram matrix G, scaled to a unit diagonal, is at the
        # level of rounding errors.
        np.linalg.cholesky(G - 2 * k * rank_tolerance(k) * diagonal[:, None] * np.eye(k))
    except np.linalg.LinAlgError:
        raise SingularError(
            f"local Gram matrices of {k} neighbours are singular to machine precision with "
            f"regularisation = {regularisation:g}; give regularisation= a larger value, such as "
            "1e-3, or fewer neighbours"
        ) from None
    weights = np.linalg.solve(G, np.ones((len(rows), k, 1)))[..., 0]
    return weights / weights.sum(axis=1, keepdims=True)


def regularised(G: Array, regularisation: float) -> Array:
    trace = np.trace(G, axis1=1, axis2=2)[:, None, None]
    return np.asarray(G + regularisation * np.where(trace > 0, trace, 1.0) * np.eye(G.shape[1]))


def few(rows: Integers, numbers: int) -> list[Integers]:
    """Split rows, of `numbers` entries each, into batches that fit into the cache."""
    return np.array_split(rows, -(-len(rows) * numbers // _CACHED) or 1)


def check_settled(samples: Samples, neighbours: int) -> None:
    """Refuse data in which a row's k-th and (k + 1)-th neighbours are at equal distances."""
    k = neighbours
    if k >= samples.n - 1:
        return
    distances, _ = nearest_others(_rows(samples), k + 1)
    last, next_ = distances[:, k - 1], distances[:, k]
    for i in np.flatnonzero(next_ <= last * (1.0 + TIED))[:1]:
        raise SingularError(
            f"the problem is not smooth: the nearest neighbours {k} and {k + 1} of row {i} are "
            f"equally far, at {last[i]:.12g} and {next_[i]:.12g}, so that a small change of X "
            "changes the graph. Use another number of neighbours, or give a matrix as graph="
        )


def _nearest(samples: Samples, neighbours: int) -> tuple[Array, Integers]:
    """Return distances and indices of each row's k nearest neighbours, n x k; first of ties.

    Among ties a search returns arbitrary rows, depending on threads.
    """
    n, k = samples.n, neighbours
    if k >= n:
        raise ArgumentError(f"neighbours must be below the number of rows, {n}, got {k}")
    distances, indices = nearest_others(_rows(samples), min(k + 1, n - 1))
    if k < n - 1:
        last, next_ = distances[:, k - 1], distances[:, k]
        tied = np.flatnonzero(next_ <= last * (1.0 + TIED))
        distances, indices = distances[:, :k], indices[:, :k]
        for rows in np.array_split(tied, -(-len(tied) * n // _BATCH) or 1):
            _first_of_equals(samples, rows, distances, indices)
    order = np.argsort(indices, axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


def nearest_others(X: Matrix, k: int) -> tuple[Array, Integers]:
    """Return distances and indices of the k nearest neighbours of each row, in batches."""
    n = X.shape[0]
    if isinstance(X, np.ndarray):
        X = X - X.mean(axis=0)  # centring reduces cancellation in squared distances
    search, order = _tree(X, k) or (_products(X), np.arange(n))
    distances, indices = np.empty((n, k)), np.empty((n, k), dtype=np.intp)
    for part in steps(n, X.size):
        rows = order[part]
        away, found = search(X[rows], k + 1)
        others = found != rows[:, None]
        # If the search returns k + 1 duplicates and not the row itself, the first is left out.
        others[others.all(axis=1), 0] = False
        distances[rows], indices[rows] = away[others].reshape(-1, k), found[others].reshape(-1, k)
    return distances, indices


# Function that returns the distances and indices of the k nearest rows, in increasing order.
_Search = Callable[[Matrix, int], tuple[Array, Integers]]


def _products(X: Matrix) -> _Search:
    """Distances from all rows, by products with them, on idle cores if that takes long."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(algorithm="brute").fit(X).kneighbors
    threads = idle_count() if X.shape[0] * X.size >= _LONG else 1

    def limited(rows: Matrix, k: int) -> tuple[Array, Integers]:
        with _openmp().limit(limits=threads):
            return search(rows, k)

    return limited


@cache
def _openmp() -> ThreadpoolController:
    """The libraries whose threads scikit-learn uses; on a busy machine they wait for each other."""
    import threadpoolctl

    return threadpoolctl.ThreadpoolController().select(user_api="openmp")


def _tree(X: Matrix, k: int) -> tuple[_Search, Integers] | None:
    """Return a search by a k-d tree and the order of its leaves; None if slow.

    The cost is estimated on some rows by scikit-learn's tree. Rows are stored and queried in the
    order of the leaves.
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
    """Choose the first rows among tied neighbours of some rows, in place."""
    from sklearn.metrics import pairwise_distances

    if len(rows) == 0:
        return
    k, matrix = indices.shape[1], _rows(samples)
    for i, away in zip(rows, pairwise_distances(matrix[rows], matrix), strict=True):
        away[i] = math.inf
        bound = np.partition(away, k - 1)[k - 1]
        within = np.flatnonzero(away <= bound * (1.0 + TIED))
        nearer = away[within] < bound * (1.0 - TIED)
        chosen = np.concatenate([within[nearer], within[~nearer]])[:k]
        distances[i], indices[i] = away[chosen], chosen


def _rows(samples: Samples) -> Matrix:
    """Return the rows for scikit-learn, shifted to avoid cancellation in squared distances."""
    if samples.is_sparse:
        return shifted_rows(samples)[0]
    X = samples.dense()
    return X - np.median(X, axis=0)  # whole numbers stay exact, and so do their ties


def _symmetric_graph(
    i: Integers, j: Integers, distances: Array, n: int, heat: float | str | None
) -> csr_array:
    """Return the symmetric graph of edges; equal rows keep edges of length zero."""
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
            f"heat = {width:.2g} is too small relative to the squared lengths of edges, at least "
            f"{squared.min():.2g}: all weights are nearly zero; give a larger heat=, or "
            "heat='median'"
        )
    return np.asarray(weights)


def given_weights(given: Matrix, n: int) -> csr_array:
    """Check the user's n x n matrix of finite real weights, and convert the matrix to csr."""
    from scipy.sparse import csr_array, issparse

    W = csr_array(given if issparse(given) else open_matrix(given, "graph")[0])
    check_real(W.dtype, "graph")
    if W.shape != (n, n):
        raise DataError(f"graph has shape {W.shape}, expected ({n}, {n}), one row per sample")
    W = W.astype(np.float64)
    if not np.all(np.isfinite(W.data)):
        raise DataError("graph has NaN or infinite weights, expected finite ones")
    return W


def _adjacency(given: Matrix, n: int) -> csr_array:
    """The user's symmetric weights, none of them negative."""
    W = given_weights(given, n)
    if (W.data < 0).any():
        raise DataError("graph has negative weights, expected weights >= 0")
    if abs(W - W.T).max() > 1e-12 * max(float(abs(W).max()), np.finfo(float).tiny):
        raise DataError("graph is not symmetric, expected W = W'; 0.5 * (W + W.T) is symmetric")
    return W


@dataclass(frozen=True)
class GraphMethod(StatedMethod, products="optimum", weighted=True):
    """Base of the methods of a graph on the rows.

    Parameters
    ----------
    graph : str or matrix
        The graph joins nearest neighbours ("neighbours"), members of a class ("classes") or nearest
        neighbours in a class ("class-neighbours"), or has the user's n x n weights. Laplacian
        methods also accept "epsilon", the graph of samples within the distance `epsilon`.
    neighbours : int
        Number k of nearest neighbours; among rows at equal distances the first are taken. Equal
        rows are neighbours at distance zero: a row with k or more copies has no other neighbours.
    """

    sense = "min"
    needs: ClassVar[tuple[Need, ...]] = (Need.GRAPH,)

    graph: str | Matrix = declared("neighbours", _keep_graph)  # noqa: RUF009
    neighbours: int = whole(10, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if "class" in self.kind and Need.LABELS not in self.needs:
            vars(self)["needs"] = (*self.needs, Need.LABELS)
        self._set_traits(
            # Repeating a row, unlike weighting it, adds neighbours, except in graphs of classes.
            repeats=self._of_classes,
            by_place=not self.kind,
            # Scaling a feature changes the distances between rows, and so a graph of neighbours.
            scale_free=not self.traits.transposed and self.kind in ("", "classes"),
        )

    @property
    def kind(self) -> str:
        """Name of the graph; empty for the user's own graph."""
        return self.graph if isinstance(self.graph, str) else ""

    @property
    def _of_classes(self) -> bool:
        """True if the graph is H, h_ij = 1/n_k for i and j in class k.

        H = ZZ' with Z the scaled class indicators, D = I and I - H is a projector: both X'LX and
        X'(I - H)'(I - H)X are S_W, both X'DX and X'X are nC, and the n x n graph, dense within each
        class, is not formed.
        """
        return self.kind == "classes"

    def opened(self, data: Data, room: int) -> Opened:
        return super().opened(data if self._of_classes else self._joined(data), room)

    def notes_on(self, data: Data, r: int) -> list[str]:
        """Return a message if the search for neighbours of many rows takes long."""
        n, d = data.samples.shape
        if n * n * d < _LONG or "neighbours" not in self.kind:
            return []
        return [
            f"the neighbours of {n} rows are found exactly: by a tree if the rows fill few "
            "dimensions, else among all pairs, in a time that grows as the square of their number"
        ]

    def against(self, data: DataSums, kind: type[Kind], **options: Any) -> Kind:
        """Return the matrices A and B of a minimised criterion."""
        if self._of_classes:
            between, within = data.scatters_of_classes()
            found: dict[str, Any] = {"A": within, "B": between + within}
            found["unrelated"] = lambda: 1.0 - len(data.labels()[1]) / data.rows.n
        else:
            found = self._forms(data.rows, data.links(self._weights, self._check_settled))
        return kind(found.pop("A"), found.pop("B"), -1.0, cancels=1.0, **found, **options)

    def _check_settled(self, data: Data) -> None:
        """Refuse edges that are discontinuous in the rows."""
        samples, k = data.samples, self.neighbours
        if self.kind == "neighbours":
            check_settled(samples, k)
        elif self.kind == "class-neighbours":
            codes, classes = data.labels
            for members in (samples.take(codes == c) for c in range(len(classes))):
                check_settled(members, k)

    @abstractmethod
    def _forms(self, rows: RowSums, W: csr_array) -> dict[str, Any]:
        """Return A and B for a known graph, with further entries of the statement."""

    def _joined(self, data: Data) -> Data:
        """Return the rows of the graph in memory."""
        data = in_memory(self, data)
        return data if self.traits.by_place else data.of_rows_that_count()

    @abstractmethod
    def _weights(self, data: Data) -> csr_array:
        """W, of rows in memory."""


@dataclass(frozen=True)
class ShrinkingGraph(Shrinking, GraphMethod):
    """Base of graph methods of a matrix pair (A, B), with shrinkage.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks the matrix B of the denominator towards the columns' variances times a
        number, the diagonal matrix D with the trace of B for standardised columns. Ledoit and
        Wolf's rule for the covariance of these columns gives the intensity, which the result's
        parameters contain. The matrix A of the numerator is shrunk with the same intensity, towards
        a multiple of D: the expected A if rows are independent.
    """


@dataclass(frozen=True)
class WhitenedGraph(ShrinkingGraph, transposed=False):
    """Base of graph methods that whiten B; the bottom generalised eigenvectors are exact."""

    exact = "yes"

    def matrices(self, data: DataSums) -> PencilMatrices:
        return self.against(data, PencilMatrices, ridge=self.ridge)


@dataclass(frozen=True)
class OrthonormalGraph(GraphMethod, products=""):
    """Base of graph methods of A without B; the bottom eigenvectors are exact."""

    exact = "yes"
    divisor = ""

    def matrices(self, data: DataSums) -> TraceMatrices:
        found = self.against(data, PencilMatrices)
        return TraceMatrices(found.A, -1.0, varied=data.rows.scatter, shares=found.shares)


@dataclass(frozen=True)
class RatioGraph(NestedMethod, ShrinkingGraph):
    """Base of the ratios tr(M'AM) / tr(M'BM)."""

    exact = "r = 1"

    def matrices(self, data: DataSums) -> RatioMatrices:
        weights = self.column_weights
        return self.against(data, RatioMatrices, weights=weights, ridge=self.ridge)


@dataclass(frozen=True, eq=False)
class HeatedEdges:
    """The edges of W with weights exp(-||x_i - x_j||^2 / heat), for derivatives in the rows."""

    W: csr_array
    heat: float | str

    def squared(self, X: Array) -> tuple[Integers, Integers, Array, Array, float, Integers]:
        """Return i, j, weight, squared length of edges; the heat; the edges of the median."""
        from scipy.sparse import triu

        upper = triu(self.W, 1).tocoo()
        i, j = upper.coords
        parts = few(np.arange(len(i)), X.shape[1])
        squared = np.concatenate([np.sum((X[i[e]] - X[j[e]]) ** 2, axis=1) for e in parts])
        if self.heat != "median":
            return i, j, upper.data, squared, float(self.heat), np.zeros(0, dtype=np.intp)
        m = len(squared)
        middle = np.argsort(squared, kind="stable")[(m - 1) // 2 : m // 2 + 1]
        return i, j, upper.data, squared, float(squared[middle].mean()), middle


class Neighbourhoods(NamedTuple):
    """Rows with equal numbers of neighbours; weights are v / sum v with Gv = 1 (`lle_weights`).

    - i (m,), j (m, k), v (m, k): the rows, their neighbours, and the vectors v
    - inverse (m, k, k): inverse of the regularised G
    """

    i: Integers
    j: Integers
    v: Array
    inverse: Array


@dataclass(frozen=True, eq=False)
class NeighbourWeights:
    """The weights W of `lle_weights`, with derivatives in the rows."""

    W: csr_array
    regularisation: float

    def around(self, X: Array) -> Iterator[Neighbourhoods]:
        """Return the neighbourhoods, grouped by their number of neighbours."""
        counts = np.diff(self.W.indptr)
        for k in np.unique(counts):
            i = np.flatnonzero(counts == k)
            j = self.W.indices[self.W.indptr[i, None] + np.arange(k)]
            Z = X[j] - X[i, None]
            G = regularised(Z @ Z.transpose(0, 2, 1), self.regularisation)
            inverse = np.asarray(np.linalg.inv(G), dtype=np.float64)
            yield Neighbourhoods(i, j, inverse.sum(axis=2), inverse)


def residuals(W: csr_array) -> csr_array:
    """Return I - W for the weights W of a graph."""
    from scipy.sparse import eye_array

    return (eye_array(W.shape[0]) - W).tocsr()


def laplacian(W: csr_array) -> csr_array:
    """Return the Laplacian D - W, where D has the row sums of W."""
    from scipy.sparse import diags_array

    return (diags_array(W.sum(axis=1)) - W).tocsr()


@dataclass(frozen=True)
class LaplacianMethod(GraphMethod):
    """Base of the methods of X'LX with the Laplacian L = D - W, where D has the row sums of W.

    Parameters
    ----------
    graph : {"neighbours", "epsilon", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours" connects nearest neighbours (symmetrised). "epsilon" connects rows within the
        distance `epsilon`. "classes" connects all n_k samples of a class with the weight 1/n_k.
        "class-neighbours" connects nearest neighbours of the same class. A matrix contains your own
        symmetric weights. Sample weights multiply the weight of an edge by w_i w_j.
    heat : float or "median" or None
        An edge between samples x_i and x_j has the weight exp(-||x_i - x_j||^2 / heat); "median" is
        the median squared length of the edges, for "class-neighbours" of those of each class. None
        gives each edge the weight 1. The graph "classes" and a matrix ignore `heat`.
    epsilon : float, optional
        Largest distance between samples that the graph "epsilon" joins.
    """

    divisor = "X'DX"

    heat: float | str | None = declared(None, _keep_heat)
    epsilon: float | None = number(None, optional=True, positive=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None and self.kind == "epsilon":
            raise ArgumentError("graph='epsilon' needs epsilon=, a distance > 0, got None")

    def _edges(self, samples: Samples, y: object) -> csr_array:
        """The sparse symmetric n x n weights of a graph of the rows or of the user's."""
        match self.kind:
            case "":
                return _adjacency(self.graph, samples.n)
            case "epsilon":
                assert self.epsilon is not None
                return epsilon_graph(samples, self.epsilon, self.heat)
            case "class-neighbours":
                return within_classes(
                    lambda rows, k: neighbour_graph(rows, k, self.heat), samples, y, self.neighbours
                )
        return neighbour_graph(samples, self.neighbours, self.heat)

    def _weights(self, data: Data) -> csr_array:
        W, weights = self._edges(data.samples, data.y), data.samples.weights
        if weights is None:
            return W
        # Because W is symmetric, D(DW)' equals DWD for the diagonal matrix D of the weights.
        return scaled_rows(scaled_rows(W, weights).T.tocsr(), weights)

    def _check_settled(self, data: Data) -> None:
        by_class = self.kind == "class-neighbours" and self.heat == "median"
        if self._is_heated and (by_class or self._shares(np.ones(1)) is not None):
            raise UnknownError  # the kernel widths and class weights also depend on the rows
        super()._check_settled(data)

    @property
    def _is_heated(self) -> bool:
        """True if weights of edges depend on the rows."""
        return self.heat is not None and bool(self.kind)

    def _forms(self, rows: RowSums, W: csr_array) -> dict[str, Any]:
        degrees = W.sum(axis=1)
        shares = self._shares(degrees)
        rows = rows if shares is None else rows.about(shares)
        edges = HeatedEdges(W, self.heat) if self.heat is not None and self._is_heated else None
        return {
            "A": rows.form(laplacian(W), edges),
            "B": rows.form(degrees, edges),
            "unrelated": lambda: float(1.0 - W.trace() / degrees.sum()),
            "shares": shares,
        }

    def _shares(self, degrees: Array) -> Array | None:
        """Return the rows' shares in the centre; None stands for their mean."""
        return None
