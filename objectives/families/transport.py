"""Entropic transport between the classes of the projected rows, by steps of Sinkhorn's iteration.

Of two classes with shares a and b of their rows and squared distances D: K = exp(-D/reg), u = a,
then v = b/(K'u) and u = a/(Kv), so many times; the plan is G = diag(u) K diag(v), W = <G, D>.
Derivatives are those of this W: the iteration is run backwards, by hand. Its products with K cost
most; what it adds to the derivative in K is of rank 2 `steps` and added up at once. Pairs of
classes of like sizes are padded with rows without a share, and worked on together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.solvers.errors import DataError
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.problem import Preconditioner

Rows = npt.NDArray[np.intp]

# Distances that are in the cache together, and the least size of a class padded to the largest.
_NUMBERS, _LIKE = 2**15, 0.75
# Distances of a point whose plans are kept for its Hessian products, about half of all.
KEPT = 2**20
# Of a preconditioner, the least curvature relative to the largest.
_FLOOR = 1e-3
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
    """Pairs of classes: those of `a` with those of `b`, each with itself or with a later one.

    `kinds` are 0 within a class and 1 between two.
    """

    a: Classes
    b: Classes
    kinds: Rows

    @property
    def numbers(self) -> int:
        """Distances in them."""
        return self.a.rows.size * self.b.rows.shape[1]

    @classmethod
    def of(cls, codes: Rows, weights: Array | None) -> list[Pairs]:
        """All of them, so many at a time as the cache holds."""
        groups = list(_like_sizes(codes, weights))
        found = []
        for one in groups:
            for other in groups:  # after few steps W(c, c') is not W(c', c): the first is moved
                i, j = np.nonzero(one.codes[:, None] <= other.codes)
                a, b = one[i], other[j]
                found.append(cls(a, b, (a.codes != b.codes).astype(np.intp)))
        return [part for pairs in found for part in pairs._parts()]

    def _parts(self) -> Iterator[Pairs]:
        step = max(1, _NUMBERS // (self.a.rows.shape[1] * self.b.rows.shape[1]))
        for start in range(0, len(self.kinds), step):
            where = slice(start, start + step)
            yield Pairs(self.a[where], self.b[where], self.kinds[where])


def _like_sizes(codes: Rows, weights: Array | None) -> Iterator[Classes]:
    """Classes by their sizes, the large ones first, filled up with their first rows."""
    w = np.ones(len(codes)) if weights is None else weights
    counted = [np.flatnonzero((codes == c) & (w > 0)) for c in range(int(codes.max()) + 1)]
    sizes = np.array([len(own) for own in counted])
    pairs, most = np.count_nonzero(sizes) * (np.count_nonzero(sizes) + 1) // 2, int(sizes.max())
    likeness = 0.0 if pairs * most**2 <= _NUMBERS else _LIKE  # all at once
    while sizes.any():
        most = int(sizes.max())
        like = np.flatnonzero((sizes > 0) & (sizes >= likeness * most))
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
        return self._u[-1][..., None] * self.K * self._v[-1][:, None, :]

    @property
    def W(self) -> Array:
        in_u = self._backwards[0]
        return np.einsum("pi,pi->p", self._u[-1], in_u[-1])

    @cached_property
    def _backwards(self) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
        """dW in u_l and v_l (through what follows), in Kv_l and in K'u_{l-1}, l = 1 .. k."""
        in_u = _times(self._KD, self._v[-1])
        in_v = _times(_transposed(self._KD), self._u[-1])
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

    @cached_property
    def _KD(self) -> Array:
        return self.K * self.D

    @cached_property
    def S(self) -> Array:
        """K o H with H = uv' - (uv' o AB' + sum_l s_l v_l' + u_{l-1} q_l')/reg."""
        _, _, s, q = self._backwards
        u, v = self._u[-1], self._v[-1]
        left = [u[..., None], u[..., None] * self._A, _columns([*s, *self._u[:-1]])]
        right = [v[..., None], v[..., None] * self._B, _columns([*self._v, *q])]
        right[1:] = [columns * (-1.0 / self._reg) for columns in right[1:]]
        S = np.matmul(np.concatenate(left, -1), _transposed(np.concatenate(right, -1)))
        S *= self.K
        return S

    def change(self, A: Array, B: Array) -> Array:
        """The derivative of S along dD = AB': every line of the above, in its order."""
        K, reg, last = self.K, self._reg, len(self._v)
        u, v = self._u, self._v
        in_u, in_v, s, q = self._backwards
        dD = np.matmul(A, _transposed(B))
        dD *= -1.0 / reg
        dK = K * dD
        dK_vq = np.matmul(dK, _columns([*v, *q]))
        dK_us = np.matmul(_transposed(dK), _columns([*u[:-1], *s]))
        du, dv = [np.zeros_like(u[0])], list[Array]()
        dKu, dKv = list[Array](), list[Array]()
        for k in range(last):
            dKu.append(dK_us[..., k] + _times(_transposed(K), du[k]))
            dv.append(-v[k] * dKu[k] / self._Ku[k])
            dKv.append(dK_vq[..., k] + _times(K, dv[k]))
            du.append(-u[k + 1] * dKv[k] / self._Kv[k])
        dKD = self.D - reg
        dKD *= dK
        in_du = _times(dKD, v[-1]) + _times(self._KD, dv[-1])
        in_dv = _times(_transposed(dKD), u[-1]) + _times(_transposed(self._KD), du[-1])
        ds, dq = [np.zeros(0)] * last, [np.zeros(0)] * last
        for k in reversed(range(last)):
            up = in_du * u[k + 1] + in_u[k] * du[k + 1] + s[k] * dKv[k]
            ds[k] = -up / self._Kv[k]
            in_dv = in_dv + dK_us[..., last + k] + _times(_transposed(K), ds[k])
            dq[k] = -(in_dv * v[k] + in_v[k] * dv[k] + q[k] * dKu[k]) / self._Ku[k]
            in_du, in_dv = dK_vq[..., last + k] + _times(K, dq[k]), np.zeros_like(in_dv)
        plan, du_, dv_ = u[-1][..., None], du[-1][..., None], dv[-1][..., None]
        left = [du_, plan, du_ * self._A, plan * self._A, plan * A]
        right = [v[-1][..., None], dv_]
        right += [v[-1][..., None] * self._B, dv_ * self._B, v[-1][..., None] * B]
        left.append(_columns([*ds, *s, *du[:-1], *u[:-1]]))
        right.append(_columns([*v, *dv, *q, *dq]))
        right[2:] = [columns * (-1.0 / reg) for columns in right[2:]]
        dS = np.matmul(np.concatenate(left, -1), _transposed(np.concatenate(right, -1)))
        dS *= K
        dD *= self.S
        dS += dD
        return dS


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

    def plans(self) -> Iterable[tuple[Pairs, Plans]]:
        if self._kept is None:
            return self._made()
        return self._kept

    @cached_property
    def _kept(self) -> list[tuple[Pairs, Plans]] | None:
        few = sum(pairs.numbers for pairs in self._problem.pairs) <= KEPT
        return list(self._made()) if few else None

    def _made(self) -> Iterator[tuple[Pairs, Plans]]:
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
            np.add.at(W, pairs.kinds, plans.W)
            _add_laplacian(s, plans.S, pairs, self.Y)
        if not np.isfinite(W).all():
            largest = max(float(plans.D.max()) for _, plans in self.plans())
            raise DataError(
                f"distances of X are too large for reg = {self._problem.reg:g}: their squares are "
                f"up to {largest:.2g}; divide the columns of X by their standard deviations, or "
                "take a larger reg"
            )
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
            change = plans.change(left[pairs.a.rows], right[pairs.b.rows])
            _add_laplacian(c, change, pairs, self.Y)
            _add_laplacian(c, plans.S, pairs, dY)
        f, share = W[0] / W[1], self._problem.share
        dW = [float(np.vdot(of_kind, dY)) for of_kind in s]
        df = (dW[0] - f * dW[1]) / W[1]
        return (share * (c[0] - f * c[1] - df * s[1]) - dW[1] * self.slope) / W[1]

    def of_frozen_plans(self) -> Array:
        """H of the gradient HM, (d, d): 2X'(L(S_0) - f L(S_1))X/W_1, the Laplacians of S."""
        X, W = self.X, self._sums[0]
        signs = 2.0 * self._problem.share / W[1] * np.array([1.0, -W[0] / W[1]])
        d = X.shape[1]
        degrees, cross = np.zeros(len(X)), np.zeros((d, d))
        for pairs, plans in self.plans():
            S = plans.S * signs[pairs.kinds][:, None, None]
            np.add.at(degrees, pairs.a.rows, S.sum(axis=2))
            np.add.at(degrees, pairs.b.rows, S.sum(axis=1))
            cross += X[pairs.a.rows].reshape(-1, d).T @ np.matmul(S, X[pairs.b.rows]).reshape(-1, d)
        return X.T @ (degrees[:, None] * X) - cross - cross.T

    def of_coordinates(self) -> Array:
        """What each column of Y adds to W, within and between: (2, r)."""
        s = np.zeros((2, *self.Y.shape))
        for pairs, plans in self.plans():
            _add_laplacian(s, plans.G, pairs, self.Y)
        return np.asarray(0.5 * np.einsum("ij,kij->kj", self.Y, s))


