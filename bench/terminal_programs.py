"""Record what real programs print on a terminal: those that are installed here."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

COLUMNS, ROWS = 80, 24
LIMIT_S, QUIET_S = 20.0, 0.4

# By the name of a program: a line of shell, and the keys that are pressed in it, one after another.
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "vim": (
        "vim -u NONE -N {file}",
        ("jjj", "dd", "ihello\x1b", "\x06", "G", "/line\r", ":split\r", ":q!\r", ":q!\r"),
    ),
    "less": ("less {file}", (" ", "G", "g", "/7\r", "q")),
    "nano": ("nano {file}", ("abc\r", "\x16", "\x18n")),
    "htop": ("htop", ("\x1b[B\x1b[B", "t", "q")),
    "mc": ("mc -u -x", ("\x1b[B\x1b[B", "\t", "\x1b0", "\r")),
    "dialog": ("dialog --menu Choose 12 40 4 a one b two c three", ("\x1b[B\x1b[B", "\r")),
    "whiptail": ("whiptail --yesno Sure 8 30", ("\t", "\r")),
    # Where the locale is not UTF-8, ncurses draws lines by letters and shifts.
    "dialog C": ("LC_ALL=C dialog --menu Choose 12 40 4 a one b two c three", ("\x1b[B\x1b[B", "\r")),
    "whiptail C": ("LC_ALL=C whiptail --yesno Sure 8 30", ("\t", "\r")),
    "mc C": ("LC_ALL=C mc -u -x", ("\x1b[B\x1b[B", "\t", "\x1b0", "\r")),
    "demo_panels C": ("LC_ALL=C {program}", (" ", " ", "q")),
    "fzf": ("seq 200 | fzf", ("1", "2", "\x1b[A", "\x1b")),
    "top": ("top -d 1", ("\x1b[B", "q")),
    "man": ("MAN_KEEP_FORMATTING=1 man -P cat ls", ()),
    "pstree": ("pstree -G 1 | head -40", ()),
    "ls": ("ls --color=always -C /usr/bin | head -60", ()),
    "git": ("git -c color.ui=always log --graph --oneline -30", ()),
    "ncdu": ("ncdu -0 /etc", ("\x1b[B", "q")),
    "python3": ("python3 -q", ("1+1\r", "\x1b[A\r", "\x04")),
    "pip": ("python3 -m pip download --no-deps -d {folder} pip", ()),
    "apt-get": ("sh {scripts}/apt.sh {folder}/apt", ()),
    "npm": ("sh {scripts}/npm.sh {folder}", ()),
    "cargo": ("sh {scripts}/cargo.sh {folder}", ()),
    "ncurses": ("{program}", ("b\r", "q", "f\r", " ", "q", "g\r", "q", "s\r", " ", " ", " ", "q\r")),
    "testcurs": ("{program}", ("\r", " ", " ", " ", "q")),
    "demo_menus": ("{program}", ("\x1b[C", "\x1b[B", "\r", "q")),
    "demo_panels": ("{program}", (" ", " ", " ", "q")),
    "demo_forms": ("{program}", ("text\t", "more", "\x11")),
    "worm": ("timeout --foreground 1 {program} -n 3 -l 20", ()),
    "rain": ("timeout --foreground 1 {program}", ()),
    "hanoi": ("timeout --foreground 1 {program} 4", ()),
    "tclock": ("timeout --foreground 1 {program}", ()),
    "xmas": ("timeout --foreground 2 {program} q", ()),
    "lrtest": ("{program}", ("\r", "q")),
    "bash": ("bash --norc --noediting", ("echo hi\r", "exit\r")),
    "tput": ("tput clear; tput cup 5 5; tput smacs; printf lqqk; tput rmacs; tput setaf 2; echo x", ()),
}


# Debian keeps the demos of ncurses here.
DEMOS = "/usr/libexec/ncurses-examples:/usr/lib/ncurses-examples"
SCRIPTS = Path(__file__).parent / "terminal_scripts"


def find_programs() -> dict[str, str]:
    """Return the paths of the programs that are installed here, by name."""
    path = f"{os.environ.get('PATH', os.defpath)}:{DEMOS}"
    found = {name: shutil.which(name.split()[0], path=path) for name in PROGRAMS if name != "pip"}
    return {name: place for name, place in {**found, "pip": sys.executable}.items() if place is not None}


def record_programs() -> dict[str, str]:
    """Return the output of each program that is installed."""
    found = {}
    programs = find_programs()
    with tempfile.TemporaryDirectory(prefix="recorded-") as folder:
        file = Path(folder) / "text"
        file.write_text("".join(f"line {number}\twith a tab, 世界 and é\n" for number in range(300)))
        for name, (line, keys) in PROGRAMS.items():
            if name in programs:
                places = {"file": file, "folder": folder, "scripts": SCRIPTS, "program": programs[name]}
                found[name] = _record(line.format(**places), keys, folder)
    return {name: text for name, text in found.items() if text}


def _record(line: str, keys: tuple[str, ...], folder: str) -> str:
    """Run a line in a terminal of its own, press the keys whenever it is quiet, return what it printed."""
    process, terminal = pty.fork()
    if process == 0:
        home = os.environ.get("HOME", "/")
        os.environ.setdefault("RUSTUP_HOME", f"{home}/.rustup")
        os.environ.update(TERM="tmux-256color", HOME=folder, LANG="C.UTF-8", LC_ALL="C.UTF-8")
        os.execvp("sh", ["sh", "-c", line])
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    output = bytearray()
    left = list(keys)
    deadline = time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < deadline:
            ready, _, _ = select.select([terminal], [], [], QUIET_S)
            if not ready:
                if not keys:
                    continue  # it ends by itself
                if not left:
                    break
                os.write(terminal, left.pop(0).encode())
                continue
            data = os.read(terminal, 1 << 16)
            if not data:
                break
            output += data
    except OSError:  # the program has ended
        pass
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
    return output.decode("utf-8", "ignore")
