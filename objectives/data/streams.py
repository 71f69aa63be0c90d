"""Rows that pass by in blocks, in their own order: once, or as often as they are asked for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells, Given
from ldr.objectives.data.containers import open_matrix
from ldr.objectives.data.labels import as_array
from ldr.objectives.data.map_reduce import PIECE_NUMBERS, fold, workers_for
from ldr.objectives.data.samples import Array, Beside, Merge, Samples, Term, cut
from ldr.objectives.data.stored import StoredSamples
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.records import dataclass, replace

Block = Cells

_IN_ANY_ORDER = "a list of arrays, or the path of a file"
_AGAIN = f"pass a function that returns a new iterator of blocks, {_IN_ANY_ORDER}"


def is_stream(X: object) -> bool:
    """Whether X is an iterator of blocks, or a function that returns one."""
    return hasattr(X, "__next__") or (callable(X) and not isinstance(X, type))


class Stream:
    """Blocks of rows, one after the other.

    Attributes
    ----------
    d : int
    feature_names : tuple of str or None
    n : int or None
        The number of rows, None as long as they have not all been read.
    """

    def __init__(self, X: Given, name: str, minimum_rows: int = 1) -> None:
        """
        Parameters
        ----------
        X : iterator of blocks, or callable that returns an iterable of them
            Blocks are what `as_samples` takes: arrays (m, d), data frames; m may be 0.
        name : str
            For messages.
        minimum_rows : int
            The fewest rows that the caller can use.

        Raises
        ------
        DataError
            There are no blocks, or the first is no matrix of real numbers.
        """
        self.name, self._minimum_rows = name, minimum_rows
        self.n: int | None = None
        self._again: Callable[[], Iterable[object]] | None = None if hasattr(X, "__next__") else X
        self._next: Iterator[object] | None = None
        blocks = iter(X) if self._again is None else self._opened()
        first = next(blocks, None)
        if first is None:
            raise DataError(f"{name} has no blocks of rows")
        array, self.feature_names = self._matrix(first, 0)
        self.d = array.shape[1]
        self._next = chain([first], blocks)

    @property
    def repeatable(self) -> bool:
        """Whether the blocks can be read again."""
        return self._again is not None

    def finish(self, rows: int) -> None:
        """Note how many rows a whole pass has found."""
        if self.n is not None and self.n != rows:
            raise DataError(f"{self.name} gave {rows} rows, expected {self.n}")
        if rows < self._minimum_rows:
            raise DataError(
                f"{self.name} has {rows} row(s) (samples); at least {self._minimum_rows} are needed"
            )
        self.n = rows

    def blocks(self) -> Iterator[Block]:
        """Give the blocks, from the first on."""
        for i, block in enumerate(self._iterator()):
            array, names = self._matrix(block, i)
            if array.shape[1] != self.d:
                raise DataError(
                    f"{self.name}: block {i} has {array.shape[1]} columns, expected {self.d} as "
                    "block 0 has"
                )
            if names != self.feature_names:
                raise DataError(
                    f"{self.name}: block {i} has other names of columns than block 0, or in "
                    "another order"
                )
            yield array

    def _iterator(self) -> Iterator[object]:
        """The blocks as they come: those that were begun with, or from a new beginning."""
        begun, self._next = self._next, None
        if begun is not None:
            return begun
        if self._again is None:
            raise DataError(
                f"{self.name} is an iterator, whose blocks can be read once, and this method needs "
                f"another pass: {_AGAIN}"
            )
        return self._opened()

    def _opened(self) -> Iterator[object]:
        assert self._again is not None
        blocks = self._again()
        if not hasattr(blocks, "__iter__"):
            raise ArgumentError(
                f"{self.name} is a function that returned {type(blocks).__name__}, expected an "
                "iterator of blocks of rows"
            )
        return iter(blocks)

    def _matrix(self, block: object, i: int) -> tuple[Block, tuple[str, ...] | None]:
        """A block as an array, and its columns' names; numbers are checked later, in pieces."""
        array, names = open_matrix(block, f"{self.name} (block {i})")
        if not isinstance(array, np.ndarray):
            raise DataError(f"{self.name}: block {i} is sparse, dense rows were expected")
        return array, names


