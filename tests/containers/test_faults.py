"""What is told when a command does not lead to a tmux server, or no longer does."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.errors import BadInput, Unreachable
from muxpilot.tmux import Pane, PaneId
from muxpilot.tmux.hosts.exec_command import ExecRoute
from muxpilot.tmux.hosts.far import FarEndpoint
from muxpilot.tmux.objects.capture import CursorLine
from muxpilot.tmux.servers import TmuxServers
from tests.containers.conftest import Inside, far_settings, muxpilot_in
from tests.containers.test_heartbeat import read_answer, running
from tests.rigs.namespaces import NEEDED, PROMPT, run_container
from tests.rigs.waiting import LIMIT_S, eventually, is_running, send_signal, within
from tests.shells.conftest import Barrier

WAIT_MS = 30_000
PROMPTS = (PROMPT.strip(), "$", "#")


async def ask(command: str) -> str:
    """Return why sessions cannot be listed with this command."""
    app = build(far_settings(command))
    try:
        async with asyncio.timeout(LIMIT_S):
            answer = await app.dispatch.call("list-sessions", {})
    finally:
        await app.close()
    assert answer.is_error, answer.text
    assert "\n" not in answer.text
    return answer.text


async def test_a_program_that_is_not_there_is_named() -> None:
    assert await ask("no-such-engine exec -i web") == (
        "There is no program 'no-such-engine' on this machine. Install it, or change exec."
    )


async def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    told = await ask(str(program))
    assert str(program) in told
    assert "No such file or directory" in told


@pytest.mark.parametrize(
    "message",
    [
        'OCI runtime exec failed: exec failed: unable to start container process: exec: "/bin/sh": stat '
        "/bin/sh: no such file or directory: unknown",
        "Error: crun: executable file `/bin/sh` not found: No such file or directory: OCI runtime attempted "
        "to invoke a command that was not found",
        "nsenter: failed to execute /bin/sh: No such file or directory",
        "bwrap: execvp /bin/sh: No such file or directory",
    ],
)
async def test_a_shell_that_is_missing_is_told_whoever_says_it(message: str) -> None:
    told = await ask(f"sh -c 'echo \"$0\" >&2; exit 127' {shlex.quote(message)}")
    assert told.startswith("There is no /bin/sh behind ")
    assert told.endswith("muxpilot needs /bin/sh, cat and tmux there.")


async def test_a_container_without_a_shell_or_without_tmux_is_told() -> None:
    with run_container(has_only=NEEDED) as container:
        (container.root / "bin" / "tmux").rename(container.root / "away")
        assert (await ask(container.command)).startswith(f"There is no tmux behind {container.command!r}.")
        (container.root / "bin" / "sh").rename(container.root / "gone")
        assert (await ask(container.command)).startswith(f"There is no /bin/sh behind {container.command!r}")


async def test_a_tmux_that_does_not_start_says_why() -> None:
    with run_container(has_only=NEEDED) as container:
        program = container.root / "bin" / "tmux"
        program.unlink()
        program.write_text("#!/bin/sh\necho tmux: need UTF-8 locale >&2; exit 1\n")
        program.chmod(0o755)
        assert "tmux: need UTF-8 locale" in await ask(container.command)


async def test_what_the_command_prints_is_told() -> None:
    told = await ask("sh -c 'echo Error: No such container: web >&2; exit 1'")
    assert "does not lead to a shell: Error: No such container: web. Try sh -c" in told
    told = await ask("sh -c 'echo Is the docker daemon running? >&2; exit 1'")
    assert "does not lead to a shell: Is the docker daemon running? Try sh -c" in told
    assert "it exited without a message" in await ask("false")


async def test_a_command_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FarEndpoint.connect_timeout_s is not None
    assert FarEndpoint.connect_timeout_s < 10
    monkeypatch.setattr(FarEndpoint, "connect_timeout_s", 1.0)
    with within(10):
        assert "did not start a shell within 1 s" in await ask("sh -c 'exec sleep 600'")


async def test_a_container_that_ends_is_told_and_used_again_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with run_container() as container:
        async with muxpilot_in(container) as it:
            await it.pane("work")
            container.stop()
            with within(10):
                told = await it.fails("create-session", name="more")
                if "has ended the connection" in told:  # the request was sent while the container stopped
                    told = await it.fails("create-session", name="more")
                assert "does not lead to a shell" in told
            container.start()
            assert (await it.call("list-sessions"))["sessions"] == []
            assert (await it.run(await it.pane("again"), "echo back"))["output"] == "back\n"


async def test_a_container_that_hangs_is_told_within_the_deadline_of_a_call() -> None:
    with run_container() as container:
        async with muxpilot_in(container) as it:
            await it.pane("work")
            server = it.app.servers.default.connection
            server.timeout_s = 2.0
            frozen = [pid for pid in container.processes() if pid != container.pid]
            for pid in frozen:
                send_signal(pid, signal.SIGSTOP)
            try:
                with within(10):
                    assert "did not answer" in await it.fails("list-windows")
            finally:
                for pid in frozen:
                    send_signal(pid, signal.SIGCONT)
            server.timeout_s = 30.0
            assert (await it.call("list-windows"))["windows"]


@asynccontextmanager
async def connection_broken(it: Inside) -> AsyncIterator[None]:
    """Break all connections into the container, and let no new one in until the block ends."""
    enter = it.container.root.with_name("enter")
    text = enter.read_text()
    enter.write_text("echo the engine is gone >&2; exit 1\n")
    killed = it.container.kill_connections()

    async def have_ended() -> bool:
        return not any(map(is_running, killed))

    try:
        await eventually(have_ended)
        assert "the engine is gone" in await it.fails("list-windows")
        yield
    finally:
        enter.write_text(text)


async def run_over_a_broken_connection(it: Inside, ending: str) -> dict[str, Any]:
    """Run a command, let it end while the connection is broken, and return what is told of it later."""
    container = it.container
    os.mkfifo(container.root / "tmp/gate")
    pane = await it.pane("work")
    assert (await it.run(pane, "true"))["exitCode"] == 0
    running = await it.run(pane, f"read -r _ </tmp/gate; {ending}", timeoutSeconds=0.2)
    assert running["status"] == "running"

    async def is_at_its_prompt() -> bool:
        shown = container.tmux("capture-pane", "-p", "-t", "work").split("\n")
        return [line for line in shown if line][-1].strip() in PROMPTS

    async with connection_broken(it):
        (container.root / "tmp/gate").write_text("go\n")
        await eventually(is_at_its_prompt)
    return await it.call(
        "get-command-result", commandId=running["commandId"], waitMs=WAIT_MS, maxOutputBytes=100_000
    )


def numbers(last: int) -> str:
    return "".join(f"{number}\n" for number in range(1, last + 1))


# What a container has, besides what muxpilot needs. The applets are those that a journal uses there.
IMAGES = {"the programs of this machine": (), "busybox": ("busybox",)}
APPLETS = ("cat", "id", "ls", "dd", "wc", "rm", "mkdir", "tail", "seq", "sleep")


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize(
    ("ending", "output", "code"), [("seq 1 3000; (exit 9)", numbers(3000), 9), ("true", "", 0)]
)
async def test_a_command_that_ends_while_the_connection_is_broken_is_told_exactly(
    monkeypatch: pytest.MonkeyPatch, image: str, ending: str, output: str, code: int
) -> None:
    has_only = (*NEEDED, *IMAGES[image]) if IMAGES[image] else ()
    monkeypatch.setenv("HOME", "/root")
    with run_container(has_only=has_only) as container:
        if has_only:
            container.use_busybox(*APPLETS)
        async with muxpilot_in(container) as it:
            told = await run_over_a_broken_connection(it, ending)
    assert (told["exitCode"], told["outputTruncated"], told["output"]) == (code, False, output), told


async def test_where_no_journal_can_be_kept_the_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container of sh, cat and tmux only has no programs for a journal."""
    monkeypatch.setenv("HOME", "/root")
    with run_container(has_only=NEEDED) as container:
        async with muxpilot_in(container) as it:
            told = await run_over_a_broken_connection(it, "echo in the gap; (exit 9)")
            assert (told["status"], told["exitCode"], told["outputTruncated"]) == ("lost", None, True), str(
                told
            )
            assert "ended while its output was interrupted" in told["reason"]
            assert (await it.run(told["paneId"], "echo next"))["output"] == "next\n"
        assert not [path for path in container.root.rglob("*muxpilot*") if path.is_file()]


