"""Create a pane, with new-session, new-window or split-window, and follow its output from the first byte."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from muxpilot.errors import BadInput, NoServer, NotFound
from muxpilot.records import record
from muxpilot.tmux import formats
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.connection.protocol import CommandReply
from muxpilot.tmux.formats import fields, flag
from muxpilot.tmux.hosts.endpoint import Command
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.objects import validate
from muxpilot.tmux.objects.launch import Launch, validate_command
from muxpilot.tmux.objects.owner import this_owner
from muxpilot.tmux.objects.shell_startup import ShellStartup, ShellStartups
from muxpilot.tmux.quote import escape_format
from muxpilot.tmux.streams.registry import Streams

RunCommand = Callable[..., Awaitable[CommandReply]]
# Returns the command that takes a name for a new pane. If tmux refuses it, the pane is given up.
ClaimPane = Callable[["CreatedPane"], Command]


@record
class PaneProgram:
    """The program of a new pane: a command, or without one the person's shell."""

    command: str | None = None
    cwd: str | None = None
    env: Mapping[str, str] | None = None
    remain_on_exit: bool = False

    def flags(self, *, is_remote: bool) -> tuple[str, ...]:
        """Return the flags for the folder and the variables."""
        folder = validate.validate_remote_folder if is_remote else validate.validate_folder
        cwd = ("-c", escape_format(folder(self.cwd))) if self.cwd is not None else ()
        return (*cwd, *validate.environment_flags(self.env or {}))

    def window_name(self, shell: str) -> str:
        """Return the name of a window that was given none: that of the program in it."""
        words = (self.command or shell).removeprefix("exec ").split()
        return validate.keep_printable(Path(words[0]).name if words else "") or "sh"


SHELL = PaneProgram()


@record
class CreatedPane:
    """A new pane: its ids, the sizes of its window and session, and the person's shell."""

    session_id: SessionId
    session_name: str
    window_id: WindowId
    window_name: str
    window_index: int
    pane_id: PaneId
    window_size: str = ""
    session_size: str = ""
    is_session_ours: bool = False
    is_attached: bool = False
    shell: str = ""


def _word(text: str) -> str:
    return text


CREATED_PANE = fields(
    session_id=("session_id", SessionId),
    session_name=("session_name", str),
    window_id=("window_id", WindowId),
    window_name=("window_name", str),
    window_index=("window_index", int),
    pane_id=("pane_id", PaneId),
    window_size=("window_width}x#{window_height", _word),
    session_size=("default-size", _word),
    is_session_ours=("?@muxpilot_owner,1,0", flag),
    is_attached=("session_attached", flag),
    shell=("default-shell", str),
)


