"""The log: its format, its levels and areas, and that no text of a caller can forge or leak into it."""

from __future__ import annotations

import ast
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot import trace
from muxpilot.errors import BadInput
from tests.contract.source import SOURCE, tree

HOSTILE = (
    "a b",
    "a\nmuxpilot 00:00:00.000 error calls: forged",
    "\x1b]0;title\x07",
    "\u202eabc",
    "é",
    "",
    "\r",
)
LINE = re.compile(r"muxpilot \d\d:\d\d:\d\d\.\d{3} (debug|info|warning|error) [\w.]+: .+")


class NoText:
    """A value that must not be formatted."""

    def __str__(self) -> str:
        raise AssertionError("a field was formatted while its level is off")


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[list[str]]:
    """Return the lines on stderr each time it is iterated; restore the loggers at the end."""
    written: list[str] = []
    root, ours = logging.getLogger(), logging.getLogger(trace.ROOT)
    before = (root.handlers[:], root.level, ours.level)

    class Lines(list[str]):
        def __iter__(self) -> Iterator[str]:
            written.extend(capsys.readouterr().err.splitlines())
            return iter(written)

    yield Lines()
    root.handlers[:], root_level, our_level = before
    root.setLevel(root_level)
    ours.setLevel(our_level)
    for name in trace.AREAS:
        logging.getLogger(f"{trace.ROOT}.{name}").setLevel(logging.NOTSET)


def texts(lines: list[str]) -> list[str]:
    """Return the lines without `muxpilot` and the time."""
    return [line.split(" ", 2)[2] for line in lines]


def test_a_line_has_level_area_event_context_and_fields(lines: list[str]) -> None:
    trace.configure("debug")
    log = trace.area("shells").child(server="default").child(pane="%3")
    log.debug("phase changed", before="prompt", after="typed")
    log.info("connected")
    assert texts(lines) == [
        "debug shells: phase changed server=default pane=%3 before=prompt after=typed",
        "info shells: connected server=default pane=%3",
    ]
    assert all(LINE.fullmatch(line) for line in lines)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_cannot_forge_a_line_a_field_or_an_escape(lines: list[str], text: str) -> None:
    trace.configure("debug")
    trace.area("tmux").child(pane=text).debug("seen", value=text)
    (line,) = lines
    assert line.isascii()
    assert line.isprintable()
    assert LINE.fullmatch(line)
    assert line.endswith(f"debug tmux: seen pane={text!a} value={text!a}")


def test_a_long_value_is_cut(lines: list[str]) -> None:
    trace.configure("debug")
    trace.area("tmux").debug("seen", value="x" * 10_000)
    assert [len(line) < 300 for line in lines] == [True]


def test_the_default_shows_warnings_only(lines: list[str]) -> None:
    trace.configure(trace.DEFAULT_LEVEL)
    log = trace.area("watch")
    log.debug("no")
    log.info("no")
    log.warning("look here", lost=3)
    assert texts(lines) == ["warning watch: look here lost=3"]
    assert not log.is_debug


def test_a_level_can_be_limited_to_areas(lines: list[str]) -> None:
    trace.configure("debug:shells,watch")
    for name in trace.AREAS:
        trace.area(name).debug("seen")
        trace.area(name).warning("warned")
    assert [text for text in texts(lines) if text.startswith("debug")] == [
        "debug shells: seen",
        "debug watch: seen",
    ]
    assert len(texts(lines)) == len(trace.AREAS) + 2


