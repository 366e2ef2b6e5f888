"""Text that goes into tmux comes out byte for byte, and tmux never runs or interprets any of it."""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NotFound
from muxpilot.tmux.objects import keys, validate
from tests.rigs.engine import (
    Raw,
    as_kept,
    attach_person,
    can_name_buffer,
    open_reader,
    read_to_end,
    stream_of,
    wait_until,
)
from tests.rigs.live import LiveEngine


def _is_old(char: str) -> bool:
    """Return whether a character is in Unicode 3.2: every C library that tmux may use can print those."""
    return unicodedata.ucd_3_2_0.category(char)[0] not in "C" and char not in "\u2028\u2029"


SPECIAL = (
    "#(",
    "#{",
    "#[",
    "##",
    "#",
    "[",
    "}",
    "%H",
    "%%",
    ";",
    "'",
    '"',
    "$",
    "~",
    "-",
    "=",
    ":",
    ".",
    " ",
    "é",
)


letters = st.characters(exclude_categories=["Cs", "Cn"]).filter(_is_old)


words = st.lists(
    st.one_of(st.sampled_from(SPECIAL), st.sampled_from("aB1\\"), letters), min_size=1, max_size=12
)


lines = words.map("".join)


HOSTILE = (
    "#[fg=red]x",
    "##[x",
    "#(touch F)",
    "#{pane_id}",
    "%H:%M",
    "a;",
    "-x",
    "C#",
    "####",
    "#,#}",
    "👩‍👩‍👧 é",
)


some_names = st.one_of(st.sampled_from(HOSTILE), lines).filter(str.strip)  # a name of blanks only is refused


def test_a_sessions_name_is_what_tmux_says_it_keeps(live: LiveEngine) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s"))
    version = live.run(tmux.version())

    async def check(name: str) -> None:
        kept = validate.stored_session_name(name, version)
        assert await tmux.sessions.rename(made.session_id, name) == kept
        assert [row.name for row in await tmux.sessions.list()] == [kept]
        assert not re.fullmatch(r"[^:.\\$]*", name) or kept == name

    live.for_every(check, some_names, examples=120)


def test_a_session_is_found_again_by_the_name_it_was_made_with(live: LiveEngine) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("first"))

    async def check(name: str) -> None:
        made = await tmux.sessions.create(name)
        assert (await tmux.sessions.create(name)).session_id == made.session_id
        assert (await tmux.sessions.find(name)).id == made.session_id
        if made.created:
            await tmux.sessions.kill(made.session_id)

    live.for_every(check, some_names, examples=15)


def test_a_windows_name_comes_back(live: LiveEngine) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s", window_name="#(x)##["))
    assert [row.name for row in live.run(tmux.windows.list())] == ["#(x)##["]

    async def check(name: str) -> None:
        await tmux.windows.rename(made.window_id, name)
        [row] = await tmux.windows.list()
        # tmux writes a backslash before a backslash, and 3.3a also before a variable.
        assert re.sub(r"\\(.)", r"\1", row.name) == name
        assert "\\" in name or "$" in name or row.name == name

    live.for_every(check, some_names, examples=120)


def test_a_window_has_the_name_it_is_made_with(live: LiveEngine) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s"))

    async def check(name: str) -> None:
        birth = await tmux.windows.create(made.session_id, name=name)
        kept = await as_kept(tmux, name)
        assert (birth.window_name, (await tmux.windows.get(birth.window_id)).name) == (kept, kept)
        split = await tmux.windows.split(birth.pane_id)
        window, broken = await tmux.panes.break_out(split.pane_id, name=name)
        assert "\\" in name or "$" in name or broken == name
        await asyncio.gather(tmux.windows.kill(window), tmux.windows.kill(birth.window_id))

    live.for_every(check, some_names, examples=12)


def test_a_title_comes_back(live: LiveEngine) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s", program=PaneProgram("sleep 600")))

    async def check(title: str) -> None:
        await tmux.panes.rename(made.pane_id, title)
        assert (await tmux.panes.get(made.pane_id)).title == await as_kept(tmux, title)

    live.for_every(check, st.one_of(st.sampled_from(HOSTILE), st.just(""), lines), examples=120)


