"""The verbs `test`, `dimension` and `bootstrap`: what is more than chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldr.cli.inputs import Input, files_read, opened
from ldr.cli.options import (
    Cluster,
    DataFile,
    Dimensions,
    Folds,
    Json,
    ObjectiveName,
    Rule,
    Selection,
    check_outputs,
)
from ldr.validation import finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.inference.bootstrap import Bootstrap
    from ldr.inference.dimension import Dimension
    from ldr.inference.permutation import PermutationTest


@dataclass(frozen=True)
class Inquiry:
    """What all of them take: what is drawn from, who reads the files, where the answer goes."""

    seed: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Of permutations, folds and draws.")
    ] = None
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help=".png, .pdf or .svg.")] = None
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What was found, with its picture: .html.")
    ] = None
    cluster: Cluster = ""
    as_json: Json = False

    @contextmanager
    def of(self, objective: str, data: Path, selection: Selection) -> Iterator[Input]:
        """The input, once it is known that the answer can be written."""
        from ldr.observers import Bar

        outputs = {"--plot": self.plot, "--report": self.report}
        check_outputs(outputs, files_read(objective, data, selection))
        with opened(objective, data, selection, self.cluster) as given, Bar():
            yield given

    def answer(
        self,
        found: Bootstrap | Dimension | PermutationTest,
        summary: Mapping[str, object],
        data_name: str,
        draw: Callable[[], Figure] | None = None,
    ) -> None:
        """Write the picture and the page, and print what was found."""
        from ldr.io.outputs import write_figure
        from ldr.report import write_finding

        draw = draw or found.plot
        if self.plot is not None:
            write_figure(self.plot, draw())
        if self.report is not None:
            write_finding(self.report, found, figure=draw(), data_name=data_name)
        print(json.dumps(summary, allow_nan=False, indent=2) if self.as_json else found)


def test(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimensions = 2,
    selection: Selection,
    permutations: Annotated[int, typer.Option(metavar="NUMBER")] = 999,
    null: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="How samples change places: auto, rows, within (groups), groups or shift.",
        ),
    ] = "auto",
    inquiry: Inquiry,
) -> None:
    """Whether an optimum is more than what is found where there is nothing."""
    import ldr

    with inquiry.of(objective, data, selection) as given:
        found = ldr.permutation_test(
            given.objective,
            given.X,
            r,
            y=given.y,
            **given.options,
            permutations=permutations,
            null=null,
            random_state=inquiry.seed,
        )
    summary = {
        "value": found.value,
        "p_value": found.p_value,
        "error": found.error,
        "p_values": found.p_values and [finite(p) for p in found.p_values],
        "permutations": len(found.null),
        "null": found.kind,
    }
    inquiry.answer(found, summary, data.name)


def dimension(
    *,
    objective: ObjectiveName,
    data: DataFile,
    selection: Selection,
    method: Annotated[
        str, typer.Option(metavar="RULE", help="auto, permutation, ladle, bic, folds or parallel.")
    ] = "auto",
    most: Annotated[int | None, typer.Option(metavar="R", help="The largest to look at.")] = None,
    folds: Folds = "5",
    rule: Rule = None,
    inquiry: Inquiry,
) -> None:
    """How many directions there are, by the rule that fits the method."""
    import ldr

    with inquiry.of(objective, data, selection) as given:
        found = ldr.dimension(
            given.objective,
            given.X,
            given.y,
            **given.options,
            method=method,
            most=most,
            folds=folds,
            rule=rule,
            random_state=inquiry.seed,
        )
    summary = {
        "r": found.r,
        "rule": found.rule,
        "criterion": found.criterion,
        "candidates": found.candidates.tolist(),
        "scores": [finite(score) for score in found.scores.tolist()],
        "notes": list(found.notes),
    }
    inquiry.answer(found, summary, data.name)


def bootstrap(
    *,
    objective: ObjectiveName,
    data: DataFile,
    r: Dimensions = 2,
    selection: Selection,
    draws: Annotated[int, typer.Option(metavar="NUMBER")] = 200,
    block: Annotated[
        int | None,
        typer.Option(metavar="ROWS", help="Rows drawn together, of time series."),
    ] = None,
    bca: Annotated[bool, typer.Option("--bca", help="Mend bias and skewness.")] = False,
    inquiry: Inquiry,
) -> None:
    """How far the projection moves over resampled data: angles, an interval for every entry."""
    import ldr
    from ldr.objectives.data.data import as_tuple

    with inquiry.of(objective, data, selection) as given:
        found = ldr.bootstrap(
            given.objective,
            given.X,
            r,
            y=given.y,
            **given.options,
            draws=draws,
            block=block,
            bca=bca,
            random_state=inquiry.seed,
        )
    ends = found.interval()
    summary = {
        "value": found.result.value,
        "values": found.values.tolist(),
        "region": found.region(),
        "intervals": [
            {"low": low.tolist(), "P": P.tolist(), "high": high.tolist()}
            for (low, high), P in zip(
                ends if isinstance(found.result.P, tuple) else (ends,),
                as_tuple(found.result.P),
                strict=True,
            )
        ],
    }
    inquiry.answer(found, summary, data.name, found.plot_loadings)
