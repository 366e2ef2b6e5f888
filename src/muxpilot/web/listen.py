"""Listening sockets and the token of HTTP clients, both checked before anything starts."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat

from muxpilot.config.model import HttpSettings
from muxpilot.errors import BadInput
from muxpilot.trace import area

_SHORTEST_TOKEN, _LONGEST_TOKEN = 16, 4096
_BACKLOG = 256

trace = area("server")


def read_token(http: HttpSettings) -> bytes | None:
    """Read the token file, which only its owner may be able to read. The checks use the open file."""
    path = http.token_file
    if path is None:
        return None
    hint = f"Create it again: (umask 077; openssl rand -hex 32 >{path})."
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise BadInput(f"The token file {path} cannot be read: {error.strerror}.", hint) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise BadInput(f"The token file {path} is not a regular file.", hint)
        if facts.st_mode & 0o077 or facts.st_uid != os.geteuid():
            owner = "has another owner" if facts.st_uid != os.geteuid() else "can be read by others"
            raise BadInput(f"The token file {path} {owner}.", f"Make it yours alone: chmod 600 {path}.")
        text = os.read(descriptor, _LONGEST_TOKEN + 2).strip()
    finally:
        os.close(descriptor)
    if not _SHORTEST_TOKEN <= len(text) <= _LONGEST_TOKEN or not all(0x21 <= byte <= 0x7E for byte in text):
        lengths = f"{_SHORTEST_TOKEN} to {_LONGEST_TOKEN}"
        what = f"The token in {path} is not {lengths} visible ASCII characters in one line."
        raise BadInput(what, hint)
    return text


def open_listeners(http: HttpSettings) -> list[socket.socket]:
    """Open one socket. Without a token it must be on loopback, whatever the host name resolves to."""
    flag = f"--http {f'[{http.host}]' if ':' in http.host else http.host}:{http.port}"
    family, address = _resolve(http)
    if http.token_file is None and not is_loopback(address[0]):
        raise BadInput(
            f"{flag} would be reachable from other machines without a token.",
            "Add --http-token-file PATH, or use 127.0.0.1.",
        )
    return [open_listener(family, address, flag)]


def open_listener(family: socket.AddressFamily, address: tuple[str, int], flag: str) -> socket.socket:
    """Open a socket that listens; `flag` is the command line flag that requested it."""
    # asyncio disables Nagle's algorithm only if the protocol is given. It would cost 40 ms for each answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        what = f"{flag} cannot be listened on: {error.strerror}."
        raise BadInput(what, "Use another address or port; 0 is any free port.") from None
    host, port, *_ = listener.getsockname()
    trace.info("listening", host=host, port=port)
    return listener


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _resolve(http: HttpSettings) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(http.host, http.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadInput(
            f"--http: host {http.host[:80]!r} does not resolve.", "Use an address of this machine."
        ) from None
    family, _, _, _, address = min(found, key=lambda row: row[0] != socket.AF_INET)
    return family, (str(address[0]), int(address[1]))
