"""`muxpilot tools`: list the tools that a scope offers."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace

from muxpilot.app import build
from muxpilot.config.model import AuditSettings, Settings


def run(settings: Settings, arguments: Namespace) -> int:
    """Print each tool's name and first line, or the JSON that a client gets."""
    dispatch = build(replace(settings, channel=False, audit=AuditSettings())).dispatch
    offered = list(dispatch.offered.values())
    if arguments.json:
        print(json.dumps({"tools": dispatch.list_tools()}, ensure_ascii=False, indent=2))
        return 0
    width = max((len(tool.exposed_name) for tool in offered), default=0)
    for tool in offered:
        print(f"{tool.exposed_name:{width}}  {tool.description.splitlines()[0]}")
    return 0
