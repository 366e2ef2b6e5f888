"""`muxpilot install CLIENT`: add muxpilot to a client's configuration, and change nothing else in it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muxpilot.config.environment import variable
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput
from muxpilot.records import record

NAME = "muxpilot"


@record
class ClientConfig:
    """The configuration of a client: the file, the key of its MCP servers, and the form of an entry."""

    path: Callable[[], Path]
    key: str
    entry: Callable[[list[str]], dict[str, Any]]


def _stdio_entry(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


CLIENTS = {
    "claude": ClientConfig(
        lambda: Path(".mcp.json"), "mcpServers", lambda c: {"type": "stdio", **_stdio_entry(c)}
    ),
    "codex": ClientConfig(lambda: _codex_home() / "config.toml", "mcp_servers", _stdio_entry),
    "cursor": ClientConfig(lambda: Path(".cursor/mcp.json"), "mcpServers", _stdio_entry),
    "vscode": ClientConfig(
        lambda: Path(".vscode/mcp.json"), "servers", lambda c: {"type": "stdio", **_stdio_entry(c)}
    ),
    "opencode": ClientConfig(
        lambda: Path("opencode.json"), "mcp", lambda c: {"type": "local", "command": c, "enabled": True}
    ),
}


def run(settings: Settings, arguments: Namespace) -> int:
    """Write the client's configuration, or print it with --print."""
    client = CLIENTS[arguments.client]
    path, entry = (
        client.path().resolve(),
        client.entry(_server_command(settings, arguments)),
    )  # resolved, so that a symbolic link stays one
    write = _add_to_toml if path.suffix == ".toml" else _add_to_json
    text = write(path, client.key, entry)
    if arguments.only_print:
        print(f"# {path}", file=sys.stderr)
        print(text, end="")
        return 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace_file(path, text)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", "Nothing was changed.") from None
    print(f"Added muxpilot to {path}. Restart {arguments.client} to use it.")
    return 0


def _server_command(settings: Settings, arguments: Namespace) -> list[str]:
    """Return the command that starts the server: by name if that is on the PATH, with the same settings."""
    start = [NAME] if shutil.which(NAME) else [sys.executable, "-m", NAME]
    scope = ["--scope", settings.scope.value] if settings.scope is not Scope.AGENTIC else []
    socket = ["--socket", os.path.abspath(settings.socket)] if settings.socket else []
    if settings.ssh:  # the socket is a path on the other host
        socket = [f"--ssh={settings.ssh}", *(("--socket", settings.socket) if settings.socket else ())]
    shell = ["--shell-type", settings.shell_type] if settings.shell_type != "auto" else []
    files = {
        "--config": settings.origin.path,
        "--audit": settings.audit.path,
        "--audit-full": settings.audit.full,
    }
    given = [word for flag, path in files.items() if path for word in (flag, os.path.abspath(path))]
    given += ["--workspace", arguments.workspace] if arguments.workspace else []
    given += ["--log-level", settings.log_level] if arguments.log_level else []
    return [*start, *scope, *socket, *shell, *given, *(("--channel",) if settings.channel else ())]


def _codex_home() -> Path:
    return Path(variable("CODEX_HOME") or Path.home() / ".codex")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}.", "Fix it first; nothing was written.") from None


def _add_to_json(path: Path, key: str, entry: dict[str, Any]) -> str:
    try:
        content = json.loads(_read_text(path) or "{}")
    except ValueError as error:
        raise BadInput(f"{path} is not JSON: {error}.", "Fix it first; nothing was written.") from None
    if not isinstance(content, dict) or not isinstance(content.setdefault(key, {}), dict):
        raise BadInput(f"{path} has no object {key!r}.", "Fix it first; nothing was written.")
    content[key][NAME] = entry
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _add_to_toml(path: Path, key: str, entry: dict[str, Any]) -> str:
    """Return the file with our entry at its end. Everything else stays as it is, comments too."""
    text = _read_text(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not TOML: {error}.", "Fix it first; nothing was written.") from None
    servers = content.get(key, {})
    if not isinstance(servers, dict):
        raise BadInput(f"{path} has no table {key!r}.", "Fix it first; nothing was written.")
    if servers.get(NAME) == entry:
        return text
    if NAME in servers:
        raise BadInput(f"{path} has another [{key}.{NAME}] already.", "Remove that entry first.")
    lines = [f"[{key}.{NAME}]", *(f"{name} = {_toml_literal(value)}" for name, value in entry.items())]
    added = text + _blank_line_after(text) + "\n".join(lines) + "\n"
    try:
        tomllib.loads(added)
    except tomllib.TOMLDecodeError:
        raise BadInput(
            f"{path} has {key!r} in a form that muxpilot cannot add to.", f"Make it a table: [{key}.NAME]."
        ) from None
    return added


def _blank_line_after(text: str) -> str:
    """Return the line feeds that leave one blank line after a text."""
    return "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"


def _toml_literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _replace_file(path: Path, text: str) -> None:
    """Replace a file atomically, and keep its permissions."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.touch(0o600)
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
