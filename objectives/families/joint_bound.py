"""Proven upper bounds of the correlation of two projected views, for orthogonal cca.

Suppose that

    Qa = ta Caa + Wa Wa' + mua I   with   |Wa|^2 + r mua <= 0,

Qb likewise, and [[Qa, -Cab], [-Cab', Qb]] >= 0. Then for all orthonormal Ma and Mb

    tr(Ma'CabMb)^2 <= tr(Ma'QaMa) tr(Mb'QbMb) <= ta tr(Ma'CaaMa) tb tr(Mb'CbbMb),

because tr(Ma'Wa Wa'Ma) <= |Wa|^2: no value exceeds sqrt(ta tb). One Cholesky decomposition proves
it, with a margin for its rounding. The candidates Qa, Qb come from the multipliers at a stationary
point, which make the bound tight where their block matrix is semidefinite, from the canonical
correlations, or from minimising the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import scipy
from scipy.linalg import block_diag

from ldr.objectives.certificate import PROVED_GLOBAL
from ldr.objectives.families.least_bound import Effort, LeastBound, Multiplier, largest_ratio
from ldr.solvers.limits import decomposing
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.linalg.products import accurate_product, product_error
from ldr.solvers.manifolds import Array, polar_factor
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass

_UNIT = 0.5 * float(np.finfo(float).eps)  # unit roundoff


@dataclass(frozen=True)
class Dual:
    """Qa and Qb, and Ma and Mb near which they attain their largest trace ratios."""

    Qa: Array
    Qb: Array
    Ma: Array
    Mb: Array

    @property
    def multipliers(self) -> tuple[Multiplier, Multiplier]:
        return Multiplier(self.Qa, self.Ma), Multiplier(self.Qb, self.Mb)


@dataclass(frozen=True)
class JointBound:
    """Bounds of tr(Ma'CabMb) / sqrt(tr(Ma'CaaMa) tr(Mb'CbbMb)) over orthonormal Ma and Mb."""

    Caa: Array
    Cab: Array
    Cbb: Array

    def multipliers(self, Ma: Array, Mb: Array) -> Dual:
        """Qa = Ma (La - a I) Ma' + a I + (N/Da) Caa with La = sym(Ma'(CabMb - (N/Da) CaaMa)).

        N = tr(Ma'CabMb), Da = tr(Ma'CaaMa), a the least eigenvalue of La. Ma and Mb are aligned
        first, so that Ma'CabMb is symmetric positive semidefinite.
        """
        Mb = Mb @ polar_factor(Mb.T @ (self.Cab.T @ Ma))
        N = float(np.vdot(Ma, self.Cab @ Mb))
        Qa = _multiplier(Ma, self.Cab @ Mb, self.Caa, N)
        Qb = _multiplier(Mb, self.Cab.T @ Ma, self.Cbb, N)
        return self._shifted(Dual(Qa, Qb, Ma, Mb))

    def _shifted(self, dual: Dual) -> Dual:
        """Qa and Qb with as much of the identity added as makes the block matrix semidefinite."""
        spectrum = scipy.linalg.eigvalsh(self._block(dual.Qa, dual.Qb), check_finite=False)
        rounding = 4 * len(spectrum) * _UNIT * float(np.abs(spectrum).max())
        shift = max(0.0, rounding - float(spectrum[0]))
        Qa, Qb = (Q + shift * np.eye(len(Q)) for Q in (dual.Qa, dual.Qb))
        return Dual(Qa, Qb, dual.Ma, dual.Mb)

    def _block(self, Qa: Array, Qb: Array) -> Array:
        return np.block([[Qa, -self.Cab], [-self.Cab.T, Qb]])

    def value(self, dual: Dual) -> float:
        """sqrt(TR(Qa, Caa) TR(Qb, Cbb)) with the largest trace ratios TR, as computed."""
        ta, _ = largest_ratio(dual.Qa, self.Caa, dual.Ma)
        tb, _ = largest_ratio(dual.Qb, self.Cbb, dual.Mb)
        return math.sqrt(ta) * math.sqrt(tb)

    def proven(self, dual: Dual) -> float:
        """The bound that one Cholesky decomposition proves; infinite where none does."""
        null = np.concatenate([dual.Ma, dual.Mb])
        ratios = proven_ratios(dual.multipliers, (self.Caa, self.Cbb), self._coupling, null)
        if not all(0 < t < math.inf for t in ratios):
            return math.inf
        return math.prod(map(math.sqrt, ratios)) * (1 + 8 * _UNIT)

    @cached_property
    def _coupling(self) -> Array:
        da, db = self.Cab.shape
        return np.block([[np.zeros((da, da)), self.Cab], [self.Cab.T, np.zeros((db, db))]])

    def minimised(self, dual: Dual, value: float, excess: float, products: int) -> Dual:
        """Near the least bound: see `LeastBound.minimised`."""
        ta, _ = largest_ratio(dual.Qa, self.Caa, dual.Ma)
        tb, _ = largest_ratio(dual.Qb, self.Cbb, dual.Mb)
        if not (ta > 0 and tb > 0):  # a view in which nothing varies
            return dual
        # The product of the ratios is the bound: their mean is least where they are equal.
        balance = math.sqrt(tb / ta)
        start = Multiplier(balance * dual.Qa, dual.Ma), Multiplier(dual.Qb / balance, dual.Mb)
        search = LeastBound(self._coupling, (self.Caa, self.Cbb), dual.Ma.shape[1])
        found_a, found_b = search.minimised(start, value, excess, products)
        return Dual(found_a.Q, found_b.Q, found_a.M, found_b.M)


def _multiplier(M: Array, cross: Array, C: Array, N: float) -> Array:
    CM = C @ M
    ratio = N / float(np.vdot(M, CM))
    L = M.T @ (cross - ratio * CM)
    L = 0.5 * (L + L.T)
    smallest = float(np.linalg.eigvalsh(L)[0])
    Q = M @ (L - smallest * np.eye(len(L))) @ M.T + ratio * C
    Q[np.diag_indices_from(Q)] += smallest
    return 0.5 * (Q + Q.T)


def proven_ratios(
    found: Sequence[Multiplier], C: Sequence[Array], coupling: Array, null: Array
) -> list[float]:
    """The largest trace ratios TR_r(Qi, Ci), enlarged so far that a Cholesky decomposition proves
    tr(N'AN) <= sum_i t_i of the coupling A, Ni = Mi / sqrt(tr(Mi'Ci Mi)); infinite where none does.

    Where the bound is tight, blkdiag(Q) - A annihilates the r columns of `null`.
    """
    pairs = list(zip(found, C, strict=True))
    ratios = [largest_ratio(one.Q, own, one.M)[0] for one, own in pairs]
    size, r = max(map(abs, ratios)), null.shape[1]
    if not 0 < size < math.inf:
        return [math.inf] * len(ratios)
    null = null * (math.sqrt(r) / float(np.linalg.norm(null)))
    for enlargement in _enlargements(len(coupling)):
        larger = [t + enlargement * size for t in ratios]
        above = [
            _Dominating.of(one.Q, own, t, r) for (one, own), t in zip(pairs, larger, strict=True)
        ]
        S = block_diag(*(Q.matrix for Q in above)) - coupling
        terms = block_diag(*(Q.terms for Q in above))
        ends = np.cumsum([len(own) for own in C])[:-1]
        rows = zip(above, np.split(null, ends), strict=True)
        R = np.concatenate([Q.times(V) for Q, V in rows]) - accurate_product(coupling, null)
        if _proven_beside(S, terms + np.abs(coupling), null, R):
            return larger
        if _proven_semidefinite(S, float(np.trace(terms)), r):
            return larger
    return [math.inf] * len(ratios)


def _enlargements(order: int) -> Iterator[float]:
    size = 4 * order * _UNIT
    while size < 1.0:
        yield size
        size *= 4


@dataclass(frozen=True)
class _Dominating:
    """tC + WW' + mu I, with |W|^2 + r mu <= 0."""

    t: float
    C: Array
    W: Array
    mu: float

    @classmethod
    def of(cls, Q: Array, C: Array, t: float, r: int) -> _Dominating:
        """Above Q.

        WW' is what the top eigenvalues of Q - tC exceed the r-th by; where their sum is negative,
        the inequality leaves room for a larger mu.
        """
        theta, V = top_eigenvectors(Q - t * C, r)
        W = V * np.sqrt(np.maximum(theta - theta[-1], 0.0))
        square = float(np.vdot(W, W))
        return cls(t, C, W, -square * (1 + 2 * (W.size + 2) * _UNIT) / r)

    @property
    def matrix(self) -> Array:
        return self._sum(self.t * self.C, self.W, self.mu)

    @property
    def terms(self) -> Array:
        """The sizes of the terms of each entry."""
        return self._sum(np.abs(self.t * self.C), np.abs(self.W), abs(self.mu))

    @staticmethod
    def _sum(tC: Array, W: Array, mu: float) -> Array:
        found = tC + W @ W.T
        found[np.diag_indices_from(found)] += mu
        return found

    def times(self, V: Array) -> Array:
        """The product with V, accurate."""
        WV = accurate_product(self.W.T, V)
        return self.t * accurate_product(self.C, V) + accurate_product(self.W, WV) + self.mu * V


def _proven_semidefinite(S: Array, size: float, r: int) -> bool:
    """Whether a Cholesky decomposition proves that the matrix which S was rounded from is >= 0.

    If that of S - cI runs to its end, the least eigenvalue of S - cI is above -g/(1 - g) tr(S - cI)
    with g = (n + 2) u (S. M. Rump, Verification of positive definiteness, BIT 46 (2006)). The
    rounding of the entries of S is at most (r + 6) u times terms of which `size` bounds the norm.
    """
    n = len(S)
    trace = float(np.trace(S))
    g = (n + 2) * _UNIT
    margin = 2 * (g * max(trace, 0.0) + (r + 6) * _UNIT * size)
    shifted = S.copy()
    shifted[np.diag_indices_from(S)] -= margin
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(trace))


