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


def test_the_tmux_variables_name_a_socket_a_server_and_a_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    assert (environment.own_socket(), environment.own_server_pid(), environment.own_pane({})) == ("", 0, "")
    inside = {"TMUX": "/tmp/a,b/s,71,0", "TMUX_PANE": "%1"}
    assert environment.own_socket(inside) == "/tmp/a,b/s"
    assert (environment.own_server_pid(inside), environment.own_pane(inside)) == (71, "%1")
    for odd in ("/tmp/s", "/tmp/s,x,0", ",,"):
        assert environment.own_server_pid({"TMUX": odd}) == 0
