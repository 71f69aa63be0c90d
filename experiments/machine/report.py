"""A report: claims with the numbers that decide them, and tables, for Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as Sheet

from ldr.files import replaced


@dataclass(frozen=True)
class Finding:
    """A claim, whether it holds (None: there are no runs to tell), and the numbers."""

    claim: str
    holds: bool | None
    numbers: str

    @property
    def mark(self) -> str:
        """pass, fail or no runs."""
        return "no runs" if self.holds is None else "pass" if self.holds else "fail"


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, and a table, of which the first row has the names."""

    title: str
    text: str
    header: tuple[str, ...] = ()
    rows: Sequence[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Report:
    """The verdict: sections in order."""

    sections: list[Section]
    title: str = "Verdict on the paper's experiments"

    def write(self, folder: Path) -> None:
        """The Markdown of it as verdict.md."""
        with replaced(folder / "verdict.md") as file:
            file.write_text(self.markdown())

    def markdown(self) -> str:
        """As a Markdown document."""
        lines = [f"# {self.title}", ""]
        for section in self.sections:
            lines += [f"## {section.title}", "", section.text, ""]
            if section.rows:
                lines.append("| " + " | ".join(section.header) + " |")
                lines.append("|" + "---|" * len(section.header))
                lines += ["| " + " | ".join(_cell(c) for c in row) + " |" for row in section.rows]
                lines.append("")
        return "\n".join(lines)

    def show(self, console: Console) -> None:
        """As tables on the terminal."""
        for section in self.sections:
            console.rule(section.title)
            console.print(section.text, markup=False)
            if section.rows:
                sheet = Sheet(box=box.SIMPLE_HEAD, padding=(0, 1))
                for name in section.header:
                    sheet.add_column(name, overflow="fold")
                for row in section.rows:
                    sheet.add_row(*row)
                console.print(sheet)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
