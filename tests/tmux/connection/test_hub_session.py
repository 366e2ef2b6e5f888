"""The hub changes nothing that a person sees or uses."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest

from muxpilot import Tmux
from muxpilot.errors import NoServer, NotFound
from muxpilot.tmux.connection import attached_client
from tests.rigs.engine import Raw, attach_person, wait_until
from tests.rigs.waiting import eventually, server_pid

pytestmark = pytest.mark.both_tmux


async def attached_to(raw: Raw) -> list[str]:
    return raw("list-clients", "-F", "#{client_session} #{client_control_mode}").splitlines()


async def test_a_bare_attach_never_lands_on_the_hub(tmux: Tmux, raw: Raw, socket: str, binary: str) -> None:
    raw("new-session", "-d", "-s", "mine")
    async with attach_person(binary, socket, "attach", "-t", "mine"):
        await eventually(lambda: _contains(raw, "mine 0"))
        await tmux.sessions.list()
        async with attach_person(binary, socket, "attach"):
            await eventually(lambda: _count(raw, "mine 0", 2))


async def test_a_bare_attach_takes_the_free_session(tmux: Tmux, raw: Raw, socket: str, binary: str) -> None:
    raw("new-session", "-d", "-s", "mine")
    await tmux.sessions.list()
    async with attach_person(binary, socket, "attach"):
        await eventually(lambda: _contains(raw, "mine 0"))


async def test_a_bare_command_meets_the_session_that_it_met_without_us(tmux: Tmux, raw: Raw) -> None:
    for name in ("first", "second", "third"):
        raw("new-session", "-d", "-s", name)
    before = raw("list-sessions", "-F", "#{session_name} #{session_attached}").splitlines()
    met = raw("display-message", "-p", "#{session_name}")
    await tmux.sessions.list()
    assert raw("display-message", "-p", "#{session_name}") == met == "third"
    pane = raw("new-window", "-d", "-P", "-F", "#{pane_id}", "cat")
    assert pane in [row.id for row in await tmux.panes.list()]
    after = raw("list-sessions", "-F", "#{session_name} #{session_attached}").splitlines()
    assert [line for line in after if "hub" not in line] == before


async def _contains(raw: Raw, line: str) -> bool:
    return line in await attached_to(raw)


async def _count(raw: Raw, line: str, number: int) -> bool:
    return (await attached_to(raw)).count(line) == number


async def test_our_connection_shows_in_none_of_our_lists(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "mine")
    assert [(row.name, row.attached) for row in await tmux.sessions.list()] == [("mine", 0)]
    assert "hub" in raw("list-sessions")
    assert {row.session_name for row in await tmux.windows.list()} == {"mine"}
    assert len(await tmux.panes.list()) == 1
    assert await tmux.clients.list() == []


async def test_the_hub_of_another_muxpilot_is_hidden_too(
    tmux: Tmux, raw: Raw, socket: str, binary: str
) -> None:
    raw("new-session", "-d", "-s", "mine")
    async with Tmux(socket, binary=binary) as other:
        await other.sessions.list()
        assert [row.name for row in await tmux.sessions.list()] == ["mine"]
        assert await tmux.clients.list() == []


async def test_the_hub_keeps_no_server_alive(tmux: Tmux, raw: Raw, socket: str, binary: str) -> None:
    raw("new-session", "-d", "-s", "mine")
    await tmux.sessions.list()
    raw("kill-session", "-t", "mine")
    await eventually(lambda: asyncio.to_thread(lambda: server_pid(binary, socket) is None))


async def test_two_hubs_keep_no_server_alive(tmux: Tmux, raw: Raw, socket: str, binary: str) -> None:
    raw("new-session", "-d", "-s", "mine")
    async with Tmux(socket, binary=binary) as other:
        await asyncio.gather(tmux.sessions.list(), other.sessions.list())
        raw("kill-session", "-t", "mine")
        await eventually(lambda: asyncio.to_thread(lambda: server_pid(binary, socket) is None))


async def test_no_window_changes_its_size_and_no_session_its_environment(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "mine", "-x", "133", "-y", "44")
    raw("set-environment", "-t", "mine", "SSH_AUTH_SOCK", "theirs")
    before = raw("list-windows", "-a", "-F", "#{window_width}x#{window_height}")
    async with tmux.streams.open((await tmux.panes.list())[0].id):
        assert raw("list-windows", "-t", "mine", "-F", "#{window_width}x#{window_height}") == before
        assert raw("show-environment", "-t", "mine", "SSH_AUTH_SOCK") == "SSH_AUTH_SOCK=theirs"


async def test_a_server_that_may_be_empty_is_left_empty(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "mine", ";", "set-option", "-g", "exit-empty", "off")
    await tmux.sessions.list()
    raw("kill-session", "-t", "mine")
    await eventually(lambda: asyncio.to_thread(lambda: raw("list-sessions", check=False) == ""))
    with pytest.raises(NoServer, match="no session"):
        await tmux.sessions.list()
    assert (await tmux.sessions.create("again")).created


async def test_a_bare_attach_does_not_land_on_the_hub_after_a_session_has_ended(
    tmux: Tmux, raw: Raw, socket: str, binary: str
) -> None:
    raw("new-session", "-d", "-s", "old")
    raw("new-session", "-d", "-s", "new")
    async with (
        attach_person(binary, socket, "attach", "-t", "old"),
        attach_person(binary, socket, "attach", "-t", "new"),
    ):
        await eventually(lambda: _count(raw, "old 0", 1))
        await eventually(lambda: _count(raw, "new 0", 1))
        await tmux.sessions.list()
        raw("kill-session", "-t", "new")
        await eventually(lambda: _is_used_again(tmux, raw))
        async with attach_person(binary, socket, "attach"):
            await eventually(lambda: _count(raw, "old 0", 2))


async def _is_used_again(tmux: Tmux, raw: Raw) -> bool:
    """Return whether the old session is the default: a bare command uses the same one as a bare attach."""
    return [row.name for row in await tmux.sessions.list()] == ["old"] and "old" in raw(
        "display-message", "-p", "#{session_name}"
    )


async def test_the_hub_is_nobodys_to_use(tmux: Tmux, raw: Raw) -> None:
    raw("new-session", "-d", "-s", "mine")
    await tmux.sessions.list()
    ids = raw("list-panes", "-a", "-F", "#{session_name} #{session_id} #{window_id} #{pane_id}").splitlines()
    [hub] = [line.split()[1:] for line in ids if line.startswith("muxpilot-hub")]
    for find, target in zip(
        (tmux.targets.resolve_session, tmux.targets.resolve_window, tmux.targets.resolve_pane),
        hub,
        strict=True,
    ):
        with pytest.raises(NotFound, match=re.escape(target)):
            await find(target)


async def test_the_hub_of_a_killed_client_has_gone_before_the_next_one_comes(
    tmux: Tmux, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached_client, "_DETACH_TIMEOUT_S", 60)
    raw("new-session", "-d", "-s", "mine")
    await tmux.sessions.list()
    [client] = raw("list-clients", "-F", "#{client_pid}").splitlines()
    [_, hub] = raw("list-sessions", "-F", "#{session_name}").splitlines()
    program = raw("display-message", "-p", "-t", f"={hub}:", "#{pane_pid}")
    hub_fifo = Path(f"/proc/{program}/fd/3")
    await wait_until(lambda: _is_named_fifo(hub_fifo))  # the hub's program may just be starting
    with hub_fifo.open("wb"):  # while the FIFO has a writer, the hub lives
        os.kill(int(client), signal.SIGKILL)
        calls = [asyncio.create_task(tmux.sessions.list()) for _ in range(3)]
        await asyncio.wait(calls, timeout=0.5)
        assert raw("list-sessions", "-F", "#{session_name}").splitlines() == ["mine", hub]
    for call in calls:
        assert [row.name for row in await call] == ["mine"]


def _is_named_fifo(descriptor: Path) -> bool:
    """Tell a named FIFO from a pipe, which a child of tmux may have there for a moment."""
    try:
        return "fifo" in str(descriptor.readlink())
    except OSError:
        return False
