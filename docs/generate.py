"""Write the generated parts of docs/: `./dev docs`. With `--check`, only say whether they are up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from muxpilot.cli.arguments import build_parser
from muxpilot.cli.man_page import man_page
from muxpilot.cli.parser_facts import read_parser
from muxpilot.config.scope import Scope
from muxpilot.toolkit.arguments import Argument
from muxpilot.toolkit.spec import SOCKET, Tool
from muxpilot.tools import TOOLS

TARGET = Path(__file__).with_name("tools.md")
MANUAL = Path(__file__).with_name("muxpilot.1")

_HEAD = """\
# Tools

Look up a tool: its use, arguments, answer, scopes and effect. Call it from the shell to try it:

```console
$ muxpilot call create-session '{"name": "dev", "cwd": "/usr"}'
{"sessionId":"$0","sessionName":"dev","windowId":"@0","paneId":"%0","created":true}
```

`./dev docs` writes this page from the tools themselves: do not edit it.

A tool is offered in the scopes that its row names (`--scope`, see [cli.md](cli.md)). An argument with `?` may
be left out, one with `=` has that default; a field of an answer with `?` may be null or left out. Every tool
also takes `socket?`, a tmux server: the path of its socket, or a name of `[servers]` in the configuration.
Effects: `read` changes nothing, `create` adds, `change` alters, `type` reaches a program, `destroy` ends
something.
"""

# Titles of sections whose files have another name.
_TITLES = {"pane_text": "Reading", "screens": "Screens and mouse", "run_on": "Many panes", "repl": "REPLs"}


def document() -> str:
    offered = [tool for tool in TOOLS if tool.scopes]
    parts = [_HEAD]
    for noun in dict.fromkeys(_noun(tool) for tool in offered):
        parts.append(f"## {_TITLES.get(noun, noun.capitalize())}\n")
        parts.append("| tool | arguments | answer | scopes | effect |\n| --- | --- | --- | --- | --- |")
        parts += [_row(tool) for tool in offered if _noun(tool) == noun]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _noun(tool: Tool) -> str:
    """The file that a tool is declared in."""
    return str(tool.run.__module__.rpartition(".")[2])


def _row(tool: Tool) -> str:
    name = f"**{tool.name}**<br>{_escaped(tool.description)}"
    given = [_argument(row) for row in tool.arguments if row is not SOCKET]
    scopes = ", ".join(scope.value for scope in Scope if scope in tool.scopes)
    cells = (name, "<br>".join(given) or "none", _answer(tool), scopes, tool.effect.value)
    return f"| {' | '.join(cells)} |"


def _argument(row: Argument) -> str:
    mark = "" if row.is_required else "?" if row.default is None else f" = {_literal(row.default)}"
    return f"`{row.wire_name}{mark}` {_escaped(row.description)}{_allowed(row)}"


def _allowed(row: Argument) -> str:
    """What the schema allows, where the description does not say so already."""
    schema = row.type.schema
    if "enum" in schema:
        return f" ({', '.join(schema['enum'])})"
    if "minimum" in schema:
        return f" ({schema['minimum']:.15g} to {schema['maximum']:.16g})"
    return ""


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answer(tool: Tool) -> str:
    if tool.output_schema is None:
        return "the text" if get_type_hints(tool.run)["return"] is str else "as its arguments ask"
    shape = f"`{_shape(tool.output_schema)}`"
    if tool.shows_if is not None:
        shape += f"; with `{tool.shows_if}` as [input.md](input.md#act-and-see) says"
    return shape


def _shape(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_shape(part) for part in schema["anyOf"])
    if schema["type"] == "array":
        return f"[{_shape(schema['items'])}]"
    if schema["type"] == "object":
        return f"{{{', '.join(_fields(schema))}}}"
    return "" if isinstance(schema["type"], str) else "?"


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        shape = _shape(inner)
        yield f"{name}: {shape}" if shape[:1] in ("[", "{") else f"{name}{shape}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def manual() -> str:
    """The man page, muxpilot(1)."""
    return man_page(read_parser(build_parser()))


def main() -> int:
    is_fresh = True
    for target, text in ((TARGET, document()), (MANUAL, manual())):
        if "--check" not in sys.argv:
            target.write_text(text)
            print(f"wrote {target}")
        elif not target.exists() or target.read_text() != text:
            print(f"{target} is stale: run ./dev docs")
            is_fresh = False
    return 0 if is_fresh else 1


if __name__ == "__main__":
    raise SystemExit(main())
