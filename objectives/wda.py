"""Wasserstein discriminant analysis (WDA), by entropic transport between projected classes.

Two classes have rows of weights a and b, and squared distances D. With K = exp(-D/reg) and u = a,
Sinkhorn's iteration repeats v = b/(K'u), u = a/(Kv). The transport plan is G = diag(u) K diag(v),
and the transport cost is W = <G, D>. As W depends on the order of the two classes after few steps,
the class with the smaller total variance comes first. The derivatives of W are exact, by reverse
differentiation.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product

import numpy as np

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.families.projected import DenseRows, Projected, ProjectedPoint
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, whole
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.problem import BoundObjective, Certificate, restated
from ldr.objectives.starts import principal_directions, sliced_directions
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.sums import Codes, weighted
from ldr.objectives.view import Axes, Range
from ldr.solvers.deadline import check
from ldr.solvers.descent import LBFGS
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.eigen import orthogonal_to, range_basis, top_eigenvectors
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.problem import Preconditioner

# Number of distances that fit into the cache, and share of a larger class's size above which a
# smaller class is padded to that size.
_NUMBERS, _LIKE = 2**16, 0.75


@dataclass(frozen=True)
class Pairs:
    """Pairs of classes a and b, padded to equal sizes.

    - a, b (p, m): rows of the two classes of each pair
    - a_shares, b_shares (p, m): weight of each row
    - kinds (p,): 0 within a class, 1 between two classes
    """

    a: Codes
    b: Codes
    a_shares: Array
    b_shares: Array
    kinds: Codes

    @classmethod
    def of(cls, X: Array, codes: Codes, weights: Array | None) -> list[Pairs]:
        """Return each pair of classes once, in groups of similar size that fit into the cache."""
        w = np.ones(len(X)) if weights is None else weights
        found, groups = [], list(_like_sizes(X, codes, w))
        for (own, a, a_shares), (others, b, b_shares) in product(groups, groups):
            i, j = np.nonzero(np.less_equal.outer(own, others))
            kinds = (own[i] != others[j]).astype(np.intp)
            step = max(1, _NUMBERS // (a.shape[1] * b.shape[1]))
            for k in (slice(start, start + step) for start in range(0, len(i), step)):
                found.append(cls(a[i[k]], b[j[k]], a_shares[i[k]], b_shares[j[k]], kinds[k]))
        return found


def _variance(X: Array, w: Array) -> float:
    shares = w / w.sum()
    return float(shares @ np.sum((X - shares @ X) ** 2, axis=1))


def _like_sizes(X: Array, codes: Codes, w: Array) -> Iterator[tuple[Codes, Codes, Array]]:
    """Yield groups of classes of similar size: ranks, rows (c, m), padded, and row weights.

    The ranks of the classes are those of their total variances.
    """
    counted = [np.flatnonzero((codes == c) & (w > 0)) for c in range(int(codes.max()) + 1)]
    ranks = np.argsort(np.argsort([_variance(X[own], w[own]) for own in counted]))
    sizes = np.array([len(own) for own in counted])
    pairs, most = np.count_nonzero(sizes) ** 2, int(sizes.max())
    # All classes are padded to equal size if the distances of all their pairs fit into the cache.
    likeness = 0.0 if pairs * most**2 <= _NUMBERS else _LIKE
    while sizes.any():
        most = int(sizes.max())
        like = np.flatnonzero((sizes > 0) & (sizes >= likeness * most))
        sizes[like] = 0
        rows, shares = np.empty((len(like), most), dtype=np.intp), np.zeros((len(like), most))
        for k, c in enumerate(like):
            own = counted[c]
            rows[k, : len(own)], rows[k, len(own) :] = own, own[0]
            shares[k, : len(own)] = w[own] / w[own].sum()
        yield ranks[like], rows, shares


_EPS = float(np.finfo(float).eps)
# The preconditioner raises curvatures to at least this share of the largest curvature.
_FLOOR = 1e-3
# Largest magnitude of the kernel's negative exponents: without rescaling, and after rescaling.
_FAR, _NOTHING = 300.0, 690.0


class Room(threading.local):
    """Reusable arrays by name, separate for each thread.

    Allocating the arrays again would take more time than the computation.
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
    """Transport plans of pairs of classes, and derivatives of the costs W in the distances D.

    - K, KD: K, and the entrywise product K o D
    - W (pairs,)
    - S: dW/dD
    """

    def __init__(
        self, A: Array, B: Array, pairs: Pairs, reg: float, steps: int, room: Room
    ) -> None:
        """Compute the plans for D = AB', in the arrays of `room`."""
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
        self.K, u = _kernel(E, farthest / reg > _FAR, pairs.a_shares)
        self.KD = np.multiply(D, self.K, out=D)
        # Sinkhorn's iterates u_0, ..., u_k and v_1, ..., v_k, with the products K'u and Kv.
        self._u, self._v = [u], list[Array]()
        self._Ku, self._Kv = list[Array](), list[Array]()
        for _ in range(steps):
            self._Ku.append(_times(_transposed(self.K), self._u[-1]))
            self._v.append(pairs.b_shares / self._Ku[-1])
            self._Kv.append(_times(self.K, self._v[-1]))
            self._u.append(pairs.a_shares / self._Kv[-1])

    @property
    def G(self) -> Array:
        return self._u[-1][..., None] * self.K * self._v[-1][:, None, :]

    @cached_property
    def _KDv(self) -> Array:
        return _times(self.KD, self._v[-1])

    @property
    def W(self) -> Array:
        return np.einsum("pi,pi->p", self._u[-1], self._KDv)

    @property
    def S(self) -> Array:
        """The entrywise product of K and H = uv' - (uv' o AB' + sum_l s_l v_l' + u_{l-1} q_l')/reg.

        The vector s_l is the derivative of W in Kv_l, and q_l that in K'u_{l-1}, computed from the
        last step to the first.
        """
        in_u, in_v = self._KDv, _times(_transposed(self.KD), self._u[-1])
        s, q = list[Array](), list[Array]()
        steps = zip(self._u[:0:-1], self._v[::-1], self._Ku[::-1], self._Kv[::-1], strict=True)
        for u, v, Ku, Kv in steps:
            s.append(-in_u * u / Kv)
            in_v = in_v + _times(_transposed(self.K), s[-1])
            q.append(-in_v * v / Ku)
            in_u, in_v = _times(self.K, q[-1]), np.zeros_like(in_v)
        plan, v = self._u[-1][..., None], self._v[-1][..., None]
        left = [plan, plan * self._A, _columns([*s[::-1], *self._u[:-1]])]
        right = [v, v * self._B / -self._reg, _columns([*self._v, *q[::-1]]) / -self._reg]
        L, R = np.concatenate(left, -1), np.concatenate(right, -1)
        product = np.matmul(L, _transposed(R), out=self._room.array("S", self.K.shape))
        return np.multiply(product, self.K, out=product)


