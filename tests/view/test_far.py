"""Watching the tmux of another host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.view_page import line, page, viewing
from tests.rigs.waiting import end_server, eventually
from tests.ssh.conftest import Far, standing


@pytest.fixture
def host() -> Iterator[Far]:
    with standing() as far:
        yield far


async def test_panes_of_another_host_are_shown_live_and_come_back_with_its_tmux(
    host: Far, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.jsonl"
    host.raw("new-session", "-d", "-s", "far", "-x", "70", "-y", "12", "echo there; exec cat")
    host.raw("new-session", "-d", "-s", "other", "cat")
    audit.write_text(line("send-keys", paneId="%0", keys="x"))
    async with viewing(host.socket, audit=audit, ssh=host.sshd.arguments) as url, page(url) as seen:
        await seen.until(lambda: "there" in seen.shown("%0"))
        assert set(seen.panes) == {"%0"}
        assert (seen.panes["%0"]["columns"], seen.panes["%0"]["rows"]) == (70, 12)
        host.raw("send-keys", "-t", "%0", "-l", "typed by a person")
        await seen.until(lambda: "typed by a person" in seen.shown("%0"))
        end_server("tmux", host.socket)
        await seen.until(lambda: seen.scene["servers"][0]["problem"])
        host.raw("new-session", "-d", "-s", "again", "echo back; exec cat")
        await seen.until(lambda: "back" in seen.shown("%0"))

    async def is_left() -> bool:
        return host.raw("list-clients") == ""

    await eventually(is_left)


async def test_a_path_that_a_call_named_is_not_the_same_path_there(host: Far, tmp_path: Path) -> None:
    """Here both hosts are this machine: its tmux is there under both names."""
    audit = tmp_path / "audit.jsonl"
    host.raw("new-session", "-d", "cat")
    audit.write_text(line("send-keys", paneId="%0", keys="x", socket=host.socket))
    async with viewing(host.socket, audit=audit, ssh=host.sshd.arguments) as url, page(url) as seen:
        await seen.until(lambda: [row["server"] for row in seen.scene.get("panes", [])] == [host.socket])
        meant = [{"server": host.socket, "id": "%0"}]
        await seen.until(lambda: [row["panes"] for row in seen.trail] == [meant])
