"""`muxpilot view` as a person starts and stops it."""

from __future__ import annotations

import signal
import subprocess
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
