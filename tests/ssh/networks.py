"""Hosts with their own network and name, in namespaces of the kernel, and links that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from tests.rigs.waiting import LIMIT_S
from tests.ssh.conftest import RemoteHost, run_host

# 198.18.0.0/15 is reserved for tests of networks. Each link takes four addresses of it.
_NETWORK, _LINKS = 0xC6120000, 1 << 15


@dataclass(frozen=True)
class Link:
    """A link from here into a namespace. While it is cut, packets are lost without notice."""

    name: str
    here: str
    there: str

    def create(self) -> None:
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.here}/30", "dev", self.name)
        ip("link", "set", self.name, "up")
        ip("-n", self.name, "addr", "add", f"{self.there}/30", "dev", "eth0")
        ip("-n", self.name, "link", "set", "lo", "up")
        self.restore()

    def cut(self) -> None:
        ip("-n", self.name, "link", "set", "eth0", "down")

    def restore(self) -> None:
        ip("-n", self.name, "link", "set", "eth0", "up")

    def remove(self) -> None:
        for words in (("link", "del", self.name), ("netns", "del", self.name)):
            subprocess.run(["ip", *words], capture_output=True, timeout=LIMIT_S, check=False)


@dataclass(frozen=True)
class Host:
    """A host in a network namespace."""

    name: str
    far: RemoteHost
    link: Link


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, timeout=LIMIT_S, check=True)


@contextmanager
def run_hosts(*names: str) -> Iterator[list[Host]]:
    if shutil.which("ip") is None or os.getuid() != 0:
        pytest.skip("network namespaces need root and iproute2")
    with ExitStack() as stack:
        yield [_run_one_host(stack, name, number) for number, name in enumerate(names)]


def _run_one_host(stack: ExitStack, name: str, number: int) -> Host:
    at = _NETWORK + 4 * ((16 * os.getpid() + number) % _LINKS)
    link = Link(f"mx{os.getpid()}x{number}", _dotted(at + 1), _dotted(at + 2))
    stack.callback(link.remove)
    try:
        link.create()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode(errors='replace').strip()}")
    named = ("unshare", "--uts", "sh", "-c", f'hostname {name} && exec "$0" "$@"')
    inside = ("ip", "netns", "exec", link.name, *named)
    return Host(name, stack.enter_context(run_host(address=link.there, inside=inside)), link)


def _dotted(address: int) -> str:
    return ".".join(str(byte) for byte in address.to_bytes(4, "big"))
