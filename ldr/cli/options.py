"""The options of the command, its printed output, its exit codes and its output files.

An option is a parameter of a function: of the subcommand, of the function of `ldr` that the
subcommand calls, or of the named method. The option's help is the parameter's docstring entry.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from ldr.objectives.docstrings import described
from ldr.types import Argument

# Each entry has a parameter's name, its flags if named differently, a placeholder and a help text.
_ENTRIES = described("""
Parameters
----------
objective : OBJECTIVE
    A name that `ldr methods` lists, or my_file.py[:function].
data : DATA
    Samples in .csv, .tsv, .parquet, .npy, .npz or .mat; `check` defaults to random data.
model : MODEL
    File written by `ldr solve --save`: .npz.
name : NAME
    Describe this method, with its parameters.
methods : A,B,...
    By default all that suit the data.
r : -r --r R|SHARE|auto
    Number of components, a share of the variance (0.9), or auto.
dimensions : -r --r A-B|A:B|A,B,...
    Numbers of components to solve for.
label : --label --response COLUMN
    Labels or response; several responses with commas. Not projected.
as_text : --as-text
    Labels are texts, even if they look like numbers.
columns : A,B,...
    Only these columns (numbers from 0 for arrays); repeat for each --view.
drop : A,B,...
    All columns but these; repeat for each --view.
view : --view --second-view FILE
    Another view of the same samples; repeat it for more.
sep : CHARACTER
    Separator of text files, such as ';' or tab.
header : --header/--no-header
    The first line of text files has the names of the columns; else they are 0, 1, ...
background : FILE
    Background (or noise) samples, with the same columns.
weights : COLUMN
    Sample weights, >= 0. Not projected.
groups : COLUMN
    Groups of samples (subjects, batches), held out, resampled or permuted as wholes; the trials for
    methods of time order. Not projected.
standardise : --standardise
    Divide columns by their standard deviations.
param : KEY=VALUE
    Parameter of the objective; repeat it for more.
start : baseline|random|FILE
    Initial point of the solver; FILE is .npy.
seed : NUMBER
    Seed of random starts, permutations, folds and draws.
draws : NUMBER
    Number of bootstrap draws.
cluster : ADDRESS
    Address of a Dask scheduler, whose workers read the files.
out : FILE
    The projected or imputed samples: .csv, .tsv, .parquet or .npy; `solve` also with the map: .npz,
    .mat.
plot : FILE
    The plot: .png, .pdf or .svg.
report : FILE
    All numbers and plots: .html.
save : FILE
    The model, for `transform` and `impute`: .npz.
as_json : --json
    Print JSON.
folder : --out FOLDER
    Folder of the plot ldr-demo.png.
show_progress : --show-progress
    Show the progress on the terminal.
""")


@dataclass(frozen=True)
class Selection:
    """Columns of the files that an objective uses, and the objective's parameters."""

    label: str = ""
    as_text: bool = False
    columns: list[str] | None = None
    drop: list[str] | None = None
    view: list[Path] | None = None
    sep: str = ""
    header: bool = True
    background: Path | None = None
    weights: str = ""
    groups: str = ""
    standardise: bool = False
    param: list[str] | None = None


@dataclass(frozen=True)
class Inquiry:
    """Options for the seed, the cluster that reads the files, and the outputs."""

    seed: int | None = None
    plot: Path | None = None
    report: Path | None = None
    cluster: str = ""
    as_json: bool = False

    @property
    def outputs(self) -> dict[str, Path]:
        """Paths of the files to be written, by their options."""
        paths = {f"--{name}": getattr(self, name, None) for name in ("out", *_ENDINGS)}
        return {option: path for option, path in paths.items() if path is not None}


@dataclass(frozen=True)
class Solving(Inquiry):
    """Options of a single solve."""

    start: str = "baseline"
    out: Path | None = None
    save: Path | None = None


_GROUPS = {"Selection": Selection, "Inquiry": Inquiry, "Solving": Solving}


def names_of_methods(incomplete: str) -> list[str]:
    """Return the names of methods for shell completion."""
    from ldr.objectives.registry import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


def file(text: str | Path) -> Path:
    """Return the path of a file; refuse an empty path."""
    if not str(text).strip():
        raise typer.BadParameter(f"{text!r} is empty, expected the path of a file")
    return Path(text)


