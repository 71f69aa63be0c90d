"""Tables whose gaps a model fills in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ldr.io.files import TABLES, Table, ending_of, write_frames
from ldr.io.outputs import replaced
from ldr.result import Result
from ldr.solvers.errors import ArgumentError


def known_columns(table: Table, names: Sequence[str] | None) -> Table:
    """The columns that a model knows by their names, in its order; all where it knows none.

    - raises ldr.errors.ArgumentError: A column is not there.
    """
    return table.select(names) if names else table


def write_filled(path: str | Path, result: Result, table: Table) -> int:
    """A table with its missing entries replaced by a model, and other columns as they are.

    - path: .csv, .tsv, .parquet or .npy
    - result: of ppca or fa
    - returns: how many were filled in.
    - raises ldr.errors.ArgumentError: The result has no model of the columns; another ending.
    - raises OSError: The file cannot be written.
    """
    if result.model is None or result.features is not None:
        raise ArgumentError(
            f"the model is of {result.objective.name!r}, which fills in no missing values: solve "
            "'ppca' or 'fa'"
        )
    path = Path(path)
    ending = ending_of(path)
    if ending not in (*TABLES, ".npy"):
        expected = ", ".join((*TABLES, ".npy"))
        raise ArgumentError(f"{path}: filled tables are written as {expected}, got {ending}")
    rows = known_columns(table, result.feature_names)
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
