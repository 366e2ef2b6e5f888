"""A mistake of ours while somebody watches: it is said, and does not end the watching."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot.view.audit_reader import Trail
from muxpilot.view.panes import Server
from tests.rigs.view_page import line, page, viewing

pytestmark = pytest.mark.parametrize("binary", ["system"], indirect=True)

Raw = Callable[..., str]


async def test_of_the_look_for_panes(
    raw: Raw, socket: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks = []

    async def fail(server: Server) -> None:
        looks.append(server)
        raise KeyError("a mistake")

    raw("new-session", "-d", "cat")
    async with viewing(socket) as url, page(url) as seen:
        await seen.until(lambda: "%0" in seen.panes)
        with monkeypatch.context() as patch:
            patch.setattr(Server, "look", fail)
            await seen.until(lambda: "incident" in str(seen.scene["servers"][0]["problem"]))
            assert "%0" in seen.panes
            await seen.until(lambda: len(looks) > 2)
        other = raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "%0", "cat")
        await seen.until(lambda: other in seen.panes)
        assert seen.scene["servers"][0]["problem"] is None
    assert [row.levelno for row in caplog.records if "incident" in row.message] == [logging.ERROR], "once"


async def test_of_reading_the_trail(
    socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(trail: Trail) -> None:
        raise KeyError("a mistake")

    audit = tmp_path / "audit.jsonl"
    audit.write_text(line("first"))
    async with viewing(socket, audit=audit) as url, page(url) as seen:
        await seen.until(lambda: seen.trail)
        with monkeypatch.context() as patch:
            patch.setattr(Trail, "poll", fail)
            await seen.until(lambda: "incident" in str(seen.trail_problem))
        with audit.open("a") as file:
            file.write(line("second"))
        await seen.until(lambda: [row["tool"] for row in seen.trail] == ["first", "second"])
        assert seen.trail_problem is None
    assert "KeyError: 'a mistake'" in caplog.text
