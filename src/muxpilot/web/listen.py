"""Where HTTP is served and who may ask: socket and token, checked before anything starts."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat

from muxpilot.config.model import Http
from muxpilot.errors import BadInput

_SHORTEST, _LARGEST = 16, 4096
_BACKLOG = 256


def token(http: Http) -> bytes | None:
    """The first line of the file, which must be its owner's alone; the open file is what is judged."""
    path = http.token_file
    if path is None:
        return None
    hint = f"Make it anew: (umask 077; openssl rand -hex 32 >{path})."
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise BadInput(f"The token file {path} cannot be read: {error.strerror}.", hint) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise BadInput(f"The token file {path} is no file.", hint)
        if facts.st_mode & 0o077 or facts.st_uid != os.geteuid():
            owner = "has another owner" if facts.st_uid != os.geteuid() else "is open to others"
            raise BadInput(f"The token file {path} {owner}.", f"Its owner must be you: chmod 600 {path}.")
        text = os.read(descriptor, _LARGEST + 2).strip()
    finally:
        os.close(descriptor)
    if not _SHORTEST <= len(text) <= _LARGEST or not all(0x21 <= byte <= 0x7E for byte in text):
        what = f"The token in {path} is not {_SHORTEST} to {_LARGEST} visible ASCII characters in one line."
        raise BadInput(what, hint)
    return text


def listen(http: Http) -> list[socket.socket]:
    """One socket; without a token on loopback only, whatever the name resolves to."""
    asked = f"--http {f'[{http.host}]' if ':' in http.host else http.host}:{http.port}"
    family, address = _resolved(http)
    if http.token_file is None and not is_loopback(address[0]):
        raise BadInput(
            f"{asked} would be open to other machines.",
            "Add --http-token-file PATH, or use 127.0.0.1.",
        )
    return [bound(family, address, asked)]


def bound(family: socket.AddressFamily, address: tuple[str, int], asked: str) -> socket.socket:
    """A socket that listens; `asked` is the flag that wanted it."""
    # The protocol is said, or asyncio would not switch Nagle's algorithm off: 40 ms for each answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        what = f"{asked} cannot be listened on: {error.strerror}."
        raise BadInput(what, "Use another address or port; 0 is any port that is free.") from None
    return listener


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _resolved(http: Http) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(http.host, http.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadInput(
            f"--http: there is no host {http.host[:80]!r}.", "Use an address of this one."
        ) from None
    family, _, _, _, address = min(found, key=lambda row: row[0] != socket.AF_INET)
    return family, (str(address[0]), int(address[1]))
