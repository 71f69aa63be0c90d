"""Burges, Dimension Reduction: A Guided Tour (2010): regression, two views, noise, variance.

Eigenvalues are differences of the optimal values along r: those of `ldr.path`.
"""

from __future__ import annotations

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
    mean_and_error,
    words,
)

ROWS, DIMENSIONS = 100_000, 10
SLICES = (10, 50)
PERMUTATIONS = 20
LEVEL = 0.05
NEAR = np.deg2rad(10)  # largest angle between an estimated direction and the true subspace

LINKS = {
    "x1+x2+x3": lambda x: x[:, 0] + x[:, 1] + x[:, 2],
    "x1^2+x2^2+x3^2": lambda x: np.sum(x[:, :3] ** 2, axis=1),
    "x1+x2*x3": lambda x: x[:, 0] + x[:, 1] * x[:, 2],
    "x1+log(1+exp(5*x2))": lambda x: x[:, 0] + np.logaddexp(0, 5 * x[:, 1]),
    "x1+5*sin(pi*x2)": lambda x: x[:, 0] + 5 * np.sin(np.pi * x[:, 1]),
}
E = np.eye(DIMENSIONS)
ON = {  # directions on which the response depends
    "x1+x2+x3": E[:, :3].sum(axis=1, keepdims=True),
    "x1^2+x2^2+x3^2": E[:, :3],
    "x1+x2*x3": E[:, :3],
    "x1+log(1+exp(5*x2))": E[:, :2],
    "x1+5*sin(pi*x2)": E[:, :2],
}
EXPECTED = {  # expected numbers of directions in slice means (SIR) and covariances (SAVE)
    "x1+x2+x3": (1, 1),
    "x1^2+x2^2+x3^2": (0, 3),
    "x1+x2*x3": (1, 3),
    "x1+log(1+exp(5*x2))": (2, 2),
}
METHODS = ("sir", "save")


def sliced(case: str, rng: Generator) -> Iterator[Measured]:
    """Eigenvalues of SIR and SAVE beside the largest of permuted responses."""
    link = LINKS[case]
    X = rng.standard_normal((ROWS, DIMENSIONS))
    y = link(X)
    for method in METHODS:
        for slices in SLICES:
            what = f"of {slices} slices"
            path = ldr.path(method, X, range(1, DIMENSIONS + 1), y=y, slices=slices, certify=False)
            eigenvalues = np.diff(path.values, prepend=0.0)
            for k, value in enumerate(eigenvalues, 1):
                yield method, k, f"eigenvalue {what}", value
            null = max(
                ldr.solve(method, X, 1, y=rng.permutation(y), slices=slices, certify=False).value
                for _ in range(PERMUTATIONS)
            )
            yield method, 1, f"permuted {what}", null
            found = leading(eigenvalues, null)
            yield method, found, f"found {what}", found
            if found:
                angles = ldr.subspaces.principal_angles(path.results[found - 1].P.T, ON[case])
                yield method, found, f"angle {what}", float(angles.max())


def leading(eigenvalues: Array, threshold: float) -> int:
    """How many stand above a threshold, up to the first that does not."""
    above = np.asarray(eigenvalues) > threshold
    return len(above) if above.all() else int(np.argmin(above))


def quadratic(case: str, rng: Generator) -> Iterator[Measured]:
    """y = x1^2 + noise: |cos| of the direction found with e1."""
    X = rng.standard_normal((200, 6))
    y = X[:, 0] ** 2 + 0.1 * rng.standard_normal(200)
    for method, options in (("sdr", {"starts": 5, "random_state": 0}), ("sir", {}), ("save", {})):
        direction = ldr.solve(method, X, 1, y=y, certify=False, **options).P[0]  # type: ignore[arg-type]
        yield method, 1, "cosine", float(abs(direction[0]) / np.linalg.norm(direction))


PLANTED = (0.9, 0.6, 0.3)


