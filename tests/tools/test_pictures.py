"""Pictures of panes through MCP, with a real tmux."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import mcp_types as types
import pytest

from muxpilot.record.cast import read_events
from tests.pictures.test_pictures import MARGIN, DecodedPng
from tests.rigs.mcp_client import Rig, clean_environment
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Line drawing by the DEC character set, a true colour at the end of a row, and a cursor that does not move.
SHOW = (
    r"printf '\033[48;2;10;200;30m  \033[0mplain\n\033(0lqk\033(B \033[1;31m世\033[0m<b>\nend'; exec sleep 60"
)


async def take_picture(rig: Rig, pane: str, **more: str) -> DecodedPng:
    result = await rig.ask("screenshot-pane", {"paneId": pane, **more})
    [block] = result.content
    assert isinstance(block, types.ImageContent), block
    assert (result.is_error, result.structured_content) == (False, None)
    assert block.mime_type == "image/png"
    return DecodedPng.of(base64.b64decode(block.data))


async def test_a_picture_shows_what_the_pane_shows(rig: Rig, pane: Shell) -> None:
    made = await pane(SHOW, width=40, height=10)
    await rig.wait_until_shown(made.pane, "end")
    shown = await take_picture(rig, made.pane)
    assert (shown.width, shown.height) == (40 * 16 + 2 * MARGIN, 10 * 32 + 2 * MARGIN)
    assert shown.pixels[MARGIN][MARGIN] == shown.pixels[MARGIN][MARGIN + 31] == (10, 200, 30)
    assert "#" in "".join(shown.cell(2, 0, 2))
    assert "########" in shown.cell(1, 1, 2)  # the line
    assert shown.cell(3, 2, 2) == ["#" * 8] * 16  # the cursor
    assert shown.cell(0, 5, 2) == ["." * 8] * 16
    light = await take_picture(rig, made.pane, theme="light")
    assert light.pixels[0][0] == (255, 255, 255)


@pytest.mark.tmux_since(3, 3, "it does not tell the colour of underlines")
async def test_what_tmux_tells_of_lines_is_drawn(rig: Rig, pane: Shell) -> None:
    """Draw underlines with their own colour, and overlines, as this tmux writes them."""
    made = await pane(
        r"printf '\033[4:3;58:2::255:0:7mn\033[0m\033[53mn\033[0m\nend'; exec sleep 60", width=40, height=10
    )
    await rig.wait_until_shown(made.pane, "end")
    shown = await take_picture(rig, made.pane)
    first = {line[x] for line in shown.pixels[MARGIN : MARGIN + 32] for x in range(MARGIN, MARGIN + 16)}
    assert (255, 0, 7) in first
    assert shown.cell(1, 0, 2)[0] == "########"


async def test_svg_and_html_are_text(rig: Rig, pane: Shell) -> None:
    made = await pane(SHOW, width=40, height=10)
    await rig.wait_until_shown(made.pane, "end")
    svg = await rig.text("screenshot-pane", paneId=made.pane, output="svg")
    assert svg.startswith("<svg xmlns=")
    assert "&lt;b&gt;" in svg
    page = await rig.text("screenshot-pane", paneId=made.pane, output="html")
    assert page.startswith("<!DOCTYPE html>")
    assert "background:#0ac81e" in page
    assert "┌─┐" in page
    assert "&lt;b&gt;" in page


async def test_a_picture_is_saved_where_it_is_wanted(rig: Rig, fails: Fails, pane: Shell) -> None:
    made = await pane(SHOW, width=40, height=10)
    await rig.wait_until_shown(made.pane, "end")
    for output, name in [("image", "a.png"), ("svg", "a.svg"), ("html", "a.html"), ("image", "a.png")]:
        path = rig.folder / name
        result = await rig.ask("screenshot-pane", {"paneId": made.pane, "output": output, "path": str(path)})
        [block] = result.content
        assert isinstance(block, types.TextContent)
        assert json.loads(block.text) == result.structured_content == {"path": str(path)}
        assert path.stat().st_mode & 0o777 == 0o600
    DecodedPng.of((rig.folder / "a.png").read_bytes())
    victim = rig.folder / "victim"
    victim.write_text("mine")
    (rig.folder / "link.png").symlink_to(victim)
    (rig.folder / "folder.png").mkdir()
    for path, words in [
        (victim, "must end in .png"),
        (rig.folder / "a.svg", "must end in .png"),
        (rig.folder / "link.png", "cannot be written"),
        (rig.folder / "folder.png", "cannot be written"),
        (rig.folder / "gone" / "a.png", "cannot be written"),
    ]:
        assert words in await fails("screenshot-pane", paneId=made.pane, path=str(path))
    assert victim.read_text() == "mine"
    assert not list(rig.folder.glob(".*"))


async def test_a_browser_is_opened_for_the_person_here(rig: Rig, pane: Shell, tmp_path: Path) -> None:
    """Use a program of the test as the browser."""
    made = await pane(SHOW, width=40, height=10)
    await rig.wait_until_shown(made.pane, "end")
    seen, page = tmp_path / "seen", rig.folder / "shown.html"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{seen}\n')
    browser.chmod(0o755)
    programs = tmp_path / "bin"  # without other browsers: Python tries them when $BROWSER fails
    programs.mkdir()
    for needed in ("tmux", "sh", "cat"):
        (programs / needed).symlink_to(shutil.which(needed) or "")
    for program, status, words in [
        (str(browser), 0, str(page)),
        ("/bin/false", 1, "No browser could be opened"),
    ]:
        given = json.dumps({"paneId": made.pane, "output": "browser", "path": str(page)})
        argv = [sys.executable, "-m", "muxpilot", "call", "--socket", rig.socket, "screenshot-pane", given]
        env = {**clean_environment(rig.folder), "PATH": str(programs), "BROWSER": f"{program} %s"}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, words in done.stdout + done.stderr) == (status, True), done
    assert seen.read_text() == f"{page.as_uri()}\n"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert os.stat(page).st_mode & 0o777 == 0o600


async def test_a_recording_has_what_was_there_and_what_came(
    rig: Rig, call: Call, fails: Fails, pane: Shell
) -> None:
    made = await pane()
    await rig.run(made.pane, "echo before-it")
    path = rig.folder / "one.cast"
    started = await call("record-pane", paneId=made.pane, action="start", path=str(path))
    assert (started["paneId"], started["recording"], started["path"]) == (made.pane, True, str(path))
    assert "is already being recorded" in await fails("record-pane", paneId=made.pane, action="start")
    await rig.run(made.pane, r"printf '\033[32mgrün 世\033[0m\n'")
    ended = await call("record-pane", paneId=made.pane, action="stop")
    await rig.run(made.pane, "echo after-it")
    assert (ended["recording"], ended["path"], ended["bytes"]) == (False, str(path), path.stat().st_size)
    assert ended["seconds"] >= started["seconds"]
    found = list(read_events(path))
    assert "before-it" in found[0].text
    printed = "".join(event.text for event in found[1:])
    assert "\x1b[32mgrün 世" in printed
    assert "\x1b]133;" not in path.read_text().replace("\\u001b", "\x1b")  # marks of the shell integration
    assert "before-it" not in printed
    assert "after-it" not in printed
    assert "is not being recorded" in await fails("record-pane", paneId=made.pane, action="stop")
    assert "already exists" in await fails("record-pane", paneId=made.pane, action="start", path=str(path))
    assert "must end in .cast" in await fails(
        "record-pane", paneId=made.pane, action="start", path=str(rig.folder / "x.png")
    )


async def test_a_recording_misses_nothing_of_a_long_output(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    path = rig.folder / "long.cast"
    await call("record-pane", paneId=made.pane, action="start", path=str(path))
    await rig.run(made.pane, "seq 1 60000")
    await call("record-pane", paneId=made.pane, action="stop")
    printed = "".join(event.text for event in list(read_events(path))[1:])
    numbers = [int(line) for line in printed.split("\r\n") if line.isdigit()]
    assert numbers == list(range(1, 60001))


async def test_a_recording_tells_a_new_size_before_what_is_printed_in_it(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane(width=80, height=24)
    path = rig.folder / "sized.cast"
    await call("record-pane", paneId=made.pane, action="start", path=str(path))
    rig.raw("resize-window", "-t", made.window, "-x", "50", "-y", "12")

    async def is_told() -> bool:
        await rig.run(made.pane, "stty size")
        since = itertools.dropwhile(lambda event: event.kind != "r", read_events(path))
        return "12 50" in "".join(event.text for event in since)

    await eventually(is_told)
    await call("record-pane", paneId=made.pane, action="stop")
    assert [event.text for event in read_events(path) if event.kind == "r"] == ["50x12"]


async def test_a_recording_goes_to_a_private_folder_if_no_path_is_given(
    rig: Rig, call: Call, pane: Shell
) -> None:
    made = await pane("exec sleep 60")
    path = Path((await call("record-pane", paneId=made.pane, action="start"))["path"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    await call("record-pane", paneId=made.pane, action="stop")
    path.unlink()


async def test_a_person_s_pane_is_recorded_too_and_its_recording_ends_with_it(rig: Rig, call: Call) -> None:
    made = rig.session_of_a_person("recorded", "sh", "-c", "read line; echo got-$line; read line")
    path = rig.folder / "two.cast"
    await call("record-pane", paneId=made.pane, action="start", path=str(path))
    await call("send-keys", paneId=made.pane, keys="it", enter=True)

    async def printed() -> bool:
        return "got-it" in "".join(event.text for event in read_events(path))

    await eventually(printed)
    await call("send-keys", paneId=made.pane, keys="", enter=True)

    async def gone() -> bool:
        return made.pane not in rig.raw("list-panes", "-a", "-F", "#{pane_id}").split()

    await eventually(gone)
    stopped = await call("record-pane", paneId=made.pane, action="stop")
    assert (stopped["recording"], stopped["bytes"]) == (False, path.stat().st_size)
