"""Affine changes of coordinates, applied to rows when the rows are read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Given
from ldr.objectives.data.samples import Array, Beside, Merge, Samples, Term


@dataclass(frozen=True)
class Change:
    """The affine map z = T'(x - centre) of a row x; the identity if T is None.

    - T (d, k), centre (d,): the map, and the vector subtracted before the map
    """

    T: Array | None = None
    centre: Array | None = None

    def __call__(self, samples: Samples) -> Samples:
        if self.T is None:
            return samples
        return ChangedSamples(samples, None, samples.name, change=self, marks=samples.marks)

    def then(self, later: Change) -> Change:
        """Return the composition with a later change of the coordinates z, for an orthonormal T."""
        if self.T is None or later.T is None:
            return later if self.T is None else self
        assert self.centre is not None and later.centre is not None
        return Change(self.T @ later.T, self.centre + self.T @ later.centre)

    @property
    def about_zero(self) -> Change:
        """Return the linear map z = T'x."""
        return self if self.T is None else Change(self.T, np.zeros(len(self.T)))

    def of_matrix(self, A: Array) -> Array:
        """Return T'AT, the scatter matrix of the rows z if A is the scatter of the rows x."""
        return A if self.T is None else self.T.T @ A @ self.T

    def made(self, piece: Samples) -> Samples:
        """Compute the rows z of a chunk in memory."""
        assert self.T is not None and self.centre is not None
        rows = piece.centred_times(self.T, self.centre)
        return Samples(rows, None, piece.name, accelerator=piece.accelerator, marks=piece.marks)


class MadeSamples(Samples):
    """Samples computed from the rows of other samples, one chunk at a time.

    - array: the other samples
    """

    stored = True
    is_sparse = False

    @property
    @abstractmethod
    def making(self) -> Callable[[Samples], Samples]:
        """Picklable function that computes a chunk."""

    @property
    def n_known(self) -> bool:  # type: ignore[override]
        return bool(self.array.n_known)

    @property
    def n(self) -> int:
        return int(self.array.n)

    def piece(self, where: slice) -> Samples:
        return self.making(self.array.piece(where))

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        if self.array.is_sparse:  # the single chunk of sparse rows would become dense
            return super().reduce(term, merge, *beside)
        return of_made(self.array, self.making, term, merge, *beside)


def of_made(
    first: Samples,
    making: Callable[[Samples], Samples] | None,
    term: Callable[..., Term],
    merge: Merge[Term],
    *beside: Given,
) -> Term:
    """Sum a function of chunks over rows computed from `first` and from other arrays of n rows."""
    made = [making, *(each.making if isinstance(each, MadeSamples) else None for each in beside)]
    others = [each.array if isinstance(each, MadeSamples) else each for each in beside]
    return first.reduce(partial(_of_made, term, made), merge, *others)


def _of_made(
    term: Callable[..., Term], made: list[Callable[[Samples], Samples] | None], *pieces: Beside
) -> Term:
    given = (
        piece if of is None or not isinstance(piece, Samples) else of(piece)
        for of, piece in zip(made, pieces, strict=True)
    )
    return term(*given)


@dataclass(frozen=True, eq=False)
class ChangedSamples(MadeSamples):
    """Samples in the coordinates of a `Change`."""

    change: Change = Change()

    @property
    def making(self) -> Callable[[Samples], Samples]:
        return self.change.made

    @property
    def d(self) -> int:
        assert self.change.T is not None
        return self.change.T.shape[1]

    def take(self, rows: npt.ArrayLike) -> Samples:
        return self.change.made(self.array.take(rows))

    def in_memory(self) -> Samples:
        return replace(self.change.made(self.array), accelerator=None)
