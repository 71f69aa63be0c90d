"""Results and comparisons as a self-contained HTML file of numbers and plots."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import ldr
from ldr import plots
from ldr.canvas import MOST_NAMES, parts
from ldr.files import check_outputs, files_of, replaced
from ldr.objectives.registry import REGISTRY, Entry
from ldr.solvers.errors import needed
from ldr.types import PerRow, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ldr.comparison import Comparison
    from ldr.inference.bootstrap import Bootstrap
    from ldr.inference.dimension import Dimension
    from ldr.inference.hypothesis_tests import PermutationTest
    from ldr.result import Result

    Finding = Bootstrap | Dimension | PermutationTest


@dataclass(frozen=True)
class Section:
    """A plot under a heading.

    Attributes
    ----------
    heading, caption : str
    image : str
        PNG image in base64.
    width : int
        Width on the page, in CSS pixels.
    """

    heading: str
    caption: str
    image: str
    width: int

    @classmethod
    def of_finding(cls, found: Finding, figure: Figure | None = None) -> Section:
        """Return a section with the question, the answer and the plot of a finding."""
        return cls.of(found.question, repr(found), figure or found.plot())

    @classmethod
    def of(cls, heading: str, caption: str, figure: Figure) -> Section:
        """Return a section with a plot, which is embedded in the page."""
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=150)  # 150 dots per inch are sharp on every screen
        width = round(figure.get_figwidth() * figure.dpi)
        return cls(heading, caption, base64.b64encode(file.getvalue()).decode(), width)


def write_report(
    path: str | Path,
    result: Result,
    X: Rows,
    y: PerRow = None,
    *,
    data_name: str = "",
    findings: Sequence[Finding] = (),
) -> None:
    """Write the report of a result.

    Parameters
    ----------
    path : str or pathlib.Path
        Path of the HTML file.
    result : Result
    X, y
        Samples to project, and y to colour them, as in `ldr.plots.projection`.
    data_name : str
        Name of the data.
    findings : sequence
        Results of `ldr.permutation_test`, `ldr.dimension` and `ldr.bootstrap`, as text and plots.

    Raises
    ------
    ldr.errors.ArgumentError, ldr.errors.DataError
        X or y do not match the result, or the file of X cannot be read.
    OSError
        The file cannot be written.
    """
    check_outputs({"path": path}, {"X": files_of(X)})
    text = html(result, X, y, data_name=data_name, findings=findings)
    _write(path, text)


def html(
    result: Result,
    X: Rows,
    y: PerRow = None,
    *,
    data_name: str = "",
    findings: Sequence[Finding] = (),
) -> str:
    """Return the HTML text that `write_report` writes."""
    shapes = " and ".join(str(M.shape[0]) for M in parts(result.M))
    rows = len(parts(result.transform(X))[0])
    where = f"{data_name}, " if data_name else ""
    return _page(
        "report.html.jinja",
        title=f"{result.objective.name}: {shapes} to {result.r} dimensions",
        subtitle=f"{where}{rows} rows, {result.objective!r}",
        formula=result.objective.formula,
        source=result.objective.source,
        headline=list(_headline(result)),
        words=list(_words(result, findings)),
        warnings=() if result.converged else (f"Not converged: {result.message}",),
        notes=result.notes,
        sections=[Section.of(*picture) for picture in _pictures(result, X, y)],
        findings=[Section.of_finding(found) for found in findings],
        table=list(_table(result.summary())),
    )


def write_comparison(
    path: str | Path,
    comparison: Comparison,
    *,
    figure: Figure | None = None,
    data_name: str = "",
) -> None:
    """Write the HTML report of a comparison: table, conclusions and projections side by side.

    Parameters
    ----------
    path : str or pathlib.Path
        Path of the HTML file.
    comparison : Comparison
    figure : matplotlib.figure.Figure, optional
        Plot to show; by default `comparison.plot()`.
    data_name : str
        Name of the data.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    check_outputs({"path": path}, {})
    paired = len(parts(comparison.methods[0].result.P)) > 1
    what = "The first coordinate of one view against that of the other"
    caption = f"{what if paired else 'The first two coordinates'}, of each projection."
    text = _page(
        "comparison.html.jinja",
        title=f"{data_name}: methods compared" if data_name else "Methods compared",
        comparison=comparison,
        picture=Section.of("Projections", caption, figure or comparison.plot()),
    )
    _write(path, text)


