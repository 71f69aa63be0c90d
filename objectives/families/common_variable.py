"""The variable that several problems share: its manifold, its coordinates, the way to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldr.objectives.coordinates import Columns, Coordinates, Subspace
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.lengths import length
from ldr.solvers.manifolds import (
    Array,
    Euclidean,
    Grassmann,
    Manifold,
    Orthonormal,
    Product,
    Stiefel,
)

# Directions whose angle with a subspace has a cosine this near to 1 lie in it.
_INSIDE = 1.0 - 1e-10
# Coordinates that agree to this are the same.
_SAME = 1e-12

Maps = tuple[Array | None, ...]


@dataclass(frozen=True)
class Common:
    """The common variable.

    Attributes
    ----------
    manifold : Manifold
    coordinates : tuple of Coordinates
        Of each view.
    maps : list of tuple of (ndarray or None)
        Of each problem: T with Z = TM, one a view; None is the identity.
    lengths : list of float
        |M| of a unit vector of the coordinates, of each view.
    """

    manifold: Manifold
    coordinates: tuple[Coordinates, ...]
    maps: list[Maps]
    lengths: list[float]

    @classmethod
    def of(cls, bounds: Sequence[BoundObjective], penalised: bool) -> Common:
        """
        Raises
        ------
        ArgumentError
            There is none.
        """
        frames, maps, lengths = _frames(bounds, penalised)
        return cls(_manifold(bounds, frames, maps, penalised), frames, maps, lengths)


def check_common(bounds: Sequence[BoundObjective]) -> None:
    """Refuse terms whose M is not the same thing."""
    for bound in bounds:
        name = bound.objective.name
        if bound.penalty is not None:
            raise ArgumentError(
                f"objective {name!r} has a penalty of its own and does not add up with others: "
                "add the penalty to the sum"
            )
        if len(bound.factors) < len(bound.views):
            raise ArgumentError(
                f"objective {name!r} has one variable for all views together and takes no weight, "
                "no further terms and no penalty"
            )
        if len(bounds) == 1:
            continue
        if any(view.features is not None for view in bound.views):
            raise ArgumentError(
                f"objective {name!r} is of features of the rows and does not add up with "
                "others: apply ldr.kernel to the sum"
            )


def _frames(
    bounds: Sequence[BoundObjective], penalised: bool
) -> tuple[tuple[Coordinates, ...], list[Maps], list[float]]:
    """Coordinates of the sum, of each view; each term's maps to its own; the frames' lengths."""
    frames: list[Coordinates] = []
    maps: list[list[Array | None]] = [[] for _ in bounds]
    lengths: list[float] = []
    for view in range(len(bounds[0].views)):
        sizes = [bound.factors[view].shape[0] for bound in bounds]
        own = [bound.coordinates[view] for bound in bounds]
        if all(one.is_columns for one in own):
            frame, lifted = own[0], None
        elif penalised:
            frame, lifted = Columns(), None
        else:
            frame, lifted = _intersection(own, sizes)
        frames.append(frame)
        lengths.append(_length(frame, sizes[0]))
        for i, (coordinates, k) in enumerate(zip(own, sizes, strict=True)):
            maps[i].append(_to(coordinates, k, frame, lifted))
    return tuple(frames), [tuple(T) for T in maps], lengths


def _length(frame: Coordinates, k: int) -> float:
    """|M| of a unit vector of the frame."""
    return length(frame.lift(np.eye(k, 1))) if frame.is_columns else 1.0


def _intersection(own: Sequence[Coordinates], sizes: Sequence[int]) -> tuple[Coordinates, Array]:
    """Coordinates of the directions that all have in common, and their basis in the columns."""
    frame, Q = own[0], None
    for coordinates, k in zip(own, sizes, strict=True):
        if coordinates.is_columns:
            continue
        lifted = coordinates.lift(np.eye(k))
        basis = lifted / np.linalg.norm(lifted, axis=0)
        if Q is None:
            frame, Q = coordinates, basis
            continue
        U, cosines, _ = np.linalg.svd(Q.T @ basis)
        inside = cosines > _INSIDE
        if inside.sum() < Q.shape[1]:
            Q = Q @ U[:, : inside.sum()]
            frame = Subspace(Q, name="the subspace that the terms have in common")
    assert Q is not None
    return frame, Q


def _to(coordinates: Coordinates, k: int, frame: Coordinates, lifted: Array | None) -> Array | None:
    """T with Z = TM from the frame to a term's coordinates; None where they are the same."""
    if coordinates is frame or (type(coordinates) is type(frame) is Columns):
        return None
    if lifted is not None:
        T = coordinates.lower(lifted)
    elif coordinates.is_columns:
        T = coordinates.lower(frame.lift(np.eye(k)))
    else:  # the frame is the columns: Q' of the orthonormal basis Q
        T = coordinates.lift(np.eye(k)).T
    same = T.shape[0] == T.shape[1] and np.abs(T - np.eye(len(T))).max() <= _SAME
    return None if same else np.asarray(T)


def _manifold(
    bounds: Sequence[BoundObjective],
    frames: Sequence[Coordinates],
    maps: Sequence[Maps],
    penalised: bool,
) -> Manifold:
    """The most specific manifold that fits all: Grassmann only where all are, and no penalty."""
    first = bounds[0].factors
    factors = []
    for view in range(len(first)):
        kinds = [bound.factors[view] for bound in bounds]
        if view >= len(frames):  # a parameter of the only term's model
            factors.append(first[view])
            continue
        shapes = {
            (kind.shape[0] if T is None else T.shape[1], kind.shape[1])
            for kind, T in zip(kinds, (T[view] for T in maps), strict=True)
        }
        if len(shapes) > 1 or len({isinstance(kind, Orthonormal) for kind in kinds}) > 1:
            listed = ", ".join(
                f"{bound.objective.name!r} on {type(kind).__name__}{kind.shape}"
                for bound, kind in zip(bounds, kinds, strict=True)
            )
            raise ArgumentError(f"these objectives have no common manifold: {listed}")
        k, r = shapes.pop()
        if not isinstance(kinds[0], Orthonormal):
            factors.append(Euclidean(k, r))
            continue
        check_dimension(r, k)
        spans = all(isinstance(kind, Grassmann) for kind in kinds) and not penalised
        factors.append(Grassmann(k, r) if spans else Stiefel(k, r))
    return Product(*factors) if isinstance(bounds[0].manifold, Product) else factors[0]