def _add_laplacian(total: Array, S: Array, pairs: Pairs, Y: Array) -> None:
    """Add 2 L(S)Y of the pairs to the total of their kind, (2, n, r)."""
    A, B, kinds = Y[pairs.a.rows], Y[pairs.b.rows], pairs.kinds[:, None]
    of_a = S.sum(axis=2)[..., None] * A - np.matmul(S, B)
    np.add.at(total, (kinds, pairs.a.rows), 2.0 * of_a)
    of_b = S.sum(axis=1)[..., None] * B - np.matmul(_transposed(S), A)
    np.add.at(total, (kinds, pairs.b.rows), 2.0 * of_b)


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

    preconditioner_cost = 2

    @cached_property
    def pairs(self) -> list[Pairs]:
        return Pairs.of(self.codes, self.weights)

    def at(self, M: Array) -> TransportPoint:
        return TransportPoint(self, M)

    def preconditioner(self, M: Array) -> Preconditioner | None:
        """Of frozen plans the Hessian is U -> HU - U M'HM across M: its inverse, made positive."""
        H = self.at(M).of_frozen_plans()
        multipliers, R = np.linalg.eigh(sym(M.T @ H @ M))
        across = H - M @ (M.T @ H)
        across = sym(across - (across @ M) @ M.T)
        bound = np.abs(across).sum(axis=1).max() + np.abs(multipliers).max()
        values, V = np.linalg.eigh(across + 2.0 * bound * (M @ M.T))  # M's come last
        curvatures = np.abs(values[:, None] - multipliers)
        steepest = curvatures[: -len(multipliers)].max(initial=0.0)
        if not steepest > 0:
            return None
        curvatures = np.clip(curvatures, _FLOOR * steepest, steepest)

        def apply(N: Array, U: Array) -> Array:
            Z = V @ ((V.T @ U @ R) / curvatures) @ R.T
            return Z - N @ (N.T @ Z)

        return apply
