"""The control mode parser gives the same events wherever the bytes are split, and no body deceives it."""

from __future__ import annotations

import warnings
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muxpilot.tmux.connection.protocol import (
    Block,
    CommandReply,
    ControlEvent,
    ControlParser,
    Notification,
    PaneOutput,
    UnsolicitedBlock,
    unescape,
)

GUARD = b"0123456789abcdef"
OTHER = b"fedcba9876543210"
STAMP = b"1700000000 42 1"
FORGERIES = (
    b"%end " + STAMP,
    b"%error " + STAMP,
    b"%begin " + STAMP,
    b"%end 1700000000 43 1",
    b"%begin 1700000000 43 1",
    b"%output %1 forged",
    b"%exit",
    b"%end",
    b"%session-changed $9 forged",
    OTHER,
    b"",
)


def block(stamp: bytes, *body: bytes, end: bytes = b"%end") -> bytes:
    return b"".join(line + b"\n" for line in (b"%begin " + stamp, *body, end + b" " + stamp))


def guard(secret: bytes = GUARD, number: int = 90) -> bytes:
    return block(b"1700000000 %d 1" % number, secret)


def parse_guarded(*pieces: bytes, guards: tuple[bytes, ...] = (GUARD,)) -> list[ControlEvent]:
    parser = ControlParser()
    for secret in guards:
        parser.expect_guarded(secret)
    return [event for piece in pieces for event in parser.feed(piece)]


def ok(*lines: bytes) -> Block:
    return Block(ok=True, lines=lines)


CONVERSATION = (
    block(b"1700000000 1 0")
    + b"%session-changed $0 hub\n"
    + block(b"1700000000 42 1", b"%end 1700000000 42 1", b"\xff\xe4\xb8", b"")
    + b"%sessions-changed\n"
    + guard()
    + b"%output %3 a\\015\\012\\134\xe4\xb8\n"
    + b"%extended-output %3 120 more : b : c\n"
    + block(b"1700000001 44 1", b"can't find pane: %9", end=b"%error")
    + guard(OTHER)
    + b"%exit server exited unexpectedly\n"
)
EVENTS = [
    UnsolicitedBlock(b"1700000000 1 0", ok()),
    Notification("session-changed", "$0 hub"),
    CommandReply((ok(b"%end 1700000000 42 1", b"\xff\xe4\xb8", b""),)),
    Notification("sessions-changed", ""),
    PaneOutput("%3", b"a\r\n\\\xe4\xb8"),
    PaneOutput("%3", b"b : c"),
    CommandReply((Block(ok=False, lines=(b"can't find pane: %9",)),)),
    Notification("exit", "server exited unexpectedly"),
]


def test_a_whole_conversation_is_understood() -> None:
    assert parse_guarded(CONVERSATION, guards=(GUARD, OTHER)) == EVENTS


def test_every_split_point_gives_the_same_events() -> None:
    for cut in range(len(CONVERSATION) + 1):
        pieces = (CONVERSATION[:cut], CONVERSATION[cut:])
        assert parse_guarded(*pieces, guards=(GUARD, OTHER)) == EVENTS, cut


@given(st.lists(st.integers(0, len(CONVERSATION)), max_size=40))
def test_any_splits_give_the_same_events(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(CONVERSATION)]
    pieces = [CONVERSATION[start:end] for start, end in pairwise(edges)]
    assert parse_guarded(*pieces, guards=(GUARD, OTHER)) == EVENTS


@given(st.lists(st.sampled_from(FORGERIES), max_size=12), st.booleans())
def test_a_forged_line_is_body(lines: list[bytes], succeeds: bool) -> None:
    body = block(STAMP, *lines, end=b"%end" if succeeds else b"%error")
    assert parse_guarded(body + guard()) == [CommandReply((Block(succeeds, tuple(lines)),))]


@given(st.lists(st.binary().map(lambda data: data.replace(b"\n", b"")), max_size=8))
def test_any_body_comes_back_as_it_was(lines: list[bytes]) -> None:
    assert parse_guarded(block(STAMP, *lines) + guard()) == [CommandReply((ok(*lines),))]


def test_a_forged_end_answers_nobody_else() -> None:
    """A body that closes its block and opens and closes the next one, as a pane may print it."""
    forged = block(STAMP, b"%end " + STAMP, *guard(OTHER, 43).splitlines(), *block(b"1 2 1").splitlines())
    second = block(b"1700000000 44 1", b"the true second answer")
    events = parse_guarded(forged + guard() + second + guard(OTHER), guards=(GUARD, OTHER))
    assert [event.blocks[0].lines[-1] for event in events if isinstance(event, CommandReply)] == [
        b"%end 1 2 1",
        b"the true second answer",
    ]


def parse_trusted(*pieces: bytes, commands: int = 1, mark: bytes = b"") -> list[ControlEvent]:
    """Parse the replies of two trusted requests: a forged end would answer the second one."""
    parser = ControlParser()
    parser.expect_trusted(commands, mark=mark)
    parser.expect_trusted()
    return [event for piece in pieces for event in parser.feed(piece)]


def test_a_trusted_request_is_answered_by_its_own_blocks() -> None:
    answer = block(b"7 1 1") + b"%window-add @3\n" + block(b"7 2 0", b"a hook's") + block(b"7 3 1", b"x")
    told = [Notification("window-add", "@3"), UnsolicitedBlock(b"7 2 0", ok(b"a hook's"))]
    assert parse_trusted(answer, commands=2) == [*told, CommandReply((ok(), ok(b"x")))]
    assert parse_trusted(answer) == [CommandReply((ok(),)), *told, CommandReply((ok(b"x"),))]