def _proven_beside(S: Array, terms: Array, V: Array, R: Array) -> bool:
    """The same of an S of which R = SV, accurate, is nearly zero: rounding needs less room.

    S >= 0 where V'R >= R'R/g and S + s VV' >= gI: split x into Va and a w orthogonal to V, of which
    x'Sx >= a'V'Ra + 2 a'R'w + g|w|^2. The first is of order r, and in the second there is room for
    the margin of a decomposition. `terms` are the sizes of those that S is the sum of.
    """
    n, r = V.shape
    unit = power_of_two(terms)  # in which squares are numbers
    S, terms, R = S / unit, terms / unit, R / unit
    norm, length = float(np.linalg.norm(R)), float(np.linalg.norm(V))
    rounding = 8 * _UNIT * float(np.linalg.norm(terms @ np.abs(V)))
    rounding += 4 * r * product_error(n) * float(np.linalg.norm(terms)) * length
    least = float(np.linalg.eigvalsh(sym(V.T @ R))[0])
    least -= 2 * length * (rounding + (n + r) * _UNIT * norm)
    if not least > 0:
        return False
    g, s = 2 * (norm + rounding) ** 2 / least, float(np.trace(S)) / n
    lifted = S + s * (V @ V.T)
    lifted[np.diag_indices(n)] -= g
    return _proven_semidefinite(lifted, float(np.trace(terms)) + s * r + n * g, 2 * r + 2)


