"""The verbs `solve`, `path` and `compare`, and `test`, `dimension` and `bootstrap`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldr.cli.inputs import (
    files_read,
    load,
    names_in,
    one_line_each,
    opened,
    rows_of,
    start_of,
)
from ldr.cli.options import (
    Cluster,
    DataFile,
    Dimension,
    Dimensions,
    Exit,
    Json,
    ObjectiveName,
    Seed,
    Selection,
    check_outputs,
    print_result,
)
from ldr.types import Argument
from ldr.validation import finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.inference.bootstrap import Bootstrap
    from ldr.inference.dimension import Dimension
    from ldr.inference.permutation import PermutationTest


def solve(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimension = "2",
    selection: Selection,
    start: Annotated[
        str, typer.Option(metavar="baseline|random|FILE", help="Of the solver; FILE is .npy.")
    ] = "baseline",
    seed: Seed = None,
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
    **further: Argument,
) -> None:
    """Find the projection of a file's rows that optimises an objective.

    Prints the value, the heuristic's value, the improvement and what is known of optimality.
    """
    import ldr
    from ldr.io.files import write_figure, write_projection
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
                start=start_of(start),
                random_state=seed,
                observers=[progress],
                **further,
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
        _print_json({**result.summary(), "written": written})
    else:
        print_result(result, data.name, written)
    if not result.converged:
        print(f"ldr: not converged: {result.message}", file=sys.stderr)
        interrupted = result.status is Status.INTERRUPTED
        raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.FAILED)


def compare(
    *,
    data: DataFile,
    methods: Annotated[
        str, typer.Option(metavar="A,B,...", help="By default those that fit what is given.")
    ] = "",
    r: Dimension = "2",
    selection: Selection,
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The projections side by side: .png, .pdf or .svg."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Table, words and picture: .html.")
    ] = None,
    as_json: Json = False,
    **further: Argument,
) -> None:
    """Compare methods, and their heuristics, on rows that they did not see."""
    import ldr
    from ldr.errors import ArgumentError
    from ldr.io.files import write_figure
    from ldr.observers import Bar
    from ldr.report import write_comparison

    if selection.param:
        raise ArgumentError("compare takes no --param")
    check_outputs({"--plot": plot, "--report": report}, files_read("", data, selection))
    with one_line_each():
        X, y, _, options = rows_of(data, selection, allow_nan=True)
        chosen = [load(name, None) for name in names_in(methods)] or None
        with Bar():
            found = ldr.compare(chosen, X, y, r, random_state=seed, **options, **further)
        if plot is not None:
            write_figure(plot, found.plot())
        if report is not None:
            write_comparison(report, found, data_name=data.name)
    if as_json:
        _print_json(
            {
                "records": [
                    {name: x if isinstance(x, str) else finite(x) for name, x in row.items()}
                    for row in found.records
                ],
                "findings": found.findings,
                "left_out": dict(found.left_out),
                "notes": list(found.notes),
                "why": {method.name: method.why for method in found.methods},
                "folds": found.folds,
            }
        )
    else:
        print(found)
        for path in (plot, report):
            if path is not None:
                print(f"written {path}")
    if any(not method.result.converged for method in found.methods):
        raise typer.Exit(Exit.FAILED)


def _print_json(summary: Mapping[str, object]) -> None:
    print(json.dumps(summary, allow_nan=False, indent=2))


@dataclass(frozen=True)
class Inquiry:
    """Options for the seed, the cluster that reads the files, and the outputs."""

    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Of permutations, folds and draws.")
    ] = None
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The picture: .png, .pdf or .svg.")
    ] = None
    cluster: Cluster = ""
    as_json: Json = False

    @property
    def outputs(self) -> dict[str, Path | None]:
        """The files that are written, by their options."""
        return {"--plot": self.plot}

    def ask(
        self,
        function: Callable[..., Any],
        objective: str,
        data: Path,
        selection: Selection,
        *r: Argument,
        **options: Argument,
    ) -> Any:
        """Call a function, after checking that its result can be written."""
        from ldr.observers import Bar

        check_outputs(self.outputs, files_read(objective, data, selection))
        with opened(objective, data, selection, self.cluster) as given, Bar():
            options |= {**given.options, "y": given.y, "random_state": self.seed}
            return function(given.objective, given.X, *r, **options)

    def answer(
        self,
        found: Argument,
        summary: Mapping[str, object],
        draw: Callable[[], Figure] | None = None,
    ) -> None:
        """Write the picture, and print what was found."""
        from ldr.io.files import write_figure

        if self.plot is not None:
            write_figure(self.plot, (draw or found.plot)())
        if self.as_json:
            _print_json(summary)
        else:
            print(found)


@dataclass(frozen=True)
class Reported(Inquiry):
    """An inquiry whose answer is a page too."""

    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What was found, with its picture: .html.")
    ] = None

    @property
    def outputs(self) -> dict[str, Path | None]:
        return {"--plot": self.plot, "--report": self.report}

    def tell(
        self,
        found: Bootstrap | Dimension | PermutationTest,
        summary: Mapping[str, object],
        data: Path,
        draw: Callable[[], Figure] | None = None,
    ) -> None:
        """Write the page too."""
        from ldr.report import write_finding

        if self.report is not None:
            figure = (draw or found.plot)()
            write_finding(self.report, found, figure=figure, data_name=data.name)
        self.answer(found, summary, draw)


def path(
    *,
    objective: ObjectiveName,
    data: DataFile,
    dimensions: Annotated[
        str, typer.Option("-r", "--r", metavar="A-B|A:B|A,B,...", help="Dimensions to solve for.")
    ] = "1-5",
    selection: Selection,
    inquiry: Inquiry,
    **further: Argument,
) -> None:
    """Solve for several dimensions, to choose one."""
    import ldr

    order, folds = _dimensions(dimensions), further.get("folds")
    found = inquiry.ask(ldr.path, objective, data, selection, order, **further)
    summary = {
        "dimensions": list(found.dimensions),
        "elbow": found.elbow,
        "best": found.best,
        "chosen": found.chosen,
        "rule": found.rule,
        "scored_by": found.scored_by,
        "scores": None if found.scores is None else _finite(found.scores),
        "pooled": None if found.pooled is None else _finite(found.pooled),
        "numbers": {name: _finite(each) for name, each in found.numbers.items()},
        "notes": list(found.notes),
        "results": [result.summary() for result in found.results],
    }
    inquiry.answer(found, summary)
    scored = 0 if found.scores is None else found.scores.shape[1]
    wanted = [r for r in order if r > 0]
    if len(found.results) < len(wanted) or (folds is not None and scored == 0):
        done = f"{len(found.results)} of {len(wanted)} dimensions"
        parts = f" and {scored} of {folds} folds" if folds else ""
        print(f"ldr: interrupted after {done}{parts}", file=sys.stderr)
        raise typer.Exit(Exit.INTERRUPTED)
    failed = [str(result.r) for result in found.results if not result.converged]
    if failed:
        print(f"ldr: not converged: r = {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(Exit.FAILED)


def _finite(numbers: Argument) -> Argument:
    """Nested lists, None in the place of what is not finite."""
    return [finite(each) if each.ndim == 0 else _finite(each) for each in numbers]


def _dimensions(text: str) -> list[int]:
    """``1-5``, ``1:5`` or ``1,2,5`` as numbers."""
    range_ = re.fullmatch(r"(\d+)[-:](\d+)", text)
    try:
        if range_:
            return list(range(int(range_[1]), int(range_[2]) + 1))
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"-r {text!r}, expected A-B, A:B or A,B,...") from None


def test(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimensions = 2,
    selection: Selection,
    inquiry: Reported,
    **further: Argument,
) -> None:
    """Whether an optimum is more than what is found where there is nothing."""
    import ldr

    found = inquiry.ask(ldr.permutation_test, objective, data, selection, r, **further)
    summary = {
        "value": found.value,
        "p_value": found.p_value,
        "error": found.error,
        "p_values": found.p_values and [finite(p) for p in found.p_values],
        "permutations": len(found.null),
        "null": found.kind,
    }
    inquiry.tell(found, summary, data)


def dimension(
    *,
    objective: ObjectiveName,
    data: DataFile,
    selection: Selection,
    inquiry: Reported,
    **further: Argument,
) -> None:
    """How many directions there are, by the rule that fits the method."""
    import ldr

    found = inquiry.ask(ldr.dimension, objective, data, selection, **further)
    summary = {
        "r": found.r,
        "rule": found.rule,
        "criterion": found.criterion,
        "candidates": found.candidates.tolist(),
        "scores": [finite(score) for score in found.scores.tolist()],
        "notes": list(found.notes),
    }
    inquiry.tell(found, summary, data)


def bootstrap(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimensions = 2,
    selection: Selection,
    draws: Annotated[int, typer.Option(metavar="NUMBER")] = 200,
    inquiry: Reported,
    **further: Argument,
) -> None:
    """How far the projection moves over resampled data: angles, an interval for every entry."""
    import ldr
    from ldr.objectives.data.data import as_tuple

    options = {"draws": draws, **further}
    found = inquiry.ask(ldr.bootstrap, objective, data, selection, r, **options)
    ends = found.interval()
    ends = ends if isinstance(found.result.P, tuple) else (ends,)
    summary = {
        "value": found.result.value,
        "values": found.values.tolist(),
        "region": found.region(),
        "intervals": [
            {"low": low.tolist(), "P": P.tolist(), "high": high.tolist()}
            for (low, high), P in zip(ends, as_tuple(found.result.P), strict=True)
        ],
    }
    inquiry.tell(found, summary, data, found.plot_loadings)
