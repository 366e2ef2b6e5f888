"""Act and see: one call types, waits and tells what changed."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.mcp_client import MadeSession, Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.policies import Policy, PolicyPlace

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG_MS = 15_000
MENU_PROGRAM = Path(__file__).parents[2] / "docs" / "examples" / "menu.py"
MENU = f"{shlex.quote(sys.executable)} {shlex.quote(str(MENU_PROGRAM))}"


async def type_line(rig: Rig, made: MadeSession, line: str, until: Any, **more: Any) -> dict[str, Any]:
    """Type a line with Enter, and wait."""
    arguments = {"keys": line, "enter": True, "until": until, "timeoutMs": LONG_MS} | more
    return await rig.call("send-keys", paneId=made.pane, **arguments)


async def press(rig: Rig, made: MadeSession, keys: str, until: Any, **more: Any) -> dict[str, Any]:
    """Press keys by name, and wait."""
    arguments = {"keys": keys, "literal": False, "until": until, "timeoutMs": LONG_MS} | more
    return await rig.call("send-keys", paneId=made.pane, **arguments)


async def test_a_menu_is_walked_to_its_fifteenth_item_and_chosen_in_two_calls(rig: Rig, pane: Shell) -> None:
    made = await pane()
    opened = await type_line(rig, made, MENU, "pattern:on 01 of")
    assert opened["highlighted"] == ["item 01"]
    walked = await press(rig, made, "Down", "pattern:on 15 of", repeat=14)
    assert walked["event"] == "pattern:on 15 of"
    assert walked["highlighted"] == ["item 15"]
    assert walked["alternateScreen"] is True
    assert "22:   on 15 of 20" in walked["changed"]
    chosen = await press(rig, made, "Enter", "prompt")
    assert chosen["event"] == "prompt"
    assert "chose 15" in chosen["changed"]
    assert (chosen["alternateScreen"], chosen["waitingFor"]) == (False, "shell")


async def test_only_the_rows_that_differ_are_told_with_their_numbers(rig: Rig, pane: Shell) -> None:
    made = await pane()
    await type_line(rig, made, MENU, "pattern:on 01 of")
    moved = await rig.call("send-down", paneId=made.pane, until="quiet:300", timeoutMs=LONG_MS)
    assert moved["changed"].splitlines() == ["1:   item 01", "2:   item 02", "22:   on 02 of 20"]
    assert moved["highlighted"] == ["item 02"]
    assert moved["cursor"]["visible"] is False
    assert moved["waitingFor"] == "key"


async def test_the_next_prompt_of_the_shell_ends_the_wait_with_the_new_lines(rig: Rig, pane: Shell) -> None:
    made = await pane()
    answer = await type_line(rig, made, "echo one; echo two", "prompt")
    assert answer["event"] == "prompt"
    assert answer["changed"].splitlines() == ["echo one; echo two", "one", "two", "ready>"]
    assert answer["cursor"] == {"row": 3, "column": 7, "visible": True}
    assert (answer["highlighted"], answer["alternateScreen"], answer["waitingFor"]) == ([], False, "shell")
    assert (answer["paneId"], answer["pane"]) == (made.pane, None)


SHELL_PROGRAMS = {
    "bash": "bash --norc",
    "zsh": "zsh -f",
    "fish": "fish --no-config",
    "dash": "dash",
    "ksh": "ksh",
    "busybox": "busybox sh",
}


@pytest.mark.parametrize("whose", ["ours", "a person's"])
@pytest.mark.parametrize("shell", SHELL_PROGRAMS)
async def test_the_prompt_of_every_shell_ends_the_wait(
    rig: Rig, pane: Shell, name: str, shell: str, whose: str
) -> None:
    """A shell that a person started has no marks."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    command = f"exec {SHELL_PROGRAMS[shell]}"
    made = await pane(command) if whose == "ours" else rig.session_of_a_person(name, command)
    await rig.wait_until_shell_reads(made.pane)
    for number in range(2):
        answer = await type_line(rig, made, f"sleep 0.3; echo {number}a{number}", "prompt")
        assert answer["event"] == "prompt", answer
        lines = answer["changed"].splitlines()
        assert f"{number}a{number}" in [line.strip() for line in lines[:-1]], answer
        assert answer["waitingFor"] == "shell"
    rig.raw("kill-session", "-t", made.session)


async def test_a_prompt_that_stood_there_before_does_not_end_the_wait(rig: Rig, pane: Shell) -> None:
    made = await pane()
    answer = await type_line(rig, made, "sleep 0.5; echo slept", "prompt")
    assert "slept" in answer["changed"].splitlines()


