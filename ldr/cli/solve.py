"""The verbs that ask functions of `ldr`: solve, path, compare, test, dimension and bootstrap."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ldr.cli.inputs import files_read, load, names_in, one_line_each, opened, rows_of, start_of
from ldr.cli.options import Exit, Inquiry, Selection, Solving, check_outputs, print_rows
from ldr.types import Argument
from ldr.validation import finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def solve(
    objective: str, data: Path, selection: Selection, inquiry: Solving, r: Any = "2", **more: Any
) -> None:
    """Find the projection of a file's rows that optimises an objective.

    Prints the value, the heuristic's value, the improvement and what is known of optimality.
    """
    import ldr
    from ldr.io.files import write_figure, write_projection
    from ldr.objectives.data.data import as_tuple
    from ldr.observers import Progress
    from ldr.report import write_report
    from ldr.solvers.status import Status

    check_outputs(inquiry.outputs, files_read(objective, data, selection, inquiry.start))
    with opened(objective, data, selection, inquiry.cluster) as given:
        with Progress() as progress:
            options: dict[str, Any] = {**given.options, **more, "observers": [progress]}
            options |= {"start": start_of(inquiry.start), "random_state": inquiry.seed}
            result = ldr.solve(given.objective, given.X, r, y=given.y, **options)
        colour = given.y if given.y is not None and given.y.ndim == 1 else None
        if inquiry.out is not None:
            write_projection(inquiry.out, result, given.shown)
        if inquiry.save is not None:
            result.save(inquiry.save)
        if inquiry.plot is not None:
            write_figure(inquiry.plot, result.plot_projection(given.shown, colour))
        if inquiry.report is not None:
            write_report(inquiry.report, result, given.shown, colour, data_name=data.name)
    written = list(map(str, inquiry.outputs.values()))
    if inquiry.as_json:
        _print_json({**result.summary(), "written": written})
    else:
        shapes = " x ".join(str(len(M)) for M in as_tuple(result.M))
        print(f"{data.name}: {result.objective!r}, {shapes} -> {result.r}\n")
        rows = [("objective", result.objective.formula), ("value", f"{result.value:.12g}")]
        print_rows([*rows, *result._figures(), *(("written", path) for path in written)])
    if not result.converged:
        print(f"ldr: not converged: {result.message}", file=sys.stderr)
        interrupted = result.status is Status.INTERRUPTED
        raise typer.Exit(Exit.INTERRUPTED if interrupted else Exit.FAILED)


def compare(
    data: Path, selection: Selection, inquiry: Inquiry, methods: str = "", r: Any = "2", **more: Any
) -> None:
    """Compare methods, and their heuristics, on rows that they did not see."""
    import ldr
    from ldr.errors import ArgumentError
    from ldr.io.files import write_figure
    from ldr.observers import Bar
    from ldr.report import write_comparison

    if selection.param or inquiry.cluster:
        raise ArgumentError(f"compare takes no {'--param' if selection.param else '--cluster'}")
    check_outputs(inquiry.outputs, files_read("", data, selection))
    with one_line_each():
        X, y, _, options = rows_of(data, selection, allow_nan=True)
        chosen = [load(name, None) for name in names_in(methods)] or None
        with Bar():
            options |= {"random_state": inquiry.seed or 0, **more}
            found = ldr.compare(chosen, X, y, r, **options)
        if inquiry.plot is not None:
            write_figure(inquiry.plot, found.plot())
        if inquiry.report is not None:
            write_comparison(inquiry.report, found, data_name=data.name)
    if inquiry.as_json:
        _print_json(
            {
                "records": found.records,
                "findings": found.findings,
                "left_out": dict(found.left_out),
                "notes": found.notes,
                "why": {method.name: method.why for method in found.methods},
                "folds": found.folds,
            }
        )
    else:
        print("\n".join([str(found), *(f"written {path}" for path in inquiry.outputs.values())]))
    if any(not method.result.converged for method in found.methods):
        raise typer.Exit(Exit.FAILED)


def _print_json(summary: Mapping[str, object]) -> None:
    print(json.dumps(_plain(summary), allow_nan=False, indent=2))


def _plain(value: Argument) -> Argument:
    """What JSON can hold: lists for arrays, None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return finite(value) if isinstance(value, float) else value


