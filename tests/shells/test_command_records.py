"""The history of a pane's commands: whatever order of records, whoever reads them, the same result."""

from __future__ import annotations

import errno
import json
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from muxpilot.journal import record_log
from muxpilot.journal.owners import Owners, OwnerState
from muxpilot.journal.record_log import RecordLog
from muxpilot.shells import command_records as records
from muxpilot.shells.binding_records import load_binding
from muxpilot.shells.command import ShellId
from muxpilot.shells.command_records import (
    CommandHistory,
    EndedCommand,
    JournalPlace,
    RecordedCommand,
    TypingRecord,
)
from muxpilot.shells.pane_log import RECORDS_FILE, PaneLog
from muxpilot.terminal.shape import ScreenShape
from muxpilot.tmux.objects.typing_ticket import TypingTicket
from muxpilot.trace import area

PLACE = JournalPlace("0001-abcdef", 42)
TYPED = TypingRecord(TypingTicket("a.1"), PLACE, "f" * 32, [{"nonce": "f" * 32}])
END = EndedCommand("failed", 3, None, time.monotonic_ns(), PLACE, output_bytes=17)


def asked(command_id: str, owner: str = "one") -> RecordedCommand:
    return RecordedCommand(command_id, f"echo {command_id}", owner, asked_ns=1, shape=ScreenShape(80, 50))


def history_of(*lines: records.Fields) -> CommandHistory:
    history = CommandHistory()
    for fields in lines:
        history.apply(json.loads(json.dumps(fields)))
    return history


def test_a_command_is_queued_then_typed_then_ended() -> None:
    history = history_of(records.ask_record(asked("a")))
    command = history.commands["a"]
    assert (command.is_queued, command.is_typed, command.text) == (True, False, "echo a")
    history.apply(records.type_record("a", "one", typed=TYPED))
    assert (command.is_queued, command.is_typed, command.typed) == (False, True, [TYPED])
    history.apply(records.end_record("a", END))
    assert (command.is_queued, command.is_typed, command.end) == (False, False, END)
    assert list(history.list_unfinished()) == []


def test_the_first_end_counts_and_nothing_follows_it() -> None:
    other = EndedCommand("lost", None, "late", 100, PLACE)
    history = history_of(
        records.ask_record(asked("a")),
        records.end_record("a", END),
        records.end_record("a", other),
        records.type_record("a", "two", typed=TYPED),
        records.cancel_record("a"),
        records.ask_record(asked("a", "two")),
    )
    command = history.commands["a"]
    assert (command.end, command.owner, command.is_cancelled, command.typed) == (END, "one", False, [])


def test_the_end_of_an_older_muxpilot_does_not_tell_the_length_of_the_output() -> None:
    end = {name: value for name, value in records.end_record("a", END).items() if name != "bytes"}
    told = history_of(records.ask_record(asked("a")), end).commands["a"].end
    assert told is not None
    assert (told.exit_code, told.output_bytes) == (3, 0)


def test_a_line_that_was_not_typed_is_queued_again_unless_it_was_typed_since() -> None:
    history = history_of(
        records.ask_record(asked("a")),
        records.type_record("a", "one", typed=TYPED),
        records.untyped_record("a", TypingTicket("a.0")),
    )
    assert history.commands["a"].is_typed
    history.apply(records.untyped_record("a", TYPED.ticket))
    assert history.commands["a"].is_queued


def test_a_line_of_a_muxpilot_that_has_lost_the_command_is_void() -> None:
    """It was stopped when another took over. It must see that its line is void, and not type it."""
    history = history_of(
        records.ask_record(asked("a")),
        records.own_record("a", "two"),
        records.type_record("a", "one", typed=TYPED),
    )
    command = history.commands["a"]
    assert (command.owner, command.is_queued) == ("two", True)
    history.apply(records.type_record("a", "two", typed=TYPED))
    assert command.typed == [TYPED]


def test_of_two_lines_for_the_same_turn_the_first_counts() -> None:
    """Two muxpilots write down a line at the same moment. The second must see that it is void."""
    first, second = (TypingRecord(TypingTicket(name, "z.1"), PLACE, "f" * 32, []) for name in ("a.1", "b.1"))
    history = history_of(
        records.ask_record(asked("a", "one")),
        records.type_record("a", "one", typed=first),
        records.ask_record(asked("b", "two")),
        records.type_record("b", "two", typed=second),
    )
    assert (history.commands["a"].is_typed, history.commands["b"].is_queued) == (True, True)
    history.apply(records.untyped_record("a", first.ticket))
    history.apply(records.type_record("b", "two", typed=second))
    assert history.commands["b"].is_queued  # behind a
    history.apply(records.end_record("a", END))
    history.apply(records.type_record("b", "two", typed=second))
    assert history.commands["b"].is_typed


def test_a_turn_that_ended_can_be_taken_again() -> None:
    """tmux forgets its last ticket with a pane's program, and the next line is the first again."""
    history = history_of(
        records.ask_record(asked("a")),
        records.type_record("a", "one", typed=TYPED),
        records.end_record("a", END),
        records.ask_record(asked("b")),
    )
    again = TypingRecord(TypingTicket("b.1"), PLACE, "f" * 32, [])
    history.apply(records.type_record("b", "one", typed=again))
    assert history.commands["b"].typed == [again]


