"""How far the median of 20 data sets can be from that of many: maf with true eigenvectors, again.

The quartiles of 20 data sets are themselves random. Of the code's recipe, further data sets, which
no figure uses, tell whether a median outside of them is another number or another sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from experiments.jmlr2015.problems import Case, prepare
from experiments.jmlr2015.protocol import improvement_of_code
from experiments.jmlr2015.sweeps import KEY, Extent, sweep_cases, sweep_cost
from experiments.machine.store import Row
from ldr.multistart import solver_for
from ldr.solvers.solver import minimise

__all__ = ["COLUMNS", "KEY", "further_cases", "further_cost", "further_rows"]

_RECIPE, _METHOD = "reference-code", "maf"


@dataclass(frozen=True)
class Gain:
    """The improvement over the true eigenvectors of one data set, as the paper's code has it."""

    recipe: str
    method: str
    d: int
    r: int
    seed: int
    dataset: int
    improvement_code: float


COLUMNS = tuple(field.name for field in fields(Gain))


def further_cases(extent: Extent, seed: int) -> list[Case]:
    """Data sets beyond those of the sweeps, at every point but the largest d."""
    points = [
        case
        for case in sweep_cases(extent, _RECIPE, seed)
        if case.method == _METHOD and case.dataset == 0 and case.d < max(extent.d)
    ]
    return [
        Case(point.recipe, point.method, point.d, point.r, seed, extent.datasets + k)
        for point in points
        for k in range(extent.further)
    ]


def further_rows(case: Case) -> Sequence[Row]:
    """The row of one data set."""
    problem = prepare(case).problem
    heuristic = problem.baseline()
    assert heuristic is not None
    solver = solver_for("auto", problem)
    found = heuristic if solver is None else minimise(problem, heuristic, solver).M
    gain = improvement_of_code(case.method, problem.at(found).value, problem.at(heuristic).value)
    return [asdict(Gain(**asdict(case), improvement_code=gain))]


def further_cost(case: Case) -> float:
    """About the seconds that a data set takes on one core."""
    return 0.2 * sweep_cost(case)
