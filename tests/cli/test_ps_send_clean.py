"""`muxpilot ps`, `send` and `clean`."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from muxpilot.app import build
from muxpilot.cli.clean import end_leftover
from muxpilot.cli.leftovers import find_leftovers
from muxpilot.config.flags import load_settings
from tests.cli.conftest import LIMIT_S, Terminal, start
from tests.rigs.engine import attach_person, wait_until
from tests.rigs.wire import Place

# ps


def test_panes_are_listed_with_their_commands_and_what_they_wait_for(terminal: Terminal) -> None:
    command = terminal.detach("cat - # waits")
    assert terminal.call("wait", command)[0] == 125
    code, out, err = terminal.call("ps")
    assert (code, err) == (0, "")
    head, row = out.splitlines()
    assert head.split("  ")[0] == "SESSION"
    assert row.split()[:5] == ["work", terminal.pane, "cat", "line", command]
    assert row.endswith("cat - # waits")


def test_the_list_as_json_has_sessions_panes_states_and_commands(terminal: Terminal) -> None:
    command = terminal.detach("sleep 1000")
    [session] = json.loads(terminal.call("ps", "--json")[1])["sessions"]
    [pane] = session["panes"]
    assert (session["name"], pane["id"]) == ("work", terminal.pane)
    assert [row["commandId"] for row in pane["commands"]] == [command]
    assert pane["state"]["waitingFor"] is None


def test_workspaces_come_first_and_their_panes_have_names(terminal: Terminal) -> None:
    command = terminal.call("run", "-p", "server", "--detach", "--", "sleep 1000")[1].strip()
    terminal.call("--workspace", "other.agent", "run", "--", "true")
    _, out, _ = terminal.call("ps")
    rows = [[cell for cell in row.split("  ") if cell] for row in out.splitlines()]
    named = {(row[0].strip(), row[2].strip()) for row in rows[1:3]}
    assert {name for _, name in named} == {"server", "main"}
    assert ("other_agent (workspace)", "main") in named
    assert rows[3][0].strip() == "work"
    assert command in next(row for row in out.splitlines() if " server " in row)
    sessions = json.loads(terminal.call("ps", "--json")[1])["sessions"]
    assert [row["workspace"] for row in sessions][-1] is None
    assert [pane["pane"] for pane in sessions[-1]["panes"]] == [None]
    assert {row["workspace"]: [pane["pane"] for pane in row["panes"]] for row in sessions[:2]} == {
        "other.agent": ["main"],
        next(row["workspace"] for row in sessions if row["workspace"] != "other.agent"): ["server"],
    }


def test_a_workspace_that_a_person_has_renamed_is_told_by_both_names(terminal: Terminal) -> None:
    terminal.call("--workspace", "team", "run", "--", "true")
    terminal.place.tmux("rename-session", "-t", "=team", "mine")
    assert "mine (workspace team)" in terminal.call("ps")[1]


def test_nothing_runs_where_there_is_no_server(place: Place) -> None:
    done = start("--socket", place.socket, "ps")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"muxpilot: There are no panes.\n")


def test_text_of_programs_cannot_change_the_terminal_or_the_table(terminal: Terminal) -> None:
    terminal.place.tmux("rename-session", "-t", "work", "a\u202eb")
    terminal.detach("sleep 1000 # \u202e\nsleep 1000")
    _, out, _ = terminal.call("ps")
    assert len(out.splitlines()) == 2
    assert "\u202e" not in out


def test_colours_are_for_terminals_only(terminal: Terminal) -> None:
    command = [sys.executable, "-m", "muxpilot", "--socket", terminal.place.socket, "ps"]
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)
    assert b"\x1b[1mSESSION" in shown
    assert "\x1b" not in terminal.call("ps")[1]


# send


def test_a_text_is_typed_with_enter(terminal: Terminal) -> None:
    assert terminal.call("send", terminal.pane, "echo", "$((40 + 2)); echo -n") == (0, "", "")
    asyncio.run(wait_until(lambda: "\n42\n" in terminal.screen()))


def test_the_answer_of_send_is_json_for_programs(terminal: Terminal) -> None:
    _, out, err = terminal.call("send", "--json", "new", "true")
    assert err == ""
    answer = json.loads(out)
    assert (answer["pane"], answer["created"]) == ("new", True)


def test_keys_are_pressed_and_nothing_else(terminal: Terminal) -> None:
    terminal.detach("sleep 1000")
    assert terminal.call("send", terminal.pane, "--keys", "C-c") == (0, "", "")
    asyncio.run(wait_until(lambda: "^C" in terminal.screen()))
    assert terminal.run("--", "echo free")[1] == "free\n"


def test_a_text_that_begins_with_a_dash_follows_two_dashes(terminal: Terminal) -> None:
    terminal.detach("cat")
    assert terminal.call("send", terminal.pane, "--", "--keys", "-x") == (0, "", "")
    asyncio.run(wait_until(lambda: terminal.screen().count("--keys -x") == 2))


@pytest.mark.parametrize("argv", [(), ("text", "--keys", "Enter")])
def test_either_text_or_keys_are_sent(terminal: Terminal, argv: tuple[str, ...]) -> None:
    code, _, err = terminal.call("send", terminal.pane, *argv)
    assert (code, err) == (
        2,
        "muxpilot: Give either a text or --keys. Use --keys Enter to press only Enter.\n",
    )


# clean


def start_in(place: Place, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """Run muxpilot in a process of its own, with its records where the servers of the place keep them."""
    where = ("--socket", place.socket)
    return start(*where, *argv, HOME=str(place.home), XDG_RUNTIME_DIR="", SHELL="/bin/bash")


def leave_session(place: Place, name: str, **arguments: object) -> str:
    """Let a muxpilot that ends at once create a session. Return its pane."""
    made = json.dumps({"name": name, **arguments})
    done = start_in(place, "call", "create-session", made)
    pane: str = json.loads(done.stdout)["paneId"]
    asyncio.run(wait_until(lambda: place.tmux("capture-pane", "-p", "-t", pane).strip() or arguments))
    return pane


def clean(place: Place, *argv: str) -> tuple[list[str], dict[str, str]]:
    """Run `clean`. Return the ids of what is ended, and why what is kept is kept, by session name."""
    done = start_in(place, "clean", "--json", *argv)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return [row["id"] for row in answer["ended"]], {
        row["sessionName"]: row["reason"] for row in answer["kept"]
    }


def sessions(place: Place) -> list[str]:
    return place.tmux("list-sessions", "-F", "#{session_name}").splitlines()


def test_a_session_whose_muxpilot_is_gone_is_ended_and_a_persons_is_not(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "persons")
    leave_session(place, "left")
    dry = start_in(place, "clean", "--dry-run")
    assert dry.stdout.startswith(b"would end session ")
    assert sessions(place) == ["left", "persons"]
    assert len(clean(place)[0]) == 1
    assert sessions(place) == ["persons"]


async def test_what_is_used_is_kept_with_the_reason(place: Place) -> None:
    await asyncio.to_thread(leave_session, place, "attached")
    await asyncio.to_thread(leave_session, place, "mixed")
    place.tmux("split-window", "-d", "-t", "mixed")
    await asyncio.to_thread(leave_session, place, "busy", command="sleep 1000")
    async with (
        place.serve() as wire,
        attach_person("tmux", place.socket, "attach-session", "-t", "attached"),
    ):
        await wire.shake_hands()
        await wire.call("create-session", name="living")
        ended, kept = await asyncio.to_thread(clean, place, "--running")
    assert ended == []
    assert kept == {
        "attached": "a person is attached",
        "mixed": "it has panes that no muxpilot created",
        "living": "its muxpilot still runs",
        "busy": "another muxpilot is connected, and something was printed in the last hour",
    }


def test_what_is_said_fits_what_is_kept(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "persons")
    assert start_in(place, "clean").stderr == b"muxpilot: Nothing is left behind.\n"
    leave_session(place, "busy", command="sleep 1000")
    done = start_in(place, "clean")
    assert done.stdout.startswith(b"kept session ")
    assert done.stderr == b"muxpilot: There is nothing to end.\n"


async def test_a_person_who_comes_while_others_are_ended_keeps_their_session(place: Place) -> None:
    """Each end takes up to two seconds, so the last of many comes late."""
    await asyncio.to_thread(leave_session, place, "left")
    place.tmux("new-session", "-d", "-s", "persons")
    app = build(load_settings({"HOME": str(place.home)}, scope="all", socket=place.socket))
    try:
        [row] = await find_leftovers(app, ends_running=False)
        assert row.kept_because == ""
        async with attach_person("tmux", place.socket, "attach-session", "-t", "left"):
            assert (await end_leftover(app, row)).kept_because == "a person is attached"
        place.tmux("split-window", "-d", "-t", "left")
        assert (await end_leftover(app, row)).kept_because == "it has panes that no muxpilot created"
        assert "left" in sessions(place)
        place.tmux("kill-session", "-t", "left")
        assert (await end_leftover(app, row)).kept_because == "", "another has ended it"
    finally:
        await app.close()


async def test_of_two_cleans_at_once_none_complains(place: Place) -> None:
    """Each may take the other for an agent that works, and leave what was used lately to a later one."""
    for name in ("one", "two", "three"):
        await asyncio.to_thread(leave_session, place, name)
    done = await asyncio.gather(*(asyncio.to_thread(start_in, place, "clean", "--json") for _ in range(2)))
    assert [(each.returncode, each.stderr) for each in done] == [(0, b""), (0, b"")]
    reasons = {row["reason"] for each in done for row in json.loads(each.stdout)["kept"]}
    assert all(reason.startswith("another muxpilot is connected") for reason in reasons), reasons
    await asyncio.to_thread(start_in, place, "clean")
    last = await asyncio.to_thread(start_in, place, "clean")
    assert last.stderr == b"muxpilot: Nothing is left behind.\n"


async def test_a_session_in_which_a_living_muxpilot_ran_commands_is_kept(place: Place) -> None:
    pane = await asyncio.to_thread(leave_session, place, "shared")
    async with place.serve() as wire:
        await wire.shake_hands()
        await wire.call("execute-command", paneId=pane, command="true")
        _, kept = await asyncio.to_thread(clean, place)
    assert kept == {"shared": "a muxpilot that still runs has run commands in it"}


def test_a_session_in_which_a_program_runs_is_ended_only_if_asked_for(place: Place) -> None:
    leave_session(place, "busy", command="sleep 1000")
    place.tmux("new-session", "-d", "-s", "persons")
    assert clean(place) == ([], {"busy": "sleep runs in it"})
    assert len(clean(place, "--running")[0]) == 1
    assert sessions(place) == ["persons"]


def test_processes_in_the_background_keep_a_session_and_are_told_when_they_are_ended(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "persons")
    pane = leave_session(place, "left")
    place.tmux("send-keys", "-t", pane, "setsid sleep 1001 &", "Enter")
    asyncio.run(wait_until(lambda: clean(place, "--dry-run") == ([], {"left": "sleep runs in it"})))
    done = start_in(place, "clean", "--running")
    first, second = done.stdout.decode().splitlines()
    assert (first.split()[0], second.split(" ", 4)[4]) == ("ended", "(sleep 1001): ended by SIGTERM")


def test_a_dead_pane_of_a_muxpilot_that_is_gone_is_ended(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "persons")
    place.tmux("set-option", "-g", "remain-on-exit", "on")
    target = place.tmux("display-message", "-p", "-t", "persons", "#{pane_id}")
    split = json.dumps({"paneId": target, "command": "true"})
    made = start_in(place, "call", "split-pane", split)
    pane = json.loads(made.stdout)["paneId"]
    asyncio.run(wait_until(lambda: place.tmux("display-message", "-p", "-t", pane, "#{pane_dead}") == "1"))
    assert clean(place) == ([pane], {})
    assert place.tmux("list-panes", "-s", "-t", "persons", "-F", "#{pane_id}") == target


async def test_a_dead_pane_in_which_a_living_muxpilot_ran_commands_is_kept(place: Place) -> None:
    place.tmux("new-session", "-d", "-s", "persons")
    place.tmux("set-option", "-g", "remain-on-exit", "on")
    target = place.tmux("display-message", "-p", "-t", "persons", "#{pane_id}")
    split = json.dumps({"paneId": target})
    made = await asyncio.to_thread(start_in, place, "call", "split-pane", split)
    pane = json.loads(made.stdout)["paneId"]
    async with place.serve() as wire:
        await wire.shake_hands()
        await wire.call("execute-command", paneId=pane, command="true")
        place.tmux("send-keys", "-t", pane, "exit", "Enter")
        await wait_until(lambda: place.tmux("display-message", "-p", "-t", pane, "#{pane_dead}") == "1")
        found = await asyncio.to_thread(clean, place)
    assert found == ([], {"persons": "a muxpilot that still runs has run commands in it"})
    assert pane in place.tmux("list-panes", "-s", "-t", "persons", "-F", "#{pane_id}").split()


def test_the_policy_protects_what_may_not_be_killed(place: Place, tmp_path: Path) -> None:
    config = tmp_path / "policy.toml"
    config.write_text("[security]\nallow_kill = false\n")
    leave_session(place, "left")
    done = start_in(place, "--config", str(config), "clean")
    assert done.returncode == 1
    assert b"could not be ended: " in done.stdout
    assert sessions(place) == ["left"]
