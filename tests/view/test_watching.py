"""The events of the page with a real tmux: panes, screens, output, and calls of agents."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from muxpilot import Tmux
from muxpilot.config.model import SecuritySettings
from muxpilot.tmux import PaneId
from muxpilot.view.follow import PaneFollower
from tests.rigs.view_page import audit_line, open_page, run_view
from tests.rigs.waiting import end_server, eventually, server_pid

Raw = Callable[..., str]

# Keeps a pane open, and prints nothing by itself.
QUIET = "cat"


async def is_on_screen(raw: Raw, words: str) -> bool:
    """Return whether the first pane shows this text."""
    return words in raw("capture-pane", "-p", "-t", "%0")


async def test_a_pane_is_shown_as_it_is_then_as_it_changes(raw: Raw, socket: str) -> None:
    raw(
        "new-session", "-d", "-s", "dev", "-x", "60", "-y", "10", "printf '\\033[31mred\\033[0m\\n'; exec cat"
    )
    await eventually(partial(is_on_screen, raw, "red"))
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: "red" in seen.screen_text("%0"))
        [first, *_] = seen.screens["%0"]
        assert (first["columns"], first["rows"], first["is_first"]) == (60, 10, True)
        assert "\x1b[31mred" in first["lines"][0]
        await seen.wait_until(lambda: seen.panes["%0"]["command"] == "cat")  # first it is the shell
        assert (seen.panes["%0"]["place"], seen.panes["%0"]["dead"]) == ("dev:0.0", False)
        raw("send-keys", "-t", "%0", "-l", "hello")
        await seen.wait_until(lambda: "hello" in seen.texts["%0"] or "hello" in seen.screen_text("%0"))
        # After a pause, the page gets tmux's screen to compare.
        await seen.wait_until(lambda: any(_is_compared(each, x=5) for each in seen.screens["%0"]))


async def test_line_drawing_is_in_the_first_screen_as_characters(raw: Raw, socket: str) -> None:
    """A terminal that gets SO and SI without the choice of a set would draw letters."""
    raw("new-session", "-d", "-x", "60", "-y", "10", r"printf '\033(0lqk\033(B box\n'; exec cat")
    await eventually(partial(is_on_screen, raw, "box"))
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: "box" in seen.screen_text("%0"))
        assert seen.screens["%0"][0]["lines"][0].rstrip() == "┌─┐ box"


def _is_compared(screen: dict[str, Any], *, x: int) -> bool:
    return bool(screen.get("is_comparison")) and screen["x"] == x


async def test_the_lines_above_the_screen_come_along(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-x", "40", "-y", "5", "seq 1 50; exec cat")
    await eventually(partial(is_on_screen, raw, "50"))
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.screens["%0"])
        first = seen.screens["%0"][0]
        assert [row.strip() for row in [*first["history"], *first["lines"]]][:50] == [
            str(n) for n in range(1, 51)
        ]
        assert len(first["lines"]) == 5


async def test_panes_come_go_change_their_size_and_end(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-x", "80", "-y", "20", QUIET)
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.screens["%0"])
        other = raw("split-window", "-h", "-P", "-F", "#{pane_id}", "-t", "%0", QUIET)
        await seen.wait_until(lambda: other in seen.panes and seen.screens[other])
        raw("resize-pane", "-t", "%0", "-x", "20")
        await seen.wait_until(lambda: seen.panes["%0"]["columns"] == 20)
        await seen.wait_until(lambda: seen.screens["%0"][-1]["columns"] == 20)
        raw("kill-pane", "-t", other)
        await seen.wait_until(lambda: list(seen.panes) == ["%0"])
        raw("set-option", "-t", "%0", "remain-on-exit", "on")
        raw("respawn-pane", "-k", "-t", "%0", "echo last words; read x; exit 3")
        await seen.wait_until(lambda: "last words" in seen.screen_text("%0"))
        raw("send-keys", "-t", "%0", "Enter")
        await seen.wait_until(lambda: seen.panes["%0"]["dead"])
        await seen.wait_until(lambda: seen.panes["%0"]["exitCode"] == 3)  # tmux may learn of it later
        await seen.wait_until(lambda: "Pane is dead" in seen.screen_text("%0"))
        async with open_page(url) as later:
            await later.wait_until(lambda: "Pane is dead" in later.screen_text("%0"))


async def test_only_panes_that_agents_use_are_shown_unless_all_are_wanted(
    raw: Raw, socket: str, tmux: Tmux, tmp_path: Path
) -> None:
    raw("new-session", "-d", "-s", "mine", QUIET)
    raw("new-session", "-d", "-s", "lent", QUIET)
    made = await tmux.sessions.create("made")
    audit = tmp_path / "audit.jsonl"
    audit.write_text(audit_line("capture-pane", paneId="%0", ts="2001-01-01T00:00:00.000Z"))
    async with run_view(socket, audit=audit) as url:
        async with open_page(url) as seen:
            await seen.wait_until(lambda: set(seen.panes) == {made.pane_id})
            assert seen.overview["hidden"] == 2
            with audit.open("a") as file:
                file.write(audit_line("send-keys", paneId="%1", keys="ls"))
            await seen.wait_until(lambda: set(seen.panes) == {"%1", made.pane_id})
            used = ("send-keys", [{"server": "default", "id": "%1"}])
            await seen.wait_until(lambda: [(row["tool"], row["panes"]) for row in seen.audit][-1] == used)
        async with open_page(url, "?all") as seen:
            await seen.wait_until(lambda: set(seen.panes) == {"%0", "%1", made.pane_id})
            assert [row["agents"] for row in seen.panes.values()].count(False) == 1


async def test_where_no_agent_was_all_panes_are_shown(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-s", "mine", QUIET)
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: set(seen.panes) == {"%0"})
        await seen.wait_until(lambda: seen.audit_problem is not None)
        assert "--audit" in (seen.audit_problem or "")


async def test_a_server_that_a_call_named_by_its_path_is_shown_if_it_is_allowed(
    socket: str, folder: Path, binary: str, tmp_path: Path
) -> None:
    other, audit = str(folder / "other"), tmp_path / "audit.jsonl"
    async with Tmux(other, binary=binary, config="/dev/null") as tmux:
        pane = (await tmux.sessions.create("far")).pane_id
    audit.write_text(audit_line("send-keys", paneId=pane, keys="x", socket=other))
    try:
        async with run_view(socket, audit=audit) as url, open_page(url) as seen:
            await seen.wait_until(lambda: seen.screens[pane])
            assert seen.panes[pane]["server"] == other
            assert seen.audit[0]["panes"] == [{"server": other, "id": pane}]
        only = SecuritySettings(allowed_sockets=(socket,))
        async with run_view(socket, audit=audit, security=only) as url, open_page(url) as seen:
            await seen.wait_until(lambda: seen.audit)
            assert [row["name"] for row in seen.overview["servers"]] == ["default"]
    finally:
        end_server(binary, other)


async def test_servers_are_shown_in_the_order_in_which_calls_named_them(
    raw: Raw, socket: str, folder: Path, tmp_path: Path
) -> None:
    raw("new-session", "-d", "-s", "mine", QUIET)
    audit, others = tmp_path / "audit.jsonl", [folder / name for name in "ecafbd"]
    for other in others:
        other.touch()
    audit.write_text("".join(audit_line("send-keys", paneId="%0", socket=str(other)) for other in others))
    wanted = ["default", *map(str, others)]
    async with run_view(socket, audit=audit) as url, open_page(url) as seen:
        await seen.wait_until(lambda: len(seen.overview.get("servers", [])) == len(wanted))
        assert [row["name"] for row in seen.overview["servers"]] == wanted


async def test_a_pane_of_several_counts_as_used_on_the_server_that_was_named_with_it(
    raw: Raw, socket: str, folder: Path, binary: str, tmp_path: Path
) -> None:
    other, audit = str(folder / "other"), tmp_path / "audit.jsonl"
    for name in ("mine", "lent"):
        raw("new-session", "-d", "-s", name, QUIET)
    async with Tmux(other, binary=binary, config="/dev/null") as tmux:
        pane = (await tmux.sessions.create("far")).pane_id
    assert pane == "%0", "as one of ours"
    audit.write_text(audit_line("run-on", panes=[{"paneId": "%0", "socket": other}, {"paneId": "%1"}]))
    try:
        async with run_view(socket, audit=audit) as url, open_page(url) as seen:
            wanted = [("default", "%1"), (other, "%0")]
            await seen.wait_until(
                lambda: [(row["server"], row["id"]) for row in seen.overview.get("panes", [])] == wanted
            )
            await seen.wait_until(lambda: seen.audit)
            assert [(row["server"], row["id"]) for row in seen.audit[-1]["panes"]] == wanted[::-1]
    finally:
        end_server(binary, other)


async def test_a_call_that_named_what_can_be_no_socket_does_not_blind_the_page(
    raw: Raw, socket: str, tmp_path: Path
) -> None:
    raw("new-session", "-d", "echo here; exec cat")
    audit = tmp_path / "audit.jsonl"
    for place in ("/tmp/\0", "/tmp/\ud800", "/" + "x" * 5000):
        with audit.open("a") as file:
            file.write(audit_line("send-keys", paneId="%0", socket=place))
    async with run_view(socket, audit=audit) as url, open_page(url) as seen:
        await seen.wait_until(lambda: "here" in seen.screen_text("%0"))
        await seen.wait_until(lambda: len(seen.audit) == 3)
        assert [row["panes"] for row in seen.audit] == [[{"server": None, "id": "%0"}]] * 3


async def test_nothing_is_changed_in_tmux_and_nothing_is_left_there(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-s", "a", "-x", "90", "-y", "25", QUIET)
    raw("new-session", "-d", "-s", "b", "-x", "70", "-y", "15", QUIET)
    facts = "#{session_name} #{window_id} #{pane_id} #{pane_width}x#{pane_height} #{pane_active} #{pane_pipe}"
    before = raw("list-panes", "-a", "-F", facts)
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.screens["%0"] and seen.screens["%1"])
        shown = raw("list-panes", "-a", "-F", facts)
        assert [row for row in shown.splitlines() if row[0] in "ab"] == before.splitlines()

    async def is_left() -> bool:
        return raw("list-panes", "-a", "-F", facts) == before and raw("list-clients") == ""

    await eventually(is_left)


async def test_a_bare_attach_goes_where_it_went_before_if_all_is_shown(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-s", "z", QUIET)

    async def has_next_second_begun() -> bool:
        return int(time.time()) > int(raw("display-message", "-p", "-t", "z", "#{session_activity}"))

    async def is_left() -> bool:
        return set(raw("list-sessions", "-F", "#{session_attached}", "-f", "#{m:?,#S}").split()) == {"0"}

    await eventually(has_next_second_begun)  # tmux gives whole seconds
    raw("new-session", "-d", "-s", "a", QUIET)
    async with run_view(socket) as url:
        async with open_page(url) as seen:
            await seen.wait_until(lambda: seen.screens["%0"] and seen.screens["%1"])
            raw("rename-window", "-t", "%0", "later")
            await seen.wait_until(lambda: seen.panes["%0"]["window"] == "later")
        await eventually(is_left)
        async with open_page(url) as later:
            await later.wait_until(lambda: later.screens["%0"] and later.screens["%1"])

    async def goes_where_it_went() -> bool:
        return raw("display-message", "-p", "#{session_name}") == "a"  # or to the hub, until that is gone

    await eventually(goes_where_it_went)


async def test_the_policy_binds_the_page(raw: Raw, socket: str, tmp_path: Path) -> None:
    raw("new-session", "-d", "-s", "open", "echo public; exec cat")
    raw("new-session", "-d", "-s", "shut", "echo private; exec cat")
    only = SecuritySettings(allowed_sessions=("open",))
    async with run_view(socket, security=only) as url, open_page(url, "?all") as seen:
        await seen.wait_until(lambda: "public" in seen.screen_text("%0"))
        assert set(seen.panes) == {"%0"}
        assert "%1" not in seen.screens
    async with (
        run_view(socket, security=SecuritySettings(allow_capture=False)) as url,
        open_page(url) as seen,
    ):
        await seen.wait_until(lambda: set(seen.panes) == {"%0", "%1"})
        assert seen.overview["textClosedBy"] == "security.allow_capture"
        raw("send-keys", "-t", "%0", "-l", "typed")
        raw("new-window", "-d", "-t", "open:", QUIET)
        await seen.wait_until(lambda: len(seen.panes) == 3)  # a later listing than the one before
        assert not seen.screens
        assert not seen.texts
    async with run_view(socket, security=SecuritySettings(allow_list=False)) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.overview)
        assert (seen.overview["closedBy"], seen.panes) == ("security.allow_list", {})
    async with (
        run_view(socket, security=SecuritySettings(allowed_sockets=("/elsewhere",))) as url,
        open_page(url) as seen,
    ):
        await seen.wait_until(lambda: seen.overview)
        assert (seen.overview["servers"], seen.panes) == ([], {})


@pytest.mark.parametrize("name", ["%1", "shut:0.0"])
async def test_where_panes_are_allowed_by_name_no_other_is_there(raw: Raw, socket: str, name: str) -> None:
    raw("new-session", "-d", "-s", "open", "echo public; exec cat")
    raw("new-session", "-d", "-s", "shut", "echo private; exec cat")
    only = SecuritySettings(allowed_panes=(name,))
    async with run_view(socket, security=only) as url, open_page(url, "?all") as seen:
        await seen.wait_until(lambda: "private" in seen.screen_text("%1"))
        assert set(seen.panes) == set(seen.screens) == {"%1"}


async def test_a_tmux_that_is_gone_is_said_and_shown_again_when_it_is_back(
    raw: Raw, socket: str, binary: str
) -> None:
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.overview and seen.overview["servers"][0]["problem"])
        raw("new-session", "-d", "-s", "one", "echo first; exec cat")
        await seen.wait_until(lambda: "first" in seen.screen_text("%0"))
        assert seen.overview["servers"][0]["problem"] is None
        end_server(binary, socket)
        await seen.wait_until(lambda: not seen.panes)
        assert "No tmux server" in str(seen.overview["servers"][0]["problem"])
        raw("new-session", "-d", "-s", "two", "echo second; exec cat")
        await seen.wait_until(lambda: "second" in seen.screen_text("%0"))


async def test_a_tmux_that_does_not_answer_is_said_and_its_panes_stay(
    raw: Raw, socket: str, binary: str
) -> None:
    raw("new-session", "-d", "echo here; exec cat")
    pid = server_pid(binary, socket)
    assert pid is not None
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: "here" in seen.screen_text("%0"))
        os.kill(pid, signal.SIGSTOP)
        try:
            await seen.wait_until(lambda: seen.overview["servers"][0]["problem"])
            assert "%0" in seen.panes
        finally:
            os.kill(pid, signal.SIGCONT)
        await seen.wait_until(lambda: seen.overview["servers"][0]["problem"] is None)


async def test_a_flood_is_drawn_as_screens_and_holds_nobody_up(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-s", "loud", "-x", "80", "-y", "20", "yes 'a line of the flood'")
    raw("new-session", "-d", "-s", "calm", "-x", "80", "-y", "20", QUIET)
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: sum(each.get("skipped", 0) for each in seen.screens["%0"]) > 1_000_000)
        raw("send-keys", "-t", "%1", "-l", "through")
        await seen.wait_until(lambda: "through" in seen.screen_text("%1"))
        assert all(len(each["lines"]) <= 20 for each in seen.screens["%0"])


async def test_a_gap_is_drawn_over_once(raw: Raw, tmux: Tmux) -> None:
    raw("new-session", "-d", QUIET)
    told: list[str] = []

    async def tell(what: str, facts: dict[str, object]) -> None:
        told.append("comparison" if facts.get("is_comparison") else what)

    async def has_told(wanted: list[str]) -> bool:
        return told == wanted

    following = asyncio.create_task(PaneFollower(tmux, PaneId("%0"), "key", tell).run())
    try:
        await eventually(lambda: has_told(["screen"]))
        stream = tmux.streams.find_stream(PaneId("%0"))
        assert stream is not None
        stream.add_gap("something was lost")
        stream.add_gap("and again")
        await eventually(lambda: has_told(["screen"] * 3))
        raw("send-keys", "-t", "%0", "-l", "x")
        await eventually(lambda: has_told([*["screen"] * 3, "data", "comparison"]))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_hostile_names_and_output_come_as_plain_text(raw: Raw, socket: str) -> None:
    raw("new-session", "-d", "-s", "dev", QUIET)
    raw("select-pane", "-t", "%0", "-T", "<img src=x onerror=alert(1)>\u202e")
    async with run_view(socket) as url, open_page(url) as seen:
        await seen.wait_until(lambda: seen.screens["%0"])
        assert seen.panes["%0"]["title"] == "<img src=x onerror=alert(1)>"
        raw("respawn-pane", "-k", "-t", "%0", "printf 'x\\033]52;c;cm0=\\007y\\033[cz\\n'; exec cat")
        await seen.wait_until(lambda: "xyz" in seen.screen_text("%0"))
        assert "\x1b]" not in seen.screen_text("%0")
