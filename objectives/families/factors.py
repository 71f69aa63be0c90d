"""Gaussian factor models: the likelihood of S = MM' + diag(psi) over M and log psi.

Complete rows enter the likelihood by a factor of their covariance, incomplete rows by their
observed entries.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import add, attrgetter, or_
from typing import Any, TypeAlias

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Beside, Data, Samples
from ldr.objectives.data.stored import MadeSamples
from ldr.objectives.factor_model import FactorModel, Observed, Posterior, outer, over_columns, times
from ldr.objectives.families.row_sum import InParts, Remembered, SumPoint, TermOfPoints
from ldr.objectives.problem import BoundObjective, Fitted, Stated
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, Scaling, View
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.likelihoods import Imputation
from ldr.solvers.manifolds import Array, Euclidean, Product
from ldr.solvers.problem import Point


@dataclass(frozen=True)
class Noise:
    """Noise variances psi_j = floor + exp(t_j), with a common t if tied.

    - k: number of columns of the solver
    - floor: lower bound of psi, the limit for t -> -infinity
    - further: if tied, number of directions outside the solver's columns, which have noise only
    - outside: sum of squares of the rows in these directions
    """

    k: int
    tied: bool
    floor: float = 0.0
    further: int = 0
    outside: float = 0.0

    @property
    def size(self) -> int:
        """Number of entries of t."""
        return 1 if self.tied else self.k

    def slope(self, t: Array) -> Array:
        """Return exp(t) = d psi/dt = d^2 psi/dt^2 of each column, shape (k,)."""
        with np.errstate(over="ignore"):
            return np.broadcast_to(np.exp(t[:, 0]), self.k)

    def variances(self, t: Array) -> Array:
        """Return psi, shape (k,)."""
        return self.floor + self.slope(t)

    def gather(self, columns: Array) -> Array:
        """Sum values of the columns (k,) over the columns of each t; the result is (size, 1)."""
        return np.array([[columns.sum()]]) if self.tied else columns[:, None]

    def coordinate(self, psi: Array) -> Array:
        """Return t for psi, each (size, 1); a very small t if psi is not above the floor."""
        least = 1e-9 * self.floor or np.finfo(float).tiny
        return np.log(np.maximum(psi - self.floor, least))


def inner(A: Array, B: Array) -> Array:
    """Return the inner products a_j'b_j of the rows of A and B."""
    return np.einsum("jk,jk->j", A, B)


