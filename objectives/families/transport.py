"""Entropic transport between the classes of the projected rows, by steps of Sinkhorn's iteration.

Of two classes with shares a and b of their rows and squared distances D: K = exp(-D/reg), u = a,
then v = b/(K'u) and u = a/(Kv), so many times; the plan is G = diag(u) K diag(v), W = <G, D>.
Derivatives are those of this W: the iteration is run backwards, by hand. Its products with K cost
most; what it adds to the derivative in K is of rank 2 `steps` and added up at once. Pairs of
classes of like sizes are padded with rows without a share, and worked on together.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from ldr.objectives.families.pairs_of_classes import Pairs, Rows
from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.solvers.errors import DataError
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.problem import Preconditioner
from ldr.solvers.records import dataclass

# Distances of a point whose plans are kept for its Hessian products, about half of all.
KEPT = 2**20
# Of a preconditioner, the least curvature relative to the largest.
_FLOOR = 1e-3
# Exponents beyond the first are taken from the nearest row; those beyond the second are zero.
_FAR, _NOTHING = 300.0, 690.0


class Workspace(threading.local):
    """Arrays by name, written over by their next use; each thread has its own.

    The pages of a new array cost more than what is computed in it.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Array:
        size = math.prod(shape)
        if name not in self._arrays or self._arrays[name].size < size:
            self._arrays[name] = np.empty(size)
        return self._arrays[name][:size].reshape(shape)


def _times(K: Array, x: Array) -> Array:
    """Kx of each pair."""
    return np.matmul(K, x[..., None])[..., 0]


def _transposed(K: Array) -> Array:
    return K.swapaxes(1, 2)


def _columns(x: Sequence[Array]) -> Array:
    return np.array(x).transpose(1, 2, 0)


