"""Optima of functions of the rows that are written once, in jax, which differentiates them.

Each kind has one function: what is observed at M of rows X, from which jax derives the mixed
derivatives of the value and the rates of the maps, forwards and backwards. The functions are those
of their classes and the data are arguments, so that jax compiles once for all data of a shape.

What needs an eigenvector or a linear system is exact at the optimum's own rows, and one Newton step
from there moves it: to first order that is exact, and nothing is decomposed again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
import scipy

from ldr.objectives.data.accelerator import float64
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.opening import as_samples
from ldr.objectives.dca import DCA, Predictive, stationary
from ldr.objectives.dynamics import Dynamics, LinearDynamics, middles_and_steps
from ldr.objectives.families.gram import kernel_width
from ldr.objectives.families.trace import Trace
from ldr.objectives.kernel import Response, as_response, gaussian_gram, gradient_of_median
from ldr.objectives.objective import Objective
from ldr.objectives.pca import LogDeterminant
from ldr.objectives.pls import EXPLAINED, PLSRegression, ScoreRegression
from ldr.objectives.regression import ReducedRank, Regression
from ldr.objectives.robust_pca import Huber, Reconstruction, RobustPCA
from ldr.objectives.sdr import GKDR
from ldr.objectives.statistics.sums import median, middle_places
from ldr.objectives.trials import CSP, JointDiagonal, JointFilters
from ldr.sensitivity.forms import Blocks, QuadraticRows, centred
from ldr.sensitivity.known import Summand
from ldr.sensitivity.optimum import TIED, Observed, Optimum, Rate
from ldr.solvers.errors import ArgumentError, SingularError
from ldr.solvers.manifolds import Array
from ldr.solvers.second_order import HessianInverse

# Of the rows' mean distance from the centre: what rounding leaves of rows that are there.
_NO_LENGTH = 1e-12

# An array of jax's, or of NumPy's.
Traced = Any
# From X, M and further arrays to what is observed there.
Function = Callable[..., Observed]


@cache
def _compiled() -> tuple[Callable[..., Any], ...]:
    """The rates of the gradient and of what is observed, and the two steps of a pullback."""
    import jax
    import jax.numpy as jnp

    def paired(found: Observed, V: Traced, W: Traced) -> Traced:
        of_maps = sum(jnp.vdot(each.T, P) for each, P in zip(V, found.P, strict=True))
        return of_maps + jnp.vdot(W, found.within) if found.within.size else of_maps

    def at(function: Function, X: Traced, M: Traced, unit: Traced) -> Traced:
        def value(M: Traced) -> tuple[Traced, Observed]:
            found = function(X, M)
            return found.value / unit, found

        return jax.grad(value, has_aux=True)(M)

    def rate(function: Function, X: Traced, M: Traced, unit: Traced, dX: Traced) -> Traced:
        return jax.jvp(lambda X: at(function, X, M, unit), (X,), (dX,))[1]

    def in_M(function: Function, X: Traced, M: Traced, V: Traced, W: Traced) -> Traced:
        return jax.grad(lambda M: paired(function(X, M), V, W))(M)

    def in_X(
        function: Function, X: Traced, M: Traced, unit: Traced, V: Traced, W: Traced, u: Traced
    ) -> Traced:
        def both(X: Traced) -> Traced:
            gradient, found = at(function, X, M, unit)
            return paired(found, V, W) - jnp.vdot(u, gradient)

        return jax.grad(both)(X)

    def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
        def of(function: Function, how: tuple[Any, ...], given: Traced, *numbers: Traced) -> Traced:
            return step(lambda X, M: function(X, M, *given, **dict(how)), *numbers)

        return jax.jit(of, static_argnums=(0, 1))

    return compiled(rate), compiled(in_M), compiled(in_X)


def computed(
    step: int, function: Function, how: Mapping[str, Any], given: Traced, *numbers: Traced
) -> Traced:
    """One of these in float64, as arrays of NumPy's."""
    import jax

    with float64():
        found = _compiled()[step](function, tuple(how.items()), given, *numbers)
        return jax.tree.map(np.array, found)


