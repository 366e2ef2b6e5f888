"""What is true of every tool: errors name the bad argument, and hostile text stays text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from muxpilot.config.scope import Scope
from muxpilot.tools import TOOLS
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMES = [tool.name for tool in TOOLS if Scope.ALL in tool.scopes]


# Something good for each argument that a tool cannot do without; the targets are made by the test.
GOOD: dict[str, Any] = {
    "action": "stop",
    "anchor": {"offsetBytes": 0, "matchLen": 1, "buffer": "good"},
    "column": 0,
    "clientTty": "/dev/pts/none",
    "command": "true",
    "commandId": "cmd-0",
    "content": "x",
    "contextBytes": 10,
    "enabled": True,
    "from": "good",
    "hex": "61",
    "input": "x",
    "keys": "x",
    "layout": "tiled",
    "message": "x",
    "mode": "literal",
    "name": "good",
    "path": "/tmp",
    "panes": [{"paneId": "%0"}],
    "pattern": "x",
    "query": "x",
    "question": "x?",
    "row": 0,
    "text": "x",
    "title": "x",
    "to": "better",
    "watchId": "w0",
}
# … and what some tools want besides.
MORE: dict[str, dict[str, Any]] = {
    "resize-pane": {"width": 50},
    "rename-session": {"newName": "good"},
    "execute-command": {"timeoutSeconds": 0},
    "run-in-repl": {"timeout": 0},
}

WRONG: dict[str, list[Any]] = {
    "string": [5, 1.5, True, ["x"], {"x": "y"}],
    "integer": ["5", 1.5, True, [5], {}],
    "number": ["5", True, [5], {}],
    "boolean": ["true", 1, 0, [True], {}],
    "array": ["x", 5, {}, [5], [None]],
    "object": ["x", 5, ["x"], {"A": 5}, {"A": None}],
}

NO_TARGETS = ["", " ", ":", "=", ".", ":.", "dev*", "*", "{last}", "{end}", "!", "+", "-", "~", "no such"]
NO_IDS = ["$999999", "@999999", "%999999", "$", "%x", "@-1", "$0x1", "%9999999999999999999"]

# Nothing of our own insides: no traceback, module, file or type of Python.
INSIDES = re.compile(
    r"Traceback|incident|muxpilot\.|site-packages|\.py\b|line \d+"
    r"|\b(NoneType|[A-Z]\w*Error|dict|bool|int|str|float|tuple|None|True|False|self)\b"
)


def types_of(schema: dict[str, Any]) -> list[str]:
    return [row["type"] for row in schema.get("anyOf", [schema])]


def is_target(argument: str) -> bool:
    return argument.lower().endswith(("paneid", "windowid", "sessionid"))


class Bench:
    """One tool, its arguments, and a session for its targets."""

    def __init__(self, rig: Rig, name: str, targets: dict[str, str]) -> None:
        self.rig = rig
        self.name = name
        self.panes = {targets["paneId"], targets["targetPaneId"]}
        self.schema: dict[str, Any] = next(tool for tool in TOOLS if tool.name == name).input_schema
        self.arguments: dict[str, dict[str, Any]] = self.schema["properties"]
        self.required: list[str] = self.schema.get("required", [])
        good = {argument: targets.get(argument, GOOD.get(argument)) for argument in self.required}
        # Left out, it would mean a shell, which runs what is typed.
        pane = {"paneId": targets["paneId"]} if "paneId" in self.arguments else {}
        self.good = good | pane | MORE.get(name, {})

    async def refused(self, argument: str, **arguments: Any) -> str:
        """Return the text of a refusal. It must name the argument and show nothing of our internals."""
        words = await self.rig.fails(self.name, **arguments)
        assert f"'{argument}'" in words, f"{self.name} {arguments}: {words}"
        assert not INSIDES.search(words), f"{self.name} {arguments}: {words}"
        assert len(words) < 500
        return words

    def wrong(self, argument: str) -> Iterator[Any]:
        """Yield values of types that the argument does not accept."""
        kinds = types_of(self.arguments[argument])
        for kind in kinds:
            for value in WRONG[kind]:
                if not any(fits(other, value) for other in kinds):
                    yield value


def fits(kind: str, value: Any) -> bool:
    python = {"string": str, "boolean": bool}.get(kind)
    if python is not None:
        return isinstance(value, python)
    if kind == "array":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return kind in ("integer", "number") and type(value) in (int, *((float,) if kind == "number" else ()))


async def bench(rig: Rig, name: str, pane: Shell) -> Bench:
    made, other = await pane("exec sleep 60"), await pane("exec sleep 60")
    targets = {
        "paneId": made.pane,
        "sourcePaneId": made.pane,
        "targetPaneId": other.pane,
        "windowId": made.window,
        "sessionId": made.session,
        "targetSessionId": other.session,
    }
    return Bench(rig, name, targets)


def everything(rig: Rig) -> set[str]:
    form = "#{pane_id} #{window_layout} #{session_name} #{pane_title}"
    return set(rig.raw("list-panes", "-a", "-F", form).splitlines())


async def test_the_table_of_good_arguments_has_all_that_are_required(rig: Rig) -> None:
    assert sorted(NAMES) == sorted(rig.tools)
    required = {name for tool in rig.tools.values() for name in tool.input_schema.get("required", [])}
    assert {name for name in required if not is_target(name)} == set(GOOD)


@pytest.mark.parametrize("name", NAMES)
async def test_bad_arguments_are_refused_by_name(rig: Rig, pane: Shell, name: str) -> None:
    tried = await bench(rig, name, pane)
    before = everything(rig)
    words = await tried.refused("no such thing", **{**tried.good, "no such thing": 1})
    assert all(argument in words for argument in tried.arguments)
    for argument in tried.required:
        rest = {key: value for key, value in tried.good.items() if key != argument}
        assert "missing" in await tried.refused(argument, **rest)
        assert "must be" in await tried.refused(argument, **{**rest, argument: None})
    for argument, schema in tried.arguments.items():
        for value in tried.wrong(argument):
            assert "must be" in await tried.refused(argument, **{**tried.good, argument: value})
        for limit in ("minimum", "maximum"):
            if limit in schema:
                way = -1 if limit == "minimum" else 1
                for value in (schema[limit] + way, way * 10**400):
                    words = await tried.refused(argument, **{**tried.good, argument: value})
                    assert f"from {schema['minimum']} to {schema['maximum']}" in words
        if "enum" in schema:
            words = await tried.refused(argument, **{**tried.good, argument: "nonsense"})
            assert all(choice in words for choice in schema["enum"])
    after = everything(rig)
    assert after <= before
    assert not tried.panes & {row.split(" ")[0] for row in before - after}  # those of other tests may end


AIMED = [
    tool.name for tool in TOOLS if Scope.ALL in tool.scopes and any(row.type.target for row in tool.arguments)
]


@pytest.mark.parametrize("name", AIMED)
async def test_a_target_is_exactly_what_it_says_or_nothing(
    rig: Rig, call: Call, fails: Fails, pane: Shell, name: str
) -> None:
    tried = await bench(rig, name, pane)
    prefix = (await call("create-session", name=f"{name}-and-more"))["sessionName"][:-1]
    for argument in filter(is_target, tried.arguments):
        noun = re.sub("id$", "", argument.lower()).replace("source", "").replace("target", "")
        # Clients that fill in every argument give "" for an optional one that they leave out.
        nothing = NO_TARGETS if argument in tried.required else NO_TARGETS[1:]
        # A word is the name of a pane that some tools open; see tests/workspace/.
        opens = next(tool for tool in TOOLS if tool.name == name).opens_pane
        names = () if opens else (prefix,)
        for value in (*nothing, *NO_IDS, *names, f"{prefix}:", f"={prefix}", "x\ny", "-t"):
            words = await fails(name, **{**tried.good, argument: value})
            assert not INSIDES.search(words), words
            if value.strip(":.= "):
                assert f"not found. Use list-{noun}s" in words, f"{argument}={value!r}: {words}"
            else:
                assert f"'{argument}' must be a {noun} id" in words, words
    assert (await call("find-session", name=f"{name}-and-more"))["name"] == f"{name}-and-more"
    await call("kill-session", sessionId=f"{name}-and-more")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("send-keys", {"pane_id": True, "keys": "x", "delay_ms": 1}),
        ("read-pane", {"pane_id": True, "max_lines": 5}),
        ("capture-pane", {"pane_id": True}),
        ("search-panes", {"query": "x", "max_matches": 5, "context_lines": 0}),
    ],
)
async def test_snake_case_is_understood(rig: Rig, pane: Shell, name: str, arguments: dict[str, Any]) -> None:
    made = await pane("exec sleep 60")
    given = {key: made.pane if key == "pane_id" else value for key, value in arguments.items()}
    assert not (await rig.ask(name, given)).is_error


async def test_two_spellings_of_one_argument_are_refused(fails: Fails, pane: Shell) -> None:
    made = await pane("exec sleep 60")
    assert "'paneId' is given twice" in await fails("read-pane", paneId=made.pane, pane_id=made.pane)


@pytest.mark.parametrize("name", ["nonsense", "", "list_panes", "server-info", "pane-info", "x" * 10_000])
async def test_an_unknown_tool_is_a_protocol_error(rig: Rig, name: str) -> None:
    with pytest.raises(MCPError) as caught:
        await rig.client.call_tool(name, {})
    assert caught.value.error.code == -32602
    assert len(caught.value.error.message) < 200
    await rig.call("list-sessions")


HOSTILE = [
    "#(touch $CANARY)",
    "#{E:#(touch $CANARY)}",
    "##(touch $CANARY)#(touch $CANARY)",
    "$(touch $CANARY)",
    "`touch $CANARY`",
    "; touch $CANARY",
    "'; run-shell 'touch $CANARY'; '",
    '"; run-shell "touch $CANARY"; "',
    "} ; run-shell 'touch $CANARY' ; {",
    "x\nrun-shell 'touch $CANARY'\n",
    "x\r\ntouch $CANARY\r\n",
    "\x1b]0;#(touch $CANARY)\x07\x1bP1$r\x1b\\",
    "-F",
    "--",
    ";",
    "\\;",
    "#[fg=red]%H",
    "\x00",
]

# Text that is meant to be run: here only tmux must not read it.
RUN = [f": {text!r}" for text in ("#(touch $CANARY)", "#{E:#(touch $CANARY)}", "'; run-shell ")]


def variants(argument: str, schema: dict[str, Any]) -> Iterator[Any]:
    for text in RUN if argument == "command" else HOSTILE:
        if "string" in types_of(schema):
            yield text
        elif "array" in types_of(schema):
            yield [text]
        elif schema["type"] == "object":
            yield {"NAME": text}
            yield {text: "x"}


SHORT = {"timeout": 0.3, "timeoutMs": 200, "timeoutSeconds": 1}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", NAMES)
async def test_hostile_text_is_only_text(rig: Rig, pane: Shell, name: str) -> None:
    tried = await bench(rig, name, pane)
    server = rig.raw("display-message", "-p", "#{pid}")
    # A session may bear such a text as its name by now: what waits there must not wait long.
    good = tried.good | {key: limit for key, limit in SHORT.items() if key in tried.arguments}
    for argument, schema in tried.arguments.items():
        if argument == "socket" and name in ("create-session", "start-and-watch"):
            continue  # it would start a server there
        for value in variants(argument, schema):
            result = await rig.ask(name, {**good, argument: value})
            words = str(result.content)
            assert "incident" not in words, f"{name} {argument}={value!r}: {words}"
    rig.raw("run-shell", "true")
    assert not rig.canary.exists()
    assert rig.raw("display-message", "-p", "#{pid}") == server


async def test_folders_with_hostile_names_are_folders(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane("exec sleep 60")
    for number, text in enumerate(text for text in HOSTILE if "\x00" not in text and "/" not in text):
        folder = rig.folder / text
        folder.mkdir()
        mark = rig.folder / f"was-here-{number}"
        where = {"cwd": str(folder), "command": f"pwd >{mark}; exec sleep 60"}
        await call("create-window", sessionId=made.session, **where)

        async def written() -> bytes:
            return mark.read_bytes() if mark.exists() else b""  # noqa: B023 - asked for at once

        assert await eventually(written) == os.fsencode(f"{folder}\n")
    rig.raw("run-shell", "true")
    assert not rig.canary.exists()


async def test_the_canary_sings_when_tmux_does_run_a_text(rig: Rig, pane: Shell) -> None:
    made = await pane("exec sleep 60")
    control = rig.canary.with_name(f"{rig.canary.name}-control")

    async def sings() -> bool:
        # tmux may end the command with the client that asked for it: ask again.
        rig.raw("rename-window", "-t", made.window, "#(touch $CANARY-control)")
        return control.exists()

    await eventually(sings)
