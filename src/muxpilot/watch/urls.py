"""Which addresses a url trigger may ask: this machine's own, and hosts that the configuration allows."""

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
class HttpAddress:
    """Where to connect, and what to ask for; `hosts` are tried one after the other."""

    hosts: tuple[str, ...]
    port: int
    is_secure: bool
    authority: str
    path: str


def parse_url(url: str, allowed: tuple[str, ...]) -> HttpAddress:
    """Return the address of a URL, or raise BadInput if it names neither this machine nor an allowed host."""
    parts = _split(url)
    host = (parts.hostname or "").rstrip(".")
    hosts = _local_addresses(host)
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
    return HttpAddress(hosts or (host,), port, parts.scheme == "https", parts.netloc, path)


def _split(url: str) -> SplitResult:
    """Split a URL. It goes into a request as it is: refuse blanks, controls and user names."""
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


def _local_addresses(host: str) -> tuple[str, ...]:
    """Return the addresses of a host that can only mean this machine, without asking a resolver."""
    if host == "localhost" or host.endswith(".localhost"):
        return LOOPBACKS
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return ()
    if number.is_unspecified:  # servers that listen on all addresses print 0.0.0.0
        return LOOPBACKS
    return (host,) if number.is_loopback else ()
