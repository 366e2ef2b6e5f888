"""The commands for a terminal with names of panes, and without any: then the pane is `main`."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run
from tests.rigs.wire import Place


@pytest.fixture(autouse=True)
def private_socket(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX_MCP_SOCKET", place.socket)
    monkeypatch.setenv("SHELL", "/bin/bash")


def test_a_command_without_a_pane_runs_in_main_and_the_next_one_in_the_same_shell(run: Run) -> None:
    assert run("run", "--", "word=kept; echo first")[:2] == (0, "first\n")
    assert run("run", "-p", "main", "--", "echo $word")[:2] == (0, "kept\n")


def test_a_pane_is_opened_by_its_name_in_the_folder_that_is_given(run: Run) -> None:
    assert run("run", "-p", "server", "--cwd", "/usr", "--", "pwd")[:2] == (0, "/usr\n")
    assert "/usr" in run("logs", "server")[1]
    assert run("send", "server", "echo $((6 * 7))")[0] == 0
    assert run("wait", "server", "--until", "shell")[0] == 0


def test_a_name_that_is_not_there_is_not_opened_to_read_it(run: Run) -> None:
    run("run", "--", "true")
    code, out, err = run("logs", "server")
    assert (code, out) == (2, "")
    assert "main" in err
    names = [row["name"] for row in json.loads(run("call", "list-windows")[1])["windows"]]
    assert names == ["main"]
