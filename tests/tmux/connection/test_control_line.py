"""The lines of requests, and which of them are kept."""

from __future__ import annotations

from muxpilot.tmux.connection import control_line
from muxpilot.tmux.formats import template
from muxpilot.tmux.models import PANE


def test_a_command_that_is_sent_again_is_quoted_once() -> None:
    ask = ("list-panes", "-t", "%1", "-F", "#{pane_id} #{pane_in_mode}")
    line = control_line.format_control_line([ask])
    hits = control_line._format_repeated.cache_info().hits
    assert control_line.format_control_line([ask]) == line
    assert control_line._format_repeated.cache_info().hits == hits + 1


def test_a_listing_with_a_mark_of_its_own_is_not_kept() -> None:
    """No later request has that mark: it would only drop what is sent again."""
    before = control_line._format_repeated.cache_info()
    lines = [control_line.format_control_line([("list-panes", "-a", "-F", template(PANE))]) for _ in range(3)]
    assert len(set(lines)) == 3
    assert control_line._format_repeated.cache_info() == before
