"""What a command leaves behind: what it prints, its exit code, and the files it may write."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldr.result import Result

FAILED = 1
INTERRUPTED = 130
MISTAKE = 2

_ENDINGS = {"--plot": (".png", ".pdf", ".svg"), "--report": (".html",), "--save": (".npz",)}


def check_outputs(outputs: dict[str, Path | None], inputs: dict[str, list[Path]]) -> None:
    """Refuse, before any work, files that could not be written after it or that are read."""
    from ldr.errors import ArgumentError
    from ldr.io import outputs as files
    from ldr.io.files import ending_of

    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        if option == "--out":
            ending_of(path)
        elif path.suffix.lower() not in _ENDINGS[option]:
            expected = " or ".join(_ENDINGS[option])
            raise ArgumentError(f"{option} {path}: unknown ending, expected {expected}")
    files.check_outputs(given, inputs)


def print_result(result: Result, name: str, written: list[str]) -> None:
    """A table of what was found in the data of a name."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ldr.objectives.data.data import as_tuple

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
    rows += result._figures()
    rows += [("written", path) for path in written]
    for key, text in rows:
        table.add_row(key, Text(text))
    Console().print(table)


def is_printed() -> bool:
    """Whether standard output took what was printed; if not, that is said."""
    try:
        sys.stdout.flush()
    except OSError as error:
        complain(f"standard output: {error.strerror}")
        # Python would try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def complain(message: str) -> int:
    """A mistake of the user's, in one line on standard error."""
    print(f"ldr: {' '.join(message.split())}", file=sys.stderr)
    return MISTAKE
