"""What holds for the registry and the source as a whole: prompts, hints, size on the wire, layers, sizes."""

from __future__ import annotations

import ast
import json
import re
import statistics
import warnings
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.toolkit.spec import Effect, Tool
from muxpilot.tools import TOOLS
from tests.contract.source import files, place, tree

DOCS = Path(__file__).parents[2] / "docs"
OFFERED = [tool for tool in TOOLS if tool.scopes]

# The bars for tools/list of the scope agentic, and what is kept free below them for ttlMinutes.
TOKENS, TOKENS_SHOWN_TO_MODELS = 3_000, 2_300
RESERVED = 20
# The second layer of the server that scope agentic comes from: these are always offered.
WORKFLOWS = {
    *("start-and-watch", "watch-pane", "pane-state", "run-in-repl", "write-to-display", "display-message"),
}
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
    "read-screen",
    *("list-buffers", "show-buffer", "search-buffer", "subsearch-buffer"),
    *("pane-state", "watch-pane", "wait-for-pane-change", "get-watch", "get-command-result", "list-commands"),
}


def wrong_in_texts(tool: Tool) -> Iterator[str]:
    """Yield what is wrong with the descriptions of a tool and its arguments."""
    text = tool.description
    if not (0 < len(text) <= 400 and text[0].isupper() and text.endswith((".", ")"))):
        yield f"{tool.name}: {text}"
    for argument in tool.arguments:
        if not 0 < len(argument.description) <= 120 or argument.description.endswith("."):
            yield f"{tool.name} {argument.wire_name}: {argument.description}"
    for name, row in tool.input_schema["properties"].items():
        if not row["description"]:
            yield f"{tool.name} {name} has no description"


def test_a_tool_is_a_prompt_with_every_argument_described() -> None:
    assert [problem for tool in OFFERED for problem in wrong_in_texts(tool)] == []


def test_schemas_are_valid_and_closed() -> None:
    for tool in OFFERED:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False, tool.name
        for argument in tool.arguments:
            if not argument.is_required and argument.default is not None:
                jsonschema.validate(argument.default, argument.schema())
        if tool.output_schema is not None:
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
            assert tool.output_schema["type"] == "object", tool.name


def has_honest_hints(tool: Tool) -> bool:
    hints = tool.effect.hints
    types_into_panes = tool.name.startswith("send-") or tool.name in TYPING
    return (
        hints.get("readOnlyHint", False) is (tool.effect is Effect.READ)
        and (tool.effect is Effect.READ) is (tool.name in READING)
        and (tool.effect is Effect.DESTROY) is (tool.name in KILLING)
        and (tool.effect is Effect.TYPE) is types_into_panes
        and hints.get("destructiveHint", False) is (tool.name in KILLING or types_into_panes)
    )


def test_hints_are_honest() -> None:
    assert [tool.name for tool in OFFERED if not has_honest_hints(tool)] == []


def test_names_are_unique_and_every_tool_has_a_group() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)
    assert all(tool.group for tool in TOOLS)
    assert all(Scope.ALL in tool.scopes for tool in OFFERED)


def test_every_tool_takes_a_socket() -> None:
    assert [tool.name for tool in OFFERED if "socket" not in tool.input_schema["properties"]] == []


def on_the_wire(scope: Scope) -> str:
    """The tools/list result as it goes to a client."""
    from muxpilot.app import build
    from muxpilot.server.mcp_server import MuxpilotServer

    server = MuxpilotServer(build(Settings(scope=scope, socket="/tmp/mx-none/s")))
    return server.introduction.tools


def tokens(text: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own loading
        import bpe_openai  # type: ignore[import-untyped]
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def shown_to_models(listed: str) -> str:
    """What a model needs of a tools/list result."""
    rows = json.loads(listed)["tools"]
    shown = [{key: row[key] for key in ("name", "description", "inputSchema")} for row in rows]
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def test_the_default_scope_is_cheap_to_list() -> None:
    text = on_the_wire(Scope.AGENTIC)
    used, used_shown = tokens(text), tokens(shown_to_models(text))
    print(f"tools/list of agentic: {used} tokens, {used_shown} of them for models")  # noqa: T201
    assert used + RESERVED < TOKENS
    assert used_shown + RESERVED < TOKENS_SHOWN_TO_MODELS


def test_the_docs_say_what_a_scope_costs() -> None:
    """Figures have a date, and a description may change after it: a tenth more or less is still true."""
    page = (DOCS / "scopes.md").read_text()
    for scope in (Scope.AGENTIC, Scope.PRIMITIVES, Scope.ALL):
        row = re.search(rf"^\| `{scope.value}` \| (\d+) \| ([\d,]+) \| ([\d,]+) \|$", page, re.M)
        assert row is not None, scope
        count, *said = (int(cell.replace(",", "")) for cell in row.groups())
        text = on_the_wire(scope)
        assert count == len(json.loads(text)["tools"])
        assert said == [pytest.approx(tokens(each), rel=0.1) for each in (text, shown_to_models(text))]
        if scope is Scope.AGENTIC:
            assert f"| tokens of `tools/list` | {said[0]:,} |" in (DOCS.parent / "README.md").read_text()


def test_the_default_scope_has_what_agents_do() -> None:
    names = {row["name"] for row in json.loads(on_the_wire(Scope.AGENTIC))["tools"]}
    assert names >= WORKFLOWS
    assert names >= {"execute-command", "get-command-result", "send-keys", "read-pane", "capture-pane"}


def test_every_listed_schema_allows_every_answer() -> None:
    """What tools/list leaves out of a schema must not be refused by it."""
    for scope in (Scope.AGENTIC, Scope.ALL):
        for row in json.loads(on_the_wire(scope))["tools"]:
            for name in ("inputSchema", "outputSchema"):
                assert row.get(name, {}).get("additionalProperties") is not False, row["name"]


def test_the_instructions_are_ten_lines() -> None:
    from muxpilot.server.instructions import INSTRUCTIONS

    assert len(INSTRUCTIONS.splitlines()) == 10
    assert tokens(INSTRUCTIONS) < 400


def names_in_commands(module: ast.Module) -> set[int]:
    """Return the ids of literals that begin a tmux command: `("list-panes", "-a")` names no tool."""
    found: set[int] = set()
    for node in ast.walk(module):
        items = node.elts if isinstance(node, ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        texts = [
            item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)
        ]
        if any(text.startswith("-") for text in texts):
            found |= {id(item) for item in items}
    return found


def test_no_module_outside_of_tools_and_dialects_names_a_tool() -> None:
    """Facts about a tool are in its declaration. tmux/ names tmux commands; some tools share names."""
    names = {tool.name for tool in TOOLS}
    wrong = []
    for path in files():
        if place(path).startswith(("tools/", "dialects/", "tmux/")):
            continue
        commands = names_in_commands(tree(path))
        wrong += [
            f"{place(path)}:{node.lineno} {node.value}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Constant) and node.value in names and id(node) not in commands
        ]
    assert wrong == []


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
