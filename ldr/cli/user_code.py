"""An objective of the user's own, from a Python file."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldr.objectives.objective import Objective
from ldr.solvers.errors import ArgumentError, DataError, ObjectiveError, SingularError


def is_file(objective: str) -> bool:
    """Whether the objective is a file, or a function in one, and not a name."""
    return split_file(objective) is not None


def load_objective(objective: str) -> Objective:
    """The objective in ``file.py``, or the one of several in ``file.py:name``.

    An objective is what `ldr.objective` decorates, or an instance of an `Objective`. The file is
    executed, as Python would.

    Raises
    ------
    FileNotFoundError
    ldr.errors.ArgumentError
        No such objective in the file, or several and no name.
    ldr.errors.ObjectiveError
        The file cannot be executed.
    """
    split = split_file(objective)
    assert split is not None
    path, wanted = split
    if not path.is_file():
        raise FileNotFoundError(2, "no such file", str(path))
    found = {
        name: value
        for name, value in vars(_execute(path)).items()
        if isinstance(value, Objective) and not name.startswith("_")
    }
    if wanted is None and len(found) == 1:
        return next(iter(found.values()))
    if wanted in found:
        return found[wanted]
    names = ", ".join(found)
    if not found:
        raise ArgumentError(f"{path} has no objective: decorate a function with @ldr.objective")
    if wanted is None:
        first = next(iter(found))
        raise ArgumentError(f"{path} has several objectives, {names}: say which, as {path}:{first}")
    raise ArgumentError(f"{path} has no objective {wanted!r}; it has: {names}")


@contextmanager
def located(objective: str) -> Iterator[None]:
    """Exceptions raised in the user's file become an ObjectiveError that names the line."""
    split = split_file(objective)
    try:
        yield
    except (ArgumentError, DataError, SingularError, ObjectiveError):
        raise
    except Exception as error:
        line = None if split is None else _line(error, split[0])
        if split is None or line is None:
            raise
        text = f"{split[0].name}, line {line}: {type(error).__name__}: {error}"
        raise ObjectiveError(text) from error


def split_file(objective: str) -> tuple[Path, str | None] | None:
    match = re.fullmatch(r"(.+\.py)(?::(\w+))?", objective)
    return (Path(match[1]), match[2]) if match else None


def _execute(path: Path) -> object:
    # A name that no import asks for: the file may be called random.py.
    name = f"objective_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as an import would, so that objectives can be pickled
    beside = str(path.resolve().parent)
    sys.path.append(beside)  # last, for the same reason
    try:
        with located(str(path)):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(beside)
    return module


def _line(error: Exception, path: Path) -> int | None:
    """The last line of the file that the exception came through."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.resolve()]
    return lines[-1] if lines else None
