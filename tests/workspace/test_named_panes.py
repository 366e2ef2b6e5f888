"""Named panes: opened by the first command for them, found again by their names."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.muxpilots import call_and_wait, killed_server, one_server
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place, Wire


async def run(wire: Wire, command: str, **arguments: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await wire.call("execute-command", command=command, **arguments)
    return answer


async def refusal(wire: Wire, tool: str, **arguments: Any) -> str:
    answer = await call_and_wait(wire, tool, **arguments)
    assert answer.get("status") == "refused", answer
    return str(answer["reason"])


def windows(place: Place) -> list[str]:
    form = "#{session_name}:#{window_name} #{window_width}x#{window_height} #{session_attached}"
    rows = place.tmux("list-windows", "-a", "-f", "#{?@muxpilot_hub,0,1}", "-F", form)
    return sorted(rows.splitlines())


def keep_dead_panes(place: Place) -> None:
    """Let a person's configuration keep panes whose programs have ended."""
    place.tmux("new-session", "-d", "-s", "keeper", "cat")
    place.tmux("set-option", "-gw", "remain-on-exit", "on")


async def is_dead(place: Place, pane: str) -> bool:
    return place.tmux("display-message", "-p", "-t", pane, "#{pane_dead}") == "1"


async def test_from_nothing_one_call_gives_an_exit_code(place: Place) -> None:
    async with one_server(place, "--scope", "agentic") as wire:
        answer = await run(wire, "echo hello; (exit 7)")
    assert (answer["exitCode"], answer["output"], answer["pane"]) == (7, "hello\n", "main")
    assert answer["created"] is True
    assert windows(place) == ["agent-home:main 200x50 0"]


async def test_after_a_kill_the_next_muxpilot_uses_the_same_shell(place: Place) -> None:
    async with killed_server(place) as wire:
        first = await run(wire, "kept=here; cd /")
    async with one_server(place) as wire:
        second = await run(wire, "echo $kept $PWD")
        read = await wire.call("get-command-result", commandId=first["commandId"])
    assert (second["output"], second["created"]) == ("here /\n", False)
    assert second["paneId"] == first["paneId"]
    assert (read["paneId"], read["pane"]) == (first["paneId"], "main")


async def test_each_name_is_a_window_of_its_own(place: Place) -> None:
    async with one_server(place) as wire:
        panes = [(await run(wire, "true", paneId=name))["paneId"] for name in ("a", "b.1", "c_2-x", "7")]
        again = [(await run(wire, "true", paneId=name))["paneId"] for name in ("a", "b.1", "c_2-x", "7")]
    assert again == panes
    assert len(set(panes)) == 4
    names = ["7", "a", "b.1", "c_2-x"]
    assert windows(place) == [f"agent-home:{name} 200x50 0" for name in names]


async def test_left_out_the_pane_is_main_for_every_tool_that_works_on_one(place: Place) -> None:
    async with one_server(place) as wire:
        main = (await run(wire, "echo shown"))["paneId"]
        assert (await wire.call("send-keys", keys="x"))["paneId"] == main
        assert (await wire.call("paste-text", content="y"))["pane"] == "main"
        assert (await wire.call("send-cancel"))["paneId"] == main
        assert (await wire.call("pane-state"))["paneId"] == main
        assert (await wire.call("read-pane"))["paneId"] == main
        assert "shown" in await wire.call("capture-pane")
        watched = await wire.call("watch-pane", triggers="shell", timeout=20)
        assert (watched["paneId"], watched["pane"]) == (main, "main")
        started = await wire.call("start-and-watch", command="echo ready", pattern="ready", timeout=20)
        assert (started["paneId"], started["pane"], started["created"]) == (main, "main", False)
        noted = await wire.call("notify-when", triggers="shell")
        assert (await wire.call("get-watch", watchId=noted["watchId"]))["pane"] == "main"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("execute-command", {"command": "true"}),
        ("start-and-watch", {"command": "echo ready", "pattern": "ready"}),
        ("send-keys", {"keys": "true", "enter": True}),
        ("paste-text", {"content": "true", "enter": True}),
    ],
)
async def test_tools_that_run_or_type_open_the_pane(
    place: Place, tool: str, arguments: dict[str, str]
) -> None:
    async with one_server(place) as wire:
        first = await wire.call(tool, paneId="work", **arguments)
        second = await wire.call("pane-state", paneId="work")
    assert (first["pane"], first["created"]) == ("work", True)
    assert first["paneId"] == second["paneId"]


