"""Structured and badly scaled data: what closed forms and certificates lose digits on."""

from dataclasses import dataclass

import numpy as np

# How far columns are from dependent: as in [a, a + eps b, c].
_NEARNESS = (-1.0, -7.0)


def spreads(X):
    """Standard deviations of the columns, zero of constant ones, whose mean may be rounded."""
    return np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 0.0)


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def correlated(rng, n, d):
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


def walk(rng, n, d):
    """Random walks: slow, for the methods of time."""
    return np.cumsum(rng.standard_normal((n, d)), axis=0)


def collinear(rng, n, d):
    """[a, a + eps b, c, ...]: spans what [a, b, c, ...] spans."""
    X = rng.standard_normal((n, d))
    if d > 1:
        X[:, 1] = X[:, 0] + 10.0 ** rng.uniform(*_NEARNESS[::-1]) * X[:, 1]
    return X


def polynomial(rng, n, d):
    """Vandermonde: powers of nodes in an interval that may be away from zero."""
    nodes = np.sort(rng.uniform(0, 1, n)) + rng.choice([0.0, 1.0])
    return nodes[:, None] ** np.arange(1, d + 1)


def hilbert(rng, n, d):
    """1/(i + j) with as few columns as keep digits, others random."""
    X = rng.standard_normal((n, d))
    k = min(d, 4)
    X[:, :k] = 1.0 / (1.0 + np.arange(n)[:, None] + np.arange(k))
    return X


def integers(rng, n, d):
    """Few values: ties everywhere."""
    return rng.integers(-2, 3, (n, d)).astype(float)


def heavy(rng, n, d):
    """A few rows outweigh the others."""
    return rng.standard_t(1.5, (n, d))


def low_rank(rng, n, d):
    """Dependent exactly: products of small integers."""
    k = int(rng.integers(1, d + 1))
    return (rng.integers(-3, 4, (n, k)) @ rng.integers(-3, 4, (k, d))).astype(float)


def zero_heavy(rng, n, d):
    """Most entries are zero."""
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.7] = 0.0
    return X


BASES = (
    gaussian,
    correlated,
    walk,
    collinear,
    polynomial,
    hilbert,
    integers,
    heavy,
    low_rank,
    zero_heavy,
)


def rescaled(rng, X):
    """Columns in units 1e-8 to 1e8."""
    return X * 10.0 ** rng.uniform(-8, 8, X.shape[1])


def shifted(rng, X):
    """Columns whose mean is 1e3 to 1e8 times their spread; whole, so that ties stay exact."""
    spread = X.std(axis=0).max()
    return X + np.round(spread * 10.0 ** rng.uniform(3, 8, X.shape[1]))


def in_other_units(rng, X):
    """All in a unit far from 1: a power of two, which rounds nothing."""
    return X * 2.0 ** rng.integers(-120, 121)


def constant_columns(rng, X):
    X = X.copy()
    X[:, rng.integers(X.shape[1])] = rng.choice([0.0, 1.0, -3.5e7])
    return X


def repeated_columns(rng, X):
    X = X.copy()
    if X.shape[1] > 1:
        i, j = rng.choice(X.shape[1], 2, replace=False)
        X[:, i] = X[:, j] * rng.choice([1.0, -2.0, 0.25])
    return X


def repeated_rows(rng, X):
    return X[rng.integers(0, len(X), len(X))]


CHANGES = (rescaled, shifted, in_other_units, constant_columns, repeated_columns, repeated_rows)

# Shifts round: an exact dependence becomes a dependence to 1e-8, of which none can say what it is.
_SPOILT_BY_A_SHIFT = {collinear, polynomial, hilbert, low_rank}


@dataclass
class Ugly:
    """Data with the names of what was done to them."""

    X: object
    made: str


def ugly(rng, n, d, *, plain=0.3):
    """Data of one of the bases, in half of the cases changed once or twice."""
    base = BASES[rng.integers(len(BASES))]
    X, made = base(rng, n, d), [base.__name__]
    if rng.random() > plain:
        for k in rng.choice(len(CHANGES), rng.integers(1, 3), replace=False):
            change = CHANGES[k]
            if change is shifted and (base in _SPOILT_BY_A_SHIFT or len(made) > 1):
                continue
            if shifted.__name__ in made:
                continue
            X = change(rng, X)
            made.append(change.__name__)
    return Ugly(X, "+".join(made))


def shape(rng):
    """n and d: few rows, as many as columns, or more."""
    d = int(rng.choice([1, 2, 3, 4, 5, 6, 8]))
    n = {
        "few": max(3, int(rng.integers(3, max(4, d)))),
        "square": max(3, d),
        "more": int(rng.integers(d + 2, 2 * d + 6)),
        "many": int(rng.integers(20, 41)),
    }[rng.choice(["few", "square", "more", "many", "many", "many"])]
    return n, d


def labels(rng, n):
    """Classes of at least one row each, two of them often."""
    classes = int(rng.choice([2, 2, 3, 4]))
    classes = min(classes, n - 1)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    return rng.permutation(y)
