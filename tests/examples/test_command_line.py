"""An agent that has a shell and no MCP: docs/examples/demo.sh does what demo.py does."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.wire import Place, private_place

SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "demo.sh"
LIMIT_S = 170  # the script starts muxpilot eighteen times
# In this order.
OUTCOMES = (
    "2:error: disk is full\n",
    "exit code 1\n",
    "/usr/lib\n",
    "waits for input: It waits for a password at 'Password:'.\nexit code 125\n",
    "completed with exit code 0",
    "Password: \n11 characters\n",
    "It has opened a shell",
    "depth 2\n",
    "exit code 3\n",
    "failed with exit code 3",
    "pattern:Serving HTTP after",
    "completed with exit code 0",
    "demo$ bash --norc\n",
)


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


def environment(place: Place) -> dict[str, str]:
    """Return the environment of the script: `muxpilot` and `python` are ours, the home has a log."""
    programs = place.home.parent / "bin"
    (programs / "muxpilot").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m muxpilot "$@"\n')
    (programs / "muxpilot").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    (place.home / "build.log").write_text("compiling\nerror: disk is full\n")
    (place.home / ".bash_profile").write_text(f"PATH={shlex.quote(place.path)}\nPS1='demo$ '\n")
    own = {"HOME": str(place.home), "PATH": place.path, "SHELL": "/bin/bash", "TMUX_MCP_SOCKET": place.socket}
    return os.environ | own


def run_script(place: Place, *argv: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        ["sh", str(SCRIPT), *argv],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=env,
        cwd=place.home,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(told: str) -> None:
    at = 0
    for outcome in OUTCOMES:
        found = told.find(outcome, at)
        assert found >= 0, f"{outcome!r} is not in {told[at:]!r}"
        at = found + len(outcome)


def test_the_script_uses_four_commands_only() -> None:
    assert set(re.findall(r"muxpilot ([a-z]+)", SCRIPT.read_text())) == {"run", "wait", "logs", "send"}


@pytest.mark.timeout(LIMIT_S + 20)
def test_a_script_without_mcp_does_the_demonstration(place: Place) -> None:
    env = environment(place)
    made = subprocess.run(
        ["muxpilot", "call", "create-session", '{"name": "demo"}'],
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
        env=env,
    )
    check(run_script(place, json.loads(made.stdout)["paneId"], env=env))


@pytest.mark.timeout(LIMIT_S + 20)
def test_the_script_needs_no_pane_where_panes_have_names(place: Place) -> None:
    check(run_script(place, env=environment(place)))