def separator(text: str) -> str:
    r"""Return the separator, a single character; ``tab`` or ``\t`` is the tab character."""
    found = "\t" if text in ("tab", "\\t") else text
    if len(found) > 1 or found in ('"', "\n", "\r"):
        raise typer.BadParameter(f"expected one character, or tab, got {text!r}")
    return found


def dimension(text: str | int) -> int | float | str:
    """Read ``3``, a share of the variance like ``0.9``, or ``auto``."""
    text = str(text)
    try:
        return text if text == "auto" else int(text) if text.isdecimal() else float(text)
    except ValueError:
        expected = "expected an integer, a share of the variance such as 0.9, or 'auto'"
        raise typer.BadParameter(f"{expected}, got {text!r}") from None


def dimensions(text: str) -> list[int]:
    """Read ``1-5``, ``1:5`` or ``1,2,5`` as a list of integers."""
    range_ = re.fullmatch(r"(\d+)[-:](\d+)", text)
    try:
        found = range(int(range_[1]), int(range_[2]) + 1) if range_ else ()
        return list(found) or [int(each) for each in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"expected numbers A-B, A:B or A,B,..., got {text!r}") from None


def folds(text: str) -> object:
    """Return a number of folds, or leave-one-out for ``loo``."""
    if text == "loo":
        from sklearn.model_selection import LeaveOneOut

        return LeaveOneOut()
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"expected a whole number or loo, got {text!r}") from None