@dataclass(frozen=True)
class TracedRows(Summand):
    """An optimum of a function in jax.

    - X: the rows of each view
    - given: what else the function takes
    - how: what it is compiled for
    """

    X: tuple[Array, ...]
    given: tuple[Traced, ...] = ()
    how: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    @abstractmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced, **how: Any) -> Observed:
        """At M, in the solver's coordinates; the value is the user's."""

    def rate(self, dX: Blocks) -> Rate:
        gradient, observed = self._computed(0, self._unit, tuple(dX))
        return Rate(gradient, observed._replace(value=float(observed.value)))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        V, W = tuple(V), self.optimum.turned(V)
        u = self.optimum.solve(self._computed(1, V, W))
        return list(self._computed(2, self._unit, V, W, u))

    def crossed(self, U: Array) -> list[Array]:
        M = self.optimum.M
        nothing = (np.zeros_like(M),), np.zeros((M.shape[1],) * 2)
        return list(self._computed(2, self._unit, *nothing, -U))

    @property
    def _unit(self) -> float:
        problem = self.optimum.problem
        return problem.objective.sign * problem.unit

    def _computed(self, step: int, *numbers: Traced) -> Traced:
        given = type(self).observed, self.how, self.given, self.X, self.optimum.M
        return computed(step, *given, *numbers)


def _nothing() -> Traced:
    """The matrix that axes diagonalise, where columns are what they are."""
    return np.zeros((0, 0))


def _frame(optimum: Optimum) -> Array:
    """L of T = LM, from whitened coordinates to the columns."""
    (coordinates,), unit = optimum.problem.coordinates, np.eye(len(optimum.M))
    return coordinates.map(unit, coordinates.lift(unit)).T


@dataclass(frozen=True)
class LeadingVectors:
    """Leading left singular vectors of S, by the decomposition U diag(s) V' of one next to it.

    With v = S'u, (s^2 I - SS') du = d(SS') u across u.

    - U (d, k), s (k,)
    """

    U: Array
    s: Array
    r: int

    @classmethod
    def of(cls, S: Array, r: int) -> LeadingVectors:
        U, s, _ = np.linalg.svd(S, full_matrices=False)
        return cls(U, s, min(r, len(s)))

    @property
    def _gaps(self) -> Array:
        gaps = self.s[: self.r] ** 2 - self.s[:, None] ** 2
        np.fill_diagonal(gaps, np.inf)
        return gaps

    def check(self, what: str) -> None:
        """Refuse singular values that tie."""
        s = self.s
        if not np.abs(self._gaps).min() > TIED * s[0] ** 2 or not s[self.r - 1] > 0:
            raise SingularError(
                f"{what} tie, {s}: the vectors between them are arbitrary, and have no derivatives"
            )

    @property
    def given(self) -> tuple[Array, Array, Array]:
        """What `_leading` takes."""
        with np.errstate(divide="ignore"):
            return self.U, 1.0 / self._gaps, self.s[: self.r] ** -2.0


def _leading(S: Traced, given: Traced) -> Traced:
    """The vectors of S, as columns."""
    U, over_gaps, over_squares = given
    old = U[:, : len(over_squares)]
    change = S @ (S.T @ old)
    inside = U.T @ change
    return old + U @ (inside * over_gaps) + (change - U @ inside) * over_squares


def _mean(X: Traced, w: Traced) -> Traced:
    return X.mean(axis=0) if w is None else w @ X / w.sum()


def _centred(X: Traced, w: Traced) -> Traced:
    """Less their mean, times the roots of the rows' weights."""
    moved = X - _mean(X, w)
    return moved if w is None else moved * w[:, None] ** 0.5


