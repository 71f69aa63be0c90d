"""How a factor model moves with its rows: it is of S = MM' + Psi, and of what was observed.

With S_oo^{-1} of what is there, a_i = S_oo^{-1}(z_i - mean) = R_i/psi and y_i = M'a_i, the gradient
of the negative log-likelihood has -sum a_i y_i' in M, -1/2 sum a_i^2 in psi and -sum a_i in the
mean; of complete rows that is theirs. The map is P = EB', B = Psi^{-1}M and E = (I + M'B)^{-1};
axes diagonalise M'B.

How linear dynamics move with the rows: they are of A = X'X and B = Xdot'X alone.

At the best D the value changes by what tr Xdot'Xdot - 2<D, M'BM> + <D M'AM, D> does at that D.

How predictive information moves with the rows, which it knows by lagged covariances C_k.

In coordinates T = LM with L'C_0L = I; along dX, E = L'dC_0 L, L moves by -LE/2, so that L'C_kL does
by L'dC_k L - (E L'C_kL + L'C_kL E)/2.

How the filters of a joint diagonalisation move: csp of more than two classes.

In the coordinates of the filters F the moments C_c are as diagonal as they can be: the gradient of
Pham's criterion, mean_c C_c/d_c - I with d_c their diagonals, vanishes at I. With the C_c moves the
solution I + E, where Hess[E] is minus the change of that gradient; the scales of the filters, which
it leaves open, are those of a mean power of 1, and dF = FE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import as_samples
from ldr.objectives.dca import DCA, Predictive, PredictivePoint, stationary
from ldr.objectives.dynamics import Dynamics, DynamicsPoint, LinearDynamics, middles_and_steps
from ldr.objectives.factor_model import Observed as ObservedRows
from ldr.objectives.factor_model import Posterior
from ldr.objectives.families.factors import FactorLikelihood, inner
from ldr.objectives.objective import Objective
from ldr.objectives.trials import CSP, JointDiagonal, JointFilters
from ldr.sensitivity.forms import Blocks, Codes, centred
from ldr.sensitivity.known import Known, Variances
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.second_order import HessianInverse


@dataclass(frozen=True)
class LikelihoodRows(Known):
    """An optimum of a factor model.

    Attributes
    ----------
    posterior : Posterior
        Of the rows in the coordinates of the solver.
    slope : ndarray (d,)
        d psi/dt.
    gaps : bool
        Whether entries are missing: then the mean is one of the model's parameters.
    """

    problem: FactorLikelihood
    posterior: Posterior
    slope: Array
    gaps: bool

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> LikelihoodRows | None:
        problem, rows = optimum.problem, data.samples
        if not isinstance(problem, FactorLikelihood) or not isinstance(rows.array, np.ndarray):
            return None
        M, t, *given = problem.manifold.split(optimum.M)
        mean = given[0][:, 0] if given else np.zeros(len(M))
        Z = (rows.dense() - problem.views[0].mean) / problem.scale
        psi, slope = problem.noise.variances(t), problem.noise.slope(t)
        posterior = Posterior(ObservedRows.of(Z), mean, M, psi)
        return cls(optimum, problem, posterior, slope, bool(given))

    @cached_property
    def _E(self) -> Array:
        M, B = self.posterior.M, self.posterior.B
        return np.asarray(np.linalg.inv(np.eye(M.shape[1]) + M.T @ B), dtype=np.float64)

    @property
    def _A(self) -> Array:
        return self.posterior.residual / self.posterior.psi

    def rate(self, dX: Blocks) -> Rate:
        problem, posterior, A = self.problem, self.posterior, self._A
        mean = np.zeros(len(A.T)) if self.gaps else dX[0].mean(axis=0)
        dZ = posterior.observed.mask * (dX[0] - mean) / problem.scale
        dy, dA = posterior.over_S(dZ)
        in_t = problem.noise.gather(self.slope * inner(A.T, dA.T))
        in_mean = [-dA.sum(axis=0)[:, None]] * self.gaps
        gradient = problem.manifold.join([-(dA.T @ posterior.y + A.T @ dy), -in_t, *in_mean])
        still = np.zeros_like(posterior.B)
        value = problem.objective.sign * problem.unit * float(np.vdot(A, dZ))
        within = np.zeros((still.shape[1],) * 2)
        return Rate(gradient, Observed((still.T,), (still,), (mean,), value, within))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        problem, posterior, E, A = self.problem, self.posterior, self._E, self._A
        M, B, psi = posterior.M, posterior.B, posterior.psi
        lowered = V[0] / problem.scale[:, None]
        W = sym(self.optimum.turn(E @ (B.T @ lowered)))
        H = E @ (lowered.T @ B) @ E
        first, twice = lowered @ E / psi[:, None], W - sym(H)
        in_psi = inner(B @ twice, B) + inner(first, B)
        v = [first + 2.0 * B @ twice, problem.noise.gather(-self.slope * in_psi)]
        v += [np.zeros((len(M), 1))] * self.gaps
        u, t, *m = problem.manifold.split(self.optimum.solve(problem.manifold.join(v)))
        through = (A @ u) @ M.T + posterior.y @ u.T + A * (self.slope * t[:, 0])
        if m:
            through = through + m[0][:, 0]
        found = posterior.over_S(posterior.observed.mask * through)[1] / problem.scale
        return [found if self.gaps else centred(found)]


@dataclass(frozen=True)
class MotionOfRows(Known):
    """An optimum of dynamics.

    Attributes
    ----------
    states, moves : ndarray (m, d)
        X and Xdot, in the problem's units.
    place, pace : float
        These units.
    given : bool
        Whether Xdot stays.
    point : DynamicsPoint
        At the optimum.
    axes : Variances
    """

    states: Array
    moves: Array
    place: float
    pace: float
    given: bool
    point: DynamicsPoint
    axes: Variances

    of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> MotionOfRows | None:
        problem, X = optimum.problem, centred(data.samples.dense())
        if not isinstance(problem, LinearDynamics) or not isinstance(objective, Dynamics):
            return None
        pace, given = problem.unit**0.5, objective.derivatives is not None
        states, moves = middles_and_steps(X)
        if given:
            states, moves = X, as_samples(objective.derivatives, "derivatives").dense()
        place, axes = pace / problem.rate, Variances.of(X, optimum.M, X @ optimum.M)
        point = problem.at(optimum.M)
        return cls(optimum, states / place, moves / pace, place, pace, given, point, axes)

    def rate(self, dX: Blocks) -> Rate:
        optimum, point, X, V = self.optimum, self.point, self.states, self.moves
        M, D, mean = optimum.M, point.D, dX[0].mean(axis=0)
        moved = dX[0] - mean
        dV, (dX_, steps) = np.zeros_like(V), middles_and_steps(moved)
        if self.given:
            dX_ = moved
        else:
            dV = steps / self.pace
        dX_ = dX_ / self.place
        Y, dY = X @ M, dX_ @ M
        dAM, dBM = dX_.T @ Y + X.T @ dY, dV.T @ Y + V.T @ dY
        dBtM = dX_.T @ (V @ M) + X.T @ (dV @ M)
        dS, dT = M.T @ dAM, M.T @ dBM
        gradient = point.changed(dAM, dBM, dBtM, dS, dT)
        value = 2.0 * float(np.vdot(V, dV) - np.vdot(D, dT)) + float(np.vdot(D @ dS, D))
        still = np.zeros_like(M)
        observed = Observed(
            (still.T,), (still,), (mean,), optimum.problem.unit * value, self.axes.rate(moved @ M)
        )
        return Rate(gradient, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        optimum, X, moves = self.optimum, self.states, self.moves
        M, W = optimum.M, optimum.turn(optimum.M.T @ V[0])
        u = optimum.solve(V[0] + self.axes.slope(W))
        F, G, H = self.point.pulled(u)
        Y = X @ M
        of_states = -2.0 * (X @ F @ M.T + Y @ F.T) - (moves @ G) @ M.T - (moves @ M) @ H.T
        of_states, of_moves = of_states / self.place, -(Y @ G.T + X @ H @ M.T) / self.pace
        found = self.axes.pulled(W)
        if self.given:
            found += of_states
        else:
            found[1:] += 0.5 * of_states + of_moves
            found[:-1] += 0.5 * of_states - of_moves
        return [centred(found)]


@dataclass(frozen=True)
class Windows:
    """The windows of rows that their lagged covariances are a mean over.

    C_k is the mean of x_{t+j+k}x_{t+j}' over the windows t and over j, rows less the mean of those
    at their place in a window.

    Attributes
    ----------
    n, length : int
    """

    n: int
    length: int

    @property
    def count(self) -> int:
        return self.n - self.length + 1

    def rows(self, X: Array) -> Array:
        """Those at place 0 of all windows, at place 1, ..., each less its mean."""
        places = (X[j : j + self.count] for j in range(self.length))
        return np.concatenate([each - each.mean(axis=0) for each in places])

    def pulled(self, Z: Array) -> Array:
        """The transpose."""
        found = np.zeros((self.n, Z.shape[1]))
        for j, each in enumerate(np.split(Z, self.length)):
            found[j : j + self.count] += each - each.mean(axis=0)
        return found

    def lagged(self, k: int, Z: Array, Y: Array) -> Array:
        """Z'Y of rows of Z that are k later."""
        m = self._pairs(k)
        return Z[-m:].T @ Y[:m] / m

    def leading(self, k: int, Z: Array, Y: Array) -> Array:
        """Z'Y of rows of Z that are k earlier."""
        m = self._pairs(k)
        return Z[:m].T @ Y[-m:] / m

    def pulled_of_lagged(self, k: int, G: Array, Z: Array) -> Array:
        """The derivative of <G, C_k> in Z."""
        found, m = np.zeros_like(Z), self._pairs(k)
        found[-m:] += Z[:m] @ G.T / m
        found[:m] += Z[-m:] @ G / m
        return found

    def _pairs(self, k: int) -> int:
        return (self.length - k) * self.count


