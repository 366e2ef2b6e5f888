"""`muxpilot tools`: what is offered."""

from __future__ import annotations

import json
from argparse import Namespace

from muxpilot.config import Settings
from muxpilot.toolkit.spec import Tool
from muxpilot.tools import TOOLS


def run(settings: Settings, arguments: Namespace) -> int:
    offered = [tool for tool in TOOLS if settings.scope in tool.scopes]
    if arguments.json:
        print(json.dumps({"tools": [listed(tool) for tool in offered]}, ensure_ascii=False, indent=2))
        return 0
    width = max(len(tool.name) for tool in offered)
    for tool in offered:
        print(f"{tool.name:{width}}  {tool.description.splitlines()[0]}")
    return 0


def listed(tool: Tool) -> dict[str, object]:
    """A tool as tools/list shows it."""
    row: dict[str, object] = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "annotations": tool.effect.hints,
    }
    return row | ({"outputSchema": tool.output_schema} if tool.output_schema is not None else {})
