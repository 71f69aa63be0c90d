"""Every method by its name; which there are, `__init__` says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches

from ldr.objectives.objective import Objective
from ldr.solvers.errors import ArgumentError

REGISTRY: dict[str, type[Objective]] = {}
ALIASES: dict[str, str] = {}


def register(names: Mapping[str, object]) -> None:
    """Take in every method among the names of a module, in their order."""
    for value in names.values():
        if isinstance(value, type) and issubclass(value, Objective) and hasattr(value, "name"):
            REGISTRY[value.name] = value
            ALIASES.update(dict.fromkeys(value.aliases, value.name))


def nearest_names(name: str, known: list[str]) -> str:
    """A phrase that offers the names like `name`, or all of them."""
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"known are {', '.join(known)}"


def as_objective(given: object) -> Objective:
    """The objective that a name or an instance stands for.

    Raises
    ------
    ArgumentError
        It is neither.
    """
    if isinstance(given, str):
        return named(given)
    if isinstance(given, Objective):
        return given
    hint = ""
    if isinstance(given, type) and issubclass(given, Objective):
        hint = f" (an instance, {given.__name__}(), not the class)"
    elif callable(given):
        hint = " (decorate a function with @ldr.objective)"
    raise ArgumentError(
        f"objective must be a name or an Objective{hint}, got {type(given).__name__}"
    )


def named(name: str, **parameters: object) -> Objective:
    """The objective of that name with those parameters.

    Raises
    ------
    ArgumentError
        An unknown name (with the nearest ones) or parameter (with those there are).
    """
    lower = name.lower()
    cls = REGISTRY.get(ALIASES.get(lower, lower))
    if cls is None:
        raise ArgumentError(
            f"unknown objective {name!r}: {nearest_names(name, sorted({**REGISTRY, **ALIASES}))}"
        )
    known: list[str] = [field.name for field in fields(cls)] if is_dataclass(cls) else []
    for parameter in parameters:
        if parameter not in known:
            listed = ", ".join(known) if known else "none"
            raise ArgumentError(
                f"objective {name!r} has no parameter {parameter!r}; it has: {listed}"
            )
    return cls(**parameters)
