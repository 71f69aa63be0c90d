"""Steihaug's truncated conjugate gradients: the inner iteration of the trust region."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Preconditioner
from ldr.solvers.records import dataclass
from ldr.solvers.riemannian import RiemannianPoint

_FIRST_RADIUS = 4.0  # in Cauchy steps
# Numbers on the way of an inner iteration beyond which none is kept.
_ROOM_NUMBERS = 2**24


class Leg(NamedTuple):
    """One leg of the path of the inner iteration: from V along `direction`.

    `residual` is g + H[V], and HD is H[direction].

    VV, VD and DD are <V, V>, <V, direction> and <direction, direction> in the region's metric.
    """

    V: Array
    residual: Array
    direction: Array
    HD: Array
    VV: float
    VD: float
    DD: float

    def to_boundary(self, radius: float) -> tuple[Array, Array]:
        """V and g + H[V] where the leg leaves the region."""
        room = max(0.0, radius * radius - self.VV)
        root = math.sqrt(self.VD * self.VD + self.DD * room)
        tau = (root - self.VD) / self.DD if self.DD else 0.0
        return self.V + tau * self.direction, self.residual + tau * self.HD


@dataclass(frozen=True)
class Model:
    """What the inner iteration found: the step V, its length, the way there and its cost.

    `residual` is the model's gradient at V, g + H[V]; the way is empty where it was too long.
    """

    V: Array
    residual: Array
    length: float
    radius: float
    at_boundary: bool
    path: tuple[Leg, ...]
    products: int


def truncated_cg(
    manifold: Manifold,
    point: RiemannianPoint,
    radius: float | None,
    preconditioner: Preconditioner | None,
    target: float,
    most: float = math.inf,
) -> Model:
    """Minimise the model m(V) = f + <g, V> + <V, H[V]>/2 within a radius.

    Parameters
    ----------
    manifold : Manifold
    point : RiemannianPoint
    radius : float or None
        In the metric of the preconditioner's inverse; None where it is to be chosen.
    preconditioner : Preconditioner or None
    target : float
        Norm of the residual g + H[V] at which the model counts as minimised.
    most : float
        Hessian products.
    """
    inner, M = manifold.inner, point.M
    V = np.zeros(M.shape)
    residual = point.gradient
    z = _apply(preconditioner, M, residual)
    rz = inner(M, residual, z)
    direction = -z
    VV, VD, DD = 0.0, 0.0, rz
    path, products, kept = list[Leg](), 0, _ROOM_NUMBERS // (4 * M.size)
    for products in range(1, 1 + int(min(most, max(manifold.dimension, 1)))):
        if products > kept:
            path.clear()
        HD = point.hessian(direction)
        path.append(Leg(V, residual, direction, HD, VV, VD, DD))
        curvature = inner(M, direction, HD)
        alpha = rz / curvature if curvature > 0 else math.inf
        if radius is None:
            radius = _first_radius(manifold, M, preconditioner, alpha, rz)
        VV_next = VV + 2 * alpha * VD + alpha * alpha * DD
        if curvature <= 0 or VV_next >= radius * radius:
            V, residual = path[-1].to_boundary(radius)
            whole = tuple(path) if products <= kept else ()
            return Model(V, residual, radius, radius, True, whole, products)
        V = V + alpha * direction
        residual = residual + alpha * HD
        VV = VV_next
        rr = inner(M, residual, residual)
        if math.sqrt(rr) <= target:
            break
        z = _apply(preconditioner, M, residual)
        rz, previous = rr if z is residual else inner(M, residual, z), rz
        if not rz > 0:  # rounding has the last word
            break
        beta = rz / previous
        direction = beta * direction - z
        VD, DD = beta * (VD + alpha * DD), rz + beta * beta * DD
    assert radius is not None
    whole = tuple(path) if products <= kept else ()
    return Model(V, residual, math.sqrt(max(VV, 0.0)), radius, False, whole, products)


def shortened(path: Sequence[Leg], radius: float) -> Model:
    """The model minimised within a smaller radius, on the path taken at a larger one."""
    inside = [leg for leg in path if leg.VV <= radius * radius]
    V, residual = inside[-1].to_boundary(radius)
    return Model(V, residual, radius, radius, True, tuple(inside), 0)


def _apply(preconditioner: Preconditioner | None, M: Array, U: Array) -> Array:
    return U if preconditioner is None else preconditioner(M, U)


def _first_radius(
    manifold: Manifold, M: Array, preconditioner: Preconditioner | None, alpha: float, rz: float
) -> float:
    """Some Cauchy steps of the first model; alpha is infinite for negative curvature."""
    largest = math.inf if preconditioner else manifold.diameter
    if math.isfinite(alpha):
        return min(largest, _FIRST_RADIUS * alpha * math.sqrt(rz))
    if math.isfinite(largest):
        return largest
    if preconditioner:
        return _FIRST_RADIUS * math.sqrt(rz)
    return max(1.0, float(np.linalg.norm(M)))
