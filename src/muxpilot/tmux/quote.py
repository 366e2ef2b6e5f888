"""The only three places where text is made safe for tmux.

`quote_for_control_line` writes one argument of a control line and `quote_for_argv` one argument of a tmux
process. `escape_format` is applied before either of them where tmux would expand a format.
"""

from __future__ import annotations

import re

from muxpilot.errors import BadInput, Unavailable

Text = str | bytes


class SecretWord(str):
    """An argument that other processes must not see: it is refused where a process would get it."""

    __slots__ = ()


# Valid UTF-8 is safe in single quotes, except for control characters and the quote itself. In any other
# text every byte above ASCII is unsafe too: tmux's parser reads a raw 0xff as the end of the line.
_UNSAFE_UTF8 = re.compile(rb"([\x00-\x1f'\x7f]+)")
_UNSAFE_BYTES = re.compile(rb"([^\x20-\x26\x28-\x7e]+)")
# Most words of a command. They, and plain ASCII, need no passes of quoting.
_NEEDS_NO_QUOTES = re.compile("[A-Za-z0-9_-]+")


def encode(text: Text) -> bytes:
    """Return the bytes of an argument; bytes that could not be decoded on input are restored."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadInput(f"The text has a lone surrogate at position {error.start}.") from None


def _refuse_nul(data: bytes) -> bytes:
    if b"\0" in data:
        raise BadInput("Text with a NUL byte cannot be passed to tmux.", "Leave the NUL out.")
    return data


def quote_for_control_line(text: Text) -> bytes:
    """Quote one argument of a control line, so that tmux receives exactly these bytes."""
    if isinstance(text, str):
        if _NEEDS_NO_QUOTES.fullmatch(text):
            return text.encode()
        if text.isascii() and text.isprintable() and "'" not in text:
            return b"'%b'" % text.encode()
    data = _refuse_nul(encode(text))
    if not data:
        return b"''"
    parts = _unsafe_pattern(data).split(data)
    return b"".join(
        _octal_escape(part) if i % 2 else b"'" + part + b"'" for i, part in enumerate(parts) if part
    )


def _unsafe_pattern(data: bytes) -> re.Pattern[bytes]:
    try:
        data.decode()
    except UnicodeDecodeError:
        return _UNSAFE_BYTES
    return _UNSAFE_UTF8


def _octal_escape(data: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in data) + b'"'


def quote_for_argv(text: Text) -> bytes:
    """Escape one argument of a tmux process: tmux takes a trailing `;` for the end of the command."""
    if isinstance(text, SecretWord):
        raise Unavailable("A secret is sent only through a connection to tmux, and there is none now.")
    data = _refuse_nul(encode(text))
    return data[:-1] + b"\\;" if data.endswith(b";") else data


def escape_format(text: str, *, is_strftime: bool = False) -> str:
    """Escape text so that tmux's format expansion returns it unchanged and runs no command in it.

    tmux turns `##` into `#`, but leaves any run of `#` before `[` unchanged. Pass `is_strftime` where tmux
    also passes the argument to strftime, which turns `%%` into `%`.
    """
    escaped = re.sub(r"#+(?!#|\[)", lambda run: run[0] * 2, text)
    return escaped.replace("%", "%%") if is_strftime else escaped
