"""Writes what type checkers see of the estimators: python -m ldr.estimators.stub.

Their signatures into `__init__.pyi` here, and their names into that of `ldr`.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from ldr.estimators.doors import TARGETS, taken_by
from ldr.estimators.named import ESTIMATORS, Named, signature_of

PATH = Path(__file__).with_name("__init__.pyi")
NAMES_PATH = Path(__file__).parents[1] / "__init__.pyi"

_WIDTH = 100
_OPTION_TYPES = {
    "standardise": "bool",
    "solver": "str | Solver",
    "start": "Any",
    "starts": "int | None",
    "workers": "int",
    "tolerance": "float",
    "max_iterations": "int | None",
    "time_limit": "float | None",
    "certify": "bool | str",
    "random_state": "Any",
    "device": "str",
    "verbose": "bool",
    "rotation": "str | None",
}

_HEADER = """# Written by python -m ldr.estimators.stub; not by hand.
from typing import Any, Self

from ldr.solvers.solver import Solver

from .background import WithBackground
from .base import Projection as Projection
from .named import Named
from .predicting import Classifies, Regresses
from .reducer import Reducer as Reducer
from .two_views import TwoViews

ESTIMATORS: dict[str, type[Named]]
"""


def text() -> str:
    """What `__init__.pyi` must hold."""
    return _HEADER + "".join(_class(estimator) for estimator in ESTIMATORS.values())


def names_text() -> str:
    """What `ldr/__init__.pyi` must hold: as it is, with the estimators that there are."""
    written = NAMES_PATH.read_text(encoding="utf-8")
    imported, listed = _block(written, "from .estimators import (", ")"), _block(written, "[", "]")
    before = {line.strip(" ,") for line in imported.splitlines() if line.strip()}
    now = {"Reducer", *(estimator.__name__ for estimator in ESTIMATORS.values())}
    others = {line.strip(' ,"') for line in listed.splitlines() if line.strip()} - before
    names = "".join(f"    {name},\n" for name in sorted(now, key=_imported))
    everything = "".join(f'    "{name}",\n' for name in sorted(now | others, key=_isort))
    return written.replace(imported, f"\n{names}").replace(listed, f"\n{everything}")


def _block(text: str, opening: str, closing: str) -> str:
    """What stands between brackets, of which the opening one is the text's only."""
    start = text.index(opening) + len(opening)
    return text[start : text.index(closing, start)]


def _isort(name: str) -> tuple[int, str]:
    """Constants, classes, functions, as the formatter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _imported(name: str) -> tuple[int, str]:
    """The same of names that are imported, where large letters are as small ones."""
    return _isort(name)[0], name.lower()


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
    own = vars(estimator) if taken_by(estimator._method) else ()
    doors = [_door(name, estimator) for name in TARGETS if name in own]
    return "\n".join([*lines, "    ) -> None: ...", *doors, ""])


def _door(name: str, estimator: type[Named]) -> str:
    """A method that takes more than the base's does, as the formatter writes it."""
    given = inspect.signature(inspect.unwrap(vars(estimator)[name])).parameters.values()
    shown = ["self", "X: Any"]
    shown += [f"{each.name}: Any = None" for each in given if each.default is None]
    shown.insert(3, "*")
    inside, returned = ", ".join(shown), "float" if name == "score" else "Self"
    line = f"    def {name}({inside}) -> {returned}: ..."
    if len(line) <= _WIDTH:
        return line
    lines = [inside] if len(inside) <= _WIDTH - 8 else [f"{each}," for each in shown]
    indented = "".join(f"        {each}\n" for each in lines)
    return f"    def {name}(\n{indented}    ) -> {returned}: ..."


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
    NAMES_PATH.write_text(names_text(), encoding="utf-8")
