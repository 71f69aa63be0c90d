"""Data of every method, and the default calls of its peers on the same data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cross_decomposition import CCA, PLSSVD, PLSRegression
from sklearn.decomposition import PCA, FactorAnalysis, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.manifold import ClassicalMDS
from sklearn.neighbors import NeighborhoodComponentsAnalysis, kneighbors_graph
from sklearn.pipeline import make_pipeline

import ldr
from benchmarks.turns import Job, solve_job
from ldr.inputs import as_data, as_objective
from ldr.objectives import REGISTRY
from ldr.objectives.parameters import Need

SIZES = ((150, 10), (2000, 50), (20_000, 100), (200, 1000))
R = 3
# Largest number of samples for which distances, or kernels, fit into memory together.
PAIRS = 5000
# Number of samples in a run of one class; runs are also the epochs of mne.
RUN = 25


@dataclass(frozen=True)
class Inputs:
    """The arguments of a call of this library; a peer gets the same arrays."""

    X: Any
    y: Any = None

    @property
    def centred(self) -> Any:
        """The samples, or those of both views, without their means."""
        if isinstance(self.X, tuple):
            return tuple(view - view.mean(axis=0) for view in self.X)
        return self.X - self.X.mean(axis=0)


def draw(name: str, n: int, d: int, seed: int = 0) -> Inputs | None:
    """Return data of the kind that a method requires, or None if it would be too large.

    Four latent variables (a slow one, an oscillation and two Laplace sources) and the means of four
    classes in two directions, under correlated noise.
    """
    rng = np.random.default_rng(seed)
    cls = REGISTRY[name]
    labels = np.arange(n) // RUN % 4
    slow = np.cumsum(rng.standard_normal(n))
    latent = np.column_stack(
        [slow / slow.std(), np.sin(0.2 * np.arange(n)), *rng.laplace(size=(2, n))]
    )
    X = latent @ rng.standard_normal((4, d)) + rng.standard_normal((n, d)) * np.linspace(1, 2, d)
    X += np.eye(4)[labels] @ (rng.standard_normal((4, 2)) @ rng.standard_normal((2, d)))
    response = latent[:, 2] + 0.5 * latent[:, 3] ** 2 + 0.2 * rng.standard_normal(n)
    if name in {"reduced-rank-regression", "pls-regression"}:
        Y = latent @ rng.standard_normal((4, 5)) + rng.standard_normal((n, 5))
        return Inputs((X, Y)) if cls.views > 1 else Inputs(X, Y)
    if cls.views > 1:
        other = latent[:, :3] @ rng.standard_normal((3, d // 2))
        return Inputs((X, other + rng.standard_normal((n, d // 2))))
    if Need.BACKGROUND in cls.needs:
        return Inputs((X, rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.random((d, d)))))
    if Need.DISTANCES in cls.needs:
        return Inputs(squareform(pdist(X))) if n <= PAIRS else None
    if name == "exponential-family-pca":
        return Inputs((X > X.mean(axis=0)).astype(float))
    if name in {"csp", "xdawn"}:
        return Inputs(X, labels % 2)
    if name == "semi-supervised-da":
        return Inputs(X, np.where(np.arange(n) % 5, -1, labels))
    given = {Need.LABELS: labels, Need.RESPONSE: response}
    return Inputs(X, next((given[need] for need in cls.needs if need in given), None))


def jobs(name: str, n: int, d: int, r: int = R) -> dict[str, Job]:
    """Return the default call of a method, the same without a certificate, and its peers' calls."""
    inputs = draw(name, n, d)
    if inputs is None:
        raise MemoryError
    solve = partial(ldr.solve, name, inputs.X, r, y=inputs.y)
    made = {
        "ldr": solve_job(solve),
        "uncertified": solve_job(partial(solve, certify=False)),
    }
    for peer, (call, value, most) in PEERS.get(name, {}).items():
        if n <= most:
            made[peer] = partial(call, inputs, r), partial(value, inputs, r)
    return made


