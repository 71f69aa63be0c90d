"""``python -m experiments``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

import ldr
from experiments.jmlr2015 import convergence, figures, medians, planar, sweeps
from experiments.jmlr2015 import verdict as judgement
from experiments.jmlr2015.recipes import METHODS, OBJECTIVES, RECIPES
from experiments.machine import store as tables
from experiments.machine.runner import run_jobs, stop_at_ctrl_c
from experiments.other_papers import (
    guided_tour,
    probabilistic,
    random_projection,
    trace_optimization,
)
from experiments.other_papers.papers import COLUMNS, KEY, Experiment, job_rows

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Reruns of the comparisons of Cunningham and Ghahramani, JMLR 16 (2015), and of the "
    "experiments of other papers.",
)

EXPERIMENTS = (
    guided_tour.EXPERIMENT,
    probabilistic.EXPERIMENT,
    random_projection.EXPERIMENT,
    trace_optimization.EXPERIMENT,
)

RESULTS = Path(__file__).parent / "results"


class RecipeName(StrEnum):
    """Of the data."""

    CODE = "reference-code"
    TEXT = "paper-text"


class BaselineName(StrEnum):
    """maf's heuristic."""

    PUBLISHED = "as-published"
    TRUE = "true-eigenvectors"


Quick = Annotated[
    bool, typer.Option("--quick", help="Small dimensions and few data sets: two minutes.")
]
Recipe = Annotated[
    RecipeName | None, typer.Option(help="Only data of this recipe; both by default.")
]
Baseline = Annotated[
    BaselineName | None,
    typer.Option(help="Only figure 2 with this heuristic of maf; both by default."),
]
Seed = Annotated[int, typer.Option(min=0, help="Of all data.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes of one thread; 0: one for each core.")]
Out = Annotated[Path | None, typer.Option(help=f"Folder; {RESULTS.name}, or {RESULTS.name}/quick.")]


class Session:
    """The options of a run, and where its tables and figures go."""

    def __init__(
        self,
        quick: bool,
        recipe: RecipeName | None,
        baseline: BaselineName | None,
        seed: int,
        workers: int,
        out: Path | None,
    ) -> None:
        self.extent = sweeps.QUICK if quick else sweeps.FULL
        # The paper's own recipe for random data is first, because the published figures use it.
        self.recipes = [recipe.value] if recipe else [name.value for name in RecipeName]
        self.baselines = [baseline.value] if baseline else [name.value for name in BaselineName]
        self.seed = seed
        self.workers = workers or os.cpu_count() or 1
        self.out = out or (RESULTS / "quick" if quick else RESULTS)
        self.console = Console()
        self.failures: list[str] = []

    def run(
        self,
        name: str,
        columns: Sequence[str],
        key: Sequence[str],
        stages: Sequence[tuple[str, Sequence[Any]]],
        work: Callable[[Any], Sequence[tables.Row]],
        cost: Callable[[Any], float] = lambda job: 1.0,
    ) -> None:
        """Run what a table lacks, stage by stage."""
        store = tables.Store(self.out / f"{name}.csv", columns, key)
        for title, jobs in stages:
            self.failures += run_jobs(store, jobs, work, cost, self.workers, title, self.console)

    def table(self, name: str) -> tables.Table:
        """What the runs of this seed have found so far."""
        return tables.Table.read(self.out / f"{name}.csv").where(seed=self.seed)

    def close(self) -> None:
        """Say where everything is; leave with an error if a run failed."""
        _close(self.console, self.out, self.failures)


def _close(console: Console, folder: Path, failures: Sequence[str]) -> None:
    console.print(f"tables and figures: {folder}", markup=False)
    if failures:
        console.print(f"{len(failures)} run(s) failed; run again to repeat them")
        raise typer.Exit(1)


def _run_planar(session: Session) -> None:
    stages = [
        (
            f"figure 1, {recipe}",
            [
                planar.PlanarCase(recipe, session.seed, dataset)
                for dataset in range(session.extent.searched)
            ],
        )
        for recipe in session.recipes
    ]
    session.run("figure1", planar.COLUMNS, planar.KEY, stages, planar.planar_rows)


def _run_sweeps(session: Session) -> None:
    stages = [
        (f"figures 2 and 3, {recipe}", sweeps.sweep_cases(session.extent, recipe, session.seed))
        for recipe in session.recipes
    ]
    session.run("sweeps", sweeps.COLUMNS, sweeps.KEY, stages, sweeps.sweep_rows, sweeps.sweep_cost)


def _run_convergence(session: Session) -> None:
    runs = convergence.traced_runs(session.extent.traced, session.recipes[0], session.seed)
    stages = [(f"figure 4, {session.recipes[0]}", runs)]
    session.run("figure4", convergence.COLUMNS, convergence.KEY, stages, convergence.traced_rows)


