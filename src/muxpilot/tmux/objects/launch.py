"""How a pane's program is started so that not one byte of it is lost, neither the first nor the last.

The program waits behind a gate until its output is being read. A command is also held at its end: tmux
3.3a closes a terminal before it has read it empty, so a small parent keeps it open until the last byte
has been seen, and then exits with the command's own status. Both go by one FIFO of which we are the only
writer: a line opens the gate, the end of file lets go. When we are gone nothing waits.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from muxpilot.errors import BadInput
from muxpilot.tmux.hosts.temporary_folder import Scratch, remove_fifo
from muxpilot.tmux.quote import encode

# Opened both ways first: to open a FIFO for reading waits for a writer, and we may be gone already. It goes
# away once it is open, so that a later respawn by a person starts the program at once.
_GATE = 'if [ -p "$1" ] && command exec 4<>"$1" 3<"$1" 4<&-; then rm -f "$1"; read -r muxpilot_mark <&3; '

# Job control gives the command a process group of its own, so that tmux shows its name and Ctrl-C is
# its alone. A command that is stopped goes on at once, as it would with no shell above it. It begins by
# stopping itself, so that it runs in the foreground only.
#
# A shell's status does not tell `exit 137` from a kill, but its words do: dash and busybox say "Killed" in
# `fg`, bash in `jobs` (its `fg` takes stderr for the terminal, so that must be it). They go through the same
# FIFO, of which we are a writer for that long. After SIGINT dash interrupts itself, hence the trap, and bash
# leaves at once, with no status yet. Of SIGPIPE dash says nothing: it stays status 141. The holder dies of
# the same signal, so that tmux knows it too.
_HOLD = (
    'if [ -p "$1" ] && command exec 4<>"$1" 3<"$1" 4<&-; then read -r muxpilot_mark <&3; '
    '{ [ -p "$1" ] && command exec 5<>"$1"; } || exec 5>/dev/null; rm -f "$1"; '
    'else exec "$SHELL" -c "$2"; fi; trap muxpilot_int=int INT; set -m; exec 4>&2 2>/dev/null; '
    '/bin/sh -c \'kill -STOP $$; exec "$SHELL" -c "$1"\' muxpilot "$2" 2>&4 3<&- 4>&- 5>&- & '
    "muxpilot_pid=$! muxpilot_signal= muxpilot_words= LC_ALL=C muxpilot_fd=5; "
    '[ -z "$BASH_VERSION" ] || muxpilot_fd=4; '
    "muxpilot_end() { trap - EXIT; jobs >&5; echo >&5; exec 5>&-; read -r muxpilot_words <&3; "
    'case "$muxpilot_words" in "["*"  Exit "*|"["*"  Done"*) muxpilot_words=;; esac; '
    'case "$muxpilot_status$muxpilot_int" in ""|int|130int) muxpilot_status=130 muxpilot_words=int;; esac; '
    '[ -z "$muxpilot_words" ] || [ "$muxpilot_status" -le 128 ] || '
    "muxpilot_signal=$((muxpilot_status - 128)); "
    '[ -z "$muxpilot_mark" ] || printf "\\033]7717;%s;%s;%s\\007" '
    '"$muxpilot_mark" "$muxpilot_status" "$muxpilot_signal"; cat <&3 >/dev/null; '
    '[ -z "$muxpilot_signal" ] || { trap - "$muxpilot_signal"; ulimit -c 0; kill -"$muxpilot_signal" $$; }; '
    'exit "$muxpilot_status"; }; trap muxpilot_end EXIT; '
    "while muxpilot_int= muxpilot_status=; fg >/dev/null 2>&$muxpilot_fd; muxpilot_status=$?; "
    'kill -0 "$muxpilot_pid"; do :; done; exit'
)

# As tmux itself starts a pane without a command: the person's default-command, else a login shell. Not
# every shell knows -l. A folder of start-up files, where there is one, comes in by the shell's own door.
_SHELL = (
    _GATE + "exec 3<&-; fi; unset muxpilot_mark; "
    'muxpilot_command=$("$2" display-message -p "#{default-command}" 2>/dev/null); '
    'if [ -n "$muxpilot_command" ]; then rm -rf "$3"; exec "$SHELL" -c "$muxpilot_command"; fi; '
    'muxpilot_env() { [ -z "${ENV+x}" ] || export MUXPILOT_ENV="$ENV"; export ENV="$1"; }; '
    'if [ -n "$3" ] && [ -d "$3" ]; then case ${SHELL##*/} in '
    'bash) muxpilot_env "$3/bash"; exec "$SHELL" --posix -l;; '
    'zsh) [ -z "${ZDOTDIR+x}" ] || export MUXPILOT_ZDOTDIR="$ZDOTDIR"; '
    'export ZDOTDIR="$3/zsh"; exec "$SHELL" -l;; '
    'fish) exec "$SHELL" -l -C "source "$3/fish"";; '
    'sh|dash) muxpilot_env "$3/sh"; exec "$SHELL" -l;; '
    'ash) muxpilot_env "$3/ash"; exec "$SHELL" -l;; '
    'mksh) muxpilot_env "$3/mksh"; exec "$SHELL" -l;; '
    'ksh*) muxpilot_env "$3/ksh"; exec "$SHELL" -l;; esac; rm -rf "$3"; fi; '
    "case ${SHELL##*/} in "
    'bash|zsh|fish|dash|sh|ash|ksh*|mksh|nu|xonsh) exec "$SHELL" -l;; *) exec "$SHELL";; esac'
)


_LONGEST = 100_000  # the kernel takes 128 kB for one argument


@dataclass(slots=True)
class Launch:
    """A program on its way into a pane: its argv, and the gate that it waits behind."""

    argv: tuple[str, ...]
    mark: str
    _fifo: Path
    _writer: int = field(repr=False)

    @classmethod
    def of(cls, scratch: Scratch, command: str | None, tmux: str, startup: str = "") -> Launch:
        """The command if there is one, else the shell that `tmux`, the program, would start.

        `startup` is a folder with what that shell shall read first.
        """
        if command is None:
            return cls._behind_gate(scratch, _SHELL, tmux, startup)
        return cls._behind_gate(scratch, _HOLD, checked_command(command))

    @classmethod
    def _behind_gate(cls, scratch: Scratch, script: str, *arguments: str) -> Launch:
        fifo = scratch.fifo("gate")
        writer = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        argv = ("/bin/sh", "-c", script, "muxpilot", str(fifo), *arguments)
        return cls(argv, secrets.token_hex(8), fifo, writer)

    def open_gate(self) -> None:
        os.write(self._writer, self.mark.encode() + b"\n")

    def let_go(self) -> None:
        """Let the program end, or start if it has not yet; nothing waits after this."""
        if self._writer >= 0:
            remove_fifo(self._fifo)
            os.close(self._writer)
            self._writer = -1


def checked_command(command: str) -> str:
    if not command.strip():
        raise BadInput("The command is empty.", "Leave it out to get a shell.")
    if len(encode(command)) > _LONGEST:
        raise BadInput(f"The command is longer than {_LONGEST} bytes.", "Put it into a file and run that.")
    return command
