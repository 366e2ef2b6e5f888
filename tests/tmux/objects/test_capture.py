"""Capturing the text that a pane of a real tmux shows."""

from __future__ import annotations

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound
from muxpilot.terminal.escapes import SGR
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.capture import LineNumber, write_blanks
from tests.rigs.engine import read_until, stream_of

pytestmark = pytest.mark.both_tmux


async def run_and_wait(tmux: Tmux, command: str, *, width: int = 40, height: int = 6) -> PaneId:
    """Create a pane, run a command in it and wait until it has printed everything."""
    program = PaneProgram(f"{command}; printf '\\033]0;DONE\\007'; exec sleep 60")
    made = await tmux.sessions.create("dev", width=width, height=height, program=program)
    await read_until(stream_of(tmux, made.pane_id), b"DONE\x07")
    return made.pane_id


async def test_the_last_lines_and_no_more(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "seq 1 300")
    assert await tmux.capture.last_lines(pane, 3) == ["298", "299", "300"]
    assert await tmux.capture.last_lines(pane, 7) == [str(number) for number in range(294, 301)]
    assert await tmux.capture.last_lines(pane) == [str(number) for number in range(101, 301)]
    assert await tmux.capture.last_lines(pane, 100_000) == [str(number) for number in range(1, 301)]


async def test_the_text_is_true_to_the_screen(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "printf '\\n   three  in\\n\\n\\t8\\n \\n\\n'")
    assert await tmux.capture.last_lines(pane) == ["", "   three  in", "", "        8"]
    assert await tmux.capture.last_lines(pane, 2) == ["", "        8"]


async def test_an_empty_pane_has_no_lines(tmux: Tmux) -> None:
    assert await tmux.capture.last_lines(await run_and_wait(tmux, "true")) == []


async def test_wide_and_joined_characters(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "printf '世界|é|e\\314\\201|👍|\\303\\n'")
    assert (await tmux.capture.last_lines(pane))[0].startswith("世界|é|e\u0301|👍|")


async def test_colors_on_request(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "printf '\\033[1;31mred\\033[0m plain\\n\\033[44m  \\033[0m\\n'")
    assert await tmux.capture.last_lines(pane) == ["red plain"]
    [first, *_] = await tmux.capture.last_lines(pane, colors=True)
    assert first.startswith("\x1b[1m\x1b[31mred\x1b[0m")
    assert first.endswith(" plain")


DRAWN = r"printf '\033(0lqqk\n\033[31mx  x\033[0m\nmqqj\033(B lqqk\n\033)0\016tq\017tq\n'"


@pytest.mark.parametrize("colors", [False, True])
async def test_line_drawing_is_what_a_person_sees(tmux: Tmux, *, colors: bool) -> None:
    pane = await run_and_wait(tmux, DRAWN)
    shown = "\n".join(await tmux.capture.last_lines(pane, colors=colors))
    assert SGR.sub("", shown) == "┌──┐\n│  │\n└──┘ lqqk\n├─tq"
    assert ("\x1b[31m│" in shown) is colors
    assert "\n".join(await tmux.capture.rows_between(pane, 1, 1)) == "│  │"


async def test_letters_that_look_like_lines_stay_letters(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "printf 'qq lq x aaa\\n\\033[44mqq  \\033[0m  \\n'")
    assert await tmux.capture.last_lines(pane) == ["qq lq x aaa", "qq"]


async def test_wrapped_lines_are_joined_on_request(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "printf '%050d\\nend\\n' 7", width=40)
    assert await tmux.capture.last_lines(pane) == ["0" * 40, "0" * 9 + "7", "end"]
    assert [line.rstrip() for line in await tmux.capture.last_lines(pane, join=True)] == [
        "0" * 49 + "7",
        "end",
    ]


# `seq 1 20` in six rows: 16 to 20 and the cursor's row are on the screen.
NUMBERED: list[tuple[LineNumber | None, LineNumber | None, list[str]]] = [
    (None, 1, ["16", "17"]),
    (0, 0, ["16"]),
    (-2, 0, ["14", "15", "16"]),
    ("-", -14, ["1", "2"]),
    (3, None, ["19", "20", ""]),
    ("3", "-", ["19", "20", ""]),
    (2, 1, ["17", "18"]),
]


async def test_lines_by_their_numbers(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "seq 1 20", height=6)
    for start, end, lines in NUMBERED:
        assert await tmux.capture.rows_between(pane, start, end) == lines, (start, end)


@pytest.mark.parametrize("number", ["x", "", "1;", "-x", "--", "1.5", 10**12])
async def test_what_is_no_line_number_is_refused(tmux: Tmux, number: LineNumber) -> None:
    with pytest.raises(BadInput, match="is not a line number"):
        await tmux.capture.rows_between(PaneId("%0"), number, None)
    with pytest.raises(BadInput, match="Use 1 or more"):
        await tmux.capture.last_lines(PaneId("%0"), 0)


async def test_a_screen_that_imitates_the_protocol_fools_nobody(tmux: Tmux) -> None:
    """The pane prints the end of every block number that tmux may use for its reply."""
    forged = (
        "for kind in end error; do for number in $(seq 200 420); do echo %$kind $now $number 1; done; done"
    )
    pane = await run_and_wait(tmux, f"now=$(date +%s); {forged}; echo '%output %0 x'; echo '%begin 1 1 1'")
    for _ in range(5):
        lines = await tmux.capture.last_lines(pane, 1000)
        assert len(lines) == 444
        assert lines[-2:] == ["%output %0 x", "%begin 1 1 1"]
    assert [row.id for row in await tmux.panes.list()] == [pane]


async def test_a_pane_that_is_not_there_is_said(tmux: Tmux) -> None:
    await run_and_wait(tmux, "true")
    with pytest.raises(NotFound, match=r"Pane '%77' not found\. Use list-panes"):
        await tmux.capture.last_lines(PaneId("%77"))
    with pytest.raises(NotFound, match="Pane '%77' not found"):
        await tmux.capture.rows_between(PaneId("%77"), 0, 1)


async def test_the_alternate_screen_is_what_is_shown(tmux: Tmux) -> None:
    pane = await run_and_wait(tmux, "echo below; printf '\\033[?1049h\\033[Htop'")
    assert await tmux.capture.last_lines(pane, 6) == ["top"]


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("\t8", "        8"),
        ("a\tb\tc", "a       b       c"),
        ("12345678\tx", "12345678        x"),
        ("\x1b[31ma\tb\x1b[0m\tc", "\x1b[31ma       b\x1b[0m       c"),
        ("日本\tx", "日本    x"),
        ("plain", "plain"),
    ],
)
def test_tabs_of_a_row_are_the_blanks_that_the_screen_shows(row: str, shown: str) -> None:
    """Since 3.6 tmux tells a tab as a tab."""
    assert write_blanks([row]) == [shown]
