"""The buffer tools through MCP, on a real tmux."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muxpilot.tmux.hosts.endpoint import muxpilot_folder
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails

pytestmark = pytest.mark.asyncio(loop_scope="module")

_NUMBERS = itertools.count(1)


@pytest.fixture
def buffer() -> str:
    """Return a name for a buffer that no other test uses."""
    return f"buffer {next(_NUMBERS)}"


@pytest.fixture
def file() -> Iterator[str]:
    """Yield the name of a file in the private folder, and delete it in the end."""
    name = f"test-{os.getpid()}-{next(_NUMBERS)}"
    yield name
    (muxpilot_folder() / "buffers" / name).unlink(missing_ok=True)


def private(name: str) -> Path:
    return muxpilot_folder() / "buffers" / name


def load(rig: Rig, name: str, data: bytes) -> None:
    """Load a buffer with tmux itself."""
    path = rig.folder / "content"
    path.write_bytes(data)
    rig.raw("load-buffer", "-b", name, str(path))


def content(rig: Rig, name: str) -> bytes:
    argv = ["tmux", "-S", rig.socket, "save-buffer", "-b", name, "-"]
    return subprocess.run(argv, capture_output=True, check=True, timeout=20).stdout


async def find_matches(call: Call, query: str, **more: Any) -> list[tuple[int, int]]:
    answer = await call("search-buffer", **({"query": query, "mode": "literal"} | more))
    return [(row["offsetBytes"], row["matchLen"]) for row in answer["matches"]]


async def delete_all_buffers(rig: Rig, call: Call) -> None:
    for row in (await call("list-buffers"))["buffers"]:
        rig.raw("delete-buffer", "-b", row["name"])


async def test_a_buffer_is_made_extended_renamed_and_deleted(rig: Rig, call: Call, fails: Fails) -> None:
    await delete_all_buffers(rig, call)
    assert await fails("show-buffer") == "There is no buffer. Use set-buffer to create one."
    assert "cannot be empty" in await fails("append-buffer", name="one", content="")
    text = "línea; #(id) $HOME '\"\\ \t\x00\x1b[31m\n🎉"
    assert await rig.text("set-buffer", name="one", content=text) == "Buffer one set"
    assert await rig.text("append-buffer", name="one", content=text) == "Buffer one appended"
    assert content(rig, "one") == 2 * text.encode()
    assert await rig.text("show-buffer", name="one") == 2 * text
    assert await rig.text("show-buffer") == 2 * text  # the newest
    assert await rig.text("rename-buffer", **{"from": "one", "to": "two"}) == "Buffer one renamed to two"
    [row] = (await call("list-buffers"))["buffers"]
    size = len(2 * text.encode())
    assert (row["name"], row["size"], row["sizeBytes"], row["orderIndex"]) == ("two", size, size, 0)
    assert row["created"] > 1_600_000_000
    await rig.text("set-buffer", name="three", content="3")
    assert "'three' already exists" in await fails("rename-buffer", **{"from": "two", "to": "three"})
    assert await rig.text("delete-buffer", name="two") == "Buffer two deleted"
    assert [row["name"] for row in (await call("list-buffers"))["buffers"]] == ["three"]


GONE: list[tuple[str, dict[str, Any]]] = [
    ("show-buffer", {"name": "gone"}),
    ("delete-buffer", {"name": "gone"}),
    ("save-buffer", {"name": "gone", "path": "x"}),
    ("search-buffer", {"buffer": "gone", "query": "x", "mode": "literal"}),
    ("search-buffer", {"buffers": ["there", "gone"], "query": "x", "mode": "literal"}),
]


@pytest.mark.parametrize(("tool", "given"), GONE)
async def test_a_buffer_that_is_not_there_is_said_to_be_so(
    rig: Rig, fails: Fails, tool: str, given: dict[str, Any]
) -> None:
    rig.raw("set-buffer", "-b", "there", "x")
    assert "Buffer 'gone' not found. Use list-buffers" in await fails(tool, **given)


async def test_a_search_where_no_buffer_is_has_every_field(rig: Rig, call: Call) -> None:
    await delete_all_buffers(rig, call)
    assert await call("search-buffer", query="x", mode="literal") == {
        "query": "x",
        "mode": "literal",
        "contextBytes": 40,
        "maxMatches": 50,
        "includeSimilarity": False,
        "fuzzyMatch": False,
        "similarityThreshold": None,
        "buffers": [],
        "totalMatches": 0,
        "buffersScanned": 0,
        "bytesScannedTotal": 0,
        "truncatedBuffers": [],
        "resumeFromOffset": {},
        "matches": [],
        "maxSimilarity": None,
        "avgSimilarity": None,
        "fuzzySkippedLines": 0,
        "fuzzySkippedBytes": 0,
    }


async def test_no_server_has_no_buffers(rig: Rig, call: Call, fails: Fails) -> None:
    nowhere = str(rig.folder / "nowhere")
    assert await call("list-buffers", socket=nowhere) == {"buffers": []}
    assert "Create a session" in await fails("set-buffer", name="x", content="x", socket=nowhere)


async def test_slices_join_to_the_whole_and_end_at_whole_characters(rig: Rig, buffer: str) -> None:
    text = "aé世🎉\n" * 40
    load(rig, buffer, text.encode())
    for size in (4, 5, 7, 64, 1000):
        parts, offset = [], 0
        while part := await rig.text("show-buffer", name=buffer, offsetBytes=offset, maxBytes=size):
            assert len(part.encode()) <= size
            parts.append(part)
            offset += len(part.encode())
        assert "".join(parts) == text
    for offset, most, wanted in [
        (2, 100, "世"),
        (1, 2, "é"),
        (3, 3, "世"),
        (3, 2, ""),
        (2, 1, ""),
        (4, 2, ""),
        (7, 3, ""),
        (8, 3, "\n"),
        (len(text.encode()), 10, ""),
        (10**9, 10, ""),
        (0, 0, ""),
    ]:
        shown = await rig.text("show-buffer", name=buffer, offsetBytes=offset, maxBytes=most)
        assert shown[:1] == wanted
        assert "\ufffd" not in shown
    load(rig, buffer, b"a\xff\xfe\xe4\xb8")
    assert await rig.text("show-buffer", name=buffer) == "a\ufffd\ufffd\ufffd"
    load(rig, buffer, b"a\x80\x81b")
    assert await rig.text("show-buffer", name=buffer, offsetBytes=2) == "\ufffdb"


async def test_files_keep_every_byte_and_stay_in_the_private_folder(
    rig: Rig, fails: Fails, buffer: str, file: str
) -> None:
    data = bytes(range(256)) * 5000
    load(rig, buffer, data)
    assert await rig.text("save-buffer", name=buffer, path=file) == f"Buffer {buffer} saved to {file}"
    assert private(file).read_bytes() == data
    assert private(file).stat().st_mode & 0o777 == 0o600
    copy = f"{buffer} copy"
    assert await rig.text("load-buffer", name=copy, path=file) == f"Buffer {copy} loaded from {file}"
    assert content(rig, copy) == data
    (rig.folder / "target").write_bytes(b"mine")
    for path, words in [
        (str(rig.folder / "target"), "must be relative"),
        (f"../../..{rig.folder}/target", "parent directory traversal"),
        ("~/target", "not accessible"),
        ("#(touch $CANARY)/x", "not accessible"),
        ("", "'path' is not a path"),
        ("no/such/folder", "not accessible: No such file"),
    ]:
        assert words in await fails("save-buffer", name=buffer, path=path)
        assert words in await fails("load-buffer", name=buffer, path=path)
    assert (rig.folder / "target").read_bytes() == b"mine"
    assert content(rig, buffer) == data


async def test_a_link_in_the_private_folder_leads_nowhere(
    rig: Rig, fails: Fails, buffer: str, file: str
) -> None:
    load(rig, buffer, b"x")
    await rig.text("save-buffer", name=buffer, path=file)
    secret = rig.folder / "secret"
    secret.write_text("secret")
    private(file).unlink()
    private(file).symlink_to(secret)
    for name in ("load-buffer", "save-buffer"):
        assert "is not under allowed buffer paths" in await fails(name, name=buffer, path=file)
    assert secret.read_text() == "secret"
    assert content(rig, buffer) == b"x"


async def test_an_empty_file_is_no_buffer(rig: Rig, fails: Fails, buffer: str, file: str) -> None:
    load(rig, buffer, b"x")
    await rig.text("save-buffer", name=buffer, path=file)
    private(file).write_bytes(b"")
    assert "cannot be empty" in await fails("load-buffer", name=buffer, path=file)
    assert "cannot be empty" in await fails("set-buffer", name=buffer, content="")
    assert content(rig, buffer) == b"x"


async def test_a_match_tells_where_it_is_in_bytes(rig: Rig, call: Call, buffer: str) -> None:
    load(rig, buffer, "世界 error é error 終\n".encode())
    answer = await call("search-buffer", query="error", mode="literal", buffer=buffer, contextBytes=2)
    assert answer["matches"] == [
        {
            "matchId": f"{buffer}:7",
            "buffer": buffer,
            "offsetBytes": 7,
            "matchLen": 5,
            "contextStart": 3,
            "contextEnd": 15,
            "snippet": "界 error é",
            "similarity": None,
        },
        {
            "matchId": f"{buffer}:16",
            "buffer": buffer,
            "offsetBytes": 16,
            "matchLen": 5,
            "contextStart": 13,
            "contextEnd": 25,
            "snippet": "é error 終",
            "similarity": None,
        },
    ]
    assert answer["resumeFromOffset"] == {buffer: answer["bytesScannedTotal"]} == {buffer: 26}
    assert (answer["totalMatches"], answer["buffersScanned"], answer["truncatedBuffers"]) == (2, 1, [])
    assert await find_matches(call, r"\berr\w+", mode="regex", buffer=buffer) == [(7, 5), (16, 5)]
    assert await find_matches(call, "ERROR", buffer=buffer) == []


async def all_pages(call: Call, **arguments: Any) -> tuple[list[str], int]:
    """Return the matches of all pages, as a client asks for them, and the number of pages."""
    ids: list[str] = []
    resume: dict[str, int] = {}
    for pages in range(1, 200):
        answer = await call("search-buffer", **arguments, resumeFromOffset=resume)
        ids += [row["matchId"] for row in answer["matches"]]
        assert set(answer["resumeFromOffset"]) == set(answer["buffers"])
        resume = answer["resumeFromOffset"]
        if not answer["truncatedBuffers"]:
            return ids, pages
    raise AssertionError("the pages never end")


async def test_pages_over_several_buffers_find_each_match_once(rig: Rig, call: Call, buffer: str) -> None:
    names = [f"{buffer} a", f"{buffer} b"]
    lines = [f"{number}: connection refusd, or refused" for number in range(60)]
    for name in names:
        load(rig, name, "\n".join(lines).encode())
    for query in (
        {"query": "refused", "mode": "literal"},
        {"query": r"(?m)^\d+: con.*$", "mode": "regex"},
        {"query": "connection refused", "mode": "literal", "fuzzyMatch": True},
    ):
        whole, pages = await all_pages(call, **query, buffers=names, maxScanBytes=10**6, maxMatches=500)
        assert pages == 1
        assert len(whole) == len(set(whole)) == 120
        for limits in ({"maxScanBytes": 97}, {"maxMatches": 7}, {"maxScanBytes": 333, "maxMatches": 3}):
            paged, pages = await all_pages(call, **query, buffers=names, **limits)
            assert pages > 1
            assert sorted(paged) == sorted(whole)


async def test_likeness_is_told(rig: Rig, call: Call, buffer: str) -> None:
    load(rig, buffer, b"ok\nconection refusd\nconnection refused\n" + b"x" * 5000 + b"\n")
    given = {"query": "connection refused", "mode": "literal", "buffer": buffer}
    answer = await call("search-buffer", **given, similarityThreshold=0.85)
    assert [row["offsetBytes"] for row in answer["matches"]] == [3, 20]
    low, high = [row["similarity"] for row in answer["matches"]]
    assert 0.85 <= low < high == 1
    assert (answer["includeSimilarity"], answer["fuzzyMatch"]) == (True, True)
    assert (answer["maxSimilarity"], answer["similarityThreshold"]) == (1, 0.85)
    assert low < answer["avgSimilarity"] < 1
    assert (answer["fuzzySkippedLines"], answer["fuzzySkippedBytes"]) == (1, 5000)
    assert len((await call("search-buffer", **given, fuzzyMatch=True))["matches"]) == 2
    fuzzy = await call("search-buffer", **(given | {"mode": "fuzzy"}))
    assert (len(fuzzy["matches"]), fuzzy["mode"], fuzzy["similarityThreshold"]) == (2, "fuzzy", 0.8)
    exact = await call("search-buffer", **given, includeSimilarity=True)
    assert [row["similarity"] for row in exact["matches"]] == [1]
    assert (await call("search-buffer", **given, similarityThreshold=7))["similarityThreshold"] == 1


async def test_a_subsearch_sees_what_is_near_and_nothing_else(
    rig: Rig, call: Call, fails: Fails, buffer: str
) -> None:
    load(rig, buffer, b"port 1\n" + b"." * 500 + b"port 2 ERROR port 3" + b"." * 500 + b"port 4")
    near = {"query": r"port \d", "mode": "regex", "contextBytes": 20}
    [error] = (await call("search-buffer", query="ERROR", mode="literal", buffer=buffer))["matches"]
    anchor = {"offsetBytes": error["offsetBytes"], "matchLen": error["matchLen"], "buffer": buffer}
    answer = await call("subsearch-buffer", anchor=anchor, **near)
    assert [row["offsetBytes"] for row in answer["matches"]] == [507, 520]
    assert answer["truncatedBuffers"] == []
    first = await call("subsearch-buffer", anchor=anchor, **near, maxMatches=1)
    assert (first["truncatedBuffers"], first["resumeFromOffset"]) == ([buffer], {buffer: 520})
    rest = await call("subsearch-buffer", anchor=anchor, **near, resumeFromOffset=520)
    assert [row["offsetBytes"] for row in rest["matches"]] == [520]
    again = await call(
        "subsearch-buffer", anchor=anchor, **near, resumeFromOffset=rest["resumeFromOffset"][buffer]
    )
    assert again["matches"] == []
    snake = {"offset_bytes": 514, "match_len": 5}
    assert (await call("subsearch-buffer", anchor=snake, buffer=buffer, **near))["totalMatches"] == 2
    assert "Missing buffer name" in await fails("subsearch-buffer", anchor=snake, **near)
    words = await fails("subsearch-buffer", anchor=anchor, **near, resumeFromOffset=5)
    assert "'resumeFromOffset' is outside the anchor window" in words
    far = {**anchor, "offsetBytes": 10**6}
    assert "exceeds the buffer's length" in await fails("subsearch-buffer", anchor=far, **near)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": ""}, "'query' is empty"),
        ({"query": "(", "mode": "regex"}, "'query' is not a regular expression"),
        ({"query": "x*", "mode": "regex"}, "zero-length match"),
        ({"resumeFromOffset": {"other": 0}}, "'resumeFromOffset' references unknown buffer 'other'"),
        ({"resumeFromOffset": {"here": 99}}, "exceeds buffer 'here' length 4"),
        ({"resumeFromOffset": {"here": -1}}, "'resumeFromOffset' must be an object"),
        ({"query": "x" * 600, "fuzzyMatch": True}, "'query' is longer than 500"),
    ],
)
async def test_what_cannot_be_searched_is_said(
    rig: Rig, fails: Fails, arguments: dict[str, Any], words: str
) -> None:
    load(rig, "here", b"text")
    given = {"query": "q", "mode": "literal", "buffer": "here"} | arguments
    assert words in await fails("search-buffer", **given)


async def test_twenty_megabytes_are_searched_while_other_calls_go_on(
    rig: Rig, call: Call, buffer: str
) -> None:
    line = b"2026-11-16 12:00:00 INFO a line of a log that is as long as such lines are\n"
    data = line * (20_000_000 // len(line)) + b"needle\n"
    load(rig, buffer, data)
    wide = {"buffer": buffer, "maxScanBytes": len(data)}
    wanted = [(len(data) - 7, 6)]
    assert await find_matches(call, "needle", **wide) == wanted
    assert await find_matches(call, "ne+dle$|x{9}", mode="regex", **wide) == []
    assert await find_matches(call, "ne+dle", mode="regex", **wide) == wanted
    fuzzy = asyncio.create_task(find_matches(call, "nedle", **wide, fuzzyMatch=True))
    answered = 0
    while not fuzzy.done():
        await call("list-sessions")
        answered += 1
    assert [offset // len(line) for offset, _ in await fuzzy] == [len(data) // len(line)]
    assert answered > 3
    await rig.text("delete-buffer", name=buffer)


async def test_the_answer_is_what_its_schema_says(rig: Rig) -> None:
    schema = json.dumps(rig.tools["search-buffer"].output_schema)
    assert '"resumeFromOffset": {"type": "object", "additionalProperties": {"type": "integer"}}' in schema


async def test_the_configured_folders_are_the_only_ones(rig: Rig, buffer: str) -> None:
    load(rig, buffer, b"\xff\0")
    allowed, config = rig.folder / "allowed", rig.folder / "config.toml"
    allowed.mkdir()
    config.write_text(f"[security]\nallowed_buffer_paths = ['{allowed}']\n")
    argv = [sys.executable, "-m", "muxpilot", "call", "--config", str(config), "--socket", rig.socket]
    for path, words in [
        (str(allowed / "file"), f"Buffer {buffer} saved to {allowed / 'file'}"),
        ("other", f"Buffer {buffer} saved to other"),
        (str(rig.folder / "file"), "is not under allowed buffer paths"),
    ]:
        call = [*argv, "save-buffer", json.dumps({"name": buffer, "path": path})]
        done = subprocess.run(call, capture_output=True, text=True, timeout=20, check=False)
        assert words in done.stdout + done.stderr
    assert {path.name: path.read_bytes() for path in allowed.iterdir()} == {
        "file": b"\xff\0",
        "other": b"\xff\0",
    }
    assert not (rig.folder / "file").exists()
