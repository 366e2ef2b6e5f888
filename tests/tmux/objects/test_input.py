"""Typing into panes of a real tmux: text and keys arrive exactly, completely and in order."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound, PaneDead, Refused
from muxpilot.tmux import EnsuredSession, PaneId, PaneStream
from muxpilot.tmux.objects.keys import find_key
from tests.rigs.engine import Raw, has_run_nothing, open_reader, read_to_end, read_until, stream_of
from tests.rigs.waiting import LIMIT_S, eventually, within

pytestmark = pytest.mark.both_tmux

CALLERS = 50
MEGABYTE = 1_000_000
PROMPT = b"$ " if os.geteuid() else b"# "  # a login shell's

TEXTS = [
    *("plain", "a;", ";", ";;", "a\\;", "-R", "-l", "-N5", "--", "-", "-t %0"),
    *("#", "##", "#{pane_id}", "#[fg=red]", "$HOME", "`id`", "$(id)", "%H %%", "~", "{end}", "\\", "\\n"),
    *("'", '"', "'\"'", "Enter", "C-c", "^C", "F1", "0x41", "Escape : w q", " leading", "trailing ", "\t"),
    *(
        "a\nb\n",
        "\n",
        "é",
        "世界",
        "👩‍👩‍👧‍👦",
        "🇩🇪",
        "e\u0301",
        "\u200b\u202e",
        "x" * 1024,
        "y" * 1025,
        "é" * 3000,
    ),
    *("\x03", "\x1b[A", "\x7f\x08", "a\x00b", "\r", "\x1b", "\x15\x17", "\x9b31m", "\udcff\udc80"),
]

KEYS = {
    "Enter": b"\r",
    "Up Down Left Right": b"\x1b[A\x1b[B\x1b[D\x1b[C",
    "Home End PPage PageDown DC IC": b"\x1b[1~\x1b[4~\x1b[5~\x1b[6~\x1b[3~\x1b[2~",
    "F1 F5 F12": b"\x1bOP\x1b[15~\x1b[24~",
    "M-x C-a ^d C-Space": b"\x1bx\x01\x04\x00",
    "C-Left S-Up": b"\x1b[1;5D\x1b[1;2A",
    "Tab BTab S-Tab Space BSpace Escape": b"\t\x1b[Z\x1b[Z \x7f\x1b",
    "escape : w q enter": b"\x1b:wq\r",
    "; - # $ ' \" \\ { é 世": "; - # $ ' \" \\ { é 世".replace(" ", "").encode(),
    "a\n b\tc": b"abc",
}

MODIFIERS = ["C-", "M-", "S-", "C-M-", "C-S-", "M-S-", "C-M-S-"]


async def test_typed_text_arrives_exactly(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    for text in TEXTS:
        await tmux.input.type(reader.pane, text)
        assert await reader.read_new() == text.encode("utf-8", "surrogateescape")
    assert await tmux.buffers.list() == []


async def test_pasted_text_arrives_exactly(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    for text in [*TEXTS, ""]:
        data = text.encode("utf-8", "surrogateescape")
        assert await tmux.input.paste(reader.pane, text) == len(data)
        assert await reader.read_new() == data
    assert await tmux.buffers.list() == []


async def test_keys_arrive_as_a_terminal_would_send_them(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    for keys, data in KEYS.items():
        await tmux.input.press(reader.pane, keys)
        assert await reader.read_new() == data, keys


@pytest.mark.tmux_since(3, 3, "it does not know the key C-/")
async def test_no_key_is_typed_by_its_name(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    bases = [
        *map(chr, range(33, 127)),
        "é",
        *"Enter Escape Tab BTab Space BSpace Up Home F5 KP0 KPEnter".split(),
    ]
    words = [modifiers + base for modifiers in MODIFIERS for base in bases]
    await tmux.input.press(reader.pane, " ".join(word for word in words if find_key(word)))
    sent = await reader.read_new()
    assert sent.endswith(b"\x1b[1;8A\x1b[1;8H\x1b[15;8~")
    assert not re.search(rb"[CMS]-", sent)


async def test_bytes_arrive_exactly(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    data = bytes(range(256)) * 2
    await tmux.input.send_bytes(reader.pane, data)
    assert await reader.read_new() == data
    with pytest.raises(BadInput, match="No bytes"):
        await tmux.input.send_bytes(reader.pane, b"")


async def test_enter_and_repeat(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    await tmux.input.type(reader.pane, "ab;", repeat=3, enter=True)
    await tmux.input.type(reader.pane, "\x01", repeat=2)
    await tmux.input.type(reader.pane, "", enter=True)
    await tmux.input.press(reader.pane, "x Up", repeat=2, enter=True)
    await tmux.input.paste(reader.pane, "p", enter=True)
    await tmux.input.paste(reader.pane, "", enter=True)
    assert await reader.read_new() == b"ab;ab;ab;\r\x01\x01\rx\x1b[Ax\x1b[A\rp\r\r"


@pytest.mark.parametrize("repeat", [0, -1, 1001, 10**12])
async def test_absurd_repeats_are_refused(tmux: Tmux, repeat: int) -> None:
    for text in ("x", "x" * 2000, "\x01"):
        with pytest.raises(BadInput, match="Use 1 to 1000"):
            await tmux.input.type(PaneId("%0"), text, repeat=repeat)
    with pytest.raises(BadInput, match="Use 1 to 1000"):
        await tmux.input.press(PaneId("%0"), "Up", repeat=repeat)


@pytest.mark.parametrize(
    ("keys", "named"),
    [("Entr", "Entr"), ("C-c nope", "nope"), ("0x41", "0x41"), ("-R", "-R"), ("C-", "C-"), ("F13", "F13")],
)
async def test_an_unknown_key_is_named(tmux: Tmux, keys: str, named: str) -> None:
    with pytest.raises(BadInput, match=f"'{named}' is not a key"):
        await tmux.input.press(PaneId("%0"), keys)


async def test_no_keys_are_refused(tmux: Tmux) -> None:
    with pytest.raises(BadInput, match="No keys"):
        await tmux.input.press(PaneId("%0"), " \n")


def lines() -> list[str]:
    """Return lines, each unique to its writer. Short ones are typed, long ones go through a buffer."""
    return [f"<{caller}" + ";" * (2000 if caller % 3 == 0 else caller) + ">" for caller in range(CALLERS)]


async def test_a_text_and_its_enter_are_one_act(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    await asyncio.gather(*(tmux.input.type(reader.pane, line, enter=True) for line in lines()))
    await asyncio.gather(*(tmux.input.paste(reader.pane, line, enter=True) for line in lines()))
    arrived = (await reader.read_new()).decode().split("\r")
    assert sorted(arrived) == sorted(["", *lines(), *lines()])


async def test_one_callers_lines_arrive_in_the_order_of_the_calls(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    sent = [f"{number}" for number in range(CALLERS)]
    for number in sent:
        await tmux.input.type(reader.pane, number, enter=True)
    assert await reader.read_new() == b"".join(b"%s\r" % number.encode() for number in sent)


async def test_two_engines_do_not_mix_their_lines(
    tmux: Tmux, socket: str, binary: str, tmp_path: Path
) -> None:
    reader = await open_reader(tmux, tmp_path)
    async with Tmux(socket, binary=binary) as other:
        await other.panes.list()  # tmux 3.5a can crash when a buffer changes while a control client connects
        await asyncio.gather(
            *(
                engine.input.type(reader.pane, line, enter=True)
                for line in lines()
                for engine in (tmux, other)
            )
        )
    arrived = (await reader.read_new()).decode().split("\r")
    assert sorted(arrived) == sorted(["", *lines(), *lines()])


Act = Callable[[Tmux, PaneId], Awaitable[object]]
ACTS: dict[str, Act] = {
    "type": lambda tmux, pane: tmux.input.type(pane, "hi", enter=True),
    "type much": lambda tmux, pane: tmux.input.type(pane, "hi" * 1000, enter=True),
    "press": lambda tmux, pane: tmux.input.press(pane, "h i Enter"),
    "paste": lambda tmux, pane: tmux.input.paste(pane, "hi", enter=True),
    "bytes": lambda tmux, pane: tmux.input.send_bytes(pane, b"hi\r"),
}
SHOW: Act = lambda tmux, pane: tmux.input.show_text(pane, "hi")  # noqa: E731


@pytest.mark.parametrize("mode", [("copy-mode",), ("clock-mode",)])
async def test_a_pane_in_a_mode_gets_the_text(
    tmux: Tmux, raw: Raw, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    reader = await open_reader(tmux, tmp_path)
    for act in ACTS.values():
        raw(*mode, "-t", reader.pane)
        assert (await tmux.panes.get(reader.pane)).in_mode
        await act(tmux, reader.pane)
        assert (await reader.read_new()).replace(b"hi", b"") == b"\r"
        assert not (await tmux.panes.get(reader.pane)).in_mode


async def dead_pane(tmux: Tmux) -> PaneId:
    made = await tmux.sessions.create("dead", program=PaneProgram("echo over", remain_on_exit=True))

    async def is_dead() -> bool:
        return (await tmux.panes.get(made.pane_id)).is_dead

    await eventually(is_dead)
    return made.pane_id


async def test_a_dead_pane_is_refused_and_tmux_lives_on(tmux: Tmux) -> None:
    pane = await dead_pane(tmux)
    server = (await tmux.panes.get(pane)).server_pid
    for act in (*ACTS.values(), SHOW):
        with pytest.raises(PaneDead, match=f"{pane}.* has ended.*respawn-pane"):
            await act(tmux, pane)
    assert (await tmux.panes.get(pane)).server_pid == server
    assert await tmux.buffers.list() == []


async def test_a_secret_arrives_and_tmux_keeps_as_many_messages_as_before(
    tmux: Tmux, tmp_path: Path, raw: Raw
) -> None:
    """While it is typed tmux keeps none, because it would keep the secret."""
    reader = await open_reader(tmux, tmp_path)
    raw("set-option", "-s", "message-limit", "77")
    await tmux.input.type_secret(reader.pane, "hunter2 é;")
    assert await reader.read_new() == "hunter2 é;\r".encode()
    assert raw("show-options", "-sv", "message-limit").strip() == "77"
    with pytest.raises(NotFound):
        await tmux.input.type_secret(PaneId("%99"), "hunter2")
    assert raw("show-options", "-sv", "message-limit").strip() == "77"


async def test_a_pane_that_is_not_there_is_said(tmux: Tmux) -> None:
    await tmux.sessions.create("dev")
    for act in (*ACTS.values(), SHOW):
        with pytest.raises(NotFound, match="Pane '%77' not found"):
            await act(tmux, PaneId("%77"))
    assert await tmux.buffers.list() == []


async def test_a_megabyte_is_pasted_whole_and_at_once(tmux: Tmux, tmp_path: Path) -> None:
    reader = await open_reader(tmux, tmp_path)
    chance = random.Random(1)
    text = "".join(chance.choices("abc;#$'\"\\ \n\té", k=MEGABYTE))
    with within(5):
        assert await tmux.input.paste(reader.pane, text) == len(text.encode())
        got = await reader.read_new()
    assert got == text.encode()
    assert await tmux.buffers.list() == []


async def test_a_paste_is_bracketed_only_where_the_program_asked_for_it(tmux: Tmux, tmp_path: Path) -> None:
    asked = await open_reader(tmux, tmp_path, modes="\\033[?2004h", name="asked")
    plain = await open_reader(tmux, tmp_path, name="plain")
    for reader, wanted in ((asked, b"\x1b[200~a\nb\x1b[201~\r"), (plain, b"a\nb\r")):
        await tmux.input.paste(reader.pane, "a\nb", enter=True)
        assert await reader.read_new() == wanted
        await tmux.input.type(reader.pane, "x" * 2000)
        assert await reader.read_new() == b"x" * 2000


async def test_control_c_interrupts(tmux: Tmux) -> None:
    await tmux.sessions.create("keeper", program=PaneProgram("sleep 60"))
    made = await tmux.sessions.create("dev", program=PaneProgram("echo READY; exec sleep 60"))
    stream = stream_of(tmux, made.pane_id)
    await read_until(stream, b"READY")
    await tmux.input.press(made.pane_id, "C-c")
    assert (await read_to_end(stream))[1].status == 130


async def screen_text(tmux: Tmux, pane: PaneId) -> str:
    return "\n".join(await tmux.capture.last_lines(pane))


async def create_waiting_pane(tmux: Tmux, command: str | None) -> EnsuredSession:
    """Create a pane and wait until it has printed its prompt, or READY."""
    made = await tmux.sessions.create("side", program=PaneProgram(command))
    await read_until(stream_of(tmux, made.pane_id), b"READY\r\n" if command else PROMPT)
    return made


@pytest.mark.parametrize("command", [None, "echo READY; exec sleep 60"])
async def test_what_is_shown_is_neither_typed_nor_run(
    tmux: Tmux, raw: Raw, tmp_path: Path, command: str | None
) -> None:
    canary = tmp_path / "canary"
    made = await create_waiting_pane(tmux, command)
    text = f"$(touch {canary})\ntouch {canary}\n; `touch {canary}` #(x) é世"
    await tmux.input.show_text(made.pane_id, text)
    await eventually(lambda: _ends_with(tmux, made.pane_id, text))
    if command is None:
        await tmux.input.type(made.pane_id, "echo a''fter", enter=True)
        await read_until(stream_of(tmux, made.pane_id), b"\nafter")
    assert has_run_nothing(raw, canary)


async def test_what_is_shown_steers_no_terminal(tmux: Tmux) -> None:
    made = await create_waiting_pane(tmux, "echo READY; exec sleep 60")
    title = (await tmux.panes.get(made.pane_id)).title
    await tmux.input.show_text(made.pane_id, "a\x1b[31mred\x1b]2;evil\x07\x9b31m\x07\x0e\x08b\rc\x00")
    seen = await read_until(stream_of(tmux, made.pane_id), b"bc")
    assert seen.partition(b"READY")[2].strip() == b"a[31mred]2;evil31mbc"
    assert (await tmux.panes.get(made.pane_id)).title == title


async def test_show_can_clear_the_screen_first_and_leaves_the_scrollback(tmux: Tmux) -> None:
    made = await create_waiting_pane(tmux, "echo READY; exec sleep 60")
    await tmux.input.show_text(made.pane_id, "one\ntwo")
    await eventually(lambda: _ends_with(tmux, made.pane_id, "READY\none\ntwo"))
    await tmux.input.show_text(made.pane_id, "three", clear=True)
    await eventually(lambda: _ends_with(tmux, made.pane_id, "three"))
    assert "\n".join(await tmux.capture.rows_between(made.pane_id, 0, "-")).strip() == "three"
    assert (await screen_text(tmux, made.pane_id)).startswith("READY")


async def test_what_is_shown_begins_on_a_line_of_its_own(tmux: Tmux) -> None:
    made = await create_waiting_pane(tmux, "echo READY; printf 'prompt> '; exec sleep 60")
    await eventually(lambda: _ends_with(tmux, made.pane_id, "prompt>"))
    await tmux.input.show_text(made.pane_id, "news")
    await eventually(lambda: _ends_with(tmux, made.pane_id, "news"))
    assert (await screen_text(tmux, made.pane_id)) == "READY\nprompt>\nnews"


async def _ends_with(tmux: Tmux, pane: PaneId, text: str) -> bool:
    return (await screen_text(tmux, pane)).endswith(text)


async def test_a_long_text_is_shown_whole(tmux: Tmux) -> None:
    made = await create_waiting_pane(tmux, "echo READY; exec sleep 60")
    text = "\n".join(f"line {number}" for number in range(20_000))
    await tmux.input.show_text(made.pane_id, text)
    seen = await read_until(stream_of(tmux, made.pane_id), b"line 19999")
    assert seen.count(b"line ") == 20_000


async def test_a_stopped_terminal_is_said_and_blocks_nobody(
    tmux: Tmux, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("muxpilot.tmux.objects.tty_write._STALL_S", 0.2)
    made = await create_waiting_pane(tmux, "echo READY; exec cat")
    await tmux.input.press(made.pane_id, "C-s")
    await tmux.input.type(made.pane_id, "x")
    with within(10), pytest.raises(Refused, match=r"took \d+ of \d+ bytes .*C-q"):
        await eventually(lambda: fill_terminal(tmux, made.pane_id))
    monkeypatch.setattr("muxpilot.tmux.objects.tty_write._STALL_S", LIMIT_S)
    await tmux.input.press(made.pane_id, "C-q")
    await tmux.input.show_text(made.pane_id, "on again")
    await read_until(stream_of(tmux, made.pane_id), b"on again")


async def fill_terminal(tmux: Tmux, pane: PaneId) -> None:
    """Show text until the terminal takes no more: the C-s may not have arrived yet."""
    async with asyncio.timeout(LIMIT_S):
        await tmux.input.show_text(pane, "lost?" * 1000)


async def wait_for_bytes(stream: PaneStream, wanted: bytes) -> None:
    """Wait until these bytes are printed, whatever is printed before them."""
    tail = b""
    async for event in stream.follow():
        tail = tail[-len(wanted) :] + getattr(event, "data", b"")
        if wanted in tail:
            return
    pytest.fail(f"the stream ended without {wanted!r}")


async def test_a_terminal_in_full_flood_is_still_shown_text(tmux: Tmux) -> None:
    made = await tmux.sessions.create("flood", program=PaneProgram("yes flood"))
    stream = stream_of(tmux, made.pane_id)
    await read_until(stream, b"flood")
    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as tasks:
        tasks.create_task(wait_for_bytes(stream, b"raft"))
        await tmux.input.show_text(made.pane_id, "raft")
    await tmux.input.press(made.pane_id, "C-c")
