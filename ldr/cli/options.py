"""Options that several verbs share, printed messages, exit codes and files that are written."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from ldr.result import Result


def names_of_methods(incomplete: str) -> list[str]:
    """For the shell's completion."""
    from ldr.objectives.registry import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


ObjectiveName = Annotated[
    str,
    typer.Argument(
        metavar="OBJECTIVE",
        help="A name that `ldr methods` lists, or my_file.py[:function].",
        autocompletion=names_of_methods,
    ),
]


def file(text: str) -> Path:
    """The path of a file: an empty one would be the working folder."""
    if not text.strip():
        raise typer.BadParameter(f"{text!r} is empty, expected the path of a file")
    return Path(text)


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", parser=file, help="Rows in .csv, .tsv, .parquet, .npy, .npz or .mat."
    ),
]
Views = Annotated[
    list[Path] | None,
    typer.Option(
        "--view",
        "--second-view",
        metavar="FILE",
        parser=file,
        help="Another view of the same rows; repeat it for more.",
    ),
]


def separator(text: str) -> str:
    r"""One character; ``tab`` or ``\t`` is the tabulator."""
    found = "\t" if text in ("tab", "\\t") else text
    if len(found) > 1 or found in ('"', "\n", "\r"):
        raise typer.BadParameter(f"{text!r}, expected one character, or tab")
    return found


Separator = Annotated[
    str,
    typer.Option(
        "--sep",
        metavar="CHARACTER",
        parser=separator,
        help="Between the cells of text files, such as ';' or tab.",
        show_default=False,
    ),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of text files has the names of the columns, else 0, 1, ...",
        show_default=False,
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="NUMBER", help="Of random starts.")]
Cluster = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Of a Dask scheduler, whose workers read the files.")
]


def dimension(text: str) -> int | float | str:
    """``3``, a share of the variance like ``0.9``, or ``auto``."""
    try:
        return text if text == "auto" else int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r}, expected a whole number, a share or auto") from None


Dimension = Annotated[
    Any,
    typer.Option(
        "-r",
        "--r",
        metavar="R|SHARE|auto",
        parser=dimension,
        help="Dimensions; a share of the variance (0.9) or auto lets the rows tell them.",
    ),
]
Dimensions = Annotated[int, typer.Option("-r", "--r", metavar="R", help="Dimensions.")]


def folds(text: str) -> object:
    """A number of folds, or ``loo`` for leave-one-out."""
    if text == "loo":
        from sklearn.model_selection import LeaveOneOut

        return LeaveOneOut()
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r}, expected a whole number or loo") from None


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Selection:
    """What of the files an objective is given, and its parameters."""

    label: Annotated[
        str,
        typer.Option(
            "--label",
            "--response",
            metavar="COLUMN",
            help="Labels or response; several responses with commas. Not projected.",
        ),
    ] = ""
    as_text: Annotated[
        bool, typer.Option("--as-text", help="Labels are texts, also where they look like numbers.")
    ] = False
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Only these columns (numbers from 0 of arrays); once more for each --view.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,...", help="All columns but these; once more for each --view."),
    ] = None
    view: Views = None
    sep: Separator = ""
    header: Header = True
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", parser=file, help="Noise or background, with the same columns."
        ),
    ] = None
    weights: Annotated[
        str, typer.Option(metavar="COLUMN", help="How much each row counts, >= 0. Not projected.")
    ] = ""
    groups: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Rows that belong together (subjects, batches): held out, drawn or permuted so; "
            "trials of methods with time order. Not projected.",
        ),
    ] = ""
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Divide columns by their standard deviations.")
    ] = False
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="KEY=VALUE", help="Of the objective; repeat it for more."),
    ] = None


# What gives an objective what it needs: the field of a `Selection`, and its option.
NEEDED = {
    "labels": ("label", "--label COLUMN"),
    "response": ("label", "--response COLUMN"),
    "second view": ("view", "--view FILE"),
    "background": ("background", "--background FILE"),
}


