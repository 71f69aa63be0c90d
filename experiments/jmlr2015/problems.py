"""A data set of a recipe, made and reduced to the matrices of its problem."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from experiments.jmlr2015.recipes import METHODS, OBJECTIVES, RECIPES, lda_classes
from ldr.inputs import as_data
from ldr.objectives import OrthogonalLDA
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.problem import BoundObjective
from ldr.objectives.registry import named
from ldr.objectives.statistics.sums import zeros
from ldr.objectives.view import View
from ldr.solvers.manifolds import Array


@dataclass(frozen=True, order=True)
class Case:
    """One data set: `dataset` numbers those of a point (recipe, method, d, r), `seed` all of them.

    What is drawn for a data set depends on these fields alone, whatever else is run.
    """

    recipe: str
    method: str
    d: int
    r: int
    seed: int
    dataset: int

    def generator(self, purpose: int = 0) -> np.random.Generator:
        """Of the data (0), or of random starts (1)."""
        method, recipe = list(METHODS).index(self.method), RECIPES.index(self.recipe)
        return np.random.default_rng(
            [self.seed, method, recipe, self.d, self.r, self.dataset, purpose]
        )


@dataclass(frozen=True)
class Prepared:
    """The problem of a case, the number of rows, and what their sums took in seconds.

    `rows` are those of pca: see `value`.
    """

    problem: BoundObjective
    n: int
    seconds: float
    rows: Array | None = None

    def value(self, M: Array) -> float:
        """The minimised function at M; of pca from the residuals of the rows themselves.

        The problem has it from the covariance, n (tr C - tr(M'CM)), which cancels where little is
        left over; a sum of squares does not.
        """
        if self.rows is None:
            return self.problem.at(M).value
        residuals = self.rows - (self.rows @ M) @ M.T
        return float(np.vdot(residuals, residuals)) / self.problem.unit


def prepare(case: Case) -> Prepared:
    """The problem of a case; lda's rows are made and summed class by class and never held."""
    rng = case.generator()
    if case.method == "lda":
        return summed_lda(lda_classes(case.d, case.r, rng, case.recipe), case.d, case.r)
    data = METHODS[case.method](case.d, case.r, rng, case.recipe)
    objective = named(OBJECTIVES[case.method])
    checked = as_data(objective, data.X, data.y)
    began = time.perf_counter()
    problem = objective.bind(checked, case.r)
    seconds = time.perf_counter() - began
    rows = data.X if case.method == "pca" else None  # data of pca are centred
    return Prepared(problem, checked.samples.n, seconds, rows)


def summed_lda(classes: Iterator[Array], d: int, r: int) -> Prepared:
    """lda from the scatter and the mean of each class; what takes time to make is not counted.

    S_W = sum_k S_k and S_B = sum_k n_k (mu_k - mu)(mu_k - mu)' of classes k, as for rows in memory.
    """
    seconds = 0.0
    counts: list[int] = []
    means: list[Array] = []
    within = zeros(d, d)
    for rows in classes:
        began = time.perf_counter()
        counts.append(len(rows))
        means.append(rows.mean(axis=0))
        within += (rows - means[-1]).T @ (rows - means[-1])
        seconds += time.perf_counter() - began
    began = time.perf_counter()
    n = sum(counts)
    mean = np.array(counts) @ np.array(means) / n
    offsets = np.sqrt(counts)[:, None] * (np.array(means) - mean)
    problem = TraceRatio(OrthogonalLDA(), (View(mean),), offsets.T @ offsets, within, r)
    return Prepared(problem, n, seconds + time.perf_counter() - began)


def published_maf_heuristic(problem: TraceRatio) -> Array:
    """What the paper's code takes for maf's heuristic: left singular vectors of C^{-1} S_lag.

    The eigenvectors of that matrix, which the paper's text names, are others: it is not symmetric.
    """
    ratio = scipy.linalg.solve(problem.B, problem.A, assume_a="pos")
    return np.ascontiguousarray(scipy.linalg.svd(ratio)[0][:, : problem.r])
