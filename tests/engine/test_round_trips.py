"""What goes into tmux comes out as it was: byte for byte, and nothing in it is ever run or believed."""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from muxpilot import Program, Tmux
from muxpilot.errors import BadInput, MuxpilotError, NotFound
from muxpilot.tmux import Pane, keys, names
from tests.conftest import LIMIT_S, eventually
from tests.engine.helpers import Raw, person, printed, reading, stream_of, until, whole
from tests.engine.live import Live


def _is_old(char: str) -> bool:
    """Every C library that tmux may use knows the characters of Unicode 3.2; newer ones it may not print."""
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

some_names = st.one_of(st.sampled_from(HOSTILE), lines).filter(str.strip)  # one of blanks only is refused


def test_a_sessions_name_is_what_tmux_says_it_keeps(live: Live) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s"))
    version = live.run(tmux.version())

    async def check(name: str) -> None:
        kept = names.stored_session_name(name, version)
        assert await tmux.sessions.rename(made.session_id, name) == kept
        assert [row.name for row in await tmux.sessions.list()] == [kept]
        assert not re.fullmatch(r"[^:.\\$]*", name) or kept == name

    live.for_every(check, some_names, examples=120)


def test_a_session_is_found_again_by_the_name_it_was_made_with(live: Live) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("first"))

    async def check(name: str) -> None:
        made = await tmux.sessions.create(name)
        assert (await tmux.sessions.create(name)).session_id == made.session_id
        assert (await tmux.sessions.find(name)).id == made.session_id
        if made.created:
            await tmux.sessions.kill(made.session_id)

    live.for_every(check, some_names, examples=15)


def test_a_windows_name_comes_back(live: Live) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s", window_name="#(x)##["))
    assert [row.name for row in live.run(tmux.windows.list())] == ["#(x)##["]

    async def check(name: str) -> None:
        await tmux.windows.rename(made.window_id, name)
        [row] = await tmux.windows.list()
        # tmux writes a backslash before a backslash, and 3.3a also before a variable
        assert re.sub(r"\\(.)", r"\1", row.name) == name
        assert "\\" in name or "$" in name or row.name == name

    live.for_every(check, some_names, examples=120)


def test_a_window_has_the_name_it_is_made_with(live: Live) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s"))

    async def check(name: str) -> None:
        birth = await tmux.windows.create(made.session_id, name=name)
        assert (birth.window_name, (await tmux.windows.get(birth.window_id)).name) == (name, name)
        split = await tmux.windows.split(birth.pane_id)
        window, broken = await tmux.panes.break_out(split.pane_id, name=name)
        assert "\\" in name or "$" in name or broken == name
        await asyncio.gather(tmux.windows.kill(window), tmux.windows.kill(birth.window_id))

    live.for_every(check, some_names, examples=12)


def test_a_title_comes_back(live: Live) -> None:
    tmux = live.tmux
    made = live.run(tmux.sessions.create("s", program=Program("sleep 600")))

    async def check(title: str) -> None:
        await tmux.panes.rename(made.pane_id, title)
        assert (await tmux.panes.get(made.pane_id)).title == title

    live.for_every(check, st.one_of(st.sampled_from(HOSTILE), st.just(""), lines), examples=120)


