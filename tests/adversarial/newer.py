"""Problems of the methods of trials, of pairs of rows, of slices and of any number of views."""

from itertools import combinations

import numpy as np

from tests.adversarial import data, moments
from tests.adversarial.campaign import maker
from tests.adversarial.extended import centred, eigh, extended, norm, orthonormal
from tests.adversarial.problems import Problem, _dimension, _rows, background, class_rows, views
from tests.adversarial.references import PI


@maker
def of_response(rng, reference, response, **parameters):
    """Rows and a response for each."""
    made = _rows(rng)
    X = made.X
    y = response(rng, X)
    r = _dimension(rng, X.shape[1])
    return Problem(X, r, lambda: reference(X, y, r), y=y, parameters=parameters, made=made.made)


def _two(rng, X):
    return rng.permutation(np.arange(len(X)) % 2)


def _three(rng, X):
    return rng.permutation(np.arange(len(X)) % 3)


def _classes(rng, X):
    return data.labels(rng, len(X))


def _number(rng, X):
    """Normal, or a few values, in any unit."""
    y = rng.standard_normal(len(X)) if rng.random() < 0.7 else rng.integers(0, 4, len(X))
    return y * 10.0 ** rng.integers(-6, 7) + rng.choice([0.0, 1e5])


@maker
def of_time(rng, reference, **parameters):
    """Rows in time order."""
    made = _rows(rng)
    X = made.X
    r = _dimension(rng, X.shape[1])
    return Problem(X, r, lambda: reference(X, r), parameters=parameters, made=made.made)


def signals(rng):
    made = data.ugly(rng, int(rng.integers(30, 90)), int(rng.integers(1, 6)))
    r = _dimension(rng, made.X.shape[1])
    return Problem(made.X, r, lambda: moments.oscillations(made.X, r), made=made.made)


def trials(rng):
    """Of one length, each of a class."""
    length, count, d = (int(rng.integers(*ends)) for ends in ((2, 6), (3, 8), (1, 7)))
    made = data.ugly(rng, length * count, d)
    y = np.repeat(rng.permutation(np.arange(count) % 2), length)
    r = _dimension(rng, d)
    return Problem(
        made.X,
        r,
        lambda: moments.evoked(made.X, y, length, r),
        y=y,
        made=made.made,
        groups=np.repeat(np.arange(count), length),
    )


@maker
def many_views(rng, reference, views=3):
    n, _ = data.shape(rng)
    n = max(n, 6)
    made = [data.ugly(rng, n, int(rng.integers(1, 5))) for _ in range(views)]
    Xs = tuple(one.X for one in made)
    if rng.random() < 0.5:  # with something in common
        common = rng.standard_normal(n)
        Xs = tuple(X + np.outer(common, data.spreads(X)) for X in Xs)
    r = _dimension(rng, min(X.shape[1] for X in Xs))
    name = ", ".join(one.made for one in made)
    return Problem(Xs, r, lambda: reference(Xs, r), made=name)


def _blocks(within):
    return lambda Xs, r: moments.Blocks(Xs, r, np.random.default_rng(0), within)


def experiment(rng):
    """Two factors, every combination with a row at least."""
    levels = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    cells = np.array([(a, b) for a in range(levels[0]) for b in range(levels[1])])
    n = len(cells) + int(rng.integers(0, 20))
    factors = rng.permutation(
        np.vstack([cells, cells[rng.integers(0, len(cells), n - len(cells))]])
    )
    made = data.ugly(rng, n, int(rng.integers(1, 7)))
    r = _dimension(rng, made.X.shape[1])
    return Problem(
        made.X, r, lambda: moments.Demixed(made.X, factors, r), y=factors, made=made.made
    )


def kernel_regression(rng):
    made = data.ugly(rng, int(rng.integers(8, 20)), int(rng.integers(1, 6)))
    y = data.labels(rng, len(made.X))
    r = _dimension(rng, made.X.shape[1])
    width = float(np.linalg.norm(data.spreads(made.X)) or 1.0) * 10.0 ** rng.uniform(-0.5, 1)
    return Problem(
        made.X,
        r,
        lambda: moments.KernelGradients(made.X, y, r, width, 1e-3),
        y=y,
        parameters={"width": width},
        made=made.made,
    )


