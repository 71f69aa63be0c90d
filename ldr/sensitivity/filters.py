"""How the filters of a joint diagonalisation move: csp of more than two classes.

In the coordinates of the filters F the moments C_c are as diagonal as they can be: the gradient of
Pham's criterion, mean_c C_c/d_c - I with d_c their diagonals, vanishes at I. With the C_c moves the
solution I + E, where Hess[E] is minus the change of that gradient; the scales of the filters, which
it leaves open, are those of a mean power of 1, and dF = FE.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.csp import CSP, JointFilters
from ldr.objectives.data.data import Data
from ldr.objectives.families.joint_diagonal import JointDiagonal
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.quadratic import Codes
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass
from ldr.solvers.second_order import HessianInverse


@dataclass(frozen=True)
class FiltersOfRows(Known):
    """An optimum of filters.

    Attributes
    ----------
    X : ndarray (n, d)
    F : ndarray (d, k)
        The filters as columns.
    codes : ndarray of int (n,)
    weights : ndarray (n,)
        Of the rows in the moments of their classes.
    shares : ndarray (m,)
        Of the classes.
    C : ndarray (m, k, k)
        m times the moments, with the ridge, in the coordinates of the filters.
    inverse : HessianInverse
        Of the criterion, scales aside.
    """

    X: Array
    F: Array
    codes: Codes
    weights: Array
    shares: Array
    C: Array
    inverse: HessianInverse
    ridge: float

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> FiltersOfRows | None:
        problem, samples, k = optimum.problem, data.samples, len(optimum.M)
        if not isinstance(problem, JointFilters) or not isinstance(objective, CSP):
            return None
        (P,) = problem.maps(np.eye(k))
        codes, classes = data.labels
        m, X, F = len(classes), samples.dense(), P.T
        weights, shares = objective.shares(samples, codes, m)
        ridge, Y = objective.ridge, X @ F
        C = m * np.array([(Y * (weights * (codes == c))[:, None]).T @ Y for c in range(m)])
        C += ridge / k * float(weights @ np.einsum("ij,ij->i", X, X)) * (F.T @ F)
        return cls(optimum, X, F, codes, weights, shares, C, filters_inverse(C), ridge)

    def rate(self, dX: Blocks) -> Rate:
        F, C, p = self.F, self.C, self.shares
        weighed = self.weights[:, None] * self.X
        half, moves = weighed @ F, dX[0] @ F
        halves = np.array([half[each].T @ moves[each] for each in self._members])
        dC = len(C) * (halves + halves.transpose(0, 2, 1))
        if self.ridge:
            dC += 2.0 * self.ridge / len(F) * float(np.vdot(weighed, dX[0])) * (F.T @ F)
        powers, moved = np.einsum("cjj->cj", C), np.einsum("cjj->cj", dC)
        change = dC / powers[:, None] - C * (moved / powers**2)[:, None]
        E = -self.inverse(change.mean(axis=0))
        moved = moved + 2.0 * np.einsum("ij,cij->cj", E, C)
        scales = -0.5 * (p @ moved)
        E, moved = E + np.diag(scales), moved + 2.0 * scales * powers
        fourth = p @ (powers**2 - 1.0)
        told = -0.5 * (p @ (moved / powers)) - 0.75 * fourth * (p @ (powers * moved))
        M, axes = self.optimum.M, matrix_of(self.optimum.axes)
        value = float(np.sum(M**2 * told[:, None]))
        observed = Observed(((F @ E @ M).T,), (), (np.zeros(len(F)),), value, np.zeros_like(axes))
        return Rate(np.zeros_like(M), observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        F, C, p, m = self.F, self.C, self.shares, len(self.C)
        back = F.T @ V[0] @ self.optimum.M.T
        scales, powers = np.diag(back), np.einsum("cjj->cj", C)
        G = -self.inverse(back - scales * np.einsum("c,cij->ij", p, C))
        of_C = G / (m * powers[:, None])
        k = np.arange(len(G))
        of_C[:, k, k] -= np.einsum("ij,cij->cj", G, C) / (m * powers**2) + 0.5 * p[:, None] * scales
        size = self.ridge * float(np.vdot(of_C.sum(axis=0), F.T @ F)) / len(F)
        weighed = self.weights[:, None] * self.X
        found, half = 2.0 * size * weighed, weighed @ F
        for each, G in zip(self._members, of_C, strict=True):
            found[each] += half[each] @ (m * (G + G.T)) @ F.T
        return [found]

    @property
    def _members(self) -> list[Codes]:
        """The rows of each class."""
        return [np.flatnonzero(self.codes == c) for c in range(len(self.C))]


def filters_inverse(C: Array) -> HessianInverse:
    """Of Pham's criterion at I, scales aside."""
    unit = np.eye(C.shape[1])
    return HessianInverse(JointDiagonal(C), unit, [np.diag(each) for each in unit])
