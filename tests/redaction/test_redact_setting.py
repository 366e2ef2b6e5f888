"""The setting: cuts and wraps in a real pane, bad patterns, files, the command line, and when it is off."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.errors import BadInput
from tests.redaction.planted import TOKEN, shows_token
from tests.redaction.test_redactor import KEY
from tests.rigs.mcp_client import clean_environment
from tests.rigs.mcp_fixtures import place as place
from tests.rigs.mcp_fixtures import under as under
from tests.rigs.policies import AppUnderPolicy, Policy, PolicyPlace
from tests.rigs.waiting import LIMIT_S, eventually

ON = "[security]\nredact = true\n"


async def shell_of(run: AppUnderPolicy, place: PolicyPlace) -> str:
    return str((await run.call("create-window", sessionId="other", command="PS1='$ ' exec sh"))["paneId"])


async def test_no_page_of_an_output_shows_the_half_of_a_token(place: PolicyPlace, under: Policy) -> None:
    text = f"{'a ' * 20}{TOKEN} {'b ' * 200}"
    async with under(ON) as run:
        pane = await shell_of(run, place)
        answer = await run.call("execute-command", paneId=pane, command=f"echo '{text}'")
        for size in (7, 41, 50, 64):
            pages = [
                await run.call(
                    "get-command-result", commandId=answer["commandId"], offsetBytes=at, maxOutputBytes=size
                )
                for at in range(0, len(text), size)
            ]
            assert not any(
                piece in page["output"]
                for page in pages
                for piece in (TOKEN[at : at + 3] for at in range(38))
            )
        for limit in range(60, 160, 7):
            cut = await run.call("get-command-result", commandId=answer["commandId"], maxOutputBytes=limit)
            assert cut["outputTruncated"]
            assert not any(TOKEN[at : at + 3] in cut["output"] for at in range(38)), cut["output"]


async def test_no_slice_of_a_buffer_shows_the_half_of_a_token(place: PolicyPlace, under: Policy) -> None:
    text = f"{'a ' * 20}{TOKEN} marker"
    async with under(ON) as run:
        await run.call("set-buffer", name="cut", content=text)
        for at in range(len(text)):
            shown = await run.call("show-buffer", name="cut", offsetBytes=at, maxBytes=9)
            assert not any(TOKEN[n : n + 3] in shown for n in range(38)), (at, shown)
        for query in ("marker", TOKEN[8:12]):
            found = await run.call(
                "search-buffer", buffer="cut", query=query, mode="literal", contextBytes=20
            )
            assert len(found["matches"]) == (query == "marker")
            assert not any(TOKEN[n : n + 5] in str(found["matches"]) for n in range(35)), found


async def test_a_token_that_tmux_wraps_is_hidden_in_every_range(place: PolicyPlace, under: Policy) -> None:
    """The pane has 80 columns: the token begins in one row and ends in the next."""
    async with under(ON) as run:
        made = await run.call("create-window", sessionId="other", command=f"echo '{'x' * 60} {TOKEN} y'; cat")
        pane = made["paneId"]

        async def is_shown() -> bool:
            return TOKEN[-4:] in place.raw("capture-pane", "-p", "-t", pane)

        await eventually(is_shown)
        first, second = {"start": 0, "end": 0}, {"start": 1, "end": 1}
        wanted: dict[str, Any]
        for wanted in ({}, first, second, {"lines": 1}, {"lines": 2}, {"join": True}):
            for colors in (False, True):
                shown = await run.call("capture-pane", paneId=pane, colors=colors, **wanted)
                assert not any(TOKEN[n : n + 4] in shown for n in range(36)), (wanted, shown)
                assert "[redacted]" in shown, (wanted, shown)
        for columns in ([0, 70], [61, 79], [0, 30]):
            part = await run.call("read-screen", paneId=pane, columns=columns)
            assert not any(TOKEN[n : n + 4] in str(part) for n in range(36)), part
            assert "[redacted]" in str(part["rows"])


async def test_no_range_of_a_private_key_is_shown(place: PolicyPlace, under: Policy) -> None:
    async with under(ON) as run:
        made = await run.call(
            "create-window", sessionId="other", command=f"printf '%s\\n' {shlex.join(KEY)} end; cat"
        )
        pane = made["paneId"]

        async def is_shown() -> bool:
            return "end" in place.raw("capture-pane", "-p", "-t", pane)

        await eventually(is_shown)
        for row in range(len(KEY)):
            shown = await run.call("capture-pane", paneId=pane, start=row, end=row)
            assert shown == "[redacted]", row
        found = await run.call("search-panes", query="b3Blb", paneIds=[pane])
        assert found["matches"] == []
        read = await run.call("read-pane", paneId=pane, grep="b3Blb")
        assert read["text"] == ""
        assert (await run.call("read-pane", paneId=pane))["newLines"] == len(KEY) + 1


async def test_what_is_run_and_typed_is_not_changed(place: PolicyPlace, under: Policy) -> None:
    written = place.folder / "written"
    async with under(ON) as run:
        pane = await shell_of(run, place)
        await run.call("execute-command", paneId=pane, command=f"printf %s {TOKEN} >{written}")
        assert written.read_text() == TOKEN
        await run.call("set-buffer", name="kept", content=TOKEN)
        assert place.raw("show-buffer", "-b", "kept") == TOKEN
        await run.call("send-keys", paneId=place.panes["two"], keys=f"echo {TOKEN}")
        ids = await run.call("list-panes")
        assert {row["id"] for row in ids["panes"]} == place.ids("pane_id")


async def test_the_prompt_for_a_password_is_named(place: PolicyPlace, under: Policy) -> None:
    async with under(ON) as run:
        pane = await shell_of(run, place)
        command = "stty -echo; printf 'Password: '; read x; stty echo"
        answer = await run.call("execute-command", paneId=pane, command=command, timeoutSeconds=LIMIT_S)
        assert answer["reason"] == "It waits for a password at 'Password:'."


async def test_files_of_buffers_and_recordings_are_whole_and_pictures_are_not(
    place: PolicyPlace, under: Policy
) -> None:
    async with under(f"{ON}allowed_buffer_paths = ['{place.folder}']\n") as run:
        await run.call("set-buffer", name="kept", content=TOKEN)
        await run.call("save-buffer", name="kept", path=f"{place.folder}/kept.txt")
        assert (place.folder / "kept.txt").read_text() == TOKEN
        pane = (await run.call("create-window", sessionId="other", command=f"echo {TOKEN}; cat"))["paneId"]

        async def is_shown() -> bool:
            return TOKEN in place.raw("capture-pane", "-p", "-t", pane)

        await eventually(is_shown)
        await run.call("screenshot-pane", paneId=pane, output="html", path=f"{place.folder}/a.html")
        assert not shows_token((place.folder / "a.html").read_text())


async def test_security_that_is_off_redacts_nothing(place: PolicyPlace, under: Policy) -> None:
    async with under(f"{ON}enabled = false\n") as run:
        await run.call("set-buffer", name="kept", content=TOKEN)
        assert await run.call("show-buffer", name="kept") == TOKEN


def test_a_bad_pattern_is_an_error_with_its_line(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    for is_on in ("true", "false"):
        config.write_text(f"[security]\nredact = {is_on}\n\nredact_patterns = ['fine', 'a(b']\n")
        settings = load_settings({}, config=str(config))
        with pytest.raises(BadInput) as raised:
            build(settings)
        assert str(raised.value).startswith(f"{config}:4: security.redact_patterns: 'a(b' is not a pattern.")


def test_without_redaction_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    program = (
        "import sys; from muxpilot.app import build; from muxpilot.config.flags import load_settings\n"
        f"build(load_settings({{}}, socket={str(tmp_path / 's')!r}))\n"
        "print([name for name in sys.modules if 'redact' in name or name == 're2'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
        env=clean_environment(tmp_path),
    )
    assert done.stdout.strip() == "[]"


def test_the_command_line_redacts_too(place: PolicyPlace, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(ON)
    base = [sys.executable, "-m", "muxpilot"]
    flags = ["--socket", place.socket, "--config", str(config), "--workspace", "redacting"]

    def muxpilot(*words: str) -> str:
        done = subprocess.run(
            [*base, *flags, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env=clean_environment(place.folder),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    for words in (("run", "--", f"echo {TOKEN}"), ("logs", "main"), ("run", "--json", "--", f"echo {TOKEN}")):
        shown = muxpilot(*words)
        assert not shows_token(shown), (words, shown)
        assert "[redacted]" in shown
