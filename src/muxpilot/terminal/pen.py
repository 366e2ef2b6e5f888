"""What a terminal remembers besides its cells: the look of the next characters, and the saved cursor."""

from __future__ import annotations

from dataclasses import field, replace

from muxpilot.records import mutable_record
from muxpilot.terminal.style import PLAIN, CellStyle


@mutable_record
class Pen:
    """The look of the next characters: their style and character set."""

    style: CellStyle = PLAIN
    draws: list[bool] = field(default_factory=lambda: [False, False])  # whether G0 and G1 are line drawing
    shift: int = 0  # which of the two is in use

    def copy(self) -> Pen:
        return replace(self, draws=self.draws[:])


@mutable_record
class SavedCursor:
    """The state that DECSC saves."""

    x: int = 0
    y: int = 0
    pen: Pen = field(default_factory=Pen)
    is_origin: bool = False
