"""Widths of cells in pictures, compared with the columns that tmux gives; versions of tmux differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.terminal.cells import parse_screen
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.both_tmux

CHARACTERS = [
    *("a", "é", "世", "ｱ", "…", "→", "\u3000", "⌚", "🎉", "e\u0301", "a\u200bb", "각", "กำ็", "नि", "\ue0b0"),
    *("a\u00adb", "\u06001"),
    *("❤️", "⚠️ x", "✔️", "☀️☀️", "✈︎", "1️⃣", "👍🏽", "👍🏽👍🏽", "👨‍👩‍👧", "🇩🇪", "🇩🇪 🇫🇷"),
]
COLUMN = 19


async def test_what_follows_a_character_stands_in_the_column_where_tmux_has_it(
    tmux: Tmux, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("".join(f"{row}\x1b[{COLUMN + 1}G|\r\n" for row in CHARACTERS) + "end")
    program = PaneProgram(f"cat '{text}'; exec sleep 60")
    made = await tmux.sessions.create("pictured", width=40, height=40, program=program)

    async def is_printed() -> bool:
        return "end" in "".join((await tmux.capture.screen(made.pane_id)).lines)

    await eventually(is_printed)
    shown = await tmux.capture.screen(made.pane_id)
    read = parse_screen(shown.lines, shown.columns, shown.rows, emoji=shown.emoji)
    columns = {}
    for character, row in zip(CHARACTERS, read.rows, strict=False):
        at = next(number for number, cell in enumerate(row) if cell.text == "|")
        columns[character] = sum(cell.width for cell in row[:at])
    assert columns == dict.fromkeys(CHARACTERS, COLUMN)
