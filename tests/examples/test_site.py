"""The documentation as a site: every page is there, no link is dead, and a phone shows it."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from docs.site.build import PAGES, BuildFailed, build_site, find_dead_links
from tests.rigs.browser import PROGRAM, start_browser

ROOT = Path(__file__).parents[2]
needs_generator = pytest.mark.skipif(
    importlib.util.find_spec("zensical") is None, reason="Zensical is missing: ./dev docs --site installs it"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    build_site(ROOT, target)
    return target


@needs_generator
@pytest.mark.timeout(200)
def test_every_page_is_built(site: Path) -> None:
    wanted = [Path(name) for name in PAGES] + [page.relative_to(ROOT) for page in ROOT.glob("docs/*.md")]
    names = [page.with_name("index.html") if page.stem == "README" else page for page in wanted]
    assert [page for page in names if not (site / page).with_suffix(".html").is_file()] == []


@needs_generator
@pytest.mark.timeout(200)
@pytest.mark.parametrize("link", ["nowhere.md", "cli.md#no-such-part", "examples/nothing.py"])
def test_a_dead_link_fails_the_build(link: str, tmp_path: Path) -> None:
    for name in PAGES:
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (tmp_path / "docs" / "state.md").open("a") as page:
        page.write(f"\n[a link]({link})\n")
    with pytest.raises(BuildFailed, match="state"):
        build_site(tmp_path, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_link_is_dead_without_its_file_or_its_anchor(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#there"><a href="b.html#gone"><img src="c.png">')
    (tmp_path / "b.html").write_text('<h2 id="there"><a href="https://example.org/x"><a href="#there">')
    assert list(find_dead_links(tmp_path)) == [
        "a.html: b.html#gone leads to no anchor",
        "a.html: c.png leads to no file",
    ]


@needs_generator
@pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium")
@pytest.mark.timeout(300)
async def test_every_page_fits_a_phone_and_loads_nothing_from_elsewhere(site: Path) -> None:
    wrong = []
    async with start_browser() as tab:
        await tab.attach()
        await tab.set_appearance(390, 844, scheme="light")
        for page in sorted(site.rglob("*.html")):
            await tab.open(page.as_uri())
            width = await tab.evaluate("document.documentElement.scrollWidth")
            size = await tab.evaluate(
                "parseFloat(getComputedStyle(document.querySelector('article')).fontSize)"
            )
            if width > 390 or size < 14:
                wrong.append(f"{page.name}: {width} px wide, letters of {size} px")
        wrong += [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))]
    assert wrong == []
