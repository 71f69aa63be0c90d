"""What is wrong with the built pages: python -m docs.links build/docs.

Every link and picture within the documentation must be there, with the place on the page that it
names, and no page may be larger than a slow line bears. Listings of the source are as large as the
source, and lead to the page of a name, not always to its place there.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 250_000  # bytes of a page


class Page(HTMLParser):
    """What a page links to, and the places on it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.places |= {value for name, value in attrs if name in ("id", "name") and value}
        self.links |= {value for name, value in attrs if name in ("href", "src") and value}


def faults(folder: Path) -> list[str]:
    """Links that lead nowhere and pages that are too large, a line each."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        listing = name.parts[0] == "_modules"
        if path.stat().st_size > LARGEST and not listing:
            found.append(f"{name}: {path.stat().st_size} bytes, expected at most {LARGEST}")
        for link in sorted(page.links):
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            place = unquote(where.fragment)
            end = (path.parent / unquote(where.path)).resolve() if where.path else path
            if not end.exists():
                found.append(f"{name}: {link} is not there")
            elif place and not listing and end in pages and place not in pages[end].places:
                found.append(f"{name}: {link} names a place that the page has not")
    return found


def main(folder: str) -> int:
    wrong = faults(Path(folder))
    print("\n".join(wrong) or "all links lead somewhere, and no page is too large")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
