"""One certified problem: solve it, and try to refute what is claimed."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.adversarial.campaign import REFUSALS, SEED, solved
from tests.adversarial.catalogue import problem
from tests.adversarial.extended import extended, norm
from tests.adversarial.problems import Problem

# Of the reported value against the formula at the result's own matrices, in the formula's terms.
AGREEMENT = 1e-9
# By which a better point must be better than value and gap, in the formula's terms: the rounding of
# the data's sums, which the proofs do not see, at conditions that closed forms bear.
ROUNDING = 1e-11

SUMS_OF_SQUARES = {
    *("pca", "sfa", "olpp", "onpp", "lpp", "npe", "orthogonal-lpp", "orthogonal-npe"),
    *("orthogonal-sfa", "reduced-rank-regression", "least-squares", "ridge-regression", "lasso"),
    "dynamics",
}


@dataclass(frozen=True)
class Violation:
    """What is false, and the problem that shows it."""

    method: str
    index: int
    seed: int
    fault: str
    made: str
    figures: str

    def __str__(self) -> str:
        at = f"attack({self.method!r}, {self.index}, {self.seed})"
        return f"{at}: {self.fault}: {self.figures} [{self.made}]"


@dataclass(frozen=True)
class Outcome:
    """What became of a problem: "refused", "raised", or the certificate's kind."""

    kind: str
    violations: list[Violation]


def solve(method: str, given: Problem) -> Any:
    options = {"y": given.y, "groups": given.groups, **given.parameters}
    return solved(method.split()[0], given.X, given.r, **options)


def attack(method: str, index: int, seed: int = SEED) -> Outcome:
    """Solve the problem of that number and check every claim of the result."""
    given = problem(method, index, seed)

    def violation(fault: str, figures: str) -> Violation:
        shape = np.shape(given.X[0] if isinstance(given.X, tuple) else given.X)
        made = f"{given.made}, {shape}, r = {given.r}"
        return Violation(method, index, seed, fault, made, figures)

    try:
        result = solve(method, given)
    except REFUSALS:
        return Outcome("refused", [])
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({where.filename.rsplit('/', 1)[-1]})"
        return Outcome("raised", [violation("raw exception", text[:200])])
    faults = [violation(*fault) for fault in refuted(result, given)]
    return Outcome(result.certificate.kind, faults)


def refuted(result: Any, given: Problem) -> list[tuple[str, str]]:
    """What the result says and is not so, as pairs of the fault and its figures."""
    if not math.isfinite(result.value):
        return [("value is no number", f"{result.value}")]
    reference = given.reference()
    sign = 1 if reference.sense == "max" else -1
    at, size = reference.at(result)
    certificate = result.certificate
    faults = []
    # "none": rounding is too large for a proof, and is said to be
    uncertain = math.inf if certificate.kind == "none" else 0.0
    if certificate.is_optimal or certificate.kind == "bound":
        uncertain = certificate.gap
    if abs(result.value - at) > AGREEMENT * size + uncertain:
        faults.append(
            (
                "value is not the formula's",
                f"{result.value:.12g}, formula {at:.12g}, terms {size:.3g}",
            )
        )
    if result.value < 0 and result.objective.name in SUMS_OF_SQUARES:
        faults.append(("a sum of squares is negative", f"{result.value:.3g}, terms {size:.3g}"))
    if result.objective.domain.startswith(("Gr", "St")) and result.objective.name != "mcca":
        M = result.M if isinstance(result.M, tuple) else (result.M,)
        off = max(norm(extended(A).T @ extended(A) - np.eye(given.r)) for A in M)
        if off > 1e-13:
            faults.append(("M is not orthonormal", f"{off:.1e}"))
    if result.baseline is not None and sign * (result.baseline - result.value) > 1e-10 * size:
        faults.append(("worse than its baseline", f"{result.value:.12g}, {result.baseline:.12g}"))
    if certificate.is_optimal or certificate.kind == "bound":
        inside = certificate.kind == "restricted" or certificate.message.startswith("within")
        best = reference.optimum if inside else reference.anywhere
        if best is not None:
            short = sign * (best - extended(result.value)) - certificate.gap
            if not short <= ROUNDING * size:
                faults.append(
                    (
                        f"{certificate.kind} is false",
                        f"value {result.value:.12g}, gap {certificate.gap:.1e}, "
                        f"but {best:.12g} is there: {short / size:.1e} of the terms",
                    )
                )
    return faults
