"""Upper bounds of what several projected views have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from ldr.objectives.certificate import PROVED_GLOBAL
from ldr.objectives.families.joint_bound import proven_ratios
from ldr.objectives.families.least_bound import Effort, LeastBound, Multiplier
from ldr.solvers.limits import decomposing
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym

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