# Of which nothing is claimed but the value


@maker
def valued(rng, formula, sense, response=None, **parameters):
    """`formula` gives, of the centred rows, y and the result, the value and the size of terms."""
    made = _rows(rng)
    X = made.X
    y = None if response is None else response(rng, X)
    r = _dimension(rng, X.shape[1])
    return Problem(
        X,
        r,
        lambda: moments.Formula(sense, lambda result: formula(centred(X), y, result)),
        y=y,
        parameters=parameters,
        made=made.made,
    )


def _information(X, y, result):
    """dca of a row and the next: log det S_1 - log det S_2 / 2, S_2 of stationary pairs."""
    first, later = X[:-1], X[1:]
    first, later = ((part - part.mean(axis=0)) @ extended(result.P).T for part in (first, later))
    W = orthonormal(np.vstack([first, later]))[1]
    first, later = first @ W, later @ W  # C_0 = I/2n
    n = len(first)
    across = 2 * later.T @ first
    S = np.block([[np.eye(W.shape[1]), across.T], [across, np.eye(W.shape[1])]])
    if any("were reduced" in note for note in result.notes) or n == 0:
        return result.value, 1.0
    with np.errstate(divide="ignore"):  # of pairs that rounding leaves singular
        logs = np.log(np.maximum(eigh(S)[0], 0.0))
    return -np.sum(logs) / 2, 1 + np.sum(np.abs(logs))


def _entropy(X, y, result):
    """foreca in segments of 4 rows, each starting in the middle of the one before."""
    Y = X @ extended(result.P).T
    window = np.sin(PI * np.arange(4) / 4)[:, None] ** 2
    power = np.zeros((2, Y.shape[1]), dtype=np.longdouble)
    for start in range(0, len(Y) - 3, 2):
        z = window * Y[start : start + 4]
        power[0] += (z[0] - z[2]) ** 2 + (z[1] - z[3]) ** 2
        power[1] += (z[0] - z[1] + z[2] - z[3]) ** 2
    p = power / power.sum(axis=0)
    return -np.sum(p * np.log(np.maximum(p, 1e-300))) / np.log(extended(2)), extended(result.r)


def transport_cost(A, B, reg=1, steps=10):
    """The cost of the plan after that many steps of Sinkhorn's iteration, by logarithms."""
    D = np.sum((extended(A)[:, None] - extended(B)) ** 2, axis=2)
    E, f = -D / extended(reg), np.zeros(len(A), dtype=np.longdouble)
    for _ in range(steps):
        g = -np.log(extended(len(B))) - np.logaddexp.reduce(E + f[:, None], axis=0)
        f = -np.log(extended(len(A))) - np.logaddexp.reduce(E + g, axis=1)
    return np.sum(np.exp(E + f[:, None] + g) * D)


def by_variance(X, y):
    """The rows of each class, in ascending order of the classes' total variances."""
    return sorted((X[y == c] for c in np.unique(y)), key=lambda rows: rows.var(axis=0).sum())


def _transport(X, y, result):
    """wda: ten steps, from the class with the smaller total variance."""
    M = extended(result.M)
    classes = [rows @ M for rows in by_variance(X, y)]
    same = sum(transport_cost(A, A) for A in classes)
    across = sum(transport_cost(A, B) for A, B in combinations(classes, 2))
    if across == 0:  # 0/0, of which only "none" may be said
        return np.inf, 1.0
    return same / across, (same + np.sum((X @ M) ** 2)) / across


def _sparse_ratio(X, y, result):
    """sparse-lda at its default penalty."""
    _, within, between = class_rows(X, y)
    M = extended(result.M)
    ratio = np.sum((between @ M) ** 2) / np.sum((within @ M) ** 2)
    penalty = extended(0.3) * np.sum(np.abs(M))
    return ratio - penalty, ratio + penalty


