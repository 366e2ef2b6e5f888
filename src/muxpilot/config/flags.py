"""Load the settings. Flags win over environment variables, and those win over the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from muxpilot.config.model import (
    AuditSettings,
    Document,
    HttpSettings,
    Origin,
    SecuritySettings,
    Settings,
    ToolFilter,
)
from muxpilot.config.scope import Scope
from muxpilot.config.workspace_name import is_name
from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.trace import DEFAULT_LEVEL, parse_level

MOST_WORKERS = 32


def load_settings(
    environment: Mapping[str, str],
    *,
    scope: str | None = None,
    socket: str | None = None,
    ssh: str | None = None,
    exec_command: str | None = None,
    shell_type: str | None = None,
    config: str | None = None,
    audit: str | None = None,
    audit_full: str | None = None,
    channel: bool | None = None,
    http: str | None = None,
    http_token_file: str | None = None,
    http_workers: str | None = None,
    log_level: str | None = None,
    workspace: str | None = None,
) -> Settings:
    """Combine flags, variables and the file. An empty variable counts as unset; an empty flag is refused."""
    path = _choose(environment, "TMUX_MCP_CONFIG", "--config", config)
    document, lines = _load_document(path)
    tools = environment.get("TMUX_MCP_TOOLS", "").strip()
    far = _choose_route(environment, document, ssh, exec_command)
    return Settings(
        scope=_parse_scope(_choose(environment, "TMUX_MCP_SCOPE", "--scope", scope)),
        socket=_choose(environment, "TMUX_MCP_SOCKET", "--socket", socket),
        shell_type=shell_type or document.shell.type,
        ssh=far.ssh,
        exec_command=far.exec_command,
        channel=bool(channel),
        http=_parse_http(http, http_token_file, workers=http_workers),
        workspace_name=_choose_workspace_name(environment, workspace),
        log_level=_choose_log_level(environment, log_level),
        security=_apply_tools_variable(_apply_preset(document.security, lines), tools),
        tracking=document.tracking,
        search=document.search,
        watch=document.watch,
        audit=_merge_audit(document.audit, environment, audit, audit_full),
        workspace=document.workspace,
        servers=document.servers,
        origin=Origin(path, lines, "TMUX_MCP_TOOLS" if tools else None, far.ssh_from, far.exec_from),
    )


def _choose(environment: Mapping[str, str], variable: str, flag: str, given: str | None) -> str | None:
    """Return what the flag gives, else the variable, else None."""
    _refuse_empty(flag, given)
    return given or environment.get(variable) or None


def _refuse_empty(flag: str, given: str | None) -> None:
    """Refuse an empty flag: a script's unset variable would silently leave out a policy or an audit log."""
    if given == "":
        raise BadInput(f"{flag} is empty.", "Give it a value, or leave it out.")


def _load_document(path: str | None) -> tuple[Document, Mapping[str, int]]:
    if path is None:
        return Document(), {}
    from muxpilot.config.parse import load_document  # most runs have no file

    return load_document(path)


@record
class _Route:
    """How the default tmux server is reached, and the flag or variable that says so."""

    ssh: str | None
    exec_command: str | None
    ssh_from: str | None = None
    exec_from: str | None = None


def _choose_route(
    environment: Mapping[str, str], document: Document, ssh: str | None, exec_command: str | None
) -> _Route:
    """Return what flags give, else variables, else the file. One source may not give both."""
    _refuse_empty("--ssh", ssh)
    _refuse_empty("--exec", exec_command)
    variables = environment.get("TMUX_MCP_SSH") or None, environment.get("TMUX_MCP_EXEC") or None
    sources = (
        _Route(ssh, exec_command, "--ssh", "--exec"),
        _Route(*variables, "TMUX_MCP_SSH", "TMUX_MCP_EXEC"),
    )
    for found in sources:
        if found.ssh is not None and found.exec_command is not None:
            raise BadInput(
                f"{found.ssh_from} and {found.exec_from} are both given.",
                "Give one of them: each leads to another host.",
            )
        if found.ssh is not None or found.exec_command is not None:
            return found
    return _Route(document.ssh.remote, None)


