"""Which data sets the sweeps of figures 2 and 3 are made of, and about how long each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from experiments.jmlr2015.problems import Case
from experiments.jmlr2015.protocol import Measurement, measure
from experiments.jmlr2015.recipes import METHODS
from experiments.machine.store import Row

COLUMNS = tuple(field.name for field in fields(Measurement))
KEY = tuple(field.name for field in fields(Case))

# Number of components in sweeps of d, and number of columns in sweeps of r.
R_OF_D_SWEEP, D_OF_R_SWEEP = 3, 100


@dataclass(frozen=True)
class Extent:
    """How much is run.

    Attributes
    ----------
    d, r : tuple of int
        Points of the sweep over d at r = 3, and over r at d = 100.
    datasets : int
        At each point.
    searched : int
        Data sets that figure 1 looks through.
    traced : int
        Data sets of figure 4.
    further : int
        Data sets at each point of maf, beyond those of the figures; see `medians`.
    """

    d: tuple[int, ...]
    r: tuple[int, ...]
    datasets: int
    searched: int
    traced: int
    further: int


FULL = Extent((4, 8, 16, 32, 64, 128, 256, 512, 1024), (1, 2, 5, 10, 20, 40, 80), 20, 400, 100, 100)
QUICK = Extent((4, 8, 16, 32), (1, 2, 5, 10), 5, 100, 5, 5)


def sweep_cases(extent: Extent, recipe: str, seed: int) -> list[Case]:
    """Every data set of both sweeps by one recipe."""
    points = [(d, R_OF_D_SWEEP) for d in extent.d] + [(D_OF_R_SWEEP, r) for r in extent.r]
    return [
        Case(recipe, method, d, r, seed, dataset)
        for method in METHODS
        for d, r in points
        for dataset in range(extent.datasets)
    ]


def sweep_rows(case: Case) -> Sequence[Row]:
    """The row of one data set."""
    return [asdict(measure(case))]


def sweep_cost(case: Case) -> float:
    """About the seconds that a data set takes on one core; for the order and the time left."""
    d, size = case.d, case.d / 1000
    text = case.recipe == "paper-text"
    if case.method == "lda":
        classes = d if text else case.r + 1
        return 0.02 + (0.2 if text else 0.06) * classes * size**2 + 2 * size**3
    if case.method == "maf":
        return 0.02 + 8 * size**3
    if case.method == "cca":
        # Data of the paper's code have correlations near 1, with which convergence is slow.
        return 0.5 + 60 * size**2 + (0.0 if text or case.r == 1 else 0.5 * case.r)
    return 0.02 + 0.5 * size**2
