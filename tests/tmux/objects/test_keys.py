"""Names of keys: which words are keys, and which never are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.errors import BadInput
from muxpilot.tmux.objects import keys


@pytest.mark.parametrize(
    ("given_keys", "sent"),
    [
        ("Enter", ("Enter",)),
        ("enter ESCAPE pgup", ("Enter", "Escape", "PgUp")),
        ("Escape : w q Enter", ("Escape", ":", "w", "q", "Enter")),
        ("C-c", ("C-c",)),
        ("^C", ("C-c",)),
        ("^[", ("C-[",)),
        ("M-Left", ("M-Left",)),
        ("C-M-S-f12", ("C-M-S-F12",)),
        ("; - # ~ ^", (";", "-", "#", "~", "^")),
        ("é 世", ("é", "世")),
        ("  Up\tDown\n", ("Up", "Down")),
        ("KP0 kpenter", ("KP0", "KPEnter")),
        ("S-Tab S-BTab M-S-tab S-M-Tab", ("BTab", "BTab", "M-BTab", "M-BTab")),
        (
            "C-M-a C-M-Space C-M-[ M-Enter C-Enter S-é",
            ("C-M-a", "C-M-Space", "C-M-[", "M-Enter", "C-Enter", "S-é"),
        ),
    ],
)
def test_keys_are_spelled_as_tmux_spells_them(given_keys: str, sent: tuple[str, ...]) -> None:
    assert keys.parse_keys(given_keys) == sent


@pytest.mark.parametrize(
    "word",
    [
        *("-l", "-R", "ls", "Entr", "F13", "F0", "0x41", "C-", "C-cc", "X-a", "c-c", "C--x", "User0"),
        *("MouseDown1Pane", "Any", "None", "^", "^^^", "C-\u200b", "\x1b", "\x7f", "#{pane_id}", "KP"),
        *(f"C-{char}" for char in '"#$%&*{|}~'),
        *("^$", "C-M-%"),
    ],
)
def test_what_is_no_key_is_refused(word: str) -> None:
    if word == "^":
        assert keys.require_key(word) == "^"
        return
    with pytest.raises(BadInput, match=r"is not a key\. Use names such as Enter"):
        keys.require_key(word)


@pytest.mark.parametrize(
    "word",
    [
        *"S-Enter S-a M-S-a C-S-a S-; S-Space S-Escape S-KP0 C-BSpace".split(),
        *"C-M-1 C-M-Enter C-M-Tab C-M-KPEnter C-S-Tab".split(),
    ],
)
def test_a_key_that_tmux_would_type_by_its_name_is_refused(word: str) -> None:
    assert keys.find_key(word) is None
    with pytest.raises(BadInput, match=r"A terminal has no bytes for the key .* Leave out S- or C-, or send"):
        keys.require_key(word)


@pytest.mark.parametrize("nothing", ["", " ", "\n\t"])
def test_no_keys_are_refused(nothing: str) -> None:
    with pytest.raises(BadInput, match="No keys were given"):
        keys.parse_keys(nothing)


@given(st.text(min_size=1, max_size=6))
def test_an_accepted_key_is_one_key_and_stays_one(word: str) -> None:
    found = keys.find_key(word)
    if found is not None:
        assert keys.find_key(found) == found
        assert found.split() == [found] or found.endswith(" ")
