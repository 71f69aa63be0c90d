"""The gallery: all examples, and the page that lists them."""

from __future__ import annotations

from docs import images, papers, societies

EXAMPLES = (*societies.EXAMPLES, *images.EXAMPLES, *papers.EXAMPLES)


def index() -> str:
    """All of them, with their pictures."""
    rows = [
        f"| [![{e.title}]({e.slug}.png){{w=220px}}]({e.slug}.md) | "
        f"[{e.title}]({e.slug}.md)<br>{e.question} |"
        for e in EXAMPLES
    ]
    tree = "\n".join(example.slug for example in EXAMPLES)
    return (
        "# Gallery\n\nQuestions to data that others collected, which come with statsmodels and "
        "scikit-learn, and one for each paper whose experiments are rerun. Every "
        "[method's page](../methods/index.md) has an example of its own, and the "
        "[experiments](../experiments.md) are those of the papers.\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
    )
