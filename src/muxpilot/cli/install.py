"""`muxpilot install CLIENT`: enter ourselves into a client's configuration, and touch nothing else in it."""

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

from muxpilot.config import Settings
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput
from muxpilot.records import record

NAME = "muxpilot"


@record
class Client:
    """Where a client keeps its servers: the file, the key in it, and how an entry looks."""

    path: Callable[[], Path]
    key: str
    entry: Callable[[list[str]], dict[str, Any]]


def _stdio(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


CLIENTS = {
    "claude": Client(lambda: Path(".mcp.json"), "mcpServers", lambda c: {"type": "stdio", **_stdio(c)}),
    "codex": Client(lambda: _codex_home() / "config.toml", "mcp_servers", _stdio),
    "cursor": Client(lambda: Path(".cursor/mcp.json"), "mcpServers", _stdio),
    "vscode": Client(lambda: Path(".vscode/mcp.json"), "servers", lambda c: {"type": "stdio", **_stdio(c)}),
    "opencode": Client(
        lambda: Path("opencode.json"), "mcp", lambda c: {"type": "local", "command": c, "enabled": True}
    ),
}


def run(settings: Settings, arguments: Namespace) -> int:
    client = CLIENTS[arguments.client]
    path, entry = client.path().resolve(), client.entry(_command(settings))  # a link stays a link
    write = _toml if path.suffix == ".toml" else _json
    text = write(path, client.key, entry)
    if arguments.only_print:
        print(f"# {path}", file=sys.stderr)
        print(text, end="")
        return 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, text)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", "Nothing was changed.") from None
    print(f"muxpilot is entered in {path}. Start {arguments.client} anew to use it.")
    return 0


def _command(settings: Settings) -> list[str]:
    """As short as it will be found again: by name where that is on the PATH."""
    start = [NAME] if shutil.which(NAME) else [sys.executable, "-m", NAME]
    scope = ["--scope", settings.scope.value] if settings.scope is not Scope.AGENTIC else []
    socket = ["--socket", os.path.abspath(settings.socket)] if settings.socket else []
    if settings.ssh:  # the socket is a path there
        socket = [f"--ssh={settings.ssh}", *(("--socket", settings.socket) if settings.socket else ())]
    shell = ["--shell-type", settings.shell_type] if settings.shell_type != "auto" else []
    files = {
        "--config": settings.origin.path,
        "--audit": settings.audit.path,
        "--audit-full": settings.audit.full,
    }
    given = [word for flag, path in files.items() if path for word in (flag, os.path.abspath(path))]
    return [*start, *scope, *socket, *shell, *given, *(("--channel",) if settings.channel else ())]


def _codex_home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}.", "Mend it first; nothing was written.") from None


def _json(path: Path, key: str, entry: dict[str, Any]) -> str:
    try:
        content = json.loads(_text(path) or "{}")
    except ValueError as error:
        raise BadInput(f"{path} is not JSON: {error}.", "Mend it first; nothing was written.") from None
    if not isinstance(content, dict) or not isinstance(content.setdefault(key, {}), dict):
        raise BadInput(f"{path} has no object {key!r}.", "Mend it first; nothing was written.")
    content[key][NAME] = entry
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _toml(path: Path, key: str, entry: dict[str, Any]) -> str:
    """What is there stays as it is, comments included; ours is added at the end."""
    text = _text(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not TOML: {error}.", "Mend it first; nothing was written.") from None
    servers = content.get(key, {})
    if not isinstance(servers, dict):
        raise BadInput(f"{path} has no table {key!r}.", "Mend it first; nothing was written.")
    if servers.get(NAME) == entry:
        return text
    if NAME in servers:
        raise BadInput(f"{path} has another [{key}.{NAME}] already.", "Remove it first to enter it anew.")
    lines = [f"[{key}.{NAME}]", *(f"{name} = {_literal(value)}" for name, value in entry.items())]
    added = text + _gap(text) + "\n".join(lines) + "\n"
    try:
        tomllib.loads(added)
    except tomllib.TOMLDecodeError:
        raise BadInput(
            f"{path} keeps {key!r} in a form that cannot be added to.", f"Make it a table: [{key}.NAME]."
        ) from None
    return added


def _gap(text: str) -> str:
    """One blank line after what is there."""
    return "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _replace(path: Path, text: str) -> None:
    """Whole or not at all, and open to nobody else than before."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.touch(0o600)
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
