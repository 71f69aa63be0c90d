"""Every method's formula and optimum, from the data, in 80 bits and by other means than ours.

A reference evaluates any M (or P) by its rows, and knows feasible points that are the optimum but
for its own rounding: eigenvectors by Jacobi's method, trace ratios by Newton's, regressions by
Gram-Schmidt. What a certificate says is refuted by a point alone, so that a reference that lost
digits refutes nothing.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from tests.adversarial.extended import (
    DEPENDENT,
    basis,
    centred,
    complement,
    eigh,
    extended,
    norm,
    orthonormal,
    svd,
)

_NEWTON = 40
# Sums of squares are good to 1e-14 of the columns' own: what varies less is lost in them, and M is
# restricted, which is said.
_LOST = np.longdouble(1e-6)
# Coefficients of a dependence below this are no pivots.
_PIVOT = 1e-6
# Columns are orthogonal up to this share of their products' terms.
_AWAY = 1e-9
# Columns further apart in scale than this lose digits where they are mixed.
_MIXED = 1e6


class Form:
    """tr(M'AM) of a symmetric A = sum of w (L'R + R'L)/2, known by its rows L and R.

    `numbers` is what sums over all rows are rounded to, where L or R are only some of them.
    """

    def __init__(self, *terms, numbers=0):
        self.terms = [(extended(w), extended(left), extended(right)) for w, left, right in terms]
        self.numbers = numbers

    @classmethod
    def squares(cls, rows, weight=1, numbers=0):
        """w tr(M'L'LM)."""
        return cls((weight, rows, rows), numbers=numbers)

    def __add__(self, other):
        return Form(*self.terms, *other.terms, numbers=self.numbers + other.numbers)

    def times(self, factor):
        terms = ((factor * w, left, right) for w, left, right in self.terms)
        return Form(*terms, numbers=abs(factor) * self.numbers)

    def of(self, M):
        return sum(w * np.sum((left @ M) * (right @ M)) for w, left, right in self.terms)

    def size(self, M):
        """Of the terms that `of` adds up."""
        return sum(
            abs(w) * np.sum(np.abs(left @ M) * np.abs(right @ M)) for w, left, right in self.terms
        )

    def on(self, W):
        """W'AW."""
        S = sum(w * (left @ W).T @ (right @ W) for w, left, right in self.terms)
        return (S + S.T) / 2


def lagged(X, lag):
    """sym(1/(n - lag) sum_t x_t x_{t+lag}')."""
    share = extended(1) / (len(X) - lag)
    return Form((share, X[:-lag], X[lag:]), numbers=share * np.sum(X * X))


def covariance(X):
    return Form.squares(X, extended(1) / len(X))


def null_space(rows, least=DEPENDENT, *, cleaned=True):
    """Directions in which nothing varies, or less than `least` of the columns' size.

    They are cleaned of what is seen of them, which may be the rounding of the data: then a small
    column beside large ones takes that up, and nobody knows by how much they are in its direction.
    Else coefficients that are next to nothing, in units of the columns, are none.
    """
    rows = extended(rows)
    lengths = np.sqrt(np.sum(rows * rows, axis=0))
    Q, W = orthonormal(rows, least)
    if W.shape[1] == rows.shape[1]:
        return np.zeros((rows.shape[1], 0), dtype=np.longdouble)
    units = np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1), 1)
    kept = svd(rows * np.where(lengths > 0, units, 0))[2][:, : W.shape[1]]
    order = np.argsort(-units, kind="stable")
    empty = complement(kept, rows.shape[1])
    empty[order] = reduced(empty[order])
    if not cleaned:
        empty = np.where(np.abs(empty) > DEPENDENT, empty, 0)
    N = basis(units[:, None] * empty)
    return basis(N - W @ (Q.T @ (rows @ N))) if cleaned else N


def reduced(V):
    """Columns that span what V's do, each with a 1 where the others are zero, upper rows first."""
    V, placed = V.copy(), 0
    for row in range(len(V)):
        column = placed + int(np.argmax(np.abs(V[row, placed:])))
        if not abs(V[row, column]) > _PIVOT:
            continue
        V[:, [placed, column]] = V[:, [column, placed]]
        pivot = V[:, placed] / V[row, placed]
        V -= np.outer(pivot, V[row])
        V[:, placed], V[row], V[row, placed] = pivot, 0, 1
        placed += 1
        if placed == V.shape[1]:
            break
    return V


