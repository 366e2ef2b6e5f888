"""Scope `classic`: every example from the README of the original server gets the same answer."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from typing import Any

import pytest

from tests.dialects.conftest import DialectClient, speaking
from tests.rigs.waiting import LIMIT_S, eventually
from tests.rigs.wire import TMUX, Place, environment

# Name, required arguments, and the others with their defaults.
TOOLS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "tmux_list_sessions": ([], {}),
    "tmux_create_session": (["name"], {"command": None, "window_name": None}),
    "tmux_rename_session": (["old_name", "new_name"], {}),
    "tmux_kill": (["target"], {"type": "pane"}),
    "tmux_list_windows": ([], {"session": None}),
    "tmux_create_window": (["session"], {"name": None, "command": None}),
    "tmux_select_window": (["target"], {}),
    "tmux_rename_window": (["target", "new_name"], {}),
    "tmux_list_panes": ([], {"target": None}),
    "tmux_split_window": (["target"], {"horizontal": False, "size": None, "command": None}),
    "tmux_select_pane": (["target"], {}),
    "tmux_resize_pane": (["target"], {"direction": None, "amount": 5, "width": None, "height": None}),
    "tmux_send_keys": (["target", "keys"], {"literal": False}),
    "tmux_read_pane": (["target"], {"line_count": None, "start_line": None}),
}


async def test_it_offers_fourteen_tools_with_their_arguments_and_defaults(classic: DialectClient) -> None:
    listed = {
        tool["name"]: tool["inputSchema"] for tool in (await classic.wire.result("tools/list"))["tools"]
    }
    assert len(listed) == 14
    for name, (required, optional) in TOOLS.items():
        schema = listed[name]
        assert schema.get("required", []) == required
        assert list(schema["properties"]) == [*required, *optional]
        for argument, default in optional.items():
            found = schema["properties"][argument].get("default")
            assert (found, type(found)) == (default, type(default))


async def test_creating_answers_the_ids_of_what_was_made(classic: DialectClient) -> None:
    """Use the numbers of the examples: a new tmux server begins with them."""
    assert await classic.says("tmux_create_session", name="work") == (
        "Session 'work' created. session_id=$0 window_id=@0 pane_id=%0"
    )
    assert await classic.says("tmux_split_window", target="work:0") == "Pane created. pane_id=%2"
    assert await classic.says("tmux_create_window", session="work") == (
        "Window created in session 'work'. window_id=@2 window_index=1 pane_id=%3"
    )
    assert await classic.says("tmux_split_window", target="work:1.0") == "Pane created. pane_id=%4"
    assert await classic.says("tmux_select_pane", target="%3") == "Selected pane '%3'."
    assert await classic.says("tmux_resize_pane", target="%3", direction="right") == "Pane '%3' resized."
    assert await classic.fails("tmux_create_session", name="work") == "Error: duplicate session: work"
    fast = await classic.says("tmux_create_session", name="named", command="cat", window_name="w")
    assert fast.startswith("Session 'named' created. session_id=")
    assert classic.place.tmux("list-windows", "-t", "=named", "-F", "#{window_name}") == "w"


def program(place: Place, name: str) -> str:
    """Make a program of this name that waits."""
    path = place.home / name
    shutil.copy(shutil.which("cat") or "/bin/cat", path)
    return f"exec {path}"


async def test_lists_are_lines_of_cells_with_tabs_between(place: Place) -> None:
    bash, vim, python = (program(place, name) for name in ("bash", "vim", "python"))
    size = ("-x", "80", "-y", "24")
    place.tmux("new-session", "-d", "-s", "work", "-n", "bash", *size, bash)
    place.tmux("split-window", "-d", "-t", "work:0", python)
    place.tmux("new-window", "-d", "-t", "work", "-n", "vim", vim)
    async with speaking(place, "classic") as classic:
        windows = "work\t0\t@0\tbash\t1\t2 panes\t%0\nwork\t1\t@1\tvim\t0\t1 panes\t%2"
        assert await classic.says("tmux_list_windows") == windows
        assert await classic.says("tmux_list_windows", session="work") == windows
        first = "work\t0\t%0\t0\t80x12\t1\tbash\nwork\t0\t%1\t1\t80x11\t0\tpython"
        assert await classic.until(first, "tmux_list_panes", target="work:0") == first
        assert await classic.says("tmux_list_panes", target="@0") == first
        everything = f"{first}\nwork\t1\t%2\t0\t80x24\t1\tvim"
        assert await classic.until(everything, "tmux_list_panes", target="work") == everything
        assert await classic.says("tmux_list_panes") == everything
        assert await classic.says("tmux_list_sessions") == "work\t$0\t2 windows\t0"
        place.tmux("rename-window", "-t", "work:1", "a\tb")
        assert all(
            len(line.split("\t")) == 7 for line in (await classic.says("tmux_list_windows")).split("\n")
        )


async def test_a_window_of_two_sessions_is_listed_in_the_one_that_was_asked_for(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "exec cat")
    place.tmux("new-session", "-d", "-s", "pair", "-t", "work")
    cells = "\t0\t%0\t0\t80x24\t1\tcat"
    async with speaking(place, "classic") as classic:
        both = f"pair{cells}\nwork{cells}"
        assert await classic.until(both, "tmux_list_panes") == both
        for session in ("pair", "work"):
            for target in (session, f"{session}:0", f"{session}:0.0"):
                assert await classic.says("tmux_list_panes", target=target) == f"{session}{cells}"


async def test_a_new_session_is_as_large_as_tmux_makes_it(classic: DialectClient) -> None:
    await classic.says("tmux_create_session", name="work", command=program(classic.place, "bash"))
    row = "work\t0\t%0\t0\t80x24\t1\tbash"
    assert await classic.until("bash", "tmux_list_panes", target="work") == row
    await classic.says("tmux_split_window", target="work", size="20", command="cat")
    await classic.says("tmux_split_window", target="work:0.0", horizontal=True, size="50%", command="cat")
    rows = [line.split("\t") for line in (await classic.says("tmux_list_panes")).splitlines()]
    assert [(cells[2], cells[4]) for cells in rows] == [("%0", "59x11"), ("%3", "59x12"), ("%2", "20x24")]
    assert [cells[5] for cells in rows] == ["0", "1", "0"], "the new pane has the focus"
    await classic.says("tmux_resize_pane", target="%0", height=5)
    assert "\t%0\t0\t59x5\t" in await classic.says("tmux_list_panes")


async def test_what_is_typed_is_read_again(classic: DialectClient) -> None:
    await classic.says("tmux_create_session", name="work", command="cat")
    assert await classic.says("tmux_send_keys", target="work:0.0", keys="one") == "Sent keys to 'work:0.0'."
    await classic.says("tmux_send_keys", target="%0", keys="Enter")
    await classic.until("one\none", "tmux_read_pane", target="%0")
    await classic.says("tmux_send_keys", target="%0", keys="Enter", literal=True)
    assert await classic.until("Enter", "tmux_read_pane", target="%0") == "one\none\nEnter"
    assert await classic.says("tmux_read_pane", target="%0", line_count=2) == "one\nEnter"
    assert await classic.says("tmux_read_pane", target="%0", start_line=1) == "one\nEnter"
    assert await classic.says("tmux_read_pane", target="%0", start_line=0, line_count=1) == "one"


async def test_names_change_focus_moves_and_things_end(classic: DialectClient) -> None:
    await classic.says("tmux_create_session", name="work", command="cat")
    await classic.says("tmux_create_window", session="$0", name="second", command="cat")
    assert classic.place.tmux("display-message", "-p", "-t", "work:", "#{window_name}") == "second"
    assert await classic.says("tmux_select_window", target="work:0") == "Selected window 'work:0'."
    assert classic.place.tmux("display-message", "-p", "-t", "work:", "#{window_index}") == "0"
    assert await classic.says("tmux_rename_window", target="work:second", new_name="new") == (
        "Window 'work:second' renamed to 'new'."
    )
    assert await classic.says("tmux_rename_session", old_name="work", new_name="play") == (
        "Session 'work' renamed to 'play'."
    )
    assert await classic.says("tmux_kill", target="play:new", type="window") == "Killed window 'play:new'."
    await classic.says("tmux_split_window", target="play", command="cat")
    assert await classic.says("tmux_kill", target="play:0.1") == "Killed pane 'play:0.1'."
    assert len((await classic.says("tmux_list_panes")).splitlines()) == 1
    assert await classic.says("tmux_kill", target="play", type="session") == "Killed session 'play'."
    assert (await classic.fails("tmux_list_windows")).startswith("Error: ")


# A call of ours, and what a person would type: both are told the same.
LOST: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("tmux_list_windows", {"session": "nope"}, ("list-windows", "-t", "nope")),
    ("tmux_create_window", {"session": "nope"}, ("new-window", "-t", "nope")),
    ("tmux_create_window", {"session": "$77"}, ("new-window", "-t", "$77")),
    ("tmux_create_window", {"session": "nope:1"}, ("new-window", "-t", "nope:1")),
    ("tmux_list_panes", {"target": "nope"}, ("list-panes", "-t", "nope")),
    ("tmux_list_panes", {"target": "nope:1"}, ("list-panes", "-t", "nope:1")),
    ("tmux_list_panes", {"target": "work:7"}, ("list-panes", "-t", "work:7")),
    ("tmux_split_window", {"target": "nope"}, ("split-window", "-t", "nope")),
    ("tmux_split_window", {"target": "%99"}, ("split-window", "-t", "%99")),
    ("tmux_select_pane", {"target": "%99"}, ("select-pane", "-t", "%99")),
    ("tmux_resize_pane", {"target": "%99", "direction": "up"}, ("resize-pane", "-t", "%99", "-U", "5")),
    ("tmux_send_keys", {"target": "nope", "keys": "x"}, ("send-keys", "-t", "nope", "x")),
    ("tmux_read_pane", {"target": "%77"}, ("capture-pane", "-p", "-t", "%77")),
    ("tmux_rename_session", {"old_name": "nope", "new_name": "x"}, ("rename-session", "-t", "nope", "x")),
    ("tmux_rename_window", {"target": "@99", "new_name": "x"}, ("rename-window", "-t", "@99", "x")),
    ("tmux_select_window", {"target": "work:9"}, ("select-window", "-t", "work:9")),
    ("tmux_kill", {"target": "$99", "type": "session"}, ("kill-session", "-t", "$99")),
    ("tmux_kill", {"target": "work:8", "type": "window"}, ("kill-window", "-t", "work:8")),
    ("tmux_kill", {"target": "work:0.5"}, ("kill-pane", "-t", "work:0.5")),
)

WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "tmux_resize_pane",
        {"target": "work"},
        "Error: direction must be 'up', 'down', 'left', or 'right'.",
    ),
    (
        "tmux_resize_pane",
        {"target": "work", "direction": "in"},
        "Error: direction must be 'up', 'down', 'left', or 'right'.",
    ),
    ("tmux_kill", {"target": "work", "type": "x"}, "Error: type must be 'session', 'window', or 'pane'."),
    ("tmux_select_pane", {}, "Error: The argument 'target' is missing. It is: Pane target "),
    ("tmux_split_window", {"target": "work", "size": "much"}, "Error: size must be a percentage"),
    ("tmux_select_pane", {"target": "wor"}, "Error: can't find pane: wor"),
    ("tmux_select_pane", {"target": "wo*"}, "Error: can't find pane: wo*"),
    ("tmux_select_pane", {"target": ""}, "Error: The argument 'target' must be a pane id"),
    ("tmux_kill", {"target": "{last}"}, "Error: can't find pane: {last}"),
    ("tmux_kill", {"target": "a\nb"}, "Error: can't find pane: a b"),
    ("tmux_kill", {"target": "x" * 100_000}, "Error: can't find pane: xxx"),
)


async def test_failures_are_told_as_tmux_tells_them(classic: DialectClient) -> None:
    """Targets that tmux would guess, such as a part of a name or a pattern, are not found."""
    place = classic.place
    lonely = await classic.fails("tmux_list_sessions")
    assert lonely == f"Error: error connecting to {place.socket} (No such file or directory)"
    await classic.says("tmux_create_session", name="work", command="cat")
    for tool, arguments, typed in LOST:
        argv = [TMUX, "-S", place.socket, *typed]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=environment(place.home), timeout=LIMIT_S
        )
        assert done.returncode == 1
        assert await classic.fails(tool, **arguments) == f"Error: {done.stderr.strip()}", typed
    for tool, arguments, words in WRONG:
        told = await classic.fails(tool, **arguments)
        assert told.startswith(words)
        assert len(told.splitlines()) == 1
        assert len(told) < 300
    assert len((await classic.says("tmux_list_panes")).splitlines()) == 1


async def test_a_server_without_a_session_has_nothing_to_list(place: Place) -> None:
    place.tmux("set-option", "-s", "exit-empty", "off", ";", "new-session", "-d", "-s", "last")
    place.tmux("kill-session", "-t", "last")
    async with speaking(place, "classic") as classic:
        for noun in ("sessions", "windows", "panes"):
            assert await classic.says(f"tmux_list_{noun}") == f"No {noun} found."
        assert await classic.fails("tmux_list_windows", session="work") == "Error: can't find session: work"
        await classic.says("tmux_create_session", name="work")
    place.tmux("kill-server")


async def test_a_pane_whose_program_has_ended_takes_no_keys_and_names_no_tool_of_another_scope(
    place: Place,
) -> None:
    place.tmux("new-session", "-d", "-s", "work", "exec cat")
    place.tmux("set-option", "-p", "-t", "work", "remain-on-exit", "on")
    async with speaking(place, "classic") as classic:
        await classic.says("tmux_send_keys", target="work", keys="C-d")
        dead = ("list-panes", "-t", "work", "-F", "#{pane_dead}")
        await eventually(lambda: asyncio.sleep(0, place.tmux(*dead) == "1"))
        told = await classic.fails("tmux_send_keys", target="work", keys="x")
        assert told == "Error: target pane has exited"


@pytest.mark.parametrize("kind", ["session", "pane"])
async def test_the_policy_judges_a_kill_by_what_it_kills(place: Place, kind: str) -> None:
    config = place.home / "config.toml"
    config.write_text(f'[security.tools]\nmode = "deny"\nitems = ["kill-{kind}"]\n')
    log = place.home / "audit"
    async with speaking(place, "classic", "--config", str(config), "--audit", str(log)) as classic:
        await classic.says("tmux_create_session", name="work", command="cat")
        await classic.says("tmux_split_window", target="work", command="cat")
        denied = await classic.fails("tmux_kill", target="work", type=kind)
        assert denied.startswith(f"Error: kill-{kind} is denied by security.tools")
        other = {"session": "pane", "pane": "session"}[kind]
        assert await classic.says("tmux_kill", target="work", type=other) == f"Killed {other} 'work'."
    told = log.read_text()
    assert f'"tool": "kill-{kind}", "target": "work"' in told
    assert '"tool": "create-session", "name": "work"' in told
