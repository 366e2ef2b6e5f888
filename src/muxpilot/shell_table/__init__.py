"""All that muxpilot knows about each shell: one row in `rows.py` and one script in `scripts/` per shell.

To support another shell, add a row. To run commands in it with exact results, give the row a script that
prints our marks (`shells/osc133.py` lists them). No other module knows a shell by its name.
"""

from __future__ import annotations

from muxpilot.shell_table.kind import ShellKind
from muxpilot.shell_table.programs import recognize_shell, shell_with_marks, takes_commands
from muxpilot.shell_table.rows import KEY, SHELLS, exit_code

__all__ = [
    "KEY",
    "SHELLS",
    "ShellKind",
    "exit_code",
    "recognize_shell",
    "shell_with_marks",
    "takes_commands",
]
