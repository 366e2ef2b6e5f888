"""Replace secrets before they are written: by their form, their name, and the prompt they answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from muxpilot.processes.terminal_mode import read_remote_terminal_mode, read_terminal_mode

SECRET = "[secret]"
_LONGEST = 2000

_NAMES = r"pass(?:word|wd|phrase|code)|secret|token|credentials?|(?:api|access|private)[_-]?key"
_NAMED = rf"(?i:[\w-]{{0,40}}(?:{_NAMES})[\w-]{{0,40}})"

# Forms of secrets, each with its replacement; groups of the match that stay are in it.
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL),
        SECRET,
    ),
    (re.compile(r"\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{12,}"), SECRET),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"), SECRET),
    (re.compile(r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}"), SECRET),
    (
        re.compile(r"\bxox[abeprs]-[\w-]{10,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{20,}|\bAIza[\w-]{30,}"),
        SECRET,
    ),
    (re.compile(r"\bhf_[A-Za-z0-9]{20,}|\bdop_v1_[0-9a-f]{20,}|\bSG\.[\w-]{16,}\.[\w-]{16,}"), SECRET),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*"), SECRET),
    (re.compile(r"(?i)\b(bearer|basic)(\s+)[\w.~+/=-]{8,}"), rf"\1\2{SECRET}"),
    (re.compile(r"(\w{1,20}://[^\s:/@]*:)[^\s@/]+(@)"), rf"\1{SECRET}\2"),
    (re.compile(rf"({_NAMED}[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s;&|,}}]+)"), rf"\1{SECRET}"),
    (re.compile(rf"(--?{_NAMED}\s+)(?:\"[^\"]*\"|'[^']*'|[^\s;&|-][^\s;&|]*)"), rf"\1{SECRET}"),
    (re.compile(r"\b(sshpass\s+-p\s*)\S+|\b(curl\b[^;|&]*?\s-u\s*[^\s:]+:)\S+"), rf"\1\2{SECRET}"),
    (re.compile(r"\b((?:mysql|mariadb|mysqldump)\b[^;|&]*?\s-p)[^\s-]\S*"), rf"\1{SECRET}"),
)
_IS_NAMED = re.compile(_NAMED)

# A prompt for a secret. Over ssh or in a container the terminal's echo says nothing about it.
_ASKS_FOR_SECRET = re.compile(
    r"(?i)(?:pass(?:word|phrase|code)|\bpin\b|verification code|secret|token)[^\n]{0,60}[:?]\s*$"
)


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
    """Tell whether a value is a secret by its argument's name, or by the text that hex bytes encode."""
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
    for shape, kept in _SHAPES:
        text = shape.sub(kept, text)
    return text


def _redact_text(text: str) -> str:
    """Remove secrets, then shorten: a secret that is cut in two would not be recognized."""
    cut = text if len(text) <= 2 * _LONGEST else re.sub(r"\S*$", "", text[: 2 * _LONGEST])
    safe = _redact_shapes(cut).encode("utf-8", "replace").decode()
    is_whole = len(text) <= 2 * _LONGEST and len(safe) <= _LONGEST
    return safe if is_whole else f"{safe[:_LONGEST]}… ({len(text)} characters)"


def asks_for_secret(line: str) -> bool:
    return _ASKS_FOR_SECRET.search(line.rstrip()) is not None


def is_echo_off(tty: str) -> bool | None:
    """Tell whether a terminal reads lines without showing them. Return None where it cannot be asked."""
    mode = read_terminal_mode(tty)
    return mode.hides_typing if mode is not None else None


async def is_remote_echo_off(run: Callable[[str], Awaitable[list[str]]], tty: str) -> bool:
    """Return the same for a terminal on another host. Return False where it cannot be asked."""
    mode = await read_remote_terminal_mode(run, tty)
    return mode is not None and mode.hides_typing
