"""Writes the signatures of the estimators for type checkers: python -m ldr.estimators.stub."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from ldr.estimators.named import ESTIMATORS, Named, signature_of

PATH = Path(__file__).with_name("__init__.pyi")

_OPTION_TYPES = {
    "solver": "str | Solver",
    "start": "Any",
    "starts": "int | None",
    "tolerance": "float",
    "max_iterations": "int | None",
    "certify": "bool",
    "random_state": "Any",
    "device": "str",
}

_HEADER = """# Written by python -m ldr.estimators.stub; not by hand.
from typing import Any

from ldr.solvers.solver import Solver

from .base import Projection as Projection
from .base import TwoViews, WithBackground
from .named import Named
from .reducer import Reducer as Reducer

ESTIMATORS: dict[str, type[Named]]
"""


def text() -> str:
    """What `__init__.pyi` must hold."""
    return _HEADER + "".join(_class(estimator) for estimator in ESTIMATORS.values())


def _class(estimator: type[Named]) -> str:
    bases = ", ".join(base.__name__ for base in estimator.__bases__)
    parameters = list(signature_of(estimator._method).parameters.values())[1:]
    lines = [
        f"\nclass {estimator.__name__}({bases}):",
        "    def __init__(",
        "        self,",
    ]
    for parameter in parameters:
        lines.append(f"        {parameter.name}: {_type(parameter)} = {_default(parameter)},")
    lines.insert(4, "        *,")
    return "\n".join([*lines, "    ) -> None: ...", ""])


def _type(parameter: inspect.Parameter) -> str:
    """The annotation, or Any where it names something that the stub does not import."""
    if parameter.annotation is parameter.empty:
        return _OPTION_TYPES[parameter.name]
    written = str(parameter.annotation)
    known = {"int", "float", "str", "bool", "None", "Any", "tuple"}
    return written if set(re.findall(r"\w+", written)) <= known else "Any"


def _default(parameter: inspect.Parameter) -> str:
    simple = isinstance(parameter.default, (int, float, str, bool, type(None)))
    return repr(parameter.default).replace("'", '"') if simple else "..."


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
