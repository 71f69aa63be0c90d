"""The verb `solve`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ldr.cli.inputs import files_read, opened, start_of
from ldr.cli.options import (
    Cluster,
    DataFile,
    Dimension,
    Json,
    ObjectiveName,
    Seed,
    Selection,
    SolverName,
)
from ldr.cli.printing import FAILED, INTERRUPTED, check_outputs, print_result


def solve(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimension = "2",
    selection: Selection,
    solver: SolverName = "auto",
    start: Annotated[
        str, typer.Option(metavar="baseline|random|FILE", help="Of the solver; FILE is .npy.")
    ] = "baseline",
    starts: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="The objective's own first, then random ones."),
    ] = None,
    seed: Seed = None,
    max_iterations: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Of the solver, at most.")
    ] = None,
    device: Annotated[
        str, typer.Option(metavar="cpu|gpu", help="Where sums over the rows are computed.")
    ] = "cpu",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The projected rows: .csv, .tsv, .parquet or .npy; with the map .npz or .mat.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Their picture: .png, .pdf or .svg.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="All figures and pictures: .html.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The model, for `transform` and `impute`: .npz."),
    ] = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Find the projection of a file's rows that optimises an objective.

    Prints the value, the heuristic's value, the improvement and what is known of optimality.
    """
    import ldr
    from ldr.io.files import write_projection
    from ldr.io.outputs import write_figure
    from ldr.observers import Progress
    from ldr.report import write_report
    from ldr.solvers.status import Status

    outputs = {"--out": out, "--plot": plot, "--report": report, "--save": save}
    check_outputs(outputs, files_read(objective, data, selection, start))
    with opened(objective, data, selection, cluster) as given:
        with Progress() as progress:
            result = ldr.solve(
                given.objective,
                given.X,
                r,
                y=given.y,
                **given.options,
                solver=solver,
                start=start_of(start),
                starts=starts,
                max_iterations=max_iterations,
                random_state=seed,
                device=device,
                observers=[progress],
            )
        colour = given.y if given.y is not None and given.y.ndim == 1 else None
        if out is not None:
            write_projection(out, result, given.shown)
        if save is not None:
            result.save(save)
        if plot is not None:
            write_figure(plot, result.plot_projection(given.shown, colour))
        if report is not None:
            write_report(report, result, given.shown, colour, data_name=data.name)
    written = [str(path) for path in outputs.values() if path is not None]
    if as_json:
        print(json.dumps({**result.summary(), "written": written}, allow_nan=False, indent=2))
    else:
        print_result(result, data.name, written)
    if not result.converged:
        print(f"ldr: not converged: {result.message}", file=sys.stderr)
        interrupted = result.status is Status.INTERRUPTED
        raise typer.Exit(INTERRUPTED if interrupted else FAILED)
