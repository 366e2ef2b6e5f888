"""The hooks of the plugin: the end of a command that was still running wakes the agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.wire import Place, environment, private_place

ROOT = Path(__file__).parents[2]
HOOK = ROOT / "hooks/wake_at_end.py"
LIMIT_S = 50
WAKE = 2
EXECUTE = "mcp__plugin_muxpilot_muxpilot__execute-command"


class Agent:
    """An agent's calls of muxpilot on a private tmux, and the hook after them."""

    def __init__(self, place: Place) -> None:
        self.place = place
        scripts = Path(sys.executable).parent
        self._env = environment(place.home) | {
            "PATH": f"{scripts}:{os.environ['PATH']}",
            "TMUX_MCP_SOCKET": place.socket,
            "SHELL": "/bin/bash",
        }

    def muxpilot(self, *argv: str) -> str:
        done = subprocess.run(
            ["muxpilot", *argv], capture_output=True, text=True, timeout=LIMIT_S, check=False, env=self._env
        )
        assert done.returncode in (0, 124, 125), done.stderr
        return done.stdout

    def execute(self, command: str, **arguments: Any) -> Any:
        """Call execute-command, as the MCP tool does, with a short time limit."""
        given = {"command": command, "timeoutSeconds": 1, **arguments}
        return json.loads(self.muxpilot("call", "execute-command", json.dumps(given)))

    def start_hook(self, name: str, given: Any, answer: Any) -> subprocess.Popen[str]:
        """Start the hook as Claude Code does after a call."""
        pipe = subprocess.PIPE
        hook = subprocess.Popen(
            [sys.executable, HOOK], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=self._env
        )
        assert hook.stdin is not None
        json.dump({"tool_name": name, "tool_input": given, "tool_response": answer}, hook.stdin)
        hook.stdin.close()
        hook.stdin = None
        return hook


@pytest.fixture
def agent() -> Iterator[Agent]:
    with private_place() as place:
        yield Agent(place)


def end_of(hook: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = hook.communicate(timeout=LIMIT_S)
    assert out == ""
    return hook.returncode, err


def test_the_end_of_a_command_that_still_ran_wakes_the_agent(agent: Agent) -> None:
    os.mkfifo(agent.place.home / "gate")
    answer = agent.execute(f"read -r _ < {agent.place.home}/gate; (exit 3)")
    assert answer["status"] == "running"
    content = [{"type": "text", "text": json.dumps(answer)}]
    hook = agent.start_hook(EXECUTE, {"command": "…"}, content)
    (agent.place.home / "gate").write_text("go\n")
    code, err = end_of(hook)
    assert code == WAKE
    assert f"{answer['commandId']} failed with exit code 3" in err
    assert f"muxpilot logs {answer['commandId']}" in err


def test_a_detached_command_of_the_shell_wakes_the_agent(agent: Agent) -> None:
    found = agent.muxpilot("run", "--detach", "--", "echo done").strip()
    line = "muxpilot run --detach -- 'echo done'"
    hook = agent.start_hook("Bash", {"command": line}, {"stdout": found + "\n", "stderr": ""})
    code, err = end_of(hook)
    assert code == WAKE
    assert f"{found} completed with exit code 0" in err


def test_a_question_wakes_the_agent(agent: Agent) -> None:
    found = agent.muxpilot("run", "--detach", "--", "read -p 'Sure? ' answer").strip()
    hook = agent.start_hook(EXECUTE, {}, {"status": "running", "commandId": found, "waitingForInput": False})
    code, err = end_of(hook)
    assert code == WAKE
    assert f"{found} waits for input." in err
    assert "Sure?" not in err, "a server may redact what panes show, and the hook does not know that"


QUIET = [
    (EXECUTE, {}, {"status": "completed", "commandId": "cmd-0123456789"}),
    (EXECUTE, {}, {"status": "running", "commandId": "cmd-0123456789", "waitingForInput": True}),
    (EXECUTE, {}, {"status": "running", "commandId": "cmd-0123456789"}),  # there is none of that id
    (EXECUTE, {}, {"status": "running", "commandId": "--help"}),
    (EXECUTE, {}, "Pane '%9' not found. {"),
    (EXECUTE, None, None),
    ("Bash", {"command": "muxpilot run -- 'echo --detach'"}, {"stdout": "cmd-0123456789"}),
    ("Bash", {"command": "muxpilot run --detach -- x"}, {"stdout": "$(touch harm)", "stderr": ""}),
]


@pytest.mark.parametrize(("name", "given", "answer"), QUIET)
def test_nothing_happens_where_there_is_nothing_to_wait_for(
    agent: Agent, name: str, given: Any, answer: Any
) -> None:
    assert end_of(agent.start_hook(name, given, answer)) == (0, "")


def test_the_hooks_match_the_tools_of_the_plugin_and_of_a_server_of_that_name() -> None:
    events = json.loads((ROOT / "hooks/hooks.json").read_text())["hooks"]["PostToolUse"]
    pattern = events[0]["matcher"]
    assert re.fullmatch(pattern, EXECUTE)
    assert re.fullmatch(pattern, "mcp__muxpilot__execute-command")
    assert not re.fullmatch(pattern, "mcp__other__execute-command")
    for event in events:
        [hook] = event["hooks"]
        assert hook["asyncRewake"] is True
        assert "${CLAUDE_PLUGIN_ROOT}/hooks/wake_at_end.py" in hook["command"]