@dataclass
class Reference:
    """What is known of a problem.

    Attributes
    ----------
    sense : {"min", "max"}
    optimum : longdouble
        The best value of a feasible point, within the range of what varies.
    anywhere : longdouble
        The same, outside that range too.
    """

    sense: str
    optimum: object = None
    anywhere: object = None
    feasible: list = field(default_factory=list)

    def at(self, result):
        """The value at the result's matrices, and the size of the terms it is made of."""
        raise NotImplementedError

    def better(self, *values):
        return (min if self.sense == "min" else max)(values)


class Trace(Reference):
    """max or min of offset + tr(M'AM) over orthonormal M; `varying` are the rows of what varies."""

    def __init__(self, sense, form, r, varying):
        super().__init__(sense)
        self.form, self.r = form, r
        d = varying.shape[1]
        _, V = eigh(form.on(np.eye(d, dtype=np.longdouble)))
        self.scale = sum(abs(w) * norm(left) * norm(right) for w, left, right in form.terms)
        self.scale += form.numbers
        self.scale += 1e-20 * norm(varying) ** 2  # where the terms vanish: squares of rounding
        self.anywhere = self.optimum = self._best(V)
        lost = null_space(varying, _LOST)
        if lost.shape[1]:
            Q = complement(lost, d)
            self.optimum = self._best(Q @ eigh(form.on(Q))[1])

    def _best(self, V):
        """Of eigenvectors, largest eigenvalue first."""
        if V.shape[1] < self.r:
            return None
        return self.value(V[:, : self.r] if self.sense == "max" else V[:, V.shape[1] - self.r :])

    def value(self, M):
        return self.form.of(basis(M))

    def at(self, result):
        M = extended(result.M)
        return self.form.of(M), self.form.size(M) + self.scale


class Reconstruction(Trace):
    """sum ||x - MM'x||^2: what the leading singular values leave."""

    def __init__(self, X, r):
        Reference.__init__(self, "min")
        self.X = X
        values = svd(X)[1]
        self.optimum = self.anywhere = np.sum(values[r:] ** 2)

    def at(self, result):
        M = extended(result.M)
        return np.sum((self.X - self.X @ M @ M.T) ** 2), np.sum(self.X**2)


class LogDeterminant(Reference):
    """max log|M'CM|."""

    def __init__(self, X, r):
        super().__init__("max")
        self.X = X / np.sqrt(extended(len(X)))
        values = svd(self.X)[1][:r]
        self.optimum = self.anywhere = 2 * np.sum(np.log(values))

    def at(self, result):
        values = svd(self.X @ extended(result.M))[1]
        logs = 2 * np.log(values)
        return np.sum(logs), 1 + np.sum(np.abs(logs))


class Whitened(Reference):
    """max or min tr(P A P') with P B P' = I, B = G'G; without an optimum where A is outside B."""

    def __init__(self, sense, form, G, r, total=None):
        super().__init__(sense)
        self.form, self.G, self.r = form, extended(G), r
        rank = orthonormal(G)[0].shape[1]
        self.anywhere, self.optimum = map(self._best, (DEPENDENT, _LOST))
        if total is not None and orthonormal(total)[0].shape[1] > rank:
            self.anywhere = extended(np.inf)

    def _best(self, least):
        """Of directions that vary more than that, whichever they are; A may see what B does not."""
        spaces = [null_space(self.G, least)]
        if spaces[0].shape[1]:
            spaces.append(null_space(self.G, least, cleaned=False))
        found, sizes = zip(*(self._outside(empty, least) for empty in spaces), strict=True)
        if least == DEPENDENT:
            self.scale = min(sizes)
        return None if None in found else (min if self.sense == "max" else max)(found)

    def _outside(self, empty, least):
        """Of directions orthogonal to the empty ones, and the largest eigenvalue there."""
        W = orthonormal(self.G, least)[1]
        W = W - empty @ (empty.T @ W)
        values, V = eigh(self.form.on(W))
        size = np.abs(values).max(initial=0)
        if len(values) < self.r:
            return None, size
        N = W @ (V[:, : self.r] if self.sense == "max" else V[:, -self.r :])
        return self.value(N.T), size

    def _normal(self, P):
        return P.T @ orthonormal(self.G @ P.T)[1]

    def value(self, P):
        return self.form.of(self._normal(extended(P)))

    def at(self, result):
        N = self._normal(extended(result.P))
        return self.form.of(N), self.form.size(N) + self.scale