@pytest.mark.parametrize("keys", ["send-keys", "paste-text"])
async def test_what_is_typed_into_a_new_pane_reaches_its_shell_whole(
    place: Place, tmp_path: Path, keys: str
) -> None:
    text = f"echo {'x' * 300} >{tmp_path}/typed"
    async with one_server(place) as wire:
        await wire.call(keys, **{"keys" if keys == "send-keys" else "content": text}, enter=True)

        async def typed() -> str:
            made = tmp_path / "typed"
            return made.read_text() if made.exists() else ""

        assert await eventually(typed) == "x" * 300 + "\n"


READERS: list[tuple[str, dict[str, Any]]] = [
    ("capture-pane", {}),
    ("read-pane", {}),
    ("watch-pane", {}),
    ("pane-state", {}),
    ("kill-pane", {}),
    ("split-pane", {}),
    ("run-in-repl", {"input": "x"}),
    ("send-enter", {}),
    ("read-screen", {}),
    ("send-mouse", {"row": 0, "column": 0}),
    ("notify-when", {}),
    ("list-commands", {}),
]


async def test_tools_that_read_watch_or_kill_refuse_and_say_which_panes_there_are(place: Place) -> None:
    async with one_server(place) as wire:
        before = await refusal(wire, "capture-pane")
        assert before.startswith("Pane 'main' not found.")
        for name in ("server", "main"):
            await run(wire, "true", paneId=name)
        for tool, arguments in READERS:
            said = await refusal(wire, tool, paneId="serve", **arguments)
            wanted = "those with names are: main, server."
            assert said == f"Pane 'serve' not found. Use list-panes to see the panes there are; {wanted}", (
                tool
            )
        result = (await wire.call("run-on", command="true", panes=[{"paneId": "serve"}]))["results"][0]
        assert result["status"] == "lost"
    assert len(windows(place)) == 2


async def test_the_screen_and_the_mouse_are_those_of_main_where_no_pane_is_given(place: Place) -> None:
    async with one_server(place) as wire:
        await run(wire, "true", paneId="other")
        pane = (await run(wire, "true"))["paneId"]
        assert (await wire.call("read-screen"))["paneId"] == pane
        said = await refusal(wire, "send-mouse", row=0, column=0)
    assert said.startswith(f"The program in pane {pane!r} has not asked for the mouse.")


async def test_a_pane_whose_shell_has_ended_is_opened_again(place: Place) -> None:
    async with one_server(place) as wire:
        await run(wire, "true", paneId="other")
        first = await run(wire, "gone=1")
        ended = await run(wire, "exit 5")
        second = await run(wire, "echo ${gone:-anew}")
    assert (ended["exitCode"], ended["created"]) == (5, False)
    assert (second["output"], second["created"], second["pane"]) == ("anew\n", True, "main")
    assert second["paneId"] != first["paneId"]


