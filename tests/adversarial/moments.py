"""References of methods of time, trials and slices: whitened rows, and matrices made of them."""

import numpy as np

from tests.adversarial.extended import basis, centred, eigh, extended, norm, orthonormal, svd
from tests.adversarial.references import PI, Form, Ratio, Reference, White, Whitened


def absolute(S):
    """(S^2)^{1/2}."""
    values, V = eigh(S)
    return (V * np.abs(values)) @ V.T


def _moment(X):
    """Rows whose squares are the second moment of X about zero."""
    return X / np.sqrt(extended(len(X)))


def two_classes(X, y, r):
    """csp: the absolute value of the difference of the classes' second moments."""
    first, second = (_moment(extended(X[y == c])) for c in (0, 1))
    A = Form.squares(first) + Form.squares(second, -1)
    return White(np.vstack([first, second]), lambda W: absolute(A.on(W)), r)


def source_power(X, z, r):
    """spoc, each row a trial."""
    X, z = extended(X), centred(z)
    z = z / np.sqrt(np.mean(z**2))
    A = Form((1 / extended(len(X)), z[:, None] * X, X))
    return White(_moment(X), lambda W: absolute(A.on(W)), r)


class ManyClasses(Reference):
    """csp of more than two classes: what the filters, of unit mean power, say of the class."""

    def __init__(self, X, y):
        super().__init__("max")
        self.rows = [_moment(extended(X[y == c])) for c in np.unique(y)]

    def at(self, result):
        P = extended(result.P).T
        powers = np.stack([np.sum((rows @ P) ** 2, axis=0) for rows in self.rows])
        powers = powers / powers.mean(axis=0)
        logs = -np.log(powers).mean(axis=0) / 2
        fourth = np.mean(powers**2 - 1, axis=0)
        told = logs - extended(3) / 16 * fourth**2
        return np.sum(told), np.sum(np.abs(logs) + np.mean(powers**2, axis=0) ** 2) + 1


