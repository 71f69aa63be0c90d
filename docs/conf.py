"""Sphinx's configuration: ``sphinx-build -W docs build/docs``."""

import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from numpydoc.xref import DEFAULT_LINKS  # noqa: E402
from sphinx import addnodes  # noqa: E402

import ldr  # noqa: E402
from docs.gallery import NAMED_ANEW  # noqa: E402
from docs.pages import write_pages  # noqa: E402
from docs.references import WORDS, link_names, write_inventories  # noqa: E402
from ldr.objectives.docstrings import MATH  # noqa: E402

warnings.filterwarnings("ignore", NAMED_ANEW, FutureWarning)

project = "ldr"
author = copyright = "The ldr authors"
version = release = ldr.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx-mathjax-offline",  # MathJax from the site itself
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["attrs_inline"]
exclude_patterns = ["_build", "examples"]
html_theme = "furo"
html_title = "ldr"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
intersphinx_mapping = write_inventories(ROOT / "docs")
intersphinx_timeout = 5  # seconds
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False  # autodoc shows them
numpydoc_xref_param_type = True
numpydoc_xref_aliases = WORDS
numpydoc_xref_ignore = "all"  # types without a page here or elsewhere
DEFAULT_LINKS.clear()  # int, float and str need no link
myst_heading_anchors = 3
# Attributes of one name in several classes, such as a manifold's shape, are no mistake.
suppress_warnings = ["ref.python"]
pygments_style = "friendly"


def _escape(app, what, name, obj, options, lines):
    """Escape |f|, S_ and M* in a docstring, except in its displayed formula."""
    text = "\n".join(lines)
    formula = found.span() if (found := MATH.search(text)) else (0, 0)
    before, after = text[: formula[0]], text[formula[1] :]
    lines[:] = (_escaped(before) + text[slice(*formula)] + _escaped(after)).split("\n")


def _escaped(line):
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    parts[::2] = [
        re.sub(r"\|", r"\\|", re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", part)) for part in parts[::2]
    ]
    return "".join(parts)


def _add_search_terms(app, doctree):
    """Let the search find a place on the page by the words that a newcomer has for it."""
    for line in (ROOT / "docs/search-terms.txt").read_text(encoding="utf-8").splitlines():
        place, terms = line.split(": ")
        page, _, anchor = place.partition("#")
        if page == app.env.current_document.docname:
            entries = [("single", term, anchor, "main", None) for term in terms.split(", ")]
            doctree.append(addnodes.index(entries=entries))


def setup(app):
    write_pages(Path(__file__).resolve().parent)
    app.connect("autodoc-process-docstring", _escape, priority=900)
    app.connect("doctree-resolved", link_names)
    app.connect("doctree-read", _add_search_terms)
