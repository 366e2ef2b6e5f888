"""capture-pane and search-panes through MCP; read-pane has its own file."""

from __future__ import annotations

import re
from typing import Any

import pytest

from muxpilot.terminal.cells import parse_screen
from tests.rigs.mcp_client import MadeSession, Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = "seq 1 300; printf END; exec sleep 60"


async def run_and_wait(rig: Rig, pane: Shell, command: str, wanted: str = "END", **more: Any) -> MadeSession:
    made = await pane(command, **more)
    await rig.wait_until_shown(made.pane, wanted)
    return made


@pytest.mark.parametrize("lines", [1, 5, 50, 51, 200, 301, 1000])
async def test_a_capture_holds_at_most_the_last_lines(rig: Rig, pane: Shell, lines: int) -> None:
    made = await run_and_wait(rig, pane, NUMBERS)
    expected = [*map(str, range(1, 301)), "END"][-lines:]
    assert (await rig.text("capture-pane", paneId=made.pane, lines=lines)).split("\n") == expected


async def test_a_capture_has_the_screen_unless_told(rig: Rig, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, NUMBERS)
    screen = [*map(str, range(252, 301)), "END"]
    assert (await rig.text("capture-pane", paneId=made.pane)).split("\n") == screen


FULL_SCREEN = "seq 1 300; printf '\\033[?1049h\\033[H\\033[31mtop\\r\\nmiddle\\r\\nEND'; exec sleep 60"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "top\nmiddle\nEND"),
        ({"lines": 200}, "top\nmiddle\nEND"),
        ({"lines": 2}, "middle\nEND"),
        ({"lines": 200, "join": True}, "top\nmiddle\nEND"),
        ({"lines": 1, "colors": True}, "\x1b[31mEND"),
        ({"start": "-"}, "top\nmiddle\nEND"),
        ({"start": -5, "end": 1}, "top\nmiddle"),
        ({"start": "-", "lines": 1}, "END"),
    ],
)
async def test_of_a_full_screen_program_only_the_screen_is_captured(
    rig: Rig, pane: Shell, arguments: dict[str, Any], expected: str
) -> None:
    made = await run_and_wait(rig, pane, FULL_SCREEN)
    text = await rig.text("capture-pane", paneId=made.pane, **arguments)
    assert (
        re.sub(r"^\x1b\[39m|(\x1b\[(0|39)?m)+$", "", text) == expected
    )  # most versions tell the default colour, too


async def test_a_capture_is_true_to_the_screen(rig: Rig, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, "printf '\\n   indented\\n\\n\\tEND   \\n\\n\\n'; exec sleep 60")
    assert await rig.text("capture-pane", paneId=made.pane) == "\n   indented\n\n        END"


async def test_an_empty_pane_is_an_empty_text(rig: Rig, pane: Shell) -> None:
    made = await pane("exec sleep 60")
    assert await rig.text("capture-pane", paneId=made.pane) == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"start": 0, "end": 1}, ["252", "253"]),
        ({"start": -2, "end": 0}, ["250", "251", "252"]),
        ({"start": "-2", "end": "0"}, ["250", "251", "252"]),
        ({"start": "-", "end": -249}, ["1", "2", "3"]),
        ({"start": 48}, ["300", "END"]),
        ({"start": 48, "lines": 1}, ["END"]),
        ({"start": "-", "lines": 3}, ["299", "300", "END"]),
        ({"start": "-", "end": -249, "lines": 2}, ["2", "3"]),
        ({"end": 0}, ["252"]),
    ],
)
async def test_start_and_end_are_tmuxs_numbers_and_lines_cuts_what_they_give(
    rig: Rig, pane: Shell, arguments: dict[str, Any], expected: list[str]
) -> None:
    made = await run_and_wait(rig, pane, NUMBERS)
    assert (await rig.text("capture-pane", paneId=made.pane, **arguments)).split("\n") == expected


async def test_colours_are_kept_when_asked_for(rig: Rig, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, "printf '\\033[31mred\\033[0m END'; exec sleep 60")
    assert await rig.text("capture-pane", paneId=made.pane) == "red END"
    assert "\x1b[31mred" in await rig.text("capture-pane", paneId=made.pane, colors=True)


