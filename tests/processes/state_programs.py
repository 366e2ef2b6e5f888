"""Foreground programs and what each of them waits for: what the state detector must find."""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["line", "password", "key", "shell", "pager", "editor", "no", "unknown"]

PYTHON = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin") or "python3"


@dataclass(frozen=True, slots=True)
class Case:
    """A program; `hidden` is the verdict where system calls are hidden; `typed` is typed to the shell."""

    name: str
    command: str
    verdict: Verdict
    front: str
    hidden: Verdict | None = None
    typed: str = ""
    is_shell: bool = False

    @property
    def program(self) -> str:
        """The program that must be installed for it."""
        found = re.search(r"exec (\S+)", self.command)
        return found[1] if found else self.command.split()[0]


_MODULES = "asyncio curses select socket subprocess threading time"
_BEFORE = f"""
import {_MODULES.replace(" ", ", ")}
def ready(): print("ready", flush=True)
"""
_CONNECTED = """
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
"""


def python(name: str, code: str, verdict: Verdict, *, hidden: Verdict | None = None) -> Case:
    before = _BEFORE + (_CONNECTED if "server" in code or "client" in code else "")
    command = f"exec {PYTHON} -c {shlex.quote(before + code)}"
    return Case(name, command, verdict, "python3", hidden=hidden)


def node(name: str, code: str, verdict: Verdict) -> Case:
    return Case(name, f"exec node -e {shlex.quote(code)}", verdict, "node")


def prompt(name: str, command: str, front: str, *, hidden: Verdict | None = None) -> Case:
    return Case(name, f"exec {command}", "shell", front, hidden=hidden, is_shell=True)


def builtin(name: str, command: str, text: str, verdict: Verdict, *, hidden: Verdict | None = None) -> Case:
    """Return a case in which a builtin of the shell runs, so that the shell is in the foreground."""
    shell = command.split()[0]
    return Case(name, f"exec {command}", verdict, shell, hidden=hidden, typed=text, is_shell=True)


BASH = "bash --norc --noprofile"

SHELLS = [
    prompt("bash", BASH, "bash"),
    Case("login bash", "exec bash -c 'exec -a -bash bash --noprofile'", "shell", "bash", is_shell=True),
    # The size of its read shows that it is at its prompt. That is hidden with the system call.
    prompt("bash without its editor", f"{BASH} --noediting", "bash", hidden="line"),
    prompt("zsh", "zsh -f", "zsh"),
    prompt("fish", "fish --no-config", "fish"),
    prompt("dash", "dash", "dash"),
    prompt("mksh", "mksh", "mksh"),
    prompt("ksh93", "ksh93", "ksh93"),
    prompt("busybox sh", "busybox sh", "busybox"),
    prompt("sh", "sh -l", "sh"),
    builtin("bash in bash", BASH, "bash --norc", "shell"),
    builtin("bash with a stopped job", BASH, "cat & true", "shell"),
    builtin("bash with work behind", BASH, "sleep 600 & true", "shell"),
    Case("a shell in a session of its own", "exec sh -c 'setsid -w dash; :'", "shell", "dash", is_shell=True),
    Case("a shell that script relays", "exec script -q -c dash /dev/null", "shell", "dash", is_shell=True),
]

READS = [
    builtin("bash read", BASH, "read x", "line"),
    builtin("bash read -s", BASH, "read -s x", "password"),
    builtin("bash read -n1", BASH, "read -n1 x", "key"),
    builtin("bash read -sn1", BASH, "read -s -n1 x", "key"),
    builtin("bash read -t", BASH, "read -t 600 x", "line", hidden="unknown"),
    builtin("zsh read", "zsh -f", "read x", "line"),
    builtin("zsh read -s", "zsh -f", "read -s x", "password"),
    builtin("zsh read -k1", "zsh -f", "read -k1 x", "key"),
    builtin("mksh read", "mksh", "read x", "line"),
    builtin("dash read", "dash", "read x", "line", hidden="shell"),
    Case("dash subshell", "exec dash", "line", "dash", typed="(read x)"),
    Case("a script's read -p", "exec bash -c 'read -p \"go on? \" x'", "line", "bash"),
    Case(
        "a script's read from /dev/tty", "exec bash -c 'read -s x </dev/tty' </dev/null", "password", "bash"
    ),
]

