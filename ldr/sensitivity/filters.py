"""How the filters of a joint diagonalisation move: csp of more than two classes.

In the coordinates of the filters F the moments C_c are as diagonal as they can be: the gradient of
Pham's criterion, mean_c C_c/d_c - I with d_c their diagonals, vanishes at I. With the C_c moves the
solution I + E, where Hess[E] is minus the change of that gradient; the scales of the filters, which
it leaves open, are those of a mean power of 1, and dF = FE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldr.objectives.csp import CSP, JointFilters
from ldr.objectives.data.data import Data
from ldr.objectives.families.joint_diagonal import JointDiagonal
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, Quadratic, added
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.quadratic import QuadraticRows
from ldr.solvers.manifolds import Array
from ldr.solvers.second_order import HessianInverse


@dataclass(frozen=True)
class FiltersOfRows(Known):
    """An optimum of filters.

    Attributes
    ----------
    X : ndarray (n, d)
    F : ndarray (d, k)
        The filters as columns.
    moments : list of Quadratic
        Of the classes; B is their sum.
    shares : ndarray (m,)
        Of the classes.
    C : ndarray (m, k, k)
        m times the moments, with the ridge, in the coordinates of the filters.
    inverse : HessianInverse
        Of the criterion, scales aside.
    """

    X: Array
    F: Array
    moments: list[Quadratic]
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
        share, probabilities = objective.shares(samples, codes, m)
        rows = QuadraticRows(samples.n).about(np.zeros(samples.n))
        moments = [rows.form(share * (codes == c)) for c in range(m)]
        of_ridge = objective.ridge * sum(S.trace([X]) for S in moments) / k * (F.T @ F)
        C = np.array([m * F.T @ S.times([X], [F])[0] + of_ridge for S in moments])
        scales = [np.diag(unit) for unit in np.eye(k)]
        inverse = HessianInverse(JointDiagonal(C), np.eye(k), scales)
        return cls(optimum, X, F, moments, probabilities, C, inverse, objective.ridge)

    def rate(self, dX: Blocks) -> Rate:
        X, F, C, p = [self.X], self.F, self.C, self.shares
        size = self.ridge * sum(S.rate_of_trace(X, dX) for S in self.moments) / len(F)
        dC = np.array([F.T @ S.rate_at(X, [F], dX)[0] for S in self.moments])
        dC = len(C) * dC + size * (F.T @ F)
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
        X, F, C, p, m = [self.X], self.F, self.C, self.shares, len(self.C)
        back = F.T @ V[0] @ self.optimum.M.T
        scales, powers = np.diag(back), np.einsum("cjj->cj", C)
        G = -self.inverse(back - scales * np.einsum("c,cij->ij", p, C))
        of_C = G / (m * powers[:, None])
        k = np.arange(len(G))
        of_C[:, k, k] -= np.einsum("ij,cij->cj", G, C) / (m * powers**2) + 0.5 * p[:, None] * scales
        size = self.ridge * float(np.vdot(of_C.sum(axis=0), F.T @ F)) / len(F)
        pairs = zip(self.moments, of_C, strict=True)
        parts = [S.pulled(X, [F], [m * F @ each]) for S, each in pairs]
        return added(*parts, *(S.pulled_of_trace(X, size) for S in self.moments))
