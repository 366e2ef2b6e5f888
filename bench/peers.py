"""muxpilot against other tmux servers for MCP that the package registries have, side by side in one run.

    ./dev bench peers --install     (the first time: each into a folder of its own, in .cache/peers)
    ./dev bench peers

Every server is started as its own documentation says, with the tools that it offers by default, on a tmux
of its own with bash, in panes of 200 by 50. They take turns, so that what disturbs the machine disturbs
all of them alike. Commands are run by the tool that each one has for it, and what is judged is that
tool's own answer. A server that is not installed, or cannot be, is left out and said to be.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.measure import Call, Times, count_tokens, descendants, interleaved, machine, print_table
from bench.peer_servers import COMMAND_LIMIT_S, OURS, RIVALS, Client, Peer, Ran, Way, begun, private_home

TRIALS = 10
NONE = "no such tool"
FAILS = "the call fails"
# Prints each line that it is told to print, and the time at which it did.
PRINTER = """import sys, time
for line in sys.stdin: print(line.strip(), repr(time.monotonic()), flush=True)"""
PASSWORD = "read -s -p 'Password: ' secret"


async def starts(peers: Sequence[Peer], rounds: int) -> list[Times]:
    """From the start of a process to its answer to tools/list; the first one of each is not counted."""
    taken: dict[str, list[float]] = {peer.name: [] for peer in peers}
    with private_home() as home:
        for turn in range(-1, rounds):
            for peer in peers:
                client, _, seconds = await begun(peer, home)
                if turn >= 0:
                    taken[peer.name].append(seconds * 1000)
                await client.close()
    return [Times(times) for times in taken.values()]


def compared(values: Sequence[float], form: str) -> list[str]:
    """Each value, and how many times ours it is."""
    ours = values[0]
    return [form.format(ours), *(f"{form.format(value)}, {times(value / ours)}" for value in values[1:])]


def times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 0.1 else f"{ratio:.2f}x"


def told(taken: Sequence[Times | str]) -> list[str]:
    """p50 and p99 of each, and how many times ours its p50 is; or why there is none."""
    ours = taken[0]
    assert isinstance(ours, Times)
    cells = [f"{ours.at(0.5):.1f} / {ours.at(0.99):.1f} ms"]
    for each in taken[1:]:
        if isinstance(each, Times):
            ratio = each.at(0.5) / ours.at(0.5)
            cells.append(f"{each.at(0.5):.1f} / {each.at(0.99):.1f} ms, {ratio:.1f}x")
        else:
            cells.append(each)
    return cells


def megabytes(pid: int) -> float:
    """Of a server and all that it has started, shared pages counted by their share."""
    total = 0
    for process in descendants(pid):
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
        total += int(found[1]) if found else 0
    return total / 1024


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
        return FAILS


async def measured(peers: Sequence[Peer], arguments: argparse.Namespace) -> AsyncIterator[list[str]]:
    started = await starts(peers, arguments.starts)
    yield ["start to tools/list, median", *compared([times.at(0.5) for times in started], "{:.0f} ms")]
    async with AsyncExitStack() as stack:
        clients, listed = [], []
        for peer in peers:
            home = stack.enter_context(private_home())
            client, answer, _ = await begun(peer, home)
            stack.push_async_callback(client.close)
            listed.append(answer)
            clients.append(client)
        sizes = compared([count_tokens(answer) for answer in listed], "{:,.0f}")
        counts = [len(answer["tools"]) for answer in listed]
        cells = [f"{size} ({number} tools)" for size, number in zip(sizes, counts, strict=True)]
        yield ["tokens of tools/list (o200k), as it is by default", *cells]
        for row in await calls(clients, arguments.rounds):
            yield row
        yield ["a printed line is known, p50 / p99", *told(await waits(clients, arguments.waits))]
        yield ["memory after all that", *compared([megabytes(client.pid) for client in clients], "{:.0f} MB")]
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
    ears = {
        client.peer.name: await client.new_pane("ear", "stty -echo; cat >/dev/null") for client in clients
    }
    asked: dict[str, Callable[[Client], Call]] = {
        "list sessions, p50 / p99": lambda c: partial(c.call, c.peer.list_sessions),
        "list panes, p50 / p99": lambda c: partial(c.call, c.peer.list_panes),
        "send keys, p50 / p99": lambda c: partial(c.call, c.peer.send, pane=ears[c.peer.name], text="x"),
        "run `true` and have its exit code, p50 / p99": lambda c: partial(run_true, c, panes[c.peer.name]),
    }
    rows = []
    for name, way in asked.items():
        ways = {client.peer.name: way(client) for client in clients}
        few = rounds // 3 if name.startswith("run") else rounds
        rows.append([name, *told(await timed(ways, max(1, few)))])
    return rows


async def timed(ways: dict[str, Call], rounds: int) -> list[Times | str]:
    """Those whose first call fails are left out, and the reason is told on stderr."""
    working = {}
    for name, call in ways.items():
        try:
            await call()
            working[name] = call
        except RuntimeError as failure:
            print(failure, file=sys.stderr)
    found = await interleaved(working, rounds=rounds)
    return [found.get(name, FAILS) for name in ways]


async def waits(clients: Sequence[Client], rounds: int) -> list[Times | str]:
    """From a line's being printed to the answer of whoever waited for it."""
    panes = {}
    for client in clients:
        program = f"stty -echo; exec {sys.executable} -c '{PRINTER}'"
        panes[client.peer.name] = await client.new_pane("printer", program)
    taken: dict[str, list[float]] = {client.peer.name: [] for client in clients}
    for turn in range(rounds):
        for client in clients:
            if client.peer.wait is not None:
                pane, word = panes[client.peer.name], f"word{turn}x"
                taken[client.peer.name].append(await one_wait(client, client.peer.wait, pane, word))
    return [Times(times) if times else NONE for times in taken.values()]


async def one_wait(client: Client, wait: Way, pane: str, word: str) -> float:
    waiting = asyncio.ensure_future(client.call(wait, pane=pane, text=word))
    await asyncio.sleep(random.uniform(0.5, 1.0))  # at any moment of a poller's pause
    client.tmux("send-keys", "-t", pane, word, "Enter")
    await waiting
    known = time.monotonic()
    line = next(
        line for line in client.tmux("capture-pane", "-p", "-t", pane).splitlines() if line.startswith(word)
    )
    return (known - float(line.split()[1])) * 1000


def report(arguments: argparse.Namespace) -> None:
    for peer in RIVALS:
        if arguments.install and not peer.is_there:
            peer.install()
    there = [peer for peer in RIVALS if peer.is_there]
    if not there:
        raise SystemExit("None of the others is installed: ./dev bench peers --install")
    rows = asyncio.run(collected([OURS, *there], arguments))
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{machine()}, {tmux}, load {os.getloadavg()[0]:.1f}\n")
    print_table(("what", "muxpilot", *(f"{peer.name} {peer.version()}" for peer in there)), rows)
    if missing := [peer.name for peer in RIVALS if not peer.is_there]:
        print(f"\nNot installed here: {', '.join(missing)}.")


async def collected(peers: Sequence[Peer], arguments: argparse.Namespace) -> list[list[str]]:
    return [row async for row in measured(peers, arguments)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="muxpilot against other tmux servers, measured")
    parser.add_argument("--install", action="store_true", help="install the others into .cache/peers first")
    parser.add_argument("--rounds", type=int, default=30, help="rounds of ten calls each")
    parser.add_argument("--starts", type=int, default=9, help="starts of each server")
    parser.add_argument("--waits", type=int, default=20, help="lines waited for on each server")
    report(parser.parse_args())
