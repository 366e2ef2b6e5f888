"""A tmux server on another host, through the system's own ssh.

The remote command is one constant that every login shell understands: a POSIX shell that reads one line and
runs it. That line, and behind it whatever the program reads, comes by stdin, so that nothing of ours is ever
quoted for a shell that we do not know.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import ClassVar, Self

from muxpilot.errors import BadInput, MuxpilotError, NotAnswering, NoTmux, Unavailable, Unreachable
from muxpilot.records import record
from muxpilot.tmux import quote
from muxpilot.tmux.connection import failures
from muxpilot.tmux.hosts.endpoint import Command, Endpoint, our_folder

_FAR = "ssh:"
_PATIENCE_S = 9.0
_TURN_S = 5.0
_SILENT = "ssh ended without a word, as where an account has no login shell"
# Where the way leads over several hosts, the first of them that fails says the most.
_LAST_LINES, _LONGEST_REASON = 3, 400

# ssh takes the first value that it is given. No question is ever asked, and no terminal or forwarding made:
# there may be several connections to one host at a time.
_FIRST = ("BatchMode=yes", "LogLevel=ERROR", "RequestTTY=no", "RemoteCommand=none", "ClearAllForwardings=yes")
_UNLESS_GIVEN = ("ConnectTimeout=8", "ServerAliveInterval=5", "ServerAliveCountMax=2")
_READS_A_LINE = "exec /bin/sh -c 'IFS= read -r muxpilot; eval \"$muxpilot\"'"
# The first line that it reads. What is to end with the connection there stands behind `$1` (see leash.py):
# sshd tells nobody when it is cut off, and a tmux client whose last output nobody takes would stay for good.
_ON_A_LEASH = (
    b"l='setpriv --pdeathsig KILL'; $l true >/dev/null 2>&1 || l=; "
    b'exec $l /bin/sh -c \'IFS= read -r muxpilot; eval "$muxpilot"\' muxpilot "$l"\n'
)

_PLAIN_OPTIONS = frozenset("46AaCKkqTx")
_OPTIONS_WITH_VALUE = frozenset("BbceFIiJlmopPS")
_DESTINATION = re.compile(r"(?:ssh://)?(?:[\w.+][\w.+@-]*@)?[\w:\[][\w.:%\[\]-]*", re.ASCII)

# Before it speaks the login shell, what comes later is tmux's.
_MARK = f"muxpilot-{secrets.token_hex(8)}".encode()
_PLACES = "/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:$HOME/.local/bin:$HOME/bin"
_SET_OUT = (
    f"unset TMUX TMUX_PANE; command -v tmux >/dev/null || PATH=$PATH:{_PLACES}; "
    f"n=$(printf '\\nx'); n=${{n%x}}; echo; echo {_MARK.decode()}; echo {_MARK.decode()} >&2; "
).encode()
# A FIFO whose only writers are this shell and the tmux client: when they are gone, so is the hub.
_WITH_FIFO = (
    b'd=$(mktemp -d "${TMPDIR:-/tmp}/muxpilot-XXXXXXXXXX") && mkfifo -m 600 "$d/fifo" '
    b'&& exec 9<>"$d/fifo" || exit; '
)
_WITHOUT_FIFO = b'; s=$?; rm -rf "$d"; exit $s'

_NOT_LET_IN = re.compile(r"Permission denied|authentication (?:failures|methods)|passphrase|password", re.I)
_NOT_KNOWN = re.compile(r"Host key verification failed|IDENTIFICATION HAS CHANGED|key .* is known for", re.I)
_NO_PROGRAM = re.compile(
    r"(?:sh|ash|dash|bash).*: (?:exec: )?\S*: (?:.* )?(?:not found|No such file)|^exec: "
    r"|^setpriv: .*No such file"
)


class FarWord(str):
    """A word of the far shell's own, not to be quoted."""

    __slots__ = ()


FIFO = FarWord('"$d/fifo"')


@record
class Route:
    """How ssh gets there: its options, and the destination."""

    options: tuple[str, ...]
    destination: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """`OPTIONS DEST`, split by shell rules, destination last."""
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise BadInput(f"The ssh destination {text!r} has an unbalanced quote: {error}.") from None
        if not words or any(re.search(r"[\x00-\x1f\x7f]", word) for word in words):
            raise BadInput(f"{text!r} is no ssh destination.", "Give ssh options, and the host last.")
        if not _DESTINATION.fullmatch(words[-1]):
            raise BadInput(f"{words[-1]!r} is no ssh destination.", "Put host or user@host last.")
        _check_options(words[:-1])
        return cls(tuple(words[:-1]), words[-1])

    def argv(self) -> list[str]:
        first = [part for option in _FIRST for part in ("-o", option)]
        last = [part for option in _UNLESS_GIVEN for part in ("-o", option)]
        return ["-T", *first, *self.options, *last, "--", self.destination, _READS_A_LINE]


