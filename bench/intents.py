"""What an intent costs: calls, tokens, seconds and truth of muxpilot and of other tmux servers, task by task.

    ./dev bench intents --install     (the first time: the others into folders of their own, in .cache/peers)
    ./dev bench intents

Each task is played by a fixed script of the shortest sensible calls of each server, on a tmux of its own,
from nothing: no session of the agent is there yet. The others are favoured: a screen is read when what is
waited for is on it, and that wait costs them no call. Seconds depend on the machine; calls do not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.intent_play import Play, play_ours, play_steps
from bench.intent_tasks import TASKS, Task, compile_program, fill_shop, write_files
from bench.measure import count_tokens, machine, print_table
from bench.peer_servers import OURS, RIVALS, Peer, begun, private_home
from bench.postgres import SEARCH_PATH, run_postgres
from tests.rigs.sshd import free_port, run_sshd

PROGRAM_PATH = f"{SEARCH_PATH}:/usr/sbin:/sbin"
CALL_FAILS = "the call fails"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one task cost through one server, and whether its answers were true."""

    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    is_true: bool
    failure: str = ""

    def __str__(self) -> str:
        verdict = self.failure or ("true" if self.is_true else "**not true**")
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{calls}, {self.tokens_in:,} + {self.tokens_out:,}, {self.seconds:.1f} s, {verdict}"


@contextmanager
def far_host(home: Path, task: Task) -> Iterator[None]:
    """Run an sshd for a task that needs one, and write the configuration by which `ssh` finds it."""
    if "sshd" not in task.needs:
        yield
        return
    keys = home / "keys"
    keys.mkdir()
    with run_sshd(keys, {"HOME": str(home / "far"), "PATH": os.environ["PATH"]}) as sshd:
        (home / "far.conf").write_text(
            f"Host far\n HostName {sshd.address}\n Port {sshd.port}\n IdentityFile {keys}/user\n"
            f" StrictHostKeyChecking no\n UserKnownHostsFile {keys}/known\n LogLevel ERROR\n"
        )
        yield


@contextmanager
def shop_database(home: Path, task: Task, given: Mapping[str, str]) -> Iterator[None]:
    """Run PostgreSQL for a task that needs it."""
    if "postgres" not in task.needs:
        yield
        return
    with run_postgres(home, fill_shop(given)):
        yield


async def outcome(peer: Peer, task: Task) -> Outcome:
    """Play one task through a server that is started for it."""
    given = {"code": str(random.randrange(2000, 10_000)), "port": str(free_port())}
    with private_home() as home:
        write_files(Path(home), given)
        if "cc" in task.needs:
            compile_program(Path(home))
        with far_host(Path(home), task), shop_database(Path(home), task, given):
            client, _, _ = await begun(peer, home)
            play = Play(client, given)
            try:
                await client.call(peer.list_sessions)  # so that what a process does once is not counted
                return await timed(play, task)
            finally:
                await client.close()


async def timed(play: Play, task: Task) -> Outcome:
    """Play a task, and judge it; a call that fails is an outcome too, and the reason is told on stderr."""
    began, failure = time.perf_counter(), ""
    try:
        await (play_ours(play, task) if play.client.peer is OURS else play_steps(play, task))
    except RuntimeError as error:
        print(f"{task.name}: {error}", file=sys.stderr)
        failure = CALL_FAILS
    seconds = time.perf_counter() - began
    is_true = not failure and play.is_true(task)
    return Outcome(len(play.answers), play.tokens_in, play.tokens_out, seconds, is_true, failure)


def missing_programs(task: Task) -> list[str]:
    return [name for name in task.needs if shutil.which(name, path=PROGRAM_PATH) is None]


async def play_all(peers: Sequence[Peer], tasks: Sequence[Task]) -> dict[str, list[Outcome]]:
    """Play the tasks in order, each through all servers in turn."""
    found: dict[str, list[Outcome]] = {}
    for task in tasks:
        if missing := missing_programs(task):
            print(f"left out: {task.name}: no {', '.join(missing)} here", file=sys.stderr)
            continue
        found[task.name] = [await outcome(peer, task) for peer in peers]
        print(f"{task.name}: {'; '.join(map(str, found[task.name]))}", file=sys.stderr)
    return found


def total(outcomes: Sequence[Outcome]) -> str:
    """Return the sums over all tasks of one server."""
    calls, seconds = sum(each.calls for each in outcomes), sum(each.seconds for each in outcomes)
    tokens_in, tokens_out = (
        sum(each.tokens_in for each in outcomes),
        sum(each.tokens_out for each in outcomes),
    )
    true = sum(each.is_true for each in outcomes)
    return f"{calls} calls, {tokens_in:,} + {tokens_out:,}, {seconds:.0f} s, {true} of {len(outcomes)} true"


async def list_tokens(peer: Peer) -> int:
    with private_home() as home:
        client, listed, _ = await begun(peer, home)
        await client.close()
    return count_tokens(listed)


async def collected(peers: Sequence[Peer], tasks: Sequence[Task]) -> list[list[str]]:
    """Return the rows of the table: the tasks, the totals, and what the list of tools costs once."""
    lists = [await list_tokens(peer) for peer in peers]
    found = await play_all(peers, tasks)
    rows = [[name, *map(str, outcomes)] for name, outcomes in found.items()]
    sums = [total(outcomes) for outcomes in zip(*found.values(), strict=True)]
    return [*rows, ["all", *sums], ["tokens of tools/list, once", *(f"{each:,}" for each in lists)]]


def chosen(words: Sequence[str]) -> list[Task]:
    """Return the tasks whose names contain one of the words, or all."""
    return [task for task in TASKS if not words or any(word in task.name for word in words)]


def title(peer: Peer) -> str:
    return peer.name if peer is OURS else f"{peer.name} {peer.version()}"


def report(arguments: argparse.Namespace) -> None:
    for peer in RIVALS:
        if arguments.install and not peer.is_there:
            peer.install()
    peers = [OURS, *(peer for peer in RIVALS if peer.is_there and not arguments.alone)]
    rows = asyncio.run(collected(peers, chosen(arguments.task)))
    tmux = subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{machine()}, {tmux}, load {os.getloadavg()[0]:.1f}\n")
    print_table(("task", *map(title, peers)), rows)
    if missing := [peer.name for peer in RIVALS if not peer.is_there]:
        print(f"\nNot installed here: {', '.join(missing)}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="calls, tokens, seconds and truth of tasks")
    parser.add_argument("task", nargs="*", help="only tasks whose names contain one of these words")
    parser.add_argument("--install", action="store_true", help="install the others into .cache/peers first")
    parser.add_argument("--alone", action="store_true", help="muxpilot only")
    report(parser.parse_args())
