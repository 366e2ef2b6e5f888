"""The output of a command: terminal bytes become the text that a person would have seen, within limits.

Text is rendered while it comes. Lines that no cursor movement can reach any more are settled and go to the
spool; the last screenful may still change. Plain text and colours do not need a page.
"""

from __future__ import annotations

import codecs
import os
import re
import tempfile
from collections.abc import Callable
from typing import BinaryIO, cast

from muxpilot.records import record
from muxpilot.terminal.escapes import ESC, OSC_STRING, SGR, TORN_PLAIN
from muxpilot.terminal.shape import ANY_SHAPE, ScreenShape
from muxpilot.terminal.text import TextPage, is_plain
from muxpilot.trace import area

_trace = area("shells")

_TITLE_OR_LINK = re.compile(OSC_STRING)
_STRING_END = ESC + "\\"
# The beginning of a sequence, or of a line end, whose rest has not come yet.
_TORN = re.compile(TORN_PLAIN)
_DECODER = codecs.getincrementaldecoder("utf-8")

# Takes secrets out of a text. It gets what is before the text, the text, and what is after it.
HideSecrets = Callable[[str, str, str], str]
# How much before and after a part is searched with it.
_MARGIN = 1 << 13

_LONGEST_TORN = 128
_IN_MEMORY = 1 << 20
_TAIL = 1 << 20


class OutputRenderer:
    """Renders bytes as text. Text that cannot change any more is taken out with `take_settled`.

    `keeps_colours`: the sequences for colours stay in lines that the command does not redraw.
    """

    def __init__(self, shape: ScreenShape, *, keeps_colours: bool = False) -> None:
        self._shape = shape
        self._keeps_colours = keeps_colours
        self._decoder = _DECODER("replace")
        self._torn = ""  # the end of the data, whose meaning depends on what follows; only of plain text
        self._open = ""  # the last lines, while no page is needed
        self._last_char = ""  # what a sequence may repeat
        self._page: TextPage | None = None
        self._settled: list[str] = []

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        """Render the next bytes of the output."""
        text = self._torn + self._decoder.decode(data, final=is_last)
        self._torn = ""
        if not text:
            return
        if self._page is None and not is_last:
            torn = _TORN.search(text, max(0, len(text) - _LONGEST_TORN))
            if torn is not None:
                text, self._torn = text[: torn.start()], torn[0]
        coloured = _TITLE_OR_LINK.sub("", text) if ESC in text else text
        plain = _without_colours(coloured)
        if self._page is None and is_plain(plain, follows=_without_colours(self._open[-_LONGEST_TORN:])):
            self._open += (coloured if self._keeps_colours else plain).replace("\r\n", "\n")
            self._last_char = _find_last_char(text) if text else self._last_char
        elif text:
            self._draw(text)
        self._settle()

    def take_settled(self) -> str:
        settled, self._settled = "".join(self._settled), []
        return settled

    def open_text(self) -> str:
        """Return the text that further output may still change."""
        return self._open if self._page is None else self._page.text()

    @property
    def is_redrawn(self) -> bool:
        """Return whether the command moves in lines that it has printed, such as a progress bar."""
        return self._page is not None

    def finish(self) -> str:
        """Return all text that was not taken yet; no more output follows."""
        self.feed(b"", is_last=True)
        text = self.take_settled() + self.open_text()
        self._open, self._page = "", None
        return text

    def _draw(self, text: str) -> None:
        if self._page is None:
            self._page = TextPage(self._shape, keeps_tabs=True)
            self._page.write(self._open.replace("\n", "\r\n"))
            self._page.last_char = self._last_char
            self._open = ""
        self._page.write(text)
        self._settled.append(self._page.take_scrolled_off())
        if self._page.is_plain_text:
            self._open, self._last_char, self._page = self._page.text(), self._page.last_char, None

    def _settle(self) -> None:
        """Settle all plain lines but the last screenful."""
        height = self._shape.rows
        if self._page is not None or len(self._open) < 2 * height:
            return
        if self._open.count("\n") > 2 * height:
            cut = len(self._open)
            for _ in range(height + 1):
                cut = self._open.rfind("\n", 0, cut)
            self._settled.append(self._open[: cut + 1])
            self._open = self._open[cut + 1 :]


def _without_colours(text: str) -> str:
    return SGR.sub("", text) if ESC in text else text


def _find_last_char(text: str) -> str:
    """Return what a sequence after this text can repeat; nothing after another sequence or a line end."""
    start = text.rfind(ESC)
    is_sequence = start >= 0 and (SGR.fullmatch(text, start) or _TITLE_OR_LINK.fullmatch(text, start))
    return "" if is_sequence or text.endswith(_STRING_END) else text[-1].strip("\n\t")


