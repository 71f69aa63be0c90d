"""Rows in other coordinates, made as they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.samples import Array, Beside, Samples, Term


@dataclass(frozen=True)
class Change:
    """z = T'(x - centre) of a row x; without T, the row as it is.

    Attributes
    ----------
    T : ndarray (d, k) or None
    centre : ndarray (d,) or None
    """

    T: Array | None = None
    centre: Array | None = None

    def __call__(self, samples: Samples) -> Samples:
        if self.T is None:
            return samples
        return ChangedSamples(samples, None, samples.name, change=self, marks=samples.marks)

    @property
    def about_zero(self) -> Change:
        """z = T'x."""
        return self if self.T is None else Change(self.T, np.zeros(len(self.T)))

    def of_matrix(self, A: Array) -> Array:
        """T'AT: a sum of squares of rows about the centre, of the changed ones."""
        return A if self.T is None else self.T.T @ A @ self.T

    def of(self, samples: Samples) -> Array:
        """The rows z of samples with a T."""
        assert self.T is not None and self.centre is not None
        return samples.centred_times(self.T, self.centre)


@dataclass(frozen=True, eq=False)
class ChangedSamples(Samples):
    """Samples of which no more rows than a piece's are in the other coordinates at a time.

    Attributes
    ----------
    array : Samples
        The rows themselves.
    change : Change
    """

    change: Change = Change()

    @property
    def n_known(self) -> bool:
        return bool(self.array.n_known)

    @property
    def d(self) -> int:
        assert self.change.T is not None
        return self.change.T.shape[1]

    @property
    def n(self) -> int:
        return int(self.array.n)

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def stored(self) -> bool:
        return True

    def reduce(
        self,
        term: Callable[..., Term],
        merge: Callable[[Term, Term], Term],
        *beside: Beside,
    ) -> Term:
        changes, others = [self.change], list(beside)
        for i, other in enumerate(beside):
            changes.append(other.change if isinstance(other, ChangedSamples) else Change())
            others[i] = other.array if isinstance(other, ChangedSamples) else other
        return self.array.reduce(partial(_of_changed, term, changes), merge, *others)

    def take(self, rows: npt.ArrayLike) -> Samples:
        return _changed(self.change, self.array.take(rows))

    def in_memory(self) -> Samples:
        return replace(_changed(self.change, self.array), accelerator=None)


def _of_changed(term: Callable[..., Term], changes: list[Change], *pieces: Beside) -> Term:
    changed = [
        _changed(change, piece) if isinstance(piece, Samples) else piece
        for change, piece in zip(changes, pieces, strict=True)
    ]
    return term(*changed)


def _changed(change: Change, piece: Samples) -> Samples:
    if change.T is None:
        return piece
    rows = change.of(piece)
    return Samples(rows, None, piece.name, accelerator=piece.accelerator, marks=piece.marks)
