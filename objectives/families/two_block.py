"""Two blocks: correlation of two projected views, on a product of Stiefel manifolds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy

from ldr.objectives.certificate import PROVED_GLOBAL, Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.families.joint_bound import (
    DualBounded,
    Effort,
    MultiBound,
    dual_certificate,
    joint_inverse,
)
from ldr.objectives.families.whitened import add_ridge, ridge_amount
from ldr.objectives.prediction import PairedViews
from ldr.objectives.problem import Rest, Stated, check_dimension
from ldr.objectives.starts import random_directions
from ldr.objectives.statistics import joint_moments
from ldr.objectives.statistics.covariance import KnownScatter, Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Compact, Range
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.bounds import rounding_of_correlations
from ldr.solvers.linalg.eigen import rank_tolerance, top_eigenvectors, unit_diagonal
from ldr.solvers.manifolds import Array, Product, Stiefel, polar_factor
from ldr.solvers.manifolds.orthonormal import qr_factor, thin_svd
from ldr.solvers.problem import Point, Preconditioner

# Two coordinates of a view with this correlation say nearly the same.
_ALIKE = 0.95


class TwoBlockPoint(Point):
    """f = -N / s, N = tr(Ma'CabMb), s = sqrt(alpha beta), alpha = tr(Ma'CaaMa), beta likewise.

    The two blocks are stacked, [Ma; Mb], which is how the flat point lies in memory. Gradient
    [-CabMb/s + (rho/alpha) CaaMa; -CbaMa/s + (rho/beta) CbbMb] with rho = -f; its derivative takes
    one product with the stacked matrix [[(rho/alpha) Caa, -Cab/s], [-Cba/s, (rho/beta) Cbb]].
    """

    def __init__(self, problem: TwoBlock, M: Array) -> None:
        self.M = M
        self._problem = problem
        stacked = M.reshape(-1, problem.r)
        da = problem.da
        Ma, Mb = stacked[:da], stacked[da:]
        Caa, Cbb = problem.inside
        own = Caa @ Ma, Cbb @ Mb
        self._own = np.concatenate(own)
        G = np.concatenate([problem.Cab @ Mb, problem.Cab.T @ Ma])
        out_a, out_b = problem.left_out
        self._alpha = float(np.vdot(Ma, self._own[:da])) + out_a
        self._beta = float(np.vdot(Mb, self._own[da:])) + out_b
        self.scale = math.sqrt(self._alpha) * math.sqrt(self._beta)
        self._rho = float(np.vdot(Ma, G[:da])) / self.scale
        G *= -1.0 / self.scale
        G[:da] += (self._rho / self._alpha) * self._own[:da]
        G[da:] += (self._rho / self._beta) * self._own[da:]
        self._stacked_gradient = G

    @property
    def value(self) -> float:
        return -self._rho

    @property
    def scaled(self) -> Array:
        """Ma/sqrt(alpha) and Mb/sqrt(beta) below one another."""
        N = self.M.reshape(-1, self._problem.r).copy()
        N[: self._problem.da] /= math.sqrt(self._alpha)
        N[self._problem.da :] /= math.sqrt(self._beta)
        return N

    @property
    def gradient(self) -> Array:
        return self._stacked_gradient.reshape(-1)

    @cached_property
    def stacked_matrix(self) -> Array:
        """K, which the Hessian product multiplies by."""
        Cab, s, rho = self._problem.Cab, self.scale, self._rho
        Caa, Cbb = self._problem.inside
        return np.block(
            [[(rho / self._alpha) * Caa, Cab / -s], [Cab.T / -s, (rho / self._beta) * Cbb]]
        )

    def hessian_vector(self, V: Array) -> Array:
        da = self._problem.da
        V = V.reshape(-1, self._problem.r)
        dalpha = 2.0 * float(np.vdot(self._own[:da], V[:da])) / self._alpha  # relative
        dbeta = 2.0 * float(np.vdot(self._own[da:], V[da:])) / self._beta
        ds, half = 0.5 * (dalpha + dbeta), 0.5 * self._rho * (dbeta - dalpha)
        drho = -float(np.vdot(self._stacked_gradient, V))
        HV = self.stacked_matrix @ V
        HV -= ds * self._stacked_gradient
        HV[:da] += ((drho + half) / self._alpha) * self._own[:da]
        HV[da:] += ((drho - half) / self._beta) * self._own[da:]
        return HV.reshape(-1)


@dataclass(frozen=True)
class TwoBlock(DualBounded):
    """Maximise tr(Ma'CabMb) / sqrt(tr(Ma'CaaMa) tr(Mb'CbbMb)) on St x St.

    - sums: what the rounding of the covariances is relative to, which may be more than their
      diagonals, of both views side by side: c_i^2
    - orthonormalise in {"polar", "qr"}: how the heuristic makes the canonical directions
      orthonormal
    - only_constant: whether the coordinates leave out constant columns alone, in which nothing
      varies, and not directions of which sums cannot tell
    - ridges: what was added to the diagonals of Caa and Cbb, and is in what the coordinates leave
      out
    - ends: ma and Mb of the user's that a search in more columns led to from the heuristic
    """

    exchangeable = True

    Caa: Array
    Cab: Array
    Cbb: Array
    r: int
    sums: Array
    orthonormalise: str = "polar"
    only_constant: bool = True
    ridges: tuple[float, float] = (0.0, 0.0)
    ends: tuple[Array, Array] | None = field(default=None, kw_only=True)
    _size: float = field(default=1.0, init=False)  # the solver's Cab is the objective's times it

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.Cab.shape))
        # Powers of two, so that nothing is rounded: f does not depend on the units of the views.
        a, b = (-(math.frexp(float(np.trace(C)))[1] // 2) for C in (self.Caa, self.Cbb))
        vars(self).update(
            _size=math.ldexp(1.0, a + b),
            Caa=np.ldexp(self.Caa, 2 * a),
            Cab=np.ldexp(self.Cab, a + b),
            Cbb=np.ldexp(self.Cbb, 2 * b),
            sums=np.ldexp(self.sums, 2 * np.repeat([a, b], self.Cab.shape)),
            ridges=(math.ldexp(self.ridges[0], 2 * a), math.ldexp(self.ridges[1], 2 * b)),
        )

    @property
    def inside(self) -> tuple[Array, Array]:
        """Caa and Cbb, without the ridges where M may leave these coordinates."""
        if not (self.is_part and any(self.ridges)):
            return self.Caa, self.Cbb
        a, b = (
            C - ridge * np.eye(len(C))
            for C, ridge in zip((self.Caa, self.Cbb), self.ridges, strict=True)
        )
        return a, b

    @property
    def left_out(self) -> tuple[float, float]:
        """The ridges of all of M, where they are not in `inside`."""
        a, b = self.ridges
        return (a * self.r, b * self.r) if self.is_part else (0.0, 0.0)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        return Product(Stiefel(self.da, self.r), Stiefel(len(self.Cbb), self.r))

    @property
    def da(self) -> int:
        """Coordinates of the first view."""
        return len(self.Caa)

    @property
    def baseline_exact(self) -> bool:
        return self.r == 1

    @property
    def order(self) -> int:
        return sum(self.Cab.shape)

    def at(self, M: Array) -> TwoBlockPoint:
        return TwoBlockPoint(self, M)

    def preconditioner(self, M: Array) -> Preconditioner:
        apply = joint_inverse(self.at(M).stacked_matrix, *self.blocks(M))
        project = self.manifold.project
        return lambda N, U: project(N, apply(U.reshape(-1, self.r)).reshape(-1))

    @cached_property
    def _canonical(self) -> tuple[Array, Array, Array]:
        """Canonical directions of the views (as columns) and the canonical correlations."""
        Wa, Wb = _inverse_factor(self.Caa), _inverse_factor(self.Cbb)
        U, correlations, Vt = thin_svd(Wa.T @ self.Cab @ Wb)
        return Wa @ U[:, : self.r], Wb @ Vt[: self.r].T, np.minimum(correlations, 1.0)

    def hidden(self, M: Array) -> float:
        """Of lost directions that M may enter too: they may covary as the root of their share."""
        point, views = self.at(M), [slice(0, self.da), slice(self.da, None)]
        N = point.scaled
        found = rounding_of_correlations(N, self.sums, views, np.full(2, point.value))
        if not self.is_part or self.only_constant:
            return found
        sizes = [float(np.sum(self.sums[v])) * float(np.vdot(N[v], N[v])) for v in views]
        return found + math.sqrt(rank_tolerance(self.order) / self.r) * sum(map(math.sqrt, sizes))

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """The singular vectors of Ma'Cab Mb, whose trace they make as large as it can be."""
        Ma, Mb = self.blocks(M)
        return Axes.singular(Ma.T @ self.Cab @ Mb)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """What each pair adds to the value, and its correlation."""
        found = {"contribution": axes.numbers / self.at(M).scale}
        return {"correlation": pair_correlations(axes.numbers / self._size, seen), **found}

    def baseline(self) -> Array:
        orthonormal = polar_factor if self.orthonormalise == "polar" else qr_factor
        Pa, Pb, _ = self._canonical
        return self.point([orthonormal(Pa), orthonormal(Pb)])

    def closed_form(self) -> Array | None:
        return self.baseline() if self.baseline_exact else None

    def approach(self, M: Array) -> Array:
        """Of the heuristic, where it led in all columns: optima of a part of them may be others."""
        if self.ends is None or not np.array_equal(M, self.baseline()):
            return M
        return self.lower(list(self.ends))

    def starts(self) -> dict[str, Array]:
        U, _, Vt = thin_svd(self.Cab)
        own = [top_eigenvectors(C, self.r)[1] for C in (self.Caa, self.Cbb)]
        return {
            "singular vectors": self.point([U[:, : self.r], Vt[: self.r].T]),
            "pca of each view": self.point(list(map(polar_factor, own))),
            **random_directions(self),
        }

    def certified(self, M: Array, effort: Effort | None) -> Certificate:
        """The least proven bound on every value: see `joint_bound`.

        Made of the multipliers at a stationary M it is tight where their block matrix is positive
        semidefinite; elsewhere it is minimised. A pair of directions in which nothing varies costs
        the correlation nothing: where the coordinates leave some out, what is proved holds over all
        columns only of M that reach the largest canonical correlation.
        """
        found = self._within(M, effort)
        largest = float(self._canonical[2][0])
        reached = largest + self.at(M).value <= PROVED_GLOBAL
        if self.span is None or (self.only_constant and reached):
            return found
        return found.restricted_to(self.span)

    def remarks(self, M: Array) -> list[str]:
        """A note where pairs of directions are nearly one and the same."""
        Ma, Mb = self.blocks(M)
        U, _, Vt = np.linalg.svd(Ma.T @ self.Cab @ Mb)
        notes = []
        for which, N, C in (("first", Ma @ U, self.Caa), ("second", Mb @ Vt.T, self.Cbb)):
            found = unit_diagonal(N.T @ C @ N)[0]
            largest = float(np.abs(np.triu(found, 1)).max())
            if largest > _ALIKE:
                notes.append(
                    f"two coordinates of the {which} view are correlated by {largest:.3f}: they "
                    "say the same, orthogonal as their directions are; classical-cca's are "
                    "uncorrelated"
                )
        return notes

    def _within(self, M: Array, effort: Effort | None) -> Certificate:
        """What is proved of all M in these coordinates."""
        rho, blocks = -self.at(M).value, self.blocks(M)
        A = np.block([[np.zeros_like(self.Caa), self.Cab], [self.Cab.T, np.zeros_like(self.Cbb)]])
        bound = MultiBound(A, [self.Caa, self.Cbb]).of(blocks, rho, effort)
        gap = max(0.0, bound - rho) + 4 * self.order * float(np.finfo(float).eps) * abs(rho)
        gap += self.hidden(M)
        return dual_certificate(gap, PROVED_GLOBAL * abs(rho))


def pair_correlations(covariances: Array, seen: Sequence[Variation | None]) -> Array:
    """Of pairs of coordinates, from their covariances; not a number of those that do not vary."""
    a, b = (np.full(len(covariances), np.nan) if one is None else one.variances for one in seen)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(covariances / np.sqrt(a) / np.sqrt(b))


def two_block(
    objective: Stated,
    a: Compact,
    b: Compact,
    r: int,
    *,
    ridges: tuple[float, float],
    shrunk: JointShrinkage | None,
    orthonormalise: str,
    rest: Rest | None = None,
    ends: tuple[Array, Array] | None = None,
) -> TwoBlock:
    """The correlation of two views, each on the range of its covariance; ridges in their units."""
    stats = joint_moments(a.rows, b.rows)
    n = stats.n
    of_a = a.view(stats.mean_a, KnownScatter(stats.scatter_aa, n))
    of_b = b.view(stats.mean_b, KnownScatter(stats.scatter_bb, n))
    if shrunk is not None:
        added_a, added_b = (n * added for added in shrunk.added)
        stats = replace(
            stats, scatter_aa=stats.scatter_aa + added_a, scatter_bb=stats.scatter_bb + added_b
        )
    in_a = Range.of(stats.scatter_aa, a.coordinates, "the covariance of the first view")
    in_b = Range.of(stats.scatter_bb, b.coordinates, "the covariance of the second view")
    squares = in_a(stats.scatter_aa / n), in_b(stats.scatter_bb / n)
    Caa, ridged_a = add_ridge(squares[0], ridges[0], "Caa")
    Cbb, ridged_b = add_ridge(squares[1], ridges[1], "Cbb")
    Cab = np.ascontiguousarray(in_b.rows(in_a.rows(stats.scatter_ab / n).T).T)
    if not any(ridges) and shrunk is None and len(Caa) + len(Cbb) > n - 1:
        ridged_b.append(
            f"{n} rows are too few for {len(Caa)} + {len(Cbb)} columns: canonical correlations "
            "of 1 are certain whatever the data; give ridge= a positive value"
        )
    ranges = (in_a, stats.scatter_aa), (in_b, stats.scatter_bb)
    only_constant = all(kept.rank == np.count_nonzero(np.diag(total)) for kept, total in ranges)
    return TwoBlock(
        objective,
        (of_a.within(in_a).noting(*ridged_a), of_b.within(in_b).noting(*ridged_b)),
        Caa,
        Cab,
        Cbb,
        r,
        np.concatenate([kept.squares(np.diag(total) / n) for kept, total in ranges]),
        orthonormalise,
        only_constant,
        (ridge_amount(squares[0], ridges[0]), ridge_amount(squares[1], ridges[1])),
        ends=ends,
        rest=rest,
        answers=PairedViews(stats, (a.coordinates, b.coordinates)),
        chosen=chosen_by(shrunk),
    )


def _inverse_factor(C: Array) -> Array:
    """W with W'CW = I, from the Cholesky factor of C scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(np.diag(C))
    try:
        L = scipy.linalg.cholesky(C * scale * scale[:, None], lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise SingularError(
            "the covariance of a view is singular to rounding: give ridge= a positive value, or "
            "columns in units less far apart"
        ) from None
    inverse = scipy.linalg.solve_triangular(L, np.eye(len(C)), lower=True, check_finite=False)
    return scale[:, None] * inverse.T