def test_the_lines_of_a_command_are_kept_and_a_line_that_is_typed_again_replaces_itself() -> None:
    history = history_of(records.ask_record(asked("a")))
    for name, line in (("a.1", 0), ("a.2", 1), ("a.3", 1)):
        typed = TypingRecord(TypingTicket(name), PLACE, "f" * 32, [], line=line)
        history.apply(records.type_record("a", "one", typed=typed))
    assert [(line.ticket.name, line.line) for line in history.commands["a"].typed] == [("a.1", 0), ("a.3", 1)]


def test_tickets_tell_which_lines_were_typed_before_the_last_one() -> None:
    """tmux accepted a.1, then load.1, then b.2. The first try of b was refused, and c was never sent."""
    tickets = [("a.1", ""), ("b.1", "a.1"), ("load.1", "a.1"), ("b.2", "load.1"), ("c.1", "b.2")]
    history = history_of(*(records.ticket_record(TypingTicket(*names)) for names in tickets))
    used = [name for name, after in tickets if history.was_used(TypingTicket(name, after), last="b.2")]
    assert used == ["a.1", "load.1", "b.2"]


def test_a_ticket_is_used_where_the_records_after_it_are_missing() -> None:
    """The disk was full: tmux remembers a ticket that is in no record. No line must be typed twice."""
    history = history_of(
        *(records.ticket_record(TypingTicket(*names)) for names in (("a.1", "z.1"), ("b.1", "z.1")))
    )
    assert history.is_complete("b.1")
    assert not history.is_complete("missing.1")
    assert history.was_used(TypingTicket("a.1", "z.1"), last="missing.1")
    assert not history.was_used(TypingTicket("a.1", "z.1"), last="b.1")
    assert not history.was_used(TypingTicket("a.1", "z.1"), last="z.1")


def test_a_used_ticket_is_known_when_the_commands_after_it_are_forgotten() -> None:
    history = history_of(records.ask_record(asked("a")), records.type_record("a", "one", typed=TYPED))
    last = TYPED.ticket.name
    for number in range(1000):
        name = f"b{number}"
        typed = TypingRecord(TypingTicket(f"{name}.1", last), PLACE, "f" * 32, [])
        for fields in (records.ask_record(asked(name)), records.type_record(name, "one", typed=typed)):
            history.apply(fields)
        history.apply(records.end_record(name, END))
        history.forget_old(most=1, before_ns=0)
        last = typed.ticket.name
    assert history.was_used(TYPED.ticket, last=last)
    assert history.is_complete(last)
    assert len(history.tickets) < 1000


def test_the_order_of_asking_is_the_order_of_the_queue() -> None:
    history = history_of(*(records.ask_record(asked(name)) for name in "abc"))
    assert [command.id for command in history.list_unfinished()] == ["a", "b", "c"]
    first = history.queued_before("c")
    assert first is not None
    assert first.id == "a"
    history.apply(records.type_record("a", "one", typed=TYPED))
    history.apply(records.end_record("b", END))
    assert history.queued_before("c") is None


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"t": "later-version", "id": "a"},
        {"t": "ask", "id": "b"},
        {"t": "ask", "id": "b", "text": "x", "owner": "o", "asked": "soon", "height": 1},
        {"t": "type", "id": "a", "owner": "o"},
        {"t": "end", "id": "a", "status": "failed", "exit": "x", "ended": 1},
        {"t": "end", "id": "a", "status": "failed", "exit": 1, "ended": 1, "journal": "x"},
        {"t": "ticket", "ticket": "x"},
        {"t": "own", "id": ["a"], "owner": "x"},
        {"t": ["ask"]},
        {"t": "ask", "id": "b", "text": "x", "owner": "o", "asked": math.inf, "height": 1},
        {"t": "ask", "id": "b", "text": "x", "owner": "o", "asked": 10**400, "height": 1},
        {"t": "ask", "id": "b", "text": "x", "owner": "o", "asked": 1, "height": 10**9},
        {"t": "ask", "id": "b", "text": "x", "owner": "o", "asked": 1, "height": 1, "delay": math.nan},
        {
            "t": "end",
            "id": "a",
            "status": "failed",
            "exit": math.inf,
            "ended": 1,
            "journal": "x",
            "offset": 1,
        },
        {"t": "end", "id": "a", "status": "failed", "exit": 1, "ended": -1, "journal": "x", "offset": 1},
    ],
)
def test_unknown_and_damaged_records_change_nothing(fields: records.Fields) -> None:
    history = history_of(records.ask_record(asked("a")))
    assert history.apply(fields) is None
    assert [command.id for command in history.list_unfinished()] == ["a"]


@pytest.mark.parametrize(
    "binding",
    [
        7,
        {"kind": "behind"},
        {"kind": "behind", "program": "x", "shells": [1], "pids": [], "opens": False},
        {"kind": "behind", "program": "x", "shells": [], "pids": [math.inf], "opens": False},
    ],
)
def test_a_command_whose_shell_cannot_be_read_is_not_run_in_another(binding: Any) -> None:
    bound = load_binding(binding, lambda _: None)
    assert bound is not None
    assert "damaged" in (bound.find_mismatch(ShellId("n", 1, 0)) or "")


