"""tmux's control mode without I/O: bytes in, events out, the same wherever the bytes are split.

A request is one or more lines of commands, followed by a line of its own that prints a secret, the guard.
tmux answers every command with a block,

    %begin TIME NUMBER FLAGS
    … body, not escaped …
    %end TIME NUMBER FLAGS        (or %error)

and a body may hold whatever a program printed, a forged `%end` included. The guard settles this: the parser
believes no line until it has seen the guard. Then the *last* line that closes the first block is the true
one, because no text of a program can come after it. For this, only the first command of a request may print
text that other programs or people can influence; the later ones print only our own text. A command that
fails drops the rest of its line, but not the guard, which is on another line.

A guard costs tmux one more command. A request that can print no foreign text does without: it is `trusted`,
and ends with as many blocks as it has commands, or with the first that failed. So does a request whose body
shows by itself where it ends: every record that it prints begins and ends with its `mark`, a secret too, and
a closing line inside of a record is body.

Outside of requests, blocks whose flags have bit 0 clear do not answer us (hooks, the attach itself).
"""

from __future__ import annotations

import codecs
from collections import deque
from dataclasses import field

from muxpilot.records import mutable_record, record


@record
class Block:
    """What one command printed, and whether it succeeded."""

    ok: bool
    lines: tuple[bytes, ...]


@record
class CommandReply:
    """The blocks that answer one request, in the order of its commands."""

    blocks: tuple[Block, ...]

    @property
    def first_line(self) -> str:
        lines = self.blocks[0].lines
        return lines[0].decode("utf-8", "surrogateescape") if lines else ""

    @property
    def error(self) -> str | None:
        """Return the text of the first command that failed, or None."""
        for block in self.blocks:
            if not block.ok:
                return b"\n".join(block.lines).decode("utf-8", "replace")
        return None


@record
class UnsolicitedBlock:
    """A block that answers none of our requests, such as the one of the attach itself."""

    stamp: bytes
    block: Block


@record
class PaneOutput:
    """Bytes that the program in a pane wrote."""

    pane: str
    data: bytes


@record
class Notification:
    """Any other line from tmux: `sessions-changed`, `pause`, `exit` …"""

    name: str
    rest: str


ControlEvent = CommandReply | UnsolicitedBlock | PaneOutput | Notification


@mutable_record
class _PendingRequest:
    """A request that is not answered yet. It ends with its guard, or after a number of trusted blocks."""

    guard: bytes | None
    commands: int
    mark: bytes
    blocks: list[Block] = field(default_factory=list)

    def is_closed_by(self, line: bytes, body: list[bytes]) -> bool:
        """Return whether a closing line after this body is tmux's own, and not part of a marked record."""
        if not self.mark or not body:
            return True
        if line.startswith(b"%end"):
            last = body[-1]  # a mark alone may begin a record whose text begins with a line feed
            return last.endswith(self.mark) and (last != self.mark or self._has_whole_records(body))
        return not body[0].startswith(self.mark)

    def _has_whole_records(self, body: list[bytes]) -> bool:
        """Return whether each record that has begun in this body has ended there."""
        return sum(line.count(self.mark) for line in body) % 2 == 0

    def is_answered_with(self, block: Block) -> bool:
        """Add a block, and tell whether it is the last one."""
        self.blocks.append(block)
        return not block.ok or len(self.blocks) == self.commands


@mutable_record
class _OpenBlock:
    """A block that has begun. In a guarded request, lines are collected until the guard."""

    stamp: bytes
    request: _PendingRequest | None
    lines: list[bytes] = field(default_factory=list)
    is_guarded: bool = False


