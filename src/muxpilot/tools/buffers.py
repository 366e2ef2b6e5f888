"""Tools for tmux's paste buffers, which keep content of any kind and size."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from muxpilot.buffers import ranges
from muxpilot.buffers.ranges import LARGEST
from muxpilot.buffers.search import SearchSpan
from muxpilot.buffers.search import compile_query as ready
from muxpilot.buffers.search_results import MARGIN, BufferMatches, BufferSearch
from muxpilot.errors import BadInput, MuxpilotError, NoServer, NotFound
from muxpilot.files.allowed_paths import AllowedFolders
from muxpilot.records import record
from muxpilot.tmux import Buffer
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.spec import PRIMITIVE, Effect, tool
from muxpilot.tools.context import Context

if TYPE_CHECKING:
    from muxpilot.redaction.redactor import Redactor

_SEARCH_S = 120.0

Result = TypeVar("Result")

Offset = Annotated[int, Between(0, LARGEST)]
Name = Annotated[str, "Buffer name"]
File = Annotated[str, "Path; relative to a private folder unless folders are configured"]
Query = Annotated[str, "Text or pattern"]
Mode = Annotated[
    Literal["literal", "regex", "fuzzy"], "literal, regex (RE2), or fuzzy (literal with fuzzyMatch)"
]
Most = Annotated[int, "Maximum number of matches", Between(1, 10_000)]
ContextBytes = Annotated[int, "Bytes of context on each side of a match", Between(0, 100_000)]
WithSimilarity = Annotated[bool, "Return the similarity of each match, 0 to 1"]
Fuzzy = Annotated[bool, "Also find the most similar text in each line of up to 4096 bytes"]
Threshold = Annotated[float | None, "Least similarity, 0 to 1 (0.8); turns fuzzyMatch on"]


@record
class Anchor:
    """The place of an earlier match."""

    offset_bytes: Annotated[int, Between(0, LARGEST)]
    match_len: Annotated[int, Between(0, LARGEST)]
    buffer: str | None = None


@record
class BufferRow:
    name: str
    size: int
    size_bytes: int
    order_index: int
    created: int

    @classmethod
    def from_tmux(cls, index: int, row: Buffer) -> BufferRow:
        return cls(row.name, min(row.size_bytes, 2**32 - 1), row.size_bytes, index, row.created)


@record
class BufferList:
    buffers: list[BufferRow]


@tool(Effect.READ, PRIMITIVE, "list", more_groups=("buffer-read",), allowed_by=("list",), is_byte_exact=True)
async def list_buffers(ctx: Context) -> BufferList:
    """List tmux's paste buffers, newest first."""
    return BufferList([BufferRow.from_tmux(index, row) for index, row in enumerate(await _list_buffers(ctx))])


@tool(Effect.READ, PRIMITIVE, "buffer-read")
async def show_buffer(
    ctx: Context,
    name: Annotated[str | None, "Buffer name; default: the newest"] = None,
    offset_bytes: Annotated[int, "Where to begin", Between(0, LARGEST)] = 0,
    max_bytes: Annotated[int, "Maximum", Between(0, 10_000_000)] = 65536,
) -> str:
    """Show part of a buffer, in whole characters. To find a place in a large buffer, use search-buffer."""
    async with ctx.tmux.buffers.open_content(name) as file:
        if ctx.services.redactor is not None:
            return await asyncio.to_thread(
                _read_redacted, ctx.services.redactor, file.fileno(), offset_bytes, max_bytes
            )
        return await asyncio.to_thread(_read_slice, file.fileno(), offset_bytes, max_bytes)


def _read_redacted(redactor: Redactor, file: int, offset: int, most: int) -> str:
    """Return a slice without secrets, also without those that the ends of the slice cut."""
    before = _read_slice(file, max(0, offset - MARGIN), min(MARGIN, offset))
    return redactor.redact_part(
        before, _read_slice(file, offset, most), _read_slice(file, offset + most, MARGIN)
    )


def _read_slice(file: int, offset: int, most: int) -> str:
    """Return a slice without characters that are cut at its ends: a neighbouring slice contains them."""
    data = os.pread(file, most, offset)[_bytes_of_cut_character(file, offset) :]
    is_end = offset + most >= os.fstat(file).st_size
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=is_end)


def _bytes_of_cut_character(file: int, offset: int) -> int:
    """Return how many bytes at an offset belong to a character that begins before it."""
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


async def _dry_run(ctx: Context, path: str, **_: object) -> Sequence[MuxpilotError]:
    """Return the error for a path that would be refused. The file itself is not read."""
    try:
        _folders(ctx).resolve(path)
    except BadInput as error:
        return [error]
    return []


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write", dry_run=_dry_run)
async def save_buffer(ctx: Context, name: Name, path: File) -> str:
    """Write a buffer to a file, byte for byte. An existing file is replaced."""
    async with ctx.tmux.buffers.open_content(name) as file:
        await asyncio.to_thread(_folders(ctx).write, path, file)
    return f"Buffer {name} saved to {path}"


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write", dry_run=_dry_run)
async def load_buffer(ctx: Context, name: Name, path: File) -> str:
    """Load a file into a new or existing buffer, byte for byte."""
    with await asyncio.to_thread(_folders(ctx).read, path) as file:
        await ctx.tmux.buffers.set_from_file(name, file)
    return f"Buffer {name} loaded from {path}"


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write")
async def set_buffer(ctx: Context, name: Name, content: Annotated[str, "Whole content"]) -> str:
    """Set the content of a new or existing buffer."""
    await ctx.tmux.buffers.set(name, content.encode())
    return f"Buffer {name} set"


