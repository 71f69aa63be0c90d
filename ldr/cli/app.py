"""The command `ldr`.

It exits with 0 if all went well; 1 if a solver did not converge or a check did not pass (what was
found is printed and written all the same); 2 if the user made a mistake, said in one line on
standard error; 130 if it was interrupted (what a solver had found by then is printed and written),
143 if it was told to terminate. Files are written whole or not at all, and never over those that
are read.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ldr.objectives.objective import Objective
    from ldr.result import Result

# typer has its own copy of click, or uses the one that is installed; this class is in either.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

NOT_CONVERGED = 1
INTERRUPTED = 130
MISTAKE = 2

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Linear dimensionality reduction as optimisation over matrix manifolds.",
    epilog="Exit codes: 0 all went well; 1 a solver did not converge or a check did not pass; "
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


# --- what several verbs take ----------------------------------------------------------------------

ObjectiveName = Annotated[
    str,
    typer.Argument(
        metavar="OBJECTIVE", help="A name that `ldr methods` lists, or my_file.py[:function]."
    ),
]
DataFile = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Rows in .csv, .tsv, .parquet, .npy, .npz or .mat."),
]
Label = Annotated[
    str,
    typer.Option(
        "--label",
        "--response",
        metavar="COLUMN",
        help="Labels or response; several responses with commas. Not projected.",
    ),
]
Columns = Annotated[
    str, typer.Option(metavar="A,B,...", help="Only these columns (numbers from 0 of arrays).")
]
Drop = Annotated[str, typer.Option(metavar="A,B,...", help="All columns but these.")]
SecondView = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The other view, of the same rows.")
]
Background = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Noise or background, with the same columns.")
]
Standardise = Annotated[
    bool, typer.Option("--standardise", help="Divide columns by their standard deviations.")
]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="KEY=VALUE", help="Of the objective; repeat it for more."),
]
Seed = Annotated[int | None, typer.Option(metavar="NUMBER", help="Of random starts.")]
SolverName = Annotated[str, typer.Option(metavar="NAME", help="By default the best for the task.")]
Cluster = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Of a Dask scheduler, whose workers read the files."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class _Input:
    """What to solve: an objective and its data.

    Attributes
    ----------
    X : Samples, or a pair of them
    y : ndarray or None
    shown : Samples, or a pair of them
        What the result projects: X without a background.
    """

    objective: Objective
    X: Any
    y: Any
    shown: Any


def _objective(name: str, parameters: list[str] | None) -> Objective:
    from ldr.cli.user_code import is_file, load_objective
    from ldr.errors import ArgumentError
    from ldr.objectives import named

    values = dict(_key_and_value(text) for text in parameters or ())
    if not is_file(name):
        return named(name, **values)
    if values:
        raise ArgumentError("--param is for objectives of the registry, not for a file's")
    return load_objective(name)


def _key_and_value(text: str) -> tuple[str, Any]:
    """``lag=2`` as a name and a Python value; what is no number, list or boolean is a string."""
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise typer.BadParameter(f"--param {text!r}, expected KEY=VALUE")
    try:
        return key, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return key, value


def _input(
    objective: str,
    data: Path,
    parameters: list[str] | None,
    label: str,
    columns: str,
    drop: str,
    second_view: Path | None,
    background: Path | None,
    standardise: bool,
    cluster: str = "",
) -> _Input:
    """The files as Samples, checked cell by cell."""
    if cluster:
        from ldr.io.cluster import read_in_chunks as read
    else:
        from ldr.io.files import read
    from ldr.io.standardising import standardised

    found = _objective(objective, parameters)
    _check_needs(
        found, {"--label": label, "--second-view": second_view, "--background": background}
    )
    table = read(data)
    labels = _names(label)
    y = table.response(labels) if labels else None
    not_projected = [name for name in labels if name not in table.beside]
    kept = table.select(_names(columns), not_projected + _names(drop))
    X = kept.samples(found.missing)
    other = None
    if second_view is not None:
        other = read(second_view).samples()
    elif background is not None:
        second = read(background)
        other = (second.select(kept.columns) if X.feature_names else second).samples()
    if standardise:
        if other is not None:  # a background in the units of X, a view in its own
            other = standardised(other, X if background is not None else other)
        X = standardised(X, X)
    both = X if other is None else (X, other)
    return _Input(found, both, y, X if background is not None else both)


_NEEDED = {
    "labels": "--label",
    "response": "--label",
    "second view": "--second-view",
    "background": "--background",
}


def _check_needs(objective: Objective, given: dict[str, Any]) -> None:
    """Refuse a command without what the objective needs, in the command's own terms."""
    from ldr.errors import ArgumentError

    for need in objective.needs:
        option = _NEEDED.get(need)
        if option is not None and not given[option]:
            what = "COLUMN" if option == "--label" else "FILE"
            raise ArgumentError(f"objective {objective.name!r} needs {need}: give {option} {what}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def _one_line_each() -> Iterator[None]:
    """Warnings as lines on standard error; what a result tells itself is not told twice."""
    from ldr.errors import ConvergenceWarning

    def show(message: Any, *_: Any, **__: Any) -> None:
        print(f"ldr: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.showwarning = show
        yield


# --- verbs ----------------------------------------------------------------------------------------


@app.command()
def solve(
    context: typer.Context,
    objective: ObjectiveName,
    data: DataFile,
    r: Annotated[int, typer.Option("-r", "--r", metavar="R", help="Dimensions to reduce to.")] = 2,
    label: Label = "",
    columns: Columns = "",
    drop: Drop = "",
    second_view: SecondView = None,
    background: Background = None,
    standardise: Standardise = False,
    param: Parameter = None,
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
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Find the projection of a file's rows that optimises an objective.

    Prints the value, the heuristic's value, the improvement and what is known of optimality.
    """
    import ldr
    from ldr.cli.user_code import located
    from ldr.io.files import write_projection
    from ldr.io.outputs import write_figure
    from ldr.observers import Progress
    from ldr.report import write_report
    from ldr.solvers.status import Status

    inputs = _inputs(objective, data, second_view, background, start)
    _check_outputs({"--out": out, "--plot": plot, "--report": report}, inputs)
    if cluster:
        context.with_resource(_connected(cluster))
    with _one_line_each():
        given = _input(
            *(objective, data, param, label, columns, drop),
            *(second_view, background, standardise, cluster),
        )
    with _one_line_each(), located(objective), Progress() as progress:
        result = ldr.solve(
            given.objective,
            given.X,
            r,
            y=given.y,
            solver=solver,
            start=_start(start),
            starts=starts,
            max_iterations=max_iterations,
            random_state=seed,
            device=device,
            observers=[progress],
        )
    colour = given.y if given.y is not None and given.y.ndim == 1 else None
    if out is not None:
        write_projection(out, result, given.shown)
    if plot is not None:
        write_figure(plot, result.plot_projection(given.shown, colour))
    if report is not None:
        write_report(report, result, given.shown, colour, data_name=data.name)
    written = [str(path) for path in (out, plot, report) if path is not None]
    if as_json:
        print(json.dumps({**result.summary(), "written": written}, allow_nan=False, indent=2))
    else:
        _print_result(result, data.name, written)
    if not result.converged:
        print(f"ldr: not converged: {result.message}", file=sys.stderr)
        interrupted = result.status is Status.INTERRUPTED
        raise typer.Exit(INTERRUPTED if interrupted else NOT_CONVERGED)


@app.command()
def path(
    context: typer.Context,
    objective: ObjectiveName,
    data: DataFile,
    dimensions: Annotated[
        str, typer.Option("-r", "--r", metavar="A-B|A:B|A,B,...", help="Dimensions to solve for.")
    ] = "1-5",
    label: Label = "",
    columns: Columns = "",
    drop: Drop = "",
    second_view: SecondView = None,
    background: Background = None,
    standardise: Standardise = False,
    param: Parameter = None,
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
    from ldr.cli.user_code import located
    from ldr.io.outputs import write_figure

    _check_outputs({"--plot": plot}, _inputs(objective, data, second_view, background))
    order = _dimensions(dimensions)
    if cluster:
        context.with_resource(_connected(cluster))
    with _one_line_each():
        given = _input(
            *(objective, data, param, label, columns, drop),
            *(second_view, background, standardise, cluster),
        )
    with _one_line_each(), located(objective):
        found = ldr.path(
            given.objective,
            given.X,
            order,
            y=given.y,
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
        raise typer.Exit(NOT_CONVERGED)


@app.command()
def check(
    objective: ObjectiveName,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Rows to check it on; by default 100 random ones."),
    ] = None,
    r: Annotated[int, typer.Option("-r", "--r", metavar="R", help="Columns of M.")] = 2,
    label: Label = "",
    columns: Columns = "",
    drop: Drop = "",
    second_view: SecondView = None,
    background: Background = None,
    standardise: Standardise = False,
    param: Parameter = None,
    seed: Seed = 0,
) -> None:
    """Test the gradient, the Hessian and the manifold of an objective.

    The exit code is 1 if a test did not pass.
    """
    import numpy as np

    import ldr
    from ldr.cli.user_code import located

    if data is None:
        found = _objective(objective, param)
        X = np.random.default_rng(seed).standard_normal((100, 6))
        given = _Input(found, X, None, X)
    else:
        with _one_line_each():
            given = _input(
                objective, data, param, label, columns, drop, second_view, background, standardise
            )
    with _one_line_each(), located(objective):
        checked = ldr.check(given.objective, given.X, r, y=given.y, random_state=seed)
    print(checked)
    if not checked.passed:
        raise typer.Exit(1)


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the picture ldr-demo.png goes.")
    ] = Path("."),
    r: Annotated[int, typer.Option("--r", metavar="R", help="Dimensions to reduce to.")] = 2,
    show_progress: Annotated[
        bool, typer.Option("--show-progress", help="Follow each run on the terminal.")
    ] = False,
) -> None:
    """Compare orthogonal LDA with its eigenvector heuristic on three real data sets.

    Prints a table and saves a picture of the projections.
    """
    from rich.console import Console

    from ldr.cli.demo import NOTES, PICTURE, save_picture, solve_all, table
    from ldr.io.outputs import check_outputs

    out.mkdir(parents=True, exist_ok=True)
    check_outputs({"--out": out / PICTURE}, {})
    solved = solve_all(r, show_progress)
    console = Console()
    console.print(table(solved))
    console.print(NOTES, style="dim", highlight=False)
    path = save_picture(solved, out)
    console.print()
    # soft_wrap: a path that is broken into lines cannot be copied
    console.print(f"picture: {path.resolve()}", soft_wrap=True, highlight=False, markup=False)


@app.command()
def methods(as_json: Json = False) -> None:
    """List every method: formula, manifold, sense, exact or not, baseline, needs, source."""
    from rich.console import Console
    from rich.table import Table

    from ldr.objectives.listing import COLUMNS, list_objectives

    entries = list_objectives()
    console = Console()
    if as_json:
        rows = [{column: getattr(entry, column) for column in COLUMNS} for entry in entries]
        print(json.dumps(rows, indent=2))
    elif not console.is_terminal:  # a pipe or a file: one line a method, nothing folded
        print(entries)
    else:
        table = Table(*COLUMNS)
        for entry in entries:
            table.add_row(*(getattr(entry, column) for column in COLUMNS))
        console.print(table)


# --- their parts ----------------------------------------------------------------------------------


def _inputs(
    objective: str,
    data: Path,
    second_view: Path | None,
    background: Path | None,
    start: str = "",
) -> dict[str, list[Path]]:
    """The files that a command reads, by what its help calls them."""
    from ldr.cli.user_code import split_file
    from ldr.io.files import split_array

    code = split_file(objective)
    given = {
        "OBJECTIVE": None if code is None else code[0],
        "DATA": data,
        "--second-view": second_view,
        "--background": background,
        "--start": start if _is_start_file(start) else None,
    }
    return {name: [split_array(str(path))[0]] for name, path in given.items() if path is not None}


_ENDINGS = {"--plot": (".png", ".pdf", ".svg"), "--report": (".html",)}


def _check_outputs(outputs: dict[str, Path | None], inputs: dict[str, list[Path]]) -> None:
    """Refuse, before any work, files that could not be written after it or that are read."""
    from ldr.errors import ArgumentError
    from ldr.io.files import ending_of
    from ldr.io.outputs import check_outputs

    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        if option == "--out":
            ending_of(path)
        elif path.suffix.lower() not in _ENDINGS[option]:
            expected = " or ".join(_ENDINGS[option])
            raise ArgumentError(f"{option} {path}: unknown ending, expected {expected}")
    check_outputs(given, inputs)


def _connected(cluster: str) -> AbstractContextManager[None]:
    from ldr.io.cluster import connected

    return connected(cluster)


def _dimensions(text: str) -> list[int]:
    """``1-5``, ``1:5`` or ``1,2,5`` as numbers."""
    range_ = re.fullmatch(r"(\d+)[-:](\d+)", text)
    try:
        if range_:
            return list(range(int(range_[1]), int(range_[2]) + 1))
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"-r {text!r}, expected A-B, A:B or A,B,...") from None


def _start(start: str) -> Any:
    if not _is_start_file(start):
        return start
    from ldr.io.files import read

    return read(Path(start)).samples().dense()


def _is_start_file(start: str) -> bool:
    return start.endswith(".npy")


def _print_result(result: Result, name: str, written: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ldr.result import as_tuple, shown

    shapes = " x ".join(str(len(M)) for M in as_tuple(result.M))
    table = Table(
        title=f"{name}: {result.objective!r}, {shapes} -> {result.r}",
        title_justify="left",
        box=box.SIMPLE,
        show_header=False,
        pad_edge=False,
    )
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    rows = [("objective", result.objective.formula), ("value", f"{result.value:.12g}")]
    if result.baseline is not None:
        rows.append(("heuristic", f"{result.baseline:.12g}  ({result.objective.baseline})"))
    if result.improvement is not None:
        rows.append(("improvement", f"{result.improvement:+.3g}"))
    if result.certificate is not None:
        rows.append(("certificate", str(result.certificate)))
    steps = f"{result.iterations} iterations, {result.seconds:.3g} s"
    rows.append(("solver", f"{result.solver}, {steps}: {result.message}"))
    if result.starts is not None:
        rows.append(("starts", str(result.starts)))
    rows += [(key, shown(value)) for key, value in result.parameters.items()]
    rows += [("note", note) for note in result.notes]
    rows += [("written", path) for path in written]
    for key, text in rows:
        table.add_row(key, Text(text))
    Console().print(table)


def main() -> None:
    """Run the command; a mistake of the user's is one line on standard error and exit code 2."""
    from ldr.errors import ObjectiveError

    try:
        with _ended_by_signals():
            code = app(standalone_mode=False)
    except _UsageError as error:
        code = _complain(error.format_message())  # type: ignore[attr-defined]
    except OSError as error:
        reason = error.strerror or str(error)
        code = _complain(f"{error.filename}: {reason}" if error.filename else reason)
    except MemoryError as error:
        code = _complain(f"not enough memory: {error}" if str(error) else "not enough memory")
    except (ValueError, ObjectiveError) as error:  # all of ldr.errors
        code = _complain(str(error))
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    code = code if isinstance(code, int) else 0
    sys.exit(code if _is_printed() else code or MISTAKE)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Signals that end the process are raised as SystemExit, so that nothing half written stays."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    ends = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    usual = [each for each in ends if signal.getsignal(each) is signal.SIG_DFL]
    for each in usual:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in usual:
            signal.signal(each, signal.SIG_DFL)


def _is_printed() -> bool:
    """Whether standard output took what was printed; if not, that is said."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _complain(f"standard output: {error.strerror}")
        # Python would try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def _complain(message: str) -> int:
    print(f"ldr: {' '.join(message.split())}", file=sys.stderr)
    return MISTAKE


if __name__ == "__main__":
    main()
