"""The program inside a popup: it shows a question, and sends the answer to the muxpilot that asks.

tmux starts it in a Python of its own, so it imports little. All text that it gets is safe to print
(`shown_text.py`). What is typed goes through the socket to the muxpilot that asks, and nowhere else.
Where the question has a code (`popup_code.py`), an answer is shown with the code, and the person types that.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import time
from contextlib import suppress
from typing import Any

from muxpilot.processes.raw_terminal import drop_keys, lock_terminal, raw_terminal
from muxpilot.terminal.escapes import CLEAR_SCREEN, ESC_BYTES, KEY_SEQUENCE_BYTES, PLAIN, REVERSE, SCROLL_KEYS
from muxpilot.terminal.width import cell_width

_HELP_CHOICE = "Number or text, then Enter. Escape: no answer."
_HELP_LINE = "Enter: send. Escape: no answer."
_HELP_SECRET = "What you type is not shown. Enter: send it to the pane. Escape: no answer."
_LONGEST_ANSWER = 8192
_DIGITS = "0123456789"
# Keys that were meant for what the popup covers must not become an answer.
_QUIET_S, _LONGEST_QUIET_S = 0.4, 3.0
# The rest of the sequence of a key comes at once; Escape alone has none.
_SEQUENCE_S = 0.05
_NOTICE_S = 4.0


class Popup:
    """One question on the terminal of a popup."""

    def __init__(self, link: socket.socket, question: dict[str, Any]) -> None:
        self._link = link
        self._question = question
        self._code: str = question.get("code", "")
        self._typed_code = ""
        # The answer that the code confirms, and whether the muxpilot that asks has still to look at it.
        self._confirm: str | None = None
        self._is_waiting = False
        self._typed = ""
        self._pending = b""
        self._from_link = b""
        self._scroll = 0
        self._notice = ""

    def run(self) -> None:
        """Show the question until it is answered, declined, or settled elsewhere."""
        self._draw(is_ready=False)
        if not self._skip_keys():
            return
        while True:
            self._draw(is_ready=True)
            if self._link_has_ended() or not self._handle_keys():
                return

    def _skip_keys(self) -> bool:
        """Drop keys until the person pauses. Return False if the question is settled meanwhile."""
        give_up = time.monotonic() + _LONGEST_QUIET_S
        while time.monotonic() < give_up:
            ready, _, _ = select.select([0, self._link.fileno()], [], [], _QUIET_S)
            if self._link.fileno() in ready:
                return not self._link_has_ended()
            if not ready:
                break
            if not os.read(0, 4096):
                return False
        drop_keys(0)
        return True

    def _link_has_ended(self) -> bool:
        """Wait for a key or a message. Return whether the muxpilot that asks has ended the conversation."""
        if self._pending and not self._is_waiting:
            return False
        keys = [] if self._is_waiting else [0]
        ready, _, _ = select.select([*keys, self._link.fileno()], [], [])
        if self._link.fileno() not in ready:
            return False
        data = self._link.recv(65536)
        if not data:
            return True
        self._from_link += data
        *lines, self._from_link = self._from_link.split(b"\n")
        for line in lines:
            message = json.loads(line)
            self._notice, self._is_waiting = message.get("problem", ""), False
            self._confirm = message.get("confirm", self._confirm)
            if message.get("ends"):
                self._draw(is_ready=True)
                select.select([0], [], [], _NOTICE_S)
                return True
        return False

    def _handle_keys(self) -> bool:
        """Handle the keys that were pressed. Return False after an answer that ends the conversation."""
        ready, _, _ = select.select([0], [], [], 0)
        if ready and not self._is_waiting:
            data = os.read(0, 4096)
            if not data:
                return False
            self._pending += data
        while self._pending and not self._is_waiting:
            if self._pending[:1] == ESC_BYTES:
                if not self._handle_escape():
                    return False
                continue
            char = self._take_character()
            if char is None:
                break
            if char in "\x03\x04":
                return self._decline()
            if self._confirm is not None:
                self._edit_code(char)
            elif char in "\r\n":
                self._send({"answer": self._typed})
                self._typed, self._is_waiting = "", bool(self._code)
            else:
                self._edit(char)
        return True

    def _handle_escape(self) -> bool:
        """Handle Escape, which means no, or the sequence of another key."""
        while len(self._pending) < 2:
            ready, _, _ = select.select([0], [], [], _SEQUENCE_S)
            if not ready:
                return self._decline()
            self._pending += os.read(0, 4096)
        found = re.match(KEY_SEQUENCE_BYTES, self._pending, re.DOTALL)
        sequence = found[0] if found else self._pending
        self._pending = self._pending[len(sequence) :]
        self._scroll = max(0, self._scroll + SCROLL_KEYS.get(sequence, 0))
        return True

    def _take_character(self) -> str | None:
        """Return the next character of the keys, or None if a part of it is still to come."""
        for size in range(1, 5):
            try:
                char = self._pending[:size].decode()
            except UnicodeDecodeError:
                if size <= len(self._pending) and size < 4:
                    continue
                if size > len(self._pending):
                    return None
                char = ""
            self._pending = self._pending[size:]
            return char or "\ufffd"
        return None

    def _edit_code(self, char: str) -> None:
        """Handle a key of the code. The last digit sends it, and no key counts after it."""
        if len(self._typed_code) == len(self._code):
            return
        self._notice = ""
        if char in "\x7f\b":
            self._typed_code = self._typed_code[:-1]
        elif char in _DIGITS:
            self._typed_code += char
            if len(self._typed_code) == len(self._code):
                self._send({"code": self._typed_code})
        elif char == "\x15":
            self._typed_code = ""

    def _edit(self, char: str) -> None:
        self._notice = ""
        if char in "\x7f\b":
            self._typed = self._typed[:-1]
        elif char == "\x15":
            self._typed = ""
        elif char.isprintable() and len(self._typed) < _LONGEST_ANSWER:
            self._typed += char

    def _decline(self) -> bool:
        self._send({"decline": True})
        return False

    def _send(self, message: dict[str, Any]) -> None:
        self._link.sendall(json.dumps(message).encode() + b"\n")

    def _draw(self, *, is_ready: bool) -> None:
        """Draw the popup. Before it is ready for keys it shows only who asks and why."""
        columns, rows = os.get_terminal_size(0)
        head = _wrap(self._question["title"], columns) + _wrap(self._question["reason"], columns)
        screen = [f"{REVERSE}{row}{PLAIN}" for row in head[: max(1, rows // 2)]]
        if is_ready:
            foot = self._foot(columns)
            screen += self._body(columns, max(1, rows - len(screen) - len(foot) - 1)) + foot
        _print(CLEAR_SCREEN + "\r\n".join(screen[-rows:]))

    def _body(self, columns: int, room: int) -> list[str]:
        """Return the rows of the question and its choices that are in view, and a note about the others."""
        choices = [f"{at}) {text}" for at, text in enumerate(self._question["choices"], 1)]
        body = [f"| {row}" for line in self._question["lines"] for row in _wrap(line, columns - 2)]
        body += [row for line in choices for row in _wrap(line, columns)]
        self._scroll = max(0, min(self._scroll, len(body) - room))
        shown = body[self._scroll : self._scroll + room]
        more = len(body) - self._scroll - len(shown)
        note = f"({more} more lines: Down)" if more else "(Up)" if self._scroll else ""
        return [*shown, note]

    def _foot(self, columns: int) -> list[str]:
        """Return the help and the line to type into, which is the last one."""
        is_secret = self._question["secret"]
        if self._confirm is not None:
            what = "send it to the pane." if is_secret else f"answer: {self._confirm}"
            rows = [
                *_wrap(f"Type {self._code} to {what}", columns),
                *self._words("Escape: no answer.", columns),
            ]
            return [*rows, f"> {self._typed_code}"]
        words = _HELP_SECRET if is_secret else _HELP_CHOICE if self._question["choices"] else _HELP_LINE
        tail = _wrap(self._typed, columns - 3)[-1] if self._typed and not is_secret else ""
        return [*self._words(words, columns), f"> {tail}"]

    def _words(self, words: str, columns: int) -> list[str]:
        """Return the rows of the help, and of the message about what was typed."""
        return [*_wrap(words, columns), *(_wrap(self._notice, columns) if self._notice else ())]


def _print(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def _wrap(text: str, columns: int) -> list[str]:
    """Cut a text into rows that fit, by the width of its characters."""
    rows: list[str] = []
    row, used = "", 0
    for char in text:
        width = cell_width(char)
        if used + width > max(4, columns):
            rows, row, used = [*rows, row], "", 0
        row, used = row + char, used + width
    return [*rows, row]


def _receive_question(link: socket.socket) -> dict[str, Any] | None:
    data = b""
    while not data.endswith(b"\n"):
        part = link.recv(65536)
        if not part:
            return None
        data += part
    question: dict[str, Any] = json.loads(data)
    return question


def run_popup(path: str, key: str) -> None:
    """Connect to the muxpilot that asks, show its question, and restore the terminal."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(path)
    link.sendall(json.dumps({"do": "show", "key": key}).encode() + b"\n")
    question = _receive_question(link)
    if question is None:
        return
    # OSError: the terminal, or the muxpilot that asks, has gone.
    with raw_terminal(0), suppress(OSError):
        lock_terminal(0)  # another program could read the keys, or draw over the question
        Popup(link, question).run()
