"""The one module that reads the environment."""

from __future__ import annotations

from pathlib import Path

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


def test_our_own_pane_is_known_on_its_server_by_every_path_of_the_socket(tmp_path: Path) -> None:
    socket, link = tmp_path / "s", tmp_path / "link"
    link.symlink_to(socket)
    inside = {"TMUX": f"{socket},1,0", "TMUX_PANE": "%1"}
    assert [environment.own_pane_on(str(path), inside) for path in (socket, link)] == ["%1", "%1"]
    assert environment.own_pane_on(str(tmp_path / "other"), inside) == ""
    assert environment.own_pane_on(str(socket), {}) == ""