_EPS = float(np.finfo(float).eps)
# Eigenvalues are good to so many times the order and the rounding of the largest.
_ROUNDINGS = 2


@dataclass(frozen=True)
class MultiBound:
    """Bounds of tr(N'AN)/2, N the blocks Mi/s_i below one another, s_i^2 = tr(Mi'Ci Mi).

    With delta such that S = blkdiag(Qi + delta Ci) - A >= 0, no value exceeds
    (sum_i TR_r(Qi, Ci) + K delta)/2, TR_r the largest trace ratio.

    Parameters
    ----------
    A : symmetric (d, d)
    C : list of K symmetric matrices, those of the views
        With I/r the ratios are sums of r eigenvalues.
    """

    A: Array
    C: list[Array]

    @cached_property
    def _roots(self) -> list[Array] | None:
        """Wi with Wi'Ci Wi = I; None where a Ci is singular."""
        try:
            return [np.linalg.inv(np.linalg.cholesky(C)).T for C in self.C]
        except np.linalg.LinAlgError:
            return None

    def of(self, blocks: Sequence[Array], value: float, effort: Effort | None) -> float:
        """The bound of the multipliers at the Mi, or, where that is not the value and an effort is
        allowed, of those nearer the least one.
        """
        found = self.multipliers(blocks)
        least = self._proven(found)
        if effort is None or not PROVED_GLOBAL * abs(value) < least - value < math.inf:
            return least
        start = self._shifted(found, max(self._shift([one.Q for one in found]), 0.0))
        search = LeastBound(self.A, self.C, blocks[0].shape[1])
        spectral = 0.5 * len(self.C) * self._shift([np.zeros_like(C) for C in self.C])
        return min(least, spectral, self._proven(search.minimised(start, value, *effort)))

    def multipliers(self, blocks: Sequence[Array]) -> list[Multiplier]:
        """Qi = f_i Ci + s_i^2 [Mi(Li - ti I)Mi' + ti I], with which the bound is the value where
        the Mi are optimal and it is tight.

        Ri = sum_j Aij Mj/(s_i s_j), f_i = tr(Mi'Ri), Li = sym(Mi'(Ri - (f_i/s_i^2) Ci Mi)) and ti
        its least eigenvalue.
        """
        own = [C @ M for C, M in zip(self.C, blocks, strict=True)]
        squares = [float(np.vdot(M, CM)) for M, CM in zip(blocks, own, strict=True)]
        N = self._scaled(blocks)
        ends = np.cumsum([len(M) for M in blocks])[:-1]
        found = []
        for M, C, CM, s, across in zip(
            blocks, self.C, own, squares, np.split(self.A @ N, ends), strict=True
        ):
            R = across / math.sqrt(s)
            f = float(np.vdot(M, R))
            L = sym(M.T @ (R - (f / s) * CM))
            least = float(np.linalg.eigvalsh(L)[0])
            Q = f * C + s * sym(M @ (L - least * np.eye(len(L))) @ M.T)
            Q[np.diag_indices_from(Q)] += s * least
            found.append(Multiplier(Q, M))
        return found

    def _shift(self, Q: Sequence[Array], rounding: bool = True) -> float:
        """delta, with its rounding or as computed; infinite where a Ci is singular."""
        if self._roots is None:
            return math.inf
        W = block_diag(*self._roots)
        S = sym(W.T @ (block_diag(*Q) - self.A) @ W)
        with decomposing(len(S)):
            values = np.linalg.eigvalsh(S)
        slack = _ROUNDINGS * len(S) * _EPS * float(np.abs(values).max())
        return (slack if rounding else 0.0) - float(values[0])

    def _proven(self, found: Sequence[Multiplier]) -> float:
        """Half the sum of the ratios, of the Qi + delta Ci."""
        delta = self._shift([one.Q for one in found], rounding=False)
        if delta == math.inf:
            return delta
        null = self._scaled([one.M for one in found])
        return 0.5 * math.fsum(proven_ratios(self._shifted(found, delta), self.C, self.A, null))

    def _scaled(self, blocks: Sequence[Array]) -> Array:
        """The Mi/s_i below one another."""
        pairs = zip(blocks, self.C, strict=True)
        return np.concatenate([M / math.sqrt(float(np.vdot(M, C @ M))) for M, C in pairs])

    def _shifted(self, found: Sequence[Multiplier], delta: float) -> list[Multiplier]:
        pairs = zip(found, self.C, strict=True)
        return [Multiplier(one.Q + delta * C, one.M) for one, C in pairs]


