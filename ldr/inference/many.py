"""`ldr.solve_many`: thousands of small problems at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.inference.engine import chunks, optima
from ldr.inputs import as_objective
from ldr.objectives.data.data import single
from ldr.objectives.objective import Objective
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.types import PerRow, PerView, Rows
from ldr.validation import in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Solutions(Pickled):
    """The optima of many problems.

    Attributes
    ----------
    objective : Objective
    r : int
    values : ndarray (b,)
        In the objective's own sense and units.
    P : ndarray (b, r, d)
        The linear maps; a pair of arrays for two views.
    mean : ndarray (b, d)
        Subtracted before the map; a pair for two views.
    numbers : ndarray (b, r) or None
        Of each direction, best first: eigenvalues, or singular values of two views; None where the
        objective has none.
    gaps : ndarray (b,)
        Of each certificate: by how much a better value could be better, but for rounding; infinite
        where nothing was proved.
    alone : int
        How many were solved one by one: the objective has no stacked form, or the columns of these
        problems are so nearly dependent that digits would be lost.
    """

    objective: Objective
    r: int
    values: Array
    P: PerView
    mean: PerView
    numbers: Array | None
    gaps: Array
    alone: int

    def __len__(self) -> int:
        return len(self.values)

    def plot(self, at: npt.ArrayLike | None = None) -> Figure:
        """The values along the problems, at their places; see `ldr.plots.solutions`."""
        from ldr.plots import solutions

        return solutions(self, at)

    def __repr__(self) -> str:
        low, middle, high = np.quantile(self.values, (0.0, 0.5, 1.0))
        return (
            f"{self.objective!r}, r = {self.r}: {len(self)} problems, {self.alone} of them one by "
            f"one\n  value  {middle:.6g} (median), {low:.6g} to {high:.6g}"
        )


@in_words
def solve_many(
    objective: str | Objective,
    X: Rows,
    r: int,
    *,
    y: PerRow = None,
    workers: int = -1,
    certify: bool = True,
    **parameters: object,
) -> Solutions:
    """Solve an objective for many data sets: windows of a series, groups, folds, resampled rows.

    Methods with an eigen-solution (pca, lda, maf, sfa, tica, sir, phd, pls, csp of two classes,
    spoc, their classical forms and classical-cca) are solved as stacks of matrices: no more than
    the sums over the rows, stacked eigenproblems, and Newton's method on all ratios at once. The
    values are those of `ldr.solve`. What has no stacked form, or fewer rows than columns, is solved
    one by one.

    Parameters
    ----------
    objective : str or Objective
    X : array (b, n, d), or iterable of what `ldr.solve` takes
        The data sets. For two views a pair of arrays (b, n, d) and (b, n, e), either of which may
        be (n, d): shared by all. Data sets of an iterable may differ in shape. An array (n, d)
        stands for all where y has several rows.
    r : int
    y : array (b, n) or (n,), or iterable of arrays (n,), optional
        Labels or responses; (n,) is shared by all.
    workers : int
        Chunks of problems at a time, in threads; -1 is one for every core.
    certify : bool
        Whether to certify what is solved one by one; of stacks the gaps cost nothing.
    **parameters
        Of the objective, where it is given by name.

    Returns
    -------
    Solutions

    Raises
    ------
    ldr.errors.DataError, ldr.errors.ArgumentError
        As `ldr.solve` raises, or shapes that do not fit one another.

    Examples
    --------
    Slow features in windows of 100 rows:

    >>> import numpy as np, ldr
    >>> X = np.cumsum(np.random.default_rng(0).standard_normal((400, 3)), axis=0)
    >>> windows = np.lib.stride_tricks.sliding_window_view(X, 100, axis=0).transpose(0, 2, 1)
    >>> ldr.solve_many("maf", windows, 1).values.shape
    (301,)
    """
    objective = as_objective(objective, parameters)
    found = optima(objective, chunks(objective, X, y), r, workers=workers, certify=certify)
    P, mean = map(single, (found.maps, found.means))
    return Solutions(objective, r, found.values, P, mean, found.numbers, found.gaps, found.alone)
