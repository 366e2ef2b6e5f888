"""`muxpilot policy explain TOOL [JSON]`: the verdict on a call, and the key that gave it; nothing is done."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from dataclasses import replace
from typing import Any

from muxpilot.app import App, build
from muxpilot.cli.call import given
from muxpilot.config import Audit, Settings
from muxpilot.errors import BadInput, Denied, MuxpilotError
from muxpilot.toolkit.spec import Scope


def run(settings: Settings, arguments: Namespace) -> int:
    chosen = settings if arguments.scope else replace(settings, scope=Scope.ALL)
    is_allowed, words = asyncio.run(_explain(chosen, arguments.tool, given(arguments.arguments)))
    print(f"{'allow' if is_allowed else 'deny'}: {words}")
    return 0 if is_allowed else 1


async def _explain(settings: Settings, tool: str, raw: dict[str, Any]) -> tuple[bool, str]:
    app = build(replace(settings, audit=Audit()))
    try:
        return await _verdict(app, tool, raw)
    finally:
        await app.close()


async def _verdict(app: App, tool: str, raw: dict[str, Any]) -> tuple[bool, str]:
    """A target that is not there is told as such: what could not be looked up is not allowed."""
    key = app.judge.policy.closing_key(app.dispatch.native(tool, raw))
    if key is not None:
        return False, f"{key}: the tool is not allowed"
    if tool not in app.dispatch.offered:
        raise BadInput(f"There is no tool {tool!r}.", "Use muxpilot tools to see the tools there are.")
    try:
        await app.dispatch.permit(tool, raw)
    except Denied as denied:
        return False, f"{denied.key}: {denied.why}"
    except BadInput:
        raise
    except MuxpilotError as error:
        return False, f"it would fail: {error}"
    return True, "security.enabled is false" if not app.judge.policy.is_on else "no rule denies it"