async def test_colours_that_were_set_above_the_first_line_are_kept(rig: Rig, pane: Shell) -> None:
    text = "\\033[1;4;31;44mone\\ntwo\\nthree\\033[0m\\033[38;5;9m\\nfour\\nEND"
    made = await run_and_wait(rig, pane, f"printf '{text}'; exec sleep 60")
    for lines in (1, 3, 4):
        colored = await rig.text("capture-pane", paneId=made.pane, lines=lines, colors=True)
        wanted = await rig.text("capture-pane", paneId=made.pane, start=5 - lines, colors=True)
        assert parse_screen(colored.split("\n"), 9, lines) == parse_screen(wanted.split("\n"), 9, lines)


async def test_blank_rows_at_the_end_are_dropped_from_any_capture(rig: Rig, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, "printf 'one\\n\\nEND\\n\\n'; exec sleep 60")
    assert await rig.text("capture-pane", paneId=made.pane, start=0) == "one\n\nEND"
    assert await rig.text("capture-pane", paneId=made.pane, start=0, end=1) == "one"


async def test_joined_lines_are_whole_and_as_many_as_asked_for(rig: Rig, pane: Shell) -> None:
    lines = "for i in $(seq 1 60); do printf '%s-%0390d\\n' $i 0; done; printf END; exec sleep 60"
    made = await run_and_wait(rig, pane, lines, width=40)
    wanted = [*(f"{number}-{0:0390d}" for number in range(1, 61)), "END"]
    for many in (3, 200):
        joined = await rig.text("capture-pane", paneId=made.pane, lines=many, join=True)
        assert [line.rstrip() for line in joined.split("\n")] == wanted[-many:]


async def test_wrapped_lines_are_joined_when_asked_for(rig: Rig, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, "printf '%0100d END' 0; exec sleep 60", width=40)
    assert len((await rig.text("capture-pane", paneId=made.pane)).split("\n")) == 3
    assert await rig.text("capture-pane", paneId=made.pane, join=True) == "0" * 100 + " END"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"lines": 0}, "lines"),
        ({"lines": -5}, "lines"),
        ({"lines": 10**9}, "lines"),
        ({"start": "top"}, "start"),
        ({"start": ""}, "start"),
        ({"start": True}, "start"),
        ({"end": 1.5}, "end"),
        ({"end": 10**12}, "end"),
        ({"end": "-S"}, "end"),
    ],
)
async def test_a_line_number_that_is_none_is_refused(
    fails: Fails, pane: Shell, arguments: dict[str, Any], name: str
) -> None:
    made = await pane("exec sleep 60")
    assert f"'{name}' must be" in await fails("capture-pane", paneId=made.pane, **arguments)


