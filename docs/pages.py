"""The pages of the methods, from the registry and the guides."""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import ldr
from docs.guides import GUIDES, Guide
from docs.tree import picture
from ldr.cli.options import NEEDED
from ldr.objectives import REGISTRY, Objective
from ldr.objectives.listing import Entry

FOLDER = "methods"  # beside this file; not committed

# scikit-learn writes the routing methods, and their text, itself.
_ESTIMATOR = """.. autoclass:: ldr.{}
   :members:
   :exclude-members: set_fit_request, set_score_request, set_transform_request,
      set_inverse_transform_request, set_partial_fit_request
"""


def write_pages(root: Path) -> None:
    """A page and a picture a method, and the list of them."""
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    for name, cls in REGISTRY.items():
        printed, result, figure = solve_example(name, GUIDES[name])
        figure.savefig(folder / f"{name}.png", dpi=120)
        _write(folder / f"{name}.md", page(cls, GUIDES[name], printed, result))
    picture().savefig(folder / "choosing.png", dpi=100)
    _write(folder / "index.md", index())
    _write(root / "api.md", api())


def solve_example(name: str, guide: Guide) -> tuple[str, Any, Any]:
    """What the example prints, its result and its figure."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(guide.solution(name), f"example of {name}", "exec"), names)
        figure = eval(guide.plot, names)
    return printed.getvalue(), names["result"], figure


def page(cls: type[Objective], guide: Guide, printed: str, result: Any) -> str:
    """The page of a method, in MyST Markdown."""
    entry = Entry.of(cls())
    facts = [
        ("sense", {"min": "minimised", "max": "maximised"}[entry.sense]),
        ("manifold", entry.manifold),
        ("heuristic", entry.baseline),
        ("is the heuristic optimal?", entry.exact),
        ("needs besides X", entry.needs),
        ("source", entry.source),
    ]
    rows = "\n".join(f"| {name} | {_cell(text)} |" for name, text in facts)
    return f"""# {entry.name}

```text
{entry.formula}
```

{guide.when}

| | |
|---|---|
{rows}

## Example

```python
{guide.solution(entry.name).rstrip()}
```

```text
{printed.rstrip()}
```

```python
{guide.plot}
```

![The rows of the example, projected]({entry.name}.png)

On the command line: `ldr solve {entry.name} DATA{_options(cls)} -r {result.r}`.

## Reference

```{{eval-rst}}
.. autoclass:: ldr.objectives.{cls.__name__}
   :no-members:
```
"""


def index() -> str:
    """The list of the methods."""
    rows = "\n".join(
        f"| [{name}]({name}.md) | `{_cell(cls().formula)}` | {_cell(_when(cls))} |"
        for name, cls in REGISTRY.items()
    )
    tree = "\n".join(REGISTRY)
    return f"""# Methods

Every method of the registry, with its formula and when to use it. `ldr methods` prints the list,
and `ldr.solve(name, X, r)` takes the name.

| name | formula | when |
|---|---|---|
{rows}

```{{toctree}}
:hidden:

{tree}
```
"""


def _when(cls: type[Objective]) -> str:
    """The guide's advice, or of a method that has none yet the first line of its docstring."""
    guide = GUIDES.get(cls.name)
    return (inspect.getdoc(cls) or "").split("\n")[0] if guide is None else guide.when


def api() -> str:
    """The reference of all public names but the methods, which have pages of their own."""
    public = {name: getattr(ldr, name) for name in ldr.__all__}
    functions = [name for name, value in public.items() if inspect.isfunction(value)]
    classes = [name for name, value in public.items() if inspect.isclass(value)]
    estimators = [name for name in classes if hasattr(public[name], "fit")]
    modules = [
        name
        for name, value in public.items()
        if inspect.ismodule(value) and name not in ("estimators", "objectives")
    ]
    sections = [
        ("Functions", [f".. autofunction:: ldr.{name}" for name in functions]),
        (
            "What they return",
            [
                f".. autoclass:: ldr.{name}\n   :members:"
                for name in classes
                if name not in estimators
            ],
        ),
        ("Estimators", [_ESTIMATOR.format(name) for name in estimators]),
        (
            "Writing methods",
            [
                f".. autoclass:: ldr.objectives.{name}\n   :members:"
                for name in ("Objective", "BoundObjective", "Data", "Certificate")
            ],
        ),
        *((f"ldr.{name}", [_module(name, public[name])]) for name in modules),
    ]
    text = ["# API reference", "The methods have [pages of their own](methods/index.md)."]
    for heading, directives in sections:
        if directives:
            text.append(f"## {heading}")
            text += ["```{eval-rst}\n" + directive + "\n```" for directive in directives]
    return "\n\n".join(text) + "\n"


def _module(name: str, module: ModuleType) -> str:
    """What a module defines; what it collects too, where it says what that is."""
    collects = "\n   :imported-members:" if hasattr(module, "__all__") else ""
    return f".. automodule:: ldr.{name}\n   :members:{collects}"


def _options(cls: type[Objective]) -> str:
    """What the command needs besides the data."""
    return "".join(f" {NEEDED[need][1]}" for need in cls.needs if need in NEEDED)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _write(path: Path, text: str) -> None:
    """Leave a page alone that says the same already, so that Sphinx does not build it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
