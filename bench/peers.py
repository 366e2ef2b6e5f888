"""muxpilot against other tmux servers for MCP that PyPI has, side by side in one run.

    ./dev bench peers --install     (the first time: a venv of its own for each, in .cache/peers)
    ./dev bench peers

Every server is started as its own documentation says, with the tools that it offers by default, on a tmux
of its own with bash, in panes of 200 by 50. They take turns, so that what disturbs the machine disturbs
all of them alike. Commands are run by the tool that each one has for it, and what is judged is that
tool's own answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Call, Times, interleaved, machine, print_table
from bench.peer_servers import COMMAND_LIMIT_S, OURS, RIVALS, Client, Peer, Ran, private_home, start

TRIALS = 10
PASSWORD = "read -s -p 'Password: ' secret"


def tokens(listed: object) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its own loading
        import bpe_openai  # type: ignore[import-untyped]
    text = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


async def starts(peers: Sequence[Peer], rounds: int) -> list[Times]:
    """From the start of a process to its answer to tools/list; the first one of each is not counted."""

    async def once(peer: Peer) -> None:
        client = await start(peer, home)
        await client.tools()
        closing.append(client)

    taken: dict[str, list[float]] = {peer.name: [] for peer in peers}
    closing: list[Client] = []
    with private_home() as home:
        for turn in range(-1, rounds):
            for peer in peers:
                began = time.perf_counter()
                await once(peer)
                if turn >= 0:
                    taken[peer.name].append((time.perf_counter() - began) * 1000)
                await closing.pop().close()
    return [Times(times) for times in taken.values()]


def compared(values: Sequence[float], form: str) -> list[str]:
    """Each value, and how many times ours it is."""
    ours = values[0]
    return [form.format(ours), *(f"{form.format(value)}, {value / ours:.1f}x" for value in values[1:])]


def told(times: Sequence[Times]) -> list[str]:
    ours = times[0].at(0.5)
    shown = [f"{each.at(0.5):.1f} / {each.at(0.99):.1f} ms" for each in times]
    ratios = [f", {each.at(0.5) / ours:.1f}x" for each in times]
    return [shown[0], *(cell + ratio for cell, ratio in zip(shown[1:], ratios[1:], strict=True))]


async def long_output(client: Client) -> str:
    pane = await client.new_pane("long")
    ran = await client.run(pane, "seq 1 3000", **client.peer.for_long_output)
    wanted = [str(number) for number in range(1, 3001)]
    if list(ran.lines) == wanted:
        return "all"
    there = len(set(wanted) & set(ran.lines))
    ended = "" if ran.exit_code == 0 else ", its end not seen"
    return f"{there} of 3000 lines{ended}"


async def only_its_output(client: Client) -> str:
    pane = await client.new_pane("only")
    answers = [(await client.run(pane, "echo hello")).lines for _ in range(TRIALS)]
    good = sum(list(lines) == ["hello"] for lines in answers)
    return "yes" if good == TRIALS else f"in {good} of {TRIALS} answers"


async def exit_code(client: Client) -> str:
    pane = await client.new_pane("codes")
    codes = [(await client.run(pane, f"(exit {code})")).exit_code for code in (0, 3, 130)]
    return "yes" if codes == [0, 3, 130] else f"no: {codes}"


async def lasting_folder(client: Client) -> str:
    pane = await client.new_pane("folders")
    await client.run(pane, "cd /usr/lib")
    return "yes" if "/usr/lib" in (await client.run(pane, "pwd")).lines else "no"


def noticed(ran: Ran) -> str:
    if ran.exit_code is not None:
        return f"exit code {ran.exit_code}"
    early = ran.seconds < COMMAND_LIMIT_S * 0.8
    return f"told after {ran.seconds:.1f} s" if early else "waits out its timeout"


async def password(client: Client) -> str:
    pane = await client.new_pane("password")
    return noticed(await client.run(pane, PASSWORD))


async def open_quote(client: Client) -> str:
    pane = await client.new_pane("quote")
    first = noticed(await client.run(pane, "echo 'it is open"))
    after = await client.run(pane, "echo hello")
    well = after.exit_code == 0 and "hello" in after.lines
    return f"{first}; the next command {'works' if well else 'does not'}"


SITUATIONS = {
    "`seq 1 3000`: its output in the answer": long_output,
    "the answer holds that command's output only": only_its_output,
    "exit codes are right": exit_code,
    "`cd` lasts": lasting_folder,
    "a prompt for a password": password,
    "an unbalanced quote": open_quote,
}


def say_refusals(client: Client) -> None:
    many, first = len(client.refusals), client.refusals[0]
    print(f"{client.peer.name} refused {many} calls and was asked again at once: {first}", file=sys.stderr)


async def outcome(situation: Callable[[Client], Awaitable[str]], client: Client) -> str:
    """What came of it; a call that fails is an outcome too, and the reason is told on stderr."""
    try:
        return await situation(client)
    except RuntimeError as failure:
        print(failure, file=sys.stderr)
        return "the call fails"


async def measured(peers: Sequence[Peer], arguments: argparse.Namespace) -> AsyncIterator[list[str]]:
    begun = await starts(peers, arguments.starts)
    yield ["start to tools/list, median", *compared([times.at(0.5) for times in begun], "{:.0f} ms")]
    async with AsyncExitStack() as stack:
        clients, listed = [], []
        for peer in peers:
            home = stack.enter_context(private_home())
            client = await start(peer, home)
            stack.push_async_callback(client.close)
            listed.append(await client.tools())
            clients.append(client)
        sizes = compared([tokens(answer) for answer in listed], "{:,.0f}")
        counts = [len(answer["tools"]) for answer in listed]
        cells = [f"{size} ({number} tools)" for size, number in zip(sizes, counts, strict=True)]
        yield ["tokens of tools/list (o200k), as it is by default", *cells]
        for row in await calls(clients, arguments.rounds):
            yield row
        for name, situation in SITUATIONS.items():
            yield [name, *[await outcome(situation, client) for client in clients]]
        for client in clients:
            if client.refusals:
                say_refusals(client)


async def run_true(client: Client, pane: str) -> None:
    ran = await client.run(pane, "true")
    if ran.exit_code != 0:
        raise RuntimeError(f"{client.peer.name}: `true` has ended with {ran.exit_code}")


async def calls(clients: Sequence[Client], rounds: int) -> list[list[str]]:
    panes = {client.peer.name: await client.new_pane("timed") for client in clients}
    rows = []
    asked: dict[str, Callable[[Client], Call]] = {
        "list sessions, p50 / p99": lambda c: partial(c.call, c.peer.list_sessions, c.peer.every_session),
        "list panes, p50 / p99": lambda c: partial(c.call, c.peer.list_panes, c.peer.every_pane),
        "run `true` and have its exit code, p50 / p99": lambda c: partial(run_true, c, panes[c.peer.name]),
    }
    for name, way in asked.items():
        ways = {client.peer.name: way(client) for client in clients}
        few = rounds if name.startswith("list") else max(1, rounds // 3)
        rows.append([name, *told(list((await interleaved(ways, rounds=few)).values()))])
    return rows


def install() -> None:
    for peer in RIVALS:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(peer.folder)], check=True)
        pip = [str(peer.folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", peer.name], check=True)


def version(peer: Peer) -> str:
    code = f"from importlib.metadata import version; print(version('{peer.name}'))"
    argv = [str(peer.folder / "bin" / "python"), "-c", code]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def report(arguments: argparse.Namespace) -> None:
    if arguments.install:
        install()
    missing = [peer.name for peer in RIVALS if not Path(peer.argv[0]).exists()]
    if missing:
        raise SystemExit(f"Missing: {', '.join(missing)}. Get them from PyPI: ./dev bench peers --install")
    rows = asyncio.run(collected(arguments))
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{machine()}, {tmux}, load {os.getloadavg()[0]:.1f}\n")
    print_table(("what", "muxpilot", *(f"{peer.name} {version(peer)}" for peer in RIVALS)), rows)


async def collected(arguments: argparse.Namespace) -> list[list[str]]:
    return [row async for row in measured((OURS, *RIVALS), arguments)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="muxpilot against other tmux servers, measured")
    parser.add_argument("--install", action="store_true", help="install the others into .cache/peers first")
    parser.add_argument("--rounds", type=int, default=30, help="rounds of ten calls each")
    parser.add_argument("--starts", type=int, default=9, help="starts of each server")
    report(parser.parse_args())
