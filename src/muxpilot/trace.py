"""Logging with context: each line says which server, pane and command it is about.

A logger belongs to an area (`tmux`, `shells`, `watch` …) and carries fields that every line repeats:

    trace = area("shells").child(server="default", pane="%3")
    trace.debug("phase changed", before="prompt", after="typed")
    # muxpilot 12:00:01.123 debug shells: phase changed server=default pane=%3 before=prompt after=typed

Never log text that a caller typed, an answer's text or the value of a secret: log ids, lengths and verdicts.
The module helps where it can: an exception is logged by its type and place, because its text may quote what
a caller sent, and so is a record of a library's logger.
"""

from __future__ import annotations

import logging
import os
import re
import select
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TextIO

from muxpilot.errors import BadInput

ROOT = "muxpilot"
DEFAULT_LEVEL = "warning"
LEVELS = {"warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
AREAS = (
    "tmux",
    "processes",
    "journal",
    "jobs",
    "shells",
    "repl",
    "watch",
    "reading",
    "workspace",
    "people",
    "record",
    "policy",
    "audit",
    "calls",
    "server",
    "view",
    "cli",
)

_LONGEST_VALUE = 200
_PLAIN = re.compile(r"[\w.,:;/%$@#+*=()<>\[\]{}?!&|~^-]+", re.ASCII)

# The interpreter writes the text of these, and it names types, never a value.
_TEXT_IS_SAFE = (AttributeError, NameError, TypeError, IndexError, ZeroDivisionError, RuntimeError)
# A pipe that `poll` calls writable takes this much without blocking (PIPE_BUF).
_PIPE_BUF = 4096
# A reader that has stopped reading stderr costs us at most this long for each line that matters.
_PATIENCE_MS = 100

_OFF: AbstractContextManager[None] = nullcontext()


class Trace:
    """A logger of one area with fields that each of its lines repeats."""

    __slots__ = ("_context", "_fields", "_log", "_parent")

    def __init__(
        self, log: logging.Logger, parent: Trace | None = None, fields: dict[str, object] | None = None
    ) -> None:
        self._log = log
        self._parent = parent
        self._fields = fields or {}
        self._context: str | None = None  # the fields as text, once a line needed it

    def child(self, **fields: object) -> Trace:
        """Return a logger that adds these fields to every line."""
        return Trace(self._log, self, fields)

    def _format_context(self) -> str:
        if self._context is None:
            outer = self._parent._format_context() if self._parent is not None else ""
            self._context = f"{outer}{_format_fields(self._fields)}"
        return self._context

    @property
    def is_debug(self) -> bool:
        """Return whether debug lines are written. Ask before you compute a costly field."""
        return self._log.isEnabledFor(logging.DEBUG)

    def debug(self, event: str, **fields: object) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        if self._log.isEnabledFor(logging.INFO):
            self._write(logging.INFO, event, fields)

    def warning(self, event: str, *, error: BaseException | None = None, **fields: object) -> None:
        """Log what a person should look at; `error` adds its type and traceback."""
        self._write(logging.WARNING, event, fields, error)

    def error(self, event: str, *, error: BaseException | None = None, **fields: object) -> None:
        """Log a mistake of muxpilot itself; `error` adds its type and traceback."""
        self._write(logging.ERROR, event, fields, error)

    def step(self, event: str, **fields: object) -> AbstractContextManager[None]:
        """Log at debug level how long a step took, and which exception ended it if one did."""
        return self._time_step(event, fields) if self._log.isEnabledFor(logging.DEBUG) else _OFF

    @contextmanager
    def _time_step(self, event: str, fields: dict[str, Any]) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        except BaseException as error:
            failure = {"error": describe_error(error)}
            self._write(logging.DEBUG, f"{event} failed", fields | failure | _elapsed_ms(started))
            raise
        self._write(logging.DEBUG, event, fields | _elapsed_ms(started))

    def _write(
        self, level: int, event: str, fields: dict[str, Any], error: BaseException | None = None
    ) -> None:
        line = f"{event}{self._format_context()}{_format_fields(fields)}"
        self._log.log(level, "%s", line, exc_info=error)


def area(name: str) -> Trace:
    """Return the logger of an area of the program, one of `AREAS`."""
    return Trace(logging.getLogger(f"{ROOT}.{name}"))


def describe_error(error: BaseException) -> str:
    """Return an exception's type without its text, which may quote what a caller sent."""
    code = getattr(error, "code", None)
    return f"{type(error).__name__}({code})" if isinstance(code, str) else type(error).__name__


def parse_level(setting: str) -> tuple[int, tuple[str, ...]]:
    """Return the level and the areas that it is limited to; none means all."""
    word, colon, rest = setting.partition(":")
    areas = tuple(name.strip() for name in rest.split(",") if name.strip())
    if word not in LEVELS:
        raise BadInput(
            f"{setting[:60]!r} is not a log level.",
            f"Use one of: {', '.join(LEVELS)}; or limit it to areas, as in debug:shells,watch.",
        )
    unknown = [name for name in areas if name not in AREAS]
    if unknown or (colon and not areas):
        what = f"{unknown[0][:40]!r} is not an area of the log." if unknown else f"{setting!r} names no area."
        raise BadInput(what, f"Use some of: {', '.join(AREAS)}.")
    return LEVELS[word], areas


def configure(setting: str, **fields: object) -> None:
    """Write log lines to stderr, as `warning`, `info`, `debug` or `debug:shells,watch` says.

    Libraries (uvicorn, asyncio) log warnings and errors only, whatever the setting is. The fields
    end each line of this process, for processes that share a stderr.
    """
    level, areas = parse_level(setting)
    logging.getLogger(ROOT).setLevel(logging.WARNING if areas else level)
    for name in AREAS:
        logging.getLogger(f"{ROOT}.{name}").setLevel(level if name in areas else logging.NOTSET)
    root = logging.getLogger()  # of all loggers, those of libraries too
    root.handlers[:] = [each for each in root.handlers if not isinstance(each, _StderrHandler)]
    root.addHandler(_StderrHandler(sys.stderr, _format_fields(fields)))
    root.setLevel(logging.WARNING)


class _StderrHandler(logging.Handler):
    """Writes lines to stderr without ever blocking: a client that does not read them must not stop us.

    Lines that do not fit are dropped, and counted in the next line that does.
    """

    def __init__(self, stream: TextIO | None, context: str = "") -> None:
        super().__init__()
        self.setFormatter(_LineFormatter(context))
        self._stream = stream
        self._dropped = 0
        self._descriptor, self._poll = _open_poll(stream)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line, and its traceback below it."""
        try:
            self._write(self.format(record), record.levelno)
        except (OSError, ValueError):
            self._dropped += 1  # stderr is closed

    def _write(self, text: str, level: int) -> None:
        first, newline, rest = text.partition("\n")
        if self._dropped:
            text = f"{first} dropped={self._dropped}{newline}{rest}"
        if self._descriptor is None:
            if self._stream is not None:
                self._stream.write(f"{text}\n")
                self._stream.flush()
            return
        data = f"{text}\n".encode("utf-8", "backslashreplace")
        for start in range(0, len(data), _PIPE_BUF):
            if not self._poll.poll(0 if level < logging.WARNING else _PATIENCE_MS):
                self._dropped += 1
                return
            os.write(self._descriptor, data[start : start + _PIPE_BUF])
        self._dropped = 0


def _open_poll(stream: TextIO | None) -> tuple[int | None, select.poll]:
    """Return a stream's descriptor, None where it has none, and an object that tells when it takes data."""
    poll = select.poll()
    try:
        descriptor = stream.fileno() if stream is not None else None
    except (OSError, ValueError):
        descriptor = None
    if descriptor is not None:
        poll.register(descriptor, select.POLLOUT)
    return descriptor, poll


class _LineFormatter(logging.Formatter):
    """Formats a record as one line: time, level, area, event and fields; below it a traceback, if any."""

    def __init__(self, context: str) -> None:
        super().__init__()
        self._context = context

    def format(self, record: logging.LogRecord) -> str:
        """Return a record's line. A library's message may quote a payload, so it is left out."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        is_ours = record.name == ROOT or record.name.startswith(f"{ROOT}.")
        message = record.getMessage() if is_ours else _describe_library_record(record)
        start = f"muxpilot {clock}.{int(record.msecs):03} {record.levelname.lower()}"
        line = f"{start} {record.name.removeprefix(f'{ROOT}.')}: {message}{self._context}"
        error = record.exc_info[1] if record.exc_info else None
        return line if error is None else f"{line}\n{_format_traceback(error)}"


def _describe_library_record(record: logging.LogRecord) -> str:
    """Return where a library logged, with its message's template if the values are apart from it."""
    place = f"{record.module}:{record.lineno}"
    if record.args or record.name == "asyncio":  # asyncio puts objects below a first line that is constant
        return f"{str(record.msg).splitlines()[0]!a} place={_format_value(place)}"
    return f"message withheld place={_format_value(place)}"


def _format_traceback(error: BaseException) -> str:
    """Return the frames of an exception and of its causes, with their types but without their texts."""
    parts: list[str] = []
    known: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in known:
        known.add(id(at))
        parts.insert(0, _format_one(at))
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "\n  -- then --\n".join(parts)


def _format_one(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    text = f": {str(error)[:_LONGEST_VALUE]!a}" if isinstance(error, _TEXT_IS_SAFE) else ""
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return "\n".join([f"{frames}  {describe_error(error)}{text}", *map(_format_traceback, inner)])


def _elapsed_ms(started: float) -> dict[str, str]:
    return {"ms": f"{(time.perf_counter() - started) * 1000:.1f}"}


def _format_fields(fields: dict[str, Any]) -> str:
    return "".join(f" {name}={_format_value(value)}" for name, value in fields.items())


def _format_value(value: object) -> str:
    """Quote what could be taken for another field, another line or a terminal's escape sequence."""
    text = str(value)
    if len(text) > _LONGEST_VALUE:
        text = f"{text[:_LONGEST_VALUE]}…"
    return text if _PLAIN.fullmatch(text) else ascii(text)
