"""The implicit function theorem in jax: equations of an optimum T(X), and their derivative.

With the gradient G of f at T and T'BT = I for each view, the equations are G - BT sym(T'G) = 0 off
the axes, T'BT = I, and in place of what turns of the axes leave open, the off-diagonal of the
matrix that canonical coordinates diagonalise. As many as T has entries, they are solved at once,
in O((d r)^3) time and O((d r)^2) memory; jax transposes, compiles and batches that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.data.accelerator import float64
from ldr.sensitivity.formulas import Formula, Given, Traced
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.manifolds import Array

# Singular values of the Jacobian, in rows of length 1, below this are zero.
_SINGULAR = 1e-11
# What equations may leave, relatively: a power of the precision.
_EXACT = 0.4


def equations(formula: Formula, T: Sequence[Traced], given: Given) -> list[Traced]:
    """What vanishes at an optimum in canonical coordinates."""
    import jax
    import jax.numpy as jnp

    T = list(T)
    G = jax.grad(lambda Z: formula.value(Z, given))(T)
    squares = formula.squares(T, given)
    if squares is None:
        return G
    # BT, as half the derivative of tr(T'BT)
    BT = jax.grad(lambda Z: 0.5 * sum(S.trace() for S in formula.squares(Z, given) or ()))(T)
    found = []
    for k, (each, gradient, S, across) in enumerate(zip(T, G, squares, BT, strict=True)):
        own = each.T @ gradient
        inside = S - jnp.eye(len(S))
        if k == 0 and (N := formula.axes(T, given)) is not None:
            inside = inside + jnp.triu(N, 1) - jnp.tril(N, -1)
        else:
            own = (own + own.T) / 2
        found.append(gradient - across @ own + across @ inside)
    return found


def _system(formula: Formula, T: Sequence[Traced], given: Given) -> tuple[Traced, ...]:
    """The entries of T, the way back to T, and the equations as functions of T and of the data."""
    from jax.flatten_util import ravel_pytree

    flat, shaped = ravel_pytree(list(T))

    def of_T(t: Traced) -> Traced:
        return ravel_pytree(equations(formula, shaped(t), given))[0]

    def of_data(X: Sequence[Traced], parameters: dict[str, Traced]) -> Traced:
        return ravel_pytree(equations(formula, list(T), Given(X, given.y, parameters)))[0]

    return flat, shaped, of_T, of_data


def moved(
    formula: Formula, T: Sequence[Traced], given: Given, direction: Given
) -> tuple[list[Traced], Traced, Traced]:
    """dT along a direction of X and the parameters.

    And the Jacobian of the equations in T, with what they leave, which is nothing at the optimum.
    """
    import jax

    flat, shaped, of_T, of_data = _system(formula, T, given)
    J = jax.jacfwd(of_T)(flat)
    primals = (list(given.X), dict(given.parameters))
    tangents = (list(direction.X), dict(direction.parameters))
    left, change = jax.jvp(of_data, primals, tangents)
    return shaped(-jax.numpy.linalg.solve(J, change)), J, left


def pulled(
    formula: Formula, T: Sequence[Array], given: Given, cotangents: Sequence[Array]
) -> list[Array]:
    """The derivative in X of sum <cotangent, T>, in float64."""
    import jax
    from jax.flatten_util import ravel_pytree

    def pull(X: Sequence[Traced], y: Traced, parameters: dict[str, Traced]) -> Traced:
        flat, _, of_T, of_data = _system(formula, T, Given(X, y, parameters))
        J = jax.jacfwd(of_T)(flat)
        left, transposed = jax.vjp(lambda Z: of_data(Z, parameters), X)
        weights = jax.numpy.linalg.solve(J.T, ravel_pytree(list(cotangents))[0])
        return transposed(-weights)[0], J, left

    with float64():
        y = None if given.y is None else np.asarray(given.y)
        found, J, left = jax.jit(pull)(list(given.X), y, dict(given.parameters))
    if not regular(J, left, T):
        raise SingularError("the equations of the optimum are singular: it is not alone")
    return [np.array(each) for each in found]


def regular(J: Array, left: Array, T: Sequence[Array]) -> bool:
    """Whether the equations determine the derivative.

    Raises
    ------
    DataError
        T does not solve them.
    """
    J, eps = np.asarray(J), float(np.finfo(J.dtype).eps)
    size = np.linalg.norm(J) * np.linalg.norm(np.concatenate([np.ravel(each) for each in T]))
    if not np.linalg.norm(left) <= eps**_EXACT * size:
        raise DataError(
            "the optimum does not solve the method's equations in all columns of X, as where they "
            "are collinear or outnumber the rows, and M is restricted to a subspace: leave columns "
            "out, or project on principal components first"
        )
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    values = np.linalg.svd(J / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    return bool(values[-1] > max(_SINGULAR, 10 * eps) * values[0])
