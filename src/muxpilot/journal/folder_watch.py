"""Notice changes in folders: by inotify on Linux, elsewhere by looking now and then."""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from collections.abc import Callable
from enum import auto
from pathlib import Path
from typing import Any

from muxpilot.records import FastEnum
from muxpilot.trace import area

_IN_MODIFY, _IN_CREATE, _IN_DELETE, _IN_DELETE_SELF, _IN_MOVE_SELF = 0x2, 0x100, 0x200, 0x400, 0x800
_IN_IGNORED, _IN_Q_OVERFLOW = 0x8000, 0x4000
_MASK = _IN_MODIFY | _IN_CREATE | _IN_DELETE | _IN_DELETE_SELF | _IN_MOVE_SELF
_HEADER = struct.Struct("iIII")
_EVENTS_BYTES = 1 << 16
# Without inotify: the pauses between two looks at a folder in which nothing happens.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.005, 0.25

_trace = area("tmux")


class FolderChange(FastEnum):
    """What happened in a folder."""

    WRITTEN = auto()
    CREATED = auto()
    REMOVED = auto()
    GONE = auto()  # the folder itself
    UNKNOWN = auto()  # anything may have happened: look


# Called with the change and the name of the file. Without inotify it returns whether anything had changed.
OnChange = Callable[[FolderChange, str], bool]

_KINDS = (
    (_IN_CREATE, FolderChange.CREATED),
    (_IN_DELETE, FolderChange.REMOVED),
    (_IN_DELETE_SELF | _IN_MOVE_SELF, FolderChange.GONE),
)


class FolderWatcher:
    """Watches folders for all readers of one muxpilot, with a single inotify instance."""

    def __init__(self, *, may_use_inotify: bool = True) -> None:
        self._loop = asyncio.get_running_loop()
        self._callbacks: dict[int, OnChange] = {}
        self._pollers: dict[OnChange, asyncio.TimerHandle] = {}
        self._library: Any = None
        self._inotify = self._open_inotify() if may_use_inotify else -1

    @property
    def has_inotify(self) -> bool:
        return self._inotify >= 0

    def watch(self, folder: Path, on_change: OnChange) -> Callable[[], None]:
        """Call `on_change` for each change from now on. Return the function that stops this."""
        number = self._add_watch(folder)
        if number < 0:
            self._poll(on_change, _FIRST_PAUSE_S)
            return lambda: self._stop_polling(on_change)
        self._callbacks[number] = on_change
        return lambda: self._remove_watch(number)

    def close(self) -> None:
        """Stop all watching."""
        for timer in self._pollers.values():
            timer.cancel()
        self._pollers.clear()
        if self._inotify >= 0:
            self._loop.remove_reader(self._inotify)
            os.close(self._inotify)
            self._inotify = -1
        self._callbacks.clear()

    def _open_inotify(self) -> int:
        if sys.platform != "linux":
            return -1
        import ctypes  # takes some milliseconds, and not every muxpilot follows a pane

        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            number = int(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except (OSError, AttributeError):
            number = -1
        if number < 0:
            _trace.info("no inotify: journals are looked at now and then")
            return -1
        self._loop.add_reader(number, self._on_readable)
        return number

    def _add_watch(self, folder: Path) -> int:
        if self._inotify < 0:
            return -1
        number = int(self._library.inotify_add_watch(self._inotify, os.fsencode(folder), _MASK))
        if number < 0:
            _trace.info("no inotify watch left: the folder is looked at now and then", path=folder)
        return number

    def _remove_watch(self, number: int) -> None:
        if self._callbacks.pop(number, None) is not None and self._inotify >= 0:
            self._library.inotify_rm_watch(self._inotify, number)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._inotify, _EVENTS_BYTES)
        except BlockingIOError:
            return
        offset, written = 0, dict[int, str]()
        while offset < len(data):
            number, mask, _, length = _HEADER.unpack_from(data, offset)
            offset += _HEADER.size + length
            name = os.fsdecode(data[offset - length : offset].rstrip(b"\0"))
            if mask & _IN_MODIFY:
                written[number] = name  # most events are of this kind, and one call serves them all
            else:
                self._dispatch(number, mask, name)
        for number, name in written.items():
            callback = self._callbacks.get(number)
            if callback is not None:
                callback(FolderChange.WRITTEN, name)

    def _dispatch(self, number: int, mask: int, name: str) -> None:
        if mask & _IN_Q_OVERFLOW:
            _trace.debug("inotify events were dropped: all journals are looked at")
            for on_change in list(self._callbacks.values()):
                on_change(FolderChange.UNKNOWN, "")
        callback = self._callbacks.get(number)
        kind = next((kind for bit, kind in _KINDS if mask & bit), None)
        if callback is not None and kind is not None:
            callback(kind, name)

    def _poll(self, on_change: OnChange, pause_s: float) -> None:
        def look() -> None:
            """Report that anything may have happened, and look again later."""
            # First, because the callback may stop it.
            self._poll(on_change, min(pause_s * 1.5, _LONGEST_PAUSE_S))
            if on_change(FolderChange.UNKNOWN, "") and on_change in self._pollers:
                self._pollers.pop(on_change).cancel()
                self._poll(on_change, _FIRST_PAUSE_S)

        self._pollers[on_change] = self._loop.call_later(pause_s, look)

    def _stop_polling(self, on_change: OnChange) -> None:
        timer = self._pollers.pop(on_change, None)
        if timer is not None:
            timer.cancel()
