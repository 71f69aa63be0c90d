"""The verb `methods`: what there is, and all about one of it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from inspect import getdoc
from typing import TYPE_CHECKING, Annotated

import typer

from ldr.cli.options import Json, names_of_methods

if TYPE_CHECKING:
    from ldr.objectives.listing import Entry


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
    from ldr.objectives.listing import Entry, list_objectives

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
    return "\n".join([*lines, "", text])


def _listed(entries: Sequence[Entry]) -> str:
    """A line each, as wide as the terminal; a pipe or a file gets all of it."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    names = max(len(entry.name) for entry in entries) + 2
    needs = max(len(entry.needs) for entry in entries) + 2
    lines = (f"{e.name:<{names}}{e.needs:<{needs}}{e.summary}" for e in entries)
    return "\n".join(
        line if width is None or len(line) <= width else f"{line[: width - 3]}..." for line in lines
    )