async def test_a_check_of_a_quiet_command_asks_nothing_after_it_has_read_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The host may be out of reach by then, or back after a gap: the command would be lost, or never end."""
    monkeypatch.setenv("HOME", "/root")
    with run_container(has_only=NEEDED) as container:
        async with muxpilot_in(container) as it:
            pane, tmux = await it.pane("work"), it.app.servers.default
            os.mkfifo(container.root / "tmp/gate")
            running = await it.run(pane, "read -r _ </tmp/gate; (exit 9)", timeoutSeconds=0.05)
            looked, cursor_line = asyncio.Semaphore(0), tmux.capture.cursor_line

            async def look(place: PaneId) -> CursorLine:
                looked.release()
                return await cursor_line(place)

            async def fail(_: PaneId) -> Pane:
                raise Unreachable("The engine is gone.", "Try again.")

            with monkeypatch.context() as patch:
                patch.setattr(tmux.capture, "cursor_line", look)
                patch.setattr(tmux.panes, "get", fail)
                async with asyncio.timeout(LIMIT_S):
                    for _ in range(2):
                        await looked.acquire()
            (container.root / "tmp/gate").write_text("go\n")
            told = await it.call("get-command-result", commandId=running["commandId"], waitMs=WAIT_MS)
            assert (told["status"], told["exitCode"]) == ("failed", 9), str(told)


async def test_a_command_that_ends_while_no_muxpilot_runs_is_told_exactly() -> None:
    with run_container() as container:
        barrier = Barrier(container.root / "tmp" / "barrier")
        wait = barrier.command.replace(str(container.root), "")
        async with muxpilot_in(container) as it:
            pane = await it.pane("work")
            running = await it.run(pane, f"{wait}; echo in the gap; sh -c 'exit 4'", timeoutSeconds=0.2)
        barrier.open()
        async with muxpilot_in(container) as it:
            told = await it.call("get-command-result", commandId=running["commandId"], waitMs=WAIT_MS)
            assert (told["output"], told["exitCode"]) == ("in the gap\n", 4), told


async def test_a_command_runs_where_the_one_before_ended_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its muxpilot was killed, and without a journal nothing shows how it ended."""
    monkeypatch.setenv("HOME", "/root")
    with run_container(has_only=NEEDED) as container:
        async with muxpilot_in(container) as it:
            await it.pane("work")
        async with running(container.command, "cat") as process:
            before = await read_answer(process)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        container.tmux("send-keys", "-t", "work:0.0", "C-c")

        async def is_at_its_prompt() -> bool:
            return container.tmux("capture-pane", "-p", "-t", "work").rstrip().endswith(PROMPTS)

        await eventually(is_at_its_prompt)
        async with muxpilot_in(container) as it:
            told = await it.run("work:0.0", "echo next; (exit 3)")
            assert (told["output"], told["exitCode"]) == ("next\n", 3), told
            old = await it.call("get-command-result", commandId=before["commandId"])
            assert (old["status"], old["exitCode"]) == ("lost", None), old


