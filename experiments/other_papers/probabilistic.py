"""Lawrence (2012), probabilistic dimensionality reduction: likelihoods, and what distances do."""

from __future__ import annotations

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
    mean_and_error,
    ordered,
    words,
)

# ---- likelihoods

FITTED = {"planted": 4, "wine": 3, "digits": 10}  # number r of components by data set


def fitted(case: str, rng: Generator) -> Iterator[Measured]:
    """The closed form beside expectation maximisation."""
    X, r = _rows(case, rng), FITTED[case]
    exact = ldr.solve("ppca", X, r)
    em = ldr.solve(
        "ppca", X, r, solver="em", start="random", max_iterations=100_000, random_state=rng
    )
    steps = np.array(em.history["value"])
    yield "closed form", r, "value", exact.value
    yield "em", r, "value", em.value
    yield "em", r, "iterations", em.iterations
    yield "em", r, "gap", (em.value - exact.value) / abs(exact.value)
    yield "em", r, "largest rise", float(np.diff(steps).max()) / abs(exact.value)
    yield "em", r, "angle", ldr.subspaces.distance(exact.M, em.M, "largest-angle")


def _rows(case: str, rng: Generator) -> Array:
    if case == "planted":
        return planted(rng, 500, 20, FITTED[case])[0]
    if case == "wine":
        from sklearn.datasets import load_wine

        X = load_wine().data
        return X / X.std(axis=0)
    return labelled("digits")[0]


def planted(rng: Generator, n: int, d: int, r: int) -> tuple[Array, Array, float]:
    """Rows x = My + noise; M with columns of length 3, 2.., 1 and the noise's deviation."""
    M = np.linalg.qr(rng.standard_normal((d, r)))[0] * np.linspace(3, 1, r)
    noise = 0.5
    X = rng.standard_normal((n, r)) @ M.T + noise * rng.standard_normal((n, d))
    return X, M, noise


SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)


def missing(case: str, rng: Generator) -> Iterator[Measured]:
    """Errors of imputed entries: by ppca, by the column's mean, by the model that made the rows."""
    if case == "planted":
        X, M, noise = planted(rng, 300, 12, 3)
        r = 3
    else:
        X, r = _rows(case, rng), FITTED[case]
    for share in SHARES:
        gaps = rng.random(X.shape) < share
        gaps[gaps.all(axis=1), 0] = False
        observed = np.where(gaps, np.nan, X)
        result = ldr.solve("ppca", observed, r, certify=False)
        assert result.model is not None
        filled = {
            "ppca": result.model.impute(observed),
            "mean": np.where(gaps, np.nanmean(observed, axis=0), X),
        }
        if case == "planted":
            filled["true model"] = _expected(observed, M, noise)
        for method, Z in filled.items():
            yield method, share, "error", float(np.sqrt(np.mean((Z - X)[gaps] ** 2)))


def _expected(observed: Array, M: Array, noise: float) -> Array:
    """Missing entries by their expectation given the others, of N(0, MM' + noise^2 I)."""
    S = M @ M.T + noise**2 * np.eye(len(M))
    filled = observed.copy()
    for row in filled:
        gap = np.isnan(row)
        row[gap] = S[np.ix_(gap, ~gap)] @ np.linalg.solve(S[np.ix_(~gap, ~gap)], row[~gap])
    return filled


PLANTED_R = 5
TRIED = range(1, 11)


def chosen(case: str, rng: Generator) -> Iterator[Measured]:
    """The dimension by held-out likelihood, by BIC and by parallel analysis."""
    n = int(case.split("=")[1])
    X, _, _ = planted(rng, n, 20, PLANTED_R)
    path = ldr.path("ppca", X, TRIED, folds=5, random_state=0)
    assert path.scores is not None and path.best is not None
    bic = [result.model.bic for result in path.results if result.model is not None]
    for r, score, criterion in zip(path.dimensions, path.scores.mean(axis=1), bic, strict=True):
        yield "held-out", r, "score", float(score)
        yield "bic", r, "score", criterion
    yield "held-out", 0, "chosen", path.best
    yield "bic", 0, "chosen", path.dimensions[int(np.argmin(bic))]
    yield "parallel analysis", 0, "chosen", ldr.parallel_analysis(X, random_state=0).r


