"""Shrinkage of covariances by the rule of Ledoit and Wolf, in two passes over the rows.

For n rows z with standardised columns, S/n is shrunk towards mu I, where mu is the mean eigenvalue:
(1 - s) S/n + s mu I with the intensity s = min(1, b/d), d = ||S/n - mu I||^2 and b = sum_i ||z_i
z_i' - S/n||^2 / n^2, which is (sum_i |z_i|^4 / n - ||S/n||^2) / n. In the original units of the
columns the target of the shrinkage is a diagonal matrix.

Source: O. Ledoit and M. Wolf, A well-conditioned estimator for large-dimensional covariance
matrices, Journal of Multivariate Analysis 88 (2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ldr.objectives.data.data import Array, Samples
from ldr.objectives.statistics.scatters import Moments, moments, moments_of_parts, view_moments
from ldr.objectives.statistics.sums import Codes, dense
from ldr.solvers.errors import ArgumentError, SingularError

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """Shrinkage of the scatters of groups of rows about the groups' means.

    - coefficients (c,): intensity s of each group
    - units (c, d): standard deviations of the columns in each group
    - added (d, d): matrix added to the sum of the groups' scatters
    """

    coefficients: Array
    units: Array
    added: Array


def ledoit_wolf(
    samples: Samples, codes: Codes | None = None, groups: int = 1, *, about_zero: bool = False
) -> Shrinkage:
    """Return the shrinkage of each group's covariance, by default of a single group.

    - samples (n, d): the rows
    - codes (n,): group of each row, 0..groups-1, every group occurring
    - about_zero: True for second moments instead of covariances
    - raises ArgumentError: The rows have weights.
    """
    _check_alike(samples)
    beside = () if codes is None else (codes,)
    parts = [] if codes is None else [codes == k for k in range(groups)]
    each = moments_of_parts(samples, parts) if parts else [moments(samples)]
    if about_zero:
        each = [_about_zero(one) for one in each]
    units = np.array([_deviations(one) for one in each])
    means = np.array([one.mean for one in each])
    fourth = samples.reduce(partial(_fourth_powers, means=means, units=units), np.add, *beside)
    coefficients, added = np.zeros(groups), np.zeros((samples.d, samples.d))
    for k, (one, unit) in enumerate(zip(each, units, strict=True)):
        coefficients[k] = _share(one, unit, float(fourth[k]))
        added += coefficients[k] * (target(one.scatter, unit) - one.scatter)
    return Shrinkage(coefficients, units, added)


@dataclass(frozen=True, eq=False)
class JointShrinkage:
    """Shrinkage of the joint covariance of several views.

    With a common intensity s for all blocks the joint covariance is positive semidefinite, so that
    correlations do not exceed 1. The target of the shrinkage is diagonal. The shrunk covariance is
    divided by 1 - s, which leaves covariances between views unchanged.

    - share: intensity s < 1
    - added (d_i, d_i): s/(1 - s) times the target, added to the covariance of each view
    """

    share: float
    added: list[Array]

    @classmethod
    def of(cls, share: float, variances: Sequence[Array]) -> JointShrinkage:
        """Return the shrinkage with intensity `share` towards the columns' variances."""
        if share == 1.0:
            raise SingularError(
                "the correlations of the columns are no larger than those of noise: "
                "shrinkage='auto' makes all covariances zero. Give ridge= instead, use more rows, "
                "or use pls, which divides by no covariance"
            )
        return cls(share, [np.diag(share / (1.0 - share) * each) for each in variances])


def chosen_by(shrunk: JointShrinkage | None) -> dict[str, float]:
    """Return the shrinkage intensity for a result's parameters."""
    return {} if shrunk is None else {"shrinkage": shrunk.share}


def ledoit_wolf_of_views(views: Sequence[Samples]) -> JointShrinkage:
    """Return the shrinkage of the covariance of views of the same rows.

    - raises ArgumentError: The rows have weights.
    - raises SingularError: The intensity is 1.
    """
    first, *others = views
    _check_alike(first)
    joint = view_moments(views)
    found = Moments(joint.n, np.concatenate(joint.means), joint.scatter)
    unit = _deviations(found)
    ends = np.cumsum([view.d for view in views])[:-1]
    where = list(zip(joint.means, np.split(unit, ends), strict=True))
    fourth = first.reduce(partial(_joint_fourth_powers, where=where), np.add, *others)
    s = _share(found, unit, float(fourth))
    return JointShrinkage.of(s, np.split(np.diag(target(found.covariance, unit)), ends))


def target(S: Array, unit: Array) -> Array:
    """Return the target of shrinkage: for standardised columns the mean eigenvalue of S times I."""
    return np.diag(np.mean(np.diag(S) / unit**2) * unit**2)


def _check_alike(samples: Samples) -> None:
    if samples.weights is not None:
        raise ArgumentError("shrinkage='auto' needs samples of equal weight: give ridge= instead")


def _about_zero(group: Moments) -> Moments:
    squares = group.scatter + group.n * np.outer(group.mean, group.mean)
    return Moments(group.n, np.zeros_like(group.mean), squares)


def _deviations(group: Moments) -> Array:
    """Standard deviations of the columns; 1 where a column is constant to rounding."""
    variances = np.diag(group.covariance)
    rounding = group.n * _EPS * variances + (group.n * group.mean * _EPS) ** 2
    return np.sqrt(np.where(variances <= rounding, 1.0, variances))


def _share(group: Moments, unit: Array, fourth: float) -> float:
    """Return the intensity s from sum_i |z_i|^4."""
    d, n = len(unit), group.n
    S = group.covariance / unit / unit[:, None]
    squares = float(np.vdot(S, S))
    apart = squares - float(np.trace(S)) ** 2 / d
    error = min((fourth / n - squares) / n, apart)
    return error / apart if d > 1 and error > 0 else 0.0


def _fourth_powers(
    piece: Samples, codes: Codes | None = None, *, means: Array, units: Array
) -> Array:
    """Return sum_i |z_i|^4 over the standardised rows z_i of each group."""
    of = np.zeros(piece.n, dtype=np.intp) if codes is None else codes
    squares = _squared_lengths(piece, of, means, units)
    return np.asarray(np.bincount(of, squares**2, minlength=len(means)))


def _joint_fourth_powers(*views: Samples, where: Sequence[tuple[Array, Array]]) -> Array:
    """Return sum_i |z_i|^4 over the concatenated standardised rows of the views.

    The argument `where` has the mean and the standard deviations of each view.
    """
    of = np.zeros(views[0].n, dtype=np.intp)
    squares = [
        _squared_lengths(view, of, mean[None], unit[None])
        for view, (mean, unit) in zip(views, where, strict=True)
    ]
    return np.asarray(np.sum(sum(squares) ** 2))


def _squared_lengths(piece: Samples, of: Codes, means: Array, units: Array) -> Array:
    """Return |z_i|^2 of each row, standardised by the mean and the units of its group."""
    squares = np.empty(piece.n)
    for where, block in piece.blocks():
        Z = (dense(block) - means[of[where]]) / units[of[where]]
        squares[where] = np.sum(Z * Z, axis=1)
    return squares