def _merge_audit(
    table: AuditSettings, environment: Mapping[str, str], path: str | None, full: str | None
) -> AuditSettings:
    return replace(
        table,
        path=_choose(environment, "TMUX_DEBUG_AUDIT", "--audit", path) or table.path,
        full=_choose(environment, "TMUX_DEBUG_AUDIT_FULL", "--audit-full", full) or table.full,
    )


def _choose_workspace_name(environment: Mapping[str, str], flag: str | None) -> str | None:
    """Return the name of the flag or MUXPILOT_WORKSPACE, or None. Raise BadInput if it is no name."""
    name = _choose(environment, "MUXPILOT_WORKSPACE", "--workspace", flag)
    if name and not is_name(name):
        source = "--workspace" if flag else "MUXPILOT_WORKSPACE"
        raise BadInput(f"{source} {name[:80]!r} is not a name.", "Use letters, digits, -, _ and . only.")
    return name


def _apply_preset(security: SecuritySettings, given: Mapping[str, int]) -> SecuritySettings:
    if security.preset == SecuritySettings().preset:
        return security
    from muxpilot.config.presets import apply_preset  # most runs have none

    return apply_preset(security, given)


def _apply_tools_variable(security: SecuritySettings, text: str) -> SecuritySettings:
    """Apply TMUX_MCP_TOOLS: `deny:a,@group`, `allow:…`, or a bare list, which denies."""
    if not text:
        return security
    mode, colon, rest = text.partition(":")
    if colon and mode.strip() not in ("deny", "allow"):
        raise BadInput(f"TMUX_MCP_TOOLS has the mode {mode[:20]!r}.", "Use deny:a,@group or allow:a,@group.")
    items = tuple(item.strip() for item in (rest if colon else text).split(",") if item.strip())
    return replace(security, tools=ToolFilter(mode.strip() if colon else "deny", items))


def _parse_http(text: str | None, token_file: str | None, *, workers: str | None) -> HttpSettings | None:
    """Parse `HOST:PORT`, with an IPv6 address in brackets. Port 0 means any free port."""
    if text is None:
        for flag, given in (("--http-token-file", token_file), ("--http-workers", workers)):
            if given is not None:
                raise BadInput(f"{flag} is given without --http.", "Add --http HOST:PORT.")
        return None
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_port = colon and port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65536
    if not is_port or not bare or ("[" in bare or "]" in bare) or (":" in bare and bare == host):
        raise BadInput(f"--http {text[:80]!r} is not HOST:PORT.", "Use --http 127.0.0.1:8722, or [::1]:8722.")
    return HttpSettings(bare, int(port), token_file, _parse_workers(workers))


def _parse_workers(text: str | None) -> int:
    if text is None:
        return 1
    if not (text.isascii() and text.isdigit() and len(text) < 3 and 1 <= int(text) <= MOST_WORKERS):
        raise BadInput(
            f"--http-workers {text[:80]!r} is not a number from 1 to {MOST_WORKERS}.",
            "Use the number of cores, or leave it out for one process.",
        )
    return int(text)


def _choose_log_level(environment: Mapping[str, str], flag: str | None) -> str:
    """Return the log level of the flag or MUXPILOT_LOG, or the default. Raise BadInput if it is none."""
    level = _choose(environment, "MUXPILOT_LOG", "--log-level", flag)
    if level is None:
        return DEFAULT_LEVEL
    try:
        parse_level(level)
    except BadInput as error:
        source = "--log-level" if flag else "MUXPILOT_LOG"
        raise BadInput(f"{source}: {error.what}", error.hint) from None
    return level


def _parse_scope(text: str | None) -> Scope:
    if text is None:
        return Scope.AGENTIC
    try:
        return Scope(text)
    except ValueError:
        known = ", ".join(scope.value for scope in Scope)
        raise BadInput(f"{text!r} is not a scope.", f"Use one of: {known}.") from None
