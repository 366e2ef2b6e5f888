"""Commands, measured: `true` from call to answer, 20 MB of output, and twenty panes at once.

    ./dev bench commands

Side by side in one run: the shell alone in a terminal, the shell in the same pane watched by nobody but
us, `tee` with `tmux wait-for`, and a marker looked for every 200 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import resource
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Call, interleaved, machine, print_table
from muxpilot.app import App, build
from muxpilot.config.model import Settings
from muxpilot.config.scope import Scope
from muxpilot.tmux import PaneId

HEAD = ("what", "ours", "rival", "ratio or bar")
PROMPT = "bench> "
MEGABYTES = 20
POLL_S = 0.2


@contextmanager
def private_home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    (folder / ".bashrc").write_text(f"PS1='{PROMPT}'\n")
    (folder / ".bash_profile").write_text(". ~/.bashrc\n")
    os.environ |= {"HOME": str(folder), "SHELL": "/bin/bash", "TERM": "xterm-256color"}
    os.chdir(folder)
    try:
        yield folder
    finally:
        subprocess.run(["tmux", "-S", str(folder / "s"), "kill-server"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def muxpilot(folder: Path) -> AsyncIterator[App]:
    app = build(Settings(scope=Scope.ALL, socket=str(folder / "s")))
    try:
        yield app
    finally:
        await app.close()


async def call(app: App, tool: str, **arguments: object) -> dict[str, object]:
    answer = await app.dispatch.call(tool, arguments)
    if answer.is_error or answer.structured is None:
        raise RuntimeError(answer.text)
    return answer.structured


async def new_pane(app: App, name: str) -> str:
    pane = str((await call(app, "create-session", name=name))["paneId"])
    await call(app, "execute-command", paneId=pane, command="true")
    return pane


class BareShell:
    """The shell in a terminal of its own: nobody between it and us."""

    def __init__(self) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.execvp("bash", ["bash"])
        self._until_prompt()

    async def run(self) -> None:
        os.write(self._terminal, b"true\r")
        self._until_prompt()

    def close(self) -> None:
        os.close(self._terminal)
        os.waitpid(self._pid, 0)

    def _until_prompt(self) -> None:
        seen = b""
        while (
            not seen.rstrip(b"\x1b[?2004hl\r").endswith(PROMPT.encode()) and PROMPT.encode() not in seen[-40:]
        ):
            select.select([self._terminal], [], [])
            seen += os.read(self._terminal, 65536)


def in_the_pane(app: App, pane: str) -> Call:
    """The shell in a pane of the same tmux: from the typing until its prompt is in the stream again."""
    tmux = app.servers.default

    async def run() -> None:
        stream = tmux.streams.find_stream(PaneId(pane))
        assert stream is not None
        begin = stream.end
        await tmux.input.type(PaneId(pane), "true", enter=True)
        seen = b""
        async for event in stream.follow(begin):
            seen += getattr(event, "data", b"")
            if PROMPT.encode() in seen.rpartition(b"\n")[2]:
                return

    return run


def by_tmux(folder: Path, *args: str) -> str:
    argv = ["tmux", "-u", "-S", str(folder / "s"), *args]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def tee_and_wait(folder: Path, pane: str) -> Call:
    async def run() -> None:
        name = secrets.token_hex(4)
        file = folder / name
        by_tmux(
            folder, "send-keys", "-t", pane, f"{{ true; }} | tee {file}; tmux wait-for -S {name}", "Enter"
        )
        by_tmux(folder, "wait-for", name)
        file.read_text()

    return run


def marker_polling(folder: Path, pane: str) -> Call:
    async def run() -> None:
        mark = secrets.token_hex(4)
        by_tmux(folder, "send-keys", "-t", pane, f"true; echo {mark[:4]}''{mark[4:]}:$?", "Enter")
        while True:
            await asyncio.sleep(POLL_S)
            if f"{mark}:" in by_tmux(folder, "capture-pane", "-p", "-t", pane):
                return

    return run


async def quick_commands(app: App, folder: Path, rounds: int) -> list[tuple[str, ...]]:
    ours, plain, teed, polled = [await new_pane(app, name) for name in ("ours", "plain", "teed", "polled")]
    bare = BareShell()

    async def execute() -> None:
        await call(app, "execute-command", paneId=ours, command="true")

    rivals = {
        "the shell in the same pane, to its prompt": (in_the_pane(app, plain), "at most 2x"),
        "the shell alone in a terminal, to its prompt": (bare.run, ""),
        "tee and wait-for": (tee_and_wait(folder, teed), ""),
        "a marker, looked for every 200 ms": (marker_polling(folder, polled), ""),
    }
    try:
        ways = {"ours": execute, **{name: rival for name, (rival, _) in rivals.items()}}
        slow = "a marker, looked for every 200 ms"
        times = await interleaved({k: v for k, v in ways.items() if k != slow}, rounds=rounds)
        times |= await interleaved({slow: ways[slow]}, rounds=1)
    finally:
        bare.close()
    rows: list[tuple[str, ...]] = []
    for name, (_, bar) in rivals.items():
        ratio = times["ours"].at(0.5) / times[name].at(0.5)
        told = f"{ratio:.2f} of its time{f' ({bar})' if bar else ''}"
        rows.append((f"`true`, p50 / p99 ms, against {name}", str(times["ours"]), str(times[name]), told))
    return rows


async def much_output(app: App) -> tuple[str, ...]:
    pane = await new_pane(app, "much")
    size = MEGABYTES * 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    command = f"yes {'x' * 99} | head -c {size}"
    answer = await call(app, "execute-command", paneId=pane, command=command, timeoutSeconds=300)
    seconds = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    if answer.get("outputBytes", len(str(answer["output"]))) != size:
        raise RuntimeError(f"not {size} bytes: {answer}")
    began = time.perf_counter()
    process = await asyncio.create_subprocess_shell(f"{command} >/dev/null")
    await process.wait()
    return (
        f"{MEGABYTES} MB of output, exact",
        f"{MEGABYTES / seconds:.1f} MB/s",
        f"{MEGABYTES / (time.perf_counter() - began):.0f} MB/s into /dev/null",
        f"memory grew by {grown:.0f} MB",
    )


async def many_panes(app: App, panes: int = 20, each: int = 20) -> tuple[str, ...]:
    ids = [await new_pane(app, f"many{n}") for n in range(panes)]

    async def work(pane: str) -> None:
        for step in range(each):
            answer = await call(app, "execute-command", paneId=pane, command=f"echo {pane} {step}")
            if answer["output"] != f"{pane} {step}\n":
                raise RuntimeError(str(answer))

    began = time.perf_counter()
    await asyncio.gather(*map(work, ids))
    rate = panes * each / (time.perf_counter() - began)
    return (f"{panes} panes, {each} commands each, at once", f"{rate:.0f} commands/s", "", "")


async def main(rounds: int) -> None:
    with private_home() as folder:
        async with muxpilot(folder) as app:
            rows = await quick_commands(app, folder, rounds)
            rows.append(await much_output(app))
            rows.append(await many_panes(app))
    print(machine())
    print_table(HEAD, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="rounds of ten calls each")
    asyncio.run(main(parser.parse_args().rounds))
