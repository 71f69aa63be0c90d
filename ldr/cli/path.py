"""The verb `path`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from ldr.cli.inputs import files_read, opened
from ldr.cli.options import Cluster, DataFile, Json, ObjectiveName, Seed, Selection, SolverName
from ldr.cli.printing import FAILED, INTERRUPTED, check_outputs


def path(
    *,
    objective: ObjectiveName,
    data: DataFile,
    dimensions: Annotated[
        str, typer.Option("-r", "--r", metavar="A-B|A:B|A,B,...", help="Dimensions to solve for.")
    ] = "1-5",
    selection: Selection,
    solver: SolverName = "auto",
    starts: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="For each dimension.")
    ] = None,
    seed: Seed = None,
    folds: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Score on so many held-out folds.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The curve: .png, .pdf or .svg.")
    ] = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Solve for several dimensions, to choose one."""
    import ldr
    from ldr.io.outputs import write_figure
    from ldr.observers import Bar

    check_outputs({"--plot": plot}, files_read(objective, data, selection))
    order = _dimensions(dimensions)
    with opened(objective, data, selection, cluster) as given, Bar():
        found = ldr.path(
            given.objective,
            given.X,
            order,
            y=given.y,
            **given.options,
            folds=folds,
            solver=solver,
            starts=starts,
            random_state=seed,
        )
    if plot is not None:
        write_figure(plot, found.plot())
    if as_json:
        summary = {
            "dimensions": list(found.dimensions),
            "elbow": found.elbow,
            "best": found.best,
            "scores": None if found.scores is None else found.scores.tolist(),
            "results": [result.summary() for result in found.results],
        }
        print(json.dumps(summary, allow_nan=False, indent=2))
    else:
        print(found)
    scored = 0 if found.scores is None else found.scores.shape[1]
    if len(found.results) < len(order) or scored < (folds or 0):
        done = f"{len(found.results)} of {len(order)} dimensions"
        parts = f" and {scored} of {folds} folds" if folds else ""
        print(f"ldr: interrupted after {done}{parts}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    failed = [str(result.r) for result in found.results if not result.converged]
    if failed:
        print(f"ldr: not converged: r = {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(FAILED)


def _dimensions(text: str) -> list[int]:
    """``1-5``, ``1:5`` or ``1,2,5`` as numbers."""
    range_ = re.fullmatch(r"(\d+)[-:](\d+)", text)
    try:
        if range_:
            return list(range(int(range_[1]), int(range_[2]) + 1))
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"-r {text!r}, expected A-B, A:B or A,B,...") from None
