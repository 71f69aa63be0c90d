"""Rows of a Parquet file."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldr.objectives.data.cells import Cells, CellType, Column
from ldr.objectives.data.map_reduce import PIECE_NUMBERS, workers_for
from ldr.objectives.data.sources.source import arrow, check_distinct, check_known, coded
from ldr.objectives.data.sources.text import typed
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from pyarrow import DataType, RecordBatch
    from pyarrow.parquet import ParquetFile as TheirFile

# Bytes of a column that are fetched at a time.
_BUFFER = 2**18
# Batches in a piece: what is decoded takes memory in Arrow's columns and again in rows.
_BATCHES = 4

_libraries = partial(arrow, "parquet", ".parquet")


class ParquetFile:
    """Numeric columns of a Parquet file; missing values are NaN.

    Row groups can only be decoded from their beginning, and are often larger than what memory
    should hold. One cursor therefore decodes forwards, a batch at a time, whatever threads ask for;
    rows that nobody has asked for yet are kept, since threads may come out of order. Rows further
    back or in
    another group cost decoding their group from its beginning.
    """

    def __init__(self, path: Path, name: str = "X", columns: Sequence[str] | None = None) -> None:
        """
        Raises
        ------
        FileNotFoundError
        ArgumentError
            pyarrow is not installed.
        DataError
            No Parquet file; of the columns asked for, one that is not there, or (when they are
            read) one that holds no numbers.
        """
        self._path, self._name = path, name
        with path.open("rb"):  # say of a missing file what Python says
            pass
        with self._open() as file:
            self._schema, metadata = file.schema_arrow, file.metadata
        index = (self._schema.pandas_metadata or {}).get("index_columns", [])
        self.columns = tuple(column for column in self._schema.names if column not in index)
        check_distinct(self.columns, path.name, name)
        check_known(columns or (), self.columns, path.name)
        self.feature_names = self.columns if columns is None else tuple(columns)
        rows = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        self.boundaries = [0, *accumulate(rows)]
        self.shape = (metadata.num_rows, len(self.feature_names))
        d = max(1, self.shape[1])
        self._batch_rows = max(1, PIECE_NUMBERS // _BATCHES // d)
        # No thread is further ahead of another than by the pieces that are worked on.
        self._most_ahead = (workers_for(d) + 1) * max(1, PIECE_NUMBERS // d)
        self._lock = threading.Lock()
        self._batches: Iterator[RecordBatch] = iter(())
        self._ahead: list[_Batch] = []
        self._position = self.shape[0]  # as after a pass, with nothing open

    @cached_property
    def dtype(self) -> CellType:
        """float32 if that holds every number of every column, else float64."""
        types = [np.dtype(np.float32)]
        for column in self.feature_names:
            kind = self._schema.field(column).type
            types.append(_numpy_type(kind))
            if types[-1].kind not in "biuf":
                raise DataError(
                    f"{self._name}: column {column!r} is of type {kind}, which is no number; leave "
                    "the column out, or make it the label"
                )
        return np.result_type(*types)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def select(self, columns: Sequence[str]) -> ParquetFile:
        return ParquetFile(self._path, self._name, columns)

    def column(self, name: str, as_text: bool = False) -> Column:
        pyarrow, _ = _libraries()
        kind = self._schema.field(name).type
        if pyarrow.types.is_nested(kind):
            raise DataError(
                f"{self._name}: column {name!r} is of type {kind}; text or numbers were expected"
            )
        try:
            text = pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)
            with self._open(*([name] if text else [])) as file:
                values = file.read(columns=[name]).column(name)
            if pyarrow.types.is_dictionary(values.type):
                return coded(values, _as_text) if as_text else coded(values)
            values = _as_text(values) if as_text else values
            return np.asarray(values.to_numpy())
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise DataError(
                f"{self._name}: column {name!r} of {self._path.name} cannot be read: {error}"
            ) from error

    def read(self, start: int, stop: int) -> Cells:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        with self._lock:
            try:
                batches = self._decoded(start, stop)
            except BaseException:  # Ctrl-C: a batch may be lost, whose rows the next would be
                self._position, self._ahead = self.shape[0], []
                raise
        for first, batch in batches:
            begin, end = max(start, first), min(stop, first + batch.num_rows)
            part = batch.slice(begin - first, end - begin)
            for j, column in enumerate(self.feature_names):
                numbers = part.column(column).to_numpy(zero_copy_only=False)
                rows[begin - start : end - start, j] = numbers
        return rows

    def _open(self, *coded: str) -> TheirFile:
        """The file; columns of text that are read as the codes that they are stored in."""
        pyarrow, parquet = _libraries()
        try:
            # Nothing is fetched ahead, and no column of a row group as a whole.
            return parquet.ParquetFile(
                self._path, pre_buffer=False, buffer_size=_BUFFER, read_dictionary=coded
            )
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(
                f"{self._name}: {self._path.name} cannot be read as Parquet: {error}"
            ) from error

    def _decoded(self, start: int, stop: int) -> list[tuple[int, RecordBatch]]:
        """The batches that hold rows start..stop-1, each with its first row."""
        missing = min(stop, self._position) - start - sum(b.rows(start, stop) for b in self._ahead)
        far = start - self._position > self._most_ahead and start >= self._next_group()
        if missing > 0 or far:
            self._seek(start)
        while self._position < stop:
            self._decode(start)
        found = [(b.first, b.batch) for b in self._ahead if b.rows(start, stop) > 0]
        for batch in self._ahead:
            batch.left -= batch.rows(start, stop)
        self._ahead = [batch for batch in self._ahead if batch.left > 0]
        return found

    def _next_group(self) -> int:
        """The first row of the group after the one that the cursor is in (or at the end of)."""
        where = np.searchsorted(self.boundaries, self._position, side="right")
        return int([*self.boundaries, self.shape[0]][where])

    def _seek(self, row: int) -> None:
        """Put the cursor at the beginning of a row's group."""
        group = max(int(np.searchsorted(self.boundaries[:-1], row, side="right")) - 1, 0)
        self._position = self.boundaries[group]
        self._ahead = []
        self._batches = self._from_group(group)

    def _from_group(self, group: int) -> Iterator[RecordBatch]:
        """The batches of a group and of those after it; then the file is closed again."""
        with self._open() as file:
            yield from file.iter_batches(
                self._batch_rows,
                row_groups=range(group, len(self.boundaries) - 1),
                columns=list(self.feature_names),
            )

    def _decode(self, start: int) -> None:
        """One batch more; those are given up that lie too far back for any thread."""
        try:
            batch = next(self._batches)
        except StopIteration:
            raise DataError(f"{self._path.name} ended at row {self._position}") from None
        except (OSError, ValueError) as error:  # what pyarrow's exceptions are
            raise DataError(
                f"{self._path.name} cannot be read after row {self._position}: {error}"
            ) from error
        self._ahead.append(_Batch(self._position, batch, batch.num_rows))
        self._position += batch.num_rows
        if self._position == self.shape[0]:
            self._batches = iter(())  # what it holds is given back
            _libraries()[0].default_memory_pool().release_unused()
        oldest = min(start, self._position - self._most_ahead)
        self._ahead = [batch for batch in self._ahead if batch.first + batch.size > oldest]


