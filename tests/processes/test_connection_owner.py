"""The process at the other end of a connection, as the kernel knows it."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from muxpilot.processes.connection_owner import find_connection_owners


@pytest.mark.skipif(sys.platform != "linux", reason="the tables are Linux's")
def test_the_owner_of_a_connection_is_found_and_no_other() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            client_port = client.getsockname()[1]
            assert os.getpid() in (find_connection_owners(client_port, port) or [])
            assert find_connection_owners(port, port) is None, "there is no such connection"
            served, _ = server.accept()
        with served:  # the client has closed its end, and the kernel no longer knows whose it was
            assert find_connection_owners(client_port, port) is None