PYTHON_READS = [
    Case("python", f"exec {PYTHON}", "key", "python3"),
    python("input() with readline", "import readline; input('y/n ')", "key"),
    python("input()", "input('y/n ')", "line"),
    python("getpass", "import getpass; getpass.getpass()", "password"),
    python("a thread that reads", "threading.Thread(target=input).start(); time.sleep(600)", "line"),
    python(
        "reads among threads", "threading.Thread(target=time.sleep, args=(600,)).start(); input()", "line"
    ),
    python(
        "asyncio reads",
        "loop = asyncio.new_event_loop(); loop.add_reader(0, print); loop.run_forever()",
        "line",
    ),
    python("select on stdin", "select.select([0], [], [])", "line", hidden="unknown"),
    python(
        "select again and again",
        "while not select.select([0], [], [], .2)[0]: pass",
        "line",
        hidden="unknown",
    ),
    python(
        "poll on stdin", "poll = select.poll(); poll.register(0, 1); poll.poll()", "line", hidden="unknown"
    ),
    python("getch", "curses.wrapper(lambda window: window.getch())", "key"),
    python("getch again and again", "curses.wrapper(lambda w: [w.timeout(200), *iter(w.getch, 1)])", "key"),
]

PROGRAMS = [
    Case("cat", "exec cat", "line", "cat"),
    Case("cat | grep", "cat | grep x", "line", "cat"),
    Case("cat | grep in bash", f"exec {BASH}", "line", "cat", typed="cat | grep x"),
    Case("grep in a script's loop", "exec bash -c 'while grep x; do :; done'", "line", "grep"),
    Case("vim", "exec vim -u NONE -i NONE", "editor", "vim"),
    Case("less", "exec less {folder}/long", "pager", "less"),
    Case("more", "exec more {folder}/long", "pager", "more"),
    Case("man", "MANPAGER=less exec man bash", "pager", "less"),
    Case("git's pager", "exec git -c core.pager='less -+F' --paginate help -a", "pager", "less"),
    Case("nano", "exec nano {folder}/new", "editor", "nano"),
    Case("vi of a program", "exec sh -c 'vi -u NONE -i NONE; :'", "editor", "vi"),
    Case("top", "exec top", "key", "top"),
    Case("sqlite3", "exec sqlite3", "key", "sqlite3"),
    Case("gdb", "exec gdb -q -nx", "key", "gdb"),
    Case("node", "exec node", "key", "node"),
    node("node reads", "process.stdin.on('data', () => {})", "line"),
    Case("cat that script relays", "exec script -q -c 'exec cat' /dev/null", "line", "cat"),
    Case("cat in a session of its own", "exec sh -c 'setsid -w cat; :'", "line", "cat"),
    Case("tmux in tmux", "exec tmux -S {folder}/inner -f /dev/null new-session cat", "unknown", "tmux"),
]

