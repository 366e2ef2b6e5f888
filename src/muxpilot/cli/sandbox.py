"""`muxpilot sandbox`: run the server and its tmux inside bubblewrap, with one folder to write in."""

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
from muxpilot.config.environment import variable
from muxpilot.config.model import Settings
from muxpilot.errors import BadInput, Unavailable
from muxpilot.tmux import version

WORKSPACE_INSIDE = "/workspace"
_CONFIG_INSIDE = "/run/muxpilot/config.toml"

# The parts of /etc that programs need to start and to look up names. None of them is secret.
_ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "passwd", "group", "nsswitch.conf"),
    *("localtime", "terminfo", "profile", "profile.d", "bash.bashrc", "zsh", "shells", "inputrc", "services"),
    *("hosts", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "crypto-policies"),
)
_ETC_FOR_NETWORK = ("resolv.conf", "gai.conf", "protocols")
_SYSTEM = ("/usr", "/opt", "/nix/store")
_MAYBE_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_KEPT_VARIABLES = ("TERM", "LANG", "TZ", "NO_COLOR", "TMUX_MCP_SCOPE", "TMUX_MCP_TOOLS", "MUXPILOT_LOG")

_NO_NAMESPACES = (
    "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0), run muxpilot outside the sandbox or container that it "
    "runs in, or use the Containerfile."
)
_NOT_THE_OWNER = (
    "The workspace belongs to another user, and inside the sandbox not even root can open it. "
    "Run muxpilot as the owner."
)
_NO_SOCKETS = (
    "Allow unix sockets in its settings (Anthropic's sandbox-runtime: network.allowAllUnixSockets = true), "
    "or run muxpilot outside."
)


def run(settings: Settings, arguments: Namespace) -> int:
    """Check that bubblewrap can start, then replace this process by the server inside it."""
    version.require_installed()
    workspace = _resolve_workspace(arguments.folder)
    argv = [
        *_bubblewrap_command(),
        *_mount_flags(workspace, net=arguments.net),
        *_environment_flags(settings, arguments, workspace),
    ]
    argv += ["--remount-ro", "/"]  # last: the mounts before it need to create their mount points
    server = [sys.executable, "-P", "-m", "muxpilot", *_server_flags(arguments), *arguments.server]
    _check_that_it_starts(argv)
    sys.stdout.flush()
    os.execv(argv[0], [*argv, "--", *server])


