"""Objectives of the projected data: f(M) = phi(Y) with Y = XM.

With Y kept at a point, gradient and Hessian product of any phi come from its own derivatives in Y:
grad f = X' phi'(Y) and Hess f [V] = X' phi''(Y)[XV]. A method writes phi, phi' and phi'' only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.samples import Samples
from ldr.objectives.problem import BoundObjective, Stated, check_dimension
from ldr.objectives.starts.directions import SCREENED, screened
from ldr.objectives.statistics import mean
from ldr.objectives.view import Compact, View
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array, Grassmann, Manifold
from ldr.solvers.problem import Point, once
from ldr.solvers.records import dataclass, field


class ProjectedPoint(Point):
    """phi at Y = XM, X some rows or all. Subclasses cache what phi and its derivatives share.

    Attributes
    ----------
    X : ndarray (n, k)
        The rows.
    Y : ndarray (n, r)
        The projected rows.
    """

    def __init__(self, X: Array, M: Array) -> None:
        self.M = M
        self.X = X
        self.Y = X @ M

    @property
    @abstractmethod
    def slope(self) -> Array:
        """phi'(Y), of Y's shape."""

    @abstractmethod
    def curvature(self, dY: Array) -> Array:
        """phi''(Y)[dY], of Y's shape."""

    @once
    def Y1(self) -> Array:
        """[Y, 1]."""
        Y1 = np.ones((len(self.Y), self.Y.shape[1] + 1))
        Y1[:, :-1] = self.Y
        return Y1

    @property
    def gradient(self) -> Array:
        return self.X.T @ self.slope

    def hessian_vector(self, V: Array) -> Array:
        return self.X.T @ self.curvature(self.X @ V)


class Started(BoundObjective):
    """With points to start from by name, the first of them the baseline."""

    heuristics: Mapping[str, Callable[[], Array]]

    def __post_init__(self) -> None:
        """Each heuristic is called once."""
        vars(self).update(heuristics={name: cache(f) for name, f in self.heuristics.items()})

    def baseline(self) -> Array | None:
        for heuristic in self.heuristics.values():
            return heuristic()
        return None

    def starts(self) -> dict[str, Array]:
        return {name: heuristic() for name, heuristic in self.heuristics.items()}


@dataclass(frozen=True)
class Projected(Started):
    """An objective of Y = XM; subclasses add what phi needs and give `at`.

    Parameters
    ----------
    X : ndarray (n, k)
        The data in the solver's coordinates, centred or whitened.
    heuristics : mapping of str to callables
        Each gives a point to start from and is called once; the first is the baseline.
    screens : bool
        Whether a start found among random points is one of its own: see `screening`.
    w : ndarray (n,) or None
        Weights of the rows.
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
        """Subspaces of the k columns, unless phi tells rotations of Y apart."""
        return Grassmann(self.X.shape[1], self.r)

    def starts(self) -> dict[str, Array]:
        found = super().starts()
        rough = self.rough
        return {**found, SCREENED: screened(rough, rough.X, rough.w)} if self.screens else found

    @property
    def rough(self) -> Projected:
        """What random points are looked at with: a cheaper form, where there is one."""
        return self

    # How phi changes with the rows, for the derivatives of an optimum; none of them has a weight.

    @property
    def follows(self) -> bool:
        """Whether the following is all of it."""
        return True

    def centre_rate(self, dX: Array) -> Array:
        """How what the rows are centred at moves with them; their mean."""
        return dX.mean(axis=0)

    def centre_pulled(self, v: Array) -> Array:
        """The derivative in X of <v, centre>."""
        return np.broadcast_to(v / len(self.X), self.X.shape)

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        """Of phi and of its slope where Y stays: of the numbers in phi that the rows choose."""
        return 0.0, np.zeros_like(point.Y)

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        """The derivative in X of <slope, dY> where Y stays."""
        return np.zeros_like(self.X)


@dataclass(frozen=True)
class DenseRows:
    """The data as a dense matrix with means of zero, in coordinates that lose nothing.

    Attributes
    ----------
    X : ndarray (n, k)
    marks : Marks or None
        Of the rows.
    """

    X: Array
    view: View
    marks: Marks | None = None

    @property
    def weights(self) -> Array | None:
        """Of the rows; None where every row counts once."""
        return None if self.marks is None else self.marks.weights

    @classmethod
    def centred(cls, data: Data, objective: Stated) -> DenseRows:
        """The centred rows; where n < d, in coordinates of their span."""
        samples = data.samples
        if samples.is_sparse:
            raise DataError(
                f"X is sparse; {objective.name} needs dense rows: it works on the projected data"
            )
        compact = Compact.of(samples)
        m = mean(compact.rows)
        X = np.asarray(compact.rows.dense() - m)
        X -= np.average(X, 0, samples.weights)  # what rounding of a large mean left
        return cls(X, compact.view(m), samples.marks)

    @classmethod
    def whitened(cls, data: Data, objective: Stated) -> DenseRows:
        """Rows with X'X = n I, restricted to the range of the covariance C: P = M'C^{-1/2}."""
        from ldr.objectives.families.unwhitened import Unwhitened
        from ldr.objectives.families.whitened import whiten_rows

        rows = cls.centred(data, objective)
        given = Unwhitened(rows.view.coordinates, "the covariance")
        samples = Samples(rows.X, marks=rows.marks)
        whitened = whiten_rows(samples, given)
        X = whitened.change(samples).in_memory().dense() @ whitened.W
        return cls(X, rows.view.within(whitened), rows.marks)
