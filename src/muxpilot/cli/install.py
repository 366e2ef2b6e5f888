"""`muxpilot install CLIENT`: add muxpilot to a client's configuration, and change nothing else in it."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from muxpilot.config.environment import config_folder
from muxpilot.config.model import Settings
from muxpilot.config.presets import PRESETS
from muxpilot.config.scope import Scope
from muxpilot.errors import BadInput
from muxpilot.mcp_clients.entries import ForeignEntry, add_entry, remove_entry
from muxpilot.mcp_clients.program import command_to_start
from muxpilot.mcp_clients.table import CLIENTS, ClientConfig

_UNTOUCHED = "Nothing was changed."
BACKUP_SUFFIX = ".before-muxpilot"


def run(settings: Settings, arguments: Namespace) -> int:
    """Write the client's configuration, or take muxpilot out of it. With --print only show the result."""
    client = CLIENTS[arguments.client]
    is_user = arguments.user or not client.project
    if arguments.uninstall:
        return _uninstall(client, arguments, is_user=is_user)
    path = _file_to_change(client, is_user=is_user)
    program = command_to_start(is_absolute=is_user and client.is_desktop)
    preset = _preset_file(settings, arguments)
    flags = [*_server_flags(settings, arguments), *(("--config", str(preset)) if preset else ())]
    entry = client.entry_for([*program, *flags], is_user=is_user)
    before = _read_text(path)
    after = _edit(path, lambda: add_entry(before, path.suffix, client.section, entry))
    if arguments.only_print:
        return _print_file(path, after)
    if preset is not None:
        _write_preset(preset, arguments.preset)
    if after == before:
        print(f"{path} has muxpilot already. {_UNTOUCHED}")
    else:
        _back_up(path)
        _write(path, after)
        print(f"Added muxpilot to {path}. Restart {client.title} to use it.")
    approval = client.user_approval if is_user else client.project_approval
    if approval:
        print(approval)
    return 0


def _uninstall(client: ClientConfig, arguments: Namespace, *, is_user: bool) -> int:
    """Take muxpilot out of every file that the client would read."""
    files = client.files(is_user=is_user)
    changed = [path for path in files if _remove_from(path, client, only_print=arguments.only_print)]
    if not changed and not arguments.only_print:
        print(f"There is no muxpilot in {' or '.join(map(str, files))}. {_UNTOUCHED}")
    return 0


def _remove_from(path: Path, client: ClientConfig, *, only_print: bool) -> bool:
    """Take muxpilot out of a file, or only print what would be left. Return whether it was in there."""
    before = _read_text(path)
    if not before:
        return False
    after = _edit(path, lambda: remove_entry(before, path.suffix, client.section))
    if only_print:
        _print_file(path, after)
    elif after != before:
        if after:
            _back_up(path)
        _write(path, after)
        print(f"Removed muxpilot from {path}." if after else f"Removed {path}: it had nothing else.")
    return after != before


def _file_to_change(client: ClientConfig, *, is_user: bool) -> Path:
    """Return the file that is there. Of two, clients prefer the one that may have comments, `.jsonc`."""
    files = client.files(is_user=is_user)
    found = [path for path in files if path.exists()]
    return max(found, key=lambda path: len(path.suffix), default=files[0])


def _print_file(path: Path, text: str) -> int:
    print(f"# {path}", file=sys.stderr)
    print(text, end="")
    return 0


def _preset_file(settings: Settings, arguments: Namespace) -> Path | None:
    """Return the configuration file of the preset that was asked for, or None."""
    if arguments.preset is None:
        return None
    if settings.origin.path:
        raise BadInput("--preset and --config exclude each other.", "Set security.preset in the file.")
    return Path(config_folder()) / f"{arguments.preset}.toml"


def _write_preset(path: Path, name: str) -> None:
    """Write the configuration of a preset. A file that is there stays: the person may have changed it."""
    if path.exists():
        print(f"{path} is there already, and stays as it is.")
        return
    meaning = "".join(f"# - {words}\n" for words in PRESETS[name].meaning)
    _write(path, f'# The preset means:\n{meaning}[security]\npreset = "{name}"\n')
    print(f"Wrote {path} with the preset {name}.")


def _server_flags(settings: Settings, arguments: Namespace) -> list[str]:
    """Return the flags of the server: those that this command was given."""
    scope = ["--scope", settings.scope.value] if settings.scope is not Scope.AGENTIC else []
    socket = ["--socket", os.path.abspath(settings.socket)] if settings.socket else []
    routes = {"--ssh": settings.ssh, "--exec": settings.exec_command}
    for flag, route in routes.items():
        if route:  # the socket is a path on the other host
            socket = [f"{flag}={route}", *(("--socket", settings.socket) if settings.socket else ())]
    shell = ["--shell-type", settings.shell_type] if settings.shell_type != "auto" else []
    files = {
        "--config": settings.origin.path,
        "--audit": settings.audit.path,
        "--audit-full": settings.audit.full,
    }
    given = [word for flag, path in files.items() if path for word in (flag, os.path.abspath(path))]
    given += ["--workspace", arguments.workspace] if arguments.workspace else []
    given += ["--log-level", settings.log_level] if arguments.log_level else []
    return [*scope, *socket, *shell, *given, *(("--channel",) if settings.channel else ())]


def _read_text(path: Path) -> str:
    """Return a file with its line ends as they are, or an empty text where there is none."""
    try:
        return path.read_bytes().decode() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}.", "Fix it first; nothing was written.") from None


def _edit(path: Path, change: Callable[[], str]) -> str:
    try:
        return change()
    except ForeignEntry:
        raise BadInput(
            f"{path} has an entry 'muxpilot' that starts another program.",
            "Remove it first; `--uninstall` does that.",
        ) from None
    except ValueError as error:
        raise BadInput(f"{path} cannot be changed: {error}.", "Fix it first; nothing was written.") from None


def _write(path: Path, text: str) -> None:
    """Write a file, or remove it where nothing is left. A backup that is equal then is removed too."""
    backup = path.with_name(path.name + BACKUP_SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if text:
            _replace_file(path, text)
        else:
            path.unlink()
        if backup.exists() and backup.read_bytes() == text.encode():
            backup.unlink()
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.", _UNTOUCHED) from None


def _back_up(path: Path) -> None:
    """Copy a file that we have not changed before, with its permissions."""
    backup = path.with_name(path.name + BACKUP_SUFFIX)
    try:
        if path.exists() and not backup.exists():
            shutil.copy2(path, backup)
    except OSError as error:
        raise BadInput(f"{backup} cannot be written: {error.strerror}.", _UNTOUCHED) from None


def _replace_file(path: Path, text: str) -> None:
    """Replace a file atomically, and keep its permissions."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.touch(0o600)
        fresh.write_bytes(text.encode())
        fresh.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
