"""Random projections: the bound of Johnson and Lindenstrauss, beside pca and mds stress."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ldr
from experiments.jmlr2015.figures import pyplot, save
from experiments.machine.report import Finding, Section
from experiments.machine.store import Table
from experiments.other_papers.papers import (
    COLOURS,
    Array,
    Experiment,
    Generator,
    Measured,
    Part,
    Tables,
    cases_of,
    curve,
    judged,
    labelled,
    ordered,
)

EPSILONS = (0.5, 0.7, 0.9)
POINTS = 300
METHODS = ("random", "pca", "mds-stress")
# mds-stress starts at pca's solution and cannot exceed its stress; low accuracy suffices.
OPTIONS: dict[str, dict[str, Any]] = {
    "pca": {},
    "mds-stress": {"solver": "lbfgs", "tolerance": 1e-5, "max_iterations": 30},
}


def dimensions(n: int, epsilon: float) -> int:
    """m = 32 log n / eps^2."""
    return math.ceil(32 * math.log(n) / epsilon**2)


def bounded(case: str, rng: Generator) -> Iterator[Measured]:
    """Distortions of all squared distances by a random projection to m dimensions."""
    X = points(case, rng)
    n, d = X.shape
    before = _squares(X)
    for epsilon in EPSILONS:
        m = dimensions(n, epsilon)
        if m >= d:
            continue
        changes = _squares(_randomly_projected(X, m, rng)) / before - 1
        yield "random", epsilon, "dimensions", m
        yield "random", epsilon, "largest distortion", float(np.abs(changes).max())
        yield "random", epsilon, "root mean square distortion", _rms(changes)


def beside(case: str, rng: Generator) -> Iterator[Measured]:
    """Distortions of the three methods at the same m, the bound's at eps = .9 and smaller ones."""
    X = points(case, rng)
    before = _squares(X)
    warnings.simplefilter("ignore", ldr.errors.ConvergenceWarning)  # 30 iterations suffice here
    bound = dimensions(len(X), 0.9)
    for m in (2, 10, 50, bound):
        projected = {"random": _randomly_projected(X, m, rng)}
        for method in METHODS[1:]:
            result = ldr.solve(method, X, m, certify=False, **OPTIONS[method])
            projected[method] = result.transform(X)
        for method, Y in projected.items():
            after = _squares(Y)
            changes = after / before - 1
            stress = np.sum((np.sqrt(after) - np.sqrt(before)) ** 2) / before.sum()
            yield method, m, "largest distortion", float(np.abs(changes).max())
            yield method, m, "root mean square distortion", _rms(changes)
            yield method, m, "stress", float(stress)


def points(case: str, rng: Generator) -> Array:
    """Rows of a case: Gaussians, all alike or near a plane of 20 dimensions, or images."""
    words = case.split()
    if words[0] in ("mnist", "faces"):
        X, _ = labelled("faces whole" if words[0] == "faces" else "mnist")
        return X if words[0] == "faces" else X[rng.permutation(len(X))[:POINTS]]
    d = int(words[-1].removeprefix("d="))
    X = rng.standard_normal((POINTS, d))
    if words[0] == "plane":
        X *= 0.1
        X += 3 * rng.standard_normal((POINTS, 20)) @ rng.standard_normal((20, d)) / math.sqrt(20)
    return X


def _randomly_projected(X: Array, m: int, rng: Generator) -> Array:
    """XR' with entries of R from N(0, 1/m): squared lengths are kept on average."""
    return X @ rng.standard_normal((X.shape[1], m)) / math.sqrt(m)


def _squares(X: Array) -> Array:
    from scipy.spatial.distance import pdist

    return pdist(X, "sqeuclidean")


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


# ---- verdict


