"""Logging with context: each line says which server, pane and command it is about.

A logger belongs to an area (`tmux`, `shells`, `watch` …) and carries fields that every line repeats:

    trace = area("shells").child(server="default", pane="%3")
    trace.debug("phase changed", before="prompt", after="typed")
    # muxpilot 12:00:01.123 debug shells server=default pane=%3 phase changed before=prompt after=typed

Never log text that a caller typed, an answer's text or the value of a secret: log ids, lengths and verdicts.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from muxpilot.errors import BadInput

ROOT = "muxpilot"
LEVELS = {"warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
AREAS = (
    "tmux",
    "processes",
    "shells",
    "repl",
    "watch",
    "reading",
    "record",
    "policy",
    "audit",
    "calls",
    "server",
)

_LONGEST_VALUE = 200
_PLAIN = re.compile(r"[\w.,:;/%$@#+*=()<>\[\]{}?!&|~^-]+")


class Trace:
    """A logger of one area with fields that each of its lines repeats."""

    __slots__ = ("_context", "_log")

    def __init__(self, log: logging.Logger, context: str = "") -> None:
        self._log = log
        self._context = context

    def child(self, **fields: object) -> Trace:
        """Return a logger that adds these fields to every line."""
        return Trace(self._log, f"{self._context}{_format_fields(fields)}")

    @property
    def is_debug(self) -> bool:
        """Whether debug lines are written; ask before you compute a costly field."""
        return self._log.isEnabledFor(logging.DEBUG)

    def debug(self, event: str, **fields: object) -> None:
        if self._log.isEnabledFor(logging.DEBUG):
            self._write(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        if self._log.isEnabledFor(logging.INFO):
            self._write(logging.INFO, event, fields)

    def warning(self, event: str, *, error: BaseException | None = None, **fields: object) -> None:
        """Log what a person should look at; `error` adds its traceback."""
        self._write(logging.WARNING, event, fields, error)

    def error(self, event: str, *, error: BaseException | None = None, **fields: object) -> None:
        """Log a mistake of muxpilot itself; `error` adds its traceback."""
        self._write(logging.ERROR, event, fields, error)

    @contextmanager
    def step(self, event: str, **fields: object) -> Iterator[None]:
        """Log at debug level how long a step took, and how it failed if it did."""
        if not self._log.isEnabledFor(logging.DEBUG):
            yield
            return
        started = time.perf_counter()
        try:
            yield
        except BaseException as error:
            self._write(logging.DEBUG, f"{event} failed", fields | _took(started) | {"error": repr(error)})
            raise
        self._write(logging.DEBUG, event, fields | _took(started))

    def _write(
        self, level: int, event: str, fields: dict[str, Any], error: BaseException | None = None
    ) -> None:
        self._log.log(level, "%s%s%s", f"{self._context.lstrip()} " if self._context else "", event,
                      _format_fields(fields), exc_info=error)  # fmt: skip


def area(name: str) -> Trace:
    """Return the logger of an area of the program, one of `AREAS`."""
    return Trace(logging.getLogger(f"{ROOT}.{name}"))


def configure(setting: str) -> None:
    """Write log lines to stderr, as `warning`, `info`, `debug` or `debug:shells,watch` says."""
    level, areas = parse_level(setting)
    root = logging.getLogger(ROOT)
    root.handlers[:] = [_handler()]
    root.propagate = False
    root.setLevel(logging.WARNING if areas else level)
    for name in AREAS:
        logging.getLogger(f"{ROOT}.{name}").setLevel(level if name in areas else logging.NOTSET)


def parse_level(setting: str) -> tuple[int, tuple[str, ...]]:
    """Return the level and the areas that it is limited to; none means all."""
    word, colon, rest = setting.partition(":")
    areas = tuple(name.strip() for name in rest.split(",") if name.strip())
    if word not in LEVELS:
        raise BadInput(f"{setting[:60]!r} is not a log level.", f"Use one of: {', '.join(LEVELS)}.")
    unknown = [name for name in areas if name not in AREAS]
    if unknown or (colon and not areas):
        what = f"{unknown[0][:40]!r} is not an area of the log." if unknown else f"{setting!r} names no area."
        raise BadInput(what, f"Use some of: {', '.join(AREAS)}.")
    return LEVELS[word], areas


def _handler() -> logging.Handler:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    return handler


class _Line(logging.Formatter):
    """One line per event: time, level, area, context, event and fields, then a traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        name = record.name.removeprefix(f"{ROOT}.")
        line = (
            f"muxpilot {clock}.{record.msecs:03.0f} {record.levelname.lower()} {name} {record.getMessage()}"
        )
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


def _took(started: float) -> dict[str, str]:
    return {"ms": f"{(time.perf_counter() - started) * 1000:.1f}"}


def _format_fields(fields: dict[str, Any]) -> str:
    return "".join(f" {name}={_format_value(value)}" for name, value in fields.items())


def _format_value(value: object) -> str:
    """Quote what could be taken for another field, another line or a terminal's escape sequence."""
    text = str(value)
    if len(text) > _LONGEST_VALUE:
        text = f"{text[:_LONGEST_VALUE]}…"
    return text if _PLAIN.fullmatch(text) else ascii(text)
