"""Checks the form of docs/*.md: a reader in a hurry meets no wall of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))
LONGEST = 5 * 130  # characters: five lines


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a page, without code, tables and headings."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
        if not part.lstrip().startswith(("|", "#", "<!--", "![")):
            yield part.strip()


def test_no_paragraph_is_longer_than_five_lines() -> None:
    long = [
        f"{page.name}: {len(part)} characters: {part[:50]}"
        for page in PAGES
        for part in paragraphs(page.read_text())
        if len(part) > LONGEST
    ]
    assert long == []


def test_every_page_begins_with_a_title_and_a_sentence() -> None:
    wrong = [page.name for page in PAGES if not re.match(r"# .+\n\n[^\n#|]", page.read_text())]
    assert wrong == []
