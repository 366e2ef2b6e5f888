"""The only three places where text is made safe for tmux.

`control` writes one argument of a control line, `argv` one argument of a tmux process, and `literal`
goes before either of them where tmux would expand a format.
"""

from __future__ import annotations

import re

from muxpilot.errors import BadInput

Text = str | bytes

# Valid UTF-8 may stand in single quotes but for controls and the quote itself. In any other text every
# byte above ASCII is unsafe too: tmux's parser reads a raw 0xff as the end of the line.
_UNSAFE_UTF8 = re.compile(rb"([\x00-\x1f'\x7f]+)")
_BARE = re.compile("[A-Za-z0-9_-]+")  # most words of a command, which need nothing
_UNSAFE_BYTES = re.compile(rb"([^\x20-\x26\x28-\x7e]+)")


def encode(text: Text) -> bytes:
    """The bytes of an argument; what could not be decoded on the way in goes out as it was."""
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadInput(f"Text with a lone surrogate at position {error.start} is not text.") from None


def _refuse_nul(data: bytes) -> bytes:
    if b"\0" in data:
        raise BadInput("Text with a NUL byte cannot be passed to tmux.", "Leave the NUL out.")
    return data


def control(text: Text) -> bytes:
    """One argument of a control line, quoted so that tmux gets exactly these bytes."""
    if isinstance(text, str) and _BARE.fullmatch(text):
        return text.encode()
    data = _refuse_nul(encode(text))
    if not data:
        return b"''"
    parts = _unsafe_runs(data).split(data)
    return b"".join(_octal(part) if i % 2 else b"'" + part + b"'" for i, part in enumerate(parts) if part)


def _unsafe_runs(data: bytes) -> re.Pattern[bytes]:
    try:
        data.decode()
    except UnicodeDecodeError:
        return _UNSAFE_BYTES
    return _UNSAFE_UTF8


def _octal(data: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in data) + b'"'


def argv(text: Text) -> bytes:
    """One argument of a tmux process: tmux would take a trailing `;` for the end of the command."""
    data = _refuse_nul(encode(text))
    return data[:-1] + b"\\;" if data.endswith(b";") else data


def literal(text: str, *, clock: bool = False) -> str:
    """Text that comes out of tmux's format expansion as it went in, and runs nothing on the way.

    `##` becomes `#`, except that any run of `#` before `[` passes unchanged. With `clock` the argument is
    also read by strftime, where `%%` becomes `%`.
    """
    escaped = re.sub(r"#+(?!#|\[)", lambda run: run[0] * 2, text)
    return escaped.replace("%", "%%") if clock else escaped
