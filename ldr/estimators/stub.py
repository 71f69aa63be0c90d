"""Writes what type checkers see of the estimators: python -m ldr.estimators.stub.

Their signatures into `__init__.pyi` here, and their names into that of `ldr`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

from ldr.estimators.doors import TARGETS, taken_by
from ldr.estimators.named import ESTIMATORS, Named, signature_of
from ldr.estimators.signatures import OPTIONS

PATH = Path(__file__).with_name("__init__.pyi")
NAMES_PATH = Path(__file__).parents[1] / "__init__.pyi"

_WIDTH = 100
_OPTIONS = "**options: Unpack[Options]"
_KNOWN = {"int", "float", "str", "bool", "None", "Any", "tuple", "Dimension", "Matrix", "Views"}
# How what an estimator takes beside its rows is called in the name of a base.
_TAKEN = {"sample_weight": "Weighted", "groups": "InTrials"}

_HEADER = """# Written by python -m ldr.estimators.stub; not by hand.
from typing import Any, Self, Unpack

from ldr.objectives.data.cells import Matrix
from ldr.types import Dimension, Labels, PerRow, Rows

from .background import WithBackground
from .base import Projection as Projection
from .named import Named
from .predicting import Classifies, Latent, Regresses
from .reducer import Reducer as Reducer
from .signatures import Options
from .two_views import TwoViews, Views

ESTIMATORS: dict[str, type[Named]]
"""


def text() -> str:
    """What `__init__.pyi` must hold."""
    classes = [_class(estimator) for estimator in ESTIMATORS.values()]
    bases = dict.fromkeys(_base(estimator)[1] for estimator in ESTIMATORS.values())
    return _HEADER + "".join([*bases, *classes])


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
    (base, _), signature = _base(estimator), signature_of(estimator._method)
    own = [each for each in signature.parameters.values() if each.name not in OPTIONS][1:]
    shown = [f"{each.name}: {_type(each)} = {_default(each)}" for each in own]
    shown = ["self", shown[0], *(["*", *shown[1:]] if shown[1:] else []), _OPTIONS]
    return f"\nclass {estimator.__name__}({base}):\n{_method('__init__', shown, 'None')}"


def _base(estimator: type[Named]) -> tuple[str, str]:
    """The bases of an estimator, or one that has them and what it takes beside its rows."""
    taken, own = taken_by(estimator._method), vars(estimator)
    bases = ", ".join(base.__name__ for base in estimator.__bases__)
    if not taken:
        return bases, ""
    further = "".join(base.__name__ for base in estimator.__bases__ if base is not Named)
    name = f"_{further}{''.join(_TAKEN[each] for each in taken)}"
    doors = "".join(_door(door, own[door]) for door in TARGETS if door in own)
    return name, f"\nclass {name}({bases}):\n{doors}"


def _door(name: str, door: Callable[..., object]) -> str:
    """A method that takes more than the base's does."""
    given = [*inspect.signature(inspect.unwrap(door)).parameters.values()][1:]
    shown = [f"{p.name}: {p.annotation}{' = None' if p.default is None else ''}" for p in given]
    shown = ["self", *shown[:2], "*", *shown[2:]]
    return _method(name, shown, "float" if name == "score" else "Self")


def _method(name: str, shown: list[str], returned: str) -> str:
    """A method as the formatter writes it."""
    inside = ", ".join(shown)
    line = f"    def {name}({inside}) -> {returned}: ...\n"
    if len(line) <= _WIDTH + 1:
        return line
    lines = [inside] if len(inside) <= _WIDTH - 8 else [f"{each}," for each in shown]
    indented = "".join(f"        {each}\n" for each in lines)
    return f"    def {name}(\n{indented}    ) -> {returned}: ...\n"


def _type(parameter: inspect.Parameter) -> str:
    """The annotation, or Any where it names something that the stub does not import."""
    written = str(parameter.annotation)
    return written if set(re.findall(r"\w+", written)) <= _KNOWN else "Any"


def _default(parameter: inspect.Parameter) -> str:
    simple = isinstance(parameter.default, (int, float, str, bool, type(None)))
    return repr(parameter.default).replace("'", '"') if simple else "..."


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    NAMES_PATH.write_text(names_text(), encoding="utf-8")
