"""Canonical coordinates: the axes of a solution among those that leave its value unchanged.

Only the span of M matters to most objectives, or M up to an order of its columns, and which M a
solver ends on is an accident of its start. What is reported has the axes that mean most: those in
which the matrix that the objective is about is diagonal, the best or the largest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import block_diag

from ldr.solvers.manifolds import Array

# Entries of a row of P this near to its largest in size share its place.
_LARGEST = 1.0 - 1e-8
# Numbers this near to each other, relative to the largest, leave the axes between them free.
_TIED = 1e-10


@dataclass(frozen=True)
class Axes:
    """Orthogonal matrices that turn the columns of each view's M to its canonical coordinates.

    Attributes
    ----------
    turns : tuple of ndarray (r, r)
        One a view.
    numbers : ndarray (r,)
        What the axes are told apart by, largest first; none where all are as the solver left them.
    levels : tuple of int
        The numbers of first columns within which axes are free.
    signed : bool
        Whether the signs of the columns are given too.
    free : bool
        Whether any other axes of the span have the same value.
    """

    turns: tuple[Array, ...]
    numbers: Array = field(default_factory=lambda: np.zeros(0))
    levels: tuple[int, ...] = ()
    signed: bool = False
    free: bool = False

    @classmethod
    def given(cls, r: int, views: int = 1) -> Axes:
        """The columns as they are: each has a meaning of its own."""
        return cls((np.eye(r),) * views, signed=True)

    @classmethod
    def principal(cls, S: Array) -> Axes:
        """The eigenvectors of the symmetric S, largest first."""
        values, Q = np.linalg.eigh(0.5 * (S + S.T))
        return cls((np.ascontiguousarray(Q[:, ::-1]),), values[::-1], free=True)

    @classmethod
    def nested(cls, S: Array, levels: Sequence[int]) -> Axes:
        """The eigenvectors of the diagonal blocks of S, of the columns that each level adds."""
        starts = (0, *levels[:-1])
        blocks = [cls.principal(S[i:j, i:j]) for i, j in zip(starts, levels, strict=True)]
        numbers = np.concatenate([block.numbers for block in blocks])
        return cls((block_diag(*(block.turns[0] for block in blocks)),), numbers, tuple(levels))

    @classmethod
    def singular(cls, K: Array) -> Axes:
        """The eigenvectors of K's symmetric part: one turn of both views, which keeps tr(K).

        Where M is stationary K is symmetric, and they are its singular vectors.
        """
        both = cls.principal(K)
        return cls(both.turns * 2, both.numbers, free=True)

    @classmethod
    def ordered(cls, numbers: Array, views: int = 1) -> Axes:
        """The columns by their numbers, largest first."""
        order = np.argsort(-numbers, kind="stable")
        return cls((np.eye(len(numbers))[:, order],) * views, numbers[order])

    def ties(self) -> tuple[str, ...]:
        """A note where numbers agree to rounding."""
        if len(self.numbers) < 2:
            return ()
        apart = np.abs(self.numbers[1:] - self.numbers[:-1])
        close = set(np.flatnonzero(apart <= _TIED * np.abs(self.numbers).max()).tolist())
        close.difference_update(level - 1 for level in self.levels[:-1])
        if not close:
            return ()
        tied = sorted(close | {k + 1 for k in close})
        which = ", ".join(str(k) for k in tied)
        return (
            f"coordinates {which} (of 0 to {len(self.numbers) - 1}) have neighbours with the same "
            "number, to rounding: the axes between them are arbitrary",
        )


def signs(P: Array) -> Array:
    """1 or -1 of each row, of one map or of a stack: times these the first of its largest entries
    is positive.
    """
    rows = P.reshape(-1, P.shape[-1])
    size = np.abs(rows)
    first = np.argmax(size >= _LARGEST * size.max(axis=1)[:, None], axis=1)
    return np.where(rows[np.arange(len(rows)), first] < 0, -1.0, 1.0).reshape(P.shape[:-1])
