"""Solvers by name."""

from __future__ import annotations

from difflib import get_close_matches

from ldr.solvers.coordinate_descent import CoordinateDescent
from ldr.solvers.descent import LBFGS, ConjugateGradient, SteepestDescent
from ldr.solvers.errors import ArgumentError, warn
from ldr.solvers.likelihoods import ExpectationMaximisation, Imputation, VariableProjection
from ldr.solvers.proximal_gradient import ProximalGradient, Smoothing
from ldr.solvers.pymanopt import PYMANOPT_SOLVERS, Pymanopt
from ldr.solvers.solver import AnySolver
from ldr.solvers.stochastic import SVRG
from ldr.solvers.trace_ratio import SelfConsistentField
from ldr.solvers.trust_region import GradientsFirst, TrustRegion

NATIVE: dict[str, type[AnySolver]] = {
    cls.name: cls
    for cls in (
        SteepestDescent,
        ConjugateGradient,
        LBFGS,
        SVRG,
        TrustRegion,
        GradientsFirst,
        SelfConsistentField,
        VariableProjection,
        ExpectationMaximisation,
        Imputation,
        CoordinateDescent,
        ProximalGradient,
        Smoothing,
    )
}


# Old names of solvers, which are accepted with a warning.
_RENAMED = {"davidson": SelfConsistentField.name}


def solver_names() -> list[str]:
    """Return every name accepted by `solver=` except "auto" and "closed-form"."""
    return [*NATIVE, *(f"pymanopt:{name}" for name in PYMANOPT_SOLVERS)]


def named_solver(name: str) -> AnySolver:
    """Return the solver of a given name, with its default options.

    Raises
    ------
    ArgumentError
        The name is unknown; the message lists similar names.
    """
    if name in _RENAMED:
        warn(f"solver={name!r} is now called {_RENAMED[name]!r}", FutureWarning)
        name = _RENAMED[name]
    if name in NATIVE:
        return NATIVE[name]()
    if name.startswith("pymanopt:") and name.removeprefix("pymanopt:") in PYMANOPT_SOLVERS:
        return Pymanopt(name.removeprefix("pymanopt:"))
    known = ["auto", "closed-form", *solver_names()]
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known are {known}"
    raise ArgumentError(f"unknown solver {name!r}: {hint}")
