"""`muxpilot clean`: end the sessions and dead panes that agents have left behind."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from muxpilot.app import App
from muxpilot.cli.application import call_for_data, run_with_app
from muxpilot.cli.leftovers import Leftover, find_leftovers, find_new_use
from muxpilot.cli.stderr_notes import print_note
from muxpilot.config.model import Settings
from muxpilot.errors import NoServer, Refused
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.toolkit.answers import compact_json
from muxpilot.tools.panes import kill_pane
from muxpilot.tools.sessions import kill_session
from muxpilot.trace import area

_trace = area("cli")
_FAILED = 1
_TOOLS = {"session": kill_session, "pane": kill_pane}
_REFUSED = "it could not be ended: "


def run(settings: Settings, arguments: Namespace) -> int:
    """End what is left behind and say what stays, and why; with --dry-run, only say it."""
    return run_with_app(settings, lambda app: _clean(app, arguments))


async def _clean(app: App, arguments: Namespace) -> int:
    try:
        found = await find_leftovers(app, ends_running=arguments.running)
    except NoServer:
        found = []  # another muxpilot has just ended the last session
    if not arguments.dry_run:
        found = [await end_leftover(app, row) if not row.kept_because else row for row in found]
    if arguments.json:
        _print_json(found, is_dry=arguments.dry_run)
    else:
        _print_lines(found, is_dry=arguments.dry_run)
    return _FAILED if any(row.kept_because.startswith(_REFUSED) for row in found) else 0


async def end_leftover(app: App, row: Leftover) -> Leftover:
    """End a session or a pane with the tool for it, so that the policy and the audit log apply."""
    try:
        use = await find_new_use(app, row)
        if use is None:
            return row  # another muxpilot has ended it
        if use:
            return replace(row, kept_because=use)
        _trace.debug("leftover ends", kind=row.kind, id=row.id)
        answer = await call_for_data(app, _TOOLS[row.kind], **{f"{row.kind}Id": row.id})
    except NoServer:
        return row  # what another muxpilot has ended was the last session
    except Refused as error:
        if await _has_ended(app, row):
            return row
        return replace(row, kept_because=f"{_REFUSED}{error}")
    return replace(row, processes=tuple(answer["processes"]))


async def _has_ended(app: App, row: Leftover) -> bool:
    try:
        return await find_new_use(app, row) is None
    except NoServer:
        return True


def _print_json(rows: list[Leftover], *, is_dry: bool) -> None:
    ended = [{**_plain(row), "processes": list(row.processes)} for row in rows if not row.kept_because]
    kept = [{**_plain(row), "reason": row.kept_because} for row in rows if row.kept_because]
    print(compact_json({"dryRun": is_dry, "ended": ended, "kept": kept}))


def _plain(row: Leftover) -> dict[str, Any]:
    return {"kind": row.kind, "id": row.id, "sessionName": row.name}


def _print_lines(rows: list[Leftover], *, is_dry: bool) -> None:
    for row in rows:
        what = f"{row.kind} {row.id} ({sanitize_text(row.name)})"
        if row.kept_because:
            print(f"kept {what}: {row.kept_because}")
            continue
        print(f"{'would end' if is_dry else 'ended'} {what}")
        for each in row.processes:
            outcome = f"ended by {each['signal']}" if each["signal"] else "still runs"
            print(f"  process {each['pid']} ({sanitize_text(each['command'])}): {outcome}")
    if all(row.kept_because for row in rows):
        print_note("There is nothing to end." if rows else "Nothing is left behind.")
