"""The equations of an optimum in jax, for layers, which jax differentiates to every order.

The equations are G - BT sym(T'G) = 0 for the gradient G of f at T, T'BT = I for each view, and zero
off-diagonal entries of the matrix that canonical coordinates diagonalise, which fix rotations. The
number of these equations equals the number of entries of T. All equations are solved together, in
O((d r)^3) time and O((d r)^2) memory; jax can transpose, compile and batch the solution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.data.data import UnknownError
from ldr.objectives.families.trace_ratio import NestedMethod
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import DataForms, Traced, centred
from ldr.sensitivity.matrices import Statement
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.rounding import EMPTY
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Given:
    """Input of a method: views, or samples and background; labels; parameters."""

    X: Sequence[Traced]
    y: Traced = None
    parameters: Mapping[str, Traced] = field(default_factory=dict)


@dataclass(frozen=True)
class StatedFunction:
    """A user's function of one view in jax with a declared manifold; see `Statement`."""

    objective: CustomObjective
    y: Traced

    def value_and_axes(
        self, X: Sequence[Traced], T: Sequence[Traced]
    ) -> tuple[Traced, Traced | None]:
        own, scores = self.objective, centred(X[0] @ T[0])
        beside = () if self.y is None or not own.needs else (self.y,)
        value = own.sign * own.function(T[0], centred(X[0]) if own.center else X[0], *beside)
        return value, scores.T @ scores / len(scores) if own.manifold == "grassmann" else None

    def squares(self, X: Sequence[Traced], T: Sequence[Traced]) -> Sequence[Traced] | None:
        return None if self.objective.manifold == "euclidean" else T


Stated = Statement | StatedFunction


def statement_of(objective: Objective, given: Given, r: int) -> Stated | None:
    """Return the jax form of a method; None if the method has no such form."""
    if isinstance(objective, CustomObjective):
        stated = objective.in_jax and objective.manifold != "auto"
        return StatedFunction(objective, given.y) if stated else None
    if isinstance(objective, NestedMethod) and objective.nested:
        return None
    own = copy(objective)
    vars(own).update(given.parameters)
    try:
        found = Statement.stated(own, DataForms.traced(given.X, given.y), r)
    except UnknownError:
        return None
    return None if found.of in ("roots", "shared") else found


def equations(
    stated: Stated, T: Sequence[Traced], X: Sequence[Traced], near: Sequence[Traced] | None = None
) -> list[Traced]:
    """Return the equations of the optimum, in canonical coordinates or in the axes of `near`."""
    T = list(T)
    G, N = jax.grad(lambda Z: stated.value_and_axes(X, Z), has_aux=True)(T)
    BT = stated.squares(X, T)
    if BT is None:
        return G
    found = []
    for k, (each, gradient, across) in enumerate(zip(T, G, BT, strict=True)):
        own, S = each.T @ gradient, each.T @ across
        inside = S - jnp.eye(len(S))
        if k == 0 and N is not None:
            turned = jnp.triu(N, 1) if near is None else near[0].T @ across
            inside = inside + turned - turned.T
        else:
            own = (own + own.T) / 2
        found.append(gradient - across @ own + across @ inside)
    return found


def moved(
    objective: Objective,
    T: Sequence[Traced],
    given: Given,
    direction: Given,
    *,
    canonical: bool = True,
) -> tuple[list[Traced], Traced, Traced]:
    """Return the change dT of T along dX and changes of parameters, with or without canonical axes.

    The second and third returned values are the Jacobian of the equations in T, and their residual,
    which is zero at the optimum.
    """
    flat, shaped = ravel_pytree(list(T))
    near, r = None if canonical else list(T), T[0].shape[1]

    def left(t: Traced, X: Sequence[Traced], parameters: dict[str, Traced]) -> Traced:
        stated = statement_of(objective, Given(X, given.y, parameters), r)
        assert stated is not None
        return ravel_pytree(equations(stated, shaped(t), X, near))[0]

    primals = (list(given.X), dict(given.parameters))
    tangents = (list(direction.X), dict(direction.parameters))
    J = jax.jacfwd(left)(flat, *primals)
    rest, change = jax.jvp(lambda *of_data: left(flat, *of_data), primals, tangents)
    return shaped(-jax.numpy.linalg.solve(J, change)), J, rest


def regular(J: Array, left: Array, T: Sequence[Array]) -> bool:
    """Return True if the equations determine the derivative.

    - raises DataError: T does not solve the equations.
    """
    J, eps = np.asarray(J), float(np.finfo(J.dtype).eps)
    size = np.linalg.norm(J) * np.linalg.norm(np.concatenate([np.ravel(each) for each in T]))
    if not np.linalg.norm(left) <= math.sqrt(eps) * size:
        raise DataError(
            "the derivative of the optimum cannot be computed: M is not stationary. Either the "
            "solver stopped early (give more max_iterations), or collinear columns, or too few "
            "rows, restrict M to a subspace: leave out columns of X, or project X on principal "
            "components first"
        )
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    values = np.linalg.svd(J / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    return bool(values[-1] > max(EMPTY, 10 * eps) * values[0])
