"""Optima whose change with their rows is known: nothing is bound again."""

from __future__ import annotations

from collections.abc import Callable

from ldr.objectives.data.data import Data
from ldr.objectives.objective import Objective
from ldr.sensitivity import methods
from ldr.sensitivity.matrices import of_matrices
from ldr.sensitivity.moving import all_of
from ldr.sensitivity.optimum import Optimum
from ldr.sensitivity.rule import Known
from ldr.sensitivity.shapes import ProjectedRows, SumOfRows, WhiteRows


def known(optimum: Optimum, objective: Objective, data: Data) -> Known | None:
    """Return the derivative of the optimum in the rows; None where differences find it."""
    samples = all_of(data)
    if any(one.is_sparse or one.stored for one in samples):
        return None
    kept = zip(optimum.problem.blocks(optimum.M), data.views, strict=True)
    whole = all(len(block) == view.d for block, view in kept)  # other coordinates move with rows
    plain = all(one.marks is None for one in samples)
    kinds: list[Callable[[Optimum, Objective, Data], Known | None]] = []
    if whole:
        kinds += [of_matrices, methods.regression, methods.reduced_rank]
    if plain:
        kinds += [methods.partial_least_squares]
    if whole and plain:
        kinds += [
            methods.function,
            methods.robust_pca,
            methods.factor_model,
            methods.kernel_gradients,
            methods.dynamics,
            methods.dynamical_components,
            methods.FiltersOfRows.of,
            WhiteRows.of,
            ProjectedRows.of,
            SumOfRows.of,
        ]
    return next(filter(None, (of(optimum, objective, data) for of in kinds)), None)
