"""The command `ldr` and its subcommands.

Exit codes: 0 success; 1 a solver did not converge or a check failed (the result is still printed
and written); 2 an error of the user, reported in one line on standard error; 130 interrupted (the
best result so far is printed and written); 143 terminated. Files are written atomically. A file
that the command reads is never overwritten.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldr.cli.inputs import (
    Input,
    check_needed,
    files_read,
    load,
    located,
    names_in,
    one_line_each,
    opened,
    rows_of,
    start_of,
)
from ldr.cli.options import (
    Exit,
    Inquiry,
    Selection,
    Solving,
    check_outputs,
    complain,
    fitting,
    is_printed,
    print_rows,
    with_options,
)
from ldr.tables import plain
from ldr.types import Argument

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def solve(
    objective: str, data: Path, selection: Selection, inquiry: Solving, r: Any = "2", **more: Any
) -> None:
    """Find the projection of a file's samples that optimises an objective.

    The command prints the value, the baseline's value, the improvement and the certificate.
    """
    import ldr
    from ldr.files import write_figure, write_projection
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
    """Compare methods, and their baselines, on held-out samples."""
    import ldr
    from ldr.errors import ArgumentError
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
        names = ("records", "findings", "left_out", "notes", "folds")
        summary = {name: getattr(found, name) for name in names}
        summary["why"] = {method.name: method.why for method in found.methods}
        _answer(found, summary, inquiry, data, write=write_comparison)
    if any(not method.result.converged for method in found.methods):
        raise typer.Exit(Exit.FAILED)


def _print_json(summary: Mapping[str, object]) -> None:
    print(json.dumps(plain(summary), allow_nan=False, indent=2))


def _ask(
    function: Callable[..., Any],
    objective: str,
    data: Path,
    selection: Selection,
    inquiry: Inquiry,
    *r: Argument,
    **options: Argument,
) -> Any:
    """Call a function on the samples of a file, after checking that its result can be written."""
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
    write: Callable[..., None] | None = None,
) -> None:
    """Write the plot and the HTML report, and print the findings."""
    from ldr.files import write_figure
    from ldr.report import write_finding

    figure = (draw or found.plot)() if inquiry.plot or inquiry.report else None
    if inquiry.report is not None:
        write = write or write_finding
        write(inquiry.report, found, figure=figure, data_name=data.name)
    if inquiry.plot is not None and figure is not None:
        write_figure(inquiry.plot, figure)
    if inquiry.as_json:
        _print_json(summary)
    else:
        print("\n".join([str(found), *(f"written {path}" for path in inquiry.outputs.values())]))


def path(
    objective: str,
    data: Path,
    selection: Selection,
    inquiry: Inquiry,
    dimensions: Any = "1-5",
    **more: Any,
) -> None:
    """Solve for several dimensions, to choose r."""
    import ldr
    from ldr.errors import ArgumentError

    if inquiry.report is not None:
        raise ArgumentError("ldr path writes no report: leave out --report")
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
    """Test the optimum against its null distribution, by permutations."""
    import ldr

    found = _ask(ldr.permutation_test, objective, data, selection, inquiry, r, **more)
    summary = {name: getattr(found, name) for name in ("value", "p_value", "error", "p_values")}
    _answer(found, {**summary, "permutations": len(found.null), "null": found.kind}, inquiry, data)


def dimension(
    objective: str, data: Path, selection: Selection, inquiry: Inquiry, **more: Any
) -> None:
    """Estimate the number of directions, by the rule that suits the method."""
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
    """Compute a confidence interval for each entry of the map, by the bootstrap."""
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


def methods(name: str | None = None, as_json: bool = False) -> None:
    """List every method, or describe a named method."""
    from ldr.estimators import estimator_name
    from ldr.objectives import named
    from ldr.objectives.docstrings import as_text
    from ldr.objectives.registry import Entry, list_objectives

    if name is None:
        found: Any = [asdict(entry) for entry in list_objectives()]
    else:
        with one_line_each():
            objective = named(name)
        found = {**asdict(Entry.of(objective)), "estimator": estimator_name(type(objective))}
    if as_json:
        _print_json(found)
    elif name is None:
        needs = ("" if each["needs"] == "-" else f" ({each['needs']})" for each in found)
        pairs = zip(found, needs, strict=True)
        print_rows([(each["name"], each["summary"] + need) for each, need in pairs])
    else:
        shown = {k: v for k, v in found.items() if k not in ("summary", "formula", "source")}
        print_rows(list(shown.items()))
        lines = ["", *as_text(getdoc(objective) or "").splitlines()]
        print("\n".join(map(fitting, lines)))


def transform(
    model: Path,
    data: Path,
    out: Path,
    view: list[Path] | None = None,
    sep: str = "",
    header: bool = True,
) -> None:
    """Project samples of a file with a saved model.

    If the model has feature names, columns are found by name, and other columns are ignored.
    """
    import ldr
    from ldr.errors import ArgumentError
    from ldr.files import read, write_projection

    files = [data, *(view or ())]
    check_outputs({"--out": out}, {"MODEL": [model], "DATA": files})
    with one_line_each():
        result = ldr.load(model)
        several = isinstance(result.P, tuple)
        named = result.feature_names if several else (result.feature_names,)
        if len(files) != len(named):
            raise ArgumentError(
                f"{model} is a model of {len(named)} view(s), got {len(files)} file(s): give the "
                "first view as DATA and every other view by --view"
            )
        gaps = result.model is not None and result.features is None
        rows = tuple(
            read(file, sep, header).select(names or ()).samples(gaps)
            for file, names in zip(files, named, strict=True)
        )
        write_projection(out, result, rows if several else rows[0])
    print(f"written {out}")


def impute(model: Path, data: Path, out: Path, sep: str = "", header: bool = True) -> None:
    """Impute the empty cells of a file with a saved model of ppca or fa.

    Each missing entry becomes its expectation given the observed entries of its row.
    """
    import ldr
    from ldr.files import read, write_filled

    check_outputs({"--out": out}, {"MODEL": [model], "DATA": [data]})
    with one_line_each():
        count = write_filled(out, ldr.load(model), read(data, sep, header))
    print(f"{count} missing values filled in; written {out}")


def check(
    objective: str, selection: Selection, data: Path | None = None, r: int = 2, seed: int = 0
) -> None:
    """Test the gradient, the Hessian and the manifold of an objective.

    The exit code is 1 if a check fails.
    """
    import ldr

    rows = opened(objective, data, selection) if data else _random_rows(objective, selection, seed)
    with rows as given:
        checked = ldr.check(
            given.objective, given.X, r, y=given.y, **given.options, random_state=seed
        )
    print(checked)
    if not checked.passed:
        raise typer.Exit(Exit.FAILED)


@contextmanager
def _random_rows(objective: str, selection: Selection, seed: int | None) -> Iterator[Input]:
    import numpy as np

    X = np.random.default_rng(seed).standard_normal((100, 6))
    with one_line_each(), located(objective):
        found = load(objective, selection.param)
        check_needed(found, None)
        yield Input(found, X, None, X)


# Class of usage errors, in typer's own copy of click or in the installed package click.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Linear dimensionality reduction as optimisation over matrix manifolds.",
    epilog="Exit codes: 0 success; 1 a solver did not converge or a check failed; "
    "2 a mistake in the command or the data.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import ldr

        print(f"ldr {ldr.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _ldr(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def demo(folder: Path = Path("."), r: int = 2, show_progress: bool = False) -> None:
    """Compare orthogonal LDA with its eigenvector baseline on three real data sets.

    The command prints a table and saves a plot of the projections.
    """
    from ldr.cli.demo import NOTES, PICTURE, compare_all, picture
    from ldr.files import write_figure
    from ldr.observers import Bar

    folder.mkdir(parents=True, exist_ok=True)
    check_outputs({"--plot": folder / PICTURE}, {})
    with Bar() if show_progress else nullcontext():
        found = compare_all(r)
    write_figure(folder / PICTURE, picture(found), dpi=100)
    print("Orthogonal LDA: max tr(M'S_B M) / tr(M'S_W M)")
    for title, comparison in found.items():
        print(f"\n{title}\n{comparison}")
    print(f"\n{fitting(NOTES)}\n\npicture: {(folder / PICTURE).resolve()}")


_VERBS: tuple[Callable[..., None], ...] = (
    *(solve, path, compare, check, test, dimension, bootstrap, transform, impute, methods, demo),
)
for verb in _VERBS:
    app.command()(with_options(verb))
_COMMANDS = app.registered_commands


def _take_options(arguments: Sequence[str]) -> None:
    """Add the options of the called function and of the named method to the subcommand."""
    for command, verb in zip(_COMMANDS, _VERBS, strict=True):
        if verb.__name__ in arguments[:1]:
            command.callback = with_options(verb, arguments)


def main() -> None:
    """Run the command; an error of the user is a line on standard error and exit code 2."""
    from ldr.errors import ObjectiveError

    told: list[int] = []
    try:
        _take_options(sys.argv[1:])
        with _ended_by_signals(told):
            code = app(standalone_mode=False)
    except _UsageError as error:
        code = complain(error.format_message())  # type: ignore[attr-defined]
    except OSError as error:
        reason = error.strerror or str(error)
        code = complain(f"{error.filename}: {reason}" if error.filename else reason)
    except MemoryError as error:
        code = complain(f"not enough memory: {error}" if str(error) else "not enough memory")
    except (ValueError, ObjectiveError) as error:  # the base classes of all errors of ldr
        code = complain(str(error))
    except (typer.Abort, KeyboardInterrupt):
        code = Exit.INTERRUPTED
    except Exception as error:
        if not (told or _is_interrupt(error)):
            raise
        code = told[0] if told else Exit.INTERRUPTED
    code = code if isinstance(code, int) else 0
    sys.exit(code if is_printed() else code or Exit.MISTAKE)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return True if Ctrl-C caused the error, directly or through errors of libraries."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def _ended_by_signals(told: list[int]) -> Iterator[None]:
    """Raise signals that end the process as SystemExit, so that no partial file remains.

    The exit code is also recorded: libraries interrupted while they load raise other errors.
    """

    def end(number: int, _: object) -> None:
        told.append(128 + number)
        raise SystemExit(told[0])

    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    usual = [each for each in ends if signal.getsignal(each) is signal.SIG_DFL]
    for each in usual:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in usual:
            signal.signal(each, signal.SIG_DFL)