class Spawner:
    """Creates panes, and starts programs in existing panes again."""

    def __init__(self, connection: Connection, streams: Streams, startups: ShellStartups) -> None:
        self._connection = connection
        self._streams = streams
        self._startups = startups
        self._trace = connection.endpoint.trace

    async def create_pane(
        self,
        *command: str,
        program: PaneProgram,
        may_start_server: bool = False,
        name_window: bool = False,
        marks: Sequence[Command] = (),
        claim: ClaimPane | None = None,
    ) -> CreatedPane:
        """Run a command that creates a pane. The pane's program starts once its output is being read.

        tmux runs `marks` in the same step, so that no other process sees the pane without them.
        """
        is_remote = self._connection.endpoint.is_remote
        flags = (*program.flags(is_remote=is_remote), "-P", "-F", formats.template(CREATED_PANE))
        run = self._connection.run_or_start_server if may_start_server else self._connection.run
        if is_remote:
            whole = (*command, *flags, *_command_arguments(program.command))
            return await self._create_remote_pane(whole, run, program, marks=marks, claim=claim)
        launch, startup = self._prepare_launch(program.command, is_named=claim is not None)
        try:
            reply = await run((*command, *flags, "--", *launch.argv), *marks)
            [created] = formats.parse(CREATED_PANE, reply.blocks[0].lines, CreatedPane)
            self._log_created(command[0], created, program)
            # The pane gets its name in the same step as its pipe. Another muxpilot that finds the pane by its
            # name would else start a pipe of its own.
            claims = [claim(created)] if claim is not None else []
            setup = [*claims, *setup_commands(command[0], created, program)]
            if name_window:
                created = replace(created, window_name=program.window_name(created.shell))
                setup += automatic_name_commands(created)
            self._startups.remember(created.pane_id, startup)
            await self._streams.follow_new_pane(created.pane_id, launch, setup)
        except BaseException:
            launch.release()
            raise
        return created

    async def _create_remote_pane(
        self,
        command: Command,
        run: RunCommand,
        program: PaneProgram,
        *,
        marks: Sequence[Command],
        claim: ClaimPane | None,
    ) -> CreatedPane:
        """Create a pane on another host, without a launcher: tmux starts the program and names the window."""
        await self._require_folder(program.cwd)
        reply = await run(command, *marks)
        [created] = formats.parse(CREATED_PANE, reply.blocks[0].lines, CreatedPane)
        self._log_created(command[0], created, program)
        if claim is not None:
            await self._connection.run(claim(created))
        with suppress(NotFound, NoServer):  # its program may have ended already
            await self._connection.run(*setup_commands(command[0], created, program))
        return created

    async def _require_folder(self, path: str | None) -> None:
        """Refuse a remote folder that does not exist: tmux would silently start in HOME.

        Without a running server this cannot be checked, so nothing is refused.
        """
        with suppress(NoServer):
            if path is not None:
                asked = await self._connection.run_shell_line(f"[ -d {shlex.quote(path)} ] && echo there")
                if asked != ["there"]:
                    raise BadInput(f"The folder cwd {path!r} does not exist.", "Give a folder that exists.")

    async def respawn(self, pane: PaneId, program: PaneProgram, *, kill: bool) -> None:
        """Start a command, or the shell, in an existing pane. `kill` ends its program first."""
        command = program.command
        flags = (*(("-k",) if kill else ()), *program.flags(is_remote=self._connection.endpoint.is_remote))
        self._trace.debug("pane respawns", pane=pane, has_command=command is not None, kill=kill)
        if self._connection.endpoint.is_remote:
            await self._require_folder(program.cwd)
            await self._connection.run(("respawn-pane", *flags, "-t", pane, *_command_arguments(command)))
            await self._streams.end_stream(pane)
            return
        launch, startup = self._prepare_launch(command)
        try:
            if kill:
                await self._streams.end_stream(pane)
            # In one step with the new pipe, so that no other muxpilot starts one. Without `kill`, the stream
            # of the program before ends after it: tmux refuses to respawn if that program still runs.
            respawn = ("respawn-pane", *flags, "-t", pane, "--", *launch.argv)
            await self._streams.follow_new_pane(pane, launch, [respawn])
            self._startups.remember(pane, startup)
        except BaseException:
            launch.release()
            raise

    def _prepare_launch(
        self, command: str | None, *, is_named: bool = False
    ) -> tuple[Launch, ShellStartup | None]:
        temporary = self._connection.temporary_folder
        startup = self._startups.create(temporary) if command is None else None
        folder = str(startup.folder) if startup is not None else ""
        program = self._connection.endpoint.find_program()
        launch = Launch.prepare(temporary, command, program, folder, is_named=is_named)
        launch.nonce = startup.nonce if startup is not None else ""
        return launch, startup

    def _log_created(self, command: str | bytes, created: CreatedPane, program: PaneProgram) -> None:
        self._trace.debug(
            "pane created",
            by=command,
            pane=created.pane_id,
            window=created.window_id,
            session=created.session_id,
            has_command=program.command is not None,
        )


def _command_arguments(command: str | None) -> tuple[str, ...]:
    return ("--", validate_command(command)) if command is not None else ()


def setup_commands(command: str | bytes, created: CreatedPane, program: PaneProgram) -> list[Command]:
    """Return the commands that follow the creation: mark it as ours, set its size, and keep it after exit."""
    parents: dict[str | bytes, tuple[SessionId | WindowId, ...]]
    parents = {"new-session": (created.session_id, created.window_id), "new-window": (created.window_id,)}
    marks = [this_owner().mark_command(target) for target in (*parents.get(command, ()), created.pane_id)]
    sets_size = command == "new-session" or (command == "new-window" and created.is_session_ours)
    size = resize_commands(created) if sets_size else ()
    keep_session = [("set-option", "-t", created.session_id, "destroy-unattached", "off")]
    keep = keep_session if command == "new-session" else []
    remain = remain_on_exit_commands(created.pane_id) if program.remain_on_exit else ()
    return [*marks, *size, *keep, *remain]


def resize_commands(created: CreatedPane) -> tuple[tuple[str, ...], ...]:
    """Return the commands that give a window its session's size: tmux takes the size of an attached client.

    resize-window alone would fix the size forever, also for a person who attaches later.
    """
    if created.is_attached or created.window_size == created.session_size:
        return ()
    window, (width, height) = ("-t", created.window_id), created.session_size.split("x")
    resize = ("resize-window", *window, "-x", width, "-y", height)
    return resize, ("set-option", "-w", "-u", *window, "window-size")


def automatic_name_commands(created: CreatedPane) -> tuple[tuple[str, ...], ...]:
    """Return the commands that name a window as tmux would: tmux has seen our launcher, not the program."""
    window = ("-t", created.window_id)
    rename = ("rename-window", *window, "--", escape_format(created.window_name))
    return rename, ("set-option", "-w", "-u", *window, "automatic-rename")


def remain_on_exit_commands(pane: PaneId) -> tuple[tuple[str, ...], ...]:
    """Return the commands that keep a pane when its program ends, without tmux's line "Pane is dead"."""
    option = ("set-option", "-p", "-t", pane)
    return (*option, "remain-on-exit", "on"), (*option, "-q", "remain-on-exit-format", "")
