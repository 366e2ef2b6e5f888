"""Paste buffers: content of any kind and size that lives in tmux itself."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import Annotated, Literal, TypeVar

from muxpilot.buffers import ranges
from muxpilot.buffers.ranges import LARGEST, Anchor
from muxpilot.buffers.search import Span
from muxpilot.buffers.search import query as ready
from muxpilot.buffers.search_results import BufferMatches, Search
from muxpilot.errors import BadInput, MuxpilotError, NoServer, NotFound
from muxpilot.files.allowed_paths import Folders
from muxpilot.records import record
from muxpilot.tmux import Buffer
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.context import Context
from muxpilot.toolkit.spec import PRIMITIVE, Effect, tool

_SEARCH_S = 120.0

Result = TypeVar("Result")

Offset = Annotated[int, Between(0, LARGEST)]
Name = Annotated[str, "Buffer name"]
File = Annotated[str, "File; relative to the private folder unless folders are configured"]
Query = Annotated[str, "What to find"]
Mode = Annotated[
    Literal["literal", "regex", "fuzzy"], "literal, regex for RE2, or fuzzy: literal with fuzzyMatch"
]
Most = Annotated[int, "At most this many matches", Between(1, 10_000)]
Context_ = Annotated[int, "Bytes to show on each side of a match", Between(0, 100_000)]
WithSimilarity = Annotated[bool, "Tell how alike each match is, 0 to 1"]
Fuzzy = Annotated[bool, "Also the best likeness in each line, lines up to 4096 bytes"]
Threshold = Annotated[float | None, "How alike at least, 0 to 1 (0.8); switches fuzzyMatch on"]


@record
class BufferRow:
    name: str
    size: int
    size_bytes: int
    order_index: int
    created: int

    @classmethod
    def of(cls, index: int, row: Buffer) -> BufferRow:
        return cls(row.name, min(row.size_bytes, 2**32 - 1), row.size_bytes, index, row.created)


@record
class BufferList:
    buffers: list[BufferRow]


@tool(Effect.READ, PRIMITIVE, "list")
async def list_buffers(ctx: Context) -> BufferList:
    """List tmux's paste buffers, the newest first."""
    return BufferList([BufferRow.of(index, row) for index, row in enumerate(await _listed(ctx))])


@tool(Effect.READ, PRIMITIVE, "buffer-read")
async def show_buffer(
    ctx: Context,
    name: Annotated[str | None, "Buffer name; the newest if not given"] = None,
    offset_bytes: Annotated[int, "Where to begin", Between(0, LARGEST)] = 0,
    max_bytes: Annotated[int, "At most this much", Between(0, 10_000_000)] = 65536,
) -> str:
    """Show part of a buffer, in whole characters. Find the place in a large one with search-buffer."""
    async with ctx.tmux.buffers.opened(name) as file:
        return await asyncio.to_thread(_slice, file.fileno(), offset_bytes, max_bytes)


def _slice(file: int, offset: int, most: int) -> str:
    """A character that is cut at either end is left out: the next slice, or the one before, has it."""
    data = os.pread(file, most, offset)[_begun_before(file, offset) :]
    is_end = offset + most >= os.fstat(file).st_size
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=is_end)


def _begun_before(file: int, offset: int) -> int:
    """How many bytes at an offset belong to a character that begins before it."""
    back = min(3, offset)
    around = os.pread(file, back + 3, offset - back)
    for begin in range(back):
        for end in range(back + 1, begin + 5):
            if _is_character(around[begin:end]):
                return end - back
    return 0


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


async def _foreseen(ctx: Context, path: str, **_: object) -> Sequence[MuxpilotError]:
    """Whether a path would be refused; the file itself is not looked at."""
    try:
        _folders(ctx).place(path)
    except BadInput as error:
        return [error]
    return []


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write", foresees=_foreseen)
async def save_buffer(ctx: Context, name: Name, path: File) -> str:
    """Write a buffer to a file, byte for byte; a file that is there is replaced."""
    async with ctx.tmux.buffers.opened(name) as file:
        await asyncio.to_thread(_folders(ctx).write, path, file)
    return f"Buffer {name} saved to {path}"


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write", foresees=_foreseen)
async def load_buffer(ctx: Context, name: Name, path: File) -> str:
    """Make or replace a buffer with what a file holds, byte for byte."""
    with await asyncio.to_thread(_folders(ctx).read, path) as file:
        await ctx.tmux.buffers.take(name, file)
    return f"Buffer {name} loaded from {path}"


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write")
async def set_buffer(ctx: Context, name: Name, content: Annotated[str, "Its whole content"]) -> str:
    """Make a buffer, or replace the one of that name."""
    await ctx.tmux.buffers.set(name, content.encode())
    return f"Buffer {name} set"


@tool(Effect.CHANGE, PRIMITIVE, "buffer-write")
async def append_buffer(ctx: Context, name: Name, content: Annotated[str, "What to add"]) -> str:
    """Add to the end of a buffer; makes one that is not there."""
    await ctx.tmux.buffers.append(name, content.encode())
    return f"Buffer {name} appended"


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write")
async def delete_buffer(ctx: Context, name: Name) -> str:
    """Delete a buffer."""
    await ctx.tmux.buffers.delete(name)
    return f"Buffer {name} deleted"


