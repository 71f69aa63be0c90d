"""The HTML report: one file that says what the result says."""

import base64
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

import ldr
from ldr.report import html
from tests.real_data import stocks, tumour_views, wine

X, labels = wine()
NAMES = np.array(["<barolo>", "grignolino & co", "barbera"])[labels]


class Reader(HTMLParser):
    """Text, headings, links to the outside and pictures of a page."""

    def __init__(self, page):
        super().__init__()
        self.text, self.headings, self.outside, self.pictures, self.open = "", [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in ("img", "meta"):
            self.open.append(tag)
        if tag == "img":
            self.pictures.append(given["src"])
        for name in ("href", "src", "action"):
            if not given.get(name, "data:").startswith("data:"):
                self.outside.append(given[name])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are made but not drawn, which takes ten times as long as the rest of a report."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, file, **options: file.write(b"PNG"))


def test_report_is_one_file_with_the_figures_and_the_pictures(tmp_path):
    result = ldr.solve("orthogonal-lda", X, 2, y=NAMES)
    path = tmp_path / "report.html"
    result.write_report(path, X, NAMES)
    page = path.read_text(encoding="utf-8")
    report = Reader(page)
    assert report.outside == [] and "http" not in page and "url(" not in page
    assert report.headings == [
        "Projection",
        "Baseline and optimum",
        "Columns",
        "Loadings",
        "Improvement",
        "Convergence",
        "All figures",
    ]
    assert len(report.pictures) == 6
    for picture in report.pictures:
        kind, _, content = picture.partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content).startswith(b"\x89PNG")
    for figure in (f"{result.value:.7g}", f"{result.baseline:.7g}", f"{result.improvement:+.3g}"):
        assert figure in report.text
    for text in (result.objective.formula, result.objective.source, result.certificate.message):
        assert text in report.text
    for words in (
        "Orthogonal linear discriminant analysis (LDA): the trace ratio. The linear map to 2 dim",
        "No projection is better",
        "Pure noise has an optimum too",
    ):
        assert words in report.text
    assert result.message in report.text and "Not converged" not in report.text


@pytest.mark.smoke
def test_report_warns_and_notes(undrawn):
    returns = np.hstack([stocks(), stocks()[:, :1]])  # singular: restricted to the range
    with pytest.warns(ldr.errors.ConvergenceWarning):
        result = ldr.solve(
            "orthogonal-maf", returns, 3, solver="steepest-descent", max_iterations=2
        )
    report = Reader(html(result, returns))
    assert "Not converged: the iteration limit was reached" in report.text
    assert "In space" in report.headings
    assert result.notes and all(note in report.text for note in result.notes)


def test_report_of_two_views_and_of_a_model_without_comparison(undrawn):
    views = tumour_views()
    report = Reader(html(ldr.solve("orthogonal-cca", views, 2), views, data_name="<tumours>"))
    assert "Baseline and optimum" in report.headings
    assert "<tumours>, 569 rows" in report.text  # escaped in the page
    model = ldr.solve("ppca", X, 2)
    report = Reader(html(model, X))
    assert "Baseline and optimum" not in report.headings  # its map is not M'
    assert "Convergence" not in report.headings  # it has a closed form
    assert re.search(r"fitted: noise variance\s*0\.\d+", report.text)


def test_report_says_what_was_found_of_the_result(undrawn):
    result = ldr.solve("orthogonal-lda", X, 2, y=labels)
    test = ldr.permutation_test("orthogonal-lda", X, 2, y=labels, permutations=19, random_state=0)
    firm = ldr.bootstrap("orthogonal-lda", X, 2, y=labels, draws=5, random_state=0)
    report = Reader(html(result, X, findings=[test, firm]))
    assert {test.question, firm.question} <= set(report.headings)
    assert repr(test) in report.text and repr(firm) in report.text
    assert "more than chance (ldr test)" not in report.text


def test_report_of_spectra_lists_the_first_of_many_numbers(undrawn):
    spectra = np.cumsum(np.random.default_rng(0).standard_normal((30, 70)), axis=1)
    responses = spectra[:, [9, 50]]
    result = ldr.solve("pls-regression", spectra, 2, y=responses)
    text = Reader(html(result, spectra, responses)).text
    assert "... (70 in all)" in text and f"{result.parameters['vip'][69]:.6g}" not in text
    assert f"No projection is better by more than {result.certificate.gap:.2g}." in text
    assert any("noise alone can reach" in note for note in result.notes)


def test_what_is_not_known_of_a_result_is_not_said(undrawn):
    own = ldr.objective(lambda M, X: ((X @ M) ** 4).sum(), manifold="stiefel", sense="max")
    report = Reader(html(ldr.solve(own, X[:, :3], 1, certify=False, max_iterations=50), X[:, :3]))
    assert not {"Improvement", "Baseline and optimum"} & set(report.headings)
    assert "The baseline (" not in report.text and "optimum:" not in report.text


def test_summary_is_json_and_what_the_result_says():
    result = ldr.solve(
        "orthogonal-lda", X, 2, y=labels, starts=3, solver="trust-region", random_state=0
    )
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert summary["value"] == result.value and summary["baseline"] == result.baseline
    assert summary["certificate"]["kind"] == result.certificate.kind
    assert list(summary["starts"].values()) == list(result.starts.values)
    assert list(summary["starts"]) == list(result.starts.names)
    assert summary["converged"] is True
    unknown = ldr.solve("orthogonal-lda", X, 2, y=labels, certify=False).summary()
    assert unknown["certificate"] is None


def test_of_an_objective_of_ones_own_nothing_is_known_but_its_formula(undrawn):
    own = 1.0 * ldr.objectives.PCA() + 1.0 * ldr.objectives.LogDetPCA()
    page = Reader(html(ldr.solve(own, X, 1), X)).text
    assert "Question. The linear map to 1 dimension with" in page