# Other implementation: its call with inputs and r, its value by ldr's formula, its largest n.
Peer: TypeAlias = tuple[
    Callable[[Inputs, int], Any], Callable[[Inputs, int, Any], float | None], float
]


def itself(inputs: Inputs, r: int, found: Any) -> float:
    """Return the value that a call of NumPy returned."""
    return float(found)


def no_value(inputs: Inputs, r: int, found: Any) -> None:
    """Return nothing, of a peer that optimises another function or states no value."""


def peer(
    call: Callable[[Inputs, int], Any],
    value: Callable[[Inputs, int, Any], float | None] = itself,
    most: float = np.inf,
) -> Peer:
    """Return a peer, by default straight-line NumPy that returns its value."""
    return call, value, most


def rated(name: str, inputs: Inputs, r: int, M: Any) -> float:
    """Return the value of a method at a matrix that a peer found."""
    objective: Any = as_objective(name, {})
    bound = objective.bind(as_data(objective, inputs.X, inputs.y), r)
    return float(objective.sign * bound.at(bound.lower((M,))).value)


def residual(inputs: Inputs, r: int, fitted: Any) -> float:
    """Return the residual sum of squares."""
    return float(np.sum((np.reshape(fitted.predict(inputs.X), inputs.y.shape) - inputs.y) ** 2))


def trace_ratio(A: Any, B: Any, r: int) -> float:
    """Return the maximum of tr(M'AM) / tr(M'BM), by the self-consistent field."""
    rho, before = 0.0, -np.inf
    while rho > before * (1 + 1e-14):
        before = rho
        M = np.linalg.eigh(A - rho * B)[1][:, -r:]
        rho = np.vdot(M, A @ M) / np.vdot(M, B @ M)
    return float(rho)


def scatters(X: Any, y: Any) -> tuple[Any, Any]:
    """Return the scatter between classes, and that within."""
    Z = X - X.mean(axis=0)
    means = np.array([Z[y == label].mean(axis=0) for label in np.unique(y)])
    counts = np.unique(y, return_counts=True)[1]
    between = (means.T * counts) @ means
    return between, Z.T @ Z - between


def lda_value(inputs: Inputs, r: int, fitted: Any) -> float:
    P = fitted.scalings_[:, :r]
    between, within = scatters(inputs.X, inputs.y)
    return float(np.trace(np.linalg.solve(P.T @ within @ P, P.T @ between @ P)))


