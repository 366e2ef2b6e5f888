"""asciicast v2: a line of JSON that says how large the screen is, then one for each thing that happened."""

from __future__ import annotations

import codecs
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muxpilot.errors import BadInput

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class CastFile:
    """One that is being written; whoever reads it meanwhile sees whole lines."""

    def __init__(self, path: Path, columns: int, rows: int) -> None:
        try:
            self._file = os.fdopen(os.open(path, _NEW, 0o600), "w", encoding="utf-8", newline="\n")
        except FileExistsError:
            raise BadInput(f"The file {str(path)!r} is already there.", "Use another name.") from None
        except OSError as error:
            raise BadInput(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None
        self.path = path
        self.bytes = 0
        self._began = time.monotonic()
        self._ended: float | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        head = {"version": 2, "width": columns, "height": rows, "timestamp": int(time.time())}
        self._line({**head, "env": {"TERM": "tmux-256color"}})

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


@dataclass(frozen=True, slots=True)
class Event:
    seconds: float
    kind: str
    text: str


def events(path: Path) -> Iterator[Event]:
    """What a file holds; one that is no recording is said to be none, and where."""
    try:
        with path.open(encoding="utf-8") as file:
            head = _json(file.readline(), path, 1)
            if not isinstance(head, dict) or head.get("version") != 2:
                raise _no_cast(path, 1)
            for number, line in enumerate(file, 2):
                if line.strip():
                    yield _event(_json(line, path, number), path, number)
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"The recording {str(path)!r} cannot be read: {words}.") from None


def _json(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise _no_cast(path, number) from None


def _event(value: Any, path: Path, number: int) -> Event:
    if isinstance(value, list) and len(value) == 3:
        seconds, kind, text = value
        is_time = isinstance(seconds, int | float) and math.isfinite(seconds) and seconds >= 0
        if is_time and isinstance(kind, str) and isinstance(text, str):
            return Event(seconds, kind, text)
    raise _no_cast(path, number)


def _no_cast(path: Path, line: int) -> BadInput:
    return BadInput(f"{str(path)!r} is no asciicast v2 file: see its line {line}.", "record-pane makes them.")
