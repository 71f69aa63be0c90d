"""The paper's eight claims, judged by the tables of the runs. Every threshold is fixed here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from experiments.jmlr2015 import published
from experiments.jmlr2015.convergence import PAIRS
from experiments.jmlr2015.figures import (
    BASELINES,
    improvement_column,
    mean_gaps,
    quartiles,
    sweep,
    with_totals,
)
from experiments.jmlr2015.published import GAINING
from experiments.jmlr2015.recipes import CODE
from experiments.machine.report import Finding
from experiments.machine.store import Table

ROUNDING = 1e-12  # threshold: a smaller relative change of a value is a rounding error
SAME_VALUE = 1e-6  # threshold: the values of two starts are equal if they differ by less
ABOUT_TEN_PERCENT = (0.05, 0.20)
ABOUT_LINEAR = (0.7, 1.3)  # range of the slope of log seconds against log d
CONVERGED_GAP = 1e-9
LITTLE = 2.0  # threshold: iterations and time on two manifolds differ little below this ratio
SIGNIFICANT = 0.05


def judged(sweeps: Table, traced: Table) -> list[Finding]:
    """All claims, by the tables of the sweeps and of figure 4."""
    code = sweeps.where(recipe=CODE)
    return [
        _no_gain_of_pca(sweeps),
        _nothing_below_zero(sweeps),
        *_about_ten_percent(code),
        _same_value_from_both_starts(sweeps),
        _trends(code),
        _linear_runtime(code),
        _second_order_beats_first(traced),
        _manifold_matters_little(traced),
    ]


def _no_gain_of_pca(table: Table) -> Finding:
    claim = "1. PCA improvement is 0 everywhere"
    pca = table.where(method="pca")
    if not len(pca):
        return Finding(claim, None, "")
    largest = float(np.abs(pca["improvement"]).max())
    return Finding(
        claim,
        largest < ROUNDING,
        f"largest of {len(pca)} runs {largest:.1e}, bar {ROUNDING:.0e}; "
        "the trust region from a random start",
    )


def _nothing_below_zero(table: Table) -> Finding:
    claim = "2. No point lies below 0 (PCA, LDA, CCA, MAF)"
    if not len(table):
        return Finding(claim, None, "")
    lowest = {b: float(table[improvement_column(b)].min()) for b in BASELINES}
    below = sum(int((table[improvement_column(b)] < -ROUNDING).sum()) for b in BASELINES)
    numbers = ", ".join(f"{value:.1e} ({name})" for name, value in lowest.items())
    return Finding(
        claim,
        below == 0,
        f"lowest of all {len(table)} data sets {numbers}; {below} below -{ROUNDING:.0e} (rounding)",
    )


def _about_ten_percent(table: Table) -> Iterator[Finding]:
    """Of the median at each point, the median over the points of the sweep over d."""
    low, high = ABOUT_TEN_PERCENT
    for baseline in BASELINES:
        claim = f"3. LDA, CCA, MAF gain about 10 % (MAF {baseline})"
        part = sweep(table, CODE, "d")
        if not _has(part, *GAINING):
            yield Finding(claim, None, "")
            continue
        column = improvement_column(baseline)
        typical = {
            m: float(np.median(quartiles(part.where(method=m), "d", column)[:, 1])) for m in GAINING
        }
        numbers = ", ".join(f"{m.upper()} {value:.4f}" for m, value in typical.items())
        yield Finding(
            claim,
            all(low <= value <= high for value in typical.values()),
            f"median over d of the medians: {numbers}; bar {low} to {high} each",
        )


def _same_value_from_both_starts(table: Table) -> Finding:
    claim = "4. Random start and baseline start reach the same value"
    if not len(table):
        return Finding(claim, None, "")
    parts, same_everywhere = [], True
    for method, part in table.groups("method"):
        difference = np.abs(part["value"] - part["other_value"])
        same = difference <= SAME_VALUE * np.abs(part["value"])
        same_everywhere &= bool(same.all())
        parts.append(
            f"{method.upper()} {int(same.sum())}/{len(part)}"
            + ("" if same.all() else f" (largest difference {difference.max():.1e})")
        )
    return Finding(
        claim, same_everywhere, ", ".join(parts) + f"; equal to {SAME_VALUE:.0e}, relative"
    )


def _trends(table: Table) -> Finding:
    """Rank correlation of the improvement of all data sets with r and with d."""
    from scipy.stats import spearmanr

    claim = '5. Larger r makes "baseline = local optimum" less likely, larger d more'
    if not _has(table, *GAINING):
        return Finding(claim, None, "")
    parts, holds = [], True
    for method in GAINING:
        for baseline in BASELINES if method == "maf" else BASELINES[:1]:
            for name, sign in (("r", 1), ("d", -1)):
                part = sweep(table, CODE, name).where(method=method)
                if len(np.unique(part[name])) < 2:
                    return Finding(claim, None, "")
                gains = part[improvement_column(baseline)]
                rank, p = spearmanr(part[name], gains) if np.ptp(gains) else (0.0, 1.0)
                right = bool(sign * rank > 0 and p < SIGNIFICANT)
                holds &= right
                label = f"MAF {baseline}" if method == "maf" else method.upper()
                parts.append(f"{label} {name}: {rank:+.2f}{'' if right else ' (not)'}")
    return Finding(claim, holds, "rank correlation of the improvement with " + ", ".join(parts))


def _linear_runtime(table: Table) -> Finding:
    claim = "6. Runtime grows about linearly in d"
    part = sweep(table, CODE, "d")
    if not len(part) or len(np.unique(part["d"])) < 3:
        return Finding(claim, None, "")
    low, high = ABOUT_LINEAR
    parts, holds = [], True
    for method, of_method in with_totals(part).groups("method"):
        whole, solver = (_slope(of_method, column) for column in ("time", "usual_seconds"))
        theirs = _slope_of([(b.x, b.median) for b in published.bars("3A", method)])
        holds &= low <= whole <= high
        parts.append(
            f"{method.upper()} {whole:.2f} (solver alone {solver:.2f}, published {theirs:.2f})"
        )
    return Finding(
        claim, holds, f"slope of log seconds in log d, bar {low} to {high}: " + ", ".join(parts)
    )


def _slope(table: Table, column: str) -> float:
    return _slope_of([(row[0], row[1]) for row in quartiles(table, "d", column)])


def _slope_of(points: list[tuple[float, float]]) -> float:
    """Least squares of log y in log x."""
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


@dataclass(frozen=True)
class Convergence:
    """Until the gap is 1e-9: iterations of the mean gap, and median seconds of the runs."""

    iterations: int
    seconds: float


def until_converged(runs: Table) -> Convergence | None:
    """When the runs of one solver get there; None where some do not."""
    steps, gaps = mean_gaps(runs)
    seconds = []
    for _, run in runs.groups("dataset"):
        there = run["gap"] <= CONVERGED_GAP
        if not there.any():
            return None
        seconds.append(float(run["seconds"][np.argmax(there)]))
    return Convergence(int(steps[np.argmax(gaps <= CONVERGED_GAP)]), float(np.median(seconds)))


def _convergences(traced: Table) -> dict[tuple[str, str], Convergence | None]:
    found = {}
    for solver, manifold in PAIRS:
        part = traced.where(solver=solver, manifold=manifold)
        found[solver, manifold] = until_converged(part) if len(part) else None
    return found


def _second_order_beats_first(traced: Table) -> Finding:
    claim = "7. Second order beats first order (PCA: trust region, steepest descent)"
    found = _convergences(traced)
    if not len(traced) or None in found.values():
        return Finding(claim, None, "" if not len(traced) else "not all runs reach a gap of 1e-9")
    parts, holds = [], True
    for manifold in ("stiefel", "grassmann"):
        first, second = found["steepest-descent", manifold], found["trust-region", manifold]
        assert first is not None and second is not None
        holds &= second.iterations < first.iterations and second.seconds < first.seconds
        parts.append(
            f"{manifold}: trust region {second.iterations} iterations, "
            f"{1e3 * second.seconds:.1f} ms; steepest descent {first.iterations}, "
            f"{1e3 * first.seconds:.1f} ms"
        )
    theirs = "{} and {} to {}".format(
        published.TRUST_REGION_ITERATIONS, *published.STEEPEST_DESCENT_ITERATIONS
    )
    return Finding(
        claim, holds, f"to a gap of 1e-9; {'; '.join(parts)}; published iterations {theirs}"
    )


def _manifold_matters_little(traced: Table) -> Finding:
    claim = "8. Stiefel or Grassmann matters little (PCA)"
    found = _convergences(traced)
    if not len(traced) or None in found.values():
        return Finding(claim, None, "" if not len(traced) else "not all runs reach a gap of 1e-9")
    parts, holds = [], True
    for solver in ("steepest-descent", "trust-region"):
        one, other = found[solver, "stiefel"], found[solver, "grassmann"]
        assert one is not None and other is not None
        factors = one.iterations / other.iterations, one.seconds / other.seconds
        holds &= all(1 / LITTLE <= factor <= LITTLE for factor in factors)
        parts.append(f"{solver}: iterations x {factors[0]:.2f}, seconds x {factors[1]:.2f}")
    return Finding(
        claim, holds, f"Stiefel against Grassmann, bar a factor {LITTLE:g}; " + "; ".join(parts)
    )


def _has(table: Table, *methods: str) -> bool:
    return all(len(table.where(method=method)) for method in methods)
