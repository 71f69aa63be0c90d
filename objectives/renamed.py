"""Renamed methods: names of version 0.9 are accepted for one version, with a warning."""

from __future__ import annotations

from ldr.solvers.errors import warn

# Methods that had another name in version 0.9: from the old name to the new one.
RENAMED = {f"classical-{name}": name for name in ("lda", "cca", "maf", "gcpca")}
# Names that until version 0.9 meant the variant of the method with orthonormal directions.
CHANGED = {name: f"orthogonal-{name}" for name in RENAMED.values()}
# Classes that had another name in version 0.9: from the old name to the new one.
RENAMED_CLASSES = {f"Classical{name}": name for name in ("LDA", "CCA", "MAF", "GCPCA")}
CHANGED_CLASSES = {name: f"Orthogonal{name}" for name in RENAMED_CLASSES.values()}


def current_name(name: str) -> str:
    """Return the current name of a method, with a warning for changed names of version 0.9."""
    return _current(name, RENAMED, CHANGED)


def current_class(name: str) -> str:
    """Return the current name of a method's class, warning for changed names of version 0.9."""
    return _current(name, RENAMED_CLASSES, CHANGED_CLASSES)


def _current(name: str, renamed: dict[str, str], changed: dict[str, str]) -> str:
    if name in renamed:
        warn(f"{name!r} is called {renamed[name]!r} now: use that name", FutureWarning)
    elif name in changed:
        warn(
            f"{name!r} names the textbook's method now, whose directions are not orthogonal; what "
            f"it named until version 0.9 is {changed[name]!r}. The next version does not warn",
            FutureWarning,
        )
    return renamed.get(name, name)
