"""Which addresses a url trigger may ask: this machine's own, and hosts that somebody allowed."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from muxpilot.errors import BadInput
from muxpilot.records import record

LOOPBACK_ONLY: tuple[str, ...] = ()

_PORTS = {"http": 80, "https": 443}
LOOPBACKS = ("127.0.0.1", "::1")


@record
class Address:
    """Where to connect, and what to ask for; `hosts` are tried in turn."""

    hosts: tuple[str, ...]
    port: int
    is_secure: bool
    authority: str
    path: str


def address(url: str, allowed: tuple[str, ...]) -> Address:
    parts = _split(url)
    host = (parts.hostname or "").rstrip(".")
    hosts = _this_machine(host)
    if not hosts and host not in allowed:
        raise BadInput(
            f"The trigger 'url:{url[:60]}' names the host {host[:60]!r}, which is not this machine.",
            "Use localhost or a loopback address, or have the host in watch.allowed_hosts.",
        )
    if hosts and parts.scheme == "https":
        raise BadInput(
            f"The trigger 'url:{url[:60]}' asks this machine by https.", "Use http, or port:N for the port."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    port = _port(parts) or _PORTS[parts.scheme]
    return Address(hosts or (host,), port, parts.scheme == "https", parts.netloc, path)


def _split(url: str) -> SplitResult:
    """A url goes into a request as it is: no blanks, no controls, no names of users."""
    try:
        parts = urlsplit(url) if re.fullmatch("[!-~]{1,2000}", url) else None
        if parts is None or parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc:
            raise ValueError
        _port(parts)
    except ValueError:
        raise BadInput(
            f"The trigger {f'url:{url}'[:60]!r} is not an http address.",
            "Write url:http://localhost:8000/path.",
        ) from None
    return parts


def _port(parts: SplitResult) -> int | None:
    if parts.port == 0:
        raise ValueError
    return parts.port


def _this_machine(host: str) -> tuple[str, ...]:
    """The addresses of a name that can only mean this machine; no resolver is asked."""
    if host == "localhost" or host.endswith(".localhost"):
        return LOOPBACKS
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return ()
    if number.is_unspecified:  # what servers say that listen everywhere
        return LOOPBACKS
    return (host,) if number.is_loopback else ()