def _ask(
    function: Callable[..., Any],
    objective: str,
    data: Path,
    selection: Selection,
    inquiry: Inquiry,
    *r: Argument,
    **options: Argument,
) -> Any:
    """Call a function on the rows of a file, after checking that its result can be written."""
    from ldr.observers import Bar

    check_outputs(inquiry.outputs, files_read(objective, data, selection))
    with opened(objective, data, selection, inquiry.cluster) as given, Bar():
        options |= {**given.options, "y": given.y, "random_state": inquiry.seed}
        return function(given.objective, given.X, *r, **options)


def _answer(
    found: Argument,
    summary: Mapping[str, object],
    inquiry: Inquiry,
    data: Path,
    draw: Callable[[], Figure] | None = None,
) -> None:
    """Write the picture and the page, and print what was found."""
    from ldr.io.files import write_figure
    from ldr.report import write_finding

    if inquiry.report is not None:
        figure = (draw or found.plot)()
        write_finding(inquiry.report, found, figure=figure, data_name=data.name)
    if inquiry.plot is not None:
        write_figure(inquiry.plot, (draw or found.plot)())
    if inquiry.as_json:
        _print_json(summary)
    else:
        print(found)


def path(
    objective: str,
    data: Path,
    selection: Selection,
    inquiry: Inquiry,
    dimensions: Any = "1-5",
    **more: Any,
) -> None:
    """Solve for several dimensions, to choose one."""
    import ldr
    from ldr.errors import ArgumentError

    if inquiry.report is not None:
        raise ArgumentError("path takes no --report")
    found = _ask(ldr.path, objective, data, selection, inquiry, dimensions, **more)
    names = ("dimensions", "elbow", "best", "chosen", "rule", "scored_by", "scores", "pooled")
    summary = {name: getattr(found, name) for name in (*names, "numbers", "notes")}
    summary["results"] = [result.summary() for result in found.results]
    _answer(found, summary, inquiry, data)
    folds, scored = more.get("folds"), 0 if found.scores is None else found.scores.shape[1]
    wanted = [r for r in dimensions if r > 0]
    if len(found.results) < len(wanted) or (folds is not None and scored == 0):
        done = f"{len(found.results)} of {len(wanted)} dimensions"
        parts = f" and {scored} of {folds} folds" if folds else ""
        print(f"ldr: interrupted after {done}{parts}", file=sys.stderr)
        raise typer.Exit(Exit.INTERRUPTED)
    failed = [str(result.r) for result in found.results if not result.converged]
    if failed:
        print(f"ldr: not converged: r = {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(Exit.FAILED)


def test(
    objective: str, data: Path, selection: Selection, inquiry: Inquiry, r: int = 2, **more: Any
) -> None:
    """Test by permutations whether the optimum is larger than under the null hypothesis."""
    import ldr

    found = _ask(ldr.permutation_test, objective, data, selection, inquiry, r, **more)
    summary = {name: getattr(found, name) for name in ("value", "p_value", "error", "p_values")}
    _answer(found, {**summary, "permutations": len(found.null), "null": found.kind}, inquiry, data)


def dimension(
    objective: str, data: Path, selection: Selection, inquiry: Inquiry, **more: Any
) -> None:
    """Say how many directions there are, by the rule that fits the method."""
    import ldr

    found = _ask(ldr.dimension, objective, data, selection, inquiry, **more)
    names = ("r", "rule", "criterion", "candidates", "scores", "notes")
    _answer(found, {name: getattr(found, name) for name in names}, inquiry, data)


def bootstrap(
    objective: str,
    data: Path,
    selection: Selection,
    inquiry: Inquiry,
    r: int = 2,
    draws: int = 200,
    **more: Any,
) -> None:
    """Give each entry of the projection an interval, by drawing the rows again."""
    import ldr
    from ldr.objectives.data.data import as_tuple

    options = {"draws": draws, **more}
    found = _ask(ldr.bootstrap, objective, data, selection, inquiry, r, **options)
    ends, maps = found.interval(), as_tuple(found.result.P)
    ends = ends if isinstance(found.result.P, tuple) else (ends,)
    summary = {"value": found.result.value, "values": found.values, "region": found.region()}
    summary["intervals"] = [
        {"low": low, "P": P, "high": high} for (low, high), P in zip(ends, maps, strict=True)
    ]
    _answer(found, summary, inquiry, data, found.plot_loadings)