# Least eigenvalue of K that is divided by, relative to the largest.
_LEAST_CURVATURE = 1e-12


def joint_inverse(K: Array, Ma: Array, Mb: Array) -> Callable[[Array], Array]:
    """An approximate inverse of the Riemannian Hessian at M = [Ma; Mb], on the tangent space there.

    Up to terms of low rank and to the multipliers, which are small beside K at a solution, the
    Hessian maps V to the projection of KV. The tangent space, without the joint rotations, asks for
    M'V = 0 and sym(J'V) = 0, J = [Ma; -Mb]. The first restricts K to the complement of M. The
    second is kept by a symmetric multiplier: KV = U - J Theta with the Lyapunov equation
    W Theta + Theta W = 2 sym(J'K^{-1}U), W = J'K^{-1}J, solved in the eigenvectors of W. The
    magnitude of K is inverted in the place of K, which makes the inverse positive semidefinite.
    """
    M, J = np.concatenate([Ma, Mb]), np.concatenate([Ma, -Mb])
    complement = np.eye(len(M)) - 0.5 * (M @ M.T)
    with decomposing(len(K)):
        eigenvalues, Q = scipy.linalg.eigh(
            complement @ K @ complement, driver="evd", check_finite=False
        )
    magnitude = np.abs(eigenvalues)
    Q = complement @ (Q / np.sqrt(np.maximum(magnitude, _LEAST_CURVATURE * magnitude.max())))
    inverse = Q @ Q.T
    w, R = scipy.linalg.eigh(J.T @ inverse @ J, check_finite=False)
    JR = J @ R
    inverse_JR = inverse @ JR
    denominator = np.maximum(w[:, None] + w, np.finfo(float).eps * w[-1])

    def apply(U: Array) -> Array:
        C = inverse_JR.T @ (U @ R)
        Theta = (C + C.T) / denominator
        return inverse @ U - inverse_JR @ Theta @ R.T

    return apply
