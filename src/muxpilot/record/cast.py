"""asciicast v2: a line of JSON that says how large the screen is, then one for each thing that happened."""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from muxpilot.errors import BadInput
from muxpilot.records import record

_LONGEST_PAUSE_S = 86_400.0
_RESIZED = re.compile(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", re.ASCII)

# Makes a new file of this name, open for writing, or says why it may not or cannot be.
Create = Callable[[str], int]


class CastFile:
    """One that is being written; whoever reads it meanwhile sees whole lines."""

    def __init__(self, path: Path, columns: int, rows: int, create: Create) -> None:
        self._file = os.fdopen(create(str(path)), "w", encoding="utf-8", newline="\n")
        self.path = path
        self.bytes = 0
        self._began = time.monotonic()
        self._ended: float | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        head = {"version": 2, "width": columns, "height": rows, "timestamp": int(time.time())}
        try:
            self._line({**head, "env": {"TERM": "tmux-256color"}})
        except OSError:
            self.close()
            raise

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self._ended is None else self._ended) - self._began

    def output(self, data: bytes) -> None:
        """A character that is not whole yet waits for its rest."""
        text = self._decode(data)
        if text:
            self.event("o", text)

    def event(self, kind: str, text: str) -> None:
        if self._ended is None:
            self._line([round(self.seconds, 6), kind, text])

    def close(self) -> None:
        if self._ended is None:
            self._ended = time.monotonic()
            self._file.close()

    def _line(self, value: object) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
        self._file.write(text)
        self._file.flush()
        self.bytes += len(text.encode())


def first_look(lines: Sequence[str], cursor: tuple[int, int] | None) -> str:
    """What paints a screen as it was when the recording began."""
    text = "\x1b[H\x1b[2J" + "\r\n".join(line.rstrip(" ") for line in lines).rstrip("\r\n") + "\x1b[0m"
    return f"{text}\x1b[{cursor[1] + 1};{cursor[0] + 1}H" if cursor is not None else f"{text}\x1b[?25l"


@record
class Event:
    seconds: float
    kind: str
    text: str


def events(path: Path) -> Iterator[Event]:
    """What a file holds; one that is no recording is said to be none, and where."""
    values = _values(path)
    _size(next(values), path)
    for number, value in enumerate(values, 2):
        if value is not None:
            yield _event(value, path, number)


def played(path: Path, *, speed: float, idle: float) -> Iterator[Event]:
    """The same with the seconds at which each is to be shown: so much faster, and without long pauses."""
    before = at = 0.0
    for event in events(path):
        at += min(max(event.seconds - before, 0.0), idle, _LONGEST_PAUSE_S) / speed
        before = max(event.seconds, before)
        yield Event(at, event.kind, event.text)


def sizes(path: Path) -> Iterator[tuple[int, int]]:
    """Columns and rows: at first, and each time that they changed."""
    yield _size(next(_values(path)), path)
    yield from (size for event in events(path) if (size := resized(event)) is not None)


def resized(event: Event) -> tuple[int, int] | None:
    found = _RESIZED.fullmatch(event.text) if event.kind == "r" else None
    return (int(found[1]), int(found[2])) if found else None


def _values(path: Path) -> Iterator[Any]:
    """The JSON of each line, None for an empty one."""
    try:
        with path.open(encoding="utf-8") as file:
            yield _json(file.readline(), path, 1)
            for number, line in enumerate(file, 2):
                yield _json(line, path, number) if line.strip() else None
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"The recording {str(path)!r} cannot be read: {words}.") from None


def _json(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise _no_cast(path, number) from None


def _size(head: Any, path: Path) -> tuple[int, int]:
    if isinstance(head, dict) and head.get("version") == 2:
        width, height = (head.get(name) for name in ("width", "height"))
        if isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0:
            return width, height
    raise _no_cast(path, 1)


def _event(value: Any, path: Path, number: int) -> Event:
    if isinstance(value, list) and len(value) == 3:
        seconds, kind, text = value
        is_time = isinstance(seconds, int | float) and math.isfinite(seconds) and seconds >= 0
        if is_time and isinstance(kind, str) and isinstance(text, str):
            return Event(seconds, kind, text)
    raise _no_cast(path, number)


def _no_cast(path: Path, line: int) -> BadInput:
    return BadInput(f"{str(path)!r} is no asciicast v2 file: see its line {line}.", "record-pane makes them.")
