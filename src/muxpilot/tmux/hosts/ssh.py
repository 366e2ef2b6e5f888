"""A tmux server on another host, reached by the system's own ssh program.

The remote command is one constant that every login shell understands: start a POSIX shell that reads one
line and runs it. That line, and after it whatever tmux reads, is sent to stdin. So no text of ours is ever
quoted for a login shell that we do not know.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from hashlib import blake2b
from typing import ClassVar, Self

from muxpilot.config import environment
from muxpilot.errors import BadInput, MuxpilotError, NotAnswering, NoTmux, Unavailable, Unreachable
from muxpilot.records import record
from muxpilot.tmux import quote
from muxpilot.tmux.connection import failures
from muxpilot.tmux.hosts.endpoint import LOCK_SUFFIX, Command, Endpoint, muxpilot_folder

_IDENTITY_PREFIX = "ssh:"
_CONNECT_TIMEOUT_S = 9.0
_ATTACH_LOCK_TIMEOUT_S = 5.0
_NO_REASON = "ssh exited without a message, as it does where an account has no login shell"
# Where the route leads over several hosts, the first of them that fails says the most.
_LAST_LINES, _LONGEST_REASON = 3, 400

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
_REMOTE_COMMAND = "exec /bin/sh -c 'IFS= read -r muxpilot; eval \"$muxpilot\"'"
# The first line that the remote shell reads. It makes `$1` the prefix of a command that must end with the
# connection (see child_process.py): when sshd is cut off, it signals no process, and a tmux client whose last
# output is not read would stay forever.
_DIE_WITH_CONNECTION = (
    b"l='setpriv --pdeathsig KILL'; $l true >/dev/null 2>&1 || l=; "
    b'exec $l /bin/sh -c \'IFS= read -r muxpilot; eval "$muxpilot"\' muxpilot "$l"\n'
)

_PLAIN_OPTIONS = frozenset("46AaCKkqTx")
_OPTIONS_WITH_VALUE = frozenset("BbceFIiJlmopPS")
_DESTINATION = re.compile(r"(?:ssh://)?(?:[\w.+][\w.+@-]*@)?[\w:\[][\w.:%\[\]-]*", re.ASCII)

_EXTRA_PATH = "/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:$HOME/.local/bin:$HOME/bin"
# `$n` is a line feed. The banner end is printed to both outputs: what the login shell prints comes before it.
_PREPARE = (
    f"unset TMUX TMUX_PANE; command -v tmux >/dev/null || PATH=$PATH:{_EXTRA_PATH}; "
    "n=$(printf '\\nx'); n=${n%x}; echo; echo BANNER_END; echo BANNER_END >&2; "
)
# A FIFO whose only writers are this shell and the tmux client: when they have ended, so has the hub session.
_CREATE_FIFO = (
    b'd=$(mktemp -d "${TMPDIR:-/tmp}/muxpilot-XXXXXXXXXX") && mkfifo -m 600 "$d/fifo" '
    b'&& exec 9<>"$d/fifo" || exit; '
)
_REMOVE_FIFO = b'; s=$?; rm -rf "$d"; exit $s'

_AUTHENTICATION_FAILED = re.compile(
    r"Permission denied|authentication (?:failures|methods)|passphrase|password", re.I
)
_HOST_KEY_REJECTED = re.compile(
    r"Host key verification failed|IDENTIFICATION HAS CHANGED|key .* is known for", re.I
)
_TMUX_MISSING = re.compile(
    r"(?:sh|ash|dash|bash).*: (?:exec: )?\S*: (?:.* )?(?:not found|No such file)|^exec: "
    r"|^setpriv: .*No such file"
)


class RemoteShellWord(str):
    """A word that the remote shell expands, so it must not be quoted."""

    __slots__ = ()


REMOTE_FIFO = RemoteShellWord('"$d/fifo"')


@record
class SshRoute:
    """The options and the destination to give to ssh."""

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

    def argv(self) -> list[str]:
        """Return the arguments of ssh."""
        forced = [part for option in _FORCED_OPTIONS for part in ("-o", option)]
        defaults = [part for option in _DEFAULT_OPTIONS for part in ("-o", option)]
        return ["-T", *forced, *self.options, *defaults, "--", self.destination, _REMOTE_COMMAND]


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


def _new_banner_end() -> bytes:
    return f"muxpilot-{secrets.token_hex(8)}\n".encode()


@record
class SshEndpoint(Endpoint):
    """A tmux server on another host.

    `socket` only identifies the server; `remote_socket` is the path of its socket on that host, or None for
    the default one.
    """

    is_remote: ClassVar[bool] = True
    connect_timeout_s: ClassVar[float | None] = _CONNECT_TIMEOUT_S
    # Another muxpilot may hold the lock for as long as its ssh waits for the host.
    attach_lock_timeout_s: ClassVar[float | None] = _ATTACH_LOCK_TIMEOUT_S

    # A secret, so that no text that the login shell prints can look like it.
    banner_end: bytes = field(default_factory=_new_banner_end, compare=False, repr=False)
    route: SshRoute = SshRoute((), "")
    remote_socket: str | None = None

    @classmethod
    def from_text(
        cls, ssh: str, path: str | None = None, *, binary: str = "tmux", config: str | None = None
    ) -> Self:
        """Parse ssh options with a destination, and the path of a socket there."""
        known = validate_remote_path(path) if path is not None else None
        return cls(
            server_identity(ssh, known), binary, config, route=SshRoute.parse(ssh), remote_socket=known
        )

    @property
    def host(self) -> str:
        return self.route.destination

    @property
    def _banner_text(self) -> str:
        return self.banner_end.decode().rstrip("\n")

    def argv(self, *flags: str, commands: Sequence[Command]) -> list[bytes]:
        """Return the command line of ssh; the commands for tmux are in `stdin_preamble`."""
        return [os.fsencode(word) for word in (self.find_program(), *self.route.argv())]

    def stdin_preamble(self, *flags: str, commands: Sequence[Command]) -> bytes:
        """Return the lines that the remote shells read and run."""
        socket = [b"-S", _quote_path(self.remote_socket)] if self.remote_socket is not None else []
        config = [b"-f", _quote_path(self.config)] if self.config is not None else []
        words = [
            _quote_for_shell(self.binary),
            b"-u",
            *socket,
            *config,
            *map(_quote_for_shell, flags),
            *_join_for_shell(commands),
        ]
        line = b" ".join(words)
        if REMOTE_FIFO in (word for command in commands for word in command):
            line = _CREATE_FIFO + b"$1 " + line + _REMOVE_FIFO
        else:
            line = b"exec $1 " + line
        return self._with_preparation(line)

    def script_preamble(self, script: str) -> bytes:
        """Return the lines that make the remote shell run a script of ours instead of tmux."""
        return self._with_preparation(b"eval " + _quote_for_shell(script))

    def _with_preparation(self, line: bytes) -> bytes:
        prepare = _PREPARE.replace("BANNER_END", self._banner_text).encode()
        return _DIE_WITH_CONNECTION + prepare + line + b"\n"

    def find_program(self) -> str:
        """Return the path of ssh, or raise Unavailable."""
        found = shutil.which("ssh")
        if found is None:
            raise Unavailable("There is no program 'ssh' on this machine.", "Install an OpenSSH client.")
        return found

    def environment(self) -> Mapping[str, str]:
        """Return all our variables: ssh needs its agent, HOME, and what its configuration sends."""
        return environment.variables_outside_tmux()

    def check_socket(self) -> None:
        """Do nothing: a socket on another host cannot be checked from here."""

    def strip_banner(self, out: bytes, err: bytes) -> tuple[bytes, bytes]:
        """Return stdout and stderr without what the login shell printed before tmux ran."""
        if self._banner_text.encode() not in err:
            raise self.attach_error(err.decode("utf-8", "replace"))
        return out.partition(self.banner_end)[2], err.partition(self.banner_end)[2]

    def attach_error(self, message: str) -> MuxpilotError:
        """Return the error for what ssh, the remote shell or tmux printed before it exited."""
        before, banner_end, after = message.rpartition(self._banner_text)
        if not banner_end:
            return self._unreachable(before or after)
        text = after.strip()
        if _TMUX_MISSING.search(text):
            self._log_failure("no tmux there")
            return NoTmux(
                f"There is no tmux on {self.host}.",
                "Install tmux 3.2 or newer there, where a shell without a terminal finds it.",
            )
        return failures.error_from_message(text or "lost server")

    def timeout_error(self, message: str) -> MuxpilotError:
        """Return the error for a host, or a tmux there, that did not answer in time."""
        limit = f"within {self.connect_timeout_s:g} s"
        if self._banner_text in message:
            self._log_failure("tmux there did not answer in time")
            return NotAnswering(f"tmux on {self.host} did not answer {limit}.")
        if message:
            return self._unreachable(f"{message}\nno further answer {limit}")
        self._log_failure("not connected in time")
        return Unreachable(f"ssh did not connect to {self.host} {limit}.", self._manual_check_hint)

    def _unreachable(self, message: str) -> Unreachable:
        lines = [line.strip().rstrip(".:") for line in message.splitlines() if line.strip()]
        why = "; ".join(lines[-_LAST_LINES:])[-_LONGEST_REASON:] or _NO_REASON
        if _HOST_KEY_REJECTED.search(message):
            self._log_failure("host key rejected")
            return Unreachable(
                f"The host key of {self.host} is not trusted: {why}.",
                "Verify the key, and connect once by hand.",
            )
        if _AUTHENTICATION_FAILED.search(message):
            self._log_failure("interactive authentication required")
            return Unreachable(
                f"{self.host} requires interactive authentication: {why}.",
                "muxpilot cannot answer: use ssh-agent, or a key without a passphrase.",
            )
        self._log_failure("unreachable")
        return Unreachable(f"{self.host} cannot be reached: {why}.", self._manual_check_hint)

    def _log_failure(self, reason: str) -> None:
        self.trace.warning("ssh failed", host=self.host, reason=reason)

    @property
    def _manual_check_hint(self) -> str:
        return f"Try {shlex.join(('ssh', *self.route.options, self.host))} by hand."

    def _attach_lock_file(self) -> str:
        digest = blake2b(os.fsencode(self.socket), digest_size=8).hexdigest()
        return str(muxpilot_folder() / f"{digest}{LOCK_SUFFIX}")


@lru_cache(maxsize=64)
def server_identity(ssh: str, path: str | None) -> str:
    """Return the text that identifies a remote server, as the path of its socket does for a local one."""
    route = SshRoute.parse(ssh)
    return f"{_IDENTITY_PREFIX}{shlex.join((*route.options, route.destination))}:{path or ''}"


def validate_remote_path(path: str) -> str:
    """Return the path of a socket on another host, or raise BadInput if it cannot be one."""
    if not path or re.search(r"[\x00-\x1f\x7f]", path):
        raise BadInput(f"{path!r} is not a socket path.", "Give the path of a tmux socket.")
    return path


def is_remote_identity(socket: str) -> bool:
    """Tell a remote server's identity from the path of a local socket, which begins with a slash."""
    return socket.startswith(_IDENTITY_PREFIX)


def _quote_for_shell(word: str | bytes) -> bytes:
    """Quote one word for a POSIX shell, without a line feed in it."""
    if isinstance(word, RemoteShellWord):
        return word.encode()
    data = quote.encode(word)
    return b"'" + data.replace(b"'", b"'\"'\"'").replace(b"\n", b"'\"$n\"'") + b"'"


def _quote_path(path: str) -> bytes:
    """Quote a path for the remote shell, where `~` is the home folder on that host."""
    if path.startswith("~/"):
        return b'"$HOME"/' + _quote_for_shell(path[2:])
    return _quote_for_shell(path)


def _join_for_shell(commands: Sequence[Command]) -> list[bytes]:
    words: list[bytes] = []
    for command in commands:
        words += [b"';'"] if words else []
        words += [
            _quote_for_shell(word if isinstance(word, RemoteShellWord) else quote.quote_for_argv(word))
            for word in command
        ]
    return words