def test_typed_text_arrives_as_it_is(live: LiveEngine, folder: Path) -> None:
    tmux = live.tmux
    reader = live.run(open_reader(tmux, folder))

    async def check(text: str) -> None:
        await tmux.input.type(reader.pane, text)
        assert await reader.read_new() == text.encode()

    texts = st.one_of(lines, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    key_names = st.sampled_from(
        ["Enter", "C-c", "^C", "0x41", "F1", "-l", "-R", "-N5", "--", ";", "a;", "\\;", "{"]
    )
    live.for_every(check, st.one_of(key_names, st.sampled_from(HOSTILE), texts), examples=80)


def test_pasted_bytes_arrive_as_they_are(live: LiveEngine, folder: Path) -> None:
    tmux = live.tmux
    reader = live.run(open_reader(tmux, folder))

    async def check(data: bytes) -> None:
        await tmux.input.send_bytes(reader.pane, data)
        assert await reader.read_new() == data
        with suppress(UnicodeDecodeError):
            assert await tmux.input.paste(reader.pane, data.decode()) == len(data)
            assert await reader.read_new() == data

    live.for_every(check, st.binary(min_size=1, max_size=300), examples=40)
    assert live.run(tmux.buffers.list()) == []


@pytest.mark.tmux_since(3, 3, "it does not know the key C-/")
async def test_a_key_is_a_key_and_never_its_name(tmux: Tmux, folder: Path) -> None:
    """tmux types the name of a key that it does not know, letter by letter."""
    await tmux.sessions.create("s", program=PaneProgram("sleep 600"))
    bases = [*map(chr, range(33, 127)), "é", "世", *keys._NAMED]
    spelled = [
        *(
            keys.find_key(modifier + base)
            for modifier in ("", "C-", "M-", "S-", "C-M-", "C-M-S-")
            for base in bases
        ),
        *(keys.find_key(f"^{base}") for base in bases),
    ]
    known = sorted({word for word in spelled if word is not None})
    assert len(known) > 500
    await tmux.connection.run(*(("bind-key", "-T", "test", "--", word, "refresh-client") for word in known))


async def test_a_pressed_character_arrives(tmux: Tmux, folder: Path) -> None:
    reader = await open_reader(tmux, folder)
    characters = [*map(chr, range(33, 127)), "é", "世"]
    await tmux.input.press(reader.pane, " ".join(characters))
    assert (await reader.read_new()).decode() == "".join(characters)


def test_a_buffer_holds_any_bytes(live: LiveEngine, folder: Path) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=PaneProgram("sleep 600")))

    async def check(name: str, data: bytes, more: bytes) -> None:
        if not await can_name_buffer(tmux, name):
            return
        await tmux.buffers.set(name, data)
        await tmux.buffers.append(name, more)
        assert await tmux.buffers.get(name) == data + more
        assert [(row.name, row.size_bytes) for row in await tmux.buffers.list()] == [(name, len(data + more))]
        await tmux.buffers.rename(name, f"{name}2")
        assert await tmux.buffers.get() == data + more
        await tmux.buffers.delete(f"{name}2")

    content = st.one_of(
        st.binary(min_size=1), lines.map(str.encode), st.just(b"\0"), st.just(b"\xff\n%end\n")
    )
    validate = lines.filter(str.strip)
    live.for_every(check, validate, content, st.one_of(st.just(b""), content), examples=60)


def _is_a_files_name(name: str) -> bool:
    return "/" not in name and name not in (".", "..", "s")


@pytest.mark.tmux_since(3, 3, "it cannot show a message to a chosen client")
def test_a_person_sees_exactly_the_message(live: LiveEngine, raw: Raw, socket: str, binary: str) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=PaneProgram("sleep 600")))
    raw("set-option", "-g", "status-left", "", ";", "set-option", "-g", "status-right", "")
    someone = live.enter(attach_person(binary, socket, "attach"))

    async def check(message: str) -> None:
        someone.seen.clear()
        assert await tmux.clients.show_message(f"<{message}>", duration_s=0.001) == 1
        # It is drawn as one run of text: a style in it would be an escape sequence.
        await wait_until(lambda: f"<{message}>".encode() in bytes(someone.seen))

    typed = st.text(st.sampled_from("#[]{}()%HMa;:,-~$'\"\\ é"), max_size=20)
    live.for_every(check, st.one_of(st.sampled_from(HOSTILE[:-1]), typed), examples=40)


def _is_file_name(name: str) -> bool:
    return "/" not in name and name not in (".", "..", "s")


class Place:
    """Runs a program that writes its folder and a variable to a file."""

    def __init__(self, tmux: Tmux, folder: Path) -> None:
        self._tmux = tmux
        self._file = folder / "place"

    async def read_back(self, cwd: str, value: str) -> tuple[bytes, bytes]:
        """Run the program. Return the variable and the folder that it saw."""
        command = f'{{ printf %s "$VALUE"; echo; pwd -P; }} >{self._file}'
        made = await self._tmux.sessions.create(
            "place", program=PaneProgram(command, cwd=cwd, env={"VALUE": value})
        )
        await read_to_end(stream_of(self._tmux, made.pane_id))
        data = self._file.read_bytes()
        size = len(os.fsencode(value))
        return data[:size], data[size + 1 :].removesuffix(b"\n")


def test_a_program_gets_its_folder_and_variables(live: LiveEngine, folder: Path) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=PaneProgram("sleep 600")))
    place = Place(tmux, folder)

    async def check(name: str, value: str) -> None:
        assume(_is_file_name(name))
        cwd = folder / name
        cwd.mkdir(exist_ok=True)
        assert await place.read_back(str(cwd), value) == (os.fsencode(value), os.fsencode(cwd))
        cwd.rmdir()

    odd = st.sampled_from(
        ["a\nb\tc", "#(touch F)", "a;", "\x1b[31m", "a\udcffb", "%H", "##[x", "~", "-c", " "]
    )
    values = st.one_of(
        odd, lines, st.just(""), st.text(st.characters(exclude_characters="\0", codec="utf-8"))
    )
    live.for_every(check, st.one_of(odd, lines), values, examples=20)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
async def test_a_text_that_cannot_be_sent_costs_nobody_an_answer(tmux: Tmux, text: str) -> None:
    made = await tmux.sessions.create("s", program=PaneProgram("exec cat"))
    window = PaneProgram(env={"TEXT": text})
    for call in (
        lambda: tmux.buffers.get(text),
        lambda: tmux.windows.create(made.session_id, program=window),
        lambda: tmux.targets.resolve_session(text),
    ):
        with pytest.raises((BadInput, NotFound)):
            await call()
        assert [row.name for row in await tmux.sessions.list()] == ["s"]


async def test_a_lone_surrogate_is_refused_wherever_text_is_sent(tmux: Tmux) -> None:
    made = await tmux.sessions.create("s", program=PaneProgram("exec cat"))
    for call in (tmux.input.type, tmux.input.paste):
        for text in ("a\ud800", "\0a\ud800"):
            with pytest.raises(BadInput, match="lone surrogate"):
                await call(made.pane_id, text)
    assert await tmux.buffers.list() == []
