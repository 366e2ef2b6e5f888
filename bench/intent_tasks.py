"""The tasks of `intents.py` as a table: the calls of muxpilot, the steps of the others, and what is true.

`<code>` is a number that is drawn for each play. Programs print it and no script types it, so that an answer
with it can only come from the program. `<port>` is a free port.
"""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.peer_servers import Way

PROMPT = r"[#$]$"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a task, for a server whose tools are described in `intent_servers.py`.

    `until` is a regular expression for the screen that shows that the step is done; where it is empty, nobody
    has to look.
    """

    act: str
    text: str
    until: str = ""
    pane: str = "main"
    times: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """What is wanted, how it is done, and what makes an answer true.

    `truth` are regular expressions that the answers must contain, `exit_code` is what the last one must say,
    `leaves` is a file with its text.
    """

    name: str
    ours: Sequence[Way]
    steps: Sequence[Step]
    truth: Sequence[str]
    exit_code: int | None = None
    leaves: tuple[str, str] | None = None
    needs: Sequence[str] = ()


def type_and_see(keys: str, until: str = "prompt") -> Way:
    return Way("send-keys", {"keys": keys, "enter": True, "until": until})


def press_and_see(keys: str, until: str, **options: object) -> Way:
    return Way("send-keys", {"keys": keys, "literal": False, "until": until, **options})


def execute(command: str, **options: object) -> Way:
    return Way("execute-command", {"command": command, **options})


def ask(text: str) -> Way:
    return Way("run-in-repl", {"input": text})


TASKS = (
    Task(
        "run tests and read the failure",
        [execute("python3 -m unittest test_sum.py")],
        [Step("run", "python3 -m unittest test_sum.py")],
        [r"AssertionError: 41 != <code>", r"FAILED \(failures=1\)"],
        exit_code=1,
    ),
    Task(
        "start a server and ask it",
        [
            Way(
                "start-and-watch",
                {"paneId": "server", "command": "python3 -m http.server <port>", "pattern": "Serving"},
            ),
            execute("curl -s localhost:<port>/hello.txt"),
        ],
        [
            Step("type", "python3 -m http.server <port>", "Serving HTTP", pane="server"),
            Step("run", "curl -s localhost:<port>/hello.txt"),
        ],
        [r"hello <code>"],
        exit_code=0,
        needs=["curl"],
    ),
    Task(
        "answer two questions of a program",
        [execute("./deploy"), type_and_see("web1", "user_input"), type_and_see("y")],
        [
            Step("type", "./deploy", r"Host\?$"),
            Step("type", "web1", r"\[y/N\]$"),
            Step("type", "y", "deployed"),
        ],
        [r"\[y/N\]", r"deployed <code> files to web1"],
    ),
    Task(
        "choose the fifteenth of twenty in a menu",
        [execute("./menu"), press_and_see("Down", "quiet:200", repeat=14), press_and_see("Enter", "prompt")],
        [
            Step("type", "./menu", "item 20"),
            Step("press", "Down", "> item 15", times=14),
            Step("press", "Enter", "chosen"),
        ],
        [r"item 15", r"chosen: item 15, <code>"],
    ),
    Task(
        "a session in python",
        [
            execute("python3 -q"),
            ask("import json; rows = json.load(open('rows.json'))\nlen(rows), sum(rows)"),
        ],
        [
            Step("type", "python3 -q", ">>>$"),
            Step("type", "import json; rows = json.load(open('rows.json'))"),
            Step("type", "len(rows), sum(rows)", r"\(\d+, \d+\)\n>>>$"),
        ],
        [r"\(3, <code>\)"],
    ),
    Task(
        "a session in sqlite3",
        [
            execute("sqlite3 shop.db"),
            ask("select count(*), sum(price) from orders;"),
            ask("select name from orders order by price limit 1;"),
        ],
        [
            Step("type", "sqlite3 shop.db", "sqlite>$"),
            Step("type", "select count(*), sum(price) from orders;", r"\d\|\d+\nsqlite>$"),
            Step("type", "select name from orders order by price limit 1;", "pear\nsqlite>$"),
        ],
        [r"2\|<code>", r"(?m)^pear"],
        needs=["sqlite3"],
    ),
    Task(
        "a session in psql",
        [
            execute("psql service=shop"),
            ask("select count(*), sum(price) from orders;"),
            ask("select name from orders order by price limit 1;"),
        ],
        [
            Step("type", "psql service=shop", "shop=#$"),
            Step("type", "select count(*), sum(price) from orders;", r"\(1 row\)\s+shop=#$"),
            Step("type", "select name from orders order by price limit 1;", r"pear\n\(1 row\)\s+shop=#$"),
        ],
        [r"2 \| +<code>", r"(?m)^ pear"],
        needs=["psql", "postgres"],
    ),
    Task(
        "a session in gdb",
        [execute("gdb -q ./total"), ask("break add\nrun"), ask("print count")],
        [
            Step("type", "gdb -q ./total", r"\(gdb\)$"),
            Step("type", "break add"),
            Step("type", "run", r"Breakpoint 1, [^$]*\(gdb\)$"),
            Step("type", "print count", r"\$1 = \d+\n\(gdb\)$"),
        ],
        [r"Breakpoint 1, .*add", r"\$1 = <code>"],
        needs=["gdb", "cc"],
    ),
    Task(
        "follow a log until an error",
        [Way("start-and-watch", {"command": "./app", "pattern": "ERROR"})],
        [Step("type", "./app"), Step("wait", r"ERROR .*")],
        [r"ERROR disk full, code <code>"],
    ),
    Task(
        "work on another host by ssh",
        [execute("ssh -F far.conf far"), execute("cat where; (exit 3)")],
        [
            Step("type", "ssh -F far.conf far", "there[#$]$"),
            Step("run there", "cat where; (exit 3)", r"exit=\d"),
        ],
        [r"host <code>"],
        exit_code=3,
        needs=["ssh", "sshd"],
    ),
    Task(
        "read the end of a file in a pager",
        [
            execute("less notes.txt"),
            press_and_see("G", "quiet:200"),
            press_and_see("q", "prompt"),
        ],
        [
            Step("type", "less notes.txt", "note 10\n"),
            Step("press", "G", r"last note"),
            Step("press", "q", PROMPT),
        ],
        [r"last note <code>"],
        needs=["less"],
    ),
    Task(
        "change a file in an editor",
        [execute("vim -u NONE plan.txt"), type_and_see(":%s/draft/final/|wq")],
        [
            Step("type", "vim -u NONE plan.txt", "draft"),
            Step("type", ":%s/draft/final/|wq", PROMPT),
        ],
        [r"draft <code>"],
        leaves=("plan.txt", "final <code>\n"),
        needs=["vim"],
    ),
    Task(
        "stop a command that does not end",
        [
            execute("./forever", timeoutSeconds=1),
            press_and_see("C-c", "prompt"),
            execute("cat stopped"),
        ],
        [
            Step("type", "./forever", "working"),
            Step("press", "C-c", r"\^C[^^]*[#$]$"),
            Step("run", "cat stopped"),
        ],
        [r"working", r"stopped <code>"],
        exit_code=0,
    ),
    Task(
        "how a command with 5,000 lines of output ended",
        [execute("./build", maxOutputBytes=600)],
        [Step("run long", "./build")],
        [r"error: target <code> failed"],
        exit_code=2,
    ),
    Task(
        "two commands at once",
        [
            execute("./slow one", paneId="one", waitMs=0),
            execute("./slow two", paneId="two", waitMs=0),
            Way("get-command-result", {"commandId": "<one>", "waitMs": 20000}),
            Way("get-command-result", {"commandId": "<two>", "waitMs": 20000}),
        ],
        [
            Step("begin", "./slow one", pane="one"),
            Step("begin", "./slow two", pane="two"),
            Step("end", "", "one: ", pane="one"),
            Step("end", "", "two: ", pane="two"),
        ],
        [r"one: <code>", r"two: <code>"],
    ),
)

# Files of the folder in which the panes start; one that begins with `#!` is a program.
FILES = {
    "test_sum.py": """import unittest


