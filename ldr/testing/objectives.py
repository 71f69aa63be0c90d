"""Properties that every objective must have on data."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ldr.checking import check
from ldr.inputs import as_data
from ldr.objectives.data.data import as_tuple
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.result import Result
from ldr.solvers.errors import ConvergenceWarning
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.records import dataclass
from ldr.solving import solve
from ldr.types import Argument, PerRow, PerView, Rows

_RANDOM = 20  # points held against what a certificate claims


@dataclass(frozen=True)
class Case:
    """An objective, the data it is tested on, and how many dimensions are asked for."""

    objective: Objective
    X: Rows
    r: int
    y: PerRow = None

    def bound(self) -> BoundObjective:
        return self.objective.bind(as_data(self.objective, self.X, self.y), self.r)

    def solved(self, **options: Argument) -> Result:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return solve(self.objective, self.X, self.r, y=self.y, **options)


def derivatives_and_manifold_are_right(case: Case) -> None:
    found = check(case.objective, case.X, case.r, y=case.y)
    assert found.passed, found


def binding_again_gives_the_same(case: Case) -> None:
    first, second = case.bound(), case.bound()
    M = first.random_point(np.random.default_rng(0))
    assert_array_equal(M, second.random_point(np.random.default_rng(0)))
    assert first.at(M).value == second.at(M).value
    assert_array_equal(first.at(M).gradient, second.at(M).gradient)


def data_are_not_changed(case: Case) -> None:
    before = copy.deepcopy((case.X, case.y))
    case.solved(max_iterations=3)
    for given, kept in zip((case.X, case.y), before, strict=True):
        for part, copied in zip(as_tuple(given), as_tuple(kept), strict=True):
            assert_array_equal(np.asarray(part), np.asarray(copied))


def starts_are_on_the_manifold(case: Case) -> None:
    problem = case.bound()
    points = {"baseline": problem.baseline(), **problem.starts()}
    for name, M in points.items():
        assert M is None or problem.manifold.distance_from(M) < 1e-12, name


def preconditioner_is_symmetric_and_positive(case: Case) -> None:
    problem, rng = case.bound(), np.random.default_rng(0)
    manifold, M = problem.manifold, problem.random_point(rng)
    if (apply := problem.preconditioner(M)) is None:
        return
    N = manifold.retract(M, 0.1 * manifold.random_tangent(M, rng))
    U, V = (manifold.random_tangent(N, rng) for _ in range(2))
    PU, PV = apply(N, U), apply(N, V)
    size = manifold.norm(N, PU)
    assert manifold.norm(N, manifold.project(N, PU) - PU) <= 1e-12 * size
    asymmetry = abs(manifold.inner(N, PU, V) - manifold.inner(N, U, PV))
    assert asymmetry <= 1e-8 * size * manifold.norm(N, V)
    assert manifold.inner(N, U, PU) > 0 or not U.any()


def matrices_lead_back_to_their_point(case: Case) -> None:
    problem = case.bound()
    M = problem.random_point(np.random.default_rng(0))
    value = problem.at(M).value
    again = problem.at(_lowered(problem, M)).value
    assert_allclose(again, value, rtol=1e-8, atol=1e-10 * abs(value))


def _lowered(problem: BoundObjective, M: PerView) -> Array:
    """The point of the user's matrices of M; what is fitted beside them stays."""
    manifold: Manifold = problem.manifold
    lowered = problem.lower(problem.lift(M)) if len(problem.blocks(M)) == 1 else M
    return lowered if lowered.shape == manifold.shape else M


def optimum_is_not_worse_than_the_heuristic(case: Case) -> None:
    result = case.solved()
    assert result.improvement is None or result.improvement >= -1e-12, result


def no_random_point_beats_a_certificate(case: Case) -> None:
    result, problem = case.solved(), case.bound()
    assert result.certificate is not None
    rng = np.random.default_rng(0)
    sign = case.objective.sign
    for _ in range(_RANDOM):
        value = problem.reported(problem.value(problem.random_point(rng)))
        assert sign * (value - result.value) >= -result.certificate.gap, result


def map_is_what_transform_applies(case: Case) -> None:
    result = case.solved(certify=False)
    if result.features is not None or result.model is not None:
        return
    rows = case.X[0] if isinstance(case.X, tuple) and not isinstance(result.P, tuple) else case.X
    parts = zip(*map(as_tuple, (rows, result.mean, result.P, result.transform(rows))), strict=True)
    for X, mean, P, Y in parts:
        expected = (np.asarray(X) - mean) @ P.T
        assert_allclose(Y, expected, atol=1e-9 * max(1.0, float(np.abs(expected).max())))


def pickling_gives_an_equal(case: Case) -> None:
    again = pickle.loads(pickle.dumps(case.objective))
    assert repr(again) == repr(case.objective)
    other = Case(again, case.X, case.r, case.y).bound()
    M = other.random_point(np.random.default_rng(0))
    assert other.at(M).value == case.bound().at(M).value


OBJECTIVE = (
    derivatives_and_manifold_are_right,
    binding_again_gives_the_same,
    data_are_not_changed,
    starts_are_on_the_manifold,
    preconditioner_is_symmetric_and_positive,
    matrices_lead_back_to_their_point,
    optimum_is_not_worse_than_the_heuristic,
    no_random_point_beats_a_certificate,
    map_is_what_transform_applies,
    pickling_gives_an_equal,
)


def check_objective(objective: Objective, X: Rows, r: int = 2, *, y: PerRow = None) -> None:
    """Test an objective of one's own, function or class, on data of a few rows and columns.

    Parameters
    ----------
    objective : Objective
        An instance of a subclass, or what `ldr.objective` made.
    X, r, y
        As `ldr.solve` takes them; rows in memory.

    Raises
    ------
    AssertionError
        A property does not hold; the traceback names it.
    ldr.errors.ArgumentError, ldr.errors.DataError, ldr.errors.ObjectiveError
        As `ldr.solve` does.

    Examples
    --------
    >>> import numpy as np, ldr.testing
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> ldr.testing.check_objective(ldr.objectives.PCA(), X)
    """
    for test in OBJECTIVE:
        test(Case(objective, X, r, y))
