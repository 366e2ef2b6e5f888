"""A command's output: from terminal bytes to the text that a person would have seen, kept within limits.

Rendering goes along with the stream. What no cursor movement can reach any more is settled and goes to the
spool; the last screenful stays open. Plain text and colours take a short way.
"""

from __future__ import annotations

import codecs
import re
import tempfile
from collections.abc import Callable

from muxpilot.terminal.text import Page

_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
# The beginning of a sequence, or of a line end, whose rest has not come yet.
_TORN = re.compile(r"(?:\r+|\x1b(?:\[[0-9;:<=>?]*[ -/]*|[ -/]*|[\]X^_kP][^\x07\x1b]{0,4096}\x1b?)?)\Z")

_IN_MEMORY = 1 << 20
_TAIL = 1 << 20


class Renderer:
    """Bytes in; `take` answers the text that is settled."""

    def __init__(self, height: int) -> None:
        self._height = height
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._open = ""  # the last lines, as text, while no page is needed
        self._page: Page | None = None
        self._settled: list[str] = []

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        text = self._held + self._decoder.decode(data, final=is_last)
        torn = None if is_last else _TORN.search(text)
        self._held = torn[0] if torn is not None else ""
        text = text[: torn.start()] if torn is not None else text
        if "\x1b" in text:
            text = _COLOUR.sub("", text)
        plain = text.replace("\r\n", "\n")
        if self._page is None and _is_plain(plain):
            self._open += plain
        else:
            self._draw(text)
        self._settle()

    def take(self) -> str:
        settled, self._settled = "".join(self._settled), []
        return settled

    def unsettled(self) -> str:
        """What a screen still shows, and may yet change."""
        if self._page is None:
            return self._open
        return "\n".join(self._page.lines())

    def finish(self) -> str:
        self.feed(b"", is_last=True)
        text = self.take() + self.unsettled()
        self._open, self._page = "", None
        return text

    def _draw(self, text: str) -> None:
        if self._page is None:
            self._page = Page(self._height, keeps_tabs=True)
            self._page.write(self._open.replace("\n", "\r\n"))
            self._open = ""
        self._page.write(text)
        self._settled += [line + "\n" for line in self._page.take_settled()]
        if self._page.is_plain:
            self._open, self._page = "\n".join(self._page.lines()), None

    def _settle(self) -> None:
        if self._page is not None or len(self._open) < 2 * self._height:
            return
        lines = self._open.count("\n")
        if lines > 2 * self._height:
            cut = len(self._open)
            for _ in range(self._height + 1):
                cut = self._open.rfind("\n", 0, cut)
            self._settled.append(self._open[: cut + 1])
            self._open = self._open[cut + 1 :]


def _is_plain(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").isprintable()


class Spool:
    """Text as UTF-8: all of it up to a cap, on disk when it is much, and always its end."""

    def __init__(self, cap_bytes: int) -> None:
        self.size = 0
        self._cap = cap_bytes
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with the command
        self._kept = 0
        self._tail = bytearray()

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        room = self._cap - self._kept
        if room > 0:
            self._file.write(data[:room])
            self._kept += min(len(data), room)
        self.size += len(data)
        self._tail += data[-_TAIL:]
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    def whole(self) -> tuple[bytes, int]:
        """What is kept from the beginning on, and how many bytes behind it are not."""
        return self._read(0, self._kept), self.size - self._kept

    def ends(self, limit: int) -> tuple[bytes, bytes]:
        """All of it if it is no longer than `limit`, else a head and a tail that together are."""
        if self.size <= limit:
            return (self._read(0, self._kept) if self._kept == self.size else bytes(self._tail)), b""
        head = limit // 2
        return self._read(0, head), bytes(self._tail[len(self._tail) - (limit - head) :])

    def close(self) -> None:
        self._file.close()

    def _read(self, start: int, size: int) -> bytes:
        self._file.seek(start)
        data = self._file.read(size)
        self._file.seek(0, 2)
        return data


class Output:
    """One command's output while it comes, and afterwards."""

    def __init__(self, height: int, cap_bytes: int) -> None:
        self._height, self._cap_bytes = height, cap_bytes
        self._renderer: Renderer | None = Renderer(height)
        self._spool = Spool(cap_bytes)
        self.lost = 0
        self.heard: Callable[[bytes], None] | None = None  # who else wants each byte as it comes

    def feed(self, data: bytes) -> None:
        if self.heard is not None:
            self.heard(data)
        if self._renderer is not None:
            self._renderer.feed(data)
            self._spool.write(self._renderer.take())

    def restart(self) -> None:
        """What came until now was of another command."""
        self._spool.close()
        self._renderer, self._spool = Renderer(self._height), Spool(self._cap_bytes)

    def finish(self) -> None:
        if self._renderer is not None:
            self._spool.write(self._renderer.finish())
            self._renderer = None

    @property
    def _open(self) -> bytes:
        return self._renderer.unsettled().encode("utf-8", "replace") if self._renderer is not None else b""

    @property
    def size(self) -> int:
        return self._spool.size + len(self._open)

    def excerpt(self, limit: int) -> tuple[str, bool]:
        """The text, or its head and tail with a line between them that says what is left out."""
        still_open = self._open
        size = self._spool.size + len(still_open)
        if size <= limit:
            return (self._spool.ends(limit)[0] + still_open).decode("utf-8", "replace"), False
        head, tail = self._spool.ends(min(limit, self._spool.size))
        everything = (tail or head) + still_open
        half = limit // 2
        first = _whole_characters((head + still_open)[:half], at_end=True)
        last = _whole_characters(everything[len(everything) - (limit - half) :], at_end=False)
        left_out = size - len(first) - len(last)
        note = f"\n[… {left_out} bytes left out …]\n"
        return first.decode("utf-8", "replace") + note + last.decode("utf-8", "replace"), True

    def whole(self) -> tuple[str, bool]:
        """All that is kept, with a line behind it that says how much is not."""
        kept, beyond = self._spool.whole()
        if not beyond:
            return (kept + self._open).decode("utf-8", "replace"), False
        note = f"\n[… {beyond + len(self._open)} bytes more were not kept …]\n"
        return kept.decode("utf-8", "replace") + note, True

    def close(self) -> None:
        self._renderer = None
        self._spool.close()


def _whole_characters(data: bytes, *, at_end: bool) -> bytes:
    """Without the part of a character at a cut."""
    if at_end:
        return data.decode("utf-8", "ignore").encode()
    start = next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), len(data[:4]))
    return data[start:]
