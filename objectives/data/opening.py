"""From paths, lists and iterators of blocks to samples that are read piece by piece."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeGuard, cast

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Given, check_real
from ldr.objectives.data.containers import as_csr, check_shape, open_matrix
from ldr.objectives.data.finite import check_finite, check_squares
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.sources.npy import MemoryMap
from ldr.objectives.data.sources.source import Source, TableSource, check_known
from ldr.objectives.data.sources.stack import InMemory, Partitions, Stack
from ldr.objectives.data.stored import StoredSamples, is_dask
from ldr.objectives.data.streams import StreamSamples, is_stream
from ldr.solvers.errors import ArgumentError, DataError


def as_samples(
    X: object, name: str = "X", minimum_rows: int = 2, *, allow_nan: bool = False
) -> Samples:
    """Take data in any of the usual containers and check them.

    Parameters
    ----------
    X : array-like, shape (n, d)
        An array of any real type, a memory map, a list of lists, a scipy.sparse matrix or array
        (kept sparse), a data frame with numeric columns, or what `open_source` takes: the path of a
        file, a list of arrays or paths, an iterator of blocks of rows, whose rows are read and
        checked piece by piece when a method asks for them. Never changed. A `Samples` is returned
        as it is.
    name : str
        The argument's name in messages.
    minimum_rows : int
        The fewest rows that the caller can use.
    allow_nan : bool
        Accept NaN as missing values. Infinite values are always refused.

    Raises
    ------
    DataError
        Not two-dimensional; no rows, too few rows or no columns; not real numbers; a masked
        array; NaN or infinite values (read block by block).
    """
    if isinstance(X, Samples):
        if X.n_known:
            check_shape(X, X.name, minimum_rows)
        return X.taken(allow_nan)
    stored = open_stored(X, name, minimum_rows, allow_nan)
    if stored is not None:
        if stored.n_known:
            check_shape(stored, name, minimum_rows)
        return stored
    array, feature_names = open_matrix(X, name)
    check_shape(array, name, minimum_rows)
    if hasattr(array, "tocsr"):
        array = as_csr(array)
    samples = Samples(array, feature_names, name)
    has_nan = check_finite(samples, allow_nan)
    return Samples(array, feature_names, name, has_nan)


def derivatives_of(given: Given, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Xdot, row by row as X has them.

    Raises
    ------
    DataError
        Another shape than X's; numbers whose squares are none.
    """
    samples = as_samples(given, "derivatives")
    check_squares(samples)
    if samples.shape != shape:
        raise DataError(f"derivatives has shape {samples.shape}, expected {shape}, as X has")
    return samples.dense()


def open_stored(X: object, name: str, minimum_rows: int, allow_nan: bool) -> Samples | None:
    """Samples of data that are larger than memory, if X stands for such data."""
    found = open_source(X, name, minimum_rows)
    return None if found is None else replace(found, allow_nan=allow_nan)


def open_source(X: Given, name: str, minimum_rows: int = 2) -> StoredSamples | None:
    """Samples that are read piece by piece, of X that may be larger than memory.

    Parameters
    ----------
    X : path, list, memory map, iterator, callable or Dask's
        A path is that of a .npy, .parquet, .csv or .tsv file, or of a folder of .parquet files. A
        list has arrays, data frames and paths, the rows of one below those of the other. Memory
        maps are large ones. An iterator gives blocks of rows, once; a callable returns a new
        iterator each time that the rows are read. A Dask array or DataFrame is read by workers.

    Returns
    -------
    StoredSamples, or None of any other X

    Raises
    ------
    ArgumentError
        The ending of a path is not known.
    DataError
        What is stored is no matrix of real numbers.
    FileNotFoundError
    """
    if is_dask(X):
        from ldr.objectives.data.dask_samples import DaskSamples  # imports dask

        return DaskSamples.open(X, name)
    if is_stream(X):
        return StreamSamples.of(X, name, minimum_rows)
    source: Source
    if isinstance(X, (str, Path)):
        source = open_path(X, name)
    elif isinstance(X, list) and X and all(map(_is_part, X)):
        source = Stack(tuple(_part(part, f"{name}[{i}]") for i, part in enumerate(X)), name)
    elif isinstance(X, np.memmap) and MemoryMap.worthwhile(X):
        source = MemoryMap(X)
    else:
        return None
    return stored(source, name)


def stored(source: Source, name: str) -> StoredSamples:
    """Samples of a source, whose columns must hold numbers."""
    check_real(source.dtype, name)
    return StoredSamples(source, source.feature_names, name)


