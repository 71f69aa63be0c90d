"""The number of dimensions, as a share of the variance or by a rule."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ldr.inputs import check_r
from ldr.multistart import Multistart, best_of, closed_form_run, solver_for
from ldr.objectives.data.data import Data
from ldr.objectives.objective import Objective
from ldr.solvers.errors import ArgumentError, SingularError
from ldr.solvers.manifolds import Grassmann
from ldr.solvers.run import Stopping
from ldr.types import Dimension

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel


def is_open(r: object) -> bool:
    """Return True where the data choose the number of dimensions."""
    return r == "auto" if isinstance(r, str) else isinstance(r, float) and 0 < r < 1


def check_asked(name: str, r: object) -> None:
    """Refuse what is neither a number of dimensions nor leaves it to the data."""
    if not is_open(r) and (isinstance(r, (bool, np.bool_)) or not isinstance(r, Integral)):
        raise ArgumentError(
            f"{name} must be a whole number, a share of the variance above 0 and below 1, or "
            f"'auto', got {r!r}"
        )


def as_dimension(r: Dimension, objective: Objective, data: Data) -> tuple[int, tuple[str, ...]]:
    """Return the number of dimensions, and a note of the rule that found it.

    - raises ArgumentError: r is no number of dimensions, or there is no such rule for the objective
      or the data.
    """
    check_asked("r", r)
    if not is_open(r):
        check_r(r, objective, data)
        return int(r), ()
    if not all(view.repeatable for view in data.views):
        raise ArgumentError(
            f"r = {r!r} needs rows that can be read more than once, got an iterator: expected a "
            "whole number"
        )
    if r != "auto":
        return _by_share(float(r), objective, data)
    if data.samples.weights is not None or objective.rule is None:
        raise ArgumentError(
            f"r = 'auto' has no rule for objective {objective.name!r}"
            f"{' of weighted rows' if objective.rule else ''}: expected a whole number; ldr.path "
            "with folds= tells what held-out rows say of each"
        )
    return _by_bic(objective, data) if objective.rule == "bic" else _by_chance(objective, data)


def _by_share(share: float, objective: Objective, data: Data) -> tuple[int, tuple[str, ...]]:
    """Return the fewest leading coordinates that explain a share of the variance.

    For objectives whose directions do not depend on their number.
    """
    first = objective.bind(data, 1)
    most = min(first.factors[0].shape[0], objective.largest_r(data))
    M = seen = None
    if objective.transposed and objective.exact == "yes" and isinstance(first.manifold, Grassmann):
        whole = objective.bind(data, most)
        M = whole.closed_form()
        seen = None if M is None else whole.variations(M)[0]
    if M is None or seen is None:
        raise ArgumentError(
            f"r = {share!r} is a share of the variance, which is a rule for closed forms with "
            f"orthonormal M, such as pca, and {objective.name!r} is none: expected a whole number"
        )
    turned = seen.turned(whole.axes(M, [seen]).turns[0])
    explained = np.cumsum(turned.variances) / turned.total
    reached = np.flatnonzero(explained >= share * (1.0 - 1e-12))  # up to rounding
    if len(reached) == 0:
        raise ArgumentError(
            f"r = {share!r} is out of reach: the {most} dimensions that {objective.name!r} has "
            f"explain {explained[-1]:.4g} of the variance"
        )
    r = int(reached[0]) + 1
    return r, (f"r = {r}: the fewest that explain {share:g} of the variance",)


def _by_chance(objective: Objective, data: Data) -> tuple[int, tuple[str, ...]]:
    """Return the number of components by parallel analysis."""
    from ldr.inference.parallel_analysis import parallel_analysis

    found = parallel_analysis(data.samples, correlation=False, random_state=0).r
    if found == 0:
        return 1, ("r = 1: parallel analysis finds no component that stands out of chance",)
    return found, (f"r = {found}: by parallel analysis of the covariance",)


def _by_bic(objective: Objective, data: Data) -> tuple[int, tuple[str, ...]]:
    """Return the r of the least BIC, up to where it rises."""
    least, best = np.inf, 0
    for r in range(1, objective.largest_r(data) + 1):
        try:
            model = _model(objective, data, r)
        except (ArgumentError, SingularError):  # more factors than the data tell apart
            break
        if model.free_parameters - model.mean.size > model.mean.size * (model.mean.size + 1) // 2:
            break
        if model.bic < least:
            least, best = model.bic, r
        elif r - best >= 2:  # it rose twice
            break
    if best == 0:
        raise ArgumentError(f"r = 'auto': the data have no dimension for {objective.name!r}")
    return best, (f"r = {best}: the least BIC, {least:.6g}",)


def _model(objective: Objective, data: Data, r: int) -> FactorModel:
    """Fit the likelihood from its own initialisations."""
    problem = objective.bind(data, r)
    baseline = problem.baseline()
    solver = solver_for("auto", problem)
    if solver is None or baseline is None:
        run = closed_form_run(problem, baseline)
    else:
        points = {"baseline": baseline, **problem.starts()}
        (_, run), _ = best_of(Multistart(problem, solver, Stopping()).runs(points), len(points))
    model = problem.model(run.M)
    assert model is not None
    return model
