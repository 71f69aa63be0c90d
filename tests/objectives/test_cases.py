"""Reference cases: data with the values that the paper's own implementation reached on them.

They are read from a folder `shared/cases` beside the checkout where there is one, or from the one
that LDR_CASES names.
"""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io

import ldr

FOLDER = Path(os.environ.get("LDR_CASES", Path(__file__).parents[3] / "shared" / "cases"))
CASES = sorted(FOLDER.glob("*.mat"))
pytestmark = pytest.mark.skipif(not CASES, reason="no reference cases beside the checkout")

SOLVERS = ["auto", "trust-region", "lbfgs", "conjugate-gradient", "steepest-descent"]

# With the right gradient, from the reference's own baseline (README of the cases).
CCA_BEST = {
    "cca_d4_r3_seed1": -0.966160783647,
    "cca_d16_r3_seed3": -0.999999996151,
    "cca_d32_r20_seed7": -0.998024293458,
}


def load(path):
    """Case as (objective, X, y, r, case); the data are stored with points as columns."""
    case = scipy.io.loadmat(path, squeeze_me=True)
    name = path.stem.split("_")[0]
    r = int(path.stem.split("_")[2][1:])
    if name == "cca":
        return name, (case["Xa"].T, case["Xb"].T), None, r, case
    return name, case["X"].T, case.get("labels"), r, case


def minimised(name, value):
    return value if name == "pca" else -value


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("path", [p for p in CASES if "cca" not in p.stem], ids=lambda p: p.stem)
def test_global_optimum_is_reached_and_certified(path, solver):
    name, X, y, r, case = load(path)
    for start in ("baseline", "random"):
        result = ldr.solve(name, X, r, y=y, solver=solver, start=start, random_state=1)
        value = minimised(name, result.value)
        best = float(case["f_global"])
        assert result.converged
        assert value == pytest.approx(best, rel=1e-10)
        assert value <= float(case["f_orth"]) + 1e-12 * abs(best)
        assert result.certificate.kind == "global"
        assert result.improvement >= -1e-12


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("path", [p for p in CASES if "cca" in p.stem], ids=lambda p: p.stem)
def test_cca_reaches_the_best_known_value_from_its_baseline(path, solver):
    name, X, _, r, case = load(path)
    result = ldr.solve(name, X, r, solver=solver)
    value = minimised(name, result.value)
    assert result.converged
    assert value <= float(case["f_orth"]) + 1e-12
    assert value == pytest.approx(CCA_BEST[path.stem], abs=2e-12)
    assert value + result.certificate.gap >= CCA_BEST[path.stem] - 1e-12


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_baseline_is_the_reference_heuristic(path):
    """Except for maf's, whose reference takes singular vectors by mistake: there f_true_eig."""
    name, X, y, r, case = load(path)
    result = ldr.solve(name, X, r, y=y)
    key = "f_true_eig_heuristic" if name == "maf" else "f_heuristic"
    assert minimised(name, result.baseline) == pytest.approx(float(case[key]), rel=1e-8)
