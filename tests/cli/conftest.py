"""The command line, in this process and in a new one, with a private tmux."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from muxpilot.cli.main import main
from tests.rigs.wire import Place, private_place

Run = Callable[..., tuple[int, str, str]]
LIMIT_S = 50  # a busy machine takes its time to start Python


@pytest.fixture
def place() -> Iterator[Place]:
    with private_place() as place:
        yield place


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs the program in this process: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> tuple[int, str, str]:
        try:
            code = main(argv)
        except SystemExit as ended:
            code = int(ended.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def start(*argv: str, given: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "muxpilot", *argv]
    return subprocess.run(
        command, input=given, capture_output=True, timeout=LIMIT_S, check=False, env=os.environ | variables
    )


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder on the PATH, empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def old_tmux(folder: Path, words: str = "tmux 3.1c") -> None:
    shim = folder / "tmux"
    shim.write_text(f"#!/bin/sh\necho {words}\n")
    shim.chmod(0o755)


class Terminal:
    """The commands for a terminal, with one pane on a private tmux, whose shell is bash."""

    def __init__(self, place: Place, run: Run) -> None:
        self.place = place
        self._run = run
        self.pane: str = json.loads(self.call("call", "create-session", '{"name": "work"}')[1])["paneId"]

    def call(self, *argv: str) -> tuple[int, str, str]:
        """Run a command in this process: exit code, stdout, stderr."""
        return self._run("--socket", self.place.socket, *argv)

    def run(self, *argv: str) -> tuple[int, str, str]:
        """Run `muxpilot run` in the pane."""
        return self.call("run", "-p", self.pane, *argv)

    def detach(self, line: str) -> str:
        """Start a command and return its id."""
        code, out, err = self.run("--detach", "--", line)
        assert (code, err) == (0, "")
        return out.strip()

    @contextmanager
    def open(self, *argv: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command in a process of its own, whose stdout and stderr are pipes, for this block."""
        command = [sys.executable, "-m", "muxpilot", "--socket", self.place.socket, *argv]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe) as program:
            try:
                yield program
            finally:
                program.kill()

    def screen(self) -> str:
        return self.place.tmux("capture-pane", "-p", "-t", self.pane)


@pytest.fixture
def terminal(place: Place, run: Run, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("SHELL", "/bin/bash")
    return Terminal(place, run)