def _kernel(E: Array, far: bool, a: Array) -> tuple[Array, Array]:
    """Return K = exp(E) and u_0 = a, or if K is zero diag(x) K diag(y) and a/x.

    Each row and column of the scaled K has an entry 1, which avoids a division by zero; G and W do
    not change.
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
    """f is proportional to W_0/W_1, the sums of transport costs W within and between classes.

    Up to a factor, the derivative of f in Y is (s_0 - f s_1)/W_1 with s_0 and s_1, the derivatives
    of W_0 and W_1.
    """

    def __init__(self, problem: Transport, M: Array) -> None:
        super().__init__(problem.X, M)
        self._problem, self._factor = problem, problem.share

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self._problem.sums(self.Y)

    @property
    def costs(self) -> Array:
        """The sums W_0 and W_1."""
        return self._sums[0]

    @cached_property
    def value(self) -> float:
        W = self._sums[0]
        return self._factor * float(W[0] / W[1])

    @cached_property
    def slope(self) -> Array:
        return self._slope(*self._sums)

    def _slope(self, W: Array, s: Array) -> Array:
        return (self._factor / W[1]) * (s[0] - (W[0] / W[1]) * s[1])

    def curvature(self, dY: Array) -> Array:
        """Approximate phi''(Y)[dY] by a central difference, nearly as cheap as an exact product.

        The step of the difference balances the truncation error, quadratic in the step, and
        rounding errors of the exponents -D/reg.
        """
        longest, scale = np.abs(dY).max(), math.sqrt(self._problem.reg)
        if not longest > 0:
            return np.zeros_like(dY)
        size = np.abs(self.Y).max() / scale
        h = (_EPS * max(1.0, size * size)) ** (1 / 3) * min(1.0, size) * scale / longest
        ahead, behind = (self._slope(*self._problem.sums(self.Y + t * dY)) for t in (h, -h))
        return (ahead - behind) / (2.0 * h)

    def of_frozen_plans(self) -> Array:
        """Return the d x d matrix H; for fixed transport plans the gradient is HM."""
        X, d = self.X, self.X.shape[1]
        W, degrees, cross = np.zeros(2), np.zeros((2, len(X))), np.zeros((2, d, d))
        for pairs, plans in self._problem.plans(self.Y):
            kinds, S, A = pairs.kinds, plans.S, X[pairs.a]
            np.add.at(W, kinds, plans.W)
            np.add.at(degrees, (kinds[:, None], pairs.a), S.sum(axis=2))
            np.add.at(degrees, (kinds[:, None], pairs.b), S.sum(axis=1))
            moved = np.matmul(S, X[pairs.b])
            for kind in (0, 1):
                own = kinds == kind
                cross[kind] += A[own].reshape(-1, d).T @ moved[own].reshape(-1, d)
        signs = 2.0 * self._factor / W[1] * np.array([1.0, -W[0] / W[1]])
        C = np.tensordot(signs, cross, axes=1)
        return X.T @ ((signs @ degrees)[:, None] * X) - C - C.T

    def of_coordinates(self) -> Array:
        """Return each component's contribution to the costs W within and between classes."""
        s = np.zeros((2, *self.Y.shape))
        for pairs, plans in self._problem.plans(self.Y):
            _add_laplacian(s, plans.G, pairs, self.Y1)
        return np.asarray(0.5 * np.einsum("ij,kij->kj", self.Y, s))


