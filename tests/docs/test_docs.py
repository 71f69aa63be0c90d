"""The documentation: every method has a page, every program in it does what it says."""

import importlib.util
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from latex2mathml.converter import convert

import ldr
from docs import hero
from docs.gallery import EXAMPLES, index
from docs.links import LARGEST, faults
from docs.pages import akin, api, groups, page, solve_example
from docs.references import ELSEWHERE, WORDS, pages_of, write_inventories
from docs.tree import branches, picture, table
from ldr.cli.app import main
from ldr.estimators import estimator_name
from ldr.method_selection import TABLE
from ldr.objectives import REGISTRY
from ldr.objectives.docstrings import advice, as_text, math
from tests.objectives.methods import by_kind
from tests.programs import run_programs

DOCS = Path(__file__).parents[2] / "docs"
# The commands of command-line are run beside its programs, clusters' with a cluster.
PAGES = {path.stem for path in DOCS.glob("*.md") if "```python" in path.read_text("utf-8")}
PAGES -= {"command-line", "clusters"}
# Pages whose programs take seconds: one program by default.
LONG = ("answers", "sensitivity", "several-views", "writing-an-objective")
# Places of the documentation, and the terms by which the search finds them.
SEARCHED = [
    (line.split(": ")[0], line.split(": ")[1].split(", "))
    for line in (DOCS / "search-terms.txt").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("name", by_kind(REGISTRY))
def test_every_method_has_an_example_that_runs(name):
    printed, result, figure = solve_example(name)
    assert result.objective.name == name and result.converged
    assert figure.axes
    text = page(REGISTRY[name], printed, result)
    for part in (REGISTRY[name].formula, printed.strip()):
        assert part in text


@pytest.mark.parametrize("name", REGISTRY)
def test_docstring_of_every_method_says_all_about_it(name):
    cls = REGISTRY[name]
    text = inspect.getdoc(cls)
    assert text.partition("\n")[0].endswith(".") and text.split("\n")[1] == ""
    assert convert(math(text)).startswith("<math")
    assert "\\" not in cls.formula and cls.formula in as_text(text)
    assert (
        cls.formula.startswith(cls().sense) and cls.source and cls.source in " ".join(text.split())
    )
    assert all(advice(text)), "say 'Use it ...' and 'Do not use it ...' in one paragraph"


def test_every_method_has_others_to_look_at():
    assert all(akin(cls) for cls in REGISTRY.values())
    assert "pca" in akin(REGISTRY["robust-pca"]) and "robust-pca" in akin(REGISTRY["pca"])


def test_every_method_has_a_place_in_the_index():
    assert sorted(name for names in groups().values() for name in names) == sorted(REGISTRY)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.slug)
def test_examples_of_the_gallery_run(example):
    pytest.importorskip("statsmodels")
    printed, figure = example.run()
    assert printed.strip() and figure.axes
    assert (
        example.answer in example.page(printed, figure.get_figwidth()) and example.slug in index()
    )


