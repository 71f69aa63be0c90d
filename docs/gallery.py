"""The gallery: the examples of docs/examples, what their programs print, and their pictures."""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any, NamedTuple

# Inches of a picture that is read on a telephone without scrolling it.
_LEGIBLE = 10.0
# The warning of a method whose name has changed its meaning: the documentation shows such names.
NAMED_ANEW = ".*is now the textbook's method"


def run_strictly(program: str, where: str, *ignored: type[Warning]) -> tuple[str, dict[str, Any]]:
    """Return the output and the names of a program, in which other warnings are errors."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", NAMED_ANEW, FutureWarning)
        for category in ignored:
            warnings.simplefilter("ignore", category)
        exec(compile(program, where, "exec"), names)
    return printed.getvalue(), names


class Example(NamedTuple):
    """A page of docs/examples: title, question, a program that leaves `figure`, and the answer."""

    slug: str
    title: str
    question: str
    program: str
    answer: str

    @classmethod
    def read(cls, path: Path) -> Example:
        parts = r"# (.+?)\n\n(.+?)\n\n```python\n(.+?)\n```\n\n(.+)\n"
        found = re.fullmatch(parts, path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert found is not None, f"{path}: expected title, question, program and answer"
        return cls(path.stem, *found.groups())

    def run(self) -> tuple[str, Any]:
        """Return the printed text and the figure of the program."""
        printed, names = run_strictly(self.program, f"gallery, {self.slug}", DeprecationWarning)
        return printed, names["figure"]

    def script(self) -> str:
        """The program as a file of its own, which keeps its picture."""
        text = textwrap.fill(f"{self.title}. {self.question}", 100)
        return f'"""{text}"""\n\n{self.program}\nfigure.savefig("{self.slug}.png")\n'

    def page(self, printed: str, width: float) -> str:
        """The page with the output and a picture of so many inches."""
        kind = "{.wide}" if width > _LEGIBLE else ""
        return (
            f"# {self.title}\n\n{self.question}\n\n```python\n{self.program}\n```\n\n"
            f"```text\n{printed.rstrip()}\n```\n\n![{self.title}]({self.slug}.png){kind}\n\n"
            f"{self.answer}\n\n{{download}}`The program <{self.slug}.py>`\n"
        )


EXAMPLES = [Example.read(p) for p in sorted(Path(__file__).parent.glob("examples/*/*.md"))]


def index() -> str:
    """All of them, with their pictures."""
    rows = [
        f"| [![{e.title}]({e.slug}.png){{w=220px}}]({e.slug}.md) | "
        f"[{e.title}]({e.slug}.md)<br>{e.question} |"
        for e in EXAMPLES
    ]
    return (
        "# Gallery\n\nQuestions to data that others collected, which come with statsmodels and "
        "scikit-learn, and one for each paper whose experiments are rerun. Every "
        "[method's page](../methods/index.md) has an example of its own, and the "
        "[experiments](../experiments.md) are those of the papers.\n\n"
        + "\n".join(["| | |", "|---|---|", *rows])
        + "\n\n```{toctree}\n:hidden:\n\n"
        + "\n".join(example.slug for example in EXAMPLES)
        + "\n```\n"
    )
