"""Data that defeat X'X - n m m', and what each statistic of them is in extended precision."""

import numpy as np

from ldr.objectives import statistics

RNG = np.random.default_rng(0)
N, D, C = 3000, 5, 4
BASE = RNG.standard_normal((N, D)) @ RNG.standard_normal((D, D))
TIME = np.linspace(0, 1, N)[:, None]
CODES = RNG.integers(0, C, N)

DATA = {
    "centred": BASE,
    "mean 1e6": BASE + 1e6,
    "mean 1e8": BASE + 1e8,
    "mixed means": BASE + np.array([0, 4.9, 1e3, -1e6, 1e8]),
    "drift": BASE + 1e6 * TIME,
    "drift and mean": BASE + 1e5 * TIME + 1e8,
    "random walk": BASE.cumsum(axis=0) + 1e7,
    "outlier first": np.vstack([np.full((1, D), 1e6), BASE[1:]]),
    "step": BASE + 1e6 * (TIME > 0.5),
    "heavy tails": RNG.standard_cauchy((N, D)) + 1e3,
    "scales": (BASE + 1e3) * 10.0 ** np.arange(-6, 4, 2),
    "float32": (BASE + 1e3).astype(np.float32),
    "integers": RNG.integers(10**9, 10**9 + 5, (N, D)),
    "wide": RNG.standard_normal((30, 100)) + 1e6,
    "zeros": np.where(RNG.random((N, D)) < 0.3, BASE, 0.0),
}


def offset(size, n=300):
    """Columns: three full ones, one of which with a few zeros, one of labels, three sparse ones."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((n, 7)), axis=0) / 10 + rng.standard_normal((n, 7))
    X[:, :2] += size
    X[:, 2] += 100 * size * (np.arange(n) % 3)  # far apart between the labels, near within
    X[:, 3] = np.where(rng.random(n) < 0.03, 0.0, 1.0 + 0.01 * X[:, 3])
    X[:, 4:] *= rng.random((n, 3)) < 0.2
    return X


# Sparse rows of which X'X - n m m' loses every digit.
OFFSETS = (1e3, 1e6, 1e8)
DATA |= {f"offset {size:g}": offset(size) for size in OFFSETS}


def extended(X):
    """Rows in extended precision, less their first: no digit is lost in the differences."""
    L = X.astype(np.longdouble)
    return L - L[0]


def centred(L):
    Z = L - L.mean(axis=0)
    return Z - Z.mean(axis=0)


def scatter(Z):
    return Z.T @ Z


def error(S, reference, scale=None):
    """Largest error of an entry relative to sqrt(S_ii S_jj)."""
    root = np.sqrt(np.diag(reference if scale is None else scale))
    return float(np.max(np.abs(S - reference) / np.outer(root, root)))


def class_reference(X, codes, c):
    L = extended(X)
    means = np.array([L[codes == k].mean(axis=0) for k in range(c)])
    means += np.array([(L[codes == k] - means[k]).mean(axis=0) for k in range(c)])
    within = L - means[codes]
    counts = np.bincount(codes).astype(np.longdouble)
    between = np.sqrt(counts)[:, None] * (means - counts @ means / counts.sum())
    return scatter(within), scatter(between)


def check_mean(found, X, rows=slice(None), tolerance=5e-14):
    """The mean of some rows, beside its size or the spread of all."""
    L = extended(X)
    exact = (X[0].astype(np.longdouble) + L[rows].mean(axis=0)).astype(float)
    spread = np.sqrt(np.diag(scatter(centred(L))) / len(X)).astype(float)
    assert np.all(np.abs(found - exact) <= tolerance * np.maximum(np.abs(exact), spread))


# Each statistic of rows that `given` hands over in some way: what was found, what it is, and how
# many times 1e-14 they may differ.


def moments(given, X):
    found = statistics.moments(given(X))
    check_mean(found.mean, X)
    np.testing.assert_array_equal(found.scatter, found.scatter.T)
    np.testing.assert_allclose(found.covariance, found.scatter / len(X))
    return [(found.scatter, scatter(centred(extended(X))), None, 2)]


def joint(given, X):
    half = X.shape[1] // 2
    found = statistics.view_moments((given(X[:, :half]), given(X[:, half:])))
    check_mean(np.concatenate(found.means), X)
    return [(found.scatter, scatter(centred(extended(X))), None, 2)]


def classes(order, apart=0.0):
    def of(given, X):
        codes = np.resize(CODES, len(X))
        codes = {"random": codes, "sorted": np.sort(codes), "turning": np.arange(len(X)) % C}[order]
        if apart:
            X = X + apart * np.random.default_rng(1).standard_normal((C, X.shape[1]))[codes]
        within, between = class_reference(X, codes, C)
        found = statistics.class_moments(given(X), codes, C)
        np.testing.assert_array_equal(found.counts, np.bincount(codes))
        check_mean(found.mean, X)
        for k in range(C):
            check_mean(found.means[k], X, codes == k)
        total = scatter(centred(extended(X)))
        return [
            (found.within, within, None, 2),
            (found.between, between, None, 100),
            (found.within + found.between, total, None, 5),
        ]

    return of


def lagged(lag):
    """A negative lag is counted from the last."""

    def of(given, X):
        n, Z = len(X), centred(extended(X))
        k = lag % n
        G = Z[:-k].T @ Z[k:] / (n - k)
        found = statistics.lagged_moments(given(X), k)
        check_mean(found.mean, X)
        np.testing.assert_array_equal(found.lagged, found.lagged.T)
        # Few terms are left at a long lag, so they are judged by the variance over n - lag.
        return [
            (found.lagged, (G + G.T) / 2, scatter(Z) / (n - k), 10),
            (found.scatter, scatter(Z), None, 10),
        ]

    return of


def differences(given, X):
    found = statistics.difference_scatter(given(X))
    np.testing.assert_array_equal(found, found.T)
    return [(found, scatter(np.diff(extended(X), axis=0)), None, 1)]


STATISTICS = {
    "moments": moments,
    "joint": joint,
    "classes": classes("random"),
    "classes, sorted": classes("sorted"),
    "classes, apart": classes("turning", 1e6),
    "lag 1": lagged(1),
    "lag 17": lagged(17),
    "lag 18": lagged(18),
    "last lag": lagged(-1),
    "differences": differences,
}


def check(statistic, given, X, slack=1.0):
    """A statistic is exact, but for `slack` times the rounding of rows that are summed at once."""
    for found, exact, scale, times in STATISTICS[statistic](given, X):
        assert error(found, exact, scale) < slack * times * 1e-14, statistic