class White(Reference):
    """max tr(V'SV), V'V = I, of a matrix S = of(W) of the whitening W, W'G'GW = I; P' = WV."""

    def __init__(self, G, of, r, offset=0):
        super().__init__("max")
        self.G, self.of, self.r, self.offset = extended(G), of, r, offset
        self.all = self.inside = self._within(np.eye(self.G.shape[1]))
        self.lost = null_space(self.G, _LOST)
        if self.lost.shape[1]:
            self.inside = self._within(complement(self.lost, self.G.shape[1]))
        self.anywhere, self.optimum = self._best(self.all[1]), self._best(self.inside[1])

    def _within(self, Q):
        """The whitening of GQ, and S."""
        W = Q @ orthonormal(self.G @ Q)[1]
        return W, self.of(W)

    def _best(self, S):
        values, _ = eigh(S)
        return self.offset + np.sum(values[: self.r]) if len(values) >= self.r else None

    def at(self, result):
        """S is of white rows of the range that P was sought in: rows have no other coordinates."""
        P = extended(result.P).T
        terms = np.abs(self.lost).T @ np.abs(P)
        if np.all(np.abs(self.lost.T @ P) <= _AWAY * terms):
            return self._value(self.inside, P)
        found = [self._value(self.all, P)]
        certificate = result.certificate
        if certificate.kind == "restricted" or certificate.message.startswith("within"):
            # The range of the claim is known to rounding only: S is of either's white rows.
            found.append(self._value(self.inside, P))
        return min(found, key=lambda each: abs(each[0] - result.value))

    def _value(self, white, P):
        """The value at P where S is of these white rows, and the size of its terms."""
        W, S = white
        V = basis((self.G @ W).T @ (self.G @ P))
        terms = V * (S @ V)
        return self.offset + np.sum(terms), self.offset + np.sum(np.abs(terms)) + np.abs(S).max()


class Save(White):
    """max tr(M' sum_b p_b (I - Cov_b(z))^2 M)."""

    def __init__(self, X, codes, r):
        def of(W):
            changes = 0
            for b in np.unique(codes):
                Z = centred(X[codes == b] @ W)
                change = np.eye(W.shape[1], dtype=np.longdouble) - Z.T @ Z / len(Z)
                changes = changes + extended(len(Z)) / len(X) * change @ change
            return changes

        super().__init__(X / np.sqrt(extended(len(X))), of, r)


class Ratio(Reference):
    """max or min tr(M'AM)/tr(M'BM): Newton's method on the sum of top_r(A - rho B)."""

    def __init__(self, sense, A, B, r, varying):
        super().__init__(sense)
        self.A, self.B = A, B
        empty = null_space(varying)
        Q = self._outside(empty)
        self.scale = A.size(Q) / B.of(Q) if B.of(Q) > 0 else 0
        self.optimum = self._best(varying, r)
        self.anywhere = self._solve(Q, max(1, r - empty.shape[1]))

    def _best(self, varying, r):
        """Of directions that are not lost in sums, whichever those are, as `Whitened`'s.

        Where columns are as far apart as digits go, coefficients of a dependence that are rounding
        in units of the columns are as large as the others in units of the data: what is lost is
        then known to that rounding only, and so is the optimum.
        """
        spaces = [null_space(varying, _LOST)]
        if r > varying.shape[1] - spaces[0].shape[1]:
            return None
        if spaces[0].shape[1]:
            spaces.append(null_space(varying, _LOST, cleaned=False))
        found = [self._solve(self._outside(lost), r) for lost in spaces]
        bounded = [value for value in found if value is not None]
        return (min if self.sense == "max" else max)(bounded, default=None)

    @staticmethod
    def _outside(empty):
        """Orthonormal basis of what is orthogonal to the empty directions."""
        d = len(empty)
        return complement(empty, d) if empty.shape[1] else np.eye(d, dtype=np.longdouble)

    def _solve(self, Q, r):
        sign = 1 if self.sense == "max" else -1
        A, B = sign * self.A.on(Q), self.B.on(Q)
        rho, best = -np.inf, None
        if not norm(B) > 0:
            return None
        M = eigh(A / norm(A) - B / norm(B) if norm(A) else -B)[1][:, :r]
        for _ in range(_NEWTON):
            N = basis(Q @ M)
            if not self.B.of(N) > 0:
                return None
            new = sign * self.A.of(N) / self.B.of(N)
            if best is not None and not new > rho:
                break
            rho = best = new
            M = eigh(A - rho * B)[1][:, :r]
        return sign * best

    def value(self, M):
        M = basis(M)
        return self.A.of(M) / self.B.of(M)

    def at(self, result):
        M = extended(result.M)
        b = self.B.of(M)
        return self.A.of(M) / b, self.A.size(M) / b + self.scale


