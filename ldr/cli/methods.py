"""The verb `methods`: what there is, and all about one of it."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated

import typer

from ldr.cli.options import Json, names_of_methods

if TYPE_CHECKING:
    from ldr.objectives.registry import Entry

_NAMES = 24  # columns of the terminal for a name, which all but one need


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
    lines = [f"{k:<11}{v}" for k, v in facts.items() if k not in ("summary", "formula", "source")]
    return "\n".join(_fitting(line) for line in [*lines, "", *text.splitlines()])


def _listed(entries: Sequence[Entry]) -> str:
    """What each does, and what it needs."""
    return "\n".join(
        _fitting(
            f"{e.name:<{_NAMES - 2}}  {e.summary}" + ("" if e.needs == "-" else f" ({e.needs})"),
            indent=_NAMES,
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