def _check_options(words: Sequence[str]) -> None:
    """Only those that say how to get there: others would take our stdin, or ask for a terminal."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        letters = word[1:]
        if not word.startswith("-") or not letters:
            raise BadInput(f"{word!r} stands before the ssh destination.", "Put the host last.")
        while letters and letters[0] in _PLAIN_OPTIONS:
            letters = letters[1:]
        if not letters:
            continue
        if letters[0] not in _OPTIONS_WITH_VALUE:
            raise BadInput(f"The ssh option '-{letters[0]}' is of no use here.", "Leave it out.")
        if len(letters) == 1 and not (rest and rest.pop(0)):
            raise BadInput(f"The ssh option '-{letters[0]}' lacks its value.")


@record
class FarEndpoint(Endpoint):
    """`socket` only identifies the server; `path` is the socket there, or None for the default one."""

    is_far: ClassVar[bool] = True
    patience_s: ClassVar[float | None] = _PATIENCE_S
    # Somebody else may hold the turn for as long as a host hangs.
    longest_turn_s: ClassVar[float | None] = _TURN_S
    greeting: ClassVar[bytes] = _MARK + b"\n"

    route: Route = Route((), "")
    path: str | None = None

    @classmethod
    def to(
        cls, ssh: str, path: str | None = None, *, binary: str = "tmux", config: str | None = None
    ) -> Self:
        known = far_path(path) if path is not None else None
        return cls(identity(ssh, known), binary, config, route=Route.parse(ssh), path=known)

    @property
    def host(self) -> str:
        return self.route.destination

    def argv(self, *flags: str, commands: Sequence[Command]) -> list[bytes]:
        return [os.fsencode(word) for word in (self.program(), *self.route.argv())]

    def preamble(self, *flags: str, commands: Sequence[Command]) -> bytes:
        """The lines that the far shells read and run."""
        socket = [b"-S", _path(self.path)] if self.path is not None else []
        config = [b"-f", _path(self.config)] if self.config is not None else []
        words = [_quoted(self.binary), b"-u", *socket, *config, *map(_quoted, flags), *_joined(commands)]
        line = b" ".join(words)
        if FIFO in (word for command in commands for word in command):
            line = _WITH_FIFO + b"$1 " + line + _WITHOUT_FIFO
        else:
            line = b"exec $1 " + line
        return _ON_A_LEASH + _SET_OUT + line + b"\n"

    def program(self) -> str:
        found = shutil.which("ssh")
        if found is None:
            raise Unavailable("There is no program 'ssh' on this machine.", "Install an OpenSSH client.")
        return found

    def environment(self) -> Mapping[str, str]:
        """ssh needs all of it: the agent, the home folder, what its configuration sends along."""
        return {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}

    def check(self) -> None:
        """Nothing can be seen of a socket there."""

    def received(self, out: bytes, err: bytes) -> tuple[bytes, bytes]:
        """What the program printed, without what the login shell said before it."""
        if _MARK not in err:
            raise self.failure(err.decode("utf-8", "replace"))
        return out.partition(self.greeting)[2], err.partition(self.greeting)[2]

    def failure(self, words: str) -> MuxpilotError:
        """What ssh, the far shell or tmux said on the way out."""
        before, mark, after = words.rpartition(_MARK.decode())
        if not mark:
            return self._unreachable(before or after)
        text = after.strip()
        if _NO_PROGRAM.search(text):
            return NoTmux(
                f"There is no tmux on {self.host}.",
                "Install tmux 3.2 or newer there, where a shell without a terminal finds it.",
            )
        return failures.failure(text or "lost server")

    def late(self, words: str) -> MuxpilotError:
        """Nobody answered in time: the host, or tmux there."""
        if _MARK.decode() in words:
            return NotAnswering(f"tmux on {self.host} did not answer within {self.patience_s:g} s.")
        if words:
            return self._unreachable(f"{words}\nNo more came within {self.patience_s:g} s")
        return Unreachable(f"{self.host} did not let us in within {self.patience_s:g} s.", self._by_hand)

    def _unreachable(self, words: str) -> Unreachable:
        lines = [line.strip().rstrip(".:") for line in words.splitlines() if line.strip()]
        why = "; ".join(lines[-_LAST_LINES:])[-_LONGEST_REASON:] or _SILENT
        if _NOT_KNOWN.search(words):
            return Unreachable(f"The key of {self.host} is not known: {why}.", "Connect once by hand.")
        if _NOT_LET_IN.search(words):
            return Unreachable(
                f"{self.host} does not let us in without a question: {why}.",
                "Nobody can answer one here: use ssh-agent, or a key without a passphrase.",
            )
        return Unreachable(f"{self.host} cannot be reached: {why}.", self._by_hand)

    @property
    def _by_hand(self) -> str:
        return f"Try {shlex.join(('ssh', *self.route.options, self.host))} by hand."

    def _turn_file(self) -> str:
        digest = blake2b(os.fsencode(self.socket), digest_size=8).hexdigest()
        return str(our_folder() / f"{digest}.turn")


@lru_cache(maxsize=64)
def identity(ssh: str, path: str | None) -> str:
    """What tells this server from all others, where a local one has its socket's path."""
    route = Route.parse(ssh)
    return f"{_FAR}{shlex.join((*route.options, route.destination))}:{path or ''}"


def far_path(path: str) -> str:
    """The path of a socket there, as far as it can be judged from here."""
    if not path or re.search(r"[\x00-\x1f\x7f]", path):
        raise BadInput(f"{path!r} is not a socket path.", "Give the path of a tmux socket.")
    return path


def is_far(socket: str) -> bool:
    """Whether this is such an identity; a socket's path begins with a slash."""
    return socket.startswith(_FAR)


def _quoted(word: str | bytes) -> bytes:
    """One word for a POSIX shell, on one line."""
    if isinstance(word, FarWord):
        return word.encode()
    data = quote.encode(word)
    return b"'" + data.replace(b"'", b"'\"'\"'").replace(b"\n", b"'\"$n\"'") + b"'"


def _path(path: str) -> bytes:
    """`~` is the home there."""
    return b'"$HOME"/' + _quoted(path[2:]) if path.startswith("~/") else _quoted(path)


def _joined(commands: Sequence[Command]) -> list[bytes]:
    words: list[bytes] = []
    for command in commands:
        words += [b"';'"] if words else []
        words += [_quoted(word if isinstance(word, FarWord) else quote.argv(word)) for word in command]
    return words