class FittedRows(TracedRows):
    """An optimum of least squares, with a ridge or without."""

    of_marks = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> FittedRows | None:
        problem, samples = optimum.problem, data.samples
        if type(problem) is not Regression:
            return None
        P = problem.maps(optimum.M)[0]
        lifting = problem.coordinates[0].lift(np.eye(samples.d))
        leading = LeadingVectors.of(lifting @ optimum.M, len(P)).given
        Y = as_response(data.y, samples.n)
        return cls(optimum, (samples.dense(),), (Y, samples.weights, lifting, P, *leading))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        (B,), r = self.optimum.problem.lift(self.optimum.M), V[0].shape[1]
        if r > min(B.shape):
            raise ArgumentError(
                f"the map of {min(B.shape)} response(s) has {min(B.shape)} row(s) of its own, and "
                f"r = {r}: the others are arbitrary; expected r <= {min(B.shape)}"
            )
        LeadingVectors.of(B, r).check("singular values of the coefficients")
        return super().pulled(V)

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced) -> Observed:
        """The map's rows are the leading u' of B, (1 + s^2)^{1/2} long; no ridge moves."""
        import jax.numpy as jnp

        Y, w, lifting, P, *leading = given
        B = lifting @ M
        left, U = _centred(Y, w) - _centred(X[0], w) @ B, _leading(B, leading)
        own = (U * jnp.sqrt(1.0 + ((B.T @ U) ** 2).sum(axis=0))).T
        signs = jnp.sign((own * P[: len(own)]).sum(axis=1, keepdims=True))
        P = jnp.concatenate([own * signs, P[len(own) :]])
        return Observed((P,), (B,), (_mean(X[0], w),), (left**2).sum(), _nothing())


class LowRankRows(TracedRows):
    """An optimum of reduced-rank regression."""

    of_marks = of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> LowRankRows | None:
        if not isinstance(optimum.problem, ReducedRank):
            return None
        X = tuple(view.dense() for view in data.views)
        return cls(optimum, X, (data.samples.weights,))

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced) -> Observed:
        """||Y - X Min S Mout'||^2 at the best diagonal S, of which Pin = S Min'."""
        (w,) = given
        (_, d), (_, q) = (each.shape for each in X)
        r = M.size // (d + q)
        Min, Mout = M[: d * r].reshape(d, r), M[d * r :].reshape(q, r)
        scores, Y = _centred(X[0], w) @ Min, _centred(X[1], w)
        across, squares = (scores * (Y @ Mout)).sum(axis=0), (scores**2).sum(axis=0)
        S = across / squares
        means = tuple(_mean(each, w) for each in X)
        value = (Y**2).sum() - across @ S
        return Observed((S[:, None] * Min.T, Mout.T), (Min, Mout), means, value, _nothing())


class ScoresOfRows(TracedRows):
    """An optimum of partial least squares, which is no function's of M but found weight by weight.

    The weight w is the leading left singular vector of S, which is X'Y less what earlier scores
    take of it; scores and rotations follow by the steps of Gram and Schmidt.
    """

    of_columns = False

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> ScoresOfRows | None:
        """None where the response is explained before the last weight."""
        problem, samples = optimum.problem, data.samples
        if not isinstance(problem, ScoreRegression) or not isinstance(objective, PLSRegression):
            return None
        X, Y = samples.dense(), centred(as_response(data.y, samples.n))
        leading: list[LeadingVectors] = []

        def weight(S: Array) -> Array:
            leading.append(LeadingVectors.of(S, 1))
            if not np.linalg.norm(S) > EXPLAINED * np.linalg.norm(leading[0].s):
                raise UnknownError
            return leading[-1].U[:, :1]

        how = {"nipals": objective.algorithm == "nipals"}
        try:
            R = np.stack(_scores(centred(X), Y, [weight] * len(problem.P), **how)[0], axis=1)
        except UnknownError:
            return None
        scale = np.einsum("ij,ji->i", problem.P, R) / np.einsum("ij,ij->j", R, R)
        for each in leading:
            each.check("covariances of weights with the response")
        return cls(optimum, (X,), (Y, scale, *(each.given for each in leading)), how)

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced, nipals: bool) -> Observed:
        import jax.numpy as jnp

        Y, scale, *leading = given
        mean, weights = X[0].mean(axis=0), [partial(_leading, given=each) for each in leading]
        R, T = (jnp.stack(each) for each in _scores(X[0] - mean, Y, weights, nipals))
        loadings = T @ Y
        value = -(loadings**2).sum()
        return Observed((scale[:, None] * R,), (R.T @ loadings,), (mean,), value, _nothing())