def with_fields(verb: Callable[..., None], arguments: Sequence[str] = ()) -> Callable[..., None]:
    """The verb as typer reads it: a parameter that is a dataclass stands for its fields.

    Where it takes them, the options of the function of its name and the parameters of the method
    that the arguments name are options too.
    """
    stated: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for each in inspect.signature(verb, eval_str=True).parameters.values():
        if is_dataclass(each.annotation):
            groups[each.name] = each.annotation
            hints = get_type_hints(each.annotation, include_extras=True)
            stated += [
                each.replace(name=one.name, default=one.default, annotation=hints[one.name])
                for one in fields(each.annotation)
            ]
        elif each.kind is not each.VAR_KEYWORD:
            stated.append(each)
    further, own = _of_signatures(verb, stated, arguments) if arguments else ([], [])

    @wraps(verb)
    def called(**options: object) -> None:
        given = {each.name: options.pop(each.name) for each in own}
        texts = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        if texts:
            options["param"] = [*(options["param"] or ()), *texts]  # type: ignore[misc]
        for each in further:  # where nothing is given, the function's own default
            if options[each.name] is None:
                del options[each.name]
        for name, group in groups.items():
            options[name] = group(**{each.name: options.pop(each.name) for each in fields(group)})
        verb(**options)

    parameters = [*stated, *further, *own]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


# Parameters of the functions that are no options, or whose options are called otherwise.
_NO_OPTIONS = {"X", "y", "sample_weight", "random_state", "observers", "progress", "help", "h"}


def _of_signatures(
    verb: Callable[..., None], stated: list[inspect.Parameter], arguments: Sequence[str]
) -> tuple[list[inspect.Parameter], list[inspect.Parameter]]:
    """Options of the verb's function in `ldr`, and of the method named, that are not stated."""
    taken = set(_NO_OPTIONS)
    for each in stated:
        taken.add(each.name)
        for option in getattr(each.annotation, "__metadata__", ()):
            taken |= {name.strip("-").replace("-", "_") for name in option.param_decls or ()}
    further, own = [], []
    if any(each.kind is each.VAR_KEYWORD for each in inspect.signature(verb).parameters.values()):
        import ldr

        name = "permutation_test" if verb.__name__ == "test" else verb.__name__
        further = _options(getattr(ldr, name), f"{ldr.solve.__doc__}", taken)
        taken |= {each.name for each in further}
    if "param" in taken:
        from ldr.objectives.registry import REGISTRY

        named = next((REGISTRY[name] for name in arguments if name in REGISTRY), None)
        own = [] if named is None else _options(named, "", taken)
    return further, own


def literal(text: str) -> object:
    """A Python value; what is no number, list or boolean is a string."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _options(function: Callable[..., Any], text: str, taken: set[str]) -> list[inspect.Parameter]:
    """The parameters of a function as options, and what its docstring or a text says of each."""
    from ldr.objectives.docstrings import described

    entries, found = {**described(text), **described(function.__doc__)}, []
    for each in inspect.signature(function).parameters.values():
        if each.name in taken or each.default is each.empty or each.kind is each.VAR_KEYWORD:
            continue
        said = " ".join(entries.get(each.name, "").partition("\n")[2].split())
        default = "" if each.default is None else f" [default: {each.default}]"
        help = f"{re.split(r'(?<=[a-z)])[.:;] ', said)[0].removesuffix('.')}.{default}"
        types = {"bool": bool, "int": int, "int | None": int, "float": float, "float | None": float}
        kind = types.get(str(each.annotation))
        parser = None if kind else folds if each.name == "folds" else literal
        annotation: Any = Annotated[kind or Any, typer.Option(help=help, parser=parser)]
        found.append(each.replace(kind=each.KEYWORD_ONLY, default=None, annotation=annotation))
    return found


class Exit(IntEnum):
    """Exit codes."""

    FAILED = 1
    MISTAKE = 2
    INTERRUPTED = 130


_ENDINGS = {"--plot": (".png", ".pdf", ".svg"), "--report": (".html",), "--save": (".npz",)}


def check_outputs(outputs: dict[str, Path | None], inputs: dict[str, list[Path]]) -> None:
    """Refuse, before any work, files that could not be written after it or that are read."""
    from ldr.errors import ArgumentError
    from ldr.io import files
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
    return Exit.MISTAKE
