"""muxpilot knows the pane, the server and the session that it runs in, with and without TMUX."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from muxpilot import Tmux
from muxpilot.processes import ancestors
from muxpilot.tmux.hosts import own_server
from muxpilot.tmux.hosts.endpoint import default_socket
from muxpilot.tmux.hosts.own_server import TmuxChild, find_own_socket
from muxpilot.tmux.own_panes import OwnPanes
from tests.rigs.policies import TMUX, PolicyPlace, place_with_sessions
from tests.rigs.waiting import LIMIT_S, end_server, eventually

# How a client in a pane starts muxpilot: what comes before its command line. In the first, the pane's own
# process has no variable; STALE is a server that has ended, and OTHER one in which we do not run.
STARTS = {
    "nothing at all": "exec env -i",
    "below a shell": "true; env -i",
    "with the variables": "env",
    "a stale variable": "env -i TMUX=STALE,4242,0 TMUX_PANE=%0",
    "the variables of another server": "env -i TMUX=OTHER,0 TMUX_PANE=%0",
    "a socket given": "env -i TMUX_MCP_SOCKET=ELSEWHERE",
    "a wrapper with a session and a process group of its own": "env -i setsid -w timeout 600",
    "a sandbox with pids of its own": "env bwrap --dev-bind / / --unshare-pid --proc /proc --",
}


@pytest.fixture
def place() -> Iterator[PolicyPlace]:
    with place_with_sessions() as found:
        yield found


@pytest.fixture
def other() -> Iterator[PolicyPlace]:
    with place_with_sessions() as found:
        yield found


class MuxpilotInPane:
    """A server that a client has started in a pane of the session `agent`, with pipes."""

    def __init__(self, place: PolicyPlace, start: str) -> None:
        self._out, requests = place.folder / "out", place.folder / "in"
        os.mkfifo(requests)
        self._requests = os.open(requests, os.O_RDWR)
        self._id = 0
        server = shlex.join([sys.executable, "-m", "muxpilot", "--scope", "all"])
        line = f"{start} /bin/sh -c {shlex.quote(f'{server} <{requests} >{self._out}; true')}"
        self.pane = place.raw("new-session", "-d", "-s", "agent", "-P", "-F", "#{pane_id}", line)

    def close(self) -> None:
        os.close(self._requests)

    async def begin(self) -> None:
        client = {"name": "test", "version": "1"}
        await self._ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)

    async def call(self, tool: str, **arguments: Any) -> tuple[bool, Any]:
        """Call a tool, and return whether it has failed, and its answer."""
        told = await self._ask("tools/call", name=tool, arguments=arguments)
        return bool(told.get("isError")), told.get("structuredContent") or told["content"][0]["text"]

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        os.write(self._requests, json.dumps(request).encode() + b"\n")

        async def find_answer() -> dict[str, Any] | None:
            lines = self._out.read_text().splitlines(keepends=True) if self._out.exists() else []
            rows = [json.loads(line) for line in lines if line.endswith("\n")]
            return next((row["result"] for row in rows if row.get("id") == self._id), None)

        answer = await eventually(find_answer, limit_s=LIMIT_S)
        assert isinstance(answer, dict)
        return answer


@asynccontextmanager
async def muxpilot_in_pane(place: PolicyPlace, start: str) -> AsyncIterator[MuxpilotInPane]:
    server = MuxpilotInPane(place, start)
    try:
        await server.begin()
        yield server
    finally:
        server.close()


def fill_in(start: str, place: PolicyPlace, other: PolicyPlace) -> str:
    elsewhere = f"{other.socket},{other.raw('display-message', '-p', '#{pid}')}"
    words = {"STALE": f"{place.socket}.gone", "OTHER": elsewhere, "ELSEWHERE": other.socket}
    for word, value in words.items():
        start = start.replace(word, value)
    return start


def can_unshare_pids() -> bool:
    argv = ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"]
    return shutil.which("bwrap") is not None and subprocess.run(argv, capture_output=True).returncode == 0


@pytest.mark.parametrize("start", STARTS)
async def test_the_own_pane_server_and_session_are_known_however_it_is_started(
    place: PolicyPlace, other: PolicyPlace, start: str
) -> None:
    if "bwrap" in STARTS[start] and not can_unshare_pids():
        pytest.skip("no bubblewrap here, or it may not make namespaces")
    is_elsewhere = start == "a socket given"
    where: Mapping[str, Any] = {"socket": place.socket} if is_elsewhere else {}
    async with muxpilot_in_pane(place, fill_in(STARTS[start], place, other)) as agent:
        _, session = await agent.call("get-current-session", **where)
        assert session["name"] == "agent"
        for tool, arguments in (
            ("send-keys", {"paneId": agent.pane, "keys": "x"}),
            ("kill-pane", {"paneId": agent.pane}),
            ("kill-session", {"sessionId": "agent"}),
        ):
            failed, text = await agent.call(tool, **arguments, **where)
            assert failed
            assert f"is denied by own-pane protection: muxpilot itself runs in pane {agent.pane}" in text
        _, listed = await agent.call("list-sessions")
        names = {row["name"] for row in listed["sessions"]}
        assert ("agent" in names) is not is_elsewhere, "the default server is ours, unless one is given"
        failed, text = await agent.call("send-keys", paneId=place.panes["one"], keys="x", **where)
        assert not failed, text


async def test_in_a_tmux_inside_of_tmux_the_inner_one_is_ours(place: PolicyPlace) -> None:
    """The inner server has no variable of either, and the pane of the outer one is only its terminal."""
    inner = f"{place.socket}.inner"
    start = f"exec env -i TERM=screen {TMUX} -u -S {inner} -f /dev/null new-session -s inner env -i"
    try:
        async with muxpilot_in_pane(place, start) as agent:
            _, session = await agent.call("get-current-session")
            assert session["name"] == "inner"
            failed, text = await agent.call("send-keys", paneId="%0", keys="x")
            assert failed
            assert "own-pane protection" in text
            _, listed = await agent.call("list-sessions", socket=place.socket)
            assert "agent" in {row["name"] for row in listed["sessions"]}
    finally:
        end_server(TMUX, inner)


async def test_a_stale_variable_protects_no_pane_of_a_later_server(
    place: PolicyPlace,
) -> None:
    pid = int(place.raw("display-message", "-p", "#{pid}"))
    async with Tmux(place.socket, config="/dev/null") as tmux:
        for told, expected in ((pid, "%0"), (pid + 1, None), (1, "%0")):
            own = OwnPanes({"TMUX": f"{place.socket},{told},0", "TMUX_PANE": "%0"})
            assert await own.find(tmux) == expected
        assert await OwnPanes({"TMUX": "/tmp/elsewhere,1,0", "TMUX_PANE": "%0"}).find(tmux) is None
        assert await OwnPanes({}).find(tmux) is None


def test_the_default_server_outside_of_tmux_is_that_of_plain_tmux(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(own_server, "find_tmux_children", list)
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    plain = str(folder / f"tmux-{os.getuid()}" / "default")
    assert default_socket() == plain
    monkeypatch.setenv("TMUX", f"{folder}/gone,1,0")
    assert default_socket() == plain, "a variable that names no socket says nothing"


def test_a_tmux_folder_in_the_environment_is_chosen_by_a_person(
    monkeypatch: pytest.MonkeyPatch, place: PolicyPlace
) -> None:
    child = TmuxChild(os.getpid(), int(place.raw("display-message", "-p", "#{pid}")))
    monkeypatch.setattr(own_server, "find_tmux_children", lambda: [child])
    monkeypatch.delenv("TMUX_TMPDIR", raising=False)
    assert find_own_socket() == place.socket
    monkeypatch.setenv("TMUX_TMPDIR", str(place.folder))
    assert find_own_socket() == ""


def test_without_proc_the_servers_of_the_users_folder_are_asked(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(own_server, "has_proc", lambda: False)
    monkeypatch.setattr(own_server, "Path", lambda *parts: folder.joinpath(*parts[1:]))
    sockets = folder / f"tmux-{os.getuid()}"
    sockets.mkdir(0o700)
    (sockets / "a-file").touch()
    server = str(sockets / "work")
    subprocess.run([TMUX, "-S", server, "-f", "/dev/null", "new-session", "-d", "cat"], check=True)
    try:
        told = subprocess.run(
            [TMUX, "-S", server, "display-message", "-p", "#{pid}"], capture_output=True, check=True
        )
        children = [TmuxChild(2**22 + 1, int(told.stdout))]
        monkeypatch.setattr(own_server, "find_tmux_children", lambda: children)
        assert find_own_socket() == server
    finally:
        end_server(TMUX, server)


def test_ancestors_are_the_same_by_proc_and_by_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    by_proc = ancestors._find_from.__wrapped__(os.getpid())
    assert [row.pid for row in by_proc[:2]] == [os.getpid(), os.getppid()]
    monkeypatch.setattr(ancestors, "has_proc", lambda: False)
    by_ps = ancestors._find_from.__wrapped__(os.getpid())
    assert [(row.pid, row.parent) for row in by_ps] == [(row.pid, row.parent) for row in by_proc]
    monkeypatch.setattr(ancestors, "_PS", ("there-is-no-such-program",))
    assert ancestors._find_from.__wrapped__(os.getpid()) == ()