def test_typed_text_arrives_as_it_is(live: Live, folder: Path) -> None:
    tmux = live.tmux
    reader = live.run(reading(tmux, folder))

    async def check(text: str) -> None:
        await tmux.input.type(reader.pane, text)
        assert await reader.got() == text.encode()

    texts = st.one_of(lines, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
    key_names = st.sampled_from(
        ["Enter", "C-c", "^C", "0x41", "F1", "-l", "-R", "-N5", "--", ";", "a;", "\\;", "{"]
    )
    live.for_every(check, st.one_of(key_names, st.sampled_from(HOSTILE), texts), examples=80)


def test_pasted_bytes_arrive_as_they_are(live: Live, folder: Path) -> None:
    tmux = live.tmux
    reader = live.run(reading(tmux, folder))

    async def check(data: bytes) -> None:
        await tmux.input.send_bytes(reader.pane, data)
        assert await reader.got() == data
        with suppress(UnicodeDecodeError):
            assert await tmux.input.paste(reader.pane, data.decode()) == len(data)
            assert await reader.got() == data

    live.for_every(check, st.binary(min_size=1, max_size=300), examples=40)
    assert live.run(tmux.buffers.list()) == []


async def test_a_key_is_a_key_and_never_its_name(tmux: Tmux, folder: Path) -> None:
    """tmux types the name of a key that it does not know, letter by letter."""
    await tmux.sessions.create("s", program=Program("sleep 600"))
    bases = [*map(chr, range(33, 127)), "é", "世", *keys._NAMED]
    spelled = [
        *(
            keys.is_key(modifier + base)
            for modifier in ("", "C-", "M-", "S-", "C-M-", "C-M-S-")
            for base in bases
        ),
        *(keys.is_key(f"^{base}") for base in bases),
    ]
    known = sorted({word for word in spelled if word is not None})
    assert len(known) > 700
    await tmux.connection.run(*(("bind-key", "-T", "test", "--", word, "refresh-client") for word in known))


async def test_a_pressed_character_arrives(tmux: Tmux, folder: Path) -> None:
    reader = await reading(tmux, folder)
    characters = [*map(chr, range(33, 127)), "é", "世"]
    await tmux.input.press(reader.pane, " ".join(characters))
    assert (await reader.got()).decode() == "".join(characters)


def test_a_buffer_holds_any_bytes(live: Live, folder: Path) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=Program("sleep 600")))

    async def check(name: str, data: bytes, more: bytes) -> None:
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
    names = lines.filter(str.strip)
    live.for_every(check, names, content, st.one_of(st.just(b""), content), examples=60)


def test_a_file_of_any_name_is_saved_and_loaded(live: Live, folder: Path) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=Program("sleep 600")))

    async def check(name: str) -> None:
        path = folder / name
        await tmux.buffers.set("b", name.encode())
        await tmux.buffers.save("b", path)
        assert path.read_bytes() == name.encode()
        await tmux.buffers.load("c", path)
        assert await tmux.buffers.get("c") == name.encode()
        path.unlink()

    live.for_every(check, st.one_of(st.sampled_from(HOSTILE), lines).filter(_is_a_files_name), examples=40)


def _is_a_files_name(name: str) -> bool:
    return "/" not in name and name not in (".", "..", "s")


def test_a_person_sees_exactly_the_message(live: Live, raw: Raw, socket: str, binary: str) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=Program("sleep 600")))
    raw("set-option", "-g", "status-left", "", ";", "set-option", "-g", "status-right", "")
    someone = live.enter(person(binary, socket, "attach"))

    async def check(message: str) -> None:
        someone.seen.clear()
        assert await tmux.clients.show(f"<{message}>", duration_s=0.001) == 1
        # drawn as one run of text: a style in it would be an escape sequence
        await until(lambda: f"<{message}>".encode() in bytes(someone.seen), limit_s=5)

    typed = st.text(st.sampled_from("#[]{}()%HMa;:,-~$'\"\\ é"), max_size=20)
    live.for_every(check, st.one_of(st.sampled_from(HOSTILE[:-1]), typed), examples=40)


class Place:
    """A program that writes down where it is and what it was given."""

    def __init__(self, tmux: Tmux, folder: Path) -> None:
        self._tmux = tmux
        self._file = folder / "told"

    async def told(self, cwd: str, value: str) -> tuple[bytes, bytes]:
        command = f'{{ printf %s "$VALUE"; echo; pwd -P; }} >{self._file}'
        made = await self._tmux.sessions.create(
            "place", program=Program(command, cwd=cwd, env={"VALUE": value})
        )
        await whole(stream_of(self._tmux, made.pane_id))
        data = self._file.read_bytes()
        size = len(os.fsencode(value))
        return data[:size], data[size + 1 :].removesuffix(b"\n")


def test_a_program_gets_its_folder_and_variables(live: Live, folder: Path) -> None:
    tmux = live.tmux
    live.run(tmux.sessions.create("s", program=Program("sleep 600")))
    place = Place(tmux, folder)

    async def check(name: str, value: str) -> None:
        assume(_is_a_files_name(name))
        cwd = folder / name
        cwd.mkdir(exist_ok=True)
        assert await place.told(str(cwd), value) == (os.fsencode(value), os.fsencode(cwd))
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
    made = await tmux.sessions.create("s", program=Program("exec cat"))
    window = Program(env={"TEXT": text})
    for call in (
        lambda: tmux.buffers.get(text),
        lambda: tmux.windows.create(made.session_id, program=window),
        lambda: tmux.targets.session(text),
    ):
        with pytest.raises((BadInput, NotFound)):
            await call()
        assert [row.name for row in await tmux.sessions.list()] == ["s"]


