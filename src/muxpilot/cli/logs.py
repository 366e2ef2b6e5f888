"""`muxpilot logs`: print what a pane or a command has printed, and with -f what comes."""

from __future__ import annotations

import asyncio
import re
import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any

from muxpilot.app import App
from muxpilot.cli.application import LONGEST_S, call_for_data, run_with_app
from muxpilot.cli.commands import find_command, print_until
from muxpilot.cli.output_printer import OutputPrinter
from muxpilot.cli.stderr_notes import print_note
from muxpilot.cli.wait import is_command_id
from muxpilot.config.model import Settings
from muxpilot.errors import BadInput, MuxpilotError
from muxpilot.shells.command import Command
from muxpilot.tmux import PaneId
from muxpilot.toolkit.answers import compact_json
from muxpilot.tools.commands import get_command_result
from muxpilot.tools.pane_text import read_pane

_MOST_LINES = 100_000
# Between two readings of a pane that prints all the time.
_PAUSE_S = 0.1
_LONGEST_WAIT_S = 3600.0


def run(settings: Settings, arguments: Namespace) -> int:
    """Print the text. With -f, print what comes until the command or the pane's program ends."""
    if arguments.follow and arguments.json:
        raise BadInput("--json and -f do not go together.", "Use --json with --since to read on.")
    work = _print_command if is_command_id(arguments.target) else _print_pane
    return run_with_app(settings, lambda app: work(app, arguments))


async def _print_command(app: App, arguments: Namespace) -> int:
    offset = _parse_offset(arguments.since)
    command = await find_command(app, arguments.target)
    if arguments.json:
        limit = {"offsetBytes": offset, "maxOutputBytes": 1 << 20}
        print(compact_json(await call_for_data(app, get_command_result, commandId=command.id, **limit)))
        return 0
    printer = OutputPrinter(command.output, offset=offset, redactor=app.redactor)
    waiting = _wait_for_end(command) if arguments.follow else _do_not_wait()
    await print_until(command, printer, waiting)
    return 0


def _parse_offset(since: str | None) -> int:
    if since is not None and not re.fullmatch("[0-9]{1,12}", since):
        raise BadInput(
            f"--since {since[:40]!r} is not a number of bytes.", "For a command, give how many bytes to skip."
        )
    return int(since or 0)


async def _wait_for_end(command: Command) -> bool:
    await command.wait_for_end(LONGEST_S)
    return command.status.is_final


async def _do_not_wait() -> bool:
    return True


async def _print_pane(app: App, arguments: Namespace) -> int:
    answer = await _read(app, arguments.target, arguments.since, arguments.lines or _MOST_LINES)
    if arguments.json:
        print(compact_json(answer))
        return 0
    _note_missing(answer)
    if arguments.follow:
        return await _follow_pane(app, answer)
    if answer["text"]:
        print(answer["text"])
    return 0


async def _read(app: App, pane: str, since: str | None, lines: int) -> dict[str, Any]:
    answer: dict[str, Any] = await call_for_data(
        app, read_pane, paneId=pane, since=since, maxLines=min(lines, _MOST_LINES)
    )
    return answer


def _note_missing(answer: dict[str, Any]) -> None:
    if answer["missedLines"]:
        print_note(f"{answer['missedLines']} lines before this are not kept any more.")


async def _follow_pane(app: App, answer: dict[str, Any]) -> int:
    """Print new lines until the pane's program ends. A line that grows is printed as it grows.

    The screens of a full-screen program are left out.
    """
    pane, unfinished = PaneId(answer["paneId"]), ""
    while True:
        try:
            place = await app.services.pane_readers.find_position(app.servers.default, pane, answer["cursor"])
            if not answer["alternateScreen"]:
                is_open = place.offset < place.end
                unfinished = _print_lines(answer["text"], unfinished, is_open=is_open)
            if not await _wait_for_output(app, pane, place.end):
                break
            await asyncio.sleep(_PAUSE_S)
            answer = await _read(app, pane, answer["cursor"], _MOST_LINES)
        except MuxpilotError as error:
            print_note(f"The pane is not followed any more: {error}")
            break
        _note_missing(answer)
    _write("\n" if unfinished else "")
    return 0


def _print_lines(text: str, unfinished: str, *, is_open: bool) -> str:
    """Print lines after an unfinished one, which the text repeats. Return the new unfinished line."""
    if not text:
        return unfinished
    if text.startswith(unfinished):
        _write(text[len(unfinished) :])
    else:
        _write(f"\n{text}")
    if is_open:
        return text.rpartition("\n")[2]
    _write("\n")
    return ""


async def _wait_for_output(app: App, pane: PaneId, offset: int) -> bool:
    """Wait until the pane has printed more, at most for an hour. Return False if its program has ended."""
    stream = app.servers.default.streams.find_stream(pane)
    if stream is None:
        return False
    with suppress(TimeoutError):
        async with asyncio.timeout(_LONGEST_WAIT_S):
            async for _ in stream.follow(offset):
                return stream.end > offset
            return False
    return True


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