class LikelihoodPoint(Point):
    """The negative log-likelihood of rows at (M, t), or (M, t, mean), and its derivatives.

    By Fisher's identity the gradient is the conditional expectation, given the observed entries, of
    the gradient for known factors y. The latter is that of a regression of each column on z = (y,
    1) with the coefficients b_j = (M_j, mean_j). Let pull_j = sum E[z (x_j - z'b_j)], left_j = sum
    E[(x_j - z'b_j)^2] and n_j be sums over the rows that observe column j. The gradient is
    -pull_j/psi_j in b_j, and (n_j - left_j/psi_j)/(2 psi_j) in psi_j.

    With posterior means y_i, covariances V_i and residuals R_i of the rows, the sums are pull_j =
    sum_i R_ij (y_i, 1) - (V_i M_j, 0) and left_j = sum_i R_ij^2 + M_j'V_iM_j. A Hessian product
    costs O(n d r), plus O(p d r^2) for p patterns of missing entries.

    - problem: its manifold, noise and scale of the columns, an `ObservedTerm` or `Factors`
    - rows: the rows; complete rows are centred, and the manifold has no mean
    """

    def __init__(self, problem: Any, rows: Observed, M: Array) -> None:
        self.M, self._problem, self._rows = M, problem, rows
        self._noise: Noise = problem.noise
        self._loadings, self._t, *mean = problem.manifold.split(M)
        self._mean = mean
        self._slope = self._noise.slope(self._t)
        self._psi = self._noise.floor + self._slope

    @cached_property
    def _posterior(self) -> Posterior:
        mean = self._mean[0][:, 0] if self._mean else 0.0
        return Posterior(self._rows, mean, self._loadings, self._psi)

    @cached_property
    def value(self) -> float:
        psi, noise, rows = self._psi, self._noise, self._rows
        if not (np.isfinite(psi).all() and psi.min() > np.finfo(float).tiny):
            return math.inf
        logs = np.log(self._problem.scale)
        found = float(rows.counts @ logs[: noise.k]) - self._posterior.log_likelihood
        if noise.further:
            of_noise = noise.further * (math.log(2.0 * math.pi) + float(self._t[0, 0]))
            found += rows.n * (float(logs[noise.k :].sum()) + 0.5 * of_noise)
            found += 0.5 * noise.outside / float(psi[0])
        return found

    @cached_property
    def _pull(self) -> Array:
        posterior, rows, M = self._posterior, self._rows, self._loadings
        in_M = posterior.residual.T @ posterior.y - times(posterior.spread, M)
        return np.hstack([in_M, posterior.residual.T @ rows.ones]) if self._mean else in_M

    @cached_property
    def _left(self) -> Array:
        posterior, M = self._posterior, self._loadings
        spread = inner(M, times(posterior.spread, M))
        return posterior.squares + spread + self._noise.outside / self._noise.k

    @cached_property
    def _in_psi(self) -> Array:
        return 0.5 * (self._rows.counts - self._left / self._psi) / self._psi

    @cached_property
    def gradient(self) -> Array:
        noise = self._noise
        in_t = noise.gather(self._slope * self._in_psi) + 0.5 * self._rows.n * noise.further
        return self._joined(-self._pull / self._psi[:, None], in_t)

    def hessian_vector(self, V: Array) -> Array:
        psi = self._psi
        dslope = self._slope * self._problem.manifold.split(V)[1][:, 0]
        relative = dslope / psi
        dpull, dleft = self._changes(V, relative)
        in_both = (self._pull * relative[:, None] - dpull) / psi[:, None]
        weighed = (2.0 * self._left / psi - self._rows.counts) * relative
        din_psi = 0.5 * (weighed - dleft / psi) / psi
        return self._joined(
            in_both, self._noise.gather(self._slope * din_psi + dslope * self._in_psi)
        )

    def _changes(self, V: Array, relative: Array) -> tuple[Array, Array]:
        """The derivatives of pull and left along V, which changes psi by psi * relative.

        With dK_i = dM'B + M'dB over the observed columns, dV_i = -V_i dK_i V_i.
        """
        psi, M, r = self._psi, self._loadings, self._problem.r
        posterior, rows = self._posterior, self._rows
        dM, _, *of_mean = self._problem.manifold.split(V)
        dB = dM / psi[:, None] - posterior.B * relative[:, None]
        dK = over_columns(rows.patterns, outer(dM, posterior.B) + outer(M, dB))
        dspread = posterior.summed(-posterior.V @ dK @ posterior.V)
        weighted = posterior.deviation @ dB
        ones = [rows.ones for _ in of_mean]
        for dmean in of_mean:
            weighted -= rows.ones * (rows.mask @ (dmean * posterior.B))
        dy = rows.times(posterior.V, weighted - rows.times(dK, posterior.y))
        # The derivative of the residuals is -AB', where A and B are the following two matrices.
        A, B = np.hstack([posterior.y, *ones, dy]), np.hstack([dM, *of_mean, M])
        of_R = posterior.residual.T @ A
        dpull = -rows.products(A, B)[:, : A.shape[1] - r]
        dpull[:, :r] += of_R[:, -r:] - times(dspread, M) - times(posterior.spread, dM)
        dleft = inner(M, times(dspread, M) + 2.0 * times(posterior.spread, dM))
        return dpull, dleft - 2.0 * inner(of_R, B)

    def _joined(self, both: Array, t: Array) -> Array:
        """Return the vector of derivatives in the coefficients b, (M, mean) or M alone, and t."""
        M, mean = both[:, : self._problem.r], both[:, self._problem.r :]
        return self._problem.manifold.join([M, t, mean] if mean.size else [M, t])

    @property
    def expected(self) -> Array:
        """Sum over the rows of E[(1, x)(1, x)' | observed entries]."""
        return self._posterior.expected()

    def regressed(self, variances: Array) -> Array:
        """Return the EM step for complete rows, with M by regression on the factors y.

        The variance psi_j is the mean square of column j's residuals, or of all residuals if tied.
        """
        noise, n, y = self._noise, self._rows.n, self._posterior.y
        targets = self._rows.Z.T @ y
        M = np.linalg.solve(y.T @ y + n * self._posterior.V[0], targets.T).T
        psi = noise.gather(variances - inner(M, targets) / n)
        psi /= noise.k + noise.further if noise.tied else 1
        return self._joined(M, noise.coordinate(psi))


