"""Ports that many watches wait for: one read of the kernel's table is enough for all."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from muxpilot.processes.ports import ListeningPorts
from muxpilot.watch.probes import Probes
from muxpilot.watch.urls import HttpAddress

LIMIT_S = 10.0


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Yield a socket with a port that is not listened on yet."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


async def test_the_kernel_is_asked_once_for_all_who_wait(listener: socket.socket) -> None:
    ports, port = ListeningPorts(fresh_s=0.04), port_of(listener)
    tasks = [asyncio.create_task(Probes(ports=ports).wait_for_port(port)) for _ in range(50)]
    done, _ = await asyncio.wait(tasks, timeout=1.5)
    assert not done
    assert 1 <= ports.reads < 150  # alone, each would look ten times
    listener.listen()
    async with asyncio.timeout(LIMIT_S):
        assert {await task for task in tasks} == {f"Port {port} is listened on"}


class NeverConnecting(Probes):
    """Probes that fail the test if they open a connection."""

    async def _accepts_connection(self, port: int) -> bool:
        raise AssertionError(port)


async def test_no_connection_is_tried_where_the_kernel_tells(listener: socket.socket) -> None:
    task = asyncio.create_task(NeverConnecting().wait_for_port(port_of(listener)))
    done, _ = await asyncio.wait([task], timeout=0.3)
    assert not done
    listener.listen()
    await asyncio.wait_for(task, LIMIT_S)


async def test_a_port_is_connected_to_where_the_kernel_has_no_tables(listener: socket.socket) -> None:
    listener.listen()
    ports = ListeningPorts(fresh_s=0.04, tables=(Path("/no/such/table"),))
    assert "is listened on" in await asyncio.wait_for(
        Probes(ports=ports).wait_for_port(port_of(listener)), LIMIT_S
    )


@pytest.fixture
def secure_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve by https with a certificate that this machine trusts. Yield the port."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *names], check=True, capture_output=True, timeout=LIMIT_S)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), NotFound) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


class NotFound(BaseHTTPRequestHandler):
    """Answers every request with 404, and logs nothing."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


async def test_an_address_is_asked_by_https(secure_port: int) -> None:
    address = HttpAddress(("localhost",), secure_port, True, f"localhost:{secure_port}", "/path")
    found = await asyncio.wait_for(Probes().wait_for_answer(address), LIMIT_S)
    assert found == "Answered with status 404"


async def test_a_server_whose_certificate_is_not_trusted_has_not_answered(
    secure_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/dev/null")
    address = HttpAddress(("localhost",), secure_port, True, f"localhost:{secure_port}", "/")
    assert await Probes()._check_answer(address) is None
