"""Kernel versions of linear objectives: a feature map in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.kernels import centred_gram
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, whole
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.registry import as_objective
from ldr.objectives.view import Features
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.limits import decomposing
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field

KernelFunction = Callable[[Samples, Samples], Array]


@dataclass(frozen=True)
class KernelFeatures(Features):
    """phi(x) = W'(k(x) - centre), k(x) the kernel's values with the rows of `landmarks`."""

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
        """All rows: the features' inner products are the centred kernel's; with the features."""
        K = kernel(samples, samples)
        values, vectors = _positive_eigen(centred_gram(K))
        features = cls(kernel, samples, K.mean(axis=0), vectors / np.sqrt(values), True)
        return features, vectors * np.sqrt(values)

    @classmethod
    def nystrom(cls, kernel: KernelFunction, samples: Samples) -> KernelFeatures:
        """Inner products with K_nm K_mm^{-1} K_mn in place of K, from m landmark rows."""
        values, vectors = _positive_eigen(kernel(samples, samples))
        return cls(kernel, samples, np.zeros(samples.n), vectors / np.sqrt(values), False)


def _positive_eigen(K: Array) -> tuple[Array, Array]:
    """Eigenvalues above rounding, descending, and their eigenvectors."""
    with decomposing(len(K)):
        values, vectors = scipy.linalg.eigh(0.5 * (K + K.T), check_finite=False)
    kept = values > rank_tolerance(len(K)) * float(np.abs(values).max())
    if not kept.any():
        raise SingularError("the kernel matrix is zero once centred: all rows look the same to it")
    return values[kept][::-1], vectors[:, kept][:, ::-1]


@dataclass(frozen=True)
class Kernel(Objective):
    """A linear objective of the features of a kernel; made by `ldr.kernel`.

    Source: Schoelkopf, Smola and Mueller 1998; Williams and Seeger 2001 (Nystrom); Kokiopoulou,
    Chen and Saad 2011, section 5.

    Parameters
    ----------
    objective : Objective
    metric : str or callable
    components : int, optional
    random_state : int
    parameters : dict
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
                f"objective {inner.name!r} is of distances: it has no kernel version"
            )
        kept = ("formula", "source", "sense", "baseline", "views", "needs", "domain", "exact")
        for attribute in (*kept, "transposed", "relative_improvement", "weighted", "any_views"):
            object.__setattr__(self, attribute, getattr(inner, attribute))
        object.__setattr__(self, "name", f"kernel {inner.name}")
        # Of the other view features would be predicted.
        object.__setattr__(self, "predicts", "" if inner.views > 1 else inner.predicts)

    def of_features(self) -> Objective:
        return self.objective.of_features()

    def largest_r(self, data: Data) -> int:
        n = data.samples.n + (0 if data.background is None else data.background.n)
        return n if self.components is None else min(n, self.components)

    def footprint(self, data: Data) -> Footprint:
        """The kernel and its features, and what the objective holds of these."""
        if not data.samples.n_known:  # asked again once they are in memory
            return Footprint(0.0, 0.0)
        n = data.samples.n
        m = n if self.components is None else min(n, self.components)
        return Footprint(0.0, 0.0, pairs=(4.0 * m * n + 12.0 * m**2) / n**2)

    def bind(self, data: Data, r: int) -> BoundObjective:
        data = self.in_memory(data)
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
        return bound.restated(
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

        try:
            with np.errstate(over="ignore", invalid="ignore"):
                K = pairwise_kernels(a.array, b.array, metric=self.metric, **self.parameters)
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
        return f"{how} features of the kernel from {m} rows, of rank {k}"


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
    """The kernel version of a linear objective: the same objective of the kernel's features.

    Parameters
    ----------
    objective : str or Objective
        A name, with its default parameters, or an objective.
    metric : str or callable
        A kernel of scikit-learn's `pairwise_kernels` ("rbf", "polynomial", "laplacian", "cosine",
        "linear", ...) or a function of two rows.
    components : int, optional
        Landmark rows of the Nystrom approximation, drawn at random; by default all n rows, which
        is exact and takes O(n^2) memory and O(n^3) time.
    random_state : int
        Of the landmarks.
    **parameters
        Of the kernel: gamma, degree, coef0.

    Returns
    -------
    Kernel
        An objective for `ldr.solve`; `transform` of its result takes new rows.

    Raises
    ------
    ldr.errors.ArgumentError
        An unknown objective, one of distances, or a number of components below 1.

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