class ControlParser:
    """Turns the bytes of a control client into events. Announce each request with an `expect` method."""

    def __init__(self) -> None:
        self._partial = b""
        self._requests: deque[_PendingRequest] = deque()
        self._open: _OpenBlock | None = None

    def expect_guarded(self, guard: bytes) -> None:
        self._requests.append(_PendingRequest(guard, 1, b""))

    def expect_trusted(self, commands: int = 1, *, mark: bytes = b"") -> None:
        self._requests.append(_PendingRequest(None, commands, mark))

    def feed(self, data: bytes) -> list[ControlEvent]:
        """Return the events that these bytes complete."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        events: list[ControlEvent] = []
        position = 0
        while position < len(lines):
            block = self._open
            if block is None:
                self._read_outside_block(lines[position], events)
            elif block.request is None or block.request.guard is None:
                self._read_inside_block(block, lines[position], events)
            elif not block.is_guarded:
                position = _collect_until_guard(block, block.request.guard, lines, position)
                continue
            else:  # the %end of the guard's own block
                self._open = None
                self._requests.popleft()
                events.extend(_split_guarded_reply(block))
            position += 1
        return events

    def _read_outside_block(self, line: bytes, events: list[ControlEvent]) -> None:
        if line.startswith(b"%begin "):
            stamp = line[7:]
            is_answer = bool(self._requests) and _is_ours(stamp)
            self._open = _OpenBlock(stamp, self._requests[0] if is_answer else None)
        else:
            events.append(_parse_notification(line))

    def _read_inside_block(self, block: _OpenBlock, line: bytes, events: list[ControlEvent]) -> None:
        request = block.request
        is_closing = line.startswith(b"%e") and line in (b"%end " + block.stamp, b"%error " + block.stamp)
        if not is_closing or not (request is None or request.is_closed_by(line, block.lines)):
            block.lines.append(line)
            return
        self._open = None
        closed = Block(line.startswith(b"%end"), tuple(block.lines))
        if request is None:
            events.append(UnsolicitedBlock(block.stamp, closed))
        elif request.is_answered_with(closed):
            self._requests.popleft()
            events.append(CommandReply(tuple(request.blocks)))


def _is_ours(stamp: bytes) -> bool:
    flags = stamp.rpartition(b" ")[2]
    return flags.isdigit() and int(flags) & 1 == 1


def _collect_until_guard(block: _OpenBlock, guard: bytes, lines: list[bytes], start: int) -> int:
    """Add the lines up to the guard to the block. Return the position of the next line to read."""
    try:
        end = lines.index(guard, start)
    except ValueError:
        block.lines += lines[start:]
        return len(lines)
    block.lines += lines[start:end]
    block.is_guarded = True
    return end + 1


def _split_guarded_reply(block: _OpenBlock) -> list[ControlEvent]:
    """Split all lines before the guard into the blocks of the reply and the notifications among them."""
    lines = block.lines[:-1]  # the last one is the guard's own %begin
    closing = {b"%end " + block.stamp: True, b"%error " + block.stamp: False}
    last = next((i for i in reversed(range(len(lines))) if lines[i] in closing), len(lines))
    first = Block(closing[lines[last]] if last < len(lines) else False, tuple(lines[:last]))
    if last >= len(lines) - 1:
        return [CommandReply((first,))]
    rest = ControlParser()
    events = rest.feed(b"".join(line + b"\n" for line in lines[last + 1 :]))
    later = [event.block for event in events if isinstance(event, UnsolicitedBlock) and _is_ours(event.stamp)]
    notifications = (event for event in events if not isinstance(event, UnsolicitedBlock))
    return [CommandReply((first, *later)), *notifications]


def _parse_notification(line: bytes) -> ControlEvent:
    name, _, rest = line.partition(b" ")
    if name == b"%output":
        pane, _, data = rest.partition(b" ")
        return PaneOutput(pane.decode("ascii", "replace"), unescape(data))
    if name == b"%extended-output":
        pane, _, aged = rest.partition(b" ")
        return PaneOutput(pane.decode("ascii", "replace"), unescape(aged.partition(b" : ")[2]))
    return Notification(name.removeprefix(b"%").decode("ascii", "replace"), rest.decode("utf-8", "replace"))


def unescape(data: bytes) -> bytes:
    r"""Undo the escapes of `%output`: tmux writes bytes below 0x20 and `\` as `\ooo`."""
    try:
        return codecs.escape_decode(data)[0] if b"\\" in data else data
    except ValueError:  # tmux never writes this
        return data
