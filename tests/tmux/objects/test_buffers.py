"""Paste buffers of a real tmux, byte for byte."""

from __future__ import annotations

import asyncio
import io
import random
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound
from tests.rigs.engine import Raw, can_name_buffer, has_run_nothing

pytestmark = pytest.mark.both_tmux

CONTENTS = {
    "plain": b"hello",
    "nul": b"a\0b\0",
    "every byte": bytes(range(256)),
    "invalid utf-8": b"\xff\xfe\xc3(\x80",
    "syntax": b"-b ; #(id) #{x} $HOME '\"\\ ~ {",
    "newlines": b"\n\na\r\n\n",
    "a blank": b" ",
    "32 KiB": b"\xe9" * (1 << 15),
    "5 MB": random.Random(2).randbytes(5_000_000),
}

NAMES = [
    "plain",
    "-b",
    ";",
    "a;",
    "#(x)",
    "#{pane_id}",
    "##",
    "#[x]",
    "$HOME",
    "'\"\\",
    "a b",
    "%H",
    "世",
    "=x:",
]


async def start_server(tmux: Tmux) -> None:
    await tmux.sessions.create("dev", program=PaneProgram("sleep 60"))


async def buffer_names(tmux: Tmux) -> list[str]:
    return sorted(row.name for row in await tmux.buffers.list())


async def test_content_comes_back_byte_for_byte(tmux: Tmux) -> None:
    await start_server(tmux)
    for name, data in CONTENTS.items():
        await tmux.buffers.set(name, data)
        assert await tmux.buffers.get(name) == data
        assert await tmux.buffers.get() == data  # the newest
    assert {row.name: row.size_bytes for row in await tmux.buffers.list()} == {
        name: len(data) for name, data in CONTENTS.items()
    }


async def test_append_adds_and_makes(tmux: Tmux) -> None:
    await start_server(tmux)
    for name, data in CONTENTS.items():
        await tmux.buffers.append(name, data)
        await tmux.buffers.append(name, b"")
        await tmux.buffers.append(name, b"+;")
        await tmux.buffers.append(name, data)
        assert await tmux.buffers.get(name) == data + b"+;" + data


async def test_no_append_is_lost_among_others(tmux: Tmux, socket: str, binary: str) -> None:
    await start_server(tmux)
    parts = [b"%d." % part if part % 2 else b"\0%d." % part + b"x" * 40_000 for part in range(20)]
    async with Tmux(socket, binary=binary) as other:
        both = (tmux, tmux, other)
        await asyncio.gather(*(both[part % 3].buffers.append("log", text) for part, text in enumerate(parts)))
    whole = await tmux.buffers.get("log")
    assert len(whole) == sum(map(len, parts))
    assert all(part in whole for part in parts)


async def test_names_are_exact_and_run_nothing(tmux: Tmux, raw: Raw, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    await start_server(tmux)
    wanted = [name for name in (*NAMES, f"#(touch {canary})") if await can_name_buffer(tmux, name)]
    for name in wanted:
        await tmux.buffers.set(name, name.encode())
        await tmux.buffers.append(name, b"\0")
        assert await tmux.buffers.get(name) == name.encode() + b"\0"
    assert await buffer_names(tmux) == sorted(wanted)
    for name in wanted:
        await tmux.buffers.rename(name, f"{name}2")
        await tmux.buffers.delete(f"{name}2")
    assert await buffer_names(tmux) == []
    assert has_run_nothing(raw, canary)


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b", "x" * 300])
async def test_bad_names_are_refused(tmux: Tmux, name: str) -> None:
    with pytest.raises(BadInput, match="name"):
        await tmux.buffers.set(name, b"x")
    with pytest.raises(BadInput, match="name"):
        await tmux.buffers.append(name, b"x")
    with pytest.raises(BadInput, match="name"):
        await tmux.buffers.rename("other", name)
    with pytest.raises(BadInput, match="name"):
        await tmux.buffers.set_from_file(name, io.BytesIO(b"x"))


async def test_an_empty_buffer_is_refused(tmux: Tmux) -> None:
    with pytest.raises(BadInput, match="cannot be empty"):
        await tmux.buffers.set("x", b"")


async def test_what_is_not_there_is_said_and_no_other_buffer_is_taken(tmux: Tmux, raw: Raw) -> None:
    await start_server(tmux)
    await tmux.buffers.set("nope2", b"x")
    raw("set-buffer", "copied by a person")  # the newest: tmux before 3.4 would take it
    for work in (
        lambda: tmux.buffers.get("nope"),
        lambda: tmux.buffers.delete("nope"),
        lambda: tmux.buffers.rename("nope", "other"),
        lambda: read_content(tmux, "nope"),
    ):
        with pytest.raises(NotFound, match=r"Buffer 'nope' not found\. Use list-buffers"):
            await work()
    await tmux.buffers.discard("nope")  # says nothing
    names = await buffer_names(tmux)
    assert len(names) == 2
    assert "nope2" in names
    for name in names:
        await tmux.buffers.delete(name)
    with pytest.raises(NotFound, match="There is no buffer"):
        await tmux.buffers.get()


async def test_a_taken_name_is_not_taken_again(tmux: Tmux) -> None:
    await start_server(tmux)
    await tmux.buffers.set("one", b"1")
    await tmux.buffers.set("two", b"2")
    with pytest.raises(BadInput, match="'two' already exists"):
        await tmux.buffers.rename("one", "two")
    await tmux.buffers.rename("one", "three")
    assert [await tmux.buffers.get(name) for name in ("two", "three")] == [b"2", b"1"]


async def read_content(tmux: Tmux, name: str) -> bytes:
    async with tmux.buffers.open_content(name) as file:
        return file.read()


@pytest.mark.parametrize("data", [b"\0\xff;", b"x" * 100_000])
async def test_files_keep_every_byte(tmux: Tmux, data: bytes) -> None:
    await start_server(tmux)
    await tmux.buffers.set_from_file("b", io.BytesIO(data))
    assert await read_content(tmux, "b") == data


async def test_an_empty_file_is_refused(tmux: Tmux) -> None:
    await start_server(tmux)
    with pytest.raises(BadInput, match="cannot be empty"):
        await tmux.buffers.set_from_file("b", io.BytesIO())
    assert await buffer_names(tmux) == []


async def test_nothing_is_left_in_the_scratch_folder(tmux: Tmux) -> None:
    await start_server(tmux)
    await tmux.buffers.set("b", b"\0" * 100)
    await tmux.buffers.get("b")
    with pytest.raises(NotFound):
        await tmux.buffers.get("nope")
    assert list(tmux.connection.temporary_folder.path.glob("buffer*")) == []
