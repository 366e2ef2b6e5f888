"""The echo of a typed step is removed, whatever editor draws it; the answer stays."""

from __future__ import annotations

import asyncio

import pytest

from muxpilot.repl.exchange import Exchange, StreamListener
from muxpilot.repl.steps import InputMethod, InputStep
from muxpilot.terminal.shape import ScreenShape
from muxpilot.tmux import PaneId, PaneStream

ONE = InputStep("1+1", InputMethod.TYPING, 1, "1+1")
BLOCK = InputStep("def f():\n    1\n", InputMethod.PASTING, 3, "")

# Recorded from readline without and with paste mode, node, and the editor of Python 3.13.
READLINE = b"1+1\r\n2\r\n>>> "
PASTING = b"1+1\r\n\x1b[?2004l\r2\r\n\x1b[?2004hsqlite> "
NODE = (
    b"1+1\r\n\x1b[90m2\x1b[39m\x1b[6G\x1b[1A\x1b[1B\x1b[2K\x1b[1A\r\r\n"  # with the preview of its value
    b"\x1b[33m2\x1b[39m\r\n\x1b[1G\x1b[0J> \x1b[3G"
)
EDITOR = (
    b"\x1b[?25l\x1b[4D\x1b[1;35m>>> \x1b[0m1+1\x1b[7D\x1b[34h\x1b[?25h\x1b[7C\x1b[7D\n\r"
    b"\x1b[?2004l\x1b[?1l\x1b>2\r\n"
    b"\x1b[?2004h\x1b[?1h\x1b=\x1b[?25l\x1b[1A\n\x1b[1;35m>>> \x1b[0m\x1b[4D\x1b[34h\x1b[?25h\x1b[4C"
)


def make_exchange(
    step: InputStep, *, has_paste_mode: bool | None = False, before: str = ">>> ", echoes: bool = True
) -> Exchange:
    return Exchange(step, ScreenShape(80, 50), before=before, has_paste_mode=has_paste_mode, echoes=echoes)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("data", "has_paste_mode", "text"),
    [
        (READLINE, False, "2\n>>> "),
        (READLINE, None, "2\n>>> "),
        (PASTING, True, "2\nsqlite> "),
        (PASTING, None, "2\nsqlite> "),
        (EDITOR, True, "2\n>>> "),
        (EDITOR, None, "2\n>>> "),
    ],
)
def test_the_echo_goes_however_the_bytes_are_split(
    data: bytes, has_paste_mode: bool | None, text: str, size: int
) -> None:
    exchange = make_exchange(ONE, has_paste_mode=has_paste_mode)
    for at in range(0, len(data), size):
        exchange.feed(data[at : at + size])
    exchange.strip_echo()
    assert exchange.text() == text
    exchange.close()


def test_node_s_preview_of_a_value_does_not_hide_the_value() -> None:
    exchange = make_exchange(ONE, before="> ")
    exchange.feed(NODE)
    assert exchange.text().endswith("2\n> ")
    exchange.close()


def test_an_editor_that_printed_nothing_leaves_no_empty_line() -> None:
    exchange = make_exchange(ONE, has_paste_mode=True)
    exchange.feed(EDITOR.replace(b"2\r\n", b""))
    assert exchange.text() == ">>> "
    exchange.close()


def test_a_block_s_echo_has_as_many_lines_as_were_typed() -> None:
    exchange = make_exchange(BLOCK)
    exchange.feed(b"def f():\r\n...     1\r\n... ")
    assert exchange.text() == ""
    exchange.feed(b"\r\n>>> ")
    assert exchange.text() == ">>> "
    exchange.close()


def test_an_edit_that_goes_on_shows_its_last_line() -> None:
    exchange = make_exchange(ONE, has_paste_mode=True)
    exchange.feed(b"\x1b[4D>>> foo(\x1b[8D")
    assert exchange.tail() == ""
    exchange.feed(b"\n\x1b[1;35m... \x1b[0m")
    assert not exchange.is_past_echo
    assert exchange.tail().split("\n")[-1] == "... "
    exchange.close()


def test_where_nothing_is_echoed_all_is_answer() -> None:
    exchange = make_exchange(ONE, echoes=False)
    exchange.feed(b"11\r\n>>> ")
    assert exchange.text() == "11\n>>> "
    exchange.close()


async def test_a_shell_s_marks_tell_its_prompt_from_output() -> None:
    stream = PaneStream(PaneId("%1"))
    stream.feed(b"\x1b]133;D;0;aaaaaaaa\x07old$ ")
    listener = StreamListener(stream, is_whole=True)
    following = asyncio.ensure_future(listener.follow())
    modes = [listener.has_paste_mode]
    exchange = make_exchange(ONE)
    listener.begin(exchange)
    assert listener.shell_prompt_after_exit() is None
    await asyncio.sleep(0)
    stream.feed(b"exit()\r\nbye\r\n\x1b]133;D;3;aaaaaaaa\x07above\r\nbelow$ \x1b[?2004h")
    await listener.wait_for_change(5)
    assert listener.shell_prompt_after_exit() == "above\nbelow$"
    assert [*modes, listener.has_paste_mode] == [False, True]
    exchange.close()
    following.cancel()
    await asyncio.wait([following])
