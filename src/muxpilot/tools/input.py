"""Tools that type into panes, or show text in them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from muxpilot.errors import BadInput, MuxpilotError, Refused
from muxpilot.processes.terminal_mode import read_terminal_mode
from muxpilot.records import record
from muxpilot.shells.half_typed import find_half_typed, presses_enter
from muxpilot.terminal.escapes import PASTE_END
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.keys import find_key, parse_keys
from muxpilot.toolkit.argument_flags import ArgumentFlag, PressedKey
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.rows import PaneDone
from muxpilot.toolkit.spec import DEADLINE_S, PRIMITIVE, STARRED, Effect, Tool, tool
from muxpilot.tools.act_and_see import ActAnswer, TimeoutMs, Until, UntilAgain, act, act_deadline
from muxpilot.tools.context import Context, MainPane
from muxpilot.watch.triggers import parse_triggers
from muxpilot.watch.watch_run import WatchPlan

_SHELL_START_S = 5.0
_LONGEST_TYPING_S = DEADLINE_S * 0.8
# In canonical mode the kernel keeps at most this many bytes of a line.
_LONGEST_LINE = 4095

# These bytes edit the input line, which the command filter has already judged.
_REFUSED_BYTES = {
    0x08: "send-backspace",
    0x15: "send-keys C-u",
    0x17: "send-keys C-w",
    0x7F: "send-backspace",
}


@record
class KeysSent:
    pane_id: str
    pane: str | None
    created: bool
    hint: str | None = None


@record
class TextPasted:
    pane_id: str
    pane: str | None
    created: bool
    bytes: int
    hint: str | None = None


@record
class BytesSent:
    pane_id: str
    bytes: int


def _keys_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return what send-keys types, for policy."""
    given = {name: arguments[name] for name in ("literal", "enter", "repeat")}
    return _list_typed(arguments["keys"], **given)


def _list_typed(keys: str, *, literal: bool, enter: bool, repeat: int) -> list[str]:
    """Return the texts and the keys that send-keys sends, in their order."""
    typed: list[str] = [keys] if literal else [PressedKey(name) for name in parse_keys(keys)]
    return [*typed, *([PressedKey("Enter")] if enter else [])] * int(repeat)


def _text_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    return [arguments["content"], *([PressedKey("Enter")] if arguments["enter"] else [])]


def _bytes_typed(arguments: Mapping[str, Any]) -> Sequence[str]:
    return [_parse_hex(arguments["hex"]).decode("utf-8", "replace")]


async def _dry_run_keys(ctx: Context, keys: str, *, literal: bool, **_: object) -> Sequence[MuxpilotError]:
    """Raise BadInput for a name that is no key."""
    if not literal:
        parse_keys(keys)
    return ()


@tool(
    Effect.TYPE,
    STARRED,
    "interactive",
    typed_input=_keys_typed,
    deadline_s=act_deadline,
    shows_if="until",
    dry_run=_dry_run_keys,
    opens_pane=True,
)
async def send_keys(
    ctx: Context,
    pane_id: MainPane,
    keys: Annotated[str, "Text; if literal is false, keys: C-c, Up, Escape : w q Enter", ArgumentFlag.TYPED],
    literal: Annotated[bool, "Type the exact text"] = True,
    enter: Annotated[bool, "Press Enter after each"] = False,
    repeat: Annotated[int, "Repeat count", Between(1, 1000), ArgumentFlag.EVIDENT] = 1,
    delay_ms: Annotated[int | None, "Pause between characters or keys", Between(0, 10000)] = None,
    force: Annotated[bool, "Despite a person's line"] = False,
    until: Until = None,
    timeout_ms: TimeoutMs = 5000,
) -> KeysSent | ActAnswer:
    """Type text or press keys. To run a command, use execute-command; for many lines, paste-text."""
    asked = time.monotonic()

    async def send() -> KeysSent:
        """Send the keys while the pane is held."""
        if not force and (enter or presses_enter(keys, is_literal=literal)):
            await _refuse_persons_line(ctx, pane_id)
        hint = await _line_limit_hint(ctx, pane_id, keys, 1 if enter else repeat) if literal else None
        _note_typed(ctx, pane_id, _list_typed(keys, literal=literal, enter=enter, repeat=repeat))
        if delay_ms:
            waited_s = time.monotonic() - asked
            steps = _check_duration(keys if literal else parse_keys(keys), repeat, delay_ms, waited_s)
            type_step = ctx.tmux.input.type if literal else ctx.tmux.input.press
            pause_s = delay_ms / 1000
            await _type_slowly(ctx, pane_id, type_step, steps, enter=enter, repeat=repeat, pause_s=pause_s)
        else:
            await _send_at_once(ctx, pane_id, keys, literal=literal, enter=enter, repeat=repeat)
        if literal and len(keys) > 1 and find_key(keys):
            hint = f"{keys!r} was typed as text; to press the key, set literal to false."
        return KeysSent(pane_id, await ctx.pane_name(pane_id), ctx.created, hint)

    prepare = partial(_wait_for_new_shell, ctx, pane_id) if ctx.created else None
    return await act(ctx, pane_id, send, until=until, timeout_ms=timeout_ms, prepare=prepare)


