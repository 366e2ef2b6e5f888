"""The launcher: start a pane's program so that no byte of its output is lost, neither the first nor the last.

The program starts only when its output is being read. A command is also held at its end: tmux 3.3a closes a
terminal before it has read all output, so a small parent process keeps the terminal open until we have seen
the last byte, and then exits with the command's own status. One FIFO, of which we are the only writer,
controls both: a line starts the program, the end of file releases it. If muxpilot ends, nothing waits for it:
then the parent process itself looks for its exit mark in the pane's journal, for a bounded time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from muxpilot.errors import BadInput
from muxpilot.records import mutable_record
from muxpilot.shell_table.startup import start_with_marks, start_without_marks
from muxpilot.terminal.escapes import PRIVATE_NUMBER
from muxpilot.tmux.hosts.temporary_folder import TemporaryFolder, remove_fifo
from muxpilot.tmux.quote import encode
from muxpilot.trace import area

# The FIFO is opened for reading and writing first: opening it for reading only waits for a writer, and we may
# be gone already. It is removed once it is open, so that a later respawn by a person starts at once. If
# muxpilot was killed before it let a pane with a name ("$4") start, the pane may not have its name yet: it is
# closed, and the next muxpilot opens another one.
_WAIT_FOR_START = (
    'if [ -p "$1" ] && command exec 4<>"$1" 3<"$1" 4<&-; then rm -f "$1"; '
    'read -r muxpilot_mark muxpilot_journal <&3 || [ -f "$1.start" ] || [ -z "$4" ] || exit 0; '
    'rm -f "$1.start"; '
)

# Job control gives the command its own process group, so that tmux shows its name and Ctrl-C reaches only the
# command. A stopped command is continued at once, as it would be without a shell above it. The command begins
# by stopping itself, so that it only ever runs in the foreground.
#
# The status of a shell cannot distinguish `exit 137` from a kill, but its messages can: dash and busybox
# print "Killed" in `fg`, bash in `jobs` (bash uses stderr as the terminal in `fg`, so stderr must be the
# terminal). The messages go through the same FIFO; the script is a writer of it for that long. After SIGINT
# dash interrupts itself, hence the trap, and bash leaves at once, without a status. dash prints nothing for
# SIGPIPE: that stays status 141. The parent ends itself by the same signal, so that tmux reports it too.
#
# What is in a FIFO is lost if muxpilot is killed before the script has opened it. So the line is also in a
# file. A muxpilot that has seen the exit mark says so by a line with the mark's word. If the FIFO ends
# without it, that muxpilot is gone, and the newest segment of the journal shows whether the mark is there. It
# is printed again if it is not: a full disk may have lost it.
_RUN_COMMAND = (
    'if [ -p "$1" ] && command exec 4<>"$1" 3<"$1" 4<&-; then '
    "read -r muxpilot_mark muxpilot_journal <&3 || "
    '{ [ ! -f "$1.start" ] || read -r muxpilot_mark muxpilot_journal <"$1.start"; }; rm -f "$1.start"; '
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
    'muxpilot_print() { printf "\\033]' + PRIVATE_NUMBER + ';%s;%s;%s\\007" '
    '"$muxpilot_mark" "$muxpilot_status" "$muxpilot_signal"; }; '
    '[ -z "$muxpilot_mark" ] || muxpilot_print; muxpilot_tries=40; '
    "while read -r muxpilot_words <&3; do "
    '[ "$muxpilot_words" != "$muxpilot_mark" ] || muxpilot_tries=0; done; '
    '[ -n "$muxpilot_journal" ] && [ -n "$muxpilot_mark" ] || muxpilot_tries=0; '
    'while [ "$muxpilot_tries" -gt 0 ]; do muxpilot_tries=$((muxpilot_tries - 1)); '
    'for muxpilot_words in "$muxpilot_journal"/[0-9]*; do :; done; '
    'grep -q -- "$muxpilot_mark" "$muxpilot_words" && break; sleep 0.05 || sleep 1; '
    '[ "$((muxpilot_tries % 10))" != 0 ] || muxpilot_print; done; '
    '[ -z "$muxpilot_signal" ] || { trap - "$muxpilot_signal"; ulimit -c 0; kill -"$muxpilot_signal" $$; }; '
    'exit "$muxpilot_status"; }; trap muxpilot_end EXIT; '
    "while muxpilot_int= muxpilot_status=; fg >/dev/null 2>&$muxpilot_fd; muxpilot_status=$?; "
    'kill -0 "$muxpilot_pid"; do :; done; exit'
)

# Start what tmux starts in a pane without a command: the person's default-command, else a login shell. Not
# every shell knows -l. If there is a folder of start-up files, the shell reads it through its own mechanism.
_RUN_SHELL = (
    _WAIT_FOR_START + "exec 3<&-; fi; unset muxpilot_mark muxpilot_journal; "
    'muxpilot_command=$("$2" display-message -p "#{default-command}" 2>/dev/null); '
    'if [ -n "$muxpilot_command" ]; then rm -rf "$3"; exec "$SHELL" -c "$muxpilot_command"; fi; '
    'if [ -n "$3" ] && [ -d "$3" ]; then ' + start_with_marks() + 'rm -rf "$3"; fi; ' + start_without_marks()
)

_SHELL = ("/bin/sh", "-c")
_NAME = "muxpilot"  # of the script, as its $0
_LONGEST_COMMAND = 100_000  # the kernel accepts 128 kB for one argument
_trace = area("tmux")


@mutable_record
class Launch:
    """A program that is about to start in a pane: the launcher's argv, and the FIFO that controls it.

    `mark` is the secret word in the exit mark that the launcher prints when a command has ended.
    """

    argv: tuple[str, ...]
    mark: str
    _fifo: Path
    _writer: int = field(repr=False)
    nonce: str = ""  # of the marks of the shell that it starts
    _has_started: bool = False
    _startup: str = ""  # the folder of start-up files, which the shell removes when it has read them

    @classmethod
    def prepare(
        cls,
        folder: TemporaryFolder,
        command: str | None,
        tmux: str,
        startup: str = "",
        *,
        is_named: bool = False,
    ) -> Launch:
        """Prepare to run a command, or without one the shell that the program `tmux` would start.

        `startup` is a folder with files that this shell reads first. The shell of a pane that `is_named`
        does not start if this process is killed before it has named the pane.
        """
        if command is None:
            launch = cls._with_control_fifo(folder, _RUN_SHELL, tmux, startup, "named" if is_named else "")
            launch._startup = startup
            return launch
        return cls._with_control_fifo(folder, _RUN_COMMAND, validate_command(command))

    @classmethod
    def _with_control_fifo(cls, folder: TemporaryFolder, script: str, *arguments: str) -> Launch:
        fifo = folder.create_fifo("launch")
        writer = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        argv = (*_SHELL, script, _NAME, str(fifo), *arguments)
        return cls(argv, secrets.token_hex(8), fifo, writer)

    @property
    def is_starting(self) -> bool:
        """Return whether the script or the shell that it starts has not read yet what we wrote for it.

        The script then removes the FIFO, and the shell its start-up files. Without them bash would stay in
        POSIX mode, and read nothing of the person's.
        """
        is_unread = self._fifo.exists() or bool(self._startup and Path(self._startup).exists())
        return self._has_started and self._writer >= 0 and is_unread

    def start_program(self, journal: str = "") -> None:
        """Let the program start. `journal` is the folder in which its output is written."""
        _trace.debug("program may start", fifo=self._fifo)
        line = f"{self.mark} {journal}\n"
        with suppress(OSError):
            TemporaryFolder.write_private(Path(f"{self._fifo}.start"), line)
        os.write(self._writer, os.fsencode(line))
        self._has_started = True

    def confirm_end(self) -> None:
        """Let a command end whose exit mark we have seen."""
        if self._writer >= 0:
            os.write(self._writer, self.mark.encode() + b"\n")
        self.release()

    def release(self) -> None:
        """Let the program end, or start if it has not started yet. After this it never waits for us."""
        if self._writer >= 0:
            _trace.debug("program released", fifo=self._fifo)
            remove_fifo(self._fifo)
            if not self._has_started:
                os.write(self._writer, b"\n")
            os.close(self._writer)
            self._writer = -1


def is_launcher(argv: Sequence[str]) -> bool:
    """Return whether a process with these arguments is the parent of a pane's command."""
    return tuple(argv[:2]) == _SHELL and list(argv[3:4]) == [_NAME]


def validate_command(command: str) -> str:
    """Return a command that can be passed to a shell as one argument, or raise BadInput."""
    if not command.strip():
        raise BadInput("The command is empty.", "Leave it out to get a shell.")
    if len(encode(command)) > _LONGEST_COMMAND:
        raise BadInput(
            f"The command is longer than {_LONGEST_COMMAND} bytes.", "Put it into a file and run the file."
        )
    return command
