"""Sufficient dimension reduction by kernels (KDR, HSIC, gKDR)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial

import numpy as np

from ldr.objectives.data.data import WIDE, Data
from ldr.objectives.families.gram import (
    Approximation,
    Gram,
    approximation,
    keep_landmarks,
    kernel_width,
    landmarks_for,
    landmarks_of,
)
from ldr.objectives.families.pairwise import (
    PairwisePoint,
    Told,
    on_some_rows,
    row_slices,
)
from ldr.objectives.families.projected import Change, DenseRows
from ldr.objectives.families.trace import Trace
from ldr.objectives.kernel import KINDS, Response, centred_gram, gaussian_gram
from ldr.objectives.objective import Objective, chance_notes
from ldr.objectives.parameters import Need, declared, number, numbers, whole, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.slices import gradient_directions, gradient_outer_product, slice_codes
from ldr.objectives.starts import principal_directions, sliced_directions
from ldr.objectives.statistics.sums import counted_rows, weighted
from ldr.solvers.deadline import steps
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING, spectral_bound
from ldr.solvers.linalg.eigen import cholesky, cholesky_solve, product, top_eigenvectors
from ldr.solvers.manifolds import Array

# Function that computes an initial M from a factor of the response's Gram matrix.
Heuristic = Callable[[Array], Array]


class KernelMethod(Objective, weighted=True, by_pairs=True, sparse=False):
    """Base of methods of two Gram matrices: K_XM of the projected rows, and K_z of z.

    Parameters
    ----------
    width : float, optional
        Width sigma of XM's kernel; by default sqrt(r/d) times the median distance between samples.
    response : {"auto", "labels", "quantity"}
        Kind of y. "auto" treats strings, booleans and integers with at most 20 distinct values as
        labels, and all other values, including floats, as a quantity. A message reports the choice
        if y has few distinct integer values.
    landmarks : int, "auto" or None
        Number of landmarks: random rows for the Nystrom approximation of K_XM. K_z is then
        approximated by an incomplete Cholesky decomposition of at most this rank. None uses the
        full matrices, as does "auto" for n <= 500. For larger n "auto" tries an incomplete Cholesky
        decomposition of K_XM with at most 300 pivots. If it omits at most 1e-10 of the trace, the
        pivots are the landmarks. If it omits more, "auto" uses the full matrices for n <= 2000, and
        200 landmarks for larger n.
    """

    width: float | None
    response_width: float | None
    response: str
    landmarks: int | str | None

    def order(self, data: Data) -> int:
        """Return the order of the largest arrays, n x n for the exact form."""
        rows = data.samples
        in_memory = rows.n_known and not rows.stored
        exact = in_memory and landmarks_for(rows.n, self.landmarks) is None
        return max(super().order(data), rows.n if exact else 0)

    def bind(self, data: Data, r: int) -> BoundObjective:
        m = landmarks_of(self.name, data.samples, self.landmarks)
        if data.samples.stored:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        X, n, w = rows.X, len(rows.X), rows.weights
        z = Response(None, X, w) if data.y is None else Response.of(data.y, n, self.response, w)
        width = self.width or kernel_width(X, w, r, data.samples.d)
        first = self.heuristic(X, z, r)
        pivoted = self.landmarks == "auto" and w is None
        factor = partial(z.factor, self.response_width)
        near = approximation(X, width, factor, first, m, pivoted=pivoted)
        notes = z.notes if near is None else (*z.notes, near[2])
        form = self.form(X, r, z, near, first, data.samples.weight)
        return form(self, (rows.view.noting(*notes),), X, r, width=width)

    @abstractmethod
    def heuristic(self, X: Array, z: Response, r: int) -> Heuristic:
        """Return the function that computes an initial M from a factor of K_z."""

    @abstractmethod
    def form(
        self, X: Array, r: int, z: Response, near: Approximation | None, first: Heuristic, n: float
    ) -> Callable[..., Gram]:
        """Return the constructor of the problem, exact or with landmarks, for total weight n."""


@dataclass(frozen=True)
class SDR(KernelMethod):
    r"""Kernel sufficient dimension reduction (SDR).

    .. math:: \min_{M'M=I} \operatorname{tr}\left(K_z (K_{XM} + n\varepsilon I)^{-1}\right)

    K_XM and K_z are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)),
    of the projected data XM and of the response z = y. For labels the kernel of y is 1 for equal
    labels, else 0. At the minimum the response z is independent of X given XM. P = M'. The
    objective has local optima in general. The default starts are sliced inverse regression (the
    baseline), the gradient outer product of a kernel regression, principal components, and
    "screened": a few steps are taken from each of several random M, and the best is used. From the
    baseline alone (``starts=1``) a symmetric dependence, such as y = x_1^2, is often missed.

    An evaluation of the exact form takes O(n^3 + n^2 p) time and O(n^2) memory for K_z of rank p.
    With m landmarks an evaluation takes O(n m (m + p) + n d r) time and O(n (m + p)) memory.

    Use it when a response depends on few directions in an unknown way, as no form of the dependence
    is assumed. Do not use it without landmarks for thousands of samples: matrices are n x n.

    Source: Fukumizu, Bach & Jordan 2009; Cunningham & Ghahramani 2015, 3.1.8; low rank: Williams &
    Seeger 2001 (Nystrom), Fine & Scheinberg 2001 (incomplete Cholesky).

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    response_width : float, optional
        Width sigma of the response's kernel; by default the median distance between responses.
    slices : int
        Number of slices of a continuous response, for the baseline (sliced inverse regression).
    annealing : tuple of float
        Factors of the kernel's width, such as (4, 2): each run first solves the problems with these
        wider kernels, which have fewer local optima. A run then takes about twice the time.
    """

    name = "sdr"
    sense = "min"
    needs = (Need.RESPONSE,)
    baseline = "sliced inverse regression"

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True)
    response_width: float | None = number(None, optional=True, positive=True)
    slices: int = whole(10, 2)
    response: str = word("auto", KINDS)
    landmarks: int | str | None = declared("auto", keep_landmarks)
    annealing: tuple[float, ...] = numbers((), positive=True)

    def heuristic(self, X: Array, z: Response, r: int) -> Heuristic:
        codes = partial(slice_codes, z, self.slices, z.weights)
        slices = cache(lambda: sliced_directions(X, codes(), r, z.weights))
        return lambda Z: slices()

    def form(
        self, X: Array, r: int, z: Response, near: Approximation | None, first: Heuristic, n: float
    ) -> Callable[..., Gram]:
        w, ridge = z.weights, n * self.epsilon
        kind: Callable[..., Gram]
        if near is None:
            Z = z.factor(self.response_width, None)[0]
            kind = partial(KernelRegression, Z=weighted(Z, w), ridge=ridge)
        else:
            # By Woodbury's identity a matrix of the landmarks, not of all rows, is inverted.
            made, Z, _ = near
            constant = float(np.vdot(Z, Z)) / ridge
            kind = partial(made, constant=constant, scale=1.0 / ridge, a=ridge, b=1.0)
        heuristics = {
            "sir": lambda: first(Z),
            "gradient outer product": lambda: gradient_directions(X, Z, r, self.epsilon, w),
            "pca": lambda: principal_directions(weighted(X, w), r),
        }
        return partial(kind, w=w, annealing=self.annealing, heuristics=heuristics, screens=True)


class KernelPoint(PairwisePoint):
    """F(K) = tr(Z'RZ) with R = (G + n eps I)^{-1} and G = PKP. With T = RZ, dF/dK = -TT'.

    T is centred because Z is centred and 1 is an eigenvector of R. Derivatives are dT = -R dG T and
    dK = c K o dD (entrywise), with c = -1/(2 sigma^2).

    For weighted rows G = W^{1/2} P'KP W^{1/2}, P = I - w1'/N, and Z = W^{1/2}P'Z: in dF/dK,
    S = W^{1/2}T replaces T.
    """

    symmetric = True
    _problem: KernelRegression

    def pairs(self, rows: slice, D: Array) -> Told:
        problem, w = self._problem, self._problem.w
        c = -0.5 / problem.width**2
        K, each_row = D, 100 * len(D)
        for at in steps(len(D), each_row):
            np.exp(np.multiply(D[at], c, out=D[at]), out=K[at])
        G = weighted(weighted(centred_gram(K, w), w).T, w)
        G.flat[:: len(G) + 1] += problem.ridge
        factor = cholesky(G.T)
        if factor is None:
            raise SingularError(
                f"the Gram matrix of XM is singular relative to n epsilon = {problem.ridge:.1e}: "
                "give epsilon= a larger value"
            )
        T = cholesky_solve(factor, problem.Z)
        S = weighted(T, w)
        W = product(S, S.T)
        for at in steps(len(W), each_row):
            W[at] *= -c * K[at]

        def change(dD: Array) -> Array:
            dGS = np.empty_like(S)
            for at in steps(len(S), each_row + 2 * S.size):
                dGS[at] = c * (K[at] * dD[at]) @ S
            dGT = weighted(dGS - np.average(dGS, axis=0, weights=w), w)
            dS = weighted(-cholesky_solve(factor, dGT), w)
            A = product(dS, S.T)
            for at in steps(len(A), each_row):
                dD[at] *= W[at]
                dD[at] -= (A[at] + A[:, at].T) * K[at]
                dD[at] *= c
            return dD

        return float(np.vdot(problem.Z, T)), W, change


@dataclass(frozen=True)
class KernelRegression(Gram):
    """Problem of kernel dimension reduction in the exact form, on the Grassmann manifold.

    - Z (n, p): centred factor of the response's Gram matrix, times square roots of weights
    - ridge: n eps, or N eps for weights of sum N
    """

    Z: Array = field(kw_only=True)
    ridge: float = field(kw_only=True)

    def at(self, M: Array) -> KernelPoint:
        return KernelPoint(self, M, [slice(0, len(self.X))])  # the residual matrix R needs all rows


@dataclass(frozen=True)
class HSIC(KernelMethod):
    r"""Hilbert-Schmidt independence criterion (HSIC), maximised.

    .. math:: \max_{M'M=I} \frac{\operatorname{tr}(K_{XM} K_z)}{(n-1)^2}

    K_XM and K_z are centred Gram matrices of Gaussian kernels, exp(-||y_i - y_j||^2 / (2 sigma^2)),
    of the projected data XM and of the response z = y. For labels the kernel of y is 1 for equal
    labels, else 0. If no y is given, z is X, and the projection preserves similarities of samples.
    P = M'. The baseline is the solution for a linear kernel of XM, the top eigenvectors of X'K_z X.

    An evaluation of the exact form takes O(n^2 r) time and O(n^2) memory. With m landmarks and K_z
    of rank p <= m an evaluation takes O(n m (m + p) + n d r) time and O(n (m + p)) memory.

    Use it for a projection with a strong dependence of any form on a response, cheaper than sdr. Do
    not use it if the kernel width is uncertain: directions depend on it more than in sdr.

    Source: Gretton, Bousquet, Smola & Schoelkopf 2005; Barshan, Ghodsi, Azimifar & Zolghadri
    Jahromi 2011 (linear kernel); Wang, Sha & Jordan 2010 (unsupervised).

    Parameters
    ----------
    response_width : float, optional
        Width sigma of z's kernel; by default the median distance between rows of z.
    """

    name = "hsic"
    sense = "max"
    baseline = "top eigenvectors of X'K_z X (supervised pca)"

    width: float | None = number(None, optional=True, positive=True)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)
    landmarks: int | str | None = declared("auto", keep_landmarks)

    def cautions(self, value: float, data: Data, d: int, r: int) -> list[str]:
        return [] if data.y is None else chance_notes(self, data, d)

    def heuristic(self, X: Array, z: Response, r: int) -> Heuristic:
        return lambda Z: principal_directions(Z.T @ X, r)

    def form(
        self, X: Array, r: int, z: Response, near: Approximation | None, first: Heuristic, n: float
    ) -> Callable[..., Gram]:
        w = z.weights
        kind: Callable[..., Gram]
        if near is None:
            G = centred_gram(z.gram(self.response_width), w)
            G = counted_rows(counted_rows(G, w).T, w)
            # Weights of mean 1/2 or less are shares, not counts: N - 1 may then be 0 or negative.
            mean = 1.0 if w is None else n / np.count_nonzero(w)
            outer = X.T @ product(G, X)
            kind = partial(Dependence, G=G, scale=(n - (1.0 if mean > 0.5 else mean)) ** 2)
        else:
            made, Z, _ = near
            outer = (A := X.T @ Z) @ A.T
            kind = partial(made, scale=1.0 / (len(X) - 1) ** 2)
        own = z.width(self.response_width) if z.values is X else None
        heuristics = {
            "supervised pca": lambda: top_eigenvectors(outer, r)[1],
            "pca": lambda: principal_directions(weighted(X, w), r),
        }
        return partial(kind, own=own, heuristics=heuristics)


class DependencePoint(PairwisePoint):
    """F(K) = -tr(K G)/(n - 1)^2 is linear in K; dK/dD = cK entrywise, c = -1/(2 sigma^2)."""

    symmetric = True
    _problem: Dependence

    @property
    def c(self) -> float:
        return -0.5 / self._problem.width**2

    def pairs(self, rows: slice, D: Array) -> Told:
        c = self.c
        W = np.exp(np.multiply(D, c, out=D), out=D)
        W *= self._problem.weights[rows, self.columns(rows)]
        value = float(self.twice(W).sum())
        W *= c
        return value, W, lambda dD: np.multiply(np.multiply(dD, W, out=dD), c, out=dD)

    def change(self, dY: Array) -> Array:
        """Return the derivative of K along dY."""
        along = Change(self.Y, dY)
        return self.c * gaussian_gram(self.Y, self._problem.width) * (along.left @ along.right.T)


@dataclass(frozen=True)
class Dependence(Gram):
    """Problem of HSIC in the exact form, on the Grassmann manifold.

    - G (n, n): centred Gram matrix of z, for weighted rows W H'KH W, H = I - w1'/N
    - scale: (n - 1)^2 for n rows
    """

    G: Array = field(kw_only=True)
    scale: float = field(kw_only=True)

    @cached_property
    def weights(self) -> Array:
        weights = np.empty_like(self.G)
        for rows in steps(len(weights), 100 * len(weights)):
            np.divide(self.G[rows], -self.scale, out=weights[rows])
        return weights

    def at(self, M: Array) -> DependencePoint:
        return DependencePoint(self, M, row_slices(len(self.X)))

    @cached_property
    def of_rows(self) -> Dependence:
        assert self.own is not None
        return replace(self, width=self.own, own=None)

    def moved(self, point: DependencePoint, dY: Array) -> Sequence[tuple[float, Dependence]]:
        return [(1.0, replace(self, G=centred_gram(point.change(dY))))]


@dataclass(frozen=True)
class GKDR(Objective, weighted=True, sparse=False):
    r"""Gradient-based kernel dimension reduction (gKDR).

    .. math::

        \max_{M'M=I} \operatorname{tr}(M'GM), \quad G = \frac{1}{n} \sum_i D_i'(K + n\varepsilon
        I)^{-1} K_z (K + n\varepsilon I)^{-1} D_i

    A kernel regression on X predicts kernel features of the response; G is the mean outer product
    of the regression's gradients. K and K_z are Gram matrices of Gaussian kernels of X and of the
    response (for labels 1 if equal, else 0). Row j of the matrix D_i is (x_j - x_i)' times k(x_j,
    x_i)/width^2, for the kernel k of X. No form of the response's dependence on X is assumed. P =
    M'. Time is cubic in the number of samples; for more than 5000 samples a random subset is used.

    Use it in place of sdr to avoid local optima: a single eigenproblem gives the solution, which is
    near that of sdr if the response is a smooth function of X. Do not use it with many samples,
    because matrices are n x n: sir and directional-regression only need sums over samples.

    Source: Fukumizu & Leng 2014.

    Parameters
    ----------
    epsilon : float
        Regularisation, eps > 0.
    width : float, optional
        Width of X's kernel; by default the median distance between samples.
    response_width : float, optional
        Width of the response's kernel; by default the median distance between responses.
    response : {"auto", "labels", "quantity"}
        Kind of y, as in sdr.
    """

    name = "gkdr"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of G"
    exact = "yes"

    epsilon: float = number(1e-3, positive=True)
    width: float | None = number(None, optional=True, positive=True, power=1)
    response_width: float | None = number(None, optional=True, positive=True)
    response: str = word("auto", KINDS)

    def order(self, data: Data) -> int:
        """Return the number of rows, or of sampled rows: arrays are n x n."""
        rows = min(data.samples.n, WIDE) if data.samples.n_known else 0
        return max(super().order(data), rows)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if data.samples.stored or data.samples.n > WIDE:
            return on_some_rows(self, data, r)
        rows = DenseRows.centred(data, self)
        w = rows.weights
        width = self.width or kernel_width(rows.X, w, 1, 1)
        response = Response.of(data.y, len(rows.X), self.response, w)
        Z = response.features(self.response_width, None)[0]
        G, rounding = gradient_outer_product(rows.X, Z, width, self.epsilon, w)
        doubt = r * (SUMS_ROUNDING * (1.0 + 1.0 / self.epsilon) * spectral_bound(G) + rounding)
        return Trace(self, (rows.view.noting(*response.notes),), G, r, doubt=doubt)