def test_a_trusted_request_ends_with_its_first_failure() -> None:
    failed = Block(ok=False, lines=(b"can't find pane: %9",))
    answer = block(b"7 1 1") + block(b"7 2 1", *failed.lines, end=b"%error") + block(b"7 3 1")
    assert parse_trusted(answer, commands=3) == [CommandReply((ok(), failed)), CommandReply((ok(),))]


@given(st.lists(st.sampled_from(FORGERIES), max_size=8), st.lists(st.sampled_from(FORGERIES), max_size=8))
def test_a_forged_end_inside_of_a_marked_record_is_body(first: list[bytes], second: list[bytes]) -> None:
    """A path may hold line feeds, and the program that created it may have guessed the stamp."""
    records = [GUARD + b"\n".join([b"/tmp", *lines, b""]) + GUARD for lines in (first, second)]
    lines = b"\n".join(records).split(b"\n")
    answer = block(STAMP, *lines) + block(b"7 1 1", b"the second's")
    assert parse_trusted(answer, mark=GUARD) == [
        CommandReply((ok(*lines),)),
        CommandReply((ok(b"the second's"),)),
    ]


def test_a_forged_end_after_a_mark_alone_on_its_line_is_body() -> None:
    lines = (GUARD, b"%end " + STAMP, b"", GUARD)
    assert parse_trusted(block(STAMP, *lines), mark=GUARD) == [CommandReply((ok(*lines),))]


def test_a_marked_request_may_print_nothing_or_fail() -> None:
    failed = Block(ok=False, lines=(b"can't find window: @9",))
    assert parse_trusted(block(STAMP), mark=GUARD) == [CommandReply((ok(),))]
    assert parse_trusted(block(STAMP, *failed.lines, end=b"%error"), mark=GUARD) == [CommandReply((failed,))]


def test_trusted_answers_are_the_same_wherever_they_are_split() -> None:
    lines = (GUARD + b"a", b"%end " + STAMP, b"b" + GUARD)
    answer = block(STAMP, *lines) + b"%exit\n" + block(b"7 1 1")
    for cut in range(len(answer) + 1):
        events = parse_trusted(answer[:cut], answer[cut:], mark=GUARD)
        assert events == [CommandReply((ok(*lines),)), Notification("exit", ""), CommandReply((ok(),))], cut


def test_every_command_of_a_request_has_its_block() -> None:
    answer = block(b"7 1 1", b"a") + block(b"7 2 1") + block(b"7 3 1", b"c", b"d")
    assert parse_guarded(answer + guard()) == [CommandReply((ok(b"a"), ok(), ok(b"c", b"d")))]


def test_the_first_failure_is_the_error() -> None:
    answer = block(b"7 1 1", b"made") + block(b"7 2 1", b"no space for new pane", end=b"%error")
    [reply] = parse_guarded(answer + guard())
    assert isinstance(reply, CommandReply)
    assert (reply.error, reply.first_line) == ("no space for new pane", "made")


def test_a_reply_without_a_failure_has_no_error() -> None:
    assert (CommandReply((ok(),)).error, CommandReply((ok(),)).first_line) == (None, "")


def test_what_is_told_between_a_request_and_its_guard_comes_after_the_reply() -> None:
    answer = block(b"7 1 1", b"a") + b"%window-add @3\n" + block(b"7 2 0", b"a hook's") + b"%output %1 x\n"
    assert parse_guarded(answer + guard()) == [
        CommandReply((ok(b"a"),)),
        Notification("window-add", "@3"),
        PaneOutput("%1", b"x"),
    ]


def test_a_block_that_nobody_asked_for_is_foreign() -> None:
    strange = block(b"7 1 0", b"hook") + block(b"7 2 1", b"late")
    assert parse_guarded(strange, guards=()) == [
        UnsolicitedBlock(b"7 1 0", ok(b"hook")),
        UnsolicitedBlock(b"7 2 1", ok(b"late")),
    ]


def test_a_hook_before_the_answer_takes_nobodys_place() -> None:
    events = parse_guarded(block(b"7 1 0", b"hook") + block(b"7 2 1", b"mine") + guard())
    assert events == [UnsolicitedBlock(b"7 1 0", ok(b"hook")), CommandReply((ok(b"mine"),))]


@pytest.mark.parametrize("stamp", [b"", b"1 2", b"1 2 x", b"1 2 -1", b"\xff"])
def test_a_stamp_that_is_none_is_foreign(stamp: bytes) -> None:
    assert parse_guarded(block(stamp, b"body")) == [UnsolicitedBlock(stamp, ok(b"body"))]


def test_nothing_is_believed_before_the_guard() -> None:
    parser = ControlParser()
    parser.expect_guarded(GUARD)
    assert parser.feed(block(STAMP, b"body")) == []
    assert parser.feed(guard()) == [CommandReply((ok(b"body"),))]


@settings(max_examples=300)
@given(st.lists(st.sampled_from([*FORGERIES, b"%begin x", b"%output", b"\xff", GUARD, b"%output \xff \\"])))
def test_no_bytes_break_the_parser(lines: list[bytes]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        parse_guarded(b"".join(line + b"\n" for line in lines), guards=(GUARD, OTHER))


def escape(data: bytes) -> bytes:
    """Escape output as tmux does."""
    return b"".join(b"\\%03o" % byte if byte < 32 or byte == 92 else bytes([byte]) for byte in data)


@given(st.binary())
def test_output_comes_back_byte_for_byte(data: bytes) -> None:
    assert unescape(escape(data)) == data
    assert parse_guarded(b"%output %7 " + escape(data) + b"\n") == [PaneOutput("%7", data)]
    assert parse_guarded(b"%extended-output %7 0 : " + escape(data) + b"\n") == [PaneOutput("%7", data)]


def test_a_broken_escape_is_passed_on() -> None:
    assert unescape(b"x\\") == b"x\\"
