"""A secret leaves no trace in answers, logs, files, recordings, processes and tmux itself."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.session import ClientSession

from tests.rigs.asking import (
    READER,
    reply_of,
    see_popup,
    start_asking,
    start_reader,
    use_home,
    wait_for_prompt,
)
from tests.rigs.engine import wait_until
from tests.rigs.page_answers import AskingPage, open_page
from tests.rigs.sdk_client import start_sdk_client
from tests.rigs.traces import find_in_processes, find_traces
from tests.rigs.wire import Place, private_place


def read_message_log(place: Place) -> str:
    """Return the last commands that tmux remembers, with their arguments. A client must be attached."""
    client = place.tmux("list-clients", "-F", "#{client_name}").splitlines()[0]
    log = place.tmux("show-messages", "-t", client)
    assert "show-messages" in log, "it remembers commands"
    return log


@contextmanager
def no_process_gets(secret: str) -> Iterator[None]:
    """Look at the arguments and environments of all processes again and again: some run for a moment only."""
    stopped, found = threading.Event(), list[str]()

    def look() -> None:
        while not stopped.is_set():
            found.extend(find_in_processes(secret.encode()))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        stopped.set()
        looking.join()
    assert found == []


def flags_that_keep_all(folder: Path) -> tuple[str, ...]:
    """Return flags with which muxpilot writes as much as it can: two audits, and the longest log."""
    return ("--audit", str(folder / "audit"), "--audit-full", str(folder / "full"), "--log-level", "debug")


def folders_of(place: Place, folder: Path) -> tuple[Path, ...]:
    """Return every folder that muxpilot or tmux may write to."""
    return place.home, place.passing, folder, Path(f"/tmp/muxpilot-{os.getuid()}")


def make_secret(core: str) -> str:
    """Return a secret with a core that is looked for alone: a file may have the rest in another encoding."""
    return f"s3cret-{core} é#(x);"


async def wait_until_read(place: Place, pane: str, secret: str) -> None:
    expected = f"got {len(secret.encode())}"  # dash counts bytes
    await wait_until(lambda: expected in place.tmux("capture-pane", "-p", "-t", pane))


async def answer_on_page(page: AskingPage, secret: str) -> None:
    question = await page.wait_for_question()
    answer = await page.post("answer", {"id": question["id"], "answer": secret})
    assert answer.json() == {"problem": ""}


@pytest.mark.parametrize("way", ["popup", "view"])
async def test_a_secret_reaches_the_pane_and_leaves_no_trace(way: str, tmp_path: Path) -> None:
    core = secrets.token_hex(12)
    secret = make_secret(core)
    async with start_asking(*flags_that_keep_all(tmp_path)) as asking:
        pane = await start_reader(asking)
        cast = asking.place.home / "pane.cast"
        await asking.wire.call("record-pane", paneId=pane, action="start", path=str(cast))
        async with asking.person("attach", "-t", "work") as person:
            pending = await asking.ask(question="The password?", paneId=pane, secret=True)
            await see_popup(person)
            with no_process_gets(core):
                if way == "popup":
                    person.press(f"{secret}\r")
                else:
                    async with open_page(asking.place, asking.wire) as page:
                        await page.unlock()
                        await answer_on_page(page, secret)
                assert await reply_of(pending) == {"answered": True, "how": way, "answer": None}
                await wait_until_read(asking.place, pane, secret)
            shown = bytes(person.seen)
            assert core not in read_message_log(asking.place)
        told = [
            await asking.wire.call("read-pane", paneId=pane, maxLines=1000),
            await asking.wire.call("capture-pane", paneId=pane, lines=1000),
            await asking.wire.call("list-commands"),
            await asking.wire.call("list-buffers"),
        ]
        await asking.wire.call("record-pane", paneId=pane, action="stop")
        assert core not in repr(told)
        assert core.encode() not in shown
        assert "The password?" in (tmp_path / "audit").read_text()
        folders = folders_of(asking.place, tmp_path)
        assert find_traces(core, *folders) == []
        options = asking.place.tmux("show-environment", "-g") + asking.place.tmux("show-options", "-g")
        assert core not in options
        await asking.wire.close_stdin()
        log = await asking.wire.stderr()
        assert "question phase changed" in log
        assert core not in log
        assert find_traces(core, *folders) == []


async def call(client: ClientSession, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result


def follow_into(links: list[str]) -> Callable[[Any, Any], Awaitable[types.ElicitResult]]:
    """Return what the client does with a link: it accepts, and keeps the link in a list."""

    async def follow(context: Any, params: Any) -> types.ElicitResult:
        links.append(params.url)
        return types.ElicitResult(action="accept")

    return follow


async def test_a_secret_by_a_link_of_the_client_leaves_no_trace(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The SDK's client is asked in URL mode, and the person answers on the page that it links to."""
    core, links = secrets.token_hex(12), list[str]()
    secret, log_file = make_secret(core), tmp_path / "log"
    flags = ("--scope", "all", *flags_that_keep_all(tmp_path))
    with private_place() as place, use_home(place), log_file.open("w") as log:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        async with (
            start_sdk_client(place, *flags, log=log, answer_question=follow_into(links)) as client,
            open_page(place, None) as page,
        ):
            await page.unlock()
            made = await call(client, "create-session", name="work", command=READER)
            pane = made.structured_content["paneId"]
            await wait_for_prompt(place, pane)
            await call(client, "record-pane", paneId=pane, action="start", path=str(place.home / "pane.cast"))
            with no_process_gets(core):
                pending = asyncio.create_task(
                    call(client, "ask-person", question="It?", paneId=pane, secret=True)
                )
                await page.wait_for_question()
                await wait_until(lambda: bool(links))
                await answer_on_page(page, secret)
                told = [await pending]
                await wait_until_read(place, pane, secret)
            told += [
                await call(client, "read-pane", paneId=pane, maxLines=1000),
                await call(client, "capture-pane", paneId=pane, lines=1000),
                await call(client, "record-pane", paneId=pane, action="stop"),
            ]
            assert links == [page.ask]
        assert told[0].structured_content == {"answered": True, "how": "view", "answer": None}
        assert core not in repr(told)
        lines = (tmp_path / "audit").read_text().splitlines()
        line = next(line for line in lines if '"ask-person"' in line)
        assert '"asked": ["MCP client mcp"], "by": "browser 1 of the view page at 127.0.0.1:' in line
        assert "question phase changed" in log_file.read_text()
        assert find_traces(core, *folders_of(place, tmp_path)) == []
    assert core not in "".join(capfd.readouterr())


