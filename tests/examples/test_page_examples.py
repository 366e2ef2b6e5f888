"""The examples in guides answer what the pages print, apart from numbers that differ each time."""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from tests.rigs.wire import LIMIT_S, Place, command, environment, private_place

DOCS = Path(__file__).parents[2] / "docs"
# Page and number of the console block. A block goes on with the panes of the blocks before it.
BLOCKS = {
    "buffers.md": (0,),
    "command-line.md": (0,),
    "commands.md": (0, 2),
    "configuration.md": (0,),
    "durability.md": (0,),
    "input.md": (0,),
    "operating.md": (0,),
    "pictures.md": (0,),
    "policy.md": (0, 1),
    "reading.md": (0,),
    "redaction.md": (0,),
    "sessions.md": (0, 1, 2),
    "state.md": (0,),
    "tools.md": (0,),
    "watching.md": (0, 1),
    "workspace.md": (0,),
}
# Examples that wait for something that the test does not do.
NOT_RUN = ("call watch-pane",)
# What it prints depends on how the machine calls its programs.
NOT_COMPARED = ("muxpilot ps",)
PORTS = ("18765", "18000")
# What differs each time: ids, cursors, times, sizes, folders, places on the screen, and the prompt.
DIFFERENT = (
    r"cmd-[0-9a-f]{10}|\bw[0-9a-f]{8}\b|0001-[0-9a-f]{6}(?:\.\d+){3}",
    r"[%@$]\d+\b|\d+(?:\.\d+)? s(?=:)|\d+(?= bytes$)",
    r'"(?:panePid|foregroundPid|elapsedMs|elapsed|seconds|bytes|pid|row|column|line|newLines)":[\d.]+',
    r'"currentPath":"[^"]+"|"/[^"]+(?=/pane\.)|[$#] ?(?=")',
)


def blocks(page: str) -> list[list[tuple[str, list[str]]]]:
    """Return the console blocks of a page: command lines, each with the lines that it prints."""
    found = []
    for text in re.findall(r"^```console\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S):
        parts = re.split(r"^\$ ", text, flags=re.M)[1:]
        found.append([(part.split("\n")[0], part.split("\n")[1:-1]) for part in parts])
    return found


def without_differences(text: str) -> str:
    for pattern in DIFFERENT:
        text = re.sub(pattern, "~", text)
    return re.sub(r" +", " ", re.sub(r" ?… ?", "…", text)).strip()


def learn_values(printed: str, real: str, known: dict[str, str]) -> None:
    """Note which ids and cursors of the page stand for which real ones."""
    known |= dict(zip(re.findall(DIFFERENT[0], printed), re.findall(DIFFERENT[0], real), strict=False))


def run_line(place: Place, line: str, known: dict[str, str]) -> str:
    for value, real in known.items():
        line = line.replace(value, real)
    folder = place.home / "project"
    env = {
        **environment(place.home),
        "PATH": place.path,
        "TMUX_MCP_SOCKET": place.socket,
        "SHELL": "/bin/bash",
    }
    done = subprocess.run(
        command(*shlex.split(line)[1:]),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=folder,
        env=env,
    )
    return done.stdout + done.stderr


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def prepare(place: Place, page: str) -> None:
    """Make the folder that the examples are run in, and the configurations that the page shows."""
    (place.home / "project").mkdir()
    (place.home / ".bashrc").write_text("PS1='$ '\n")
    (place.home / ".bash_profile").write_text("PS1='$ '\n")
    text = (DOCS / page).read_text()
    shown = re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)[:1]
    named = re.findall(r"This is `(\w+\.toml)`:\n\n```toml\n(.*?)^```", text, re.M | re.S)
    for name, toml in (*(("work.toml", first) for first in shown), *named):
        (place.home / "project" / name).write_text(toml)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("page", BLOCKS)
def test_the_examples_of_a_page_answer_what_it_prints(page: str) -> None:
    port, known, compared = free_port(), dict[str, str](), 0
    with private_place() as place:
        prepare(place, page)
        if page == "buffers.md":  # a buffer starts no tmux server
            place.tmux("new-session", "-d", "-s", "person", "exec cat")
        for line, printed in (row for number in BLOCKS[page] for row in blocks(page)[number]):
            if any(name in line for name in NOT_RUN):
                continue
            wanted = "\n".join(printed)
            for shown in PORTS:
                line, wanted = line.replace(shown, port), wanted.replace(shown, port)
            real = run_line(place, line, known)
            learn_values(wanted, real, known)
            if printed and line not in NOT_COMPARED:
                pattern = ".*".join(map(re.escape, without_differences(wanted).split("…")))
                assert re.fullmatch(pattern, without_differences(real), re.S), f"{line}\n{wanted}\n{real}"
                compared += 1
    assert compared
