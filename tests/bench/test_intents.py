"""Tests of `./dev bench intents`: what it counts, and that it tells true answers from others."""

from __future__ import annotations

import json
from typing import cast

import pytest

from bench.intent_play import ACTS, Play
from bench.intent_servers import MANUALS
from bench.intent_tasks import TASKS, Task
from bench.intents import CALL_FAILS, Outcome, missing_programs, outcome, total
from bench.measure import count_tokens
from bench.peer_servers import OURS, RIVALS, Client

BY_NAME = {task.name: task for task in TASKS}
TESTS = BY_NAME["run tests and read the failure"]
QUESTIONS = BY_NAME["answer two questions of a program"]


def played(task: Task, *answers: object, code: str = "4321") -> Play:
    """Return a play of a task to which a server has answered this."""
    play = Play(cast("Client", None), {"code": code})
    play.answers += [json.dumps(answer) for answer in answers]
    return play


@pytest.mark.parametrize("task", [TESTS, QUESTIONS], ids=lambda task: task.name)
async def test_muxpilot_does_a_task_truly_and_each_call_is_counted(task: Task) -> None:
    found = await outcome(OURS, task)
    asked = [{"name": way.tool, "arguments": way.arguments} for way in task.ours]
    assert found.is_true, found
    assert found.calls == len(task.ours)
    assert found.tokens_in == sum(map(count_tokens, asked))
    assert found.tokens_out > 20 * found.calls
    assert found.seconds > 0


async def test_muxpilot_has_a_session_in_psql() -> None:
    task = BY_NAME["a session in psql"]
    if missing := missing_programs(task):
        pytest.skip(f"not installed: {', '.join(missing)}")
    found = await outcome(OURS, task)
    assert found.is_true, found


@pytest.mark.parametrize(
    ("answer", "is_true"),
    [
        ({"exitCode": 1, "output": "AssertionError: 41 != 4321\nFAILED (failures=1)"}, True),
        ({"exit_status": 1, "output": ["AssertionError: 41 != 4321", "FAILED (failures=1)"]}, True),
        ({"text": "AssertionError: 41 != 4321\nFAILED (failures=1)\nexit=1"}, True),
        ({"exitCode": 0, "output": "AssertionError: 41 != 4321\nFAILED (failures=1)"}, False),
        ({"exitCode": None, "output": "AssertionError: 41 != 4321\nFAILED (failures=1)"}, False),
        ({"exitCode": 1, "output": "AssertionError: 41 != 4320\nFAILED (failures=1)"}, False),
        ({"exitCode": 1}, False),
    ],
)
def test_an_answer_is_true_only_with_the_right_text_and_exit_code(answer: object, is_true: bool) -> None:
    assert played(TESTS, answer).is_true(TESTS) is is_true


def test_no_script_types_what_only_the_program_can_know() -> None:
    typed = [json.dumps(way.arguments) for task in TASKS for way in task.ours]
    typed += [step.text for task in TASKS for step in task.steps]
    assert not [text for text in typed if "<code>" in text]
    assert all(any("<code>" in wanted for wanted in task.truth) for task in TASKS)


def test_every_server_and_every_step_can_be_played() -> None:
    assert set(MANUALS) == {peer.name for peer in RIVALS}
    assert {step.act for task in TASKS for step in task.steps} == set(ACTS)
    assert len(TASKS) >= 12


def test_totals_are_sums_and_a_failed_call_is_not_true() -> None:
    outcomes = [Outcome(2, 10, 100, 0.6, is_true=True), Outcome(3, 20, 2000, 1.6, False, CALL_FAILS)]
    assert total(outcomes) == "5 calls, 30 + 2,100, 2 s, 1 of 2 true"
    assert str(outcomes[1]) == "3 calls, 20 + 2,000, 1.6 s, the call fails"


def test_a_task_whose_program_is_missing_is_told() -> None:
    task = Task("none", [], [], [], needs=["sh", "no-such-program"])
    assert missing_programs(task) == ["no-such-program"]
