"""Feeds the stream of a pane on another host, at the offsets of the pane's journal there.

A control client sends the output at once, but without offsets. A journal has the offsets, but reading it
takes a connection of its own. So the stream gets live output from the control client while both are known to
stand at the same byte. This is known in two cases:

- We start the pipe. The control client pauses the pane, and one line of commands starts the pipe and lets the
  client go on. So the next byte is the first one for both.
- We have read the journal to its end, and tmux has sent nothing between the request before and the one after.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from muxpilot.tmux.streams.far_journals import FarJournal, FarJournalGone, FarJournals, FarPiece
from muxpilot.tmux.streams.stream import PaneStream
from muxpilot.trace import Trace

# So many bytes that the stream has already are read again and compared.
_COMPARED_BYTES = 64
_DROPPED = "the pane's journal on the other host no longer holds it"
_NOT_WRITTEN = "the pane's journal on the other host could not be written"
_ENDED = "the pane's pipe was replaced, or has ended"
_DIFFERS = "the pane's journal on the other host does not continue this output"


class FarFeed:
    """Feeds one stream. `is_live`: the output of the control client goes into the stream as it comes.

    `has_begun`: the stream has its name and its first offset.
    Before that it is held until `begin` or `join` is called, and then counted until the feed is live again.
    """

    def __init__(self, stream: PaneStream, journals: FarJournals, trace: Trace) -> None:
        self.stream = stream
        self.journal: FarJournal | None = None
        self.is_live = False
        self._journals = journals
        self._trace = trace.child(pane=stream.pane)
        self.has_begun = False
        self.failures = 0  # attempts to catch up that failed, one after the other
        self._received = 0
        self._held = bytearray()

    def receive(self, data: bytes) -> None:
        """Take what the control client has sent."""
        self._received += len(data)
        if self.is_live:
            self.stream.feed(data)
        elif self.journal is None:
            self._held += data

    def begin(self, journal: FarJournal) -> None:
        """Feed the output from the first byte of a new journal on."""
        self.journal, self.has_begun = journal, True
        self.stream.use_far_journal(journal.name, offset=0, newlines=0)
        self._go_live("the journal is new")

    def begin_without_journal(self) -> None:
        """Feed the output as it comes: the pane has no journal of ours."""
        self._go_live("the pane has no journal")

    def join(self, journal: FarJournal) -> None:
        """Feed the output of a journal that exists. Call `catch_up` next."""
        self.journal = journal
        self._held.clear()

    def fall_behind(self) -> None:
        """Stop feeding: some output of the control client is missing. Call `catch_up` next."""
        if self.journal is not None:
            self.is_live = False

    async def catch_up(self, ask_tmux: Callable[[], Awaitable[None]]) -> bool:
        """Read the journal to its end. Return whether the feed is live: tmux has sent nothing meanwhile.

        `ask_tmux` returns when all that tmux has sent so far has been received.
        """
        await ask_tmux()
        received = self._received
        is_written = await self.read_rest()
        self.failures = 0
        await ask_tmux()
        if not is_written and self.journal is not None:
            self.give_up(_ENDED)
        elif received == self._received:
            self._go_live("the journal is read to its end")
        return self.is_live

    async def read_rest(self) -> bool:
        """Give the stream what the journal has more than it. Return whether the journal goes on."""
        if self.journal is None:
            return False
        start = None
        if self.has_begun:
            start = max(self.stream.recent_start, self.stream.end - _COMPARED_BYTES)
        try:
            reading = await self._journals.read(self.journal, start)
            self._add(reading.pieces)
        except FarJournalGone as error:
            self.give_up(str(error))
            return False
        return reading.is_written

    def _add(self, pieces: Sequence[FarPiece]) -> None:
        stream, end = self.stream, self.stream.end
        if not self.has_begun:
            self.has_begun, end = True, pieces[0].offset if pieces else 0
            assert self.journal is not None
            newlines = pieces[0].newlines if pieces else 0
            stream.use_far_journal(self.journal.name, offset=end, newlines=newlines)
        for piece in pieces:
            known = stream.read(piece.offset, stream.end)[: len(piece.data)]
            if not piece.data.startswith(known):
                raise FarJournalGone(_DIFFERS)
            if piece.follows_unknown_loss and piece.offset >= end:
                stream.add_gap(_NOT_WRITTEN)
            if piece.offset > stream.end:
                stream.skip_to(piece.offset, piece.newlines, _DROPPED)
            if new := piece.data[stream.end - piece.offset :]:
                stream.feed(new)
        if not pieces or pieces[-1].offset + len(pieces[-1].data) < stream.end:
            raise FarJournalGone(_DIFFERS)

    def give_up(self, reason: str) -> None:
        """Continue without the journal, after a gap."""
        self.journal = None
        self.stream.add_gap(reason)
        self._go_live(reason)

    def _go_live(self, why: str) -> None:
        self._trace.debug("far stream is live", at=self.stream.end, why=why, held=len(self._held))
        self.is_live = True
        if self._held:
            self.stream.feed(bytes(self._held))
            self._held.clear()
