"""Mouse events in the three encodings."""

from __future__ import annotations

import pytest

from muxpilot.terminal.mouse import MouseEncoding, MouseEvent, encode_mouse

SGR, UTF8, DEFAULT = MouseEncoding.SGR, MouseEncoding.UTF8, MouseEncoding.DEFAULT

CASES = [
    (MouseEvent("press", "left", 0, 0), SGR, b"\x1b[<0;1;1M"),
    (MouseEvent("release", "left", 0, 0), SGR, b"\x1b[<0;1;1m"),
    (MouseEvent("press", "right", 4, 300), SGR, b"\x1b[<2;301;5M"),
    (MouseEvent("motion", "left", 1, 2), SGR, b"\x1b[<32;3;2M"),
    (MouseEvent("press", "wheel-up", 1, 2), SGR, b"\x1b[<64;3;2M"),
    (MouseEvent("press", "left", 0, 0), DEFAULT, b"\x1b[M !!"),
    (MouseEvent("release", "right", 0, 0), DEFAULT, b"\x1b[M#!!"),
    (MouseEvent("press", "wheel-down", 9, 222), DEFAULT, b"\x1b[Ma\xff*"),
    (MouseEvent("press", "middle", 0, 222), UTF8, b"\x1b[M!" + "\u00ff".encode() + b"!"),
    (MouseEvent("press", "left", 0, 2014), UTF8, b"\x1b[M " + chr(2047).encode() + b"!"),
]


@pytest.mark.parametrize(("event", "encoding", "wanted"), CASES, ids=str)
def test_an_event_is_what_terminals_send(event: MouseEvent, encoding: MouseEncoding, wanted: bytes) -> None:
    assert encode_mouse(event, encoding) == wanted