def literal(text: str) -> object:
    """Return the Python value of a text; texts that are no literals stay strings."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


# Each input that an objective may require has an attribute and a command-line option.
NEEDED = {
    "labels": ("label", "--label COLUMN"),
    "response": ("label", "--response COLUMN"),
    "second view": ("view", "--view FILE"),
    "background": ("background", "--background FILE"),
}
_PARSERS = {"sep": separator, "r": dimension, "dimensions": dimensions, "folds": folds}
_KINDS: dict[str, Any] = {each.__name__: each for each in (bool, int, float, str)} | {
    "Path": Path,
    "list[str]": list[str],
    "list[Path]": list[Path],
}
# Parameters of the Python functions that do not become command-line options.
_NO_OPTIONS = {"X", "y", "sample_weight", "random_state", "observers", "progress", "help", "h"}


def with_options(verb: Callable[..., None], arguments: Sequence[str] = ()) -> Callable[..., None]:
    """Return a subcommand for typer, whose options are the fields of its groups of options.

    If the subcommand has a parameter `more`, the parameters of the `ldr` function of its name are
    options too. If it has --param, the parameters of the named methods are options as well.
    """
    parameters = inspect.signature(verb).parameters
    groups = {n: _GROUPS[p.annotation] for n, p in parameters.items() if p.annotation in _GROUPS}
    fields = {name: inspect.signature(group).parameters for name, group in groups.items()}
    stated: dict[str, inspect.Parameter] = {}
    for name, each in parameters.items():
        stated |= fields.get(name, {} if name == "more" else {name: each})
    options = [_stated(each, *_ENTRIES[name].split("\n", 1)) for name, each in stated.items()]
    taken, further, own = _NO_OPTIONS | set(stated), [], []
    for each in options:
        flags = each.annotation.__metadata__[0].param_decls or ()
        taken |= {flag.strip("-").replace("-", "_") for flag in flags}
    if arguments and "more" in parameters:
        import ldr

        function = "permutation_test" if verb.__name__ == "test" else verb.__name__
        further = _of_signature(getattr(ldr, function), (ldr.path, ldr.solve), taken)
        taken |= {each.name for each in further}
    if arguments and "param" in taken:
        from ldr.objectives.registry import REGISTRY

        method = next((REGISTRY[name] for name in arguments if name in REGISTRY), None)
        own = [] if method is None else _of_signature(method, (), taken)

    @wraps(verb)
    def called(**given: Argument) -> None:
        values = {each.name: given.pop(each.name) for each in own}
        if texts := [f"{name}={value!r}" for name, value in values.items() if value is not None]:
            given["param"] = [*(given["param"] or ()), *texts]
        for each in further:  # an absent option keeps the default of the Python function
            if given[each.name] is None:
                del given[each.name]
        for name, group in groups.items():
            given[name] = group(**{field: given.pop(field) for field in fields[name]})
        verb(**given)

    options += [*further, *own]
    called.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in options}
    return called


def _stated(each: inspect.Parameter, head: str, help: str) -> inspect.Parameter:
    """A parameter of a subcommand as an argument or option, by its entry in `_ENTRIES`."""
    words = head.partition(" : ")[2].split()
    flags = [word for word in words if word.startswith("-")]
    shown: dict[str, Any] = {"metavar": " ".join(words[len(flags) :]) or None}
    shown["help"] = " ".join(help.split())
    shown["parser"] = file if "Path" in each.annotation else _PARSERS.get(each.name)
    if each.name in ("objective", "data", "model", "name"):
        completion = names_of_methods if each.name in ("objective", "name") else None
        info = typer.Argument(**shown, autocompletion=completion)
    else:
        default = each.default not in ("", True)
        info = typer.Option(*flags, **shown, show_default=default)
    return each.replace(annotation=Annotated[_kind(each), info])


def _kind(each: inspect.Parameter) -> Any:
    kind = _KINDS.get(each.annotation.removesuffix(" | None"), Any)
    return kind | None if each.default is None and kind is not Any else kind


def _of_signature(
    function: Callable[..., Any], others: Sequence[Callable[..., Any]], taken: set[str]
) -> list[inspect.Parameter]:
    """Parameters of a function as options, with help from its docstring or those of others."""
    entries: dict[str, str] = {}
    found: list[inspect.Parameter] = []
    for documented in (function, *others):
        for name, entry in described(documented.__doc__).items():
            if not re.search(r"\n +As in `ldr\.\w+`\.$", entry):
                entries.setdefault(name, entry)
    for each in inspect.signature(function).parameters.values():
        if each.name in taken or each.default is each.empty or each.kind is each.VAR_KEYWORD:
            continue
        said = " ".join(entries.get(each.name, "").partition("\n")[2].split())
        default = "" if each.default is None else f" [default: {each.default}]"
        help = f"{re.split(r'(?<=[a-z)])[.:;] ', said)[0].removesuffix('.')}.{default}"
        each = each.replace(kind=each.KEYWORD_ONLY, default=None, annotation=str(each.annotation))
        kind = _kind(each)
        parser = _PARSERS.get(each.name, literal) if kind is Any else None
        annotation: Any = Annotated[kind, typer.Option(help=help, parser=parser)]
        found.append(each.replace(annotation=annotation))
    return found


class Exit(IntEnum):
    """Exit codes."""

    FAILED = 1
    MISTAKE = 2
    INTERRUPTED = 130


_ENDINGS = {"plot": (".png", ".pdf", ".svg"), "report": (".html",), "save": (".npz",)}


def check_outputs(outputs: dict[str, Path], inputs: dict[str, list[Path]]) -> None:
    """Refuse output files that cannot be written or are inputs, before any computation."""
    from ldr import files
    from ldr.errors import ArgumentError

    for option, path in outputs.items():
        endings = _ENDINGS.get(option.removeprefix("--"))
        if endings is None:
            files.ending_of(path)
        elif path.suffix.lower() not in endings:
            expected = " or ".join(endings)
            raise ArgumentError(f"{option} {path}: unknown ending, expected {expected}")
    files.check_outputs(outputs, inputs)


def fitting(line: str, indent: int | None = None) -> str:
    """Wrap a line to the width of the terminal; pipes and files get an unwrapped line."""
    if not sys.stdout.isatty():
        return line
    indent = len(line) - len(line.lstrip()) if indent is None else indent
    width = shutil.get_terminal_size().columns
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def print_rows(rows: Sequence[tuple[str, str]]) -> None:
    """Print names with their descriptions."""
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(fitting(f"{name:<{width}}  {text}", indent=width + 2))


def is_printed() -> bool:
    """Return True if standard output accepted the printed text; otherwise print an error."""
    try:
        sys.stdout.flush()
    except OSError as error:
        complain(f"standard output: {error.strerror}")
        # Python flushes standard output again at exit: on the null device this flush cannot fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


def complain(message: str) -> int:
    """Print an error of the user as a line on standard error; return the exit code."""
    print(f"ldr: {' '.join(message.split())}", file=sys.stderr)
    return Exit.MISTAKE
