"""What comes behind a typed step: its echo goes, whatever draws it, and the answer stays."""

from __future__ import annotations

import asyncio

import pytest

from muxpilot.repl.exchange import Listener, Turn
from muxpilot.repl.steps import By, Step
from muxpilot.tmux import PaneId, PaneStream

ONE = Step("1+1", By.TYPING, 1, "1+1")
BLOCK = Step("def f():\n    1\n", By.PASTING, 3, "")

# As it was printed: by readline without and with paste mode, node, the editor of Python 3.13.
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


def turn(step: Step, *, is_pasting: bool | None = False, before: str = ">>> ", echoes: bool = True) -> Turn:
    return Turn(step, 50, before=before, is_pasting=is_pasting, echoes=echoes)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("data", "is_pasting", "text"),
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
    data: bytes, is_pasting: bool | None, text: str, size: int
) -> None:
    spoken = turn(ONE, is_pasting=is_pasting)
    for at in range(0, len(data), size):
        spoken.feed(data[at : at + size])
    spoken.settle()
    assert spoken.text() == text
    spoken.close()


def test_node_s_preview_of_a_value_does_not_hide_the_value() -> None:
    spoken = turn(ONE, before="> ")
    spoken.feed(NODE)
    assert spoken.text().endswith("2\n> ")
    spoken.close()


def test_an_editor_that_printed_nothing_leaves_no_empty_line() -> None:
    spoken = turn(ONE, is_pasting=True)
    spoken.feed(EDITOR.replace(b"2\r\n", b""))
    assert spoken.text() == ">>> "
    spoken.close()


def test_a_block_s_echo_has_as_many_lines_as_were_typed() -> None:
    spoken = turn(BLOCK)
    spoken.feed(b"def f():\r\n...     1\r\n... ")
    assert spoken.text() == ""
    spoken.feed(b"\r\n>>> ")
    assert spoken.text() == ">>> "
    spoken.close()


def test_an_edit_that_goes_on_shows_its_last_line() -> None:
    spoken = turn(ONE, is_pasting=True)
    spoken.feed(b"\x1b[4D>>> foo(\x1b[8D")
    assert spoken.tail() == ""
    spoken.feed(b"\n\x1b[1;35m... \x1b[0m")
    assert not spoken.is_past_echo
    assert spoken.tail().split("\n")[-1] == "... "
    spoken.close()


def test_where_nothing_is_echoed_all_is_answer() -> None:
    spoken = turn(ONE, echoes=False)
    spoken.feed(b"11\r\n>>> ")
    assert spoken.text() == "11\n>>> "
    spoken.close()


async def test_a_shell_s_marks_tell_its_prompt_from_output() -> None:
    stream = PaneStream(PaneId("%1"))
    stream.feed(b"\x1b]133;D;0;aaaaaaaa\x07old$ ")
    listener = Listener(stream, is_whole=True)
    following = asyncio.ensure_future(listener.follow())
    modes = [listener.is_pasting]
    spoken = turn(ONE)
    listener.begin(spoken)
    assert listener.shells_prompt() is None
    await asyncio.sleep(0)
    stream.feed(b"exit()\r\nbye\r\n\x1b]133;D;3;aaaaaaaa\x07above\r\nbelow$ \x1b[?2004h")
    await listener.change(5)
    assert listener.shells_prompt() == "above\nbelow$"
    assert [*modes, listener.is_pasting] == [False, True]
    spoken.close()
    following.cancel()
    await asyncio.wait([following])
