"""The messages of tmux and the exceptions that they become."""

from __future__ import annotations

import pytest

from muxpilot.errors import (
    ConnectionLost,
    MuxpilotError,
    NameTaken,
    NoServer,
    NotFound,
    PaneDead,
    Refused,
    UnsafeSocket,
)
from muxpilot.tmux.connection.failures import error_from_message, is_server_gone

MESSAGES: tuple[tuple[str, type[MuxpilotError], str], ...] = (
    ("can't find session: dev", NotFound, "Session 'dev' not found. Use list-sessions"),
    ("can't find window: @7", NotFound, "Window '@7' not found"),
    ("can't find window: %7", NotFound, "Pane '%7' not found. Use list-panes"),
    ("can't find pane: %7", NotFound, "Pane '%7' not found"),
    ("can't find client: /dev/pts/9", NotFound, "Client '/dev/pts/9' not found"),
    ("no buffer b 1", NotFound, "Buffer 'b 1' not found. Use list-buffers"),
    ("unknown buffer: b", NotFound, "Buffer 'b' not found"),
    ("no buffers", NotFound, "Buffer 'newest' not found"),
    ("duplicate session: dev", NameTaken, "'dev' already exists"),
    ("target pane has exited", PaneDead, "Use respawn-pane"),
    ("respawn pane failed: pane dev:0.0 still active", Refused, "still running. Set kill to end it first"),
    ("no space for new pane", Refused, "There is no space"),
    ("create pane failed: no space for new pane", Refused, "There is no space"),
    ("create pane failed: pane too small", Refused, "There is no space"),
    ("error connecting to /tmp/s (No such file or directory)", NoServer, "Create a session"),
    ("error connecting to /tmp/s (Connection refused)", NoServer, "Create a session"),
    ("no server running on /tmp/s", NoServer, "Create a session"),
    ("error connecting to /tmp/s (Permission denied)", UnsafeSocket, "belongs to another user"),
    ("error connecting to /tmp/s (Operation not permitted)", UnsafeSocket, "/tmp/s cannot be reached"),
    ("access not allowed", UnsafeSocket, "belongs to another user"),
    ("server version is too old for client", Refused, "Restart tmux"),
    ("protocol version mismatch (client 8, server 7)", Refused, "Restart tmux"),
    ("server exited", ConnectionLost, "has ended"),
    ("server exited unexpectedly", ConnectionLost, "has ended"),
    ("[lost server]", ConnectionLost, "has ended"),
    *((f"no current {noun}", NoServer, "has no session") for noun in ("target", "session", "client", "pane")),
    ("no sessions", NoServer, "has no session"),
)


@pytest.mark.parametrize(("words", "kind", "text"), MESSAGES)
def test_words_become_their_exception(words: str, kind: type[MuxpilotError], text: str) -> None:
    error = error_from_message(words)
    assert type(error) is kind
    assert text in str(error)
    assert "\n" not in str(error_from_message(words.replace(" ", "\n", 1)))


@pytest.mark.parametrize(
    "words",
    ["unknown command: foo", "size too small or too big", "create pane failed: fork failed: No memory", "?"],
)
def test_unknown_words_are_passed_on(words: str) -> None:
    error = error_from_message(f" {words}\n")
    assert type(error) is Refused
    assert str(error) == f"tmux refused: {words}."


def test_silence_is_said() -> None:
    assert str(error_from_message("")) == "tmux refused: no reason given."


@pytest.mark.parametrize("name", [words for words, _, _ in MESSAGES])
def test_a_name_that_speaks_like_tmux_is_a_name(name: str) -> None:
    assert type(error_from_message(f"duplicate session: {name}")) is NameTaken
    assert type(error_from_message(f"unknown value: {name}")) is Refused
    assert not is_server_gone(f"duplicate session: {name}")


def test_what_is_not_found_tells_its_noun_and_name() -> None:
    error = error_from_message("can't find session: a: b  c")
    assert isinstance(error, NotFound)
    assert (error.noun, error.wanted) == ("session", "a: b  c")


@pytest.mark.parametrize(("words", "kind"), [(words, kind) for words, kind, _ in MESSAGES])
def test_a_server_is_gone_only_where_none_answered(words: str, kind: type[MuxpilotError]) -> None:
    gone = kind is ConnectionLost or (kind is NoServer and "current" not in words and "no sess" not in words)
    assert is_server_gone(words) == gone


def test_a_failure_tells_a_long_argument_in_brief() -> None:
    words = str(NotFound("pane", "x" * 100_000))
    assert len(words) < 1_200
    assert words.startswith("Pane 'xxx")
    assert words.endswith("x' not found. Use list-panes to see the panes there are.")
