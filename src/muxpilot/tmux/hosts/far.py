"""A tmux server on another host or in a container: far, because only a pipe leads there.

A route is the program that we start here. It starts `/bin/sh` there, and gives us its stdin and stdout. The
table of routes is in `routes.py`.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import ClassVar, Self

from muxpilot.config import environment
from muxpilot.errors import BadInput, MuxpilotError, NotAnswering, NoTmux, Unavailable, Unreachable
from muxpilot.records import record
from muxpilot.timing import HeartbeatTiming
from muxpilot.tmux.connection import failures
from muxpilot.tmux.hosts import far_script
from muxpilot.tmux.hosts.endpoint import LOCK_SUFFIX, Command, Endpoint, muxpilot_folder

_CONNECT_TIMEOUT_S = 9.0
_ATTACH_LOCK_TIMEOUT_S = 5.0
# Where the route leads over several hosts, the first of them that fails says the most.
_LAST_LINES, _LONGEST_REASON = 3, 400


@record
class FarRoute:
    """A way to a shell elsewhere. Each kind of route is a subclass, and a row of `routes.py`."""

    # The kind of the route is the beginning of a server's identity, and the name of its flag and its key.
    kind: ClassVar[str]
    # None where the far side notices by itself that the connection has ended.
    heartbeat: ClassVar[HeartbeatTiming | None] = None

    @property
    def text(self) -> str:
        """Return the route as a line of shell, the same for all ways to write it."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """Return where the route leads, for the end of a sentence: `on build`."""
        raise NotImplementedError

    def argv(self) -> list[str]:
        """Return the program to start here, and its arguments."""
        raise NotImplementedError

    def argv_for_person(self, *command: str) -> list[str]:
        """Return what a person runs here to start a command there, at a terminal."""
        raise NotImplementedError

    @property
    def inherits_environment(self) -> bool:
        """Return whether the shell there may get all our variables."""
        return False

    def unreachable(self, message: str) -> MuxpilotError:
        """Return the error for what the program printed before it exited, without having reached a shell."""
        raise NotImplementedError

    def not_connected(self, limit: str) -> Unreachable:
        """Return the error for a program that printed nothing in time."""
        raise NotImplementedError

    def identity(self, path: str | None) -> str:
        """Return the text that identifies a server there, as the path of its socket does for a local one."""
        return f"{self.kind}:{self.text}:{path or ''}"


def reason_of(message: str, default: str) -> str:
    """Return the last lines that a program printed, as a part of a sentence."""
    lines = [line.strip().rstrip(".:") for line in message.splitlines() if line.strip()]
    return "; ".join(lines[-_LAST_LINES:])[-_LONGEST_REASON:] or default


def _new_banner_end() -> bytes:
    return f"muxpilot-{secrets.token_hex(8)}\n".encode()


@record
class FarEndpoint(Endpoint):
    """A tmux server that a route leads to.

    `socket` only identifies the server; `far_socket` is the path of its socket there, or None for the
    default one.
    """

    is_remote: ClassVar[bool] = True
    connect_timeout_s: ClassVar[float | None] = _CONNECT_TIMEOUT_S
    # Another muxpilot may hold the lock for as long as its program waits for the host.
    attach_lock_timeout_s: ClassVar[float | None] = _ATTACH_LOCK_TIMEOUT_S

    # A secret, so that no text that the login shell prints can look like it.
    banner_end: bytes = field(default_factory=_new_banner_end, compare=False, repr=False)
    route: FarRoute = field(default_factory=FarRoute)
    far_socket: str | None = None

    @classmethod
    def by(
        cls,
        route: FarRoute,
        path: str | None = None,
        *,
        binary: str = "tmux",
        config: str | None = None,
        passed_variables: tuple[str, ...] | None = None,
    ) -> Self:
        """Return the endpoint at the end of a route, with the path of a socket there."""
        known = validate_far_path(path) if path is not None else None
        return cls(route.identity(known), binary, config, passed_variables, route=route, far_socket=known)

    @property
    def heartbeat(self) -> HeartbeatTiming | None:  # type: ignore[override]
        """Return the times of the heartbeat that the route needs."""
        return self.route.heartbeat

    @property
    def _banner_text(self) -> str:
        return self.banner_end.decode().rstrip("\n")

    def argv(self, *flags: str, commands: Sequence[Command]) -> list[bytes]:
        """Return the command line of the route's program; the commands for tmux are in `stdin_preamble`."""
        return [os.fsencode(word) for word in (self.find_program(), *self.route.argv()[1:])]

    def argv_for_person(self, *words: str) -> list[str]:
        """Return what a person runs here to use the server with tmux."""
        socket = ["-S", self.far_socket] if self.far_socket is not None else []
        return self.route.argv_for_person("tmux", *socket, *words)

    def stdin_preamble(self, *flags: str, commands: Sequence[Command]) -> bytes:
        """Return the lines that the far shells read and run."""
        socket = [b"-S", far_script.quote_path(self.far_socket)] if self.far_socket is not None else []
        config = [b"-f", far_script.quote_path(self.config)] if self.config is not None else []
        server = [far_script.quote_for_shell(self.binary), b"-u", *socket, *config]
        return far_script.tmux_lines(server, flags, commands, prepare=self._prepare_line())

    def script_preamble(self, script: str) -> bytes:
        """Return the lines that make the far shell run a script of ours instead of tmux."""
        return far_script.script_lines(script, prepare=self._prepare_line())

    def _prepare_line(self) -> bytes:
        return far_script.prepare_line(self._banner_text, inherited=self._withheld_variables())

    def _withheld_variables(self) -> list[str]:
        """Return the names of our variables that a tmux server which we start there must not pass on."""
        if self.passed_variables is None or not self.route.inherits_environment:
            return []
        names = [name for name in environment.variables() if not self._is_passed(name)]
        return sorted(name for name in names if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII))

    def find_program(self) -> str:
        """Return the path of the route's program, or raise Unavailable."""
        program = self.route.argv()[0]
        found = shutil.which(program)
        if found is None:
            raise Unavailable(
                f"There is no program {program!r} on this machine.",
                f"Install it, or change {self.route.kind}.",
            )
        return found

    def start_error(self, program: str, error: OSError) -> MuxpilotError:
        """Return the error for a program that cannot be started."""
        return Unavailable(f"{program} cannot be started: {error.strerror}.", self._manual_check_hint)

    def environment(self) -> Mapping[str, str]:
        """Return all our variables: ssh needs its agent and HOME, docker and kubectl their hosts."""
        given = environment.variables_outside_tmux()
        return given | ({"MUXPILOT_FROM": self._banner_text} if self.route.inherits_environment else {})

    def check_socket(self) -> None:
        """Do nothing: a socket elsewhere cannot be checked from here."""

    def strip_banner(self, out: bytes, err: bytes) -> tuple[bytes, bytes]:
        """Return stdout and stderr without what was printed before tmux ran."""
        if self._banner_text.encode() not in err:
            raise self.attach_error(err.decode("utf-8", "replace"))
        return out.partition(self.banner_end)[2], err.partition(self.banner_end)[2]

    def attach_error(self, message: str) -> MuxpilotError:
        """Return the error for what the route's program, the far shell or tmux printed before it exited."""
        before, banner_end, after = message.rpartition(self._banner_text)
        if not banner_end:
            error = self.route.unreachable(before or after)
            self._log_failure(error.what)
            return error
        text = after.strip()
        if far_script.NO_TMUX in text:
            self._log_failure("no tmux there")
            return NoTmux(
                f"There is no tmux {self.route.place}.",
                "Install tmux 3.2 or newer there, where a shell without a terminal finds it.",
            )
        return failures.error_from_message(text or "lost server")

    def timeout_error(self, message: str) -> MuxpilotError:
        """Return the error for a host, or a tmux there, that did not answer in time."""
        limit = f"within {self.connect_timeout_s:g} s"
        if self._banner_text in message:
            self._log_failure("tmux there did not answer in time")
            return NotAnswering(f"tmux {self.route.place} did not answer {limit}.")
        error = (
            self.route.unreachable(f"{message}\nno further answer {limit}")
            if message
            else self.route.not_connected(limit)
        )
        self._log_failure(error.what)
        return error

    def _log_failure(self, reason: str) -> None:
        self.trace.warning(f"{self.route.kind} failed", to=self.route.place, reason=reason)

    @property
    def _manual_check_hint(self) -> str:
        return f"Try {shlex.join(self.route.argv())} by hand."

    def _attach_lock_file(self) -> str:
        digest = blake2b(os.fsencode(self.socket), digest_size=8).hexdigest()
        return str(muxpilot_folder() / f"{digest}{LOCK_SUFFIX}")


def validate_far_path(path: str) -> str:
    """Return the path of a socket on another host, or raise BadInput if it cannot be one."""
    if not path or re.search(r"[\x00-\x1f\x7f]", path):
        raise BadInput(f"{path!r} is not a socket path.", "Give the path of a tmux socket.")
    return path
