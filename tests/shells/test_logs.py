"""The log says what happens to a command, and contains none of its text."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from muxpilot.shells.shell_stack import ShellStack
from tests.shells.conftest import Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

AREA = "muxpilot.shells"


async def test_the_log_of_a_command_has_its_steps_and_not_its_text(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, AREA)
    pane = await desk.own_pane()
    answer = await desk.run(pane, "echo in''secret; sh -c 'exit 3'")
    lines = [record.getMessage() for record in caplog.records if record.name == AREA]
    steps = (
        "command queued",
        "cross-process pane lock taken",
        "prompt is ready",
        "command begins",
        "line typed",
        "START",
        "before=typed after=running",
        "STATUS",
        "command ended",
    )
    found = [next((at for at, line in enumerate(lines) if step in line), -1) for step in steps]
    assert -1 not in found, [step for step, at in zip(steps, found, strict=True) if at < 0]
    ended = next(line for line in lines if "command ended" in line)
    assert answer["commandId"] in ended
    assert f"pane={pane}" in ended
    assert "status=failed exit_code=3" in ended
    assert not [line for line in lines if "secret" in line or "echo" in line]


async def test_one_number_leads_from_a_call_to_its_command_and_its_locks(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "muxpilot")
    pane = await desk.own_pane()
    caplog.clear()
    answer = await desk.run(pane, "true")
    lines = [record.getMessage() for record in caplog.records]
    begun = next(line for line in lines if line.startswith("call begins"))
    call = begun.partition(" call=")[2].partition(" ")[0]
    queued = next(line for line in lines if line.startswith("command queued"))
    assert f"command={answer['commandId']} call={call} " in queued
    assert any(f"call lock taken holder=call-{call} " in line for line in lines)
    assert any(f"call lock taken holder={answer['commandId']} " in line for line in lines)
    assert any("verdict stage=call tool=execute-command" in line for line in lines)
    caplog.clear()
    await desk.call("watch-pane", paneId=pane, triggers="idle:0.01")
    lines = [record.getMessage() for record in caplog.records]
    assert any(f"watch=call-{int(call) + 1} call={int(call) + 1} " in line for line in lines)


async def test_the_log_names_the_argument_that_is_wrong(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "muxpilot.calls")
    await desk.expect_error("execute-command", paneId="%0", command=["in''secret"])
    assert "outcome=bad-input argument=command" in caplog.text
    assert "secret" not in caplog.text


async def test_the_log_says_why_a_command_does_not_start(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")
    await desk.type_half_line(pane, "echo th")
    caplog.set_level(logging.DEBUG, AREA)
    waiting = await desk.run(pane, "echo ours", timeoutSeconds=0.1, queue=True)
    await desk.wait_until_queued(waiting, "typed at the prompt")
    lines = [record.getMessage() for record in caplog.records if record.name == AREA]
    checks = [line for line in lines if "waiting for the prompt" in line and waiting["commandId"] in line]
    assert "typed at the prompt" in checks[0]
    desk.type_as_person(pane, "", "C-c")
    assert (await desk.get_result(waiting))["output"] == "ours\n"


async def test_a_reader_that_fails_ends_the_commands_and_is_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "true")

    def fail(self: ShellStack, data: bytes) -> None:
        raise AssertionError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(ShellStack, "feed_text", fail)
        answer: dict[str, Any] = await desk.run(pane, "echo x")
    assert answer["status"] == "lost"
    assert "muxpilot failed" in answer["reason"]
    assert (await desk.run(pane, "echo again"))["output"] == "again\n"
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert ["read stream" in error for error in errors] == [True]
