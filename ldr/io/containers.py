"""Arrays in the container that the data came in: DataFrame in, DataFrame out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldr.solvers.manifolds import Array


def like(X: Any, Y: Array, names: Sequence[str]) -> Any:
    """Y as a data frame with these columns where X is one, with its index; else Y itself.

    Parameters
    ----------
    X : data as the user gave them
    Y : ndarray (m, r)
    names : sequence of str
        Of the r columns.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or ndarray (m, r)
    """
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "columns"):
        import pandas

        return pandas.DataFrame(Y, index=X.index, columns=list(names))
    if library == "polars" and hasattr(X, "columns"):
        import polars

        return polars.DataFrame(Y, schema=list(names))
    return Y
