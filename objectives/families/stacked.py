"""Sums over the rows of many data sets of equal shape, as stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import UnknownError
from ldr.objectives.families.matrices import Codes, DataSums, by_links_of_pairs, form_by_form
from ldr.objectives.statistics.products import Between
from ldr.objectives.statistics.time import check_lag
from ldr.solvers.linalg.rounding import CANCELLED
from ldr.solvers.manifolds import Array


@dataclass(frozen=True, eq=False)
class StackedData(DataSums):
    """Many data sets of equal shape."""

    views: tuple[StackedRows, ...]
    y: Cells | None = None

    @property
    def rows(self) -> StackedRows:
        return self.views[0]

    def deviations(self) -> Array:
        """Return each response minus its mean, (b, n); responses must be numeric, not constant."""
        y = self.y
        assert y is not None
        known = y.dtype.kind in "iuf" and np.isfinite(y).all()
        if not known or (y == y[:, :1]).all(axis=1).any():
            raise UnknownError
        return StackedRows.of(y[:, :, None].astype(np.float64)).X[:, :, 0]

    def labels(self) -> tuple[Codes, Cells]:
        """Return class codes (b, n) and classes; every class must occur in every problem."""
        assert self.y is not None
        classes, codes = np.unique(self.y, return_inverse=True)
        codes = codes.reshape(self.y.shape)
        counts = [np.bincount(of_one, minlength=len(classes)) for of_one in codes]
        if len(classes) < 2 or np.min(counts) < 2:
            raise UnknownError
        return codes, classes

    def scatters_of_classes(self) -> tuple[Array, Array]:
        """Return the scatters between and within the classes."""
        return self.rows.scatters_of_classes(self.labels()[0])

    def scatters_of_groups(self, of: Callable[[Cells], Cells]) -> tuple[Array, Array]:
        """Return the scatters between and within the groups that `of` forms from each y."""
        assert self.y is not None
        codes = np.stack([of(y) for y in self.y])
        if np.ptp(codes.max(axis=1)) > 0:  # ties in y can reduce the number of groups in a problem
            raise UnknownError
        return self.rows.scatters_of_classes(codes)


@dataclass(frozen=True, eq=False)
class StackedRows:
    """Centred rows of b problems; a stack of length 1 means rows common to all problems.

    - X (b, n, d): rows of each problem, minus their mean
    - mean (b, d): the mean of each problem's rows
    - trials (n,): trials of the rows of all problems; None for a single trial
    """

    X: Array
    mean: Array
    trials: Codes | None = None
    weights = None

    @classmethod
    def of(cls, X: Array, trials: Codes | None = None) -> StackedRows:
        """Centre rows (n, d) or (b, n, d), in two passes for accuracy.

        Sums over rows are computed as products with ones, because NumPy's sum takes eight times as
        long for few columns.
        """
        stack = X if X.ndim == 3 else X[None]
        n = stack.shape[1]
        mean = np.matmul(np.ones(n), stack) / n
        centred = stack - mean[:, None, :]
        rest = np.matmul(np.ones(n), centred) / n
        centred -= rest[:, None, :]
        return cls(centred, mean + rest, trials)

    @property
    def n(self) -> int:
        """Number of rows of each problem."""
        return int(self.X.shape[1])

    count = n

    def about(self, shares: Array) -> StackedRows:
        """Return the rows centred by sum_i shares_i x_i of each problem instead of the mean.

        The shares are zeros or have the sum 1; constant columns then stay exactly zero.
        """
        apart = shares @ self.X if shares.any() else -self.mean
        return replace(self, X=self.X - apart[:, None, :], mean=self.mean + apart)

    @property
    def about_zero(self) -> StackedRows:
        return self.about(np.zeros(self.n))

    def of_pairs(self, lag: int) -> tuple[Array, Array, Array]:
        return by_links_of_pairs(self, lag)

    def form(self, K: Array | Between, moving: object = None) -> Array:
        """Return X'KX of each problem, with K sparse or given by its diagonal, (n,) or (b, n)."""
        if isinstance(K, np.ndarray):
            return self.X.transpose(0, 2, 1) @ (K[..., None] * self.X)
        b, n, d = self.X.shape
        products = np.asarray(K @ self.X.transpose(1, 0, 2).reshape(n, b * d))
        return self.X.transpose(0, 2, 1) @ products.reshape(n, b, d).transpose(1, 0, 2)

    forms = form_by_form

    def scatter(self) -> Array:
        """Return the scatter sum_i x_i x_i' of each problem, (b, d, d)."""
        return self.cross(self)

    def cross(self, other: StackedRows) -> Array:
        """Return sum_i x_i z_i' with the rows of another view, (b, d, e)."""
        return self.X.transpose(0, 2, 1) @ other.X

    def scatters_of_classes(self, codes: Codes) -> tuple[Array, Array]:
        """Return the scatters between and within classes.

        - codes (b, n): class of each row, 0 .. c-1; each class occurs in each problem
        """
        members = codes[:, None, :] == np.arange(codes.max() + 1)[None, :, None]
        counts = members.sum(axis=2)
        sums = (members / np.sqrt(counts)[:, :, None]) @ self.X
        between = sums.transpose(0, 2, 1) @ sums
        total = self.scatter()
        within = total - between
        diagonal, all_of_it = (np.einsum("bii->bi", S) for S in (within, total))
        lost = np.flatnonzero((diagonal < CANCELLED * all_of_it).any(axis=1))
        if len(lost):
            of_sums, of_codes, of_rows = (_of(len(S), lost) for S in (sums, codes, self.X))
            roots = np.sqrt(counts[of_codes])[:, :, None]
            own = np.take_along_axis(sums[of_sums] / roots, codes[of_codes][:, :, None], axis=1)
            rest = self.X[of_rows] - own
            within[lost] = rest.transpose(0, 2, 1) @ rest
        return between, within

    def lagged(self, lag: int) -> Array:
        """Return each problem's symmetrised mean of x_t x_{t+lag}', over pairs within a trial."""
        check_lag(lag, self.n, "X")
        before, after = self._pairs(lag)
        products = before.transpose(0, 2, 1) @ after
        return (products + products.transpose(0, 2, 1)) * (0.5 / before.shape[1])

    def scatter_of_changes(self) -> Array:
        """Return sum_t (x_{t+1} - x_t)(x_{t+1} - x_t)' within the trials of each problem."""
        before, after = self._pairs(1)
        changes = after - before
        return changes.transpose(0, 2, 1) @ changes

    def _pairs(self, lag: int) -> tuple[Array, Array]:
        """The rows that have a partner `lag` later in their trial, and the partners."""
        before, after = self.X[:, :-lag], self.X[:, lag:]
        if self.trials is None:
            return before, after
        together = self.trials[:-lag] == self.trials[lag:]
        return before[:, together], after[:, together]


def _of(count: int, where: Codes) -> Codes | slice:
    """Return an index of some problems; a stack of length 1 is kept whole."""
    return slice(None) if count == 1 else where