def correlated(case: str, rng: Generator) -> Iterator[Measured]:
    """Canonical correlations beside those of views whose rows are permuted."""
    Xa, Xb = views(case, rng)
    if case == "few rows":  # with few rows correlations of 1 are expected: no warning
        warnings.simplefilter("ignore", ldr.errors.ObjectiveWarning)
    most = min(Xa.shape[1], Xb.shape[1])
    path = ldr.path("cca", (Xa, Xb), range(1, most + 1), certify=False)
    correlations = np.diff(path.values, prepend=0.0)
    for k, value in enumerate(correlations, 1):
        yield "cca", k, "correlation", value
    null = [ldr.solve("cca", (Xa, rng.permutation(Xb)), 1, certify=False).value for _ in range(200)]
    threshold = float(np.quantile(null, 1 - LEVEL))
    yield "permutation", 1, "threshold", threshold
    yield "permutation", 1, "found", leading(correlations, threshold)
    mixed = Xa @ rng.standard_normal((Xa.shape[1],) * 2) + rng.standard_normal(Xa.shape[1])
    turned = ldr.solve("cca", (mixed, Xb), most, certify=False).value
    rounding = np.finfo(float).eps * np.linalg.cond(np.cov(mixed.T))
    yield "cca", most, "change under an affine map", abs(turned - float(path.values[-1]))
    yield "cca", most, "rounding", rounding


def views(case: str, rng: Generator) -> tuple[Array, Array]:
    """Two views of the same rows."""
    if case == "linnerud":  # 20 men: three exercises, three body measurements
        from sklearn.datasets import load_linnerud

        return load_linnerud(return_X_y=True)
    if case == "breast_cancer":  # means and worst values of ten measurements of cells
        from sklearn.datasets import load_breast_cancer

        X = load_breast_cancer().data
        return X[:, :10], X[:, 20:]
    rows = 9 if case == "few rows" else 500
    a, b = rng.standard_normal((rows, 6)), rng.standard_normal((rows, 5))
    if case == "planted":
        rho = np.array(PLANTED)
        b[:, :3] = rho * a[:, :3] + np.sqrt(1 - rho**2) * b[:, :3]
    return a @ rng.standard_normal((6, 6)), b @ rng.standard_normal((5, 5))


SCALES = tuple(np.logspace(-1, 1, 9))


def noisy(case: str, rng: Generator) -> Iterator[Measured]:
    """How far the plane found turns as the noise is scaled."""
    d, r = 10, 2
    spectrum = np.linspace(1, 3, d)
    signal = rng.standard_normal((1000, d)) * spectrum
    noise = rng.standard_normal((1000, d)) * rng.permutation(spectrum) / 2
    for method in ("opca", "signal-noise"):
        unscaled = ldr.solve(method, (signal, noise), r, certify=False).P.T
        for scale in SCALES:
            P = ldr.solve(method, (signal, scale * noise), r, certify=False).P
            turned = ldr.subspaces.distance(unscaled, P.T, "largest-angle")
            yield method, float(scale), "angle", turned


def variance(case: str, rng: Generator) -> Iterator[Measured]:
    """Share of the variance that r principal components keep, of raw and of scaled columns."""
    from sklearn import datasets

    X = getattr(datasets, f"load_{case}")().data
    X = X[:, X.std(axis=0) > 0]
    for scaled, Z in (("raw", X), ("scaled", X / X.std(axis=0))):
        total = float(np.sum((Z - Z.mean(axis=0)) ** 2))
        path = ldr.path("pca", Z, range(1, Z.shape[1] + 1), certify=False)
        errors = path.values
        kept = np.cumsum(np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) ** 2)
        for r, error in enumerate(errors, 1):
            yield scaled, r, "share", 1 - error / total
        yield scaled, 1, "identity", float(np.abs(errors + kept - total).max() / total)


# ---- verdict


def claims(tables: Tables) -> Iterator[Finding]:
    """The tour's claims."""
    cases = tables["sliced"]
    for case, (sir, save_) in EXPECTED.items():
        yield judged(
            f"y = {case}: SIR finds {sir} direction(s), SAVE {save_}",
            cases.where(case=case),
            lambda table, expected=(sir, save_): _directions(table, expected),  # type: ignore[misc]
        )
    yield judged(
        "y = x1+5*sin(pi*x2): what SIR and SAVE find lies in the plane of x1 and x2",
        cases.where(case="x1+5*sin(pi*x2)"),
        lambda table: _directions(table, None),
    )
    yield judged(
        "y = x1+x2+x3, 10 slices: SAVE's eigenvalues are .92, then .0015",
        cases.where(case="x1+x2+x3", method="save", quantity="eigenvalue of 10 slices"),
        _printed,
    )
    yield judged(
        "SAVE's noise floor grows with the number of slices",
        cases.where(case="x1+x2+x3", method="save"),
        _floor,
    )
    yield judged(
        "y = x1^2 + noise: kernel dimension reduction finds x1, SIR does not",
        tables["quadratic"],
        _kernel,
    )
    two = tables["correlated"]
    yield judged(
        "CCA: the permutation test finds the three planted correlations",
        two.where(case="planted"),
        _planted,
    )
    yield judged(
        "CCA: independent views pass the permutation test at its level, 5 %",
        two.where(case="independent", quantity="found"),
        _level,
    )
    yield judged("CCA: an affine map of a view changes no correlation", two, _invariant)
    yield judged(
        "CCA: max(0, da+db-(n-1)) correlations of n rows are 1, whatever the data",
        two.where(case="few rows", quantity="correlation"),
        _ones,
    )
    yield judged(
        "OPCA's span stays as the noise is scaled; signal less noise turns",
        tables["noisy"],
        _turning,
    )
    yield judged(
        "PCA: reconstruction error and variance kept add up to the total",
        tables["variance"].where(quantity="identity"),
        lambda t: (t["value"].max() < 1e-10, f"largest relative miss {t['value'].max():.1e}"),
    )


