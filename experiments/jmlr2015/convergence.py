"""Figure 4: how solvers converge on pca, d = 100 and r = 10, each from the same random starts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from experiments.jmlr2015.recipes import RECIPES, pca
from experiments.machine.store import Row
from ldr.inputs import as_data
from ldr.objectives import PCA
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.problem import BoundObjective
from ldr.solvers.manifolds import Array, Stiefel
from ldr.solvers.registry import NATIVE
from ldr.solvers.solver import minimise
from ldr.solvers.trace_ratio import SelfConsistentField

D, R, N = 100, 10, 100  # the paper does not state the number of samples

# Pairs of a solver and a manifold that the paper compares.
PAIRS = (
    ("steepest-descent", "stiefel"),
    ("trust-region", "stiefel"),
    ("steepest-descent", "grassmann"),
    ("trust-region", "grassmann"),
)
# Solvers of this project that minimise smooth functions on a manifold, or trace ratios. The others
# are for likelihoods and penalties.
SOLVERS = (
    "trust-region",
    "lbfgs",
    "conjugate-gradient",
    "steepest-descent",
    "self-consistent-field",
)


@dataclass(frozen=True)
class TracedRun:
    """One run of figure 4."""

    recipe: str
    seed: int
    dataset: int
    solver: str
    manifold: str


@dataclass(frozen=True)
class Step:
    """One iteration of a run: its gap is (f - f*) / f*, and `rows` is how many the run has."""

    recipe: str
    seed: int
    dataset: int
    solver: str
    manifold: str
    rows: int
    iteration: int
    gap: float
    seconds: float


KEY = tuple(field.name for field in fields(TracedRun))
COLUMNS = tuple(field.name for field in fields(Step))


def traced_runs(datasets: int, recipe: str, seed: int) -> list[TracedRun]:
    """Every run of figure 4."""
    pairs = [*PAIRS, *((solver, "grassmann") for solver in SOLVERS)]
    return [
        TracedRun(recipe, seed, dataset, solver, manifold)
        for dataset in range(datasets)
        for solver, manifold in dict.fromkeys(pairs)
    ]


def traced_rows(run: TracedRun) -> Sequence[Row]:
    """The iterations of one run."""
    rng = np.random.default_rng([run.seed, RECIPES.index(run.recipe), run.dataset])
    objective = PCA()
    data = as_data(objective, pca(D, R, rng, run.recipe, N).X, None)
    problem = objective.bind(data, R)
    best = problem.at(problem.closed_form()).value
    start = problem.random_point(rng)
    done = minimise(_on(problem, run), start, NATIVE[run.solver]())
    history = done.history
    values = _as_pca(problem, np.array(history["value"]), run.solver)
    return [
        dict(
            zip(
                COLUMNS,
                (*_fields(run), len(values), int(i), _short((f - best) / best), _short(s)),
                strict=True,
            )
        )
        for i, f, s in zip(history["iteration"], values.tolist(), history["seconds"], strict=True)
    ]


def _short(x: float) -> float:
    """To four digits: all that a figure shows, and a smaller table."""
    return float(f"{x:.4g}")


def _fields(run: TracedRun) -> tuple[str, int, int, str, str]:
    return run.recipe, run.seed, run.dataset, run.solver, run.manifold


class _Ratio(PCA):
    """pca as a ratio, which is maximised."""

    sense = "max"


def _on(problem: Trace, run: TracedRun) -> BoundObjective:
    """The problem on the run's manifold, and as a trace ratio where the solver knows only those.

    On Stiefel f is the same function, constant along M -> MQ; as a ratio pca is tr(M'CM)/tr(M'M).
    """
    if run.solver == SelfConsistentField.name:
        return TraceRatio(_Ratio(), problem.views, np.asarray(problem.A), np.eye(D), R)
    if run.manifold == "stiefel":
        problem = copy.copy(problem)
        vars(problem).update(manifold=Stiefel(D, R))
    return problem


def _as_pca(problem: Trace, values: Array, solver: str) -> Array:
    """Minus the ratio tr(M'AM)/r as pca's own function."""
    return (
        problem.offset + problem.scale * R * values
        if solver == SelfConsistentField.name
        else values
    )
