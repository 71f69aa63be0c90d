"""The command `ldr`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

# typer has its own copy of click, or uses the one that is installed; this class is in either.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Linear dimensionality reduction as optimisation over matrix manifolds.",
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

    from ldr.demo import NOTES, save_picture, solve_all, table

    out.mkdir(parents=True, exist_ok=True)
    solved = solve_all(r, show_progress)
    console = Console()
    console.print(table(solved))
    console.print(NOTES, style="dim", highlight=False)
    path = save_picture(solved, out)
    console.print()
    # soft_wrap: a path that is broken into lines cannot be copied
    console.print(f"picture: {path.resolve()}", soft_wrap=True, highlight=False, markup=False)


@app.command()
def methods() -> None:
    """List every method: formula, manifold, sense, exact or not, baseline, needs, source."""
    from rich.console import Console
    from rich.table import Table

    from ldr.objectives.listing import COLUMNS, list_objectives

    console = Console()
    if not console.is_terminal:  # a pipe or a file: one line a method, nothing folded
        print(list_objectives())
        return
    table = Table(*COLUMNS)
    for entry in list_objectives():
        table.add_row(*(getattr(entry, column) for column in COLUMNS))
    console.print(table)


def main() -> None:
    """Run the command; a mistake of the user's is one line on standard error and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except _UsageError as error:
        code = _complain(error.format_message())  # type: ignore[attr-defined]
    except OSError as error:
        code = _complain(f"{error.filename or 'cannot write'}: {error.strerror or error}")
    except ValueError as error:  # all of ldr.errors about arguments and data
        code = _complain(str(error))
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print(f"ldr: {' '.join(message.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
