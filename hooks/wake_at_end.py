"""A hook of Claude Code: wait in the background until a command has ended, and wake the agent then.

Claude Code runs it after `execute-command` and after `muxpilot run`, with the call as JSON on stdin, and goes
on. A command that had not ended is waited for with `muxpilot wait`. Exit code 2 wakes the agent with what is
on stderr; any other exit code does nothing.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

WAKE, NOTHING = 2, 0
LONGEST_WAIT_S = 86000  # below the time limit of the hook
# The exit codes of `muxpilot wait` that are news: it has ended well, has failed, or waits for input.
NEWS = (0, 1, 125)
_COMMAND_ID = re.compile("cmd-[0-9a-f]{10}")


def main() -> int:
    """Read the call, wait if its command still runs, and say how it ended."""
    program = shutil.which("muxpilot")
    call = json.load(sys.stdin)
    command_id = find_running_command(call)
    if program is None or command_id is None:
        return NOTHING
    socket = (call.get("tool_input") or {}).get("socket")
    flags = ["--socket", socket] if isinstance(socket, str) and socket.startswith("/") else []
    argv = [program, *flags, "wait", command_id, "--json", "--timeout", str(LONGEST_WAIT_S)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode not in NEWS:
        return NOTHING
    hint = f"Read its output with get-command-result, or: muxpilot logs {command_id}"
    print(f"{describe_end(json.loads(done.stdout))} {hint}", file=sys.stderr)
    return WAKE


def describe_end(answer: dict[str, Any]) -> str:
    """Say how a command stands, without any text of its pane.

    The server may have a policy and redact secrets, and this program does not know its configuration.
    """
    if answer["waitingForInput"]:
        return f"{answer['commandId']} waits for input."
    code = "" if answer["exitCode"] is None else f" with exit code {answer['exitCode']}"
    return f"{answer['commandId']} {answer['status']}{code} after {answer['elapsedMs'] / 1000:.1f} s."


def find_running_command(call: dict[str, Any]) -> str | None:
    """Return the id of a command that has not ended. Of one that asks for input the agent knows already."""
    if call.get("tool_name") == "Bash":
        line = str((call.get("tool_input") or {}).get("command", ""))
        if "--detach" not in line.split(" -- ")[0]:
            return None
        words = [word for text in texts_of(call.get("tool_response")) for word in text.split()]
        return words[-1] if words and _COMMAND_ID.fullmatch(words[-1]) else None
    for answer in answers_of(call.get("tool_response")):
        if answer.get("status") == "running" and not answer.get("waitingForInput"):
            found = answer.get("commandId")
            return found if isinstance(found, str) and _COMMAND_ID.fullmatch(found) else None
    return None


def answers_of(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object in a result, also those that are the text of a part."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from answers_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from answers_of(each)
    elif isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            yield from answers_of(json.loads(value))
        except ValueError:
            return


def texts_of(value: object) -> Iterator[str]:
    """Yield what a command of the shell has printed."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts_of(value.get("stdout"))


if __name__ == "__main__":
    raise SystemExit(main())
