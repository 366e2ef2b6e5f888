"""What must hold for any bytes: the properties that `bench/coverage_fuzz.py` and a test check.

Each target takes bytes and raises AssertionError where a property does not hold. The first byte of the data
says where the rest is split; the other bytes are what a program has printed, or what tmux has answered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from muxpilot.shells.command_output import OutputRenderer
from muxpilot.shells.osc133 import MarkScanner, MarkStripper, ShellMark
from muxpilot.terminal.lines import LineSplitter
from muxpilot.terminal.safe_output import SafeOutputFilter
from muxpilot.terminal.sanitize import is_clean_json, sanitize_text
from muxpilot.terminal.screen import Screen
from muxpilot.terminal.shape import ScreenShape
from muxpilot.terminal.tokens import Token, Tokenizer, TokenKind
from muxpilot.tmux.connection.protocol import Block, CommandReply, ControlParser, PaneOutput, unescape
from muxpilot.tmux.streams.exit_mark import ExitMarkFilter
from muxpilot.trace import area

SEEDS = Path(__file__).parent / "fuzz_seeds"
SHAPE = ScreenShape(12, 4)
NONCE = "0123456789abcdef"
GUARD = b"guard-0123456789abcdef"
MARK = b"mark-0123456789abcdef"
# Most of an input is sequences: mutations find those byte by byte, and this list at once.
WORDS = (
    *("\x1b[", "\x1b]0;", "\x07", "\x1b\\", "\x1bP", "\x1b(0", "\x1b(B", "\x0e", "\x0f", "\x1b7", "\x1b8"),
    *(
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[2J",
        "\x1b[H",
        "\x1b[K",
        "\x1b[3A",
        "\x1b[5b",
        "\x1b[2;3r",
        "\x1b[31m",
    ),
    *(
        "\x1b[?6h",
        "\x1b[4h",
        "\x1bc",
        "\x1bM",
        "\x1bD",
        "\r\n",
        "\r",
        "\b",
        "\t",
        "\x18",
        "\x1a",
        "\x9b",
        "\x1b]",
    ),
    *("世", "e\u0301", "\u200d", "\ufe0f", "\U0001f600", "\u202e", "\U000e0041", "\x1b]8;;x\x1b\\", "\x1bk"),
    *("\x1b]133;B;1;2.3;0123456789abcdef\x07", "\x1b]133;", ";0123456789abcdef\x07"),
    *("\x1b]7717;0123456789abcdef;0;\x07", "%begin 1700000000 1 1", "%end 1700000000 1 1", "%error 1 1 1"),
    *("\n%end 1700000000 3 1\n", "\nguard-0123456789abcdef\n", "mark-0123456789abcdef", "%output %1 \\033"),
)
BEGIN, END = b"%%begin 1700000000 %d 1", b"%%end 1700000000 %d 1"


def pieces(data: bytes) -> Iterator[Sequence[bytes]]:
    """Yield the data after the first byte: in two and three parts, then byte by byte."""
    at, rest = data[0] % max(len(data), 1), data[1:]
    yield rest[:at], rest[at:]
    yield rest[: at // 2], rest[at // 2 : at], rest[at:]
    yield [rest[n : n + 1] for n in range(len(rest))]


def same_when_split(data: bytes, run: Callable[[Sequence[bytes]], object]) -> None:
    whole = run([data[1:]])
    for parts in pieces(data):
        found = run(parts)
        assert found == whole, f"in {len(parts)} parts: {found!r:.300}, as a whole: {whole!r:.300}"


# The tokenizer


def tokens_of(texts: Sequence[str], *, has_lines: bool) -> tuple[list[Token], bool]:
    """Return the tokens, with texts joined and whole lines split, and whether the last one is torn."""
    tokenizer, found = Tokenizer(has_lines=has_lines), []
    for text in texts:
        for token in tokenizer.feed(text):
            found += split_lines(token.name) if token.kind is TokenKind.LINES else [token]
    joined: list[Token] = []
    for token in found:
        if token.kind is TokenKind.TEXT and joined and joined[-1].kind is TokenKind.TEXT:
            joined[-1] = Token(TokenKind.TEXT, joined[-1].name + token.name)
        else:
            joined.append(token)
    return joined, tokenizer.is_between_tokens


def split_lines(text: str) -> list[Token]:
    return list(Tokenizer().feed(text))


def check_tokens(data: bytes) -> None:
    """Check that tokens are the same wherever text is split, with whole lines or without."""
    text = data[1:].decode("utf-8", "replace")
    whole = tokens_of([text], has_lines=False)
    at = data[0] % (len(text) + 1)
    for parts in ((text,), (text[:at], text[at:]), tuple(text)):
        for has_lines in (False, True):
            found = tokens_of(parts, has_lines=has_lines)
            assert found == whole, f"{len(parts)} parts, {has_lines=}: {found!r:.300}, whole: {whole!r:.300}"
    for kind, name, parameters in whole[0]:
        assert name, "a token without a name"
        assert kind is TokenKind.CONTROL or not re.search("[\x00-\x1f]", name + parameters), (kind, name)


def drawn(parts: Sequence[bytes]) -> tuple[object, ...]:
    """Return all that a screen shows."""
    screen = Screen(SHAPE, has_styles=True)
    for part in parts:
        screen.write(part.decode("latin-1"))
    assert 0 <= screen.x <= SHAPE.columns, screen.x
    assert 0 <= screen.y < SHAPE.rows, screen.y
    assert len(screen.rows) <= SHAPE.rows
    rows = [(row.text, list(row.styles)) for row in (*screen.history, *screen.rows)]
    return rows, screen.x, screen.y, screen.is_alternate, screen.pen


def check_screen(data: bytes) -> None:
    """Check that the screen is the same wherever the text is split, and that the cursor stays on it."""
    same_when_split(data, drawn)


# The text of commands, and lines for watches


def rendered(parts: Sequence[bytes]) -> str:
    renderer, texts = OutputRenderer(SHAPE), []
    for part in parts:
        renderer.feed(part)
        texts.append(renderer.take_settled())
    return "".join([*texts, renderer.finish()])


def check_output(data: bytes) -> None:
    """Check that the text is the same wherever its bytes are split, and holds no control sequence."""
    same_when_split(data, rendered)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", rendered([data[1:]]))


def printed(parts: Sequence[bytes]) -> tuple[list[bytes], int]:
    """Return the lines that are not blank: how many blank ones there are depends on the parts."""
    splitter, lines, bells = LineSplitter(), [], 0
    for part in parts:
        batch = splitter.feed(part)
        bells += batch.bells
        lines += batch.block.split(b"\n") if batch.lines else []
    lines += splitter.open_line.split(b"\n")
    return [line for line in lines if line.strip()], bells


def check_lines(data: bytes) -> None:
    """Check that lines are the same wherever bytes are split, and hold no control sequence."""
    same_when_split(data, printed)
    for line in printed([data[1:]])[0]:
        assert not re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", line), line


# The control-mode parser


def answered(parts: Sequence[bytes]) -> list[object]:
    parser = ControlParser()
    parser.expect_guarded(GUARD)
    parser.expect_trusted(2)
    parser.expect_trusted(mark=MARK)
    return [event for part in parts for event in parser.feed(part)]


def check_parser(data: bytes) -> None:
    """Check that events are the same wherever bytes are split, and that no text passes for an answer."""
    same_when_split(data, answered)
    printed_text = data[1:].replace(GUARD, b"guard").replace(MARK, b"mark")  # secrets of ours
    body = tuple(printed_text.split(b"\n"))
    stream, expected = _requests(body)
    for parts in ((stream,), *pieces(data[:1] + stream)):
        parser = ControlParser()
        parser.expect_guarded(GUARD)
        parser.expect_trusted(mark=MARK)
        parser.expect_guarded(GUARD)
        parser.expect_trusted()
        events = [event for part in parts for event in parser.feed(part)]
        assert events == expected, f"{events!r:.600}, expected: {expected!r:.600}"
    assert unescape(escape(data)) == data


def _requests(body: tuple[bytes, ...]) -> tuple[bytes, list[object]]:
    """Return four answers of tmux that hold a text, and the events that they must give.

    tmux escapes nothing in the body of an answer, so the text may look like the end of its block.
    """
    marked = (MARK + body[0], *body[1:-1], body[-1] + MARK) if len(body) > 1 else (MARK + body[0] + MARK,)
    text = b"\n".join(body)
    blocks = [
        (1, body, GUARD),
        (3, marked, None),
        (4, body, GUARD),
        (6, (b"own text",), None),
    ]
    lines: list[bytes] = []
    expected: list[object] = []
    for number, printed_lines, guard in blocks:
        lines += [BEGIN % number, *printed_lines, END % number]
        if guard is not None:
            lines += [BEGIN % (number + 1), guard, END % (number + 1)]
        expected.append(CommandReply((Block(ok=True, lines=printed_lines),)))
        lines.append(b"%output %1 " + escape(text))
        expected.append(PaneOutput("%1", text))
    return b"\n".join(lines) + b"\n", expected


def escape(data: bytes) -> bytes:
    """Escape bytes as tmux does in %output."""
    return b"".join(b"\\%03o" % byte if byte < 0x20 or byte == 0x5C else bytes([byte]) for byte in data)


# Marks


def scanned(parts: Sequence[bytes]) -> list[bytes | ShellMark]:
    """Return text and marks, with neighbouring text joined."""
    scanner, found, offset = MarkScanner(), [], 0
    scanner.nonces.add(NONCE)
    for part in parts:
        found += scanner.feed(part, offset)
        offset += len(part)
    found.append(scanner.flush())
    joined: list[bytes | ShellMark] = []
    for item in found:
        if isinstance(item, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += item
        elif item != b"":
            joined.append(item)
    return joined


def stripped(parts: Sequence[bytes]) -> bytes:
    stripper = MarkStripper()
    return b"".join([stripper.strip(part) for part in parts]) + stripper.flush()


def filtered(parts: Sequence[bytes]) -> tuple[bytes, object]:
    marks = ExitMarkFilter(NONCE, area("fuzz"))
    return b"".join([marks.filter(part) for part in parts]) + marks.flush(), marks.exit_status


def check_marks(data: bytes) -> None:
    """Check that marks and text are the same wherever bytes are split, and that no text is lost."""
    for run in (scanned, stripped, filtered):
        same_when_split(data, run)
    text = b"".join(item for item in scanned([data[1:]]) if isinstance(item, bytes))
    marks = [item for item in scanned([data[1:]]) if isinstance(item, ShellMark)]
    assert len(data) - 1 - len(text) >= 10 * len(marks)
    assert marks or text == data[1:]
    assert all(0 < mark.end <= len(data) for mark in marks)


# The sanitizer


def check_sanitizer(data: bytes) -> None:
    """Check that nothing hidden is left, and that a second pass changes nothing."""
    text = data[1:].decode("utf-8", "replace")
    clean = sanitize_text(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\U000e0000-\U000e0fff]", clean), (
        clean
    )
    assert sanitize_text(clean) == clean
    coloured = sanitize_text(text, colors=True)
    without = re.sub(r"\x1b\[[0-9;:]*m", "", coloured)
    assert "\x1b" not in without, coloured
    assert sanitize_text(coloured, colors=True) == coloured
    assert sanitize_text(without) == without, coloured
    if is_clean_json(json.dumps(text, ensure_ascii=False)):
        assert clean == text, f"{text!r}: clean as JSON"
    check_safe_output(data)


def safe(parts: Sequence[bytes]) -> str:
    output = SafeOutputFilter()
    return "".join([output.feed(part) for part in parts])


def check_safe_output(data: bytes) -> None:
    """Check that output is the same wherever it is split, and passes the filter again unchanged."""
    same_when_split(data, safe)
    shown = safe([data[1:]])
    assert safe([shown.encode("utf-8", "replace")]) == shown
    for token in Tokenizer().feed(shown):
        is_string = token.kind is TokenKind.ESCAPE and token.name[0] in "]PX^_k"
        assert not is_string, token


TARGETS: dict[str, Callable[[bytes], Any]] = {
    "tokens": check_tokens,
    "screen": check_screen,
    "output": check_output,
    "lines": check_lines,
    "parser": check_parser,
    "marks": check_marks,
    "sanitizer": check_sanitizer,
}
# For each target, what takes time: it must grow like the length of the data.
TIMED: dict[str, Sequence[Callable[[Sequence[bytes]], object]]] = {
    "tokens": (lambda parts: tokens_of([part.decode("latin-1") for part in parts], has_lines=False),),
    "screen": (drawn,),
    "output": (rendered,),
    "lines": (printed,),
    "parser": (answered,),
    "marks": (scanned, stripped, filtered),
    "sanitizer": (lambda parts: sanitize_text(b"".join(parts).decode("utf-8", "replace")), safe),
}


def check(name: str, data: bytes) -> None:
    """Check one target with any data."""
    if data:
        TARGETS[name](data)


def read_seeds(name: str) -> list[Path]:
    """Return the files of the committed corpus of a target."""
    return sorted((SEEDS / name).iterdir())