# ---- distances

PAIRS = 10_000
SIGMA = 2.0


def distances(case: str, rng: Generator) -> Iterator[Measured]:
    """Mean squared differences of independent pairs against Gamma(d/2, d/(4 sigma^2))."""
    from scipy import stats

    d = int(case.split("=")[1])
    squares = squared_distances(np.full(d, SIGMA**2), rng) / d
    theory = stats.gamma(d / 2, scale=4 * SIGMA**2 / d)
    yield "gamma", d, "p", float(stats.kstest(squares, theory.cdf).pvalue)
    yield "gamma", d, "mean", float(squares.mean())
    for q in np.linspace(0.005, 0.995, 100):
        yield "quantile", float(theory.ppf(q)), "sample", float(np.quantile(squares, q))


def squared_distances(spectrum: Array, rng: Generator) -> Array:
    """Of independent pairs of N(0, diag(spectrum))."""
    squares = np.zeros(PAIRS)
    for variance in spectrum:  # columns are drawn one by one to save memory
        squares += 2 * variance * rng.standard_normal(PAIRS) ** 2
    return squares


EGG = {1: (65.8, 4.8, 29.4), 2: (59.4, 7.4, 33.2), 3: (56.1, 9.2, 34.7)}  # shares in per cent
SHELLS = ("yolk", "white", "shell")
POINTS = 200_000


def egg(case: str, rng: Generator) -> Iterator[Measured]:
    """Shares of a Gaussian's mass nearer than .95, within .05 of and beyond 1.05 deviations."""
    d = int(case.split("=")[1])
    squares = np.zeros(POINTS)
    for _ in range(d):
        squares += rng.standard_normal(POINTS) ** 2
    radius = np.sqrt(squares / d)
    shares = np.histogram(radius, (0, 0.95, 1.05, np.inf))[0] / POINTS
    for name, share in zip(SHELLS, shares, strict=True):
        yield name, d, "share", float(share)


SPECTRA = {
    "isotropic d=100": np.ones(100),
    "rank 2 d=1000": np.r_[np.ones(2), np.zeros(998)],
    "rank 2 and noise d=1000": np.r_[np.full(2, 100.0), np.ones(998) * 0.1],
    "decaying d=500": 1.0 / np.arange(1, 501),
}


def effective(case: str, rng: Generator) -> Iterator[Measured]:
    """tr(C)^2 / tr(C^2) beside the dimension whose Gamma has the distances' mean and variance."""
    spectrum = SPECTRA[case]
    squares = squared_distances(spectrum, rng)
    yield "distances", len(spectrum), "dimension", _matched(squares)
    yield "theory", len(spectrum), "dimension", _effective(spectrum)


def of_data(case: str, rng: Generator) -> Iterator[Measured]:
    """The same of data, which are not Gaussian."""
    from scipy.spatial.distance import pdist

    X, _ = labelled(case)
    X = X[rng.permutation(len(X))[:1500]]
    centred = X - X.mean(axis=0)
    spectrum = np.linalg.svd(centred, compute_uv=False) ** 2 / len(X)
    yield "distances", X.shape[1], "dimension", _matched(pdist(X, "sqeuclidean"))
    yield "theory", X.shape[1], "dimension", _effective(spectrum)


def _matched(squares: Array) -> float:
    """Of Gamma(k/2, .): mean^2 / variance = k/2."""
    return float(2 * squares.mean() ** 2 / squares.var())


def _effective(spectrum: Array) -> float:
    return float(spectrum.sum() ** 2 / np.sum(spectrum**2))


# ---- a six that turns

SIZE = 48


