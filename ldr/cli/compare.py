"""The verb `compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldr.cli.inputs import files_read, load, names_in, one_line_each, rows_of
from ldr.cli.options import DataFile, Dimension, Json, Seed, Selection
from ldr.cli.printing import FAILED, check_outputs
from ldr.numbers import finite

if TYPE_CHECKING:
    from ldr.comparison import Comparison


def compare(
    *,
    data: DataFile,
    methods: Annotated[
        str, typer.Option(metavar="A,B,...", help="By default those that fit what is given.")
    ] = "",
    r: Dimension = "2",
    selection: Selection,
    time_order: Annotated[
        bool, typer.Option("--time-order", help="The rows are a time series.")
    ] = False,
    folds: Annotated[
        int, typer.Option(metavar="NUMBER", help="Held-out parts of the rows to judge by.")
    ] = 5,
    seed: Seed = 0,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", help="Starts solved at the same time; -1: all cores.")
    ] = 1,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Of each solution.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The projections side by side: .png, .pdf or .svg."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table, words and picture: .html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare methods, and their heuristics, on rows that they did not see."""
    import ldr
    from ldr.errors import ArgumentError
    from ldr.io.outputs import write_figure
    from ldr.observers import Bar
    from ldr.report import write_comparison

    if selection.param:
        raise ArgumentError("compare takes no --param")
    check_outputs({"--plot": plot, "--report": report}, files_read("", data, selection))
    with one_line_each():
        X, y, _, options = rows_of(data, selection, allow_nan=True)
        with Bar():
            found = ldr.compare(
                [load(name, None) for name in names_in(methods)] or None,
                X,
                y,
                r,
                folds=folds,
                **options,
                time_order=time_order,
                workers=workers,
                time_limit=time_limit,
                random_state=seed,
            )
        if plot is not None:
            write_figure(plot, found.plot())
        if report is not None:
            write_comparison(report, found, data_name=data.name)
    if as_json:
        print(json.dumps(_plain(found), allow_nan=False, indent=2))
    else:
        print(found)
        for path in (plot, report):
            if path is not None:
                print(f"written {path}")
    if any(not method.result.converged for method in found.methods):
        raise typer.Exit(FAILED)


def _plain(found: Comparison) -> dict[str, object]:
    """A comparison as what JSON can hold."""
    return {
        "records": [
            {name: cell if isinstance(cell, str) else finite(cell) for name, cell in row.items()}
            for row in found.records
        ],
        "findings": found.findings,
        "left_out": dict(found.left_out),
        "why": {method.name: method.why for method in found.methods},
        "folds": found.folds,
    }
