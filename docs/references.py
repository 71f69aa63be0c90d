"""Names that lead somewhere: types of other libraries, and whatever a page says between backticks.

Sphinx asks the other libraries' documentation for its inventory. Without a network it takes what
stands here, written as an inventory beside the pages.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldr.objectives import REGISTRY

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

# Beside this file; not committed.
FOLDER = "inventories"

# Where each library's documentation is, and on which pages ($ is the name) are the names that our
# docstrings use.
ELSEWHERE = {
    "numpy": (
        "https://numpy.org/doc/stable/",
        {
            "reference/generated/$.html": "numpy.ndarray numpy.memmap",
            "reference/random/generator.html": "numpy.random.Generator",
        },
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        {"reference/generated/$.html": "scipy.sparse.csr_array"},
    ),
    "sklearn": (
        "https://scikit-learn.org/stable/",
        {
            "modules/generated/$.html": "sklearn.base.BaseEstimator sklearn.base.TransformerMixin "
            "sklearn.model_selection.BaseCrossValidator sklearn.model_selection.GridSearchCV "
            "sklearn.pipeline.Pipeline"
        },
    ),
    "jax": (
        "https://docs.jax.dev/en/latest/",
        {
            "_autosummary/$.html": "jax.Array jax.grad jax.jit jax.jvp jax.vmap jax.lax.map "
            "jax.lax.scan jax.lax.fori_loop"
        },
    ),
    "pandas": ("https://pandas.pydata.org/docs/", {"reference/api/$.html": "pandas.DataFrame"}),
    "dask": (
        "https://docs.dask.org/en/stable/",
        {"generated/$.html": "dask.array.Array dask.dataframe.DataFrame"},
    ),
    "matplotlib": (
        "https://matplotlib.org/stable/",
        {
            "api/_as_gen/$.html": "matplotlib.axes.Axes",
            "api/figure_api.html": "matplotlib.figure.Figure",
        },
    ),
    "python": ("https://docs.python.org/3/", {"library/pathlib.html#$": "pathlib.Path"}),
}


def pages_of(project: str) -> dict[str, str]:
    """The page of each name of a library."""
    pages = ELSEWHERE[project][1]
    return {n: page.replace("$", n) for page, names in pages.items() for n in names.split()}


# Words for types in docstrings, and the pages that they link to.
WORDS = {
    "array": "numpy.ndarray",
    "ndarray": "numpy.ndarray",
    "ndarrays": "numpy.ndarray",
    "memmap": "numpy.memmap",
    "Generator": "numpy.random.Generator",
    "splitter": "sklearn.model_selection.BaseCrossValidator",
    "DataFrame": "pandas.DataFrame",
    "Axes": "matplotlib.axes.Axes",
    "Figure": "matplotlib.figure.Figure",
    "Result": "ldr.Result",
    "Objective": "ldr.objectives.Objective",
}

_HEADER = """# Sphinx inventory version 2
# Project: {}
# Version:
# The remainder of this file is compressed using zlib.
"""


def write_inventories(root: Path) -> dict[str, tuple[str, tuple[str | None, ...]]]:
    """Sphinx's `intersphinx_mapping`: the libraries' own inventories, or else ours."""
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    mapping: dict[str, tuple[str, tuple[str | None, ...]]] = {}
    for project, (address, _) in ELSEWHERE.items():
        pages = pages_of(project).items()
        lines = "".join(f"{name} py:class 1 {page} -\n" for name, page in pages)
        path = folder / f"{project}.inv"
        path.write_bytes(_HEADER.format(project).encode() + zlib.compress(lines.encode()))
        mapping[project] = (address, (None, f"{FOLDER}/{project}.inv"))
    return mapping


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """What stands between backticks and is a public name, or a method's, leads to its page."""
    from docutils import nodes

    objects = app.env.domains.python_domain.objects
    theirs = {
        name: address + page
        for project, (address, _) in ELSEWHERE.items()
        for name, page in pages_of(project).items()
    }
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        if isinstance(literal.parent, (nodes.reference, nodes.title)):
            continue
        page, place = _place(text, objects)
        if page is not None and (page != docname or place):
            address = app.builder.get_relative_uri(docname, page) + place
            link = nodes.reference("", "", internal=True, refuri=address)
        elif text in theirs:
            link = nodes.reference("", "", internal=False, refuri=theirs[text])
        else:
            continue
        literal.replace_self(link)
        link += literal


def _place(text: str, objects: Any) -> tuple[str | None, str]:
    """The page, and the place on it, of a method or of a public name, with a call's brackets."""
    if text in REGISTRY:
        return f"methods/{text}", ""
    name = re.fullmatch(r"(ldr|result)((?:\.\w+)+)(?:\(.*\))?", text)
    if name is not None:
        full = ("ldr.Result" if name[1] == "result" else "ldr") + name[2]
        if full in objects:
            return objects[full].docname, f"#{objects[full].node_id}"
    return None, ""
