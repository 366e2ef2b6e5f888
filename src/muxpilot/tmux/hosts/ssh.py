"""The route over ssh: the system's own ssh program, with options and a destination."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import ClassVar, Self

from muxpilot.errors import BadInput, Unreachable
from muxpilot.records import record
from muxpilot.tmux.hosts.far import FarRoute, reason_of
from muxpilot.tmux.hosts.far_script import READ_AND_RUN

_NO_REASON = "ssh exited without a message, as it does where an account has no login shell"

# ssh uses the first value that it finds for an option, so these win over the person's configuration. ssh
# asks no question and allocates no terminal or forwarding: there may be several connections to one host.
_FORCED_OPTIONS = (
    "BatchMode=yes",
    "LogLevel=ERROR",
    "RequestTTY=no",
    "RemoteCommand=none",
    "ClearAllForwardings=yes",
)
_DEFAULT_OPTIONS = ("ConnectTimeout=8", "ServerAliveInterval=5", "ServerAliveCountMax=2")
# One constant that every login shell understands.
_REMOTE_COMMAND = f"exec /bin/sh -c '{READ_AND_RUN}'"

_PLAIN_OPTIONS = frozenset("46AaCKkqTx")
_OPTIONS_WITH_VALUE = frozenset("BbceFIiJlmopPS")
_DESTINATION = re.compile(r"(?:ssh://)?(?:[\w.+][\w.+@-]*@)?[\w:\[][\w.:%\[\]-]*", re.ASCII)

_AUTHENTICATION_FAILED = re.compile(
    r"Permission denied|authentication (?:failures|methods)|passphrase|password", re.I
)
_HOST_KEY_REJECTED = re.compile(
    r"Host key verification failed|IDENTIFICATION HAS CHANGED|key .* is known for", re.I
)


@record
class SshRoute(FarRoute):
    """The options and the destination to give to ssh."""

    kind: ClassVar[str] = "ssh"

    options: tuple[str, ...]
    destination: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `OPTIONS DESTINATION`, split by the rules of a shell."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise BadInput(f"The ssh destination {text!r} has an unbalanced quote: {error}.") from None
        if not words or any(re.search(r"[\x00-\x1f\x7f]", word) for word in words):
            raise BadInput(f"{text!r} is not an ssh destination.", "Give ssh options, and the host last.")
        if not _DESTINATION.fullmatch(words[-1]):
            raise BadInput(f"{words[-1]!r} is not an ssh destination.", "Put host or user@host last.")
        _check_options(words[:-1])
        return cls(tuple(words[:-1]), words[-1])

    @property
    def text(self) -> str:
        return shlex.join((*self.options, self.destination))

    @property
    def place(self) -> str:
        return f"on {self.destination}"

    def argv(self) -> list[str]:
        """Return the command line of ssh."""
        forced = [part for option in _FORCED_OPTIONS for part in ("-o", option)]
        defaults = [part for option in _DEFAULT_OPTIONS for part in ("-o", option)]
        return ["ssh", "-T", *forced, *self.options, *defaults, "--", self.destination, _REMOTE_COMMAND]

    def argv_for_person(self, *command: str) -> list[str]:
        """Return the words of ssh with a terminal; the command for the remote shell is the last one."""
        return ["ssh", "-t", *self.options, "--", self.destination, shlex.join(command)]

    def unreachable(self, message: str) -> Unreachable:
        """Return the error for what ssh printed."""
        why = reason_of(message, _NO_REASON)
        if _HOST_KEY_REJECTED.search(message):
            return Unreachable(
                f"The host key of {self.destination} is not trusted: {why}.",
                "Verify the key, and connect once by hand.",
            )
        if _AUTHENTICATION_FAILED.search(message):
            return Unreachable(
                f"{self.destination} requires interactive authentication: {why}.",
                "muxpilot cannot answer: use ssh-agent, or a key without a passphrase.",
            )
        return Unreachable(f"{self.destination} cannot be reached: {why}.", self._manual_check_hint)

    def not_connected(self, limit: str) -> Unreachable:
        return Unreachable(f"ssh did not connect to {self.destination} {limit}.", self._manual_check_hint)

    @property
    def _manual_check_hint(self) -> str:
        return f"Try {shlex.join(('ssh', *self.options, self.destination))} by hand."


def _check_options(words: Sequence[str]) -> None:
    """Allow options that say how to reach the host; others would use our stdin, or ask for a terminal."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        letters = word[1:]
        if not word.startswith("-") or not letters:
            raise BadInput(
                f"{word!r} is before the ssh destination, and not an option.", "Put the host last."
            )
        while letters and letters[0] in _PLAIN_OPTIONS:
            letters = letters[1:]
        if not letters:
            continue
        if letters[0] not in _OPTIONS_WITH_VALUE:
            raise BadInput(f"The ssh option '-{letters[0]}' is not supported here.", "Leave it out.")
        if len(letters) == 1 and not (rest and rest.pop(0)):
            raise BadInput(f"The ssh option '-{letters[0]}' needs a value.")