@dataclass(frozen=True)
class FactorLikelihood(BoundObjective):
    """Problem of the likelihood of a factor model; the first blocks of the point are M and t.

    - n: number of samples, or sum of weights
    - scale (d,): the solver's columns are the user's columns divided by `scale`
    """

    exchangeable = True

    noise: Noise = field(kw_only=True)
    r: int = field(kw_only=True)
    n: float = field(kw_only=True)
    scale: Array = field(kw_only=True)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        """Product manifold of M and t."""
        return Product(Euclidean(self.noise.k, self.r), Euclidean(self.noise.size, 1))

    @cached_property
    def _points(self) -> Remembered[Any]:
        """The last two points, which the report of a result needs again."""
        return Remembered(2)

    @property
    def d(self) -> int:
        """Number of columns of the user's data."""
        return len(self.scale)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the eigenvectors of M'Psi^{-1}M, Psi = diag(psi) (Lawley and Maxwell)."""
        loadings, t = self.manifold.split(M)[:2]
        return Axes.principal(loadings.T @ (loadings / self.noise.variances(t)[:, None]))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return theta_k = (M'Psi^{-1}M)_kk, and sums of squared loadings in the user's units."""
        return {"theta": axes.numbers, "sum_of_squares": np.sum(self.lift(M)[0] ** 2, axis=0)}

    def model(self, M: Array) -> FactorModel:
        """Return the model in the user's units; the point caches it."""
        point: Any = self.at(M)
        if not hasattr(point, "model"):
            point.model = self._model(M, point.value)
        model: FactorModel = point.model
        return model

    def _model(self, M: Array, value: float) -> FactorModel:
        """Make the model; its free parameters count M up to a rotation."""
        psi = self.noise.variances(self.manifold.split(M)[1])
        with np.errstate(over="ignore"):  # variances overflow if the likelihood has no maximum
            variances = (psi[0] if self.noise.tied else psi) * self.scale * self.scale
        noises = 1 if self.noise.tied else self.d
        return FactorModel(
            mean=self.mean_at(M)[0],
            loadings=self.lift(M)[0],
            noise=variances,
            n=self.n,
            log_likelihood=-value,
            free_parameters=self.d + self.d * self.r - self.r * (self.r - 1) // 2 + noises,
        )

    def maps(self, M: Array) -> tuple[Array, ...]:
        return (self.model(M).P,)

    def parameters(self, M: Array) -> Fitted:
        noise = self.model(M).noise
        if self.noise.tied:
            return {"noise_variance": float(noise[0])}
        return {"noise_variances": noise}


@dataclass(frozen=True)
class Factors(FactorLikelihood):
    """The likelihood of complete rows over M in R^{k x r} and t (see `Noise`).

    The value refers to the user's d columns; d - k directions outside have no variance.

    - C: covariance in the solver's coordinates
    - variances (k,): diagonal of C
    """

    C: Any
    variances: Array

    @cached_property
    def constant(self) -> float:
        return self.d * math.log(2 * math.pi) + 2.0 * float(np.log(self.scale).sum())

    @property
    @abstractmethod
    def root(self) -> Any:
        """Factor F (m, k) of the covariance, F'F = C: an array or a linear operator."""

    @cached_property
    def _rows(self) -> Observed:
        return Observed.complete(math.sqrt(self.n) * self.root, self.n)

    def at(self, M: Array) -> LikelihoodPoint:
        return self._points.at(M, partial(LikelihoodPoint, self, self._rows))

    def em_step(self, M: Array) -> Array:
        """Return the next iterate of EM."""
        return self.at(M).regressed(self.variances)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return scores, and each factor's gain of likelihood n/2 (theta_k - log(1 + theta_k))."""
        found = super().numbers(M, axes, seen)
        theta = found["theta"]
        return {**found, "likelihood_part": 0.5 * self.n * (theta - np.log1p(theta))}

    @abstractmethod
    def of_covariance(self, C: Array) -> Factors:
        """Build the likelihood from the covariance of all columns and the number of rows.

        - raises SingularError: The likelihood is unbounded.
        """

    @abstractmethod
    def improved(self, M: Array) -> Array:
        """Return the maximiser or, without a closed form, a point of larger likelihood than M."""

    def random_point(self, rng: np.random.Generator) -> Array:
        """Draw random loadings scaled so that tr(S) is near tr(C)."""
        scale = np.sqrt(self.variances.sum() / self.d / self.r)
        return self.point([scale * rng.standard_normal((self.noise.k, self.r))])

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # the user gave loadings, but no noise variances
            left, all_of_it = (
                self.noise.gather(v)
                for v in (self.variances - inner(blocks[0], blocks[0]), self.variances)
            )
            psi = np.maximum(left, 0.01 * all_of_it) / (self.d if self.noise.tied else 1)
            blocks = [blocks[0], self.noise.coordinate(psi)]
        return self.manifold.join(blocks)

    def remarks(self, M: Array) -> list[str]:
        return self.remarks_on(self.model(M))

    def remarks_on(self, model: FactorModel) -> list[str]:
        """Return messages on a model fitted to complete or incomplete rows."""
        return []


def check_rank(r: int, rank: int) -> None:
    """Refuse a number of factors that explains the covariance without noise."""
    if r >= rank:
        raise SingularError(
            f"the likelihood is unbounded: r = {r} factors fit the covariance, of rank {rank}, "
            f"without noise; expected r < {rank}"
        )


@dataclass(frozen=True)
class ObservedTerm(TermOfPoints):
    """Negative log-likelihood of the observed entries of a chunk of rows."""

    mean: Array
    scale: Array
    noise: Noise
    r: int

    @cached_property
    def manifold(self) -> Product:
        """Manifold of M, t and the mean."""
        k = self.noise.k
        return Product(Euclidean(k, self.r), Euclidean(self.noise.size, 1), Euclidean(k, 1))

    def observed(self, rows: Array, weights: Array | None) -> Observed:
        """Return the observed entries of a chunk of rows, in the solver's coordinates."""
        return Observed.of((rows - self.mean) / self.scale, weights)

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[LikelihoodPoint]:
        for where, block in rows.blocks():
            weights = None if rows.weights is None else rows.weights[where]
            yield LikelihoodPoint(self, self.observed(block, weights), M)

    def expected(self, M: Array, rows: Samples) -> Array:
        return np.sum([point.expected for point in self.points(M, rows)], axis=0)


@dataclass(frozen=True)
class IncompleteFactors(FactorLikelihood, InParts):
    """The likelihood of the observed entries over M in R^{d x r}, t (the noise), and the mean.

    - filled: the problem of the rows after imputation of column means; its baseline is a start
    - samples: samples, read at every evaluation unless in memory
    - in_memory: the rows, compressed within each pattern, if in memory
    """

    filled: Factors
    samples: Samples
    term: ObservedTerm
    in_memory: Observed | None
    beside: tuple[Beside, ...] = field(default=(), init=False)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        return self.term.manifold

    @cached_property
    def _points(self) -> Remembered[Any]:
        return Remembered() if self.in_memory is None else Remembered(2)

    def at(self, M: Array) -> LikelihoodPoint | SumPoint:
        if self.in_memory is None:
            return self._points.at(M, partial(SumPoint, self))
        return self._points.at(M, partial(LikelihoodPoint, self.term, self.in_memory))

    def imputed(self, M: Array) -> Array | None:
        """Return the EM iterate whose only hidden variables are the missing entries."""
        try:
            return self._after_imputation(M, lambda complete, N: complete.improved(N))
        except SingularError:
            return None

    def em_step(self, M: Array) -> Array:
        """Return the EM iterate whose hidden variables are the missing entries and the factors."""
        return self._after_imputation(M, lambda complete, N: complete.em_step(N))

    def _after_imputation(self, M: Array, step: Callable[[Factors, Array], Array]) -> Array:
        """Return the mean of the completed rows, and M and t after a step for their covariance."""
        if isinstance(point := self.at(M), LikelihoodPoint):
            moments = point.expected
        else:
            moments = self.samples.reduce(partial(self.term.expected, M), add)
        loadings, t, _ = self.manifold.split(M)
        mean = moments[0, 1:] / self.n
        complete = self.filled.of_covariance(moments[1:, 1:] / self.n - np.outer(mean, mean))
        better = step(complete, complete.manifold.join([loadings, t]))
        return self.manifold.join([*complete.manifold.split(better), mean[:, None]])

    def specialist(self) -> Imputation | None:
        few = self.samples.n_known and self.samples.n < self.d
        return None if few else Imputation()

    def baseline(self) -> Array:
        """Return the baseline of the problem with column means in place of missing entries."""
        M = self.filled.baseline()
        assert M is not None
        return self._of_filled(M)

    def starts(self) -> dict[str, Array]:
        return {name: self._of_filled(M) for name, M in self.filled.starts().items()}

    def random_point(self, rng: np.random.Generator) -> Array:
        return self._of_filled(self.filled.random_point(rng))

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # the user gave loadings, but no noise variances
            (inner,), (outer,) = self.filled.views, self.views
            loadings = inner.coordinates.lower(outer.coordinates.lift(blocks[0]))
            return self._of_filled(self.filled.point([loadings]))
        return self.manifold.join(blocks)

    def _of_filled(self, M: Array) -> Array:
        return self._of_model(self.filled.model(M))

    def _of_model(self, model: FactorModel) -> Array:
        psi = model.noise / self.scale / self.scale
        t = self.noise.coordinate(psi[:1, None] if self.noise.tied else psi[:, None])
        mean = (model.mean - self.views[0].mean) / self.scale
        return self.manifold.join([model.loadings / self.scale[:, None], t, mean[:, None]])

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        return (self.views[0].mean + self.scale * self.manifold.split(M)[2][:, 0],)

    def variations(self, M: Array, maps: Sequence[Array] | None = None) -> list[Variation | None]:
        """Return covariances under the model, because those of the rows are unknown.

        For complete rows the model's covariance S and the rows' C give the same result at an
        optimum, where CP' = SP' and tr C = tr S. For incomplete rows C is unknown, and S is used.
        """
        model = self.model(M)
        return [model.variation(P) for P in maps or self.maps(M)]

    def remarks(self, M: Array) -> list[str]:
        return self.filled.remarks_on(self.model(M))


def has_missing(samples: Samples) -> bool:
    """Return True if missing entries are detected before sums over the rows are formed.

    For rows that are read in chunks, sums are NaN if entries are missing.
    """
    if samples.stored and samples.n_known and not samples.in_pieces:  # n < d: check the few rows
        return samples.reduce(attrgetter("has_nan"), or_)
    return samples.has_nan


def incomplete(
    objective: Stated, samples: Samples, r: int, *, tied: bool, floor: float = 0.0
) -> IncompleteFactors:
    """Build the problem of samples with missing entries.

    - raises DataError: A row or a column has no observed entry, or X is sparse.
    - raises SingularError: The likelihood is unbounded, or noise and factors cannot be separated.
    """
    if samples.is_sparse:
        raise DataError(
            f"{samples.name} is sparse and has missing values (NaN); pass {samples.name}.toarray()"
        )
    counts, sums, of_rows = samples.reduce(_entries, _merged_entries)
    per_row = np.concatenate(of_rows)
    for what, seen in (("row", per_row), ("column", counts)):
        if len(empty := np.flatnonzero(seen == 0)):
            raise DataError(
                f"{samples.name} has {len(empty)} {what}(s) with only missing entries (NaN), the "
                f"first is {what} {empty[0]}; drop each such {what}"
            )
    if r >= (most := int(per_row.max())):
        raise SingularError(
            f"no row has more than {most} observed entries, so that r = {r} factors fit every row "
            f"without noise; expected r < {most}"
        )
    mean, entries = sums / counts, len(per_row) * samples.d
    fill = partial(_filled, mean)
    names = samples.feature_names, samples.name
    rows = Filled(samples, *names, marks=samples.marks, making=fill)
    filled = objective.bind(Data((rows if samples.in_pieces else fill(samples),)), r)
    assert isinstance(filled, Factors)
    missing = entries - int(per_row.sum())
    note = f"{missing} of {entries} entries are missing and do not enter the likelihood"
    scale, noise = filled.scale, Noise(samples.d, tied, floor)
    term, observed = ObservedTerm(mean, scale, noise, r), None
    if not samples.in_pieces:
        observed = term.observed(samples.dense(), samples.weights).compressed()
    return IncompleteFactors(
        objective,
        (View(mean, Scaling(scale), (note,)),),
        filled,
        samples,
        term,
        observed,
        noise=noise,
        r=r,
        n=samples.weight,
        scale=scale,
    )


# Weights and weighted sums of each column's observed entries, and numbers of entries in the rows.
Entries: TypeAlias = tuple[Array, Array, list[Array]]


def _entries(piece: Samples) -> Entries:
    X = piece.dense()
    there = ~np.isnan(X)
    w = np.ones(len(X)) if piece.weights is None else piece.weights
    return w @ there, w @ np.where(there, X, 0.0), [there.sum(axis=1)]


def _merged_entries(earlier: Entries, later: Entries) -> Entries:
    return earlier[0] + later[0], earlier[1] + later[1], earlier[2] + later[2]


@dataclass(frozen=True, eq=False)
class Filled(MadeSamples):
    """Samples whose missing entries are replaced by given values when rows are read."""

    making: Callable[[Samples], Samples] = Samples.in_memory


def _filled(numbers: Array, piece: Samples) -> Samples:
    X = piece.dense()
    filled = np.where(np.isnan(X), numbers, X)
    return Samples(filled, piece.feature_names, piece.name, marks=piece.marks)
