"""Requests that the page refuses, and what it is allowed to do in a browser."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from muxpilot.pictures.palette import THEMES, to_hex
from muxpilot.view import http_app
from tests.rigs.view_page import LIMIT_S, open_page, run_view


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    async with run_view(str(tmp_path / "s")) as url:
        yield url


async def get(url: str, method: str = "GET", **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False, timeout=LIMIT_S) as client:  # or it loads all certificates
        return await client.request(method, url, headers=headers)


async def test_the_address_is_of_loopback_and_holds_a_long_token(address: str) -> None:
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    assert re.fullmatch(r"/[\w-]{32}/", parts.path), "192 bits"
    assert (await get(address)).status_code == 200


async def test_nothing_is_answered_without_the_token(address: str) -> None:
    parts = urlsplit(address)
    root = f"http://{parts.netloc}"
    wrong = parts.path.strip("/")[:-1] + ("a" if parts.path[-2] != "a" else "b")
    for name in ("", "events", "page.js", "xterm/xterm.mjs", "nowhere"):
        for url in (f"{root}/{name}", f"{root}/{wrong}/{name}", f"{root}//{name}", f"{root}/%00/{name}"):
            answer = await get(url)
            assert answer.status_code == 403, url
            assert "xterm" not in answer.text


async def test_nothing_can_be_sent(address: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        for name in ("", "events", "page.js"):
            assert (await get(address + name, method)).status_code == 405, (method, name)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"host": "evil.example"}),
        (421, {"host": "127.0.0.1.evil.example"}),
        (403, {"origin": "http://evil.example"}),
        (403, {"origin": "null"}),
    ],
)
async def test_pages_of_others_are_not_served(address: str, status: int, headers: dict[str, str]) -> None:
    for name in ("", "events"):
        assert (await get(address + name, **headers)).status_code == status


async def test_every_answer_forbids_what_the_page_does_not_need(address: str) -> None:
    for name in ("", "page.js", "nowhere"):
        headers = (await get(address + name)).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "script-src" not in policy, "scripts come from here alone"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "set-cookie" not in headers


async def test_the_page_names_no_file_that_is_not_served_and_no_other_host(address: str) -> None:
    text = (await get(address)).text
    for name in re.findall(r'(?:src|href)="([^"]*)"', text):
        assert (await get(address + name)).status_code == 200, name
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|style=", text), "nothing is inline"
    for name, (file, kind) in http_app._FILES.items():
        answer = await get(address + name)
        assert answer.headers["content-type"] == kind, file
        if "xterm" not in file and "svg" not in file:
            assert "http" not in answer.text
            assert "innerHTML" not in answer.text


async def test_terminals_have_the_colours_that_pictures_of_screens_have(address: str) -> None:
    module = (await get(address + "themes.js")).text.removeprefix("export const THEMES = ").rstrip(";\n")
    style = (await get(address + "page.css")).text
    for name, theme in json.loads(module).items():
        meant = THEMES[name]
        assert (theme["background"], theme["foreground"]) == (to_hex(meant.bg), to_hex(meant.fg))
        assert (theme["blue"], theme["brightWhite"]) == (to_hex(meant.ansi[4]), to_hex(meant.ansi[15]))
        assert f"--terminal: {theme['background']};" in style, "what is around them"


async def test_paths_lead_nowhere_else(address: str) -> None:
    for name in ("..%2fweb.py", "%2e%2e/web.py", "xterm/LICENSE", "index.html/", "page.js%2f..", "xterm"):
        assert (await get(address + name)).status_code in (403, 404)


async def test_only_so_many_pages_are_open_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_app, "MOST_VIEWERS", 1)
    async with open_page(address):
        assert (await get(address + "events")).status_code == 503