def _scores(
    X: Traced, Y: Traced, weights: Sequence[Callable[[Traced], Traced]], nipals: bool
) -> tuple[list[Traced], list[Traced]]:
    """Rotations and scores; each weight is a function of S."""
    S = X.T @ Y
    R: list[Traced] = []
    T: list[Traced] = []
    V: list[Traced] = []
    for weight in weights:
        w = weight(S).reshape(-1)
        t = score = X @ w
        for rotation, earlier in zip(R, T, strict=True):
            along = earlier @ score
            w, t = w - along * rotation, t - along * earlier
        length = (t @ t) ** 0.5
        R.append(w / length)
        T.append(t / length)
        v = loading = X.T @ T[-1]
        taken = T[-1] @ Y
        if not nipals:
            for earlier in V:
                v = v - (earlier @ loading) * earlier
            v = v / (v @ v) ** 0.5
            V.append(v)
            taken = v @ S
        S = S - v[:, None] * taken
    return R, T


class MotionOfRows(TracedRows):
    """An optimum of dynamics."""

    of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> MotionOfRows | None:
        problem = optimum.problem
        if not isinstance(problem, LinearDynamics) or not isinstance(objective, Dynamics):
            return None
        moves = objective.derivatives
        if moves is not None:
            moves = as_samples(moves, "derivatives").dense()
        given = moves, problem.unit**0.5 / problem.rate, problem.unit**0.5
        return cls(optimum, (data.samples.dense(),), given, {"skew": objective.skew})

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced, skew: bool) -> Observed:
        """||Xdot - X M D'M'||^2 at the best D, of states and moves in units of their own."""
        import jax.numpy as jnp

        moves, place, pace = given
        mean = X[0].mean(axis=0)
        states = Z = X[0] - mean
        if moves is None:
            states, moves = middles_and_steps(Z)
        V, Y = moves / pace, states @ M / place
        S, T = Y.T @ Y, (V @ M).T @ Y
        if skew:  # D S + S D = T - T'
            unit = jnp.eye(len(S))
            D = jnp.linalg.solve(jnp.kron(unit, S) + jnp.kron(S, unit), (T - T.T).ravel())
            D = D.reshape(S.shape)
        else:
            D = jnp.linalg.solve(S, T.T).T
        value = pace**2 * ((V**2).sum() - 2.0 * (D * T).sum() + ((D @ S) * D).sum())
        within = (Z @ M).T @ (Z @ M) / len(Z)
        return Observed((M.T,), (M,), (mean,), value, within)


