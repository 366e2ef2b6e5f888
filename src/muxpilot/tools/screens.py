"""Pictures and recordings of panes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from muxpilot.errors import BadInput, Refused
from muxpilot.tmux import PaneId
from muxpilot.tmux.capture import Shown
from muxpilot.tmux.endpoint import our_folder, private_folder
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool

_BROWSER_S = 10.0
_BROWSE = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"

# What a file must be called: a path is for a picture, and never the way to a file of another kind.
_SUFFIXES = {"image": (".png",), "svg": (".svg",), "html": (".html", ".htm"), "browser": (".html", ".htm")}


@dataclass(frozen=True, slots=True)
class RecordedPane:
    pane_id: str
    recording: bool
    path: str
    seconds: float
    bytes: int


@tool(Effect.CREATE, STARRED, "capture")
async def screenshot_pane(
    ctx: Context,
    pane_id: PaneId,
    output: Annotated[Literal["image", "svg", "html", "browser"], "Form"] = "image",
    theme: Annotated[Literal["dark", "light"], "Colours"] = "dark",
    path: Annotated[str | None, "Save to this file instead"] = None,
) -> Answer:
    """Picture a pane, where colours or layout matter."""
    target = _target(path, _SUFFIXES[output]) if path is not None else None
    shown = await ctx.tmux.capture.screen(pane_id)
    content = await asyncio.to_thread(_drawn, shown, output, theme, f"pane {pane_id}")
    if output == "browser":
        target = target or private_folder(our_folder() / "pictures") / f"{pane_id[1:]}.html"
    if target is None:
        return _answer(content)
    await asyncio.to_thread(_save, target, content)
    if output == "browser":
        await _open(target)
    data = {"path": str(target)}
    return Answer(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def _drawn(shown: Shown, output: str, theme: str, title: str) -> bytes | str:
    from muxpilot.render.cells import screen  # loaded when first used: few calls need them
    from muxpilot.render.html import html
    from muxpilot.render.palette import THEMES
    from muxpilot.render.png import png
    from muxpilot.render.svg import svg

    cells, colours = screen(shown.lines, shown.columns, shown.rows, shown.cursor), THEMES[theme]
    if output == "image":
        return png(cells, colours)
    return svg(cells, colours) if output == "svg" else html(cells, colours, title)


def _answer(content: bytes | str) -> Answer:
    if isinstance(content, str):
        return Answer(content)
    return Answer(f"A picture (PNG, {len(content)} bytes); give a path to keep it.", png=content)


def _target(path: str, suffixes: tuple[str, ...]) -> Path:
    """A file that may be written: of the right kind, in a folder that is there, and not through a link."""
    target = Path(os.path.abspath(os.path.expanduser(path)))
    if "\0" in path or target.suffix.lower() not in suffixes:
        raise BadInput(f"The path {path[:200]!r} must end in {' or '.join(suffixes)}.")
    try:
        is_plain = stat.S_ISREG(target.lstat().st_mode)
    except FileNotFoundError:
        is_plain = target.parent.is_dir()
    except OSError:
        is_plain = False
    if not is_plain:
        raise BadInput(
            f"The path {path[:200]!r} cannot be written: it is no plain file, or its folder is not there.",
            "Name a new file in a folder that is there.",
        )
    return target


def _save(target: Path, content: bytes | str) -> None:
    """As a whole or not at all; what is there is replaced, never written into."""
    data = content.encode() if isinstance(content, str) else content
    new = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(
            os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb"
        ) as file:
            file.write(data)
        new.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise BadInput(f"The path {str(target)!r} cannot be written: {error.strerror}.") from None


async def _open(target: Path) -> None:
    """In a process of its own: a browser may be a program that reads our stdin and writes to our stdout."""
    nothing = asyncio.subprocess.DEVNULL
    browser = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _BROWSE, target.as_uri()),
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_BROWSER_S):
            status = await browser.wait()
    except TimeoutError:
        status = 0  # it runs until the person closes it
    if status:
        raise Refused(f"No browser could be opened; the page is at {target}.", "Open it yourself.")


@tool(Effect.CREATE, PRIMITIVE, "capture")
async def record_pane(
    ctx: Context,
    pane_id: PaneId,
    action: Annotated[Literal["start", "stop"], "What to do"],
    path: Annotated[str | None, "A new .cast file; in a private folder if not given"] = None,
) -> RecordedPane:
    """Record what a pane prints, with its times, as an asciicast that `muxpilot replay` shows.

    It ends by itself with the pane, with muxpilot, and at 256 MB."""
    if action == "stop":
        file = await ctx.recordings.stop(ctx.tmux, pane_id)
    else:
        target = _target(path, (".cast",)) if path is not None else _private_cast(pane_id)
        file = await ctx.recordings.start(ctx.tmux, pane_id, target)
    return RecordedPane(pane_id, action == "start", str(file.path), round(file.seconds, 3), file.bytes)


def _private_cast(pane: PaneId) -> Path:
    folder = private_folder(our_folder() / "recordings")
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{pane[1:]}-{secrets.token_hex(2)}.cast"


TOOLS = (screenshot_pane, record_pane)