def _resolve_workspace(folder: str) -> Path:
    path = Path(folder).expanduser().resolve()
    if not folder or not path.is_dir():  # Path("") would mean the current folder
        raise BadInput(f"The workspace {folder!r} is not a folder.", "Give a folder that exists.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise BadInput(f"You cannot read the workspace {folder!r}.", "Give a folder that you can read.")
    home = Path.home().resolve()
    if path == home or path in home.parents:
        raise BadInput(
            f"The workspace {path} contains your home folder.",
            "Give a folder below it: agents would see all of it.",
        )
    return path


def _bubblewrap_command() -> list[str]:
    found = shutil.which("bwrap")
    if found is None:
        raise Unavailable(
            "bubblewrap (bwrap) is not installed.",
            "Install the package bubblewrap, or use the Containerfile.",
        )
    return [found, "--die-with-parent", "--new-session", "--unshare-all", "--cap-drop", "ALL"]


def _mount_flags(workspace: Path, *, net: bool) -> Iterator[str]:
    """Yield the flags for everything that exists inside. A later mount covers an earlier one."""
    if net:
        yield "--share-net"
    for path in _SYSTEM:
        yield from ("--ro-bind-try", path, path)
    for path in _MAYBE_LINKS:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        else:
            yield from ("--ro-bind-try", path, path)
    for name in (*_ETC, *(_ETC_FOR_NETWORK if net else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run")
    for path in _program_folders():
        yield from ("--ro-bind", path, path)
    yield from (
        "--tmpfs",
        "/home/agent",
        "--bind",
        str(workspace),
        WORKSPACE_INSIDE,
        "--chdir",
        WORKSPACE_INSIDE,
    )


def _program_folders() -> list[str]:
    """Return the folders of Python and muxpilot outside the system's; they are mounted read-only."""
    package, libraries = _package_folders()
    paths = {sys.prefix, sys.base_prefix, os.path.join(package, "muxpilot"), libraries}
    found = sorted(path for path in paths if os.path.isdir(path) and not _is_system(path))
    home = Path.home().resolve()
    for path in found:
        if Path(path).resolve() in (home, *home.parents):
            raise BadInput(
                f"Python is installed in {path}, which contains your home folder.",
                "Install muxpilot into a virtual environment and run it from there.",
            )
    return [path for path in found if not any(path.startswith(f"{other}/") for other in found)]


def _package_folders() -> tuple[str, str]:
    """Return the folders of muxpilot and its libraries, also those that Python finds only through HOME."""
    library = importlib.util.find_spec("re2")  # one that every installation has
    if library is None or library.origin is None:
        raise Unavailable("google-re2 is not installed.", "Install muxpilot with its dependencies.")
    here = Path(muxpilot.__file__).resolve()
    return str(here.parents[1]), str(Path(library.origin).resolve().parents[1])


def _is_system(path: str) -> bool:
    return any(f"{path}/".startswith(f"{place}/") for place in (*_SYSTEM, *_MAYBE_LINKS))


def _environment_flags(settings: Settings, arguments: Namespace, workspace: Path) -> Iterator[str]:
    """Yield the flags for the environment inside: variables that the server reads, none with a path."""
    shell = next((path for path in ("/bin/bash", "/bin/sh") if os.path.exists(path)), "/bin/sh")
    variables = {name: variable(name) for name in _KEPT_VARIABLES if variable(name)}
    variables = {"LANG": "C.UTF-8", "TERM": "screen-256color"} | variables
    variables |= {"HOME": "/home/agent", "USER": "agent", "SHELL": shell, "TMUX_TMPDIR": "/tmp"}
    variables["PYTHONPATH"] = ":".join(dict.fromkeys(_package_folders()))
    variables["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    for name, given in (
        ("TMUX_DEBUG_AUDIT", arguments.audit),
        ("TMUX_DEBUG_AUDIT_FULL", arguments.audit_full),
    ):
        path = given or variable(name)
        if path:
            variables[name] = path_inside(path, workspace)
    if settings.origin.path:
        yield from ("--ro-bind", os.path.realpath(settings.origin.path), _CONFIG_INSIDE)
        variables["TMUX_MCP_CONFIG"] = _CONFIG_INSIDE
    tmux = shutil.which("tmux") or "tmux"
    if not _is_system(tmux):
        yield from ("--ro-bind", tmux, tmux)
        variables["PATH"] += f":{os.path.dirname(tmux)}"
    yield "--clearenv"
    for name, value in variables.items():
        yield from ("--setenv", name, value)


def path_inside(path: str, workspace: Path) -> str:
    """Return the path inside for one in the workspace: relative, below /workspace, or absolute outside."""
    outside = Path(os.path.normpath(Path(path).expanduser()))
    if outside.is_relative_to(WORKSPACE_INSIDE) and not outside.is_relative_to(workspace):
        outside = outside.relative_to(WORKSPACE_INSIDE)
    place = Path(os.path.normpath(workspace / outside))
    if not place.is_relative_to(workspace):
        place = Path(os.path.realpath(place))  # a symbolic link may lead into the workspace
    if not place.is_relative_to(workspace) or place == workspace:
        raise BadInput(
            f"The path {path!r} is not in the workspace.", "Only the workspace is writable inside."
        )
    return str(WORKSPACE_INSIDE / place.relative_to(workspace))


def _server_flags(arguments: Namespace) -> list[str]:
    for name in ("socket", "ssh", "exec_command", "http", "http_token_file", "http_workers", "channel"):
        if getattr(arguments, name, None):
            flag = f"--{name.removesuffix('_command').replace('_', '-')}"
            raise BadInput(
                f"{flag} is before the --.", f"Give it to the server: muxpilot sandbox -- {flag} …"
            )
    scope = ["--scope", arguments.scope] if arguments.scope else []
    workspace = ["--workspace", arguments.workspace] if arguments.workspace else []
    return [*scope, *workspace, *(["--log-level", arguments.log_level] if arguments.log_level else [])]


def _check_that_it_starts(argv: list[str]) -> None:
    """Start bubblewrap once, to report why it cannot start while this process can still do so."""
    try:
        socket.socket(socket.AF_UNIX).close()
    except PermissionError:
        raise Unavailable(
            "The sandbox that muxpilot runs in forbids unix sockets, which tmux needs.", _NO_SOCKETS
        ) from None
    try:
        done = subprocess.run([*argv, "--", "true"], capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable("bubblewrap does not return.", "Run bwrap by hand to see why.") from None
    if done.returncode:
        words = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        is_forbidden = any(
            word in words for word in ("namespace", "uid map", "setns", "ermission", "permitted")
        )
        hint = _NO_NAMESPACES if is_forbidden else "Check that all mounted folders can be read."
        raise Unavailable(
            f"bubblewrap cannot start: {words}.".replace("..", "."),
            _NOT_THE_OWNER if f"{WORKSPACE_INSIDE}: Permission denied" in words else hint,
        )
