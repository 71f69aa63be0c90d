"""The pages of the methods, from the registry and the docstrings."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import ldr
from docs import gallery
from docs.gallery import run_strictly
from docs.method_examples import example_of
from docs.tree import picture
from ldr.cli.options import NEEDED
from ldr.estimators import estimator_name
from ldr.method_selection import TABLE
from ldr.objectives import REGISTRY, Objective
from ldr.objectives.docstrings import advice
from ldr.objectives.parameters import Need
from ldr.objectives.registry import Entry

# Beside this file; not committed.
FOLDER = "methods"
REFERENCE = "api"
GALLERY = "gallery"

# scikit-learn writes the routing methods, and their text, itself.
_ESTIMATOR = """.. autoclass:: ldr.{}
   :members:
   :exclude-members: set_fit_request, set_score_request, set_transform_request,
      set_inverse_transform_request, set_partial_fit_request
"""
_READING = (
    "The axes of a projection name the share of the variance, or the method's own score, of each "
    "component. `result.components` has all scores; [Components](../coordinates.md) explains them."
)
# What a method is for, by what it needs beside X; the first that fits.
GROUPS = {
    "Labels": Need.LABELS,
    "A response": Need.RESPONSE,
    "Several views": Need.SECOND_VIEW,
    "A background": Need.BACKGROUND,
    "Time": Need.TIME_ORDER,
    "Neighbours": Need.GRAPH,
    "Distances": Need.DISTANCES,
    "Rows alone": None,
}


def write_pages(root: Path) -> None:
    """A page and a picture a method and an example, the lists of them, and the reference."""
    folder, reference, gallery_folder = (root / name for name in (FOLDER, REFERENCE, GALLERY))
    for each in (folder, reference, gallery_folder):
        each.mkdir(exist_ok=True)
    for name, cls in REGISTRY.items():
        printed, result, figure = solve_example(name)
        figure.savefig(folder / f"{name}.png", dpi=120)
        _write(folder / f"{name}.md", page(cls, printed, result))
    picture().savefig(folder / "choosing.png", dpi=100)
    _write(folder / "index.md", index())
    for example in gallery.EXAMPLES:
        printed, figure = example.run()
        figure.savefig(gallery_folder / f"{example.slug}.png", dpi=100)
        _write(gallery_folder / f"{example.slug}.md", example.page(printed, figure.get_figwidth()))
        _write(gallery_folder / f"{example.slug}.py", example.script())
    _write(gallery_folder / "index.md", gallery.index())
    for name, text in api().items():
        _write(reference / f"{name}.md", text)


def solve_example(name: str) -> tuple[str, Any, Any]:
    """What the example prints, its result and its figure."""
    solution, plot = example_of(name)
    printed, names = run_strictly(f"{solution}\n{plot}", f"example of {name}")
    return printed, names["result"], names["figure"]


def page(cls: type[Objective], printed: str, result: Any) -> str:
    """The page of a method, in MyST Markdown."""
    entry, (solution, plot) = Entry.of(cls()), example_of(cls.name)
    facts = [
        ("sense", {"min": "minimised", "max": "maximised"}[entry.sense]),
        ("[manifold](../writing-an-objective.md#which-manifold)", entry.manifold),
        ("baseline", entry.baseline),
        ("is the baseline optimal?", entry.exact),
        ("needs besides X", entry.needs),
        ("estimator", f"`ldr.{estimator_name(cls)}`"),
        ("see also", ", ".join(f"[{name}]({name}.md)" for name in akin(cls)) or "-"),
    ]
    rows = "\n".join(f"| {name} | {_cell(text)} |" for name, text in facts)
    needed = "".join(f" {NEEDED[need][1]}" for need in cls.needs if need in NEEDED)
    return f"""# {entry.name}: {entry.summary.partition(", ")[0]}

```{{eval-rst}}
.. autoclass:: ldr.objectives.{cls.__name__}
   :no-members:
```

In plain text, as `ldr methods {entry.name}` prints it, the formula is `{entry.formula}`.

| | |
|---|---|
{rows}

## Example

```python
{solution.rstrip()}
```

```text
{printed.rstrip()}
```

```python
{plot}
```

![The components of the example]({entry.name}.png)

{_READING}

On the command line: `ldr solve {entry.name} DATA{needed} -r {result.r}`.

## The estimator

