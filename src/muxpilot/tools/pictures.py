"""Pictures and recordings of panes."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Literal

from muxpilot.errors import BadInput, MuxpilotError, Refused
from muxpilot.files.allowed_paths import Folders
from muxpilot.files.any_path import Anywhere
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.hosts.endpoint import our_folder, private_folder
from muxpilot.tmux.objects.capture import Shown
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool

_BROWSER_S = 10.0
_BROWSE = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"

# What a file must be called: a path is for a picture, and never the way to a file of another kind.
_SUFFIXES = {"image": (".png",), "svg": (".svg",), "html": (".html", ".htm"), "browser": (".html", ".htm")}
_CAST = (".cast",)


@record
class RecordedPane:
    pane_id: str
    recording: bool
    path: str
    seconds: float
    bytes: int


async def _foreseen(
    ctx: Context, path: str | None, output: str = "", action: str = "start", **_: object
) -> Sequence[MuxpilotError]:
    """Whether the file's path would be refused; a recording has no form but its own."""
    if path is None or action == "stop":
        return []
    try:
        _target(_files(ctx), path, _SUFFIXES.get(output, _CAST))
    except BadInput as error:
        return [error]
    return []


@tool(Effect.CREATE, STARRED, "capture", foresees=_foreseen)
async def screenshot_pane(
    ctx: Context,
    pane_id: PaneId,
    output: Annotated[Literal["image", "svg", "html", "browser"], "Form"] = "image",
    theme: Annotated[Literal["dark", "light"], "Colours"] = "dark",
    path: Annotated[str | None, "Save to this file instead"] = None,
) -> Answer:
    """Picture a pane, where colours or layout matter."""
    files: Folders | Anywhere = _files(ctx)
    target = _target(files, path, _SUFFIXES[output]) if path is not None else None
    shown = await ctx.tmux.capture.screen(pane_id)
    content = await asyncio.to_thread(_drawn, shown, output, theme, f"pane {pane_id}")
    if output == "browser" and target is None:
        files, target = Anywhere(), private_folder(our_folder() / "pictures") / f"{pane_id[1:]}.html"
    if target is None:
        return _answer(content)
    await asyncio.to_thread(files.write, str(target), _bytes(content))
    if output == "browser":
        await _open(target)
    data = {"path": str(target)}
    return Answer(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def _drawn(shown: Shown, output: str, theme: str, title: str) -> bytes | str:
    from muxpilot.pictures.html import html
    from muxpilot.pictures.palette import THEMES
    from muxpilot.pictures.png import png
    from muxpilot.pictures.svg import svg
    from muxpilot.terminal.cells import screen  # loaded when first used: few calls need them

    size = (shown.columns, shown.rows)
    cells = screen(shown.lines, *size, shown.cursor, is_joined=shown.is_joined)
    colours = THEMES[theme]
    if output == "image":
        return png(cells, colours)
    return svg(cells, colours) if output == "svg" else html(cells, colours, title)


def _answer(content: bytes | str) -> Answer:
    if isinstance(content, str):
        return Answer(content)
    return Answer(f"A picture (PNG, {len(content)} bytes); give a path to keep it.", png=content)


def _files(ctx: Context) -> Folders | Anywhere:
    """Where `path` may lead: below the folders that the policy names, if it names any."""
    return Anywhere() if ctx.buffer_paths in (None, ("/",)) else Folders(ctx.buffer_paths)


def _target(files: Folders | Anywhere, path: str, suffixes: tuple[str, ...]) -> Path:
    if "\0" in path or Path(path).suffix.lower() not in suffixes:
        raise BadInput(f"The path {path[:200]!r} must end in {' or '.join(suffixes)}.")
    return files.place(path)


def _bytes(content: bytes | str) -> BytesIO:
    return BytesIO(content.encode() if isinstance(content, str) else content)


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


@tool(Effect.CREATE, PRIMITIVE, "capture", foresees=_foreseen)
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
        files = _files(ctx) if path is not None else Anywhere()
        target = _target(files, path, _CAST) if path is not None else _private_cast(pane_id)
        file = await ctx.recordings.start(ctx.tmux, pane_id, target, files.create)
    return RecordedPane(pane_id, action == "start", str(file.path), round(file.seconds, 3), file.bytes)


def _private_cast(pane: PaneId) -> Path:
    folder = private_folder(our_folder() / "recordings")
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{pane[1:]}-{secrets.token_hex(2)}.cast"


TOOLS = (screenshot_pane, record_pane)
