"""The house as its imports draw it: ``python -m tests.house`` prints the rooms for CONTRIBUTING.md.

Every import counts, also in functions and for type checkers; the symbolic links are folders.
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
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & set(known) or {node.module}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & set(known)
    return found


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


def room(module: str) -> str:
    """The package that a module is in."""
    return module if modules()[module].stem == "__init__" else module.rpartition(".")[0]


def plan() -> str:
    """Every room, and the rooms that it imports from."""
    rooms: dict[str, set[str]] = {}
    for name, targets in imports().items():
        here = room(name)
        rooms.setdefault(here, set()).update(room(target) for target in targets)
    width = max(map(len, rooms))
    order = sorted(rooms, key=lambda name: (-floor(name), name))
    return "\n".join(
        f"{name:<{width}}  {' '.join(sorted(rooms[name] - {name})) or '-'}" for name in order
    )


if __name__ == "__main__":
    print(plan())
