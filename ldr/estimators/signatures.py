"""The parameters of estimators: those of their objective, and what all pass on to `ldr.solve`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TypedDict, TypeVar

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.solver import Solver
from ldr.solving import solve
from ldr.types import Start

Initialises = TypeVar("Initialises", bound=Callable[..., None])


class Options(TypedDict, total=False):
    """What every estimator passes on to `ldr.solve`.

    `verbose` is the observer that follows the run on the terminal, `rotation` what is done to the
    result.
    """

    standardise: bool
    solver: str | Solver
    start: Start
    starts: int | None
    workers: int
    tolerance: float
    max_iterations: int | None
    time_limit: float | None
    certify: bool | str
    random_state: int | np.random.Generator | np.random.RandomState | None
    device: str
    verbose: bool
    rotation: str | None


_HINT = (
    "; parameters of an objective go into the objective itself, as in "
    "ldr.Reducer(ldr.objectives.MAF(lag=2))"
)

# Their default values.
OPTIONS = {
    **{
        name: each.default
        for name, each in inspect.signature(solve).parameters.items()
        if name in Options.__annotations__
    },
    "verbose": False,
    "rotation": None,
}


def with_options(own: Iterable[inspect.Parameter]) -> inspect.Signature:
    """Parameters, and OPTIONS behind them but for names that they have."""
    known = {each.name: each for each in own if each.kind is not each.VAR_KEYWORD}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in OPTIONS.items()
        if name not in known
    ]
    return inspect.Signature([*known.values(), *options])


def initialiser(signature: inspect.Signature, name: str, hint: str = "") -> Callable[..., None]:
    """The `__init__` that keeps its arguments, as scikit-learn wants it; others it refuses."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        for unknown in kwargs.keys() - signature.parameters.keys():
            raise ArgumentError(
                f"{name} has no parameter {unknown!r}; it has: "
                f"{', '.join([*signature.parameters][1:])}{hint}"
            )
        try:
            given = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        given.apply_defaults()
        for parameter, value in list(given.arguments.items())[1:]:
            setattr(self, parameter, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{name}.__init__"
    return __init__


def keeping(given: Initialises) -> Initialises:
    """An `__init__` whose parameters stand written, with OPTIONS in the place of **options."""
    signature = with_options(inspect.signature(given).parameters.values())
    return initialiser(signature, given.__qualname__.partition(".")[0], _HINT)  # type: ignore[return-value]