def _add_laplacian(total: Array, S: Array, pairs: Pairs, Y1: Array) -> None:
    """Add 2 L(S)Y of the pairs to the total of their kind, (2, n, r), from [Y, 1]."""
    kinds = pairs.kinds[:, None]
    A, B = Y1[pairs.a], Y1[pairs.b]
    for rows, own, moved in (
        (pairs.a, A, np.matmul(S, B)),
        (pairs.b, B, np.matmul(_transposed(S), A)),
    ):
        degrees, sums = moved[..., -1:], moved[..., :-1]
        np.add.at(total, (kinds, rows), 2.0 * (degrees * own[..., :-1] - sums))


_POINTS = (
    "some M project each class to a single point, where the ratio is 0; the result is the one with "
    "the largest distances between the classes. This M may not separate new rows: lda with ridge= "
    "or shrinkage='auto' takes the variation within classes into account"
)
_NO_COST = (
    "the value is a rounding error: reg is so small, compared with squared distances of rows, that "
    "transport within or between classes costs nothing; give a larger reg, or standardise=True"
)
# Two parameters of L-BFGS: number of steps before the first preconditioner, number of stored steps.
# Storing 100 steps instead of 20 saves a third of the evaluations.
_RENEWAL, _MEMORY = 5, 100
# Number of rows above which only pairs of rows within random batches are used.
_MOST_ROWS = 10_000


