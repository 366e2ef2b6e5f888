"""Menus of real programs: dialog and whiptail are answered in few calls, and nano is left by its keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Shell
from tests.rigs.waiting import LIMIT_S
from tests.tools.test_pagers_and_editors import find_program, leave

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG_MS = round(1000 * LIMIT_S)
ITEMS = " ".join(f"tag{number:02} entry{number:02}" for number in range(1, 21))
QUIET = "quiet:500"


@pytest.mark.parametrize("program", ["dialog", "whiptail"])
async def test_the_fifteenth_item_is_chosen_in_two_calls_after_the_menu_is_there(
    rig: Rig, pane: Shell, program: str
) -> None:
    find_program(program)
    made = await pane()
    typed = f"{program} --menu Pick 30 60 20 {ITEMS}; echo"
    opened = await rig.call(
        "send-keys", paneId=made.pane, keys=typed, enter=True, until="pattern:entry20", timeoutMs=LONG_MS
    )
    assert any("entry01" in text or "tag01" in text for text in opened["highlighted"]), opened
    walked = await rig.call(
        *("send-keys",),
        paneId=made.pane,
        keys="Down",
        literal=False,
        repeat=14,
        until=QUIET,
        timeoutMs=LONG_MS,
    )
    assert any("entry15" in text or "tag15" in text for text in walked["highlighted"]), walked
    assert "entry15" in walked["changed"]
    assert "entry10" not in walked["changed"]  # only the rows that differ
    chosen = await rig.call(
        "send-keys", paneId=made.pane, keys="Enter", literal=False, until="prompt", timeoutMs=LONG_MS
    )
    assert "tag15" in chosen["changed"]
    assert chosen["waitingFor"] == "shell"


@pytest.mark.parametrize("program", ["dialog", "whiptail"])
async def test_a_command_that_opens_a_menu_is_told_with_its_screen(
    rig: Rig, pane: Shell, program: str
) -> None:
    find_program(program)
    made = await pane()
    command = f"{program} --yesno 'Remove everything?' 10 40"
    asked = await rig.call("execute-command", paneId=made.pane, command=command, timeoutSeconds=LIMIT_S)
    assert (asked["status"], asked["waitingFor"]) == ("running", "key")
    assert "Remove everything?" in asked["screen"]
    answered = await rig.call(
        "send-keys", paneId=made.pane, keys="Tab Enter", literal=False, until="prompt", timeoutMs=LONG_MS
    )
    assert answered["event"] == "prompt"
    ended = await rig.call("get-command-result", commandId=asked["commandId"], waitMs=LONG_MS)
    assert (ended["status"], ended["exitCode"]) == ("failed", 1)


# A full screen whose last text looks like a question, read key by key; `%s` is what happens to the cursor.
FORM = r"""stty raw -echo
printf '\033[?1049h\033[2J\033[HPick one\033[3;1HSort by:%s'
dd bs=1 count=1 2>/dev/null
printf '\033[?1049l\033[?25h'
stty sane
"""


@pytest.mark.parametrize(("cursor", "kind"), [("", "line"), (r"\033[?25l", "key")])
async def test_a_full_screen_program_takes_a_line_only_where_it_shows_the_cursor(
    rig: Rig, pane: Shell, tmp_path: Path, cursor: str, kind: str
) -> None:
    made = await pane()
    form = tmp_path / "form"
    form.write_text(FORM % cursor)
    asked = await rig.call("execute-command", paneId=made.pane, command=f"sh {form}", timeoutSeconds=LIMIT_S)
    assert (asked["status"], asked["waitingFor"]) == ("running", kind)
    assert asked["screen"] == "Pick one\nSort by:"
    seen = await rig.call("send-keys", paneId=made.pane, keys="", until="quiet:100", timeoutMs=300)
    assert seen["waitingFor"] == kind
    await rig.call("send-keys", paneId=made.pane, keys="x", until="prompt", timeoutMs=LONG_MS)


async def test_nano_is_told_by_name_and_left_by_its_keys(rig: Rig, pane: Shell, tmp_path: Path) -> None:
    find_program("nano")
    made = await pane()
    command = f"nano {tmp_path}/file"
    answer = await rig.call("execute-command", paneId=made.pane, command=command, timeoutSeconds=LIMIT_S)
    assert answer["waitingFor"] == "editor"
    assert answer["reason"] == "The editor nano is in front. Leave it with C-x."
    await leave(rig, made.pane, "C-x")
