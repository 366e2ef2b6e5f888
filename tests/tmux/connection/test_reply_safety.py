"""Only requests that can print no foreign text do without a guard."""

from __future__ import annotations

import pytest

from muxpilot.tmux.connection.control_line import BracedCommands
from muxpilot.tmux.connection.reply_safety import has_no_shadowing_alias, prints_no_foreign_text
from muxpilot.tmux.hosts.endpoint import Command

TRUSTED: list[Command] = [
    ("send-keys", "-t", "%1", "-l", "--", "#{pane_title} `any` text"),
    ("copy-mode", "-q", "-t", "%1"),
    ("select-pane", "-t", "%1"),
    ("display-message", "-p", "here"),
    ("display-message", "-p", "-t", "%1", "#{?pane_dead,dead,}"),
    ("list-panes", "-a", "-F", "#{pane_id} #{pane_width} #{pane_height}"),
    ("list-panes", "-t", "@1", "-F", "#{window_zoomed_flag}"),
]
GUARDED: list[Command] = [
    ("display-message", "-p", "#{pane_title}"),
    ("display-message", "-p", "#{pane_current_path}"),
    ("display-message", "-p", "#{?pane_dead,#{pane_title},}"),
    ("display-message", "-p", "#{?pane_title,yes,no}"),
    ("display-message", "-p", "#{E:status-left}"),
    ("display-message", "-p", "#(date)"),
    ("display-message", "-p", "#T"),
    ("display-message", "-p", "ours\nand more"),
    ("display-message", "here"),
    ("list-panes", "-a"),
    ("list-panes", "-a", "-F", "#{pane_id} #{pane_title}"),
    ("list-windows", "-F", "#{window_name}"),
    ("send-keys", "-t", "%1", "-l", "a\nb"),
    ("select-pane", "-t", "%1", "-T", b"a\nb"),
    ("capture-pane", "-p"),
    ("show-buffer", "-b", "b"),
    ("if-shell", "-F", "1", BracedCommands.of(("display-message", "-p", "x"))),
    ("rename-window", "x"),
]


@pytest.mark.parametrize("command", TRUSTED)
def test_what_prints_only_our_own_is_trusted(command: Command) -> None:
    assert prints_no_foreign_text([command])


@pytest.mark.parametrize("command", GUARDED)
def test_what_may_print_anybodys_text_is_guarded(command: Command) -> None:
    assert not prints_no_foreign_text([command])
    assert not prints_no_foreign_text([TRUSTED[0], command])


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ("split-pane=split-window", True),
        ('"server-info=show-messages -JT"', True),
        ("send-keys=send-keys -H", False),
        ('"list-panes=list-panes ; list-windows"', False),
        ("display-message", False),
    ],
)
def test_an_alias_for_a_command_that_is_trusted_ends_the_trust(alias: str, expected: bool) -> None:
    assert has_no_shadowing_alias(["choose-window=choose-tree -w", alias]) is expected
