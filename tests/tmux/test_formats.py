"""Parsing records of tmux: no text can change another field or another record."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.errors import Refused
from muxpilot.tmux.formats import (
    FieldTable,
    _decode_counted_text,
    fields,
    flag,
    optional_int,
    parse,
    template,
)
from muxpilot.tmux.ids import PaneId

TABLE = fields(
    id=("pane_id", PaneId),
    title=("pane_title", str),
    width=("pane_width", int),
    path=("pane_current_path", str),
    status=("pane_dead_status", optional_int),
    is_dead=("pane_dead", flag),
)
ENDS_WITH_TEXT = fields(width=("pane_width", int), path=("pane_current_path", str))
texts = st.one_of(
    st.binary(max_size=30),
    st.text(st.sampled_from("0123456789: \n\t%a\\\x1b"), max_size=30).map(str.encode),
).map(lambda data: data.replace(b"\0", b""))
rows = st.fixed_dictionaries(
    {
        "pane_id": st.integers(0, 999).map(lambda number: b"%%%d" % number),
        "pane_title": texts,
        "pane_width": st.integers(0, 9999).map(lambda number: b"%d" % number),
        "pane_current_path": texts,
        "pane_dead_status": st.sampled_from([b"", b"0", b"255"]),
        "pane_dead": st.sampled_from([b"", b"0", b"1"]),
    }
)
CSTYLE = dict(zip(b"\a\b\f\r\v", "abfrv", strict=True))


def as_they_are(text: bytes) -> bytes:
    return text


def as_escapes(text: bytes) -> bytes:
    """Print a text as tmux 3.4 and 3.5 do: control characters and stray bytes escaped, the backslash not."""
    shown = "".join(_escape_char(char) for char in text.decode("utf-8", "surrogateescape"))
    return shown.encode("utf-8", "surrogateescape")


def _escape_char(char: str) -> str:
    code = ord(char)
    if code in CSTYLE:
        return f"\\{CSTYLE[code]}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\{code - 0xDC00:03o}"
    return f"\\{code:03o}" if (code < 32 and char not in "\t\n") or code == 127 else char


def print_records(table: FieldTable, records: list[dict[str, bytes]], show: Any = as_they_are) -> list[bytes]:
    """Return what tmux prints for a table: one record after the other, newlines in them as they are."""
    form = template(table).encode()

    def expand(row: dict[str, bytes]) -> bytes:
        def one(found: re.Match[bytes]) -> bytes:
            value = row[found[2].decode()]
            return b"%d" % len(value) if found[1] else show(value)

        return re.sub(rb"#\{(n:)?(\w+)\}", one, form)

    body = b"\n".join(expand(row) for row in records)
    return body.split(b"\n") if body else []


def expected_record(row: dict[str, bytes]) -> dict[str, object]:
    return {
        "id": row["pane_id"].decode(),
        "title": row["pane_title"].decode("utf-8", "surrogateescape"),
        "width": int(row["pane_width"]),
        "path": row["pane_current_path"].decode("utf-8", "surrogateescape"),
        "status": int(row["pane_dead_status"]) if row["pane_dead_status"] else None,
        "is_dead": row["pane_dead"] == b"1",
    }


@given(st.lists(rows, max_size=4))
def test_no_text_forges_or_shifts_a_field(records: list[dict[str, bytes]]) -> None:
    assert parse(TABLE, print_records(TABLE, records), dict) == [expected_record(row) for row in records]


@given(st.lists(rows, max_size=4))
def test_no_escaped_text_forges_or_shifts_a_field(records: list[dict[str, bytes]]) -> None:
    """A text that holds both a control character and what looks like an escape stays as it was printed."""
    got: list[dict[str, Any]] = parse(TABLE, print_records(TABLE, records, as_escapes), dict)
    for found, row in zip(got, records, strict=True):
        for key, column in (("title", "pane_title"), ("path", "pane_current_path")):
            text, shown = found.pop(key), as_escapes(row[column])
            assert text.encode("utf-8", "surrogateescape") in (row[column], shown)
            if b"\\" not in row[column]:
                assert text.encode("utf-8", "surrogateescape") == row[column]
        assert found == {
            key: value for key, value in expected_record(row).items() if key not in ("title", "path")
        }


@given(st.lists(st.tuples(st.integers(0, 99), texts), max_size=4))
def test_a_record_may_end_with_a_text(records: list[tuple[int, bytes]]) -> None:
    body = [{"pane_width": b"%d" % width, "pane_current_path": path} for width, path in records]
    got: list[dict[str, Any]] = parse(ENDS_WITH_TEXT, print_records(ENDS_WITH_TEXT, body), dict)
    assert [(row["width"], row["path"].encode("utf-8", "surrogateescape")) for row in got] == records


@pytest.mark.parametrize(
    ("printed", "size", "text"),
    [
        (r"\$HOME", 5, "$HOME"),
        (r"a\$", 2, "a$"),
        (r"\\$x", 3, r"\$x"),
        (r"\$x", 3, r"\$x"),
        (r"\$x\033", 3, "$x\x1b"),
        (r"C:\a\$", 5, r"C:\a$"),
        (r"a\b", 2, "a\b"),
    ],
)
def test_a_dollar_that_tmux_3_4_has_escaped_is_read_as_one(printed: str, size: int, text: str) -> None:
    assert _decode_counted_text(f"{size}:{printed}") == text


def test_a_path_that_changed_after_it_was_counted_shifts_nothing() -> None:
    row = {"pane_width": b"80", "pane_current_path": b"/new"}
    lines = [line.replace(b"4:/new", b"0:/new") for line in print_records(ENDS_WITH_TEXT, [row, row])]
    got: list[dict[str, Any]] = parse(ENDS_WITH_TEXT, lines, dict)
    assert [found["path"] for found in got] == ["/new", "/new"]


def test_each_question_has_a_mark_of_its_own() -> None:
    assert template(TABLE)[:16] != template(TABLE)[:16]


def test_no_lines_are_no_records() -> None:
    assert parse(TABLE, [], dict) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0 .{16}$", ""),  # cut short
        ("0 (?=.{16}$)", ""),
        ("^.", ""),
        ("5:title", "title"),
        ("%1 ", "%1"),
        ("$", "x"),
        ("^", "x"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(old: str, new: str) -> None:
    row = {"pane_id": b"%1", "pane_title": b"title", "pane_width": b"9", "pane_current_path": b"/tmp"}
    [line] = print_records(TABLE, [row | {"pane_dead_status": b"", "pane_dead": b"0"}])
    with pytest.raises(Refused, match="could not be read"):
        parse(TABLE, [re.sub(old.encode(), new.encode(), line)], dict)
