"""Gaussian kernels, their low-rank factors, and kernel versions of linear methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.memory import check_largest
from ldr.objectives.data.sample_metadata import as_array, as_labels
from ldr.objectives.objective import Objective, OfFeatures, in_memory, of_features
from ldr.objectives.parameters import Need, whole
from ldr.objectives.problem import BoundObjective, check_dimension, restated
from ldr.objectives.registry import as_objective
from ldr.objectives.statistics.sums import even_rows, middle_places
from ldr.objectives.view import Features
from ldr.solvers.deadline import check, decomposing
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array

# Largest number of rows from which median distances and gradients of kernels are computed.
FEW_ROWS = 1000
# A response with more distinct integers than this number does not consist of labels.
_FEW_VALUES = 20


def centred_gram(K: Array, weights: Array | None = None) -> Array:
    """Return P'KP for a symmetric K, P = I - 11'/n or, with weights w of sum N, I - w1'/N."""
    means = K.mean(axis=0) if weights is None else K @ (weights / weights.sum())
    centred = K - means
    centred -= means[:, None] - np.average(means, weights=weights)
    return centred


def gaussian(A: Array, B: Array, width: float) -> Array:
    """Return exp(-||a_i - b_j||^2 / (2 width^2)) for the rows of A and B."""
    A, B = A / width, B / width
    halves = [0.5 * np.einsum("ij,ij->i", C, C) for C in (A, B)]
    exponent = A @ B.T
    exponent -= halves[0][:, None]
    exponent -= halves[1]
    np.minimum(exponent, 0.0, out=exponent)
    return np.exp(exponent, out=exponent)


def gaussian_gram(Y: Array, width: float) -> Array:
    """Return the Gram matrix of the rows of Y: symmetric, with a diagonal of exact ones."""
    K = gaussian(Y, Y, width)
    np.fill_diagonal(K, 1.0)
    return K


