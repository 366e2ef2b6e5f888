"""The view page with the tmux of another host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.view_page import audit_line, open_page, run_view
from tests.rigs.waiting import end_server, eventually
from tests.ssh.conftest import RemoteHost, run_host


@pytest.fixture
def host() -> Iterator[RemoteHost]:
    with run_host() as far:
        yield far


async def test_panes_of_another_host_are_shown_live_and_come_back_with_its_tmux(
    host: RemoteHost, tmp_path: Path
) -> None:
    audit = tmp_path / "audit.jsonl"
    host.raw("new-session", "-d", "-s", "far", "-x", "70", "-y", "12", "echo there; exec cat")
    host.raw("new-session", "-d", "-s", "other", "cat")
    audit.write_text(audit_line("send-keys", paneId="%0", keys="x"))
    async with run_view(host.socket, audit=audit, ssh=host.sshd.arguments) as url, open_page(url) as seen:
        await seen.wait_until(lambda: "there" in seen.screen_text("%0"))
        assert set(seen.panes) == {"%0"}
        assert (seen.panes["%0"]["columns"], seen.panes["%0"]["rows"]) == (70, 12)
        host.raw("send-keys", "-t", "%0", "-l", "typed by a person")
        await seen.wait_until(lambda: "typed by a person" in seen.screen_text("%0"))
        end_server("tmux", host.socket)
        await seen.wait_until(lambda: seen.overview["servers"][0]["problem"])
        host.raw("new-session", "-d", "-s", "again", "echo back; exec cat")
        await seen.wait_until(lambda: "back" in seen.screen_text("%0"))

    async def is_left() -> bool:
        return host.raw("list-clients") == ""

    await eventually(is_left)


async def test_a_path_that_a_call_named_is_not_the_same_path_there(host: RemoteHost, tmp_path: Path) -> None:
    """Use this machine as both hosts: its tmux has both addresses."""
    audit = tmp_path / "audit.jsonl"
    host.raw("new-session", "-d", "cat")
    audit.write_text(audit_line("send-keys", paneId="%0", keys="x", socket=host.socket))
    async with run_view(host.socket, audit=audit, ssh=host.sshd.arguments) as url, open_page(url) as seen:
        await seen.wait_until(
            lambda: [row["server"] for row in seen.overview.get("panes", [])] == [host.socket]
        )
        meant = [{"server": host.socket, "id": "%0"}]
        await seen.wait_until(lambda: [row["panes"] for row in seen.audit] == [meant])