def _run_further(session: Session) -> None:
    if RecipeName.CODE in session.recipes:
        stages = [("further data sets of maf", medians.further_cases(session.extent, session.seed))]
        run = (stages, medians.further_rows, medians.further_cost)
        session.run("medians", medians.COLUMNS, medians.KEY, *run)


def _draw1(session: Session) -> None:
    for recipe in session.recipes:
        figures.figure1(session.table("figure1"), recipe, session.out)


def _draw2(session: Session) -> None:
    for recipe in session.recipes:
        for baseline in session.baselines:
            figures.figure2(session.table("sweeps"), recipe, baseline, session.out)


def _draw3(session: Session) -> None:
    for recipe in session.recipes:
        figures.figure3(session.table("sweeps"), recipe, session.out)


def _draw4(session: Session) -> None:
    figures.figure4(session.table("figure4"), session.recipes[0], session.out)


_TABLES = ("sweeps", "figure1", "figure4", "medians")


def _judge(session: Session) -> None:
    report = judgement.judge(*(session.table(name) for name in _TABLES))
    report.write(session.out)
    report.show(session.console)


def _command(name: str, help_text: str, *steps: Callable[[Session], None]) -> None:
    """A command of the usual options that takes these steps."""

    def command(
        quick: Quick = False,
        recipe: Recipe = None,
        baseline: Baseline = None,
        seed: Seed = 0,
        workers: Workers = 0,
        out: Out = None,
    ) -> None:
        session = Session(quick, recipe, baseline, seed, workers, out)
        for step in steps:
            step(session)
        session.close()

    app.command(name, help=help_text)(command)


_command("figure1", "LDA projections: a small and a stark difference.", _run_planar, _draw1)
_command("figure2", "Improvement over the heuristics.", _run_sweeps, _draw2)
_command("figure3", "Seconds and iterations.", _run_sweeps, _draw3)
_command("figure4", "Convergence of the solvers on PCA.", _run_convergence, _draw4)
_command("verdict", "Judge the claims from the tables there are; run nothing.", _judge)
_command(
    "all",
    "All four figures and the verdict. A stopped run continues where it was.",
    _run_planar,
    _draw1,
    _run_convergence,
    _draw4,
    _run_sweeps,
    _draw2,
    _draw3,
    _run_further,
    _judge,
)


def _paper_command(experiment: Experiment) -> None:
    """A command that runs an experiment of another paper, draws and judges it."""

    def command(
        quick: Quick = False, seed: Seed = 0, workers: Workers = 0, out: Out = None
    ) -> None:
        folder = out or (RESULTS / "quick" if quick else RESULTS) / experiment.name
        console = Console()
        failures = []
        for part in experiment.parts:
            store = tables.Store(folder / f"{part.name}.csv", COLUMNS, KEY)
            failures += run_jobs(
                store,
                part.jobs(quick, seed),
                job_rows,
                lambda job: 1.0,
                workers or os.cpu_count() or 1,
                f"{experiment.name}, {part.name}",
                console,
            )
        found = {
            part.name: tables.Table.read(folder / f"{part.name}.csv").where(seed=seed)
            for part in experiment.parts
        }
        experiment.draw(found, folder, seed)
        report = experiment.judge(found)
        report.write(folder)
        report.show(console)
        _close(console, folder, failures)

    app.command(experiment.name, help=f"{experiment.title[0].upper()}{experiment.title[1:]}.")(
        command
    )


for _experiment in EXPERIMENTS:
    _paper_command(_experiment)


@app.command()
def recipes(
    seed: Annotated[int, typer.Option(help="Of the data.")] = 0,
    d: Annotated[int, typer.Option("-d", min=2, help="Dimensions of the data.")] = 16,
    r: Annotated[int, typer.Option("-r", min=1, help="Dimensions to reduce to.")] = 3,
) -> None:
    """Solve one data set of every method and recipe, and print what was gained."""
    if r > d:
        raise typer.BadParameter(f"r = {r} is out of range: expected r <= d = {d}")
    table = Table(
        title=f"d = {d}, r = {r}, seed {seed}",
        box=box.SIMPLE_HEAD,
        padding=0,  # without padding the table fits into 80 columns
    )
    for name in ("method", "recipe"):
        table.add_column(name)
    for name in ("heuristic", "optimised", "improvement", "certificate", "seconds"):
        table.add_column(name, justify="right")
    for number, (method, make) in enumerate(METHODS.items()):
        for recipe in RECIPES:
            rng = np.random.default_rng([seed, number, RECIPES.index(recipe)])
            data = make(d, r, rng, recipe)
            result = ldr.solve(OBJECTIVES[method], data.X, r, y=data.y)
            assert result.certificate is not None
            table.add_row(
                method,
                recipe,
                f"{result.baseline:.6g}",
                f"{result.value:.6g}",
                f"{result.improvement:+.5f}",
                result.certificate.kind,
                f"{result.seconds:.3f}",
            )
    Console().print(table)


if __name__ == "__main__":
    stop_at_ctrl_c()
    app(prog_name="python -m experiments")