class Plans:
    """Plans of pairs, and the derivatives of W in D.

    Attributes
    ----------
    K, KD : ndarray (pairs, m, m')
        KD is K o D.
    W : ndarray (pairs,)
    S : ndarray (pairs, m, m')
        dW/dD.
    """

    def __init__(
        self, A: Array, B: Array, pairs: Pairs, reg: float, steps: int, room: Workspace
    ) -> None:
        """Of D = AB', in arrays of the room."""
        self._A, self._B, self._reg, self._room = A, B, reg, room
        shape = (*A.shape[:2], B.shape[1])
        D = np.matmul(A, _transposed(B), out=room.array("KD", shape))
        farthest = float(np.maximum(D, 0.0, out=D).max())
        if math.isinf(farthest / reg):
            raise DataError(
                f"distances of X are too large for reg = {reg:g}: their squares are up to "
                f"{farthest:.2g}; divide the columns of X by their standard deviations, or take a "
                "larger reg"
            )
        E = np.multiply(D, -1.0 / reg, out=room.array("K", shape))
        self.K, u = _kernel(E, farthest / reg > _FAR, pairs.a.shares)
        self.KD = np.multiply(D, self.K, out=D)
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
        in_u = _times(self.KD, self._v[-1])
        of_W = _times(_transposed(self.KD), self._u[-1])
        found: list[tuple[Array, Array, Array, Array]] = []
        for u, v, Ku, Kv in self._steps():
            s = -in_u * u / Kv
            in_v = _times(_transposed(self.K), s)
            if not found:
                in_v += of_W
            q = -in_v * v / Ku
            found.append((in_u, in_v, s, q))
            in_u = _times(self.K, q)
        columns = [list(column) for column in zip(*found[::-1], strict=True)]
        return columns[0], columns[1], columns[2], columns[3]

    def _steps(self) -> Iterator[tuple[Array, Array, Array, Array]]:
        """u_l, v_l, K'u_{l-1} and Kv_l, the last first."""
        return zip(self._u[:0:-1], self._v[::-1], self._Ku[::-1], self._Kv[::-1], strict=True)

    @cached_property
    def S(self) -> Array:
        """K o H with H = uv' - (uv' o AB' + sum_l s_l v_l' + u_{l-1} q_l')/reg."""
        _, _, s, q = self._backwards
        u, v = self._u[-1], self._v[-1]
        left = [u[..., None], u[..., None] * self._A, _columns([*s, *self._u[:-1]])]
        right = [v[..., None], v[..., None] * self._B, _columns([*self._v, *q])]
        right[1:] = [columns * (-1.0 / self._reg) for columns in right[1:]]
        return self._of_kernel(left, right, self._room.array("S", self.K.shape))

    def _of_kernel(self, left: list[Array], right: list[Array], out: Array) -> Array:
        """K o LR'."""
        L, R = np.concatenate(left, -1), np.concatenate(right, -1)
        product = np.matmul(L, _transposed(R), out=out)
        return np.multiply(product, self.K, out=product)

    def change(self, A: Array, B: Array, room: Workspace) -> Array:
        """The derivative of S along dD = AB': every line of the above, in its order."""
        K, reg, last = self.K, self._reg, len(self._v)
        u, v = self._u, self._v
        in_u, in_v, s, q = self._backwards
        dE = np.matmul(A * (-1.0 / reg), _transposed(B), out=room.array("dE", K.shape))
        dK = np.multiply(K, dE, out=room.array("dK", K.shape))
        dK_vq = np.matmul(dK, _columns([*v, *q]))
        dK_us = np.matmul(_transposed(dK), _columns([*u, *s]))
        KD_dE = np.multiply(self.KD, dE, out=dK)
        du, dv = [np.zeros_like(u[0])], list[Array]()
        dKu, dKv = list[Array](), list[Array]()
        for k in range(last):
            dKu.append(dK_us[..., k] + _times(_transposed(K), du[k]))
            dv.append(-v[k] * dKu[k] / self._Ku[k])
            dKv.append(dK_vq[..., k] + _times(K, dv[k]))
            du.append(-u[k + 1] * dKv[k] / self._Kv[k])
        in_du = _times(KD_dE, v[-1]) - reg * dK_vq[..., last - 1] + _times(self.KD, dv[-1])
        in_dv = _times(_transposed(KD_dE), u[-1]) - reg * dK_us[..., last]
        in_dv += _times(_transposed(self.KD), du[-1])
        ds, dq = [np.zeros(0)] * last, [np.zeros(0)] * last
        for k in reversed(range(last)):
            up = in_du * u[k + 1] + in_u[k] * du[k + 1] + s[k] * dKv[k]
            ds[k] = -up / self._Kv[k]
            in_dv = in_dv + dK_us[..., last + 1 + k] + _times(_transposed(K), ds[k])
            dq[k] = -(in_dv * v[k] + in_v[k] * dv[k] + q[k] * dKu[k]) / self._Ku[k]
            in_du, in_dv = dK_vq[..., last + k] + _times(K, dq[k]), np.zeros_like(in_dv)
        plan, du_, dv_ = u[-1][..., None], du[-1][..., None], dv[-1][..., None]
        left = [du_, plan, du_ * self._A, plan * self._A, plan * A]
        right = [v[-1][..., None], dv_]
        right += [v[-1][..., None] * self._B, dv_ * self._B, v[-1][..., None] * B]
        left.append(_columns([*ds, *s, *du[:-1], *u[:-1]]))
        right.append(_columns([*v, *dv, *q, *dq]))
        right[2:] = [columns * (-1.0 / reg) for columns in right[2:]]
        dS = self._of_kernel(left, right, room.array("dS", K.shape))
        dS += np.multiply(dE, self.S, out=dE)
        return dS


