"""Registry of all methods by name, their former and alternative names, and the table of methods."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from inspect import getdoc
from pathlib import Path

from ldr.objectives.objective import Objective
from ldr.solvers.errors import ArgumentError, warn


def _pages() -> dict[str, str]:
    """The module of each method's class, by the class's name, as `__init__.pyi` lists them."""
    listed = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
    imports = ast.parse(listed.partition("# isort: on")[0]).body
    return {
        alias.name: f"ldr.objectives.{line.module}"
        for line in imports
        if isinstance(line, ast.ImportFrom)
        for alias in line.names
    }


PAGES = _pages()


@cache
def method(name: str) -> type[Objective]:
    """Return the class of a method by name, and import its module."""
    found: type[Objective] = getattr(import_module(PAGES[name]), name)
    return found


class Registry(Mapping[str, type[Objective]]):
    """Methods by name; a method's module is imported when the method is requested."""

    def __getitem__(self, name: str) -> type[Objective]:
        return _named(name)

    def __iter__(self) -> Iterator[str]:
        return (cls.name for cls in map(method, PAGES))

    def __len__(self) -> int:
        return len(PAGES)


@cache
def _named(name: str) -> type[Objective]:
    likely = [own for own in PAGES if own.lower() == name.replace("-", "")]
    for cls in map(method, [*likely, *PAGES]):
        if cls.name == name:
            return cls
    raise KeyError(name)


REGISTRY = Registry()


# Alternative names of methods, accepted wherever a name is.
ALIASES = {"shared-response": "maxbet", "gcca": "mcca"}
# Map from the names of methods in version 0.9 to their present names.
RENAMED = {f"classical-{name}": name for name in ("lda", "cca", "maf", "gcpca")}
# Map from names that changed their meaning after version 0.9 to the names of the old meaning.
CHANGED = {name: f"orthogonal-{name}" for name in RENAMED.values()}
# Map from the names of classes in version 0.9 to their present names.
RENAMED_CLASSES = {f"Classical{name}": name for name in ("LDA", "CCA", "MAF", "GCPCA")}
CHANGED_CLASSES = {name: f"Orthogonal{name}" for name in RENAMED_CLASSES.values()}


# Arguments of `ldr.solve` and other functions that are often misspelt.
_OF_ANY_METHOD = ("standardise", "sample_weight", "random_state", "max_iterations", "tolerance")


def current_name(name: str) -> str:
    """Return the current name of a method, with a warning for changed names of version 0.9."""
    return _current(name, RENAMED, CHANGED)


def current_class(name: str) -> str:
    """Return the current name of a method's class, warning for changed names of version 0.9."""
    return _current(name, RENAMED_CLASSES, CHANGED_CLASSES)


def _current(name: str, renamed: dict[str, str], changed: dict[str, str]) -> str:
    if name in renamed:
        warn(f"{name!r} is now called {renamed[name]!r}: use the new name", FutureWarning)
    elif name in changed:
        warn(
            f"{name!r} is now the textbook's method, whose directions are not orthogonal; until "
            f"version 0.9 this name meant {changed[name]!r}. The next version will not warn",
            FutureWarning,
        )
    return renamed.get(name, name)


def nearest_names(name: str, known: list[str]) -> str:
    """Return a phrase that suggests names similar to `name`, or lists all names."""
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"the known names are {', '.join(known)}"


def as_objective(given: object) -> Objective:
    """Return the objective with a name; an Objective is returned unchanged.

    - raises ArgumentError: The argument is neither a name nor an Objective.
    """
    if isinstance(given, str):
        return named(given)
    if isinstance(given, Objective):
        return given
    hint = ""
    if isinstance(given, type) and issubclass(given, Objective):
        hint = f" (an instance, {given.__name__}(), not the class)"
    elif hasattr(given, "fit"):
        hint = " (an estimator is called as estimator.fit(X, y))"
    elif callable(given):
        hint = " (decorate a function with @ldr.objective)"
    raise ArgumentError(
        f"objective must be a name or an Objective{hint}, got {type(given).__name__}"
    )


def named(name: str, **parameters: object) -> Objective:
    """Return the objective of a given name, with given parameters.

    - raises ArgumentError: The name or a parameter is unknown; the message lists known ones.
    """
    lower = name.lower()
    if lower in RENAMED or lower in CHANGED:
        lower = current_name(lower)
    cls = REGISTRY.get(ALIASES.get(lower, lower))
    if cls is None:
        known_names = sorted({*REGISTRY, *ALIASES})
        raise ArgumentError(f"unknown objective {name!r}: {nearest_names(name, known_names)}")
    if not parameters:
        return cls()
    known: list[str] = [field.name for field in fields(cls)] if is_dataclass(cls) else []
    for parameter in parameters:
        if parameter not in known:
            listed = ", ".join(known) if known else "none"
            close = get_close_matches(parameter, [*known, *_OF_ANY_METHOD], n=1)
            hint = f". Did you mean {close[0]!r}?" if close else ""
            raise ArgumentError(
                f"objective {name!r} has no parameter {parameter!r}; its parameters are: "
                f"{listed}{hint}"
            )
    return cls(**parameters)


COLUMNS = ("name", "formula", "manifold", "sense", "exact", "baseline", "needs", "source")


@dataclass(frozen=True)
class Entry:
    """Summary of a method in the registry.

    - summary: full name of the method
    - exact: "yes" if the baseline is optimal, "no" if not, or the condition for an optimal baseline
    """

    name: str
    formula: str
    manifold: str
    sense: str
    exact: str
    baseline: str
    needs: str
    source: str
    summary: str

    @classmethod
    def of(cls, objective: Objective) -> Entry:
        """Return the entry of an objective."""
        return cls(
            objective.name,
            objective.formula,
            objective.domain,
            objective.sense,
            objective.exact,
            objective.baseline,
            ", ".join(objective.needs) or "-",
            objective.source,
            (getdoc(objective) or "").partition("\n")[0].removesuffix("."),
        )


class Listing(tuple[Entry, ...]):
    """The methods, printed as a table."""

    def __repr__(self) -> str:
        rows = [COLUMNS, *(tuple(getattr(e, c) for c in COLUMNS) for e in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
        return "\n".join(lines)


def list_objectives() -> Listing:
    """List every method with its properties, such as its formula, its inputs and its source.

    - returns: A tuple of `Entry`, whose repr is a table.

    Examples
    --------
    >>> import ldr
    >>> [entry.name for entry in ldr.objectives.list()][:2]
    ['pca', 'log-det-pca']
    """
    return Listing(Entry.of(cls()) for cls in REGISTRY.values())
