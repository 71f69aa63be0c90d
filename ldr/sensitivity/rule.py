"""The implicit function theorem for an optimum of a function of the rows in jax.

The statement of a method computes its value, its maps and further quantities at M from the rows X.
jax derives the mixed derivatives of the value and the derivatives of the maps, in forward and
reverse mode. Statements are closures of module-level functions, which jax compiles once for all
data of a shape. Eigenvectors and solutions of linear systems come from one Newton step
that starts at the given data, which is exact to first order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ldr.objectives.data.accelerator import float64
from ldr.objectives.data.data import UnknownError
from ldr.sensitivity.forms import Closure, Traced
from ldr.sensitivity.optimum import ALIKE, Observed, Optimum, Rate
from ldr.solvers.manifolds import Array

# Function of X, M and parameters that returns the quantities to be differentiated.
Function = Callable[..., Observed]


# XLA's optimisation level 0 shortens compilation by a third; loops over pairs take twice as long.
# Without fusion emitters compilation takes about half the time, and programs run as fast.
_FAST = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
# Number of cached programs; each takes megabytes and up to 100 of a process's 65,530 memory maps.
_KEPT = 24


@cache
def compile_quickly() -> dict[str, Any]:
    """Return options of `jax.jit` for quick compilation; none if jax does not support them."""
    options = {"compiler_options": _FAST}
    try:
        jax.jit(lambda x: x + 1.0, **options)(0.0)
    except Exception:  # jax raises errors of several types for unknown options
        return {}
    return options


def _pair(found: Observed, V: Traced, W: Traced) -> Traced:
    """Return <V', maps> + <W, within>."""
    of_maps = sum(jnp.vdot(each.T, P) for each, P in zip(V, found.P, strict=True))
    return of_maps + jnp.vdot(W, found.within) if found.within.size else of_maps


def _observe(function: Function, X: Traced, M: Traced, numbers: Traced) -> Observed:
    """Return the observed quantities, with `within` in the units of the method's scores."""
    found = function(X, M)
    if not found.within.size or not numbers.size:
        return found
    own = jax.lax.stop_gradient(jnp.diag(found.within))
    own = own / jnp.maximum(abs(own).max(), np.finfo(float).tiny)
    size = abs(jax.lax.stop_gradient(jnp.diag(found.within))).max()
    scale = numbers @ own / jnp.maximum(own @ own, 1.0) / jnp.where(size > 0, size, 1.0)
    return found._replace(within=scale * found.within)


def _gradient(function: Function, X: Traced, M: Traced, unit: Traced, numbers: Traced) -> Traced:
    """Return the gradient in M, and the observed quantities."""

    def value(M: Traced) -> tuple[Traced, Observed]:
        found = _observe(function, X, M, numbers)
        return found.value / unit, found

    return jax.grad(value, has_aux=True)(M)


def rate_of_gradient(function: Function, X: Traced, M: Traced, *given: Traced) -> Traced:
    """Return the gradient and the observed quantities, and their derivatives along dX."""
    *known, dX = given
    return jax.jvp(lambda X: _gradient(function, X, M, *known), (X,), (dX,))


def slope_in_M(
    function: Function, X: Traced, M: Traced, numbers: Traced, V: Traced, W: Traced
) -> Traced:
    """Return the derivative with respect to M of the observed quantities paired with V and W."""
    return jax.grad(lambda M: _pair(_observe(function, X, M, numbers), V, W))(M)


def slope_in_X(function: Function, X: Traced, M: Traced, *given: Traced) -> Traced:
    """Return the derivative in X of the paired observed quantities minus <u, gradient>."""
    *known, V, W, u = given

    def both(X: Traced) -> Traced:
        gradient, found = _gradient(function, X, M, *known)
        return _pair(found, V, W) - jnp.vdot(u, gradient), (gradient, found)

    return jax.grad(both, has_aux=True)(X)


@lru_cache(_KEPT)
def _program(
    step: Callable[..., Any], structure: Any, places: Sequence[int], kinds: Any
) -> Callable[..., Any]:
    """Return a compiled function for one shape of data, so that jax can release old programs."""

    def program(*once: Traced) -> Any:
        return step(*jax.tree.unflatten(structure, [once[place] for place in places]))

    return jax.jit(program, **compile_quickly())


def computed(step: Callable[..., Any], *given: Traced) -> Traced:
    """Compute a step in float64, and return NumPy arrays."""
    leaves, structure = jax.tree.flatten(given)
    # An array that occurs twice is passed once, so that its terms are computed once.
    once = {id(leaf): leaf for leaf in leaves}
    places = tuple(list(once).index(id(leaf)) for leaf in leaves)
    kinds = tuple((np.shape(leaf), np.result_type(leaf)) for leaf in once.values())
    with float64():
        program = _program(step, structure, places, kinds)
        return jax.tree.map(np.array, program(*once.values()))


def alike(one: Array | float, other: Array | float) -> bool:
    """Return True if the statement's values equal the problem's to relative accuracy ALIKE."""
    return bool(np.linalg.norm(np.subtract(one, other)) <= ALIKE * np.linalg.norm(other))


class Moved(Protocol):
    """A term of an objective whose derivatives in the rows are computed without jax."""

    def rate(self, dX: Array) -> tuple[float, Array]:
        """Return the derivatives of the value and the gradient along dX, at fixed M."""

    def crossed(self, U: Array) -> Array:
        """Return the derivative of <U, gradient> with respect to X, at fixed M."""


@dataclass(frozen=True)
class Known:
    """An optimum whose derivative with respect to its rows is known.

    - observed: function of X and M (in the solver's coordinates); its value is in the user's sense
    - X: the rows of each view, and of the background
    - terms: further terms of the objective, with their weights
    """

    optimum: Optimum
    observed: Closure
    X: Sequence[Array]
    terms: Sequence[tuple[float, Moved]] = ()

    def rate(self, dX: Sequence[Array]) -> Rate:
        """Return the derivative along dX of each view, and of the background."""
        at, (gradient, observed) = self._computed(rate_of_gradient, *self._known, list(dX))
        self._check(*at)
        value = float(observed.value)
        for weight, term in self.terms:
            of_value, of_gradient = term.rate(dX[0])
            value += weight * self._known[0] * of_value
            gradient = gradient + weight * of_gradient
        return Rate(gradient, observed._replace(value=value))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        """Return the derivative of <V', maps> with respect to the rows of each view.

        - raises SingularError: scores of components tie.
        """
        V, W = list(V), self.optimum.turned(V)
        u = self.optimum.solve(self._computed(slope_in_M, self._known[1], V, W))
        (first, *others), at = self._computed(slope_in_X, *self._known, V, W, u)
        self._check(*at)
        for weight, term in self.terms:
            first = first - weight * term.crossed(u)
        return [first, *others]

    @cached_property
    def _expected(self) -> Observed:
        return Observed.of(self.optimum.problem, self.optimum.M)

    def _check(self, gradient: Array, found: Observed) -> None:
        """Raise UnknownError if the statement differs from the problem."""
        if not all(map(alike, found.P, self._expected.P)):
            raise UnknownError

    @property
    def _known(self) -> tuple[float, Array]:
        """The unit of the value with the objective's sign, and the scores of the axes."""
        problem = self.optimum.problem
        return problem.objective.sign * problem.unit, self.optimum.axes.numbers

    def _computed(self, step: Callable[..., Any], *numbers: Traced) -> Traced:
        return computed(step, self.observed, list(self.X), self.optimum.M, *numbers)