class WindowsOfRows(TracedRows):
    """An optimum of dca, of the covariances C_k of white rows that are k apart in a window."""

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> WindowsOfRows | None:
        """None of covariances that no series has."""
        problem, X = optimum.problem, data.samples.dense()
        if not isinstance(problem, Predictive) or not isinstance(objective, DCA):
            return None
        L, length = _frame(optimum), len(problem.C)
        places = _places(X @ L, length)
        if stationary(np.array([_lagged(k, places, places) for k in range(length)]))[1]:
            return None
        return cls(optimum, (X,), (L, objective.ridge), {"length": length})

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced, length: int) -> Observed:
        """C_0 is that of T'C_0T = M'M: with L'C_0L = I + E, T = L(I - E/2)M to first order."""
        import jax.numpy as jnp

        L, ridge = given
        start, rows = L @ M, _places(X[0], length)
        scores = [each @ start for each in rows]
        trace = sum((each**2).sum() for each in rows) / (length * len(rows[0]))
        square = _lagged(0, rows, scores) + ridge * trace / len(L) * start
        T = 1.5 * start - 0.5 * L @ (L.T @ square)
        scores = [each @ T for each in rows]
        B = [M.T @ M, *(_lagged(k, scores, scores) for k in range(1, length))]

        def log_determinant(K: int) -> Traced:
            blocks = [[B[i - j] if i >= j else B[j - i].T for j in range(K)] for i in range(K)]
            return jnp.linalg.slogdet(jnp.block(blocks))[1]

        value = log_determinant(length // 2) - 0.5 * log_determinant(length)
        count = len(rows[0])
        mean = sum(X[0][j : j + count].mean(axis=0) for j in range(length)) / length
        return Observed((T.T,), (), (mean,), value, 0.5 * (B[1] + B[1].T))


def _places(X: Traced, length: int) -> list[Traced]:
    """The rows at each place of all windows, less their mean."""
    each = [X[j : j + len(X) - length + 1] for j in range(length)]
    return [rows - rows.mean(axis=0) for rows in each]


def _lagged(k: int, Z: Sequence[Traced], Y: Sequence[Traced]) -> Traced:
    """The mean of z_{t+k} y_t' over places and windows."""
    products = [later.T @ earlier for later, earlier in zip(Z[k:], Y, strict=False)]
    return sum(products[1:], start=products[0]) / (len(products) * len(Z[0]))


class ReconstructedRows(TracedRows):
    """An optimum of robust-pca, whose centre and width are medians that move with the rows."""

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> ReconstructedRows | None:
        """None of a row at the centre, and of a threshold at its least."""
        problem, X = optimum.problem, data.samples.dense()
        if not isinstance(problem, Reconstruction) or not isinstance(objective, RobustPCA):
            return None
        Z, (view,), loss = problem.X, problem.views, problem.loss
        lengths = np.linalg.norm(Z, axis=1)
        least = objective.epsilon * median(lengths)
        if not lengths.min() > _NO_LENGTH * lengths.mean():
            return None
        if isinstance(loss, Huber) and not loss.threshold > least:
            return None
        lift = view.coordinates.lift(np.eye(len(optimum.M)))
        unit = np.linalg.norm(Z) / np.linalg.norm((X - view.mean) @ lift)
        units = Z / lengths[:, None]
        hessian = np.sum(1.0 / lengths) * np.eye(len(lift.T)) - units.T @ (units / lengths[:, None])
        subspace, share = None, objective.epsilon if objective.loss == "l1" else None
        if isinstance(loss, Huber):
            share = loss.threshold if objective.threshold else None
            values, Q = np.linalg.eigh(units.T @ units)
            r = problem.r
            subspace = Q[:, -r:], Q[:, :-r], 1.0 / (values[-r:] - values[:-r, None])
            lengths = np.linalg.norm(Z @ Q[:, :-r], axis=1)
        given = view.mean, lift, unit, np.linalg.inv(hessian), share, middle_places(lengths)
        return cls(optimum, (X,), (*given, subspace, problem.unit))

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced) -> Observed:
        """The sum of losses of ||z_i - MM'z_i||^2, z_i from the geometric median of the rows."""
        import jax.numpy as jnp

        mean, lift, unit, inverse, share, middle, subspace, scale = given
        Z = unit * (X[0] - mean) @ lift
        shift = inverse @ (Z / jnp.linalg.norm(Z, axis=1, keepdims=True)).sum(axis=0)
        Z, mean = Z - shift, mean + lift @ shift / unit
        squares, Y = (Z**2).sum(axis=1), Z @ M
        q = ((Z - Y @ M.T) ** 2).sum(axis=1)
        if subspace is None:
            width = share * jnp.sqrt(squares[middle]).mean()
            loss = q / (jnp.sqrt(q + width**2) + width)
        else:
            width = share
            if width is None:  # the median distance from the subspace of spherical pca
                inside, outside, over_gaps = subspace
                scatter = (Z.T / squares) @ Z
                inside = inside + outside @ (outside.T @ scatter @ inside * over_gaps)
                left = squares - ((Z @ inside) ** 2).sum(axis=1)
                width = jnp.sqrt(left[middle]).mean()
            far = q > width**2
            beyond = width * jnp.sqrt(jnp.where(far, q, 1.0)) - 0.5 * width**2
            loss = jnp.where(far, beyond, 0.5 * q)
        scores = (Y - Y.mean(axis=0)) / unit
        within = scores.T @ scores / len(scores)
        return Observed(((lift @ M).T,), (lift @ M,), (mean,), scale * loss.sum(), within)