class OutputSpool:
    """Text as UTF-8: its beginning up to a limit, on disk if there is much of it, and always its end.

    A disk that takes no more stops nothing: `disk_error` says why, and only the end is kept from then on.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.size = 0
        self.disk_error = ""
        self._limit = limit_bytes
        self._memory = bytearray()  # the beginning, until there is a file
        self._file: BinaryIO | None = None
        self._kept = 0
        self._tail = bytearray()

    @property
    def tail_start(self) -> int:
        """Return the offset of the first byte from which on everything is in memory."""
        return self.size - len(self._tail)

    def write(self, text: str) -> None:
        """Append text; what goes beyond the limit is kept in the tail only."""
        data = text.encode("utf-8", "replace")
        room = self._limit - self._kept
        if room > 0:
            self._keep(data[:room])
        self.size += len(data)
        self._tail += data[-_TAIL:]
        if len(self._tail) > 2 * _TAIL:
            del self._tail[:-_TAIL]

    def _keep(self, data: bytes) -> None:
        try:
            if self._file is None and len(self._memory) + len(data) > _IN_MEMORY:
                self._move_to_disk()
            if self._file is None:
                self._memory += data
            else:
                _write_all(self._file, data)
        except OSError as error:
            self.disk_error = f"the temporary folder takes no more ({error.strerror})"
            _trace.warning("output is not kept on disk any more", error=error, kept=self._kept)
            self._limit = self._kept
            return
        self._kept += len(data)

    def _move_to_disk(self) -> None:
        """Write what is in memory to a file. If that fails, it stays in memory."""
        file = cast("BinaryIO", tempfile.TemporaryFile(buffering=0))  # noqa: SIM115 - closed with the command
        try:
            _write_all(file, self._memory)
        except OSError:
            file.close()
            raise
        self._file, self._memory = file, bytearray()

    def find_kept(self, offset: int) -> int:
        """Return the offset, or if its byte is not kept, that of the next one that is."""
        return self.tail_start if self._kept <= offset < self.tail_start else offset

    def read_kept(self) -> tuple[bytes, int]:
        """Return the kept bytes from the beginning on, and how many bytes after them are not kept."""
        return self.read(0, self._kept), self.size - self._kept

    def read_ends(self, limit: int) -> tuple[bytes, bytes]:
        """Return everything and nothing if it is at most `limit` bytes; else a head and a tail of so many."""
        if self.size <= limit:
            return (self.read(0, self._kept) if self._kept == self.size else bytes(self._tail)), b""
        head = limit // 2
        return self.read(0, head), bytes(self._tail[len(self._tail) - (limit - head) :])

    def read(self, start: int, size: int) -> bytes:
        """Return bytes from an offset on: from the beginning that is kept, or from the tail."""
        if start >= self._kept and start >= self.tail_start:
            at = start - self.tail_start
            return bytes(self._tail[at : at + size])
        size = min(size, self._kept - start)
        if self._file is None:
            return bytes(self._memory[start : start + size])
        return _read_at(self._file, start, size)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _write_all(file: BinaryIO, data: bytes | bytearray) -> None:
    """Write all bytes: an unbuffered file may take a part of them."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _read_at(file: BinaryIO, start: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(file.fileno(), size, start)):
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return b"".join(parts)


@record
class OutputPart:
    """A part of a command's output. `is_cut`: something is left out. `note` says what cannot be had."""

    text: str
    is_cut: bool = False
    note: str = ""


@record
class NewOutput:
    """Output from the offset `begin` on. So many bytes of it are settled: they will not change any more.

    `is_redrawn`: the others are lines that the command moves in. `has_more`: the limit has cut it.
    """

    begin: int
    data: bytes
    settled_bytes: int
    is_redrawn: bool
    has_more: bool


