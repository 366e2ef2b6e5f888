"""`muxpilot doctor`: is everything in place, and what to do where it is not."""

from __future__ import annotations

import asyncio
import locale
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from muxpilot import __version__
from muxpilot.cli import doctor_policy
from muxpilot.cli.doctor_policy import Finding
from muxpilot.config import Settings
from muxpilot.errors import MuxpilotError, NoServer
from muxpilot.tmux import version
from muxpilot.tmux.servers import Servers

_PATIENCE_S, _FAR_PATIENCE_S = 2.0, 12.0
SHELLS = ("bash", "zsh", "fish", "dash", "busybox", "ksh", "mksh")


def run(settings: Settings, arguments: Namespace) -> int:
    in_force = doctor_policy.in_force(settings, arguments.config_fault)
    findings = [*_machine(settings), asyncio.run(_server(settings)), *_detection(), *in_force]
    for finding in findings:
        print(f"{'ok  ' if finding.is_good else 'FAIL'}  {finding.words}")
    return 0 if all(finding.is_good for finding in findings) else 1


def _machine(settings: Settings) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(is_good=True, words=f"muxpilot {__version__} on Python {python}")
    try:
        yield Finding(is_good=True, words=f"{version.installed()} at {shutil.which('tmux')}")
    except MuxpilotError as error:
        if settings.ssh is None:
            yield Finding(is_good=False, words=str(error))
        else:
            yield Finding(is_good=True, words=f"{error.what} The one on the other host is used.")
    encoding = locale.getpreferredencoding(do_setlocale=False)
    yield Finding(is_good=True, words=f"locale encoding {encoding}; tmux is always asked for UTF-8")


async def _server(settings: Settings) -> Finding:
    servers = Servers(settings.socket, ssh=settings.ssh, ssh_given_by=settings.origin.of("ssh.remote"))
    tmux, entry = servers.default, servers.entry(None)
    where = f"{entry.path or 'the default socket'} by ssh {entry.ssh}" if entry.ssh else entry.path
    try:
        async with asyncio.timeout(_FAR_PATIENCE_S if tmux.is_far else _PATIENCE_S):
            count = len(await tmux.sessions.list())
        noun = "session" if count == 1 else "sessions"
        return Finding(is_good=True, words=f"tmux server on {where}: {count} {noun}")
    except NoServer:
        return Finding(is_good=True, words=f"no tmux server on {where}; the first session starts one")
    except MuxpilotError as error:
        return Finding(is_good=False, words=f"tmux server on {where}: {error}")
    except TimeoutError:
        return Finding(
            is_good=False,
            words=f"tmux server on {where} does not answer. Is it stopped? Try kill -CONT.",
        )
    finally:
        await servers.close()


def _detection() -> Iterator[Finding]:
    shells = [name for name in SHELLS if shutil.which(name)]
    yield Finding(is_good=True, words=f"shells on this machine: {', '.join(shells) or 'none on the PATH'}")
    if Path("/proc/self/syscall").exists():
        yield Finding(is_good=True, words="what programs wait for can be read from /proc")
    else:
        yield Finding(
            is_good=True, words="no /proc here: what programs wait for is judged by the terminal alone"
        )
