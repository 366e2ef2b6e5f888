"""Become another program that may make no unix sockets: as sandboxes do it that forbid them, by seccomp.

python no_unix_sockets.py PROGRAM ARGUMENTS…
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import struct
import sys

# The number of the system call socket().
SOCKET = {"x86_64": 41, "aarch64": 198}

_LOAD, _IS, _ANSWER = 0x20, 0x15, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _FILTER = 22, 2
_PR_SET_NO_NEW_PRIVS = 38


def forbid() -> None:
    steps = (
        (_LOAD, 0, 0, _NUMBER),
        (_IS, 0, 3, SOCKET[platform.machine()]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IS, 0, 1, socket.AF_UNIX),
        (_ANSWER, 0, 0, _FAIL | errno.EPERM),
        (_ANSWER, 0, 0, _ALLOW),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    head = struct.pack("@HP", len(steps), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)
    zero, one = ctypes.c_ulong(0), ctypes.c_ulong(1)
    for call in (
        (_PR_SET_NO_NEW_PRIVS, one, zero, zero, zero),
        (_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), head, zero, zero),
    ):
        if libc.prctl(*call):
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
