"""The proximal step on a manifold: a penalty's prox in the tangent space."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from ldr.solvers.manifolds import Array, Euclidean, Manifold, Orthonormal
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.manifolds.support import SymmetricEquations
from ldr.solvers.nonsmooth.penalty import Penalty
from ldr.solvers.records import dataclass

_NEWTON_STEPS = 50
_HALVINGS = 30
_ARMIJO = 1e-4
# The equations M'V + V'M = 0 are solved to this, relative to V; beyond it rounding rules.
_TANGENT = 1e-13
_ROUNDING = 1e-15


@dataclass(frozen=True)
class Step:
    """V minimises <G, V> + |V|^2/(2t) + h(M + V) over tangent vectors V at M.

    Attributes
    ----------
    V : ndarray
    target : ndarray
        M + V, whose zeros are exact.
    multipliers : tuple of ndarray
        The symmetric r x r multiplier of M'V + V'M = 0, of each factor that has this constraint.
    """

    V: Array
    target: Array
    multipliers: tuple[Array, ...]


def proximal_step(
    manifold: Manifold,
    M: Array,
    G: Array,
    penalty: Penalty,
    t: float,
    multipliers: tuple[Array, ...] | None = None,
) -> Step:
    """The step from M for the Euclidean gradient G of the smooth part.

    Parameters
    ----------
    multipliers : tuple of ndarray, optional
        Where the search for them starts, one a constraint.
    """
    constraints = _Constraints(manifold, M, G)
    L = list(constraints.smooth if multipliers is None else multipliers)
    dual = _Dual(constraints, penalty, t, L)
    for _ in range(_NEWTON_STEPS):
        size = float(np.linalg.norm(dual.target - M))
        if dual.error <= _TANGENT * size + _ROUNDING * float(np.linalg.norm(M)):
            break
        direction = dual.newton_direction()
        better = _ascend(dual, direction)
        if better is None:
            break
        dual = better
    return Step(dual.target - M, dual.target, tuple(dual.multipliers))


class _Constraints:
    """The factors of a point that are orthonormal, and the normal vectors of their multipliers."""

    def __init__(self, manifold: Manifold, M: Array, G: Array) -> None:
        self.manifold, self.M, self.G = manifold, M, G
        self.kinds = [isinstance(factor, Orthonormal) for factor in manifold.factors]
        assert all(
            kind or isinstance(factor, Euclidean)
            for kind, factor in zip(self.kinds, manifold.factors, strict=True)
        )

    def parts(self, Z: Array) -> list[Array]:
        """The orthonormal factors of a matrix."""
        parts = zip(self.manifold.split(Z), self.kinds, strict=True)
        return [part for part, kind in parts if kind]

    @property
    def smooth(self) -> list[Array]:
        """The multipliers sym(M'G) of the step without a penalty."""
        return [sym(M.T @ G) for M, G in zip(self.parts(self.M), self.parts(self.G), strict=True)]

    def normal(self, L: list[Array]) -> Array:
        """M L, factor by factor; zero where nothing is constrained."""
        given = iter(L)
        return self.manifold.join(
            [
                M @ next(given) if kind else np.zeros_like(M)
                for M, kind in zip(self.manifold.split(self.M), self.kinds, strict=True)
            ]
        )


class _Dual:
    """The dual function at symmetric multipliers L, concave, its gradient and Jacobian.

    V(L) = prox_th(M - t(G - ML)) - M minimises <G - ML, V> + |V|^2/(2t) + h(M + V); the minimum as
    a function of L has the gradient -sym(M'V(L)) and is greatest where V(L) is tangent. The
    gradient is piecewise smooth: with D the prox's derivative, its Jacobian maps S to
    -t sym(M'(D o (MS))).
    """

    def __init__(
        self, constraints: _Constraints, penalty: Penalty, t: float, L: list[Array]
    ) -> None:
        self.constraints, self.penalty, self.t, self.multipliers = constraints, penalty, t, L
        M = constraints.M
        slope = constraints.G - constraints.normal(L)
        self._shifted = M - t * slope
        self.target = penalty.prox(self._shifted, t)
        V = self.target - M
        self.value = float(np.vdot(slope, V)) + float(np.vdot(V, V)) / (2 * t)
        self.value += penalty.value(self.target)
        pairs = zip(constraints.parts(M), constraints.parts(V), strict=True)
        self.residual = [sym(m.T @ v) for m, v in pairs]

    @property
    def error(self) -> float:
        """|M'V + V'M|/2."""
        return float(np.sqrt(sum(np.vdot(E, E) for E in self.residual)))

    def newton_direction(self) -> list[Array]:
        """The semismooth Newton step for sym(M'V(L)) = 0, regularised as the error falls."""
        parts = self.constraints.parts
        D = parts(self.penalty.prox_derivative(self._shifted, self.t))
        directions = []
        for M, active, E in zip(parts(self.constraints.M), D, self.residual, strict=True):
            equations = SymmetricEquations(M, M, active)
            system, given = equations.matrix, equations.coordinates(-E / self.t)
            system[np.diag_indices_from(system)] += min(1e-3, self.error) * 1e-3 + 1e-14
            _, step, failed = dposv(system, given, overwrite_a=True)
            directions.append(equations.solve(-E / self.t) if failed else equations.symmetric(step))
        return directions

    def moved(self, direction: list[Array], a: float) -> _Dual:
        L = [L + a * S for L, S in zip(self.multipliers, direction, strict=True)]
        return _Dual(self.constraints, self.penalty, self.t, L)


def _ascend(dual: _Dual, direction: list[Array]) -> _Dual | None:
    """The longest halved step that raises the dual value enough, or lowers the error.

    None where neither is possible, which happens at the level of rounding.
    """
    slope = -sum(float(np.vdot(E, S)) for E, S in zip(dual.residual, direction, strict=True))
    for halving in range(_HALVINGS):
        a = 0.5**halving
        trial = dual.moved(direction, a)
        if trial.error <= 0.5 * dual.error:
            return trial
        enough = max(dual.value + _ARMIJO * a * slope, np.nextafter(dual.value, np.inf))
        if trial.value >= enough and trial.error < 10 * dual.error:
            return trial
    return None
