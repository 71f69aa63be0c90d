"""What an objective becomes when it is bound to data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Columns, Coordinates, Subspace
from ldr.objectives.data.data import Data
from ldr.objectives.data.finite import check_squares
from ldr.objectives.data.samples import Samples
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.features import Features
from ldr.objectives.statistics import RowSpace, WidenedRowSpace, row_space
from ldr.solvers.errors import ArgumentError, SingularError
from ldr.solvers.linalg.eigen import range_basis, rank_tolerance
from ldr.solvers.manifolds import Array, Orthonormal, Product, polar_factor
from ldr.solvers.problem import Problem
from ldr.solvers.solver import Solver


class Stated(Protocol):
    """An `Objective`, as far as its problems look at it."""

    @property
    def name(self) -> str: ...
    @property
    def sense(self) -> str: ...
    @property
    def sign(self) -> float: ...
    @property
    def transposed(self) -> bool: ...
    def bind(self, data: Data, r: int) -> BoundObjective: ...


@dataclass
class BoundObjective(Problem):
    """An objective on data: a Problem in the solver's coordinates, and the way back.

    Families subclass it. Attributes that a method sets:

    Attributes
    ----------
    objective : Stated
        The objective.
    manifold : Manifold
        Of the solver's variable.
    means : tuple of ndarray
        Mean of each view, subtracted before the map.
    coordinates : tuple of Coordinates
        Of each view.
    notes : list of str
        What the user should know: restrictions to a subspace, ridges.
    baseline_exact : bool
        Whether the heuristic is the global optimum.
    features : tuple of Features or None
        The map put before the objective, one a view; empty where there is none.
    unit : float
        Power of two by which the solver's values are smaller than the objective's.
    easier : sequence of Problem
        With fewer local optima: solved roughly, in turn, on the way from every start.
    """

    objective: Stated
    means: tuple[Array, ...]
    coordinates: tuple[Coordinates, ...] = field(kw_only=True)
    notes: Sequence[str] = field(default=(), kw_only=True)
    baseline_exact: bool = field(default=False, kw_only=True)
    relative_improvement: bool = field(default=True, kw_only=True)
    features: tuple[Features | None, ...] = field(default=(), kw_only=True)
    unit: float = field(default=1.0, kw_only=True)
    easier: Sequence[Problem] = field(default=(), kw_only=True)

    @property
    def span(self) -> str | None:
        """The subspace that M cannot leave, in words; None where it can go everywhere."""
        spans = [c.span for c in self.coordinates if c.span is not None]
        return " and ".join(dict.fromkeys(spans)) or None

    def baseline(self) -> Array | None:
        """The heuristic's point; None of objectives that have no heuristic."""
        return None

    def starts(self) -> dict[str, Array]:
        """Points worth starting from, by name; the baseline can be one of them."""
        return {}

    def random_point(self, rng: np.random.Generator) -> Array:
        """A random start of the right scale."""
        return self.manifold.random_point(rng)

    def specialist(self) -> Solver | None:
        """The solver that "auto" takes, where it is not the general choice."""
        return None

    def closed_form(self) -> Array | None:
        """The global optimum where theory gives it, else None."""
        return None

    def certificate(self, M: Array) -> Certificate | None:
        """What theory knows of M; None where it knows nothing."""
        return None

    def reported(self, value: float) -> float:
        """The value in the objective's own sense and units."""
        return self.objective.sign * value * self.unit

    def blocks(self, M: Array) -> list[Array]:
        """The matrices that a point stands for, one a view."""
        if isinstance(self.manifold, Product):
            return self.manifold.split(M)[: len(self.coordinates)]
        return [M]

    def point(self, blocks: Sequence[Array]) -> Array:
        """The point of the matrices, the inverse of `blocks`."""
        return self.manifold.join(blocks) if isinstance(self.manifold, Product) else blocks[0]

    def lift(self, M: Array) -> tuple[Array, ...]:
        """The user's matrices, one a view, orthonormal to the last digit where they must be."""
        factors = self.manifold.factors if isinstance(self.manifold, Product) else (self.manifold,)
        lifted = [c.lift(block) for c, block in zip(self.coordinates, self.blocks(M), strict=True)]
        return tuple(
            polar_factor(M) if isinstance(factor, Orthonormal) else np.array(M)
            for factor, M in zip(factors, lifted, strict=False)
        )

    def maps(self, M: Array) -> tuple[Array, ...]:
        """The linear maps P (r x d), one a view."""
        parts = zip(self.coordinates, self.blocks(M), self.lift(M), strict=True)
        return tuple(c.map(block, lifted) for c, block, lifted in parts)

    def lower(self, matrices: Sequence[Array]) -> Array:
        """The point nearest to the user's matrices."""
        blocks = [c.lower(M) for c, M in zip(self.coordinates, matrices, strict=True)]
        return self.manifold.nearest(self.point(blocks))

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        """Mean of each view, subtracted before the map; of some models it is fitted with M."""
        return self.means

    def parameters(self, M: Array) -> dict[str, Any]:
        """Numbers and small matrices of a model that are fitted along with M."""
        return {}

    def model(self, M: Array) -> FactorModel | None:
        """The fitted model, of likelihoods."""
        return None

    def remarks(self, M: Array) -> list[str]:
        """What the user should know of this M, beside the notes on the problem."""
        return []