```{{eval-rst}}
{_ESTIMATOR.format(estimator_name(cls)).rstrip()}
```
"""


def akin(cls: type[Objective]) -> list[str]:
    """The other methods of its page of the source, of its rows of `ldr.choose`, and of the advice.

    Advice to take one in the place of another leads both ways.
    """
    name = cls.name
    page = [other for other, kin in REGISTRY.items() if kin.__module__ == cls.__module__]
    beside = [other for advice in TABLE if name in advice.use for other in advice.use]
    advised = [other for other in REGISTRY if other in _advised(name) or name in _advised(other)]
    return [other for other in dict.fromkeys([*page, *beside, *advised]) if other != name]


def _advised(name: str) -> set[str]:
    """The methods that the advice on one names."""
    return set(re.findall(r"[a-z-]+", " ".join(advice(REGISTRY[name].__doc__)))) & set(REGISTRY)


def groups() -> dict[str, list[str]]:
    """The methods by what they are of."""
    found: dict[str, list[str]] = {heading: [] for heading in GROUPS}
    for name, cls in REGISTRY.items():
        fitting = (h for h, need in GROUPS.items() if need is None or need in cls.needs)
        found[next(fitting)].append(name)
    return {heading: names for heading, names in found.items() if names}


def index() -> str:
    """The methods by the data that they need beside X, with the picture of each example."""
    text = [
        "# Methods",
        "Every method of the registry. `ldr.solve(name, X, r)` takes the name, `ldr methods NAME` "
        "describes it, and [How to choose a method](../choosing-a-method.md) compares them.",
    ]
    for heading, names in groups().items():
        briefs = {
            n: f"{Entry.of(REGISTRY[n]()).summary}. {advice(REGISTRY[n].__doc__)[0]}" for n in names
        }
        rows = [
            f"| [![{name}]({name}.png){{w=170px}}]({name}.md) | [{name}]({name}.md)<br>"
            f"{_cell(brief)} |"
            for name, brief in briefs.items()
        ]
        text += [f"## {heading}", "\n".join(["| | |", "|---|---|", *rows])]
    tree = "\n".join(f"{name} <{name}>" for name in REGISTRY)
    text.append(f"```{{toctree}}\n:hidden:\n\n{tree}\n```")
    return "\n\n".join(text) + "\n"


def api() -> dict[str, str]:
    """The reference, a page a public name; methods and their estimators have pages of their own."""
    public = {name: getattr(ldr, name) for name in ldr.__all__}
    of_methods = {estimator_name(cls) for cls in REGISTRY.values()}
    pages: dict[str, str] = {}
    rows: dict[str, list[str]] = {"Functions": [], "Classes": [], "Modules": []}
    for name, value in public.items():
        if name in of_methods or name in ("estimators", "objectives"):
            continue
        if inspect.ismodule(value):
            collects = "\n   :imported-members:" if hasattr(value, "__all__") else ""
            kind, directive = "Modules", f".. automodule:: ldr.{name}\n   :members:{collects}"
        elif inspect.isclass(value):
            members = _ESTIMATOR if hasattr(value, "fit") else ".. autoclass:: ldr.{}\n   :members:"
            kind, directive = "Classes", members.format(name).rstrip()
        else:
            kind, directive = "Functions", f".. autofunction:: ldr.{name}"
        pages[name] = f"# ldr.{name}\n\n```{{eval-rst}}\n{directive}\n```\n"
        first = (inspect.getdoc(value) or "").split("\n")[0]
        rows[kind].append(f"| [{name}]({name}.md) | {_cell(first)} |")
    pages["writing-methods"] = "# Writing methods\n\n" + "\n\n".join(
        f"```{{eval-rst}}\n.. autoclass:: ldr.objectives.{name}\n   :members:\n```"
        for name in ("Objective", "Traits", "BoundObjective", "Data", "Certificate")
    )
    rows["Modules"].append(
        "| [writing methods](writing-methods.md) | What a method derives from. |"
    )
    rows["Estimators"] = [
        f"| [{estimator_name(cls)}](../methods/{name}.md#the-estimator) | "
        f"[{name}](../methods/{name}.md) |"
        for name, cls in REGISTRY.items()
    ]
    text = [
        "# Reference",
        "Public names. Each estimator is on [the page of its method](../methods/index.md).",
    ]
    for kind, lines in rows.items():
        text += [f"## {kind}", "\n".join(["| | |", "|---|---|", *lines])]
    tree = "\n".join(pages)
    text.append(f"```{{toctree}}\n:hidden:\n\n{tree}\n```")
    return {**pages, "index": "\n\n".join(text) + "\n"}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _write(path: Path, text: str) -> None:
    """Leave a page alone that says the same already, so that Sphinx does not build it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
