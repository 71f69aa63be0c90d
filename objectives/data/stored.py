"""Samples that are read chunk by chunk: rows of files, and rows made from other samples."""

from __future__ import annotations

import operator
import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Cells, Given, is_dask
from ldr.objectives.data.data import Array, Beside, Merge, Samples, Term, cut, piece_rows
from ldr.objectives.data.memory import check_finite, check_largest, check_memory, largest_of_piece
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.data.sources import AGAIN, Changed, InMemory, Portions
from ldr.solvers.deadline import check
from ldr.solvers.errors import ArgumentError, DataError


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
        if self.array.is_sparse:  # chunks of few rows, because the computed rows are dense
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


@dataclass
class Tally:
    """Record of the rows read so far.

    - largest: largest absolute value; 0 for dtypes whose squares cannot overflow
    - whole: True once all rows have been loaded together
    """

    rows: int = 0
    largest: float = 0.0
    whole: bool = False


@dataclass(frozen=True, eq=False)
class StoredSamples(Samples):
    """Samples whose rows are read and checked when needed.

    - allow_nan: True if NaN (missing values) are accepted; `has_nan` is known for chunks only
    """

    stored = True
    is_sparse = False

    tally: Tally = field(default_factory=Tally, repr=False)
    allow_nan: bool = False

    @property
    def passes(self) -> float:
        """Number of passes over the data so far: rows read, divided by n."""
        return self.tally.rows / self.n

    @property
    def n_known(self) -> bool:  # type: ignore[override]
        return bool(self.array.n_known)

    @property
    def repeatable(self) -> bool:  # type: ignore[override]
        return bool(self.array.repeatable)

    @property
    def n(self) -> int:
        """Number of rows; a repeatable stream is read once to count the rows."""
        if self.array.n is None and not self.repeatable:
            raise DataError(
                f"{self.name} is an iterator of blocks, but this method needs the number of rows "
                f"before it reads them: {AGAIN}"
            )
        if self.array.n is None:
            self.reduce(lambda piece: piece.n, operator.add)
        return int(self.array.n)

    @property
    def d(self) -> int:
        return int(self.array.d)

    def expect_rows(self, beside: object) -> None:
        if not self.n_known and beside is not None:
            self.array.n = len(as_array(beside))

    def __repr__(self) -> str:
        n = "unknown number of rows" if self.array.n is None else self.array.n
        return f"{type(self).__name__}({self.name}: {n} x {self.d})"

    def read(self, where: slice) -> Cells:
        """Read the rows of a slice in the source's dtype."""
        check()
        start, stop, _ = where.indices(self.n)
        self._expect_repeatable()
        self.tally.rows += stop - start
        return np.asarray(self.array.read(start, stop))

    def piece(self, where: slice) -> Samples:
        return self._checked(self.read(where), where.start)

    def _checked(self, rows: Cells, start: int) -> Samples:
        """Return checked rows as samples in memory; `start` is the index of the first row."""
        piece = Samples(
            rows,
            self.feature_names,
            self.name,
            accelerator=self.accelerator,
            marks=self.marked(slice(start, start + len(rows))),
        )
        if check_finite(piece, self.allow_nan, start):
            piece = replace(piece, has_nan=True)
        self.tally.largest = max(self.tally.largest, largest_of_piece(piece))
        return piece

    def taken(self, allow_nan: bool) -> StoredSamples:
        return self if self.allow_nan == allow_nan else replace(self, allow_nan=allow_nan)

    def walk(self, *beside: Beside, rows: int | None = None) -> Iterator[tuple[Beside, ...]]:
        """Yield chunks in one pass over the rows, together with other stored samples."""
        self.array.check_unchanged()
        most = rows or piece_rows(self.d)
        views = [other if isinstance(other, StoredSamples) else None for other in beside]
        portions = [None if view is None else Portions(view.array.blocks()) for view in views]
        own, start = Portions(self.array.blocks()), 0
        while len(block := own.take(most)):
            check()
            where = slice(start, start + len(block))
            taken = [None if each is None else each.take(len(block)) for each in portions]
            found = [
                _length(other) if new is None else start + len(new)
                for other, new in zip(beside, taken, strict=True)
            ]
            self._check_rows(f"at least {where.stop}", all(n >= where.stop for n in found), found)
            self.tally.rows += len(block)
            others = [
                cut(other, where) if view is None or new is None else view._counted(new, start)
                for other, view, new in zip(beside, views, taken, strict=True)
            ]
            yield self._checked(block, start), *others
            start = where.stop
        found = [
            _length(other) if each is None else start + len(each.take(1))
            for other, each in zip(beside, portions, strict=True)
        ]
        self._check_rows(str(start), all(n == start for n in found), found)
        for samples in (self, *filter(None, views)):
            samples.array.finish(start)

    def _counted(self, rows: Cells, start: int) -> Samples:
        self.tally.rows += len(rows)
        return self._checked(rows, start)

    def _check_rows(self, have: str, fits: bool, found: list[int]) -> None:
        if not fits:
            raise DataError(
                f"{self.name} has {have} rows, and the other inputs have "
                f"{' and '.join(map(str, found))}: expected the same number of rows"
            )

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        if any(isinstance(other, MadeSamples) for other in beside):
            return of_made(self, None, term, merge, *beside)
        total = super().reduce(term, merge, *beside)
        for samples in (self, *beside):
            if isinstance(samples, StoredSamples):
                samples.check_range()
        return total

    def in_turn(
        self, rows: int, order: np.random.Generator, *beside: Beside
    ) -> Iterator[tuple[Given, ...]]:
        """Yield chunks in random order; in file order if the source is not seekable."""
        if self.array.seekable:
            return super().in_turn(rows, order, *beside)
        self._expect_repeatable()
        return self.walk(*beside, rows=rows)

    def check_range(self) -> None:
        """Refuse the values read so far if sums of their squares may overflow."""
        check_largest(self.tally.largest, self.name)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[slice, Array]]:
        for where, piece in self._pieces(rows or self.block_rows):
            yield where, np.ascontiguousarray(piece.array, dtype=np.float64)

    def _pieces(self, rows: int | None = None) -> Iterator[tuple[slice, Samples]]:
        """Yield chunks in one pass over the rows, each with the slice of its rows."""
        start = 0
        for (piece,) in self.walk(rows=rows):
            assert isinstance(piece, Samples)
            yield slice(start, start + piece.n), piece
            start += piece.n

    def rows(self, where: slice) -> Array:
        return np.ascontiguousarray(self.read(where), dtype=np.float64)

    def take(self, rows: npt.ArrayLike) -> Samples:
        """Return some rows as samples in memory, read in a single pass."""
        self._expect_repeatable()
        wanted = np.arange(self.n)[np.asarray(rows)]
        order = np.argsort(wanted, kind="stable")
        found = self._in_order(wanted[order])
        picked = np.empty_like(found)
        picked[order] = found
        return replace(self._checked(picked, 0), marks=self.marked(wanted))

    def _in_order(self, wanted: npt.NDArray[np.intp]) -> Cells:
        """Return the rows of some ascending indices."""
        parts = [np.empty((0, self.d))]
        for where, piece in self._pieces():
            first, last = np.searchsorted(wanted, [where.start, where.stop])
            parts.append(piece.array[wanted[first:last] - where.start])
            if last == len(wanted):
                break
        return np.concatenate(parts)

    def _expect_repeatable(self) -> None:
        if not self.repeatable:
            raise DataError(
                f"{self.name} is a stream of blocks, but this method needs rows in another order "
                "than the stream's: pass a list of arrays, or the path of a file"
            )

    def centred_times(self, V: Array, mean: Array) -> Array:
        return np.concatenate(
            self.reduce(lambda piece: [piece.centred_times(V, mean)], list.__add__)
        )

    def dense(self) -> Array:
        return self.in_memory().dense()

    def in_memory(self) -> Samples:
        """Read and check all rows, and return samples in memory."""
        if self.array.n is not None:
            self._check_memory(self.n)
        parts = self.reduce(lambda piece: [piece.array], self._kept)
        self.tally.whole = True
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        samples = Samples(rows, self.feature_names, self.name, marks=self.marks)
        has_nan = self.allow_nan and check_finite(samples, True)
        return replace(samples, has_nan=has_nan, accelerator=self.accelerator)

    def _kept(self, earlier: list[Cells], later: list[Cells]) -> list[Cells]:
        """Return rows cached in memory, if the memory suffices."""
        earlier += later
        self._check_memory(sum(map(len, earlier)))
        return earlier

    def _check_memory(self, rows: int) -> None:
        """Refuse rows of which three copies do not fit into memory."""
        check_memory(
            3 * 8.0 * rows * self.d,
            f"{self.name} ({rows} x {self.d}), with arrays that this method computes from all rows "
            "at once,",
            "use fewer rows or columns, or a method that needs only sums over rows",
        )

    def each(self, change: Callable[[Cells], Cells]) -> StoredSamples:
        """Return samples whose blocks are changed by a function."""
        changed = Changed(self.array, change, self.feature_names, self.d)
        return replace(self, array=changed, tally=Tally())


