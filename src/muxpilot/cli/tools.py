"""`muxpilot tools`: what is offered."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace

from muxpilot.app import build
from muxpilot.config import Audit, Settings


def run(settings: Settings, arguments: Namespace) -> int:
    offered = list(build(replace(settings, channel=False, audit=Audit())).dispatch.offered.values())
    if arguments.json:
        print(json.dumps({"tools": [tool.listing for tool in offered]}, ensure_ascii=False, indent=2))
        return 0
    width = max((len(tool.exposed) for tool in offered), default=0)
    for tool in offered:
        print(f"{tool.exposed:{width}}  {tool.description.splitlines()[0]}")
    return 0
