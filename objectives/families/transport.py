"""Entropic transport between the classes of the projected rows, by steps of Sinkhorn's iteration.

Of two classes with shares a and b of their rows and squared distances D: K = exp(-D/reg), u = a,
then v = b/(K'u) and u = a/(Kv), so many times; the plan is G = diag(u) K diag(v), W = <G, D>.
Derivatives are those of this W: the iteration is run backwards, by hand. Its products with K cost
most; what it adds to the derivative in K is of rank 2 `steps` and added up at once. Pairs of
classes of like sizes are padded with rows without a share, and worked on together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.solvers.errors import DataError
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array

Rows = npt.NDArray[np.intp]

# Distances that are in the cache together, and the least size of a class padded to the largest.
_NUMBERS, _LIKE = 2**15, 0.75
# Exponents beyond the first are taken from the nearest row; those beyond the second are zero.
_FAR, _NOTHING = 300.0, 690.0


@dataclass(frozen=True)
class Classes:
    """Classes of like sizes: their codes, their rows, (c, m), and the share that each has."""

    codes: Rows
    rows: Rows
    shares: Array

    def __getitem__(self, which: Rows | slice) -> Classes:
        return Classes(self.codes[which], self.rows[which], self.shares[which])


@dataclass(frozen=True)
class Pairs:
    """Pairs of classes: those of `a` with those of `b`, each with itself or with a later one."""

    a: Classes
    b: Classes
    between: bool

    @classmethod
    def of(cls, codes: Rows, weights: Array | None) -> list[Pairs]:
        """All of them, so many at a time as the cache holds."""
        groups = list(_like_sizes(codes, weights))
        found = []
        for one in groups:
            found.append(cls(one, one, False))
            for other in groups:  # after few steps W(c, c') is not W(c', c): the first is moved
                i, j = np.nonzero(one.codes[:, None] < other.codes)
                found.append(cls(one[i], other[j], True))
        return [part for pairs in found for part in pairs._parts()]

    def _parts(self) -> Iterator[Pairs]:
        step = max(1, _NUMBERS // (self.a.rows.shape[1] * self.b.rows.shape[1]))
        for start in range(0, len(self.a.rows), step):
            where = slice(start, start + step)
            yield Pairs(self.a[where], self.b[where], self.between)


def _like_sizes(codes: Rows, weights: Array | None) -> Iterator[Classes]:
    """Classes by their sizes, the large ones first, filled up with their first rows."""
    w = np.ones(len(codes)) if weights is None else weights
    counted = [np.flatnonzero((codes == c) & (w > 0)) for c in range(int(codes.max()) + 1)]
    sizes = np.array([len(own) for own in counted])
    while sizes.any():
        most = int(sizes.max())
        like = np.flatnonzero(sizes >= _LIKE * most)
        sizes[like] = 0
        rows, shares = np.empty((len(like), most), dtype=np.intp), np.zeros((len(like), most))
        for k, c in enumerate(like):
            own = counted[c]
            rows[k, : len(own)], rows[k, len(own) :] = own, own[0]
            shares[k, : len(own)] = w[own] / w[own].sum()
        yield Classes(like, rows, shares)


def _times(K: Array, x: Array) -> Array:
    """Kx of each pair."""
    return np.matmul(K, x[..., None])[..., 0]


def _transposed(K: Array) -> Array:
    return K.swapaxes(1, 2)


def _outer(x: Array, y: Array) -> Array:
    return x[:, :, None] * y[:, None, :]


def _columns(x: Sequence[Array]) -> Array:
    return np.stack(x, -1)


class Plans:
    """Plans of pairs, and the derivatives of W in D.

    Attributes
    ----------
    D, K : ndarray (pairs, m, m')
    W : ndarray (pairs,)
    S : ndarray (pairs, m, m')
        dW/dD.
    """

    def __init__(self, A: Array, B: Array, pairs: Pairs, reg: float, steps: int) -> None:
        """Of D = AB'."""
        self._A, self._B, self._reg = A, B, reg
        self.D = np.matmul(A, _transposed(B))
        np.maximum(self.D, 0.0, out=self.D)
        self.K, u = _kernel(self.D * (-1.0 / reg), pairs.a.shares)
        # u_0 .. u_k, v_1 .. v_k, K'u_0 .. K'u_{k-1}, Kv_1 .. Kv_k
        self._u, self._v = [u], list[Array]()
        self._Ku, self._Kv = list[Array](), list[Array]()
        for _ in range(steps):
            self._Ku.append(_times(_transposed(self.K), self._u[-1]))
            self._v.append(pairs.b.shares / self._Ku[-1])
            self._Kv.append(_times(self.K, self._v[-1]))
            self._u.append(pairs.a.shares / self._Kv[-1])

    @property
    def G(self) -> Array:
        return _outer(self._u[-1], self._v[-1]) * self.K

    @property
    def W(self) -> Array:
        in_u = self._backwards[0]
        return np.einsum("pi,pi->p", self._u[-1], in_u[-1])

    @cached_property
    def _backwards(self) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
        """dW in u_l and v_l (through what follows), in Kv_l and in K'u_{l-1}, l = 1 .. k."""
        in_u = np.einsum("pij,pij,pj->pi", self.K, self.D, self._v[-1])
        in_v = np.einsum("pij,pij,pi->pj", self.K, self.D, self._u[-1])
        found: list[tuple[Array, Array, Array, Array]] = []
        for u, v, Ku, Kv in self._steps():
            s = -in_u * u / Kv
            in_v = in_v + _times(_transposed(self.K), s)
            q = -in_v * v / Ku
            found.append((in_u, in_v, s, q))
            in_u, in_v = _times(self.K, q), np.zeros_like(in_v)
        columns = [list(column) for column in zip(*found[::-1], strict=True)]
        return columns[0], columns[1], columns[2], columns[3]

    def _steps(self) -> Iterator[tuple[Array, Array, Array, Array]]:
        """u_l, v_l, K'u_{l-1} and Kv_l, the last first."""
        return zip(self._u[:0:-1], self._v[::-1], self._Ku[::-1], self._Kv[::-1], strict=True)

    def _H(self) -> Array:
        """S = K o H with H = uv' - (uv' o AB' + sum_l s_l v_l' + u_{l-1} q_l')/reg."""
        _, _, s, q = self._backwards
        u, v = self._u[-1], self._v[-1]
        left = [u[..., None], u[..., None] * self._A, _columns([*s, *self._u[:-1]])]
        right = [v[..., None], v[..., None] * self._B, _columns([*self._v, *q])]
        right[1:] = [columns * (-1.0 / self._reg) for columns in right[1:]]
        return np.matmul(np.concatenate(left, -1), _transposed(np.concatenate(right, -1)))

    @property
    def S(self) -> Array:
        S = self._H()
        S *= self.K
        return S

    def change(self, dD: Array) -> Array:
        """The derivative of S along dD: every line of the above, in its order."""
        K, D, reg = self.K, self.D, self._reg
        dK = K * dD / -reg
        du, dv = [np.zeros_like(self._u[0])], list[Array]()
        dKu, dKv = list[Array](), list[Array]()
        for k, v in enumerate(self._v):
            dKu.append(_times(_transposed(dK), self._u[k]) + _times(_transposed(K), du[k]))
            dv.append(-v * dKu[k] / self._Ku[k])
            dKv.append(_times(dK, v) + _times(K, dv[k]))
            du.append(-self._u[k + 1] * dKv[k] / self._Kv[k])
        KD = K * D
        dKD = dK * D
        dKD += K * dD
        in_du = _times(dKD, self._v[-1]) + _times(KD, dv[-1])
        in_dv = _times(_transposed(dKD), self._u[-1]) + _times(_transposed(KD), du[-1])
        in_u, in_v, s, q = self._backwards
        ds, dq = [np.zeros(0)] * len(s), [np.zeros(0)] * len(q)
        for k in reversed(range(len(s))):
            up = in_du * self._u[k + 1] + in_u[k] * du[k + 1] + s[k] * dKv[k]
            ds[k] = -up / self._Kv[k]
            in_dv = in_dv + _times(_transposed(dK), s[k]) + _times(_transposed(K), ds[k])
            dq[k] = -(in_dv * self._v[k] + in_v[k] * dv[k] + q[k] * dKu[k]) / self._Ku[k]
            in_du, in_dv = _times(dK, q[k]) + _times(K, dq[k]), np.zeros_like(in_dv)
        left = _columns([*ds, *s, *du[:-1], *self._u[:-1]])
        dH = np.matmul(left, _transposed(_columns([*self._v, *dv, *q, *dq])))
        dplan = _outer(du[-1], self._v[-1])
        dplan += _outer(self._u[-1], dv[-1])
        dH += dplan * D
        dD = dD * self._u[-1][:, :, None]
        dD *= self._v[-1][:, None, :]
        dH += dD
        dH *= -1.0 / reg
        dH += dplan
        dH *= K
        dK *= self._H()
        dH += dK
        return dH


def _kernel(E: Array, a: Array) -> tuple[Array, Array]:
    """K = exp(E) and u_0 = a. Where that is nothing but zeros, diag(x) K diag(y) and a/x.

    Every row and column of it has a 1, so that no step divides by zero; G and W are the same.
    """
    u = a
    if E.min() < -_FAR:
        E -= E.max(axis=1)[:, None, :]
        nearest = E.max(axis=2)
        E -= nearest[:, :, None]
        u = a * np.exp(nearest)
        np.maximum(E, -_NOTHING, out=E)
    return np.exp(E, out=E), u


class TransportPoint(ProjectedPoint):
    """f = W_0/W_1, the sums of W within classes and between them, in passes over the pairs.

    Slope (s_0 - f s_1)/W_1 and curvature (c_0 - f c_1 - df s_1 - dW_1 slope)/W_1. Of a pair, s is
    2 L(S)Y, as of other functions of distances.
    """

    def __init__(self, problem: Transport, M: Array) -> None:
        super().__init__(problem.X, M)
        self._problem = problem

    def plans(self) -> Iterator[tuple[Pairs, Plans]]:
        Y, ones = self.Y, np.ones(len(self.Y))
        squares = np.einsum("ij,ij->i", Y, Y)
        left, right = (
            np.column_stack([-2.0 * Y, squares, ones]),
            np.column_stack([Y, ones, squares]),
        )
        for pairs in self._problem.pairs:
            check()
            A, B = left[pairs.a.rows], right[pairs.b.rows]
            yield pairs, Plans(A, B, pairs, self._problem.reg, self._problem.steps)

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """W and s, within and between."""
        W, s = np.zeros(2), np.zeros((2, *self.Y.shape))
        for pairs, plans in self.plans():
            kind = int(pairs.between)
            W[kind] += plans.W.sum()
            _add_laplacian(s[kind], plans.S, pairs, self.Y)
        if not W[1] > 0:
            raise DataError("the classes of X are equal there: no distance is between them")
        return W, s

    @cached_property
    def value(self) -> float:
        W = self._sums[0]
        return self._problem.share * float(W[0] / W[1])

    @cached_property
    def slope(self) -> Array:
        W, s = self._sums
        return (self._problem.share / W[1]) * (s[0] - (W[0] / W[1]) * s[1])

    def curvature(self, dY: Array) -> Array:
        W, s = self._sums
        c = np.zeros_like(s)
        Y, ones, own = self.Y, np.ones(len(dY)), np.einsum("ij,ij->i", self.Y, dY)
        left = 2.0 * np.column_stack([-Y, -dY, own, ones])
        right = np.column_stack([dY, Y, ones, own])
        for pairs, plans in self.plans():
            dD = np.matmul(left[pairs.a.rows], _transposed(right[pairs.b.rows]))
            _add_laplacian(c[int(pairs.between)], plans.change(dD), pairs, self.Y)
            _add_laplacian(c[int(pairs.between)], plans.S, pairs, dY)
        f, share = W[0] / W[1], self._problem.share
        dW = [float(np.vdot(of_kind, dY)) for of_kind in s]
        df = (dW[0] - f * dW[1]) / W[1]
        return (share * (c[0] - f * c[1] - df * s[1]) - dW[1] * self.slope) / W[1]

    def of_coordinates(self) -> Array:
        """What each column of Y adds to W, within and between: (2, r)."""
        found = np.zeros((2, self.Y.shape[1]))
        for pairs, plans in self.plans():
            s = np.zeros_like(self.Y)
            _add_laplacian(s, plans.G, pairs, self.Y)
            found[int(pairs.between)] += 0.5 * np.einsum("ij,ij->j", self.Y, s)
        return found


def _add_laplacian(total: Array, S: Array, pairs: Pairs, Y: Array) -> None:
    """Add 2 L(S)Y of the pairs."""
    A, B = Y[pairs.a.rows], Y[pairs.b.rows]
    np.add.at(total, pairs.a.rows, 2.0 * (S.sum(axis=2)[..., None] * A - np.matmul(S, B)))
    of_b = S.sum(axis=1)[..., None] * B - np.matmul(_transposed(S), A)
    np.add.at(total, pairs.b.rows, 2.0 * of_b)


@dataclass(frozen=True)
class Transport(Projected):
    """The ratio of transport within classes to that between them, on the Grassmann manifold.

    Parameters
    ----------
    codes : ndarray of int (n,)
        Of the classes.
    reg : float
    steps : int
    weights : ndarray (n,), optional
        Of the rows.
    share : float
        The value is this times the ratio.
    """

    codes: Rows
    reg: float
    steps: int
    weights: Array | None = None
    share: float = 1.0

    @cached_property
    def pairs(self) -> list[Pairs]:
        return Pairs.of(self.codes, self.weights)

    def at(self, M: Array) -> TransportPoint:
        return TransportPoint(self, M)
