"""Codex in a pane of tmux: it connects to the server that install wrote, which knows its own pane."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.conftest import LIMIT_S
from tests.rigs.node_programs import coding_agent
from tests.rigs.waiting import end_server, eventually

# Calls tools of muxpilot through `codex app-server`, without a model, and writes the answers to a file.
CALLER = """
import json, os, subprocess, sys

codex, pane, target = sys.argv[1], os.environ["TMUX_PANE"], sys.argv[2]
server = subprocess.Popen([codex, "app-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def ask(number, method, **params):
    server.stdin.write(json.dumps({"id": number, "method": method, "params": params}) + "\\n")
    server.stdin.flush()
    return next(row for row in map(json.loads, server.stdout) if row.get("id") == number)["result"]

ask(1, "initialize", clientInfo={"name": "test", "title": "test", "version": "1"})
server.stdin.write(json.dumps({"method": "initialized"}) + "\\n")
status = ask(2, "mcpServerStatus/list")["data"]
thread = ask(3, "thread/start")["thread"]["id"]
where = {"threadId": thread, "server": "muxpilot"}
keys = ask(4, "mcpServer/tool/call", **where, tool="send-keys", arguments={"paneId": pane, "keys": "x"})
listed = ask(5, "mcpServer/tool/call", **where, tool="list-sessions", arguments={})
server.stdin.close()
with open(target + ".new", "w") as file:
    json.dump({"status": status, "keys": keys, "listed": listed}, file)
os.rename(target + ".new", target)
"""


@pytest.fixture
def socket(folder: Path) -> Iterator[str]:
    yield str(folder / "s")
    end_server("tmux", str(folder / "s"))


@pytest.mark.timeout(3 * LIMIT_S)
@pytest.mark.parametrize("are_variables_named", [True, False], ids=["with env_vars", "without"])
async def test_codex_lists_the_tools_and_its_own_pane_is_protected(
    call: Callable[..., str], tmp_path: Path, socket: str, are_variables_named: bool
) -> None:
    agent = coding_agent("codex")
    if isinstance(agent, str):
        pytest.skip(agent)
    call(sys.executable, "-m", "muxpilot", "install", "codex")
    config, answers = tmp_path / "home/.codex/config.toml", tmp_path / "answers"
    if not are_variables_named:
        config.write_text(config.read_text().replace("env_vars", "#"))
    line = shlex.join([sys.executable, "-c", CALLER, str(agent), str(answers)])
    subprocess.run(
        ["tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", "agent", f"{line}; cat"],
        check=True,
        env={"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
        cwd=tmp_path / "work",
    )

    async def read_answers() -> dict[str, Any] | None:
        return json.loads(answers.read_text()) if answers.exists() else None

    found = await eventually(read_answers, limit_s=LIMIT_S)
    assert isinstance(found, dict)
    [server] = found["status"]
    assert server["name"] == "muxpilot"
    assert "execute-command" in server["tools"]
    assert found["keys"]["isError"]
    assert "is denied by own-pane protection" in found["keys"]["content"][0]["text"]
    names = [row["name"] for row in found["listed"]["structuredContent"]["sessions"]]
    assert names == ["agent"], "the default server is the one that Codex runs in"