async def _send_at_once(
    ctx: Context, pane: PaneId, keys: str, *, literal: bool, enter: bool, repeat: int
) -> None:
    send = ctx.tmux.input.type if literal else ctx.tmux.input.press
    if enter:
        for _ in range(repeat):  # each has its Enter
            await send(pane, keys, enter=True)
    else:
        await send(pane, keys, repeat=repeat)


async def _wait_for_new_shell(ctx: Context, pane: PaneId) -> None:
    """Wait until the shell of a pane that was opened for this call is at its prompt, for a bounded time.

    Some shells drop what is typed before.
    """
    plan = WatchPlan(ctx.tmux, pane, parse_triggers("shell"), _SHELL_START_S, call=ctx.call)
    await ctx.services.watches.run(plan)


async def _refuse_persons_line(ctx: Context, pane: PaneId) -> None:
    """Raise Refused if Enter would run a line that a person has half typed at a shell's prompt."""
    if await _has_persons_line(ctx, pane):
        raise Refused(
            f"A line that a person has half typed stands at the prompt of pane {pane!r}. Nothing was typed.",
            "Press C-u to remove it, use another pane, or set force to true to enter it.",
        )


async def _has_persons_line(ctx: Context, pane: PaneId) -> bool:
    """Return whether each of several looks finds a line that no agent has typed."""
    shells = ctx.services.shells
    for pause_s in shells.timing.half_typed_checks_s:
        await asyncio.sleep(pause_s)
        text = await find_half_typed(ctx.tmux, pane, shells.find_pane(ctx.tmux, pane))
        if not text or shells.agent_lines.is_typed_by_agent(ctx.tmux, pane, text):
            return False
    return True


def _note_typed(ctx: Context, pane: PaneId, typed: Sequence[str]) -> None:
    """Remember what the agent types: it is no person's line."""
    lines = ctx.services.shells.agent_lines
    for item in typed:
        if isinstance(item, PressedKey):
            lines.note_keys(ctx.tmux, pane, [item])
        else:
            lines.note_text(ctx.tmux, pane, item)


async def _line_limit_hint(ctx: Context, pane: PaneId, text: str, repeat: int = 1) -> str | None:
    """Return a hint if a line is longer than the terminal accepts. Ask before typing: the mode may change."""
    lines = re.split(rb"[\r\n]", text.encode("utf-8", "replace"))
    longest = max(map(len, lines)) * (repeat if len(lines) == 1 else 1)
    if longest <= _LONGEST_LINE:
        return None
    row = await ctx.tmux.panes.get(pane)
    mode = read_terminal_mode(row.tty) if row.remote_shell is None else None
    if mode is None or not mode.is_canonical:
        return None
    return f"The program reads whole lines: of a line of {longest} bytes it gets the first {_LONGEST_LINE}."


def _check_duration(steps: Sequence[str], repeat: int, delay_ms: int, waited_s: float) -> Sequence[str]:
    """Refuse typing that would not end before the deadline."""
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


