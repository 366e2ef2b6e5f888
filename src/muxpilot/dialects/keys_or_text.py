"""A string that is either keys or text: `Enter`, `^C` and `C-x C-c` are pressed, everything else is typed."""

from __future__ import annotations

from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.keys import find_key
from muxpilot.toolkit.argument_flags import PressedKey
from muxpilot.tools.context import Context


def parse_keys(keys: str, *, any_case: bool = False) -> tuple[str, ...]:
    """Return the keys that a string names, or none if any part of it is text.

    A single character is text. `End` and `Up` are keys; `end` and `up` are words unless `any_case` is set.
    """
    words = keys.split(" ")
    found = tuple(_parse_key(word, any_case=any_case) for word in words)
    return tuple(key for key in found if key is not None) if all(found) else ()


def _parse_key(word: str, *, any_case: bool) -> str | None:
    key = find_key(word) if len(word) > 1 and word.isascii() else None
    is_exact = key == word or word.startswith("^")
    return key if any_case or is_exact else None


def typed_input(keys: str, *, any_case: bool = False) -> list[str]:
    """Return what a string types, for policy."""
    names = parse_keys(keys, any_case=any_case)
    return [PressedKey(name) for name in names] if names else [keys]


async def send_keys_or_text(ctx: Context, pane: PaneId, keys: str, *, any_case: bool = False) -> bool:
    """Press or type a string. Return whether keys were pressed."""
    names = parse_keys(keys, any_case=any_case)
    async with ctx.lock_pane(ctx.tmux, pane):
        if names:
            await ctx.tmux.input.press(pane, " ".join(names))
        else:
            await ctx.tmux.input.type(pane, keys)
    return bool(names)
