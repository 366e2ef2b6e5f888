"""What the audit log holds, where it is, and what it never holds."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muxpilot.audit import AuditLog
from muxpilot.audit.log_files import CaptureFolder, RotatingLog
from muxpilot.audit.redact import redact
from muxpilot.calls import CallRecord
from muxpilot.config.model import AuditSettings as Keys
from muxpilot.errors import BadInput
from muxpilot.terminal.prompt_signs import asks_for_secret
from muxpilot.toolkit.answers import Answer


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "wJalrXUtnFEMI"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("git push https://joe:hunter2@host/r", "hunter2"),
        ("echo ghp_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijkl"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "11ABCDEFG0"),
        ("sk-ant-api03-abcdefghijklmnopqrst", "api03"),
        ("sk_live_abcdefghijklmnop1234", "abcdefghijkl"),
        ("xoxb-123456789012-abcdefghij", "123456789012"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJ", "SflKxwRJ"),
        ("curl -H 'Authorization: Bearer abcdefgh1234'", "abcdefgh1234"),
        ("curl -u joe:hunter2 http://x", "hunter2"),
        ("mysql -phunter2 db", "hunter2"),
        ("sshpass -p hunter2 ssh host", "hunter2"),
        ("PASSWORD='hun ter2' ./run", "ter2"),
        ("./run --password hunter2", "hunter2"),
        ("./run --api-key=hunter2", "hunter2"),
        ('{"token": "hunter2"}', "hunter2"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nMIIE", "MIIE"),
        ("x" * 3990 + " password=hunter2", "hunter2"),
    ],
)
def test_a_known_shape_of_a_secret_is_not_written(text: str, secret: str) -> None:
    assert secret not in json.dumps(redact({"keys": text}))


@pytest.mark.parametrize(
    "text",
    [
        "ls -la",
        "cat token.txt",
        "grep -r password src",
        "ssh -p 22 host",
        "git commit --author joe",
        "sk-1",
        "PWD=/x",
    ],
)
def test_plain_text_is_written_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_values_are_secret_by_their_names_too() -> None:
    assert redact({"env": {"API_KEY": "x", "DB_PASSWORD": "y", "A": "b"}}) == {
        "env": {"API_KEY": "[secret]", "DB_PASSWORD": "[secret]", "A": "b"}
    }


def test_a_secret_is_known_where_its_bytes_are_spelt() -> None:
    token = "ghp_" + "a" * 36
    spelt = " ".join(f"{byte:02x}" for byte in f"echo {token}\r".encode())
    assert redact({"hex": spelt}) == {"hex": "[secret]"}
    assert redact({"hex": "1b 5b 41"}) == {"hex": "1b 5b 41"}
    assert redact({"hex": "no hex 1 100"}) == {"hex": "no hex 1 100"}


def test_a_secret_that_is_given_as_a_name_is_none_of_the_log(tmp_path: Path) -> None:
    token = "ghp_" + "a" * 36
    audit = AuditLog(Keys(path=str(tmp_path / "log")))
    audit.write(CallRecord(token, {token: 1}))
    audit.close()
    [line] = read_lines(tmp_path / "log")
    assert token not in json.dumps(line)
    assert line["tool"] == "[secret]"


def test_a_long_text_is_cut_and_counted() -> None:
    text = redact("word " * 10_000)
    assert len(text) < 2100
    assert text.endswith("(50000 characters)")


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("[sudo] password for joe: ", True),
        ("joe@host's password:", True),
        ("Enter passphrase for key '/k': ", True),
        ("Verification code: ", True),
        ("$ cat passwords", False),
        ("$ ", False),
    ],
)
def test_a_line_that_asks_for_a_secret_is_known(line: str, *, asks: bool) -> None:
    assert asks_for_secret(line) is asks


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_call_is_a_line_with_its_arguments_and_the_size_of_its_output(tmp_path: Path) -> None:
    audit = AuditLog(Keys(path=str(tmp_path / "log")))
    audit.write(CallRecord("list-panes", {"windowId": "@1"}, answer=Answer("äb"), seconds=0.0123))
    audit.write(CallRecord("nope", {"x": [1, {"token": "t"}]}, outcome="unknown"))
    audit.write(
        CallRecord("kill-pane", {}, outcome="denied", answer=Answer("no: password=x", error="denied"))
    )
    audit.close()
    good, unknown, denied = read_lines(tmp_path / "log")
    assert good.pop("ts").endswith("Z")
    assert good == {"tool": "list-panes", "windowId": "@1", "output_bytes": 3, "ok": True, "ms": 12.3}
    assert (unknown["ok"], unknown["error"], unknown["x"]) == (False, "unknown", [1, {"token": "[secret]"}])
    assert (denied["ok"], denied["error"], denied["reason"]) == (False, "denied", "no: password=[secret]")


@pytest.mark.parametrize("text", ["x" * 5000, "x " * 2500, "x" * 4001])
def test_what_is_cut_says_how_long_it_was(text: str) -> None:
    assert redact(text).endswith(f"… ({len(text)} characters)")
    assert len(redact(text)) < 2100


def test_an_argument_cannot_pass_for_what_the_log_says_itself(tmp_path: Path) -> None:
    audit = AuditLog(Keys(path=str(tmp_path / "log")))
    audit.write(
        CallRecord("x", {"ts": "never", "tool": "y", "ok": True, "ms": 0, "\n{": "\n"}, outcome="denied")
    )
    audit.close()
    [line] = read_lines(tmp_path / "log")
    assert (line["tool"], line["ok"]) == ("x", False)
    assert line["ts"] != "never"


def test_the_log_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch(0o644)
    RotatingLog(str(path), max_bytes=1000, keep=1).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    folder = tmp_path / "full"
    CaptureFolder(str(folder)).save("%1", "x")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "%1-capture-001.txt").stat().st_mode) == 0o600


def test_a_full_log_is_put_aside_and_the_oldest_goes(tmp_path: Path) -> None:
    log = RotatingLog(str(tmp_path / "log"), max_bytes=1000, keep=2)
    for number in range(10):
        log.write(f"{number}".encode() * 600 + b"\n")
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["log", "log.1", "log.2"]
    assert [(tmp_path / name).read_text()[0] for name in ("log", "log.1", "log.2")] == ["9", "8", "7"]


def test_without_keeping_a_full_log_begins_anew(tmp_path: Path) -> None:
    log = RotatingLog(str(tmp_path / "log"), max_bytes=1000, keep=0)
    for number in range(3):
        log.write(f"{number}".encode() * 600 + b"\n")
    log.close()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["log"]
    assert (tmp_path / "log").read_text()[0] == "2"


def test_two_servers_share_a_log_that_is_put_aside(tmp_path: Path) -> None:
    one = RotatingLog(str(tmp_path / "log"), max_bytes=1000, keep=5)
    two = RotatingLog(str(tmp_path / "log"), max_bytes=1000, keep=5)
    for _ in range(5):
        one.write(b"1" * 300 + b"\n")
        two.write(b"2" * 300 + b"\n")
    one.close()
    two.close()
    lines = [line for path in tmp_path.glob("log*") for line in path.read_text().splitlines()]
    assert sorted(line[0] for line in lines) == ["1"] * 5 + ["2"] * 5


def test_captures_are_counted_on_from_what_is_there(tmp_path: Path) -> None:
    first = CaptureFolder(str(tmp_path))
    assert [first.save("debug-1", "a"), first.save("debug-1", "b"), first.save("%2", "c")] == [
        "debug-1-capture-001.txt",
        "debug-1-capture-002.txt",
        "%2-capture-001.txt",
    ]
    again = CaptureFolder(str(tmp_path))
    assert again.save("debug-1", "d") == "debug-1-capture-003.txt"
    assert first.save("debug-1", "e") == "debug-1-capture-004.txt"
    assert (tmp_path / "debug-1-capture-001.txt").read_text() == "a"


def test_a_pane_cannot_name_a_file_outside(tmp_path: Path) -> None:
    name = CaptureFolder(str(tmp_path / "in")).save("../../x/y", "a")
    assert (tmp_path / "in" / name).read_text() == "a"
    assert {path.name for path in tmp_path.iterdir()} == {"in"}


def test_what_cannot_be_written_at_the_start_is_an_error(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.touch()
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    for path in ("none/log", "link", "fifo", "."):
        with pytest.raises(BadInput, match=r"The audit log .* cannot be written"):
            AuditLog(Keys(path=str(tmp_path / path)))
    with pytest.raises(BadInput, match=r"The folder of captures .* cannot be written"):
        AuditLog(Keys(full=str(tmp_path / "file")))


def test_a_log_that_fails_later_is_told_once_counted_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = AuditLog(Keys(path=str(tmp_path / "log")))
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(RotatingLog, "write", fail_with_full_disk)
        for _ in range(3):
            audit.write(CallRecord("list-panes"))
    assert audit.lost == 3
    assert len(caplog.records) == 1
    audit.write(CallRecord("list-panes"))
    audit.write(CallRecord("list-panes"))
    audit.close()
    first, second = read_lines(tmp_path / "log")
    assert first["lost"] == 3
    assert "lost" not in second


def test_a_cut_line_that_another_wrote_below_leaves_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RotatingLog(str(tmp_path / "log"), max_bytes=1000, keep=0)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", _cut_while_another_writes(tmp_path / "log"))
        with pytest.raises(OSError, match="No space left"):
            log.write(b"ours\n")
    log.write(b"next\n")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"outheirs\n\nnext\n"


def _cut_while_another_writes(path: Path) -> Callable[[int, bytes], int]:
    """Return a `write` that fails after two bytes, while another process can write."""
    write, calls = os.write, iter((True, False))

    def cut(file: int, data: bytes) -> int:
        if next(calls):
            return write(file, data[:2])
        with path.open("ab") as theirs:
            theirs.write(b"theirs\n")
        raise OSError(28, "No space left on device")

    return cut


def fail_with_full_disk(log: RotatingLog, line: bytes) -> None:
    raise OSError(28, "No space left on device")