def _directions(table: Table, expected: tuple[int, int] | None) -> tuple[bool, str]:
    """Counts, and the largest angle to what the response depends on."""
    holds, parts = True, []
    for number, method in enumerate(METHODS):
        for slices in SLICES:
            of = table.where(method=method)
            found = of.where(quantity=f"found of {slices} slices")["value"]
            angles = of.where(quantity=f"angle of {slices} slices")
            largest = angles["value"].max() if len(angles) else 0.0
            holds &= bool(largest < NEAR)
            if expected is not None:
                holds &= bool((found == expected[number]).all())
            text = f"{method}, {slices} slices: {words(np.unique(found), 'g')}"
            parts.append(f"{text} ({np.rad2deg(largest):.2g} degrees off)" if largest else text)
    weakest = _weakest(table)
    return holds, (
        f"{'; '.join(parts)}. Bar {np.rad2deg(NEAR):.0f} degrees; sampling alone turns a direction "
        f"of eigenvalue a by about ((d - s) / (n a))^(1/2), SIR's weakest by {weakest:.2g} degrees"
    )


def _weakest(table: Table) -> float:
    """Degrees that sampling turns the weakest direction found by SIR; 0 where there is none."""
    turned = [0.0]
    for slices in SLICES:
        of = table.where(method="sir")
        for _, part in of.groups("repeat"):
            found = int(part.where(quantity=f"found of {slices} slices")["value"][0])
            values = part.where(quantity=f"eigenvalue of {slices} slices", x=found)
            if found:
                others = DIMENSIONS - found
                turned.append(float(np.sqrt(others / ROWS / values["value"][0])))
    return float(np.rad2deg(max(turned)))


def _printed(table: Table) -> tuple[bool, str]:
    first, error = mean_and_error(table.where(x=1)["value"])
    second, spread = mean_and_error(table.where(x=2)["value"])
    holds = abs(first - 0.92) < 0.005 + 3 * error and abs(second - 0.0015) < 5e-5 + 3 * spread
    return holds, (
        f"{first:.4f} +- {error:.1g}, then {second:.5f} +- {spread:.1g}; bar: half a digit and "
        "three standard errors"
    )


def _floor(table: Table) -> tuple[bool, str]:
    few, many = (
        float(
            table.rows((table["quantity"] == f"eigenvalue of {h} slices") & (table["x"] > 1))[
                "value"
            ].mean()
        )
        for h in SLICES
    )
    expected = [(DIMENSIONS + 1) * h / ROWS for h in SLICES]
    return many > few, (
        f"mean of the nine others {few:.2g} with 10 slices, {many:.2g} with 50; expected of "
        f"Gaussian slices {words(expected, '.2g')}"
    )


def _kernel(table: Table) -> tuple[bool, str]:
    cosines = {m: table.where(method=m)["value"] for m in ("sdr", "sir", "save")}
    holds = np.median(cosines["sdr"]) > 0.999 and np.median(cosines["sir"]) < 0.9
    share = np.mean(cosines["sdr"] > 0.999)
    medians = "; ".join(f"{m} {np.median(c):.4f}" for m, c in cosines.items())
    return holds, (
        f"median |cos| {medians}; kernel dimension reduction above .999 in {share:.0%} of "
        f"{len(cosines['sdr'])} data sets, worst {cosines['sdr'].min():.4f}. Bars .999 and .9"
    )