def band(X, low, high):
    """Rows in a band: the difference of two windowed sincs, ends continued by odd reflection."""
    X = extended(X)
    edges = [(low, low / 4, -1), (high, min(high / 4, 0.5 - high), 1)]
    lengths = [round(3.3 / width) for _, width, _ in edges]
    half = max(length // 2 for length in lengths)
    k = np.arange(-half, half + 1)
    h = np.zeros(2 * half + 1, dtype=np.longdouble)
    for (edge, width, sign), length in zip(edges, lengths, strict=True):
        side = length // 2
        cut = edge + sign * extended(width) / 2
        angle = 2 * PI * cut * k
        sinc = np.where(k == 0, 2 * cut, np.sin(angle) / (PI * np.where(k == 0, 1, k)))
        window = extended(0.54) + extended(0.46) * np.cos(PI * k / side)
        low_pass = np.where(np.abs(k) <= side, sinc * window, 0)
        h += sign * low_pass / np.sum(low_pass)
    n, edge = len(X), min(len(h), len(X)) - 1
    ends = 2 * X[0] - X[edge:0:-1], 2 * X[-1] - X[-2 : -2 - edge : -1]
    longer = np.vstack([ends[0], X, ends[1]])
    lags = edge + np.arange(n)[:, None] - k
    there = (lags >= 0) & (lags < len(longer))
    weights = np.where(there, h, 0)
    return np.stack([w[t] @ longer[at[t]] for w, t, at in zip(weights, there, lags, strict=True)])


def oscillations(X, r):
    """ssd in its default bands."""
    inside = band(X, 0.1, 0.2)
    beside = band(X, 0.05, 0.3) - inside
    both = np.vstack([inside, beside])
    return Whitened("max", Form.squares(_moment(inside)), _moment(beside), r, both)


def evoked(X, y, length, r):
    """xdawn of all classes: trials of that many rows."""
    X = extended(X)
    trials, label = X.reshape(-1, length, X.shape[1]), y[::length]
    means = np.vstack([trials[label == c].mean(axis=0) for c in np.unique(y)])
    return Whitened("max", Form.squares(_moment(means)), _moment(X), r)


def pairs(X, lag):
    """Both members, less their common mean."""
    X = extended(X) - extended(X)[0]
    first, later = X[:-lag], X[lag:]
    mean = (first.mean(axis=0) + later.mean(axis=0)) / 2
    return first - mean, later - mean


def slow(X, lag, r):
    """tica."""
    first, later = pairs(X, lag)
    n = extended(len(first))
    G = np.vstack([first, later]) / np.sqrt(2 * n)
    return Whitened("max", Form((1 / n, first, later)), G, r)


def propagated(X, power, r):
    """vamp: 1 and powers of singular values of the cross-covariance of both members' white rows."""
    first, later = centred(X[:-1]), centred(X[1:])
    right = orthonormal(later)[0]

    def of(W):
        K = W.T @ (_moment(first).T @ right)
        U, s, _ = svd(K)
        return (U * s**power) @ U.T

    return White(_moment(first), of, r, offset=1)


def contrast(X, noise, r, ratio):
    """(orthogonal-)gcpca."""
    target, background = _moment(centred(X)), _moment(centred(noise))
    A = Form.squares(target) + Form.squares(background, -1)
    both = np.vstack([target, background])
    if ratio:
        return Ratio("max", A, Form.squares(both), r, both)
    return Whitened("max", A, both, r)


def bends(X, y, r):
    """phd: the absolute value of mean (y_i - mean) z_i z_i'."""
    X, e = centred(X), centred(y)
    H = Form((1 / extended(len(X)), e[:, None] * X, X))
    return White(_moment(X), lambda W: absolute(H.on(W)), r)


def directional(X, y, r):
    """Directional regression of labels, E (2I - A)^2 pair by pair of slices."""
    X = centred(X)
    n = extended(len(X))

    def of(W):
        Z = X @ W
        slices = [Z[y == c] for c in np.unique(y)]
        seconds = [part.T @ part / len(part) for part in slices]
        means = [part.mean(axis=0) for part in slices]
        total = np.zeros((W.shape[1], W.shape[1]), dtype=np.longdouble)
        for V, m, a in zip(seconds, means, slices, strict=True):
            for U, k, b in zip(seconds, means, slices, strict=True):
                apart = V + U - np.outer(m, k) - np.outer(k, m)
                D = 2 * np.eye(len(V)) - apart
                total += len(a) / n * (len(b) / n) * D @ D
        return total

    return White(_moment(X), of, r)


class SharedDirections(Whitened):
    """mcca: the pairs of views against all of them side by side, sum of mi'Cii mi = K."""

    def __init__(self, views, r):
        self.views = [centred(X) for X in views]
        n, K = extended(len(self.views[0])), len(views)
        widths = [X.shape[1] for X in self.views]
        wide = []
        for i, X in enumerate(self.views):
            blocks = [np.zeros((len(X), d), dtype=np.longdouble) for d in widths]
            blocks[i] = X
            wide.append(np.hstack(blocks))
        pairs = [(1 / n, wide[i], wide[j]) for i in range(K) for j in range(i)]
        super().__init__("max", Form(*pairs), np.vstack(wide) / np.sqrt(n * K), r)

    def at(self, result):
        N = self._normal(np.hstack([extended(P) for P in result.P]))
        return self.form.of(N), self.form.size(N) + self.scale


class Blocks(Reference):
    """maxdiff, maxbet: sums of tr(Mi'CijMj) over pairs, by ascent in each matrix in turn."""

    def __init__(self, views, r, rng, within, starts=8):
        super().__init__("max")
        self.views, self.within = [centred(X) for X in views], within
        n = extended(len(views[0]))
        self.C = [[X.T @ Y / n for Y in self.views] for X in self.views]
        self.anywhere = self.optimum = max(
            self.value(self._ascend([rng.standard_normal((X.shape[1], r)) for X in self.views]))
            for _ in range(starts)
        )

    def _terms(self, M):
        K = range(len(M))
        found = [np.sum(M[i] * (self.C[i][j] @ M[j])) for i in K for j in range(i)]
        return found + ([np.sum(M[i] * (self.C[i][i] @ M[i])) / 2 for i in K] * self.within)

    def value(self, M):
        return np.sum(self._terms([basis(m) for m in M]))

    def _ascend(self, M, steps=60):
        scale = max(norm(C) for row in self.C for C in row)
        M = [np.asarray(basis(m), dtype=float) for m in M]
        if scale == 0:
            return M
        C = [[np.asarray(c / scale, dtype=float) for c in row] for row in self.C]
        for _ in range(steps):
            for i in range(len(M)):
                slope = sum(C[i][j] @ M[j] for j in range(len(M)) if j != i or self.within)
                U, _, Vt = np.linalg.svd(slope, full_matrices=False)
                M[i] = U @ Vt
        return M

    def at(self, result):
        terms = self._terms([extended(M) for M in result.M])
        return np.sum(terms), np.sum(np.abs(terms)) + max(
            abs(c).max() for row in self.C for c in row
        )


class Correlated(Blocks):
    """orthogonal-mcca: each term divided by the roots of tr(Mi'Cii Mi)."""

    def __init__(self, views, r):
        super().__init__(views, r, np.random.default_rng(0), within=False)

    def _terms(self, M):
        K = range(len(M))
        s = [np.sqrt(np.sum(M[i] * (self.C[i][i] @ M[i]))) for i in K]
        return [np.sum(M[i] * (self.C[i][j] @ M[j])) / (s[i] * s[j]) for i in K for j in range(i)]

    def at(self, result):
        terms = self._terms([extended(M) for M in result.M])
        return np.sum(terms), np.sum(np.abs(terms)) + 1


class Demixed(Reference):
    """dpca without a ridge: max ||Q'X_f M||^2, Q an orthonormal basis of the rows' columns."""

    def __init__(self, X, factors, r):
        super().__init__("max")
        X = centred(X)
        cells = np.unique(factors, axis=0)
        means = np.stack([X[(factors == c).all(axis=1)].mean(axis=0) for c in cells])
        grand = means.mean(axis=0)
        added = np.stack([means[cells[:, 0] == f[0]].mean(axis=0) for f in factors]) - grand
        rows = orthonormal(X)[0].T @ added
        self.form = Form.squares(rows)
        _, V = eigh(self.form.on(np.eye(X.shape[1], dtype=np.longdouble)))
        self.scale = np.sum(added**2)
        self.anywhere = self.optimum = self.form.of(basis(V[:, :r]))

    def at(self, result):
        M = extended(result.M)
        return self.form.of(M), self.form.size(M) + self.scale


class Residual(Reference):
    """pls-regression: ||y - XM||^2, the least of M in span {X'y, X'XX'y, ..., (X'X)^{r-1}X'y}."""

    def __init__(self, X, y, r):
        super().__init__("min")
        self.X, self.Y = centred(X), centred(y)[:, None]
        directions = [self.X.T @ self.Y]
        while len(directions) < r:
            directions.append(self.X.T @ (self.X @ basis(np.hstack(directions))[:, -1:]))
        Q = orthonormal(self.X @ basis(np.hstack(directions)))[0]
        rest = self.Y - Q @ (Q.T @ self.Y)
        self.anywhere = self.optimum = np.sum(rest**2)

    def at(self, result):
        rest = self.Y - self.X @ extended(result.M)
        return np.sum(rest**2), np.sum(self.Y**2) + np.sum((np.abs(self.X) @ np.abs(result.M)) ** 2)


class KernelGradients(Reference):
    """gkdr of labels: max tr(M'GM), G of the gradients of a kernel regression."""

    def __init__(self, X, y, r, width, epsilon):
        super().__init__("max")
        X = centred(X)
        n = len(X)
        apart = X[:, None] - X
        K = np.exp(-np.sum(apart**2, axis=2) / (2 * extended(width) ** 2))
        values, V = eigh(K)
        inverse = (V / (values + n * extended(epsilon))) @ V.T
        of_y = inverse @ extended(y[:, None] == y) @ inverse
        D = -apart * K[:, :, None] / extended(width) ** 2  # D[i, j] = (x_j - x_i) k / width^2
        G = sum(d.T @ of_y @ d for d in D) / n
        self.G = (G + G.T) / 2
        values, _ = eigh(self.G)
        self.anywhere = self.optimum = np.sum(values[:r])

    def at(self, result):
        M = extended(result.M)
        terms = M * (self.G @ M)
        return np.sum(terms), np.sum(np.abs(terms)) + np.abs(self.G).max()


class Formula(Reference):
    """A value of which only that is claimed: `of` gives it and the size of its terms."""

    def __init__(self, sense, of):
        super().__init__(sense)
        self.at = of
