"""The introduction of a server, kept in a file, so that the next start can answer before it loads the engine.

The file's name is a digest of everything that the introduction follows from: the source files of muxpilot,
the scope, the channel, the configuration that closes tools, and the tmux program, whose version was checked.
A start with other settings, another version or a changed source file has another digest, and finds no file.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from muxpilot.config.environment import variable
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.protocol.messages import JsonText
from muxpilot.server.introduction import Introduction
from muxpilot.trace import area

_PACKAGE = Path(__file__).parents[1]
_LARGEST = 1 << 20

_trace = area("server")


def load_manifest(settings: Settings) -> Introduction | None:
    """Return the introduction for these settings, or None where there is none yet."""
    path = _path(settings)
    try:
        text = _read_private(path) if path is not None else None
        found = json.loads(text) if text is not None else None
        if isinstance(found, dict):
            _trace.debug("manifest found", path=path)
            return Introduction(found["description"], JsonText(found["tools"]))
    except (OSError, ValueError, KeyError) as error:
        _trace.debug("manifest not used", path=path, error=type(error).__name__)
    return None


def save_manifest(settings: Settings, introduction: Introduction) -> None:
    """Keep an introduction for the next start, in place of older ones of this scope."""
    path = _path(settings)
    if path is None:
        return
    text = json.dumps({"description": introduction.description, "tools": introduction.tools})
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.touch(mode=0o600)
        part.write_text(text)
        part.rename(path)
        _remove_others(path)
        _trace.debug("manifest saved", path=path)
    except OSError as error:  # a home that cannot be written costs only time at the start
        _trace.debug("manifest not saved", path=path, error=error.strerror)


def _path(settings: Settings) -> Path | None:
    """Return the file for these settings. None: the start has work to do before its first answer."""
    has_log = settings.audit.path or settings.audit.full
    if settings.scope in (Scope.DEBUG, Scope.CLASSIC) or has_log or settings.http is not None:
        return None
    folder = variable("XDG_CACHE_HOME") or (variable("HOME") and f"{variable('HOME')}/.cache")
    if not folder or not os.path.isabs(folder):
        return None
    try:
        digest = _digest(settings)
    except OSError:
        return None
    return Path(folder) / "muxpilot" / f"{settings.scope.value}-{digest}.json"


def _digest(settings: Settings) -> str:
    config = Path(settings.origin.path).read_bytes() if settings.origin.path else b""
    facts = [sys.version, variable("TMUX_MCP_TOOLS"), str(settings.channel), _tmux_facts(settings)]
    facts += _source_facts(str(_PACKAGE))
    digest = hashlib.blake2b("\0".join(facts).encode("utf-8", "surrogateescape"), digest_size=16)
    digest.update(config)
    return digest.hexdigest()


def _tmux_facts(settings: Settings) -> str:
    """Return the path, size and time of the tmux program. On another host, the tmux there counts.

    How the host is reached counts too: a fault in it must be told at the start.
    """
    if settings.is_far:
        return f"ssh {settings.ssh} exec {settings.exec_command}"
    for folder in variable("PATH").split(os.pathsep):
        path = os.path.join(folder, "tmux")
        if os.access(path, os.X_OK):
            return _file_facts(path, os.stat(path))
    raise FileNotFoundError


def _file_facts(path: str, facts: os.stat_result) -> str:
    return f"{path} {facts.st_size} {facts.st_mtime_ns}"


def _source_facts(folder: str) -> Iterator[str]:
    """Yield facts about each source file. That takes a millisecond."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.name.endswith(".py"):
                yield _file_facts(entry.path, entry.stat())
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _source_facts(entry.path)


def _read_private(path: Path) -> str | None:
    """Read a file that no other user could have written. None if there is no such file."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor) as file:
            facts = os.fstat(descriptor)
            is_ours = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid()
            if is_ours and not facts.st_mode & 0o022 and facts.st_size <= _LARGEST:
                return file.read()
    return None


def _remove_others(path: Path) -> None:
    """Remove the manifests of older versions. Those of other settings in this scope are made again."""
    scope = path.name.partition("-")[0]
    kept = sorted(path.parent.glob(f"{scope}-*.json"), key=lambda each: each.stat().st_mtime)[-4:]
    for old in path.parent.glob(f"{scope}-*.json"):
        if old not in kept:
            old.unlink(missing_ok=True)
