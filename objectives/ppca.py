"""Probabilistic principal component analysis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Scaling
from ldr.objectives.families.factors import Factors, Noise, check_rank
from ldr.objectives.families.incomplete_sums import has_missing, incomplete
from ldr.objectives.objective import BoundObjective, Compact, Data, Objective, check_dimension
from ldr.objectives.statistics import moments
from ldr.solvers.linalg.eigen import range_basis, symmetric_eigen
from ldr.solvers.manifolds import Array


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

    Source: Tipping and Bishop 1999; Cunningham and Ghahramani 2015, section 3.1.1.
    """

    name = "ppca"
    formula = "min n/2 [d log 2pi + log|S| + tr(S^{-1}C)], S = MM' + s2 I"
    source = "Tipping & Bishop 1999; Cunningham & Ghahramani 2015, 3.1.1"
    sense = "min"
    baseline = "closed form from the eigenvectors of C, columns' means where X is missing"
    transposed = False
    domain = "R"
    exact = "where nothing is missing"
    missing = True
    from_sums = True

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        if has_missing(samples):
            return incomplete(self, samples, r, tied=True)
        compact = Compact.of(samples)
        stats = moments(compact.rows)
        if np.isnan(stats.mean).any():
            return incomplete(self, samples, r, tied=True)
        C = stats.covariance
        scaling = Scaling.of(math.sqrt(float(C.trace()) / samples.d), compact.coordinates)
        C = C / scaling.unit / scaling.unit
        return IsotropicFactors(
            self,
            (compact.mean(stats.mean),),
            C,
            np.diag(C),
            noise=Noise(len(C), tied=True),
            r=r,
            n=stats.n,
            scale=np.full(samples.d, scaling.unit),
            coordinates=(scaling,),
        )


@dataclass
class IsotropicFactors(Factors):
    """The likelihood over R^{k x r} and log s2, with d - k further zero eigenvalues of C."""

    def __post_init__(self) -> None:
        check_dimension(self.r, len(self.C))
        super().__post_init__()
        self.baseline_exact = True
        range_ = range_basis(self.C)
        check_rank(self.r, len(self.C) if range_ is None else range_.shape[1])
        self._eigenvalues, self._eigenvectors = symmetric_eigen(self.C)

    def closed_form(self) -> Array:
        """M = U_r (L_r - s2 I)^{1/2}; s2 averages the d - r others, the d - k zeros included."""
        noise = float(np.sum(self._eigenvalues[self.r :])) / (self.d - self.r)
        L, U = self._eigenvalues[: self.r], self._eigenvectors[:, : self.r]
        M = U * np.sqrt(np.maximum(L - noise, 0.0))
        return self.point([M, np.array([[math.log(noise)]])])

    def baseline(self) -> Array:
        return self.closed_form()

    def certificate(self, M: Array) -> Certificate:
        """The closed form is the global maximum of the likelihood."""
        gap = max(0.0, self.at(M).value - self.at(self.closed_form()).value)
        if gap <= 1e-10 * max(abs(self.at(M).value), self.n):
            return Certificate("global", gap, "the likelihood is that of the closed form")
        return Certificate("bound", gap, "the closed form's likelihood bounds the value")