def incomplete_cholesky(
    Y: Array, width: float, rank: int, negligible: float = 1e-9
) -> tuple[Array, npt.NDArray[np.intp], float]:
    """Factor the Gaussian Gram matrix of Y's rows by pivoted Cholesky, in O(n p^2).

    Source: Fine and Scheinberg 2001; Bach and Jordan 2002.

    - returns L (n, p): LL' approximates the Gram matrix, which is never formed; p <= rank.
    - returns pivots (p,): indices of the pivot rows
    - returns left_out: omitted share of the trace; p is the least rank with share <= `negligible`.
    """
    n = len(Y)
    L, left, pivots = np.empty((min(rank, n), n)), np.ones(n), []
    for j in range(len(L)):
        if left.sum() <= negligible * n:
            break
        check()
        pivot = int(np.argmax(left))
        column = gaussian(Y, Y[pivot : pivot + 1], width)[:, 0] - L[:j, pivot] @ L[:j]
        L[j] = column / np.sqrt(left[pivot])
        left = np.maximum(left - L[j] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return L[: len(pivots)].T, np.array(pivots, dtype=np.intp), float(left.sum()) / n


def median_distance(X: Array, weights: Array | None = None) -> float:
    """Return the median distance between rows, of at most 1000 evenly spaced rows.

    A distance of the order of the rounding errors of the rows is zero.
    """
    from scipy.spatial.distance import pdist

    rows = X[even_rows(len(X), FEW_ROWS, weights)]
    found = float(np.median(pdist(rows)))
    return found if found > 8.0 * np.finfo(float).eps * np.abs(rows).max() else 0.0


def gradient_of_median(X: Array) -> Array:
    """Return the gradient in X of the log of the rows' median distance."""
    from scipy.spatial.distance import pdist

    rows = even_rows(len(X), FEW_ROWS)
    i, j = np.triu_indices(len(rows), 1)
    middle = middle_places(pdist(X[rows]))
    one, two = rows[i[middle]], rows[j[middle]]
    apart = X[one] - X[two]
    lengths = np.linalg.norm(apart, axis=1)
    pull = apart / (lengths * lengths.sum())[:, None]
    found = np.zeros_like(X)
    np.add.at(found, one, pull)
    np.add.at(found, two, -pull)
    return found


def is_categorical(y: object, floats: bool = False) -> bool:
    """Return True if y holds labels: strings, booleans, integers of few values.

    - floats: True if numbers without a fraction may be labels whatever their type
    """
    array = as_array(y)
    if array.dtype.kind == "f" and (missing := np.isnan(array)).any():
        return _whole_values(array[~missing]) > 0  # pandas makes integers with gaps floats
    whole = array.dtype.kind in ("iuf" if floats else "iu") and _whole_values(array) > 0
    return array.dtype.kind in "OUSb" or whole


def _whole_values(array: Cells) -> int:
    """Return the number of distinct values if these are few integers, else 0."""
    finite = array.ndim == 1 and array.dtype.kind in "iuf" and np.isfinite(array).all()
    if not finite or (array.dtype.kind == "f" and np.any(np.floor(array) != array)):
        return 0
    count = len(np.unique(array))
    return count if count <= _FEW_VALUES else 0


def deviations(y: Array, weights: Cells | None) -> Array:
    """Return y minus its mean, in two passes for accuracy with a large mean."""
    for _ in range(2):
        y = y - np.average(y, axis=0, weights=weights)
    return y


def as_response(y: npt.ArrayLike, n: int) -> Array:
    """Return a quantitative response as an n x q array."""
    array = as_array(y)
    if array.dtype.kind not in "iuf":
        raise DataError(
            f"y has dtype {array.dtype}, expected numbers: encode y, or pass y.astype(float)"
        )
    array = array.astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise DataError(f"y has shape {np.shape(y)}, expected {n} rows, one for each sample")
    if array.shape[1] == 0:
        raise DataError(f"y has shape {array.shape}: it has no columns, expected at least one")
    if not np.isfinite(array).all():
        raise DataError("y has NaN or infinite entries, expected finite numbers")
    check_largest(float(np.abs(array).max(initial=0.0)), "y")
    return array


KINDS = ("auto", "labels", "quantity")


@dataclass(frozen=True, eq=False)
class Response:
    """The response of n samples: codes of labels, or values.

    - codes (n,): class codes from 0; None for a quantitative response
    - values (n, q): quantitative response; for labels, an indicator column per class
    - weights (n,): weights of the samples
    - notes: messages on the detected kind of response
    """

    codes: np.ndarray | None
    values: Array
    weights: Array | None = None
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, y: npt.ArrayLike, n: int, kind: str = "auto", weights: Array | None = None
    ) -> Response:
        """Build the response; "auto" reads text, booleans, integers of <= 20 values as labels."""
        few = _whole_values(as_array(y)) if kind == "auto" else 0
        if kind == "quantity" or (kind == "auto" and not is_categorical(y)):
            note = (
                f"y has {few} distinct whole numbers as floats, which are read as a quantity; "
                "response='labels' reads them as labels"
            )
            return cls(None, as_response(y, n), weights, [note] if few else [])
        codes, classes = as_labels(y, n, smallest_class=1)
        note = (
            f"y has {few} distinct integers, which are read as labels; "
            "response='quantity' reads them as numbers"
        )
        return cls(codes, np.eye(len(classes))[codes], weights, [note] if few else [])

    def gram(self, width: float | None) -> Array:
        """Return the Gram matrix of the responses: 1 for equal labels, or a Gaussian kernel."""
        if self.codes is not None:
            return self.values @ self.values.T
        return gaussian_gram(self.values, self.width(width))

    def factor(self, width: float | None, rank: int | None) -> tuple[Array, float]:
        """Return a centred factor Z of the centred Gram matrix, and the omitted trace share.

        See `features`.
        """
        Z, left_out = self.features(width, rank)
        return Z - np.average(Z, axis=0, weights=self.weights), left_out

    def features(self, width: float | None, rank: int | None) -> tuple[Array, float]:
        """Return a factor Z (n x p) of the Gram matrix, and the omitted share of the trace.

        The product ZZ' is exact to rounding if `rank` is None; otherwise Z has p <= rank columns.
        """
        if self.codes is not None:
            Z, left_out = self.values, 0.0
        elif rank is None:
            n = len(self.values)
            Z, left_out = incomplete_cholesky(self.values, self.width(width), n, 1e-16 * n)[0], 0.0
        else:
            Z, _, left_out = incomplete_cholesky(self.values, self.width(width), rank)
        return Z, left_out

    def width(self, width: float | None) -> float:
        """Return the kernel width: the given one, or the median distance of the values."""
        sigma = width or median_distance(self.values, self.weights)
        if sigma == 0 or not math.isfinite(sigma):
            raise DataError(
                "more than half of the values of y are equal: give response_width= a value"
            )
        return sigma