@dataclass(frozen=True)
class WindowsOfRows(Known):
    """An optimum of dca.

    Attributes
    ----------
    windows : Windows
    Z : ndarray (length * count, d)
        Their rows.
    L : ndarray (d, k)
    ridge : float
        Of C_0, in units of the mean of its diagonal.
    point : PredictivePoint
        At the optimum.
    """

    windows: Windows
    Z: Array
    L: Array
    ridge: float
    point: PredictivePoint

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> WindowsOfRows | None:
        """None of covariances that no series has."""
        problem, X = optimum.problem, data.samples.dense()
        if not isinstance(problem, Predictive) or not isinstance(objective, DCA):
            return None
        (coordinates,), unit = problem.coordinates, np.eye(len(optimum.M))
        L = coordinates.map(unit, coordinates.lift(unit)).T
        windows = Windows(len(X), len(problem.C))
        Z = windows.rows(X - X.mean(axis=0))
        ZL = Z @ L
        if stationary(np.array([windows.lagged(k, ZL, ZL) for k in range(windows.length)]))[1]:
            return None
        return cls(optimum, windows, Z, L, objective.ridge, problem.at(optimum.M))

    def rate(self, dX: Blocks) -> Rate:
        windows, Z, L, M = self.windows, self.Z, self.L, self.optimum.M
        problem, K = self.optimum.problem, self.windows.length
        dZ, T, C = windows.rows(dX[0]), L @ M, self._C
        ZT, dZT = Z @ T, dZ @ T
        trace = 2.0 * float(np.vdot(dZ, Z)) / len(Z)

        def E(V: Array) -> Array:
            U = L @ V
            both = dZ.T @ (Z @ U) + Z.T @ (dZ @ U)
            return np.asarray(L.T @ (both / len(Z) + self.ridge * trace / len(L) * U))

        CM = np.concatenate([C @ M, C.transpose(0, 2, 1) @ M])
        EM, *EC = np.split(E(np.hstack([M, *CM])), 2 * K + 1, axis=1)
        both = np.zeros_like(CM)
        for i in range(2 * K):
            k, times = i % K, windows.lagged if i < K else windows.leading
            if k:  # C_0 stays
                across = C[k] if i < K else C[k].T
                own = L.T @ (times(k, dZ, ZT) + times(k, Z, dZT))
                both[i] = own - 0.5 * (EC[i] + across @ EM)
        dB = M.T @ both[:K]
        gradient = self.point.changed(dB, both[:K], both[K:])
        mean = np.mean([dX[0][j : j + windows.count].mean(axis=0) for j in range(K)], axis=0)
        value = problem.objective.sign * float(np.vdot(self.point.slopes, dB))
        observed = Observed((-0.5 * (L @ EM).T,), (), (mean,), value, sym(dB[1]))
        return Rate(gradient, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        L, M, C = self.L, self.optimum.M, self._C
        lowered = L.T @ V[0]
        W = sym(self.optimum.turn(M.T @ lowered))
        u = self.optimum.solve(lowered + (C[1] + C[1].T) @ M @ W)
        N, G = self.point.pulled(u)
        of_C = -(u @ N @ M.T + M @ N @ u.T + M @ G @ M.T)
        of_C[1] += M @ W @ M.T
        of_C[0] = 0.0
        Ct = C.transpose(0, 2, 1)
        of_E = -0.5 * sym(lowered @ M.T + np.sum(of_C @ Ct + Ct @ of_C, axis=0))
        of_C = L @ of_C @ L.T
        trace = self.ridge * float(np.vdot(of_E, L.T @ L)) / len(L)
        of_C[0] = L @ of_E @ L.T + trace * np.eye(len(L))
        parts = (self.windows.pulled_of_lagged(k, each, self.Z) for k, each in enumerate(of_C))
        return [self.windows.pulled(sum(parts, start=np.zeros_like(self.Z)))]

    @property
    def _C(self) -> Array:
        problem = self.optimum.problem
        assert isinstance(problem, Predictive)
        return problem.C


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
        The moments, with the ridge, in the coordinates of the filters.
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
        C = np.array([(Y * (weights * (codes == c))[:, None]).T @ Y for c in range(m)])
        C += ridge / (k * m) * float(weights @ np.einsum("ij,ij->i", X, X)) * (F.T @ F)
        return cls(optimum, X, F, codes, weights, shares, C, filters_inverse(C), ridge)

    def rate(self, dX: Blocks) -> Rate:
        F, C, p = self.F, self.C, self.shares
        weighed = self.weights[:, None] * self.X
        half, moves = weighed @ F, dX[0] @ F
        halves = np.array([half[each].T @ moves[each] for each in self._members])
        dC = halves + halves.transpose(0, 2, 1)
        if self.ridge:
            dC += 2.0 * self.ridge / (len(F) * len(C)) * float(np.vdot(weighed, dX[0])) * (F.T @ F)
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
        size = self.ridge * float(np.vdot(of_C.sum(axis=0), F.T @ F)) / (len(F) * m)
        weighed = self.weights[:, None] * self.X
        found, half = 2.0 * size * weighed, weighed @ F
        for each, G in zip(self._members, of_C, strict=True):
            found[each] += half[each] @ (G + G.T) @ F.T
        return [found]

    @property
    def _members(self) -> list[Codes]:
        """The rows of each class."""
        return [np.flatnonzero(self.codes == c) for c in range(len(self.C))]


def filters_inverse(C: Array) -> HessianInverse:
    """Of Pham's criterion at I, scales aside."""
    unit = np.eye(C.shape[1])
    return HessianInverse(JointDiagonal(C), unit, [np.diag(each) for each in unit])