async def test_the_next_prompt_of_a_repl_ends_the_wait(rig: Rig, pane: Shell) -> None:
    made = await pane()
    started = await type_line(rig, made, f"{shlex.quote(sys.executable)} -q", "prompt")
    assert started["changed"].rstrip().endswith(">>>")
    answer = await type_line(rig, made, "import time; time.sleep(0.4); 6 * 7", "prompt")
    assert answer["event"] == "prompt"
    assert "42" in answer["changed"].splitlines()
    assert answer["waitingFor"] == "line"
    left = await press(rig, made, "C-d", "prompt")
    assert left["waitingFor"] == "shell"


async def test_any_trigger_of_a_watch_can_be_waited_for(rig: Rig, pane: Shell) -> None:
    made = await pane()
    asked = await type_line(rig, made, "read -r answer", "user_input")
    assert (asked["event"], asked["waitingFor"]) == ("user_input", "line")
    matched = await type_line(rig, made, "x; echo y", "bell,pattern:^ready>")
    assert matched["event"] == "pattern:^ready>"


async def test_a_wait_that_nothing_ends_says_so_and_tells_what_changed(rig: Rig, pane: Shell) -> None:
    made = await pane()
    answer = await type_line(rig, made, "echo here", "pattern:never printed", timeoutMs=700)
    assert answer["event"] == "timeout"
    assert "here" in answer["changed"].splitlines()


async def test_an_input_that_ends_the_pane_tells_its_last_lines(rig: Rig, pane: Shell) -> None:
    made = await pane()
    answer = await type_line(rig, made, "echo last; exit", "prompt")
    assert answer["event"] == "exit"
    assert "last" in answer["changed"].splitlines()
    assert answer["cursor"] is None
    assert answer["waitingFor"] is None


async def test_a_paste_can_be_watched_too(rig: Rig, pane: Shell) -> None:
    made = await pane()
    answer = await rig.call(
        "paste-text", paneId=made.pane, content="echo pasted", enter=True, until="prompt", timeoutMs=LONG_MS
    )
    assert answer["changed"].splitlines()[-2:] == ["pasted", "ready>"]


async def test_the_whole_screen_is_told_when_a_full_screen_program_starts(rig: Rig, pane: Shell) -> None:
    made = await pane()
    answer = await type_line(rig, made, "printf 'first\\nsecond\\n' | less", "user_input,quiet:3000")
    rows = [row.partition(": ") for row in answer["changed"].splitlines()]
    assert [text for _, _, text in rows[:2]] == ["first", "second"]
    assert int(rows[1][0]) == int(rows[0][0]) + 1
    assert (answer["waitingFor"], answer["alternateScreen"]) == ("pager", True)
    assert answer["reason"] == "The pager less is in front. Leave it with q."
    left = await press(rig, made, "q", "prompt")
    assert (left["waitingFor"], left["alternateScreen"]) == ("shell", False)
    assert "reason" not in left


async def test_without_until_the_answer_is_as_before(call: Call, pane: Shell) -> None:
    made = await pane()
    place = {"paneId": made.pane, "pane": None, "created": False}
    assert await call("send-keys", paneId=made.pane, keys="x") == place
    assert await call("paste-text", paneId=made.pane, content="y") == {**place, "bytes": 1}
    assert await call("send-backspace", paneId=made.pane) == {"paneId": made.pane}


async def test_a_trigger_that_there_is_not_is_refused_by_its_argument_and_nothing_is_typed(
    rig: Rig, fails: Fails, pane: Shell
) -> None:
    made = await pane()
    words = await fails("send-keys", paneId=made.pane, keys="bogus text", until="bogus")
    assert "'bogus' in the argument 'until' is not a trigger" in words
    assert "prompt" in words
    assert "'until'" in await fails("send-keys", paneId=made.pane, keys="bogus text", until="pattern:(")
    assert "'until'" in await fails("send-keys", paneId=made.pane, keys="bogus text", until=",")
    assert "bogus" not in await rig.screen(made.pane)


async def test_a_policy_that_hides_panes_refuses_to_show_what_an_input_did(
    under: Policy, place: PolicyPlace
) -> None:
    async with under("[security]\nallow_capture = false") as it:
        await it.check_denied(
            "security.allow_capture", "send-keys", paneId=place.panes["one"], keys="x", until="change"
        )
        await it.check_denied("security.allow_capture", "read-screen", paneId=place.panes["one"])
        await it.call("send-keys", paneId=place.panes["one"], keys="x")


async def test_prompt_is_no_trigger_of_a_watch(fails: Fails, pane: Shell) -> None:
    made = await pane()
    assert "'prompt' in the argument 'triggers'" in await fails(
        "watch-pane", paneId=made.pane, triggers="prompt"
    )
