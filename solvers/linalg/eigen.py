"""Symmetric eigenproblems, single or stacked, and factors of symmetric matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dgejsv, dpotrf, dpstrf, dsyevr

from ldr.solvers.deadline import decomposing, steps
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.rounding import CANCELLED
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym, thin_svd


def length(A: Array) -> float:
    """Return the Frobenius norm, without overflow of squares."""
    return float(scipy.linalg.norm(A.ravel(), check_finite=False))


def power_of_two(A: Array) -> float:
    """Return the power of two next above the largest entry; 1 for a matrix of zeros."""
    return math.ldexp(1.0, math.frexp(float(np.abs(A).max()))[1])


def cholesky(H: Array) -> Array | None:
    """Return the lower Cholesky factor of H, in place; None if H is not positive definite.

    H is in Fortran order.
    """
    with decomposing(len(H)):
        factor, failed = dpotrf(H, lower=1, overwrite_a=1, clean=0)
    return None if failed else np.asarray(factor)


def product(A: Array, B: Array, out: Array | None = None) -> Array:
    """Return AB; the time limit is checked between blocks of A's rows."""
    found = np.empty((len(A), B.shape[1])) if out is None else out
    for rows in in_cache(A, found):
        np.matmul(A[rows], B, out=found[rows])
    return found


def cross_product(A: Array, B: Array) -> Array:
    """Return A'B; the time limit is checked between blocks of rows."""
    found = np.zeros((A.shape[1], B.shape[1]))
    for rows in in_cache(A, B):
        found += A[rows].T @ B[rows]
    return found


