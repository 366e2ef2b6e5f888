"""The text of commands is what tmux shows where version 1 had another: the defects that the proof found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.terminal_proof import command_text
from bench.terminal_tmux import DrawingPane, drawing_panes
from bench.version_1_defects import DEFECTS


@pytest.fixture(scope="module")
def pane() -> Iterator[DrawingPane]:
    with drawing_panes([(20, 6)]) as [pane]:
        yield pane


@pytest.mark.parametrize("name", DEFECTS)
def test_the_text_is_what_tmux_shows(name: str, pane: DrawingPane) -> None:
    defect = DEFECTS[name]
    text = tuple(command_text(defect.printed, pane.shape))
    assert text == defect.wanted == tuple(filter(None, pane.draw(defect.printed).lines))
    assert text != defect.before
