"""Statements in jax of the methods that `ldr.sensitivity.matrices` does not cover.

One function of each method collects the data of its statement, or returns None. The other function
is the statement, which computes the quantities at M (see `rule`).

A function f = phi(Y) of projected rows Y = ZM needs no statement, but uses the derivatives of the
solver: the gradient Z'phi'(Y) changes by dZ'phi'(Y) + Z'phi''(Y)[dZ M], plus changes of parameters
of phi with the rows. The gradient of a sum is the sum of the gradients of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy
from jax.scipy.linalg import cho_solve

from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.opening import as_samples
from ldr.objectives.dca import Predictive, stationary
from ldr.objectives.dynamics import LinearDynamics, middles_and_steps
from ldr.objectives.families.composite import TraceSum, WeightedSum
from ldr.objectives.families.factors import FactorLikelihood
from ldr.objectives.families.pairwise import LabelledPairs
from ldr.objectives.families.projected import Projected
from ldr.objectives.families.trace import Trace
from ldr.objectives.foreca import SpectralEntropy, hann_window, segment_starts
from ldr.objectives.ica import SourcesInMemory
from ldr.objectives.kernel import Response, as_response, gaussian_gram, gradient_of_median
from ldr.objectives.objective import Objective, Sum
from ldr.objectives.pls import ScoreRegression
from ldr.objectives.problem import BoundObjective
from ldr.objectives.regression import ReducedRank, Regression
from ldr.objectives.robust_pca import Huber, Reconstruction
from ldr.objectives.sdr import GKDR, kernel_width
from ldr.objectives.statistics.sums import median, middle_places
from ldr.objectives.trials import JointDiagonal, JointFilters
from ldr.objectives.view import Axes
from ldr.sensitivity.derivative import all_of
from ldr.sensitivity.equations import StatedFunction
from ldr.sensitivity.forms import STATIC, Closure, RowForms, Traced, centred, tree
from ldr.sensitivity.matrices import of_matrices
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.rule import Known, computed, rate_of_gradient, slope_in_X
from ldr.solvers.errors import ArgumentError, SingularError
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING, TIED
from ldr.solvers.manifolds import Array
from ldr.solvers.second_order import FlatError, HessianInverse

# An empty matrix states that no rotation of M leaves f unchanged.
_NOTHING = np.zeros((0, 0))


def frame(problem: BoundObjective) -> Array:
    """Return L in T = LM, the map from whitened coordinates to the columns."""
    coordinates, unit = problem.views[0].coordinates, np.eye(problem.manifold.shape[0])
    return coordinates.map(unit, coordinates.lift(unit)).T


@tree
class LeadingVectors:
    """Leading left singular vectors of S, from the decomposition U diag(s) V' of a nearby matrix.

    The derivative du, orthogonal to u, solves (s^2 I - SS') du = d(SS') u in the complement of u.

    - U (d, k), s (k,)
    """

    U: Array
    s: Array
    r: int = field(metadata=STATIC)

    @classmethod
    def of(cls, S: Array, r: int) -> LeadingVectors:
        U, s, _ = np.linalg.svd(S, full_matrices=False)
        return cls(U, s, min(r, len(s)))

    def check(self, what: str) -> None:
        """Refuse singular values that tie."""
        s, others = self.s, ~np.eye(len(self.s), self.r, dtype=bool)
        gaps = np.abs(s[: self.r] ** 2 - s[:, None] ** 2)[others]
        if not gaps.min(initial=np.inf) > TIED * s[0] ** 2 or not s[self.r - 1] > 0:
            raise SingularError(
                f"the {what} have equal or zero singular values {s}: their singular vectors are "
                "arbitrary and have no derivatives"
            )

    def __call__(self, S: Traced) -> Traced:
        """Return the vectors of S as columns."""
        U, r, squares = self.U, self.r, self.s**2
        old = U[:, :r]
        change = S @ (S.T @ old)
        inside = U.T @ change
        gaps = squares[:r] - squares[:, None] + jnp.diag(jnp.full(len(squares), jnp.inf))[:, :r]
        return old + U @ (inside / gaps) + (change - U @ inside) / squares[:r]


def _mean(X: Traced, w: Traced) -> Traced:
    return X.mean(axis=0) if w is None else w @ X / w.sum()


def _centred(X: Traced, w: Traced) -> Traced:
    """Rows minus their mean, times the square roots of the rows' weights."""
    moved = X - _mean(X, w)
    return moved if w is None else moved * w[:, None] ** 0.5


