"""The size of the library and the imports between its modules.

``python -m tests.house`` prints each count beside the largest that the tests accept.

Imports in functions count, those for type checkers do not; the symbolic links are folders.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("ldr", "experiments", "benchmarks")

# From the ground up. A floor may import those before it.
FLOORS = ("ldr.solvers", "ldr.objectives", "ldr", "experiments", "benchmarks")


# The tests fail above these; a change that needs more raises the number in the same commit.
LARGEST = {
    "library lines": 49234,
    "library files": 161,
    "public members of Objective and BoundObjective": 45,
    "tuned constants": 99,
}


def counts() -> dict[str, int]:
    """The sizes of the library that are held by `LARGEST`."""
    from ldr.objectives import BoundObjective, Objective

    paths = [path for name, path in modules().items() if name.split(".")[0] == "ldr"]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    members = [name for cls in (Objective, BoundObjective) for name in dir(cls)]
    return {
        "library lines": sum(len(text.splitlines()) for text in texts),
        "library files": len(texts),
        "public members of Objective and BoundObjective": len(
            [name for name in members if not name.startswith("_")]
        ),
        "tuned constants": sum(len(constants(text)) for text in texts),
    }


def constants(text: str) -> list[str]:
    """The names at module level that are bound to a number, or to arithmetic of numbers.

    Names in lower case are states, such as counters.
    """
    named = [
        (node.targets[0] if isinstance(node, ast.Assign) else node.target, node.value)
        for node in ast.parse(text).body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
    ]
    found = [ast.unparse(name) for name, value in named if _is_number(value)]
    return [name for name in found if name.isupper()]


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found: dict[str, Path] = {}

    def walk(folder: Path, package: str) -> None:
        for path in sorted(folder.iterdir()):
            if (path / "__init__.py").exists():
                walk(path, f"{package}.{path.name}")
            elif path.suffix == ".py":
                found[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path

    for package in PACKAGES:
        walk(ROOT / package, package)
    return found


@cache
def imports() -> dict[str, set[str]]:
    """The modules that each module imports."""
    known = modules()
    return {name: _imported(path, known) - {name} for name, path in known.items()}


def _imported(path: Path, known: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _for_type_checkers(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & set(known) or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & set(known)
    return found


def _for_type_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in turn; none where there is no such circle."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def floor(module: str) -> int:
    """The number of the floor that a module is on."""
    return max(
        (len(name), k)
        for k, name in enumerate(FLOORS)
        if module == name or module.startswith(f"{name}.")
    )[1]


if __name__ == "__main__":
    for name, count in counts().items():
        print(f"{count:>7,}  {name} (at most {LARGEST[name]:,})")
