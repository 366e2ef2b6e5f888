"""How the other servers of `intents.py` do each step of a task, in the shortest calls that they document.

`<pane>` is the name of a session, which most take for its pane, or else the id of its pane. `<id>` is the id
that the first call of a command has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.peer_servers import Way


@dataclass(frozen=True, slots=True)
class Manual:
    """The calls for each step.

    `run` ends with the call that answers the output and the exit code. It is empty where none works with this
    tmux.
    `begin` starts a command that `end` waits for; where they are missing, the command is typed.
    `run_long` answers only the end of the output; where it is missing, the command is piped into `tail`.
    `output_comes_late`: a result may come without its output, and has to be asked for again.
    """

    open: Sequence[Way]
    run: Sequence[Way]
    type: Way
    press: Callable[[str, int], Way]
    read: Way
    wait: Way | None = None
    run_long: Sequence[Way] = ()
    begin: Way | None = None
    end: Way | None = None
    runs_behind_ssh: bool = False
    wants_pane_ids: bool = False
    output_comes_late: bool = False


def _libtmux_keys(key: str, times: int) -> Way:
    one = {"session_name": "<pane>", "keys": key, "enter": False}
    if times == 1:
        return Way("send_keys", one)
    return Way("send_keys_batch", {"operations": [one] * times})


def _listed(tool: str, pane: str) -> Callable[[str, int], Way]:
    """Return the call of a server that takes a list of keys."""
    return lambda key, times: Way(tool, {pane: "<pane>", "keys": [key] * times})


def _repeated(tool: str, pane: str, key_name: str) -> Callable[[str, int], Way]:
    """Return the call of a server that repeats a key by itself."""

    def press(key: str, times: int) -> Way:
        more = {"repeat": times} if times > 1 else {}
        return Way(tool, {pane: "<pane>", key_name: key, **more})

    return press


def _special_or_text(key: str, times: int) -> Way:
    """Return the call of tmux-mcp-server, which has a tool for keys with names and one for text."""
    if len(key) == 1:
        return Way("send_keys", {"target": "<pane>", "keys": key * times})
    return _repeated("send_special_key", "target", "key")(key, times)


MANUALS: Mapping[str, Manual] = {
    "libtmux-mcp": Manual(
        open=[Way("create_session", {"session_name": "<pane>"})],
        run=[Way("run_command", {"session_name": "<pane>", "command": "<text>"})],
        run_long=[Way("run_command", {"session_name": "<pane>", "command": "<text>", "max_lines": 20})],
        type=Way("send_keys", {"session_name": "<pane>", "keys": "<text>"}),
        press=_libtmux_keys,
        read=Way("capture_pane", {"session_name": "<pane>"}),
        wait=Way("wait_for_text", {"session_name": "<pane>", "patterns": ["<text>"], "regex": True}),
    ),
    "tmux-mcp-server": Manual(
        open=[Way("create_session", {"name": "<pane>"})],
        run=[Way("run_command", {"target": "<pane>", "command": "<text>"})],
        type=Way("send_keys", {"target": "<pane>", "keys": "<text>", "enter": True}),
        press=_special_or_text,
        read=Way("read_pane", {"target": "<pane>"}),
        begin=Way("run_command", {"target": "<pane>", "command": "<text>", "wait": False}),
        end=Way("wait_command", {"command_id": "<id>"}),
    ),
    "mcp-tmux": Manual(
        open=[Way("tmux_new_session", {"name": "<pane>"})],
        run=[Way("tmux_run", {"target_pane": "<pane>", "command": "<text>"})],
        type=Way("tmux_send_keys", {"target_pane": "<pane>", "text": "<text>", "enter": True}),
        press=_listed("tmux_send_keys", "target_pane"),
        read=Way("tmux_capture_pane", {"target_pane": "<pane>"}),
        wait=Way("tmux_wait_for_text", {"target_pane": "<pane>", "pattern": "<text>", "regex": True}),
        runs_behind_ssh=True,
    ),
    "tmux-mcp-rs": Manual(
        open=[Way("create-session", {"name": "<pane>"})],
        run=[
            Way("execute-command", {"paneId": "<pane>", "command": "<text>"}),
            Way("get-command-result", {"commandId": "<id>", "waitMs": 20000}),
        ],
        type=Way("send-keys", {"paneId": "<pane>", "keys": "<text>", "literal": True, "enter": True}),
        press=_repeated("send-keys", "paneId", "keys"),
        read=Way("capture-pane", {"paneId": "<pane>"}),
        begin=Way("execute-command", {"paneId": "<pane>", "command": "<text>"}),
        end=Way("get-command-result", {"commandId": "<id>", "waitMs": 20000}),
        output_comes_late=True,
    ),
    "tmux-mcp": Manual(
        open=[
            Way("create_session", {"name": "<pane>"}),
            Way("list_panes"),
        ],
        wants_pane_ids=True,
        run=[],
        type=Way("send_keys", {"pane": "<pane>", "text": "<text>", "enter": True}),
        press=_listed("send_keys", "pane"),
        read=Way("capture_pane", {"pane": "<pane>"}),
        wait=Way("wait_for_text", {"pane": "<pane>", "patterns": ["<text>"], "regex": True}),
    ),
}