def write_finding(
    path: str | Path, found: Finding, *, figure: Figure | None = None, data_name: str = ""
) -> None:
    """Write the page of a permutation test, an estimate of the dimension, or a bootstrap.

    Parameters
    ----------
    path : str or pathlib.Path
        Path of the HTML file.
    found : PermutationTest, Dimension or Bootstrap
    figure : matplotlib.figure.Figure, optional
        Plot to show; by default `found.plot()`.
    data_name : str
        Name of the data.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    check_outputs({"path": path}, {})
    title = f"{data_name}: {found.question}" if data_name else found.question
    text = _page("finding.html.jinja", title=title, finding=Section.of_finding(found, figure))
    _write(path, text)


def _write(path: str | Path, text: str) -> None:
    with replaced(path) as file:
        file.write_text(text, encoding="utf-8")


def _page(template: str, **what: object) -> str:
    needed("jinja2", "a report")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("ldr"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(template).render(
        **what, version=ldr.__version__, date=date.today().isoformat()
    )


def _headline(result: Result) -> Iterator[tuple[str, str]]:
    yield "value", f"{result.value:.7g}"
    if result.baseline is not None:
        yield "baseline", f"{result.baseline:.7g}"
    if result.improvement is not None:
        yield "improvement", f"{result.improvement:+.3g}"
    if result.certificate is not None:
        yield "optimum", result.certificate.kind


_CLAIMS = {
    "global": "No projection is better by more than {gap:.2g}.",
    "restricted": "No projection in the subspace of the table is better; one outside may be.",
    "bound": "No projection is better by more than {gap:.3g}; this one may be the best.",
    "local": "No nearby projection is better; a distant projection may be.",
    "saddle": "A nearby projection is better: the solver stopped early.",
    "none": "It is unknown if a better projection exists.",
}


def _words(result: Result, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield questions, each with the text of findings, their meaning and their limits."""
    objective, numbers = result.objective, result.directions.brief()
    sense = {"max": "largest", "min": "smallest"}[objective.sense]
    dimensions = "1 dimension" if result.r == 1 else f"{result.r} dimensions"
    asked = f"The linear map to {dimensions} with the {sense} value of the formula above."
    if REGISTRY.get(objective.name) is type(objective):
        asked = f"{Entry.of(objective).summary}. {asked}"
    yield "Question", asked
    known = result.certificate
    claim = "" if known is None else _CLAIMS[known.kind].format(gap=known.gap)
    found = f"A map with the value {result.value:.6g}. {claim}"
    if result.improvement is not None:
        found += f" The baseline ({objective.baseline}) has the value {result.baseline:.6g}."
    yield "Result", found
    if numbers:
        yield "Components", f"In order: {numbers}."
    doubts = [
        "A better value of the formula need not mean better predictions: compare scores on "
        "held-out samples (ldr compare)."
    ]
    if not findings:
        doubts.append("Pure noise has an optimum too: test the null hypothesis (ldr test).")
    yield "Limits", " ".join(doubts)


def _pictures(result: Result, X: Rows, y: PerRow) -> Iterator[tuple[str, str, Figure]]:
    """Yield the plots of a result."""
    yield "Projection", "The projected rows.", plots.projection(result, X, y)
    if result.r >= 3 and not isinstance(result.P, tuple):
        caption = "The first three components, in perspective."
        yield "In space", caption, plots.space(result, X, y)
    if result.baseline is not None and result.objective.traits.transposed:
        caption = "The baseline's projection beside the optimised projection, on the same scales."
        yield "Baseline and optimum", caption, plots.compare(result, X, y)
    if result.r >= 2 and not isinstance(result.P, tuple):
        caption = "Arrows are the correlations of the columns with the two components."
        yield "Columns", caption, plots.biplot(result, X, y)
    caption = "The map P: the weight of each column in each component."
    yield "Loadings", caption, plots.loadings(result)
    if result.improvement is not None:
        caption = f"Improvement over the baseline ({result.objective.baseline})."
        yield "Improvement", caption, plots.improvement(result)
    if result.iterations > 0:
        caption = "Distance to the best value and gradient norm, by iteration."
        yield "Convergence", caption, plots.convergence(result)


def _table(summary: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of all numbers; nested names are prefixed by their parent's name."""
    for key, value in summary.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, dict):
            yield from _table(value, f"{name}: ")
        elif isinstance(value, float):
            yield name, f"{value:.12g}"
        elif isinstance(value, (list, tuple)):
            if value:
                texts = (f"{x:.6g}" if isinstance(x, float) else str(x) for x in value)
                more = f", ... ({len(value)} in all)" if len(value) > MOST_NAMES else ""
                yield name, ", ".join(islice(texts, MOST_NAMES)) + more
        elif value is not None:
            yield name, str(value)
