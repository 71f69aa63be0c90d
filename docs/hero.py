"""The picture on the front page: ``python -m docs.hero``, with ``--seed`` for another draw.

Half of the handwritten digits of scikit-learn, one image in twenty with the noise of a broken
sensor, and the other half, clean and held out, in the two dimensions that pca and an objective of
one's own find. A stranger's numbers: the variance of the held-out images that the plane explains,
and how many of them the ten nearest of the sound training images name.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import ldr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BROKEN = 1 / 20
NOISE = 40.0  # beside pixels of 0 to 16
PICTURE = Path(__file__).parent / "hero.png"


@ldr.objective(manifold="grassmann", sense="min")
def robust(M, X):
    residuals = X - X @ M @ M.T
    return jnp.mean(jnp.sqrt(1 + jnp.sum(residuals**2, axis=1)))


class Seen(NamedTuple):
    """The held-out images in a plane: their digits, the share of their variance, the accuracy."""

    title: str
    Y: np.ndarray
    digit: np.ndarray
    explained: float
    accuracy: float  # of ten nearest neighbours


def seen(seed: int) -> list[Seen]:
    """Pca of clean data, pca and the objective above of the data with broken images."""
    X, y = load_digits(return_X_y=True)
    X, held, y, digit = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    broken = rng.random(len(X)) < BROKEN
    noisy = X + NOISE * broken[:, None] * rng.standard_normal(X.shape)
    sound = ~broken
    found = []
    for title, objective, rows in (
        ("PCA of clean images", ldr.objectives.PCA(), X),
        ("PCA, one image in 20 broken", ldr.objectives.PCA(), noisy),
        ("your own objective, same images broken", robust, noisy),
    ):
        result = ldr.solve(objective, rows, 2, random_state=0)
        Y, training = result.transform(held), result.transform(X[sound])
        neighbours = KNeighborsClassifier(10).fit(training, y[sound])
        explained = np.sum((Y - Y.mean(axis=0)) ** 2) / np.sum((held - held.mean(axis=0)) ** 2)
        accuracy = float(neighbours.score(Y, digit))
        found.append(Seen(title, Y, digit, float(explained), accuracy))
    return found


def picture(planes: list[Seen]) -> Figure:
    """The planes beside one another, a colour a digit."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained", facecolor="white")
    colours = colormaps["tab10"].colors
    for ax, plane in zip(
        figure.subplots(1, len(planes), sharex=True, sharey=True), planes, strict=True
    ):
        for k in range(10):
            x, y = plane.Y[plane.digit == k].T
            ax.scatter(x, y, s=7, color=colours[k], linewidth=0, alpha=0.6)
        for k in range(10):
            x, y = np.median(plane.Y[plane.digit == k], axis=0)
            box = {"boxstyle": "circle,pad=0.2", "color": colours[k]}
            ax.text(x, y, str(k), color="white", ha="center", va="center", weight="bold", bbox=box)
        ax.set_title(
            f"{plane.title}\n{plane.explained:.0%} of the variance, "
            f"{plane.accuracy:.0%} of the digits recognised",
            fontsize=9.5,
        )
        ax.set_aspect("equal")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("0.8")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.hero", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=PICTURE)
    options = parser.parse_args()
    planes = seen(options.seed)
    for plane in planes:
        print(f"{plane.title:40} variance {plane.explained:.3f}  recognised {plane.accuracy:.3f}")
    picture(planes).savefig(options.out, dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()
