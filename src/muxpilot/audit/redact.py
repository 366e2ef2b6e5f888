"""What is never written down: secrets by their shape, by their name, and by where they are typed."""

from __future__ import annotations

import os
import re
import termios
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

SECRET = "[secret]"
_LONGEST = 2000

_NAMES = r"pass(?:word|wd|phrase|code)|secret|token|credentials?|(?:api|access|private)[_-]?key"
_NAMED = rf"(?i:[\w-]{{0,40}}(?:{_NAMES})[\w-]{{0,40}})"

# A shape, and which of its groups stay.
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

# A line that asks for a secret, where the terminal's state tells nothing: over ssh, in a container.
_ASKS = re.compile(
    r"(?i)(?:pass(?:word|phrase|code)|\bpin\b|verification code|secret|token)[^\n]{0,60}[:?]\s*$"
)


def redacted(value: Any, name: str = "") -> Any:
    """A value as it may be written, whatever it is made of."""
    if isinstance(value, str):
        return SECRET if value and _is_secret(value, name) else _text(value)
    if isinstance(value, Mapping):
        return {_text(str(key)): redacted(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else _text(str(value))


def _is_secret(value: str, name: str) -> bool:
    """By the argument's name, or by what bytes in hex spell."""
    if name == "hex":
        spelt = _spelt(value)
        return _without_secrets(spelt) != spelt
    return bool(name) and _IS_NAMED.fullmatch(name) is not None


def _spelt(hexes: str) -> str:
    try:
        return bytes(int(word, 16) for word in hexes.split()).decode("utf-8", "replace")
    except ValueError:
        return ""


def _without_secrets(text: str) -> str:
    for shape, kept in _SHAPES:
        text = shape.sub(kept, text)
    return text


def _text(text: str) -> str:
    """Shapes go before the length does: a secret that is cut in two has no shape."""
    cut = text if len(text) <= 2 * _LONGEST else re.sub(r"\S*$", "", text[: 2 * _LONGEST])
    safe = _without_secrets(cut).encode("utf-8", "replace").decode()
    is_whole = len(text) <= 2 * _LONGEST and len(safe) <= _LONGEST
    return safe if is_whole else f"{safe[:_LONGEST]}… ({len(text)} characters)"


def asks_for_secret(line: str) -> bool:
    return _ASKS.search(line.rstrip()) is not None


def hides_typing(tty: str) -> bool | None:
    """Whether what is typed at a terminal is read as a line but not shown; None where it cannot be seen."""
    try:
        terminal = os.open(tty, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        modes = termios.tcgetattr(terminal)[3]
    except (OSError, termios.error):
        return None
    finally:
        os.close(terminal)
    return bool(modes & termios.ICANON) and not modes & termios.ECHO


async def hides_typing_there(run: Callable[[str], Awaitable[list[str]]], tty: str) -> bool:
    """The same on another host; where it cannot be seen, the line that the cursor is on must tell."""
    if not re.fullmatch(r"/dev/[\w/]+", tty, re.ASCII):
        return False
    words = set(" ".join(await run(f"stty -a <{tty} 2>/dev/null")).replace(";", " ").split())
    return "icanon" in words and "-echo" in words