def claims(tables: Tables) -> Iterator[Finding]:
    """The bound, and what a projection that looks at the data gains."""
    table = tables["bounded"]
    yield judged(
        "Random projection: all distortions are below eps at m = 32 log n / eps^2", table, _holds
    )
    yield judged(
        "Random projection: the distortion at m does not depend on d",
        table.rows(_gaussian(table)) if len(table) else table,
        _independent,
    )
    yield judged(
        "Random projection: root mean square (2/m)^(1/2), and the largest distortion near eps / 2",
        table,
        _size,
    )
    other = tables["beside"]
    yield judged("Stress: mds-stress <= pca <= random, at every m", other, _stress)
    yield judged(
        "At small m (2, 10) pca's distances are nearer than random ones where data have structure",
        other.rows(~_gaussian(other)) if len(other) else other,
        _structure,
    )


_SHRINKING = (
    "An orthonormal projection shrinks every distance; a random one is scaled to keep them on "
    "average"
)


def _gaussian(table: Table) -> Array:
    return np.array([case.startswith("gaussian") for case in table["case"]])


def _holds(table: Table) -> tuple[bool, str]:
    largest = table.where(quantity="largest distortion")
    margins = largest["value"] / largest["x"]
    broken = int(np.sum(margins >= 1))
    worst = ", ".join(f"eps {eps:g}: {p['value'].max():.3f}" for eps, p in largest.groups("x"))
    return broken == 0, f"{broken} of {len(margins)} projections break it; largest: {worst}"


def _independent(table: Table) -> tuple[bool, str]:
    holds, parts = True, []
    for epsilon, part in table.where(quantity="root mean square distortion").groups("x"):
        means = [curve(of)[0, 1:] for _, of in cases_of(part)]
        if len(means) < 2:
            continue
        (a, ea), (b, eb) = means[:2]
        holds &= abs(a - b) < 3 * math.hypot(ea, eb)
        parts.append(f"eps {epsilon:g}: {a:.5f} +- {ea:.1g} and {b:.5f} +- {eb:.1g}")
    names = ", ".join(case for case, _ in cases_of(table))
    return holds and bool(parts), f"{names}: {'; '.join(parts)}; bar three standard errors"


def _size(table: Table) -> tuple[bool, str]:
    wanted = np.sqrt(2 / table.where(quantity="dimensions")["value"])
    ratio = table.where(quantity="root mean square distortion")["value"] / wanted
    largest = table.where(quantity="largest distortion")
    half = largest["value"] / largest["x"]
    gaussian = _gaussian(largest)
    mean = float(ratio[gaussian].mean())
    holds = abs(mean - 1) < 0.02 and 0.3 < float(half[gaussian].mean()) < 0.7
    return holds, (
        f"of Gaussian rows {mean:.4f} times (2/m)^(1/2) (bar 2 %), largest "
        f"{half[gaussian].mean():.2f} eps (bar .3 to .7); of images {_mean(ratio[~gaussian])} and "
        f"{_mean(half[~gaussian])}"
    )


def _mean(values: Array) -> str:
    return f"{values.mean():.2f}" if len(values) else "-"


def _stress(table: Table) -> tuple[bool, str]:
    stresses = table.where(quantity="stress")
    holds, parts = True, []
    for case, part in cases_of(stresses):
        by_method = [curve(part.where(method=m))[:, 1] for m in METHODS]
        random, pca, mds = by_method
        holds &= bool((mds <= pca * (1 + 1e-9)).all() and (pca <= random).all())
        at = ", ".join(f"{v[1]:.3g}" for v in by_method)
        parts.append(f"{case}: {at}")
    return holds, f"at m = 10, random, pca, mds-stress: {'; '.join(parts)}. {_SHRINKING}"


def _structure(table: Table) -> tuple[bool, str]:
    errors = table.where(quantity="root mean square distortion")
    holds, parts = True, []
    for case, part in cases_of(errors):
        random, pca = (curve(part.where(method=m))[:2, 1] for m in METHODS[:2])
        holds &= bool((pca < random).all())
        pairs = ", ".join(f"{a:.3g} and {b:.3g}" for a, b in zip(random, pca, strict=True))
        parts.append(f"{case}: {pairs}")
    return holds, (
        f"random and pca, root mean square distortion at m = 2, 10: {'; '.join(parts)}. "
        f"{_SHRINKING}"
    )