class Singular(Reference):
    """max tr(Ma' Xa'Xb Mb): the leading singular values of Xa'Xb."""

    def __init__(self, Xa, Xb, r):
        super().__init__("max")
        self.Xa, self.Xb = Xa, Xb
        self.optimum = self.anywhere = np.sum(svd(Xa.T @ Xb)[1][:r])

    def at(self, result):
        Ma, Mb = map(extended, result.M)
        terms = (self.Xa @ Ma) * (self.Xb @ Mb)
        return np.sum(terms), np.sum(np.abs(terms))


class Correlations(Reference):
    """The sum of the leading canonical correlations, singular values of Qa'Qb."""

    def __init__(self, Xa, Xb, r):
        super().__init__("max")
        self.Xa, self.Xb = Xa, Xb
        (Qa, _), (Qb, _) = orthonormal(Xa), orthonormal(Xb)
        if min(Qa.shape[1], Qb.shape[1]) >= r:
            self.optimum = self.anywhere = np.sum(svd(Qa.T @ Qb)[1][:r])
        Qa, Qb = (orthonormal(X, _LOST)[0] for X in (Xa, Xb))
        if min(Qa.shape[1], Qb.shape[1]) >= r:
            self.optimum = np.sum(svd(Qa.T @ Qb)[1][:r])

    def at(self, result):
        Ya, Yb = (
            polar(X @ extended(P).T) for X, P in zip((self.Xa, self.Xb), result.P, strict=True)
        )
        terms = Ya * Yb
        return np.sum(terms), np.sum(np.abs(terms))


def polar(Y):
    U, _, V = svd(Y)
    return U @ V.T


class TwoBlocks(Reference):
    """max tr(Ma'CabMb)/sqrt(tr(Ma'CaaMa) tr(Mb'CbbMb)): ascent from many points."""

    def __init__(self, Xa, Xb, r, rng, starts=6):
        super().__init__("max")
        self.Xa, self.Xb, self.r = Xa, Xb, r
        whole = [np.eye(X.shape[1], dtype=np.longdouble) for X in (Xa, Xb)]
        kept = [complement(null_space(X, _LOST), X.shape[1]) for X in (Xa, Xb)]
        if min(Q.shape[1] for Q in kept) < r:
            return
        self.optimum = self._best(kept, rng, starts)
        self.anywhere = self.optimum
        if any(Q.shape[0] > Q.shape[1] for Q in kept):
            self.anywhere = max(self.optimum, self._best(whole, rng, starts))

    def _best(self, spaces, rng, starts):
        """From the canonical directions and from random ones, within the spaces of both views."""
        Xa, Xb = (X @ Q for X, Q in zip((self.Xa, self.Xb), spaces, strict=True))
        (Qa, Wa), (Qb, Wb) = orthonormal(Xa), orthonormal(Xb)
        U, s, V = svd(Qa.T @ Qb)
        points = [
            [basis(rng.standard_normal((Q.shape[1], self.r))) for Q in spaces]
            for _ in range(starts if self.r > 1 or len(s) < self.r else 0)
        ]
        if len(s) >= self.r:
            points.append([polar(Wa @ U[:, : self.r]), polar(Wb @ V[:, : self.r])])
        if self.r > 1:
            points += [ascend(Xa, Xb, *point) for point in points]
        return max(
            self.value(*(Q @ M for Q, M in zip(spaces, point, strict=True))) for point in points
        )

    def value(self, Ma, Mb):
        Ya, Yb = self.Xa @ polar(Ma), self.Xb @ polar(Mb)
        return np.sum(Ya * Yb) / (norm(Ya) * norm(Yb))

    def at(self, result):
        Ya, Yb = (X @ extended(M) for X, M in zip((self.Xa, self.Xb), result.M, strict=True))
        size = norm(Ya) * norm(Yb)
        return np.sum(Ya * Yb) / size, np.sum(np.abs(Ya * Yb)) / size


