"""Sessions on a real tmux."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, NoServer, NotFound
from muxpilot.tmux import SessionId
from tests.rigs.engine import SIZE, attach_person, read_until, stream_of, wait_until

pytestmark = pytest.mark.both_tmux

Raw = Callable[..., str]


async def test_the_first_session_starts_the_server(tmux: Tmux) -> None:
    with pytest.raises(NoServer):
        await tmux.sessions.list()
    made = await tmux.sessions.create("dev")
    assert made.created
    assert [(row.id, row.name, row.windows, row.attached) for row in await tmux.sessions.list()] == [
        (made.session_id, "dev", 1, 0)
    ]


async def test_creating_a_taken_name_returns_that_session(tmux: Tmux) -> None:
    first = await tmux.sessions.create("dev", width=90, height=30)
    second = await tmux.sessions.create("dev", width=10, height=10, program=PaneProgram("false"))
    assert second == first.__class__(first.session_id, "dev", first.window_id, first.pane_id, created=False)
    [pane] = await tmux.panes.list()
    assert (pane.width, pane.height) == (90, 30)


@pytest.mark.parametrize(
    "name", ["a.b:c", "a_b_c", "C#", "#(touch F)", "#{pane_id}", "##[x]", "#[x", "-x", "é世 界;"]
)
async def test_the_same_name_is_always_the_same_session(tmux: Tmux, name: str) -> None:
    first = await tmux.sessions.create(name)
    assert (await tmux.sessions.create(name)).session_id == first.session_id
    assert (await tmux.sessions.find(name)).id == first.session_id
    assert len(await tmux.sessions.list()) == 1


async def test_a_new_session_has_the_size_folder_environment_and_names_that_were_asked_for(
    tmux: Tmux, tmp_path: object
) -> None:
    program = PaneProgram('printf %s "$FRUIT"; sleep 60', cwd=str(tmp_path), env={"FRUIT": "a=b;#c"})
    made = await tmux.sessions.create("dev", window_name="w;", width=77, height=33, program=program)
    assert await read_until(stream_of(tmux, made.pane_id), b"#c") == b"a=b;#c"
    [pane] = await tmux.panes.list(made.session_id)  # only now: a folder is known once its program runs
    [window] = await tmux.windows.list(made.session_id)
    assert (pane.width, pane.height, pane.current_path, window.name) == (77, 33, str(tmp_path), "w;")


async def test_somebody_at_another_session_gives_a_new_one_no_other_size(
    tmux: Tmux, raw: Raw, socket: str, binary: str
) -> None:
    def size(window: str) -> str:
        return raw("display-message", "-p", "-t", window, "#{window_width}x#{window_height}")

    program = PaneProgram("stty size; exec sleep 60")
    async with attach_person(binary, socket, "new-session", "-s", "theirs"):
        made = await tmux.sessions.create("ours", width=180, height=40, program=program)
        second = await tmux.windows.create(made.session_id, program=program)
        assert size(made.window_id) == size(second.window_id) == "180x40"
        await wait_until(lambda: "40 180" in raw("capture-pane", "-p", "-t", made.pane_id))
        await wait_until(lambda: "40 180" in raw("capture-pane", "-p", "-t", second.pane_id))
        [theirs] = [row for row in await tmux.windows.list() if row.session_name == "theirs"]
        assert size(theirs.id) == f"{SIZE[1]}x{SIZE[0] - 1}"
    async with attach_person(binary, socket, "attach", "-t", "ours"):
        await wait_until(lambda: size(made.window_id) == f"{SIZE[1]}x{SIZE[0] - 1}")


async def test_a_new_session_stays_where_those_that_nobody_is_attached_to_are_destroyed(
    folder: Path, raw: Raw, socket: str, binary: str
) -> None:
    config = folder / "tmux.conf"
    config.write_text("set-option -g destroy-unattached on")
    async with Tmux(socket, binary=binary, config=str(config)) as tmux:
        for name in ("first", "second", None):
            await tmux.sessions.create(name, program=PaneProgram("exec cat"))
        async with attach_person(binary, socket, "attach", "-t", "second"):
            pass
    names = raw("list-sessions", "-F", "#{session_name}").split()
    assert len(names) == 3
    assert {"first", "second"} <= set(names)
    assert raw("show-options", "-gv", "destroy-unattached") == "on"


async def test_find_prefers_the_exact_name_and_takes_globs_and_parts(tmux: Tmux) -> None:
    develop = await tmux.sessions.create("develop")
    dev = await tmux.sessions.create("dev")
    assert (await tmux.sessions.find("dev")).id == dev.session_id
    assert (await tmux.sessions.find("d*p")).id == develop.session_id
    assert (await tmux.sessions.find("velo")).id == develop.session_id
    with pytest.raises(NotFound, match=r"Session .nope. not found\. Use list-sessions"):
        await tmux.sessions.find("nope")


async def test_rename_answers_what_tmux_keeps(tmux: Tmux) -> None:
    made = await tmux.sessions.create("dev")
    assert await tmux.sessions.rename(made.session_id, "a b#{x}") == "a b#{x}"
    assert await tmux.sessions.rename(made.session_id, "-v1.2") in ("-v1_2", "-v1.2")


async def test_killing_the_last_session_ends_the_server_and_the_next_starts_another(tmux: Tmux) -> None:
    for name in ("one", "two", "three"):
        made = await tmux.sessions.create(name)
        await tmux.sessions.kill(made.session_id)
        with pytest.raises((NoServer, NotFound)):
            await tmux.sessions.get(made.session_id)


async def test_no_session_comes_or_goes_while_a_control_client_arrives(tmux: Tmux, raw: Raw) -> None:
    """tmux 3.3a would crash, with all its sessions, when two agents start at the same time."""
    made = await tmux.sessions.create("dev")
    endpoint = tmux.connection.endpoint
    async with endpoint.attach_lock():
        for news in (
            tmux.sessions.create("more"),
            tmux.sessions.rename(made.session_id, "other"),
            tmux.sessions.kill(made.session_id),
            tmux.windows.kill(made.window_id),
            tmux.panes.kill(made.pane_id),
        ):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(news, 0.1)
        assert "more" not in raw("list-sessions", "-F", "#{session_name}").split()
    async with endpoint.attach_lock(is_shared=True):
        await asyncio.wait_for(tmux.sessions.create("more"), 10)
    assert {row.name for row in await tmux.sessions.list()} == {"dev", "more"}
    assert not Path(endpoint._attach_lock_file()).exists(), "the last who shares a turn removes its file"


async def test_a_prefix_never_kills(tmux: Tmux) -> None:
    await tmux.sessions.create("foobar")
    for target in ("foo", "foob", "f*", "", "=", ":", "{last}"):
        with pytest.raises((NotFound, BadInput)):
            await tmux.targets.resolve_session(target)
    with pytest.raises(NotFound, match=r"Session '\$77' not found"):
        await tmux.sessions.kill(SessionId("$77"))
    assert [row.name for row in await tmux.sessions.list()] == ["foobar"]


@pytest.mark.parametrize("name", ["", "a\nb", "tab\tbed", "\x1b[31m", "x" * 300])
async def test_names_that_would_break_a_terminal_are_refused(tmux: Tmux, name: str) -> None:
    with pytest.raises(BadInput, match="name"):
        await tmux.sessions.create(name)


@pytest.mark.parametrize(("width", "height"), [(0, 10), (-1, 10), (10, 0), (10**9, 5)])
async def test_absurd_sizes_are_refused(tmux: Tmux, width: int, height: int) -> None:
    with pytest.raises(BadInput, match="Use 1 to 10000"):
        await tmux.sessions.create("dev", width=width, height=height)


async def test_a_folder_that_is_not_there_is_refused(tmux: Tmux) -> None:
    with pytest.raises(BadInput, match="does not exist"):
        await tmux.sessions.create("dev", program=PaneProgram(cwd="/no/such/folder"))
