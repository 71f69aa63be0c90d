"""Objectives of the projected data: f(M) = phi(Y) with Y = XM.

Derivatives of f follow from the derivatives of phi in Y: grad f = X' phi'(Y) and Hess f [V] = X'
phi''(Y)[XV]. A method of projected data defines phi, phi' and phi''.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.problem import LocalOptima, Stated, check_dimension
from ldr.objectives.starts import SCREENED, screened
from ldr.objectives.statistics import mean
from ldr.objectives.view import Compact, View
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import cross_product, product
from ldr.solvers.manifolds import Array, Grassmann, Manifold
from ldr.solvers.problem import Point


class ProjectedPoint(Point):
    """The objective phi at Y = XM. Subclasses cache shared parts of phi's derivatives.

    - X (n, k): some or all rows
    - Y (n, r): the projected rows
    """

    def __init__(self, X: Array, M: Array) -> None:
        self.M = M
        self.X = X
        self.Y = product(X, M)

    @property
    @abstractmethod
    def slope(self) -> Array:
        """Derivative phi'(Y) with respect to Y, of Y's shape."""

    @abstractmethod
    def curvature(self, dY: Array) -> Array:
        """Return the derivative of phi' in Y along dY, phi''(Y)[dY], of Y's shape."""

    @cached_property
    def Y1(self) -> Array:
        """The projected data with a column of ones, [Y, 1]."""
        Y1 = np.ones((len(self.Y), self.Y.shape[1] + 1))
        Y1[:, :-1] = self.Y
        return Y1

    @cached_property
    def gradient(self) -> Array:
        return cross_product(self.X, self.slope)

    def hessian_vector(self, V: Array) -> Array:
        return cross_product(self.X, self.curvature(product(self.X, V)))


class Change:
    """A change dY, and the change of squared distances it causes, dD_ij = left_i'right_j."""

    def __init__(self, Y: Array, dY: Array) -> None:
        one = np.ones((len(Y), 1))
        own = np.einsum("ij,ij->i", Y, dY)[:, None]
        self.dY, self.dY1 = dY, np.hstack([dY, one])
        self.left = 2.0 * np.hstack([own, one, -Y, -dY])
        self.right = np.hstack([one, own, dY, Y])

    def of_squares(self, rows: slice, columns: slice) -> Array:
        """Return the entries of the change dD of distances, for slices of rows and columns."""
        return np.asarray(self.left[rows] @ self.right[columns].T)


class Started(LocalOptima):
    """Base of problems with named starts; the first start is the baseline."""

    heuristics: Mapping[str, Callable[[], Array]]

    def __post_init__(self) -> None:
        """Cache the results of the heuristics."""
        vars(self).update(heuristics={name: cache(f) for name, f in self.heuristics.items()})

    def baseline(self) -> Array | None:
        return next((heuristic() for heuristic in self.heuristics.values()), None)

    def starts(self) -> dict[str, Array]:
        return {name: heuristic() for name, heuristic in self.heuristics.items()}


@dataclass(frozen=True)
class Projected(Started):
    """An objective of Y = XM; subclasses define phi and `at`.

    - X (n, k): the data in the solver's coordinates, centred or whitened
    - heuristics: functions that return initial points, each called once; the first is the baseline
    - screens: True if the best of random points is a start: see `screening`
    - w (n,): weights of the rows
    """

    X: Array
    r: int
    heuristics: Mapping[str, Callable[[], Array]] = field(default_factory=dict, kw_only=True)
    screens: bool = field(default=False, kw_only=True)
    w: Array | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_dimension(self.r, self.X.shape[1])

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        """The Grassmann manifold; overridden if phi is not invariant to rotations of Y."""
        return Grassmann(self.X.shape[1], self.r)

    def starts(self) -> dict[str, Array]:
        found = super().starts()
        rough = self.rough
        return {**found, SCREENED: screened(rough, rough.X, rough.w)} if self.screens else found

    @property
    def rough(self) -> Projected:
        """The problem that evaluates random points: this problem or a cheaper approximation."""
        return self

    @property
    def follows(self) -> bool:
        """True if `rate_at` and `pulled_at` give all derivatives of phi in the rows."""
        return True

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        """Return derivatives of phi and phi' along dX due to kernel widths, with Y fixed."""
        return 0.0, np.zeros_like(point.Y)

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        """Return the derivative in X of <phi'(Y), dY> at fixed Y."""
        return np.zeros_like(self.X)


@dataclass(frozen=True)
class DenseRows:
    """The data as a centred dense matrix, in coordinates of the rows' span.

    - X (n, k): the matrix in these coordinates
    - marks: sample metadata of the rows
    """

    X: Array
    view: View
    marks: Marks | None = None

    @property
    def weights(self) -> Array | None:
        """Weights of the rows; None if every weight is 1."""
        return None if self.marks is None else self.marks.weights

    @classmethod
    def centred(cls, data: Data, objective: Stated) -> DenseRows:
        """Return the centred rows, for n < d in coordinates of the span."""
        samples = data.samples
        if samples.is_sparse:
            raise DataError(f"X is sparse, but {objective.name} needs dense rows: pass X.toarray()")
        compact = Compact.of(samples)
        m = mean(compact.rows)
        X = np.asarray(compact.rows.dense() - m)
        X -= np.average(X, 0, samples.weights)  # centring twice removes rounding errors of the mean
        return cls(X, compact.view(m), samples.marks)


# Optima on a sample of the rows are equal if their relative difference is below this threshold.
SAME = 1e-3
