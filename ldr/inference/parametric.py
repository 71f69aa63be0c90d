"""Parametric tests, exact or asymptotic for Gaussian data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from ldr.inference.permutation import Null, canonical_bases, pairs_of
from ldr.inputs import as_objective
from ldr.objectives.objective import Objective
from ldr.objectives.sir import SAVE, SIR
from ldr.objectives.slices import sliced
from ldr.solvers.checks import Pickled
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.tables import beside, text
from ldr.types import PerRow, Rows
from ldr.validation import in_words


@dataclass(frozen=True)
class Statistic:
    """A test of one null hypothesis.

    - step: number of directions under the null hypothesis, which are accepted before the test
    - law: the null distribution, "F" or "chi2"
    - df: degrees of freedom of the null distribution
    """

    name: str
    step: int
    value: float
    law: str
    df: tuple[float, ...]
    p_value: float


def _chi2(name: str, step: int, value: float, df: float) -> Statistic:
    return Statistic(name, step, value, "chi2", (df,), float(scipy.stats.chi2.sf(value, df)))


def _F(name: str, step: int, value: float, F: float, *df: float) -> Statistic:
    return Statistic(name, step, value, "F", df, float(scipy.stats.f.sf(F, *df)))


@dataclass(frozen=True)
class ParametricTest(Pickled):
    """Sequence of tests: of all directions, of all but the first, and so on.

    Attributes
    ----------
    objective : Objective
    statistics : tuple of Statistic
    """

    objective: Objective
    statistics: tuple[Statistic, ...]

    def __getitem__(self, name: str) -> tuple[Statistic, ...]:
        """Return the tests of a statistic by its name, in order of the step."""
        return tuple(each for each in self.statistics if each.name == name)

    def __repr__(self) -> str:
        tests = self.statistics
        columns = {
            "  given": [f"{each.step:7d}" for each in tests],
            "statistic": [each.name for each in tests],
            "value": [text(each.value, ".5g") for each in tests],
            "law": [f"{each.law}({', '.join(f'{df:.5g}' for df in each.df)})" for each in tests],
            "p-value": [text(each.p_value, ".3g") for each in tests],
        }
        head = f"{self.objective!r}: is there more than so many directions?"
        return "\n".join([head, *beside(columns)])


@in_words
def parametric_test(
    objective: str | Objective, X: Rows, *, y: PerRow = None, **parameters: object
) -> ParametricTest:
    """Compute the classical tests of cca, lda, sir and save, exact or asymptotic.

    The tests of cca and lda, orthogonal or not, use the canonical correlations d_j of two views, or
    of the columns with the classes. Wilks' lambda prod_{j>k}(1 - d_j^2), Rao's F and Bartlett's
    chi-square test that only d_1, ..., d_k are nonzero. For k = 0 (no correlation) further tests
    are Pillai's trace sum d_j^2, Hotelling and Lawley's sum d_j^2/(1 - d_j^2), and Roy's largest
    root d_1^2/(1 - d_1^2). The F of Roy's root is a bound: its p-value is too small. For each k the
    statistics of sir and save are compared with chi-squares: n sum_{j>k} lambda_j for sir, with the
    eigenvalues lambda_j, and (n/2) sum_h f_h |T'(I - V_h)T|^2 for save, with slice h's share f_h
    and whitened covariance V_h, and the directions T after the k-th.

    Source: Rao 1951; Bartlett 1938; Pillai 1955; McKeon 1974; Li 1991; Shao, Cook & Weisberg 2007.

    Parameters
    ----------
    objective, X, y
        As in `ldr.solve`; "orthogonal-cca", "orthogonal-lda", "cca", "lda", "sir" or "save".
    **parameters
        Parameters of the objective, if given by name.

    Returns
    -------
    ParametricTest

    Raises
    ------
    ldr.errors.ArgumentError
        Another objective, trials, or a ridge, for which the null distribution is unknown.
    ldr.errors.DataError
        Too few samples.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_linnerud
    >>> data = load_linnerud()
    >>> found = ldr.parametric_test("cca", (data.data, data.target))
    >>> [round(each.p_value, 3) for each in found["Wilks"]]
    [0.064, 0.949, 0.775]
    """
    objective = as_objective(objective, parameters)
    ridge = getattr(objective, "ridge", 0.0)
    if ridge > 0:
        raise ArgumentError(f"ridge = {ridge:g}: the null distribution is known for ridge = 0 only")
    null = Null.of(objective, X, y, "auto", None)
    if null.sampled.groups is not None:
        raise ArgumentError(
            "X has trials, and these tests assume independent samples: expected an array (n, d), "
            "one sample for each trial, or use ldr.permutation_test"
        )
    if isinstance(objective, (SIR, SAVE)):
        return ParametricTest(objective, tuple(_of_slices(objective, null)))
    pair = pairs_of(objective, null)
    if pair is None:
        raise ArgumentError(
            f"objective {objective.name!r} has no parametric test; expected lda, cca, "
            "orthogonal-lda, orthogonal-cca, sir or save, or ldr.permutation_test"
        )
    d, U, V = canonical_bases(*pair)
    return ParametricTest(objective, tuple(_of_correlations(d, len(U), U.shape[1], V.shape[1])))


def _of_correlations(d: Array, n: int, p: int, q: int) -> list[Statistic]:
    """Test the canonical correlations of p columns with q columns, of n samples."""
    if n - 1 <= p + q:
        raise DataError(
            f"{n} rows are too few: expected more than {p + q + 1} for {p} and {q} columns; use "
            "ldr.permutation_test"
        )
    wilks, bartlett = [], []
    w = n - 1 - (p + q + 1) / 2
    for k in range(len(d)):
        a, b = p - k, q - k
        log_wilks = float(np.sum(np.log1p(-(d[k:] ** 2))))
        t = math.sqrt((a**2 * b**2 - 4) / (a**2 + b**2 - 5)) if a * b > 2 else 1.0
        df2 = w * t - a * b / 2 + 1
        F = math.expm1(-log_wilks / t) * df2 / (a * b)
        wilks.append(_F("Wilks", k, math.exp(log_wilks), F, a * b, df2))
        bartlett.append(_chi2("Bartlett", k, -w * log_wilks, a * b))
    # Multivariate tests that combine the canonical correlations of all directions.
    s, ratios = len(d), d**2 / (1.0 - d**2)
    V, U, largest = float(np.sum(d**2)), float(np.sum(ratios)), float(ratios[0])
    b = n - 1 - p - q  # error degrees of freedom, n - 1 - q, minus the p columns
    df1, df2 = s * max(p, q), s * (b + s)
    of_all = [_F("Pillai", 0, V, V / (s - V) * df2 / df1, df1, df2)]
    if b > 3:  # McKeon's F approximation requires b > 3
        c = (b - 1 + p) * (b - 1 + q) / (b * (b - 3))
        df = 4 + (p * q + 2) / (c - 1)
        F = U * df / (p * q) * (b - 1) / (df - 2)
        of_all.append(_F("Hotelling-Lawley", 0, U, F, p * q, df))
    df1 = max(p, q)
    of_all.append(_F("Roy", 0, largest, largest * (n - 1 - df1) / df1, df1, n - 1 - df1))
    return [*wilks, *bartlett, *of_all]


def _of_slices(objective: SIR | SAVE, null: Null) -> list[Statistic]:
    """Test sir or save, using all d directions."""
    X, (n, d) = null.views[0], null.views[0].shape
    codes = sliced(np.asarray(null.y), n, objective.slices)
    P = np.asarray(solve(objective, X, d, y=null.y, certify=False).P)
    scores = (X - X.mean(axis=0)) @ P.T
    slices, shares = [scores[codes == h] for h in range(codes.max() + 1)], np.bincount(codes) / n
    groups = len(slices)
    if isinstance(objective, SIR):
        numbers = shares @ np.array([rows.mean(axis=0) for rows in slices]) ** 2
        return [
            _chi2("sir", k, n * float(np.sum(numbers[k:])), (d - k) * (groups - k - 1))
            for k in range(min(d, groups - 1))
        ]
    changes = [np.eye(d) - np.cov(rows.T, bias=True).reshape(d, d) for rows in slices]
    found = []
    for k in range(d):
        squares = [float(np.sum(change[k:, k:] ** 2)) for change in changes]
        df = (groups - 1) * (d - k) * (d - k + 1) / 2
        found.append(_chi2("save", k, 0.5 * n * float(shares @ squares), df))
    return found