def ascend(Xa, Xb, Ma, Mb, steps=150):
    """Each matrix in turn to the polar factor of its slope, shifted to be sure of ascent."""
    Xa, Xb = (np.asarray(X / norm(X), dtype=float) for X in (Xa, Xb))
    Ma, Mb = np.asarray(Ma, dtype=float), np.asarray(Mb, dtype=float)
    Caa, Cbb, Cab = Xa.T @ Xa, Xb.T @ Xb, Xa.T @ Xb
    for _ in range(2 * steps):
        a = np.vdot(Ma, Caa @ Ma)
        if not a > 0:
            break
        ratio = np.vdot(Ma, Cab @ Mb) / a
        slope = Cab @ Mb - ratio * (Caa @ Ma) + abs(ratio) * np.linalg.norm(Caa, 2) * Ma
        U, _, Vt = np.linalg.svd(slope, full_matrices=False)
        Ma, Mb, Caa, Cbb, Cab = Mb, U @ Vt, Cbb, Caa, Cab.T
    return Ma, Mb


class LeastSquares(Reference):
    """min ||Y - XM||^2 + ridge ||M||^2, or + lasso ||M||_1, from orthonormal columns."""

    def __init__(self, X, Y, ridge=0, lasso=0):
        super().__init__("min")
        self.X, self.Y, self.ridge, self.lasso = X, Y, extended(ridge), extended(lasso)
        if lasso:
            found = [self._every_support(t) for t in Y.T]
            self.optimum = sum(found)
        else:
            self.optimum = self.value(self._solution())
        self.anywhere = self.optimum

    def _solution(self):
        d = self.X.shape[1]
        rows = np.vstack([self.X, np.sqrt(self.ridge) * np.eye(d)]) if self.ridge else self.X
        Q, W = orthonormal(rows)
        T = self.Y if not self.ridge else np.vstack([self.Y, np.zeros((d, self.Y.shape[1]))])
        M = W @ (Q.T @ T)
        return M + W @ (Q.T @ (T - rows @ M))

    def _every_support(self, t):
        """The lasso of one output: the best over every sign of every coefficient."""
        d = self.X.shape[1]
        best = np.sum(t * t)
        for signs in product((-1, 0, 1), repeat=d):
            kept = np.flatnonzero(signs)
            if not len(kept):
                continue
            Q, W = orthonormal(self.X[:, kept])
            if W.shape[1] < len(kept):
                continue
            # (X'X)^{-1} (X't - lasso/2 signs) with (X'X)^{-1} = WW'
            m = W @ (Q.T @ t - self.lasso / 2 * (W.T @ np.array(signs)[kept]))
            residual = t - self.X[:, kept] @ m
            best = min(best, np.sum(residual**2) + self.lasso * np.sum(np.abs(m)))
        return best

    def value(self, M):
        residual = self.Y - self.X @ M
        penalties = self.ridge * np.sum(M * M) + self.lasso * np.sum(np.abs(M))
        return np.sum(residual**2) + penalties

    def at(self, result):
        M = extended(result.M)
        return self.value(M), np.sum(self.Y**2) + np.sum((np.abs(self.X) @ np.abs(M)) ** 2)


class ReducedRank(Reference):
    """min ||Y - XB||^2 over B of rank r."""

    def __init__(self, X, Y, r):
        super().__init__("min")
        self.X, self.Y = X, Y
        Q, _ = orthonormal(X)
        if Q.shape[1] < r:
            return
        fitted = Q @ (Q.T @ Y)
        values = svd(fitted)[1]
        self.optimum = self.anywhere = np.sum((Y - fitted) ** 2) + np.sum(values[r:] ** 2)

    def at(self, result):
        inward, outward = map(extended, result.P)
        fitted = self.X @ inward.T @ outward
        return np.sum((self.Y - fitted) ** 2), np.sum(self.Y**2)


