"""Problems with known minima, one a kind of manifold; each is used by every solver's test."""

import numpy as np

from ldr.solvers import Euclidean, Grassmann, Point, Problem, Product, Stiefel


class FunctionPoint(Point):
    """A point of functions of M; counts how often each is called."""

    def __init__(self, problem, M):
        self.M, self.problem = M, problem

    @property
    def value(self):
        self.problem.calls["value"] += 1
        return self.problem.f(self.M)

    @property
    def gradient(self):
        self.problem.calls["gradient"] += 1
        return self.problem.g(self.M)

    def hessian_vector(self, V):
        self.problem.calls["hessian"] += 1
        return self.problem.h(self.M, V)


class FunctionProblem(Problem):
    def __init__(self, manifold, f, g, h=None, minimum=None):
        self.manifold, self.f, self.g, self.h, self.minimum = manifold, f, g, h, minimum
        self.has_hessian = h is not None
        self.calls = {"value": 0, "gradient": 0, "hessian": 0}

    def at(self, M):
        return FunctionPoint(self, M)


def symmetric(d, seed=0, decades=1.0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    eigenvalues = np.logspace(0, decades, d)
    return (Q * eigenvalues) @ Q.T, eigenvalues


def rayleigh(d=20, r=3, retraction="polar", hessian=True, offset=0.0, scale=1.0):
    """-tr(M'AM) on Grassmann; the minimum is minus the sum of the top eigenvalues."""
    A, eigenvalues = symmetric(d)
    return FunctionProblem(
        Grassmann(d, r, retraction),
        lambda M: scale * (offset - np.vdot(M, A @ M)),
        lambda M: -2 * scale * (A @ M),
        (lambda M, V: -2 * scale * (A @ V)) if hessian else None,
        scale * (offset - eigenvalues[-r:].sum()),
    )


def brockett(d=12, r=3, retraction="polar"):
    """tr(M'AMN) with N = diag(1..r) on Stiefel; bottom eigenvalues against top weights."""
    A, eigenvalues = symmetric(d, seed=1)
    N = np.arange(1.0, r + 1)
    return FunctionProblem(
        Stiefel(d, r, retraction),
        lambda M: np.vdot(M * N, A @ M),
        lambda M: 2 * (A @ M) * N,
        lambda M, V: 2 * (A @ V) * N,
        float(np.sort(eigenvalues)[:r] @ N[::-1]),
    )


def singular_values(da=8, db=6, r=2):
    """-tr(Ma'CMb) on Stiefel x Stiefel; minus the sum of the top singular values."""
    C = np.random.default_rng(2).standard_normal((da, db))
    manifold = Product(Stiefel(da, r), Stiefel(db, r))

    def f(M):
        Ma, Mb = manifold.split(M)
        return -np.vdot(Ma, C @ Mb)

    def g(M):
        Ma, Mb = manifold.split(M)
        return manifold.join([-C @ Mb, -C.T @ Ma])

    minimum = -np.linalg.svd(C, compute_uv=False)[:r].sum()
    return FunctionProblem(manifold, f, g, lambda M, V: g(V), minimum)


def rosenbrock():
    """Sum of 100 (b - a^2)^2 + (1 - a)^2 over the rows (a, b); the minimum is 0 at ones."""

    def f(M):
        a, b = M.T
        return float(np.sum(100 * (b - a**2) ** 2 + (1 - a) ** 2)) + 1.0

    def g(M):
        a, b = M.T
        return np.stack([-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)], axis=1)

    def h(M, V):
        (a, b), (u, v) = M.T, V.T
        return np.stack([(1200 * a**2 - 400 * b + 2) * u - 400 * a * v, 200 * v - 400 * a * u], 1)

    return FunctionProblem(Euclidean(3, 2), f, g, h, 1.0)


PROBLEMS = {
    "rayleigh": rayleigh,
    "rayleigh by qr": lambda: rayleigh(retraction="qr"),
    "rayleigh, scaled by 1e-50": lambda: rayleigh(scale=1e-50),
    "rayleigh, scaled by 1e50": lambda: rayleigh(scale=1e50),
    "brockett": brockett,
    "brockett by qr": lambda: brockett(retraction="qr"),
    "singular values": singular_values,
    "rosenbrock": rosenbrock,
}