async def test_a_dead_pane_is_started_again_with_its_folder_and_pagers(place: Place) -> None:
    keep_dead_panes(place)
    async with one_server(place) as wire:
        pane = (await run(wire, "true"))["paneId"]
        os.kill(int(place.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")), signal.SIGKILL)
        await eventually(partial(is_dead, place, pane))
        await wire.call("capture-pane")  # what it has shown can still be read
        answer = await run(wire, "echo $X $PAGER $PWD", cwd="/usr", env={"X": "new"})
    assert (answer["paneId"], answer["created"]) == (pane, True)
    assert answer["output"] == "new cat /usr\n"


async def test_folder_and_variables_apply_where_the_pane_is_opened(place: Place) -> None:
    where = {"cwd": "/usr", "env": {"NAME": "a b;c"}}
    async with one_server(place) as wire:
        first = await run(wire, 'echo "$NAME"; pwd', **where)
        again = await run(wire, "pwd", paneId="main", cwd="/")
        started = await wire.call(
            "start-and-watch", command='pwd; echo "<$NAME>"', pattern="<", paneId="dev", **where
        )
    assert (first["output"], first.get("reason")) == ("a b;c\n/usr\n", None)
    assert again["output"] == "/usr\n"
    assert again["reason"] == "The pane was open already, so cwd and env were not applied."
    assert started["output"].splitlines() == ["/usr", "<a b;c>"]


BAD_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("execute-command", {"command": "true", "cwd": "/no/such/folder"}, "'/no/such/folder' does not exist"),
    ("execute-command", {"command": "true", "env": {"A B": "x"}}, "'A B' is not the name of a variable"),
    ("execute-command", {"command": " "}, "empty"),
    ("start-and-watch", {"command": " ", "pattern": "x"}, "empty"),
    ("start-and-watch", {"command": "true", "pattern": "("}, "pattern"),
    ("start-and-watch", {"command": "true", "pattern": "x", "triggers": "nonsense"}, "nonsense"),
    ("start-and-watch", {"command": "true", "pattern": "x", "mode": "nonsense"}, "'mode'"),
    ("send-keys", {"keys": "C-nonsense", "literal": False}, "nonsense"),
    ("paste-text", {"content": "a\x1b[201~b"}, "'content'"),
]


async def test_a_call_that_cannot_work_opens_nothing(place: Place) -> None:
    async with one_server(place) as wire:
        for tool, arguments, words in BAD_CALLS:
            assert words in await refusal(wire, tool, **arguments), tool
        assert (await wire.call("list-sessions"))["sessions"] == []


async def test_pagers_are_plain_unless_the_configuration_says_otherwise(place: Place) -> None:
    ask = 'echo "${PAGER-unset} ${GIT_PAGER-unset} ${SYSTEMD_PAGER-unset} ${MANPAGER-unset}"'
    config = place.home / "pagers.toml"
    config.write_text("[workspace]\nplain_pagers = false\n")
    async with one_server(place) as wire:
        plain = await run(wire, ask)
        own = await run(wire, "echo $PAGER $X", paneId="own", env={"PAGER": "less", "X": "1"})
        third = await run(wire, "echo $PAGER $X", paneId="third")
    async with one_server(place, "--config", str(config)) as wire:
        person = await run(wire, ask, paneId="second")
    assert plain["output"] == "cat cat cat cat\n"
    assert (own["output"], third["output"]) == ("less 1\n", "cat\n")
    assert person["output"] == "unset unset unset unset\n"


async def test_a_list_of_panes_has_the_names_of_this_workspace_only(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "persons", "cat")
    async with one_server(place) as wire, one_server(place, "--workspace", "other") as second:
        ours = (await run(wire, "true", paneId="server"))["paneId"]
        theirs = (await run(second, "true", paneId="server"))["paneId"]
        rows = {row["id"]: row.get("pane") for row in (await wire.call("list-panes"))["panes"]}
        place.tmux("move-pane", "-d", "-s", ours, "-t", "=persons:")
        moved = {row["id"]: row.get("pane") for row in (await wire.call("list-panes"))["panes"]}
    assert rows[ours] == moved[ours] == "server"
    assert rows[theirs] is None
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("tool", "arguments"), [("send-keys", {"keys": "x"}), ("paste-text", {"content": "x"})]
)
async def test_what_is_typed_and_watched_says_whether_it_opened_the_pane(
    place: Place, tool: str, arguments: dict[str, str]
) -> None:
    async with one_server(place) as wire:
        answers = [await wire.call(tool, **arguments, until="change") for _ in range(2)]
        key = await wire.call("send-left", until="quiet:100")
    assert [(row["pane"], row["created"]) for row in answers] == [("main", True), ("main", False)]
    assert "created" not in key
