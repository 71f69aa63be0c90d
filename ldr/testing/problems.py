"""Problems with known minima, one a kind of manifold; each is used by every solver's test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.problem import Point, Problem


class FunctionPoint(Point):
    """A point of functions of M; counts how often each is called."""

    def __init__(self, problem: FunctionProblem, M: Array) -> None:
        self.M, self.problem = M, problem

    @property
    def value(self) -> float:
        self.problem.calls["value"] += 1
        return self.problem.f(self.M)

    @property
    def gradient(self) -> Array:
        self.problem.calls["gradient"] += 1
        return self.problem.g(self.M)

    def hessian_vector(self, V: Array) -> Array:
        self.problem.calls["hessian"] += 1
        assert self.problem.h is not None
        return self.problem.h(self.M, V)


class FunctionProblem(Problem):
    """A function f with its gradient g and, where there is one, its Hessian product h."""

    def __init__(
        self,
        manifold: Manifold,
        f: Callable[[Array], float],
        g: Callable[[Array], Array],
        h: Callable[[Array, Array], Array] | None = None,
        minimum: float | None = None,
    ) -> None:
        self.manifold, self.f, self.g, self.h, self.minimum = manifold, f, g, h, minimum
        self.has_hessian = h is not None
        self.calls = {"value": 0, "gradient": 0, "hessian": 0}

    def at(self, M: Array) -> FunctionPoint:
        return FunctionPoint(self, M)


def symmetric(d: int, seed: int = 0, decades: float = 1.0) -> tuple[Array, Array]:
    """A random symmetric matrix with eigenvalues from 1 to 10^decades, and these."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    eigenvalues = np.logspace(0, decades, d)
    return (Q * eigenvalues) @ Q.T, eigenvalues


def rayleigh(
    d: int = 20,
    r: int = 3,
    retraction: str = "polar",
    hessian: bool = True,
    offset: float = 0.0,
    scale: float = 1.0,
) -> FunctionProblem:
    """-tr(M'AM) on Grassmann; the minimum is minus the sum of the top eigenvalues."""
    A, eigenvalues = symmetric(d)
    return FunctionProblem(
        Grassmann(d, r, retraction),
        lambda M: scale * (offset - float(np.vdot(M, A @ M))),
        lambda M: -2 * scale * (A @ M),
        (lambda M, V: -2 * scale * (A @ V)) if hessian else None,
        scale * (offset - eigenvalues[-r:].sum()),
    )


def brockett(d: int = 12, r: int = 3, retraction: str = "polar") -> FunctionProblem:
    """tr(M'AMN) with N = diag(1..r) on Stiefel; bottom eigenvalues against top weights."""
    A, eigenvalues = symmetric(d, seed=1)
    N = np.arange(1.0, r + 1)
    return FunctionProblem(
        Stiefel(d, r, retraction),
        lambda M: float(np.vdot(M * N, A @ M)),
        lambda M: 2 * (A @ M) * N,
        lambda M, V: 2 * (A @ V) * N,
        float(np.sort(eigenvalues)[:r] @ N[::-1]),
    )


def singular_values(da: int = 8, db: int = 6, r: int = 2) -> FunctionProblem:
    """-tr(Ma'CMb) on Stiefel x Stiefel; minus the sum of the top singular values."""
    C = np.random.default_rng(2).standard_normal((da, db))
    manifold = Product(Stiefel(da, r), Stiefel(db, r))

    def f(M: Array) -> float:
        Ma, Mb = manifold.split(M)
        return -float(np.vdot(Ma, C @ Mb))

    def g(M: Array) -> Array:
        Ma, Mb = manifold.split(M)
        return manifold.join([-C @ Mb, -C.T @ Ma])

    minimum = -np.linalg.svd(C, compute_uv=False)[:r].sum()
    return FunctionProblem(manifold, f, g, lambda M, V: g(V), minimum)


def rosenbrock() -> FunctionProblem:
    """Sum of 100 (b - a^2)^2 + (1 - a)^2 over the rows (a, b); the minimum is 0 at ones."""

    def f(M: Array) -> float:
        a, b = M.T
        return float(np.sum(100 * (b - a**2) ** 2 + (1 - a) ** 2)) + 1.0

    def g(M: Array) -> Array:
        a, b = M.T
        return np.stack([-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)], axis=1)

    def h(M: Array, V: Array) -> Array:
        (a, b), (u, v) = M.T, V.T
        return np.stack([(1200 * a**2 - 400 * b + 2) * u - 400 * a * v, 200 * v - 400 * a * u], 1)

    return FunctionProblem(Euclidean(3, 2), f, g, h, 1.0)


PROBLEMS: dict[str, Callable[[], FunctionProblem]] = {
    "rayleigh": rayleigh,
    "rayleigh by qr": lambda: rayleigh(retraction="qr"),
    "rayleigh, scaled by 1e-50": lambda: rayleigh(scale=1e-50),
    "rayleigh, scaled by 1e50": lambda: rayleigh(scale=1e50),
    "brockett": brockett,
    "brockett by qr": lambda: brockett(retraction="qr"),
    "singular values": singular_values,
    "rosenbrock": rosenbrock,
}
