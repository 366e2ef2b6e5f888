"""`muxpilot call TOOL JSON`: one tool call from the shell."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from dataclasses import replace

from muxpilot.app import build
from muxpilot.calls import UnknownTool
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput
from muxpilot.toolkit.answers import Answer


def run(settings: Settings, arguments: Namespace) -> int:
    """Call one tool. Without --scope every tool can be called, whatever agents are offered."""
    chosen = settings if arguments.scope else replace(settings, scope=Scope.ALL)
    answer = asyncio.run(_call(chosen, arguments.tool, parse_json_object(arguments.arguments)))
    print(answer.text, file=sys.stderr if answer.is_error else sys.stdout)
    return 1 if answer.is_error else 0


def parse_json_object(text: str) -> dict[str, object]:
    """Return the arguments of a call, or raise BadInput with an example."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadInput(
            f"The arguments are not JSON: {error}.", 'Give an object such as {"name": "dev"}.'
        ) from None
    if not isinstance(value, dict):
        raise BadInput("The arguments are not a JSON object.", 'Give one such as {"name": "dev"}.')
    return value


async def _call(settings: Settings, tool: str, arguments: dict[str, object]) -> Answer:
    app = build(settings)
    app.services.jobs.checks_owners = False
    try:
        return await app.dispatch.call(tool, arguments)
    except UnknownTool:
        raise BadInput(f"There is no tool {tool!r}.", "Use muxpilot tools to list the tools.") from None
    finally:
        await app.close()
