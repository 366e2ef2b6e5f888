"""What ends with an HTTP client, and how the server ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket as sockets
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.server import http_server, http_sessions
from tests.rigs.http_server import HttpClient, close, connect, request, request_head, serving_http
from tests.rigs.waiting import eventually, is_running, within
from tests.rigs.wire import LIMIT_S, Place, private_place

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_what_a_client_follows_ends_with_its_session_and_its_panes_stay(
    web: HttpClient, place: Place, pane: str
) -> None:
    place.tmux("pipe-pane", "-t", pane, "cat >/dev/null")  # so that it is followed by a client
    one, two = await web.open(), await web.open()
    watch = await web.call(one, "notify-when", paneId=pane, triggers="pattern:never")
    await web.post(request("resources/subscribe", uri=f"tmux://pane/{pane}"), mcp_session_id=one)
    assert _is_followed(place, pane)
    assert (await web.call(two, "get-watch", watchId=watch["watchId"]))["status"] == "watching"
    assert (await web.send("DELETE", mcp_session_id=one)).status_code == 200

    async def is_over() -> bool:
        status = (await web.call(two, "get-watch", watchId=watch["watchId"]))["status"]
        return bool(status == "cancelled" and not _is_followed(place, pane))

    await eventually(is_over)
    assert pane in place.tmux("list-panes", "-a", "-F", "#{pane_id}").split()


async def test_a_client_that_has_gone_without_a_word_is_noticed_by_its_stream(place: Place) -> None:
    async with _in_process(place, absent_s=0.2) as web:
        one, two = await web.open(), await web.open()
        made = await web.call(one, "create-session", name="left", command="cat")
        async with web.stream(one):
            watch = await web.call(one, "notify-when", paneId=made["paneId"], triggers="pattern:never")
        await eventually(lambda: _is_over(web, two, watch))
        assert (await web.post(request("tools/list"), mcp_session_id=one)).status_code == 404
        assert await web.call(two, "list-panes")


async def test_a_client_that_opens_its_stream_again_in_time_has_not_gone(place: Place) -> None:
    """Compare with a client that left at the same time for good: its end shows that the time is over."""
    async with _in_process(place, absent_s=3) as web:
        back, gone, other = await web.open(), await web.open(), await web.open()
        made = await web.call(other, "create-session", name="again", command="cat")
        watch = await web.call(gone, "notify-when", paneId=made["paneId"], triggers="pattern:never")
        for identity in (back, gone):
            async with web.stream(identity):
                pass
        async with web.stream(back) as stream:
            assert stream.status_code == 200
            await eventually(lambda: _is_over(web, other, watch))
            assert (await web.post(request("tools/list"), mcp_session_id=back)).status_code == 200


async def test_of_too_many_sessions_the_one_that_was_idle_the_longest_ends(place: Place) -> None:
    """Keep clients with an open stream or a running call."""
    async with _in_process(place, absent_s=60, most=4) as web:
        present, used, idle = await web.open(), await web.open(), await web.open()
        async with web.stream(present):
            assert (await web.post(request("tools/list"), mcp_session_id=used)).status_code == 200
            more = [await web.open() for _ in range(2)]
            found = [
                (await web.post(request("tools/list"), mcp_session_id=identity)).status_code
                for identity in (present, used, idle, *more)
            ]
            assert found == [200, 200, 404, 200, 200]


async def test_a_session_that_never_was_takes_no_room(place: Place) -> None:
    async with _in_process(place, absent_s=60, most=2) as web:
        real = await web.open()
        for number in range(4):
            assert (await web.send("GET", mcp_session_id=f"none-{number}")).status_code == 404
        assert await web.open()
        assert (await web.post(request("tools/list"), mcp_session_id=real)).status_code == 200


async def _is_over(web: HttpClient, asking: str, watch: dict[str, Any]) -> bool:
    found = await web.call(asking, "get-watch", watchId=watch["watchId"])
    return bool(found["status"] == "cancelled")


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "SIGHUP"])
async def test_a_signal_ends_it_in_the_middle_of_everything(way: str) -> None:
    with private_place() as place:
        async with serving_http(place) as (web, process):
            identity = await web.open()
            made = await web.call(identity, "create-session", name="ours", command="cat")
            given = {"paneId": made["paneId"], "triggers": "pattern:never", "timeout": 60}
            body = request("tools/call", name="watch-pane", arguments=given)
            waiting = asyncio.create_task(web.post(body, mcp_session_id=identity))
            _, half = await connect(web)
            half.write(request_head(web, "content-length: 100"))
            async with web.stream(identity):
                await web.call(identity, "list-panes")
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                assert children
                os.kill(process.pid, signal.Signals[way])
                with within(5):
                    assert await asyncio.wait_for(process.wait(), LIMIT_S) == 0
            assert process.stderr is not None
            assert await process.stderr.read() == b""
            await asyncio.wait([waiting])
            waiting.exception()
            await close(half)
        await eventually(lambda: _have_ended(children))
        assert list(place.passing.iterdir()) == []
        await eventually(lambda: _is_left_alone(place))


async def _have_ended(pids: list[str]) -> bool:
    return not any(is_running(int(pid)) for pid in pids)


async def _is_left_alone(place: Place) -> bool:
    return place.tmux("list-sessions", "-F", "#{session_name} #{session_attached}") == "ours 0"


class _in_process:  # noqa: N801 - used as a function
    """The same server in this process, with a shorter time until a client counts as gone."""

    def __init__(self, place: Place, *, absent_s: float, most: int = http_sessions.MOST_SESSIONS) -> None:
        self._app = build(load_settings({}, scope="all", socket=place.socket))
        self._listener = sockets.create_server(("127.0.0.1", 0))
        self._stopped = asyncio.Event()
        self._run = partial(http_server.run, absent_s=absent_s, most=most)

    async def __aenter__(self) -> HttpClient:
        self._web = HttpClient(http_server.address(self._listener))
        serving = self._run(self._app, [self._listener], token=None, stopped=self._stopped)
        self._task = asyncio.create_task(serving)
        return self._web

    async def __aexit__(self, *_: object) -> None:
        await self._web.client.aclose()
        self._stopped.set()
        await asyncio.wait_for(self._task, LIMIT_S)


def _is_followed(place: Place, pane: str) -> bool:
    """Return whether a pane is followed by one of our clients in its session."""
    return place.tmux("display-message", "-p", "-t", pane, "#{session_attached}") != "0"