def in_cache(A: Array, B: Array) -> Iterator[slice]:
    """Yield blocks of rows of A that fit into the cache, with checks of limits.

    For B of few columns BLAS takes half as long by blocks: 20,000 x 100, `python -m benchmarks`.
    """
    rows = max(2**16 // max(1, A.shape[1]), 16 * B.shape[1])
    return steps(len(A), 2 * A.shape[1] * B.shape[1], rows)


def cholesky_solve(L: Array, B: Array) -> Array:
    """Solve LL'X = B; the time limit is checked between columns of B."""
    X = np.empty_like(B)
    for columns in steps(B.shape[1], 4 * len(L) ** 2):
        X[:, columns] = scipy.linalg.cho_solve((L, True), B[:, columns], check_finite=False)
    return X


def full_factor(K: Array) -> Array:
    """Return L (n x p) with K = LL' to machine precision, by pivoted Cholesky.

    The matrix K is positive semidefinite with diagonal entries 1 or 0; p is its numerical rank.
    """
    L, pivots, rank, _ = dpstrf(K, tol=1e-16 * len(K), lower=1)
    factor = np.empty((len(K), rank))
    factor[pivots - 1] = np.tril(L)[:, :rank]
    return factor


def scaled_factor(S: Array) -> Array:
    """Return F (p x k) with S_ij = (F'F)_ij to rounding errors relative to sqrt(S_ii S_jj).

    The accuracy of F does not depend on the units of columns. Sums of squares of F's entries do not
    cancel, unlike differences of traces.
    """
    scale = np.sqrt(np.maximum(np.diag(S), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return full_factor(S * inverse * inverse[:, None]).T * scale


def defect_of(W: Array, B: Array) -> float:
    """Return ||W'BW - I||, the error of a whitening W of B."""
    return float(np.linalg.norm(W.T @ B @ W - np.eye(W.shape[1])))


_EPS = float(np.finfo(float).eps)


def stacked_roots(S: Array) -> tuple[Array, Array]:
    """Return W with W'SW = I for each positive definite S of a stack, from S with unit diagonal.

    The second result is the smallest eigenvalue of each scaled S, whose trace is k. If this
    eigenvalue is small, W loses accuracy in proportion; if it is not positive, W is unusable.
    """
    diagonal = np.einsum("bii->bi", S)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(S / scale[:, :, None] / scale[:, None, :])
    roots = np.sqrt(np.maximum(values, _EPS))
    return vectors / roots[:, None, :] / scale[:, :, None], values[:, 0]


# Share of eigenvectors below which LAPACK's driver for selected eigenvectors is faster than the
# driver for all. For orders from 64 to 512 the exact threshold varies from 0.1 to 0.25.
_PARTIAL_SHARE = 0.15
# Least order, and least order per wanted eigenvector, for which block Krylov replaces LAPACK.
_MANY, _MANY_PER_VECTOR = 1000, 150
# A matrix is not graded if the largest entries of its rows differ by less than this factor.
_ALIKE = 1e4


def top_eigenvectors(A: Array, r: int) -> tuple[Array, Array]:
    """Return the r largest eigenvalues of the symmetric A, descending, and their eigenvectors.

    For a graded A, small eigenvalues are computed as accurately as in `symmetric_eigen`.
    """
    graded, d = is_graded(A), len(A)
    if r < _PARTIAL_SHARE * d:
        # Calling LAPACK directly avoids the checks of scipy.linalg.eigh, which take as long as a
        # small problem. The transposed array is in Fortran order, which LAPACK requires.
        with decomposing(d):
            values, vectors, found, _, failed = dsyevr(A.T, range="I", il=d - r + 1, iu=d, lower=1)
        if not failed and found == r:  # with ties LAPACK may find fewer than r eigenpairs
            values, vectors = values[:r][::-1], np.ascontiguousarray(vectors[:, :r][:, ::-1])
            enough = CANCELLED * length(A) if graded else 0.0
            if not graded or np.abs(values).min() >= enough:
                return values, vectors
            if large := int(np.sum(values >= enough)):
                first = vectors[:, :large]
                basis = orthogonal_to(first)
                rest, within = top_eigenvectors(sym(basis.T @ (A @ basis)), r - large)
                return np.append(values[:large], rest), np.hstack([first, basis @ within])
    with decomposing(d):
        values, vectors = _deflated_eigen(A) if graded else np.linalg.eigh(A)
    return values[::-1][:r], np.ascontiguousarray(vectors[:, ::-1][:, :r])


def few_of_many(A: Array, r: int) -> bool:
    """Return True if block Krylov finds r eigenvectors much faster than a decomposition."""
    return len(A) > max(_MANY, _MANY_PER_VECTOR * r) and not is_graded(A)


def symmetric_eigen(A: Array) -> tuple[Array, Array]:
    """Return all eigenvalues of the symmetric A, descending, and their eigenvectors.

    A matrix A is graded for columns in very different units: A = DSD with D diagonal and S
    well-conditioned. Small eigenvalues of a graded A and their eigenvectors are accurate too.
    """
    return top_eigenvectors(A, len(A))


def is_graded(A: Array) -> bool:
    """Return True if some rows of the symmetric A are far larger than other nonzero rows."""
    entries = A.ravel(order="K")
    length = math.sqrt(np.vdot(entries, entries))  # the norm of A; infinite on overflow
    # Python's floats overflow to infinity without a warning, unlike NumPy's.
    if length <= _ALIKE * float(np.minimum.reduce(np.abs(A.diagonal()))):
        return False
    sizes = np.abs(A).max(axis=0)
    return bool(sizes.max() > _ALIKE * float(sizes[sizes > 0].min(initial=np.inf)))


def _deflated_eigen(A: Array) -> tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors, with small ones recomputed.

    Errors are eps times the largest eigenvalue. The span of the eigenvectors of small eigenvalues
    is accurate to eps: the eigenproblem restricted to this span has errors of order eps^2 only.
    """
    values, vectors = np.linalg.eigh(A)
    small = np.abs(values) < CANCELLED * np.abs(values).max()
    if small.any():
        basis = vectors[:, small]
        values[small], within = _deflated_eigen(sym(basis.T @ (A @ basis)))
        vectors[:, small] = basis @ within
    return values, vectors


def top_singular(A: Array, r: int) -> tuple[Array, Array, Array]:
    """Return U, s, Vt of at least the r largest singular values.

    If r is small relative to the order, the Gram matrix of the shorter side gives the singular
    space, and A restricted to this space gives the values. The detour by the Gram matrix takes a
    fifth of the operations from order 200 on; singular values of similar size keep their accuracy.
    """
    wide = A if len(A) <= len(A.T) else A.T
    if len(wide) >= 200 and r < _PARTIAL_SHARE * len(wide):
        scaled = wide / power_of_two(wide)
        values, within = top_eigenvectors(scaled @ scaled.T, r)
        if values[-1] > 0.1 * values[0]:
            Q, s, Ut = thin_svd(wide.T @ within)
            U = within @ Ut.T
            return (U, s, Q.T) if wide is A else (Q, s, U.T)
    return thin_svd(A)


def graded_svd(F: Array) -> tuple[Array, Array, Array]:
    """Return U, s, Vt with F = U diag(s) Vt.

    The one-sided Jacobi method makes the relative error of each singular value proportional to the
    condition number of F with columns of length 1, whatever the units (Drmac and Veselic 2008).
    """
    m, k = F.shape
    if m > k:
        values, U, V, scales, _, _ = dgejsv(F, joba=2)
        return U[:, :k], values * (scales[0] / scales[1]), V.T
    values, V, U, scales, _, _ = dgejsv(F.T, joba=2, jobv=0)
    return U, values * (scales[0] / scales[1]), V[:, :m].T


def graded_eigen(F: Array) -> tuple[Array, Array]:
    """Return the m nonzero eigenvalues of F'F, descending, and their eigenvectors."""
    _, values, Vt = graded_svd(F)
    return values**2, Vt.T


def graded_qr(A: Array, mode: str = "economic") -> tuple[Array, Array, npt.NDArray[np.intp]]:
    """Return Q, R and pivots with A[:, pivots] = QR, accurate for rows of very different size.

    With sorted rows and pivoted columns, a row's error is relative to the row (Cox, Higham 1998).
    """
    order = np.argsort(-np.abs(A).max(axis=1, initial=0.0), kind="stable")
    Q, R, pivots = scipy.linalg.qr(A[order], mode=mode, pivoting=True, check_finite=False)
    rows = np.empty_like(Q)
    rows[order] = Q
    return rows, R, pivots


def generalised_top_eigenvectors(A: Array, B: Array, r: int) -> tuple[Array, Array]:
    """Return the r largest eigenvalues of A v = lambda B v, B positive definite, v'Bv = 1.

    Both matrices are first scaled such that B has a unit diagonal, so that the accuracy does not
    depend on the columns' units.
    """
    scale = 1.0 / np.sqrt(np.diag(B))
    L = cholesky(np.asfortranarray(B * scale * scale[:, None]))
    if L is None:
        raise SingularError(
            "the matrix B of the eigenproblem Ax = lambda Bx is not positive definite"
        )
    half = dtrsm(1.0, L, A * scale * scale[:, None], lower=1)
    values, vectors = top_eigenvectors(sym(dtrsm(1.0, L, half.T, lower=1)), r)
    return values, scale[:, None] * dtrsm(1.0, L, vectors, lower=1, trans_a=1)


def rank_tolerance(d: int) -> float:
    """Return the share of the largest eigenvalue below which a scatter's eigenvalues are zero.

    Sums of products are accurate to about 1e-14, whatever d: smaller values are rounding errors.
    """
    return (d + 50) * float(np.finfo(float).eps)


def has_full_rank(S: Array, tolerance: float) -> bool:
    """Return True if a Cholesky factor shows that no eigenvalue of S counts as zero.

    The matrix S is positive semidefinite with diagonal entries 1 or 0; its trace bounds the largest
    eigenvalue. Twice the tolerance is required as a margin for rounding: if an eigenvalue is near
    the tolerance, the function returns False, and the eigenvalues must then be computed.
    """
    H = np.array(S.T, order="F")
    diagonal = np.einsum("ii->i", H)  # a writable view of the diagonal of H
    diagonal -= 2.0 * tolerance * len(S)
    return cholesky(H) is not None


def range_basis(S: Array, tolerance: float | None = None) -> Array | None:
    """Return an orthonormal basis of the range of S >= 0; None for full rank.

    The rank is determined for S scaled to a unit diagonal, independent of the columns' units:
    eigenvalues at most `tolerance` (by default `rank_tolerance`) times the largest count as zero.
    """
    tolerance = rank_tolerance(len(S)) if tolerance is None else tolerance
    scaled, scale = unit_diagonal(S)
    if has_full_rank(scaled, tolerance):
        return None
    with decomposing(len(S)):
        values, vectors = scipy.linalg.eigh(scaled, check_finite=False)
    lost = values <= tolerance * max(values[-1], 0.0)
    if not lost.any():
        return None
    return scaled_basis(vectors[:, ~lost], scale, tolerance)


def orthogonal_to(A: Array) -> Array:
    """Return an orthonormal basis of the complement of A's independent columns."""
    return graded_qr(A, "full")[0][:, A.shape[1] :]


def scaled_basis(V: Array, scale: Array, tolerance: float) -> Array:
    """Return an orthonormal basis of the span of V's columns, times `scale` in each row.

    The columns are first combined such that k independent rows are the identity. Coefficients at
    the level of rounding are then set to zero: errors of large rows would exceed small rows.
    """
    chosen = scipy.linalg.qr(V.T, mode="r", pivoting=True)[1][: V.shape[1]]
    reduced = np.linalg.solve(V[chosen].T, V.T).T
    reduced[np.abs(reduced) <= tolerance] = 0.0
    return graded_qr(scale[:, None] * reduced)[0]


def unit_diagonal(S: Array) -> tuple[Array, Array]:
    """Return D^{-1} S D^{-1} and D, the square roots of S's diagonal; 1/0 counts as 0."""
    scale = np.sqrt(np.maximum(S.diagonal(), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return S * inverse * inverse[:, None], scale
