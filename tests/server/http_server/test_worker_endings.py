"""What ends with a worker, and how a server with several workers ends."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path

import httpx2
import pytest

from tests.rigs.http_server import request
from tests.rigs.http_streams import Events, stream
from tests.rigs.http_workers import Workers, serving_by_workers
from tests.rigs.waiting import eventually, is_running, patient, within
from tests.rigs.wire import LIMIT_S, private_place

WAIT_MS = 20_000


async def test_the_sessions_of_a_killed_worker_begin_again_and_its_commands_are_told() -> None:
    with private_place() as place:
        async with serving_by_workers(place, 2) as workers:
            killed, living = await workers.wait_for(2)
            first, second = await workers.connect(killed), await workers.connect(living)
            lost, kept = await first.open(), await second.open()
            made = await first.call(lost, "create-session", name="ours")
            go = place.home / "go"
            command = f"while [ ! -e {go} ]; do sleep 0.1; done; echo done"
            pane = made["paneId"]
            asked = await first.call(lost, "execute-command", paneId=pane, command=command, waitMs=0)
            os.kill(killed, signal.SIGKILL)
            await eventually(lambda: _has_ended(killed))
            for method in ("GET", "DELETE"):
                assert (await second.send(method, mcp_session_id=lost)).status_code == 404
            assert (await second.post(request("tools/list"), mcp_session_id=lost)).status_code == 404
            assert (await second.post(request("tools/list"), mcp_session_id=kept)).status_code == 200
            go.touch()
            identity = asked["commandId"]
            told = await second.call(kept, "get-command-result", commandId=identity, waitMs=WAIT_MS)
            assert (told["status"], told["output"].split()) == ("completed", ["done"]), told
            again = await _new_worker(workers, {killed, living})
            third = await workers.connect(again)
            found = await third.open()
            assert found.partition("-")[0] == lost.partition("-")[0]
            assert (await third.post(request("tools/list"), mcp_session_id=lost)).status_code == 404
            assert (await third.post(request("tools/list"), mcp_session_id=kept)).status_code == 200
            assert (await second.post(request("tools/list"), mcp_session_id=found)).status_code == 200
            stderr = workers.process.stderr
            assert stderr is not None
            line = (await asyncio.wait_for(stderr.readline(), LIMIT_S)).decode()
            assert re.search(r" warning server: worker ended and is started again .*worker=\d code=-9$", line)


async def test_a_client_whose_answer_is_cut_off_by_a_killed_worker_sees_the_end() -> None:
    with private_place() as place:
        pane = place.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "cat")
        async with serving_by_workers(place, 2) as workers:
            killed, living = await workers.wait_for(2)
            first, second = await workers.connect(killed), await workers.connect(living)
            identity = await first.open()
            given = {"paneId": pane, "triggers": "pattern:never", "timeout": 60, "mode": "quick"}
            body = request("tools/call", name="watch-pane", arguments=given, _meta={"progressToken": 1})
            async with stream(second, "POST", body, mcp_session_id=identity) as events:
                await events.next()
                os.kill(killed, signal.SIGKILL)
                with pytest.raises(httpx2.RemoteProtocolError, match="without sending complete message"):
                    await _read_all(events)


async def _read_all(events: Events) -> None:
    while True:
        await events.next()


@pytest.mark.parametrize("way", ["SIGTERM", "SIGINT", "SIGHUP"])
async def test_a_signal_ends_all_workers_in_the_middle_of_everything(way: str) -> None:
    with private_place() as place:
        async with serving_by_workers(place, 4) as workers:
            web, process = workers.web, workers.process
            pids = await workers.wait_for(4)
            identity = await web.open()
            made = await web.call(identity, "create-session", name="ours", command="cat")
            given = {"paneId": made["paneId"], "triggers": "pattern:never", "timeout": 60}
            body = request("tools/call", name="watch-pane", arguments=given)
            waiting = asyncio.create_task(web.post(body, mcp_session_id=identity))
            async with web.stream(identity):
                assert await web.call(identity, "list-panes")
                os.kill(process.pid, signal.Signals[way])
                with within(5):
                    assert await asyncio.wait_for(process.wait(), LIMIT_S) == 0
            assert not any(map(is_running, pids))
            assert process.stderr is not None
            assert await process.stderr.read() == b""
            await asyncio.wait([waiting])
            waiting.exception()
        assert list(place.passing.iterdir()) == []
        assert place.tmux("list-sessions", "-F", "#{session_name}") == "ours"


async def test_workers_end_when_their_supervisor_is_killed() -> None:
    with private_place() as place:
        async with serving_by_workers(place, 2) as workers:
            pids = await workers.wait_for(2)
            identity = await workers.web.open()
            await workers.web.call(identity, "create-session", name="ours", command="cat")
            workers.process.kill()
            for pid in pids:
                await eventually(lambda pid=pid: _has_ended(pid))  # type: ignore[misc]
        assert place.tmux("list-sessions", "-F", "#{session_name}") == "ours"


async def test_a_worker_that_does_not_end_is_killed() -> None:
    with private_place() as place:
        async with serving_by_workers(place, 2) as workers:
            stuck, *_ = await workers.wait_for(2)
            os.kill(stuck, signal.SIGSTOP)
            workers.process.terminate()
            assert await asyncio.wait_for(workers.process.wait(), patient(LIMIT_S)) == 0
            assert not is_running(stuck)
            assert workers.process.stderr is not None
            assert b"worker is killed because it does not end" in await workers.process.stderr.read()


async def _has_ended(pid: int) -> bool:
    return not is_running(pid)


async def _new_worker(workers: Workers, known: set[int]) -> int:
    async def find() -> int | None:
        return next((pid for pid in workers.pids() if pid not in known), None)

    found = await eventually(find)
    assert isinstance(found, int)
    await eventually(lambda: _serves(found))
    return found


async def _serves(pid: int) -> bool:
    """Return whether a worker has its own socket: it has more sockets than the one that it inherits."""
    try:
        links = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return False
    return len([link for link in links if link.startswith("socket:")]) > 1
