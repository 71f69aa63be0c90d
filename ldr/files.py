"""Reading and writing of .csv, .tsv, .parquet, .npy, .npz and .mat files.

pyarrow reads tables, as in `ldr.solve`, and pandas writes them (with pyarrow for .parquet). NumPy
and SciPy read and write the other files.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from ldr.errors import in_words
from ldr.objectives.data.array_types import Cells, Matrix
from ldr.objectives.data.data import Samples, as_tuple, single
from ldr.objectives.data.opening import as_path, as_samples, open_path
from ldr.objectives.data.sources import MappedFile, Source, arrow, check_known, load_npy
from ldr.objectives.data.stored import StoredSamples, lazy_rows, side_by_side
from ldr.solvers.errors import ArgumentError, DataError, DataWarning, needed, warn
from ldr.solvers.manifolds import Array
from ldr.tables import view_letters
from ldr.types import Argument, Frame, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.result import Result


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Yield a new file in the same folder, which replaces `path` once complete.

    If writing fails or is interrupted, `path` is unchanged and the new file is removed. Symbolic
    links and permissions are kept. If `path` is a device or a pipe, `path` itself is yielded.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    ending = Path(path).suffix.lower()
    new = target.with_name(f".ldr-{uuid4().hex}{ending}")
    try:
        yield new
        if target.exists():
            shutil.copymode(target, new)
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(target)
    except OSError as error:
        if error.filename not in (None, str(new)):  # the error concerns a file other than `path`
            raise
        reason = f"cannot be written: {error.strerror or error}"
        raise OSError(error.errno or errno.EIO, reason, str(path)) from error
    finally:
        new.unlink(missing_ok=True)


def write_figure(path: str | Path, figure: Figure, **style: Argument) -> None:
    """Write a plot to a file; the format follows from the ending.

    The plot is rendered in memory first, because matplotlib does not always report a full disk.
    """
    drawn = BytesIO()
    figure.savefig(drawn, format=Path(path).suffix[1:].lower(), **style)
    with replaced(path) as file:
        file.write_bytes(drawn.getbuffer())


def check_outputs(
    outputs: Mapping[str, str | Path], inputs: Mapping[str, Iterable[str | Path]]
) -> None:
    """Raise an error if an output file cannot be written or is also an input file.

    - outputs: paths of the files to write; the keys are their names in messages
    - inputs: paths of the files, or of folders of .parquet files, that are read
    """
    seen: dict[str, Path] = {}
    for name, output in outputs.items():
        path = as_path(output, name)
        _check_writable(path)
        for other, sources in inputs.items():
            for source in (as_path(source, other) for source in sources):
                if _is_part(path, source):
                    raise ArgumentError(
                        f"the output {name} {path} would overwrite the input {source} ({other}): "
                        "give another output file"
                    )
        for other, earlier in seen.items():
            if _is_same(path, earlier):
                raise ArgumentError(
                    f"{name} {path} and {other} {earlier} are the same file: give another file"
                )
        seen[name] = path


def files_of(X: Rows) -> list[Path]:
    """Return the files that contain the samples X, if X comes from files."""
    if isinstance(X, (str, Path)):
        return [Path(X)]
    if isinstance(X, StoredSamples):
        return list(getattr(X.array, "files", ()))  # streams and Dask arrays come from no file
    if isinstance(X, Samples):
        return files_of(X.array)
    if isinstance(X, np.memmap):
        return [] if X.filename is None else [Path(X.filename)]
    if isinstance(X, (tuple, list)) and X and not isinstance(X[0], Real):
        return [file for part in X for file in files_of(part)]
    return []


def _check_writable(path: Path) -> None:
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise ArgumentError(f"{path}: the folder {str(path.parent)!r} does not exist")
    if target.is_dir():
        raise ArgumentError(f"{path} is a folder, expected a file")
    for written in (target, target.parent) if target.exists() else (target.parent,):
        if not os.access(written, os.W_OK):
            raise PermissionError(errno.EACCES, "no permission to write", str(written))


def _is_part(output: Path, source: Path) -> bool:
    """Return True if an output equals an input, or would become part of an input folder."""
    if not source.is_dir():
        return _is_same(output, source)
    within = Path(os.path.realpath(output)).is_relative_to(os.path.realpath(source))
    if within and output.suffix.lower() == ".parquet":
        return True
    return any(_is_same(output, file) for file in source.rglob("*.parquet"))


def _is_same(one: Path, other: Path) -> bool:
    """Return True if two paths refer to the same file, by links or by letter case."""
    try:
        return one.samefile(other)
    except OSError:  # one of the two files does not exist
        return os.path.realpath(one) == os.path.realpath(other)


# Size in bytes from which a file is read in chunks of rows.
LARGE = 2**26

TABLES = (".csv", ".tsv", ".parquet")
ARRAYS = (".npy", ".npz", ".mat")


@dataclass(frozen=True, eq=False)
class Table:
    """Content of a file: a matrix, its column names if any, and the other arrays.

    - name: name of the file, for messages
    - X (n, d): an array, a sparse matrix, a Dask array or DataFrame, or a `Source` to read
    - beside: the other arrays of an .npz or .mat file
    - loaded: True if the rows of a source are kept in memory once read, False if they are not
    """

    name: str
    X: Rows
    beside: dict[str, Array] = field(default_factory=dict)
    loaded: bool = False

    @property
    def columns(self) -> list[str]:
        """Names of the columns, or their indices from 0."""
        source = isinstance(self.X, Source)
        names = self.X.feature_names if source else getattr(self.X, "columns", None)
        return list(map(str, range(self.X.shape[1]) if names is None else names))

    def column(self, name: str, as_text: bool = False) -> Cells:
        """Return a column, or another array of the file; with `as_text` its entries as text."""
        if isinstance(self.X, Source):
            named = (column for column in self.X.columns if column.strip() == name)
            return self.X.column(next(named, name), as_text)
        if name in self.beside:
            found = self.beside[name]
            found = np.ravel(found) if 1 in found.shape else found
        else:
            check_known([name], [*self.beside, *self.columns], self.name)
            column = self.select([name]).X
            found = np.ravel(column.toarray() if hasattr(column, "toarray") else column)
        return found.astype(str) if as_text else found

    def response(self, names: Sequence[str], as_text: bool = False) -> Cells:
        """Return y: one column, or several as a matrix."""
        columns = [self.column(name, as_text) for name in names]
        return columns[0] if len(columns) == 1 else np.column_stack(list(map(np.asarray, columns)))

    def select(self, only: Sequence[str] = (), without: Sequence[str] = ()) -> Table:
        """Return a table of some columns in the given order; by default of all others."""
        columns, X = self.columns, self.X
        keys = set(X.columns) - set(columns) if isinstance(X, Source) else ()
        left_out = {self._position(name) for name in without if name not in keys}
        wanted = dict.fromkeys(map(self._position, only or columns))
        where = [j for j in wanted if j not in left_out]
        if not where:
            raise ArgumentError(f"all columns of {self.name} are left out")
        if where == list(range(len(columns))):
            return self  # returns the same object, because a copy would load a memory map
        if isinstance(X, Source):
            return replace(self, X=X.select([columns[j] for j in where]))
        return replace(self, X=X.iloc[:, where] if hasattr(X, "iloc") else X[:, where])

    @in_words
    def samples(self, allow_nan: bool = False) -> Samples:
        """Return the rows as numbers; empty cells are NaN if NaN is allowed."""
        rows = as_samples(self.X, self.name, allow_nan=allow_nan)
        return as_samples(rows.in_memory(), allow_nan=allow_nan) if self.loaded else rows

    def _position(self, name: str) -> int:
        columns = [name if column.strip() == name else column for column in self.columns]
        check_known([name], columns, self.name)
        return columns.index(name)


def read(path: str | Path, separator: str = "", header: bool = True) -> Table:
    """Read the matrix in a file.

    - path: .csv, .tsv and .parquet files and folders of .parquet files have named columns. Large
      files of these kinds and .npy files are not loaded: their rows are read when needed. From an
      .npz or .mat file the array X is read, or the only array with several rows and columns;
      ``data.mat:name`` selects another. An .npz file of scipy.sparse stays sparse.
    - separator: separator of text; by default the comma for .csv and the tab for .tsv
    - header: True if the first line of text names the columns; otherwise names are 0, 1, ...
    - raises FileNotFoundError
    - raises ldr.errors.ArgumentError: unknown ending, missing pandas or pyarrow, no such array.
    - raises ldr.errors.DataError: the content does not match the ending.
    """
    path, wanted = split_array(str(as_path(path, "the file")))
    if path.is_dir():
        return Table(path.name, open_path(path, path.name))
    ending = ending_of(path)
    if not path.exists():
        raise FileNotFoundError(2, "no such file", str(path))
    large = path.stat().st_size >= LARGE
    try:
        if ending in TABLES:
            source = open_path(path, path.name, separator, header)
            return Table(path.name, source, loaded=not large)
        if ending == ".npy":
            array = load_npy(path, path.name)
            if array.ndim == 2:
                return Table(path.name, MappedFile(path, path.name), loaded=not large)
            return Table(path.name, _matrix(array, path.name))
        arrays = _read_mat(path) if ending == ".mat" else _read_npz(path)
    except (ArgumentError, DataError, OSError, MemoryError):
        raise
    except Exception as error:  # libraries that read files may raise any exception
        raise DataError(f"{path.name} cannot be read as {ending}: {error}") from error
    return _one_of(arrays, wanted, path.name)


def write_projection(path: str | Path, result: Result, X: Rows) -> None:
    """Write projected samples to a file, in chunks if the samples are stored in files."""
    check_outputs({"path": path}, {"X": files_of(X)})
    views = as_tuple(X)
    whole = lazy_rows(views[0]) is not None or not any(view.stored for view in views)
    if whole or ending_of(Path(path)) in (".npz", ".mat"):
        write(path, result, result.transform(X))
        return
    first, *others = side_by_side(views)
    parts = (result.transform(single(pieces)) for pieces in first.walk(*others))
    _write_parts(path, result, parts, lambda: first.n)


def write(path: str | Path, result: Result, Y: Rows) -> None:
    """Write projected samples to a file, atomically.

    - path: .csv, .tsv, .parquet: a column for each component (of both views, if there are two).
      .npy: the array Y. .npz, .mat: Y with M, P and mean of the result (for two views with the
      suffixes "_a" and "_b").
    """
    ending, views = ending_of(Path(path)), as_tuple(result.P)
    check_outputs({"path": path}, {})
    if ending not in (".npz", ".mat"):
        _write_parts(path, result, [Y], lambda: len(as_tuple(Y)[0]))
        return
    arrays: dict[str, Any] = {"Y": Y, "M": result.M, "P": result.P, "mean": result.mean}
    if len(views) > 1:
        letters = view_letters(len(views))
        arrays = {
            f"{name}_{view}": array
            for name, both in arrays.items()
            for view, array in zip(letters, both, strict=True)
        }
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    with replaced(path) as file:
        if ending == ".npz":
            np.savez(file, **arrays)
        else:
            from scipy.io import savemat

            savemat(file, arrays)


def _write_parts(
    path: str | Path, result: Result, parts: Iterable[Rows], count: Callable[[], int]
) -> None:
    """Write projected samples to a table or an .npy file, in chunks."""
    ending = ending_of(Path(path))
    if ending == ".npy" and isinstance(result.P, tuple):
        raise ArgumentError("an .npy file cannot hold two views: write .npz, or a table")
    rows = (np.hstack(tuple(map(np.asarray, as_tuple(part)))) for part in parts)
    with replaced(path) as file:
        if ending != ".npy":
            names = sum(result.columns, ()) if isinstance(result.P, tuple) else result.columns
            write_frames(file, ending, rows, names)
            return
        header = {"descr": "<f8", "fortran_order": False, "shape": (count(), result.r)}
        with file.open("wb") as npy:
            np.lib.format.write_array_header_1_0(npy, header)
            for part in rows:  # np.save may not report that the disk is full
                npy.write(np.ascontiguousarray(part, "<f8").data)


def split_array(path: str) -> tuple[Path, str | None]:
    """Split ``data.mat:name`` into the file and the name of an array."""
    match = re.fullmatch(r"(.+\.(?:npz|mat)):(\w+)", path, flags=re.IGNORECASE)
    return (Path(match[1]), match[2]) if match else (Path(path), None)


def ending_of(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in TABLES + ARRAYS:
        known = ", ".join(TABLES + ARRAYS)
        raise ArgumentError(f"{path}: unknown ending {path.suffix!r}, expected one of {known}")
    return ending


def write_frames(
    path: Path, ending: str, parts: Iterable[Array | dict[str, Array]], names: Sequence[str]
) -> None:
    """Write chunks of rows to a table, in order."""
    pandas = needed("pandas", f"a {ending} file")
    frames = (pandas.DataFrame(part, columns=list(names)) for part in parts)
    if ending == ".parquet":
        pyarrow, parquet = arrow(files=ending), arrow("parquet", ending)
        tables = (pyarrow.Table.from_pandas(frame, preserve_index=False) for frame in frames)
        first = next(tables)
        with parquet.ParquetWriter(path, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        for i, frame in enumerate(frames):
            _warn_of_formulas(frame)
            frame.to_csv(file, sep="\t" if ending == ".tsv" else ",", index=False, header=i == 0)


def _warn_of_formulas(frame: Frame) -> None:
    """Warn of texts that a spreadsheet would run as formulas; they are written unchanged."""
    for name in frame.select_dtypes(exclude="number"):
        cells = frame[name].astype(str)
        if name.startswith(_FORMULA) or cells.str.startswith(_FORMULA).any():
            warn(
                f"column {name!r} has texts that begin with =, +, - or @, which a spreadsheet runs "
                "as formulas: import the column as text",
                DataWarning,
            )


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with open(path, "rb") as file, np.load(file) as archive:  # also closes the file after an error
        if {"data", "indices", "indptr", "shape"} <= set(archive.files):
            from scipy.sparse import load_npz

            return {"X": load_npz(path).tocsr()}
        return {name: archive[name] for name in archive.files}


def _read_mat(path: Path) -> dict[str, np.ndarray]:
    from scipy.io import loadmat

    try:
        arrays = loadmat(path, chars_as_strings=True, spmatrix=False)
    except NotImplementedError:
        raise DataError(
            f"{path.name} is a MATLAB file of version 7.3, which is HDF5: save it with -v7"
        ) from None
    return {name: _plain(array) for name, array in arrays.items() if not name.startswith("__")}


def _plain(array: np.ndarray) -> np.ndarray:
    """Convert a cell array to an array of strings, and a sparse matrix to CSR format."""
    if hasattr(array, "tocsr"):
        return array.tocsr()
    if getattr(array, "dtype", np.dtype(float)).kind == "O":
        return np.array([str(np.squeeze(cell)) for cell in array.ravel()])
    return array


def _one_of(arrays: dict[str, np.ndarray], wanted: str | None, name: str) -> Table:
    """Return the matrix among the arrays of a file, and the remaining arrays."""
    matrices = [key for key, array in arrays.items() if array.ndim == 2 and min(array.shape) > 1]
    key = wanted or ("X" if "X" in arrays else matrices[0] if len(matrices) == 1 else None)
    if key is None or key not in arrays:
        asked = f"no array {wanted!r}" if wanted else "no array called X, nor a single matrix"
        raise ArgumentError(f"{name} has {asked}: select one of {', '.join(arrays)}")
    beside = {other: array for other, array in arrays.items() if other != key}
    return Table(name, _matrix(arrays[key], name), beside)


def _matrix(array: np.ndarray, name: str) -> Matrix:
    """Return a matrix; a vector becomes a single column."""
    if array.ndim == 1:
        return array[:, None]
    if array.ndim != 2:
        raise DataError(f"{name} has an array of shape {array.shape}, expected a matrix")
    return array


def write_filled(path: str | Path, result: Result, table: Table) -> int:
    """Write a table with missing entries imputed by a model; other columns are unchanged.

    - path: .csv, .tsv, .parquet or .npy
    - result: a result of ppca or fa
    - returns: number of imputed values.
    """
    if result.model is None or result.features is not None:
        raise ArgumentError(
            f"a model of {result.objective.name!r} does not impute missing values: expected a "
            "model of 'ppca' or 'fa'"
        )
    path = Path(path)
    ending = ending_of(path)
    if ending not in (*TABLES, ".npy"):
        expected = ", ".join((*TABLES, ".npy"))
        raise ArgumentError(f"{path}: imputed tables are written as {expected}, got {ending}")
    rows = table.select(result.feature_names or ())
    given = rows.samples(allow_nan=True).dense()
    filled = result.model.impute(given)
    with replaced(path) as file:
        if ending == ".npy":
            np.save(file, filled)
        else:
            known = dict(zip(rows.columns, filled.T, strict=True))
            columns = {
                n: known[n] if n in known else np.asarray(table.column(n)) for n in table.columns
            }
            write_frames(file, ending, [columns], table.columns)
    return int(np.isnan(given).sum())
