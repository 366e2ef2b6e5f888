"""Typing through MCP: the bytes that reach the program."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.engine import wait_until
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEGABYTE = 1 << 20
_END = "~end~"

TEXTS = [
    "plain",
    ";",
    "trailing;",
    "-l",
    "--",
    "#(touch x) #{pane_id} ##",
    "$(echo) `id` \\ ' \"",
    "two\nlines\n",
    "tab\there",
    "é 世 👩‍👩‍👧 \u0301",
    "\x1b[A\x01\x7f",
    "x" * 5000,
    "%H %%",
]

ONE_KEY = {
    "send-cancel": b"\x03",
    "send-eof": b"\x04",
    "send-escape": b"\x1b",
    "send-enter": b"\r",
    "send-tab": b"\t",
    "send-backspace": b"\x7f",
    "send-up": b"\x1b[A",
    "send-down": b"\x1b[B",
    "send-left": b"\x1b[D",
    "send-right": b"\x1b[C",
    "send-page-up": b"\x1b[5~",
    "send-page-down": b"\x1b[6~",
    "send-home": b"\x1b[1~",
    "send-end": b"\x1b[4~",
}


@dataclass
class InputRecorder:
    """A program in raw mode that records every byte that reaches it."""

    rig: Rig
    pane: str
    file: Path
    heard: int = 0

    async def got(self) -> bytes:
        """Return the bytes since the last call. A mark is sent after them."""
        await self.rig.call("send-keys", paneId=self.pane, keys=_END)
        await wait_until(lambda: self.file.read_bytes()[self.heard :].endswith(_END.encode()))
        data = self.file.read_bytes()[self.heard :]
        self.heard += len(data)
        return data.removesuffix(_END.encode())


async def start_recorder(rig: Rig, pane: Shell, file: Path, modes: str = "") -> InputRecorder:
    made = await pane(f"stty raw -echo; printf '{modes}READY'; exec cat >{file}")
    await rig.wait_until_shown(made.pane, "READY")
    await wait_until(file.exists)
    return InputRecorder(rig, made.pane, file)


def sent(pane: str) -> dict[str, object]:
    """Return the answer of send-keys for a pane that has no name."""
    return {"paneId": pane, "pane": None, "created": False}


async def test_literal_text_arrives_exactly(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    for text in TEXTS:
        assert await call("send-keys", paneId=ear.pane, keys=text) == sent(ear.pane)
        assert await ear.got() == text.encode()
        answer = await call("paste-text", paneId=ear.pane, content=text)
        assert answer == {**sent(ear.pane), "bytes": len(text.encode())}
        assert await ear.got() == text.encode()
    assert rig.raw("list-buffers") == ""


async def test_key_names_are_pressed(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    for keys, data in {
        "C-c": b"\x03",
        "Escape : w q Enter": b"\x1b:wq\r",
        "C-x C-s": b"\x18\x13",
        "Up Up Down": b"\x1b[A\x1b[A\x1b[B",
        "M-x ;": b"\x1bx;",
    }.items():
        assert await call("send-keys", paneId=ear.pane, keys=keys, literal=False) == sent(ear.pane)
        assert await ear.got() == data, keys


@pytest.mark.parametrize("keys", ["Enter", "C-c", "Escape", "F5", "up", "M-x"])
async def test_text_that_is_a_keys_name_is_typed_with_a_hint(
    rig: Rig, call: Call, pane: Shell, tmp_path: Path, keys: str
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    answer = await call("send-keys", paneId=ear.pane, keys=keys)
    assert set(answer) == {*sent(ear.pane), "hint"}
    assert keys in answer["hint"]
    assert "literal" in answer["hint"]
    assert await ear.got() == keys.encode()


@pytest.mark.parametrize("keys", ["x", "Enter now", "hello", ":wq"])
async def test_other_text_carries_no_hint(
    rig: Rig, call: Call, pane: Shell, tmp_path: Path, keys: str
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    assert await call("send-keys", paneId=ear.pane, keys=keys) == sent(ear.pane)


async def test_enter_follows_each_repeat(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    for arguments, data in (
        ({"keys": "ab", "enter": True}, b"ab\r"),
        ({"keys": "ab", "repeat": 3}, b"ababab"),
        ({"keys": "ab", "repeat": 3, "enter": True}, b"ab\rab\rab\r"),
        ({"keys": "x" * 2000, "repeat": 2, "enter": True}, (b"x" * 2000 + b"\r") * 2),
        ({"keys": "Up a", "literal": False, "repeat": 2, "enter": True}, b"\x1b[Aa\r\x1b[Aa\r"),
        ({"keys": "ab", "repeat": 2, "enter": True, "delayMs": 1}, b"ab\rab\r"),
        ({"keys": "Up a", "literal": False, "repeat": 2, "delayMs": 1}, b"\x1b[Aa\x1b[Aa"),
        ({"keys": "", "enter": True}, b"\r"),
    ):
        await call("send-keys", paneId=ear.pane, **arguments)
        assert await ear.got() == data, arguments


async def test_a_slow_text_is_not_torn_by_others(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    sent = [
        call("send-keys", paneId=ear.pane, keys="slowly", enter=True, delayMs=5),
        call("send-keys", paneId=ear.pane, keys="second", enter=True),
        call("paste-text", paneId=ear.pane, content="third", enter=True),
        call("send-hex", paneId=ear.pane, hex="34 0d"),
        call("send-enter", paneId=ear.pane),
        call("send-keys", paneId=ear.pane, keys="l a s t Enter", literal=False),
    ]
    await asyncio.gather(*sent)
    assert await ear.got() == b"slowly\rsecond\rthird\r4\r\rlast\r"


async def test_fifty_lines_at_once_arrive_whole_and_in_order(
    rig: Rig, call: Call, pane: Shell, tmp_path: Path
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    lines = [f"<{number}{'x' * (number % 3 * 1200)}>" for number in range(50)]
    await asyncio.gather(*(call("send-keys", paneId=ear.pane, keys=line, enter=True) for line in lines))
    assert (await ear.got()).decode() == "".join(f"{line}\r" for line in lines)


async def test_a_slow_text_in_one_pane_holds_up_no_other(
    rig: Rig, call: Call, pane: Shell, tmp_path: Path
) -> None:
    slow = await start_recorder(rig, pane, tmp_path / "slow")
    quick = await start_recorder(rig, pane, tmp_path / "quick")
    work = asyncio.create_task(call("send-keys", paneId=slow.pane, keys="x" * 40, delayMs=150))
    await wait_until(lambda: slow.file.read_bytes())
    await call("send-keys", paneId=quick.pane, keys="at once")
    assert await quick.got() == b"at once"
    assert not work.done()
    await work


async def test_what_would_take_longer_than_a_call_may_is_refused_before_it_begins(
    rig: Rig, fails: Fails, pane: Shell, tmp_path: Path
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    assert "delayMs" in await fails("send-keys", paneId=ear.pane, keys="x" * 100, delayMs=1000)
    assert "delayMs" in await fails("send-keys", paneId=ear.pane, keys="xyz", repeat=1000, delayMs=100)
    assert await ear.got() == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"keys": "C-c nope", "literal": False}, "'nope' is not a key"),
        ({"keys": "", "literal": False}, "keys"),
        ({"keys": "x", "repeat": 0}, "'repeat' must be from 1 to 1000"),
        ({"keys": "x", "repeat": 1001}, "'repeat' must be from 1 to 1000"),
        ({"keys": "x", "delayMs": -1}, "'delayMs' must be from 0 to 10000"),
        ({"keys": "x", "literal": "yes"}, "'literal' must be true or false"),
    ],
)
async def test_what_cannot_be_pressed_is_refused_whole(
    rig: Rig, fails: Fails, pane: Shell, tmp_path: Path, arguments: dict[str, Any], words: str
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    assert words in await fails("send-keys", paneId=ear.pane, **arguments)
    assert await ear.got() == b""


async def test_one_key_tools_press_their_key(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    for tool, data in ONE_KEY.items():
        assert await call(tool, paneId=ear.pane) == {"paneId": ear.pane}
        assert await ear.got() == data, tool


async def test_there_are_no_other_one_key_tools(rig: Rig) -> None:
    others = {"send-keys", "send-hex", "send-mouse"}
    assert {name for name in rig.tools if name.startswith("send-")} - others == set(ONE_KEY)


async def test_raw_bytes_arrive(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    answer = await call("send-hex", paneId=ear.pane, hex="1b 5b 41\n0 FF  3b")
    assert answer == {"paneId": ear.pane, "bytes": 6}
    assert await ear.got() == b"\x1b[A\x00\xff;"


@pytest.mark.parametrize("token", ["08", "8", "15", "17", "7f", "7F"])
async def test_bytes_that_edit_the_line_are_refused_with_another_way(
    rig: Rig, fails: Fails, pane: Shell, tmp_path: Path, token: str
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    words = await fails("send-hex", paneId=ear.pane, hex=f"61 {token} 62")
    assert "'hex'" in words
    assert "Use send-" in words
    assert await ear.got() == b""


@pytest.mark.parametrize("hex_text", ["", " ", "zz", "0x41", "414", "4-1", "４１"])
async def test_what_is_no_byte_is_refused(fails: Fails, pane: Shell, hex_text: str) -> None:
    made = await pane("exec sleep 60")
    words = await fails("send-hex", paneId=made.pane, hex=hex_text)
    assert "'hex'" in words
    assert "00 to ff" in words


async def test_a_megabyte_is_pasted_whole(rig: Rig, call: Call, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard")
    text = "".join(random.Random(1).choices("abc;#$'\"\\ \n\té", k=MEGABYTE))
    answer = await call("paste-text", paneId=ear.pane, content=text)
    assert answer["bytes"] == len(text.encode())
    assert await ear.got() == text.encode()
    assert rig.raw("list-buffers") == ""


async def test_a_paste_is_bracketed_where_the_program_asked_for_it(
    rig: Rig, call: Call, pane: Shell, tmp_path: Path
) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard", modes="\\033[?2004h")
    await call("paste-text", paneId=ear.pane, content="a\nb", enter=True)
    assert await ear.got() == b"\x1b[200~a\nb\x1b[201~\r"


async def test_nothing_breaks_out_of_a_paste(rig: Rig, fails: Fails, pane: Shell, tmp_path: Path) -> None:
    ear = await start_recorder(rig, pane, tmp_path / "heard", modes="\\033[?2004h")
    assert "'content'" in await fails("paste-text", paneId=ear.pane, content="a\x1b[201~touch canary\r")
    assert await ear.got() == b""


async def test_what_is_shown_has_no_rests_of_control_sequences(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane("exec sleep 60")
    text = "\x1b]0;title\x07one \x1b[1;31mtwo\x1b[0m\x1b[2J three"
    await call("write-to-display", paneId=made.pane, text=text)
    await rig.wait_until_shown(made.pane, "one two three")


async def test_what_is_shown_is_neither_typed_nor_run(rig: Rig, call: Call, pane: Shell) -> None:
    made, canary = await pane(), rig.folder / "canary-display"
    text = f"$(touch {canary})\ntouch {canary}\n`touch {canary}`; #(touch {canary}) é世"
    assert await call("write-to-display", paneId=made.pane, text=text) == {"paneId": made.pane}
    screen = await rig.wait_until_shown(made.pane, "é世")
    assert text in screen
    await rig.run(made.pane, "true")
    assert not canary.exists()


async def test_what_is_shown_can_clear_the_pane_first(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane("echo before; exec sleep 60")
    await rig.wait_until_shown(made.pane, "before")
    await call("write-to-display", paneId=made.pane, text="one")
    assert await rig.wait_until_shown(made.pane, "one") == "before\none"
    await call("write-to-display", paneId=made.pane, text="two", clear=True)
    await rig.wait_until_shown(made.pane, "two")
    assert (await rig.text("capture-pane", paneId=made.pane, start=0)).strip() == "two"
    await call("write-to-display", paneId=made.pane, text="a\x1b[31mb\x07", clear=True)
    await rig.wait_until_shown(made.pane, "ab")
    assert await rig.text("capture-pane", paneId=made.pane, start=0) == "ab"
