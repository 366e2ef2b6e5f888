"""Several muxpilots that run commands in the same panes at the same time."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rigs.shell_panes import create_pane, create_plain_pane
from tests.rigs.wire import LIMIT_S, Place, Wire
from tests.rigs.witness import FINAL, Witness, WitnessedCommand, find_disorder, find_untruth

MOST_BYTES = 1 << 20
# Each caller goes round these kinds. Most commands are quick: the turns are what is tested.
_KINDS = ("quick", "silent", "quick", "fails", "lines", "quick", "big")


@dataclass(slots=True)
class Outcome:
    """What came of all commands. It is good if there is no fault."""

    servers: int
    commands: int
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = f"{self.servers} muxpilots, {self.commands} commands in {self.seconds:.0f} s"
        return "\n".join([f"{head}: {len(self.faults)} faults", *self.faults[:30]])


def write_config(place: Place, **tracking: object) -> tuple[str, ...]:
    """Write a configuration file with these keys of [tracking]. Return a server's arguments with it."""
    path = place.home / "muxpilot.toml"
    rows = [f"{key} = {json.dumps(value)}" for key, value in tracking.items()]
    path.write_text("\n".join(["[tracking]", *rows, ""]))
    return "--scope", "all", "--config", str(path)


@asynccontextmanager
async def several_servers(place: Place, number: int, *args: str) -> AsyncIterator[list[Wire]]:
    """Yield this many servers on one tmux."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(one_server(place, *args)) for _ in range(number)]


@asynccontextmanager
async def one_server(place: Place, *args: str) -> AsyncIterator[Wire]:
    """Yield a server that is ready for calls. It ends by itself when its stdin is closed."""
    async with place.serve(*(args or ("--scope", "all"))) as wire:
        await wire.shake_hands()
        yield wire


@asynccontextmanager
async def killed_server(place: Place, *args: str) -> AsyncIterator[Wire]:
    """Yield a server that is ready for calls. Kill it at the end of the block."""
    async with one_server(place, *args) as wire:
        try:
            yield wire
        finally:
            await wire.kill()


async def make_shared_panes(place: Place, wires: Sequence[Wire], shells: Sequence[str]) -> list[str]:
    """Create panes by each muxpilot in turn, and the last one by tmux alone."""
    place.tmux("new-session", "-d", "-s", "keeper", "cat")
    *own, last = shells
    panes = [await create_pane(place, wires[turn % len(wires)], shell) for turn, shell in enumerate(own)]
    return [*panes, create_plain_pane(place, last)]


async def run_together(
    place: Place, *, servers: int, commands: int, shells: Sequence[str] = ("bash", "zsh", "dash", "bash")
) -> Outcome:
    """Let every server run commands in every pane. Compare each answer with the files."""
    outcome = Outcome(servers, commands)
    witness = Witness(Path(place.socket).with_name("w"))
    began = time.monotonic()
    async with several_servers(place, servers, *write_config(place, completed_max_entries=0)) as wires:
        panes = await make_shared_panes(place, wires, shells)
        told = await _run_all(wires, panes, witness, commands)
        lists = [await _listed_texts(wire) for wire in wires]
    outcome.seconds = time.monotonic() - began
    outcome.faults += _find_wrong_answers(told, witness) + _find_other_lists(told, lists, witness)
    return outcome


Told = tuple[WitnessedCommand, dict[str, Any]]


async def _run_all(wires: Sequence[Wire], panes: Sequence[str], witness: Witness, number: int) -> list[Told]:
    """Run commands with two callers for each server and pane, each one after the other."""
    callers = 2 * len(wires) * len(panes)
    told: list[Told] = []

    async def work(wire: Wire, pane: str, times: int, turn: int) -> None:
        for step in range(times):
            command = witness.make_command(_KINDS[(turn + step) % len(_KINDS)], pane)
            told.append((command, await _run_to_end(wire, command)))

    async with asyncio.TaskGroup() as group:
        for turn in range(callers):
            times = number // callers + (turn < number % callers)
            wire, pane = wires[turn % len(wires)], panes[turn // len(wires) % len(panes)]
            group.create_task(work(wire, pane, times, turn))
    return told


async def _run_to_end(wire: Wire, command: WitnessedCommand) -> dict[str, Any]:
    """Run a command. On a busy machine its turn may come late, so its result is asked for once more."""
    arguments = {"paneId": command.pane, "command": command.text, "timeoutSeconds": LIMIT_S / 2}
    told = await call_and_wait(wire, "execute-command", maxOutputBytes=MOST_BYTES, **arguments)
    if told["status"] in {*FINAL, "refused"}:
        return told
    again = {"commandId": told["commandId"], "waitMs": int(1000 * LIMIT_S), "maxOutputBytes": MOST_BYTES}
    return await call_and_wait(wire, "get-command-result", **again)


async def call_and_wait(wire: Wire, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool. An error is an answer with the status `refused` and the error as its reason."""
    answer = await wire.ask("tools/call", {"name": tool, "arguments": arguments}, limit_s=2 * LIMIT_S)
    result = answer.get("result") or {"isError": True, "content": [{"text": str(answer.get("error"))}]}
    if result.get("isError"):
        return {"status": "refused", "reason": result["content"][0]["text"]}
    structured: dict[str, Any] = result["structuredContent"]
    return structured


async def _listed_texts(wire: Wire) -> list[str]:
    return [row["command"] for row in (await wire.call("list-commands"))["commands"]]


def _find_wrong_answers(told: Sequence[Told], witness: Witness) -> list[str]:
    begun, ended = Counter(witness.begun()), Counter(witness.ended())
    faults = []
    for command, answer in told:
        number = command.number
        fault = find_untruth(command, answer, begun=begun[number], ended=ended[number])
        if fault or answer["status"] == "lost":
            reason = answer.get("reason")
            faults.append(f"command {number} ({command.kind}, {command.pane}): {fault or 'lost'}; {reason}")
    return faults


def _find_other_lists(told: Sequence[Told], lists: Sequence[Sequence[str]], witness: Witness) -> list[str]:
    by_text = {command.text: command for command, _ in told}
    faults = [
        f"server {number} lists {len(texts)} commands, server 0 lists {len(lists[0])}, or in another order"
        for number, texts in enumerate(lists)
        if texts != lists[0]
    ]
    missing = len(set(by_text) - set(lists[0]))
    if missing:
        faults.append(f"{missing} of {len(by_text)} commands are in no list of server 0")
    listed = [by_text[text] for text in lists[0] if text in by_text]
    return faults + find_disorder(listed, witness.begun())
