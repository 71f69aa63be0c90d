"""`ldr.regularisation_path`: the solutions for a sequence of penalties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldr.inputs import as_objective, as_seconds, with_marks
from ldr.objectives.data.data import as_tuple
from ldr.objectives.l1 import L1
from ldr.objectives.objective import Objective, penalty_of
from ldr.objectives.sparse import SparseMethod
from ldr.result import Result
from ldr.solvers.deadline import complete, within
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.solver import Solver
from ldr.solving import solve
from ldr.types import PerRow, PerView, Rows
from ldr.validation import in_words


@dataclass(frozen=True, repr=False)
class RegularisationPath(Pickled):
    """Solutions for growing penalties.

    Attributes
    ----------
    penalties : tuple of float
        In ascending order.
    results : tuple of Result
        One a penalty.
    """

    penalties: tuple[float, ...]
    results: tuple[Result, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """The value of each, the penalty included."""
        return tuple(result.value for result in self.results)

    @property
    def sparsity(self) -> tuple[float, ...]:
        """The share of zeros in each M (in both views together)."""
        return tuple(_share_of_zeros(result.M) for result in self.results)

    def __repr__(self) -> str:
        lines = [f"{'penalty':>12}  {'value':>18}  {'sparsity':>8}  converged"]
        rows = zip(self.penalties, self.values, self.sparsity, self.results, strict=True)
        lines += [
            f"{penalty:12.6g}  {value:18.12g}  {sparsity:8.3f}  {result.converged}"
            for penalty, value, sparsity, result in rows
        ]
        return "\n".join(lines)


def _next_start(result: Result) -> Array | str:
    """M, or the heuristic where the zeros leave it too few directions to start from."""
    full = all(np.linalg.matrix_rank(M) == M.shape[1] for M in as_tuple(result.M))
    return result.M if full else "baseline"


@in_words
def regularisation_path(
    objective: str | Objective,
    X: Rows,
    r: int,
    penalties: Sequence[float],
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    solver: str | Solver = "auto",
    max_iterations: int | None = None,
    time_limit: float | None = None,
    certify: bool = False,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> RegularisationPath:
    """Solve an objective plus an l1 penalty for each of several weights, each from the last M.

    Parameters
    ----------
    objective : str or Objective
        Smooth, as `ldr.solve` takes it; each problem is ``objective + ldr.l1(penalty)``. Of
        "sparse-pca", "sparse-lda" and "sparse-cca" the penalty is replaced.
    X, r, y, sample_weight, groups, standardise, random_state, **parameters
        As `ldr.solve` takes them.
    penalties : sequence of float
        At least 0, in the objective's units; sorted ascending first. The first solution starts from
        the heuristic, each further one from the M before it.
    solver : str or Solver
        "auto" is smoothing continuation finished by proximal gradients.
    max_iterations : int, optional
        Of each solution; by default the solver's own limit.
    time_limit : float, optional
        Seconds, for all of them together.
    certify : bool
        Whether each solution gets a certificate.

    Returns
    -------
    RegularisationPath
        Its repr is a table of penalties, values and sparsity. After Ctrl-C, and where the time was
        over, it has the penalties that were done, and a warning says how many.

    Raises
    ------
    ldr.errors.ArgumentError
        No penalties, or one that is negative; an objective with a penalty already (except
        those three); otherwise as `ldr.solve`.
    ldr.errors.TimeLimitError
        The time was over before there was a solution.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 6)) * [3, 3, 3, 1, 1, 1]
    >>> path = ldr.regularisation_path("pca", X, 2, [1.0, 100.0, 1000.0])
    >>> path.sparsity[0] <= path.sparsity[-1]
    True
    """
    listed = isinstance(penalties, (Sequence, np.ndarray)) and not isinstance(penalties, str)
    if not listed or len(penalties) == 0:
        raise ArgumentError(f"penalties must be a sequence of numbers >= 0, got {penalties!r}")
    smooth = as_objective(objective, parameters)
    own = penalty_of(smooth)
    if own is not None and not isinstance(smooth, SparseMethod):
        raise ArgumentError(
            f"objective must be smooth, as the path adds the penalties, but has {own!r} already"
        )
    X, y = with_marks(smooth, X, y, sample_weight, groups)
    weights = sorted(L1(penalty).weight for penalty in penalties)

    def along() -> Iterator[Result]:
        start: Array | str = "baseline"
        for weight in weights:
            result = solve(
                _penalised(smooth, weight),
                X,
                r,
                y=y,
                standardise=standardise,
                solver=solver,
                start=start,
                max_iterations=max_iterations,
                certify=certify,
                random_state=random_state,
            )
            yield result
            start = _next_start(result)

    with within(as_seconds(time_limit)):
        results = complete(along(), len(weights), "penalties")
    return RegularisationPath(tuple(weights[: len(results)]), tuple(results))


def _penalised(smooth: Objective, weight: float) -> Objective:
    if isinstance(smooth, SparseMethod):
        return replace(smooth, penalty=weight)
    return smooth + L1(weight)


def _share_of_zeros(M: PerView) -> float:
    blocks = as_tuple(M)
    return sum(int(np.sum(N == 0)) for N in blocks) / sum(N.size for N in blocks)
