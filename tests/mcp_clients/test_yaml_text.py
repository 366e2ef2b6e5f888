"""One entry of a YAML text changes; PyYAML reads the rest as before."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from muxpilot.mcp_clients.yaml_text import find_yaml, read_value, remove_yaml, set_yaml

PATH = ("extensions", "muxpilot")
VALUE: dict[str, Any] = {"enabled": True, "cmd": "a #b: 'c' \"d\" ö", "args": ["-m", "- x", "{"], "envs": {}}
# Files as goose writes them, and as people do.
TEXTS = {
    "empty": "",
    "no section": "GOOSE_MODEL: x # mine\n",
    "no line feed at the end": "GOOSE_MODEL: x",
    "empty section": "extensions: {} # none\nGOOSE_MODEL: x\n",
    "null section": "extensions:\nGOOSE_MODEL: x\n",
    "goose's own": "extensions:\n  a:\n    enabled: true\n    args:\n    - -y\n    - x\n    type: x\nA: b\n",
    "last section": "A: b\nextensions:\n    developer:\n        enabled: true\n",
    "comments": "extensions:\n  # one\n  developer:\n    enabled: true\n\n# two\nA: b\n",
    "marker": "---\nextensions:\n  developer:\n    enabled: true\n",
    "block text": "A: |\n  extensions:\n    x: y\nextensions:\n  developer:\n    enabled: true\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_an_entry_is_added_and_removed_and_the_rest_stays(name: str) -> None:
    before = TEXTS[name]
    content = yaml.safe_load(before) or {}
    after = set_yaml(before, PATH, VALUE)
    others = content.get("extensions") or {}
    assert yaml.safe_load(after) == content | {"extensions": others | {"muxpilot": VALUE}}
    assert find_yaml(after, PATH) == VALUE
    assert set_yaml(after, PATH, VALUE) == after
    removed = yaml.safe_load(remove_yaml(after, PATH))
    assert removed == content | {"extensions": others}
    if others:
        assert remove_yaml(after, PATH) == before


def test_only_the_given_keys_of_an_entry_change() -> None:
    own = "timeout: 20 # slow\n    args:\n    - old\n    - older\n    cmd: x\n"
    text = f"extensions:\n  muxpilot:\n    {own}  other: {{}}\n"
    changed = set_yaml(text, PATH, {"cmd": "muxpilot", "args": []})
    assert changed == text.replace("args:\n    - old\n    - older", "args: []").replace(
        "cmd: x", 'cmd: "muxpilot"'
    )
    assert find_yaml(text, PATH) == {"timeout": 20, "args": ["old", "older"], "cmd": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "muxpilot",
        "muxpilot # mine",
        "a b#c:d",
        "/home/me/.local/bin/muxpilot",
        "true",
        "null",
        "300 # seconds",
        "''",
        "'- x #y' # mine",
        "'it''s'",
        '"a #b\\n" # mine',
        "[]",
        "{} # none",
        '["--scope", "all"]',
        "- --scope\n    - all\n    - '#x'\n    - \"ö\"\n    - 'true'",
    ],
)
def test_a_value_is_read_as_by_other_readers(text: str) -> None:
    assert (
        read_value(text)
        == yaml.safe_load(f"key:\n    {text}" if text.startswith("-") else f"key: {text}")["key"]
    )


@pytest.mark.parametrize("text", ["|\n  muxpilot", "[muxpilot]", "'a' b", "muxpilot\n  --scope", '"\\x41"'])
def test_a_value_of_another_form_is_a_text(text: str) -> None:
    assert read_value(text) == text


@pytest.mark.parametrize(
    "text", ["extensions: [a]\n", "extensions:\n- a\n", "extensions: &x\n  a: b\n", "a: b\n...\n", "\ta: b\n"]
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        set_yaml(text, PATH, VALUE)


def test_an_entry_on_one_line_is_refused() -> None:
    with pytest.raises(ValueError, match="lines of its own"):
        set_yaml("extensions:\n  muxpilot: {cmd: x}\n", PATH, VALUE)
