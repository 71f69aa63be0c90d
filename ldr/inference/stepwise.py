"""How many canonical correlations are more than chance: one permuted product for all steps."""

from __future__ import annotations

import numpy as np

from ldr.inference.chunks import Orders
from ldr.inference.nulls import Null
from ldr.objectives.objective import Objective
from ldr.objectives.sir import SIR
from ldr.objectives.starts.responses import sliced
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array

# Nulls in which y has nothing to do with the rows.
_OF_Y = ("response", "groups")
_EPS = float(np.finfo(float).eps)


def canonical_bases(A: Array, B: Array) -> tuple[Array, Array, Array]:
    """The canonical correlations of centred A and B, and the canonical variables U and V.

    U (n x ka) and V (n x kb) are complete orthonormal bases of both spans, aligned in pairs.
    """
    Qa, Qb = (_orthonormal(X - X.mean(axis=0)) for X in (A, B))
    L, d, Rt = np.linalg.svd(Qa.T @ Qb)
    return np.minimum(d, 1.0), Qa @ L, Qb @ Rt.T


def _orthonormal(X: Array) -> Array:
    sizes = np.linalg.norm(X, axis=0)
    Q, R = np.linalg.qr(X[:, sizes > 0] / sizes[sizes > 0])
    if Q.shape[1] == 0 or np.abs(np.diag(R)).min() <= rank_tolerance(Q.shape[1]):
        raise SingularError(
            "the columns of a view are linearly dependent: there are no canonical correlations to "
            "test one after another; leave out columns that others add up to"
        )
    return np.asarray(Q)


def class_members(codes: Orders) -> Array:
    """Indicators of all classes but the last: lda, and sir of slices, is cca with them."""
    return np.asarray(codes[:, None] == np.arange(codes.max()), dtype=np.float64)


def statistics(d: Array) -> Array:
    """-sum_{j>=k} log(1 - d_j^2) of every k."""
    logarithms = -np.log1p(-(np.minimum(d, 1.0 - _EPS) ** 2))
    return np.cumsum(logarithms[..., ::-1], axis=-1)[..., ::-1]


def exceedances(U: Array, V: Array, d: Array, orders: Orders) -> Orders:
    """Of each step, how many permutations reach the statistic of what the steps before left.

    The first k pairs are taken out of both: G = U[pi]'V without its first k rows and columns. Those
    of the smaller space that are explained already do not come back, which the naive test, of the
    k-th permuted correlation, forgets.

    Source: Winkler, Renaud, Smith and Nichols 2020.
    """
    reached = statistics(d)
    counts = np.zeros(len(d), dtype=np.intp)
    G = U[orders].transpose(0, 2, 1) @ V
    for k in range(len(d)):
        values = np.asarray(np.linalg.svd(G[:, k:, k:], compute_uv=False), dtype=np.float64)
        counts[k] = np.sum(statistics(values)[:, 0] >= reached[k] * (1.0 - 1e-12))
    return counts


def pairs_of(objective: Objective, null: Null) -> tuple[Array, Array] | None:
    """The two matrices whose canonical correlations a method's directions are; None if not so."""
    if objective.name in ("cca", "classical-cca") and null.kind == "second view":
        return null.views[0], null.views[1]
    if objective.name in ("lda", "classical-lda") and null.kind in _OF_Y:
        assert null.y is not None
        codes = np.unique(null.y, return_inverse=True)[1]
        return class_members(codes), null.views[0]
    if isinstance(objective, SIR) and null.kind in _OF_Y:
        return class_members(sliced(np.asarray(null.y), null.n, objective.slices)), null.views[0]
    return None
