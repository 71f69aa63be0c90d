"""Sums over the rows as matrices that are known by their products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldr.objectives.data.cells import Cells, Matrix
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.labels import as_array
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import Grouped, MovingKernel
from ldr.objectives.kernels import as_response, deviations
from ldr.objectives.statistics.pairs import pair_counts
from ldr.objectives.statistics.products import OneSided
from ldr.objectives.statistics.sums import counted_rows, membership
from ldr.sensitivity.forms import Blocks, Constant, Form, Inverse, Quadratic, TimesTrace, centred
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class QuadraticRows:
    """Sums over the rows of a view, as `ldr.objectives.families.matrices` asks for them.

    Attributes
    ----------
    samples : Samples
    view : int
    shares : ndarray (n,) or None
        Weights of the rows in what is subtracted from them; None is their mean.
    """

    samples: Samples
    view: int
    shares: Array | None

    @classmethod
    def of(cls, samples: Samples, view: int) -> QuadraticRows:
        w = samples.weights
        return cls(samples, view, None if w is None else w / samples.weight)

    @property
    def n(self) -> float:
        return self.samples.weight

    @property
    def count(self) -> int:
        return self.samples.n

    @property
    def trials(self) -> Codes | None:
        marks = self.samples.marks
        return None if marks is None else marks.codes

    @property
    def mean(self) -> MeanOfRows:
        n = self.samples.n
        return MeanOfRows(np.full(n, 1.0 / n) if self.shares is None else self.shares, self.view)

    def scatter(self) -> Quadratic:
        return self._of(lambda X: self.counted(self.centre(X)))

    def cross(self, other: QuadraticRows) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            one, two = (each.counted(each.centre(X[each.view])) for each in (self, other))
            if other.view == self.view:
                return {self.view: one}
            return {self.view: 0.5 * two, other.view: 0.5 * one}

        return Quadratic(kernel)

    def lagged(self, lag: int) -> Quadratic:
        def both(X: Array) -> Array:
            Z, found, (counts, total) = self.centre(X), np.zeros_like(X), self._pairs(lag)
            found[:-lag] += counts * Z[lag:]
            found[lag:] += counts * Z[:-lag]
            return self._centre_transposed(found) / (2.0 * total)

        return self._of(both)

    def scatter_of_changes(self) -> Quadratic:
        def changes(X: Array) -> Array:
            found, steps = np.zeros_like(X), self._pairs(1)[0] * np.diff(X, axis=0)
            found[1:] += steps
            found[:-1] -= steps
            return found

        return self._of(changes)

    def about(self, shares: Array) -> QuadraticRows:
        return replace(self, shares=shares)

    def form(self, K: Matrix, moving: MovingKernel | None = None) -> Quadratic:
        def of(K: Matrix) -> Quadratic:
            return self._of(lambda X: self._centre_transposed(times(K, self.centre(X))))

        found, view = of(K), self.view
        if isinstance(K, OneSided):
            return replace(found, back=of(K.T).kernel)
        if moving is None:
            return found

        def moved(X: Blocks, dX: Blocks) -> Quadratic:
            return of(moving.along(X[view], dX[view]))

        def moved_back(X: Blocks, Y: Blocks, Z: Blocks) -> list[Array]:
            pulled = moving.back(X[view], self.centre(Y[view]), self.centre(Z[view]))
            return [pulled if i == view else np.zeros_like(each) for i, each in enumerate(X)]

        return replace(found, moved=moved, moved_back=moved_back)

    def _pairs(self, lag: int) -> tuple[float | Array, float]:
        """How much pairs of rows count, as a column, and together."""
        counts = pair_counts(self.samples.marks, self.count, lag)
        if counts is None:
            return 1.0, self.count - lag
        return counts[:, None], float(counts.sum())

    def counted(self, Z: Array) -> Array:
        """Rows times their weights."""
        return counted_rows(Z, self.samples.weights)

    def centre(self, X: Array) -> Array:
        return centred(X) if self.shares is None else X - self.shares @ X

    def _centre_transposed(self, X: Array) -> Array:
        return centred(X) if self.shares is None else X - np.outer(self.shares, X.sum(axis=0))

    def of_groups(self, codes: Codes) -> tuple[Quadratic, Quadratic]:
        """The scatters between and within them."""
        members = membership(codes, int(codes.max()) + 1)
        counts = members @ self.counted(np.ones((len(codes), 1)))

        def means(X: Array) -> Array:
            return np.asarray((members @ self.counted(X)) / counts)[codes]

        return (
            self._of(lambda X: self.counted(means(self.centre(X)))),
            self._of(lambda X: self.counted(X - means(X))),
        )

    def _of(self, mixed: Callable[[Array], Array]) -> Quadratic:
        return Quadratic(lambda X: {self.view: mixed(X[self.view])})


@dataclass(frozen=True)
class MeanOfRows:
    """m, of which a method takes mm'; its weights are of the rows."""

    shares: Array
    view: int

    def __getitem__(self, axes: object) -> MeanOfRows:
        return self

    def __mul__(self, other: MeanOfRows) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            return {self.view: np.outer(self.shares, self.shares @ X[self.view])}

        return Quadratic(kernel)


