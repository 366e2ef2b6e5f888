"""`muxpilot policy explain TOOL [JSON]`: judge a call without making it, and name the key that decides.

Without JSON, for a tool that needs arguments, the tool itself is judged.
"""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from muxpilot.app import App, build
from muxpilot.cli.call import parse_json_object
from muxpilot.config.model import AuditSettings, Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import ApprovalNeeded, BadInput, Denied, MuxpilotError, NoServer, NotFound
from muxpilot.files.allowed_paths import PathNotAllowed
from muxpilot.policy.model import Policy
from muxpilot.policy.targets_reached import find_reached_targets, target_ids

# What is printed first, and the exit code.
_EXIT_CODES = {"allow": 0, "deny": 1, "ask": 3}


def run(settings: Settings, arguments: Namespace) -> int:
    """Print `allow`, `deny` or `ask` with the reason. Return 0, 1 or 3."""
    chosen = settings if arguments.scope else replace(settings, scope=Scope.ALL)
    raw = None if arguments.arguments is None else parse_json_object(arguments.arguments)
    verdict, words = asyncio.run(_explain(chosen, arguments.tool, raw))
    print(f"{verdict}: {words}")
    return _EXIT_CODES[verdict]


async def _explain(settings: Settings, tool: str, raw: dict[str, Any] | None) -> tuple[str, str]:
    app = build(replace(settings, audit=AuditSettings()))
    try:
        return await _judge_call(app, tool, raw or {})
    except BadInput:
        if raw is not None or tool not in app.dispatch.offered:
            raise
        asking = app.judge.policy.asking_key(app.dispatch.native_name(tool, {}))
        if asking is not None:
            return "ask", f"{asking}: {tool} must be allowed by a person"
        return "allow", "no rule denies the tool; give arguments to judge a call"
    finally:
        await app.close()


async def _judge_call(app: App, tool: str, raw: dict[str, Any]) -> tuple[str, str]:
    policy = app.judge.policy
    key = policy.closing_key(app.dispatch.native_name(tool, raw))
    if key is not None:
        return "deny", f"{key}: the tool is not allowed"
    if tool not in app.dispatch.offered:
        raise BadInput(f"There is no tool {tool!r}.", "Use muxpilot tools to list the tools.")
    faults = await _find_errors(app, tool, raw)
    refusals = [words for words in map(_describe_denial, faults) if words is not None]
    if refusals:
        asks = all(isinstance(fault, ApprovalNeeded) for fault in faults)
        return "ask" if asks else "deny", "; ".join(refusals)
    failing = f"it would fail: {' '.join(map(str, faults))}" if faults else ""
    if any(_is_undecided(policy, fault) for fault in faults):
        return "deny", failing
    reason = "no rule denies it" if policy.is_on else "security.enabled is false"
    return "allow", f"{reason}; {failing}" if failing else reason


async def _find_errors(app: App, tool: str, raw: dict[str, Any]) -> list[MuxpilotError]:
    """Return the errors that a call would raise, as far as they can be known. Raise for bad arguments."""
    found: Sequence[MuxpilotError] = ()
    try:
        request, found = await app.dispatch.dry_run(tool, raw)
        if target_ids(request.arguments):
            # This raises for a target that does not exist.
            await find_reached_targets(request.tool, request.tmux, request.arguments)
    except BadInput:
        raise
    except MuxpilotError as error:
        return [*found, error]
    return [*found]


def _describe_denial(fault: MuxpilotError) -> str | None:
    if isinstance(fault, Denied):
        return f"{fault.key}: {fault.why}"
    return f"{fault.key}: {fault.what.rstrip('.')}" if isinstance(fault, PathNotAllowed) else None


def _is_undecided(policy: Policy, fault: MuxpilotError) -> bool:
    """Return whether a rule could not be evaluated. Such a call counts as denied."""
    if isinstance(fault, NotFound | NoServer):
        return policy.needs_targets
    return not isinstance(fault, BadInput)