def turned_six(degrees: float) -> Array:
    """A drawn six, turned, as SIZE x SIZE grey levels in [0, 1]: no pixel is interpolated."""
    t = np.linspace(0, 2 * np.pi, 120)
    bowl = np.stack([0.28 * np.cos(t), 0.28 * np.sin(t) - 0.25], axis=1)
    s = np.linspace(0, 1, 60)[:, None]
    ends = np.array([[-0.28, -0.25], [-0.24, 0.35], [0.22, 0.62]])
    stem = (1 - s) ** 2 * ends[0] + 2 * s * (1 - s) * ends[1] + s**2 * ends[2]
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    strokes = np.vstack([bowl, stem]) @ turn
    grid = np.linspace(-1, 1, SIZE)
    x, y = np.meshgrid(grid, -grid)
    squares = (x[..., None] - strokes[:, 0]) ** 2 + (y[..., None] - strokes[:, 1]) ** 2
    edge = (np.sqrt(squares.min(axis=-1)) - 0.07) / 0.03
    return 1 / (1 + np.exp(np.clip(edge, -50, 50)))


DIMENSIONS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120)


def six(case: str, rng: Generator) -> Iterator[Measured]:
    """Root mean squared errors of 360 images from r coordinates."""
    X = np.array([turned_six(k).ravel() for k in range(360)])
    mean = X.mean(axis=0)
    Z = X - mean
    varied = np.argsort(-Z.var(axis=0), kind="stable")
    for r in DIMENSIONS:
        result = ldr.solve("pca", X, r, certify=False)
        yield "pca", r, "error", _rms(Z - result.transform(X) @ result.P)
        kept = varied[:r]
        alone = Z.copy()
        alone[:, kept] = 0
        yield "pixels", r, "error", _rms(alone)
        others = Z[:, kept] @ np.linalg.lstsq(Z[:, kept], Z, rcond=None)[0]
        yield "pixels, others regressed", r, "error", _rms(Z - others)
    plane = ldr.solve("pca", X, 2, certify=False).transform(X)
    radius = np.linalg.norm(plane, axis=1)
    yield "pca", 2, "spread of the radius", float(radius.std() / radius.mean())
    around = np.unwrap(np.arctan2(plane[:, 1], plane[:, 0]))
    yield "pca", 2, "turns", float(abs(around[-1] - around[0]) / (2 * np.pi) * 360 / 359)


def _rms(Z: Array) -> float:
    return float(np.sqrt(np.mean(Z**2)))


# ---- verdict


def claims(tables: Tables) -> Iterator[Finding]:
    """The claims of the lectures."""
    yield judged("PPCA: EM never lowers the likelihood", tables["fitted"], _monotone)
    yield judged("PPCA: EM reaches the closed form", tables["fitted"], _reached)
    planted_gaps = tables["missing"].where(case="planted")
    yield judged("Missing values: PPCA is better than the mean", tables["missing"], _better)
    yield judged("Missing values: PPCA is near the best possible", planted_gaps, _near)
    for name, method in (("BIC", "bic"), ("held-out likelihood", "held-out")):
        yield judged(
            f"PPCA: the planted r = {PLANTED_R} is chosen by {name}",
            tables["chosen"].where(method=method, quantity="chosen"),
            _planted,
        )
    yield judged(
        "Squared distances of Gaussians follow Gamma(d/2, d/(4 sigma^2))",
        tables["distances"].where(quantity="p"),
        _gamma,
    )
    for d, published in EGG.items():
        yield judged(
            f"Yolk, white and shell at d = {d}: {words(published, 'g')} %",
            tables["egg"].where(x=d),
            lambda table, published=published: _egg(table, published),  # type: ignore[misc]
        )
    yield judged("In high dimensions the mass is in the white", tables["egg"], _concentrated)
    yield judged(
        "A Gaussian's effective dimension is tr(C)^2 / tr(C^2)", tables["effective"], _dimensions
    )
    yield judged(
        "A turned six: PCA reconstructs better than selected pixels",
        tables["six"].where(quantity="error"),
        _six,
    )


def _monotone(table: Table) -> tuple[bool, str]:
    rise = table.where(quantity="largest rise")["value"].max()
    return rise < 1e-12, f"largest relative rise of the value in one step {rise:.1e}; bar 1e-12"


