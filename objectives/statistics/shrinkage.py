"""Shrinkage of covariances by the rule of Ledoit and Wolf, in two passes over the rows.

Of n rows z with columns in units of their standard deviations, S/n is moved to mu I, mu its mean
eigenvalue: (1 - s) S/n + s mu I, with s = min(1, b/d) for d = ||S/n - mu I||^2 and
b = sum_i ||z_i z_i' - S/n||^2 / n^2, which is (sum_i |z_i|^4 / n - ||S/n||^2) / n: one number a row
beside the scatter. In the units of the columns the target is diagonal.

Source: O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance
matrices, Journal of Multivariate Analysis 88 (2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.moments import Moments, Spread, spread
from ldr.objectives.statistics.sums import Codes, dense
from ldr.solvers.errors import ArgumentError

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """What shrinks the scatters of groups of rows, each about its own mean.

    Attributes
    ----------
    coefficients : ndarray (c,)
        s of each group.
    added : ndarray (d, d)
        What is added to the sum of the groups' scatters.
    """

    coefficients: Array
    added: Array


def ledoit_wolf(samples: Samples, codes: Codes | None = None, groups: int = 1) -> Shrinkage:
    """The shrinkage of each group's covariance; all rows are one group without codes.

    Parameters
    ----------
    samples : Samples (n, d)
    codes : ndarray of int (n,), optional
        Group of each row, 0..groups-1, every group occurring.
    groups : int

    Raises
    ------
    ArgumentError
        The rows have weights.
    """
    if samples.weights is not None:
        raise ArgumentError(
            "shrinkage='auto' is of rows that count alike, and there are weights: give ridge="
        )
    beside = () if codes is None else (codes,)
    found = samples.reduce(partial(_spreads, groups=groups), _merged, *beside)
    each = [one.moments for one in found if one is not None]
    units = np.array([_deviations(one) for one in each])
    means = np.array([one.mean for one in each])
    fourth = samples.reduce(partial(_fourth_powers, means=means, units=units), np.add, *beside)
    coefficients, added = np.zeros(groups), np.zeros((samples.d, samples.d))
    for k, (one, unit) in enumerate(zip(each, units, strict=True)):
        coefficients[k], target = _shrunk(one, unit, float(fourth[k]))
        added += coefficients[k] * (np.diag(target) - one.scatter)
    return Shrinkage(coefficients, added)


def _deviations(group: Moments) -> Array:
    """Standard deviations of the columns; 1 where a column is constant to rounding."""
    variances = np.diag(group.covariance)
    rounding = group.n * _EPS * variances + (group.n * group.mean * _EPS) ** 2
    return np.sqrt(np.where(variances <= rounding, 1.0, variances))


def _shrunk(group: Moments, unit: Array, fourth: float) -> tuple[float, Array]:
    """s, and the diagonal of what the scatter is moved to."""
    d, n = len(unit), group.n
    S = group.covariance / unit / unit[:, None]
    mu = float(np.trace(S)) / d
    squares = float(np.vdot(S, S))
    apart = squares - d * mu**2
    error = min((fourth / n - squares) / n, apart)
    s = error / apart if d > 1 and error > 0 else 0.0
    return s, n * mu * unit**2


def _spreads(piece: Samples, codes: Codes | None = None, *, groups: int) -> list[Spread | None]:
    """Mean and scatter of each group's rows in a piece; None of a group that is not there."""
    if codes is None:
        return [spread(piece, None)]
    there = [codes == k for k in range(groups)]
    return [spread(piece.take(rows), None) if rows.any() else None for rows in there]


def _merged(first: Sequence[Spread | None], second: Sequence[Spread | None]) -> list[Spread | None]:
    pairs = zip(first, second, strict=True)
    return [a.merge(b) if a and b else a or b for a, b in pairs]


def _fourth_powers(
    piece: Samples, codes: Codes | None = None, *, means: Array, units: Array
) -> Array:
    """sum_i |z_i|^4 of each group's rows."""
    total = np.zeros(len(means))
    for where, block in piece.blocks():
        of = np.zeros(block.shape[0], dtype=np.intp) if codes is None else codes[where]
        Z = (dense(block) - means[of]) / units[of]
        total += np.bincount(of, np.sum(Z * Z, axis=1) ** 2, minlength=len(means))
    return total
