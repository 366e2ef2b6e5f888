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


# Pages that are no guides: lists, results of measurements, and what is for people who change muxpilot.
LISTS = {"README.md", "architecture.md", "attacks.md", "proof.md", "recipes.md", "tools.md"}
RESULTS = {"intents.md", "peers.md", "speed.md", "versions.md"}
# Their last sections are limits under another name.
OTHER_ENDS = {"installing.md", "servers.md"}


def test_every_guide_has_an_example_before_its_first_section() -> None:
    guides = [page for page in PAGES if page.name not in LISTS]
    assert len(guides) > 20
    assert [page.name for page in guides if "\n```" not in page.read_text().partition("\n## ")[0]] == []


def test_every_guide_ends_with_its_limits() -> None:
    guides = [page for page in PAGES if page.name not in LISTS | RESULTS | OTHER_ENDS]
    ends = {page.name: re.findall(r"^## (.+)", page.read_text(), re.M)[-1] for page in guides}
    assert [name for name, title in ends.items() if title != "Limits"] == []
