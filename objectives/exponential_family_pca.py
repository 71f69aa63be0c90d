"""Principal components of binary data and counts, by the natural parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.data.data import Data
from ldr.objectives.families.pairwise import on_some_rows
from ldr.objectives.families.projected import SAME
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, word
from ldr.objectives.problem import BoundObjective, Fitted, LocalOptima, check_dimension
from ldr.objectives.statistics.scatters import RowScatter, Variation
from ldr.objectives.statistics.sums import counting_rows
from ldr.objectives.view import Axes, LogCounts, View
from ldr.solvers.deadline import steps
from ldr.solvers.descent import LBFGS
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Product
from ldr.solvers.problem import Point
from ldr.solvers.solver import Stopping, minimise, run_through
from ldr.solvers.trust_region import TrustRegion

# Sample of the rows for a first run: rows per column, least size, and least ratio of n to the size.
# At the least ratio the run takes less than a tenth of the time of a run on all rows.
_SAMPLE_ROWS, _LEAST_SAMPLE, _MANY = 20, 2000, 5
_ROUGHLY = Stopping(1e-8, 50)


@dataclass(frozen=True)
class Bernoulli:
    """Entries 0 and 1 with the density exp(x theta - b(theta)), where b = log(1 + e^theta)."""

    saturation: float

    takes = "0 and 1"

    def natural(self, X: Array) -> Array:
        """Return the natural parameter of the best fit to each entry, within the saturation."""
        return self.saturation * (2.0 * X - 1.0)

    def fits(self, X: Array) -> npt.NDArray[np.bool_]:
        """Return True for entries that are values of the distribution, such as 0 and 1."""
        return (X == 0) | (X == 1)

    def derivatives(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return the function b(theta) and its derivatives b', the mean, and b'', the variance."""
        far = np.exp(-np.abs(theta))  # e^-|theta| cannot overflow
        larger = 1.0 / (1.0 + far)
        mean = np.exp(np.minimum(theta, 0.0)) * larger
        return np.maximum(theta, 0.0) + np.log1p(far), mean, far * larger**2

    def best(self, X: Array) -> Array:
        """Return the maximum of x theta - b(theta) over theta."""
        return np.zeros_like(X)

    def intercept(self, mean: Array) -> Array:
        """Return the natural parameter of a given mean, bounded by the saturation m."""
        share = np.clip(mean, *scipy.special.expit([-self.saturation, self.saturation]))
        return np.log(share) - np.log1p(-share)


class Poisson(Bernoulli):
    """Counts with the Poisson distribution: b(theta) = e^theta."""

    takes = "numbers >= 0"

    def natural(self, X: Array) -> Array:
        return LogCounts(self.saturation).of(X)

    def intercept(self, mean: Array) -> Array:
        return self.natural(mean)

    def fits(self, X: Array) -> npt.NDArray[np.bool_]:
        return X >= 0

    def derivatives(self, theta: Array) -> tuple[Array, Array, Array]:
        with np.errstate(over="ignore"):
            mean = np.exp(theta)
        return mean, mean, mean

    def best(self, X: Array) -> Array:
        return scipy.special.xlogy(X, X) - X


_FAMILIES: Mapping[str, type[Bernoulli]] = {"bernoulli": Bernoulli, "poisson": Poisson}