@tool(Effect.CHANGE, PRIMITIVE, "buffer-write")
async def append_buffer(ctx: Context, name: Name, content: Annotated[str, "Text to add"]) -> str:
    """Append to a buffer, or create it."""
    await ctx.tmux.buffers.append(name, content.encode())
    return f"Buffer {name} appended"


@tool(Effect.DESTROY, PRIMITIVE, "buffer-write")
async def delete_buffer(ctx: Context, name: Name) -> str:
    """Delete a buffer."""
    await ctx.tmux.buffers.delete(name)
    return f"Buffer {name} deleted"


@tool(Effect.CHANGE, PRIMITIVE, "buffer-write")
async def rename_buffer(ctx: Context, from_: Name, to: Annotated[str, "Unused name"]) -> str:
    """Rename a buffer. A buffer that has the new name is not replaced."""
    await ctx.tmux.buffers.rename(from_, to)
    return f"Buffer {from_} renamed to {to}"


@tool(Effect.READ, PRIMITIVE, "buffer-read", deadline_s=_SEARCH_S)
async def search_buffer(
    ctx: Context,
    query: Query,
    mode: Mode,
    buffer: Annotated[str | None, "Only this buffer"] = None,
    buffers: Annotated[list[str] | None, "Only these; default: all"] = None,
    context_bytes: ContextBytes = 40,
    max_matches: Most = 50,
    max_scan_bytes: Annotated[int, "Bytes of each buffer to search in this call", Between(1, 2**40)] = 65536,
    include_similarity: WithSimilarity = False,
    fuzzy_match: Fuzzy = False,
    similarity_threshold: Threshold = None,
    resume_from_offset: Annotated[dict[str, Offset] | None, "resumeFromOffset of the last answer"] = None,
) -> BufferMatches:
    """Search buffers without reading them; offsets are in bytes.

    While `truncatedBuffers` is not empty, call again with `resumeFromOffset`: each match is returned once."""
    threshold = ranges.similarity_threshold(similarity_threshold, is_fuzzy=fuzzy_match or mode == "fuzzy")
    asked = ready(query, mode, threshold=threshold, with_similarity=include_similarity)
    names, are_given = await _select_buffers(ctx, buffer, buffers)
    starts = ranges.check_resume_offsets(resume_from_offset or {}, names)
    search = BufferSearch(asked, threshold, context_bytes, max_matches, ctx.services.redactor)
    for name in names:
        if not search.has_room:
            search.postpone(name, starts.get(name, 0))
            continue
        try:
            await _search_one(
                ctx, search, name, partial(ranges.next_span, name, starts.get(name, 0), max_scan_bytes)
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
    context_bytes: Annotated[int, "Bytes to search on each side of the anchor", Between(0, 100_000_000)],
    buffer: Annotated[str | None, "Buffer name, if the anchor has none"] = None,
    max_matches: Most = 50,
    include_similarity: WithSimilarity = False,
    fuzzy_match: Fuzzy = False,
    similarity_threshold: Threshold = None,
    resume_from_offset: Annotated[
        int | None, "Continue at this offset of the buffer", Between(0, LARGEST)
    ] = None,
) -> BufferMatches:
    """Search around an earlier match: for X near Y."""
    threshold = ranges.similarity_threshold(similarity_threshold, is_fuzzy=fuzzy_match or mode == "fuzzy")
    asked = ready(query, mode, threshold=threshold, with_similarity=include_similarity)
    name = buffer if buffer is not None else anchor.buffer
    if name is None:
        raise BadInput("Missing buffer name.", "Provide top-level 'buffer' or anchor.buffer.")
    search = BufferSearch(asked, threshold, context_bytes, max_matches, ctx.services.redactor)
    await _search_one(
        ctx,
        search,
        name,
        partial(
            ranges.span_around_match,
            anchor.offset_bytes,
            anchor.match_len,
            context_bytes,
            resume_from_offset,
        ),
    )
    return search.answer([name], mode)


async def _search_one(
    ctx: Context, search: BufferSearch, name: str, span_in: Callable[[int], SearchSpan]
) -> None:
    async with ctx.tmux.buffers.open_content(name) as file:
        await _run_in_thread(partial(search.search, name, file, span_in))


async def _run_in_thread(work: Callable[[Event], Result]) -> Result:
    """Run blocking work in a thread. The event tells it that the caller no longer waits."""
    stop = Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


async def _list_buffers(ctx: Context) -> Sequence[Buffer]:
    try:
        return await ctx.tmux.buffers.list()
    except NoServer:
        return []  # a server that is not running has no buffers


async def _select_buffers(ctx: Context, one: str | None, some: list[str] | None) -> tuple[list[str], bool]:
    """Return the buffers to search, each once, and whether the caller named them."""
    if one is not None:
        return [one], True
    if some is not None:
        return list(dict.fromkeys(some)), True
    return [row.name for row in await _list_buffers(ctx)], False


def _folders(ctx: Context) -> AllowedFolders:
    return AllowedFolders(ctx.services.buffer_paths)


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
