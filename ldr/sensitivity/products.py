"""A method's matrices as what is optimised of them: a trace, a ratio or correlations.

How methods of matrices quadratic in the rows change, by products with the rows.

With f = -sum_p tr(T'A_pT)/prod_j (tr T'B_jT)^{e_pj}, a trace, a ratio or correlations, the gradient
in T is the sum of 2 f_F FT over these matrices F, f_F the derivative of f in the trace of F. Where
T'BT = I, T = LQ with L'BL = I; L stays, and with E = L'dB L the problem at t is that of
T = L(I - tE/2)Q over orthonormal Q. Where S = L'AL counts by the size or root of its eigenvalues,
`Spectrum` says how that moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from ldr.objectives.coordinates import Columns
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.families.matrices import (
    CorrelationMatrices,
    DataSums,
    DeterminantMatrix,
    Divided,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    SharedMatrices,
    SpectralMatrices,
    TraceMatrices,
)
from ldr.objectives.families.whitened_trace import SpectralTrace
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import (
    Blocks,
    Form,
    Moving,
    QuadraticData,
    Spectrum,
    added,
    inner,
)
from ldr.sensitivity.known import Summand, plain
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym

# A matrix of the rows: a `Form`, or a traced array of jax's.
Square = Any
# What formulas in jax know.
TRACED = ("trace", "sizes", "determinant")


@dataclass(frozen=True)
class Ratio:
    """sum_p tr A_p / prod_j (tr B_j)^{e_pj}, maximised.

    - above: the A_p
    - diagonal: what canonical coordinates diagonalise; None where that is the sum of the A_p over
      what they are divided by, or, of columns with weights, what the gradient is of
    - over: the B_j
    - exponents: the e_pj
    - white: the B of T'BT = I, one a view; T'T = I where there are none
    - ridge: of the B, in units of the mean of each diagonal
    - residual: whether the value is tr A of all columns less that of T
    - shares (n,): see `Matrices`
    - weights (r,): of T's columns in the traces, where they are not alike
    - decoder: D with P' = DT, where that is not T
    - of in {"trace", "sizes", "roots", "determinant", "shared"}: what stands in the place of tr A:
      its eigenvalues by their size or root, or its log-determinant; or what the views are white
      together in
    """

    above: Sequence[Square]
    diagonal: Square | None = None
    over: Sequence[Square] = ()
    exponents: Sequence[Sequence[float]] = ((),)
    white: Sequence[Square] = ()
    ridge: float = field(default=0.0, kw_only=True)
    residual: bool = field(default=False, kw_only=True)
    shares: Array | None = field(default=None, kw_only=True)
    weights: Array | None = field(default=None, kw_only=True)
    decoder: Square | None = field(default=None, kw_only=True)
    of: str = field(default="trace", kw_only=True)

    @classmethod
    def stated(cls, objective: Objective, data: DataSums, r: int) -> Ratio:
        """Of a method that states its matrices."""
        found = objective.matrices(data)
        shares = found.shares
        ridge = found.ridge if isinstance(found, Divided) else 0.0
        over: Sequence[Square] = found.divisors if isinstance(found, Divided) else ()
        match found:
            case TraceMatrices(A=S, scale=scale):
                A = scale * S
                return cls([A], residual=found.residual, decoder=found.decoder)
            case PencilMatrices(A=S, scale=scale):
                A = scale * S
                return cls([A], white=over, ridge=ridge, shares=shares)
            case SpectralMatrices(A=A, of=of):
                return cls([A], white=over, ridge=ridge, shares=shares, of=of)
            case RatioMatrices(A=S, sign=sign):
                A, v = sign * S, found.weights(r)
                options: dict[str, Any] = {"ridge": ridge, "shares": shares}
                if (v == 1.0).all():
                    of_rows = data.rows.scatter() / data.rows.n
                    return cls([A], of_rows, over, [[1.0]], **options)
                return cls([A], None, over, [[1.0]], **options, weights=v)
            case SharedMatrices(K=A):
                return cls([A], white=over, ridge=ridge, of="shared")
            case PairMatrices(K=A):
                return cls([A], white=over, ridge=ridge)
            case CorrelationMatrices(pairs=pairs):
                views = range(len(over))
                roots = [[0.5 * (v in pair) for v in views] for pair in combinations(views, 2)]
                return cls(pairs, None, over, roots, ridge=ridge)
        assert isinstance(found, DeterminantMatrix)
        return cls([found.C], of="determinant")

    @property
    def A(self) -> Square:
        """Of a single one."""
        (A,) = self.above
        return A

    def split(self, traces: Any) -> tuple[Any, Any]:
        """Those of the A_p, and of the B_j."""
        return traces[: len(self.above)], traces[len(self.above) :]

    def divided(self, traces: Any) -> list[Any]:
        """1/prod_j (tr B_j)^{e_pj}."""
        b = self.split(traces)[1]
        products = (math.prod(map(pow, b, each)) for each in self.exponents)
        return [1.0 / product for product in products]

    def value(self, traces: Any) -> Any:
        """f, of the traces of the A_p and of the B_j."""
        a = self.split(traces)[0]
        return -sum(t * w for t, w in zip(a, self.divided(traces), strict=True))

    def slopes(self, traces: Array) -> Array:
        """Its derivatives in them."""
        (a, b), w = self.split(traces), np.array(self.divided(traces))
        return np.concatenate([-w, (a * w) @ np.array(self.exponents) / b])

    def shares_of_diagonal(self, slopes: Array) -> Array:
        """Of the matrices in what canonical coordinates diagonalise, where that is made of them."""
        counted = np.ones(len(slopes)) if self.weights is not None else np.zeros(len(slopes))
        counted[: len(self.above)] = 1.0
        return -counted * slopes


# Imaginary parts, relatively: their squares are below rounding.
_STEP = 2.0**-80
# Matrices that agree to this are the same.
_SAME = 1e-6


@dataclass(frozen=True)
class Products(Summand):
    """An optimum of matrices quadratic in the rows.

    - X: the rows of each view; of methods of a background, samples and background; those that are
      made of them
    - frames: L of each view; None where T is Q
    """

    formula: Ratio
    of_rows: QuadraticData
    X: Blocks
    frames: Sequence[Array | None]

    of_marks = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> Products | None:
        """None where the method states no matrices."""
        problem = optimum.problem
        samples = (*data.views, *filter(None, (data.background,)))
        if any(view.centre != "mean" or view.features is not None for view in problem.views):
            return None
        of_rows = QuadraticData.of(data)
        r = problem.blocks(optimum.M)[0].shape[1]
        try:
            formula = Ratio.stated(objective, of_rows, r)  # type: ignore[arg-type]
        except UnknownError:
            return None
        if formula.of == "determinant":
            return None
        frames: list[Array | None] = []
        for coordinates, Q in zip(problem.coordinates, problem.blocks(optimum.M), strict=True):
            unit, still = np.eye(len(Q)), type(coordinates) is Columns
            frames.append(None if still else coordinates.map(unit, coordinates.lift(unit)).T)
        X = of_rows.blocks([one.dense() for one in samples])
        found = cls(optimum, formula, of_rows, X, frames)
        return found if plain(data) or found.agrees else None

    @property
    def agrees(self) -> bool:
        """Whether the matrices are the problem's: few methods say what marks of rows do to them."""
        f, problem = self.formula, self.optimum.problem
        if self._is_spectral:
            pairs = [(self._signed @ self.optimum.M, self._lowered(self._times[0])[0])]
        else:
            own = self._in_coordinates(self._weighed(_summed(self._slopes, self._times)))
            pairs = [(problem.at(self.optimum.M).gradient, 2.0 * self._pulled_of_blocks(own))]
        for v, (B, Q) in enumerate(zip(f.white, problem.blocks(self.optimum.M), strict=False)):
            square, L = self._ridged_at(self.X, self._T, v, B), self.frames[v]
            pairs.append((Q, square if L is None else L.T @ square))
        numbers = np.diag(np.diag(self._axes))
        if len(matrix_of(self.optimum.axes)):
            pairs.append((numbers, self._axes))
        return all(np.linalg.norm(a - b) <= _SAME * np.linalg.norm(a) for a, b in pairs)

    def rate(self, dX: Blocks) -> Rate:
        dX = self.of_rows.blocks(dX)
        sizes = [
            np.linalg.norm(x) / np.linalg.norm(dx)
            for x, dx in zip(self.X, dX, strict=True)
            if dx.any()
        ]
        step = _STEP * float(min(sizes, default=1.0))
        X = Moving(self.X, [step * each for each in dX])
        gradient, observed = self._at(X)

        def change(each: Any) -> Array:
            return np.asarray(np.imag(each) / step)

        P, M, mean = (tuple(map(change, each)) for each in observed[:3])
        value, within = map(change, observed[3:])
        lifted = partial(self._lifted, X, step, P) if self.formula.white else None
        return Rate(change(gradient), Observed(P, M, mean, float(value), within), lifted=lifted)

    def _at(self, X: Blocks) -> tuple[Array, Observed]:
        """The gradient at M and what is observed, of other rows."""
        f, problem, M, T = self.formula, self.optimum.problem, self.optimum.M, self._T
        if f.white:
            T = self._raised(self._straight(X, problem.blocks(M)))
        times, sign = self._times_at(X, T), problem.objective.sign
        if self._is_spectral:
            (own,) = self._straight(X, self._lowered(times[0]))
            moved = self._spectrum.moved(M, own.imag, f.of)
            through = self._spectrum.times(M) + 1j * moved
            gradient, value = (-2.0 / problem.unit) * through, -np.sum(M * through)
            within = sym(M.T @ through)
        else:
            traces = self._traces_of(T, times)
            slopes = f.slopes(traces)
            in_T = self._in_coordinates(self._weighed(_summed(slopes, times)))
            gradient = 2.0 * self._pulled_of_blocks(self._straight(X, in_T) if f.white else in_T)
            value = f.value(traces) + (f.A.trace(X) if f.residual else 0.0)
            within = np.zeros((0, 0))
        if not self._is_spectral and len(matrix_of(self.optimum.axes)):
            if f.diagonal is not None:
                DT = f.diagonal.times(X, T)
            else:
                DT = _summed(f.shares_of_diagonal(slopes), times)
            within = self._unit_of_axes * sym(_product(T, DT))
        maps = T if f.decoder is None else f.decoder.times(X, T)
        P, lifted = tuple(each.T for each in maps), () if f.white else tuple(T)
        mean = tuple(map(self._mean, X[: len(T)]))
        return gradient, Observed(P, lifted, mean, sign * value, within)

    def _straight(self, X: Blocks, G: Blocks) -> list[Array]:
        """(I - E/2)G of each view, where L'BL = I + E."""
        found, raised = [], self._raised(G)
        for v, (L, each, B) in enumerate(zip(self.frames, G, self.formula.white, strict=True)):
            square = self._ridged_at(X, raised, v, B)
            found.append(1.5 * each - 0.5 * (square if L is None else L.T @ square))
        return found

    def _lifted(self, X: Blocks, step: float, dP: Blocks) -> tuple[Array, ...]:
        """How M = B^{1/2}T of each view changes: with R = B^{1/2}, dR R + R dR = dB."""
        found = []
        for v, (B, T, moved) in enumerate(zip(self.formula.white, self._T, dP, strict=True)):
            unit = [np.eye(len(T)) if i == v else each[:, :0] for i, each in enumerate(self._T)]
            square = self._ridged_at(X, unit, v, B)
            values, V = np.linalg.eigh(square.real)
            roots = np.sqrt(values)
            change = V.T @ square.imag @ V / step
            dR = V @ (change / (roots[:, None] + roots)) @ V.T
            found.append(dR @ T + (V * roots) @ (V.T @ moved.T))
        return tuple(found)

    def pulled(self, V: Blocks) -> list[Array]:
        T = self._T
        found = [np.zeros_like(each) for each in self.X]
        W = self.optimum.turned(V)
        if (D := self.formula.decoder) is not None:
            found = D.pulled(self.X, T, V)
            V = D.transposed.times(self.X, V)
        told = self._pulled_of_spectrum if self._is_spectral else self._pulled_of_traces
        return self._gathered(found, told(V, W))

    @property
    def additive(self) -> bool:
        f = self.formula
        return not f.white and f.decoder is None and f.shares is None and f.of == "trace"

    def crossed(self, U: Array) -> list[Array]:
        still, none = np.zeros_like(self._traces), [np.zeros_like(each) for each in self._T]
        nothing = [np.zeros_like(each) for each in self.X]
        return self._gathered(nothing, self._pulled_of_move(-U, none, still, still))

    def _gathered(
        self, found: list[Array], terms: Iterator[tuple[Form, Blocks, int | None]]
    ) -> list[Array]:
        """And the derivatives of the <U, FT>, with the ridges."""
        T = self._T
        for F, U, view in terms:
            found = added(found, F.pulled(self.X, T, U))
            if view is not None and self.formula.ridge:
                share = self.formula.ridge * float(np.vdot(T[view], U[view])) / len(T[view])
                found = added(found, F.pulled_of_trace(self.X, share))
        return self.of_rows.gathered(found)

    def _pulled_of_traces(self, V: Blocks, W: Array) -> Iterator[tuple[Form, Blocks, int | None]]:
        """F and U whose <U, FT> add up to it, and the view that a ridge of F is of."""
        problem, M, T, f = self.optimum.problem, self.optimum.M, self._T, self.formula
        W = self._unit_of_axes * W if W.any() else W
        TW = [each @ W for each in T]
        shares = of_shares = np.zeros(len(self._traces))
        if f.diagonal is not None:
            yield f.diagonal, TW, None
        else:
            shares = f.shares_of_diagonal(self._slopes)
            along = np.array([inner(TW, FT) for FT in self._times])
            of_shares = np.array([along @ f.shares_of_diagonal(each) for each in self._bends])
        turned = [2.0 * DT @ W for DT in self._diagonal_times]
        turned = added(V, turned, self._weighed(_summed(2.0 * of_shares, self._times)))
        lowered = self._lowered(turned)
        u = self.optimum.solve(self._pulled_of_blocks(lowered))
        yield from self._pulled_of_move(u, TW, shares, of_shares)
        if f.white:
            point, split = problem.at(M), problem.manifold.split
            own = zip(*map(split, (u, M, point.gradient)), strict=True)
            inside = problem.manifold.join([each @ (N.T @ g).T for each, N, g in own])
            by_E = problem.blocks((point.hessian_vector(u) + inside) / self._spread)
            yield from self._of_frames([0.5 * (E - G) for E, G in zip(by_E, lowered, strict=True)])

    def _pulled_of_move(
        self, u: Array, TW: Blocks, shares: Array, of_shares: Array
    ) -> Iterator[tuple[Form, Blocks, int | None]]:
        """-<u, gradient>, and shares of the F in <TW, FT>."""
        problem, f, TV = self.optimum.problem, self.formula, self._weighed(self._T)
        lifted = self._raised(problem.blocks(u))
        weighed = self._weighed([each / problem.unit for each in lifted])
        bent = 2.0 * self._bends @ [inner(FT, weighed) for FT in self._times] - of_shares
        views = (*(None for _ in f.above), *range(len(f.over)))
        for F, slope, c, share, view in zip(
            (*f.above, *f.over), self._slopes, bent, shares, views, strict=True
        ):
            parts = zip(weighed, TV, TW, strict=True)
            yield F, [-2.0 * slope * u - c * own + share * w for u, own, w in parts], view

    @cached_property
    def _bends(self) -> Array:
        """How the slopes change with each of the traces."""
        traces = self._traces
        sizes = _STEP * np.where(traces == 0, 1.0, traces)
        moved = [np.imag(self.formula.slopes(traces + 1j * step)) for step in np.diag(sizes)]
        return np.array(moved) / sizes[:, None]

    def _pulled_of_spectrum(self, V: Blocks, W: Array) -> Iterator[tuple[Form, Blocks, int | None]]:
        """The same where eigenvalues count by their size or root."""
        problem, M = self.optimum.problem, self.optimum.M
        (lowered,) = self._lowered(V)
        through = self._spectrum.times(M)
        u = self.optimum.solve(lowered + 2.0 * through @ W)
        half = 0.5 * self._of_spectrum((2.0 / problem.unit) * u + M @ W)
        yield self.formula.A, self._raised([2.0 * half]), None
        S = self._signed
        yield from self._of_frames([-(S @ half + half @ (M.T @ S @ M) + 0.5 * lowered)])

    def _of_frames(self, Z: Blocks) -> Iterator[tuple[Form, Blocks, int | None]]:
        """<Z, L'dB T> of each view."""
        for v, (B, U) in enumerate(zip(self.formula.white, self._raised(Z), strict=True)):
            yield B, [U if i == v else np.zeros_like(each) for i, each in enumerate(self._T)], v

    def _raised(self, G: Blocks) -> list[Array]:
        """LG of each view."""
        pairs = zip(self.frames, G, strict=True)
        return [each if L is None else L @ each for L, each in pairs]

    def _lowered(self, G: Blocks) -> list[Array]:
        """L'G of each view."""
        pairs = zip(self.frames, G, strict=True)
        return [each if L is None else L.T @ each for L, each in pairs]

    def _mean(self, dX: Array) -> Array:
        shares = self.formula.shares
        if shares is None:
            shares = self.of_rows.rows.shares
        return dX.mean(axis=0) if shares is None else shares @ dX

    @property
    def _is_spectral(self) -> bool:
        return self.formula.of in ("sizes", "roots")

    @property
    def _signed(self) -> Array:
        problem = self.optimum.problem
        assert isinstance(problem, SpectralTrace)
        return problem.signed

    def _of_spectrum(self, dSM: Array) -> Array:
        return self._spectrum.moved(self.optimum.M, dSM, self.formula.of)

    @cached_property
    def _spectrum(self) -> Spectrum:
        return Spectrum.of(self._signed, self.formula.of)

    def _ridged_at(self, X: Blocks, T: Blocks, v: int, B: Form) -> Array:
        """BT of a view, with the ridge that belongs to B's trace."""
        found, ridge = B.times(X, T)[v], self.formula.ridge
        return found + ridge * B.trace(X) / len(found) * T[v] if ridge else found

    @cached_property
    def _spread(self) -> float:
        """The square of by what the blocks are longer than M."""
        problem, M = self.optimum.problem, self.optimum.M
        return sum(float(np.vdot(Q, Q)) for Q in problem.blocks(M)) / float(np.vdot(M, M))

    def _pulled_of_blocks(self, G: Blocks) -> Array:
        """The derivative in M, of those in the blocks."""
        return self._spread * self.optimum.problem.point(G)

    def _in_coordinates(self, G: Blocks) -> list[Array]:
        """L'G of each view, in the problem's unit."""
        return [each / self.optimum.problem.unit for each in self._lowered(G)]

    @cached_property
    def _T(self) -> list[Array]:
        problem, M = self.optimum.problem, self.optimum.M
        if self.formula.decoder is not None:
            return list(problem.lift(M))
        return [P.T for P in problem.maps(M)]

    @cached_property
    def _times(self) -> list[list[Array]]:
        return self._times_at(self.X, self._T)

    def _times_at(self, X: Blocks, T: Blocks) -> list[list[Array]]:
        """A_pT and the B_jT, these with their ridges."""
        found = [F.times(X, T) for F in (*self.formula.above, *self.formula.over)]
        for v, B in enumerate(self.formula.over):
            found[len(self.formula.above) + v][v] = self._ridged_at(X, T, v, B)
        return found

    @cached_property
    def _diagonal_times(self) -> list[Array]:
        f = self.formula
        if f.diagonal is not None:
            return f.diagonal.times(self.X, self._T)
        return _summed(f.shares_of_diagonal(self._slopes), self._times)

    def _weighed(self, T: Blocks) -> Blocks:
        v = self.formula.weights
        return T if v is None else [each * v for each in T]

    @cached_property
    def _traces(self) -> Array:
        return self._traces_of(self._T, self._times)

    def _traces_of(self, T: Blocks, times: Sequence[Blocks]) -> Array:
        return np.array([inner(self._weighed(T), FT) for FT in times])

    @cached_property
    def _slopes(self) -> Array:
        return self.formula.slopes(self._traces)

    @cached_property
    def _axes(self) -> Array:
        """T'DT."""
        return sym(_product(self._T, self._diagonal_times))

    @cached_property
    def _unit_of_axes(self) -> float:
        """By what the method's own numbers are larger."""
        found = np.diag(self._axes)
        largest = float(np.abs(found).max())
        if not largest > 0:
            return 1.0
        found = found / largest  # whose squares do not overflow
        return float(self.optimum.axes.numbers @ found / (found @ found) / largest)


def _summed(shares: Array, times: Sequence[Blocks]) -> list[Array]:
    """sum_F c_F FT of each view."""
    return added(*([c * FT for FT in each] for c, each in zip(shares, times, strict=True)))


def _product(T: Blocks, DT: Blocks) -> Array:
    """T'DT."""
    return np.asarray(sum(one.T @ other for one, other in zip(T, DT, strict=True)))
