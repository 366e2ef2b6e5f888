"""Replace secrets before they are written: by their form, their name, and the prompt they answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from muxpilot.processes.terminal_mode import read_remote_terminal_mode, read_terminal_mode
from muxpilot.redaction.find_secrets import SecretPattern, find_secrets
from muxpilot.redaction.secret_shapes import NAMED, SHAPES

SECRET = "[secret]"
_LONGEST = 2000

_SHAPES = tuple(SecretPattern(re.compile(row.pattern.encode())) for row in SHAPES)
_IS_NAMED = re.compile(NAMED)


def redact(value: Any, name: str = "") -> Any:
    """Return a value without secrets, in a form that JSON can hold."""
    if isinstance(value, str):
        return SECRET if value and _is_secret(value, name) else _redact_text(value)
    if isinstance(value, Mapping):
        return {_redact_text(str(key)): redact(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else _redact_text(str(value))


def _is_secret(value: str, name: str) -> bool:
    """Return whether a value is a secret by its argument's name, or by the text that hex bytes encode."""
    if name == "hex":
        spelt = _decode_hex(value)
        return _redact_shapes(spelt) != spelt
    return bool(name) and _IS_NAMED.fullmatch(name) is not None


def _decode_hex(hexes: str) -> str:
    try:
        return bytes(int(word, 16) for word in hexes.split()).decode("utf-8", "replace")
    except ValueError:
        return ""


def _redact_shapes(text: str) -> str:
    data, parts, at = text.encode("utf-8", "surrogatepass"), [], 0
    for start, end in find_secrets(data, _SHAPES):
        parts += [data[at:start], SECRET.encode()]
        at = end
    return b"".join([*parts, data[at:]]).decode("utf-8", "surrogatepass") if parts else text


def _redact_text(text: str) -> str:
    """Remove secrets, then shorten: a secret that is cut in two would not be recognized."""
    cut = text if len(text) <= 2 * _LONGEST else re.sub(r"\S*$", "", text[: 2 * _LONGEST])
    safe = _redact_shapes(cut).encode("utf-8", "replace").decode()
    is_whole = len(text) <= 2 * _LONGEST and len(safe) <= _LONGEST
    return safe if is_whole else f"{safe[:_LONGEST]}… ({len(text)} characters)"


def is_echo_off(tty: str) -> bool | None:
    """Return whether a terminal reads lines without showing them. Return None where it cannot be asked."""
    mode = read_terminal_mode(tty)
    return mode.hides_typing if mode is not None else None


async def is_remote_echo_off(run: Callable[[str], Awaitable[list[str]]], tty: str) -> bool:
    """Return the same for a terminal on another host. Return False where it cannot be asked."""
    mode = await read_remote_terminal_mode(run, tty)
    return mode is not None and mode.hides_typing
