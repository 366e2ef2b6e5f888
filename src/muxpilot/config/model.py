"""Every key of the configuration: name, type, default and meaning. The parser and the docs use these rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from muxpilot.config.scope import Scope
from muxpilot.records import record
from muxpilot.shell_table.rows import SETTING_NAMES
from muxpilot.trace import DEFAULT_LEVEL

SHELL_TYPES = ("auto", *SETTING_NAMES)
PRESET_NAMES = ("open", "guarded", "read-only")

MIB = 1 << 20


def key(words: str, *, default: Any = None, one_of: tuple[str, ...] = (), least: int | None = None) -> Any:
    """Declare a key of the file; `words` are its description in docs/configuration.md."""
    return field(default=default, metadata={"words": words, "one_of": one_of, "least": least})


@record
class ShellSettings:
    type: str = key("the shell of panes where detection fails", default="auto", one_of=SHELL_TYPES)


@record
class SshSettings:
    remote: str | None = key("the default tmux server is there: ssh options, destination last")


@record
class CommandFilter:
    mode: str = key(
        "`allowlist`: every statement must match a pattern; `denylist`: none may; "
        "`ask`: a person is asked if one does",
        default="off",
        one_of=("off", "allowlist", "denylist", "ask"),
    )
    patterns: tuple[str, ...] = key(
        "RE2 expressions, found anywhere in a statement unless anchored", default=()
    )
    ask_patterns: tuple[str, ...] = key(
        "the same: a person is asked about a statement that matches, whatever `mode` is", default=()
    )


@record
class ToolFilter:
    mode: str = key("`deny`: all but these; `allow`: only these", default="deny", one_of=("deny", "allow"))
    items: tuple[str, ...] = key("tool names, and groups such as `@raw-input`", default=())


@record
class SecuritySettings:
    enabled: bool = key("`false` switches off every check of this section", default=True)
    preset: str = key(
        "what the other keys of this section are where the file does not set them",
        default="open",
        one_of=PRESET_NAMES,
    )
    ask: tuple[str, ...] = key(
        "tools, and groups such as `@kill`, whose calls a person must allow first", default=()
    )
    ask_timeout_seconds: int = key("no answer within this time refuses the call", default=120, least=1)
    allow_execute_command: bool = key("running commands: `@execute`", default=True)
    allow_raw_mode: bool = key("`rawMode` and `noEnter` of execute-command", default=True)
    allow_send_keys: bool = key("typing: `@raw-input`", default=True)
    allow_kill: bool = key("killing: `@kill`, and respawn-pane with `kill`", default=True)
    allow_create: bool = key("new sessions and windows: `@create`", default=True)
    allow_split: bool = key("new panes: `@split`", default=True)
    allow_rename: bool = key("`@rename`", default=True)
    allow_move: bool = key("layout and focus: `@move`", default=True)
    allow_capture: bool = key(
        "what panes and buffers hold: `@capture`, `@buffer-read`, `@buffer-write`", default=True
    )
    allow_list: bool = key("what there is: `@list`, `@socket`", default=True)
    allow_foreign: bool = key("typing into, changing and ending what muxpilot did not create", default=True)
    allowed_sockets: tuple[str, ...] | None = key(
        "tmux servers, by socket path or by `[servers]` name, or `default`"
    )
    allowed_sessions: tuple[str, ...] | None = key("sessions, by id or name")
    allowed_panes: tuple[str, ...] | None = key("panes, by id or `session:window.pane`")
    allowed_buffer_paths: tuple[str, ...] | None = key(
        "folders for save-buffer, load-buffer, pictures and recordings; unset: a private one for buffers"
    )
    pass_environment: tuple[str, ...] = key(
        "more variables, or patterns such as `MY_*`, to pass to the tmux servers that muxpilot starts",
        default=(),
    )
    redact: bool = key(
        "takes token shapes, private keys and `redact_patterns` out of what the model sees", default=False
    )
    redact_patterns: tuple[str, ...] = key(
        "more secrets: RE2 expressions; what matches is shown as `[redacted]`", default=()
    )
    person_pause_seconds: int = key(
        "wait until a person who types in a pane has paused this long; 0: do not wait", default=2, least=0
    )
    command_filter: CommandFilter = CommandFilter()
    tools: ToolFilter = ToolFilter()


@record
class TrackingSettings:
    capture_initial_lines: int = key("accepted for older files; unused", default=1000, least=1)
    capture_max_lines: int = key("accepted for older files; unused", default=16000, least=1)
    capture_backoff_factor: int = key("accepted for older files; unused", default=2, least=1)
    completed_retention_minutes: int = key("how long the results of commands are kept", default=240, least=0)
    completed_max_entries: int = key("how many results are kept; 0: no limit", default=1000, least=0)
    tracking_deadline_seconds: int = key(
        "accepted for older files; commands may take any time", default=600, least=1
    )
    output_cap_bytes: int = key("how much of one command's output is kept", default=64 * MIB, least=1024)
    journal: bool = key("`false` keeps the output of panes in memory only, not in files", default=True)
    journal_cap_bytes: int = key(
        "how much of one pane's output is kept in files", default=16 * MIB, least=64 * 1024
    )
    journal_total_bytes: int = key("the same for all panes together", default=512 * MIB, least=1024 * 1024)


@record
class SearchSettings:
    streaming_threshold_bytes: int = key("accepted for older files; unused", default=262144, least=0)


@record
class WatchSettings:
    poll_interval_ms: int = key("accepted for older files; watching does not poll", default=300, least=1)
    stable_ms: int = key("default of `stableMs`", default=250, least=0)
    timeout_default_ms: int = key("default of `timeoutMs`", default=30000, least=1)
    timeout_max_ms: int = key("the longest `timeoutMs`", default=600000, least=1)
    allowed_hosts: tuple[str, ...] = key("hosts that `url:` may ask besides this machine", default=())


@record
class AuditSettings:
    path: str | None = key("the log, JSON Lines (`--audit`)")
    full: str | None = key("a folder that keeps every capture (`--audit-full`)")
    max_bytes: int = key("the log is put aside at this size", default=10_000_000, least=1)
    keep: int = key("how many such logs are kept", default=5, least=0)


@record
class WorkspaceSettings:
    plain_pagers: bool = key(
        "`true`: named panes start with `PAGER=cat` and the like; `false`: as the person has set them",
        default=True,
    )
    idle_hours: float | None = key(
        "end the workspace when nothing has run, been printed or typed in it for so long and no person is "
        "attached; unset or 0: never",
        least=0,
    )


@record
class ServerEntry:
    """One `[servers.NAME]`: `socket: "NAME"` in a call means this tmux server."""

    ssh: str | None = key("on another host: ssh options, destination last")
    socket: str | None = key("the socket there; unset: tmux's default")
    exec: tuple[str, ...] | None = key(
        "in a container, pod or the like: the words of a command that runs a program there"
    )

    @property
    def exec_text(self) -> str | None:
        """Return `exec` as one line of shell."""
        return shlex.join(self.exec) if self.exec is not None else None


@record
class Origin:
    """The origin of the settings, for errors that are found after parsing.

    `tools`, `ssh` and `exec_command` name the variable or flag that was given instead of the file's key.
    """

    path: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    tools: str | None = None
    ssh: str | None = None
    exec_command: str | None = None

    def route_sources(self) -> Mapping[str, str]:
        """Return what has given the default server's `ssh` or `exec`."""
        return {"ssh": self.locate("ssh.remote"), "exec": self.exec_command or ""}

    def locate(self, name: str) -> str:
        """Return `config.toml:12: security.allow_kill`, or as much of it as is known."""
        if name.startswith("security.tools.") and self.tools:
            return self.tools
        if name == "ssh.remote" and self.ssh:
            return self.ssh
        line = self.lines.get(name)
        return f"{self.path}:{line}: {name}" if self.path and line else name


