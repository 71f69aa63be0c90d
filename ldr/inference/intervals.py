"""Intervals from bootstrap draws: percentiles, and those that mend bias and skewness."""

from __future__ import annotations

import numpy as np
import scipy

from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array, polar_factor


def aligned(P: Array, reference: Array, scores: Array | None) -> Array:
    """The map turned towards the reference: Q P with the orthogonal Q nearest to it.

    Parameters
    ----------
    P, reference : ndarray (r, d)
    scores : ndarray (n, d), optional
        Centred rows: then it is the projections of these rows that are brought together, as for
        maps whose rows are not orthonormal.
    """
    ours, theirs = P.T, reference.T
    if scores is not None:
        ours, theirs = scores @ ours, scores @ theirs
    # in units near 1, in which squares are numbers
    turn = polar_factor((theirs / power_of_two(theirs)).T @ (ours / power_of_two(ours)))
    return turn @ P


def percentile(draws: Array, level: float) -> tuple[Array, Array]:
    """The middle share `level` of the draws, each entry by itself (Efron 1979)."""
    low, high = np.quantile(draws, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return np.asarray(low), np.asarray(high)


def bias_corrected(
    draws: Array, estimate: Array, without: Array, level: float
) -> tuple[Array, Array]:
    """BCa: the quantiles moved by the draws' bias and by the skewness of the jackknife.

    Source: Efron 1987.

    Parameters
    ----------
    draws : ndarray (b, ...)
    estimate : ndarray (...)
    without : ndarray (g, ...)
        The estimates without each of g groups of rows.
    level : float
    """
    normal = scipy.stats.norm
    below = np.mean(draws < estimate, axis=0) + 0.5 * np.mean(draws == estimate, axis=0)
    count = len(draws)
    bias = normal.ppf(np.clip(below, 0.5 / count, 1.0 - 0.5 / count))
    change = without.mean(axis=0) - without
    squares = np.sum(change**2, axis=0)
    skewness = np.where(squares > 0, squares, 1.0) ** -1.5 * np.sum(change**3, axis=0) / 6.0
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        shifted = bias + normal.ppf(share)
        at = normal.cdf(bias + shifted / (1.0 - skewness * shifted))
        flat = draws.reshape(count, -1)
        found = [np.quantile(x, q) for x, q in zip(flat.T, np.ravel(at), strict=True)]
        ends.append(np.array(found).reshape(np.shape(estimate)))
    return ends[0], ends[1]
