"""What several verbs take, each stated once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ldr.solvers.records import dataclass


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
DataFile = Annotated[
    Path, typer.Argument(metavar="DATA", help="Rows in .csv, .tsv, .parquet, .npy, .npz or .mat.")
]
Views = Annotated[
    list[Path] | None,
    typer.Option(
        "--view",
        "--second-view",
        metavar="FILE",
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
Seed = Annotated[int | None, typer.Option(metavar="NUMBER", help="Of random starts.")]
SolverName = Annotated[str, typer.Option(metavar="NAME", help="By default the best for the task.")]
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
    background: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Noise or background, with the same columns."),
    ] = None
    weights: Annotated[
        str, typer.Option(metavar="COLUMN", help="How much each row counts, >= 0. Not projected.")
    ] = ""
    groups: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="The trial of each row, for methods with time order. Not projected.",
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


def with_fields(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb as typer reads it: a parameter that is a dataclass stands for its fields."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _fields_of(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(verb)
    def called(**options: object) -> None:
        for name, group in groups.items():
            options[name] = group(**{each.name: options.pop(each.name) for each in fields(group)})
        verb(**options)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _fields_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]