def _reached(table: Table) -> tuple[bool, str]:
    gap = float(np.abs(table.where(quantity="gap")["value"]).max())
    steps = [
        f"{case} {words(np.median(part.where(quantity='iterations')['value'])[None], 'g')}"
        for case, part in cases_of(table)
    ]
    return gap < 1e-8, (
        f"largest relative difference of the values {gap:.1e}, bar 1e-8; median iterations: "
        f"{', '.join(steps)}"
    )


def _better(table: Table) -> tuple[bool, str]:
    holds, parts = True, []
    for case, part in cases_of(table):
        ours, means = (curve(part.where(method=m))[:, 1] for m in ("ppca", "mean"))
        holds &= bool((ours < means).all())
        parts.append(f"{case}: {words(ours / means)}")
    return holds, f"error over the mean's at 10, 20, ... 50 % missing: {'; '.join(parts)}"


def _near(table: Table) -> tuple[bool, str]:
    ours, best = (curve(table.where(method=m))[:, 1] for m in ("ppca", "true model"))
    ratios = ours / best
    return bool((ratios[:3] < 1.1).all()), (
        f"error over that of the model that made the rows: {words(ratios, '.4g')} at 10, 20, ... "
        "50 % missing; bar 1.1 up to 30 %"
    )


def _planted(table: Table) -> tuple[bool, str]:
    holds, parts = True, []
    for case, part in cases_of(table):
        right = float(np.mean(part["value"] == PLANTED_R))
        holds &= right >= 0.9
        counts = zip(*np.unique(part["value"], return_counts=True), strict=True)
        chosen = ", ".join(f"{int(r)}: {count}" for r, count in counts)
        parts.append(f"{case}: right in {right:.0%} ({chosen})")
    return holds, f"{'; '.join(parts)}; bar 90 %"


def _gamma(table: Table) -> tuple[bool, str]:
    p = float(table["value"].min())
    return p * len(table) > 0.05, (
        f"least p of {len(table)} Kolmogorov-Smirnov tests, d = {words(np.unique(table['x']), 'g')}"
        f", {PAIRS} independent pairs each: {p:.2g}; bar .05 / {len(table)}"
    )


def _egg(table: Table, published: tuple[float, ...]) -> tuple[bool, str]:
    holds, parts = True, []
    for name, theirs in zip(SHELLS, published, strict=True):
        share, _ = mean_and_error(table.where(method=name)["value"])
        n = POINTS * len(table.where(method=name))
        error = 100 * float(np.sqrt(share * (1 - share) / n))
        holds &= abs(100 * share - theirs) < 0.05 + 3 * error
        parts.append(f"{100 * share:.2f} +- {error:.2f}")
    return holds, f"{', '.join(parts)} %; bar: half a digit and three standard errors"


def _concentrated(table: Table) -> tuple[bool, str]:
    rows = curve(table.where(method="white"))
    rising = bool((np.diff(rows[:, 1]) > 0).all())
    text = ", ".join(f"d = {x:g}: {share:.1%}" for x, share, _ in rows)
    return rising and rows[-1, 1] > 0.95, f"white: {text}; bar: rising, above 95 % at the end"


def _dimensions(table: Table) -> tuple[bool, str]:
    holds, parts = True, []
    for case, part in cases_of(table):
        mean, error = mean_and_error(part.where(method="distances")["value"])
        theory = float(part.where(method="theory")["value"][0])
        holds &= abs(mean - theory) < 3 * error + 0.01 * theory
        parts.append(f"{case}: {theory:.4g}, of distances {mean:.4g} +- {error:.1g}")
    return holds, f"{'; '.join(parts)}; bar three standard errors and 1 %"


def _six(table: Table) -> tuple[bool, str]:
    errors = {m: curve(part)[:, 1] for m, part in table.groups("method")}
    better = (errors["pca"] < errors["pixels"]).all()
    optimal = (errors["pca"] <= errors["pixels, others regressed"] * (1 + 1e-9)).all()
    ten = list(DIMENSIONS).index(12)
    text = "; ".join(f"{m} {e[ten]:.4f}" for m, e in errors.items())
    return bool(better and optimal), f"root mean squared error at r = 12: {text}; bar: at every r"