def open_path(X: str | Path, name: str, separator: str = "") -> Source:
    """The source of a file (whose ending tells the separator), or of a folder of Parquet files."""
    # What reads files is imported where there is one.
    from ldr.objectives.data.sources.head import SEPARATORS
    from ldr.objectives.data.sources.npy import NpyFile
    from ldr.objectives.data.sources.parquet import ParquetFile, partition_keys
    from ldr.objectives.data.sources.text import TextFile

    path = as_path(X, name)
    ending = path.suffix.lower()
    if os.path.isdir(path):  # of a string that is too long for a path it is none
        files = sorted(path.rglob("*.parquet"))
        if not files:
            raise ArgumentError(f"{name}: the folder {str(path)!r} has no .parquet files")
        sources = tuple(ParquetFile(file, f"{name} ({file.name})") for file in files)
        return Partitions(sources, name, partition_keys([file.relative_to(path) for file in files]))
    if ending == ".parquet":
        return ParquetFile(path, name)
    if ending in SEPARATORS:
        return TextFile.open(path, name, separator)
    if ending == ".npy":
        return NpyFile.open(path, name)
    if ending in (".npz", ".mat"):
        raise ArgumentError(
            f"{name}: {ending} files are read as a whole: pass the array that "
            f"{'numpy.load' if ending == '.npz' else 'scipy.io.loadmat'} finds in {path.name}"
        )
    known = ", ".join((".npy", ".parquet", *SEPARATORS))
    raise ArgumentError(
        f"{name} is the string {str(X)!r}; an array was expected, or the path of a file that ends "
        f"in one of {known}, or of a folder of .parquet files"
    )


def as_path(path: str | Path, name: str) -> Path:
    """
    Raises
    ------
    ArgumentError
        It has a character that no path has.
    """
    if "\0" in str(path):
        raise ArgumentError(f"{name} {str(path)!r} is no path: it has a NUL character")
    return Path(path)


def with_columns(X: object, **beside: object) -> tuple[Given, ...]:
    """X and what stands beside its rows, which may be columns of X's files or .npy files.

    A column is named by a string, or by the pair of one and `str`: then its cells are texts.

    Returns
    -------
    X : as given, or StoredSamples of the columns that are left
    *beside : each as given, or ndarray (n,)
    """
    for name, given in beside.items():
        if isinstance(given, Path) or (isinstance(given, str) and given.lower().endswith(".npy")):
            beside[name] = _array_in(as_path(given, name), name)
    named = {name: given for name, given in beside.items() if isinstance(given, str)}
    texts = {name: given[0] for name, given in beside.items() if _is_of_texts(given)}
    named |= texts
    if not named:
        return X, *beside.values()
    table = open_table(X, "X")
    if table is None:
        name, given = next(iter(named.items()))
        raise DataError(
            f"{name} is the string {given!r}, which names a column where X is the path of a table; "
            "an array was expected, or the path of an .npy file"
        )
    check_known(list(named.values()), table.columns, "X")
    rest = [column for column in table.columns if column not in named.values()]
    columns = {name: table.column(given, name in texts) for name, given in named.items()}
    found = beside | columns
    return stored(table.select(rest), "X"), *found.values()


def _is_of_texts(given: object) -> TypeGuard[tuple[str, type[str]]]:
    return isinstance(given, tuple) and given[1:] == (str,) and isinstance(given[0], str)


def open_table(X: object, name: str) -> TableSource | None:
    """The source of paths whose columns have names, and None of any other X."""
    if isinstance(X, (str, Path)):
        source = open_path(X, name)
    elif isinstance(X, list) and X and all(isinstance(path, (str, Path)) for path in X):
        source = Stack(tuple(open_path(path, f"{name}[{i}]") for i, path in enumerate(X)), name)
    else:
        return None
    return cast(TableSource, source) if source.feature_names is not None else None


def _array_in(path: Path, name: str) -> Given:
    """The array in an .npy file."""
    with path.open("rb") as file:
        try:
            return np.lib.format.read_array(file, allow_pickle=False)
        except ValueError as error:
            raise DataError(f"{name}: {path.name} cannot be read as .npy: {error}") from error


def _is_part(X: object) -> bool:
    """Whether an element of a list holds rows by itself."""
    return isinstance(X, (str, Path)) or (hasattr(X, "shape") and len(X.shape) == 2)


def _part(X: object, name: str) -> Source:
    """The source of an element of a list."""
    found = open_source(X, name)
    if found is not None:
        return cast(Source, found.array)
    array, feature_names = open_matrix(X, name)
    if not isinstance(array, np.ndarray):
        raise DataError(f"{name} is sparse, a dense array was expected: stack sparse ones first")
    return InMemory(array, feature_names)
