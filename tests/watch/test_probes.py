"""Ports and files that many watches wait for: one look is enough for all."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from muxpilot.watch import probes as looking
from muxpilot.watch.triggers import parse

LIMIT_S = 10.0


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that is taken, and not listened on yet."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken


def waits(count: int, trigger: str) -> list[asyncio.Task[str]]:
    [asked] = parse(trigger)
    return [asyncio.create_task(looking.ready(asked, "/")) for _ in range(count)]


async def test_the_kernel_is_asked_once_for_all_who_wait(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, read = 0, looking._listed

    def counted() -> frozenset[int] | None:
        nonlocal looks
        looks += 1
        return read()

    monkeypatch.setattr(looking, "_listed", counted)
    tasks = waits(50, f"port:{listener.getsockname()[1]}")
    done, _ = await asyncio.wait(tasks, timeout=1.5)
    assert not done
    assert 1 <= looks < 150  # alone, each would look ten times
    listener.listen()
    async with asyncio.timeout(LIMIT_S):
        assert {await task for task in tasks} == {f"Port {listener.getsockname()[1]} is listened on"}


async def test_no_connection_is_tried_where_the_kernel_tells(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(port: int) -> bool:
        raise AssertionError(port)

    monkeypatch.setattr(looking, "_accepts", refused)
    tasks = waits(1, f"port:{listener.getsockname()[1]}")
    done, _ = await asyncio.wait(tasks, timeout=0.3)
    assert not done
    listener.listen()
    await asyncio.wait_for(tasks[0], LIMIT_S)


async def test_a_port_is_connected_to_where_the_kernel_has_no_tables(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "_TABLES", (Path("/no/such/table"),))
    monkeypatch.setattr(looking, "_KERNEL", looking._Kernel())
    listener.listen()
    [task] = waits(1, f"port:{listener.getsockname()[1]}")
    assert "is listened on" in await asyncio.wait_for(task, LIMIT_S)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000", {8080}),
        ("   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000", set()),
        ("   0: 00000000000000000000000000000000:0016 " + "0" * 32 + ":0000 0A 0:0", {22}),
    ],
)
def test_only_what_is_listened_on_is_listed(
    table: str, expected: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tcp").write_text(f"  sl  local_address rem_address   st tx_queue\n{table}\n")
    monkeypatch.setattr(looking, "_TABLES", (tmp_path / "tcp", tmp_path / "none"))
    assert looking._listed() == frozenset(expected)
