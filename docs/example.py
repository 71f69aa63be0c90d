"""An example of the gallery: a question, a program, its picture, what it says."""

from __future__ import annotations

import contextlib
import io
import textwrap
import warnings
from dataclasses import dataclass
from typing import Any

# Inches of a picture that is read on a telephone without scrolling it.
_LEGIBLE = 10.0
# The warning of a method whose name has changed its meaning: the documentation shows such names.
NAMED_ANEW = ".*names the textbook's method now"


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


@dataclass(frozen=True)
class Example:
    """One of the gallery.

    Attributes
    ----------
    slug, title : str
    question : str
    program : str
        Prints what the answer rests on, and leaves `figure`.
    answer : str
        How to read it.
    """

    slug: str
    title: str
    question: str
    program: str
    answer: str

    def run(self) -> tuple[str, Any]:
        """What the program prints, and its figure."""
        printed, names = run_strictly(self.program, f"gallery, {self.slug}", DeprecationWarning)
        return printed, names["figure"]

    def script(self) -> str:
        """The program as a file of its own, which keeps its picture."""
        said = textwrap.fill(f"{self.title}. {self.question}", 100)
        picture = f'figure.savefig("{self.slug}.png")'
        return f'"""{said}"""\n\n{self.program.strip()}\n{picture}\n'

    def page(self, printed: str, width: float) -> str:
        """In MyST Markdown, with a picture of so many inches."""
        kind = "{.wide}" if width > _LEGIBLE else ""
        return f"""# {self.title}

{self.question}

```python
{self.program.strip()}
```

```text
{printed.rstrip()}
```

![{self.title}]({self.slug}.png){kind}

{self.answer}

{{download}}`The program <{self.slug}.py>`
"""