def _sparse_correlation(Xa, Xb, r):
    """sparse-cca at its default penalty."""

    def formula(result):
        Ma, Mb = map(extended, result.M)
        Ya, Yb = Xa @ Ma, Xb @ Mb
        size = norm(Ya) * norm(Yb)
        penalty = extended(0.01) * (np.sum(np.abs(Ma)) + np.sum(np.abs(Mb)))
        return np.sum(Ya * Yb) / size - penalty, np.sum(np.abs(Ya * Yb)) / size + penalty

    return moments.Formula("max", formula)


def _sparse_axes(X, y, result):
    """sparse-pca at penalty 1."""
    M = extended(result.M)
    rest, penalty = np.sum((X - X @ M @ M.T) ** 2), np.sum(np.abs(M))
    return rest + penalty, np.sum(X**2) + penalty


def _neighbours(X, y, result):
    """nca."""
    Y = X @ extended(result.M)
    D = np.sum((Y[:, None] - Y) ** 2, axis=2)
    np.fill_diagonal(D, np.inf)
    p = np.exp(D.min(axis=1)[:, None] - D)
    p = p / p.sum(axis=1)[:, None]
    return np.sum(p * (y[:, None] == y)), extended(len(y))


def _stress(X, y, result):
    """mds-stress over pairs in both orders, the kink of a distance rounded."""
    Y = X @ extended(result.M)
    kink = extended(result.objective.epsilon) ** 2 * np.sum(X**2) / len(X)
    far, near = (np.sqrt(np.sum((Z[:, None] - Z) ** 2, axis=2) + kink) for Z in (X, Y))
    return np.sum((far - near) ** 2), np.sum(far**2)


def _deviance(X, M, mu):
    """Of logistic pca, saturation 4."""
    T = 4 * (2 * X - 1)
    theta = mu + (T - mu) @ M @ M.T
    varied = X.min(axis=0) < X.max(axis=0)
    losses = np.log1p(np.exp(-np.abs(theta))) + np.maximum(theta, 0) - X * theta
    return 2 * np.sum(losses[:, varied])


def answers(rng):
    """Yes and no."""
    n, d = data.shape(rng)
    X = (rng.random((n, d)) < rng.uniform(0.05, 0.95, d)).astype(float)
    r = int(rng.integers(1, d + 1))

    def formula(result):
        mu = extended(result.parameters["intercept"])
        value = _deviance(extended(X), extended(result.M), mu)
        return value, value + 1

    return Problem(X, r, lambda: moments.Formula("min", formula), made="answers")


NEWER = {
    "csp": of_response(moments.two_classes, _two),
    "csp classes": of_response(lambda X, y, r: moments.ManyClasses(X, y), _three),
    "ssd": signals,
    "spoc": of_response(moments.source_power, _number),
    "xdawn": trials,
    "tica": of_time(lambda X, r: moments.slow(X, 1, r)),
    "tica lag": of_time(lambda X, r: moments.slow(X, 2, r), lag=2),
    "vamp": of_time(lambda X, r: moments.propagated(X, 2, r)),
    "vamp 1": of_time(lambda X, r: moments.propagated(X, 1, r), power=1),
    "orthogonal-gcpca": background(lambda X, Z, r: moments.contrast(X, Z, r, ratio=True)),
    "gcpca": background(lambda X, Z, r: moments.contrast(X, Z, r, ratio=False)),
    "phd": of_response(moments.bends, _number),
    "directional-regression": of_response(moments.directional, _classes),
    "mcca": many_views(lambda Xs, r: moments.SharedDirections(Xs, r)),
    "maxdiff": many_views(_blocks(within=False)),
    "maxbet": many_views(_blocks(within=True)),
    "orthogonal-mcca": many_views(moments.Correlated),
    "dpca": experiment,
    "gkdr": kernel_regression,
    "pls-regression": of_response(moments.Residual, _number),
    "dca": valued(_information, "max"),
    "foreca": valued(_entropy, "min", segment=4),
    "wda": valued(_transport, "min", _classes),
    "sparse-lda": valued(_sparse_ratio, "max", _classes),
    "sparse-cca": views(_sparse_correlation),
    "sparse-pca": valued(_sparse_axes, "min"),
    "nca": valued(_neighbours, "max", _classes),
    "mds-stress": valued(_stress, "min"),
    "exponential-family-pca": answers,
}