async def _type_slowly(
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
            await ctx.pause_typing(pane, pause_s)
        if enter:
            await ctx.tmux.input.press(pane, "Enter")


async def _dry_run_paste(ctx: Context, content: str, **_: object) -> Sequence[MuxpilotError]:
    """Raise BadInput for a text that would end its own paste."""
    _check_paste(content)
    return ()


def _check_paste(content: str) -> None:
    if PASTE_END in content:
        raise BadInput(
            "The argument 'content' contains the sequence that ends a paste: the rest would be typed.",
            "Remove ESC [201~, or type the text with send-keys.",
        )


@tool(
    Effect.TYPE,
    STARRED,
    "interactive",
    typed_input=_text_typed,
    deadline_s=act_deadline,
    shows_if="until",
    dry_run=_dry_run_paste,
    opens_pane=True,
)
async def paste_text(
    ctx: Context,
    pane_id: MainPane,
    content: Annotated[str, "Text of any length", ArgumentFlag.TYPED, ArgumentFlag.EVIDENT],
    enter: Annotated[bool, "Press Enter after it"] = False,
    force: Annotated[bool, "As in send-keys"] = False,
    until: UntilAgain = None,
    timeout_ms: TimeoutMs = 5000,
) -> TextPasted | ActAnswer:
    """Paste text as one block."""
    _check_paste(content)

    async def send() -> TextPasted:
        """Paste the text while the pane is held."""
        if enter and not force:
            await _refuse_persons_line(ctx, pane_id)
        hint = await _line_limit_hint(ctx, pane_id, content)
        _note_typed(ctx, pane_id, [content, *([PressedKey("Enter")] if enter else [])])
        size = await ctx.tmux.input.paste(pane_id, content, enter=enter)
        return TextPasted(pane_id, await ctx.pane_name(pane_id), ctx.created, size, hint)

    prepare = partial(_wait_for_new_shell, ctx, pane_id) if ctx.created else None
    return await act(ctx, pane_id, send, until=until, timeout_ms=timeout_ms, prepare=prepare)


@tool(Effect.TYPE, PRIMITIVE, "interactive", typed_input=_bytes_typed)
async def send_hex(
    ctx: Context, pane_id: MainPane, hex: Annotated[str, "Bytes, such as: 1b 5b 41", ArgumentFlag.TYPED]
) -> BytesSent:
    """Send raw bytes, for sequences without a key name."""
    data = _parse_hex(hex)
    async with ctx.lock_pane(ctx.tmux, pane_id):
        _note_typed(ctx, pane_id, [PressedKey("bytes")])
        await ctx.tmux.input.send_bytes(pane_id, data)
    return BytesSent(pane_id, len(data))


def _parse_hex(text: str) -> bytes:
    tokens = text.split()
    for token in tokens:
        if not re.fullmatch("[0-9a-fA-F]{1,2}", token):
            raise BadInput(
                f"The argument 'hex' contains {token[:20]!r}.", "Use bytes 00 to ff, separated by spaces."
            )
        if int(token, 16) in _REFUSED_BYTES:
            instead = _REFUSED_BYTES[int(token, 16)]
            raise BadInput(
                f"The argument 'hex' contains {token.lower()}, which edits the input line and is refused.",
                f"Use {instead} instead.",
            )
    if not tokens:
        raise BadInput("The argument 'hex' is empty.", "Use bytes 00 to ff, separated by spaces.")
    return bytes(int(token, 16) for token in tokens)


@tool(Effect.CHANGE, STARRED, "display")
async def write_to_display(
    ctx: Context,
    pane_id: MainPane,
    text: Annotated[str, "Text to show", ArgumentFlag.EVIDENT],
    clear: Annotated[bool, "Clear the pane first", ArgumentFlag.EVIDENT] = False,
) -> PaneDone:
    """Show text to a person in a pane. It is never typed or run."""
    await ctx.tmux.input.show_text(pane_id, sanitize_text(text), clear=clear)
    return PaneDone(pane_id)


_ONE_KEY = {
    "cancel": ("C-c", "Press Ctrl-C: interrupt the program."),
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
    async def press(
        ctx: Context, pane_id: MainPane, until: UntilAgain = None, timeout_ms: TimeoutMs = 5000
    ) -> PaneDone | ActAnswer:
        """Press the key. The tool gets a description of its own below."""

        async def send() -> PaneDone:
            """Press it while the pane is held."""
            _note_typed(ctx, pane_id, [PressedKey(key)])
            await ctx.tmux.input.press(pane_id, key)
            return PaneDone(pane_id)

        return await act(ctx, pane_id, send, until=until, timeout_ms=timeout_ms)

    press.__doc__ = words
    keys = (PressedKey(key),)
    declare = tool(
        Effect.TYPE,
        PRIMITIVE,
        "special-keys",
        name=f"send-{name}",
        typed_input=lambda arguments: keys,
        deadline_s=act_deadline,
        shows_if="until",
    )
    return declare(press)


TOOLS = (
    send_keys,
    paste_text,
    send_hex,
    write_to_display,
    *(_one_key_tool(name, key, words) for name, (key, words) in _ONE_KEY.items()),
)
