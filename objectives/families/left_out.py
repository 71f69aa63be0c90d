"""How far rounding turns the directions that a matrix leaves out."""

from __future__ import annotations

import numpy as np

from ldr.solvers.linalg.lengths import length
from ldr.solvers.manifolds import Array


def astray(nothing: Array, N: Array, rounding: Array, W: Array) -> Array:
    """S, of W moved by SC, C with rows of length 1 at most, by rounding E of rows G or of B.

    Where GN = 0 and W'G'GW = I, (G + E)(N + D) = 0 has D = -WW'G'EN, and the W orthogonal to N + D
    is W - N(N'N)^{-1}D'W = W + N(N'N)^{-1}N' E'GW W'W. Of sums E stands in the place of E'G.

    Parameters
    ----------
    nothing, N : ndarray (k, p), (d, p)
        The directions, in the coordinates of W and in the user's columns.
    rounding : ndarray (d,)
        Lengths of the rows of E'GW at most.
    W : ndarray (d, m)
        In the user's columns.
    """
    lengths = np.linalg.norm(N, axis=0)
    if not lengths.size:
        return nothing
    onto = np.linalg.pinv(N / lengths) * (rounding * length(W.T @ W))
    return (nothing / lengths) @ onto