def test_every_public_name_has_a_page_of_its_own_or_its_methods():
    methods = {estimator_name(cls) for cls in REGISTRY.values()}
    assert set(api()) - {"index", "writing-methods"} == (
        set(ldr.__all__) - methods - {"estimators", "objectives"}
    )


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 1 if name in LONG else None) for name in sorted(PAGES)),
        *(pytest.param(name, None, marks=pytest.mark.slow) for name in LONG),
    ],
)
def test_programs_of_the_pages_print_what_they_say(name, most, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_programs(DOCS / f"{name}.md", at_least=1, most=most)


def test_table_of_methods_by_question_is_that_of_choose():
    assert table() in (DOCS / "choosing-a-method.md").read_text(encoding="utf-8")


def test_readme_is_short_and_names_methods_that_there_are():
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 6000
    named = re.findall(r"`([a-z-]+)`", text.partition("## Choosing a method")[2])
    assert named and set(named) <= {*REGISTRY}


def test_links_between_the_files_of_a_checkout_lead_somewhere():
    """`docs.links` follows those of the built pages."""
    pages = [*DOCS.parent.glob("*.md"), *DOCS.glob("*.md")]
    links = [
        (page.name, to)
        for page in pages
        for to in re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
        if not to.startswith(("http", "mailto:")) and not (page.parent / to).exists()
    ]
    assert not links


def test_tree_has_every_row_of_the_table():
    rows = [advice for of_answer in branches().values() for advice in of_answer]
    assert sorted(rows, key=TABLE.index) == list(TABLE)
    shown = [text.get_text() for text in picture().axes[0].texts]
    assert all(advice.wants in shown for advice in TABLE)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_picture_of_the_front_page_keeps_what_it_promises(seed):
    clean, broken, robust = hero.seen(seed)
    assert abs(robust.explained - clean.explained) < 0.005 and broken.explained < 0.15
    assert robust.accuracy > broken.accuracy + 0.05
    assert len(hero.picture([clean, broken, robust]).axes) == 3


# The first command writes pictures and a report, as tests/ldr/cli/test_command_line.py does.
@pytest.mark.parametrize(
    "some", [slice(1, 3), pytest.param(slice(None), marks=pytest.mark.slow)], ids=str
)
def test_commands_of_the_page_succeed(some, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_programs(DOCS / "command-line.md", at_least=2)
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    commands = [line for line in "".join(blocks).splitlines() if line.startswith("ldr ")]
    assert len(commands) >= 5
    for command in commands[some]:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as exit:
            main()
        assert (exit.value.code, capsys.readouterr().err) == (0, ""), command


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path):
    for extension in ("furo", "myst_parser", "numpydoc", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(extension)
    if importlib.util.find_spec("sphinx-mathjax-offline") is None:  # a name that no import has
        pytest.skip("sphinx-mathjax-offline is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=1000,
    )
    assert done.returncode == 0, done.stderr
    for name in REGISTRY:
        assert (tmp_path / "methods" / f"{name}.html").exists()
    assert faults(tmp_path) == []
    solved = (tmp_path / "api" / "solve.html").read_text()
    for where in ("numpy.org/doc/stable/reference/generated/numpy.ndarray", "pandas.DataFrame"):
        assert f"{where}.html" in solved
    assert "Result.html#ldr.Result" in solved
    written = (tmp_path / "writing-an-objective.html").read_text()
    assert "docs.jax.dev/en/latest/_autosummary/jax.lax.map.html" in written
    chosen = (tmp_path / "choosing-a-method.html").read_text()
    assert 'href="methods/lda.html"' in chosen and 'href="api/choose.html' in chosen
    assert (tmp_path / "_static" / "mathjax" / "tex-chtml.js").exists()
    index = (tmp_path / "searchindex.js").read_text()
    assert all(f'"{term.lower()}":' in index for _, terms in SEARCHED for term in terms)


def test_places_that_the_search_finds_are_there():
    for place, terms in SEARCHED:
        name, _, anchor = place.partition("#")
        headings = re.findall(r"^#+ (.+)$", (DOCS / f"{name}.md").read_text(), flags=re.MULTILINE)
        slugs = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
        assert terms and (not anchor or anchor in slugs), place


def test_names_of_other_libraries_lead_to_their_pages_without_a_network(tmp_path):
    mapping = write_inventories(tmp_path)
    assert set(mapping) == set(ELSEWHERE)
    for project, (address, (theirs, ours)) in mapping.items():
        head, packed = (tmp_path / ours).read_bytes().split(b"zlib.\n", 1)
        lines = [line.split() for line in zlib.decompress(packed).decode().splitlines()]
        assert address.startswith("https://") and theirs is None and project.encode() in head
        assert {name: page for name, *_, page, _ in lines} == pages_of(project)
        assert all(line[1:3] == ["py:class", "1"] for line in lines)
        assert all(pkgutil.resolve_name(name) is not None for name in pages_of(project))
    elsewhere = {name for project in ELSEWHERE for name in pages_of(project)}
    assert {name for name in WORDS.values() if not name.startswith("ldr.")} <= elsewhere


def test_links_that_lead_nowhere_are_found(tmp_path):
    there = '<h2 id="here"></h2><a href="#here"></a><a href="https://elsewhere.org/x"></a>'
    (tmp_path / "b.html").write_text(there)
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><img src="b.html"><a href="b.html#gone"></a><img src="c.html">'
    )
    (tmp_path / "d.html").write_text(" " * (LARGEST + 1))
    (tmp_path / "_modules").mkdir()
    listing = '<a href="../b.html#gone"></a><a href="../gone.html"></a>' + " " * LARGEST
    (tmp_path / "_modules" / "e.html").write_text(listing)
    assert faults(tmp_path) == [
        "_modules/e.html: ../gone.html is not there",
        "a.html: b.html#gone names a place that the page has not",
        "a.html: c.html is not there",
        f"d.html: {LARGEST + 1} bytes, expected at most {LARGEST}",
    ]
