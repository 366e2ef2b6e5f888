"""A muxpilot that is killed again and again at random moments, with commands in ten panes.

After each restart the next muxpilot is asked about all commands. What it says is compared with the files
that the commands wrote (tests/rigs/witness.py).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.rigs.muxpilots import write_config
from tests.rigs.shell_panes import TEN_PANES, create_pane, create_plain_pane
from tests.rigs.waiting import patient
from tests.rigs.wire import LIMIT_S, Pending, Place, Wire
from tests.rigs.witness import (
    ENDS_THE_SHELL,
    FINAL,
    Witness,
    WitnessedCommand,
    find_disorder,
    find_repeated,
    find_untruth,
)

MOST_BYTES = 1 << 20
# When the server is killed: while it starts, soon after a call, after the answers, with nothing to do.
MOMENTS = ("start", "call", "call", "answers", "idle")
_KINDS = ("quick", "quick", "silent", "slow", "slow", "big", "lines", "fails", "exits", "leaves late")
_SHELLS_TO_LEAVE = ("bash", "bash", "zsh", "dash")
_MOST_OPEN_IN_A_PANE = 4
_PAUSES_S = (0.0, 0.05, 0.5)  # how long no server runs, at most
_LAST_WAIT_S = 60.0
# More commands than this that are lost or refused are no proof.
_SHARE_WITHOUT_RESULT = 0.05
_WITHOUT_RESULT = ("lost", "refused")


@dataclass(slots=True, eq=False)
class AskedCommand:
    """A command that was asked for, and what has been told of it so far."""

    command: WitnessedCommand
    life: int
    shell: str
    pending: Pending
    command_id: str | None = None
    refusal: str | None = None
    final: dict[str, Any] | None = None
    fault: str | None = None
    is_unlisted: bool = False  # a later muxpilot did not list it, so nothing more will come

    @property
    def is_settled(self) -> bool:
        return self.final is not None or self.refusal is not None or self.fault is not None

    def take_answer(self) -> None:
        """Read the answer of execute-command, if it came before the server was killed."""
        if not self.pending.done() or self.pending.cancelled():
            return
        self.take_result(self.pending.result())

    def take_result(self, message: dict[str, Any]) -> None:
        result = message.get("result") or {"isError": True, "content": [{"text": str(message.get("error"))}]}
        if result.get("isError"):
            self.refusal = self.refusal or str(result["content"][0]["text"])
            return
        answer = result["structuredContent"]
        self.command_id = self.command_id or answer["commandId"]
        if answer["status"] in FINAL:
            self.final = answer


@dataclass(slots=True)
class Report:
    """What came of all commands. It is good if there is no fault."""

    lives: int
    seconds: float
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ", ".join(f"{number} {name}" for name, number in sorted(self.counts.items()))
        lines = [f"{self.lives} restarts by SIGKILL in {self.seconds:.0f} s; commands: {told}"]
        lines += [f"{number} times: {reason}" for reason, number in self.reasons.most_common(8)]
        lines += [f"{len(self.faults)} faults", *self.faults[:40]]
        return "\n".join(lines)


class Restarts:
    """One run: panes, commands, lives, and what is known of each command."""

    def __init__(self, place: Place, *, seed: int, logs: Path) -> None:
        self.asked: list[AskedCommand] = []
        self._place = place
        self._random = Random(seed)
        self._logs = logs
        self._witness = Witness(Path(place.socket).with_name("w"))
        self._args = (*write_config(place, completed_max_entries=0), "--log-level", "debug")
        self._panes: dict[str, str] = {}
        self._moments: list[str] = []

    async def run(self, lives: int) -> Report:
        began = time.monotonic()
        async with self._place.serve(*self._args) as wire:
            await wire.shake_hands()
            await self._make_panes(wire)
        for life in range(lives):
            await self._live(life)
            await asyncio.sleep(self._random.uniform(0, self._random.choice(_PAUSES_S)))
        listed = await self._live_last(lives)
        return self._report(lives, time.monotonic() - began, listed)

    async def _make_panes(self, wire: Wire) -> None:
        self._place.tmux("new-session", "-d", "-s", "keeper", "cat")
        for shell, is_own in TEN_PANES:
            make = create_pane(self._place, wire, shell) if is_own else None
            pane = await make if make else create_plain_pane(self._place, shell)
            self._panes[pane] = shell

    async def _live(self, life: int) -> None:
        """Start a server, check what it knows, ask for more commands, and kill it."""
        moment = self._random.choice(MOMENTS)
        self._moments.append(moment)
        async with self._place.serve(*self._args) as wire:
            new: list[AskedCommand] = []
            try:
                if moment == "start":
                    await asyncio.sleep(self._random.uniform(0, 0.15))
                else:
                    await wire.shake_hands()
                    await self._review(wire)
                    await self._ask_some(wire, life, new)
                    await self._wait_for_moment(moment, new, wire)
            finally:
                await wire.kill()
                await self._keep_log(wire, f"{life:04d}-{moment}")
            for asked in new:
                asked.take_answer()

    async def _keep_log(self, wire: Wire, name: str) -> None:
        text = await asyncio.wait_for(wire.stderr(), 10)
        (self._logs / f"{name}.log").write_text(text)

    async def _ask_some(self, wire: Wire, life: int, new: list[AskedCommand]) -> None:
        for _ in range(self._random.randint(1, 4)):
            kind = self._random.choice(_KINDS)
            if kind in ENDS_THE_SHELL:
                shell = self._random.choice(_SHELLS_TO_LEAVE)
                pane = await create_pane(self._place, wire, shell)
            else:
                free = [(pane, shell) for pane, shell in self._panes.items() if self._has_room(pane)]
                if not free:
                    return
                pane, shell = self._random.choice(free)
            command = self._witness.make_command(kind, pane)
            how = self._random.choice(({"waitMs": 0}, {"waitMs": 50}, {"timeoutSeconds": 2}))
            pending = await wire.start_call(
                "execute-command", paneId=pane, command=command.text, maxOutputBytes=MOST_BYTES, **how
            )
            new.append(AskedCommand(command, life, shell, pending))
            self.asked.append(new[-1])

    def _has_room(self, pane: str) -> bool:
        of_pane = [asked for asked in self.asked if asked.command.pane == pane]
        is_open = [asked for asked in of_pane if not asked.is_settled and not asked.is_unlisted]
        return len(is_open) < _MOST_OPEN_IN_A_PANE

    async def _wait_for_moment(self, moment: str, new: Sequence[AskedCommand], wire: Wire) -> None:
        if moment == "call":
            await asyncio.sleep(self._random.uniform(0, 0.05))
            return
        if new:
            await asyncio.wait([asked.pending for asked in new], timeout=patient(4))
        if moment == "answers":
            await asyncio.sleep(self._random.uniform(0, 0.3))
            return
        for asked in new:
            asked.take_answer()
            if asked.command_id and asked.final is None:
                await self._ask_for_result(wire, asked, wait_ms=1500)

    async def _ask_for_result(self, wire: Wire, asked: AskedCommand, *, wait_ms: int = 0) -> None:
        """Ask for one result. A command that is not known, or told otherwise than before, is a fault."""
        arguments = {"commandId": asked.command_id, "waitMs": wait_ms, "maxOutputBytes": MOST_BYTES}
        params = {"name": "get-command-result", "arguments": arguments}
        answer = await wire.ask("tools/call", params, limit_s=LIMIT_S + wait_ms / 1000)
        before = asked.final
        asked.take_result(answer)
        if asked.refusal is not None:
            asked.fault = f"its result is refused: {asked.refusal}"
        elif before is not None and _essence(before) != _essence(asked.final):
            asked.fault = f"told as {_essence(before)}, later as {_essence(asked.final)}"

    async def _review(self, wire: Wire, *, wait_ms: int = 0, sample: int = 3) -> list[str]:
        """Ask about every command that has no final answer yet, and about some that have one."""
        rows = (await wire.call("list-commands"))["commands"]
        ids = {row["command"]: row["commandId"] for row in rows}
        for asked in self.asked:
            asked.command_id = asked.command_id or ids.get(asked.command.text)
            asked.is_unlisted = asked.command_id is None
        due = [asked for asked in self.asked if asked.command_id and not asked.is_settled]
        settled = [asked for asked in self.asked if asked.final is not None and asked.fault is None]
        deadline = time.monotonic() + wait_ms / 1000
        for asked in (*due, *self._random.sample(settled, min(sample, len(settled)))):
            left_ms = max(0, int(1000 * (deadline - time.monotonic())))
            await self._ask_for_result(wire, asked, wait_ms=left_ms)
        self._replace_dead_panes()
        return [row["command"] for row in rows]

    def _replace_dead_panes(self) -> None:
        """Use another pane instead of one in which a command is lost: its shell may be gone."""
        for asked in self.asked:
            if asked.final and asked.final["status"] == "lost" and asked.command.pane in self._panes:
                shell = self._panes.pop(asked.command.pane)
                self._panes[create_plain_pane(self._place, shell)] = shell

    async def _live_last(self, life: int) -> list[str]:
        async with self._place.serve(*self._args) as wire:
            await wire.shake_hands()
            listed = await self._review(wire, wait_ms=int(1000 * _LAST_WAIT_S), sample=len(self.asked))
            await wire.kill()
            await self._keep_log(wire, f"{life:04d}-last")
        return listed

    def _report(self, lives: int, seconds: float, listed: Sequence[str]) -> Report:
        report = Report(lives, seconds)
        begun, ended = self._witness.begun(), self._witness.ended()
        begun_times, ended_times = Counter(begun), Counter(ended)
        for asked in self.asked:
            number = asked.command.number
            name, fault = _judge(asked, begun=begun_times[number], ended=ended_times[number])
            report.counts[name] += 1
            if name.startswith(_WITHOUT_RESULT):
                report.reasons[f"{name}: {_reason(asked)}"] += 1
            if fault:
                report.faults.append(self._describe(asked, fault, begun_times[number], ended_times[number]))
        by_text = {asked.command.text: asked.command for asked in self.asked}
        known = [by_text[text] for text in listed if text in by_text]
        report.faults += [f"order differs in {row}" for row in find_disorder(known, begun)]
        report.faults += self._find_misplaced(listed)
        report.faults += [f"command {number} ran twice" for number in find_repeated(begun)]
        without = sum(report.reasons.values())
        if without > _SHARE_WITHOUT_RESULT * len(self.asked):
            report.faults.append(f"{without} of {len(self.asked)} commands are lost or refused")
        return report

    def _find_misplaced(self, listed: Sequence[str]) -> list[str]:
        """Compare the order of list-commands with the order of asking, in every pane."""
        wrong = []
        for pane in {asked.command.pane for asked in self.asked}:
            wanted = [asked.command.text for asked in self.asked if asked.command.pane == pane]
            found = [text for text in listed if text in wanted]
            if found != [text for text in wanted if text in found]:
                wrong.append(f"list-commands has another order than the calls in {pane}")
        return wrong

    def _describe(self, asked: AskedCommand, fault: str, begun: int, ended: int) -> str:
        command = asked.command
        return (
            f"command {command.number} ({command.kind}, {asked.shell}, {command.pane}, life {asked.life} "
            f"killed at {self._moments[asked.life]}, {asked.command_id}): {fault}; "
            f"begun {begun}, ended {ended} times"
        )


def _reason(asked: AskedCommand) -> str:
    """Return why a command has no result, without the ids that differ from command to command."""
    told = asked.refusal or str((asked.final or {}).get("reason"))
    return re.sub(r"cmd-\w+|%\d+", "…", told)


def _essence(answer: dict[str, Any] | None) -> tuple[object, ...]:
    if answer is None:
        return ("no final answer",)
    return answer["status"], answer["exitCode"], hash(answer["output"])


def _judge(asked: AskedCommand, *, begun: int, ended: int) -> tuple[str, str | None]:
    """Return under which name a command is counted, and what is wrong with it."""
    if asked.fault:
        return "wrong", asked.fault
    if asked.refusal:
        return "refused", f"ran, but was refused: {asked.refusal}" if begun else None
    if asked.command_id is None:
        return "never answered and not run", "ran, but no muxpilot knows it" if begun else None
    if asked.final is None:
        return "without an end", "has no final answer"
    name = str(asked.final["status"])
    if name == "lost":
        name = "lost after they began" if begun else "lost without having run"
    return name, find_untruth(asked.command, asked.final, begun=begun, ended=ended)
