"""What is in the journals that muxpilot leaves behind, and who may read it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from tests.rigs.muxpilots import call_and_wait, killed_server, one_server
from tests.rigs.shell_panes import create_pane
from tests.rigs.waiting import eventually
from tests.rigs.wire import Place

SECRET = "hunter2-typed-by-a-person"
# A program that hides what is typed, and then tells how much it was.
READER = "stty -echo; printf 'Password: '; read x; stty echo; echo; echo got ${#x}; exec cat"


def kept_texts(place: Place) -> list[bytes]:
    """Return what is in each file that muxpilot keeps."""
    found = []
    for parent, _, names in os.walk(place.home / ".local" / "state" / "muxpilot"):
        for name in names:
            with suppress(OSError):  # it may be removed meanwhile
                found.append(Path(parent, name).read_bytes())
    return found


async def test_what_a_terminal_hides_is_in_no_journal(place: Place) -> None:
    async with killed_server(place) as first:
        made = await first.call("create-session", name="work", command=READER)
        pane = made["paneId"]

        async def asks() -> bool:
            return "Password:" in place.tmux("capture-pane", "-p", "-t", pane)

        await eventually(asks)
    place.tmux("send-keys", "-t", pane, "-l", SECRET)
    place.tmux("send-keys", "-t", pane, "Enter")
    told = f"got {len(SECRET)}".encode()

    async def is_kept() -> bool:
        return any(told in text for text in kept_texts(place))

    await eventually(is_kept)
    assert [text for text in kept_texts(place) if SECRET.encode() in text] == []
    async with one_server(place) as second:
        text = (await second.call("read-pane", paneId=pane, maxLines=100))["text"]
    assert told.decode() in text
    assert SECRET not in text


async def test_output_is_kept_from_the_first_byte_though_no_muxpilot_asked_for_it(place: Place) -> None:
    place.tmux("set-option", "-g", "history-limit", "100")
    async with killed_server(place) as first:
        made = await first.call(
            "create-session", name="work", command="echo the-first-line; seq 1 3000; exec cat"
        )

    async def is_printed() -> bool:
        return "3000" in place.tmux("capture-pane", "-p", "-t", made["paneId"])

    await eventually(is_printed)
    assert "the-first-line" not in place.tmux("capture-pane", "-pS", "-", "-t", made["paneId"])
    async with one_server(place) as second:
        told = await second.call("read-pane", paneId=made["paneId"], maxLines=5000)
    lines = told["text"].splitlines()
    assert (lines[0], lines[1:3001]) == ("the-first-line", [str(number) for number in range(1, 3001)])
    assert told["missedLines"] == 0


async def test_kept_output_is_judged_by_the_policy_of_the_muxpilot_that_reads_it(place: Place) -> None:
    async with killed_server(place) as first:
        pane = await create_pane(place, first)
        done = await first.call("execute-command", paneId=pane, command="echo confidential")
    file = place.home / "strict.toml"
    file.write_text(f"[security]\nallowed_panes = {json.dumps(['%9999'])}\n")
    async with one_server(place, "--scope", "all", "--config", str(file)) as strict:
        answers = [
            await call_and_wait(strict, "get-command-result", commandId=done["commandId"]),
            await call_and_wait(strict, "read-pane", paneId=pane),
        ]
        assert [answer["status"] for answer in answers] == ["refused"] * 2
        assert (await strict.call("list-commands"))["commands"] == []
        uri = f"tmux://command/{done['commandId']}/result"
        error = await strict.error("resources/read", {"uri": uri})
    assert "confidential" not in repr((answers, error))
    async with one_server(place) as free:
        told = await free.call("get-command-result", commandId=done["commandId"])
    assert told["output"] == "confidential\n"
