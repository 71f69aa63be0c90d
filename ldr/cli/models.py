"""The verbs `transform` and `impute`: what a saved model says of new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ldr.cli.inputs import one_line_each
from ldr.cli.options import DataFile, Separator, Views
from ldr.cli.printing import check_outputs

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="What `ldr solve --save` wrote: .npz.")
]


def transform(
    *,
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The projected rows: .csv, .tsv, .parquet, .npy.")
    ],
    view: Views = None,
    sep: Separator = "",
) -> None:
    """Project a file's rows by a saved model.

    Columns are found by their names, where the model knows them; others are left alone.
    """
    import ldr
    from ldr.errors import ArgumentError
    from ldr.io.files import read, write_projection
    from ldr.io.filling import known_columns

    files = [data, *(view or ())]
    check_outputs({"--out": out}, {"MODEL": [model], "DATA": files})
    with one_line_each():
        result = ldr.load(model)
        several = isinstance(result.P, tuple)
        named = result.feature_names if several else (result.feature_names,)
        if len(files) != len(named):
            raise ArgumentError(
                f"{model} is of {result.objective.name!r}, of {len(named)} view(s), and there are "
                f"{len(files)} file(s): give --view for each but the first"
            )
        gaps = result.model is not None and result.features is None
        rows = tuple(
            known_columns(read(file, sep), names).samples(gaps)
            for file, names in zip(files, named, strict=True)
        )
        write_projection(out, result, rows if several else rows[0])
    print(f"written {out}")


def impute(
    *,
    model: ModelFile,
    data: DataFile,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="All columns: .csv, .tsv, .parquet or .npy.")
    ],
    sep: Separator = "",
) -> None:
    """Fill in the empty cells of a file by a saved model of ppca or fa.

    Each becomes its expectation given those of its row that are there.
    """
    import ldr
    from ldr.io.files import read
    from ldr.io.filling import write_filled

    check_outputs({"--out": out}, {"MODEL": [model], "DATA": [data]})
    with one_line_each():
        count = write_filled(out, ldr.load(model), read(data, sep))
    print(f"{count} missing values filled in; written {out}")
