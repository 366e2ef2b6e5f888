"""The page in a real browser, over a real tmux."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from muxpilot import Tmux
from muxpilot.view import http_app, viewer
from tests.rigs.browser import PROGRAM, BrowserTab
from tests.rigs.view_page import audit_line, open_page, run_view
from tests.rigs.waiting import end_server, eventually

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here"),
    pytest.mark.timeout(120),  # a browser starts slowly on a busy machine
]

Raw = Callable[..., str]
TEXT = "document.querySelector('[data-pane=\"{}\"] .xterm-rows')?.innerText ?? ''"
STATE = "document.getElementById('state').textContent"


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: BrowserTab) -> BrowserTab:
    await browser.attach()
    await browser.set_appearance(1200, 800)
    return browser


def text_script(pane: str) -> str:
    """Return the script for the text of a pane; xterm.js uses non-breaking blanks."""
    return TEXT.format(pane) + ".replaceAll('\\u00a0', ' ')"


async def test_panes_and_calls_are_shown_live_and_nothing_is_asked_of_others(
    raw: Raw, socket: str, tab: BrowserTab, tmp_path: Path
) -> None:
    raw(
        "new-session",
        "-d",
        "-s",
        "dev",
        "-x",
        "60",
        "-y",
        "12",
        "printf '\\033[38;2;201;202;103mtinted\\033[0m\\n'; exec cat",
    )
    raw("new-session", "-d", "-s", "edit", "-x", "90", "-y", "24", "cat")
    audit = tmp_path / "audit.jsonl"
    audit.write_text(audit_line("execute-command", paneId="%0", command="make"))
    async with run_view(socket, audit=audit) as url:
        await tab.open(url)
        await tab.wait_until(text_script("%0"), lambda text: "tinted" in text)
        assert "1 that no agent uses is hidden" in await tab.evaluate(STATE)
        colours = (
            "[...document.querySelectorAll('.xterm-rows span')].map(each => getComputedStyle(each).color)"
        )
        assert "rgb(201, 202, 103)" in await tab.evaluate(colours)
        raw("send-keys", "-t", "%0", "-l", "typed by a person")
        await tab.wait_until(text_script("%0"), lambda text: "typed by a person" in text)
        await tab.evaluate("document.getElementById('all').click()")
        await tab.wait_until("document.querySelectorAll('article').length", lambda count: count == 2)
        with audit.open("a") as file:
            file.write(audit_line("kill-pane", paneId="%1", ok=False, error="denied", reason="<b>no</b>"))
        await tab.wait_until(
            "document.querySelector('#audit .tool').textContent", lambda text: text == "kill-pane"
        )
        assert await tab.evaluate("document.querySelector('#audit .outcome').textContent") == "denied"
        assert await tab.evaluate("document.querySelector('#audit .about').textContent") == "<b>no</b>"
        await tab.evaluate("document.querySelector('#audit button').click()")
        await tab.wait_until(
            "document.activeElement.closest('article')?.dataset.pane", lambda pane: pane == "%1"
        )
        host = urlsplit(url).netloc
        assert {urlsplit(each).netloc for each in tab.requests if each != "about:blank"} == {host}
        assert tab.problems == []


async def test_no_key_reaches_a_pane_and_the_keyboard_is_enough(
    raw: Raw, socket: str, tab: BrowserTab
) -> None:
    raw("new-session", "-d", "-s", "dev", "-x", "60", "-y", "12", "cat")
    async with run_view(socket) as url:
        await tab.open(url)
        await tab.wait_until("document.querySelectorAll('.xterm').length")
        await tab.evaluate("document.querySelector('.bar').focus()")
        await tab.press("Enter")
        await tab.wait_until("document.querySelector('article').classList.contains('large')")
        await tab.evaluate("document.querySelector('.xterm-helper-textarea').focus()")
        for key in ("a", "b", "Enter"):
            await tab.press(key)
        await tab.press("Escape")
        await tab.wait_until("!document.querySelector('article').classList.contains('large')")
        # The pane receives only what is typed here afterwards.
        raw("send-keys", "-t", "%0", "-l", "only this")
        await tab.wait_until(text_script("%0"), lambda text: "only this" in text)
        assert raw("capture-pane", "-p", "-t", "%0").strip() == "only this"
        assert raw("display-message", "-p", "-t", "%0", "#{pane_width}x#{pane_height}") == "60x12"


async def test_a_hostile_program_gets_neither_markup_nor_clipboard_nor_an_answer(
    raw: Raw, socket: str, tab: BrowserTab
) -> None:
    attack = r"\033]52;c;cm0gLXJm\007\033]8;;javascript:alert(1)\033\\link\033]8;;\033\\\033[c\033[6n\033[>q"
    raw("new-session", "-d", "-s", "dev", "-x", "60", "-y", "12", "cat")
    raw("select-pane", "-t", "%0", "-T", "<img src=x onerror=window.hit=1>")
    raw("rename-session", "-t", "dev", "<script>window.hit=1</script>")
    async with run_view(socket) as url:
        await tab.open(url)
        await tab.wait_until(text_script("%0"), lambda text: text is not None and text != "")
        raw("respawn-pane", "-k", "-t", "%0", f"printf '{attack}done'; exec cat")
        await tab.wait_until(text_script("%0"), lambda text: "linkdone" in text)
        assert (
            await tab.evaluate("document.querySelectorAll('article img, article script, article a').length")
            == 0
        )
        title = await tab.evaluate("document.querySelector('.title').textContent")
        assert title.endswith("<img src=x onerror=window.hit=1>")
        assert await tab.evaluate("window.hit") is None
        assert tab.problems == []


async def test_a_number_that_has_no_end_does_not_stop_the_page(
    raw: Raw, socket: str, tab: BrowserTab
) -> None:
    endless = "".join(f"\\033[2147483647{letter}" for letter in "@ABCDEFGHIJKLMPSTXZ`abdefgmrsu")
    raw("new-session", "-d", "-s", "dev", "-x", "60", "-y", "12", "cat")
    async with run_view(socket) as url:
        await tab.open(url)
        await tab.wait_until("document.querySelectorAll('.xterm').length")
        raw("respawn-pane", "-k", "-t", "%0", f"printf 'x{endless}\\033[r\\033[Hdone'; exec cat")
        await tab.wait_until(text_script("%0"), lambda text: "done" in text)


async def test_a_screen_that_went_astray_is_put_right(raw: Raw, socket: str, tab: BrowserTab) -> None:
    """Join a program that has set a scroll region; then tmux clears the pane, which prints nothing."""
    region = "printf '\\033[2J\\033[1;1Htop\\033[3;6r\\033[3;1H'; exec cat"
    raw("new-session", "-d", "-s", "dev", "-x", "40", "-y", "8", region)
    async with run_view(socket) as url:
        await tab.open(url)
        await tab.wait_until(text_script("%0"), lambda text: "top" in text)
        for number in range(9):
            raw("send-keys", "-t", "%0", "-l", f"line {number}")
            raw("send-keys", "-t", "%0", "Enter")

        async def is_the_same() -> bool:
            rows = (await tab.evaluate(text_script("%0"))).split("\n")
            wanted = raw("capture-pane", "-p", "-t", "%0").split("\n")
            return [row.rstrip() for row in rows if row.strip()] == [row for row in wanted if row]

        for change in (
            ("send-keys", "-l", "end"),
            ("send-keys", "-R", "x"),
            ("resize-window", "-x", "30", "-y", "10"),
        ):
            raw(change[0], "-t", "%0", *change[1:])
            await eventually(is_the_same)


async def test_the_end_of_the_server_is_said(socket: str, tab: BrowserTab) -> None:
    async with run_view(socket) as url:
        await tab.open(url)
        await tab.wait_until(STATE, lambda text: "No tmux server" in text)
    await tab.wait_until(STATE, lambda text: "Connection lost" in text or "has ended" in text)


async def test_a_page_too_many_is_told_so_and_shown_when_there_is_room(
    socket: str, tab: BrowserTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_app, "MOST_VIEWERS", 1)
    async with run_view(socket) as url:
        async with open_page(url):
            await tab.open(url)
            await tab.wait_until(STATE, lambda text: text == "1 pages are open already. Close one.")
        await tab.wait_until(STATE, lambda text: "No tmux server" in text)


async def test_the_page_fits_into_any_window_and_follows_the_light(
    raw: Raw, socket: str, tab: BrowserTab
) -> None:
    for name in ("one", "two", "three"):
        raw("new-session", "-d", "-s", name, "-x", "200", "-y", "80", "seq 1 40; exec cat")
    fits = """(() => {
        const boxes = (name) => [...document.querySelectorAll(name)].map((e) => e.getBoundingClientRect());
        const [tiles, frames, screens] = ['article', '.frame', '.screen'].map(boxes);
        const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
        return document.documentElement.scrollWidth <= innerWidth && screens.length === 3
            && screens.every((box, at) => box.width > 0.9 * frames[at].width && box.width <= frames[at].width
                && box.height > 100 && box.bottom <= frames[at].bottom)
            && tiles.every((a, at) => tiles.every((b, other) => at === other || !meet(a, b)));
    })()"""
    async with run_view(socket) as url:
        await tab.open(url)
        await tab.wait_until(text_script("%0"), lambda text: "40" in text)
        for width, scheme, back in (
            (1200, "dark", "15, 17, 21"),
            (1200, "light", "243, 244, 247"),
            (420, "dark", "15, 17, 21"),
        ):
            await tab.set_appearance(width, 800, scheme=scheme)
            await tab.wait_until(fits)
            assert await tab.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({back})"


async def test_a_click_on_a_call_goes_to_the_pane_of_the_server_that_it_named(
    raw: Raw, socket: str, folder: Path, binary: str, tab: BrowserTab, tmp_path: Path
) -> None:
    other, audit = str(folder / "other"), tmp_path / "audit.jsonl"
    raw("new-session", "-d", "-s", "near", "cat")
    async with Tmux(other, binary=binary, config="/dev/null") as tmux:
        assert (await tmux.sessions.create("far")).pane_id == "%0"
    audit.write_text(audit_line("run-on", panes=[{"paneId": "%0", "socket": other}]))
    try:
        async with run_view(socket, audit=audit) as url:
            await tab.open(url)
            await tab.evaluate("document.getElementById('all').click()")
            await tab.wait_until("document.querySelectorAll('article').length", lambda count: count == 2)
            await tab.wait_until("document.querySelectorAll('#audit button').length")
            await tab.evaluate("document.querySelector('#audit button').click()")
            place = "document.activeElement.closest('article')?.querySelector('.place').textContent"
            await tab.wait_until(place, lambda text: text == "far:0.0")
    finally:
        end_server(binary, other)


async def test_a_pane_that_does_not_fit_is_brought_up_by_its_name_or_by_a_call(
    raw: Raw, socket: str, tab: BrowserTab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "MOST_LIVE", 2)
    audit = tmp_path / "audit.jsonl"
    for number in range(4):
        raw(
            "new-session",
            "-d",
            "-s",
            f"number{number}",
            "-x",
            "60",
            "-y",
            "12",
            f"echo is {number}; exec cat",
        )
        at = f"2099-01-01T00:00:0{number}.000Z"
        with audit.open("a") as file:
            file.write(audit_line("send-keys", paneId=f"%{number}", ts=at))
    shown = "[...document.querySelectorAll('article')].map((each) => each.dataset.pane)"
    focused = "document.activeElement.closest('article')?.dataset.pane"
    async with run_view(socket, audit=audit) as url:
        await tab.open(url)
        await tab.wait_until(shown, lambda panes: panes == ["%2", "%3"])
        names = "[...document.getElementById('others').options].map((each) => each.text)"
        assert [name.split()[0] for name in await tab.evaluate(names)] == [
            "more",
            "number0:0.0",
            "number1:0.0",
        ]
        await tab.evaluate("(others.selectedIndex = 1, others.dispatchEvent(new Event('change')))")
        await tab.wait_until(shown, lambda panes: panes == ["%0", "%3"])
        await tab.wait_until(focused, lambda pane: pane == "%0")
        await tab.wait_until(text_script("%0"), lambda text: "is 0" in text)
        await tab.evaluate("document.querySelectorAll('#audit button')[2].click()")
        await tab.wait_until(focused, lambda pane: pane == "%1")
        assert await tab.evaluate(shown) == ["%1", "%3"]
        assert tab.problems == []


async def test_text_can_be_read_on_every_ground(raw: Raw, socket: str, tab: BrowserTab) -> None:
    pairs = "".join(f"\\033[{text};{ground}mx" for text in (37, 97, 30) for ground in range(41, 47))
    raw("new-session", "-d", "-x", "60", "-y", "12", f"printf '{pairs}\\033[0mdone'; exec cat")
    shades = """[...document.querySelectorAll('.xterm-rows span')].filter((each) => each.innerText === 'x')
        .map((each) => getComputedStyle(each)).map((style) => [style.color, style.backgroundColor])"""
    async with run_view(socket) as url:
        await tab.open(url)
        for scheme in ("light", "dark"):
            await tab.set_appearance(1200, 800, scheme=scheme)
            await tab.wait_until(text_script("%0"), lambda text: "done" in text)
            await tab.wait_until(shades, lambda found: len(found) == 18 and min(map(contrast, found)) >= 2.9)


def contrast(pair: tuple[str, str]) -> float:
    one, other = ([int(part) for part in re.findall(r"\d+", colour)[:3]] for colour in pair)
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: list[int]) -> float:
    """Return the relative luminance of WCAG."""
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
