"""Opening of data: arrays, frames, paths, lists and iterators become samples."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.array_types import Given, as_csr, check_shape, is_dask, open_matrix
from ldr.objectives.data.data import Samples
from ldr.objectives.data.memory import check_finite, check_squares
from ldr.objectives.data.sources import (
    SEPARATORS,
    InMemory,
    MappedFile,
    ParquetFiles,
    Source,
    Stack,
    Stream,
    Table,
    TextFile,
    check_known,
    is_stream,
    load_npy,
)
from ldr.objectives.data.stored import StoredSamples
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.errors import ArgumentError, DataError


def as_samples(
    X: object, name: str = "X", minimum_rows: int = 2, *, allow_nan: bool = False
) -> Samples:
    """Open and check data in any of the usual containers.

    - X (n, d): an array of any real type, a memory map, a list of lists, a scipy.sparse matrix or
      array (kept sparse), a data frame with numeric columns, or an argument of `open_source`: the
      path of a file, a list of arrays or paths, an iterator of blocks of rows. Rows of
      `open_source` are read and checked chunk by chunk when a method needs the rows. X is never
      changed. A `Samples` is returned unchanged.
    - name: name of the argument in messages
    - minimum_rows: smallest allowed number of rows
    - allow_nan: accept NaN as missing values. Infinite values are always refused.
    - raises DataError: X is not two-dimensional, has too few rows or no columns, has other entries
      than real numbers, is a masked array, or has NaN or infinite values.
    """
    if isinstance(X, Samples):
        if X.n_known and X.n < minimum_rows:
            check_shape(X, X.name, minimum_rows)
        return X.taken(allow_nan)
    stored = None if type(X) is np.ndarray else open_stored(X, name, minimum_rows)
    if stored is not None:
        if stored.n_known:
            check_shape(stored, name, minimum_rows)
        return stored.taken(allow_nan)
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.flags.forc:
        with np.errstate(over="ignore", invalid="ignore"):
            squares = float(np.dot(flat := X.ravel(order="K"), flat))
        if len(X) >= minimum_rows and len(flat) * SMALLEST**2 <= squares <= LARGEST**2 and squares:
            return Samples(X, None, name, in_range=True)
    array, feature_names = open_matrix(X, name)
    check_shape(array, name, minimum_rows)
    if hasattr(array, "tocsr"):
        array = as_csr(array)
    samples = Samples(array, feature_names, name)
    return replace(samples, has_nan=True) if check_finite(samples, allow_nan) else samples


def derivatives_of(given: Given, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Return the time derivatives as an array; refuse a shape other than that of X."""
    samples = as_samples(given, "derivatives")
    check_squares(samples)
    if samples.shape != shape:
        raise DataError(f"derivatives has shape {samples.shape}, expected the shape of X, {shape}")
    return samples.dense()


def open_stored(X: Given, name: str, minimum_rows: int = 2) -> StoredSamples | None:
    """Open an X that may exceed the memory as samples that are read chunk by chunk.

    - X: a path of a .npy, .parquet, .csv or .tsv file, or of a folder of .parquet files; a list of
      arrays, data frames and paths, with the rows in this order; an iterator, which yields blocks
      of rows once; a callable, which returns a new iterator for each pass; or a Dask array or
      DataFrame, read by workers
    """
    if is_dask(X):
        from ldr.objectives.data.dask_samples import DaskSamples  # imported late: it loads dask

        return DaskSamples.open(X, name)
    source = open_source(X, name, minimum_rows)
    return None if source is None else StoredSamples(source, source.feature_names, name)


def brought(y: object) -> Given:
    """Return labels or a response as an array; a Dask array is computed and fetched."""
    if y is None or isinstance(y, np.ndarray) or not is_dask(y):
        return y
    from ldr.objectives.data.dask_samples import computed

    return np.asarray(computed(y))


def open_source(X: Given, name: str, minimum_rows: int = 2) -> Source | None:
    """Open the source of the rows of X; None for data in memory."""
    if isinstance(X, Source):
        return X
    if isinstance(X, (str, Path)):
        source = open_path(X, name)
        source.check_unchanged()
        return source
    if is_stream(X):
        return Stream(X, name, minimum_rows)
    if isinstance(X, list) and X and all(map(_is_part, X)):
        return Stack([_part(part, f"{name}[{i}]") for i, part in enumerate(X)], name)
    return MappedFile.of(X, name) if isinstance(X, np.memmap) else None


