"""The panes whose output is followed, and the streams of our own panes that ended recently."""

from __future__ import annotations

from collections.abc import Iterator

from muxpilot.records import mutable_object
from muxpilot.tmux.ids import PaneId
from muxpilot.tmux.streams.control_output import ControlOutputSource
from muxpilot.tmux.streams.far_feed import FarFeed
from muxpilot.tmux.streams.journal_source import JournalSource
from muxpilot.tmux.streams.pipe import PipeSource
from muxpilot.tmux.streams.stream import PaneStream

PaneSource = PipeSource | JournalSource

_ENDED_STREAMS_KEPT = 32


@mutable_object
class FollowedPane:
    """A pane's stream, the number of its followers, and its one source: a pipe, or a control client.

    `is_own`: the stream holds everything from the first byte on, because a muxpilot created the pane.
    """

    stream: PaneStream
    followers: int = 0
    is_own: bool = False
    pipe: PaneSource | None = None
    control: ControlOutputSource | None = None
    feed: FarFeed | None = None  # on another host: it knows the journal there
    server_pid: int | None = None  # another server gives the same ids to other panes
    is_check_pending: bool = False

    @property
    def pane(self) -> PaneId:
        return self.stream.pane

    @property
    def has_source(self) -> bool:
        return self.pipe is not None or (self.control is not None and self.control.is_connected)

    @property
    def is_receiving(self) -> bool:
        """Return whether the output comes into the stream as it is printed."""
        return self.has_source and (self.feed is None or self.feed.is_live)

    @property
    def needs_source(self) -> bool:
        return not self.has_source and self.stream.end_event is None


class FollowedPanes:
    """All followed panes by id."""

    def __init__(self) -> None:
        self._panes: dict[PaneId, FollowedPane] = {}
        self._ended: dict[PaneId, PaneStream] = {}

    def __iter__(self) -> Iterator[FollowedPane]:
        return iter(list(self._panes.values()))

    def get(self, pane: PaneId) -> FollowedPane | None:
        return self._panes.get(pane)

    def is_current(self, followed: FollowedPane) -> bool:
        return self._panes.get(followed.pane) is followed

    def add(self, followed: FollowedPane) -> None:
        self._panes[followed.pane] = followed
        if followed.is_own:
            self._ended.pop(followed.pane, None)

    def remove(self, followed: FollowedPane) -> None:
        if self.is_current(followed):
            del self._panes[followed.pane]

    def find_stream(self, pane: PaneId) -> PaneStream | None:
        """Return the stream of a followed pane, or of one of our own that ended recently."""
        followed = self._panes.get(pane)
        return followed.stream if followed is not None else self._ended.get(pane)

    def remember_ended(self, followed: FollowedPane) -> None:
        """Keep the stream of one of our own panes: its creator may ask for the last output a little later."""
        if followed.is_own:
            self._ended[followed.pane] = followed.stream
            while len(self._ended) > _ENDED_STREAMS_KEPT:
                del self._ended[next(iter(self._ended))]
