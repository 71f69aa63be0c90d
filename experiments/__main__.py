"""``python -m experiments``."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

import ldr
from experiments.recipes import METHODS, RECIPES

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Reruns of the comparisons of Cunningham and Ghahramani, JMLR 16 (2015).",
)


@app.callback()
def _experiments() -> None:
    """Without it, an application of one command would drop the command's name."""


@app.command()
def recipes(
    seed: Annotated[int, typer.Option(help="Of the data.")] = 0,
    d: Annotated[int, typer.Option("-d", min=2, help="Dimensions of the data.")] = 16,
    r: Annotated[int, typer.Option("-r", min=1, help="Dimensions to reduce to.")] = 3,
) -> None:
    """Solve one data set of every method and recipe, and print what was gained."""
    if r > d:
        raise typer.BadParameter(f"r = {r} is out of range: expected r <= d = {d}")
    table = Table(
        title=f"d = {d}, r = {r}, seed {seed}",
        box=box.SIMPLE_HEAD,
        padding=0,  # fits into 80 columns
    )
    for name in ("method", "recipe"):
        table.add_column(name)
    for name in ("heuristic", "optimised", "improvement", "certificate", "seconds"):
        table.add_column(name, justify="right")
    for number, (method, make) in enumerate(METHODS.items()):
        for recipe in RECIPES:
            rng = np.random.default_rng([seed, number, RECIPES.index(recipe)])
            data = make(d, r, rng, recipe)
            result = ldr.solve(method, data.X, r, y=data.y)
            assert result.certificate is not None
            table.add_row(
                method,
                recipe,
                f"{result.baseline:.6g}",
                f"{result.value:.6g}",
                f"{result.improvement:+.5f}",
                result.certificate.kind,
                f"{result.seconds:.3f}",
            )
    Console().print(table)


if __name__ == "__main__":
    app(prog_name="python -m experiments")
