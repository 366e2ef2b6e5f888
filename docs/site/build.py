"""Build the documentation as a site: `./dev docs --site [FOLDER]`. A dead link or anchor fails the build.

The site has the same files as the repository, at the same places, so that links work in both. The generator
(Zensical) reads them from a copy, because it would otherwise read the whole repository.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[2]
DEFAULT_TARGET = ROOT / "site"
CONFIGURATION = Path(__file__).with_name("zensical.toml")
STYLE = Path(__file__).with_name("site.css")
PAGES = ("README.md", "SPECIFICATION.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LIMIT_S = 300
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class BuildFailed(Exception):
    """The site could not be built; the message says why."""


def build_navigation(index: str) -> str:
    """Return the navigation as TOML: the sections and pages of docs/README.md, in its order."""
    sections = [f'{{"Start" = {json.dumps(["README.md", "docs/README.md"])}}}']
    for section in index.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        pages = [f"docs/{name}" for name in re.findall(r"^\| \[[\w-]+\]\(([\w-]+\.md)\) \|", body, re.M)]
        if pages and title != "Tools":
            sections.append(f"{{{json.dumps(title)} = {json.dumps(pages)}}}")
    sections.append(f'{{"The project" = {json.dumps(PAGES[1:])}}}')
    return f"nav = [{', '.join(sections)}]"


def copy_sources(root: Path, target: Path) -> None:
    """Copy the pages, and the pictures and examples that they link to."""
    for name in PAGES:
        shutil.copy(root / name, target / name)
    shutil.copytree(root / "docs", target / "docs", ignore=shutil.ignore_patterns("site", "__pycache__"))
    shutil.copy(STYLE, target / STYLE.name)


def run_generator(folder: Path) -> None:
    """Run Zensical in strict mode, in which each warning fails the build."""
    line = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        told = COLOURS.sub("", done.stdout + done.stderr).partition("Traceback")[0]
        raise BuildFailed(f"Zensical failed:\n{told}")


class PageParser(HTMLParser):
    """Collect the anchors of a page, and the addresses that it links to or loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] or "" for name in ("id", "name") if name in given}
        self.addresses += [given[name] or "" for name in ("href", "src") if name in given]


def find_dead_links(site: Path) -> Iterator[str]:
    """Yield each link of the built pages that leads to no file, or to no anchor of its page."""
    pages = {path: PageParser(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        if path.name == "404.html":  # its addresses begin at the root of a web server
            continue
        for address in dict.fromkeys(page.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)}: {address} leads to no file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {address} leads to no anchor"


def build_site(root: Path, target: Path) -> int:
    """Build the site of this repository into a folder, and return its number of pages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "pages").mkdir()
        copy_sources(root, folder / "pages")
        navigation = build_navigation((root / "docs" / "README.md").read_text())
        configuration = CONFIGURATION.read_text().replace("nav = []", navigation)
        (folder / CONFIGURATION.name).write_text(configuration)
        run_generator(folder)
        built = folder / "built"
        dead = list(find_dead_links(built))
        if dead:
            raise BuildFailed("\n".join(dead))
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(built, target)
    return len(list(target.rglob("*.html")))


def main() -> int:
    target = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else DEFAULT_TARGET
    if target.exists() and not (target / "404.html").exists():
        print(f"{target} is there and is no site; name another folder", file=sys.stderr)
        return 2
    try:
        pages = build_site(ROOT, target)
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"wrote {pages} pages to {target}; open {target / 'index.html'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
