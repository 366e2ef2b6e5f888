"""One value of a JSON text changes; its comments, commas and spaces stay."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.mcp_clients.json_text import read_json, remove_json, set_json

TABS = '{\n\t// mine\n\t"a": 1, /* x */\n\t"s": {\n\t\t"o": [1, 2,], // tail\n\t},\n}\n'
# The text before, the path, and the text with the value 1 there.
ADDED = {
    "empty": ("", ("s", "m"), '{\n  "s": {\n    "m": 1\n  }\n}\n'),
    "only a comment": ("// mine", ("m",), '// mine\n{\n  "m": 1\n}\n'),
    "empty object": ("{}", ("m",), '{\n  "m": 1\n}'),
    "comment in an empty object": ("{ // mine\n}", ("m",), '{ // mine\n  "m": 1\n}'),
    "one line": ('{"a": {"b": 2}}', ("a", "m"), '{"a": {"b": 2, "m": 1}}'),
    "one line with a trailing comma": ('{"b": 2,}', ("m",), '{"b": 2, "m": 1}'),
    "comment behind the last": ('{\n  "b": 2 // c\n}', ("m",), '{\n  "b": 2, // c\n  "m": 1\n}'),
    "comment below the last": ('{\n  "b": 2\n  // c\n}', ("m",), '{\n  "b": 2,\n  // c\n  "m": 1\n}'),
    "brace in a comment": ('{\n  "b": 2 // }\n}', ("m",), '{\n  "b": 2, // }\n  "m": 1\n}'),
    "windows": ('{\r\n    "b": 2\r\n}\r\n', ("m",), '{\r\n    "b": 2,\r\n    "m": 1\r\n}\r\n'),
    "windows, comment": ('{\r\n  "b": 2 // c\r\n}', ("m",), '{\r\n  "b": 2, // c\r\n  "m": 1\r\n}'),
    "byte order mark": ('\ufeff{"b": 2}', ("m",), '\ufeff{"b": 2, "m": 1}'),
    "tabs and trailing commas": (TABS, ("s", "m"), TABS.replace("// tail", '// tail\n\t\t"m": 1,')),
}


@pytest.mark.parametrize("name", ADDED)
def test_a_member_is_added_in_the_style_of_the_text(name: str) -> None:
    before, path, wanted = ADDED[name]
    assert set_json(before, path, 1) == wanted
    assert set_json(wanted, path, 1) == wanted


@pytest.mark.parametrize("name", set(ADDED) - {"empty", "only a comment", "comment in an empty object"})
def test_removing_it_gives_the_text_as_it_was(name: str) -> None:
    before, path, after = ADDED[name]
    same = {"one line with a trailing comma": '{"b": 2}', "empty object": "{\n}"}
    assert remove_json(after, path) == same.get(name, before)


def test_what_is_not_there_is_not_removed() -> None:
    for path in (("x",), ("a", "x"), ("s", "x", "y")):
        assert remove_json(TABS, path) == TABS


def test_a_member_between_others_is_removed_with_its_line() -> None:
    text = '{\n  "a": 1,\n  "m": {\n    "x": 2\n  },\n  // of b\n  "b": 3\n}'
    assert remove_json(text, ("m",)) == '{\n  "a": 1,\n  // of b\n  "b": 3\n}'
    assert remove_json('{"m": 1, "b": 2}', ("m",)) == '{"b": 2}'


def test_of_two_equal_keys_the_last_counts() -> None:
    assert set_json('{"m": 1, "m": 2}', ("m",), 3) == '{"m": 1, "m": 3}'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "}",
        "[1",
        '{"a"}',
        '{"a": }',
        '{"a": 1 "b": 2}',
        "{a: 1}",
        "{,}",
        "[,]",
        '"x',
        "1 2",
        "nul",
        "/*",
        "[" * 500,
    ],
)
def test_what_is_no_json_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_json(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@given(OBJECTS, st.text(max_size=4), VALUES, st.sampled_from([None, 1, 2, "\t"]))
def test_any_object_reads_as_python_reads_it_before_and_after(
    content: dict[str, Any], key: str, value: Any, indent: int | str | None
) -> None:
    text = json.dumps(content, indent=indent)
    assert read_json(text) == content
    changed = set_json(text, (key,), value)
    assert json.loads(changed) == content | {key: value}
    assert json.loads(remove_json(changed, (key,))) == {k: v for k, v in content.items() if k != key}
