"""Methods as functions of the projected rows, written for jax to differentiate.

A method of matrices A and B that are quadratic in the rows is one of A(XT) and B(XT), r x r: with
T = P' it needs neither the d x d matrices nor their derivatives. What a formula says is held
against the method's own optimum wherever it is used: there its equations must vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.objective import Objective

# A traced array of jax's.
Traced = Any


@dataclass(frozen=True)
class Given:
    """What a method is given.

    Attributes
    ----------
    X : sequence of arrays (n, d)
        The views; of methods of a background, samples and background.
    y : array (n,) or None
    parameters : mapping of str to numbers
    """

    X: Sequence[Traced]
    y: Traced = None
    parameters: Mapping[str, Traced] = field(default_factory=dict)


# Parameters that formulas do not know, where they are not None.
_BEYOND = ("shrinkage", "derivatives")

Form = Callable[[Sequence[Traced], Given], Traced]


@dataclass(frozen=True)
class Formula:
    """f(T), minimised subject to T'B T = I for each view.

    Attributes
    ----------
    value : callable
        Of the T of each view and what is given.
    axes : callable or None
        The symmetric r x r matrix that is diagonal in canonical coordinates; None where columns are
        what they are.
    squares : callable or None
        T'BT of each view; None where nothing binds T.
    views : int
        Of T.
    """

    value: Callable[[Sequence[Traced], Given], Traced]
    axes: Form | None
    squares: Callable[[Sequence[Traced], Given], Sequence[Traced]] | None
    views: int = 1


def centred(X: Traced) -> Traced:
    return X - X.mean(axis=0)


def covariance(Y: Traced) -> Traced:
    return centred(Y).T @ centred(Y) / len(Y)


def changes(Y: Traced) -> Traced:
    """The sum of squares of differences of successive rows."""
    steps = Y[1:] - Y[:-1]
    return steps.T @ steps


def lagged(Y: Traced, lag: int) -> Traced:
    """sym sum_t y_t y_{t+lag}' / (n - lag)."""
    Z = centred(Y)
    products = Z[:-lag].T @ Z[lag:] / (len(Y) - lag)
    return (products + products.T) / 2


def between(Y: Traced, labels: Traced) -> Traced:
    """S_B, of labels that need not be known when it is compiled."""
    import jax

    codes = (labels[:, None] == labels[None, :]).argmax(axis=1)  # the first row of the class
    n = len(Y)
    counts = jax.ops.segment_sum(0.0 * Y[:, 0] + 1.0, codes, n)
    means = jax.ops.segment_sum(centred(Y), codes, n) / (counts + (counts == 0))[:, None]
    return (means * counts[:, None]).T @ means


def orthonormal(T: Sequence[Traced], given: Given) -> list[Traced]:
    return [each.T @ each for each in T]


def traces(A: Form, sign: float) -> Formula:
    """sign tr A maximised over orthonormal T."""
    return Formula(
        lambda T, given: -sign * A(_rows(T, given), given).trace(),
        lambda T, given: sign * A(_rows(T, given), given),
        orthonormal,
    )


def whitened(A: Form, B: Form, sign: float) -> Formula:
    """sign tr A maximised subject to T'BT = I, B with the ridge."""
    spectral = traces(A, sign)

    def squares(T: Sequence[Traced], given: Given) -> list[Traced]:
        return [B(_rows(T, given), given) + _ridge(B, given) * (T[0].T @ T[0])]

    return Formula(spectral.value, spectral.axes, squares)


def ratio(A: Form, B: Form, sign: float) -> Formula:
    """sign tr A / tr B maximised over orthonormal T, B with the ridge."""

    def value(T: Sequence[Traced], given: Given) -> Traced:
        Y = _rows(T, given)
        r = T[0].shape[1]
        return -sign * A(Y, given).trace() / (B(Y, given).trace() + r * _ridge(B, given))

    return Formula(value, _axes_of_rows, orthonormal)


def _axes_of_rows(T: Sequence[Traced], given: Given) -> Traced:
    return covariance(given.X[0] @ T[0])


def _log_det(T: Sequence[Traced], given: Given) -> Traced:
    import jax

    return -jax.numpy.linalg.slogdet(covariance(given.X[0] @ T[0]))[1]


def _rows(T: Sequence[Traced], given: Given) -> list[Traced]:
    """XT of each view; of a background with the samples' T."""
    return [X @ T[min(i, len(T) - 1)] for i, X in enumerate(given.X)]


def _ridge(B: Form, given: Given) -> Traced:
    """In units of B's mean diagonal."""
    ridge = given.parameters.get("ridge")
    if ridge is None:
        return 0.0
    return ridge * B(given.X, given).trace() / given.X[0].shape[1]


