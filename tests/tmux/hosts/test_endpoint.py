"""Local sockets and programs: which are trusted, which are refused, and with which message."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket as sockets
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from muxpilot import PaneProgram, Tmux
from muxpilot.errors import BadInput, MuxpilotError, NoServer, NoTmux, Unavailable, UnsafeSocket
from muxpilot.tmux import socket_for_path
from muxpilot.tmux.connection.failures import error_from_message
from muxpilot.tmux.hosts.endpoint import Endpoint, default_socket, ensure_private_folder
from muxpilot.tmux.hosts.login_shell import shell_override
from tests.rigs.waiting import eventually, is_running

Raw = Callable[..., str]
NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def program(folder: Path, text: str) -> str:
    path = folder / "tmux-shim"
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


async def test_a_stale_socket_means_no_server_and_a_new_session_uses_it_again(
    tmux: Tmux, raw: Raw, socket: str
) -> None:
    pid = int(raw("new-session", "-d", "-P", "-F", "#{pid}"))
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: asyncio.sleep(0, not is_running(pid)))
    assert stat.S_ISSOCK(os.stat(socket).st_mode)
    with pytest.raises(NoServer, match="Create a session"):
        await tmux.sessions.list()
    assert (await tmux.sessions.create("dev")).created


async def test_a_user_whose_shell_lets_nobody_in_has_panes_all_the_same(
    tmux: Tmux, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users of services and containers have such a shell. A shell that can be used is left as it is."""
    monkeypatch.setenv("SHELL", shutil.which("false") or "/bin/false")
    made = await tmux.sessions.create(program=PaneProgram("echo i''n; exec cat"))
    await eventually(lambda: asyncio.sleep(0, raw("capture-pane", "-p", "-t", made.pane_id) == "in"))
    monkeypatch.setenv("SHELL", shutil.which("bash") or "/bin/bash")
    assert shell_override() == {}


async def test_a_file_that_is_no_socket_is_refused_and_kept(tmux: Tmux, socket: str) -> None:
    Path(socket).write_text("precious")
    for call in (tmux.sessions.list, tmux.sessions.create):
        with pytest.raises(UnsafeSocket, match="is not a socket"):
            await call()
    assert Path(socket).read_text() == "precious"


async def test_a_folder_that_is_not_there_is_said(folder: Path, binary: str) -> None:
    async with Tmux(str(folder / "none" / "s"), binary=binary, config="/dev/null") as tmux:
        with pytest.raises(NoServer):
            await tmux.sessions.list()
        with pytest.raises(MuxpilotError, match="No such file or directory"):
            await tmux.sessions.create("dev")


@needs_root
async def test_a_socket_of_another_user_is_refused(tmux: Tmux, socket: str, folder: Path) -> None:
    folder.chmod(0o777)
    with sockets.socket(sockets.AF_UNIX) as listener:
        listener.bind(socket)
        os.chown(socket, NOBODY, NOBODY)
        for call in (tmux.sessions.list, tmux.sessions.create):
            with pytest.raises(UnsafeSocket, match="belongs to another user"):
                await call()
    os.unlink(socket)


@needs_root
@pytest.mark.parametrize(("mode", "owner", "trusted"), [(0o755, NOBODY, True), (0o775, NOBODY, False)])
def test_root_uses_anothers_socket_only_where_nobody_else_could_have_put_it(
    folder: Path, mode: int, owner: int, trusted: bool
) -> None:
    path = folder / "s"
    with sockets.socket(sockets.AF_UNIX) as listener:
        listener.bind(str(path))
    os.chown(path, owner, owner)
    os.chown(folder, owner, owner)
    folder.chmod(mode)
    if trusted:
        Endpoint(str(path)).check_socket()
    else:
        with pytest.raises(UnsafeSocket):
            Endpoint(str(path)).check_socket()


async def test_a_missing_tmux_is_said(folder: Path) -> None:
    async with Tmux(str(folder / "s"), binary="no-such-tmux") as tmux:
        with pytest.raises(NoTmux, match=r"no program 'no-such-tmux'.*Install tmux"):
            await tmux.sessions.create("dev")


async def test_a_tmux_that_cannot_be_run_is_said(folder: Path) -> None:
    broken = program(folder, "\x7fELF this is no program")
    async with Tmux(str(folder / "s"), binary=broken) as tmux:
        with pytest.raises(NoTmux, match="cannot be started: Exec format error"):
            await tmux.sessions.create("dev")


