"""The kernel's tables of TCP sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

from muxpilot.processes.ports import ListeningPorts, read_listening_ports


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000", {8080}),
        ("   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000", set()),
        ("   0: 00000000000000000000000000000000:0016 " + "0" * 32 + ":0000 0A 0:0", {22}),
    ],
)
def test_only_what_is_listened_on_is_listed(table: str, expected: set[int], tmp_path: Path) -> None:
    (tmp_path / "tcp").write_text(f"  sl  local_address rem_address   st tx_queue\n{table}\n")
    assert read_listening_ports((tmp_path / "tcp", tmp_path / "none")) == frozenset(expected)


def test_tables_that_cannot_be_read_are_not_an_empty_list(tmp_path: Path) -> None:
    assert read_listening_ports((tmp_path / "none",)) is None


def test_the_tables_are_read_again_when_they_are_old(tmp_path: Path) -> None:
    ports = ListeningPorts(fresh_s=60, tables=(tmp_path / "none",))
    assert [ports.read(), ports.read(), ports.reads] == [None, None, 1]
    ports = ListeningPorts(fresh_s=0, tables=(tmp_path / "none",))
    assert [ports.read(), ports.read(), ports.reads] == [None, None, 2]