class GradientsOfRows(TracedRows):
    """An optimum of gkdr: kernel regression, differentiated twice."""

    of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> GradientsOfRows | None:
        problem, samples, own = optimum.problem, data.samples, objective
        if not isinstance(own, GKDR) or type(problem) is not Trace:
            return None  # a sample of many rows
        X = samples.dense()
        width = own.width or kernel_width(centred(X), None, 1, 1)
        widens = gradient_of_median(X) if own.width is None else None
        Z = Response.of(data.y, samples.n, own.response, None).features(own.response_width, None)[0]
        ridge = samples.n * own.epsilon
        K = gaussian_gram(centred(X), width) + ridge * np.eye(len(X))
        factor = scipy.linalg.cho_factor(K, check_finite=False)[0]
        A = scipy.linalg.cho_solve((factor, False), Z, check_finite=False)
        found = np.einsum("ij,ij->j", optimum.M, problem.at(optimum.M).gradient)
        unit = -2.0 / problem.unit * float(optimum.axes.numbers @ found / (found @ found))
        return cls(optimum, (X,), (X, width, widens, Z, ridge, factor, A, unit))

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced) -> Observed:
        """M'GM, of the gradients B_p = (K diag(a_p) - diag(Ka_p))XM/sigma^2 of A = K^{-1}Z."""
        import jax.numpy as jnp
        from jax.scipy.linalg import cho_solve

        old, width, widens, Z, ridge, factor, A, unit = given
        if widens is not None:
            width = width * (1.0 + jnp.vdot(widens, X[0] - old))
        mean = X[0].mean(axis=0)
        X_ = X[0] - mean
        squares = (X_**2).sum(axis=1)
        K = jnp.exp((2.0 * X_ @ X_.T - squares[:, None] - squares) / (2.0 * width**2))
        A = A + cho_solve((factor, False), Z - K @ A - ridge * A)
        Y = (X_ @ M)[:, None]
        inside = jnp.einsum("mn,npr->mpr", K, A[:, :, None] * Y) - (K @ A)[:, :, None] * Y
        G = jnp.einsum("npr,nps->rs", inside, inside) / (len(X_) * width**4)
        return Observed((M.T,), (M,), (mean,), jnp.trace(G), unit * G)


class SpreadRows(TracedRows):
    """An optimum of log-det-pca."""

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> SpreadRows | None:
        problem = optimum.problem
        if not isinstance(problem, LogDeterminant):
            return None
        lift = problem.views[0].coordinates.lift(np.eye(len(optimum.M)))
        return cls(optimum, (data.samples.dense(),), (lift,))

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced) -> Observed:
        """The logarithm of the determinant of the covariance of XT."""
        import jax.numpy as jnp

        T, mean = given[0] @ M, X[0].mean(axis=0)
        scores = (X[0] - mean) @ T
        C = scores.T @ scores / len(scores)
        return Observed((T.T,), (T,), (mean,), jnp.linalg.slogdet(C)[1], C)


