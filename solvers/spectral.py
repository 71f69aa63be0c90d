"""Spectral decompositions: of small matrices by LAPACK itself, as NumPy and SciPy check longer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy
from scipy.linalg.lapack import dgeqrf, dorgqr, dsyevd, dsygvd

Array = npt.NDArray[np.float64]

# Up to this order.
_SMALL = 32


def eigh(S: Array) -> tuple[Array, Array]:
    """What `numpy.linalg.eigh` gives: of the lower triangle, eigenvalues ascending.

    Raises
    ------
    numpy.linalg.LinAlgError
        LAPACK found none.
    """
    if len(S) > _SMALL:
        return np.linalg.eigh(S)
    values, vectors, failed = dsyevd(S, lower=1)
    if failed:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return values, np.ascontiguousarray(vectors)


def eigvalsh(S: Array) -> Array:
    """What `numpy.linalg.eigvalsh` gives.

    Raises
    ------
    numpy.linalg.LinAlgError
        LAPACK found none.
    """
    if len(S) > _SMALL:
        return np.asarray(np.linalg.eigvalsh(S), dtype=np.float64)
    values, _, failed = dsyevd(S, compute_v=0, lower=1)
    if failed:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return values


def generalised_eigh(A: Array, B: Array, vectors: bool = True) -> tuple[Array, Array]:
    """What `scipy.linalg.eigh` gives, unchecked; without vectors the second array says nothing.

    Raises
    ------
    numpy.linalg.LinAlgError
        B is not positive definite.
    """
    values, V, failed = dsygvd(A, B, jobz="V" if vectors else "N", uplo="L")
    if failed:
        raise np.linalg.LinAlgError("B is not positive definite")
    return values, V


def thin_svd(A: Array) -> tuple[Array, Array, Array]:
    """U, s, Vt with A = U diag(s) Vt; by QR steps where divide and conquer does not converge."""
    try:
        return np.linalg.svd(A, full_matrices=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(A, full_matrices=False, lapack_driver="gesvd", check_finite=False)


def orthonormal_basis(V: Array) -> Array:
    """The Q of `numpy.linalg.qr`."""
    if V.shape[1] > _SMALL or len(V) > _SMALL:
        return np.linalg.qr(V)[0]
    reflections, tau, _, _ = dgeqrf(V)
    return np.ascontiguousarray(dorgqr(reflections, tau)[0])
