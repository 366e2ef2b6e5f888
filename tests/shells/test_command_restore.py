"""A command is restored from its record, with the output that has arrived here."""

from __future__ import annotations

import pytest

from muxpilot.shells.command_records import EndedCommand, JournalPlace, RecordedCommand, TypingRecord
from muxpilot.shells.command_restore import CommandReplay, restore_command
from muxpilot.terminal.shape import ScreenShape
from muxpilot.tmux import PaneId, PaneStream
from muxpilot.tmux.objects.typing_ticket import TypingTicket
from muxpilot.trace import area

PANE = PaneId("%1")
JOURNAL = "0001-abcdef"


@pytest.mark.parametrize(("arrived", "lost"), [(50, 40), (90, 0), (120, 0)])
async def test_output_that_has_not_arrived_is_told_as_lost(arrived: int, lost: int) -> None:
    stream = PaneStream(PANE)
    stream.use_far_journal(JOURNAL, offset=0, newlines=0)
    stream.feed(b"x" * arrived)
    typed = TypingRecord(TypingTicket("a.1"), JournalPlace(JOURNAL, 10), "f" * 32, [])
    end = EndedCommand("failed", 3, None, 1, JournalPlace(JOURNAL, 90))
    recorded = RecordedCommand("a", "echo a", "one", 1, ScreenShape(80, 50), typed=[typed], end=end)
    command = restore_command(recorded, "/s", pane=PANE, output_limit=1000, trace=area("shells"))
    await CommandReplay(command, recorded, stream).run()
    assert command.output.lost_bytes == lost