def open_path(X: str | Path, name: str, separator: str = "", header: bool = True) -> Source:
    """Open a file, or a folder of Parquet files; see `TextFile` for the options."""
    path = as_path(X, name)
    ending = path.suffix.lower()
    try:
        folder = path.is_dir()
    except OSError as error:  # the operating system refuses a name that is too long
        folder = False
        if ending:
            reason = f"is not a valid path: {error.strerror}"
            raise ArgumentError(f"{name} {str(path)[:40]}... {reason}") from None
    if ending == ".parquet" or folder:
        return ParquetFiles(path, name)
    if ending in SEPARATORS:
        return TextFile(path, name, separator, header)
    if ending == ".npy":
        return MappedFile(path, name)
    if ending in (".npz", ".mat"):
        raise ArgumentError(
            f"{name}: {ending} files cannot be read in blocks: pass the array that "
            f"{('numpy.load' if ending == '.npz' else 'scipy.io.loadmat')} reads from {path.name}"
        )
    known = ", ".join((".npy", ".parquet", *SEPARATORS))
    raise ArgumentError(
        f"{name} is the string {str(X)!r}; expected an array, the path of a file that ends in one "
        f"of {known}, or the path of a folder of .parquet files"
    )


def without_header(X: Given, name: str = "X") -> Given:
    """Open the .csv and .tsv files in X as files without a header line."""
    if isinstance(X, (str, Path)) and Path(X).suffix.lower() in SEPARATORS:
        return open_path(X, name, header=False)
    if isinstance(X, dict):
        return {key: without_header(view, f"{name}[{key!r}]") for key, view in X.items()}
    if isinstance(X, (list, tuple)) and any(isinstance(part, (str, Path)) for part in X):
        return type(X)(without_header(part, f"{name}[{i}]") for i, part in enumerate(X))
    return X


def as_path(path: str | Path, name: str) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"{name} is {path!r}, expected the path of a file")
    if not str(path).strip():
        raise ArgumentError(f"{name} is the string {str(path)!r}, expected the path of a file")
    if "\0" in str(path):
        raise ArgumentError(f"{name} {str(path)!r} is not a valid path: it has a NUL character")
    return Path(path)


def with_columns(X: object, **beside: object) -> tuple[Given, ...]:
    """Return X, and labels or weights that may be named columns of X's files, or .npy files.

    A string names a column; the pair (name, str) reads the column's cells as text.
    """
    named, texts = {}, set()
    for name, given in beside.items():
        if isinstance(given, Path) or (isinstance(given, str) and given.lower().endswith(".npy")):
            beside[name] = _array_in(as_path(given, name), name)
        elif isinstance(given, str):
            named[name] = given
        elif isinstance(given, tuple) and given[1:] == (str,) and isinstance(given[0], str):
            named[name] = given[0]
            texts.add(name)
    if not named:
        return X, *beside.values()
    table = open_table(X, "X")
    if table is None:
        name, given = next(iter(named.items()))
        raise DataError(
            f"{name} is the string {given!r}, but a string can name a column only if X is the path "
            "of a table: pass an array, or the path of an .npy file"
        )
    check_known(list(named.values()), table.columns, "X")
    rest = [column for column in table.columns if column not in named.values()]
    columns = {name: table.column(given, name in texts) for name, given in named.items()}
    found = beside | columns
    return table.select(rest), *found.values()


def open_table(X: object, name: str) -> Source | None:
    """Open paths with named columns as a source; None for any other X."""
    paths = X if isinstance(X, list) and X else [X]
    if not all(isinstance(path, (str, Path, Table)) for path in paths):
        return None
    source = open_source(X, name)
    parts = source.sources if isinstance(source, Stack) else [source]
    return source if all(isinstance(part, Table) for part in parts) else None


def _array_in(path: Path, name: str) -> Given:
    """Return the array in an .npy file."""
    if path.is_dir():
        raise ArgumentError(f"{name}: {str(path)!r} is a folder, expected the path of an .npy file")
    return np.array(load_npy(path, name))


def _is_part(X: object) -> bool:
    """Return True if an element of a list holds rows by itself."""
    return isinstance(X, (str, Path, Source)) or (hasattr(X, "shape") and len(X.shape) == 2)


def _part(X: object, name: str) -> Source:
    """Return the source of an element of a list."""
    if is_dask(X):
        raise DataError(f"{name} is a Dask array in a list: pass dask.array.vstack(X) instead")
    source = open_source(X, name)
    if source is not None:
        return source
    array, feature_names = open_matrix(X, name)
    if not isinstance(array, np.ndarray):
        raise DataError(f"{name} is sparse, a dense array was expected: stack sparse arrays first")
    return InMemory(array, feature_names, name)