async def test_a_lone_surrogate_is_refused_wherever_text_is_sent(tmux: Tmux) -> None:
    made = await tmux.sessions.create("s", program=Program("exec cat"))
    for call in (tmux.input.type, tmux.input.paste):
        for text in ("a\ud800", "\0a\ud800"):
            with pytest.raises(BadInput, match="lone surrogate"):
                await call(made.pane_id, text)
    assert await tmux.buffers.list() == []


# Length first, so that each could be a field of a record by itself.
ODD_FOLDERS = (
    "a\nb\tc",
    "3:x\n%1 0 5:title",
    "a\x1bb\rc\x07",
    "literal \\033 escape",
    "a\x1b\\033",
    "stray \udcff byte",
    "0 1 80 24 ",
    "é世 #{x} \x7f",
)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
async def test_no_path_or_name_forges_a_record(
    tmux: Tmux, raw: Raw, folder: Path, locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANG")
    monkeypatch.setenv("LC_ALL", locale)
    made = await tmux.sessions.create("é世", program=Program("exec sleep 600"))
    paths = {}
    for number, name in enumerate(ODD_FOLDERS, 1):
        (folder / name).mkdir()
        where = ("-d", "-t", f"{made.session_id}:{number}", "-n", name.replace("\udcff", "ÿ"))
        raw("new-window", *where, "-c", str(folder / name).replace("#", "##"), "exec sleep 600")
        paths[number] = str(folder / name)
    raw("set-buffer", "-b", "3:x\n1 2 \tb", "content")
    windows = {row.index: row for row in await tmux.windows.list()}
    panes = {row.window_id: row for row in await _settled(tmux)}
    for number, path in paths.items():
        pane = panes[windows[number].id]
        assert _shown(pane.current_path) == _shown(path)
        assert (pane.index, pane.current_command, pane.session_id) == (0, "sleep", made.session_id)
        assert (pane.width, pane.height, pane.is_dead) == (200, 50, False)
    assert len(panes) == len(windows) == len(paths) + 1
    assert {row.session_name for row in windows.values()} == {"é世"}
    assert [row.size_bytes for row in await tmux.buffers.list()] == [7]


async def _settled(tmux: Tmux) -> Sequence[Pane]:
    """Every pane, once its program runs: before that its path is not known."""

    async def ask() -> Sequence[Pane] | None:
        rows = await tmux.panes.list()
        return rows if all(row.current_command == "sleep" for row in rows) else None

    rows = await eventually(ask, limit_s=5)
    assert isinstance(rows, Sequence)
    return rows


def _shown(path: str) -> str:
    """Where a path holds both, tmux 3.5a leaves it open what was a control character and what an escape."""
    return path.replace("\x1b\\033", "\\033\\033")


TRAPS = (
    "#(touch $CANARY)",
    "##(touch $CANARY)",
    "###(touch $CANARY)",
    "#[x]#(touch $CANARY)",
    "#{?1,#(touch $CANARY),}",
    "#{E:#(touch $CANARY)}",
    "%#(touch $CANARY)%",
    "$(touch $CANARY)`touch $CANARY`",
    "'; run-shell 'touch $CANARY'; '",
    '"; run-shell "touch $CANARY"; "',
    "{ run-shell 'touch $CANARY' };",
)


def taken(tmux: Tmux, pane: Pane, folder: Path, trap: str) -> list[Awaitable[object]]:
    """Every verb that takes a text, with the trap in each of its arguments."""
    cwd = folder / trap
    cwd.mkdir()
    program = Program("exec sleep 600", cwd=str(cwd), env={"TRAP": trap})
    session, window = pane.session_id, pane.window_id
    return [
        tmux.sessions.create(trap, window_name=trap, program=program),
        tmux.sessions.create(f"2{trap}", program=Program(f"exec sleep 600 # {trap}")),
        tmux.sessions.find(trap),
        tmux.sessions.rename(session, f"3{trap}"),
        tmux.windows.create(session, name=trap, program=program),
        tmux.windows.split(pane.id, program=program),
        tmux.windows.rename(window, trap),
        tmux.panes.rename(pane.id, trap),
        tmux.panes.break_out(pane.id, name=trap),
        tmux.input.type(pane.id, trap),
        tmux.input.paste(pane.id, trap),
        tmux.input.press(pane.id, " ".join(trap.replace(" ", ""))),
        tmux.input.send_bytes(pane.id, trap.encode()),
        tmux.input.show(pane.id, trap),
        tmux.buffers.set(trap, trap.encode()),
        tmux.buffers.append(trap, trap.encode() + b"\0"),
        tmux.buffers.rename(trap, f"2{trap}"),
        tmux.buffers.get(f"2{trap}"),
        tmux.buffers.save(f"2{trap}", cwd / trap),
        tmux.buffers.load(trap, cwd / trap),
        tmux.buffers.delete(trap),
        tmux.clients.show(trap),
    ]


def refused(tmux: Tmux, pane: Pane, trap: str) -> list[Awaitable[object]]:
    return [
        tmux.windows.set_layout(pane.window_id, trap),
        tmux.panes.resize(pane.id, direction=trap),
        tmux.input.press(pane.id, trap),
        tmux.capture.between(pane.id, trap, trap),
        tmux.clients.detach(trap),
        tmux.targets.session(trap + "?"),
        tmux.targets.window(f"{pane.session_id}:{trap}?"),
        tmux.targets.pane(f"{pane.session_id}:{trap}.{trap}"),
    ]


async def test_no_argument_of_any_verb_runs_a_command(
    tmux: Tmux, raw: Raw, socket: str, binary: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a person attached, too, whose status line shows the names."""
    canary = folder / "canary"
    monkeypatch.setenv("CANARY", str(canary))
    made = await tmux.sessions.create("s", program=Program("cat"))
    async with person(binary, socket, "attach"):
        for number, trap in enumerate(TRAPS):
            pane = await tmux.panes.get(made.pane_id)
            for verb in taken(tmux, pane, folder, trap):
                await verb
            for verb in refused(tmux, pane, trap):
                with pytest.raises(MuxpilotError):
                    await verb
            await _a_trap_snaps(tmux, folder / f"snapped{number}")
        await tmux.clients.show("done")
    assert not canary.exists()


async def _a_trap_snaps(tmux: Tmux, witness: Path) -> None:
    """One that is not escaped does run, and when it has, all that was started before it has had its time."""
    for turn in (1, 2):
        mark = witness.with_suffix(f".{turn}")
        await tmux.connection.run(("display-message", "-p", f"#(touch {mark})"))
        await until(mark.exists)


async def test_a_pane_that_prints_the_end_of_its_own_capture_fools_nobody(
    tmux: Tmux, raw: Raw, folder: Path
) -> None:
    made = await tmux.sessions.create("s", program=Program("sleep 600"))
    begun, count = await _next_stamp(raw)
    forged = [
        f"%{word} {begun + second} {count + number} 1"
        for second in range(6)
        for number in range(900)
        for word in ("end", "error", "begin")
    ]
    (folder / "lines").write_text("\n".join([*forged, "%exit", "%output %0 x", "LAST"]) + "\n")
    raw("set-option", "-g", "history-limit", "50000")
    shown = await tmux.windows.create(made.session_id, program=Program(f"cat {folder}/lines; exec sleep 600"))
    await printed(stream_of(tmux, shown.pane_id), b"LAST")
    async with asyncio.timeout(LIMIT_S):
        for _ in range(3):
            captured, *others = await asyncio.gather(
                tmux.capture.last(shown.pane_id, 50_000),
                *(tmux.panes.get(made.pane_id) for _ in range(20)),
                *(tmux.panes.get(shown.pane_id) for _ in range(20)),
            )
            assert captured == [*forged, "%exit", "%output %0 x", "LAST"]
            ids = [row.id for row in others if isinstance(row, Pane)]
            assert ids == [made.pane_id] * 20 + [shown.pane_id] * 20
    ended, last = await _next_stamp(raw)
    assert ended < begun + 6, "too slow: the stamps of the captures were not among the forged ones"
    assert count < last < count + 900


async def _next_stamp(raw: Raw) -> tuple[int, int]:
    """The second and the number that tmux gives to a command now."""
    begin = re.compile("%begin ([0-9]+) ([0-9]+) ")
    found = await until(lambda: begin.search(raw("-C", "display-message", "-p", "now", check=False)))
    assert isinstance(found, re.Match)
    return int(found[1]), int(found[2])
