"""Inputs of a command: the objective, by name or from a Python file, and validated samples."""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import typer

from ldr.cli.options import NEEDED, Selection, literal
from ldr.objectives.objective import Objective
from ldr.solvers.errors import ArgumentError, DataError, ObjectiveError, SingularError
from ldr.types import Argument, PerRow, Rows, Start


@dataclass(frozen=True)
class Input:
    """An objective and its data, read from files.

    - shown: the data to project: the samples of X, without a background
    - options: arguments for public functions, such as the names of label and weight columns
    """

    objective: Objective
    X: Rows
    y: PerRow
    shown: Rows
    options: dict[str, Argument] = field(default_factory=dict)


@contextmanager
def opened(objective: str, data: Path, selection: Selection, cluster: str = "") -> Iterator[Input]:
    """Yield the objective and its data; a Dask cluster reads the files if its address is given."""
    from ldr.cli.cluster import connected

    with one_line_each(), connected(cluster) if cluster else nullcontext():
        found = load(objective, selection.param)
        check_needed(found, selection)
        given = Input(found, *rows_of(data, selection, found.traits.missing, bool(cluster)))
        with located(objective):
            yield given


def check_needed(objective: Objective, selection: Selection | None) -> None:
    """Refuse missing inputs by the names of their options; without files, selection is None."""
    for need in objective.needs:
        field, option = NEEDED.get(need, ("", ""))
        if field and not getattr(selection, field, None):
            files = "DATA and " if selection is None else ""
            raise ArgumentError(f"objective {objective.name!r} needs {need}: give {files}{option}")


def rows_of(
    data: Path, selection: Selection, allow_nan: bool, in_chunks: bool = False
) -> tuple[Rows, PerRow, Rows, dict[str, Argument]]:
    """Read X, y, the data to project and the options of an `Input`."""
    if in_chunks:
        from ldr.cli.cluster import read_in_chunks as reader
    else:
        from ldr.files import read as reader

    read = partial(reader, separator=selection.sep, header=selection.header)
    table = read(data)
    labels = names_in(selection.label)
    y = table.response(labels, selection.as_text) if labels else None
    marks = {"sample_weight": selection.weights, "groups": selection.groups}
    beside = [*labels, *filter(None, marks.values())]
    not_projected = [name for name in beside if name not in table.beside]
    views = selection.view or []
    columns, dropped = (
        _of_each(option, given, 1 + len(views))
        for option, given in (("--columns", selection.columns), ("--drop", selection.drop))
    )
    kept = table.select(columns[0], not_projected + dropped[0])
    X = kept.samples(allow_nan)
    background = selection.background
    others = [
        read(view).select(only, without).samples()
        for view, only, without in zip(views, columns[1:], dropped[1:], strict=True)
    ]
    if background is not None and not others:
        second = read(background)
        others = [(second.select(kept.columns) if X.feature_names else second).samples()]
    both = (X, *others) if others else X
    found = {name: table.column(column) for name, column in marks.items() if column}
    options = {**found, "standardise": selection.standardise}
    return both, y, X if background is not None else both, options


def _of_each(option: str, given: list[str] | None, files: int) -> list[list[str]]:
    """Return column names for each file, from an option given once or once for each file."""
    names = [names_in(text) for text in given or ()]
    if len(names) > files:
        raise ArgumentError(
            f"{option} is given {len(names)} times, expected at most {files}: once for DATA, then "
            "once for each --view, in this order"
        )
    return names + [[]] * (files - len(names))


def load(objective: str, parameters: list[str] | None) -> Objective:
    """Return the objective with a name and parameters, or the objective in a file."""
    from ldr.objectives import named

    values = {}
    for text in parameters or ():
        key, sign, value = text.partition("=")
        if not (key and sign):
            raise typer.BadParameter(f"--param {text!r} is not of the form KEY=VALUE")
        values[key] = literal(value)
    if split_file(objective) is None:
        return named(objective, **values)
    if values:
        raise ArgumentError("--param is for methods given by name, not for an objective in a file")
    return load_objective(objective)


def names_in(text: str) -> list[str]:
    """Return names separated by commas; a name that contains a comma is quoted, as in .csv."""
    names = next(csv.reader([text], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


@contextmanager
def one_line_each() -> Iterator[None]:
    """Print warnings as lines on standard error, but not warnings of convergence."""
    from ldr.solvers import errors

    def show(message: object, *_: object, **__: object) -> None:
        print(f"ldr: {' '.join(str(message).split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConvergenceWarning)
        warnings.showwarning = show
        yield


def files_read(
    objective: str, data: Path, selection: Selection, start: str = ""
) -> dict[str, list[Path]]:
    """Return the files that a command reads, by their names in the command's help."""
    from ldr.files import split_array

    code = split_file(objective)
    given = {
        "OBJECTIVE": None if code is None else code[0],
        "DATA": data,
        "--background": selection.background,
        "--start": start if start.endswith(".npy") else None,
    }
    files = {name: [path] for name, path in given.items() if path is not None}
    files["--view"] = list(selection.view or ())
    return {name: [split_array(str(path))[0] for path in paths] for name, paths in files.items()}


def start_of(start: str) -> Start:
    """Return an initial point for `ldr.solve`: its name, or the matrix in a file."""
    if not start.endswith(".npy"):
        return start
    from ldr.files import read

    return read(start).samples().dense()


def load_objective(objective: str) -> Objective:
    """Return the objective in ``file.py``, or the objective called name in ``file.py:name``.

    The objective is a function decorated with `ldr.objective`, or an instance of `Objective`. The
    file is executed as a Python script.
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
        raise ArgumentError(f"{path} has several objectives, {names}: pick one, as {path}:{first}")
    raise ArgumentError(f"{path} has no objective {wanted!r}, expected one of {names}")


@contextmanager
def located(objective: str) -> Iterator[None]:
    """Turn exceptions raised in the user's file into an ObjectiveError that names the line."""
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
    # A user's file random.py becomes the module objective_file_random and hides no other module.
    name = f"objective_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickle imports the user's module by name
    beside = str(path.resolve().parent)
    sys.path.append(beside)  # last on sys.path: installed modules take precedence over the user's
    try:
        with located(str(path)):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(beside)
    return module


def _line(error: Exception, path: Path) -> int | None:
    """Return the last line of the file in an exception's traceback."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path.resolve()]
    return lines[-1] if lines else None
