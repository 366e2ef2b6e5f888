"""Typing into panes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

from muxpilot.errors import BadInput, Refused
from muxpilot.processes.tty import mode_of
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.keys import is_key, parse
from muxpilot.toolkit.argument_flags import Key
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.sanitize import visible
from muxpilot.toolkit.spec import DEADLINE_S, PRIMITIVE, STARRED, Effect, Tool, tool
from muxpilot.tools.panes import PaneDone

_LONGEST_TYPING_S = DEADLINE_S * 0.8
# So much of one line the kernel keeps for a program that reads whole lines.
_LONGEST_LINE = 4095

_PASTE_END = "\x1b[201~"

# They edit the line that a person, or a filter, believes to have seen.
_REFUSED_BYTES = {
    0x08: "send-backspace",
    0x15: "send-keys C-u",
    0x17: "send-keys C-w",
    0x7F: "send-backspace",
}


@record
class KeysSent:
    pane_id: str
    hint: str | None = None


@record
class BytesSent:
    pane_id: str
    bytes: int
    hint: str | None = None


def _keys_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    """What send-keys types, as the policy sees it."""
    keys = arguments["keys"]
    strokes: list[str] = [keys] if arguments["literal"] else [Key(name) for name in parse(keys)]
    return [*strokes, *([Key("Enter")] if arguments["enter"] else [])] * int(arguments["repeat"])


def _text_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    return [arguments["content"], *([Key("Enter")] if arguments["enter"] else [])]


def _bytes_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    return [_bytes(arguments["hex"]).decode("utf-8", "replace")]


@tool(Effect.TYPE, STARRED, "interactive", types=_keys_typed)
async def send_keys(
    ctx: Context,
    pane_id: PaneId,
    keys: Annotated[str, "Text, or key names if literal is false: C-c, Up, Escape : w q Enter"],
    literal: Annotated[bool, "Type the exact text"] = True,  # noqa: FBT002
    enter: Annotated[bool, "Press Enter after it, each time"] = False,  # noqa: FBT002
    repeat: Annotated[int, "Times", Between(1, 1000)] = 1,
    delay_ms: Annotated[int | None, "Pause between characters or keys", Between(0, 10000)] = None,
) -> KeysSent:
    """Type into a pane: text, or keys by name.

    To run a command, use execute-command; for many lines, paste-text."""
    send = ctx.tmux.input.type if literal else ctx.tmux.input.press
    asked = time.monotonic()
    async with ctx.exclusive(ctx.tmux, pane_id):
        hint = await _too_long(ctx, pane_id, keys, 1 if enter else repeat) if literal else None
        if delay_ms:
            waited_s = time.monotonic() - asked
            steps = _in_time(keys if literal else parse(keys), repeat, delay_ms, waited_s)
            await _slowly(ctx, pane_id, send, steps, enter=enter, repeat=repeat, pause_s=delay_ms / 1000)
        elif enter:
            for _ in range(repeat):  # each has its Enter
                await send(pane_id, keys, enter=True)
        else:
            await send(pane_id, keys, repeat=repeat)
    if literal and len(keys) > 1 and is_key(keys):
        return KeysSent(pane_id, f"{keys!r} was typed as text; to press the key, set literal to false.")
    return KeysSent(pane_id, hint)


async def _too_long(ctx: Context, pane: PaneId, text: str, repeat: int = 1) -> str | None:
    """Asked before it is typed: afterwards the terminal may be in another mode."""
    lines = re.split(rb"[\r\n]", text.encode("utf-8", "replace"))
    longest = max(map(len, lines)) * (repeat if len(lines) == 1 else 1)
    if longest <= _LONGEST_LINE:
        return None
    row = await ctx.tmux.panes.get(pane)
    mode = mode_of(row.tty) if row.far is None else None
    if mode is None or not mode.is_canonical:
        return None
    return f"The program reads whole lines, and of one of {longest} bytes it gets the first {_LONGEST_LINE}."


def _in_time(steps: Sequence[str], repeat: int, delay_ms: int, waited_s: float) -> Sequence[str]:
    """Refuse before it begins what the deadline would cut in the middle."""
    seconds = len(steps) * repeat * delay_ms / 1000
    if seconds <= _LONGEST_TYPING_S < seconds + waited_s:
        raise Refused(
            f"The pane was busy with another call for {waited_s:.0f} s.", "Nothing was typed; try again."
        )
    if seconds > _LONGEST_TYPING_S:
        raise BadInput(
            f"With this delayMs it takes {seconds:g} s; a call may take {_LONGEST_TYPING_S:g} s.",
            "Use a smaller delayMs, or send it in parts.",
        )
    return steps


async def _slowly(
    ctx: Context,
    pane: PaneId,
    send: Callable[[PaneId, str], Awaitable[None]],
    steps: Sequence[str],
    *,
    enter: bool,
    repeat: int,
    pause_s: float,
) -> None:
    for _ in range(repeat):
        for step in steps:
            await send(pane, step)
            await asyncio.sleep(pause_s)
        if enter:
            await ctx.tmux.input.press(pane, "Enter")


@tool(Effect.TYPE, STARRED, "interactive", types=_text_typed)
async def paste_text(
    ctx: Context,
    pane_id: PaneId,
    content: Annotated[str, "Text of any length"],
    enter: Annotated[bool, "Press Enter after it"] = False,  # noqa: FBT002
) -> BytesSent:
    """Paste text as one piece, bracketed where the program knows that."""
    if _PASTE_END in content:
        raise BadInput(
            "The argument 'content' holds the sequence that ends a paste: what follows it would be typed.",
            "Take ESC [201~ out of it, or type it with send-keys.",
        )
    async with ctx.exclusive(ctx.tmux, pane_id):
        hint = await _too_long(ctx, pane_id, content)
        return BytesSent(pane_id, await ctx.tmux.input.paste(pane_id, content, enter=enter), hint)


@tool(Effect.TYPE, PRIMITIVE, "interactive", types=_bytes_typed)
async def send_hex(
    ctx: Context, pane_id: PaneId, hex: Annotated[str, "Bytes such as: 1b 5b 41"]
) -> BytesSent:
    """Send raw bytes, for sequences that have no key name."""
    data = _bytes(hex)
    async with ctx.exclusive(ctx.tmux, pane_id):
        await ctx.tmux.input.send_bytes(pane_id, data)
    return BytesSent(pane_id, len(data))


def _bytes(text: str) -> bytes:
    tokens = text.split()
    for token in tokens:
        if not re.fullmatch("[0-9a-fA-F]{1,2}", token):
            raise BadInput(
                f"The argument 'hex' holds {token[:20]!r}.", "Use bytes 00 to ff separated by blanks."
            )
        if int(token, 16) in _REFUSED_BYTES:
            instead = _REFUSED_BYTES[int(token, 16)]
            raise BadInput(
                f"The argument 'hex' holds {token.lower()}, which edits the line and is refused.",
                f"Use {instead} instead.",
            )
    if not tokens:
        raise BadInput("The argument 'hex' holds no byte.", "Use bytes 00 to ff separated by blanks.")
    return bytes(int(token, 16) for token in tokens)


@tool(Effect.CHANGE, STARRED, "display")
async def write_to_display(
    ctx: Context,
    pane_id: PaneId,
    text: Annotated[str, "What the person shall read"],
    clear: Annotated[bool, "Clear the pane first"] = False,  # noqa: FBT002
) -> PaneDone:
    """Show text to a person in a pane: never typed, never run, and not in your context again."""
    await ctx.tmux.input.show(pane_id, visible(text), clear=clear)
    return PaneDone(pane_id)


_ONE_KEY = {
    "cancel": ("C-c", "Press Ctrl-C: interrupt what runs."),
    "eof": ("C-d", "Press Ctrl-D: end of input."),
    "escape": ("Escape", "Press Escape."),
    "enter": ("Enter", "Press Enter."),
    "tab": ("Tab", "Press Tab."),
    "backspace": ("BSpace", "Press Backspace."),
    "up": ("Up", "Press the up arrow."),
    "down": ("Down", "Press the down arrow."),
    "left": ("Left", "Press the left arrow."),
    "right": ("Right", "Press the right arrow."),
    "page-up": ("PPage", "Press Page Up."),
    "page-down": ("NPage", "Press Page Down."),
    "home": ("Home", "Press Home."),
    "end": ("End", "Press End."),
}


def _one_key_tool(name: str, key: str, words: str) -> Tool:
    async def press(ctx: Context, pane_id: PaneId) -> PaneDone:
        async with ctx.exclusive(ctx.tmux, pane_id):
            await ctx.tmux.input.press(pane_id, key)
        return PaneDone(pane_id)

    press.__doc__ = words
    strokes = (Key(key),)
    declare = tool(
        Effect.TYPE, PRIMITIVE, "special-keys", name=f"send-{name}", types=lambda arguments: strokes
    )
    return declare(press)


TOOLS = (
    send_keys,
    paste_text,
    send_hex,
    write_to_display,
    *(_one_key_tool(name, key, words) for name, (key, words) in _ONE_KEY.items()),
)
