"""Methods of an estimator that take weights or trials of the rows, besides what all take."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.utils.metaestimators import available_if

from ldr.estimators.base import Projection, of_points
from ldr.estimators.partial_fit import from_sums
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective

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

    Weights in time order are left to `ldr.solve`: to scikit-learn weighted rows may be shuffled.
    """
    if Need.TIME_ORDER in method.needs:
        return ("groups",)
    return ("sample_weight",) if method().weighted else ()


def doors(base: type[Projection], names: tuple[str, ...]) -> dict[str, Any]:
    """`fit`, `partial_fit` and `score` of a base, with more keyword arguments."""
    return {name: _door(base, name, names) for name in TARGETS} if names else {}


def _door(base: type[Projection], name: str, names: tuple[str, ...]) -> Any:
    original = inspect.unwrap(inspect.getattr_static(base, name))
    own = inspect.signature(original)
    further = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=None) for each in names
    ]
    signature = own.replace(parameters=[*own.parameters.values(), *further])
    target = TARGETS[name]

    def door(*args: Any, **kwargs: Any) -> Any:
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
