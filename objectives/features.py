"""Feature maps: functions of a row put before a linear objective.

A feature map is fitted on the training rows and then takes any rows; the objective after it is
linear in the features, so that `transform` works on new rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.samples import Samples
from ldr.objectives.statistics import mean
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array

# Numbers up to this size, or its inverse, have squares and products of squares.
_IN_RANGE = 2.0**100


class Features(ABC):
    """A map of rows to rows of features."""

    @abstractmethod
    def __call__(self, samples: Samples) -> Samples:
        """Features of the rows, n x k."""


@dataclass(frozen=True)
class Composed(Features):
    """First one map, then another on its features."""

    first: Features
    second: Features

    def __call__(self, samples: Samples) -> Samples:
        return self.second(self.first(samples))


@dataclass(frozen=True)
class Quadratic(Features):
    """Degree-2 expansion: the d columns less their mean, and their d(d + 1)/2 products.

    The mean is that of the training rows: products of centred columns are far less collinear with
    the columns themselves.

    Attributes
    ----------
    mean : ndarray (d,)
    unit : float
        That the products are divided by, a power of two.
    """

    mean: Array
    unit: float = 1.0

    @classmethod
    def of(cls, samples: Samples, *, free: bool) -> Quadratic:
        """Of training rows; products whose unit is free have that of the columns, far from 1."""
        centre = mean(samples)
        size = power_of_two(samples.dense() - centre) if free else 1.0
        return cls(centre, 1.0 if 1.0 / _IN_RANGE <= size <= _IN_RANGE else size)

    def __call__(self, samples: Samples) -> Samples:
        if samples.d != len(self.mean):
            raise DataError(
                f"{samples.name} has {samples.d} columns, expected {len(self.mean)}, as in the "
                "data solved for"
            )
        Z = samples.dense() - self.mean
        i, j = np.triu_indices(samples.d)
        with np.errstate(over="ignore"):
            products = np.hstack([Z, Z[:, i] / self.unit * Z[:, j]])
        if not np.isfinite(products).all():
            raise DataError(
                f"{samples.name} has entries whose products are no numbers, as large as "
                f"{np.abs(Z).max():.1e}: divide it by a number"
            )
        return Samples(products, None, samples.name, marks=samples.marks)


@dataclass(frozen=True)
class HalfSquaredDistances(Features):
    """-1/2 of the squares: distances become inner products, but for the centring."""

    def __call__(self, samples: Samples) -> Samples:
        return Samples(-0.5 * samples.dense() ** 2, samples.feature_names, samples.name)


@dataclass(frozen=True)
class LogCounts(Features):
    """The logarithm of counts, and -m of zeros.

    Attributes
    ----------
    saturation : float
        m.
    """

    saturation: float

    def of(self, X: Array) -> Array:
        return np.log(X, where=X > 0, out=np.full_like(X, -self.saturation))

    def __call__(self, samples: Samples) -> Samples:
        X = np.asarray(samples.dense(), dtype=np.float64)
        return Samples(self.of(X), samples.feature_names, samples.name, marks=samples.marks)


def then(first: Features | None, second: Features | None) -> Features | None:
    """One map after the other; None is the identity."""
    if first is None or second is None:
        return second if first is None else first
    return Composed(first, second)
