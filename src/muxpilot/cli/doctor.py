"""`muxpilot doctor`: check this machine and the configuration, and say what to fix."""

from __future__ import annotations

import asyncio
import locale
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator

from muxpilot import __version__
from muxpilot.app import build_addresses
from muxpilot.cli import doctor_policy
from muxpilot.cli.doctor_policy import Finding
from muxpilot.config.model import MIB, Settings
from muxpilot.errors import BadInput, MuxpilotError, NoServer
from muxpilot.journal.folders import first_usable
from muxpilot.journal.journals import root_candidates
from muxpilot.processes.proc import shows_system_calls
from muxpilot.shell_table.rows import INSTALLED_NAMES
from muxpilot.tmux import version
from muxpilot.tmux.hosts.endpoint import muxpilot_folder
from muxpilot.tmux.servers import DEFAULT_SERVER, TmuxServers

_PATIENCE_S, _FAR_PATIENCE_S = 2.0, 12.0


def run(settings: Settings, arguments: Namespace) -> int:
    """Print one line for each check. Return 1 if one of them failed."""
    policy = doctor_policy.check_policy(settings, arguments.config_fault)
    findings = [
        *_check_machine(settings),
        *asyncio.run(_check_servers(settings)),
        *_check_detection(),
        _check_kept_output(settings),
        *policy,
    ]
    for finding in findings:
        print(f"{'ok  ' if finding.is_good else 'FAIL'}  {finding.text}")
    return 0 if all(finding.is_good for finding in findings) else 1


def _check_machine(settings: Settings) -> Iterator[Finding]:
    import platform  # its import takes longer than the rest of most commands

    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(is_good=True, text=f"muxpilot {__version__} on Python {python}, {platform.platform()}")
    try:
        yield Finding(is_good=True, text=f"{version.require_installed()} at {shutil.which('tmux')}")
    except MuxpilotError as error:
        if not settings.is_far:
            yield Finding(is_good=False, text=str(error))
        else:
            yield Finding(is_good=True, text=f"{error.what} The tmux of the other host is used.")
    encoding = locale.getpreferredencoding(do_setlocale=False)
    yield Finding(is_good=True, text=f"locale encoding {encoding}; muxpilot always uses UTF-8 with tmux")


async def _check_servers(settings: Settings) -> list[Finding]:
    """Check the default server and those of the configuration, side by side."""
    try:
        servers = TmuxServers(
            settings.socket,
            ssh=settings.ssh,
            exec_command=settings.exec_command,
            given_by=settings.origin.route_sources(),
            addresses=build_addresses(settings),
            locate_key=settings.origin.locate,
        )
    except BadInput as error:
        return [Finding(is_good=False, text=str(error))]
    try:
        names = [name for name, _ in servers.visible_addresses()]
        return await asyncio.gather(*(_check_server(servers, name) for name in names))
    finally:
        await servers.close()


async def _check_server(servers: TmuxServers, name: str) -> Finding:
    """Check that a tmux server can be reached. A named server has its name in the line."""
    tmux, where = servers.get(name), servers.resolve_address(name).words
    label = "" if name == DEFAULT_SERVER else f"{name}: "
    try:
        async with asyncio.timeout(_FAR_PATIENCE_S if tmux.is_remote else _PATIENCE_S):
            count = len(await tmux.sessions.list())
        noun = "session" if count == 1 else "sessions"
        return Finding(is_good=True, text=f"{label}tmux server on {where}: {count} {noun}")
    except NoServer:
        text = f"{label}no tmux server runs on {where}; creating a session starts one"
        return Finding(is_good=True, text=text)
    except MuxpilotError as error:
        return Finding(is_good=False, text=f"{label}tmux server on {where}: {error}")
    except TimeoutError:
        advice = "If it is stopped, continue it with kill -CONT."
        return Finding(is_good=False, text=f"{label}tmux server on {where} does not answer. {advice}")


def _check_detection() -> Iterator[Finding]:
    shells = [name for name in INSTALLED_NAMES if shutil.which(name)]
    yield Finding(is_good=True, text=f"shells on this machine: {', '.join(shells) or 'none on the PATH'}")
    if shows_system_calls():
        yield Finding(is_good=True, text="/proc is available: muxpilot can see what a program waits for")
    else:
        yield Finding(
            is_good=True, text="no /proc: muxpilot judges what a program waits for by its terminal alone"
        )


def _check_kept_output(settings: Settings) -> Finding:
    """Check that there is room for what panes print."""
    if not settings.tracking.journal:
        return Finding(is_good=True, text="output of panes is kept in memory only: tracking.journal is false")
    root = first_usable(root_candidates()) or muxpilot_folder()
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize
    text = f"output of panes is kept in {root}: {free // MIB} MiB free there"
    if free < MIB:
        return Finding(is_good=False, text=f"{text}. Make room: other muxpilots do not know your commands.")
    most = settings.tracking.journal_total_bytes
    return Finding(is_good=True, text=text if free >= most else f"{text}, and up to {most // MIB} MiB wanted")
