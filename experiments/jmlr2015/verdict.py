"""The verdict on the paper: its claims judged, its published points beside ours, and exceptions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.jmlr2015 import claims, comparison
from experiments.machine.report import Report, Section
from experiments.machine.store import Table


def judge(sweeps: Table, planar: Table, traced: Table, further: Table) -> Report:
    """The verdict from the tables of the sweeps, of figures 1 and 4, and of further data sets."""
    return Report(
        [
            Section(
                "The claims",
                _extent(sweeps, planar, traced),
                ("claim", "verdict", "numbers"),
                [(f.claim, f.mark, f.numbers) for f in claims.judged(sweeps, traced)],
            ),
            *comparison.sections(sweeps, further),
            _rarity(planar),
            _exceptions(sweeps),
        ]
    )


def _extent(sweeps: Table, planar: Table, traced: Table) -> str:
    if not len(sweeps):
        return "The sweeps have not been run."
    points = list(_points(sweeps))
    counts = [len(part) for *_, part in points]
    return (
        f"{len(sweeps)} data sets at {len(points)} points (method, recipe, d, r), "
        f"{min(counts)} to {max(counts)} a point; {len(planar)} data sets of figure 1; "
        f"{len(np.unique(traced['dataset'])) if len(traced) else 0} of figure 4. "
        "`docs/findings.md` states what follows from them."
    )


def _points(table: Table) -> Iterator[tuple[str, str, int, int, Table]]:
    """Every point: recipe, method, d, r, and its rows."""
    for recipe, of_recipe in table.groups("recipe"):
        for method, of_method in of_recipe.groups("method"):
            for d, of_d in of_method.groups("d"):
                for r, part in of_d.groups("r"):
                    yield recipe, method, int(d), int(r), part


def _rarity(planar: Table) -> Section:
    """How rare a stark difference is in three dimensions."""
    levels = (50, 75, 90, 95, 99)
    rows = []
    for recipe, part in planar.groups("recipe"):
        gains = part["improvement_code"]
        quantiles = [f"{value:.3f}" for value in np.percentile(gains, levels)]
        more = f"{100 * float(np.mean(gains >= 0.39)):.1f} %"
        rows.append((recipe, str(len(part)), *quantiles, more))
    return Section(
        "Figure 1: how rare a stark difference is",
        "Quantiles of the improvement, as the code divides, over planar LDA data sets; published "
        "are two chosen ones, 0.02 and 0.39.",
        ("recipe", "data sets", *(f"{level} %" for level in levels), "at least 0.39"),
        rows,
    )


def _exceptions(table: Table) -> Section:
    """What is not certified global though theory can, and what did not converge."""
    rows: list[tuple[str, ...]] = []
    certified = total = 0
    settled = ("converged", "rounding", "closed_form", "observer")
    for recipe, method, d, r, part in _points(table) if len(table) else ():
        for at in range(len(part)):
            where = (f"{method.upper()}, {recipe}", f"{d}, {r}", f"{part['dataset'][at]:.0f}")
            for kind, gap, solver, value in (
                ("certificate", "gap", "solver", "value"),
                ("auto_certificate", "auto_gap", "auto_solver", "auto_value"),
            ):
                if method in ("lda", "maf"):
                    total += 1
                    certified += part[kind][at] == "global"
                    if part[kind][at] != "global":
                        relative = float(part[gap][at] / abs(part[value][at]))
                        what = f"{part[kind][at]}, gap {relative:.1e} of the value"
                        rows.append((*where, str(part[solver][at]), what))
            for status, solver in (
                ("status", "solver"),
                ("other_status", "solver"),
                ("auto_status", "auto_solver"),
            ):
                if part[status][at] not in settled:
                    what = f"{status.replace('_', ' ')}: {part[status][at]}"
                    rows.append((*where, str(part[solver][at]), what))
    return Section(
        "Certificates and convergence",
        f"{certified} of {total} optima of LDA and MAF are certified global, the trust region's "
        f"and auto's counted each. What is not, and runs that did not converge: "
        + ("below." if rows else "none."),
        ("method", "d, r", "data set", "solver", "what"),
        rows,
    )
