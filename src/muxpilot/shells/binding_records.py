"""The shell that a command is meant for, as plain values: for the muxpilot that takes the command over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from muxpilot.journal.record_numbers import DAMAGES
from muxpilot.shells.command import Command, ShellBinding, ShellId
from muxpilot.shells.command_records import Fields, RecordedCommand
from muxpilot.shells.shell_binding import BehindProgram, InsideCommand, SameShell, UnknownShell

# Returns a command of the same pane by its id.
FindCommand = Callable[[str], Command | None]


def save_binding(binding: ShellBinding | None, shells: Sequence[ShellId]) -> Fields | None:
    """Return a binding as plain values. Without one, the command is meant for the innermost of `shells`."""
    if isinstance(binding, InsideCommand):
        return {"kind": "inside", "command": binding.opener.id}
    if isinstance(binding, SameShell):
        return {"kind": "same", "command": binding.before.id}
    if binding is None and shells:
        binding = BehindProgram("", shells, ())
    if isinstance(binding, BehindProgram):
        return {
            "kind": "behind",
            "program": binding.program,
            "shells": [[shell.nonce, shell.pid, shell.depth] for shell in binding.shells],
            "pids": list(binding.pids),
            "opens": binding.opens_shell,
        }
    return None


def load_binding(saved: Fields | None, find: FindCommand) -> ShellBinding | None:
    """Return the binding that `save_binding` saved; None if the command may run in any shell."""
    if saved is None:
        return None
    try:
        return _load_known(saved, find)
    except DAMAGES:
        return UnknownShell()


def _load_known(saved: Fields, find: FindCommand) -> ShellBinding | None:
    if saved.get("kind") == "behind":
        shells = [_load_shell(values) for values in saved["shells"]]
        pids = [int(pid) for pid in saved["pids"]]
        return BehindProgram(str(saved["program"]), shells, pids, bool(saved["opens"]))
    other = find(str(saved.get("command")))
    if other is None:
        return None
    return InsideCommand(other) if saved["kind"] == "inside" else SameShell(other)


def shell_of(recorded: RecordedCommand) -> ShellId | None:
    """Return the shell that a command was typed into."""
    if not recorded.typed:
        return None
    typed = recorded.typed[-1]
    for depth, values in enumerate(typed.stack):
        if values.get("nonce") == typed.shell:
            pid = values.get("pid")
            return ShellId(typed.shell, pid if isinstance(pid, int) else 0, depth)
    return None


def _load_shell(values: Sequence[Any]) -> ShellId:
    nonce, pid, depth = values
    return ShellId(str(nonce), int(pid), int(depth))
