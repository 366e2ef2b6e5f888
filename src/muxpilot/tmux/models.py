"""Records of tmux's objects, each with the table of the fields to ask tmux for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from muxpilot.records import record
from muxpilot.terminal.shape import ScreenShape
from muxpilot.tmux.formats import fields, flag, optional_int, process_id
from muxpilot.tmux.ids import PaneId, SessionId, WindowId
from muxpilot.tmux.version import screen_shape

HUB_OPTION = "@muxpilot_hub"
_IS_HUB = f"?{HUB_OPTION},1,0"
# For the -f of listings: tmux does not look up the path and the program of panes that it filters out.
NOT_HUB_FILTER = f"#{{?{HUB_OPTION},,1}}"


@record
class Session:
    """A session. tmux counts every client in `attached`; `Sessions.list` counts people only."""

    id: SessionId
    name: str
    windows: int
    attached: int
    created: int
    activity: int
    is_hub: bool = False


SESSION = fields(
    id=("session_id", SessionId),
    name=("session_name", str),
    windows=("session_windows", int),
    attached=("session_attached", int),
    created=("session_created", int),
    activity=("session_activity", int),
    is_hub=(_IS_HUB, flag),
)


@record
class Window:
    """A window as one session shows it. A window that several sessions show has several of these."""

    id: WindowId
    index: int
    name: str
    is_active: bool
    panes: int
    session_id: SessionId
    session_name: str
    layout: str
    width: int
    height: int
    is_zoomed: bool
    active_pane_id: PaneId
    is_hub: bool = False


WINDOW = fields(
    id=("window_id", WindowId),
    index=("window_index", int),
    name=("window_name", str),
    is_active=("window_active", flag),
    panes=("window_panes", int),
    session_id=("session_id", SessionId),
    session_name=("session_name", str),
    layout=("window_layout", str),
    width=("window_width", int),
    height=("window_height", int),
    is_zoomed=("window_zoomed_flag", flag),
    active_pane_id=("pane_id", PaneId),
    is_hub=(_IS_HUB, flag),
)


@record
class ListedPane:
    """A pane with the fields that listings need."""

    id: PaneId
    index: int
    title: str
    is_active: bool
    width: int
    height: int
    current_command: str
    current_path: str
    pid: int
    is_dead: bool
    dead_status: int | None
    dead_signal: int | None
    in_mode: bool
    window_id: WindowId
    session_id: SessionId
    # Runs a line of sh on the pane's host if that is another one. Its pid and tty mean nothing on this host.
    remote_shell: Callable[[str], Awaitable[list[str]]] | None = field(
        default=None, compare=False, repr=False, kw_only=True
    )

    @property
    def exit_code(self) -> int | None:
        """Return the status as a shell reports it: 128 plus the number of the signal that ended it."""
        if self.dead_signal is not None:
            return 128 + self.dead_signal
        return self.dead_status


LISTED_PANE = fields(
    id=("pane_id", PaneId),
    index=("pane_index", int),
    title=("pane_title", str),
    is_active=("pane_active", flag),
    width=("pane_width", int),
    height=("pane_height", int),
    current_command=("pane_current_command", str),
    current_path=("pane_current_path", str),
    pid=("pane_pid", process_id),
    is_dead=("pane_dead", flag),
    dead_status=("pane_dead_status", optional_int),
    dead_signal=("pane_dead_signal", optional_int),
    in_mode=("pane_in_mode", flag),
    window_id=("window_id", WindowId),
    session_id=("session_id", SessionId),
)


@record
class Pane(ListedPane):
    """A pane with all fields. Listings leave some out because tmux needs time for each field of each pane."""

    tty: str
    is_alternate: bool
    cursor_column: int
    server_pid: int
    version: str = ""

    @property
    def shape(self) -> ScreenShape:
        """Return the size of the pane, and the rules of its tmux."""
        return screen_shape(self.width, self.height, self.version)


PANE = fields(
    **LISTED_PANE,
    tty=("pane_tty", str),
    is_alternate=("alternate_on", flag),
    cursor_column=("cursor_x", int),
    server_pid=("pid", int),
    version=("version", str),
)


@record
class Client:
    """A client that is attached to the server: a person's terminal, or a program's control connection."""

    name: str
    tty: str
    pid: int
    session_id: SessionId | None
    session_name: str
    width: int
    height: int
    is_readonly: bool
    activity: int
    flags: str

    @property
    def is_person(self) -> bool:
        """Return False for a control client with ignore-size: only programs connect with both flags."""
        flags = self.flags.split(",")
        return not ("control-mode" in flags and "ignore-size" in flags)


def _int_or_zero(text: str) -> int:
    return int(text or 0)  # a control client has no size


CLIENT = fields(
    name=("client_name", str),
    tty=("client_tty", str),
    pid=("client_pid", int),
    session_id=("session_id", lambda text: SessionId(text) if text else None),
    session_name=("client_session", str),
    width=("client_width", _int_or_zero),
    height=("client_height", _int_or_zero),
    is_readonly=("client_readonly", flag),
    activity=("client_activity", int),
    flags=("client_flags", str),
)


@record
class Buffer:
    """A paste buffer, without its content."""

    name: str
    size_bytes: int
    created: int


BUFFER = fields(
    name=("buffer_name", str),
    size_bytes=("buffer_size", int),
    created=("buffer_created", int),
)
