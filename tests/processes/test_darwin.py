"""The state of a pane on macOS, from invented lines of its `ps`: no test runs on a Mac."""

from __future__ import annotations

import subprocess

import pytest

from muxpilot.processes import darwin
from muxpilot.processes.terminal_mode import TerminalMode

ROWS = """
  100   100   200 Ss   -      -zsh
  200   200   200 S+   {wchan}  {words}
  201   200   200 S+   piperd grep x
"""
PLAIN = TerminalMode(is_canonical=True, has_echo=True, maps_return=True)
RAW = TerminalMode(is_canonical=False, has_echo=False, maps_return=False)


@pytest.mark.parametrize(
    ("wchan", "words", "mode", "wanted"),
    [
        ("ttyin", "cat", PLAIN, ("line", True, "cat", False)),
        ("ttyin", "/bin/bash --norc", RAW, ("shell", True, "bash", True)),
        ("select", "vim x", RAW, ("editor", True, "vim", False)),
        ("select", "python3 -m http.server", PLAIN, (None, False, "python3", False)),
        ("nanslp", "sleep 60", PLAIN, (None, True, "sleep", False)),
        ("-", "sleep 60", PLAIN, (None, False, "sleep", False)),
    ],
)
def test_the_group_in_front_is_judged(
    monkeypatch: pytest.MonkeyPatch, wchan: str, words: str, mode: TerminalMode, wanted: tuple[object, ...]
) -> None:
    done = subprocess.CompletedProcess([], 0, ROWS.format(wchan=wchan, words=words), "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(darwin, "read_terminal_mode", lambda _: mode)
    state = darwin.read_darwin_state(100, "/dev/ttys001")
    assert (state.waiting_for, state.is_known, state.foreground_cmd, state.is_shell) == wanted
    assert state.foreground_pid == 200
    assert not darwin.read_darwin_state(999, "/dev/ttys001").is_known


def test_a_ps_that_fails_is_not_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("ps", 2)

    monkeypatch.setattr(subprocess, "run", fails)
    assert not darwin.read_darwin_state(100, "/dev/ttys001").is_known
