"""Eigenvectors of small symmetric matrices by LAPACK itself: NumPy's checks take twice as long."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dsyevd

# Up to this order.
_SMALL = 32


def eigh(S: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
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
