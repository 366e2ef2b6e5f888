"""Prompts contain their arguments."""

from __future__ import annotations

import pytest

from tests.rigs.wire import Message, Wire

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_prompts_are_listed_with_descriptions_for_all_they_take(old: Wire, modern: Wire) -> None:
    for wire in (old, modern):
        prompts = (await wire.result("prompts/list"))["prompts"]
        assert [row["name"] for row in prompts] == ["debug-service", "run-and-report", "drive-tui"]
        assert all(row["description"] for row in prompts)
        assert all(argument["description"] for row in prompts for argument in row["arguments"])


async def test_a_prompt_holds_what_it_was_given(old: Wire, modern: Wire) -> None:
    arguments = {"command": "make {all} %s", "symptom": "slow"}
    for wire in (old, modern):
        got = await wire.result("prompts/get", {"name": "debug-service", "arguments": arguments})
        assert got["description"]
        text = got["messages"][0]["content"]["text"]
        assert "Command: make {all} %s\nSymptom: slow\n" in text


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": "no-such"}, "Unknown prompt: no-such"),
        ({"name": "run-and-report"}, "'command' is missing"),
        ({"name": "run-and-report", "arguments": {"command": "  "}}, "'command' is missing"),
        ({"name": "run-and-report", "arguments": {"command": "x", "other": "y"}}, "no argument 'other'"),
        ({"name": "drive-tui", "arguments": {"program": "vi"}}, "'goal' is missing"),
        ({"name": "run-and-report", "arguments": {"command": 3}}, "Invalid request parameters"),
    ],
)
async def test_a_prompt_with_bad_arguments_is_an_error(old: Wire, params: Message, words: str) -> None:
    fault = await old.error("prompts/get", params)
    assert fault["code"] == -32602
    assert words in fault["message"]