@tool(Effect.CHANGE, PRIMITIVE, "buffer-write")
async def rename_buffer(ctx: Context, from_: Name, to: Annotated[str, "A name that is free"]) -> str:
    """Rename a buffer; one that already has the new name is not replaced."""
    await ctx.tmux.buffers.rename(from_, to)
    return f"Buffer {from_} renamed to {to}"


@tool(Effect.READ, PRIMITIVE, "buffer-read", deadline_s=_SEARCH_S)
async def search_buffer(
    ctx: Context,
    query: Query,
    mode: Mode,
    buffer: Annotated[str | None, "Only this one"] = None,
    buffers: Annotated[list[str] | None, "Only these; all if not given"] = None,
    context_bytes: Context_ = 40,
    max_matches: Most = 50,
    max_scan_bytes: Annotated[
        int, "How much of each buffer to search in this call", Between(1, 2**40)
    ] = 65536,
    include_similarity: WithSimilarity = False,  # noqa: FBT002
    fuzzy_match: Fuzzy = False,  # noqa: FBT002
    similarity_threshold: Threshold = None,
    resume_from_offset: Annotated[dict[str, Offset] | None, "resumeFromOffset of the last answer"] = None,
) -> BufferMatches:
    """Search buffers without reading them yourself; offsets are bytes.

    While `truncatedBuffers` names any, ask again with `resumeFromOffset`: each match is told once."""
    threshold = ranges.threshold(similarity_threshold, is_fuzzy=fuzzy_match or mode == "fuzzy")
    asked = ready(query, mode, threshold=threshold, with_similarity=include_similarity)
    names, are_given = await _chosen(ctx, buffer, buffers)
    starts = ranges.starts(resume_from_offset or {}, names)
    search = Search(asked, threshold, context_bytes, max_matches)
    for name in names:
        if not search.has_room:
            search.put_off(name, starts.get(name, 0))
            continue
        try:
            await _look(
                ctx, search, name, partial(ranges.one_page, name, starts.get(name, 0), max_scan_bytes)
            )
        except NotFound:
            if are_given:
                raise
    return search.answer(names, mode)


@tool(Effect.READ, PRIMITIVE, "buffer-read", deadline_s=_SEARCH_S)
async def subsearch_buffer(
    ctx: Context,
    anchor: Annotated[Anchor, "offsetBytes, matchLen and buffer of an earlier match"],
    query: Query,
    mode: Mode,
    context_bytes: Annotated[int, "How far to look on each side of the anchor", Between(0, 100_000_000)],
    buffer: Annotated[str | None, "Buffer name, if the anchor has none"] = None,
    max_matches: Most = 50,
    include_similarity: WithSimilarity = False,  # noqa: FBT002
    fuzzy_match: Fuzzy = False,  # noqa: FBT002
    similarity_threshold: Threshold = None,
    resume_from_offset: Annotated[
        int | None, "Go on at this offset of the buffer", Between(0, LARGEST)
    ] = None,
) -> BufferMatches:
    """Search around an earlier match: for X near Y."""
    threshold = ranges.threshold(similarity_threshold, is_fuzzy=fuzzy_match or mode == "fuzzy")
    asked = ready(query, mode, threshold=threshold, with_similarity=include_similarity)
    name = buffer if buffer is not None else anchor.buffer
    if name is None:
        raise BadInput("Missing buffer name.", "Provide top-level 'buffer' or anchor.buffer.")
    search = Search(asked, threshold, context_bytes, max_matches)
    await _look(ctx, search, name, partial(ranges.around, anchor, context_bytes, resume_from_offset))
    return search.answer([name], mode)


async def _look(ctx: Context, search: Search, name: str, span_in: Callable[[int], Span]) -> None:
    async with ctx.tmux.buffers.opened(name) as file:
        await _beside(partial(search.look, name, file, span_in))


async def _beside(work: Callable[[Event], Result]) -> Result:
    """In a thread, which is told when nobody waits any more."""
    stop = Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


async def _listed(ctx: Context) -> Sequence[Buffer]:
    try:
        return await ctx.tmux.buffers.list()
    except NoServer:
        return []  # a server that is not running has no buffers


async def _chosen(ctx: Context, one: str | None, some: list[str] | None) -> tuple[list[str], bool]:
    """The buffers to search, each once, and whether the caller named them."""
    if one is not None:
        return [one], True
    if some is not None:
        return list(dict.fromkeys(some)), True
    return [row.name for row in await _listed(ctx)], False


def _folders(ctx: Context) -> Folders:
    return Folders(ctx.buffer_paths)


TOOLS = (
    list_buffers,
    show_buffer,
    save_buffer,
    load_buffer,
    set_buffer,
    append_buffer,
    delete_buffer,
    rename_buffer,
    search_buffer,
    subsearch_buffer,
)