@dataclass(frozen=True)
class ExponentialFamilyPCA(Objective, weighted=True, missing=True, sparse=False, transposed=False):
    r"""Exponential family principal component analysis (PCA): logistic and Poisson PCA.

    .. math::

        \min_{M'M=I,\,\mu} 2 \sum_{ij} \left[b(\theta_{ij}) - x_{ij} \theta_{ij}\right], \quad
        \Theta = 1\mu' + EMM'

    The matrix T contains the natural parameters of the saturated model. The vector mu contains
    intercepts, and E = T - 1mu' in the formula. With m = `saturation` the natural parameters are T
    = m(2x - 1) for "bernoulli" (logistic PCA); for "poisson" they are T = log x, and -m where x =
    0. The function b is log(1 + e^theta) for "bernoulli" and e^theta for "poisson". The value is
    the deviance, minimised over subspaces and mu: twice the difference between the largest possible
    log-likelihood and that of the model. The deviance omits missing entries (NaN) and constant
    features; where x is missing, the entry of the matrix E is 0. The components of sample i are
    M'(T_i - mu), where T_i is row i of T. For "bernoulli" the map is P = 2mM' with m =
    `saturation`. For "poisson" the map P = M' applies to the logarithms of counts. Local optima
    exist. The default starts are pca of the saturated model's T (the baseline) and the best of
    short runs from random subspaces. For many samples a run on a subset precedes the run on all
    samples. `parameters` has the `intercept` mu and the `explained_deviance` relative to a model
    with an intercept only. All samples are loaded into memory.

    Use it instead of pca if entries are 0 and 1 (logistic PCA) or, with family="poisson", counts;
    entries may be missing. Do not use it for continuous measurements: take pca or fa.

    Source: Landgraf & Lee 2020; Collins, Dasgupta & Schapire 2001.

    Parameters
    ----------
    family : {"bernoulli", "poisson"}
        Distribution of the entries: "bernoulli" for 0 and 1, "poisson" for counts.
    saturation : float
        The bound m of the saturated model's natural parameters.
    """

    name = "exponential-family-pca"
    sense = "min"
    baseline = "pca of T, mu that of the columns' means"

    family: str = word("bernoulli", tuple(_FAMILIES))
    saturation: float = number(4.0, positive=True)

    def order(self, data: Data) -> int:
        return 0

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        if samples.stored:
            return on_some_rows(self, data, r)
        check_dimension(r, samples.d)
        X = np.asarray(samples.dense(), dtype=np.float64)
        there, family = ~np.isnan(X), _FAMILIES[self.family](self.saturation)
        _check_entries(X, there, family, samples.name)
        complete, constant = bool(there.all()), np.nanmin(X, axis=0) == np.nanmax(X, axis=0)
        if constant.all():
            raise DataError(f"{samples.name} has no column that varies, expected at least one")
        X = np.where(there, X, 0.0)
        w = np.ones(len(X)) if samples.weights is None else samples.weights
        counted = there * w[:, None]
        T = family.natural(X)
        mean, centre = (np.sum(counted * Z, axis=0) / np.sum(counted, axis=0) for Z in (X, T))
        features = LogCounts(self.saturation) if self.family == "poisson" else None
        seen = samples if features is None else features(samples)
        view = View(mean, features=features, scatter=RowScatter(seen) if complete else None)
        notes = [f"{sum(constant)} constant columns are left out"] if any(constant) else []
        return NaturalParameters(
            self,
            (view.noting(*notes),),
            X,
            r,
            family,
            T,
            there & ~constant,
            counted * ~constant,
            intercept=family.intercept(mean)[:, None],
            centre=centre[:, None],
        )


def _check_entries(X: Array, there: npt.NDArray[np.bool_], family: Bernoulli, name: str) -> None:
    wrong = np.argwhere(there & ~family.fits(X))
    if len(wrong):
        i, j = wrong[0]
        raise DataError(
            f"{name} has {len(wrong)} entries outside the family's range, the first is {X[i, j]:g} "
            f"in row {i}, column {j}; expected {family.takes}"
        )
    for axis, what in ((0, "column"), (1, "row")):
        empty = np.flatnonzero(~there.any(axis=axis))
        if len(empty):
            raise DataError(f"{name} has only missing values in {what} {empty[0]}")


