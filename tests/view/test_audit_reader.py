"""Reading the audit log while a server writes and rotates it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot.app import build
from muxpilot.audit.log_files import RotatingLog
from muxpilot.config.model import AuditSettings, Settings
from muxpilot.config.scope import Scope
from muxpilot.view.audit_reader import MOST_ENTRIES, AuditReader
from tests.rigs.view_page import audit_line


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_log_that_is_not_there_yet_is_said_to_be_missing_and_read_once_it_is(path: Path) -> None:
    reader = AuditReader(str(path))
    reader.read_new_lines()
    assert str(path) in (reader.problem or "")
    append(path, audit_line("list-panes"))
    reader.read_new_lines()
    assert (reader.problem, [entry.tool for entry in reader.entries]) == (None, ["list-panes"])


def test_a_line_counts_when_it_is_whole(path: Path) -> None:
    reader, text = AuditReader(str(path)), audit_line("send-keys", paneId="%3", keys="ls")
    for part in (text[:20], text[20:]):
        append(path, part)
        reader.read_new_lines()
    [entry] = reader.entries
    assert (entry.tool, entry.places, entry.about) == ("send-keys", ((None, "%3"),), "ls")
    assert entry.is_ok


@pytest.mark.parametrize("pace", [3, 40], ids=["each time", "several times between two looks"])
def test_no_line_is_lost_or_told_twice_when_the_log_is_put_aside(path: Path, pace: int) -> None:
    reader, log = AuditReader(str(path)), RotatingLog(str(path), max_bytes=2000, keep=50)
    for number in range(100):
        log.write(audit_line("execute-command", command=f"number {number}").encode())
        if number % pace == 0:
            reader.read_new_lines()
    reader.read_new_lines()
    log.close()
    reader.close()
    assert len(list(path.parent.glob("audit.jsonl.*"))) > 3
    assert [entry.about for entry in reader.entries] == [f"number {number}" for number in range(100)]


def test_while_the_log_is_put_aside_one_of_the_older_is_missing(path: Path) -> None:
    reader = AuditReader(str(path))
    append(path, audit_line("first"))
    reader.read_new_lines()
    path.rename(f"{path}.3")  # as in the middle of a rotation: no `.1`, and the log itself not yet created
    append(Path(f"{path}.2"), audit_line("second"))
    append(path, audit_line("third"))
    reader.read_new_lines()
    assert [entry.tool for entry in reader.entries] == ["first", "second", "third"]


def test_lines_that_were_gone_before_they_were_read_are_said_to_be_missing(path: Path) -> None:
    reader, log = AuditReader(str(path)), RotatingLog(str(path), max_bytes=2000, keep=1)
    for number in range(100):
        log.write(audit_line("execute-command", command=f"number {number}").encode())
        if number == 0:
            reader.read_new_lines()
    reader.read_new_lines()
    log.close()
    told = [entry.about or entry.error for entry in reader.entries]
    before = told.index("gap")
    assert told[:before] == [f"number {number}" for number in range(before)]
    after = told[before + 1 :]
    assert after == [f"number {number}" for number in range(100 - len(after), 100)]
    assert len(told) < 100


def loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("instead", [loop, Path.mkdir])
def test_a_log_that_cannot_be_read_for_a_while_is_not_told_again(
    path: Path, instead: Callable[[Path], None]
) -> None:
    reader, away = AuditReader(str(path)), path.with_name("away")
    append(path, audit_line("first"))
    reader.read_new_lines()
    path.rename(away)
    instead(path)
    reader.read_new_lines()
    assert "cannot be read" in (reader.problem or "")
    path.rename(path.with_name("no log"))
    append(away, audit_line("second"))
    away.rename(path)
    reader.read_new_lines()
    assert (reader.problem, [entry.tool for entry in reader.entries]) == (None, ["first", "second"])


def test_after_a_fault_of_the_disk_it_is_read_on_from_the_same_place(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    reader, text = AuditReader(str(path)), audit_line("second")
    append(path, audit_line("first") + text[:9])
    reader.read_new_lines()
    with monkeypatch.context() as patch:
        patch.setattr("muxpilot.view.log_tail.os.read", fail)
        reader.read_new_lines()
    assert "Input/output error" in (reader.problem or "")
    append(path, text[9:])
    path.rename(f"{path}.1")
    append(path, audit_line("third"))
    reader.read_new_lines()
    assert [entry.tool for entry in reader.entries] == ["first", "second", "third"]


def test_a_log_that_was_cut_is_read_from_its_beginning(path: Path) -> None:
    reader = AuditReader(str(path))
    append(path, audit_line("list-panes") * 5)
    reader.read_new_lines()
    path.write_text(audit_line("kill-pane"))
    reader.read_new_lines()
    assert [entry.tool for entry in reader.entries][-2:] == ["some lines are missing", "kill-pane"]


def test_what_is_no_line_of_a_log_is_passed_over(path: Path) -> None:
    deep = "[" * 100_000
    append(path, f"not json\n{deep}\n[]\n{{}}\n\xff\n")
    for ms in (float("nan"), 10**400):
        append(path, audit_line("list-panes", ms=ms))
    reader = AuditReader(str(path))
    reader.read_new_lines()
    told = [json.loads(json.dumps(entry.to_json(), allow_nan=False))["ms"] for entry in reader.entries]
    assert told == [0, 0]


def test_a_pane_that_a_call_only_named_is_not_used(path: Path) -> None:
    for error in ("denied", "bad-input", "not-found", "no-server"):
        append(path, audit_line("send-keys", paneId="%1", ok=False, error=error))
    append(path, audit_line("send-keys", paneId="%2", ok=False, error="not-answering"))
    reader = AuditReader(str(path))
    reader.read_new_lines()
    assert list(reader.last_calls) == [(None, "%2")]


def test_of_a_long_log_only_the_last_lines_are_kept(path: Path) -> None:
    for number in range(3000):
        append(path, audit_line("send-keys", paneId=f"%{number}", keys="x" * 100))
    reader = AuditReader(str(path))
    reader.read_new_lines()
    assert len(reader.entries) == MOST_ENTRIES
    assert reader.entries[-1].places == ((None, "%2999"),)
    assert reader.entries_since(reader.count - 2) == list(reader.entries)[-2:]


def test_a_call_tells_all_panes_that_it_named_and_why_it_failed(path: Path) -> None:
    panes = [{"paneId": "%1"}, {"paneId": "%2", "socket": "far"}]
    append(
        path, audit_line("run-on", panes=panes, command="x" * 5000, ok=False, error="denied", reason="a rule")
    )
    reader = AuditReader(str(path))
    reader.read_new_lines()
    [entry] = reader.entries
    assert entry.places == ((None, "%1"), ("far", "%2"))
    assert (entry.error, entry.reason) == ("denied", "a rule")
    assert len(entry.about) < 400


def test_a_pane_of_several_is_of_the_server_that_was_named_with_it_else_of_that_of_the_call(
    path: Path,
) -> None:
    panes = [{"paneId": "%2"}, {"paneId": "%2", "socket": "far"}, {"paneId": "%3", "socket": None}]
    append(path, audit_line("run-on", panes=panes, socket="near"))
    reader = AuditReader(str(path))
    reader.read_new_lines()
    assert list(reader.last_calls) == [("near", "%2"), ("far", "%2"), ("near", "%3")]


@pytest.mark.parametrize(
    ("scope", "tool", "arguments"),
    [
        (Scope.ALL, "send-keys", {"paneId": "dev:0.0", "keys": "echo hello"}),
        (Scope.CLASSIC, "tmux_send_keys", {"target": "dev:0.0", "keys": "echo hello"}),
    ],
)
async def test_what_muxpilot_writes_is_understood(
    raw: Callable[..., str], socket: str, path: Path, scope: Scope, tool: str, arguments: dict[str, str]
) -> None:
    raw("new-session", "-d", "-s", "dev", "cat")
    app = build(Settings(scope=scope, socket=socket, audit=AuditSettings(path=str(path))))
    await app.dispatch.call(tool, arguments)
    await app.close()
    reader = AuditReader(str(path))
    reader.read_new_lines()
    [entry] = reader.entries
    assert (entry.places, entry.about, entry.is_ok) == (((None, "%0"),), "echo hello", True)
    assert list(reader.last_calls) == [(None, "%0")]
