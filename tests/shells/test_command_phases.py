"""The table of a command's life, and the command that follows it."""

from __future__ import annotations

from muxpilot.errors import Refused
from muxpilot.shells.command import Command
from muxpilot.shells.command_output import CommandOutput
from muxpilot.shells.command_phases import TRANSITIONS, CommandAction, CommandStatus
from muxpilot.terminal.shape import ScreenShape
from muxpilot.tmux import PaneId


def make_command() -> Command:
    return Command("socket", PaneId("%1"), "text", CommandOutput(ScreenShape(200, 10), 1000))


def test_what_has_ended_stays_as_it_is() -> None:
    assert {status for status, _ in TRANSITIONS} == {CommandStatus.QUEUED, CommandStatus.RUNNING}
    command = make_command()
    command.mark_running()
    command.finish(3)
    command.mark_lost("late")
    command.finish(0)
    assert (command.status, command.exit_code, command.reason) == (CommandStatus.FAILED, 3, None)


def test_an_end_is_an_end_and_a_beginning_is_none() -> None:
    for transition in TRANSITIONS.values():
        assert (transition.action is CommandAction.END) is transition.status.is_final


def test_a_refused_command_is_cancelled_and_never_begins() -> None:
    command = make_command()
    command.refuse(Refused("occupied"))
    command.mark_running()
    assert (command.status, command.reason) == (CommandStatus.CANCELLED, "occupied")


def test_a_stopped_command_has_no_exit_code_and_says_how_to_go_on() -> None:
    command = make_command()
    command.mark_running()
    command.mark_stopped()
    assert (command.status, command.exit_code) == (CommandStatus.STOPPED, None)
    assert "fg" in (command.reason or "")


def test_a_slice_of_output_has_whole_characters_and_says_whether_there_is_more() -> None:
    output = CommandOutput(ScreenShape(200, 10), 1000)
    output.feed("ab漢字cd\r\n".encode())
    assert output.slice(0, 3).text == "ab"
    assert output.slice(2, 3).text == "漢"
    assert output.slice(3, 6).text == "字c"
    last = output.slice(8, 100)
    assert (last.text, last.is_cut) == ("cd\n", True)
    assert output.slice(0, 100).is_cut is False
    assert output.slice(500, 10).text == ""