def test_configuring_again_replaces_the_level_and_writes_each_line_once(lines: list[str]) -> None:
    trace.configure("debug:shells")
    trace.configure("info")
    trace.area("shells").debug("no")
    trace.area("tmux").info("once")
    logging.getLogger("mcp").warning("from a library: %s", 1)
    assert texts(lines)[0] == "info tmux: once"
    assert len(texts(lines)) == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("loud", "'loud' is not a log level. Use one of: warning, info, debug;"),
        ("DEBUG", "'DEBUG' is not a log level."),
        ("", "'' is not a log level."),
        ("debug:", "'debug:' names no area. Use some of: tmux, processes, journal, jobs, shells,"),
        (
            "debug:shell",
            "'shell' is not an area of the log. Use some of: tmux, processes, journal, jobs, shells,",
        ),
        ("debug:shells,,nope", "'nope' is not an area of the log."),
    ],
)
def test_a_bad_level_is_refused_with_what_is_allowed(setting: str, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        trace.parse_level(setting)
    assert str(refused.value).startswith(words)


def test_nothing_is_formatted_while_a_level_is_off(lines: list[str]) -> None:
    trace.configure("warning")
    log = trace.area("calls")
    log.debug("off", value=NoText())
    log.info("off", value=NoText())
    with log.step("off", value=NoText()):
        pass
    assert log.step("off") is log.step("off")  # no object is made
    assert list(lines) == []


def test_a_step_says_how_long_it_took(lines: list[str]) -> None:
    trace.configure("debug")
    with trace.area("tmux").step("request", verb="list-panes"):
        pass
    (text,) = texts(lines)
    assert re.fullmatch(r"debug tmux: request verb=list-panes ms=\d+\.\d", text)


def test_a_step_that_fails_names_the_error_and_not_its_text(lines: list[str]) -> None:
    trace.configure("debug")
    log = trace.area("tmux")
    with pytest.raises(BadInput), log.step("request"):
        raise BadInput("The command 'login hunter2' is refused.")
    with pytest.raises(KeyError), log.step("request"):
        raise KeyError("hunter2")
    first, second = texts(lines)
    assert re.fullmatch(r"debug tmux: request failed error=BadInput\(bad-input\) ms=\d+\.\d", first)
    assert second.startswith("debug tmux: request failed error=KeyError ")


def test_a_traceback_has_places_and_types_and_no_text_that_could_be_a_callers(lines: list[str]) -> None:
    trace.configure("warning")
    secret = "".join(("hun", "ter", "2"))
    try:
        try:
            dict[str, int]()[secret]
        except KeyError:
            raise ExceptionGroup(secret, [ValueError(secret), AttributeError("it has no x")]) from None
    except ExceptionGroup as error:
        trace.area("calls").error("incident", error=error, number="1f")
    log = "\n".join(lines)
    assert "error calls: incident number=1f" in log
    assert "test_trace.py" in log
    assert "ExceptionGroup" in log
    assert "ValueError" in log
    assert "AttributeError: 'it has no x'" in log
    assert secret not in log


def test_a_librarys_message_is_withheld_because_it_may_quote_a_payload(lines: list[str]) -> None:
    trace.configure("debug")
    mcp = logging.getLogger("mcp.server")
    mcp.debug("debug %s", "hunter2")
    mcp.info("info %s", "hunter2")
    mcp.warning("Failed to validate: hunter2")
    mcp.warning("Failed to validate: %s", "hunter2")
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: <Task hunter2>")
    withheld, template, task = texts(lines)
    assert re.fullmatch(r"warning mcp\.server: message withheld place=test_trace:\d+", withheld)
    assert re.fullmatch(r"warning mcp\.server: 'Failed to validate: %s' place=test_trace:\d+", template)
    assert re.fullmatch(r"error asyncio: 'Task exception was never retrieved' place=test_trace:\d+", task)


def test_a_reader_that_does_not_read_stderr_does_not_block_us(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = os.pipe()
    with os.fdopen(near, "rb") as pipe, os.fdopen(far, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        trace.configure("debug")
        log = trace.area("tmux")
        for number in range(5000):
            log.debug("seen", number=number, filler="x" * 100)
        stuck = os.read(pipe.fileno(), 1 << 20)
        log.debug("read again")
        rest = os.read(pipe.fileno(), 1 << 20)
    assert b"number=0 " in stuck
    assert re.search(rb"read again dropped=\d+\n$", rest)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_stderr_that_is_gone_is_no_error(
    lines: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_closed: bool
) -> None:
    stream = (tmp_path / "log").open("w") if is_closed else None
    monkeypatch.setattr(sys, "stderr", stream)
    trace.configure("debug")
    if stream is not None:
        stream.close()
    trace.area("tmux").warning("nobody reads this")


def test_stdout_stays_empty(lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    trace.configure("debug")
    trace.area("tmux").debug("seen")
    logging.getLogger("uvicorn").error("failed: %s", 1)
    assert capsys.readouterr().out == ""


def test_every_area_in_the_source_is_a_known_one() -> None:
    """A logger of an unknown area could not be switched on by `debug:AREA`."""
    used = {
        (str(path.relative_to(SOURCE)), node.args[0].value)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", getattr(node.func, "attr", None)) == "area"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    assert {row for row in used if row[1] not in trace.AREAS} == set()