@record
class HttpSettings:
    """The address to serve MCP on instead of stdio. Without a token, only loopback addresses are allowed.

    `workers`: how many processes serve it.
    """

    host: str
    port: int
    token_file: str | None = None
    workers: int = 1


@record
class Settings:
    scope: Scope = Scope.AGENTIC
    socket: str | None = None
    shell_type: str = "auto"
    ssh: str | None = None
    exec_command: str | None = None
    channel: bool = False
    http: HttpSettings | None = None
    # None: the workspace is named after the folder that muxpilot was started in.
    workspace_name: str | None = None
    log_level: str = DEFAULT_LEVEL
    security: SecuritySettings = SecuritySettings()
    tracking: TrackingSettings = TrackingSettings()
    search: SearchSettings = SearchSettings()
    watch: WatchSettings = WatchSettings()
    audit: AuditSettings = AuditSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    servers: Mapping[str, ServerEntry] = field(default_factory=dict)
    origin: Origin = Origin()

    @property
    def is_far(self) -> bool:
        """Return whether the default tmux server is on another host, so that none is needed here."""
        return self.ssh is not None or self.exec_command is not None


@record
class Document:
    """The sections of the file, as they were parsed."""

    shell: ShellSettings = ShellSettings()
    ssh: SshSettings = SshSettings()
    security: SecuritySettings = SecuritySettings()
    tracking: TrackingSettings = TrackingSettings()
    search: SearchSettings = SearchSettings()
    watch: WatchSettings = WatchSettings()
    audit: AuditSettings = AuditSettings()
    workspace: WorkspaceSettings = WorkspaceSettings()
    servers: Mapping[str, ServerEntry] = field(default_factory=dict)
