"""Demixed principal components: what each factor of an experiment adds to the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ldr.objectives.coordinates import Axes, Coordinates
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.labels import as_array
from ldr.objectives.families.matrices import DataForms, TraceMatrices
from ldr.objectives.families.pencil import SumOfSquares
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.unwhitened import Unwhitened
from ldr.objectives.families.whitened import whiten
from ldr.objectives.families.whitened_trace import spectral_bound
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, declared, number
from ldr.objectives.problem import Fitted
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.covariance import KnownScatter, Variation
from ldr.objectives.statistics.products import OneSided
from ldr.objectives.statistics.sums import membership
from ldr.objectives.view import Compact
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace


def _keep_subsets(owner: object, name: str) -> None:
    given = getattr(owner, name)
    subsets = list(given) if isinstance(given, (tuple, list)) else []
    if not subsets or not all(map(_are_columns, subsets)):
        raise ArgumentError(
            f"{name} must be sets of columns of y, ((0,),) of the first or ((0,), (0, 1)) with its "
            f"interaction with the second, got {given!r}"
        )
    kept = (tuple(sorted({int(k) for k in subset})) for subset in subsets)
    object.__setattr__(owner, name, tuple(dict.fromkeys(kept)))


def _are_columns(subset: object) -> bool:
    return (
        isinstance(subset, (tuple, list))
        and len(subset) > 0
        and all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in subset)
        and min(subset) >= 0
    )


@dataclass(frozen=True)
class DemixedPCA(Objective):
    """Reconstruct what a factor adds: min ||X_f - XD'M'||_F^2 + ridge ||MD||_F^2, M orthonormal.

    y has a column a factor (stimulus, decision, time), in any labels; X_f is what the sets of
    factors `of` add to the rows: the mean over all others, less what smaller sets add, every
    combination of levels counting alike. Rows are trials, or means of them. D = M'A,
    A' = (X'X + ridge I)^{-1} X'X_f, so that it is max tr(M'A(X'X + ridge I)A'M), exact by the top
    eigenvectors; `parameters["explained_share"]` is the value's share of ||X_f||^2. P = D, which
    demixes: a direction may be found where M, the columns that it explains, is not.

    Parameters
    ----------
    of : tuple of tuples of int
        Sets of columns of y whose parts are added up.
    ridge : float
        Added to the diagonal of X'X, in units of its mean diagonal.
    """

    name = "dpca"
    formula = "max tr(M'X_f'X (X'X + ridge I)^{-1} X'X_f M), X_f what factors add to X"
    source = "Kobak and others 2016"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of X_f'X (X'X + ridge I)^{-1} X'X_f"
    weighted = True
    transposed = False
    exact = "yes"
    arrays = Footprint(squares=15.0)

    of: tuple[tuple[int, ...], ...] = declared(((0,),), _keep_subsets)
    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> Demixed:
        compact = Compact.of(data.samples, quiet=True)
        codes, shape = self._cells(data.y, data.samples.n)

        def cells_of(change: Change) -> ClassMoments:
            return class_moments(change(compact.rows), codes, math.prod(shape))

        cells = cells_of(Change())
        given = Unwhitened.of(compact, "the covariance", self.ridge)
        found, (whitened,) = whiten(
            lambda change: cells if change.T is None else cells_of(change),
            lambda found: (SumOfSquares(found.total, found.mean, float(found.n)),),
            given,
        )
        added = self.added(cells.apart, shape)
        K = whitened.rows((cells.counts[:, None] * found.apart).T @ added)
        A = K.T @ K
        view = compact.view(cells.mean, KnownScatter(cells.total, cells.n))
        return Demixed(
            self,
            (view.noting(*whitened.notes),),
            A,
            r,
            doubt=2.0 * whitened.doubt(spectral_bound(A), r),
            decoding=whitened.coordinates,
            K=K,
            total=float(np.sum(cells.counts[:, None] * added**2)),
        )

    def forms(self, data: DataForms) -> TraceMatrices:
        rows, n = data.rows, data.rows.count
        parts = _Parts(self, *data.groups(lambda y: self._cells(y, n)))
        D = data.inverse(rows.scatter(), self.ridge) @ rows.form(parts)
        return TraceMatrices(rows.form(parts.T) @ D, decoder=D)

    def _cells(self, y: npt.ArrayLike, n: int) -> tuple[npt.NDArray[np.intp], tuple[int, ...]]:
        """The combination of levels of each row, and how many levels every factor has."""
        factors = as_array(y)
        factors = factors[:, None] if factors.ndim == 1 else factors
        if factors.ndim != 2 or len(factors) != n:
            raise DataError(
                f"y has shape {factors.shape}, expected {n} rows and a column for each factor"
            )
        highest = max(max(subset) for subset in self.of)
        if highest >= factors.shape[1]:
            raise DataError(
                f"y has {factors.shape[1]} column(s), of which of={self.of} names number {highest}"
            )
        levels, codes = zip(*(np.unique(f, return_inverse=True) for f in factors.T), strict=True)
        shape = tuple(map(len, levels))
        cells = np.asarray(np.ravel_multi_index(codes, shape))
        missing = math.prod(shape) - len(np.unique(cells))
        if missing:
            raise DataError(
                f"the factors in y have {math.prod(shape)} combinations of levels, {missing} of "
                "which have no rows; expected rows of every one"
            )
        return cells, shape

    def added(self, means: Array, shape: tuple[int, ...]) -> Array:
        """What the sets add to the mean of each cell, by inclusion and exclusion."""
        grid = means.reshape(*shape, -1)
        total = np.zeros_like(grid)
        for subset in self.of:
            for size in range(len(subset) + 1):
                for inner in combinations(subset, size):
                    others = tuple(k for k in range(len(shape)) if k not in inner)
                    total += (-1) ** (len(subset) - size) * grid.mean(axis=others, keepdims=True)
        return total.reshape(means.shape)


@dataclass(frozen=True, eq=False)
class _Parts(OneSided):
    """F with FX = X_f, in every row what the factors add to its cell; or the transpose."""

    objective: DemixedPCA
    codes: npt.NDArray[np.intp]
    shape: tuple[int, ...]
    back: bool = False

    def __matmul__(self, Y: Array) -> Array:
        members = membership(self.codes, math.prod(self.shape))
        counts, sums = np.bincount(self.codes)[:, None], np.asarray(members @ Y)
        if self.back:
            return (self.objective.added(sums, self.shape) / counts)[self.codes]
        return self.objective.added(sums / counts, self.shape)[self.codes]

    @property
    def T(self) -> _Parts:
        return replace(self, back=not self.back)


@dataclass(frozen=True)
class Demixed(Trace):
    """The trace whose map decodes what M reconstructs.

    Parameters
    ----------
    decoding : Coordinates
        White, of the rows.
    K : ndarray (m, k)
        A' in them, so that D = M'A.
    total : float
        ||X_f||^2.
    """

    plain = False

    decoding: Coordinates = field(kw_only=True)
    K: Array = field(kw_only=True)
    total: float = field(kw_only=True)

    def maps(self, M: Array) -> tuple[Array, ...]:
        return (self.decoding.map(self.K @ M, M),)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Also the share of ||X_f||^2."""
        found = super().numbers(M, axes, seen)
        return {**found, "explained_share": found["eigenvalue"] / (self.total or 1.0)}

    def parameters(self, M: Array) -> Fitted:
        return {"explained_share": float(np.trace(self.compressed(M))) / (self.total or 1.0)}
