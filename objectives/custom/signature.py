"""What parameters a function of the user's takes."""

from __future__ import annotations

import inspect

from ldr.objectives.custom.compiling import Function
from ldr.solvers.errors import ArgumentError


def written(views: int, *beside: str) -> str:
    """The arguments of a function of so many views: M, X or M1, M2, X1, X2, and what follows."""
    if views == 1:
        return ", ".join(("M", "X", *beside))
    if views == 2:
        return ", ".join(("M1, M2, X1, X2", *beside))
    return ", ".join((f"M1, ..., M{views}, X1, ..., X{views}", *beside))


def required_parameters(
    function: Function, what: str, allowed: tuple[int, ...], wanted: str
) -> int:
    """Number of positional parameters without default values, where that is an allowed number."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ArgumentError(f"the parameters of {name} cannot be read: expected {wanted}") from None
    various = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = [p for p in parameters if p.default is p.empty and p.kind not in various]
    keyword_only = any(p.kind is p.KEYWORD_ONLY for p in required)
    if len(required) not in allowed or keyword_only:
        listed = ", ".join(p.name for p in required)
        kind = "keyword-only parameters" if keyword_only else "parameters without default values"
        raise ArgumentError(
            f"the {what} {name}({listed}) has {len(required)} {kind}, expected {wanted}"
        )
    return len(required)