@dataclass(frozen=True)
class QuadraticData:
    """Those of all views, and of the groups that y makes.

    Attributes
    ----------
    views : sequence of QuadraticRows
    data : Data
    made : list of pairs of callables
        Of the first view's rows, further blocks, and the transpose: see `blocks`.
    """

    views: Sequence[QuadraticRows]
    data: Data
    made: list[tuple[Callable[[Array], Array], Callable[[Array], Array]]] = field(
        default_factory=list
    )

    @classmethod
    def of(cls, data: Data) -> QuadraticData:
        samples = (*data.views, *filter(None, (data.background,)))
        return cls([QuadraticRows.of(one, i) for i, one in enumerate(samples)], data)

    @property
    def y(self) -> Cells:
        return as_array(self.data.y)

    def through(
        self, of: Callable[[Array], Array], back: Callable[[Array], Array]
    ) -> QuadraticRows:
        if self.rows.samples.marks is not None:
            raise UnknownError
        self.made.append((of, back))
        return replace(self.rows, view=len(self.views) + len(self.made) - 1)

    def blocks(self, X: Blocks) -> list[Array]:
        """X, with the rows that were made of those of the first view."""
        return [*X, *(of(X[0]) for of, _ in self.made)]

    def gathered(self, found: Sequence[Array]) -> list[Array]:
        """What derivatives in these blocks are in X."""
        given = list(found[: len(self.views)])
        for (_, back), each in zip(self.made, found[len(given) :], strict=True):
            given[0] = given[0] + back(each)
        return given

    def deviations(self) -> Array:
        samples = self.data.samples
        return deviations(as_response(self.data.y, samples.n)[:, 0], samples.weights)

    def labels(self) -> tuple[Codes, Cells]:
        return self.data.labels

    def inverse(self, B: Quadratic, ridge: float) -> Inverse:
        return Inverse.of(B, ridge, self.data.samples.dense())

    def times_trace(self, A: Form, inverse: Inverse, F: csr_array) -> TimesTrace:
        return TimesTrace(A, inverse, F)

    def fixed(self, A: Array) -> Constant:
        return Constant(A)

    def groups(self, of: Callable[[Cells], Grouped]) -> Grouped:
        return of(self.y)

    def links(self, weights: Callable[[Data], csr_array]) -> csr_array:
        return weights(self.data)

    @property
    def rows(self) -> QuadraticRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(np.unique(self.y, return_inverse=True)[1])

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(groups(self.y))


def times(K: Matrix, Y: Array) -> Array:
    """KY of a matrix, or of a diagonal."""
    return K[:, None] * Y if np.ndim(K) == 1 else np.asarray(K @ Y)