def sections(tables: Tables) -> Iterator[Section]:
    """Effective dimensions of data; the six's plane."""
    rows = [
        (case, *(f"{v:.3g}" for v in (part["x"][0], *_pair(part))))
        for case, part in cases_of(tables["of_data"])
    ]
    yield Section(
        "Effective dimension of data",
        "tr(C)^2 / tr(C^2), and the dimension whose Gamma has the mean and the variance of the "
        "squared distances. They agree for a Gaussian; data of clusters differ.",
        ("data", "columns", "of the covariance", "of the distances"),
        rows,
    )
    chosen_ = tables["chosen"].where(quantity="chosen", method="parallel analysis")
    yield Section(
        "Dimension by parallel analysis",
        f"Beside the planted {PLANTED_R}; of the correlation matrix, 95 % quantiles. It asks that "
        "an eigenvalue exceed those of unrelated columns. The weakest planted one is 1.25 where "
        "the columns' mean variance is 1.375: it mostly does not.",
        ("rows", "right"),
        [(c, f"{np.mean(p['value'] == PLANTED_R):.0%}") for c, p in cases_of(chosen_)],
    )
    spread = tables["six"].where(quantity="spread of the radius")
    turns = tables["six"].where(quantity="turns")
    if len(spread):
        yield Section(
            "The six in the plane of two principal components",
            f"Standard deviation of the radius over its mean: {spread['value'][0]:.3f}, 0 of a "
            f"circle, which is run through {turns['value'][0]:.2f} times in 360 degrees.",
        )


def _pair(table: Table) -> tuple[float, float]:
    theory, found = (float(table.where(method=m)["value"].mean()) for m in ("theory", "distances"))
    return theory, found


# ---- figures


def draw(tables: Tables, folder: Path, seed: int) -> None:
    """Likelihoods, distances, and the six."""
    if all(len(tables[name]) for name in ("missing", "chosen")):
        _draw_likelihoods(tables, folder)
    if all(len(tables[name]) for name in ("distances", "egg")):
        _draw_distances(tables, folder)
    if len(tables["six"]):
        _draw_six(tables["six"], folder)


def _draw_likelihoods(tables: Tables, folder: Path) -> None:
    plt = pyplot()
    cases = [case for case, _ in cases_of(tables["missing"])]
    figure, axes = plt.subplots(1, len(cases) + 2, figsize=(4 * len(cases) + 8, 4))
    methods = ("ppca", "mean", "true model")
    for ax, case in zip(axes, cases, strict=False):
        part = tables["missing"].where(case=case)
        for method, colour in zip(ordered(part["method"], methods), COLOURS, strict=False):
            _band(ax, curve(part.where(method=method)), colour, method)
        ax.set_title(f"{case}: error of imputed entries", fontsize=10)
        ax.set_xlabel("share missing")
        ax.legend(fontsize=9)
    for ax, method in zip(axes[-2:], ("held-out", "bic"), strict=True):
        part = tables["chosen"].where(method=method, quantity="score")
        for (case, of), colour in zip(cases_of(part), COLOURS, strict=False):
            rows = curve(of)
            n = float(case.split("=")[1]) if method == "bic" else 1.0
            _band(ax, rows / (1.0, n, n), colour, case)
        ax.axvline(PLANTED_R, color="0.5", linestyle="--", linewidth=1)
        ax.set_xlabel("r")
        ax.legend(fontsize=9)
    axes[-2].set_title("held-out log-likelihood of a row", fontsize=10)
    axes[-1].set_title("BIC a row", fontsize=10)
    figure.tight_layout()
    save(figure, folder / "likelihoods")


def _band(ax: Any, rows: Array, colour: str, label: str) -> None:
    ax.errorbar(
        rows[:, 0], rows[:, 1], 2 * rows[:, 2], color=colour, marker="o", markersize=4, label=label
    )


def _by_dimension(table: Table) -> list[tuple[int, Table]]:
    """The cases d=..., in the order of d."""
    return sorted(
        ((int(case.split("=")[1]), part) for case, part in cases_of(table)), key=lambda p: p[0]
    )