async def test_a_tmux_that_is_too_old_is_said_and_starts_no_server(folder: Path) -> None:
    started = folder / "started"
    old = program(folder, f'#!/bin/sh\n[ "$*" = "${{*%-V}}" ] && touch {started}\necho tmux 3.1c\n')
    async with Tmux(str(folder / "s"), binary=old) as tmux:
        with pytest.raises(NoTmux, match=r"tmux 3\.1c is too old: muxpilot needs tmux 3\.2"):
            await tmux.sessions.create("dev")
    assert not started.exists()


async def test_a_tmux_that_is_too_old_for_a_server_that_is_there_is_said(
    raw: Raw, socket: str, folder: Path
) -> None:
    raw("new-session", "-d")
    old = program(
        folder, '#!/bin/sh\ncase "$*" in *-V) echo tmux 3.1c;; *) echo usage: tmux >&2; exit 1;; esac\n'
    )
    async with Tmux(socket, binary=old) as tmux:
        with pytest.raises(NoTmux, match=r"tmux 3\.1c is too old"):
            await tmux.sessions.list()


def test_what_a_sandbox_forbids_is_named() -> None:
    error = error_from_message("error connecting to /tmp/tmux-0/default (Operation not permitted)")
    assert isinstance(error, UnsafeSocket)
    assert "sandbox" in str(error)
    assert "/tmp/tmux-0/default" in str(error)


def test_every_way_not_to_reach_tmux_is_unavailable() -> None:
    assert all(issubclass(kind, Unavailable) for kind in (NoTmux, NoServer, UnsafeSocket))


@pytest.mark.parametrize("path", ["", "a\nb", "x\0", "/tmp/" + "x" * 120])
def test_a_path_that_cannot_be_a_socket_is_refused(path: str) -> None:
    with pytest.raises(BadInput):
        Tmux(path)


def test_the_same_path_gives_the_same_socket_however_it_is_written(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    project.mkdir()
    link = tmp_path / "link"
    link.symlink_to(project)
    monkeypatch.chdir(project.parent)
    ways = [str(project), f"{project}/", str(link), "~/project", "project", f"{project}/../project"]
    assert len({socket_for_path(way) for way in ways}) == 1
    assert socket_for_path(str(tmp_path)) != socket_for_path(str(project))


def test_a_paths_socket_is_short_and_in_a_folder_of_our_own(tmp_path: Path) -> None:
    socket = Path(socket_for_path(str(tmp_path / ("deep/" * 40))))
    assert len(str(socket)) < 60
    assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    assert socket.parent.stat().st_uid == os.geteuid()


@pytest.mark.parametrize("path", ["", "  ", "a\0b"])
def test_no_path_has_no_socket(path: str) -> None:
    with pytest.raises(BadInput, match="Give a folder or a file"):
        socket_for_path(path)


def open_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)


def foreign_folder(path: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, NOBODY, NOBODY)


def linked_folder(path: Path) -> None:
    (path.parent / "real").mkdir(mode=0o700)
    path.symlink_to(path.parent / "real")


@pytest.mark.parametrize(
    "prepare",
    [open_folder, pytest.param(foreign_folder, marks=needs_root), linked_folder, Path.touch],
)
def test_a_folder_that_others_could_have_prepared_is_refused(
    tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    path = tmp_path / "ours"
    prepare(path)
    with pytest.raises(UnsafeSocket, match="0700"):
        ensure_private_folder(path)


def test_the_default_socket_is_where_plain_tmux_has_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    assert default_socket() == f"{folder}/tmux-{os.getuid()}/default"
    assert stat.S_IMODE((folder / f"tmux-{os.getuid()}").stat().st_mode) == 0o700
    shutil.rmtree(folder / f"tmux-{os.getuid()}")
    foreign = folder / f"tmux-{os.getuid()}"
    open_folder(foreign)
    with pytest.raises(UnsafeSocket):
        default_socket()
    monkeypatch.setenv("TMUX", f"{folder}/theirs,1,0")
    with pytest.raises(UnsafeSocket):  # TMUX names no socket
        default_socket()
    with sockets.socket(sockets.AF_UNIX) as theirs:
        theirs.bind(f"{folder}/theirs")
        assert default_socket() == f"{folder}/theirs"