def side_by_side(views: tuple[Samples, ...]) -> tuple[Samples, ...]:
    """Return views of the same rows, prepared for a joint pass if any is read from files."""
    first, *others = views
    if first.stored or first.is_sparse or not any(view.stored for view in others):
        return views
    source = InMemory(first.array, first.feature_names, first.name)
    return StoredSamples(source, first.feature_names, first.name, marks=first.marks), *others


def lazy_rows(X: object) -> Given:
    """Return the Dask array or DataFrame X, or the one that samples X read; None for other data."""
    rows = getattr(X.array, "array", None) if isinstance(X, StoredSamples) else X
    return rows if is_dask(rows) else None


def _length(other: Samples | Cells) -> int:
    return other.n if isinstance(other, Samples) else len(other)


# Cached sums over rows. Each key pickles two functions: one sums a block, the other adds two sums.
Totals = dict[bytes, Any]


@dataclass(frozen=True, eq=False)
class AccumulatedSamples(Samples):
    """A block of rows with sums over all blocks so far, for `partial_fit`.

    Objectives that only use sums treat the block as samples of all rows, and take the number of
    rows from the sums. The attribute `n` and the labels describe the latest block only.

    - before: totals of the earlier blocks, not changed; empty for the first block
    - totals: totals including this block, for the sums computed so far
    """

    repeatable = False
    n_known = False

    block: Samples = field(kw_only=True)
    before: Totals = field(kw_only=True)
    totals: Totals = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, block: Samples, before: Totals) -> AccumulatedSamples:
        return cls(
            block.array,
            block.feature_names,
            block.name,
            marks=block.marks,
            block=block,
            before=before,
        )

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        """Return the sum over all blocks so far."""
        blocks = (
            other.block if isinstance(other, AccumulatedSamples) else other for other in beside
        )
        block = replace(self.block, accelerator=self.accelerator, marks=self.marks)
        total = block.reduce(term, merge, *blocks)
        key = pickle.dumps((term, merge))
        if self.before:
            if key not in self.before:
                raise ArgumentError(
                    "this objective cannot be fitted to one block of rows after another, because "
                    "its sums over a block depend on the earlier blocks: pass all rows at once"
                )
            total = merge(deepcopy(self.before[key]), total)
        self.totals[key] = total
        return total
