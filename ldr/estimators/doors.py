"""Methods of an estimator that take weights or trials of the rows, besides what all take."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from sklearn.utils.metaestimators import available_if

from ldr.estimators.base import Projection, of_points
from ldr.estimators.partial_fit import from_sums
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY
from ldr.solvers.errors import ArgumentError

_ENTRIES = {
    "sample_weight": """sample_weight : array (m,), optional
    How much each row counts, >= 0; see `ldr.solve`.
""",
    "groups": """groups : array (m,), optional
    The trial of each row; see `ldr.solve`. Or X is a list of arrays, or (trials, time, channels).
""",
}
# The doors, and the methods behind them.
TARGETS = {"fit": "_fit", "partial_fit": "_add", "score": "_score"}
_CONDITIONS = {"partial_fit": from_sums, "score": of_points}


def taken_by(method: type[Objective]) -> tuple[str, ...]:
    """What the estimator of an objective takes beside its rows.

    Weights that do not repeat rows, which scikit-learn takes them to do, are left to `ldr.solve`
    and the `Reducer`; so are those in time order, as to it weighted rows may be shuffled.
    """
    if Need.TIME_ORDER in method.needs:
        return ("groups",)
    return ("sample_weight",) if method().repeats else ()


def doors(base: type[Projection], method: type[Objective]) -> dict[str, Any]:
    """`fit`, `partial_fit` and `score` of a base, with what the objective takes beside."""
    return {name: _door(base, name, taken_by(method)) for name in TARGETS}


def check_taken(estimator: Projection, door: str, given: Iterable[str]) -> None:
    """Refuse weights or trials where they are not taken, in words.

    Raises
    ------
    ArgumentError
        There are some.
    """
    method = type(estimator._traits())
    for name in sorted(set(_ENTRIES) & set(given)):
        if name == "groups":
            why = "it does not look at the order of rows, and so at no trials"
        elif Need.TIME_ORDER in method.needs:
            why = "rows in the order of time cannot be shuffled, as scikit-learn may weighted ones"
        else:
            why = "no row is its own neighbour, while to scikit-learn a weight repeats its row"
        way_out = f"ldr.solve({method.name!r}, X, {name}=) and ldr.Reducer({method.name!r}) take it"
        names = (each for each, one in REGISTRY.items() if name in taken_by(one))
        raise ArgumentError(
            f"{type(estimator).__name__}.{door} takes no {name}=: {why}; {way_out}, and so do the "
            f"estimators of {', '.join(names)}"
        )


def _door(base: type[Projection], name: str, names: tuple[str, ...]) -> Any:
    original = inspect.unwrap(inspect.getattr_static(base, name))
    own = inspect.signature(original)
    keyword = inspect.Parameter.KEYWORD_ONLY
    further = [
        inspect.Parameter(each, keyword, default=None, annotation="PerRow") for each in names
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *further])
    target = TARGETS[name]

    def door(*args: Any, **kwargs: Any) -> Any:
        if args:
            check_taken(args[0], name, kwargs.keys() - signature.parameters.keys())
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        self = given.arguments.pop("self")
        return getattr(self, target)(**given.arguments)

    before, heading, after = inspect.cleandoc(original.__doc__ or "").partition("\nReturns\n")
    entries = "".join(_ENTRIES[each] for each in names)
    door.__signature__ = signature  # type: ignore[attr-defined]
    door.__doc__ = f"{before.rstrip()}\n{entries}{heading}{after}"
    door.__name__, door.__qualname__ = name, f"{base.__name__}.{name}"
    condition = _CONDITIONS.get(name)
    return door if condition is None else available_if(condition)(door)
