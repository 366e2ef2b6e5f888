"""The route by a command that runs a program elsewhere: `docker exec -i web`, `kubectl exec -i pod --`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import ClassVar, Self

from muxpilot.errors import BadInput, MuxpilotError, Unavailable, Unreachable
from muxpilot.records import record
from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux.hosts.far import FarRoute, reason_of
from muxpilot.tmux.hosts.far_script import READ_AND_RUN

_SHELL = "/bin/sh"
_HINT = "Give a command that runs a program there with stdin and stdout, such as: docker exec -i web"
# docker, podman, kubectl, nsenter, bwrap and chroot say it each in their own words.
_SHELL_MISSING = re.compile(r"/bin/sh\b.*(?:no such file|not found|cannot find)", re.I | re.S)


@record
class ExecRoute(FarRoute):
    """The words of the command. `/bin/sh` and its arguments are added to them."""

    kind: ClassVar[str] = "exec"
    # podman 4.3.1 may keep stdin of the program inside open when `podman exec` is killed. sshd does not, and
    # a connection by ssh can outlive the sleep of a laptop: it has no heartbeat.
    heartbeat: ClassVar[HeartbeatTiming | None] = HeartbeatTiming()

    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Split a line by the rules of a shell. No shell runs it."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise BadInput(f"The command {text!r} has an unbalanced quote: {error}.", _HINT) from None
        return cls.of_words(words)

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """Check the words of a command, as the configuration has them."""
        if not words or not words[0] or any("\0" in word for word in words):
            raise BadInput(f"{shlex.join(words)!r} is not a command.", _HINT)
        return cls(tuple(words))

    @property
    def text(self) -> str:
        return shlex.join(self.words)

    @property
    def place(self) -> str:
        return f"behind {self.text!r}"

    def argv(self) -> list[str]:
        """Return the command, and the shell that it starts there."""
        return [*self.words, _SHELL, "-c", READ_AND_RUN]

    def argv_for_person(self, *command: str) -> list[str]:
        """Return the command with a terminal: docker, podman and kubectl allocate one with `-t`."""
        return [*("-it" if word == "-i" else word for word in self.words), *command]

    @property
    def inherits_environment(self) -> bool:
        """Tell that nsenter, chroot and the like pass all our variables on."""
        return True

    def unreachable(self, message: str) -> MuxpilotError:
        """Return the error for what the command printed."""
        why = reason_of(message, "it exited without a message")
        if _SHELL_MISSING.search(message):
            return Unavailable(
                f"There is no {_SHELL} {self.place}: {why}.", f"muxpilot needs {_SHELL}, cat and tmux there."
            )
        end = "" if why.endswith(("?", "!")) else "."
        return Unreachable(f"{self.text!r} does not lead to a shell: {why}{end}", self._manual_check_hint)

    def not_connected(self, limit: str) -> Unreachable:
        return Unreachable(f"{self.text!r} did not start a shell {limit}.", self._manual_check_hint)

    @property
    def _manual_check_hint(self) -> str:
        return f"Try {shlex.join((*self.words, _SHELL, '-c', 'command -v tmux'))} by hand."