def _cross(Y: Sequence[Traced]) -> Traced:
    a, b = map(centred, Y)
    return a.T @ b


def _of_pairs(value: Form, squares: Any) -> Formula:
    def axes(T: Sequence[Traced], given: Given) -> Traced:
        K = _cross(_rows(T, given))
        return (K + K.T) / 2

    return Formula(lambda T, given: -value(_rows(T, given), given), axes, squares, 2)


def _ridged_covariances(T: Sequence[Traced], given: Given) -> list[Traced]:
    ridge = given.parameters["ridge"]
    return [
        covariance(X @ each) + ridge * centred(X).var(axis=0).mean() * (each.T @ each)
        for X, each in zip(given.X, T, strict=True)
    ]


def _correlation(Y: Sequence[Traced], given: Given) -> Traced:
    """tr(Ma'Cab Mb) / sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb)), with ridges."""
    sizes = [
        covariance(view).trace() + view.shape[1] * given.parameters["ridge"] * X.var(axis=0).mean()
        for view, X in zip(Y, given.X, strict=True)
    ]
    return _cross(Y).trace() / len(Y[0]) / (sizes[0] * sizes[1]) ** 0.5


def _contrast(Y: Sequence[Traced], given: Given) -> Traced:
    return covariance(Y[0]) - given.parameters["alpha"] * covariance(Y[1])


def _covariance(Y: Sequence[Traced], given: Given) -> Traced:
    return covariance(Y[0])


def _within(Y: Sequence[Traced], given: Given) -> Traced:
    return len(Y[0]) * covariance(Y[0]) - between(Y[0], given.y)


def _between(Y: Sequence[Traced], given: Given) -> Traced:
    return between(Y[0], given.y)


def _changes(Y: Sequence[Traced], given: Given) -> Traced:
    return changes(Y[0])


def numbers_of(objective: Objective) -> dict[str, float]:
    """The parameters that formulas look at, where the method has them."""
    found = {name: getattr(objective, name, None) for name in ("ridge", "alpha")}
    return {name: value for name, value in found.items() if type(value) is float}


def formula_of(objective: Objective) -> Formula | None:
    """The method as a formula; None where there is none."""
    if isinstance(objective, CustomObjective):
        return _own(objective)
    if any(getattr(objective, name, None) is not None for name in _BEYOND):
        return None
    if getattr(objective, "nested", False) or getattr(objective, "degree", 1) > 1:
        return None
    lag = getattr(objective, "lag", 1)

    def past(Y: Sequence[Traced], given: Given) -> Traced:
        return lagged(Y[0], lag)

    def squared_difference(Y: Sequence[Traced], given: Given) -> Traced:
        return covariance(Y[0]) - lagged(Y[0], lag)

    slow = traces(_changes, -1.0)
    if getattr(objective, "whiten", False):
        slow = whitened(_changes, _covariance, -1.0)
    known = {
        "pca": traces(_covariance, 1.0),
        "mds": traces(_covariance, 1.0),
        "principal-components-regression": traces(_covariance, 1.0),
        "log-det-pca": Formula(_log_det, _axes_of_rows, orthonormal),
        "sfa": slow,
        "autocovariance": traces(past, 1.0),
        "squared-difference": traces(squared_difference, objective.sign * -1.0),
        "signal-noise": traces(_contrast, 1.0),
        "contrastive-pca": traces(_contrast, 1.0),
        "lda": ratio(_between, _within, 1.0),
        "classical-lda": whitened(_between, _within, 1.0),
        "maf": ratio(past, _covariance, 1.0),
        "classical-maf": whitened(past, _covariance, 1.0),
        "orthogonal-sfa": ratio(_changes, _covariance, -1.0),
        "opca": whitened(_covariance, lambda Y, given: Y[1].T @ Y[1] / len(Y[1]), 1.0),
        "pls": _of_pairs(lambda Y, given: _cross(Y).trace(), orthonormal),
        "classical-cca": _of_pairs(
            lambda Y, given: _cross(Y).trace() / len(Y[0]), _ridged_covariances
        ),
        "cca": _of_pairs(_correlation, orthonormal),
    }
    return known.get(objective.name)


def _own(objective: CustomObjective) -> Formula | None:
    """Of a function of one's own in jax, whose manifold is said."""
    if objective.backend != "jax" or objective.manifold == "auto":
        return None

    def value(T: Sequence[Traced], given: Given) -> Traced:
        X = centred(given.X[0]) if objective.center else given.X[0]
        beside = () if given.y is None or not objective.needs else (given.y,)
        return objective.sign * objective.function(T[0], X, *beside)

    free = objective.manifold == "grassmann"
    return Formula(
        value,
        _axes_of_rows if free else None,
        None if objective.manifold == "euclidean" else orthonormal,
    )
