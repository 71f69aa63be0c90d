"""The command `ldr`, and its verbs methods, transform, impute and check.

Exit codes: 0 success; 1 a solver did not converge or a check failed (the result is printed and
written all the same); 2 an error of the user, in one line on standard error; 130 interrupted
(the best result so far is printed and written); 143 terminated. Files are written atomically, and
never over a file that is read.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldr.cli.inputs import Input, load, one_line_each, opened
from ldr.cli.options import (
    DataFile,
    Exit,
    Header,
    Json,
    ObjectiveName,
    Seed,
    Selection,
    Separator,
    Views,
    check_outputs,
    complain,
    is_printed,
    names_of_methods,
    with_fields,
)
from ldr.cli.solve import bootstrap, compare, dimension, path, solve, test

if TYPE_CHECKING:
    from ldr.objectives.registry import Entry


def methods(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="All about this one, its parameters among it.",
            autocompletion=names_of_methods,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List every method, or tell all about one."""
    from ldr.estimators.named import estimator_name
    from ldr.objectives import named
    from ldr.objectives.registry import Entry, list_objectives

    if name is None:
        entries = list_objectives()
        shown = json.dumps([asdict(e) for e in entries], indent=2) if as_json else _listed(entries)
    else:
        objective = named(name)
        facts = {**asdict(Entry.of(objective)), "estimator": estimator_name(type(objective))}
        shown = json.dumps(facts, indent=2) if as_json else _page(facts, getdoc(objective) or "")
    print(shown)


def _page(facts: dict[str, str], text: str) -> str:
    """What the docstring does not say of a method, and the docstring."""
    from ldr.objectives.docstrings import as_text

    lines = [f"{k:<11}{v}" for k, v in facts.items() if k not in ("summary", "formula", "source")]
    return "\n".join(_fitting(line) for line in [*lines, "", *as_text(text).splitlines()])


def _listed(entries: Sequence[Entry]) -> str:
    """What each does, and what it needs."""
    width = max(len(e.name) for e in entries)
    return "\n".join(
        _fitting(
            f"{e.name:<{width}}  {e.summary}" + ("" if e.needs == "-" else f" ({e.needs})"),
            indent=width + 2,
        )
        for e in entries
    )


def _fitting(line: str, indent: int | None = None) -> str:
    """In lines as wide as the terminal; a pipe or a file gets one."""
    if not sys.stdout.isatty():
        return line
    indent = len(line) - len(line.lstrip()) if indent is None else indent
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="What `ldr solve --save` wrote: .npz.")
]


def transform(
    *,
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The projected rows: .csv, .tsv, .parquet, .npy.")
    ],
    view: Views = None,
    sep: Separator = "",
    header: Header = True,
) -> None:
    """Project a file's rows by a saved model.

    Columns are found by their names, where the model knows them; others are left alone.
    """
    import ldr
    from ldr.errors import ArgumentError
    from ldr.io.files import read, write_projection

    files = [data, *(view or ())]
    check_outputs({"--out": out}, {"MODEL": [model], "DATA": files})
    with one_line_each():
        result = ldr.load(model)
        several = isinstance(result.P, tuple)
        named = result.feature_names if several else (result.feature_names,)
        if len(files) != len(named):
            raise ArgumentError(
                f"{model} is of {result.objective.name!r}, of {len(named)} view(s), and there are "
                f"{len(files)} file(s): give --view for each but the first"
            )
        gaps = result.model is not None and result.features is None
        rows = tuple(
            read(file, sep, header).select(names or ()).samples(gaps)
            for file, names in zip(files, named, strict=True)
        )
        write_projection(out, result, rows if several else rows[0])
    print(f"written {out}")


def impute(
    *,
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="All columns: .csv, .tsv, .parquet or .npy.")
    ],
    sep: Separator = "",
    header: Header = True,
) -> None:
    """Fill in the empty cells of a file by a saved model of ppca or fa.

    Each becomes its expectation given those of its row that are there.
    """
    import ldr
    from ldr.io.files import read, write_filled

    check_outputs({"--out": out}, {"MODEL": [model], "DATA": [data]})
    with one_line_each():
        count = write_filled(out, ldr.load(model), read(data, sep, header))
    print(f"{count} missing values filled in; written {out}")


def check(
    *,
    objective: ObjectiveName,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Rows to check it on; by default 100 random ones."),
    ] = None,
    r: Annotated[int, typer.Option("-r", "--r", metavar="R", help="Columns of M.")] = 2,
    selection: Selection,
    seed: Seed = 0,
) -> None:
    """Test the gradient, the Hessian and the manifold of an objective.

    The exit code is 1 if a test did not pass.
    """
    import ldr

    rows = (
        _random_rows(objective, selection, seed)
        if data is None
        else opened(objective, data, selection)
    )
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

    from ldr.cli.inputs import located

    X = np.random.default_rng(seed).standard_normal((100, 6))
    with one_line_each(), located(objective):
        yield Input(load(objective, selection.param), X, None, X)


# typer has its own copy of click, or uses the one that is installed; this class is in either.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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


_VERBS: tuple[Callable[..., Any], ...] = (
    *(solve, path, compare, check, test, dimension, bootstrap, transform, impute, methods),
)
for verb in _VERBS:
    app.command()(with_fields(verb))
registered = list(app.registered_commands)


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
    from ldr.io.files import check_outputs

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


def _take_options(arguments: Sequence[str]) -> None:
    """Give the verb of a command the options that follow from its method and its function."""
    for command, verb in zip(registered, _VERBS, strict=True):
        if verb.__name__ in arguments[:1]:
            command.callback = with_fields(verb, arguments)


def main() -> None:
    """Run the command; a mistake of the user's is one line on standard error and exit code 2."""
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
    except (ValueError, ObjectiveError) as error:  # all of ldr.errors
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
    """Whether Ctrl-C is behind it: libraries that it hits while they begin say something else."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def _ended_by_signals(told: list[int]) -> Iterator[None]:
    """Signals that end the process are raised as SystemExit, so that nothing half written stays.

    The code is put down too: libraries that are hit while they begin raise something else.
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


if __name__ == "__main__":
    main()
