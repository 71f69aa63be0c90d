"""How good a projection is on data that it was not found on."""

from __future__ import annotations

from ldr.doors import in_words
from ldr.inputs import as_data, with_marks
from ldr.io.alignment import by_index
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.objectives.parameters import Need
from ldr.objectives.problem import BoundObjective
from ldr.projecting import views_of
from ldr.result import Result
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array, Orthonormal, polar_factor
from ldr.standardising import divided
from ldr.types import PerRow, PerView, Rows


@in_words
def score(
    result: Result,
    X: Rows,
    y: PerRow = None,
    *,
    sample_weight: PerRow = None,
    groups: PerRow = None,
) -> float:
    """The result's quality on new data: larger is better.

    The mean log-likelihood of a row, of likelihood methods. Of the others, the objective of the new
    data at the result's matrix (at the span of its map, where the method whitens), and minus the
    objective where it is minimised. The new data are centred at their own mean; sums over rows are
    sums over the new rows.

    Parameters
    ----------
    result : Result
    X : array, memory map, sparse matrix or DataFrame (m, d)
        Or several of them, as in `ldr.solve`.
    y : array (m,), optional
        Labels or a response, where the objective needs them.
    sample_weight, groups : array (m,), optional
        As in `ldr.solve`.

    Returns
    -------
    float

    Raises
    ------
    ldr.errors.ArgumentError
        The objective is of distances, or has parameters besides the map that new data do not give.
    ldr.errors.DataError, ldr.errors.SingularError
        The new data do not fit the result, or the objective cannot be formed of them.
    """
    if not isinstance(result, Result):
        raise ArgumentError(f"result must be a Result of ldr.solve, got {type(result).__name__}")
    objective = result.objective
    if Need.DISTANCES in objective.needs:
        raise ArgumentError(f"objective {objective.name!r} is of the n rows' distances: no score")
    if isinstance(result.P, tuple):
        X = views_of(X, len(result.P), result.view_names)
    X, y = with_marks(objective, X, y, sample_weight, groups)
    X, y = by_index(objective, X, y)
    if any(as_tuple(result.features)):
        X, objective = _features(result, X), objective.of_features()
    if result.model is not None:
        return result.model.score(X)
    data = as_data(objective, X, y)
    matrices, maps = as_tuple(result.M), as_tuple(result.P)
    if result.scale is not None and not any(as_tuple(result.features)):  # features divide first
        data = divided(data, result.scale)
        maps = tuple(P * scale for P, scale in zip(maps, as_tuple(result.scale), strict=True))
    problem = objective.bind(data, result.r)
    for view, P in zip(data.views, maps, strict=True):
        if view.d != P.shape[1]:
            raise ArgumentError(f"{view.name} has {view.d} columns, expected {P.shape[1]}")
    M = _carried(problem, matrices, maps)
    value = problem.reported(problem.value_of(M, result.parameters))
    return value if objective.sense == "max" else -value


def _carried(problem: BoundObjective, matrices: tuple[Array, ...], maps: PerView) -> Array:
    """The solver's point, on new data, of the matrices and maps of a result.

    Of a whitened method whose matrix is orthonormal it is the span of the map that counts: what
    had unit variance on the old data has another on the new.
    """
    together = len(problem.factors) < len(problem.coordinates)  # one matrix for all views
    blocks = []
    parts = zip(problem.coordinates, matrices, maps, strict=True)
    for i, (coordinates, M, P) in enumerate(parts):
        Z = coordinates.carried(M, P)
        whitened = coordinates.is_whitened and not together
        span = whitened and isinstance(problem.factors[i], Orthonormal)
        blocks.append(polar_factor(Z / power_of_two(Z)) if span else Z)
    point = problem.point(blocks)
    return problem.manifold.nearest(point) if together else point


def _features(result: Result, X: Rows) -> Rows:
    """The features of the new rows, by the maps that were fitted with the result."""
    if not isinstance(X, (tuple, list)):
        return result.features(as_samples(X))
    several = isinstance(result.features, tuple)  # else samples and background share one map
    maps = result.features if several else (result.features,) * len(X)
    views = [as_samples(view, f"X[{i}]") for i, view in enumerate(X)]
    return tuple(v if f is None else f(v) for f, v in zip(maps, views, strict=True))
