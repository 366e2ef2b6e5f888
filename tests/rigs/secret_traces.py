"""Where a secret could be left behind: files, the arguments and environments of processes, tmux's log."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.rigs.wire import Place


def find_traces(secret: str, *folders: Path) -> list[str]:
    """Return the files below these folders, and the processes, that hold a secret."""
    needle, found = secret.encode(), []
    for folder in folders:
        for path in list_files(folder):
            with suppress(OSError):
                if path.is_file() and needle in path.read_bytes():
                    found.append(str(path))
    return [*found, *find_in_processes(needle)]


def list_files(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder. Others may remove folders meanwhile, where `Path.rglob` fails."""
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)


def find_in_processes(needle: bytes) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                if needle in (process / name).read_bytes():
                    found.append(f"{process / name}: {(process / 'comm').read_text()}")
    return found


def read_message_log(place: Place) -> str:
    """Return the last commands that tmux remembers, with their arguments. A client must be attached."""
    client = place.tmux("list-clients", "-F", "#{client_name}").splitlines()[0]
    log = place.tmux("show-messages", "-t", client)
    assert "show-messages" in log, "it remembers commands"
    return log


@contextmanager
def no_process_gets(secret: str) -> Iterator[None]:
    """Look at the arguments and environments of all processes again and again: some run for a moment only."""
    stopped, found = threading.Event(), list[str]()

    def look() -> None:
        while not stopped.is_set():
            found.extend(find_in_processes(secret.encode()))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        stopped.set()
        looking.join()
    assert found == []
