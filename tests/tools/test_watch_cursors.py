"""Cursors of watches: nothing that is printed between two calls is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import PROMPT, Rig, serving
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import eventually
from tests.rigs.watching import start_line_runner, watch_and_type

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIG = "[tracking]\njournal_cap_bytes = 1048576\n"  # so that a flood is soon more than is kept
RESULT = {"paneId", "pane", "event", "detail", "elapsed", "output", "paneState", "cursor"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with serving("all", config=CONFIG) as rig:
        yield rig


async def read_cursor(call: Call, pane: str) -> str:
    return str((await call("read-pane", paneId=pane))["cursor"])


async def type_and_see(rig: Rig, call: Call, pane: str, keys: str, shown: str) -> None:
    await call("send-keys", paneId=pane, keys=keys, enter=True)
    await rig.wait_until_shown(pane, shown)


async def watch_since(
    call: Call, pane: str, cursor: str, triggers: str, seconds: float = 8
) -> dict[str, Any]:
    answer = await call("watch-pane", paneId=pane, triggers=triggers, since=cursor, timeout=seconds)
    assert set(answer) == RESULT
    assert answer["pane"] is None
    return dict(answer)


@pytest.mark.parametrize("is_ours", [True, False])
async def test_what_was_printed_after_the_cursor_counts(
    rig: Rig, call: Call, pane: Shell, name: str, is_ours: bool
) -> None:
    if is_ours:
        target = await start_line_runner(rig, pane)
    else:
        target = rig.session_of_a_person(name).pane
        await rig.wait_until_shown(target, PROMPT.strip())
    cursor = await read_cursor(call, target)
    await type_and_see(rig, call, target, "echo ready; echo la''st", "last")
    answer = await watch_since(call, target, cursor, "pattern:^ready$")
    assert (answer["event"], answer["elapsed"] < 10) == ("pattern:^ready$", True)
    assert "last" in answer["output"]


async def test_what_was_printed_before_the_cursor_does_not_count(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    answer = await watch_since(call, target, await read_cursor(call, target), "error,pattern:old", 0.3)
    assert (answer["event"], answer["output"]) == ("timeout", "")


async def test_two_watches_one_after_the_other_miss_no_line(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    first = await watch_and_type(call, target, "pattern:one", "echo one; sleep 0.2; echo two; echo three")
    await rig.wait_until_shown(target, "three")
    second = await watch_since(call, target, first["cursor"], "pattern:three")
    assert second["output"].split() == ["two", "three"]
    rest = await call("read-pane", paneId=target, since=second["cursor"])
    assert (rest["text"], rest["missedLines"]) == ("", 0)


async def test_a_watch_and_read_pane_miss_no_line(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    seen = await watch_and_type(call, target, "pattern:one", "echo one; sleep 0.2; echo two; echo three")
    await rig.wait_until_shown(target, "three")

    async def is_all_there() -> bool:
        rest = await call("read-pane", paneId=target, since=seen["cursor"])
        return bool(seen["output"].split() + rest["text"].split() == ["one", "two", "three"])

    await eventually(is_all_there)


async def test_the_cursor_of_start_and_watch_goes_on_where_its_output_ends(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane("bash --norc")
    command = "echo ready; read x; echo la''ter"
    answer = await call("start-and-watch", paneId=made.pane, command=command, pattern="ready", timeout=20)
    assert set(answer) == {*RESULT, "created"}
    assert (answer["event"], answer["output"]) == ("pattern:ready", "ready")
    await type_and_see(rig, call, made.pane, "", "later")
    after = await watch_since(call, made.pane, answer["cursor"], "exit")
    assert after["detail"].startswith("Process exited with code 0")
    assert after["output"].split()[0] == "later"


async def test_an_exit_between_two_calls_is_told(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane("bash --norc")
    await call("execute-command", paneId=made.pane, command="true")
    cursor = await read_cursor(call, made.pane)
    await type_and_see(rig, call, made.pane, "sh -c 'echo go''ne; exit 3'", "gone")
    await eventually(lambda: _is_at_prompt(call, made.pane))
    answer = await watch_since(call, made.pane, cursor, "exit")
    assert answer["detail"].startswith("Process exited with code 3")


async def _is_at_prompt(call: Call, pane: str) -> bool:
    return bool((await call("pane-state", paneId=pane))["waitingFor"] == "shell")


async def test_the_echo_of_a_line_after_the_cursor_does_not_count(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    await call("execute-command", paneId=made.pane, command="true")
    cursor = await read_cursor(call, made.pane)
    await type_and_see(rig, call, made.pane, "true error: x; echo E''ND", "END")
    answer = await watch_since(call, made.pane, cursor, "error,pattern:END")
    assert answer["event"] == "pattern:END"


async def test_a_line_counts_as_a_whole_where_the_cursor_is_inside_it(
    rig: Rig, call: Call, pane: Shell
) -> None:
    target = await start_line_runner(rig, pane)
    await type_and_see(rig, call, target, "printf 'the build '", "the build")
    cursor = await read_cursor(call, target)
    await type_and_see(rig, call, target, "echo went well", "went well")
    answer = await watch_since(call, target, cursor, "pattern:^the build$,pattern:^the build went")
    assert answer["event"] == "pattern:^the build went"


async def test_a_dead_pane_is_watched_from_the_cursor_on(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    rig.raw("set-option", "-p", "-t", target, "remain-on-exit", "on")
    cursor = await read_cursor(call, target)
    await call("send-keys", paneId=target, keys="echo error: last words; exit 4", enter=True)

    async def is_dead() -> bool:
        return not (await call("pane-state", paneId=target))["isAlive"]

    await eventually(is_dead)
    answer = await watch_since(call, target, cursor, "exit,error")
    assert answer["detail"] == "Matched error pattern: error: last words"
    answer = await watch_since(call, target, answer["cursor"], "exit,error")
    assert answer["detail"].startswith("Process exited with code 4")


async def test_a_bad_cursor_is_refused(rig: Rig, call: Call, fails: Fails, pane: Shell) -> None:
    made = await pane()
    assert "'since' must be a cursor of this pane" in await fails(
        "watch-pane", paneId=made.pane, since="x.1.2.3"
    )


async def test_output_that_is_gone_is_told(rig: Rig, call: Call, pane: Shell) -> None:
    target = await start_line_runner(rig, pane)
    cursor = await read_cursor(call, target)
    await type_and_see(rig, call, target, "seq 1 400000; echo EN''D", "END")
    answer = await watch_since(call, target, cursor, "pattern:^END$")
    assert answer["event"] == "pattern:^END$"
    assert "not seen" in answer["output"].split("\n")[0]