def _kernel(E: Array, far: bool, a: Array) -> tuple[Array, Array]:
    """K = exp(E) and u_0 = a. Where that is nothing but zeros, diag(x) K diag(y) and a/x.

    Every row and column of it has a 1, so that no step divides by zero; G and W are the same.
    """
    u = a
    if far:
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
        """One after the other, in the same arrays."""
        room = self._problem.workspace
        return self._made(lambda: room)

    @cached_property
    def _kept(self) -> list[tuple[Pairs, Plans]]:
        return list(self._made(Workspace))

    @property
    def _for_products(self) -> Iterable[tuple[Pairs, Plans]]:
        few = sum(pairs.numbers for pairs in self._problem.pairs) <= KEPT
        return self._kept if few else self.plans()

    def _made(self, room: Callable[[], Workspace]) -> Iterator[tuple[Pairs, Plans]]:
        Y, ones = self.Y, np.ones(len(self.Y))
        squares = np.einsum("ij,ij->i", Y, Y)
        left, right = (
            np.column_stack([-2.0 * Y, squares, ones]),
            np.column_stack([Y, ones, squares]),
        )
        for pairs in self._problem.pairs:
            check()
            A, B = left[pairs.a.rows], right[pairs.b.rows]
            yield pairs, Plans(A, B, pairs, self._problem.reg, self._problem.steps, room())

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """W and s, within and between."""
        W, s = np.zeros(2), np.zeros((2, *self.Y.shape))
        for pairs, plans in self.plans():
            np.add.at(W, pairs.kinds, plans.W)
            _add_laplacian(s, plans.S, pairs, self.Y1)
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
        dY1 = np.column_stack([dY, ones])
        left = 2.0 * np.column_stack([-Y, -dY, own, ones])
        right = np.column_stack([dY, Y, ones, own])
        room = self._problem.workspace
        for pairs, plans in self._for_products:
            change = plans.change(left[pairs.a.rows], right[pairs.b.rows], room)
            _add_laplacian(c, change, pairs, self.Y1)
            _add_laplacian(c, plans.S, pairs, dY1)
        f, share = W[0] / W[1], self._problem.share
        dW = [float(np.vdot(of_kind, dY)) for of_kind in s]
        df = (dW[0] - f * dW[1]) / W[1]
        return (share * (c[0] - f * c[1] - df * s[1]) - dW[1] * self.slope) / W[1]

    def of_frozen_plans(self) -> Array:
        """H of the gradient HM, (d, d): 2X'(L(S_0) - f L(S_1))X/W_1, the Laplacians of S."""
        X, d = self.X, self.X.shape[1]
        W, degrees, cross = np.zeros(2), np.zeros((2, len(X))), np.zeros((2, d, d))
        for pairs, plans in self.plans():
            kinds, S, A = pairs.kinds, plans.S, X[pairs.a.rows]
            np.add.at(W, kinds, plans.W)
            np.add.at(degrees, (kinds[:, None], pairs.a.rows), S.sum(axis=2))
            np.add.at(degrees, (kinds[:, None], pairs.b.rows), S.sum(axis=1))
            moved = np.matmul(S, X[pairs.b.rows])
            for kind in (0, 1):
                own = kinds == kind
                cross[kind] += A[own].reshape(-1, d).T @ moved[own].reshape(-1, d)
        signs = 2.0 * self._problem.share / W[1] * np.array([1.0, -W[0] / W[1]])
        C = np.tensordot(signs, cross, axes=1)
        return X.T @ ((signs @ degrees)[:, None] * X) - C - C.T

    def of_coordinates(self) -> Array:
        """What each column of Y adds to W, within and between: (2, r)."""
        s = np.zeros((2, *self.Y.shape))
        for pairs, plans in self.plans():
            _add_laplacian(s, plans.G, pairs, self.Y1)
        return np.asarray(0.5 * np.einsum("ij,kij->kj", self.Y, s))


def _add_laplacian(total: Array, S: Array, pairs: Pairs, Y1: Array) -> None:
    """Add 2 L(S)Y of the pairs to the total of their kind, (2, n, r), from [Y, 1]."""
    kinds = pairs.kinds[:, None]
    A, B = Y1[pairs.a.rows], Y1[pairs.b.rows]
    for rows, own, moved in (
        (pairs.a.rows, A, np.matmul(S, B)),
        (pairs.b.rows, B, np.matmul(_transposed(S), A)),
    ):
        degrees, sums = moved[..., -1:], moved[..., :-1]
        np.add.at(total, (kinds, rows), 2.0 * (degrees * own[..., :-1] - sums))


@dataclass(frozen=True)
class Transport(Projected):
    """The ratio of transport within classes to that between them, on the Grassmann manifold.

    Parameters
    ----------
    codes : ndarray of int (n,)
        Of the classes.
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
    def workspace(self) -> Workspace:
        return Workspace()

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
