"""The stack of shells is a function of the bytes: another process that reads on comes to the same result."""

from __future__ import annotations

import json

import pytest

from muxpilot.shells.osc133 import MarkScanner, ShellMark
from muxpilot.shells.shell_phases import Phase
from muxpilot.shells.shell_stack import ShellStack

OUTER, INNER = "a" * 32, "b" * 32


def mark(kind: str, value: str = "", *, serial: int, nonce: str = OUTER) -> bytes:
    pid = 100 if nonce == OUTER else 200
    return f"\x1b]133;{kind};{value};{serial}.{pid};{nonce}\x07".encode()


# bash runs a command, then opens dash, which runs one, too, and ends with 5.
CHUNKS = [
    mark("I", "bash", serial=0) + mark("D", "0", serial=1) + b"$ " + mark("B", serial=1),
    b"false\r\n" + mark("C", serial=1),
    mark("D", "1", serial=2) + mark("D", "1", serial=2),
    b"$ " + mark("B", serial=2),
    b"dash\r\n" + mark("C", serial=2),
    mark("I", "sh", serial=0, nonce=INNER),
    mark("D", "0", serial=1, nonce=INNER) + b"# " + mark("B", serial=1, nonce=INNER),
    b"exit 5\r\n",
    mark("D", "5", serial=3) + b"$ ",
    mark("B", serial=3),
]


class Reader:
    """A stack with its scanner, which may go on where another was."""

    def __init__(self, saved: str | None = None) -> None:
        self.scanner = MarkScanner()
        self.stack = ShellStack(self.scanner)
        self.scanner.nonces |= {OUTER, INNER}
        if saved is not None:
            self.stack.restore(json.loads(saved))

    def read(self, data: bytes) -> None:
        for item in self.scanner.feed(data):
            if isinstance(item, ShellMark):
                self.stack.feed_mark(item)
            else:
                self.stack.feed_text(item)

    def save(self) -> str:
        return json.dumps(self.stack.snapshot())


def read_all(chunks: list[bytes]) -> Reader:
    reader = Reader()
    for chunk in chunks:
        reader.read(chunk)
    return reader


def test_the_phases_follow_the_marks() -> None:
    reader, phases = Reader(), []
    for chunk in CHUNKS:
        reader.read(chunk)
        phases.append([shell.phase for shell in reader.stack.shells])
    prompt, running, finished = [Phase.PROMPT], [Phase.RUNNING], [Phase.FINISHED]
    inner = [Phase.RUNNING, Phase.PROMPT]
    starting = [Phase.RUNNING, Phase.STARTING]
    assert phases == [
        prompt, running, finished, prompt, running, starting, inner, inner, finished, prompt
    ]  # fmt: skip
    assert reader.stack.shells[0].status == 5


@pytest.mark.parametrize("at", range(1, len(CHUNKS)))
def test_a_process_that_goes_on_from_a_snapshot_comes_to_the_same_result(at: int) -> None:
    restored = Reader(read_all(CHUNKS[:at]).save())
    for chunk in CHUNKS[at:]:
        restored.read(chunk)
    assert restored.save() == read_all(CHUNKS).save()


@pytest.mark.parametrize("at", range(1, len(CHUNKS) + 1))
def test_bytes_that_are_read_twice_change_nothing(at: int) -> None:
    reader = read_all(CHUNKS[:at])
    before = [(shell.nonce, shell.phase, shell.order.serial) for shell in reader.stack.shells]
    reader.scanner.nonces |= {OUTER}
    for chunk in CHUNKS[: at - 1]:
        reader.read(chunk.replace(INNER.encode(), b"c" * 32))
    assert [(shell.nonce, shell.phase, shell.order.serial) for shell in reader.stack.shells] == before


def test_what_is_no_snapshot_is_refused() -> None:
    good = read_all(CHUNKS).stack.snapshot()[0]
    for wrong in ({"kind": "tcl"}, {"pid": "1"}, {"phase": "asleep"}):
        with pytest.raises(ValueError, match="no"):
            Reader(json.dumps([{**good, **wrong}]))
