"""The verb `check`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ldr.cli.inputs import Input, load, one_line_each, opened
from ldr.cli.options import ObjectiveName, Seed, Selection
from ldr.cli.printing import FAILED


def check(
    *,
    objective: ObjectiveName,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="[DATA]", help="Rows to check it on; by default 100 random ones."),
    ] = None,
    r: Annotated[int, typer.Option("-r", "--r", metavar="R", help="Columns of M.")] = 2,
    selection: Selection,
    seed: Seed = 0,
) -> None:
    """Test the gradient, the Hessian and the manifold of an objective.

    The exit code is 1 if a test did not pass.
    """
    import ldr

    rows = (
        _random_rows(objective, selection, seed)
        if data is None
        else opened(objective, data, selection)
    )
    with rows as given:
        checked = ldr.check(
            given.objective, given.X, r, y=given.y, **given.options, random_state=seed
        )
    print(checked)
    if not checked.passed:
        raise typer.Exit(FAILED)


@contextmanager
def _random_rows(objective: str, selection: Selection, seed: int | None) -> Iterator[Input]:
    import numpy as np

    from ldr.cli.user_code import located

    X = np.random.default_rng(seed).standard_normal((100, 6))
    with one_line_each(), located(objective):
        yield Input(load(objective, selection.param), X, None, X)
