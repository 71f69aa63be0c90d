"""Power and size of permutation tests: ``python -m benchmarks.power``.

For planted effects of growing strength, the share of data sets in which `ldr.permutation_test`
rejects at 5 %; with no effect it is the size of the test, which should be 5 %. ``--plot FILE``
draws the curves, ``--sets N`` takes another number of data sets than 400.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import ldr

LEVEL = 0.05
PERMUTATIONS = 199
EFFECTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)

Draw = Callable[[np.random.Generator, float], tuple[Any, Any]]


def classes(rng: np.random.Generator, effect: float) -> tuple[Any, Any]:
    """Four classes of ten rows, whose means differ in one of five columns."""
    y = np.repeat(np.arange(4), 10)
    X = rng.standard_normal((40, 5))
    X[:, 0] += effect * (y - 1.5) / 1.118  # (y - 1.5) / 1.118 has unit variance
    return X, y


def views(rng: np.random.Generator, effect: float, other: float = 0.0) -> tuple[Any, Any]:
    """Fifty rows of 4 + 3 columns, one or two of each sharing a signal."""
    A, B = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    B[:, :2] += A[:, :2] * [effect, other]
    return (A, B), None


def factor(rng: np.random.Generator, effect: float) -> tuple[Any, Any]:
    """Fifty rows of five columns with one factor in common."""
    shared = rng.standard_normal((50, 1)) * np.ones(5) / np.sqrt(5)
    return rng.standard_normal((50, 5)) + effect * shared, None


def response(rng: np.random.Generator, effect: float) -> tuple[Any, Any]:
    """Sixty rows; a response that bends over one of four columns."""
    X = rng.standard_normal((60, 4))
    return X, effect * (X[:, 0] + X[:, 0] ** 3 / 3.0) + rng.standard_normal(60)


def series(rng: np.random.Generator, effect: float) -> tuple[Any, Any]:
    """Fifty rows of four series, one of which remembers the step before."""
    X = rng.standard_normal((50, 4))
    for t in range(1, len(X)):
        X[t, 0] += effect / 2.0 * X[t - 1, 0]
    return X, None


@dataclass(frozen=True)
class Curve:
    """A method, what is planted for it, and whether the p-value of its last step counts."""

    method: str
    draw: Draw
    r: int = 1
    last: bool = False

    @property
    def name(self) -> str:
        return f"{self.method}, step {self.r}" if self.last else self.method

    def share(self, effect: float, sets: int) -> float:
        """Return the share of data sets in which the test rejects."""
        rejected = 0
        for seed in range(sets):
            X, y = self.draw(np.random.default_rng(seed), effect)
            found = ldr.permutation_test(
                self.method, X, self.r, y=y, permutations=PERMUTATIONS, random_state=seed
            )
            p_values = (found.p_value, *(found.p_values or ()))
            rejected += p_values[-1 if self.last else 0] <= LEVEL
        return rejected / sets


CURVES = (
    Curve("orthogonal-lda", classes, 2),
    Curve("lda", classes),
    Curve("cca", views),
    Curve("cca", partial(views, other=3.0), 2, True),
    Curve("pls", views),
    Curve("pca", factor),
    Curve("sir", response),
    Curve("orthogonal-maf", series),
)


def draw(found: list[tuple[Curve, list[float]]], path: str) -> None:
    """Draw the curves."""
    from matplotlib.figure import Figure

    from ldr.canvas import Colouring

    names = tuple(curve.name for curve, _ in found)
    looks = Colouring(np.arange(len(names)), names).groups(len(names))
    ax = (figure := Figure(figsize=(7.0, 4.5), layout="constrained")).subplots()
    for (_, shares), (_, colour, marker, name) in zip(found, looks, strict=True):
        ax.plot(EFFECTS, shares, color=colour, marker=marker, markersize=5, label=name)
    ax.axhline(LEVEL, color="0.6", linestyle="--", linewidth=1.0)
    ax.set(
        xlabel="simulated effect, in standard deviations of the signal",
        ylabel=f"share of data sets rejected at {LEVEL:.0%}",
        ylim=(0.0, 1.02),
    )
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--plot")
    options = parser.parse_args()
    found = []
    print(f"{'rejected at 5 %, effect:':24}" + "".join(f"{effect:8.2f}" for effect in EFFECTS))
    for curve in CURVES:
        shares = [curve.share(effect, options.sets) for effect in EFFECTS]
        print(f"{curve.name:24}" + "".join(f"{share:8.1%}" for share in shares), flush=True)
        found.append((curve, shares))
    if options.plot:
        draw(found, options.plot)


if __name__ == "__main__":
    main()