@dataclass(frozen=True)
class WDA(Objective, weighted=True, by_pairs=True, predicts="classes", sparse=False):
    r"""Wasserstein discriminant analysis (WDA).

    .. math:: \min_{M'M=I} \frac{\sum_c W(c, c)}{\sum_{c < c'} W(c, c')}

    The transport cost is W(c, c') = sum_ij G_ij D_ij with D_ij = ||M'(x_i - x_j)||^2, where G is
    the transport plan between the classes c and c' after `iterations` steps of Sinkhorn's iteration
    with the kernel exp(-D/reg). After a finite number of steps the transport plan from c to c'
    differs from that from c' to c; c is the class with the smaller total variance, so that the
    order of the labels does not matter. If the regularisation reg is large, the plan pairs all
    samples, and the objective is a trace ratio as in orthogonal-lda. If reg is small, the plan
    pairs only near samples, so that a class may have several clusters. P = M'. Local optima exist:
    the default starts are the solution for infinite reg (the baseline), orthogonal-lda and pca.
    With fewer samples than features some M map every class to a point, so that the value is 0.
    Among several M of value 0 that with the largest squared distances of class means is returned.

    An evaluation takes O(iterations n^2) time and memory for the distances between the two largest
    classes. For more than 10,000 samples, and for samples in files, the samples are divided into
    random batches, and only distances within a batch are computed.

    Use it instead of orthogonal-lda if classes have several clusters or other shapes; reg
    determines the scale of distances. Do not use it for Gaussian classes: take orthogonal-lda,
    which gives nearly the same M in less time.

    Source: Flamary, Cuturi, Courty & Rakotomamonjy 2018.

    Parameters
    ----------
    reg : float
        Weight of the entropy, in units of X squared; standardise features if their units differ.
    iterations : int
        Number of Sinkhorn iterations. In POT c is the class of the smaller label; W(c, c') and
        W(c', c) agree more closely after more iterations.
    """

    name = "wda"
    sense = "min"
    needs = (Need.LABELS,)
    baseline = "the trace ratio of an infinite reg"

    reg: float = number(1.0, positive=True, power=2)
    iterations: int = whole(10, 1)

    def order(self, data: Data) -> int:
        """Return the number of rows, or of sampled rows: arrays are n x n."""
        rows = data.samples.n if data.samples.n_known else 0
        return max(super().order(data), rows if rows <= _MOST_ROWS else 0)

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        if samples.in_pieces or samples.d <= samples.n > _MOST_ROWS:
            if samples.weights is not None:
                raise ArgumentError(
                    f"wda takes sample_weight= only for at most {_MOST_ROWS} rows in memory"
                )
            from ldr.objectives.families.pairwise import in_batches

            columns = partial(self._transport, restricted=False)
            batches = in_batches(self, data, r, smallest_class=2, bind=columns)
            bound: BoundObjective = replace(batches, unit=1.0 / samples.n)
        else:
            bound = self._transport(data, r)
        return restated(bound, answers=GroupedRows.of(data))

    def _transport(self, data: Data, r: int, *, restricted: bool = True) -> Transport:
        """Return the problem on the range of the total scatter."""
        rows, (codes, classes) = DenseRows.centred(data, self), data.labels
        X, view, weights = rows.X, rows.view, rows.weights
        groups = _counted_alike(X, codes, len(classes), weights)
        points = None
        if restricted:
            kept = Range.of(groups.total, view.coordinates, "the total scatter")
            X, view = np.ascontiguousarray(kept.rows(X.T).T), view.within(kept)
            groups = groups.through(kept.lift(np.eye(kept.rank)))
            points = _to_points(groups, r)
        heuristics = {
            "trace ratio": lambda: trace_ratio_directions(X, groups, weights, r),
            "orthogonal-lda": lambda: sliced_directions(X, codes, r, weights),
            "pca": lambda: principal_directions(weighted(X, weights), r),
        }
        return Transport(
            self,
            (view if points is None else view.noting(_POINTS),),
            X,
            r,
            codes,
            self.reg,
            self.iterations,
            w=weights,
            points=points,
            heuristics=heuristics if points is None else {"points": lambda: points},
        )


def _counted_alike(X: Array, codes: Codes, classes: int, weights: Array | None) -> ClassMoments:
    """S_W = sum_c C_c and S_B = sum_c (mu_c - mu)(mu_c - mu)', with mu the mean of the mu_c."""
    counts = np.ones(len(X)) if weights is None else weights
    shares = counts / np.bincount(codes, counts, classes)[codes]
    return class_moments(Samples(X, marks=Marks(weights=shares)), codes, classes)


def _to_points(groups: ClassMoments, r: int) -> Array | None:
    """Return the M with M'S_W M = 0 and largest tr(M'S_B M); None if no such M exists."""
    Q = range_basis(groups.within)
    if Q is None or r > len(Q) - Q.shape[1]:
        return None
    N = orthogonal_to(Q)
    return N @ top_eigenvectors(N.T @ groups.between @ N, r)[1]


def trace_ratio_directions(X: Array, groups: ClassMoments, weights: Array | None, r: int) -> Array:
    """Minimise tr(M'(2 sum_c C_c)M) / tr(M'(sum_{c<c'} C_c + C_c' + dd')M), d = mu_c - mu_c'.

    The matrix C_c is the covariance of class c, and mu_c its mean. The algorithm is Dinkelbach's.
    """
    c = len(groups.means)
    within, between = 2.0 * groups.within, (c - 1) * groups.within + c * groups.between
    best = M = principal_directions(weighted(X, weights), r)
    last, rounding = np.inf, len(X) * _EPS
    while last > rounding:  # a ratio that is zero cannot decrease further
        w, b = (float(np.vdot(M, S @ M)) for S in (within, between))
        if not (b > 0 and w / b < last):
            break
        best, last = M, w / b
        M = top_eigenvectors(last * between - within, r)[1]
    return best


