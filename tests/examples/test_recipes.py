"""Every recipe of docs/recipes.md is played as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.wire import Wire, private_place

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
RECIPE = re.compile(r"^### … (.+?)\n(.*?)(?=^##|\Z)", re.M | re.S)
RECIPES = {
    title: re.findall(r"^```text\n(.*?)^```", body, re.M | re.S)
    for title, body in RECIPE.findall(PAGE.read_text())
}
NAMED = (
    *("ID-first targeting", "Task-per-session layout", "Stateful shell context", "Continuous output pane"),
    *("Interactive prompt automation", "Interactive interrupts", "Synchronized panes broadcast"),
    *("Buffer handoff + probe", "Pane rearrangements", "Metadata + zoom", "Audit-ready context bundle"),
    "Agent orchestration",
)


def test_there_are_thirty_recipes_and_the_named_workflows_are_among_them() -> None:
    assert len(RECIPES) == 30
    assert [name for name in NAMED if f"(**{name}**)" not in " ".join(RECIPES)] == []


@pytest.mark.timeout(180)
@pytest.mark.parametrize("title", RECIPES)
async def test_a_recipe_answers_what_the_page_says(title: str) -> None:
    [steps] = RECIPES[title]
    with private_place() as place:
        if steps.startswith(("set-buffer", "ask-person")):  # these start no tmux server
            place.tmux("new-session", "-d", "-s", "person", "exec cat")
        async with place.serve("--scope", "all", "--workspace", "demo") as wire:
            await wire.shake_hands()
            await play(wire, steps)


async def play(wire: Wire, steps: str) -> None:
    """Make the calls of a recipe, and compare the answers."""
    known: dict[str, str] = {}
    answer: Any = None
    for line in steps.splitlines():
        if line.startswith("-> "):
            wanted = json.loads(line[3:])
            assert matches(wanted, answer), f"{line}\nin {json.dumps(answer)[:2000]}"
            continue
        tool, _, arguments = line.partition(" ")
        for name, value in known.items():
            arguments = arguments.replace(f"<{name}>", value)
        message = await (await wire.start_call(tool, **json.loads(arguments)))
        result = message["result"]
        assert not result["isError"], f"{line}: {result}"
        answer = result.get("structuredContent", result["content"][0]["text"])
        if isinstance(answer, dict):
            known |= {name: value for name, value in answer.items() if isinstance(value, str)}


def matches(wanted: Any, given: Any) -> bool:
    """Return whether an answer has what the page shows. A `…` in a text stands for any text."""
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(
            matches(value, given.get(key)) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(given, list) and len(given) == len(wanted) and all(map(matches, wanted, given))
    if isinstance(wanted, str) and "…" in wanted:
        pattern = ".*".join(map(re.escape, wanted.split("…")))
        return isinstance(given, str) and re.fullmatch(pattern, given, re.S) is not None
    return bool(wanted == given)