TYPING: dict[str, Callable[[str], dict[str, Any]]] = {
    "send-keys": lambda secret: {"keys": secret, "enter": True},
    "paste-text": lambda secret: {"content": secret, "enter": True},
    "run-in-repl": lambda secret: {"input": secret},
    "send-hex": lambda secret: {"hex": f"{secret.encode().hex(' ')} 0d"},
}


@pytest.mark.parametrize("tool", TYPING)
async def test_what_an_agent_types_where_a_password_is_asked_for_leaves_no_trace(
    tool: str, tmp_path: Path
) -> None:
    core = secrets.token_hex(12)
    async with start_asking(*flags_that_keep_all(tmp_path)) as asking:
        pane = await start_reader(asking)
        cast = asking.place.home / "pane.cast"
        await asking.wire.call("record-pane", paneId=pane, action="start", path=str(cast))
        with no_process_gets(core):
            await asking.wire.call(tool, paneId=pane, **TYPING[tool](core))
            await wait_until_read(asking.place, pane, core)
        told = [
            await asking.wire.call("read-pane", paneId=pane, maxLines=1000),
            await asking.wire.call("list-commands"),
            await asking.wire.call("list-buffers"),
        ]
        await asking.wire.call("record-pane", paneId=pane, action="stop")
        assert core not in repr(told)
        assert tool in (tmp_path / "audit").read_text()
        folders = folders_of(asking.place, tmp_path)
        assert find_traces(core, *folders) == []
        assert find_traces(core.encode().hex(" "), *folders) == []
        await asking.wire.close_stdin()
        assert core not in await asking.wire.stderr()
        assert find_traces(core, *folders) == []
