"""`muxpilot policy explain TOOL [JSON]`: the verdict on a call, and the key that gave it; nothing is done.

Without arguments, where the tool needs some, the verdict is on the tool itself.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from muxpilot.app import App, build
from muxpilot.cli.call import given
from muxpilot.config import Audit, Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput, Denied, MuxpilotError, NoServer, NotFound
from muxpilot.files.allowed_paths import Outside
from muxpilot.policy.model import Policy
from muxpilot.policy.targets_reached import reach, targets


def run(settings: Settings, arguments: Namespace) -> int:
    chosen = settings if arguments.scope else replace(settings, scope=Scope.ALL)
    raw = None if arguments.arguments is None else given(arguments.arguments)
    is_allowed, words = asyncio.run(_explain(chosen, arguments.tool, raw))
    print(f"{'allow' if is_allowed else 'deny'}: {words}")
    return 0 if is_allowed else 1


async def _explain(settings: Settings, tool: str, raw: dict[str, Any] | None) -> tuple[bool, str]:
    app = build(replace(settings, audit=Audit()))
    try:
        return await _verdict(app, tool, raw or {})
    except BadInput:
        if raw is not None or tool not in app.dispatch.offered:
            raise
        return True, "no rule denies the tool; give arguments to have a call of it judged"
    finally:
        await app.close()


async def _verdict(app: App, tool: str, raw: dict[str, Any]) -> tuple[bool, str]:
    policy = app.judge.policy
    key = policy.closing_key(app.dispatch.native(tool, raw))
    if key is not None:
        return False, f"{key}: the tool is not allowed"
    if tool not in app.dispatch.offered:
        raise BadInput(f"There is no tool {tool!r}.", "Use muxpilot tools to see the tools there are.")
    faults = await _faults(app, tool, raw)
    refusals = [words for words in map(_refusal, faults) if words is not None]
    if refusals:
        return False, "; ".join(refusals)
    failing = f"it would fail: {' '.join(map(str, faults))}" if faults else ""
    if any(_leaves_open(policy, fault) for fault in faults):
        return False, failing
    reason = "no rule denies it" if policy.is_on else "security.enabled is false"
    return True, f"{reason}; {failing}" if failing else reason


async def _faults(app: App, tool: str, raw: dict[str, Any]) -> list[MuxpilotError]:
    """All that a call would meet, as far as it can be known before it; bad arguments are raised."""
    found: Sequence[MuxpilotError] = ()
    try:
        request, found = await app.dispatch.foresee(tool, raw)
        if targets(request.arguments):
            await reach(request.tool, request.tmux, request.arguments)  # a target that is not there is told
    except BadInput:
        raise
    except MuxpilotError as error:
        return [*found, error]
    return [*found]


def _refusal(fault: MuxpilotError) -> str | None:
    if isinstance(fault, Denied):
        return f"{fault.key}: {fault.why}"
    return f"{fault.key}: {fault.what.rstrip('.')}" if isinstance(fault, Outside) else None


def _leaves_open(policy: Policy, fault: MuxpilotError) -> bool:
    """Whether a rule could not be asked: what could not be looked up is not allowed."""
    if isinstance(fault, NotFound | NoServer):
        return policy.asks_of_targets
    return not isinstance(fault, BadInput)
