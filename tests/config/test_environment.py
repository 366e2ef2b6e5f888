"""The one module that reads the environment."""

from __future__ import annotations

import pytest

from muxpilot.config import environment


def test_variables_are_read_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.variable("MUXPILOT_TEST") == ""
    monkeypatch.setenv("MUXPILOT_TEST", "x")
    assert environment.variable("MUXPILOT_TEST") == environment.variables()["MUXPILOT_TEST"] == "x"


def test_a_tmux_process_does_not_learn_that_we_run_inside_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "/tmp/s,1,0")
    monkeypatch.setenv("TMUX_PANE", "%1")
    assert environment.variables_outside_tmux().keys() == environment.variables().keys() - {
        "TMUX",
        "TMUX_PANE",
    }


def test_the_own_pane_and_socket_are_known_inside_tmux_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    assert (environment.own_socket(), environment.own_pane({})) == ("", "")
    inside = {"TMUX": "/tmp/s,1,0", "TMUX_PANE": "%1"}
    assert (environment.own_socket(inside), environment.own_pane(inside)) == ("/tmp/s", "%1")