KernelFunction = Callable[[Samples, Samples], Array]


@dataclass(frozen=True)
class KernelFeatures(Features):
    """Features phi(x) = W'(k(x) - centre), k(x) the kernel between x and each landmark."""

    kernel: KernelFunction
    landmarks: Samples
    centre: Array
    W: Array
    double_centre: bool

    def __call__(self, samples: Samples) -> Samples:
        samples.expect_columns(self.landmarks.d)
        K = self.kernel(samples, self.landmarks) - self.centre
        if self.double_centre:
            K -= K.mean(axis=1, keepdims=True)
        return Samples(K @ self.W, None, samples.name, marks=samples.marks)

    @classmethod
    def exact(cls, kernel: KernelFunction, samples: Samples) -> tuple[KernelFeatures, Array]:
        """Build features of all rows whose inner products are the centred kernel."""
        K = kernel(samples, samples)
        values, vectors = _positive_eigen(centred_gram(K))
        features = cls(kernel, samples, K.mean(axis=0), vectors / np.sqrt(values), True)
        return features, vectors * np.sqrt(values)

    @classmethod
    def nystrom(cls, kernel: KernelFunction, samples: Samples) -> KernelFeatures:
        """Build features with inner products K_nm K_mm^{-1} K_mn, from m landmark rows."""
        values, vectors = _positive_eigen(kernel(samples, samples))
        return cls(kernel, samples, np.zeros(samples.n), vectors / np.sqrt(values), False)


def _positive_eigen(K: Array) -> tuple[Array, Array]:
    """Eigenvalues above rounding, descending, and their eigenvectors."""
    with decomposing(len(K)):
        values, vectors = scipy.linalg.eigh(0.5 * (K + K.T), check_finite=False)
    kept = values > rank_tolerance(len(K)) * float(np.abs(values).max())
    if not kept.any():
        raise SingularError("the centred kernel matrix is zero: all rows have equal features")
    return values[kept][::-1], vectors[:, kept][:, ::-1]