class Sums(unittest.TestCase):
    def test_one(self):
        self.assertEqual(1 + 1, 2)

    def test_two(self):
        self.assertEqual(40 + 1, <code>)
""",
    "hello.txt": "hello <code>\n",
    "deploy": """#!/bin/bash
read -rp 'Host? ' host
read -rp "Deploy to $host? [y/N] " sure
[ "$sure" = y ] && echo "deployed <code> files to $host"
""",
    "menu": """#!<python>
import curses

def choose(screen):
    curses.curs_set(0)
    at = 0
    while True:
        for row in range(20):
            mark, look = (">", curses.A_REVERSE) if row == at else (" ", 0)
            screen.addstr(row + 1, 2, f"{mark} item {row + 1} ", look)
        key = screen.getch()
        if key == curses.KEY_DOWN and at < 19:
            at += 1
        elif key in (10, curses.KEY_ENTER):
            return at + 1

print(f"chosen: item {curses.wrapper(choose)}, <code>")
""",
    "rows.json": "[<code>, -7, 7]\n",
    "total.c": """#include <stdio.h>
int add(int count) { return count + 1; }
int main(void) { printf("%d\\n", add(<code>)); return 0; }
""",
    "app": """#!/bin/bash
for number in {1..60}; do echo "request $number: ok"; sleep 0.05; done
echo 'ERROR disk full, code <code>'
exec sleep 600
""",
    "far/where": "host <code>\n",
    "far/.bashrc": "PS1='there\\$ '\ncd\n",
    "far/.bash_profile": ". ~/.bashrc\n",
    "notes.txt": "".join(f"note {number}\n" for number in range(1, 400)) + "last note <code>\n",
    "plan.txt": "draft <code>\n",
    "forever": """#!/bin/bash
trap 'echo stopped <code> >stopped; exit 130' INT
while true; do echo working; sleep 1; done
""",
    "build": """#!/bin/bash
for number in {1..4999}; do echo "compiling target $number"; done
echo 'error: target <code> failed'
exit 2
""",
    "slow": """#!/bin/bash
sleep 2
echo "$1: <code>"
""",
}


def fill(text: str, given: Mapping[str, str]) -> str:
    """Put values for their names in angle brackets."""
    for name, value in given.items():
        text = text.replace(f"<{name}>", value)
    return text


def write_files(folder: Path, given: Mapping[str, str]) -> None:
    """Write what the tasks need, with the numbers of this play."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(fill(text, {"python": sys.executable, **given}))
        if text.startswith("#!"):
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.executescript(fill_shop(given))


def fill_shop(given: Mapping[str, str]) -> str:
    """Return the statements that make the database of the tasks in sqlite3 and psql."""
    rows = f"('plum', {int(given['code']) - 1}), ('pear', 1)"
    return f"create table orders (name text, price integer); insert into orders values {rows};"


def compile_program(folder: Path) -> None:
    """Compile the program that gdb looks into."""
    subprocess.run(["cc", "-g", "-O0", "-o", "total", "total.c"], cwd=folder, check=True, timeout=60)