class RegressionRows(Known):
    """Optimum of least squares, with or without a ridge; its errors name ties."""

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        (B,), r = self.optimum.problem.lift(self.optimum.M), V[0].shape[1]
        if r > min(B.shape):
            raise ArgumentError(
                f"the regression determines at most {min(B.shape)} row(s) of P; further rows are "
                f"arbitrary and have no derivatives: expected r <= {min(B.shape)}, got r = {r}"
            )
        LeadingVectors.of(B, r).check("regression coefficients")
        return super().pulled(V)


def regression(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    problem, samples = optimum.problem, data.samples
    if type(problem) is not Regression:
        return None
    P = problem.maps(optimum.M)[0]
    lifting = problem.views[0].coordinates.lift(np.eye(samples.d))
    Y, leading = as_response(data.y, samples.n), LeadingVectors.of(lifting @ optimum.M, len(P))
    of = Closure(of_regression, Y, samples.weights, lifting, P, leading)
    return RegressionRows(optimum, of, [samples.dense()])


def of_regression(X: Traced, M: Traced, *given: Traced) -> Observed:
    """Compute regression: rows of the map are singular vectors u' of B, times (1 + s^2)^{1/2}."""
    Y, w, lifting, P, leading = given
    B = lifting @ M
    left, U = _centred(Y, w) - _centred(X[0], w) @ B, leading(B)
    own = (U * jnp.sqrt(1.0 + ((B.T @ U) ** 2).sum(axis=0))).T
    signs = jnp.sign((own * P[: len(own)]).sum(axis=1, keepdims=True))
    P = jnp.concatenate([own * signs, P[len(own) :]])
    return Observed((P,), (B,), (_mean(X[0], w),), (left**2).sum(), _NOTHING)


def reduced_rank(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    X = [view.dense() for view in data.views]
    return Known(optimum, Closure(of_reduced_rank, data.samples.weights), X)


def of_reduced_rank(X: Traced, M: Traced, w: Traced) -> Observed:
    """Compute ||Y - X Min S Mout'||^2 at the best diagonal S, and the map Pin = S Min'."""
    (_, d), (_, q) = (each.shape for each in X)
    r = M.size // (d + q)
    Min, Mout = M[: d * r].reshape(d, r), M[d * r :].reshape(q, r)
    scores, Y = _centred(X[0], w) @ Min, _centred(X[1], w)
    across, squares = (scores * (Y @ Mout)).sum(axis=0), (scores**2).sum(axis=0)
    S = across / squares
    means = tuple(_mean(each, w) for each in X)
    value = (Y**2).sum() - across @ S
    return Observed((S[:, None] * Min.T, Mout.T), (Min, Mout), means, value, _NOTHING)


def partial_least_squares(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    """Return the statement of PLS; None if the last weight has no response left to explain."""
    problem: Any = optimum.problem
    X, Y = data.samples.dense(), centred(as_response(data.y, data.samples.n))
    leading: list[LeadingVectors] = []

    def weight(S: Array) -> Array:
        leading.append(LeadingVectors.of(S, 1))
        if not np.linalg.norm(S) > FACTOR_ROUNDING * np.linalg.norm(leading[0].s):
            raise UnknownError
        return leading[-1].U[:, :1]

    nipals = objective.algorithm == "nipals"
    try:
        R = np.stack(_scores(centred(X), Y, [weight] * len(problem.P), nipals)[0], axis=1)
    except UnknownError:
        return None
    scale = np.einsum("ij,ji->i", problem.P, R) / np.einsum("ij,ij->j", R, R)
    for each in leading:
        each.check("covariances of X with the response")
    return Known(optimum, Closure(of_scores, Y, scale, leading, nipals=nipals), [X])


def of_scores(X: Traced, M: Traced, *given: Traced, nipals: bool) -> Observed:
    """Compute partial least squares weight by weight, not as an optimum of M.

    The weight w is the leading left singular vector of S, which is X'Y without the part explained
    by earlier scores. Scores and rotations are then computed by Gram-Schmidt steps.
    """
    (Y, scale, leading), mean = given, X[0].mean(axis=0)
    R, T = (jnp.stack(each) for each in _scores(X[0] - mean, Y, leading, nipals))
    loadings = T @ Y
    value = (Y**2).sum() - (loadings**2).sum()
    return Observed((scale[:, None] * R,), (R.T @ loadings,), (mean,), value, _NOTHING)


def _scores(
    X: Traced, Y: Traced, weights: Sequence[Callable[[Traced], Traced]], nipals: bool
) -> tuple[list[Traced], list[Traced]]:
    """Return rotations and scores; each weight is a function of S."""
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


def dynamics(optimum: Optimum, objective: Any, data: Data) -> Known:
    problem: Any = optimum.problem
    moves = objective.derivatives
    if moves is not None:
        moves = as_samples(moves, "derivatives").dense()
    units = problem.unit**0.5 / problem.rate, problem.unit**0.5
    of = Closure(of_dynamics, moves, *units, skew=objective.skew)
    return Known(optimum, of, [data.samples.dense()])


def of_dynamics(X: Traced, M: Traced, *given: Traced, skew: bool) -> Observed:
    """Compute ||Xdot - X M D'M'||^2 at the best D, with states and derivatives each rescaled."""
    (moves, place, pace), mean = given, X[0].mean(axis=0)
    states = Z = X[0] - mean
    if moves is None:
        states, moves = middles_and_steps(Z)
    V, Y = moves / pace, states @ M / place
    S, T = Y.T @ Y, (V @ M).T @ Y
    if skew:  # the skew-symmetric least-squares solution solves a Lyapunov equation
        unit = jnp.eye(len(S))
        D = jnp.linalg.solve(jnp.kron(unit, S) + jnp.kron(S, unit), (T - T.T).ravel())
        D = D.reshape(S.shape)
    else:
        D = jnp.linalg.solve(S, T.T).T
    value = pace**2 * ((V**2).sum() - 2.0 * (D * T).sum() + ((D @ S) * D).sum())
    return Observed((M.T,), (M,), (mean,), value, (Z @ M).T @ (Z @ M) / len(Z))


def dynamical_components(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    """Return the statement of dca; None if no stationary series has these covariances."""
    problem: Any = optimum.problem
    X, L, length = data.samples.dense(), frame(problem), len(problem.C)
    places = _places(X @ L, length)
    if stationary(np.array([_lagged(k, places, places) for k in range(length)]))[1]:
        return None
    return Known(optimum, Closure(of_windows, L, objective.ridge, length=length), [X])


def of_windows(X: Traced, M: Traced, L: Traced, ridge: Traced, *, length: int) -> Observed:
    """Compute dca from the covariances C_k of white rows at lag k in a window.

    To first order T'C_0T = M'M holds for T = L(I - E/2)M, where L'C_0L = I + E.
    """
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
    """Return the rows at each position of all windows, minus their mean."""
    each = [X[j : j + len(X) - length + 1] for j in range(length)]
    return [rows - rows.mean(axis=0) for rows in each]


def _lagged(k: int, Z: Sequence[Traced], Y: Sequence[Traced]) -> Traced:
    """Return the mean of z_{t+k} y_t' over positions and windows."""
    products = [later.T @ earlier for later, earlier in zip(Z[k:], Y, strict=False)]
    return sum(products[1:], start=products[0]) / (len(products) * len(Z[0]))


def spectra(optimum: Optimum, objective: Any, data: Data) -> Known:
    problem: Any = optimum.problem
    of = Closure(of_spectra, frame(problem), objective.ridge, length=problem.length)
    return Known(optimum, of, [data.samples.dense()])


def sources(optimum: Optimum, objective: Any, data: Data) -> Known:
    problem: Any = optimum.problem
    name = getattr(objective, "contrast", None) or getattr(objective, "expert", "")
    degrees, gaussian = getattr(objective, "degrees", 0.0), problem.contrast.gaussian
    of = Closure(of_sources, frame(problem), degrees, gaussian, name=name)
    return Known(optimum, of, [data.samples.dense()])


def _whitened(X: Traced, M: Traced, L: Traced, ridge: Traced = 0.0) -> tuple[Traced, ...]:
    """Return the scores, the map and the mean of whitened rows.

    To first order T'CT = M'M holds for T = L(I - E/2)M, where L'CL = I + E.
    """
    mean, start = X.mean(axis=0), L @ M
    Z = X - mean
    square = Z.T @ (Z @ start) / len(Z) + ridge * (Z**2).sum() / Z.size * start
    T = 1.5 * start - 0.5 * L @ (L.T @ square)
    return Z @ T, T, mean


def of_spectra(X: Traced, M: Traced, *given: Traced, length: int) -> Observed:
    """Compute foreca from the spectra of half-overlapping segments."""
    Y, T, mean = _whitened(X[0], M, *given)
    places = segment_starts(len(Y), length)[:, None] + np.arange(length)
    powers = jnp.abs(jnp.fft.rfft(hann_window(length) * Y[places], axis=1)[:, 1:]) ** 2
    p = powers.sum(axis=0)
    p = p / p.sum(axis=0)
    entropies = -(p * jnp.log(p)).sum(axis=0) / np.log(len(p))
    return Observed((T.T,), (), (mean,), entropies.sum(), _NOTHING)


def of_sources(X: Traced, M: Traced, *given: Traced, name: str) -> Observed:
    """Compute ica, or uica, for which `gaussian` is None, up to a constant."""
    L, degrees, gaussian = given
    Y, T, mean = _whitened(X[0], M, L)
    match name:
        case "log cosh":
            each = jnp.logaddexp(Y, -Y) - np.log(2.0)
        case "kurtosis":
            each = 0.25 * Y**4
        case "exp":
            each = -jnp.exp(-0.5 * Y**2)
        case _:
            each = 0.5 * (degrees + 1.0) * jnp.log1p(Y**2 / degrees)
    means = each.mean(axis=0)
    if gaussian is None:
        value = means.sum() - 0.5 * jnp.linalg.slogdet(M.T @ M)[1]
    else:
        value = ((means - gaussian) ** 2).sum()
    return Observed((T.T,), (), (mean,), value, _NOTHING)


def robust_pca(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    """Return the statement of robust PCA; None for spherical PCA or a row at the centre."""
    problem: Any = optimum.problem
    X, Z, (view,), loss = data.samples.dense(), problem.X, problem.views, problem.loss
    lengths = np.linalg.norm(Z, axis=1)
    least = objective.epsilon * median(lengths)
    # The length of a zero row has no derivative.
    if objective.sphere or not lengths.min() > FACTOR_ROUNDING * lengths.mean():
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
    return Known(optimum, Closure(of_distances, *given, subspace, problem.unit), [X])


def of_distances(X: Traced, M: Traced, *given: Traced) -> Observed:
    """Compute the sum of losses of ||z_i - MM'z_i||^2, for z_i centred at the geometric median.

    The centre and the width are medians, and depend on the rows.
    """
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
        if width is None:  # median distance of the samples from the principal subspace
            inside, outside, over_gaps = subspace
            scatter = (Z.T / squares) @ Z
            inside = inside + outside @ (outside.T @ scatter @ inside * over_gaps)
            left = squares - ((Z @ inside) ** 2).sum(axis=1)
            width = jnp.sqrt(left[middle]).mean()
        far = q > width**2
        beyond = width * jnp.sqrt(jnp.where(far, q, 1.0)) - 0.5 * width**2
        loss = jnp.where(far, beyond, 0.5 * q)
    scores = centred(Y) / unit
    within = scores.T @ scores / len(scores)
    return Observed(((lift @ M).T,), (lift @ M,), (mean,), scale * loss.sum(), within)


def kernel_gradients(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    """Return the statement of kernel gradients; None if the method uses a subsample."""
    samples, own = data.samples, objective
    if type(optimum.problem) is not Trace:
        return None
    X = samples.dense()
    width = own.width or kernel_width(centred(X), None, 1, 1)
    widens = gradient_of_median(X) if own.width is None else None
    Z = Response.of(data.y, samples.n, own.response, None).features(own.response_width, None)[0]
    ridge = samples.n * own.epsilon
    K = gaussian_gram(centred(X), width) + ridge * np.eye(len(X))
    factor = scipy.linalg.cho_factor(K, check_finite=False)[0]
    A = scipy.linalg.cho_solve((factor, False), Z, check_finite=False)
    of = Closure(of_kernel_gradients, X, width, widens, Z, ridge, factor, A)
    return Known(optimum, of, [X])


def of_kernel_gradients(X: Traced, M: Traced, *given: Traced) -> Observed:
    """Compute M'GM, G the mean outer product of the gradients of a kernel regression."""
    old, width, widens, Z, ridge, factor, A = given
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
    return Observed((M.T,), (M,), (mean,), jnp.trace(G), G)


def function(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    """Return the statement of a user's jax function of one view."""
    if not objective.in_jax:
        return None
    # The declared manifold may be "auto", or wrong.
    own = replace(objective, manifold=type(optimum.problem.manifold).__name__.lower())
    y = None if data.y is None else np.asarray(data.y)
    return Known(optimum, Closure(of_function, y, own=own), [data.samples.dense()])


def of_function(X: Traced, M: Traced, y: Traced, *, own: CustomObjective) -> Observed:
    value, within = StatedFunction(own, y).value_and_axes(X, [M])
    mean = (X[0].mean(axis=0) if own.center else 0.0 * X[0][0],)
    return Observed((M.T,), (M,), mean, own.sign * value, _NOTHING if within is None else within)


def factor_model(optimum: Optimum, objective: Any, data: Data) -> Known | None:
    problem: Any = optimum.problem
    noise, X, mask = problem.noise, data.samples.dense(), None
    if len(problem.manifold.factors) > 2:  # the third factor of a product manifold is the mean
        mask = (~np.isnan(X)).astype(float)
    unit = problem.objective.sign * problem.unit
    given = mask, problem.views[0].mean, problem.scale, noise.floor, unit
    of = Closure(of_likelihood, *given, tied=noise.tied)
    return Known(optimum, of, [np.nan_to_num(X)])


def of_likelihood(X: Traced, M: Traced, *given: Traced, tied: bool) -> Observed:
    """Compute the negative log-likelihood for S = LL' + Psi without constants, by Woodbury.

    - mask (n, d): 1 for an observed entry; None if all are observed
    """
    mask, centre, scale, floor, unit = given
    d = len(scale)
    noises = 1 if tied else d
    r = (M.size - noises - (0 if mask is None else d)) // d
    L, t = M[: d * r].reshape(d, r), M[d * r :][:noises]
    psi = floor + jnp.exp(t) * jnp.ones(d)
    B, log_psi = L / psi[:, None], jnp.log(psi)
    K = jnp.eye(r) + L.T @ B
    if mask is None:
        centre = X[0].mean(axis=0)
        Z, own = (X[0] - centre) / scale, K
        logs = len(Z) * log_psi.sum()
    else:
        Z = mask * ((X[0] - centre) / scale - M[-d:])
        own = jnp.eye(r) + (mask @ (L[:, :, None] * B[:, None]).reshape(d, -1)).reshape(-1, r, r)
        logs = (mask @ log_psi).sum()
    Y = Z @ B
    logs = logs + jnp.broadcast_to(jnp.linalg.slogdet(own)[1], len(Z)).sum()
    explained = (Y * jnp.linalg.solve(own, Y[:, :, None])[:, :, 0]).sum()
    value = 0.5 * unit * (logs + (Z**2 / psi).sum() - explained)
    P = jnp.linalg.solve(K, B.T) / scale
    return Observed((P,), (L,), (centre,), value, L.T @ B)


@dataclass(frozen=True)
class FiltersOfRows(Known):
    """An optimum of csp for more than two classes; a joint diagonalisation gives the filters F.

    In the coordinates of F the classes' moments are as diagonal as possible: V = I minimises Pham's
    criterion. V depends on the rows as any optimum does, so X contains the rows and V.

    - criterion: Pham's criterion, as a function of X and V
    - inverse: inverse Hessian of the criterion, without the scales
    """

    criterion: Closure = field(kw_only=True)
    inverse: HessianInverse = field(kw_only=True)

    @classmethod
    def of(cls, optimum: Optimum, objective: Any, data: Data) -> FiltersOfRows:
        samples, unit = data.samples, np.eye(len(optimum.M))
        (P,), (codes, classes), X = optimum.problem.maps(unit), data.labels, samples.dense()
        rows = RowForms.of(samples, 0)
        members = np.array(objective.members(rows, codes, classes))
        shares = objective.probabilities(rows, codes, classes)
        moments = P.T, members, objective.ridge
        inverse = filters_inverse(np.array(moments_of(X, *moments)))
        try:
            inverse(unit)
        except FlatError as error:
            raise SingularError(
                "the filters are not determined, because the covariances of all classes are "
                "proportional in some directions: standardise columns of different units, leave "
                "out columns, or give a smaller ridge="
            ) from error
        of, criterion = Closure(of_filters, shares, *moments), Closure(of_criterion, *moments)
        return cls(optimum.of_subspace, of, [X, unit], criterion=criterion, inverse=inverse)

    def rate(self, dX: Sequence[Array]) -> Rate:
        X, V = self.X
        known = self.criterion, [X], V, 1.0, np.zeros(0)
        _, (gradient, _) = computed(rate_of_gradient, *known, list(dX))
        moved = super().rate([*dX, -self.inverse(gradient)])
        return moved._replace(gradient=np.zeros_like(self.optimum.M))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        of_rows, of_V = super().pulled(V)
        known = self.criterion, [self.X[0]], self.X[1], 1.0, np.zeros(0)
        (found,), _ = computed(slope_in_X, *known, [], _NOTHING, self.inverse(of_V))
        return [of_rows + found]


def of_filters(
    X: Traced, M: Traced, shares: Traced, F: Traced, members: Traced, ridge: Traced
) -> Observed:
    """Compute filters FV of mean power 1, and the scores by which columns of M are chosen."""
    rows, V = X
    powers = jnp.stack([jnp.diag(C) for C in moments_of(rows, F @ V, members, ridge)])
    scales = (shares @ powers) ** -0.5
    powers = powers * scales**2
    numbers = -0.5 * shares @ jnp.log(powers) - 3.0 / 16.0 * (shares @ (powers**2 - 1.0)) ** 2
    T = (F @ V * scales) @ M
    return Observed((T.T,), (), (0.0 * F[:, 0],), (M.T**2 @ numbers).sum(), _NOTHING)


def of_criterion(X: Traced, V: Traced, F: Traced, members: Traced, ridge: Traced) -> Observed:
    """Return Pham's criterion without the term log |det V|."""
    moments = moments_of(X[0], F @ V, members, ridge)
    value = sum(0.5 * jnp.log(jnp.diag(C)).sum() for C in moments) / len(moments)
    return Observed((), (), (), value, _NOTHING)


def moments_of(X: Traced, F: Traced, members: Traced, ridge: Traced) -> list[Traced]:
    """Return the second moment of each class in the coordinates of the filters F."""
    Y, (m, _), (d, _) = X @ F, members.shape, F.shape
    trace = (members.sum(axis=0) @ X**2).sum()
    return [(Y.T * each) @ Y + ridge / (d * m) * trace * F.T @ F for each in members]


def filters_inverse(C: Array) -> HessianInverse:
    """Return the inverse Hessian of Pham's criterion at I, without the scales."""
    unit = np.eye(C.shape[1])
    return HessianInverse(JointDiagonal(C), unit, [np.diag(each) for each in unit])


@dataclass(frozen=True)
class Projection:
    """The objective phi(Y) with Y = ZM; phi may have parameters that depend on the rows.

    - Z (n, k), L (d, k): Z = (X - m)L
    - point: phi at the optimum
    """

    problem: Projected
    Z: Array
    L: Array
    point: Any

    @classmethod
    def of(cls, problem: BoundObjective, M: Array, data: Data) -> Projection | None:
        rows = data.samples.dense()
        if not isinstance(problem, Projected) or not problem.follows:
            return None
        if len(problem.X) < len(rows):  # equal rows that move apart become neighbours
            raise SingularError(
                f"{problem.objective.name} has no derivative in X where rows of a class are equal: "
                "solve the different rows, with the numbers of equal rows as sample_weight="
            )
        (view,), Z, L = problem.views, problem.X, frame(problem)
        unit = np.linalg.norm(Z) / np.linalg.norm((rows - view.mean) @ L)
        return cls(problem, Z, 2.0 ** round(math.log2(unit)) * L, problem.at(M))

    def rate(self, dX: Array) -> tuple[float, Array]:
        point, dZ = self.point, centred(dX) @ self.L
        value, moved = self.problem.rate_at(point, dZ)
        dY = dZ @ point.M
        gradient = dZ.T @ point.slope + self.Z.T @ (point.curvature(dY) + moved)
        return value + float(np.vdot(point.slope, dY)), gradient

    def crossed(self, U: Array) -> Array:
        point, dY = self.point, self.Z @ U
        of_Z = point.slope @ U.T + point.curvature(dY) @ point.M.T
        return centred((of_Z + self.problem.pulled_at(point, dY)) @ self.L.T)


def projected_rows(optimum: Optimum, objective: Objective, data: Data) -> Known | None:
    term = Projection.of(optimum.problem, optimum.M, data)
    if term is None:
        return None
    by_length = isinstance(optimum.problem, LabelledPairs)
    of = Closure(of_projection, frame(optimum.problem), by_length=by_length)
    return Known(optimum, of, [data.samples.dense()], [(1.0, term)])


def of_projection(X: Traced, M: Traced, L: Traced, *, by_length: bool) -> Observed:
    """Compute the map; the lengths of its rows or the variances of the scores order the axes."""
    T, mean = L @ M, X[0].mean(axis=0)
    scores = T if by_length else (X[0] - mean) @ T / len(X[0]) ** 0.5
    return Observed((T.T,), (T,), (mean,), 0.0 * T[0, 0], scores.T @ scores)


def sum_of_terms(optimum: Optimum, objective: Objective, data: Data) -> Known | None:
    """Return the derivative of a sum with orthonormal M in the original columns of a single X.

    The sum is unknown if a term has no known derivative.
    """
    problem, M = optimum.problem, optimum.M
    if not isinstance(objective, Sum) or not isinstance(problem, (WeightedSum, TraceSum)):
        return None
    whole = not isinstance(problem, WeightedSum) or not (problem.only or problem.penalty)
    if not whole or len(problem.views) > 1 or not objective.traits.transposed:
        return None
    stated: list[tuple[float, float, Closure]] = []
    terms: list[tuple[float, Projection]] = []
    for term, (weight, own) in zip(problem.terms, objective.terms, strict=True):
        there = replace(optimum, problem=term.bound, axes=Axes.given(M.shape[1]))
        robust = isinstance(term.bound, Reconstruction)
        part = (robust_pca if robust else of_matrices)(there, own, data)
        beside = None if part else Projection.of(term.bound, M, data)
        if not term.same_point or not (part or beside):
            return None
        if part:
            stated.append((weight, weight * own.sign * objective.sign, part.observed))
        elif beside:
            terms.append((weight * term.bound.unit / problem.unit, beside))
    by = "scores" if len(matrix_of(optimum.axes)) else "nothing"
    of = Closure(of_sum, stated, by="matrices" if isinstance(problem, TraceSum) else by)
    return Known(optimum, of, [one.dense() for one in all_of(data)], terms)


def of_sum(X: Traced, M: Traced, stated: Traced, *, by: str) -> Observed:
    """Compute a sum of statements; their matrices, scores or nothing order the axes."""
    found = [(*weights, of(X, M)) for *weights, of in stated]
    mean = found[0][-1].mean if found else (X[0].mean(axis=0),)
    value = sum(weight * each.value for _, weight, each in found)
    within = _NOTHING
    if by == "matrices":
        within = sum(weight * each.within for weight, _, each in found)
    elif by == "scores":
        scores = centred(X[0]) @ M
        within = scores.T @ scores / len(scores)
    return Observed((M.T,), (M,), mean, value, within)


Kind = type | tuple[type, ...]
# Statements by the class of the problem or of the objective; the first that applies holds. Those of
# the first group accept sample weights and trials.
WITH_MARKS: Sequence[tuple[Kind, Callable[[Optimum, Any, Data], Known | None]]] = (
    (Objective, of_matrices),
    (Regression, regression),
    (ReducedRank, reduced_rank),
)
PLAIN: Sequence[tuple[Kind, Callable[[Optimum, Any, Data], Known | None]]] = (
    (CustomObjective, function),
    (Reconstruction, robust_pca),
    (FactorLikelihood, factor_model),
    (GKDR, kernel_gradients),
    (LinearDynamics, dynamics),
    (Predictive, dynamical_components),
    (SpectralEntropy, spectra),
    (SourcesInMemory, sources),
    (JointFilters, FiltersOfRows.of),
    (Projected, projected_rows),
    (Sum, sum_of_terms),
)


def known(optimum: Optimum, objective: Objective, data: Data) -> Known | None:
    """Return the derivative of the optimum in the rows; None if only differences are available."""
    problem = optimum.problem
    if any(one.is_sparse or one.stored for one in all_of(data)):
        return None
    plain = all(one.marks is None for one in all_of(data))
    if isinstance(problem, ScoreRegression):
        return partial_least_squares(optimum, objective, data) if plain else None
    kept = zip(problem.blocks(optimum.M), data.views, strict=True)
    if not all(len(block) == view.d for block, view in kept):
        return None  # the statements hold only if M has one row for each column of the data
    tried = (
        of(optimum, objective, data)
        for kind, of in (*WITH_MARKS, *(PLAIN if plain else ()))
        if isinstance(problem, kind) or isinstance(objective, kind)
    )
    return next(filter(None, tried), None)
