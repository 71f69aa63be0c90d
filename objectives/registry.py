"""The registry: every built-in objective by its name."""

from __future__ import annotations

from difflib import get_close_matches

from ldr.objectives.cca import CCA
from ldr.objectives.lda import LDA
from ldr.objectives.lpp import LPP
from ldr.objectives.maf import MAF
from ldr.objectives.objective import Objective
from ldr.objectives.pca import PCA
from ldr.objectives.ppca import PPCA
from ldr.objectives.sdr import SDR
from ldr.objectives.sfa import SFA
from ldr.solvers.errors import ArgumentError

REGISTRY: dict[str, type[Objective]] = {
    cls.name: cls for cls in (PCA, LDA, CCA, MAF, SFA, LPP, PPCA, SDR)
}


def nearest_names(name: str, known: list[str]) -> str:
    """A phrase that offers the names like `name`, or all of them."""
    close = get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    return f"known are {', '.join(known)}"


def named(name: str, **parameters: object) -> Objective:
    """The objective of that name with those parameters.

    Raises
    ------
    ArgumentError
        An unknown name (with the nearest ones) or parameter (with those there are).
    """
    cls = REGISTRY.get(name.lower())
    if cls is None:
        raise ArgumentError(f"unknown objective {name!r}: {nearest_names(name, sorted(REGISTRY))}")
    known = list(getattr(cls, "__dataclass_fields__", {}))
    for parameter in parameters:
        if parameter not in known:
            listed = ", ".join(known) if known else "none"
            raise ArgumentError(
                f"objective {name!r} has no parameter {parameter!r}; it has: {listed}"
            )
    return cls(**parameters)