class Rows:
    """Rows of blocks of any sizes, in other portions."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._left: Block | None = None

    def take(self, count: int) -> Block:
        """The next `count` rows; fewer, or none, at the end."""
        parts, missing = [], count
        while missing > 0:
            block = self._left if self._left is not None else next(self._blocks, None)
            if block is None:
                break
            self._left = block[missing:] if len(block) > missing else None
            parts.append(block[:missing])
            missing -= len(parts[-1])
        if not parts:
            return np.empty((0, 0))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class StreamSamples(StoredSamples):
    """Samples of a stream: rows come in their own order, as often as the stream can be begun.

    How many they are is known after the first pass, unless a response said so before.
    """

    n_known = False

    @classmethod
    def of(cls, X: object, name: str, minimum_rows: int = 1) -> StreamSamples:
        stream = Stream(X, name, minimum_rows)
        return cls(stream, stream.feature_names, name)

    @property
    def repeatable(self) -> bool:
        return bool(self.array.repeatable)

    @property
    def n(self) -> int:
        """The number of rows; a stream that can be begun again is read for it, once."""
        if self.array.n is None and not self.array.repeatable:
            raise DataError(
                f"{self.name} is an iterator of blocks, and this method asks for the number of its "
                f"rows before it has read them: {_AGAIN}"
            )
        if self.array.n is None:
            self.reduce(_count, operator.add)
        return int(self.array.n)

    @property
    def d(self) -> int:
        return int(self.array.d)

    def __repr__(self) -> str:
        n = "unknown number of rows" if self.array.n is None else self.array.n
        return f"StreamSamples({self.name}: {n} x {self.d})"

    def reduce(self, term: Callable[..., Term], merge: Merge[Term], *beside: Beside) -> Term:
        most = max(1, PIECE_NUMBERS // self.d)
        total = fold(term, merge, self._pieces(most, beside), workers_for(self.d))
        for samples in (self, *beside):
            if isinstance(samples, StoredSamples):
                samples.check_range()
        return total

    def in_turn(
        self, rows: int, order: np.random.Generator, *beside: Beside
    ) -> Iterator[tuple[Given, ...]]:
        """In their own order, in one pass."""
        return (arguments() for arguments in self._pieces(rows, beside))

    def centred_times(self, V: Array, mean: Array) -> Array:
        return np.concatenate(self.reduce(partial(_product, V=V, mean=mean), list.__add__))

    def in_memory(self) -> Samples:
        rows = np.concatenate(self.reduce(_rows, self._kept))
        self.tally.whole = True
        return Samples(rows, self.feature_names, self.name, marks=self.marks)

    def _kept(self, earlier: list[Block], later: list[Block]) -> list[Block]:
        """Rows that are kept, as long as there is memory for them."""
        earlier += later
        self.afford(sum(map(len, earlier)))
        return earlier

    def each(self, change: Callable[[Block], Block]) -> StreamSamples:
        """The same rows, every block changed."""
        changed = StreamSamples.of(lambda: map(change, self.array.blocks()), self.name)
        changed.array.n = self.array.n
        return replace(
            changed, feature_names=self.feature_names, allow_nan=self.allow_nan, marks=self.marks
        )

    def read(self, where: slice) -> Block:
        """Rows of a slice, from a new beginning up to them.

        Raises
        ------
        DataError
            The stream cannot be begun again.
        """
        start, stop, _ = where.indices(self.n)
        return self._picked(np.arange(start, stop))

    def take(self, rows: npt.ArrayLike) -> Samples:
        """Some rows, in one pass.

        Raises
        ------
        DataError
            The stream cannot be begun again.
        """
        wanted = np.arange(self.n)[np.asarray(rows)]
        order = np.argsort(wanted, kind="stable")
        picked = np.empty((len(wanted), self.d))
        picked[order] = self._picked(wanted[order])
        return replace(self.checked(picked, 0), marks=self.marked(wanted))

    def _picked(self, wanted: npt.NDArray[np.intp]) -> Block:
        """Rows of ascending numbers."""
        if not self.repeatable:
            raise self._not_in_order()
        parts, start = [np.empty((0, self.d))], 0
        for block in self.array.blocks():
            stop = start + len(block)
            first, last = np.searchsorted(wanted, [start, stop])
            parts.append(block[wanted[first:last] - start])
            start = stop
            if last == len(wanted):
                break
        self.tally.reads.append(start - len(wanted))
        return np.concatenate(parts)

    def _not_in_order(self) -> DataError:
        return DataError(
            f"{self.name} is a stream of blocks, and this method needs rows in another order: "
            f"pass {_IN_ANY_ORDER}"
        )

    def _pieces(
        self, most: int, beside: tuple[Given, ...]
    ) -> Iterator[Callable[[], tuple[Given, ...]]]:
        """The arguments of the terms; rows are taken in the caller's thread, in their order."""
        rows = Rows(self.array.blocks())
        streams = [
            Rows(other.array.blocks()) if isinstance(other, StreamSamples) else None
            for other in beside
        ]
        start = 0
        while len(block := rows.take(most)):
            where = slice(start, start + len(block))
            taken = [None if stream is None else stream.take(len(block)) for stream in streams]
            found = [
                _length(other) if new is None else start + len(new)
                for other, new in zip(beside, taken, strict=True)
            ]
            self._check_rows(f"at least {where.stop}", all(n >= where.stop for n in found), found)
            yield partial(self._arguments, where, block, beside, taken)
            start = where.stop
        found = [
            _length(other) if stream is None else start + len(stream.take(1))
            for other, stream in zip(beside, streams, strict=True)
        ]
        self._check_rows(str(start), all(n == start for n in found), found)
        for samples in (self, *beside):
            if isinstance(samples, StreamSamples):
                samples.array.finish(start)

    def _check_rows(self, have: str, fits: bool, found: list[int]) -> None:
        if not fits:
            raise DataError(
                f"{self.name} has {have} rows, what stands beside them "
                f"{' and '.join(map(str, found))}: expected as many"
            )

    def _arguments(
        self, where: slice, block: Block, beside: tuple[Given, ...], taken: list[Block | None]
    ) -> tuple[Given, ...]:
        """A piece and what stands beside it, checked; called in the threads."""
        others = (
            cut(other, where) if new is None else other.checked(new, where.start)
            for other, new in zip(beside, taken, strict=True)
        )
        return self.checked(block, where.start), *others

    def checked(self, rows: Block, start: int) -> Samples:
        self.tally.reads.append(len(rows))
        return super().checked(rows, start)


def together(views: tuple[Samples, ...]) -> tuple[Samples, ...]:
    """Views of the same rows; all as streams where one is, to be read side by side."""
    if not any(isinstance(view, StreamSamples) for view in views):
        return views
    return tuple(map(_as_stream, views))


def expect(samples: Samples, y: object) -> None:
    """Tell a stream how many rows there are, because there are as many labels."""
    if isinstance(samples, StreamSamples) and y is not None:
        samples.array.n = len(as_array(y))


def _as_stream(samples: Samples) -> StreamSamples:
    """Samples as a stream of their pieces."""
    if isinstance(samples, StreamSamples):
        return samples
    return StreamSamples.of(
        lambda: (samples.piece(where).array for where in samples.pieces()), samples.name
    )


def _length(other: Samples | Block) -> int:
    return other.n if isinstance(other, Samples) else len(other)


def _product(piece: Samples, V: Array, mean: Array) -> list[Array]:
    return [piece.centred_times(V, mean)]


def _rows(piece: Samples) -> list[Block]:
    return [piece.array]


def _count(piece: Samples) -> int:
    return piece.n
