"""A command is restored from its record, with the output that has arrived here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from muxpilot.shell_table import SHELLS
from muxpilot.shells.command_archive import CommandArchive
from muxpilot.shells.command_records import EndedCommand, JournalPlace, RecordedCommand, TypingRecord
from muxpilot.shells.command_restore import CommandReplay, restore_command
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.osc133 import MarkOrder
from muxpilot.shells.pane_log import RecordLimits
from muxpilot.terminal.shape import ScreenShape
from muxpilot.tmux import PaneId, PaneStream, Tmux
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


async def test_the_recorded_end_counts_where_the_output_shows_none() -> None:
    """The status mark was lost: read again, the prompt says that the command is lost."""
    nonce = "f" * 32
    shell = NestedShell(nonce, SHELLS["bash"], MarkOrder(7, 1))
    data = f"\x1b]133;C;;1.7;{nonce}\x07out\r\n\x1b]133;B;;2.7;{nonce}\x07".encode()
    stream = PaneStream(PANE)
    stream.use_far_journal(JOURNAL, offset=0, newlines=0)
    stream.feed(data)
    typed = TypingRecord(TypingTicket("a.1"), JournalPlace(JOURNAL, 0), nonce, [shell.snapshot()])
    end = EndedCommand("failed", 3, "why", 1, JournalPlace(JOURNAL, len(data)))
    recorded = RecordedCommand("a", "echo a", "one", 1, ScreenShape(80, 50), typed=[typed], end=end)

    async def catch_up(pane: PaneId) -> None:
        assert pane == PANE

    streams = SimpleNamespace(find_stream=lambda pane: stream, catch_up=catch_up)
    tmux = cast("Tmux", SimpleNamespace(socket="/s", streams=streams))
    command = await CommandArchive(1000, RecordLimits()).restore(tmux, PANE, recorded)
    assert (command.status.value, command.exit_code, command.reason) == ("failed", 3, "why")
    assert command.output.full_text() == ("out\n", False)
