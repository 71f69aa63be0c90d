"""The verbs `test`, `dimension` and `bootstrap`: what is more than chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldr.cli.inputs import files_read, opened
from ldr.cli.options import (
    Cluster,
    DataFile,
    Dimensions,
    DrawnSeed,
    Json,
    ObjectiveName,
    Picture,
    Report,
    Selection,
)
from ldr.cli.printing import check_outputs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.plots.drawn import DrawnFinding


def test(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimensions = 2,
    selection: Selection,
    permutations: Annotated[int, typer.Option(metavar="NUMBER")] = 999,
    null: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="What is permuted: auto, response, 'second view', background, columns, rows, "
            "shift.",
        ),
    ] = "auto",
    seed: DrawnSeed = None,
    plot: Picture = None,
    report: Report = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Whether an optimum is more than what is found where there is nothing."""
    import ldr
    from ldr.observers import Bar

    check_outputs({"--plot": plot, "--report": report}, files_read(objective, data, selection))
    with opened(objective, data, selection, cluster) as given, Bar():
        found = ldr.permutation_test(
            given.objective,
            given.X,
            r,
            y=given.y,
            **given.options,
            permutations=permutations,
            null=null,
            random_state=seed,
        )
    summary = {
        "value": found.value,
        "p_value": found.p_value,
        "error": found.error,
        "p_values": found.p_values,
        "permutations": len(found.null),
        "null": found.kind,
    }
    _say(found, summary, as_json, plot, report, data.name)


def dimension(
    *,
    objective: ObjectiveName,
    data: DataFile,
    selection: Selection,
    method: Annotated[
        str,
        typer.Option(metavar="RULE", help="auto, permutation, ladle, bic, folds or parallel."),
    ] = "auto",
    most: Annotated[int | None, typer.Option(metavar="R", help="The largest to look at.")] = None,
    seed: DrawnSeed = None,
    plot: Picture = None,
    report: Report = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """How many directions there are, by the rule that fits the method."""
    import ldr
    from ldr.observers import Bar

    check_outputs({"--plot": plot, "--report": report}, files_read(objective, data, selection))
    with opened(objective, data, selection, cluster) as given, Bar():
        found = ldr.dimension(
            given.objective,
            given.X,
            given.y,
            **given.options,
            method=method,
            most=most,
            random_state=seed,
        )
    summary = {
        "r": found.r,
        "rule": found.rule,
        "criterion": found.criterion,
        "candidates": found.candidates.tolist(),
        "scores": found.scores.tolist(),
    }
    _say(found, summary, as_json, plot, report, data.name)


def bootstrap(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimensions = 2,
    selection: Selection,
    draws: Annotated[int, typer.Option(metavar="NUMBER")] = 200,
    block: Annotated[
        int | None, typer.Option(metavar="ROWS", help="Rows drawn together, of time series.")
    ] = None,
    bca: Annotated[bool, typer.Option("--bca", help="Mend bias and skewness.")] = False,
    seed: DrawnSeed = None,
    plot: Picture = None,
    report: Report = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """How firmly the data hold the projection: angles, and an interval for every entry."""
    import ldr
    from ldr.objectives.data.data import as_tuple
    from ldr.observers import Bar

    check_outputs({"--plot": plot, "--report": report}, files_read(objective, data, selection))
    with opened(objective, data, selection, cluster) as given, Bar():
        found = ldr.bootstrap(
            given.objective,
            given.X,
            r,
            y=given.y,
            **given.options,
            draws=draws,
            block=block,
            bca=bca,
            random_state=seed,
        )
    ends = found.interval()
    summary = {
        "value": found.result.value,
        "values": found.values.tolist(),
        "region": found.region(),
        "intervals": [
            {"low": low.tolist(), "P": P.tolist(), "high": high.tolist()}
            for (low, high), P in zip(
                ends if isinstance(found.result.P, tuple) else (ends,),
                as_tuple(found.result.P),
                strict=True,
            )
        ],
    }
    _say(found, summary, as_json, plot, report, data.name, found.plot_loadings)


def _say(
    found: DrawnFinding,
    summary: Mapping[str, object],
    as_json: bool,
    plot: Path | None,
    report: Path | None,
    data_name: str,
    draw: Callable[[], Figure] | None = None,
) -> None:
    """Write the picture and the page, and print what was found."""
    from ldr.io.outputs import write_figure
    from ldr.report import write_finding

    draw = draw or found.plot
    if plot is not None:
        write_figure(plot, draw())
    if report is not None:
        write_finding(report, found, figure=draw(), data_name=data_name)
    print(json.dumps(summary, allow_nan=False, indent=2) if as_json else found)
