"""tmux's control mode without I/O: bytes in, events out, the same wherever the bytes are split.

A request is one or more lines of commands, followed by a line of its own that prints a secret (its
guard). tmux answers every command with a block,

    %begin TIME NUMBER FLAGS
    … body, not escaped …
    %end TIME NUMBER FLAGS        (or %error)

and a body may hold whatever a program printed, a forged `%end` included. The guard settles it: nothing
up to the guard's own block is believed until the guard has been seen, and then the *last* line that
closes the first block is the true one, because no program's text can come after it. For this, only the
first command of a request may print text that somebody else can influence; what the later ones print
is ours. A command that fails drops the rest of its line, but not the guard, which stands on another.

A guard costs tmux a command of its own. A request that can print nothing of anybody else's does without:
it is `trusted`, and ends with as many blocks as it has commands, or with the first that failed. So does one
whose body shows by itself where it ends: every record that it prints begins and ends with its `mark`, a
secret too, and a closing line inside of a record is body.

Outside of requests, blocks whose flags have bit 0 clear are not ours (hooks, the attach itself).
"""

from __future__ import annotations

import codecs
from collections import deque
from dataclasses import dataclass, field

from muxpilot.records import record


@record
class Block:
    """What one command printed, and whether it succeeded."""

    ok: bool
    lines: tuple[bytes, ...]


@record
class Reply:
    """All blocks of one request, the oldest request first."""

    blocks: tuple[Block, ...]

    @property
    def first_line(self) -> str:
        lines = self.blocks[0].lines
        return lines[0].decode("utf-8", "surrogateescape") if lines else ""

    @property
    def error(self) -> str | None:
        for block in self.blocks:
            if not block.ok:
                return b"\n".join(block.lines).decode("utf-8", "replace")
        return None


@record
class Foreign:
    """A block that answers nothing we asked, such as the one of the attach itself."""

    stamp: bytes
    block: Block


@record
class Output:
    """Bytes that a pane's program wrote."""

    pane: str
    data: bytes


@record
class Notice:
    """Anything else that tmux tells: `sessions-changed`, `pause`, `exit` …"""

    name: str
    rest: str


Event = Reply | Foreign | Output | Notice


@dataclass(slots=True)
class _Request:
    """What was sent and is not answered yet: it has a guard, or a number of blocks that may be believed."""

    guard: bytes | None
    commands: int
    mark: bytes
    blocks: list[Block] = field(default_factory=list)

    def is_closed_by(self, line: bytes, body: list[bytes]) -> bool:
        if not self.mark or not body:
            return True
        if line.startswith(b"%end"):
            return body[-1].endswith(self.mark)
        return not body[0].startswith(self.mark)

    def is_answered_with(self, block: Block) -> bool:
        self.blocks.append(block)
        return not block.ok or len(self.blocks) == self.commands


@dataclass(slots=True)
class _Open:
    """A block that has begun; while it is a guarded request's, lines are kept until the guard."""

    stamp: bytes
    request: _Request | None
    lines: list[bytes] = field(default_factory=list)
    is_guarded: bool = False


class Parser:
    """Feed it what the socket gave; tell it of every request that is sent."""

    def __init__(self) -> None:
        self._partial = b""
        self._requests: deque[_Request] = deque()
        self._open: _Open | None = None

    def expect(self, guard: bytes) -> None:
        self._requests.append(_Request(guard, 1, b""))

    def expect_trusted(self, commands: int = 1, *, mark: bytes = b"") -> None:
        self._requests.append(_Request(None, commands, mark))

    def feed(self, data: bytes) -> list[Event]:
        *lines, self._partial = (self._partial + data).split(b"\n")
        events: list[Event] = []
        position = 0
        while position < len(lines):
            block = self._open
            if block is None:
                self._outside(lines[position], events)
            elif block.request is None or block.request.guard is None:
                self._inside(block, lines[position], events)
            elif not block.is_guarded:
                position = _gather(block, block.request.guard, lines, position)
                continue
            else:  # the guard's own %end
                self._open = None
                self._requests.popleft()
                events.extend(_settle(block))
            position += 1
        return events

    def _outside(self, line: bytes, events: list[Event]) -> None:
        if line.startswith(b"%begin "):
            stamp = line[7:]
            ours = bool(self._requests) and _is_ours(stamp)
            self._open = _Open(stamp, self._requests[0] if ours else None)
        else:
            events.append(_tell(line))

    def _inside(self, block: _Open, line: bytes, events: list[Event]) -> None:
        request = block.request
        is_closing = line.startswith(b"%e") and line in (b"%end " + block.stamp, b"%error " + block.stamp)
        if not is_closing or not (request is None or request.is_closed_by(line, block.lines)):
            block.lines.append(line)
            return
        self._open = None
        closed = Block(line.startswith(b"%end"), tuple(block.lines))
        if request is None:
            events.append(Foreign(block.stamp, closed))
        elif request.is_answered_with(closed):
            self._requests.popleft()
            events.append(Reply(tuple(request.blocks)))


def _is_ours(stamp: bytes) -> bool:
    flags = stamp.rpartition(b" ")[2]
    return flags.isdigit() and int(flags) & 1 == 1


def _gather(block: _Open, guard: bytes, lines: list[bytes], start: int) -> int:
    """Keep lines up to the guard; answers where to go on."""
    try:
        end = lines.index(guard, start)
    except ValueError:
        block.lines += lines[start:]
        return len(lines)
    block.lines += lines[start:end]
    block.is_guarded = True
    return end + 1


def _settle(block: _Open) -> list[Event]:
    """Split a whole request, up to its guard's `%begin`, into its blocks and what was told meanwhile."""
    lines = block.lines[:-1]  # the guard's own %begin
    closing = {b"%end " + block.stamp: True, b"%error " + block.stamp: False}
    last = next((i for i in reversed(range(len(lines))) if lines[i] in closing), len(lines))
    first = Block(closing[lines[last]] if last < len(lines) else False, tuple(lines[:last]))
    if last >= len(lines) - 1:
        return [Reply((first,))]
    rest = Parser()
    told = rest.feed(b"".join(line + b"\n" for line in lines[last + 1 :]))
    later = [event.block for event in told if isinstance(event, Foreign) and _is_ours(event.stamp)]
    return [Reply((first, *later)), *(event for event in told if not isinstance(event, Foreign))]


def _tell(line: bytes) -> Event:
    name, _, rest = line.partition(b" ")
    if name == b"%output":
        pane, _, data = rest.partition(b" ")
        return Output(pane.decode("ascii", "replace"), unescape(data))
    if name == b"%extended-output":
        pane, _, aged = rest.partition(b" ")
        return Output(pane.decode("ascii", "replace"), unescape(aged.partition(b" : ")[2]))
    return Notice(name.removeprefix(b"%").decode("ascii", "replace"), rest.decode("utf-8", "replace"))


def unescape(data: bytes) -> bytes:
    r"""Undo `%output`'s escapes: bytes below 0x20 and `\` come as `\ooo`."""
    try:
        return codecs.escape_decode(data)[0] if b"\\" in data else data
    except ValueError:  # never tmux's own
        return data
