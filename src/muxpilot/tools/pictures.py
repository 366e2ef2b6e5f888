"""Tools for pictures and recordings of panes."""

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
from muxpilot.files.allowed_paths import AllowedFolders
from muxpilot.files.any_path import AnyFolder
from muxpilot.records import record
from muxpilot.tmux import PaneId
from muxpilot.tmux.hosts.endpoint import ensure_private_folder, muxpilot_folder
from muxpilot.tmux.objects.capture import CapturedScreen
from muxpilot.toolkit.answers import Answer
from muxpilot.toolkit.argument_flags import ArgumentFlag
from muxpilot.toolkit.spec import PRIMITIVE, STARRED, Effect, tool
from muxpilot.tools.act_and_see import mask_screen
from muxpilot.tools.context import Context, MainPane, Services

_BROWSER_S = 10.0
_BROWSE = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"

# The suffixes that a path must have, so that no other kind of file is overwritten.
_SUFFIXES = {"image": (".png",), "svg": (".svg",), "html": (".html", ".htm"), "browser": (".html", ".htm")}
_CAST = (".cast",)


@record
class PaneRecording:
    pane_id: str
    recording: bool
    path: str
    seconds: float
    bytes: int
    note: str | None = None


async def _dry_run(
    ctx: Context, path: str | None, output: str = "", action: str = "start", **_: object
) -> Sequence[MuxpilotError]:
    """Return the error for a path that would be refused."""
    if path is None or action == "stop":
        return []
    try:
        _check_path(_files(ctx), path, _SUFFIXES.get(output, _CAST))
    except BadInput as error:
        return [error]
    return []


@tool(Effect.CREATE, STARRED, "capture", dry_run=_dry_run)
async def screenshot_pane(
    ctx: Context,
    pane_id: MainPane,
    output: Annotated[
        Literal["image", "svg", "html", "browser"], "browser opens it for the person"
    ] = "image",
    theme: Annotated[Literal["dark", "light"], "Colours", ArgumentFlag.EVIDENT] = "dark",
    path: Annotated[str | None, "Save to this file instead"] = None,
) -> Answer:
    """Take a picture of a pane."""
    files: AllowedFolders | AnyFolder = _files(ctx)
    target = _check_path(files, path, _SUFFIXES[output]) if path is not None else None
    shown = mask_screen(ctx, await ctx.tmux.capture.screen(pane_id))
    mask = ctx.services.redactor.mask if ctx.services.redactor is not None else ""
    content = await asyncio.to_thread(_render, shown, output, theme, f"pane {pane_id}", mask)
    if output == "browser" and target is None:
        files, target = (
            AnyFolder(),
            ensure_private_folder(muxpilot_folder() / "pictures") / f"{pane_id[1:]}.html",
        )
    if target is None:
        return _answer(content)
    await asyncio.to_thread(files.write, str(target), _bytes(content))
    if output == "browser":
        await _open_in_browser(target)
    data = {"path": str(target)}
    return Answer(json.dumps(data, ensure_ascii=False, separators=(",", ":")), data)


def _render(shown: CapturedScreen, output: str, theme: str, title: str, mask: str) -> bytes | str:
    """Draw a screen. Cells that hold `mask` are drawn as blocks."""
    from muxpilot.pictures.html_page import render_html
    from muxpilot.pictures.palette import THEMES
    from muxpilot.pictures.png import encode_png
    from muxpilot.pictures.svg import render_svg
    from muxpilot.terminal.cells import (  # loaded when first used: few calls need them
        fill_cells,
        parse_screen,
    )

    size = (shown.columns, shown.rows)
    cells = parse_screen(shown.lines, *size, shown.cursor, emoji=shown.emoji)
    if mask:
        cells = fill_cells(cells, mask)
    colours = THEMES[theme]
    if output == "image":
        return encode_png(cells, colours)
    return render_svg(cells, colours) if output == "svg" else render_html(cells, colours, title)


def _answer(content: bytes | str) -> Answer:
    if isinstance(content, str):
        return Answer(content, is_redacted=True)
    return Answer(f"A picture (PNG, {len(content)} bytes); give a path to keep it.", png=content)


def may_write_recording(services: Services, path: Path) -> bool:
    """Return whether a recording that another muxpilot began may be continued in this file."""
    if path.parent == muxpilot_folder() / "recordings":
        return True
    try:
        return _check_path(_folders(services), str(path), _CAST) == path
    except MuxpilotError:
        return False


def _files(ctx: Context) -> AllowedFolders | AnyFolder:
    return _folders(ctx.services)


def _folders(services: Services) -> AllowedFolders | AnyFolder:
    """Return the folders where files may be written."""
    return AnyFolder() if services.buffer_paths in (None, ("/",)) else AllowedFolders(services.buffer_paths)


def _check_path(files: AllowedFolders | AnyFolder, path: str, suffixes: tuple[str, ...]) -> Path:
    if "\0" in path or Path(path).suffix.lower() not in suffixes:
        raise BadInput(f"The path {path[:200]!r} must end in {' or '.join(suffixes)}.")
    return files.resolve(path)


def _bytes(content: bytes | str) -> BytesIO:
    return BytesIO(content.encode() if isinstance(content, str) else content)


async def _open_in_browser(target: Path) -> None:
    """Open a file in a browser, in a separate process: a text browser must not use our stdin and stdout."""
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
        status = 0  # this browser runs until the person closes it
    if status:
        raise Refused(f"No browser could be opened; the page is at {target}.", "Open it yourself.")


@tool(Effect.CREATE, PRIMITIVE, "capture", dry_run=_dry_run)
async def record_pane(
    ctx: Context,
    pane_id: MainPane,
    action: Annotated[Literal["start", "stop"], "What to do"],
    path: Annotated[str | None, "New .cast file; default: in a private folder"] = None,
) -> PaneRecording:
    """Record the output of a pane with its timing, as an asciicast for `muxpilot replay`.

    A recording ends with the pane's program or at 256 MB."""
    if action == "stop":
        told = await ctx.services.recordings.stop(ctx.tmux, pane_id)
    else:
        files = _files(ctx) if path is not None else AnyFolder()
        target = _check_path(files, path, _CAST) if path is not None else _new_cast_path(pane_id)
        told = await ctx.services.recordings.start(ctx.tmux, pane_id, target, files.create)
    return PaneRecording(pane_id, action == "start", str(told.path), told.seconds, told.bytes, told.note)


def _new_cast_path(pane: PaneId) -> Path:
    folder = ensure_private_folder(muxpilot_folder() / "recordings")
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{pane[1:]}-{secrets.token_hex(2)}.cast"


TOOLS = (screenshot_pane, record_pane)
