"""The examples in docs/ run as they stand there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from docs.view_picture import WINDOW, main
from muxpilot.protocol.envelope import CAPABILITIES_KEY
from tests.rigs.browser import PROGRAM
from tests.rigs.namespaces import run_container
from tests.rigs.wire import ENVELOPE, private_place

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
OUTCOMES = (
    '"exitCode": 0, "output": "2:error: disk is full\\n"',
    '"status": "failed", "exitCode": 1',
    '"output": "/usr/lib\\n"',
    '"status": "failed", "exitCode": 3, "output": "built\\n"',
    "It waits for a password",
    '"answered": true, "how": "popup"',
    "11 characters",
    '"changed": "chose 04',
    "it went on",
    "depth 2",
    '"status": "failed", "exitCode": 3',
    '"event": "pattern:Serving HTTP"',
    "  | demo:/usr/lib$ bash --norc",
    '"killed"',
)
README = EXAMPLES.parents[1] / "README.md"


def run(name: str, *args: str) -> str:
    argv = [sys.executable, str(EXAMPLES / name), *args]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def transcript(text: str) -> list[str]:
    """The calls and answers in a text, without what is another one each time."""
    lines = [line for line in text.splitlines() if re.match(r"  (  ->|[a-z-]+) \{", line)]
    assert len(lines) > 10
    return [re.sub(r"cmd-[0-9a-f]{10}|(?<=port )\d+|(?<=127.0.0.1:)\d+", "…", line) for line in lines]


def test_the_library_example_prints_everything_and_the_status(folder: Path) -> None:
    assert run("library.py", str(folder / "s")).splitlines() == ["1", "2", "3", "status 7"]


def test_a_client_without_an_sdk_gets_answers_and_errors(folder: Path) -> None:
    told = run("client.py", "--socket", str(folder / "s"), "--workspace", "example")
    page = (EXAMPLES.parent / "writing-clients.md").read_text()
    assert told == page.split("```text\n")[1].split("```")[0]


@pytest.mark.parametrize("block", [0, 1], ids=["with a handshake", "without"])
async def test_the_messages_that_the_page_shows_are_answered(block: int) -> None:
    page = (EXAMPLES.parent / "writing-clients.md").read_text()
    lines = re.findall(r"^```jsonl\n(.*?)^```", page, re.M | re.S)[block].splitlines()
    with private_place() as place:
        async with place.serve("--workspace", "example") as wire:
            outputs = []
            for line in lines:
                await wire.write(line.encode() + b"\n")
                if "id" not in json.loads(line):
                    continue
                answer = await wire.next_unmatched_answer()
                assert (answer["id"], "result" in answer) == (json.loads(line)["id"], True), answer
                outputs.append(answer["result"].get("structuredContent", {}).get("output"))
    assert "hello\n" in outputs


def shown_json(page: str) -> list[dict[str, Any]]:
    text = (EXAMPLES.parent / page).read_text()
    return [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)]


async def test_the_subscription_that_the_page_shows_is_followed() -> None:
    listen = shown_json("writing-clients.md")[0]
    wanted = listen["params"]["notifications"]
    with private_place() as place:
        async with place.serve("--workspace", "example") as wire:
            wire.use_modern_revision()
            await wire.call("execute-command", command="true")
            request = await wire.start(listen["method"], listen["params"])
            told = await wire.wait_for_notification(lambda m: m["method"].endswith("/acknowledged"))
            assert told["params"]["notifications"] == wanted
            await wire.call("send-keys", keys="echo more", enter=True)
            told = await wire.wait_for_notification(
                lambda m: m["method"] == "notifications/resources/updated"
            )
            assert told["params"]["uri"] == wanted["resourceSubscriptions"][0]
            assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": request.id}


async def test_the_question_that_the_page_shows_is_asked_and_answered() -> None:
    _, question, repeated = shown_json("writing-clients.md")
    [shown_key] = question["result"]["inputRequests"]
    with private_place() as place:
        async with place.serve("--workspace", "example") as wire:
            wire.envelope = {**ENVELOPE, CAPABILITIES_KEY: {"elicitation": {}}}
            params = repeated["params"]
            first = await wire.result(
                repeated["method"], {"name": params["name"], "arguments": params["arguments"]}
            )
            [key] = first["inputRequests"]
            shown = question["result"]["inputRequests"][shown_key]
            assert first["resultType"] == question["result"]["resultType"]
            assert shown.keys() == first["inputRequests"][key].keys()
            asked = first["inputRequests"][key]["params"]
            for params_of in (shown["params"], asked):  # the names of client and workspace are another matter
                params_of["message"] = params_of["message"].partition(" asks")[2]
            assert shown["params"] == asked
            answers = {key: params["inputResponses"][shown_key]}
            last = await wire.result(repeated["method"], {**params, "inputResponses": answers})
    assert last["structuredContent"] == {"answered": True, "how": "elicitation", "answer": "yes"}
    assert last["resultType"] == "complete"


@pytest.mark.parametrize(
    ("page", "example"), [("engine.md", "library.py"), ("writing-clients.md", "client.py")]
)
def test_the_page_shows_the_example_that_runs(page: str, example: str) -> None:
    code = (EXAMPLES.parent / page).read_text().split("```python\n")[1].split("```")[0]
    written = [line.strip() for line in (EXAMPLES / example).read_text().splitlines()]
    assert [line for line in code.splitlines() if line.strip() not in written] == []


@pytest.mark.timeout(200)
def test_the_demonstration_ends_well_and_leaves_only_its_picture_and_film(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(folder))
    picture = folder / "picture.png"
    told = run("demo.py", str(picture))
    for outcome in OUTCOMES:
        assert outcome in told
    lines = iter(transcript(told))
    assert [line for line in transcript(README.read_text()) if line not in lines] == []  # in this order
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    assert sorted(folder.iterdir()) == [picture.with_suffix(end) for end in (".cast", ".gif", ".png")]
    with Image.open(picture.with_suffix(".gif")) as film:
        assert getattr(film, "n_frames", 1) > 5


def test_an_agent_works_in_a_container_and_is_recorded(tmp_path: Path) -> None:
    film = tmp_path / "container.gif"
    with run_container() as container:
        told = run("container.py", str(film), *container.words)
    assert '"output": "this is pid ' in told
    assert '"exitCode": 2, "status": "failed"' in told
    assert "the answer is yes" in told
    assert "step 3" in told
    with Image.open(film) as frames:
        assert getattr(frames, "n_frames", 1) > 3


@pytest.mark.skipif(PROGRAM is None or shutil.which("vim") is None, reason="there is no Chromium, or no vim")
@pytest.mark.timeout(200)
async def test_the_picture_of_the_view_page_is_drawn_and_nothing_else_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script itself waits until the page shows all four panes, the question and the refused call."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    picture = folder / "view.png"
    await main(picture)
    with Image.open(picture) as shot, Image.open(EXAMPLES.parent / "view.png") as shown:
        assert (shot.format, shot.size) == ("PNG", WINDOW)
        assert shown.size == WINDOW
    assert list(folder.iterdir()) == [picture]