def sections(tables: Tables) -> Iterator[Section]:
    """Every distortion."""
    rows = []
    for case, table in cases_of(tables["bounded"]):
        for epsilon, part in table.groups("x"):
            values = {q: p["value"] for q, p in part.groups("quantity")}
            rows.append(
                (
                    case,
                    f"{epsilon:g}",
                    f"{values['dimensions'][0]:.0f}",
                    f"{values['root mean square distortion'].mean():.4f}",
                    f"{values['largest distortion'].max():.4f}",
                )
            )
    yield Section(
        "Random projections",
        "Relative changes of squared distances; the largest of all pairs and all projections.",
        ("rows", "eps", "m", "root mean square", "largest"),
        rows,
    )
    others: list[tuple[str, ...]] = []
    for case, table in cases_of(tables["beside"]):
        for m, part in table.groups("x"):
            for method in METHODS:
                of = part.where(method=method)
                found = [
                    f"{of.where(quantity=q)['value'].mean():.4g}"
                    for q in ("root mean square distortion", "largest distortion", "stress")
                ]
                others.append((case, f"{m:g}", method, *found))
    yield Section(
        "Beside pca and mds stress",
        "Means over the data sets; stress is the sum of squared errors of distances over the sum "
        "of squared distances. n rows lie in n - 1 dimensions, where pca is exact: m must be "
        "smaller for a comparison.",
        ("rows", "m", "method", "root mean square", "largest", "stress"),
        others,
    )


# ---- figures


def draw(tables: Tables, folder: Path, seed: int) -> None:
    """The bound, and the three methods along m."""
    if not all(len(tables[name]) for name in ("bounded", "beside")):
        return
    plt = pyplot()
    cases = [case for case, _ in cases_of(tables["beside"])]
    figure, axes = plt.subplots(
        1, 1 + len(cases), figsize=(3.6 * (1 + len(cases)), 4), layout="constrained"
    )
    for (case, table), colour in zip(cases_of(tables["bounded"]), COLOURS, strict=False):
        for quantity, line in (("largest distortion", "-"), ("root mean square distortion", ":")):
            rows = curve(table.where(quantity=quantity))
            label = case if line == "-" else None
            axes[0].plot(rows[:, 0], rows[:, 1], f"o{line}", color=colour, label=label)
    axes[0].plot(EPSILONS, EPSILONS, color="black", linewidth=1, label="bound")
    axes[0].set_xlabel("eps, m = 32 log n / eps$^2$")
    axes[0].set_title("Distortion: largest, and root mean square (dotted)", fontsize=9)
    axes[0].legend(fontsize=8)
    for ax, case in zip(axes[1:], cases, strict=True):
        table = tables["beside"].where(case=case)
        for method, colour in zip(ordered(table["method"], METHODS), COLOURS, strict=False):
            for quantity, line in (("root mean square distortion", "-"), ("stress", ":")):
                rows = curve(table.where(method=method, quantity=quantity))
                ax.plot(
                    rows[:, 0],
                    np.maximum(rows[:, 1], 1e-8),
                    f"o{line}",
                    color=colour,
                    label=method if line == "-" else None,
                    markersize=4,
                )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("m")
        ax.set_title(f"{case}: distortion, stress (dotted)", fontsize=9)
        ax.legend(fontsize=8)
    save(figure, folder / "distortions")


EXPERIMENT = Experiment(
    "random-projection",
    "random projections and the bound of Johnson and Lindenstrauss",
    (
        Part("bounded", bounded, ("gaussian d=1000", "gaussian d=10000", "faces"), 10, 2),
        Part(
            "beside",
            beside,
            ("gaussian d=400", "plane d=400", "mnist"),
            3,
            1,
            ("gaussian d=400", "plane d=400"),
        ),
    ),
    draw,
    claims,
    sections,
)