@dataclass(frozen=True)
class Compact:
    """The data in at most n columns, and the way back to the d columns of the user.

    Attributes
    ----------
    rows : Samples
        The data; where n < d, their coordinates in the span of the centred rows.
    coordinates : Coordinates
    """

    rows: Samples
    coordinates: Coordinates
    space: RowSpace | None = None

    @classmethod
    def of(cls, samples: Samples, *, room: int = 0) -> Compact:
        """Exact where the optimum lies in the rows' span; never forms d x d for n < d.

        With room for r directions outside, it is also exact where nothing may be better than what
        varies: all directions outside are equal. Rows that come as a stream are taken to
        outnumber the columns.
        """
        check_squares(samples)
        if not samples.n_known or samples.n >= samples.d:
            return cls(samples, Columns())
        if samples.stored:  # few rows: they fit, and are needed more than once
            samples = samples.take(np.arange(samples.n))
        space = WidenedRowSpace.of(row_space(samples), room)
        name = None if isinstance(space, WidenedRowSpace) else "the span of the rows"
        return cls(Samples(space.scores), Subspace(space, name=name), space)

    @classmethod
    def of_columns(cls, samples: Samples) -> Compact:
        """The columns as they are."""
        check_squares(samples)
        return cls(samples, Columns())

    @property
    def notes(self) -> list[str]:
        """What the user should know."""
        if self.coordinates.span is None:
            return []
        return [f"there are fewer rows than columns: M is restricted to {self.coordinates.span}"]

    def mean(self, rows_mean: Array) -> Array:
        """Mean of the user's columns from the mean of `rows`."""
        if self.space is None:
            return rows_mean
        return self.space.mean + self.space.lift(rows_mean[:, None])[:, 0]


@dataclass(frozen=True)
class Range:
    """The range of a positive semidefinite matrix, to which M is restricted where it is not all.

    Attributes
    ----------
    coordinates : Coordinates
        In the range, with the way back.
    notes : list of str
        What the user should know of the restriction; empty where there is none.
    rank : int
        Of the matrix.
    """

    coordinates: Coordinates
    notes: list[str]
    rank: int
    _Q: Array | None

    @classmethod
    def of(cls, total: Array, coordinates: Coordinates, what: str) -> Range:
        check_varies(total, what)
        Q = range_basis(total)
        if Q is None:
            return cls(coordinates, [], len(total), None)
        why = (
            f"eigenvalues below {rank_tolerance(len(total)):.1e} of the largest count as zero, "
            "columns scaled to unit variance"
        )
        return cls.along(Q, coordinates, what, why)

    @classmethod
    def along(cls, Q: Array, coordinates: Coordinates, what: str, why: str) -> Range:
        """The range of which Q is an orthonormal basis; `why` it is taken for all of it."""
        d, rank = Q.shape
        note = f"{what} has rank {rank} of {d}: M is restricted to its range ({why})"
        return cls(Subspace(Q, coordinates, f"the range of {what}"), [note], rank, Q)

    def rows(self, A: Array) -> Array:
        """Q'A."""
        return A if self._Q is None else self._Q.T @ A

    def lift(self, A: Array) -> Array:
        """QA."""
        return A if self._Q is None else self._Q @ A

    def __call__(self, A: Array) -> Array:
        """The symmetric A on the range, Q'AQ."""
        return A if self._Q is None else self._Q.T @ A @ self._Q


def nothing_varies(what: str) -> SingularError:
    """The error of a matrix of zeros."""
    return SingularError(f"{what} is zero: nothing varies there, so no direction is better")


def power_of_two(A: Array) -> float:
    """The power of two next above the largest entry; 1 of a matrix of zeros."""
    return math.ldexp(1.0, math.frexp(float(np.abs(A).max()))[1])


def check_varies(total: Array, what: str) -> None:
    """Refuse sums of squares that are all zero."""
    if not np.diag(total).any():
        raise nothing_varies(what)


def check_dimension(r: int, k: int) -> None:
    """Refuse an r above the dimension of the space that the data leave to M."""
    if r > k:
        raise ArgumentError(
            f"r = {r} is too large: expected r <= {k}, the number of dimensions in which "
            f"the data vary"
        )