def partition_keys(files: Sequence[Path]) -> dict[str, Cells]:
    """The values of the keys in names of folders, key=value, in which all the files are."""
    pyarrow, _ = _libraries()

    def column(texts: list[str]) -> Cells:
        return np.asarray(typed(pyarrow.chunked_array([texts])).to_numpy())

    each = [dict(part.split("=", 1) for part in file.parts[:-1] if "=" in part) for file in files]
    return {
        key: column([known[key] for known in each])
        for key in each[0]
        if all(key in known for known in each)
    }


def _as_text(values: Any) -> Any:
    pyarrow, _ = _libraries()
    return values.cast(pyarrow.string())


@dataclass
class _Batch:
    """Decoded rows, some of which nobody has asked for yet.

    Attributes
    ----------
    left : int
        Rows that are still to be asked for.
    """

    first: int
    batch: RecordBatch
    left: int

    @property
    def size(self) -> int:
        return int(self.batch.num_rows)

    def rows(self, start: int, stop: int) -> int:
        """How many of rows start..stop-1 it holds."""
        return max(0, min(stop, self.first + self.size) - max(start, self.first))


def _numpy_type(kind: DataType) -> CellType:
    """That of a column's values; objects of a type that NumPy does not have."""
    try:
        return np.dtype(kind.to_pandas_dtype())
    except NotImplementedError:
        return np.dtype(object)
