"""What holds for the registry and the source as a whole: prompts, hints, size on the wire, layers, sizes."""

from __future__ import annotations

import ast
import json
import statistics
import warnings
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from muxpilot.config import Settings
from muxpilot.config.scope import Scope
from muxpilot.toolkit.spec import Effect, Tool
from muxpilot.tools import TOOLS
from tests.contract.source import files, place, tree

OFFERED = [tool for tool in TOOLS if tool.scopes]

TOKENS = 4_000
LONGEST_FILE = 400
LONGEST_FUNCTION = 25  # of nine in ten

KILLING = {
    *("kill-session", "kill-window", "kill-pane", "detach-client", "respawn-pane"),
    *("set-buffer", "load-buffer", "save-buffer", "delete-buffer"),
}
TYPING = {"paste-text", "start-and-watch", "execute-command", "cancel-command", "run-in-repl", "run-on"}
READING = {
    *("socket-for-path", "list-sessions", "find-session", "get-current-session", "list-windows"),
    *("list-panes", "list-clients", "list-servers", "capture-pane", "read-pane", "search-panes"),
    *("list-buffers", "show-buffer", "search-buffer", "subsearch-buffer"),
    *("pane-state", "watch-pane", "wait-for-pane-change", "get-watch", "get-command-result", "list-commands"),
}


def name_of(tool: Tool) -> str:
    return tool.name


@pytest.mark.parametrize("tool", OFFERED, ids=name_of)
def test_a_tool_is_a_prompt_with_every_argument_described(tool: Tool) -> None:
    assert 0 < len(tool.description) <= 400
    assert tool.description[0].isupper()
    assert tool.description.endswith((".", ")"))
    for argument in tool.arguments:
        assert 0 < len(argument.description) <= 120, argument.wire
        assert not argument.description.endswith("."), argument.wire
    assert all(row["description"] for row in tool.input_schema["properties"].values())


@pytest.mark.parametrize("tool", OFFERED, ids=name_of)
def test_schemas_are_valid_and_closed(tool: Tool) -> None:
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    assert tool.input_schema["additionalProperties"] is False
    for argument in tool.arguments:
        if not argument.is_required and argument.default is not None:
            jsonschema.validate(argument.default, argument.schema())
    if tool.output_schema is not None:
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert tool.output_schema["type"] == "object"


@pytest.mark.parametrize("tool", OFFERED, ids=name_of)
def test_hints_are_honest(tool: Tool) -> None:
    hints = tool.effect.hints
    assert hints.get("readOnlyHint", False) is (tool.effect is Effect.READ)
    assert (tool.effect is Effect.READ) is (tool.name in READING)
    assert (tool.effect is Effect.DESTROY) is (tool.name in KILLING)
    types_into_panes = tool.name.startswith("send-") or tool.name in TYPING
    assert (tool.effect is Effect.TYPE) is types_into_panes
    assert hints.get("destructiveHint", False) is (tool.name in KILLING or types_into_panes)


def test_names_are_unique_and_every_tool_has_a_group() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
    assert all(tool.group for tool in TOOLS)
    assert all(Scope.ALL in tool.scopes for tool in OFFERED)


@pytest.mark.parametrize("tool", OFFERED, ids=name_of)
def test_every_tool_takes_a_socket(tool: Tool) -> None:
    assert "socket" in tool.input_schema["properties"]


def on_the_wire(scope: Scope) -> str:
    """The tools/list result as it goes to a client."""
    from muxpilot.app import build
    from muxpilot.server.mcp_server import Face

    face = Face(build(Settings(scope=scope, socket="/tmp/mx-none/s")))
    result: Any = face._tools
    text: str = result.model_dump_json(by_alias=True, exclude_unset=True)
    return text


def tokens(text: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own loading
        import bpe_openai  # type: ignore[import-untyped]
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def test_the_default_scope_is_cheap_to_list() -> None:
    text = on_the_wire(Scope.AGENTIC)
    assert len(json.loads(text)["tools"]) >= 14
    used = tokens(text)
    print(f"tools/list of agentic: {used} tokens, room for {TOKENS - used}")  # noqa: T201
    assert used < TOKENS


def test_files_are_short() -> None:
    assert [place(path) for path in files() if len(path.read_text().splitlines()) > LONGEST_FILE] == []


def function_lengths() -> Iterator[int]:
    """Lines of each function without its docstring and its signature."""
    for path in files():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                yield (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_are_short() -> None:
    lengths = list(function_lengths())
    assert statistics.quantiles(lengths, n=10)[-1] <= LONGEST_FUNCTION
    assert statistics.median(lengths) <= 6