# Each prints `ready` when it has reached its final state.
WORK = [
    Case("sleep", "echo ready; exec sleep 600", "no", "sleep"),
    Case("sleep in bash", f"exec {BASH}", "no", "sleep", typed="echo rea''dy; sleep 600"),
    Case("bash -c sleep", "exec bash -c 'echo ready; sleep 600; :'", "no", "bash"),
    Case("a busy shell", "exec sh -c 'echo ready; while :; do :; done'", "no", "sh"),
    Case("tail -f", "echo ready; exec tail -f {folder}/long", "no", "tail", hidden="unknown"),
    Case("sleep | cat", "echo ready; sleep 600 | cat", "no", "sh"),
    Case("read of a FIFO", "mkfifo {folder}/fifo; echo ready; exec cat {folder}/fifo", "no", "cat"),
    Case("wait", "exec bash -c 'sleep 600 & echo ready; wait'", "no", "bash"),
    builtin("wait in bash", BASH, "sleep 600 & echo rea''dy; wait", "no"),
    Case("a stopped reader", "exec sh -c 'cat </dev/tty & kill -STOP $!; echo ready; wait'", "no", "sh"),
    node("node timer", "console.log('ready'); setTimeout(() => {}, 600000)", "no"),
    node(
        "node server",
        "require('http').createServer().listen(0, 'localhost', () => console.log('ready'))",
        "no",
    ),
    Case("sleep without echo", "stty -echo; echo ready; exec sleep 600", "no", "sleep"),
    Case("sleep in a session of its own", "exec sh -c 'echo ready; setsid -w sleep 600; :'", "no", "sh"),
    Case("sleep on a raw terminal", "stty raw; echo ready; exec sleep 600", "no", "sleep"),
    Case(
        "sleep that script relays", "exec script -q -c 'echo ready; exec sleep 600' /dev/null", "no", "sleep"
    ),
]

PYTHON_WORK = [
    python("a busy program", "ready()\nwhile True: pass", "no"),
    python("accept", "server.accept(); ready(); server.accept()", "no"),
    python("receive", "pair = socket.socketpair(); ready(); pair[0].recv(1)", "no"),
    # wchan has one name for a read of the terminal and of a TCP connection.
    python("receive over TCP", "ready(); client.recv(1)", "no", hidden="unknown"),
    python("select on a socket", "ready(); select.select([client], [], [])", "no", hidden="unknown"),
    python("select as a clock", "ready()\nwhile True: select.select([], [], [], .2)", "no", hidden="unknown"),
    python("asyncio.sleep", "ready(); asyncio.run(asyncio.sleep(600))", "no"),
    python(
        "threads",
        "[threading.Thread(target=time.sleep, args=(600,)).start() for _ in '12345']; ready()",
        "no",
    ),
    python("a child that sleeps", "ready(); subprocess.run(['sleep', '600'])", "no"),
]

SSHD = "/usr/sbin/sshd"
SSH = (
    f"exec ssh -F /dev/null -o 'ProxyCommand={SSHD} -i -f /dev/null -h {{folder}}/key -o UsePAM=no "
    "-o LoginGraceTime=0' "  # else it hangs up after two minutes, and earlier tests may take as long
    "-o PubkeyAuthentication=no -o UserKnownHostsFile=/dev/null"
)

# Programs of another user, as an ordinary user sees them; {folder}/root holds copies that run as root.
FOREIGN = [
    Case("su", "exec su", "password", "su"),
    Case("ssh asks for a password", f"{SSH} -o StrictHostKeyChecking=no nobody@host", "password", "ssh"),
    Case("ssh asks about a key", f"{SSH} -o StrictHostKeyChecking=ask nobody@host", "line", "ssh"),
    Case("root's sleep", "echo ready; exec {folder}/root/sleep 600", "unknown", "sleep"),
    Case("root's cat", "echo ready; exec {folder}/root/cat", "unknown", "cat"),
    Case("root's cat without echo", "stty -echo; exec {folder}/root/cat", "password", "cat"),
    Case("root's bash", "exec {folder}/root/bash --norc -p", "shell", "bash", is_shell=True),
]

# Only root becomes another user without a password.
AS_ROOT = [
    Case("su -c", "exec su -s /bin/sh -c 'exec cat' nobody", "line", "cat"),
    Case("su -c to sleep", "exec su -s /bin/sh -c 'echo ready; exec sleep 600' nobody", "no", "su"),
    Case("su with a terminal of its own", "exec su -P -s /bin/sh -c 'exec cat' nobody", "line", "cat"),
    Case("a shell under su", "exec su -s /bin/bash nobody", "shell", "bash", is_shell=True),
]

CASES = [*SHELLS, *READS, *PYTHON_READS, *PROGRAMS, *WORK, *PYTHON_WORK]
