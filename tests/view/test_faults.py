"""Internal errors while a page is open: they are reported, and the page goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot.view.audit_reader import AuditReader
from muxpilot.view.panes import ViewServer
from tests.rigs.view_page import audit_line, open_page, run_view

Raw = Callable[..., str]


async def test_of_listing_panes(
    raw: Raw, socket: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    async def fail(server: ViewServer) -> None:
        calls.append(server)
        raise KeyError("a mistake")

    raw("new-session", "-d", "cat")
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: "%0" in seen.panes)
        with monkeypatch.context() as patch:
            patch.setattr(ViewServer, "list_panes", fail)
            await seen.wait_until(lambda: "incident" in str(seen.overview["servers"][0]["problem"]))
            assert "%0" in seen.panes
            await seen.wait_until(lambda: len(calls) > 2)
        other = raw("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "%0", "cat")
        await seen.wait_until(lambda: other in seen.panes)
        assert seen.overview["servers"][0]["problem"] is None
    assert [row.levelno for row in caplog.records if "incident" in row.message] == [logging.ERROR], "once"


async def test_of_reading_the_audit_log(
    socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(audit: AuditReader) -> None:
        raise KeyError("a mistake")

    audit = tmp_path / "audit.jsonl"
    audit.write_text(audit_line("first"))
    async with run_view(socket, audit=audit) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.audit)
        with monkeypatch.context() as patch:
            patch.setattr(AuditReader, "read_new_lines", fail)
            await seen.wait_until(lambda: "incident" in str(seen.audit_problem))
        with audit.open("a") as file:
            file.write(audit_line("second"))
        await seen.wait_until(lambda: [row["tool"] for row in seen.audit] == ["first", "second"])
        assert seen.audit_problem is None
    assert "KeyError: 'a mistake'" in caplog.text