class NaturalPoint(Point):
    """The deviance is f = 2 sum w (b(Theta) - x Theta), Theta = 1mu' + YM', Y = EM, E = W(T -
    1mu'), with weights w and indicators W of observed entries; products with w and W are entrywise.

    The gradient of f is 2 (E'RM + R'Y) in M and 2 (R - W(RMM'))'1 in mu, where R = w(b'(Theta) -
    X). Along (V, nu), dE = -W(1nu'), dTheta = 1nu' + dY M' + YV' and dR = w b''(Theta) dTheta.
    Products with W(1nu') and W(AM')'1 need no n x d matrix: W(1nu')M = W(nu M), a matrix product,
    and W(AM')'1 = (W'A o M)1.
    """

    def __init__(self, problem: NaturalParameters, M: Array) -> None:
        self.M = M
        self._problem, self._W = problem, problem.observed
        self._M, self._mu = problem.manifold.split(M)
        self._E = problem.T - self._mu.T
        self._E *= self._W
        self.Y = self._E @ self._M
        theta = self.Y @ self._M.T
        theta += self._mu.T
        b, mean, variance = problem.family.derivatives(theta)
        self._curvature = problem.counted * variance
        self._R = problem.counted * (mean - problem.X)
        b -= np.multiply(problem.X, theta, out=theta)
        b += problem.best
        self._value = 2.0 * float(np.vdot(problem.counted, b))

    @property
    def value(self) -> float:
        return self._value

    @cached_property
    def _RM(self) -> Array:
        return self._R @ self._M

    @cached_property
    def _WRM(self) -> Array:
        return self._W.T @ self._RM

    @cached_property
    def gradient(self) -> Array:
        in_M = self._E.T @ self._RM + self._R.T @ self.Y
        in_mu = self._R.sum(axis=0) - np.einsum("jk,jk->j", self._WRM, self._M)
        return 2.0 * self._problem.manifold.join([in_M, in_mu[:, None]])

    def hessian_vector(self, V: Array) -> Array:
        M, (dM, dmu) = self._M, self._problem.manifold.split(V)
        in_M, in_mu, WdRM = np.zeros_like(M), np.zeros(len(M)), np.zeros_like(M)
        # Rows are taken in blocks, because all the n x d arrays together exceed the cache.
        for rows in steps(len(self.Y), 50 * M.size, max(16, 2**17 // len(M))):
            E, R, W, Y = self._E[rows], self._R[rows], self._W[rows], self.Y[rows]
            dY = E @ dM - W @ (dmu * M)
            dR = np.hstack([dY, Y]) @ np.hstack([M, dM]).T
            dR += dmu.T
            dR *= self._curvature[rows]
            dRM = dR @ M + R @ dM
            in_M += E.T @ dRM + R.T @ dY + dR.T @ Y
            in_mu += dR.sum(axis=0)
            WdRM += W.T @ dRM
        in_M -= dmu * self._WRM
        in_mu -= np.sum(WdRM * M + self._WRM * dM, axis=1)
        return 2.0 * self._problem.manifold.join([in_M, in_mu[:, None]])


@dataclass(frozen=True)
class NaturalParameters(LocalOptima):
    """Problem of minimising the deviance over subspaces and intercepts.

    - X, T (n, d): entries, 0 if missing, and natural parameters of the saturated model
    - there (n, d): 1 for observed entries of non-constant columns
    - counted (n, d): weight of each entry
    - intercept, centre (d, 1): natural parameters of the columns' means, and means of T
    """

    X: Array
    r: int
    family: Bernoulli
    T: Array
    there: npt.NDArray[np.bool_]
    counted: Array
    intercept: Array = field(kw_only=True)
    centre: Array = field(kw_only=True)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        d = self.X.shape[1]
        return Product(Grassmann(d, self.r), Euclidean(d, 1))

    @cached_property
    def observed(self) -> Array:
        """The mask `there` as floating-point numbers, so that products use BLAS."""
        return self.there.astype(np.float64)

    @cached_property
    def best(self) -> Array:
        return self.family.best(self.X)

    def at(self, M: Array) -> NaturalPoint:
        return NaturalPoint(self, M)

    def point(self, blocks: Sequence[Array]) -> Array:
        return self.manifold.join([blocks[0], blocks[1] if len(blocks) > 1 else self.intercept])

    def value_of(self, M: Array, fitted: Fitted) -> float:
        """Return the value at M with the given fitted intercept."""
        return self.value(self.point([self.blocks(M)[0], np.reshape(fitted["intercept"], (-1, 1))]))

    def baseline(self) -> Array:
        E = self.T - self.centre.T
        if self.r <= len(E) < E.shape[1]:  # for n < d no d x d matrix is computed
            rows = np.sqrt(self.counted) * E
            N = np.linalg.svd(rows, full_matrices=False)[2][: self.r].T
        else:
            N = top_eigenvectors(E.T @ (self.counted * E), self.r)[1]
        return self.point([self._varying(N)])

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.point([self._varying(self.manifold.factors[0].random_point(rng))])

    def _varying(self, N: Array) -> Array:
        """Project N onto the varying columns: constant columns have zero gradient."""
        varies = np.asarray(self.there.any(axis=0))
        if varies.all() or varies.sum() < self.r:
            return N
        return np.asarray(np.linalg.qr(N * varies[:, None])[0] * varies[:, None])

    def starts(self) -> dict[str, Array]:
        rng, rough = np.random.default_rng(0), self.rough
        short = Stopping(1e-6, 20)
        ends = [run_through(rough, rough.random_point(rng), LBFGS(), short) for _ in range(5)]
        return {"pca": self.baseline(), "screened": min(ends, key=lambda run: run.value).M}

    @cached_property
    def rough(self) -> NaturalParameters:
        """The problem for a sample of the rows; for few rows the problem itself."""
        count = max(_LEAST_SAMPLE, _SAMPLE_ROWS * self.X.shape[1])
        if len(self.X) < _MANY * count:
            return self
        rows = counting_rows(len(self.X), self.counted.max(axis=1), count)
        X, there, counted = self.X[rows], self.there[rows], self.counted[rows]
        least = np.min(X, axis=0, where=there, initial=np.inf)
        varies = (there & (X > least)).any(axis=0)  # a column of zeros has no finite log or logit
        there, counted = there & varies, counted * varies
        return replace(self, X=X, T=self.T[rows], there=there, counted=counted)

    def approach(self, M: Array) -> Array:
        """Return the optimum for a sample of the rows, by a run from M; for few rows M itself."""
        return M if self.rough is self else minimise(self.rough, M, TrustRegion(), _ROUGHLY).M

    def same(self, M: Array, N: Array) -> bool:
        """Return True if the optima M and N for a sample of the rows span the same subspace."""
        U, V = (self.manifold.split(point)[0] for point in (M, N))
        return self.rough is not self and bool(np.linalg.norm(V - U @ (U.T @ V)) <= SAME)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the principal axes of the components Y = EM; missing entries are 0 in E."""
        Y = self.at(M).Y
        w = self.counted.max(axis=1)
        Y = Y - np.average(Y, axis=0, weights=w)
        return Axes.principal(Y.T @ (Y * w[:, None]))

    def idle(self, M: Array) -> Sequence[Array]:
        """Return directions of the intercept that do not change the value, for complete data."""
        N = self.blocks(M)[0]
        if not self._all_there(N):
            return ()
        return [self.manifold.join([np.zeros_like(N), m[:, None]]) for m in N.T]

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the decrease of the deviance by each added component, for a fixed intercept."""
        N, mu = self.manifold.split(M)[0], self._intercept(M)[:, None]
        first = np.tri(self.r + 1, self.r, -1)  # row j of `first` keeps the first j components
        return {"deviance": -np.diff([self.value(self.point([N * kept, mu])) for kept in first])}

    def parameters(self, M: Array) -> Fitted:
        alone = self.value(self.point([np.zeros((len(self.centre), self.r)), self.intercept]))
        explained = 1.0 - self.value(M) / alone if alone > 0 else 0.0
        return {"intercept": self._intercept(M), "explained_deviance": explained}

    def _all_there(self, N: Array) -> bool:
        """Return True if all entries of the subspace's columns are observed."""
        return bool(self.there[:, N.any(axis=1)].all())

    def _intercept(self, M: Array) -> Array:
        """Return mu, shifted within the subspace to centre the components if data are complete."""
        N, mu = self.manifold.split(M)
        return (mu - N @ (N.T @ (mu - self.centre)) if self._all_there(N) else mu)[:, 0]

    @property
    def _of_features(self) -> bool:
        """True if rows are mapped by their logarithms, not by T = m(2x - 1)."""
        return self.views[0].features is not None

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        mu = self._intercept(M)
        return (mu if self._of_features else 0.5 + 0.5 * mu / self.family.saturation,)

    def maps(self, M: Array) -> tuple[Array, ...]:
        scale = 1.0 if self._of_features else 2.0 * self.family.saturation
        return (scale * self.lift(M)[0].T,)