def test_an_end_that_only_a_later_version_knows_is_told_as_lost() -> None:
    end = {**records.end_record("a", END), "status": "paused", "reason": ["later"]}
    told = history_of(records.ask_record(asked("a")), end).commands["a"].end
    assert told is not None
    assert (told.status, told.reason) == ("lost", "['later']")


def test_a_command_that_was_refused_is_forgotten() -> None:
    refused = EndedCommand(records.REFUSED, None, "occupied", 1, PLACE)
    assert history_of(records.ask_record(asked("a")), records.end_record("a", refused)).commands == {}


def test_old_commands_are_forgotten_and_unfinished_ones_are_kept() -> None:
    history = history_of(*(records.ask_record(asked(name)) for name in "abcd"))
    for name, ended_ns in (("a", 10), ("b", 20), ("c", 30)):
        end = EndedCommand("completed", 0, None, ended_ns, PLACE)
        history.apply(records.end_record(name, end))
    assert history.forget_old(most=2, before_ns=0) == ["a"]
    assert history.forget_old(most=9, before_ns=25) == ["b"]
    assert list(history.commands) == ["c", "d"]


def pane_log(folder: Path | None) -> PaneLog:
    owners = Owners(folder.parent) if folder is not None else None
    return PaneLog(folder, owners, area("shells"))


def test_another_muxpilot_reads_what_one_has_written(tmp_path: Path) -> None:
    folder = tmp_path / "pane"
    folder.mkdir()
    one, two = pane_log(folder), pane_log(folder)
    one.add_shell("f" * 32)
    one.ask(asked("a", one.own_token))
    typed = one.begin_typing("a", PLACE, shell="f" * 32, stack=[{"nonce": "f" * 32}])
    two.take_news()
    command = two.history.commands["a"]
    assert command.typed == [typed]
    assert list(two.history.nonces) == ["f" * 32]
    assert not two.is_own(command)
    assert two.owner_state(command) is OwnerState.ALIVE
    two.take_over(command)
    two.end("a", END)
    assert [fields["t"] for fields in one.take_news()][-2:] == ["own", "end"]
    assert one.history.commands["a"].end == END


def test_two_that_ask_at_once_agree_on_the_order(tmp_path: Path) -> None:
    folder = tmp_path / "pane"
    folder.mkdir()
    one, two = pane_log(folder), pane_log(folder)
    for number in range(10):
        one.ask(asked(f"a{number}", one.own_token))
        two.ask(asked(f"b{number}", two.own_token))
    one.take_news()
    assert list(one.history.commands) == list(two.history.commands)


def test_a_large_log_keeps_what_has_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "pane"
    folder.mkdir()
    log = pane_log(folder)
    log.ask(asked("a", log.own_token))
    typed = log.begin_typing("a", PLACE, shell="f" * 32, stack=[])
    monkeypatch.setattr(record_log, "_MOST_BYTES", 2000)
    log = pane_log(folder)
    log.take_news()
    for number in range(40):
        log.ask(asked(f"b{number}", log.own_token))
        log.end(f"b{number}", END)
    fresh = pane_log(folder)
    fresh.take_news()
    assert fresh.history.commands["a"].typed == [typed]
    assert list(fresh.history.commands) == list(log.history.commands)
    assert typed.ticket in fresh.history.tickets


def test_long_commands_are_not_written_again_with_each_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, put_aside = tmp_path / "pane", list[bool]()
    folder.mkdir()
    log = pane_log(folder)
    monkeypatch.setattr(RecordLog, "is_large", property(lambda self: self.size > 2000))

    def note(self: RecordLog) -> bool:
        put_aside.append(True)
        return False

    monkeypatch.setattr(RecordLog, "put_aside", note)
    for number in range(40):
        log.ask(
            RecordedCommand(f"a{number}", "x" * 1000, log.own_token, asked_ns=1, shape=ScreenShape(80, 50))
        )
        log.cancel(f"a{number}")
    assert not put_aside


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["disk", "quota"])
def test_a_full_disk_or_quota_stops_nothing_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    folder = tmp_path / "pane"
    folder.mkdir()
    log = pane_log(folder)

    def fail(self: RecordLog, fields: records.Fields) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(RecordLog, "append", fail)
        log.ask(asked("a", log.own_token))
    assert log.history.commands["a"].is_queued
    assert log.failure == f"muxpilot could not write it down ({os.strerror(number)})"
    assert not (folder / RECORDS_FILE).exists()
    log.ask(asked("b", log.own_token))
    assert log.failure is None


def test_without_a_folder_everything_is_kept_in_memory() -> None:
    log = pane_log(None)
    log.ask(asked("a", log.own_token))
    log.begin_typing("a", PLACE, shell="x", stack=[])
    assert log.history.commands["a"].is_typed
    assert log.owner_state(log.history.commands["a"]) is OwnerState.ALIVE