def _draw_distances(tables: Tables, folder: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    table = tables["distances"].where(method="quantile", repeat=0)
    for (d, part), colour in zip(_by_dimension(table), COLOURS, strict=False):
        axes[0].plot(part["x"], part["value"] / part["x"], "-", color=colour, label=f"d = {d}")
    axes[0].axhline(1, color="0.5", linewidth=0.8)
    axes[0].set_xscale("log")
    axes[0].set_ylim(0.7, 1.3)
    axes[0].set_xlabel("quantiles of Gamma(d/2, d/(4 s$^2$))")
    axes[0].set_title("Quantiles of mean squared differences over these", fontsize=10)
    axes[0].legend(fontsize=8)
    for name, colour in zip(SHELLS, ("#E69F00", "#56B4E9", "#D55E00"), strict=True):
        rows = curve(tables["egg"].where(method=name))
        axes[1].plot(rows[:, 0], rows[:, 1], "o-", color=colour, label=name)
    for d, shares in EGG.items():
        axes[1].plot([d] * 3, np.array(shares) / 100, "x", color="black", markersize=7)
    axes[1].set_xscale("log")
    axes[1].set_xlabel("d")
    axes[1].set_title("Mass of a Gaussian; crosses: published", fontsize=10)
    axes[1].legend(fontsize=9)
    for name, marker in (("effective", "o"), ("of_data", "s")):
        for (case, part), colour in zip(
            cases_of(tables[name]), COLOURS if name == "effective" else COLOURS[4:], strict=False
        ):
            axes[2].plot(*_pair(part), marker, color=colour, label=case)
    axes[2].plot((1, 200), (1, 200), color="0.5", linewidth=0.8)
    axes[2].set_xscale("log")
    axes[2].set_yscale("log")
    axes[2].set_xlabel("tr(C)$^2$ / tr(C$^2$)")
    axes[2].set_title("Effective dimension, by the distances", fontsize=10)
    axes[2].legend(fontsize=8)
    save(figure, folder / "distances")


def _draw_six(table: Table, folder: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
    strip = [np.hstack([turned_six(30 * (4 * i + j)) for j in range(4)]) for i in range(3)]
    axes[0].imshow(np.vstack(strip), cmap="gray_r")
    axes[0].axis("off")
    X = np.array([turned_six(k).ravel() for k in range(360)])
    plane = ldr.solve("pca", X, 2, certify=False).transform(X)
    axes[1].scatter(*plane.T, c=np.arange(360), cmap="twilight", s=12)
    axes[1].set_aspect("equal")
    axes[1].set_title("360 turned sixes, two principal components", fontsize=10)
    for (method, part), colour in zip(
        table.where(quantity="error").groups("method"), COLOURS, strict=False
    ):
        rows = curve(part)
        axes[2].plot(rows[:, 0], rows[:, 1], "o-", color=colour, label=method, markersize=4)
    axes[2].set_xscale("log")
    axes[2].set_yscale("log")
    axes[2].set_xlabel("r")
    axes[2].set_title("root mean squared error of the reconstruction", fontsize=10)
    axes[2].legend(fontsize=9)
    save(figure, folder / "six")


EXPERIMENT = Experiment(
    "probabilistic",
    "the experiments after Lawrence (2012), probabilistic dimensionality reduction",
    (
        Part("fitted", fitted, tuple(FITTED), 5, 1),
        Part("missing", missing, ("planted", "wine"), 20, 3),
        Part("chosen", chosen, ("n=200", "n=500"), 40, 6),
        Part("distances", distances, tuple(f"d={d}" for d in (1, 2, 3, 10, 100, 1000)), 3, 1),
        Part("egg", egg, tuple(f"d={d}" for d in (1, 2, 3, 10, 100, 1000)), 3, 1),
        Part("effective", effective, tuple(SPECTRA), 10, 3),
        Part("of_data", of_data, ("digits", "mnist", "faces"), 1, 1, ("digits", "faces")),
        Part("six", six, ("turned",), 1, 1),
    ),
    draw,
    claims,
    sections,
)