def _planted(table: Table) -> tuple[bool, str]:
    found = table.where(quantity="found")["value"]
    correlations = curve(table.where(quantity="correlation"))
    exactly = float(np.mean(found == 3))
    return exactly >= 0.9, (
        f"three found in {exactly:.0%} of {len(found)} data sets (bar 90 %, for the test itself "
        f"errs in up to 5 %); mean correlations {words(correlations[:, 1])}, planted .9, .6, .3"
    )


def _level(table: Table) -> tuple[bool, str]:
    from scipy.stats import binomtest

    wrong, n = int(np.sum(table["value"] > 0)), len(table)
    p = float(binomtest(wrong, n, LEVEL).pvalue)
    return p > 0.05, f"{wrong} of {n} pairs have one; p = {p:.2g} of a rate of 5 %"


def _invariant(table: Table) -> tuple[bool, str]:
    change = table.where(quantity="change under an affine map")["value"]
    rounding = table.where(quantity="rounding")["value"]
    worst = int(np.argmax(change / rounding))
    return bool((change < 100 * rounding).all()), (
        f"largest change {change.max():.1e}; at worst {change[worst] / rounding[worst]:.2g} times "
        "the rounding error of a unit times the covariance's condition number; bar 100 (the first "
        "bar, a change of 1e-8 whatever the condition, was found too narrow by the data)"
    )


def _ones(table: Table) -> tuple[bool, str]:
    expected = 6 + 5 - (9 - 1)
    ones = int(np.sum(table.where(repeat=0)["value"] > 1 - 1e-8))
    return ones == expected, f"{ones} of 5 are 1 to 1e-8 with da = 6, db = 5, n = 9"


def _turning(table: Table) -> tuple[bool, str]:
    largest = {m: float(part["value"].max()) for m, part in table.groups("method")}
    holds = largest["opca"] < 1e-8 and largest["signal-noise"] > NEAR
    return holds, (
        f"noise scaled by .1 to 10: largest angles {np.rad2deg(largest['opca']):.1e} and "
        f"{np.rad2deg(largest['signal-noise']):.0f} degrees; bars 1e-8 radians and 10 degrees"
    )


def sections(tables: Tables) -> Iterator[Section]:
    """Eigenvalues, correlations, components that keep 95 %."""
    rows = []
    for case, table in cases_of(tables["sliced"]):
        for slices in SLICES:
            for method in METHODS:
                part = table.where(method=method)
                values = curve(part.where(quantity=f"eigenvalue of {slices} slices"))[:4, 1]
                null = part.where(quantity=f"permuted of {slices} slices")["value"].mean()
                rows.append((case, str(slices), method, words(values, ".2g"), f"{null:.2g}"))
    yield Section(
        "SIR and SAVE",
        "The four largest eigenvalues, and the largest of 20 permutations of the response; means "
        "over the data sets. Of 21 responses without a dependence each is as likely the largest: "
        "one direction too many is found by chance in up to one run of 21.",
        ("y", "slices", "method", "eigenvalues", "permuted"),
        rows,
    )
    yield Section(
        "Canonical correlations",
        "Means over the data sets; the test compares each with the 95 % quantile of the largest "
        "of 200 permutations. One data set of linnerud and breast_cancer.",
        ("views", "correlations", "quantile", "found"),
        [
            (
                case,
                words(curve(table.where(quantity="correlation"))[:, 1]),
                f"{table.where(quantity='threshold')['value'].mean():.3f}",
                words(np.unique(table.where(quantity="found")["value"]), "g"),
            )
            for part in ("correlated", "views")
            for case, table in cases_of(tables[part])
        ],
    )
    counted: list[tuple[str, ...]] = []
    for case, table in cases_of(tables["variance"]):
        shares = table.where(quantity="share")
        counts = [
            str(int(np.argmax(curve(shares.where(method=how))[:, 1] >= 0.95)) + 1)
            for how in ("raw", "scaled")
        ]
        columns = str(int(shares["x"].max()))
        counted.append((case, columns, *counts))
    yield Section(
        "Principal components that keep 95 % of the variance",
        "Of the columns that vary.",
        ("data", "columns", "raw", "scaled"),
        counted,
    )


# ---- figures


def draw(tables: Tables, folder: Path, seed: int) -> None:
    """Four figures."""
    if len(tables["sliced"]):
        _draw_sliced(tables["sliced"], folder)
    if all(len(tables[name]) for name in ("quadratic", "correlated", "noisy", "variance")):
        _draw_others(tables, folder)