async def test_matches_are_found_in_whole_scrollbacks_with_their_surroundings(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await run_and_wait(rig, pane, "seq 1 300 | sed s/^/needle-/; printf END; exec sleep 60")
    answer = await call("search-panes", query="needle-100", paneIds=[made.pane])
    assert set(answer) == {"matches", "truncated"}
    [match] = answer["matches"]
    assert match == {
        "paneId": made.pane,
        "line": match["line"],
        "text": "needle-100",
        "before": ["needle-98", "needle-99"],
        "after": ["needle-101", "needle-102"],
    }
    assert answer["truncated"] is False
    line = match["line"]
    assert await rig.text("capture-pane", paneId=made.pane, start=line, end=line) == "needle-100"


async def test_the_first_and_the_last_line_have_what_there_is_around_them(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await run_and_wait(rig, pane, "printf 'first\\nsecond\\nEND'; exec sleep 60", height=3)
    answer = await call("search-panes", query="[fE][iN]", mode="regex", paneIds=[made.pane], contextLines=5)
    first, last = answer["matches"]
    assert (first["line"], first["before"], first["after"][:2]) == (0, [], ["second", "END"])
    assert (last["line"], last["before"]) == (2, ["first", "second"])
    answer = await call("search-panes", query="second", paneIds=[made.pane], contextLines=0)
    assert [(row["before"], row["after"]) for row in answer["matches"]] == [([], [])]


async def test_a_match_is_found_where_the_screen_had_to_wrap_it(rig: Rig, call: Call, pane: Shell) -> None:
    long = "printf 'one\\n%035dneedle%0100d\\nthree\\n' 0 0; exec sleep 60"
    made = await run_and_wait(rig, pane, long, "three", width=40)
    answer = await call("search-panes", query="needle", paneIds=[made.pane])
    [match] = answer["matches"]
    assert match["text"] == f"{0:035d}needle{0:0100d}"
    assert (match["line"], match["before"], match["after"]) == (1, ["one"], ["three"])
    [after] = (await call("search-panes", query="three", paneIds=[made.pane]))["matches"]
    assert (after["line"], after["after"]) == (5, [])


async def test_of_a_line_that_fills_screens_only_the_row_is_told(rig: Rig, call: Call, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, "printf '%09000dneedle%09000dEND' 0 0; exec sleep 60", width=100)
    answer = await call("search-panes", query="needle", paneIds=[made.pane], contextLines=1)
    [match] = answer["matches"]
    assert (match["text"], len(match["before"][0])) == ("needle" + "0" * 94, 100)
    line = match["line"]
    assert await rig.text("capture-pane", paneId=made.pane, start=line, end=line) == match["text"]


@pytest.mark.parametrize(
    ("query", "mode", "found"),
    [
        ("a.c", "literal", ["a.c"]),
        ("a.c", "regex", ["abc", "a.c"]),
        ("^b{2,3}$", "regex", ["bb", "bbb"]),
        ("(?i)ABC", "regex", ["abc"]),
        ("世", "literal", ["世界"]),
        ("-x", "literal", ["-x"]),
        ("#{pane_id}", "literal", []),
    ],
)
async def test_a_query_is_text_or_a_regex(
    rig: Rig, call: Call, pane: Shell, query: str, mode: str, found: list[str]
) -> None:
    made = await run_and_wait(rig, pane, "printf '%s\\n' abc a.c b bb bbb 世界 -x END; exec sleep 60")
    answer = await call("search-panes", query=query, mode=mode, paneIds=[made.pane])
    assert [row["text"] for row in answer["matches"]] == found


async def test_more_matches_than_asked_for_are_said_to_be_there(rig: Rig, call: Call, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, NUMBERS)
    answer = await call("search-panes", query="^[0-9]+$", mode="regex", paneIds=[made.pane], maxMatches=300)
    assert (len(answer["matches"]), answer["truncated"]) == (300, False)
    answer = await call("search-panes", query="^[0-9]+$", mode="regex", paneIds=[made.pane], maxMatches=299)
    assert (len(answer["matches"]), answer["truncated"]) == (299, True)
    answer = await call("search-panes", query="^[0-9]+$", mode="regex", paneIds=[made.pane])
    assert (len(answer["matches"]), answer["truncated"]) == (50, True)


async def test_a_session_or_everything_is_searched(rig: Rig, call: Call, pane: Shell) -> None:
    one = await run_and_wait(rig, pane, "printf 'where-am-i END'; exec sleep 60")
    two = await run_and_wait(rig, pane, "printf 'where-am-i END'; exec sleep 60")
    in_one = await call("search-panes", query="where-am-i", sessionId=one.name)
    assert [row["paneId"] for row in in_one["matches"]] == [one.pane]
    everywhere = await call("search-panes", query="where-am-i")
    assert {one.pane, two.pane} <= {row["paneId"] for row in everywhere["matches"]}
    both = await call("search-panes", query="where-am-i", sessionId=one.name, paneIds=[one.pane, two.pane])
    assert [row["paneId"] for row in both["matches"]] == [one.pane]
    twice = await call("search-panes", query="where-am-i", paneIds=[one.pane, one.pane])
    assert len(twice["matches"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": ""}, "'query' is empty"),
        ({"query": "(", "mode": "regex"}, "'query' is not a regular expression"),
        ({"query": "a(?=b)", "mode": "regex"}, "'query' is not a regular expression"),
        ({"query": "x", "mode": "fuzzy"}, "'mode' must be one of literal, regex"),
        ({"query": "x", "paneIds": "%1"}, "'paneIds' must be a list"),
        ({"query": "x", "paneIds": [5]}, "'paneIds' must be a list, each a string"),
        ({"query": "x", "paneIds": ["%999"]}, "Pane '%999' not found"),
        ({"query": "x", "paneIds": ["%1*"]}, "Pane '%1*' not found"),
        ({"query": "x", "maxMatches": 0}, "'maxMatches' must be from 1 to 10000"),
        ({"query": "x", "contextLines": 101}, "'contextLines' must be from 0 to 100"),
    ],
)
async def test_a_search_that_cannot_be_made_is_refused(
    fails: Fails, arguments: dict[str, Any], words: str
) -> None:
    assert words in await fails("search-panes", **arguments)


async def test_an_evil_pattern_stalls_nobody(rig: Rig, call: Call, pane: Shell) -> None:
    made = await run_and_wait(rig, pane, "printf '%0150d END' 0; exec sleep 60")
    answer = await call("search-panes", query="(0+)+$", mode="regex", paneIds=[made.pane])
    assert answer == {"matches": [], "truncated": False}
