"""The texts of the project, and a random sample of their sentences for a reader.

``python -m tests.words SEED`` prints 120 sentences of the documentation, public docstrings,
messages and comments: each should be clear at first reading to someone who has not seen the code.
"""

from __future__ import annotations

import ast
import inspect
import io
import random
import re
import sys
import tokenize
import warnings
from collections.abc import Callable, Iterator
from functools import cache

import ldr
from tests.house import ROOT, modules
from tests.test_public_api import LISTED

# A first line may not begin so: it has no subject.
HEADLESS = re.compile(r"(Of|What|Whether|How|Which|That|The same)\b")
# Words that stand for something named elsewhere.
VAGUE = re.compile(r"\b(those|these|what|it|one|other)\b", re.IGNORECASE)
# Comments for tools, and headings.
TOOLS = re.compile(r"# (type:|noqa|fmt:|---)")
# Imperatives that may begin the first line of a public function.
VERBS = re.compile(
    r"(Add|Append|Bootstrap|Bound|Build|Check|Choose|Compute|Convert|Count|Declare|Draw|Find|Fit"
    r"|Import|Join|List|Load|Make|Map|Maximise|Merge|Minimise|Name|Open|Optimise|Plot|Predict"
    r"|Print|Project|Raise|Read|Refuse|Report|Restrict|Return|Rotate|Run|Save|Score|Show|Shrink"
    r"|Solve|Split|Take|Test|Threshold|Transport|Tune|Turn|Warn|Write|Yield)\b"
)


@cache
def docstrings() -> list[tuple[str, str]]:
    """Return the place and the text of every docstring of the library."""
    sources = {name: path for name, path in modules().items() if name.split(".")[0] == "ldr"}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in sources.items()}
    return [found for name, tree in trees.items() for found in _docstrings(tree, name)]


def _docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    if isinstance(node, documented) and (text := ast.get_docstring(node)):
        yield name, text
    for child in ast.iter_child_nodes(node):
        own = getattr(child, "name", "") if isinstance(child, documented) else ""
        yield from _docstrings(child, f"{name}.{own}" if own else name)


def public_callables() -> dict[str, Callable[..., object]]:
    """Return the public functions and classes of `ldr` and their public methods, by name."""
    found: dict[str, Callable[..., object]] = {}
    places = [ldr, *filter(inspect.ismodule, (getattr(ldr, name) for name in LISTED))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that changed their meaning
        for place in places:
            for name in getattr(place, "__all__", dir(place)):
                _add(found, f"{place.__name__}.{name}", getattr(place, name))
    return found


def _add(found: dict[str, Callable[..., object]], name: str, value: object) -> None:
    own = getattr(value, "__module__", "").startswith("ldr") and name.split(".")[-1][0] != "_"
    if not own or not callable(value) or value in found.values():
        return
    found[name] = value
    for base in value.__mro__ if inspect.isclass(value) else ():
        for method, each in vars(base).items():
            function = getattr(each, "__func__", each)  # of class methods
            if inspect.isfunction(function):
                _add(found, f"{base.__module__}.{base.__name__}.{method}", function)


def sentences() -> dict[str, list[str]]:
    """Return the sentences of the project, by their kind.

    An item of a list follows the sentence before the list. A sentence of a docstring follows the
    name of the object, and an item of its list or a parameter also follows its first line.
    """
    sources = [path for name, path in modules().items() if name.split(".")[0] == "ldr"]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {
        "documentation": [s for page in pages for s in _prose(page.read_text(encoding="utf-8"))],
        "docstring": [*_of_public_docstrings().values()],
        "message": [s for text in texts for s in _messages(ast.parse(text))],
        "comment": [s for text in texts for s in _comments(text)],
    }


def _of_public_docstrings() -> dict[str, str]:
    """Return the sentences after their names, by the sentence: estimators share most entries."""
    found = {}
    for name, value in public_callables().items():
        text = inspect.getdoc(value) or ""
        first = text.partition("\n")[0]
        for sentence in _prose(text, first):
            found.setdefault(
                sentence.removeprefix(first), f"{name.removeprefix('ldr.')}: {sentence}"
            )
    return found


# Blocks that are no sentences: code, directives such as displayed formulas, underlined headings.
NO_PROSE = re.compile(
    r"^```(?s:.*?)^```|^\.\. .*\n(?:[ ]+.*\n?|\n(?=[ ]))*|^\w[\w ]*\n-{3,}\n", flags=re.MULTILINE
)
# Beginning of an item of a list, or of a parameter's entry, which continues on indented lines.
ITEM = re.compile(r"(?:- |\d+\. )|\S[^\n]*\n(?:    \S|: )|\*{0,2}\w[\w, *]* : \S")


def _prose(text: str, first_line: str = "") -> Iterator[str]:
    lead = first_line
    text = NO_PROSE.sub("", text)
    for paragraph in re.split(rf"\n\s*\n|\n(?={ITEM.pattern})", text):
        if re.match(r"\s*(#|\||>>>|\.\.|<|!)|.*\n\s*---", paragraph):
            continue
        joined = " ".join(paragraph.split()) or "."
        if ITEM.match(paragraph.lstrip("\n")):
            if len(joined.split()) > 3:
                yield f"{lead} {joined}".strip()
            continue
        # Initials in references end no sentence.
        initial = r"(?<!\b[A-Z]\.)" if re.search(r"\b(19|20)\d\d\b", joined) else ""
        found = re.split(rf"(?<=[.!?]){initial} (?=[A-Z`])", joined)
        lead = found[-1] if joined.endswith(":") else first_line
        yield from (sentence for sentence in found if len(sentence.split()) > 3)


def _messages(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = node.exc.args[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warn") and node.args:
            text = node.args[0]
        else:
            continue
        if isinstance(text, ast.JoinedStr) or isinstance(getattr(text, "value", None), str):
            own = [x.value for x in ast.walk(text) if isinstance(getattr(x, "value", None), str)]
            if len(re.findall("[a-z]+", " ".join(own))) > 1:  # others pass on a message
                yield " ".join(ast.unparse(text).split())


def _comments(text: str) -> Iterator[str]:
    last, found = -2, ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not TOOLS.match(token.string):
            alone = token.line.strip().startswith("#")
            follows = alone and token.start[0] == last + 1
            if found and not follows:
                yield found
                found = ""
            found = f"{found} {token.string.lstrip('# ')}".strip()
            last = token.start[0] if alone else -2
    if found:
        yield found


def main(seed: int, count: int = 120) -> None:
    """Print sentences drawn at random, equally many of each kind."""
    rng = random.Random(seed)
    kinds = sentences()
    for kind, found in kinds.items():
        for sentence in rng.sample(found, count // len(kinds)):
            print(f"{kind}: {sentence}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
