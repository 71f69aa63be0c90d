"""The registry as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import getdoc

from ldr.objectives.objective import Objective
from ldr.objectives.registry import REGISTRY

COLUMNS = ("name", "formula", "manifold", "sense", "exact", "baseline", "needs", "source")


@dataclass(frozen=True)
class Entry:
    """One method of the registry.

    Attributes
    ----------
    name, formula, manifold, sense, baseline, needs, source : str
    summary : str
        What it does, in half a line.
    exact : str
        When the baseline is the global optimum: "yes", "no" or a condition.
    """

    name: str
    formula: str
    manifold: str
    sense: str
    exact: str
    baseline: str
    needs: str
    source: str
    summary: str

    @classmethod
    def of(cls, objective: Objective) -> Entry:
        return cls(
            objective.name,
            objective.formula,
            objective.domain,
            objective.sense,
            objective.exact,
            objective.baseline,
            ", ".join(objective.needs) or "-",
            objective.source,
            re.split(r"[:.;]", (getdoc(objective) or "").partition("\n")[0])[0],
        )


class Listing(tuple[Entry, ...]):
    """The methods, printed as a table."""

    def __repr__(self) -> str:
        rows = [COLUMNS, *(tuple(getattr(e, c) for c in COLUMNS) for e in self)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = (
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        )
        return "\n".join(lines)


def list_objectives() -> Listing:
    """Every method: name, formula, manifold, sense, exactness, baseline, needs, source.

    Returns
    -------
    Listing
        A tuple of `Entry`, whose repr is a table.

    Examples
    --------
    >>> import ldr
    >>> [entry.name for entry in ldr.objectives.list()][:2]
    ['pca', 'log-det-pca']
    """
    return Listing(Entry.of(cls()) for cls in REGISTRY.values())
