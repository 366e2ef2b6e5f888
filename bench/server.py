"""The MCP server over stdio beside version 1, the SDK's bare server, and tmux itself, in one run.

    ./dev bench server [--rounds N] [--starts N]

Version 1 is the commit before muxpilot had a protocol core of its own. Its source is put into .cache, and
runs with the packages that are installed for development. The contestants take turns, ten calls at a time,
each on a tmux of its own. It ends with 0 whether the bars are met or not: a noisy machine is not a failure,
but it says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Times, machine, print_table

ROOT = Path(__file__).parents[1]
OURS = [sys.executable, "-m", "muxpilot"]
VARIANTS = [sys.executable, "-P", str(Path(__file__).with_name("variants.py"))]
VERSION_1 = "19f4b33"
AT_ONCE = 10
IN_FLIGHT = 50
PROMPT = b"bench> "
LONGEST_RUN_S = 10.0
CALL_HEAD = ("what", "muxpilot", "version 1", "tmux process", "against tmux", "bar")
START_HEAD = ("what", "muxpilot", "version 1", "SDK's bare server", "ratio", "bar")
# At p50 and at p99, against a tmux process that does the same.
# Times a bare control client that types into a pane of the same kind, see open_own_shell.
SAME_KIND, PLAIN = "same kind of pane", "plain pane"
COMMAND_BARS = {SAME_KIND: 3.0}
BARS = {"list-panes": (3.0, 2.5), "send-keys": (4.0, 2.5), "capture-pane": (4.0, 2.5)}
CALLS: dict[str, dict[str, Any]] = {
    "list-panes": {},
    "send-keys": {"paneId": "%0", "keys": "hello"},
    "capture-pane": {"paneId": "%0"},
}
FORMAT = "#{pane_id} #{pane_index} #{pane_title} #{pane_active} #{pane_width} #{pane_height} #{pane_pid}"
PROCESSES = {
    "list-panes": ("list-panes", "-a", "-F", FORMAT),
    "send-keys": ("send-keys", "-t", "%0", "-l", "hello"),
    "capture-pane": ("capture-pane", "-p", "-t", "%0"),
}


class Client:
    """One server process."""

    def __init__(self, argv: list[str], home: str) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "TERM", "LANG") if name in os.environ}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=kept | {"HOME": home}, cwd=home)
        self._ids = count(1)

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self.send(method, params)
        return self.receive()

    def send(self, method: str, params: Mapping[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params})

    def receive(self) -> Any:
        """Return the next result."""
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline())
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(str(answer))
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments}).get("structuredContent")

    def shake_hands(self) -> None:
        who = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


class ControlClient:
    """A bare client of tmux's control mode: types a line into a pane, and reads until the next prompt.

    The only pane of the session `bare` is used.
    """

    def __init__(self, socket: str) -> None:
        tmux = ["tmux", "-u", "-S", socket]
        asked = [*tmux, "display-message", "-p", "-t", "bare", "#{pane_id}"]
        self._pane = subprocess.run(asked, check=True, capture_output=True).stdout.strip()
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([*tmux, "-C", "attach", "-t", "bare"], stdin=pipe, stdout=pipe)
        self._lines = count(1)
        self.run()

    def run(self) -> None:
        """Run `true`, with a number that no line before had."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        while select.select([output], [], [], 0)[0]:
            os.read(output, 65536)
        line = b"true %d" % next(self._lines)
        keys = b"send-keys -t %b -l '%b' ; send-keys -t %b Enter\n" % (self._pane, line, self._pane)
        self._process.stdin.write(keys)
        self._process.stdin.flush()
        seen, start = b"", b"%%output %b " % self._pane
        while PROMPT not in _join_output(seen, start).partition(line)[2]:
            if not select.select([output], [], [], LONGEST_RUN_S)[0]:
                raise RuntimeError(f"No prompt came after {line!r}: {seen[-500:]!r}")
            seen += os.read(output, 65536)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)


def _join_output(lines: bytes, start: bytes) -> bytes:
    """Return what a pane printed. tmux may tell it in several lines, and cut it anywhere."""
    return b"".join(line.removeprefix(start) for line in lines.splitlines() if line.startswith(start))


def open_plain_shell(socket: str, home: str) -> None:
    """Open a session with a shell that muxpilot knows nothing of."""
    new = ["tmux", "-u", "-S", socket, "new-session", "-d", "-s", "bare", "-x", "200", "-y", "50"]
    subprocess.run(new, check=True, env=shell_variables(home))