class Gaussian(Reference):
    """The negative log-likelihood of ppca, from the spectrum of the covariance."""

    def __init__(self, X, r):
        super().__init__("min")
        self.X = X
        n, d = X.shape
        values = np.zeros(d, dtype=np.longdouble)
        found = svd(X)[1] ** 2 / n
        values[: len(found)] = found
        self.noise = np.sum(values[r:]) / (d - r)
        logs = np.sum(np.log(values[:r])) + (d - r) * np.log(self.noise)
        self.optimum = self.anywhere = n * (d * np.log(2 * PI) + logs + d) / 2

    def at(self, result):
        n, d = self.X.shape
        noise = extended(result.parameters["noise_variance"])
        M = extended(result.M)
        s = svd(M)[1]
        logs = np.sum(np.log(s**2 + noise)) + (d - len(s)) * np.log(noise)
        # WW' is the inverse of G'G = MM' + noise I
        W = orthonormal(np.vstack([M.T, np.sqrt(noise) * np.eye(d)]), 0)[1]
        parts = (n * d * np.log(2 * PI), n * logs, np.sum((self.X @ W) ** 2))
        return sum(parts) / 2, sum(map(abs, parts))


PI = extended(np.pi) + extended(1.2246467991473531772e-16)


class Factors(Reference):
    """The negative log-likelihood of factor analysis, bounded by the unconstrained Gaussian's."""

    def __init__(self, X, r):
        super().__init__("min")
        self.X = X

    def at(self, result):
        n, d = self.X.shape
        psi = extended(result.parameters["noise_variances"])
        T = extended(result.M) / np.sqrt(psi)[:, None]
        U, s, _ = svd(T)
        Z = self.X / np.sqrt(psi)
        share = s**2 / (1 + s**2)
        quadratic = np.sum(Z**2) - np.sum(share * (Z @ U) ** 2)
        logs = np.sum(np.log(psi)) + np.sum(np.log1p(s**2))
        parts = (n * d * np.log(2 * PI), n * logs, np.sum(Z**2))
        return (parts[0] + parts[1] + quadratic) / 2, sum(map(abs, parts))


class Motion(Reference):
    """min ||Xdot - X M D' M'||^2 over M and D, tried at eigenvectors and at random."""

    def __init__(self, X, r, rng, skew=False, tries=30):
        super().__init__("min")
        self.states, self.moves, self.skew = (X[1:] + X[:-1]) / 2, X[1:] - X[:-1], skew
        d = X.shape[1]
        explained = orthonormal(self.states)[0]
        points = [svd(explained.T @ self.moves)[2], svd(self.states)[2]]
        points = [basis(V)[:, :r] for V in points if V.shape[1] >= r]
        points += [basis(rng.standard_normal((d, r))) for _ in range(tries)]
        lengths = np.sqrt(np.sum(self.states**2, axis=0))
        if lengths.max() > _MIXED * lengths.min():
            axes = np.eye(d, dtype=np.longdouble)
            points = [axes[:, rng.permutation(d)[:r]] for _ in range(tries)]
        points = [M for M in points if orthonormal(self.states @ M)[0].shape[1] == r]
        if points and orthonormal(self.states)[0].shape[1] == d:
            self.optimum = self.anywhere = min(map(self.value, points))

    def value(self, M):
        Y, V = self.states @ M, self.moves @ M
        if not self.skew:
            Q = orthonormal(Y)[0]
            return np.sum((self.moves - Q @ (Q.T @ V) @ M.T) ** 2)
        s, U = eigh(Y.T @ Y)
        T = U.T @ (V.T @ Y) @ U
        sums = s[:, None] + s
        D = U @ np.divide(T - T.T, sums, out=np.zeros_like(T), where=sums > 0) @ U.T
        return np.sum((self.moves - Y @ D.T @ M.T) ** 2)

    def at(self, result):
        return self.value(extended(result.M)), np.sum(self.moves**2)
