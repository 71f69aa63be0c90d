"""Kokiopoulou, Chen and Saad (2011): graphs, kernels and classes, by eigenproblems.

With the class graph H, h_ij = 1/n_k within class k, LPP = NPP = LDA and OLPP = ONPP. The curves are
of LPP and OLPP with H, and of NPP and ONPP with the weights that reconstruct a row from all others
of its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ldr
from experiments.jmlr2015.figures import pyplot, save
from experiments.machine.report import Finding, Section
from experiments.machine.store import Table
from experiments.other_papers.papers import (
    CLASS_COLOURS,
    COLOURS,
    MARKERS,
    Array,
    Experiment,
    Generator,
    Job,
    Measured,
    Part,
    Tables,
    available,
    cases_of,
    curve,
    judged,
    labelled,
    mean_and_error,
    ordered,
    scatter,
)

# ---- digits in the plane

PLANE: dict[str, tuple[str, dict[str, Any]]] = {
    "PCA": ("pca", {}),
    "LPP": ("lpp", {}),
    "OLPP": ("olpp", {}),
    "ONPP": ("onpp", {}),
    "NPP": ("npe", {}),
    "LDA": ("lda", {}),
    "kernel PCA": ("pca", {}),
    "kernel OLPP": ("olpp", {}),
}
IN_PLANE = 500


def plane(case: str, rng: Generator) -> Iterator[Measured]:
    """Nearest-neighbour error, each left out, in two dimensions."""
    for method, Y, y in projected(case, rng):
        yield method, 2, "error", left_out_error(Y, y)


def projected(case: str, rng: Generator) -> Iterator[tuple[str, Array, Array]]:
    """Digits in two dimensions, their 10-neighbour graph where there is one.

    After principal components that keep all but 1 % of the variance: fewer than rows, and no pixel
    that hardly varies.
    """
    X, y = labelled(case)
    rows = rng.permutation(len(X))[:IN_PLANE]
    X, y = X[rows], y[rows]
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    kept = int(np.searchsorted(np.cumsum(values) / values.sum(), 0.99)) + 1
    X = ldr.solve("pca", X, kept, certify=False).transform(X)
    gamma = 1 / half_median(X) ** 2
    for name, (method, options) in PLANE.items():
        objective = ldr.kernel(method, "rbf", gamma=gamma) if "kernel" in name else method
        yield name, ldr.solve(objective, X, 2, y=y, certify=False, **options).transform(X), y


def left_out_error(Y: Array, y: Array) -> float:
    """Share of rows whose nearest other row is of another class."""
    from sklearn.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=1).fit(Y).kneighbors(return_distance=False)[:, 0]
    return float(np.mean(y[nearest] != y))


def half_median(X: Array) -> float:
    """sigma_0: half the median distance."""
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(X))) / 2


# ---- a square and half an annulus

WIDTHS = (3.0, 2.0, 1.0, 0.5, 0.2)
CLUSTER = 250
CENTRE = np.array([1.0, 0.0])


def clusters(case: str, rng: Generator) -> Iterator[Measured]:
    """Error of a least-squares rule, in the plane and after kernel PCA to two dimensions."""
    X, y = square_and_annulus(case, rng)
    yield "before", 0, "error", linear_error(X, y)
    for C in WIDTHS:
        yield "kernel PCA", C, "error", linear_error(kernel_pca(X, C), y)


def square_and_annulus(case: str, rng: Generator) -> tuple[Array, Array]:
    """A square of side 1.5 around 0, and half an annulus of radii 3.5 to 4.5 around (1, 0)."""
    square = rng.uniform(-0.75, 0.75, (CLUSTER, 2))
    radius = np.sqrt(rng.uniform(3.5**2, 4.5**2, CLUSTER))  # uniform density over the area
    middle = {"left": np.pi, "right": 0.0}[case.split()[0]]
    angle = rng.uniform(middle - np.pi / 2, middle + np.pi / 2, CLUSTER)
    annulus = CENTRE + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.vstack([square, annulus]), np.repeat([0, 1], CLUSTER)


def kernel_pca(X: Array, C: float) -> Array:
    """Two kernel principal components, exp(-|x - x'|^2 / sigma^2), sigma^2 = sigma_0^2 / C."""
    objective = ldr.kernel("pca", "rbf", gamma=C / half_median(X) ** 2)
    return np.asarray(ldr.solve(objective, X, 2, certify=False).transform(X))


def linear_error(Y: Array, y: Array) -> float:
    """Of the sign of an affine function fitted to +-1 by least squares, on the same rows."""
    A = np.column_stack([Y, np.ones(len(Y))])
    target = 2.0 * y - 1
    return float(np.mean(np.sign(A @ np.linalg.lstsq(A, target, rcond=None)[0]) != target))


# ---- nearest neighbours against the dimension

TRAINING = {"digits": 20, "mnist": 20, "faces": 5}  # training rows of each class
TESTED = {"digits": 100, "mnist": 100, "faces": 5}
TRIED = {
    "digits": (1, 2, 3, 5, 7, 9, 12, 16, 24, 32, 48),
    "mnist": (1, 2, 3, 5, 7, 9, 12, 16, 24, 32, 48),
    "faces": (2, 5, 10, 20, 30, 39, 50, 70, 100),
}
ALL = {"neighbours": 10**6}  # the number of neighbours is limited to the size of a class minus one
NESTED: dict[str, tuple[str, dict[str, Any]]] = {  # the leading columns are optimal for a smaller r
    "PCA": ("pca", {}),
    "LPP": ("lpp", {"graph": "classes"}),
    "OLPP": ("olpp", {"graph": "classes"}),
    "NPP": ("npe", {"graph": "class-neighbours", **ALL}),
    "ONPP": ("onpp", {"graph": "class-neighbours", **ALL}),
}
RATIO, HEURISTIC = "trace ratio", "LDA, orthogonalised"
CURVES = (*NESTED, "LDA", RATIO, HEURISTIC)


def curves(case: str, rng: Generator) -> Iterator[Measured]:
    """Nearest-neighbour errors of one random split along the dimension."""
    train, test, y, z = split(case, rng)
    tried = [r for r in TRIED[case] if r <= train.shape[1]]
    classes = len(np.unique(y))
    for name, (method, options) in NESTED.items():
        P = ldr.solve(method, train, max(tried), y=y, certify=False, **options).P
        for r in tried:
            yield name, r, "error", error(train @ P[:r].T, y, test @ P[:r].T, z)
    P = ldr.solve("lda", train, classes - 1, y=y, certify=False).P
    for r in (r for r in tried if r < classes):
        yield "LDA", r, "error", error(train @ P[:r].T, y, test @ P[:r].T, z)
    for r in tried:
        result = ldr.solve("orthogonal-lda", train, r, y=y, certify=False)
        for name, M in ((RATIO, result.M), (HEURISTIC, result.baseline_M)):
            yield name, r, "error", error(train @ M, y, test @ M, z)


def split(case: str, rng: Generator) -> tuple[Array, Array, Array, Array]:
    """Training and test rows in the n_train - c leading principal components of the former.

    Fewer where the rows do not vary in so many directions.
    """
    X, labels = labelled(case)
    chosen = [rng.permutation(np.flatnonzero(labels == k)) for k in np.unique(labels)]
    n, m = TRAINING[case], TESTED[case]
    train = np.concatenate([rows[:n] for rows in chosen])
    test = np.concatenate([rows[n : n + m] for rows in chosen])
    centred = X[train] - X[train].mean(axis=0)
    rank = int(np.linalg.matrix_rank(centred))
    step = ldr.solve("pca", X[train], min(len(train) - len(chosen), rank), certify=False)
    return step.transform(X[train]), step.transform(X[test]), labels[train], labels[test]


def error(train: Array, y: Array, test: Array, z: Array) -> float:
    """Share of test rows whose nearest training row is of another class."""
    from sklearn.neighbors import KNeighborsClassifier

    return float(np.mean(KNeighborsClassifier(1).fit(train, y).predict(test) != z))


CLASSES = {"graph": "classes"}


def coinciding(case: str, rng: Generator) -> Iterator[Measured]:
    """Largest angles between the spans of methods of the class graph H."""
    train, _, y, _ = split(case, rng)
    r = len(np.unique(y)) - 1

    def span(method: str, **options: Any) -> Array:
        return np.asarray(ldr.solve(method, train, r, y=y, certify=False, **options).P.T)

    lpp = span("lpp", **CLASSES)
    for name, a, b in (
        ("LPP and NPP", lpp, span("npe", **CLASSES)),
        ("LPP and LDA", lpp, span("lda")),
        ("OLPP and ONPP", span("olpp", **CLASSES), span("onpp", **CLASSES)),
    ):
        yield name, r, "angle", ldr.subspaces.distance(a, b, "largest-angle")


# ---- verdict


def claims(tables: Tables) -> Iterator[Finding]:
    """The paper's claims."""
    two = tables["clusters"]
    left = two.where(case="left half")
    yield judged(
        "Square and left half-annulus: a least-squares rule errs in 13.7 % before", left, _before
    )
    yield judged("Kernel PCA makes the clusters linearly separable: error 0", left, _separable)
    yield judged("The same of the right half-annulus", two.where(case="right half"), _separable)
    for case in ("digits", "mnist"):
        at = tables[f"curves-{case}"]
        yield judged(
            f"On digits ({case}) PCA, ONPP and OLPP are the best of the paper's", at, _best_digits
        )
        yield judged(f"On digits ({case}) LPP parallels NPP", at, _parallel)
    faces = tables["curves-faces"]
    yield judged("On faces ONPP and OLPP are the best of the paper's", faces, _best_faces)
    yield judged(
        "On the class graph LPP = NPP = LDA and OLPP = ONPP, as spaces",
        tables["coinciding"],
        _coincide,
    )
    for case in ("digits", "mnist", "faces"):
        yield judged(
            f"The trace-ratio optimum has a lower least error than the orthogonalised generalised "
            f"eigenvectors ({case})",
            tables[f"curves-{case}"],
            _ratio,
        )


def _before(table: Table) -> tuple[bool, str]:
    values = table.where(method="before")["value"]
    mean, standard = mean_and_error(values)
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    holds = abs(mean - 0.137) < 3 * deviation
    return holds, (
        f"{100 * mean:.1f} +- {100 * standard:.1f} %, standard deviation of one data set "
        f"{100 * deviation:.1f} %; bar: 13.7 within three of these"
    )


def _separable(table: Table) -> tuple[bool, str]:
    rows = curve(table.where(method="kernel PCA"))
    before = table.where(method="before")["value"].mean()
    best = int(np.argmin(rows[:, 1]))
    text = ", ".join(f"C = {C:g}: {100 * mean:.2f} %" for C, mean, _ in rows)
    return rows[best, 1] == 0.0, f"before {100 * before:.1f} %; {text}; bar: 0 for one C"


def lowest(table: Table) -> dict[str, tuple[float, float, float]]:
    """Of each method the least mean error along the dimension: (mean, standard error, r)."""
    found = {}
    for method in ordered(table["method"], CURVES):
        rows = curve(table.where(method=method))
        r, mean, standard = rows[int(np.argmin(rows[:, 1]))]
        found[method] = (float(mean), float(standard), float(r))
    return found


def _listed(found: dict[str, tuple[float, float, float]], methods: Iterable[str]) -> str:
    order = sorted(methods, key=lambda method: found[method][0])
    return ", ".join(
        f"{m} {100 * found[m][0]:.2f} +- {100 * found[m][1]:.2f} (r = {found[m][2]:g})"
        for m in order
    )


OF_THE_PAPER = ("PCA", "LPP", "OLPP", "NPP", "ONPP", "LDA")


def _are_best(table: Table, best: tuple[str, ...]) -> tuple[bool, str]:
    found = lowest(table)
    worst_of_best = max(found[m][0] for m in best)
    others = [found[m][0] for m in OF_THE_PAPER if m not in best]
    beside = [m for m in found if m not in OF_THE_PAPER]
    lower = [m for m in beside if found[m][0] < worst_of_best]
    return worst_of_best < min(others), (
        f"least mean error, %, of the paper's methods: {_listed(found, OF_THE_PAPER)}; of others: "
        f"{_listed(found, beside)}, {_below(lower, best)}"
    )


def _below(lower: list[str], best: tuple[str, ...]) -> str:
    """Which methods that the paper did not plot contradict the claim, if it is read as of all."""
    if not lower:
        return "which are no better"
    return f"of which {' and '.join(lower)} err less than the worst of {', '.join(best)}"


def _best_digits(table: Table) -> tuple[bool, str]:
    return _are_best(table, ("PCA", "ONPP", "OLPP"))


def _best_faces(table: Table) -> tuple[bool, str]:
    return _are_best(table, ("ONPP", "OLPP"))


PARALLEL = 0.02  # largest difference between the error rates of parallel curves


def _parallel(table: Table) -> tuple[bool, str]:
    lpp, npp = (curve(table.where(method=m)) for m in ("LPP", "NPP"))
    few = lpp[:, 0] <= 9
    apart = np.abs(lpp[:, 1] - npp[:, 1])
    return bool(apart.max() < PARALLEL), (
        f"errors at most {100 * apart[few].max():.2f} % apart up to r = 9, "
        f"{100 * apart.max():.2f} % at all r; bar {100 * PARALLEL:.0f} %"
    )


def _coincide(table: Table) -> tuple[bool, str]:
    largest = {name: float(part["value"].max()) for name, part in table.groups("method")}
    text = ", ".join(f"{name} {angle:.1e}" for name, angle in largest.items())
    return max(largest.values()) < 1e-4, f"largest angles, radians: {text}; bar 1e-4"


def _ratio(table: Table) -> tuple[bool, str]:
    ratio, heuristic = (curve(table.where(method=m)) for m in (RATIO, HEURISTIC))
    gains = heuristic[:, 1] - ratio[:, 1]
    text = ", ".join(f"r = {r:g}: {100 * g:+.1f}" for r, g in zip(ratio[:, 0], gains, strict=True))
    lower = ratio[:, 1].min() < heuristic[:, 1].min()
    return bool(lower), (
        f"least error {100 * ratio[:, 1].min():.2f} and {100 * heuristic[:, 1].min():.2f} %; error "
        f"saved, %: {text}; bar: a lower least error"
    )


def sections(tables: Tables) -> Iterator[Section]:
    """Errors in the plane and along the dimension."""
    rows = [
        (case, *(f"{100 * table.where(method=m)['value'].mean():.1f}" for m in PLANE))
        for case, table in cases_of(tables["plane"])
    ]
    yield Section(
        "Digits in two dimensions",
        f"Per cent of {IN_PLANE} digits whose nearest other one is of another class. LDA is the "
        "only one that knows the classes, and is judged on the rows that it was fitted to.",
        ("data", *PLANE),
        rows,
    )
    for case in TRIED:
        table = tables[f"curves-{case}"]
        if not len(table):
            continue
        dimensions = np.unique(table["x"])
        yield Section(
            f"Nearest-neighbour error on {case}",
            f"Mean per cent over {len(np.unique(table['repeat']))} random splits: "
            f"{TRAINING[case]} training and {TESTED[case]} test rows a class. LPP and LDA span the "
            "same space; LPP's coordinates have unit variance, LDA's unit variance within classes, "
            "which is far less in some directions than in others.",
            ("method", *(f"r = {r:g}" for r in dimensions)),
            [
                (m, *(_at(table.where(method=m, x=r)) for r in dimensions))
                for m in ordered(table["method"], CURVES)
            ],
        )


def _at(table: Table) -> str:
    return f"{100 * table['value'].mean():.1f}" if len(table) else "-"


# ---- figures


def draw(tables: Tables, folder: Path, seed: int) -> None:
    """Digits in the plane, kernel PCA of the clusters, the curves."""
    for case in ("digits", "mnist"):
        if available(case) and len(tables["plane"].where(case=case)):
            _draw_plane(case, folder, seed)
    if len(tables["clusters"]):
        for case in CLUSTERS.cases:
            _draw_clusters(case, folder, seed)
    if any(len(tables[f"curves-{case}"]) for case in TRIED):
        _draw_curves(tables, folder)


def _draw_plane(case: str, folder: Path, seed: int) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(2, 4, figsize=(11.5, 6.1), layout="constrained")
    found = projected(case, Job(plane, "plane", case, 0, seed).rng)
    for ax, (method, Y, y) in zip(axes.flat, found, strict=True):
        scatter(ax, Y, y)
        ax.set_title(f"{method}: {100 * left_out_error(Y, y):.0f} % error", fontsize=10)
    for k, colour in enumerate(CLASS_COLOURS):
        axes[0, 0].plot([], [], "o", color=colour, markersize=4, label=str(k))
    figure.legend(loc="outside right center", fontsize=9)
    figure.suptitle(f"{IN_PLANE} of {case}; error of the nearest other one", fontsize=11)
    save(figure, folder / f"plane-{case}")


def _draw_clusters(case: str, folder: Path, seed: int) -> None:
    plt = pyplot()
    X, y = square_and_annulus(case, Job(clusters, "clusters", case, 0, seed).rng)
    figure, axes = plt.subplots(1, 1 + len(WIDTHS), figsize=(16, 3.1), layout="constrained")
    for ax, C in zip(axes, (None, *WIDTHS), strict=True):
        Y = X if C is None else kernel_pca(X, C)
        scatter(ax, Y, y)
        name = "the plane" if C is None else f"kernel PCA, C = {C:g}"
        ax.set_title(f"{name}: {100 * linear_error(Y, y):.1f} % error", fontsize=9)
    axes[0].set_aspect("equal", adjustable="datalim")
    save(figure, folder / f"clusters-{case.split()[0]}")


def _draw_curves(tables: Tables, folder: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, len(TRIED), figsize=(5 * len(TRIED), 4.4), layout="constrained")
    for ax, case in zip(axes, TRIED, strict=True):
        table = tables[f"curves-{case}"]
        for method, colour, marker in zip(CURVES, COLOURS, MARKERS, strict=True):
            part = table.where(method=method)
            if len(part):
                rows = curve(part)
                ax.errorbar(
                    rows[:, 0], 100 * rows[:, 1], 200 * rows[:, 2], color=colour, label=method,
                    marker=marker, markersize=4, linestyle="--" if "ogonal" in method else "-",
                )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("r")
        splits = len(np.unique(table["repeat"])) if len(table) else 0
        ax.set_title(f"{case}: nearest-neighbour error, %, {splits} splits", fontsize=10)
        ax.minorticks_off()
        ax.set_xticks(TRIED[case], [str(r) for r in TRIED[case]], fontsize=8)
        ax.set_yticks((2, 5, 10, 20, 40, 80), ["2", "5", "10", "20", "40", "80"])
    axes[0].legend(fontsize=8)
    save(figure, folder / "curves")


CLUSTERS = Part("clusters", clusters, ("left half", "right half"), 20, 5)

EXPERIMENT = Experiment(
    "trace-optimization",
    "the experiments after Kokiopoulou, Chen and Saad (2011), trace optimization",
    (
        Part("plane", plane, ("digits", "mnist"), 5, 1, ("digits",)),
        CLUSTERS,
        Part("coinciding", coinciding, tuple(TRAINING), 3, 1),
        *(Part(f"curves-{case}", curves, (case,), 100, 5) for case in TRIED),
    ),
    draw,
    claims,
    sections,
)
