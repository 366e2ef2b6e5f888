"""`muxpilot call TOOL JSON`: one tool call from the shell."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from dataclasses import replace

from muxpilot.app import build
from muxpilot.config import Settings
from muxpilot.config.scope import Scope
from muxpilot.dispatch import UnknownTool
from muxpilot.errors import BadInput
from muxpilot.toolkit.answers import Answer


def run(settings: Settings, arguments: Namespace) -> int:
    """Every tool can be called by hand, whatever is offered to agents, unless a scope is asked for."""
    chosen = settings if arguments.scope else replace(settings, scope=Scope.ALL)
    answer = asyncio.run(_call(chosen, arguments.tool, given(arguments.arguments)))
    print(answer.text, file=sys.stderr if answer.is_error else sys.stdout)
    return 1 if answer.is_error else 0


def given(text: str) -> dict[str, object]:
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
    try:
        return await app.dispatch.call(tool, arguments)
    except UnknownTool:
        raise BadInput(
            f"There is no tool {tool!r}.", "Use muxpilot tools to see the tools there are."
        ) from None
    finally:
        await app.close()