def nca_value(inputs: Inputs, r: int, fitted: Any) -> float:
    """Return the expected number of samples whose stochastic neighbour has their class."""
    Z = inputs.X @ fitted.components_.T
    D = cdist(Z, Z, "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    K = np.exp(D.min(axis=1)[:, None] - D)
    K /= K.sum(axis=1)[:, None]
    return float(K[inputs.y[:, None] == inputs.y].sum())


def contrast(inputs: Inputs, r: int, Z: Any) -> float:
    """Return the negentropy of components by log cosh, summed."""
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    return float(np.sum((np.mean(np.log(np.cosh(Z)), axis=0) - 0.374567207491438) ** 2))


def fast_ica(inputs: Inputs, r: int) -> Any:
    return FastICA(r, random_state=0).fit_transform(inputs.X)


def picard_o(inputs: Inputs, r: int) -> Any:
    from picard import picard

    return picard(inputs.X.T, n_components=r, random_state=0)[2].T


def wda(inputs: Inputs, r: int) -> Any:
    from ot import dr

    return dr.wda(inputs.X, inputs.y, r)[0]


def time_lagged(kind: str, inputs: Inputs, r: int) -> Any:
    from deeptime import decomposition

    model = getattr(decomposition, kind)(lagtime=1, dim=r)
    return model.fit(inputs.X).fetch_model().singular_values[:r]


def epochs(inputs: Inputs) -> Any:
    """Return the samples as mne's epochs x channels x times."""
    n, d = inputs.X.shape
    return inputs.X[: n // RUN * RUN].reshape(-1, RUN, d).transpose(0, 2, 1)


def csp(inputs: Inputs, r: int) -> Any:
    from mne.decoding import CSP

    data = epochs(inputs)
    return CSP(r, cov_est="concat").fit(data, inputs.y[::RUN][: len(data)])


def spoc(inputs: Inputs, r: int) -> Any:
    from mne.decoding import SPoC

    data = epochs(inputs)
    return SPoC(r).fit(data, inputs.y[: len(data) * RUN].reshape(-1, RUN).mean(axis=1))


def reduction(kind: str) -> Peer:
    def call(inputs: Inputs, r: int) -> Any:
        from statsmodels.regression import dimred

        return getattr(dimred, kind)(inputs.y, inputs.X - inputs.X.mean(axis=0)).fit()

    return peer(call, no_value)


def line_cca(inputs: Inputs, r: int) -> float:
    A, B = inputs.centred
    La, Lb = np.linalg.cholesky(A.T @ A), np.linalg.cholesky(B.T @ B)
    K = scipy.linalg.solve_triangular(La, A.T @ B, lower=True)
    K = scipy.linalg.solve_triangular(Lb, K.T, lower=True)
    return float(np.linalg.svd(K)[1][:r].sum())


def line_lpp(inputs: Inputs, r: int) -> float:
    Z = inputs.centred
    W = kneighbors_graph(Z, 10)
    W = W.maximum(W.T)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    A, B = Z.T @ (degrees[:, None] * Z - W @ Z), Z.T @ (degrees[:, None] * Z)
    return float(scipy.linalg.eigh(A, B, subset_by_index=(0, r - 1))[0].sum())


def top_sum(A: Any, B: Any, r: int) -> float:
    """Return the sum of the r largest generalised eigenvalues."""
    d = len(A)
    return float(scipy.linalg.eigh(A, B, subset_by_index=(d - r, d - 1))[0].sum())


def lagged(Z: Any) -> tuple[Any, Any]:
    """Return the symmetric autocovariance of successive samples, and the covariance."""
    cross = Z[:-1].T @ Z[1:] / (len(Z) - 1)
    return 0.5 * (cross + cross.T), Z.T @ Z / len(Z)


def line_opca(inputs: Inputs, r: int) -> float:
    S, N = np.cov(inputs.X[0].T, ddof=0), inputs.X[1].T @ inputs.X[1] / len(inputs.X[1])
    return top_sum(S, N, r)


def line_reduced_rank(inputs: Inputs, r: int) -> float:
    X, Y = inputs.centred
    fitted = X @ np.linalg.lstsq(X, Y)[0]
    return float(np.sum(Y**2) - np.sum(np.linalg.svd(fitted)[1][:r] ** 2))


def line_sfa(inputs: Inputs, r: int) -> float:
    changes = np.diff(inputs.X, axis=0)
    return float(np.linalg.eigh(changes.T @ changes)[0][:r].sum())


def line_sir(inputs: Inputs, r: int) -> float:
    Z = inputs.centred
    slices = np.array_split(np.argsort(inputs.y, kind="stable"), 10)
    means = np.array([np.sqrt(len(rows)) * Z[rows].mean(axis=0) for rows in slices])
    return top_sum(means.T @ means, Z.T @ Z, r)


def pls_value(inputs: Inputs, r: int, fitted: Any) -> float:
    A, B = inputs.centred
    return float(np.trace(fitted.x_weights_.T @ (A.T @ B) @ fitted.y_weights_))


def cca_value(inputs: Inputs, r: int, fitted: Any) -> float:
    A, B = fitted.transform(*inputs.X)
    return float(sum(np.corrcoef(a, b)[0, 1] for a, b in zip(A.T, B.T, strict=True)))


def lost_variance(inputs: Inputs, r: int, fitted: Any) -> float:
    n, d = inputs.X.shape
    return float((n - 1) * fitted.noise_variance_ * (min(n, d) - r))


def minus_loglik(inputs: Inputs, r: int, fitted: Any) -> float:
    return -len(inputs.X) * float(fitted.score(inputs.X))


def ridge_value(inputs: Inputs, r: int, fitted: Any) -> float:
    return residual(inputs, r, fitted) + float(np.sum(fitted.coef_**2))


def lasso_value(inputs: Inputs, r: int, fitted: Any) -> float:
    return residual(inputs, r, fitted) + float(np.sum(np.abs(fitted.coef_)))


def fits(make: Callable[[int], Any]) -> Callable[[Inputs, int], Any]:
    """Return a call that fits a model of scikit-learn, made from r."""

    def call(inputs: Inputs, r: int) -> Any:
        views = inputs.X if isinstance(inputs.X, tuple) else (inputs.X,)
        return make(r).fit(*views, *(() if inputs.y is None else (inputs.y,)))

    return call


def lasso(inputs: Inputs, r: int) -> Any:
    return Lasso(0.5 / len(inputs.X)).fit(inputs.X, inputs.y)


SKLEARN = "scikit-learn"
PEERS: dict[str, dict[str, Peer]] = {
    "pca": {SKLEARN: peer(fits(PCA), lost_variance)},
    "ppca": {f"{SKLEARN} PCA": peer(fits(PCA), minus_loglik)},
    "fa": {SKLEARN: peer(fits(FactorAnalysis), minus_loglik)},
    "mds-distances": {SKLEARN: peer(fits(partial(ClassicalMDS, metric="precomputed")), no_value)},
    "orthogonal-lda": {"NumPy": peer(lambda of, r: trace_ratio(*scatters(of.X, of.y), r))},
    "lda": {SKLEARN: peer(fits(lambda r: LinearDiscriminantAnalysis(n_components=r)), lda_value)},
    "nca": {
        SKLEARN: peer(
            fits(partial(NeighborhoodComponentsAnalysis, random_state=0)), nca_value, PAIRS
        )
    },
    "wda": {"POT": peer(wda, partial(rated, "wda"), PAIRS)},
    "cca": {"NumPy": peer(line_cca), SKLEARN: peer(fits(CCA), cca_value)},
    "pls": {f"{SKLEARN}, scale=False": peer(fits(partial(PLSSVD, scale=False)), pls_value)},
    "reduced-rank-regression": {"NumPy": peer(line_reduced_rank)},
    "least-squares": {SKLEARN: peer(fits(lambda r: LinearRegression()), residual)},
    "ridge-regression": {SKLEARN: peer(fits(lambda r: Ridge()), ridge_value)},
    "lasso": {f"{SKLEARN}, same penalty": peer(lasso, lasso_value)},
    "principal-components-regression": {
        SKLEARN: peer(fits(lambda r: make_pipeline(PCA(r), LinearRegression())), no_value)
    },
    "pls-regression": {
        f"{SKLEARN}, scale=False": peer(fits(partial(PLSRegression, scale=False)), no_value)
    },
    "orthogonal-maf": {"NumPy": peer(lambda of, r: trace_ratio(*lagged(of.centred), r))},
    "maf": {"NumPy": peer(lambda of, r: top_sum(*lagged(of.centred), r))},
    "sfa": {"NumPy": peer(line_sfa)},
    "opca": {"NumPy": peer(line_opca)},
    "sir": {"NumPy": peer(line_sir), "statsmodels": reduction("SlicedInverseReg")},
    "save": {"statsmodels": reduction("SlicedAverageVarianceEstimation")},
    "phd": {"statsmodels": reduction("PrincipalHessianDirections")},
    "tica": {"deeptime": peer(partial(time_lagged, "TICA"), lambda of, r, found: found.sum())},
    "vamp": {
        "deeptime": peer(partial(time_lagged, "VAMP"), lambda of, r, found: 1 + (found**2).sum())
    },
    "csp": {"mne, cov_est='concat'": peer(csp, no_value)},
    "spoc": {"mne": peer(spoc, no_value)},
    "lpp": {"NumPy, scikit-learn's graph": peer(line_lpp)},
    "ica": {"FastICA": peer(fast_ica, contrast), "Picard-O": peer(picard_o, contrast)},
}
