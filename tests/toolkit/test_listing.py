"""The brief listing leaves out what few agents need, and nothing that a call needs."""

from __future__ import annotations

from dataclasses import replace
from typing import get_type_hints

import pytest

from muxpilot.config.scope import Scope
from muxpilot.toolkit import answers, arguments, spec
from muxpilot.toolkit.arguments import parse_arguments
from muxpilot.toolkit.listing import list_briefly
from muxpilot.tools import TOOLS

AGENTIC = tuple(tool for tool in TOOLS if Scope.AGENTIC in tool.scopes)
ROWS = {row["name"]: row for row in list_briefly(AGENTIC)}


def test_only_the_socket_is_left_out_of_the_arguments_and_it_is_taken_all_the_same() -> None:
    for tool in AGENTIC:
        listed, whole = ROWS[tool.name]["inputSchema"], tool.listing["inputSchema"]
        assert whole["properties"].keys() - listed["properties"].keys() == {"socket"}
        assert listed.get("required") == whole.get("required")
    kill = next(tool for tool in AGENTIC if tool.name == "kill-pane")
    assert parse_arguments(kill.arguments, {"paneId": "%1", "socket": "far"})["socket"] == "far"


def test_a_description_is_listed_once_for_arguments_of_the_same_name() -> None:
    described = [
        (name, argument["description"])
        for row in ROWS.values()
        for name, argument in row["inputSchema"]["properties"].items()
        if "description" in argument
    ]
    assert ("paneId", "Name (main) or %3") in described
    assert sorted(set(described)) == sorted(described)


def test_fields_of_answers_are_listed_once() -> None:
    first, again = ROWS["execute-command"]["outputSchema"], ROWS["get-command-result"]["outputSchema"]
    assert {"commandId", "exitCode", "output"} <= first["properties"].keys()
    assert again == {"type": "object"}


def test_optional_fields_and_what_is_inside_of_fields_are_not_listed() -> None:
    assert ROWS["list-panes"]["outputSchema"] == {"type": "object", "properties": {"panes": {}}}
    assert "reason" not in ROWS["execute-command"]["outputSchema"]["properties"]


def test_a_text_or_a_list_of_texts_is_listed_as_both() -> None:
    triggers = ROWS["watch-pane"]["inputSchema"]["properties"]["triggers"]
    assert triggers["anyOf"] == [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    watch = next(tool for tool in AGENTIC if tool.name == "watch-pane")
    given = {"paneId": "%1", "triggers": ["exit", "bell"]}
    assert parse_arguments(watch.arguments, given)["triggers"] == ["exit", "bell"]


def test_the_types_of_each_tool_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them is most of the time between the start of the engine and the first listing."""
    functions: list[object] = []

    def read_and_note(function: object, *, include_extras: bool = False) -> dict[str, object]:
        functions.append(function)
        return get_type_hints(function, include_extras=include_extras)

    for module in (spec, answers, arguments):
        monkeypatch.setattr(module, "get_type_hints", read_and_note)
    assert list_briefly([replace(tool) for tool in AGENTIC]) == list(ROWS.values())
    assert functions == [tool.run for tool in AGENTIC]
