"""Parametric tests, exact or asymptotic for normal data, and stepwise permutation tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldr.inference.many import Orders
from ldr.inference.nulls import Null
from ldr.inputs import as_objective
from ldr.objectives.objective import Objective
from ldr.objectives.sir import SAVE, SIR
from ldr.objectives.slices import sliced
from ldr.solvers.checks import Pickled
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import PerRow, Rows
from ldr.validation import in_words

# Relative difference of statistics that are equal but for rounding.
_SAME = 1e-12
_EPS = float(np.finfo(float).eps)


def canonical_bases(
    A: Array, B: Array, ridges: tuple[float, float] = (0.0, 0.0)
) -> tuple[Array, Array, Array]:
    """The canonical correlations of centred A and B, and the canonical variables U and V.

    U (n x ka) and V (n x kb) span all that varies, aligned in pairs. Without a ridge they are
    orthonormal; with one U is A(A'A + gamma I)^{-1/2}, turned.
    """
    Qa, Qb = (_whitened(X - X.mean(axis=0), ridge) for X, ridge in zip((A, B), ridges, strict=True))
    L, d, Rt = np.linalg.svd(Qa.T @ Qb)
    return np.minimum(d, 1.0), Qa @ L, Qb @ Rt.T


def _whitened(X: Array, ridge: float) -> Array:
    """X(X'X + gamma I)^{-1/2} in its row space, gamma in units of the mean diagonal there."""
    if ridge == 0:  # which spares the units of the columns
        sizes = np.linalg.norm(X, axis=0)
        X = X[:, sizes > 0] / sizes[sizes > 0]
    W, s, _ = np.linalg.svd(X, full_matrices=False)
    kept = s > rank_tolerance(X.shape[1]) * s.max(initial=0.0)
    W, s = W[:, kept], s[kept]
    return np.asarray(W * (s / np.sqrt(s**2 + ridge * np.mean(s**2)) if ridge else 1.0))


def class_members(codes: Orders) -> Array:
    """Indicators of all classes but the last: lda, and sir of slices, is cca with them."""
    return np.asarray(codes[:, None] == np.arange(codes.max()), dtype=np.float64)


def statistics(d: Array) -> Array:
    """-sum_{j>=k} log(1 - d_j^2) of every k."""
    logarithms = -np.log1p(-(np.minimum(d, 1.0 - _EPS) ** 2))
    return np.cumsum(logarithms[..., ::-1], axis=-1)[..., ::-1]


def exceedances(
    U: Array, V: Array, d: Array, orders: Orders, again: bool = False
) -> tuple[Orders, Orders]:
    """Of each step, how many permutations reach the statistic of the data, and how many equal it.

    The first k pairs are taken out of both: G = U[pi]'V without its first k rows and columns. Those
    of the smaller space that are explained already do not come back, which the naive test, of the
    k-th permuted correlation, forgets.

    Source: Winkler, Renaud, Smith and Nichols 2020.

    - U, V, d: of `canonical_bases`
    - orders (b, n)
    - again: whether orders repeat samples, so that U[pi] has to be made orthonormal again
    """
    own = statistics(d)
    reached, equal = np.zeros((2, len(d)), dtype=np.intp)
    permuted = U[orders]
    G = permuted.transpose(0, 2, 1) @ V
    for k in range(len(d)):
        if again:
            left = permuted[:, :, k:]
            Q = np.linalg.qr(left - left.mean(axis=1, keepdims=True))[0]
            values = np.linalg.svd(Q.transpose(0, 2, 1) @ V[:, k:], compute_uv=False)
        else:
            values = np.linalg.svd(G[:, k:, k:], compute_uv=False)
        drawn = statistics(np.asarray(values, dtype=np.float64))[:, 0]
        same = np.abs(drawn - own[k]) <= _SAME * own[k]
        reached[k] = np.sum(same | (drawn > own[k]))
        equal[k] = np.sum(same)
    return reached, equal


def pairs_of(objective: Objective, null: Null) -> tuple[Array, Array, tuple[float, float]] | None:
    """The two matrices whose canonical correlations a method's directions are, and their ridges.

    None of other methods, and with shrinkage. The ridge of lda is in units of the covariance of all
    samples here, which permutations of the labels leave as it is.
    """
    ridge = float(getattr(objective, "ridge", 0.0))
    if getattr(objective, "shrinkage", None) is not None:
        return None
    if objective.name in ("cca", "classical-cca") and len(null.views) == 2:
        return *null.views, (ridge, ridge)
    if objective.name in ("lda", "classical-lda"):
        codes = np.unique(np.asarray(null.y), return_inverse=True)[1]
    elif isinstance(objective, SIR):
        codes = sliced(np.asarray(null.y), null.n, objective.slices)
    else:
        return None
    return class_members(codes), null.views[0], (0.0, ridge)


@dataclass(frozen=True)
class Statistic:
    """One test.

    - step: how many directions are taken as given; what is tested is that there are no more
    - law: "F" or "chi2"
    - df: degrees of freedom of the law
    """

    name: str
    step: int
    value: float
    law: str
    df: tuple[float, ...]
    p_value: float

    @classmethod
    def of_f(
        cls, name: str, step: int, value: float, F: float, df1: float, df2: float
    ) -> Statistic:
        import scipy

        return cls(name, step, value, "F", (df1, df2), float(scipy.stats.f.sf(F, df1, df2)))

    @classmethod
    def of_chi2(cls, name: str, step: int, value: float, df: float) -> Statistic:
        import scipy

        return cls(name, step, value, "chi2", (df,), float(scipy.stats.chi2.sf(value, df)))


@dataclass(frozen=True)
class ParametricTest(Pickled):
    """The tests of a method, of all its directions and of those after the first, the second, ...

    Attributes
    ----------
    objective : Objective
    statistics : tuple of Statistic
    """

    objective: Objective
    statistics: tuple[Statistic, ...]

    def __getitem__(self, name: str) -> tuple[Statistic, ...]:
        """The tests of one name, step after step."""
        return tuple(each for each in self.statistics if each.name == name)

    def __repr__(self) -> str:
        lines = [
            f"{self.objective!r}: is there more than so many directions?",
            "  given  statistic              value   law                p-value",
        ]
        for each in self.statistics:
            law = f"{each.law}({', '.join(f'{df:.5g}' for df in each.df)})"
            lines.append(
                f"  {each.step:5d}  {each.name:<16} {each.value:11.5g}   {law:<17}  "
                f"{each.p_value:.3g}"
            )
        return "\n".join(lines)


@in_words
def parametric_test(
    objective: str | Objective, X: Rows, *, y: PerRow = None, **parameters: object
) -> ParametricTest:
    """The classical tests of cca, lda, sir and save; exact or asymptotic for normal data.

    For cca and lda, classical or not, those of the canonical correlations d_j of two views, or of
    the columns with the classes: Wilks' lambda prod_{j>k}(1 - d_j^2) by Rao's F and by Bartlett's
    chi-square, for every k; and for k = 0 Pillai's trace sum d_j^2, Hotelling and Lawley's
    sum d_j^2/(1 - d_j^2) and Roy's largest d_1^2/(1 - d_1^2), whose F is a bound: its p-value is
    too small. For sir n sum_{j>k} lambda_j and for save (n/2) sum_h f_h |T'(I - V_h)T|^2, both
    against chi-squares, k after k.

    Source: Rao 1951; Bartlett 1938; Pillai 1955; McKeon 1974; Li 1991; Shao, Cook and Weisberg
    2007.

    Parameters
    ----------
    objective, X, y
        As in `ldr.solve`; "cca", "lda", "classical-cca", "classical-lda", "sir" or "save".
    **parameters
        Of the objective, where it is given by name.

    Returns
    -------
    ParametricTest

    Raises
    ------
    ldr.errors.ArgumentError
        Another objective, or a ridge, of which no law is known.
    ldr.errors.DataError
        Too few rows.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_linnerud
    >>> data = load_linnerud()
    >>> found = ldr.parametric_test("classical-cca", (data.data, data.target))
    >>> [round(each.p_value, 3) for each in found["Wilks"]]
    [0.064, 0.949, 0.775]
    """
    objective = as_objective(objective, parameters)
    if getattr(objective, "ridge", 0.0) > 0:
        raise ArgumentError(f"ridge = {objective.ridge:g}: no law is known; expected 0")  # type: ignore[attr-defined]
    null = Null.of(objective, X, y, "auto", None)
    if isinstance(objective, (SIR, SAVE)):
        return ParametricTest(objective, tuple(_of_slices(objective, null)))
    pair = pairs_of(objective, null)
    if pair is None:
        raise ArgumentError(
            f"objective {objective.name!r} has no parametric test; expected cca, lda, "
            "classical-cca, classical-lda, sir or save, or ldr.permutation_test"
        )
    d, U, V = canonical_bases(*pair)
    return ParametricTest(objective, tuple(_of_correlations(d, null.n, U.shape[1], V.shape[1])))


def _of_correlations(d: Array, n: int, p: int, q: int) -> list[Statistic]:
    """Of the canonical correlations of p with q columns in n rows."""
    if n - 1 <= p + q:
        raise DataError(
            f"{n} rows are too few: expected more than {p + q + 1} for {p} and {q} columns; use "
            "ldr.permutation_test"
        )
    logarithms = np.log1p(-(d**2))
    found = []
    for k in range(len(d)):
        a, b = p - k, q - k
        log_wilks = float(np.sum(logarithms[k:]))
        w = n - 1 - (p + q + 1) / 2
        t = math.sqrt((a**2 * b**2 - 4) / (a**2 + b**2 - 5)) if a * b > 2 else 1.0
        df2 = w * t - a * b / 2 + 1
        F = math.expm1(-log_wilks / t) * df2 / (a * b)
        found.append(Statistic.of_f("Wilks", k, math.exp(log_wilks), F, a * b, df2))
    for k in range(len(d)):
        chi2 = -(n - 1 - (p + q + 1) / 2) * float(np.sum(logarithms[k:]))
        found.append(Statistic.of_chi2("Bartlett", k, chi2, (p - k) * (q - k)))
    return [*found, *_of_all(d**2, n, p, q)]


def _of_all(squares: Array, n: int, p: int, q: int) -> list[Statistic]:
    """Of no direction at all: Pillai, Hotelling and Lawley, Roy."""
    s, ratios = len(squares), squares / (1.0 - squares)
    V, U, largest = float(np.sum(squares)), float(np.sum(ratios)), float(ratios[0])
    b = n - 1 - p - q  # the error's degrees of freedom, n - 1 - q, less p
    found = []
    df1, df2 = s * max(p, q), s * (b + s)
    found.append(Statistic.of_f("Pillai", 0, V, V / (s - V) * df2 / df1, df1, df2))
    if b > 3:  # as McKeon's approximation needs
        c = (b - 1 + p) * (b - 1 + q) / (b * (b - 3))
        df = 4 + (p * q + 2) / (c - 1)
        F = U * df / (p * q) * (b - 1) / (df - 2)
        found.append(Statistic.of_f("Hotelling-Lawley", 0, U, F, p * q, df))
    df1 = max(p, q)
    F = largest * (n - 1 - df1) / df1
    found.append(Statistic.of_f("Roy", 0, largest, F, df1, n - 1 - df1))
    return found


def _of_slices(objective: Objective, null: Null) -> list[Statistic]:
    """Of sir or save, from all d directions."""
    X, (n, d) = null.views[0], null.views[0].shape
    assert isinstance(objective, (SIR, SAVE)) and null.y is not None
    codes = sliced(null.y, n, objective.slices)
    P = np.asarray(solve(objective, X, d, y=null.y, certify=False).P)
    scores = (X - X.mean(axis=0)) @ P.T
    groups = int(codes.max()) + 1
    shares = np.bincount(codes) / n
    found = []
    if objective.name == "sir":
        means = np.array([scores[codes == h].mean(axis=0) for h in range(groups)])
        numbers = shares @ means**2
        for k in range(min(d, groups - 1)):
            chi2 = n * float(np.sum(numbers[k:]))
            found.append(Statistic.of_chi2("sir", k, chi2, (d - k) * (groups - k - 1)))
        return found
    spreads = [np.cov(scores[codes == h].T, bias=True).reshape(d, d) for h in range(groups)]
    changes = [np.eye(d) - spread for spread in spreads]
    for k in range(d):
        squares = [float(np.sum(change[k:, k:] ** 2)) for change in changes]
        chi2 = 0.5 * n * float(shares @ squares)
        found.append(Statistic.of_chi2("save", k, chi2, (groups - 1) * (d - k) * (d - k + 1) / 2))
    return found
