"""That tmux itself falls for what muxpilot must not: a canary that cannot sing proves nothing."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from muxpilot.tmux import version
from tests.rigs.waiting import LIMIT_S, eventually

Raw = Callable[..., str]

MENDED: version.Version = (3, 4)  # an unknown layout ends no server any more

# Arguments in which tmux runs `#(…)`, or the text itself, where the client stays: control mode, as we use it.
RUNS = (
    "new-session -d -s X",
    "new-session -d -n X",
    "new-session -d -c X",
    "new-session -d -P -F X",
    "new-window -d -n X",
    "new-window -d -c X",
    "new-window -d -P -F X",
    "split-window -d -c X",
    "respawn-pane -k -c X",
    "select-pane -T X",
    "rename-session X",
    "rename-window X",
    "display-message X",
    "display-message -p X",
    "list-panes -F X",
    "list-sessions -f X",
    "list-clients -F X",
    "load-buffer X",
    "save-buffer -b kept X",
    "set-option -F @x X",
    "if-shell -F X ''",
    "pipe-pane X",
    "run-shell X",
)


@pytest.fixture
async def control(raw: Raw, socket: str, binary: str) -> AsyncIterator[Callable[[str], None]]:
    """A client in control mode, which stays: `control("rename-window x")`."""
    raw("new-session", "-d", "-s", "s", "-x", "80", "-y", "24")
    raw("set-buffer", "-b", "kept", "x")
    argv = [binary, "-u", "-S", socket, "-C", "attach", "-t", "s"]
    client = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert client.stdin is not None
    stdin = client.stdin

    async def is_attached() -> bool:
        return bool(raw("list-clients"))

    await eventually(is_attached)

    def send(line: str) -> None:
        stdin.write(f"{line}\n".encode())
        stdin.flush()

    yield send
    stdin.close()
    await asyncio.to_thread(client.wait, LIMIT_S)


@pytest.mark.parametrize("command", RUNS)
async def test_a_text_that_is_not_escaped_runs(
    control: Callable[[str], None], folder: Path, command: str
) -> None:
    canary = folder / "canary"
    run = f"touch {canary}"
    control(command.replace("X", f"'{run}'" if command in ("pipe-pane X", "run-shell X") else f"'#({run})'"))

    async def sings() -> bool:
        return canary.exists()

    await eventually(sings)


def test_t1_an_unknown_layout_ends_an_old_server(raw: Raw) -> None:
    if version.parse(raw("-V")) >= MENDED:
        pytest.skip("this tmux is mended")
    raw("new-session", "-d")
    raw("split-window", "-d")
    raw("select-layout", "no-such", check=False)
    assert "no server" in raw("list-sessions", check=False) or not raw("list-sessions", check=False)


async def typed(raw: Raw, *flags: str, text: str) -> str:
    """What arrives of a text, at a program that shows each key."""
    raw("new-session", "-d", "-s", "t", "stty raw -echo; echo ready; exec cat -v")
    await shown(raw, "ready")
    raw("send-keys", "-t", "t", *flags, text, check=False)
    raw("send-keys", "-t", "t", "-l", "!")
    screen = await shown(raw, "!")
    return screen.split("ready", 1)[-1].strip().removesuffix("!") if "ready" in screen else "reset"


async def shown(raw: Raw, wanted: str) -> str:
    async def look() -> str:
        screen = raw("capture-pane", "-p", "-t", "t")
        return screen if wanted in screen else ""

    return str(await eventually(look))


@pytest.mark.parametrize(
    ("number", "flags", "text", "arrived"),
    [
        ("T2", ("-l",), "a;", "a"),
        ("T2", ("-l",), "a\\;", "a;"),
        ("T3", ("-l",), "-N5", ""),
        ("T3", ("-l",), "-R", "reset"),
        ("T4", (), "C-c", "^C"),
        ("T4", (), "0x41", "A"),
    ],
)
async def test_text_does_not_arrive_as_it_is(
    raw: Raw, number: str, flags: tuple[str, ...], text: str, arrived: str
) -> None:
    assert await typed(raw, *flags, text=text) == arrived


@pytest.mark.parametrize(("number", "target"), [("T5", "foo"), ("T5", "f*r"), ("T6", ""), ("T6", ":")])
def test_a_part_a_pattern_or_nothing_ends_a_session(raw: Raw, number: str, target: str) -> None:
    raw("new-session", "-d", "-s", "foobar")
    raw("kill-session", "-t", target)
    assert "foobar" not in raw("list-sessions", check=False)


def test_t8_a_pane_that_is_not_there_has_empty_fields(raw: Raw) -> None:
    raw("new-session", "-d")
    assert raw("display-message", "-p", "-t", "%999999", "[#{pane_id}]") == "[]"


def test_t10_a_windows_name_makes_a_row(raw: Raw) -> None:
    raw("new-session", "-d", "-n", "first")
    raw("new-window", "-d", "-n", "x\n@99 forged")
    assert len(raw("list-windows", "-F", "#{window_id} #{window_name}").splitlines()) == 3
