"""Dynamical components analysis: the subspace with the largest predictive information."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.stored import Change
from ldr.objectives.families.whitened import SumOfSquares, Unwhitened, Whitened, whiten
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, whole
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.statistics import Moments, window_moments
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, Compact, Whitening
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.problem import Point

# An indefinite covariance of successive rows is shrunk until its least eigenvalue has this value.
_LEAST = 1e-6
# Number of random initial points. Half of them favour directions of small variance: on the data
# "elevations" two thirds of this half, but only a third of the other, led to the best value.
_RANDOM_STARTS = 8


@dataclass(frozen=True)
class DCA(Objective, transposed=False, weighted=True, scale_free=True, from_sums=True):
    r"""Dynamical components analysis (DCA), by predictive information.

    .. math:: \max_M \log \det S_T(M) - \frac{1}{2} \log \det S_{2T}(M)

    S_K is the covariance of K successive samples of y = Px. Block (i, j) of S_K is P C_{i-j} P',
    where C_k is the covariance of x_{t+k} and x_t. For a stationary Gaussian series the value is
    the mutual information, in nats, of T samples and the next T samples. C_k is averaged over all
    pairs of samples at distance k in windows of 2T samples within a trial. Each position in a
    window is centred by its mean over all windows. The weight of a window is the geometric mean of
    the samples' weights. The value depends only on the span of M; P = M'C_0^{-1/2}.

    Use it when samples are in time order, to find a few components whose past best predicts their
    future. The components may change slowly or rotate. Do not use it if samples are few relative to
    2T times the number of features: take tica, which needs two covariances only.

    Source: Clark, Livezey & Bouchard 2019.

    Parameters
    ----------
    window : int
        T, the number of samples in each half of a window.
    ridge : float
        Ridge added to the diagonal of C_0, relative to the mean eigenvalue in the span of the
        samples.
    """

    name = "dca"
    sense = "max"
    needs = (Need.TIME_ORDER,)
    baseline = "the slowest directions: top eigenvectors of C_0^{-1/2} sym(C_1) C_0^{-1/2}"

    window: int = whole(1, 1)
    ridge: float = number(0.0)

    def order(self, data: Data) -> int:
        """Return 2T times the number of features, the order of S_2T."""
        return 2 * self.window * super().order(data)

    def bind(self, data: Data, r: int) -> Predictive:
        compact, length = Compact.of(data.samples), 2 * self.window
        if data.samples.n_known and length > data.samples.n:
            raise ArgumentError(
                f"window = {self.window} is too large: expected at most {data.samples.n // 2}, "
                f"half of the {data.samples.n} rows"
            )

        def windows(change: Change) -> Moments:
            return window_moments(change(compact.rows), tuple(range(length)))

        def squares(stats: Moments) -> tuple[SumOfSquares]:
            mean = stats.mean.reshape(length, -1).mean(axis=0)
            C_0 = lagged_covariances(stats, length)[0]
            return (SumOfSquares.covariance(stats.n * C_0, mean, stats.n),)

        given = Unwhitened.of(compact, "the covariance of the windows", self.ridge)
        found, (whitened,) = whiten(windows, squares, given)
        C, notes = stationary(np.array(list(map(whitened, lagged_covariances(found, length)))))
        view = compact.view(whitened.mean, whitened.scatter).within(whitened)
        return Predictive(self, (view.noting(*notes),), C, r, whitened)


def lagged_covariances(stats: Moments, length: int) -> list[Array]:
    """Compute the covariances C_k of x_{t+k} and x_t for k < length, averaged over windows."""
    blocks = stats.covariance.reshape(length, -1, length, len(stats.mean) // length)
    return [
        np.mean([blocks[j + k, :, j] for j in range(length - k)], axis=0) for k in range(length)
    ]


def stationary(C: Array) -> tuple[Array, list[str]]:
    """Shrink lagged covariances of whitened rows until S_2T is positive definite.

    Averages along the diagonals of the windows' covariance need not be positive semidefinite. All
    covariances C_k with k > 0 are therefore multiplied by a common factor.
    """
    identity = np.eye(C.shape[1])[None]
    C = np.concatenate([identity, C[1:]])
    S = _of_windows(C)
    if not math.isnan(_log_determinant(S)):
        return C, []
    least = float(np.linalg.eigvalsh(S)[0])
    note = (
        f"no time series has the estimated covariances of {len(C)} successive rows: those of "
        f"different rows were reduced by {100 * (_LEAST - least) / (1.0 - least):.2g} %; use more "
        "rows, fewer columns or a smaller window="
    )
    return np.concatenate([identity, (1.0 - _LEAST) / (1.0 - least) * C[1:]]), [note]


def _of_windows(B: Array) -> Array:
    """Return the covariance of len(B) successive rows from the lagged covariances B_k."""
    K = len(B)
    return np.block([[B[i - j] if i >= j else B[j - i].T for j in range(K)] for i in range(K)])


def _log_determinant(S: Array) -> float:
    """Return log det S, or NaN if S is not positive definite."""
    try:
        return 2.0 * float(np.log(np.diag(np.linalg.cholesky(S))).sum())
    except np.linalg.LinAlgError:
        return math.nan


class PredictivePoint(Point):
    """f = -log det S_T + 1/2 log det S_2T at M, with S_K formed from the blocks M'C_kM.

    If Z_k is the sum of the blocks (j, j + k) of S_K^{-1}, the derivative is d log det S_K = <G_K,
    dM>, G_K = 2 C_0M Z_0 + 2 sum_{k>0} (C_kM Z_k + C_k'M Z_k').
    """

    def __init__(self, problem: Predictive, M: Array) -> None:
        self.M, self._C = M, problem.C
        self._CM, self._CtM = self._products(M)
        B = M.T @ self._CM
        self._S = [(-1.0, _of_windows(B[: len(B) // 2])), (0.5, _of_windows(B))]

    def _products(self, V: Array) -> tuple[Array, Array]:
        return self._C @ V, self._C.transpose(0, 2, 1) @ V

    @cached_property
    def value(self) -> float:
        return sum(weight * _log_determinant(S) for weight, S in self._S)

    @cached_property
    def _inverses(self) -> list[Array]:
        return [np.asarray(np.linalg.inv(S), dtype=np.float64) for _, S in self._S]

    @property
    def sensitive(self) -> float:
        """Bound of the change of f if the norm of each C_k changes by 1."""
        r = self.M.shape[1]
        parts = zip(self._S, self._inverses, strict=True)
        return math.fsum(
            abs(w) * len(S) / r * float(np.trace(inverse)) for (w, S), inverse in parts
        )

    def _lagged(self, matrices: Sequence[Array]) -> Array:
        """Return the weighted sums of blocks Z_k for the matrices in place of S_K^{-1}."""
        r = self.M.shape[1]
        Z = np.zeros((len(self._C), r, r))
        for (weight, _), A in zip(self._S, matrices, strict=True):
            blocks = A.reshape(-1, r, len(A) // r, r)
            for k in range(len(blocks)):
                Z[k] += weight * sum(blocks[j, :, j + k] for j in range(len(blocks) - k))
        return Z

    @cached_property
    def _Z(self) -> Array:
        return self._lagged(self._inverses)

    @staticmethod
    def _with(Z: Array, CM: Array, CtM: Array) -> Array:
        """2 C_0M Z_0 + 2 sum_{k>0} (C_kM Z_k + C_k'M Z_k')."""
        both = CM @ Z
        both[1:] += CtM[1:] @ Z[1:].transpose(0, 2, 1)
        return np.asarray(2.0 * both.sum(axis=0))

    @cached_property
    def gradient(self) -> Array:
        return self._with(self._Z, self._CM, self._CtM)

    def hessian_vector(self, V: Array) -> Array:
        CV, CtV = self._products(V)
        dB = V.T @ self._CM + self.M.T @ CV
        changes = _of_windows(dB[: len(dB) // 2]), _of_windows(dB)
        pairs = zip(self._inverses, changes, strict=True)
        dZ = self._lagged([-inverse @ dS @ inverse for inverse, dS in pairs])
        return self._with(self._Z, CV, CtV) + self._with(dZ, self._CM, self._CtM)


@dataclass(frozen=True)
class Predictive(BoundObjective):
    """Predictive information on the Grassmann manifold.

    - C (2T, k, k): lagged covariances of white rows, with C_0 = I
    """

    C: Array
    r: int
    whitened: Whitened

    def __post_init__(self) -> None:
        check_dimension(self.r, self.C.shape[1])

    @cached_property
    def manifold(self) -> Grassmann:  # type: ignore[override]
        return Grassmann(self.C.shape[1], self.r)

    def at(self, M: Array) -> PredictivePoint:
        return PredictivePoint(self, M)

    def hidden(self, M: Array) -> float:
        # A lagged covariance changes by at most twice the error of whitening.
        return 2.0 * self.whitened.error_along(M) * self.at(M).sensitive

    @cached_property
    def _slow(self) -> Array:
        return 0.5 * (self.C[1] + self.C[1].T)

    def baseline(self) -> Array:
        return top_eigenvectors(self._slow, self.r)[1]

    def starts(self) -> dict[str, Array]:
        """Initialisations: slowest, most autocorrelated, best predicted and random directions.

        There are many local optima. Random directions refer to the principal axes of the columns
        scaled to unit variance, and thus do not depend on the choice of the whitening matrix.
        """
        values, vectors = np.linalg.eigh(self._slow)
        U, _, _ = np.linalg.svd(self.C[1])
        largest = vectors[:, np.argsort(-np.abs(values))[: self.r]]
        found = {"slow": self.baseline(), "correlated": largest, "predicted": U[:, : self.r]}
        whitening = self.views[0].coordinates
        assert isinstance(whitening, Whitening)
        sizes = np.linalg.norm(whitening.inverse, axis=0)  # standard deviations of the columns
        units = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
        U, spread, Vt = np.linalg.svd(whitening.inverse * units, full_matrices=False)
        found["pca"], rng = U[:, : self.r], np.random.default_rng(0)
        for k in range(_RANDOM_STARTS):
            G = Vt @ rng.standard_normal((len(units), self.r))
            found[f"random direction {k + 1}"] = np.linalg.qr((U / spread ** (k % 2)) @ G)[0]
        return found

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the eigenvectors of M' sym(C_1) M, the largest autocorrelation first."""
        return Axes.principal(M.T @ self._slow @ M)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the autocorrelation and the predictive information of each component."""
        alone = [0.0 - self.at(m[:, None]).value for m in M.T]
        return {"autocorrelation": axes.numbers, "information": np.array(alone)}
