"""Parsing of methods' docstrings: formula, source, parameters and recommended use."""

from __future__ import annotations

import inspect
import re


def complete(cls: type) -> None:
    """Set `formula` and `source` from the docstring of a class, and complete its parameters.

    A parameter that a class inherits has the docstring entry of the base class.
    """
    if not vars(cls).get("__doc__"):
        return
    text = inspect.cleandoc(cls.__doc__ or "")
    if tex := math(text):
        cls.formula = plain(tex)  # type: ignore[attr-defined]
    if source := paragraph(text, "Source: "):
        cls.source = source.removesuffix(".")  # type: ignore[attr-defined]
    merged: dict[str, str] = {}
    for documented in (*(base.__doc__ for base in reversed(cls.__bases__)), text):
        merged.update(described(documented))
    known = {name for base in cls.__bases__ for name in getattr(base, "__dataclass_fields__", ())}
    for name in inspect.get_annotations(cls):  # inherited annotations come first, as in dataclasses
        if name in merged and name not in known:
            merged[name] = merged.pop(name)
    lines = text.splitlines()
    first, last = _section(lines)
    before, after = lines[: max(first - 2, 0)] if last > first else lines, lines[last:]
    section = ("Parameters", "----------", *dict.fromkeys(merged.values())) if merged else ()
    parts = ("\n".join(before), "\n".join(section), "\n".join(after))
    cls.__doc__ = "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


# A displayed formula in reStructuredText, beside the directive or indented below.
MATH = re.compile(r"^\.\. math::(.*(?:\n(?: .*)?(?=\n|$))*)", flags=re.MULTILINE)


def math(text: str | None) -> str:
    """Return the LaTeX of the first displayed formula in a docstring."""
    found = MATH.search(text or "")
    return " ".join(found[1].split()) if found else ""


def as_text(text: str) -> str:
    """Return a docstring with the displayed formula as plain text."""
    return MATH.sub(f"{plain(math(text))}\n".replace("\\", r"\\"), text, count=1)


def paragraph(text: str | None, lead: str) -> str:
    """Return the text after `lead` in the paragraph that begins with `lead`, if any."""
    found = re.search(rf"^{lead}((?:.+\n?)+)", inspect.cleandoc(text or ""), flags=re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def advice(text: str | None) -> tuple[str, str]:
    """Return the sentences "Use it ..." and "Do not use it ..." of a method's docstring."""
    when, _, when_not = paragraph(text, "Use it ").partition(" Do not use it ")
    return (f"Use it {when}" if when else "", f"Do not use it {when_not}" if when_not else "")


_WRITTEN = {
    r"\|": "||",
    r"\mid": "|",
    r"\dots": "...",
    r"\propto": "~",
    r"\varepsilon": " eps",
    r"\le ": "<= ",
    r"\ne ": "!= ",
}


def plain(tex: str) -> str:
    r"""Convert a formula from LaTeX to plain text on one line.

    >>> plain(r"\max_{M'M=I} \frac{\operatorname{tr}(M'S_B M)}{\sqrt{n} + 1}")
    "max_{M'M=I} tr(M'S_B M) / (sqrt(n) + 1)"
    """
    text = re.sub(r"\\(left|right|quad|,)(?![a-z])", "", tex)
    for macro, written in _WRITTEN.items():
        text = text.replace(macro, written)
    text = re.sub(r"\\(dot|bar) (\w)", r"\2\1", text)
    while (shorter := _innermost(text)) != text:
        text = shorter
    text = re.sub(r"_<<(\w+)>>|\^<<(\w)>>", _bare, re.sub(r"\\([a-zA-Z]+)", r"\1", text))
    return " ".join(text.replace("<<", "{").replace(">>", "}").split())


_BRACES = r"\{([^{}]*)\}"


def _innermost(text: str) -> str:
    """Return the text without the innermost braces."""
    text = re.sub(r"\\(?:operatorname|mathrm|text)" + _BRACES, r"\1", text)
    text = re.sub(r"\\sqrt" + _BRACES, r"sqrt(\1)", text)
    text = re.sub(r"\\overline" + _BRACES, r"mean(\1)", text)
    text = re.sub(r"\\frac" + _BRACES * 2, _quotient, text)
    return re.sub(r"([_^])" + _BRACES, r"\1<<\2>>", text)


def _quotient(found: re.Match[str]) -> str:
    above, below = found.groups()
    if above.isalnum() and below.isalnum():
        return f"{above}/{below}"
    return f"{_factor(above, ' [-+] ')} / {_factor(below, ' ')}"


def _factor(text: str, loose: str) -> str:
    """Enclose a text in parentheses if a character of `loose` is outside parentheses."""
    outside = text
    while (shorter := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = shorter
    return f"({text})" if re.search(loose, outside) else text


def _bare(found: re.Match[str]) -> str:
    return f"_{found[1]}" if found[1] else f"^{found[2]}"


def described(text: str | None, section: str = "Parameters") -> dict[str, str]:
    """Return the entry of each name in a docstring's section; several names may share an entry."""
    lines = inspect.cleandoc(text or "").splitlines()
    first, last = _section(lines, section)
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in lines[first:last]:
        if not line.startswith(" ") and line:
            names = line.partition(" :")[0].split(", ")
        for name in names:
            entries[name] = f"{entries[name]}\n{line}" if name in entries else line
    return {name: entry.rstrip() for name, entry in entries.items()}


def _section(lines: list[str], section: str = "Parameters") -> tuple[int, int]:
    """Return the first and last line of the entries in a docstring's section."""
    if section not in lines:
        return len(lines), len(lines)
    first = last = lines.index(section) + 2
    indented = [line.startswith(" ") for line in (*lines, "")]
    while last < len(lines) and (
        not lines[last] or indented[last] or indented[last + 1] or " :" in lines[last]
    ):
        last += 1
    return first, last
