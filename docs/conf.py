"""Sphinx's configuration: ``sphinx-build -W docs build/docs``."""

import re
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from latex2mathml.converter import convert  # noqa: E402

import ldr  # noqa: E402
from docs.gallery import NAMED_ANEW  # noqa: E402
from docs.pages import write_pages  # noqa: E402
from docs.references import link_names, use_full_name, write_inventories  # noqa: E402
from ldr.objectives.docstrings import MATH, math  # noqa: E402

warnings.filterwarnings("ignore", NAMED_ANEW, FutureWarning)

project = "ldr"
author = copyright = "The ldr authors"
version = release = ldr.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
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
napoleon_google_docstring = False
napoleon_use_rtype = True  # so that what is returned leads to its page
napoleon_use_ivar = True
myst_heading_anchors = 3
# Attributes of one name in several classes, such as a manifold's shape, are no mistake.
suppress_warnings = ["ref.python"]
pygments_style = "friendly"


def _set_formulas(app, what, name, obj, options, lines):
    """Set LaTeX as MathML, which needs no script; |f|, S_ and M* elsewhere are no markup."""
    text = "\n".join(lines)
    if tex := math(text):
        drawn = f".. raw:: html\n\n   {convert(tex, display='block')}\n"
        text = MATH.sub(lambda _: drawn, text, count=1)
    lines[:] = [
        line if line.startswith("   <math") else _escaped(line) for line in text.split("\n")
    ]


def _escaped(line):
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    parts[::2] = [
        re.sub(r"\|", r"\\|", re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", part)) for part in parts[::2]
    ]
    return "".join(parts)


def setup(app):
    write_pages(Path(__file__).resolve().parent)
    app.connect("autodoc-process-docstring", _set_formulas, priority=900)
    app.connect("missing-reference", use_full_name, priority=100)  # before intersphinx
    app.connect("doctree-resolved", link_names)