@dataclass(frozen=True)
class FiltersOfRows(TracedRows):
    """An optimum of csp of more than two classes, whose filters are F of a joint diagonalisation.

    In the coordinates of F the moments of the classes are as diagonal as they can be: V = I is the
    least of Pham's criterion, and moves with the rows as any optimum. X has the rows and V.

    - moments: what `moments_of` takes besides rows and filters
    - inverse: of the criterion, scales aside
    """

    moments: tuple[Traced, ...] = field(kw_only=True)
    inverse: HessianInverse = field(kw_only=True)

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> FiltersOfRows | None:
        problem, samples, unit = optimum.problem, data.samples, np.eye(len(optimum.M))
        if not isinstance(problem, JointFilters) or not isinstance(objective, CSP):
            return None
        (P,), (codes, classes), X = problem.maps(unit), data.labels, samples.dense()
        rows = QuadraticRows.of(samples, 0)
        members = np.array(objective.members(rows, codes, classes))  # type: ignore[arg-type]
        shares = objective.probabilities(rows, codes, classes)  # type: ignore[arg-type]
        moments = P.T, members, objective.ridge
        inverse = filters_inverse(np.array(moments_of(X, *moments)))
        given = shares, *moments
        return cls(optimum.of_subspace, (X, unit), given, moments=moments, inverse=inverse)

    @staticmethod
    def observed(X: Sequence[Traced], M: Traced, *given: Traced) -> Observed:
        """Filters FV, of a mean power of 1, and the numbers by which M is chosen among them."""
        import jax.numpy as jnp

        shares, *moments = given
        (rows, V), (F, *beside) = X, moments
        powers = jnp.stack([jnp.diag(C) for C in moments_of(rows, F @ V, *beside)])
        scales = (shares @ powers) ** -0.5
        powers = powers * scales**2
        numbers = -0.5 * shares @ jnp.log(powers) - 3.0 / 16.0 * (shares @ (powers**2 - 1.0)) ** 2
        T = (F @ V * scales) @ M
        return Observed((T.T,), (), (0.0 * F[:, 0],), (M.T**2 @ numbers).sum(), _nothing())

    @staticmethod
    def criterion(X: Sequence[Traced], V: Traced, F: Traced, *beside: Traced) -> Observed:
        """Pham's, but for log |det V|."""
        import jax.numpy as jnp

        moments = moments_of(X[0], F @ V, *beside)
        value = sum(0.5 * jnp.log(jnp.diag(C)).sum() for C in moments) / len(moments)
        return Observed((), (), (), value, _nothing())

    def rate(self, dX: Blocks) -> Rate:
        X, V = self.X
        gradient, _ = computed(0, self.criterion, {}, self.moments, (X,), V, 1.0, tuple(dX))
        moved = super().rate([*dX, -self.inverse(gradient)])
        return replace(moved, gradient=np.zeros_like(self.optimum.M))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        of_rows, of_V = super().pulled(V)
        numbers = self.X[:1], self.X[1], 1.0, (), _nothing(), self.inverse(of_V)
        (through,) = computed(2, self.criterion, {}, self.moments, *numbers)
        return [of_rows + through]


def moments_of(X: Traced, F: Traced, members: Traced, ridge: Traced) -> list[Traced]:
    """Of each class, in the coordinates of the filters F."""
    Y, (m, _), (d, _) = X @ F, members.shape, F.shape
    trace = (members.sum(axis=0) @ X**2).sum()
    return [(Y.T * each) @ Y + ridge / (d * m) * trace * F.T @ F for each in members]


def filters_inverse(C: Array) -> HessianInverse:
    """Of Pham's criterion at I, scales aside."""
    unit = np.eye(C.shape[1])
    return HessianInverse(JointDiagonal(C), unit, [np.diag(each) for each in unit])
