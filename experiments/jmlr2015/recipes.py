"""The synthetic data of Cunningham and Ghahramani, JMLR 16 (2015), section 4.

Each function makes one data set from the dimension d, the target dimension r and a random
generator, by one of two recipes: "paper-text" is what the paper says, "reference-code" what its
reference MATLAB code does; the two differ. Where the text leaves a number open (the sample sizes
of pca, cca and maf, the level of the noise of cca and maf, the place of the knots), the reference
code's is taken, but for the noise of cca, which is standard normal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.linalg.lapack import dormqr

from ldr.solvers.manifolds import Array

TEXT, CODE = "paper-text", "reference-code"
RECIPES = (TEXT, CODE)


@dataclass(frozen=True)
class DataSet:
    """What `ldr.solve` takes: samples in rows (a pair of arrays for cca), and labels for lda."""

    X: Any
    y: np.ndarray | None = None


def pca(d: int, r: int, rng: np.random.Generator, recipe: str, n: int = 2000) -> DataSet:
    """Normal with random standard deviations, Exp(mean 2); n rows, centred.

    The text's covariance is uniformly oriented, the code's is axis-aligned.
    """
    scales = rng.exponential(2.0, d)
    X = rng.standard_normal((n, d)) * scales
    if _is_text(recipe):
        X = _rotated(X, rng)
    return DataSet(X - X.mean(axis=0))


def lda(d: int, r: int, rng: np.random.Generator, recipe: str) -> DataSet:
    """The classes of `lda_classes`, all in memory: with the text's recipe 1000 d rows."""
    return _labelled(lda_classes(d, r, rng, recipe))


def lda_classes(d: int, r: int, rng: np.random.Generator, recipe: str) -> Iterator[Array]:
    """The rows of one class after the other; means (5/d) N(0, I).

    Text: d classes of 1000 rows, each uniformly oriented. Code: r + 1 classes of 2000 rows,
    axis-aligned.
    """
    classes, size = (d, 1000) if _is_text(recipe) else (r + 1, 2000)
    return _normal_classes(classes, size, 5.0 / d, d, rng, recipe)


def planar(rng: np.random.Generator, recipe: str) -> DataSet:
    """Figure 1's data for lda: three classes in three dimensions, to be reduced to two.

    Text: 1000 rows a class, means (5/2) N(0, I). Code: 2000 rows, means (5/3) N(0, I).
    """
    size, spread = (1000, 5.0 / 2.0) if _is_text(recipe) else (2000, 5.0 / 3.0)
    return _labelled(_normal_classes(3, size, spread, 3, rng, recipe))


def cca(d: int, r: int, rng: np.random.Generator, recipe: str) -> DataSet:
    """Two views of shared latent variables by standard normal maps, plus noise; 20 d rows, centred.

    Text: d/2 latent variables, noise. Code: ceil(d/2) and ceil(0.4 d) latent variables, all of
    which both views share, and noise 0.0002 U E with U uniform on [0, 1].
    """
    n = 20 * d
    latent = rng.standard_normal((n, -(-d // 2)))
    if not _is_text(recipe):
        latent = np.hstack([latent, rng.standard_normal((n, -(-4 * d // 10)))])
    views = []
    for _ in range(2):
        view = latent @ rng.standard_normal((d, latent.shape[1])).T
        noise = rng.standard_normal((n, d))
        if not _is_text(recipe):
            noise = 0.0002 * noise @ rng.uniform(size=(d, d)).T
        view += noise
        views.append(view - view.mean(axis=0))
    return DataSet(tuple(views))


def maf(d: int, r: int, rng: np.random.Generator, recipe: str) -> DataSet:
    """Mixtures of d functions of time through four random knots, plus noise; 10 d rows in time.

    The functions are cubic splines in the text, monotone (pchip) in the code. Both mixing matrices,
    of the functions and of the white noise, are uniform on [0, d^-1/2].
    """
    n = 10 * d
    curve = CubicSpline if _is_text(recipe) else PchipInterpolator
    functions = np.column_stack([_function(n, curve, rng) for _ in range(d)])
    mixing = rng.uniform(size=(2, d, d)) / np.sqrt(d)
    return DataSet(functions @ mixing[0].T + rng.standard_normal((n, d)) @ mixing[1].T)


# Names of the paper's methods in the registry of ldr.
OBJECTIVES = {
    "pca": "pca",
    "lda": "orthogonal-lda",
    "cca": "orthogonal-cca",
    "maf": "orthogonal-maf",
}
METHODS: dict[str, Callable[[int, int, np.random.Generator, str], DataSet]] = {
    "pca": pca,
    "lda": lda,
    "cca": cca,
    "maf": maf,
}


def _normal_classes(
    classes: int, size: int, spread: float, d: int, rng: np.random.Generator, recipe: str
) -> Iterator[Array]:
    """Normal classes with standard deviations Exp(mean 5) and means spread N(0, I)."""
    for _ in range(classes):
        rows = rng.standard_normal((size, d)) * rng.exponential(5.0, d)
        if _is_text(recipe):
            rows = _rotated(rows, rng)
        yield rows + spread * rng.standard_normal(d)


def _labelled(classes: Iterator[Array]) -> DataSet:
    """The rows of all classes, and the number of each row's class."""
    blocks = list(classes)
    return DataSet(np.vstack(blocks), np.repeat(np.arange(len(blocks)), [len(b) for b in blocks]))


def _is_text(recipe: str) -> bool:
    if recipe not in RECIPES:
        raise ValueError(f"recipe must be one of {', '.join(RECIPES)}, got {recipe!r}")
    return recipe == TEXT


def _rotated(rows: Array, rng: np.random.Generator) -> Array:
    """The rows times a uniformly distributed orthogonal matrix, which is never formed.

    That matrix is the Q of a normal matrix's QR decomposition with a positive diagonal of R, so a
    product of reflectors: the j-th takes a normal vector of d - j entries to its first axis, and
    needs no decomposition to be known (Stewart, SIAM J. Numer. Anal. 17, 1980).
    """
    reflectors = np.asfortranarray(np.tril(rng.standard_normal((rows.shape[1],) * 2)))
    first = np.diag(reflectors).copy()
    beta = -np.copysign(np.linalg.norm(reflectors, axis=0), first)
    scales = (beta - first) / beta
    scales[-1] = 0.0  # the last Householder reflector has one entry, of which only the sign matters
    reflectors /= first - beta
    turned, _, failed = dormqr(
        "L", "N", reflectors, scales, (rows * np.sign(beta)).T, lwork=64 * len(rows), overwrite_c=1
    )
    assert failed == 0
    return np.asarray(turned.T)


def _function(n: int, curve: Callable[..., Any], rng: np.random.Generator) -> Array:
    """At 1..n: through N(0, 1) values at 0, two distinct random whole numbers, and n + 1."""
    inner = np.sort(rng.choice(np.arange(1, n + 1), 2, replace=False))
    knots = np.concatenate([[0], inner, [n + 1]])
    return np.asarray(curve(knots, rng.standard_normal(4))(np.arange(1, n + 1)))