def open_own_shell(socket: str, home: str) -> None:
    """Open a session with a shell as execute-command uses it: with marks, and with a journal.

    The muxpilot that opened it ends, so that it takes no part in what is measured.
    """
    client = Client([*OURS, "--socket", socket], home)
    client.shake_hands()
    pane = client.call("create-session", name="bare")["paneId"]
    client.call("execute-command", paneId=pane, command="true")
    client.close()


def version_1() -> list[str]:
    """Return the command that runs version 1."""
    folder = ROOT / ".cache" / f"source-{VERSION_1}"
    if not folder.exists():
        folder.mkdir(parents=True)
        argv = ["git", "-C", str(ROOT), "archive", VERSION_1, "src"]
        packed = subprocess.run(argv, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return [*VARIANTS, "before", str(folder)]


def interleave(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Times]:
    """Time ten of each in turn, and one before them that is not counted (see measure.interleaved)."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds // AT_ONCE):
        for name, run in ways.items():
            for turn in range(-1, AT_ONCE):
                began = time.perf_counter()
                run()
                if turn >= 0:
                    taken[name].append((time.perf_counter() - began) * 1000)
    return {name: Times(times) for name, times in taken.items()}


def tmux_process(socket: str, *words: str) -> Callable[[], object]:
    argv = ["tmux", "-u", "-S", socket, *words]
    return lambda: subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)


def call_rows(clients: Mapping[str, Client], socket: str, rounds: int) -> Iterator[list[str]]:
    for tool, arguments in CALLS.items():
        ways: dict[str, Callable[[], object]] = {
            name: lambda client=client: client.call(tool, **arguments)  # type: ignore[misc]  # noqa: B023
            for name, client in clients.items()
        }
        taken = interleave(ways | {"tmux": tmux_process(socket, *PROCESSES[tool])}, rounds)
        for at, (name, share) in enumerate((("p50", 0.5), ("p99", 0.99))):
            ours, before, process = (taken[way].at(share) for way in ("ours", "before", "tmux"))
            ratio, bar = process / ours, BARS[tool][at]
            verdict = f">= {bar:g}x: {'met' if ratio >= bar else 'missed'}"
            cells = [f"{ours:.2f} ms", f"{before:.2f} ms", f"{process:.2f} ms"]
            yield [f"{tool}, {name}", *cells, f"{ratio:.1f}x faster", verdict]


def flight_row(clients: Mapping[str, Client], rounds: int) -> list[str]:
    """Send fifty calls, and read fifty answers."""
    rates = {}
    for name, client in clients.items():
        began = time.perf_counter()
        for _ in range(rounds):
            for _ in range(IN_FLIGHT):
                client.send("tools/call", {"name": "list-panes", "arguments": {}})
            for _ in range(IN_FLIGHT):
                client.receive()
        rates[name] = rounds * IN_FLIGHT / (time.perf_counter() - began)
    cells = [f"{rates[name]:.0f}/s" for name in ("ours", "before")]
    return [f"list-panes, {IN_FLIGHT} in flight", *cells, "", "", ""]


def command_rows(
    clients: Mapping[str, Client], bare: Mapping[str, ControlClient], rounds: int
) -> Iterator[list[str]]:
    """Compare execute-command with bare control clients, each in another kind of pane."""
    panes = {name: client.call("create-session", name="shell")["paneId"] for name, client in clients.items()}
    ways: dict[str, Callable[[], object]] = {
        name: lambda client=client, name=name: client.call(  # type: ignore[misc]
            "execute-command", paneId=panes[name], command="true"
        )
        for name, client in clients.items()
    }
    taken = interleave(ways | {kind: client.run for kind, client in bare.items()}, rounds)
    ours, before = (taken[name].at(0.5) for name in ("ours", "before"))
    for kind in bare:
        least = taken[kind].at(0.5)
        bar = COMMAND_BARS.get(kind)
        verdict = "" if bar is None else f"<= {bar:g}x: {'met' if ours <= bar * least else 'missed'}"
        against = f"{ours / least:.1f}x a bare control client ({least:.2f} ms)"
        cells = [f"{ours:.2f} ms", f"{before:.2f} ms", ""]
        yield [f"execute-command true, p50, {kind}", *cells, against, verdict]


def start_rows(rounds: int) -> Iterator[list[str]]:
    """Time starts to the answer to tools/list. The first start of each is not counted: it writes caches."""
    with private_tmux() as (socket, home):
        where = ["--socket", socket]
        commands = {"ours": [*OURS, *where], "before": [*version_1(), *where], "bare": [*VARIANTS, "bare"]}
        for argv in commands.values():
            client = Client(argv, home)
            client.shake_hands()
            time.sleep(2)  # the manifest is written after a second
            client.close()
        homes = dict.fromkeys(commands, home) | {"first": f"{home}/first"}
        commands["first"] = commands["ours"]  # in a home without a manifest
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, argv in commands.items():
                shutil.rmtree(homes["first"], ignore_errors=True)
                os.mkdir(homes["first"])
                taken[name].append(start_once(argv, homes[name]))
        ours, before, bare, first = (
            Times(taken[name]).at(0.5) for name in ("ours", "before", "bare", "first")
        )
        yield _start_row("start to tools/list, median", ours, before, bare)
        yield _start_row("the same, without a manifest", first, before, bare)


def _start_row(what: str, ours: float, before: float, bare: float) -> list[str]:
    verdict = "met" if ours / bare <= 0.3 and ours < 350 else "missed"
    cells = [f"{value:.0f} ms" for value in (ours, before, bare)]
    return [what, *cells, f"{ours / bare:.2f}x the SDK's", f"<= 0.3x, below 350 ms: {verdict}"]


def start_once(argv: list[str], home: str) -> float:
    began = time.perf_counter()
    client = Client(argv, home)
    client.shake_hands()
    client.ask("tools/list", {})
    taken = (time.perf_counter() - began) * 1000
    client.close()
    return taken


def memory_row(clients: Mapping[str, Client], bare: Client) -> list[str]:
    """Measure after the calls above, which are more than a thousand."""
    sizes = {name: _memory_mb(client.pid) for name, client in (*clients.items(), ("bare", bare))}
    verdict = "met" if sizes["ours"] < 36 else "missed"
    cells = [f"{sizes[name]:.1f} MB" for name in ("ours", "before", "bare")]
    ratio = f"{sizes['ours'] / sizes['before']:.2f}x version 1"
    return ["memory after the calls (RSS)", *cells, ratio, f"< 36 MB: {verdict}"]


def _memory_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def measure(arguments: argparse.Namespace) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows about calls, and those about starts and memory."""
    with ExitStack() as stack:
        clients = {}
        for name, argv in (("ours", OURS), ("before", version_1())):
            socket, home = stack.enter_context(private_tmux())
            clients[name] = client = Client([*argv, "--socket", socket], home)
            stack.callback(client.close)
            client.shake_hands()
        bare = Client([*VARIANTS, "bare"], home)
        stack.callback(bare.close)
        bare.shake_hands()
        spare, _ = stack.enter_context(private_tmux())
        calls = list(call_rows(clients, spare, arguments.rounds))
        calls.append(flight_row(clients, arguments.rounds // IN_FLIGHT))
        controls = {}
        for kind, open_shell in ((SAME_KIND, open_own_shell), (PLAIN, open_plain_shell)):
            socket, home = stack.enter_context(private_tmux())
            open_shell(socket, home)
            controls[kind] = control = ControlClient(socket)
            stack.callback(control.close)
        calls += command_rows(clients, controls, arguments.rounds // 5)
        memory = memory_row(clients, bare)
    return calls, [*start_rows(arguments.starts), memory]


@contextmanager
def private_tmux() -> Iterator[tuple[str, str]]:
    """A tmux of its own with four panes, the first of which swallows what is typed."""
    folder = tempfile.mkdtemp(prefix="mx", dir="/tmp")
    tmux = ["tmux", "-u", "-S", f"{folder}/s", "-f", "/dev/null"]
    quiet = "stty -echo; exec cat >/dev/null"
    for file in (".bashrc", ".bash_profile"):
        Path(folder, file).write_text(f"PS1='{PROMPT.decode()}'\n")
    try:
        new = [*tmux, "new-session", "-d", "-x", "200", "-y", "50", quiet]
        subprocess.run(new, check=True, env=shell_variables(folder))
        for _ in range(3):
            subprocess.run([*tmux, "new-window", "-d", "exec sleep 1000"], check=True)
        yield f"{folder}/s", folder
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def shell_variables(home: str) -> dict[str, str]:
    """Return variables with which shells of a tmux server start the same on every machine."""
    return {**os.environ, "HOME": home, "SHELL": "/bin/bash", "TERM": "xterm-256color"}


def main() -> None:
    parser = argparse.ArgumentParser(description="the MCP server, measured")
    parser.add_argument("--rounds", type=int, default=1000, help="calls of each tool on each server")
    parser.add_argument("--starts", type=int, default=9, help="starts of each server")
    arguments = parser.parse_args()
    version = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    calls, starts = measure(arguments)
    print(f"{machine()}, {version}; {arguments.rounds} calls and {arguments.starts} starts of each,", end=" ")
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print_table(CALL_HEAD, calls)
    print()
    print_table(START_HEAD, starts)


if __name__ == "__main__":
    main()
