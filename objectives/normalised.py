"""Objectives normalised to 0 at the optimum and 1 at a random M."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.composite import weighted_sum
from ldr.objectives.objective import Objective, known_everywhere, penalty_of
from ldr.objectives.problem import BoundObjective, restated
from ldr.objectives.registry import as_objective
from ldr.objectives.view import noted
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.rounding import TIED
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import run_through
from ldr.solvers.trust_region import TrustRegion

# Number of random matrices M; the median of f at them is the typical value.
_TYPICAL = 21


@dataclass(frozen=True, repr=False)
class Normalised(Objective, relative_improvement=False):
    """Normalised objective (f - f_best) / (f_typical - f_best), created by `ldr.normalised`."""

    objective: Objective

    def __post_init__(self) -> None:
        inner = self.objective
        if penalty_of(inner) is not None:
            raise ArgumentError(
                "ldr.normalised takes no penalty: add the penalty to the normalised objective"
            )
        kept = ("source", "views", "needs", "baseline", "domain", "exact")
        for attribute in kept:
            object.__setattr__(self, attribute, getattr(inner, attribute))
        shared = ("transposed", "sparse", "scale_free", "weighted", "any_views", "products")
        self._set_traits(**{trait: getattr(inner.traits, trait) for trait in shared})
        object.__setattr__(self, "sense", "min")
        object.__setattr__(self, "name", f"normalised {inner.name}")
        object.__setattr__(self, "formula", f"min (f - best)/(typical - best), f: {inner.formula}")

    def __repr__(self) -> str:
        return f"normalised({self.objective!r})"

    def largest_r(self, data: Data) -> int:
        return self.objective.largest_r(data)

    def order(self, data: Data) -> int:
        return self.objective.order(known_everywhere(self, data))

    def bind(self, data: Data, r: int) -> BoundObjective:
        bound = self.objective.bind(known_everywhere(self, data), r)
        found = bound.at(_best(bound))
        best = found.value * bound.unit
        rng = np.random.default_rng(0)
        values = [bound.at(bound.random_point(rng)).value for _ in range(_TYPICAL)]
        typical = float(np.median(values)) * bound.unit
        # The magnitude of the terms of f, which may cancel in f, is estimated from the gradient.
        terms = abs(float(np.vdot(found.M, found.gradient))) * bound.unit
        if not typical - best > TIED * max(abs(typical), abs(best), terms):
            raise DataError(
                f"objective {self.objective.name!r} cannot be normalised: its optimal value "
                f"{best:.6g} equals its median value at random points, {typical:.6g}"
            )
        sign = self.objective.sign
        problem = weighted_sum(
            self, [1.0 / (typical - best)], [bound], constant=-best / (typical - best)
        )
        note = (
            f"{self.objective.name} normalised: 0 is the best value, {sign * best:.12g}, and 1 is "
            f"the median value at {_TYPICAL} random M, {sign * typical:.12g}"
        )
        return restated(problem, views=noted(problem.views, note))


def _best(bound: BoundObjective) -> Array:
    """Return the closed form, or the optimum from the baseline (or a random M)."""
    exact = bound.closed_form()
    if exact is not None:
        return exact
    start = bound.baseline()
    if start is None:
        start = bound.random_point(np.random.default_rng(0))
    return run_through(bound, start, TrustRegion()).M


def normalised(objective: str | Objective) -> Normalised:
    """Return an objective normalised to 0 at its optimum and 1 at a random M.

    The normalised objective (f - f_best)/(f_typical - f_best) is minimised, whatever the sense of
    f. The number f_best is the optimum of f on the data. Without a closed form f_best is the local
    optimum that a trust region finds from the baseline. The median of f over random M is f_typical.
    The notes of the result contain f_best and f_typical.

    Parameters
    ----------
    objective : str or Objective
        A name, for default parameters, or a smooth objective.

    Returns
    -------
    Normalised
        An objective for sums such as ``0.5 * ldr.normalised("pca") + 0.5 *
        ldr.normalised("orthogonal-lda")``.

    Raises
    ------
    ldr.errors.ArgumentError
        The objective is unknown or has a penalty.
    ldr.errors.DataError
        Raised by `ldr.solve` if f is constant on the data.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 5)) * [5, 4, 3, 2, 1]
    >>> abs(ldr.solve(ldr.normalised("pca"), X, r=2).value) < 1e-12
    True
    """
    return Normalised(as_objective(objective))
