"""The command `ldr`.

It exits with 0 if all went well; 1 if a solver did not converge or a check did not pass (what was
found is printed and written all the same); 2 if the user made a mistake, said in one line on
standard error; 130 if it was interrupted (what a solver had found by then is printed and written),
143 if it was told to terminate. Files are written whole or not at all, and never over those that
are read.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ldr.cli.chance import bootstrap, dimension, test
from ldr.cli.check import check
from ldr.cli.compare import compare
from ldr.cli.methods import methods
from ldr.cli.models import impute, transform
from ldr.cli.options import with_fields
from ldr.cli.path import path
from ldr.cli.printing import INTERRUPTED, MISTAKE, complain, is_printed
from ldr.cli.solve import solve

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


_VERBS = (solve, path, compare, check, test, dimension, bootstrap, transform, impute, methods)
for verb in _VERBS:
    app.command()(with_fields(verb))


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


def main() -> None:
    """Run the command; a mistake of the user's is one line on standard error and exit code 2."""
    from ldr.errors import ObjectiveError

    told: list[int] = []
    try:
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
        code = INTERRUPTED
    except Exception as error:
        if not (told or _is_interrupt(error)):
            raise
        code = told[0] if told else INTERRUPTED
    code = code if isinstance(code, int) else 0
    sys.exit(code if is_printed() else code or MISTAKE)


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