class CommandOutput:
    """The output of one command, while it runs and afterwards."""

    def __init__(
        self, shape: ScreenShape = ANY_SHAPE, limit_bytes: int = 0, *, keeps_colours: bool = False
    ) -> None:
        self._shape, self._limit_bytes, self.keeps_colours = shape, limit_bytes, keeps_colours
        self._renderer: OutputRenderer | None = self._new_renderer()
        self._spool = OutputSpool(limit_bytes)
        self.lost_bytes = 0
        self.lost_reason = ""
        self._skipped = 0  # bytes of text before the first one that is here
        self._is_lost_later = False  # a part is missing that is not the beginning
        self.on_bytes: Callable[[bytes], None] | None = None  # also gets each byte as it comes

    def feed(self, data: bytes) -> None:
        """Add the next bytes that the command printed."""
        if self.on_bytes is not None:
            self.on_bytes(data)
        if self._renderer is not None:
            self._renderer.feed(data)
            self._spool.write(self._renderer.take_settled())

    def note_lost(self, count: int, reason: str) -> None:
        """Note that so many bytes of the output are missing, and why."""
        self.lost_bytes += count
        self.lost_reason = reason
        self._is_lost_later = self._is_lost_later or self.size > 0

    def note_total(self, total: int) -> None:
        """Note how long the whole text was, so that offsets count what is missing at its beginning."""
        if self.lost_bytes and not self._is_lost_later:
            self._skipped = max(0, total - self.size)

    def describe_loss(self) -> str:
        """Return a sentence that says why bytes are missing."""
        return f"A part of the output was not seen: {self.lost_reason}."

    def restart(self) -> None:
        """Discard the output so far: it was printed by another command."""
        self._spool.close()
        self._renderer, self._spool = self._new_renderer(), OutputSpool(self._limit_bytes)

    def _new_renderer(self) -> OutputRenderer:
        return OutputRenderer(self._shape, keeps_colours=self.keeps_colours)

    def finish(self) -> None:
        """Settle the last lines; no more output follows."""
        if self._renderer is not None:
            self._spool.write(self._renderer.finish())
            self._renderer = None

    @property
    def _open(self) -> bytes:
        return self._renderer.open_text().encode("utf-8", "replace") if self._renderer is not None else b""

    @property
    def size(self) -> int:
        """Return the length of the text, with what is known to be missing at its beginning."""
        return self._skipped + self._spool.size + len(self._open)

    @property
    def disk_error(self) -> str:
        """Return why a part of the output could not be kept; empty if all was."""
        return self._spool.disk_error

    def excerpt(self, limit: int, hide: HideSecrets | None = None) -> tuple[str, bool]:
        """Return the text, or its head and tail with a note between them; and whether it was cut."""
        still_open, size = self._open, self.size - self._skipped
        if size <= limit:
            return _decode(self._spool.read_ends(limit)[0] + still_open, hide), self._skipped > 0
        head, tail = self._spool.read_ends(min(limit, self._spool.size))
        everything = (tail or head) + still_open
        half = limit // 2
        first = _whole_characters((head + still_open)[:half], at_end=True)
        last = _whole_characters(everything[len(everything) - (limit - half) :], at_end=False)
        left_out = size - len(first) - len(last)
        note = f"\n[… {left_out} bytes left out …]\n"
        if hide is None:
            return _decode(first) + note + _decode(last), True
        following = self._slice_here(len(first), _MARGIN).text
        before = self._slice_here(max(0, size - len(last) - _MARGIN), min(_MARGIN, size - len(last))).text
        return hide("", _decode(first), following) + note + hide(before, _decode(last), ""), True

    def full_text(self, hide: HideSecrets | None = None) -> tuple[str, bool]:
        """Return all text that is kept, with a note at its end if there was more; and whether there was."""
        kept, beyond = self._spool.read_kept()
        if not beyond:
            return _decode(kept + self._open), False
        note = f"\n[… {beyond + len(self._open)} bytes more were not kept …]\n"
        text = _decode(kept)
        if hide is not None:  # where it is cut; all of it is searched later, in a thread
            text = text[:-_MARGIN] + hide(text[-2 * _MARGIN : -_MARGIN], text[-_MARGIN:], "")
        return text + note, True

    def slice(self, offset: int, limit: int, hide: HideSecrets | None = None) -> OutputPart:
        """Return at most `limit` bytes from an offset on, as whole characters."""
        return self._slice_here(offset - self._skipped, limit, hide)

    def _slice_here(self, offset: int, limit: int, hide: HideSecrets | None = None) -> OutputPart:
        """Return the same; the offset counts from the first byte that is here."""
        still_open, spool = self._open, self._spool
        wanted, note = min(offset, spool.size + len(still_open)), ""
        begin = spool.find_kept(max(0, wanted))
        if begin > wanted:
            gone = f"{self._skipped + wanted} to {self._skipped + begin}"
            note = f"Bytes {gone} were not kept: the output begins at the latter."
        data = spool.read(begin, limit) if begin < spool.size else b""
        if begin + len(data) == spool.size or begin >= spool.size:
            at = max(0, begin - spool.size)
            data += still_open[at : at + limit - len(data)]
        whole = _whole_characters(_whole_characters(data, at_end=False), at_end=True)
        text = _decode(whole)
        if hide is not None:
            room = 0 if note else min(_MARGIN, begin)
            before, following = self._slice_here(begin - room, room), self._slice_here(begin + limit, _MARGIN)
            text = hide(before.text, text, following.text)
        is_cut = self._skipped + offset > 0 or begin + len(data) < spool.size + len(still_open)
        return OutputPart(text, is_cut=is_cut, note=note)

    def read_from(self, offset: int, limit: int) -> NewOutput:
        """Return the output from an offset on: at most `limit` bytes of what is settled, then the rest."""
        spool = self._spool
        wanted = max(0, offset - self._skipped)
        begin = spool.find_kept(wanted if wanted <= spool.size else 0)  # it is less after a restart
        settled = spool.read(begin, min(limit, spool.size - begin)) if begin < spool.size else b""
        has_more = begin + len(settled) < spool.size
        data = settled if has_more else settled + self._open
        is_redrawn = self._renderer is not None and self._renderer.is_redrawn
        return NewOutput(self._skipped + begin, data, len(settled), is_redrawn=is_redrawn, has_more=has_more)

    def close(self) -> None:
        self._renderer = None
        self._spool.close()


def _decode(data: bytes, hide: HideSecrets | None = None) -> str:
    text = data.decode("utf-8", "replace")
    return text if hide is None else hide("", text, "")


def _whole_characters(data: bytes, *, at_end: bool) -> bytes:
    """Return the bytes without the part of a character at the cut."""
    if at_end:
        return data.decode("utf-8", "ignore").encode()
    start = next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), len(data[:4]))
    return data[start:]
