"""`muxpilot tools`: what is offered."""

from __future__ import annotations

import json
from argparse import Namespace

from muxpilot.config import Settings
from muxpilot.policy.model import load
from muxpilot.tools import TOOLS


def run(settings: Settings, arguments: Namespace) -> int:
    policy = load(settings, TOOLS)
    offered = [tool for tool in TOOLS if settings.scope in tool.scopes and tool.name not in policy.closed]
    if arguments.json:
        print(json.dumps({"tools": [tool.listing for tool in offered]}, ensure_ascii=False, indent=2))
        return 0
    width = max((len(tool.name) for tool in offered), default=0)
    for tool in offered:
        print(f"{tool.name:{width}}  {tool.description.splitlines()[0]}")
    return 0