# Settings


def test_a_person_attaches_with_a_terminal() -> None:
    there = FarEndpoint.by(ExecRoute.parse("docker exec -i web"), "/tmp/s")
    assert shlex.join(there.argv_for_person("attach")) == "docker exec -it web tmux -S /tmp/s attach"


def test_one_way_to_a_host_is_given_at_a_time() -> None:
    with pytest.raises(BadInput, match="--ssh and --exec are both given"):
        load_settings({}, ssh="build", exec_command="docker exec -i web")
    with pytest.raises(BadInput, match="TMUX_MCP_SSH and TMUX_MCP_EXEC are both given"):
        load_settings({"TMUX_MCP_SSH": "build", "TMUX_MCP_EXEC": "docker exec -i web"})
    with pytest.raises(BadInput, match="--exec is empty"):
        load_settings({}, exec_command="")
    found = load_settings({"TMUX_MCP_SSH": "build"}, exec_command="docker exec -i web")
    assert (found.ssh, found.exec_command) == (None, "docker exec -i web"), "a flag wins over a variable"
    found = load_settings({"TMUX_MCP_EXEC": "docker exec -i web"})
    assert (found.exec_command, found.is_far) == ("docker exec -i web", True)


def test_a_command_with_an_unbalanced_quote_is_an_error_at_the_start() -> None:
    with pytest.raises(BadInput, match=r"^--exec: The command .* has an unbalanced quote"):
        TmuxServers(exec_command="docker 'x", given_by={"exec": "--exec"})
    with pytest.raises(BadInput, match="is not a command"):
        TmuxServers(exec_command="  ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('exec = "docker exec -i web"', r":2: servers.box.exec must be a list of strings"),
        ("exec = []", r":2: servers.box.exec: '' is not a command"),
        ('exec = ["docker", ""]', r":2: servers.box.exec holds an empty string"),
        ('exec = ["docker"]\nssh = "build"', r":2: servers.box.exec: ssh and exec are both given"),
    ],
)
def test_a_bad_server_is_told_at_the_start_with_its_key(tmp_path: Path, text: str, words: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f"[servers.box]\n{text}\n")
    with pytest.raises(BadInput, match=words):
        build(load_settings({}, config=str(config)))


def test_a_server_is_allowed_by_its_name(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        '[security]\nallowed_sockets = ["box"]\n[servers.box]\nexec = ["docker", "exec", "-i", "web"]\n'
    )
    app = build(load_settings({}, config=str(config), socket="/tmp/mx-none/s"))
    assert [name for name, _ in app.servers.visible_addresses()] == ["box"]


@pytest.mark.parametrize("scheme", ["exec:", "ssh:-oProxyCommand=", ""])
async def test_no_argument_of_a_tool_is_a_way_to_a_host(folder: Path, scheme: str) -> None:
    canary = folder / "canary"
    app = build(load_settings({}, scope="all", socket=str(folder / "s")))
    try:
        for text in (f"{scheme}touch {canary}", f"{scheme}sh -c 'touch {canary}':"):
            assert (await app.dispatch.call("create-session", {"socket": text})).is_error
    finally:
        await app.close()
    assert not canary.exists()
