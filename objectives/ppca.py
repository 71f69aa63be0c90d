"""Probabilistic principal component analysis."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ldr.objectives.certificate import PROVED_GLOBAL, Certificate
from ldr.objectives.coordinates import Scaling, Subspace
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.factors import Factors, Noise, check_rank
from ldr.objectives.families.incomplete_sums import has_missing, incomplete, observed_footprint
from ldr.objectives.families.trace import RESIDUAL
from ldr.objectives.families.whitened import ROWS_ROUNDING, root_of_rows
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import CovarianceOperator
from ldr.objectives.view import Compact, View
from ldr.solvers.checks import SMALLEST
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.linalg.eigen import graded_eigen, is_graded, range_basis, symmetric_eigen
from ldr.solvers.linalg.krylov import Ritz, block_krylov
from ldr.solvers.linalg.missed import top_values
from ldr.solvers.linalg.symmetric import scaled_factor
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace


@dataclass(frozen=True)
class PPCA(Objective):
    """Fit x = My + noise by maximum likelihood: y ~ N(0, I), noise ~ N(0, s2 I), M any d x r.

    min n/2 [d log 2 pi + log|S| + tr(S^{-1}C)] with S = MM' + s2 I, over M and log s2. Closed form
    M = U_r (L_r - s2 I)^{1/2}, s2 the mean of the d - r discarded eigenvalues of C, up to a
    rotation M -> MQ. P = (M'M + s2 I)^{-1} M' gives the posterior mean of y. The result's `model`
    scores rows, imputes missing entries and gives posterior covariances and BIC.

    Missing entries of X are NaN. The likelihood is then that of the observed entries, over M,
    log s2 and the mean; it has no closed form, and the heuristic is the closed form after the
    columns' means are filled in. ``solver="em"`` is expectation maximisation.
    """

    name = "ppca"
    weighted = True
    formula = "min n/2 [d log 2pi + log|S| + tr(S^{-1}C)], S = MM' + s2 I"
    source = "Tipping & Bishop 1999; Cunningham & Ghahramani 2015, 3.1.1"
    sense = "min"
    baseline = "closed form from the eigenvectors of C, columns' means where X is missing"
    transposed = False
    domain = "R"
    exact = "where nothing is missing"
    missing = imputes = True
    from_sums = True
    rule = "bic"
    arrays = Footprint(products=True)

    def footprint(self, data: Data) -> Footprint:
        return observed_footprint(self.arrays, data.samples)

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        if has_missing(samples):
            return incomplete(self, samples, r, tied=True)
        if samples.wide:
            return self._of_products(samples, r)
        compact = Compact.of(samples, quiet=True)
        stats = moments(compact.rows)
        if np.isnan(stats.mean).any():
            return incomplete(self, samples, r, tied=True)
        C, root = stats.covariance, root_of_rows(compact, stats)
        view = compact.view_of(stats)
        scaling = Scaling.of(math.sqrt(float(C.trace()) / samples.d), view.coordinates)
        C = C / scaling.unit / scaling.unit
        return IsotropicFactors(
            self,
            (replace(view, coordinates=scaling),),
            C,
            np.diag(C),
            noise=Noise(len(C), tied=True),
            r=r,
            n=stats.n,
            scale=np.full(samples.d, scaling.unit),
            of_rows=None if root is None else root / scaling.unit,
            offset=stats.mean / scaling.unit,
        )

    def _of_products(self, samples: Samples, r: int) -> IsotropicFactors:
        """Of rows with too many columns for C: in its leading eigenvectors and one more."""
        C = CovarianceOperator.of(samples)
        check_dimension(r, min(samples.shape) - 1)
        found = block_krylov(C, r + 1, tolerance=RESIDUAL, most_products=C.most_products)
        view = View(C.mean, Subspace(found.vectors), scatter=C)
        left = f"eigenvectors by block Krylov, {found.products} products"
        scaling = Scaling.of(math.sqrt(C.trace / samples.d), view.coordinates)
        values = found.values / scaling.unit / scaling.unit
        rest = C.trace / scaling.unit / scaling.unit - float(values.sum())
        return IsotropicFactors(
            self,
            (replace(view, coordinates=scaling).noting(left),),
            np.diag(values),
            values + rest / len(values),
            noise=Noise(len(values), tied=True),
            r=r,
            n=samples.weight,
            scale=np.full(samples.d, scaling.unit),
            offset=found.vectors.T @ C.mean / scaling.unit,
            variance_outside=rest,
            by_products=(C, found),
        )


@dataclass(frozen=True)
class IsotropicFactors(Factors):
    """The likelihood over R^{k x r} and log s2, with d - k further eigenvalues of C, mostly zero.

    Parameters
    ----------
    variance_outside : float
        The sum of the further eigenvalues: of a C known by its products, in the leading ones.
    of_rows : ndarray (m, k) or None
        F with F'F = C, where the rows know more than C.
    offset : ndarray (k,)
        The mean of the rows.
    by_products : pair, optional
        The covariance that is known by its products, in the columns' units, and its eigenvectors.
    """

    baseline_exact = True

    C: Array
    of_rows: Array | None = field(default=None, kw_only=True)
    offset: Array = field(kw_only=True)
    variance_outside: float = field(default=0.0, kw_only=True)
    by_products: tuple[CovarianceOperator, Ritz] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, len(self.C))
        if self.variance_outside > 0:
            return
        if self.of_rows is None:
            range_ = range_basis(self.C)
            check_rank(self.r, len(self.C) if range_ is None else range_.shape[1])
        else:
            check_rank(self.r, len(self.of_rows))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Eigenvalues of C and eigenvectors."""
        if self.of_rows is None and not is_graded(self.C):
            return symmetric_eigen(self.C)
        return graded_eigen(scaled_factor(self.C) if self.of_rows is None else self.of_rows)

    @cached_property
    def root(self) -> Array | None:
        if self.variance_outside > 0:
            return None
        return scaled_factor(self.C) if self.of_rows is None else self.of_rows

    @cached_property
    def _noise(self) -> float:
        """The best s2."""
        left = float(np.sum(self._eigen[0][self.r :])) + self.variance_outside
        noise = left / (self.d - self.r)
        if not noise > SMALLEST:
            raise SingularError(
                f"the likelihood is unbounded: to rounding nothing is left beside r = {self.r} "
                "dimensions; the columns vary in units too far apart, or r is too large"
            )
        return noise

    def closed_form(self) -> Array:
        """M = U_r (L_r - s2 I)^{1/2}; s2 averages the d - r others, the d - k zeros included."""
        return self._best

    @cached_property
    def _best(self) -> Array:
        noise = self._noise
        L, U = self._eigen[0][: self.r], self._eigen[1][:, : self.r]
        M = U * np.sqrt(np.maximum(L - noise, 0.0))
        return self.point([M, np.array([[math.log(noise)]])])

    def baseline(self) -> Array:
        return self.closed_form()

    def of_covariance(self, C: Array) -> IsotropicFactors:
        noise = Noise(len(C), tied=True)
        return replace(self, C=C, variances=np.diag(C), noise=noise, of_rows=None)

    def improved(self, M: Array) -> Array:
        return self.closed_form()

    def certificate(self, M: Array) -> Certificate:
        """The largest likelihood is known from the eigenvalues: log|S| is, and tr(S^{-1}C) = d.

        The rounding of C, or of the rows, is in the gap. Of a C known by its products a random
        vector tells what the eigenvalues do not exceed, but for a small chance: the larger they
        are, beside the same trace, the larger the likelihood.
        """
        top, noise = self._eigen[0][: self.r], self._noise
        if self.by_products is None:
            return Certificate.of_gap(
                self._gap(M, top, noise),
                PROVED_GLOBAL * max(abs(self.at(M).value), self.n),
                "no likelihood is larger: that of the eigenvalues",
                "the likelihood of the eigenvalues bounds the value",
            )
        C, found = self.by_products
        most = top_values(C, found.block, self.r, found.products) / self.scale[0] / self.scale[0]
        noise -= float(np.sum(most - top)) / (self.d - self.r)
        gap = self._gap(M, most, noise) if noise > 0 else math.inf
        return Certificate.of_chance(gap, found.accuracy)

    def _gap(self, M: Array, top: Array, noise: float) -> float:
        """To the likelihood of these largest eigenvalues and the mean of the others."""
        logs = np.log(np.append(top, np.full(self.d - self.r, noise)))
        best = 0.5 * self.n * (self.constant + float(logs.sum()) + self.d)
        terms = 0.5 * self.n * (abs(self.constant) + float(np.abs(logs).sum()) + self.d)
        return abs(self.at(M).value - best) + SUMS_ROUNDING * terms + self._rounding(noise)

    def _rounding(self, noise: float) -> float:
        """By how much the rounding of C, or of the rows, moves the least value.

        That changes with C by n/2 tr(S^{-1} dC), and with rows X by tr(S^{-1} X'dX).
        """
        L, U = self._eigen[0][: self.r], self._eigen[1][:, : self.r]
        rest = np.eye(len(U)) - U @ U.T
        inverse = rest.T @ rest / noise + (U / L) @ U.T
        variances = np.maximum(np.diag(self.C), 0.0)
        sizes = (variances + self.offset**2) @ np.diag(inverse)
        of_rows = self.n * ROWS_ROUNDING * math.sqrt(self.d * sizes)
        if self.of_rows is not None:
            return of_rows
        scale = np.sqrt(variances)
        return of_rows + 0.5 * self.n * SUMS_ROUNDING * float(scale @ np.abs(inverse) @ scale)
