"""Conversion from and to containers of rows: arrays, sparse matrices, data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.solvers.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Array = npt.NDArray[np.float64]
Cells: TypeAlias = npt.NDArray[Any]
CellType: TypeAlias = np.dtype[Any]
# Untyped data of users or of libraries: arrays, data frames, tables, columns.
Given: TypeAlias = Any
Matrix: TypeAlias = "Cells | csr_array"

# One-letter codes of NumPy's real number types: boolean, unsigned, integer, float.
REAL_KINDS = "biuf"


def check_unmasked(array: object, name: str) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(
            f"{name} is a masked array; a plain array was expected (fill the masked entries, or "
            "drop their rows)"
        )


def check_real(dtype: CellType, name: str) -> None:
    if dtype.kind not in REAL_KINDS:
        hint = f": if all entries are numbers, pass np.asarray({name}, float)"
        hint = "" if dtype.kind == "c" else hint
        raise DataError(f"{name} must hold real numbers, but its type is {dtype}{hint}")


def is_dask(X: object) -> bool:
    """Return True for a Dask array, DataFrame or Series, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def open_matrix(X: object, name: str) -> tuple[Given, tuple[str, ...] | None]:
    """Return the real matrix in a container, and the names of the columns or None."""
    array, feature_names = _open(X, name)
    check_dimensions(array, name)
    check_real(array.dtype, name)
    if type(array) is np.ndarray and not array.dtype.isnative:  # SciPy needs the native byte order
        array = array.astype(array.dtype.newbyteorder("="))
    return array, feature_names


def _open(X: Given, name: str) -> tuple[Given, tuple[str, ...] | None]:
    """Unwrap the container: an ndarray or sparse matrix, and the columns' names if any."""
    if type(X) is np.ndarray or isinstance(X, np.memmap) or hasattr(X, "tocsr"):
        return X, None
    if is_annotated(X):
        return open_matrix(X.X, name)[0], tuple(map(str, X.var_names))
    check_unmasked(X, name)
    if type(X).__name__ == "LazyFrame":
        raise DataError(f"{name} is a LazyFrame, not in memory: pass {name}.collect()")
    if all(hasattr(X, attribute) for attribute in ("columns", "dtypes", "to_numpy")):
        return open_frame(X, name)
    if is_labelled(X) and X.ndim == 2:
        named = X.dims[1] in X.coords
        return X.to_numpy(), tuple(map(str, X[X.dims[1]].to_numpy())) if named else None
    try:
        names = getattr(X, "column_names", None)  # of a table of pyarrow
        return np.asarray(X), names and tuple(names)
    except (TypeError, ValueError) as error:  # rows of unequal lengths, or a Dataset of xarray
        raise DataError(
            f"{name} could not be read as a 2-D array of numbers ({error}); "
            f"samples in rows of equal length were expected"
        ) from error


def is_labelled(X: Given) -> bool:
    """Return True for a DataArray of xarray, which need not be installed."""
    return type(X).__module__.startswith("xarray.") and hasattr(X, "to_numpy")


def is_annotated(X: Given) -> bool:
    """Return True for an AnnData object of anndata, which need not be installed."""
    return hasattr(X, "var_names") and getattr(X, "X", None) is not None


def open_frame(frame: Given, name: str) -> tuple[Cells, tuple[str, ...]]:
    """Return array and column names of a pandas or polars data frame."""
    names = tuple(str(column) for column in frame.columns)
    for column, dtype in zip(names, frame.dtypes, strict=True):
        if not _is_real_dtype(dtype):
            raise DataError(
                f"{name} has a column {column!r} of type {dtype}; numeric columns were expected: "
                "omit the column, or encode it as numbers"
            )
    array = np.asarray(frame.to_numpy())
    if array.dtype.kind not in REAL_KINDS:
        # Columns of several types became an array of objects, in which None is a missing entry.
        if hasattr(frame, "iloc"):
            array = np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            array = array.astype(np.float64)
    return array, names


def _is_real_dtype(dtype: Given) -> bool:
    """Return True if a column's type (numpy, pandas extension or polars) holds real numbers."""
    if callable(getattr(dtype, "is_numeric", None)):
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in REAL_KINDS


def as_csr(matrix: csr_array) -> csr_array:
    """Convert any scipy.sparse container to csr_array, without a copy of csr data.

    Duplicate entries are summed in a copy; the user's matrix is not changed.
    """
    from scipy.sparse import csr_array

    csr = csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_dimensions(array: Given, name: str) -> None:
    if array.ndim == 2:
        return
    hint = "; for one feature pass a column, np.reshape(x, (-1, 1))" if array.ndim == 1 else ""
    raise DataError(
        f"{name} must be 2-D (samples in rows, features in columns), "
        f"but has {array.ndim} dimension(s) and shape {tuple(array.shape)}{hint}"
    )


def check_shape(array: Given, name: str, minimum_rows: int) -> None:
    n, d = array.shape
    if n == 0 or d == 0:
        missing = "rows (samples)" if n == 0 else "columns (features)"
        raise DataError(f"{name} is empty: its shape is ({n}, {d}), it has no {missing}")
    if n < minimum_rows:
        raise DataError(
            f"{name} has {n} row(s) (samples); at least {minimum_rows} are needed "
            f"(samples go in rows: shape (n, d), got ({n}, {d}))"
        )


def like(X: Given, Y: Array, names: Sequence[str]) -> Given:
    """Return Y as a container like X: a frame with X's index, or an array of X's library.

    - Y (m, r)
    - names: names of the r columns
    - returns pandas.DataFrame, polars.DataFrame, xarray.DataArray, torch.Tensor, an array of
      another library of the array API such as jax, or ndarray (m, r)
    """
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "columns"):
        import pandas

        return pandas.DataFrame(Y, index=X.index, columns=list(names))
    if library == "polars" and hasattr(X, "columns"):
        import polars

        return polars.DataFrame(Y, schema=list(names))
    if is_labelled(X):
        import xarray

        rows = {name: each for name, each in X.coords.items() if each.dims == X.dims[:1]}
        coords = {**rows, "component": list(names)}
        return xarray.DataArray(Y, dims=(X.dims[0], "component"), coords=coords)
    return in_library_of(X, Y)


def in_library_of(X: Given, Y: Array) -> Given:
    """Return Y in X's library and on its device: jax, torch and others of the array API."""
    if type(X).__module__ == "torch":
        import torch

        return torch.as_tensor(Y, device=X.device)
    if not isinstance(X, np.ndarray) and hasattr(X, "__array_namespace__"):
        return X.__array_namespace__().asarray(Y, device=X.device)
    return Y