@dataclass(frozen=True)
class Kernel(OfFeatures):
    """A linear objective of a kernel's features, created by `ldr.kernel`.

    Source: Schoelkopf, Smola and Mueller 1998; Williams and Seeger 2001 (Nystrom); Kokiopoulou,
    Chen and Saad 2011, section 5.
    """

    objective: Objective
    metric: Any = "rbf"
    components: int | None = whole(None, 1, optional=True)
    random_state: int = whole(0, 0)
    parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = self.objective
        if Need.DISTANCES in inner.needs:
            raise ArgumentError(
                f"objective {inner.name!r} takes distances and has no kernel version"
            )
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        if not callable(self.metric) and self.metric not in list(PAIRWISE_KERNEL_FUNCTIONS):
            raise ArgumentError(
                f"metric={self.metric!r} is not a kernel; expected one of "
                f"{', '.join(sorted(PAIRWISE_KERNEL_FUNCTIONS))}, or a function of two rows"
            )
        kept = ("formula", "source", "sense", "baseline", "views", "needs", "domain", "exact")
        for attribute in kept:
            object.__setattr__(self, attribute, getattr(inner, attribute))
        object.__setattr__(self, "name", f"kernel {inner.name}")
        shared = ("transposed", "relative_improvement", "weighted", "any_views")
        self._set_traits(
            **{trait: getattr(inner.traits, trait) for trait in shared},
            # A predicted second view would be a point of the kernel's feature space, not a sample.
            predicts="" if inner.views > 1 else inner.traits.predicts,
        )

    def of_features(self) -> Objective:
        return of_features(self.objective)

    def largest_r(self, data: Data) -> int:
        n = data.samples.n + (0 if data.background is None else data.background.n)
        return n if self.components is None else min(n, self.components)

    def order(self, data: Data) -> int:
        """Return the order of a square array of the kernel matrix's size, n x m; 0 for a stream."""
        if not data.samples.n_known:
            return 0
        n = data.samples.n
        return math.isqrt(n * min(n, self.components or n))

    def bind(self, data: Data, r: int) -> BoundObjective:
        data = in_memory(self, data)
        maps, views, background = [], [], None
        for view in data.views:
            together = view if data.background is None else _stacked(view, data.background)
            features, rows = self._fit(together)
            rows = rows if rows is not None and together is view else features(view).dense()
            maps.append(features)
            views.append(Samples(rows, None, view.name, marks=view.marks))
            if data.background is not None:
                background = features(data.background)
        check_dimension(r, min(view.d for view in views))
        bound = self.objective.bind(Data(tuple(views), data.y, background), r)
        pairs = zip(bound.views, maps, strict=True)
        return restated(
            bound,
            objective=self,
            views=tuple(view.after(features, self._note(features)) for view, features in pairs),
        )

    def _fit(self, samples: Samples) -> tuple[KernelFeatures, Array | None]:
        if self.components is None or self.components >= samples.n:
            return KernelFeatures.exact(self._kernel, samples)
        rng = np.random.default_rng(self.random_state)
        rows = np.sort(rng.choice(samples.n, self.components, replace=False))
        return KernelFeatures.nystrom(self._kernel, samples.take(rows)), None

    def _kernel(self, a: Samples, b: Samples) -> Array:
        from sklearn.metrics.pairwise import pairwise_kernels

        rows, landmarks = a.array, b.array
        if self.metric == "rbf" and not (a.is_sparse or b.is_sparse):
            # scikit-learn computes distances from products, which lose digits far from zero.
            middle = np.median(landmarks, axis=0)
            rows, landmarks = rows - middle, landmarks - middle
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                K = pairwise_kernels(rows, landmarks, metric=self.metric, **self.parameters)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"kernel {self.metric!r}: {error}") from error
        if not np.isfinite(K).all():
            raise DataError(
                f"the kernel {self.metric!r} of {a.name} has values that are not finite: change "
                "the unit of the data, or the kernel's parameters"
            )
        return np.asarray(K, dtype=np.float64)

    def _note(self, features: KernelFeatures) -> str:
        m, k = features.W.shape
        how = "exact" if features.double_centre else "Nystrom"
        return f"{how} kernel features of rank {k}, from {m} rows"


def _stacked(samples: Samples, background: Samples) -> Samples:
    if samples.is_sparse or background.is_sparse:
        from scipy.sparse import csr_array, vstack

        stacked = vstack([csr_array(samples.array), csr_array(background.array)])
        return Samples(csr_array(stacked), None, samples.name)
    return Samples(np.vstack([samples.dense(), background.dense()]), None, samples.name)


def kernel(
    objective: str | Objective,
    metric: object = "rbf",
    *,
    components: int | None = None,
    random_state: int = 0,
    **parameters: object,
) -> Kernel:
    """Return the kernel version of a linear objective.

    Parameters
    ----------
    objective : str or Objective
        An objective, or the name of one, which then has its default parameters.
    metric : str or callable
        A kernel of scikit-learn's `pairwise_kernels` ("rbf", "polynomial", "laplacian", "cosine",
        "linear", ...) or a function of two rows.
    components : int, optional
        Number of random landmark rows of the Nystrom approximation. By default all n rows are used,
        which is exact and takes O(n^2) memory and O(n^3) time.
    random_state : int
        Seed of the landmarks.
    **parameters
        Parameters of the kernel: gamma, degree, coef0.

    Returns
    -------
    Kernel
        An objective for `ldr.solve`; the result's `transform` accepts new rows.

    Raises
    ------
    ldr.errors.ArgumentError
        The objective or kernel is unknown, the objective needs distances, or components < 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> import ldr
    >>> result = ldr.solve(ldr.kernel("pca", "rbf", gamma=0.1), X, r=2)
    >>> result.transform(X[:3]).shape
    (3, 2)
    """
    return Kernel(as_objective(objective), metric, components, random_state, parameters)
