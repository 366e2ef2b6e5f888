"""The first answers of a start: from a manifest that is never stale, and before the engine is loaded."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.config.model import Settings
from muxpilot.server import manifest
from muxpilot.server.introduction import Introduction
from muxpilot.server.mcp_server import MuxpilotServer
from tests.rigs.waiting import within
from tests.rigs.wire import Place, Wire, environment, private_place

WAYS = ("eof", "SIGTERM", "SIGINT", "SIGHUP")

# What of muxpilot a start may load before its first answer. The engine is missing here: it is what a start
# costs.
OURS = frozenset(
    """
    muxpilot muxpilot.__main__ muxpilot.cli muxpilot.cli.arguments muxpilot.cli.import_time muxpilot.cli.main
    muxpilot.cli.serve
    muxpilot.config muxpilot.config.environment muxpilot.config.flags muxpilot.config.model
    muxpilot.config.scope muxpilot.config.workspace_name muxpilot.errors muxpilot.records muxpilot.trace
    muxpilot.shell_table muxpilot.shell_table.kind muxpilot.shell_table.programs muxpilot.shell_table.rows
    muxpilot.terminal muxpilot.terminal.escapes
    muxpilot.protocol muxpilot.protocol.envelope muxpilot.protocol.messages muxpilot.protocol.parameters
    muxpilot.protocol.phases muxpilot.protocol.results muxpilot.protocol.revisions
    muxpilot.protocol.rpc_errors
    muxpilot.server muxpilot.server.first_answers muxpilot.server.introduction muxpilot.server.manifest
    """.split()
)
NEVER_FIRST = ("asyncio", "ssl", "subprocess", "shutil", "tomllib", "socket", "selectors")
NEVER = (
    *("mcp", "pydantic", "anyio", "starlette", "uvicorn", "httptools", "re2", "rapidfuzz", "tree_sitter"),
    "importlib.resources",
)


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


def settings_in(place: Place, monkeypatch: pytest.MonkeyPatch, **flags: Any) -> Settings:
    """Return the settings of a server of this place, in this process."""
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("PATH", place.path)
    return load_settings({}, socket=place.socket, **flags)


def save(place: Place, monkeypatch: pytest.MonkeyPatch, **flags: Any) -> Introduction:
    """Write the manifest that a server of this place finds."""
    settings = settings_in(place, monkeypatch, **flags)
    introduction = MuxpilotServer(build(settings)).introduction
    manifest.save_manifest(settings, introduction)
    return introduction


@pytest.mark.parametrize("is_modern", [False, True], ids=["handshake", "stateless"])
async def test_answers_from_the_manifest_are_those_of_the_server(
    place: Place, monkeypatch: pytest.MonkeyPatch, is_modern: bool
) -> None:
    async with place.serve(is_new=True) as wire:
        slow = await first_requests(wire, is_modern=is_modern)
    save(place, monkeypatch)
    async with place.serve("--log-level", "debug", is_new=True) as wire:
        fast = await first_requests(wire, is_modern=is_modern)
        made = await wire.call("create-session", name="after", command="cat")
        assert (await wire.call("list-panes"))["panes"][0]["id"] == made["paneId"]
        await wire.close_stdin()
        assert "first answers end transport=stdio answers=2" in await wire.stderr()
    assert fast == slow


async def first_requests(wire: Wire, *, is_modern: bool) -> list[Any]:
    if is_modern:
        wire.use_modern_revision()
        return [await wire.result("server/discover"), await wire.result("tools/list")]
    return [await wire.shake_hands(), await wire.result("tools/list")]


async def test_messages_that_came_together_are_all_answered_in_order(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(place, monkeypatch)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with place.serve(is_new=True) as wire:
        lines = [
            {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            *({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"} for number in range(20)),
            {"jsonrpc": "2.0", "id": "z", "method": "prompts/list"},
        ]
        await wire.write("\n".join(map(json.dumps, lines)).encode() + b"\n{broken\n")
        answers = [await wire.next_unmatched_answer() for _ in range(23)]
        assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
        assert {answer["id"] for answer in answers} == {"a", "z", None, *(f"p{n}" for n in range(20))}
        assert await wire.result("ping") == {}


@pytest.mark.parametrize("line", [b"{", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', b"x" * 200_000])
async def test_what_the_manifest_cannot_answer_is_answered_as_always(
    place: Place, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    save(place, monkeypatch)
    async with place.serve(is_new=True) as wire:
        await wire.write(line + b"\n")
        assert (await wire.next_unmatched_answer())["error"]["code"] in (-32700, -32602)
        await wire.shake_hands()
        assert (await wire.call("list-sessions"))["sessions"] == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("asked", [False, True], ids=["after the handshake", "after the list"])
async def test_an_end_before_the_engine_is_needed_is_a_good_end(
    place: Place, monkeypatch: pytest.MonkeyPatch, way: str, asked: bool
) -> None:
    save(place, monkeypatch)
    async with place.serve(is_new=True) as wire:
        await wire.shake_hands()
        if asked:
            await wire.result("tools/list")
        with within(5):
            if way == "eof":
                await wire.close_stdin()
            else:
                os.kill(wire.pid, signal.Signals[way])
                await wire.wait_for_exit()
        assert (wire.process.returncode, await wire.stderr()) == (0, "")


def test_every_setting_that_matters_has_a_manifest_of_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = place.home / "config.toml"
    config.write_text("[security]\nenabled = true\n")
    settings = settings_in(place, monkeypatch)
    others = [
        settings_in(place, monkeypatch, scope="all"),
        settings_in(place, monkeypatch, channel=True),
        settings_in(place, monkeypatch, config=str(config)),
        settings_in(place, monkeypatch, ssh="host"),
        settings_in(place, monkeypatch, ssh="other"),
        settings_in(place, monkeypatch, exec_command="docker exec -i web"),
    ]
    paths = {manifest._path(each) for each in (settings, *others)}
    config.write_text("[security]\nenabled = false\n")
    paths.add(manifest._path(others[2]))
    monkeypatch.setenv("TMUX_MCP_TOOLS", "deny:kill-pane")
    paths.add(manifest._path(settings))
    (place.home.parent / "bin" / "tmux").write_text("#!/bin/sh\n")
    paths.add(manifest._path(settings))
    assert len(paths) == 10
    assert None not in paths
    for flags in ({"scope": "debug"}, {"scope": "classic"}, {"audit": str(place.home / "log")}):
        assert manifest._path(settings_in(place, monkeypatch, **flags)) is None


def test_a_changed_source_file_has_another_manifest(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "deep").mkdir()
    source = tmp_path / "deep" / "tool.py"
    source.write_text("1")
    monkeypatch.setattr(manifest, "_PACKAGE", tmp_path)
    settings = settings_in(place, monkeypatch)
    first = manifest._path(settings)
    os.utime(source, ns=(1, 1))
    second = manifest._path(settings)
    source.write_text("22")
    assert len({first, second, manifest._path(settings)}) == 3


@pytest.mark.parametrize("harm", ["writable by others", "a link", "broken", "not JSON", "a folder", "empty"])
def test_a_manifest_that_is_not_good_is_not_used(
    place: Place, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    introduction = save(place, monkeypatch)
    settings = settings_in(place, monkeypatch)
    found = manifest.load_manifest(settings)
    assert found is not None
    assert (found.description, found.tools) == (introduction.description, introduction.tools)
    path = manifest._path(settings)
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    if harm == "writable by others":
        path.chmod(0o620)
    elif harm == "a link":
        path.rename(path.with_suffix(".other"))
        path.symlink_to(path.with_suffix(".other"))
    elif harm == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_text({"broken": '{"tools": 1}', "not JSON": "{", "empty": ""}[harm])
    assert manifest.load_manifest(settings) is None


def test_a_home_that_cannot_be_written_is_no_failure(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (place.home / ".cache").write_text("in the way")
    save(place, monkeypatch)
    assert manifest.load_manifest(settings_in(place, monkeypatch)) is None


async def test_a_client_that_leaves_at_once_finds_a_manifest_the_next_time(place: Place) -> None:
    log = ("--log-level", "debug")
    for line in ("serving transport=stdio", "manifest found"):
        async with place.serve(*log, is_new=True) as wire:
            await first_requests(wire, is_modern=False)
            await wire.close_stdin()
            assert line in await wire.stderr()


def test_old_manifests_do_not_pile_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_in(place, monkeypatch)
    introduction = save(place, monkeypatch)
    path = manifest._path(settings)
    assert path is not None
    for number in range(20):
        (path.parent / f"agentic-{number}.json").write_text("{}")
    manifest.save_manifest(settings, introduction)
    assert len(list(path.parent.glob("agentic-*"))) == 4
    assert path.exists()


LOADED = """
import sys
before = set(sys.modules)
import muxpilot.__main__, muxpilot.cli.serve
from muxpilot.config.environment import variables
from muxpilot.config.flags import load_settings
from muxpilot.server.manifest import load_manifest
load_manifest(load_settings(variables()))
print(*sorted(set(sys.modules) - before))
"""


def test_the_first_answers_load_only_what_is_listed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    save(place, monkeypatch)
    loaded = run_python(place, LOADED)
    assert {name for name in loaded if name.startswith("muxpilot")} == OURS
    assert [name for name in NEVER_FIRST if name in loaded] == []


def test_a_start_loads_no_library_that_only_some_calls_need(place: Place) -> None:
    loaded = run_python(place, "import sys, muxpilot.server.lifecycle\nprint(*sys.modules)")
    assert [name for name in NEVER if name in loaded] == []


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the memory of a process is read in /proc")
@pytest.mark.parametrize("is_first", [True, False], ids=["first start", "with a manifest"])
async def test_a_server_on_stdio_has_no_openssl_in_its_memory(
    place: Place, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    if not is_first:
        save(place, monkeypatch)
    async with place.serve(is_new=True) as wire:
        await wire.shake_hands()
        await wire.call("create-session", name="one")
        libraries = re.findall(r"/(lib\w+|_\w+)\.[^/]*$", Path(f"/proc/{wire.pid}/maps").read_text(), re.M)
        assert "libc" in libraries
        assert not {"libssl", "libcrypto", "_ssl", "_hashlib"} & set(libraries)


def run_python(place: Place, program: str) -> set[str]:
    env = environment(place.home) | {"PATH": place.path}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env, timeout=60
    )
    return set(done.stdout.split())
