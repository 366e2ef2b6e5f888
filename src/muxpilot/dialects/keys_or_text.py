"""One string that is keys or text: `Enter`, `^C` and `C-x C-c` are pressed, everything else is typed."""

from __future__ import annotations

from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.keys import is_key
from muxpilot.toolkit.argument_flags import Key
from muxpilot.toolkit.context import Context


def pressed(keys: str, *, any_case: bool = False) -> tuple[str, ...]:
    """The keys that a string names, all of it; none if any part of it is text.

    A single character is text. `end` and `up` are words unless `any_case`, `End` and `Up` are keys.
    """
    words = keys.split(" ")
    found = tuple(_key(word, any_case=any_case) for word in words)
    return tuple(key for key in found if key is not None) if all(found) else ()


def _key(word: str, *, any_case: bool) -> str | None:
    key = is_key(word) if len(word) > 1 and word.isascii() else None
    is_spelled_so = key == word or word.startswith("^")
    return key if any_case or is_spelled_so else None


def strokes(keys: str, *, any_case: bool = False) -> list[str]:
    """What is typed, as the policy sees it."""
    names = pressed(keys, any_case=any_case)
    return [Key(name) for name in names] if names else [keys]


async def send(ctx: Context, pane: PaneId, keys: str, *, any_case: bool = False) -> bool:
    """Press or type it; says whether keys were pressed."""
    names = pressed(keys, any_case=any_case)
    async with ctx.exclusive(ctx.tmux, pane):
        if names:
            await ctx.tmux.input.press(pane, " ".join(names))
        else:
            await ctx.tmux.input.type(pane, keys)
    return bool(names)
