"""Methods of matrices that are quadratic in the rows, as functions of the rows in jax.

A method f = -sum_p tr(T'A_pT) / prod_j (tr T'B_jT)^{e_pj} is a trace, a ratio or a sum of
correlations. The constraint T'BT = I is met by T = LQ with L'BL = I and an orthonormal Q. The
matrix L is kept fixed: with E = L'dB L the problem at t has T = L(I - tE/2)Q.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.families.matrices import (
    CorrelationMatrices,
    DeterminantMatrix,
    Divided,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    SharedMatrices,
    SpectralMatrices,
    TraceMatrices,
)
from ldr.objectives.families.trace import SpectralTrace
from ldr.objectives.objective import Objective
from ldr.objectives.view import Columns
from ldr.sensitivity.derivative import all_of
from ldr.sensitivity.forms import (
    STATIC,
    Closure,
    DataForms,
    Square,
    Traced,
    added,
    ridged,
    trace,
    tree,
)
from ldr.sensitivity.optimum import Observed, Optimum
from ldr.sensitivity.rule import Known, alike
from ldr.solvers.linalg.eigen import symmetric_eigen
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING
from ldr.solvers.manifolds import Array


@tree
class Statement:
    """Maximisation of sum_p tr A_p / prod_j (tr B_j)^{e_pj}.

    - above: the numerators A_p
    - over: the denominators B_j
    - exponents: the exponents e_pj
    - white: B of the constraint T'BT = I, one for each view; without it T'T = I
    - diagonal: matrix that canonical coordinates diagonalise; None for the sum of the A_p over
      their denominators, or, if columns have weights, for the matrix of the gradient
    - ridge: ridge of every B, in units of the mean of its diagonal
    - shares (n,): see `Matrices`
    - weights (r,): weights of T's columns in the traces, if they differ
    - decoder: D in P' = DT; None means P' = T
    - residual: True if the value is tr A of all columns minus tr A of T
    - of in {"trace", "sizes", "roots", "determinant", "shared"}: what replaces tr A: the sum of
      absolute eigenvalues or of their square roots, the log-determinant, or for "shared" the space
      in which the views are jointly white
    """

    above: Sequence[Square]
    over: Sequence[Square] = ()
    white: Sequence[Square] = ()
    diagonal: Square | None = None
    ridge: Traced = field(default=None, kw_only=True)
    shares: Array | None = field(default=None, kw_only=True)
    weights: Array | None = field(default=None, kw_only=True)
    decoder: Square | None = field(default=None, kw_only=True)
    exponents: Sequence[Sequence[float]] = field(default=((),), kw_only=True, metadata=STATIC)
    residual: bool = field(default=False, kw_only=True, metadata=STATIC)
    of: str = field(default="trace", kw_only=True, metadata=STATIC)

    @classmethod
    def stated(cls, objective: Objective, data: DataForms, r: int) -> Statement:
        """Make the statement of a method from its matrices."""
        found: Any = objective.matrices(data)
        options: dict[str, Any] = {"shares": found.shares}
        over: Sequence[Any] = ()
        if isinstance(found, Divided):
            over = found.divisors
            # A ridge of zero needs no code in the compiled program.
            options["ridge"] = (
                None if type(found.ridge) is float and not found.ridge else found.ridge
            )
        match found:
            case TraceMatrices():
                A = found.scale * found.A
                return cls([A], residual=found.residual, decoder=found.decoder)
            case PencilMatrices():
                return cls([found.scale * found.A], white=over, **options)
            case SpectralMatrices():
                return cls([found.A], white=over, of=found.of, **options)
            case RatioMatrices():
                A, v, options["exponents"] = found.sign * found.A, found.weights(r), ((1.0,),)
                if (v == 1.0).all():
                    of_rows = data.rows.scatter() / data.rows.n
                    return cls([A], over, diagonal=of_rows, **options)
                return cls([A], over, weights=v, **options)
            case SharedMatrices():
                return cls([found.K], white=over, of="shared", **options)
            case PairMatrices():
                return cls([found.K], white=over, **options)
            case CorrelationMatrices():
                views = range(len(over))
                roots = tuple(
                    tuple(0.5 * (v in pair) for v in views) for pair in combinations(views, 2)
                )
                return cls(found.pairs, over, exponents=roots, **options)
        assert isinstance(found, DeterminantMatrix)
        return cls([found.C], of="determinant")

    def squares(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        """Return BT of each view, or T for an orthonormality constraint."""
        if not self.white:
            return list(T)
        return [ridged(B, self.ridge, X, T, v) for v, B in enumerate(self.white)]

    def value_and_axes(
        self, X: Sequence[Traced], T: Sequence[Traced], still: Sequence[Traced] | None = None
    ) -> tuple[Traced, Traced]:
        """Return f, and the symmetric matrix that is diagonal in canonical coordinates.

        If S = `still` is T without a derivative in M, (2T - S)'AS has the value and the derivatives
        of T'AT, because A is symmetric, and needs half as many products.
        """
        S = still or T
        T = [2.0 * each - own for each, own in zip(T, S, strict=True)]
        times = [A.times(X, S) for A in self.above]
        if self.of in ("determinant", "sizes"):
            inside = _sym(T[0].T @ times[0][0])
            if self.of == "sizes":
                return -abs(jnp.linalg.eigvalsh(inside)).sum(), inside
            return -jnp.linalg.slogdet(inside)[1], inside
        for v, B in enumerate(self.over):
            BS = ridged(B, self.ridge, X, S, v)
            times.append([BS if i == v else 0.0 * each for i, each in enumerate(S)])
        weighed = T if self.weights is None else [each * self.weights for each in T]
        traces = [_inner(weighed, FS) for FS in times]
        a, b = traces[: len(self.above)], traces[len(self.above) :]
        shares = [1.0 / math.prod(map(pow, b, powers)) for powers in self.exponents]
        value = -sum(t * w for t, w in zip(a, shares, strict=True))
        if self.residual:
            value = value + trace(self.above[0], X, len(T[0]))
        if self.diagonal is not None:
            DS = self.diagonal.times(X, S)
        else:
            if self.weights is not None:
                shares = [shares[0], -a[0] * shares[0] / b[0]]
            pairs = zip(shares, times, strict=False)
            DS = added([c * FS for FS in each] for c, each in pairs)
        return value, _sym(sum(one.T @ other for one, other in zip(T, DS, strict=True)))


def _inner(one: Sequence[Traced], other: Sequence[Traced]) -> Traced:
    return sum((a * b).sum() for a, b in zip(one, other, strict=True))


def _sym(S: Traced) -> Traced:
    return 0.5 * (S + S.T)


@tree
class Spectrum:
    """The function h(S) = V diag(h) V' of a symmetric S, |S| or S^{1/2}, as a root of S^2 or of S.

    The derivative of h(S) is VFV' with (h_i + h_j) F_ij = (V'd(h(S)^2)V)_ij.
    """

    V: Array
    h: Array
    roots: bool = field(metadata=STATIC)

    @classmethod
    def of(cls, S: Array, roots: bool) -> Spectrum:
        s, V = symmetric_eigen(S)
        return cls(V, np.sqrt(np.maximum(s, 0.0)) if roots else np.abs(s), roots)

    def times(self, S: Traced, M: Traced) -> Traced:
        """Return h(S)M for S near the decomposed matrix, to first order."""
        R, h, both = self.V.T @ M, self.h[:, None], self.h[:, None] + self.h
        square = self.V.T @ (S if self.roots else S @ S) @ self.V - jnp.diag(self.h**2)
        there = both > FACTOR_ROUNDING * self.h.max()
        return self.V @ (h * R + jnp.where(there, square / jnp.where(there, both, 1.0), 0.0) @ R)


def observed(
    X: Sequence[Traced],
    M: Traced,
    statement: Statement,
    frames: Sequence[Traced],
    shares: Traced,
    numbers: tuple[Traced, Traced],
    spectrum: Spectrum | None,
    *,
    shapes: Sequence[tuple[int, int]],
) -> Observed:
    """Return the `Observed` quantities of a method of matrices.

    - frames: L of each view; None if T = Q
    - shares (n,): shares of the rows in the mean that the map subtracts
    - numbers: the factor c in Q = cM, and the objective's sign
    - spectrum: spectrum of S = L'AL, if its absolute eigenvalues or square roots are needed
    - shapes: shape of each view's block of M
    """
    ends, (spread, sign) = np.cumsum([d * r for d, r in shapes]), numbers

    def blocks(M: Traced) -> list[Traced]:
        parts = jnp.split(spread * M.reshape(-1), ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def straight(Q: Sequence[Traced]) -> list[Traced]:
        """Return L(I - E/2)Q."""
        T = [each if L is None else L @ each for L, each in zip(frames, Q, strict=True)]
        if not statement.white:
            return T
        BT = statement.squares(X, T)
        return [1.5 * t - 0.5 * L @ (L.T @ b) for L, t, b in zip(frames, T, BT, strict=True)]

    T, still = (straight(blocks(each)) for each in (M, jax.lax.stop_gradient(M)))
    if spectrum is None:
        value, within = statement.value_and_axes(X, T, still)
    else:
        (L,) = straight([np.eye(len(M))])
        through = spectrum.times(_sym(L.T @ statement.above[0].times(X, [L])[0]), M)
        value, within = -(M * through).sum(), _sym(M.T @ through)
    maps = T if statement.decoder is None else statement.decoder.times(X, T)
    means = tuple(each.mean(axis=0) if shares is None else shares @ each for each in X[: len(T)])
    lifted = () if statement.white else tuple(T)
    return Observed(tuple(each.T for each in maps), lifted, means, sign * value, within)


@dataclass(frozen=True)
class MatrixRows(Known):
    """Optimum of a method of matrices."""

    def _check(self, gradient: Array, found: Observed) -> None:
        """Refuse a statement with another gradient, as for weights or trials of some methods."""
        super()._check(gradient, found)
        if not alike(gradient, self.optimum.problem.at(self.optimum.M).gradient):
            raise UnknownError


def of_matrices(optimum: Optimum, objective: Objective, data: Data) -> MatrixRows | None:
    """Return the jax statement of a method of matrices; None if the method has none."""
    problem, M, rows = optimum.problem, optimum.M, DataForms.of(data)
    if any(view.centre != "mean" or view.features is not None for view in problem.views):
        return None
    blocks = problem.blocks(M)
    try:
        statement = Statement.stated(objective, rows, blocks[0].shape[1])
    except UnknownError:
        return None
    frames: list[Array | None] = []
    for view, Q in zip(problem.views, blocks, strict=True):
        unit, own = np.eye(len(Q)), view.coordinates
        frames.append(None if type(own) is Columns else own.map(unit, own.lift(unit)).T)
    shares = rows.rows.shares if statement.shares is None else statement.shares
    size = sum(float(np.vdot(Q, Q)) for Q in blocks) / float(np.vdot(M, M))
    spectrum = None
    if isinstance(problem, SpectralTrace):
        spectrum = Spectrum.of(problem.signed, statement.of == "roots")
    X = [one.dense() for one in all_of(data)]
    numbers = math.sqrt(size), problem.objective.sign
    shapes = tuple(each.shape for each in blocks)
    of = Closure(observed, statement, frames, shares, numbers, spectrum, shapes=shapes)
    return MatrixRows(optimum, of, X)