@dataclass(frozen=True)
class Transport(Projected):
    """Problem of the ratio of transport within classes to transport between classes.

    - codes (n,): class codes
    - share: factor of the ratio in the value
    - points (k, r): the optimal M if some M map every class to a point, else None
    """

    codes: Codes
    reg: float
    steps: int
    share: float = 1.0
    points: Array | None = field(default=None, kw_only=True)

    preconditioner_cost = 2

    @cached_property
    def room(self) -> Room:
        return Room()

    @cached_property
    def pairs(self) -> list[Pairs]:
        return Pairs.of(self.X, self.codes, self.w)

    def plans(self, Y: Array) -> Iterator[tuple[Pairs, Plans]]:
        """Yield the plans of rows Y one after the other, in reused arrays."""
        ones, squares = np.ones(len(Y)), np.einsum("ij,ij->i", Y, Y)
        left = np.column_stack([-2.0 * Y, squares, ones])
        right = np.column_stack([Y, ones, squares])
        for pairs in self.pairs:
            check()
            yield (
                pairs,
                Plans(left[pairs.a], right[pairs.b], pairs, self.reg, self.steps, self.room),
            )

    def sums(self, Y: Array) -> tuple[Array, Array]:
        """Return the sums of W and of their derivatives s, within and between classes."""
        W, s, Y1 = np.zeros(2), np.zeros((2, *Y.shape)), np.column_stack([Y, np.ones(len(Y))])
        for pairs, plans in self.plans(Y):
            np.add.at(W, pairs.kinds, plans.W)
            _add_laplacian(s, plans.S, pairs, Y1)
        if not W[1] > 0:
            raise DataError("the classes of X coincide in the projection: their distances are 0")
        return W, s

    def at(self, M: Array) -> TransportPoint:
        return TransportPoint(self, M)

    def preconditioner(self, M: Array) -> Preconditioner | None:
        """Return the inverse of |U -> HU - U M'HM|, the Hessian's magnitude for fixed plans."""
        H = self.at(M).of_frozen_plans()
        multipliers, R = np.linalg.eigh(sym(M.T @ H @ M))
        across = H - M @ (M.T @ H)
        across = sym(across - (across @ M) @ M.T)
        bound = np.abs(across).sum(axis=1).max() + np.abs(multipliers).max()
        # A multiple of MM' is added so that eigenvectors in the span of M come last.
        values, V = np.linalg.eigh(across + 2.0 * bound * (M @ M.T))
        curvatures = np.abs(values[:, None] - multipliers)
        steepest = curvatures[: -len(multipliers)].max(initial=0.0)
        if not steepest > 0:
            return None
        curvatures = np.clip(curvatures, _FLOOR * steepest, steepest)

        def apply(N: Array, U: Array) -> Array:
            Z = V @ ((V.T @ U @ R) / curvatures) @ R.T
            return Z - N @ (N.T @ Z)

        return apply

    def closed_form(self) -> Array | None:
        return self.points

    def certificate(self, M: Array) -> Certificate | None:
        """Return "global" for a ratio of 0 up to rounding, because no ratio is negative."""
        point = self.at(M)
        value, rounding = point.value, len(self.X) * _EPS
        seen = point.costs[1] > rounding * float(np.mean(point.Y**2))
        if seen and value > rounding * self.share:
            return None
        if self.points is None:
            return Certificate("none", math.inf, _NO_COST)
        return Certificate("global", value, "each class is projected to a point: the ratio is 0")

    @property
    def follows(self) -> bool:
        return self.points is None

    def specialist(self) -> LBFGS:
        return LBFGS(memory=_MEMORY, renewal=_RENEWAL)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return each component's transport within and between classes, and their ratio.

        The value is the mean of the ratios, weighted by shares of the transport between classes.
        """
        within, between = self.at(M).of_coordinates()
        total = between.sum()
        ratio = np.divide(within, between, where=between > 0, out=np.zeros_like(within))
        return {"ratio": ratio, "share": between / total, "within": within, "between": between}

    def on(self, rows: Array, codes: Codes, *, w: None) -> Transport | None:
        """Return the problem of new rows; the value is multiplied by their number."""
        present, codes = np.unique(codes, return_inverse=True)
        if len(present) < 2:
            return None
        X = rows - self.views[0].mean
        return replace(self, X=X, codes=codes, share=float(len(rows)))
