"""Making a pane, whatever command makes it: the program, its place, and its stream from the first byte."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from muxpilot.errors import BadInput, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux import formats
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.protocol import Reply
from muxpilot.tmux.formats import fields, flag
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.objects import validate
from muxpilot.tmux.objects.launch import Launch, checked_command
from muxpilot.tmux.objects.owner import ours
from muxpilot.tmux.objects.shell_startup import Startup, Startups
from muxpilot.tmux.quote import literal
from muxpilot.tmux.streams.registry import Streams

Run = Callable[[Command], Awaitable[Reply]]


@record
class Program:
    """What runs in a new pane: a command, or the person's shell where there is none."""

    command: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    remain_on_exit: bool = False

    def flags(self, *, is_far: bool) -> tuple[str, ...]:
        folder = validate.far_folder if is_far else validate.folder
        cwd = ("-c", literal(folder(self.cwd))) if self.cwd is not None else ()
        return (*cwd, *validate.environment(self.env or {}))

    def window_name(self, shell: str) -> str:
        """A window's name while nobody has given it one: that of the program in it."""
        words = (self.command or shell).removeprefix("exec ").split()
        return validate.printable(Path(words[0]).name if words else "") or "sh"


SHELL = Program()


@record
class CreatedPane:
    """The ids of a new pane and of what it is in."""

    session_id: SessionId
    session_name: str
    window_id: WindowId
    window_name: str
    window_index: int
    pane_id: PaneId
    size: str = ""
    own_size: str = ""
    is_in_ours: bool = False
    is_looked_at: bool = False
    shell: str = ""


def _word(text: str) -> str:
    return text


BIRTH = fields(
    session_id=("session_id", SessionId),
    session_name=("session_name", str),
    window_id=("window_id", WindowId),
    window_name=("window_name", str),
    window_index=("window_index", int),
    pane_id=("pane_id", PaneId),
    size=("window_width}x#{window_height", _word),
    own_size=("default-size", _word),
    is_in_ours=("?@muxpilot_owner,1,0", flag),
    is_looked_at=("session_attached", flag),
    shell=("default-shell", str),
)


class Spawner:
    def __init__(self, connection: Connection, streams: Streams, startups: Startups) -> None:
        self._connection = connection
        self._streams = streams
        self._startups = startups

    async def create_pane(
        self, *command: str, program: Program, may_start_server: bool = False, name_window: bool = False
    ) -> CreatedPane:
        """Run a command that makes a pane. Its program starts once its output is being read."""
        is_far = self._connection.endpoint.is_far
        flags = (*program.flags(is_far=is_far), "-P", "-F", formats.template(BIRTH))
        run = self._connection.run_first if may_start_server else self._connection.run
        if is_far:
            return await self._bear_far((*command, *flags, *_plain(program.command)), run, program)
        launch, startup = self._launch(program.command)
        try:
            reply = await run((*command, *flags, "--", *launch.argv))
            [birth] = formats.parse(BIRTH, reply.blocks[0].lines, CreatedPane)
            settle = settling(command[0], birth, program)
            if name_window:
                birth = replace(birth, window_name=program.window_name(birth.shell))
                settle += named_by_tmux(birth)
            self._startups.remember(birth.pane_id, startup)
            await self._streams.adopt(birth.pane_id, launch, settle)
        except BaseException:
            launch.let_go()
            raise
        return birth

    async def _bear_far(self, command: Command, run: Run, program: Program) -> CreatedPane:
        """On another host nothing of ours waits with the program: tmux starts it as ever, and names it."""
        await self._require_folder(program.cwd)
        [birth] = formats.parse(BIRTH, (await run(command)).blocks[0].lines, CreatedPane)
        with suppress(NotFound, NoServer):  # its program may have ended already
            await self._connection.run(*settling(command[0], birth, program))
        return birth

    async def _require_folder(self, path: str | None) -> None:
        """tmux would start in HOME instead, and say nothing; where it does not run yet, nobody can look."""
        with suppress(NoServer):
            if path is not None:
                asked = await self._connection.shell(f"[ -d {shlex.quote(path)} ] && echo there")
                if asked != ["there"]:
                    raise BadInput(f"The folder cwd {path!r} is not there.", "Give a folder that exists.")

    async def rebear(self, pane: PaneId, *, command: str | None, kill: bool) -> None:
        """Run a program again in a pane that is there."""
        flags = ("-k",) if kill else ()
        if self._connection.endpoint.is_far:
            await self._connection.run(("respawn-pane", *flags, "-t", pane, *_plain(command)))
            await self._streams.forget(pane)
            return
        launch, startup = self._launch(command)
        try:
            if kill:
                await self._streams.forget(pane)
            await self._connection.run(("respawn-pane", *flags, "-t", pane, "--", *launch.argv))
            if not kill:
                await self._streams.forget(pane)  # only now: tmux refuses where a program still runs
            self._startups.remember(pane, startup)
            await self._streams.adopt(pane, launch)
        except BaseException:
            launch.let_go()
            raise

    def _launch(self, command: str | None) -> tuple[Launch, Startup | None]:
        scratch = self._connection.scratch
        startup = self._startups.new(scratch) if command is None else None
        folder = str(startup.folder) if startup is not None else ""
        return Launch.of(scratch, command, self._connection.endpoint.program(), folder), startup


def _plain(command: str | None) -> tuple[str, ...]:
    return ("--", checked_command(command)) if command is not None else ()


def settling(command: str | bytes, birth: CreatedPane, program: Program) -> list[Command]:
    """What is said of all that a command made: that it is ours, how large, and whether it stays."""
    made: dict[str | bytes, tuple[SessionId | WindowId, ...]]
    made = {"new-session": (birth.session_id, birth.window_id), "new-window": (birth.window_id,)}
    marks = [ours().mark(target) for target in (*made.get(command, ()), birth.pane_id)]
    is_for_size = command == "new-session" or (command == "new-window" and birth.is_in_ours)
    size = sized_as_its_session(birth) if is_for_size else ()
    unattached = [("set-option", "-t", birth.session_id, "destroy-unattached", "off")]
    stay = unattached if command == "new-session" else []
    return [*marks, *size, *stay, *(stay_after_exit(birth.pane_id) if program.remain_on_exit else ())]


def sized_as_its_session(birth: CreatedPane) -> tuple[tuple[str, ...], ...]:
    """The size that the session was made with: tmux takes that of whoever looks at another one.

    resize-window alone would keep it so for good, also for a person who comes to look.
    """
    if birth.is_looked_at or birth.size == birth.own_size:
        return ()
    window, (width, height) = ("-t", birth.window_id), birth.own_size.split("x")
    resize = ("resize-window", *window, "-x", width, "-y", height)
    return resize, ("set-option", "-w", "-u", *window, "window-size")


def named_by_tmux(birth: CreatedPane) -> tuple[tuple[str, ...], ...]:
    """The name that tmux would have given the window: it has seen our launcher, not the program."""
    window = ("-t", birth.window_id)
    rename = ("rename-window", *window, "--", literal(birth.window_name))
    return rename, ("set-option", "-w", "-u", *window, "automatic-rename")


def stay_after_exit(pane: PaneId) -> tuple[tuple[str, ...], ...]:
    """Keep the pane when its program ends, without tmux's "Pane is dead" over the last line."""
    option = ("set-option", "-p", "-t", pane)
    return (*option, "remain-on-exit", "on"), (*option, "-q", "remain-on-exit-format", "")
