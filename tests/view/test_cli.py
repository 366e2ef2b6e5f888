"""`muxpilot view` as a person starts and stops it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot.cli.main import main
from muxpilot.view.run_page import open_page_listener
from tests.rigs.wire import LIMIT_S, command, environment


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    argv = command("view", "--socket", str(tmp_path / "s"))
    process = subprocess.Popen(
        argv, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_and_ends_when_it_is_told_to_while_a_page_is_open(
    running: subprocess.Popen[str], number: signal.Signals
) -> None:
    assert running.stdout is not None
    assert running.stderr is not None
    address = running.stdout.readline().strip()
    with urllib.request.urlopen(f"{address}events", timeout=LIMIT_S) as stream:
        assert stream.readline() == b"event: overview\n"
        running.send_signal(number)
        assert running.wait(LIMIT_S) == 0
    assert running.stderr.read() == ""


def test_a_port_that_cannot_be_had_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with open_page_listener(0) as taken:
        port = taken.getsockname()[1]
        for given, words in (
            (port, "cannot be listened on"),
            (70000, "is not a port"),
            (-1, "is not a port"),
        ):
            assert main(["view", f"--port={given}", "--socket", str(tmp_path / "s")]) == 2
            assert f"--port {given} {words}" in capsys.readouterr().err


def test_the_help_tells_of_the_port(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["view", "--help"])
    assert "--port N" in capsys.readouterr().out


def test_a_code_is_erased_when_it_was_used_and_enter_prints_another(tmp_path: Path) -> None:
    """A person at a terminal: the code must not stay where somebody else may read it later."""
    ours, theirs = pty.openpty()
    argv = command("view", "--socket", str(tmp_path / "s"))
    with subprocess.Popen(
        argv, env=environment(tmp_path), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        try:
            shown = _read_until(ours, "", r"agents: (\S{9})\s")
            address = shown.split()[0]
            origin = address[: address.index("/", 8)]
            _unlock(origin, re.findall(r"agents: (\S{9})\s", shown)[0])
            shown = _read_until(ours, shown, "Press Enter for another code")
            assert "\x1b[1A\x1b[2KA browser has given the code" in shown
            os.write(ours, b"\n")
            shown = _read_until(ours, shown, r"(?s)another code.*agents: (\S{9})\s")
            codes = re.findall(r"agents: (\S{9})\s", shown)
            assert len(set(codes)) == 2
            _unlock(origin, codes[-1])
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)


def test_inside_of_tmux_a_code_is_shown_only_after_enter(tmp_path: Path) -> None:
    """An agent can read the pane at any time."""
    ours, theirs = pty.openpty()
    argv, env = command("view", "--socket", str(tmp_path / "s")), {**environment(tmp_path), "TMUX": "/x,1,0"}
    with subprocess.Popen(
        argv, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        try:
            shown = _read_until(ours, "", "Press Enter to see a code")
            assert not re.findall(r"agents: (\S{9})\s", shown)
            os.write(ours, b"\n")
            shown = _read_until(ours, shown, r"agents: (\S{9})\s")
            address = shown.split()[0]
            _unlock(address[: address.index("/", 8)], re.findall(r"agents: (\S{9})\s", shown)[0])
            _read_until(ours, shown, "A browser has given the code")
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)


def _read_until(terminal: int, shown: str, wanted: str) -> str:
    deadline = time.monotonic() + LIMIT_S
    while not re.search(wanted, shown):
        assert time.monotonic() < deadline, shown
        if select.select([terminal], [], [], 0.1)[0]:
            shown += os.read(terminal, 1 << 16).decode()
    return shown


def _unlock(origin: str, code: str) -> None:
    headers = {"content-type": "application/json", "origin": origin}
    request = urllib.request.Request(f"{origin}/ask/code", json.dumps({"code": code}).encode(), headers)
    with urllib.request.urlopen(request, timeout=LIMIT_S) as answer:
        assert json.loads(answer.read())["problem"] == ""
