"""`muxpilot sandbox`: the server and its tmux inside bubblewrap, with one folder to write in."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import muxpilot
from muxpilot.config import Settings
from muxpilot.errors import BadInput, Unavailable
from muxpilot.tmux import version

INSIDE = "/workspace"
_CONFIG = "/run/muxpilot/config.toml"

# Of /etc only what programs need to start and to know names; nothing secret.
_ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "passwd", "group", "nsswitch.conf"),
    *("localtime", "terminfo", "profile", "profile.d", "bash.bashrc", "zsh", "shells", "inputrc", "services"),
    *("hosts", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "crypto-policies"),
)
_ETC_OF_NET = ("resolv.conf", "gai.conf", "protocols")
_SYSTEM = ("/usr", "/opt", "/nix/store")
_MAYBE_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_KEPT = ("TERM", "LANG", "TZ", "NO_COLOR", "TMUX_MCP_SCOPE", "TMUX_MCP_TOOLS")

_NO_NAMESPACES = (
    "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0), run it outside the sandbox or container around us, "
    "or use the Containerfile."
)
_NOT_YOURS = (
    "The workspace is another user's, and inside not even root has rights over it: run it as its owner."
)
_NO_SOCKETS = (
    "Allow unix sockets in its settings (Anthropic's sandbox-runtime: network.allowAllUnixSockets = true), "
    "or run it outside."
)


def run(settings: Settings, arguments: Namespace) -> int:
    version.installed()
    workspace = _workspace(arguments.workspace)
    argv = [*_bubblewrap(), *_walls(workspace, net=arguments.net), *_settings(settings, arguments, workspace)]
    argv += ["--remount-ro", "/"]  # last: what is bound needs a place there
    server = [sys.executable, "-P", "-m", "muxpilot", *_scope(arguments), *arguments.server]
    _probe(argv)
    sys.stdout.flush()
    os.execv(argv[0], [*argv, "--", *server])


def _workspace(folder: str) -> Path:
    path = Path(folder).expanduser().resolve()
    if not folder or not path.is_dir():  # an empty path would be the current folder
        raise BadInput(f"The workspace {folder!r} is not a folder.", "Give a folder that exists.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise BadInput(f"The workspace {folder!r} cannot be read by you.", "Give a folder that is yours.")
    home = Path.home().resolve()
    if path == home or path in home.parents:
        raise BadInput(
            f"The workspace {path} holds your home folder.",
            "Give a folder below it: all of it would be shown.",
        )
    return path


def _bubblewrap() -> list[str]:
    found = shutil.which("bwrap")
    if found is None:
        raise Unavailable(
            "bubblewrap (bwrap) is not installed.",
            "Install the package bubblewrap; where there is none, use the Containerfile.",
        )
    return [found, "--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL"]


def _walls(workspace: Path, *, net: bool) -> Iterator[str]:
    """Everything that is there inside; a folder that is bound twice is what was bound last."""
    if net:
        yield "--share-net"
    for path in _SYSTEM:
        yield from ("--ro-bind-try", path, path)
    for path in _MAYBE_LINKS:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        else:
            yield from ("--ro-bind-try", path, path)
    for name in (*_ETC, *(_ETC_OF_NET if net else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run")
    for path in _program():
        yield from ("--ro-bind", path, path)
    yield from ("--tmpfs", "/home/agent", "--bind", str(workspace), INSIDE, "--chdir", INSIDE)


def _program() -> list[str]:
    """Where Python and muxpilot are, as far as that is not the system: shown, and not to be changed."""
    package, libraries = _packages()
    paths = {sys.prefix, sys.base_prefix, os.path.join(package, "muxpilot"), libraries}
    found = sorted(path for path in paths if os.path.isdir(path) and not _is_system(path))
    home = Path.home().resolve()
    for path in found:
        if Path(path).resolve() in (home, *home.parents):
            raise BadInput(
                f"Python is installed in {path}, which holds your home folder.",
                "Install muxpilot into a virtual environment and run it from there.",
            )
    return [path for path in found if not any(path.startswith(f"{other}/") for other in found)]


def _packages() -> tuple[str, str]:
    """The folders that hold muxpilot and what it needs: also where nobody would look without our HOME."""
    sdk = importlib.util.find_spec("mcp")
    if sdk is None or sdk.origin is None:
        raise Unavailable("The MCP SDK is not installed.", "Install muxpilot with what it needs.")
    here = Path(muxpilot.__file__).resolve()
    return str(here.parents[1]), str(Path(sdk.origin).resolve().parents[1])


def _is_system(path: str) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in (*_SYSTEM, *_MAYBE_LINKS))


def _settings(settings: Settings, arguments: Namespace, workspace: Path) -> Iterator[str]:
    """The environment inside: none of ours but what the server reads and no path stands in."""
    shell = next((path for path in ("/bin/bash", "/bin/sh") if os.path.exists(path)), "/bin/sh")
    variables = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    variables = {"LANG": "C.UTF-8", "TERM": "screen-256color"} | variables
    variables |= {"HOME": "/home/agent", "USER": "agent", "SHELL": shell, "TMUX_TMPDIR": "/tmp"}
    variables["PYTHONPATH"] = ":".join(dict.fromkeys(_packages()))
    variables["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    for name, given in (
        ("TMUX_DEBUG_AUDIT", arguments.audit),
        ("TMUX_DEBUG_AUDIT_FULL", arguments.audit_full),
    ):
        path = given or os.environ.get(name)
        if path:
            variables[name] = inside(path, workspace)
    if settings.origin.path:
        yield from ("--ro-bind", os.path.realpath(settings.origin.path), _CONFIG)
        variables["TMUX_MCP_CONFIG"] = _CONFIG
    tmux = shutil.which("tmux") or "tmux"
    if not _is_system(tmux):
        yield from ("--ro-bind", tmux, tmux)
        variables["PATH"] += f":{os.path.dirname(tmux)}"
    yield "--clearenv"
    for name, value in variables.items():
        yield from ("--setenv", name, value)


def inside(path: str, workspace: Path) -> str:
    """A path in the workspace as it is called inside: relative, below /workspace, or as it is outside."""
    outside = Path(os.path.normpath(Path(path).expanduser()))
    if outside.is_relative_to(INSIDE) and not outside.is_relative_to(workspace):
        outside = outside.relative_to(INSIDE)
    place = Path(os.path.normpath(workspace / outside))
    if not place.is_relative_to(workspace):
        place = Path(os.path.realpath(place))  # a link may lead there
    if not place.is_relative_to(workspace) or place == workspace:
        raise BadInput(f"The path {path!r} is not in the workspace.", "Nothing else can be written inside.")
    return str(INSIDE / place.relative_to(workspace))


def _scope(arguments: Namespace) -> list[str]:
    for name in ("socket", "ssh", "http", "http_token_file", "channel"):
        if getattr(arguments, name, None):
            flag = f"--{name.replace('_', '-')}"
            raise BadInput(
                f"{flag} stands before the --.", f"Give it to the server: muxpilot sandbox -- {flag} …"
            )
    return ["--scope", arguments.scope] if arguments.scope else []


def _probe(argv: list[str]) -> None:
    """Whether it can be done at all, while we can still say why not."""
    try:
        socket.socket(socket.AF_UNIX).close()
    except PermissionError:
        raise Unavailable(
            "The sandbox around us forbids unix sockets, which tmux needs.", _NO_SOCKETS
        ) from None
    try:
        done = subprocess.run([*argv, "--", "true"], capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable("bubblewrap does not come back.", "Look at what holds it up.") from None
    if done.returncode:
        words = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        is_forbidden = any(
            word in words for word in ("namespace", "uid map", "setns", "ermission", "permitted")
        )
        hint = _NO_NAMESPACES if is_forbidden else "See whether all of it can be read."
        raise Unavailable(
            f"bubblewrap cannot start: {words}.".replace("..", "."),
            _NOT_YOURS if f"{INSIDE}: Permission denied" in words else hint,
        )