def _draw_sliced(table: Table, folder: Path) -> None:
    plt = pyplot()
    links = [link for link in LINKS if len(table.where(case=link))]
    figure, axes = plt.subplots(
        len(links), 2, figsize=(9, 2.1 * len(links)), layout="constrained", squeeze=False
    )
    for row, link in zip(axes, links, strict=True):
        for ax, method in zip(row, METHODS, strict=True):
            for offset, slices, colour in zip((-0.2, 0.2), SLICES, COLOURS, strict=False):
                part = table.where(case=link, method=method)
                bars = curve(part.where(quantity=f"eigenvalue of {slices} slices"))
                null = part.where(quantity=f"permuted of {slices} slices")["value"].mean()
                heights = np.maximum(bars[:, 1], 1e-6)
                ax.bar(bars[:, 0] + offset, heights, 0.4, color=colour, label=f"{slices} slices")
                ax.axhline(null, color=colour, linestyle="--", linewidth=1)
            ax.set_yscale("log")
            ax.set_ylim(1e-5, 2)
            ax.set_xticks(range(1, DIMENSIONS + 1))
            ax.set_title(f"{method.upper()}, y = {link}", fontsize=9)
    axes[0, 0].legend(fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("eigenvalue")
    figure.suptitle("Dashed: the largest of 20 permutations of y", fontsize=10)
    save(figure, folder / "sliced")


def _draw_others(tables: Tables, folder: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
    methods = ("sdr", "sir", "save")
    axes[0, 0].boxplot(
        [tables["quadratic"].where(method=m)["value"] for m in methods],
        tick_labels=["KDR", "SIR", "SAVE"],
        whis=(0, 100),
    )
    axes[0, 0].set_title("y = x1$^2$ + noise, n = 200, d = 6: |cos| with x1", fontsize=10)
    _draw_correlations(axes[0, 1], tables)
    for method, colour in zip(("opca", "signal-noise"), COLOURS, strict=False):
        rows = curve(tables["noisy"].where(method=method))
        axes[1, 0].errorbar(
            rows[:, 0], np.rad2deg(rows[:, 1]), np.rad2deg(rows[:, 2]), color=colour,
            marker="o", label=method,
        )  # fmt: skip
    axes[1, 0].set_xscale("log")
    axes[1, 0].set_xlabel("factor of the noise")
    axes[1, 0].set_title("Largest angle to the plane at factor 1, degrees", fontsize=10)
    axes[1, 0].legend(fontsize=9)
    for (case, table), colour in zip(cases_of(tables["variance"]), COLOURS, strict=False):
        for how, line in (("raw", "-"), ("scaled", "--")):
            rows = curve(table.where(method=how, quantity="share"))
            axes[1, 1].plot(
                rows[:, 0], rows[:, 1], line, color=colour, label=case if how == "raw" else None
            )
    axes[1, 1].set_xscale("log")
    axes[1, 1].axhline(0.95, color="0.6", linewidth=0.8)
    axes[1, 1].set_xlabel("principal components")
    axes[1, 1].set_title("Share of the variance; dashed: columns scaled", fontsize=10)
    axes[1, 1].legend(fontsize=9)
    save(figure, folder / "other")


def _draw_correlations(ax: Any, tables: Tables) -> None:
    cases = {
        "planted": "correlated",
        "independent": "correlated",
        "linnerud": "views",
        "breast_cancer": "views",
    }
    for (case, name), colour in zip(cases.items(), COLOURS, strict=False):
        part = tables[name].where(case=case)
        if len(part):
            rows = curve(part.where(quantity="correlation"))
            ax.plot(rows[:, 0], rows[:, 1], "o-", color=colour, label=case)
            threshold = part.where(quantity="threshold")["value"].mean()
            ax.axhline(threshold, color=colour, linestyle="--", linewidth=0.8)
    ax.set_title("Canonical correlations; dashed: the permutation test's bar", fontsize=10)
    ax.legend(fontsize=9)


EXPERIMENT = Experiment(
    "guided-tour",
    "the experiments after Burges (2010), Dimension Reduction: A Guided Tour",
    (
        Part("sliced", sliced, tuple(LINKS), 3, 1),
        Part("quadratic", quadratic, ("y = x1^2 + noise",), 50, 10),
        Part("correlated", correlated, ("planted", "independent", "few rows"), 60, 10),
        Part("views", correlated, ("linnerud", "breast_cancer"), 1, 1),
        Part("noisy", noisy, ("noise scaled",), 20, 5),
        Part("variance", variance, ("digits", "wine", "breast_cancer"), 1, 1),
    ),
    draw,
    claims,
    sections,
)
