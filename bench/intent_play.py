"""Plays a task of `intents.py` through one server: calls its tools, counts tokens, and judges the answers."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from bench.intent_servers import MANUALS, Manual
from bench.intent_tasks import PROMPT, Step, Task, fill
from bench.measure import count_tokens
from bench.peer_servers import Client, Way

SCREEN_LIMIT_S = 10.0
SCREEN_PAUSE_S = 0.05
POLL_PAUSE_S = 1.0
POLLS = 20
LATE_TRIES, LATE_PAUSE_S = 3, 0.3
CALL_LIMIT_S = 60.0
EXIT_CODES = ("exitCode", "exit_code", "exit_status")
COMMAND_IDS = ("commandId", "command_id")


class Play:
    """The calls of one task through one server, and what they cost."""

    def __init__(self, client: Client, given: Mapping[str, str]) -> None:
        self.client = client
        self.given = given
        self.answers: list[str] = []
        self.tokens_in = 0
        self.tokens_out = 0

    async def call(self, way: Way, **given: str) -> str:
        """Call a tool, and return the text that a model is shown."""
        arguments = way.filled(**given, **self.given)
        asked = {"name": way.tool, "arguments": arguments}
        result = await self.client.ask("tools/call", asked, CALL_LIMIT_S)
        text = "\n".join(block.get("text", "") for block in result["content"])
        self.tokens_in += count_tokens(asked)
        self.tokens_out += count_tokens(text)
        self.answers.append(text)
        return text

    async def wait_for_screen(self, pane: str, until: str) -> None:
        """Wait until a pane shows something; this is free, and given up after a while."""
        give_up = time.monotonic() + SCREEN_LIMIT_S
        while not re.search(fill(until, self.given), self._screen(pane)):
            if time.monotonic() > give_up:
                return
            await asyncio.sleep(SCREEN_PAUSE_S)

    def is_true(self, task: Task) -> bool:
        """Return whether the answers contain what the task wants, and nothing was left undone."""
        said = "\n".join(text for answer in self.answers for text in texts(answer))
        if not all(re.search(fill(wanted, self.given), said) for wanted in task.truth):
            return False
        if task.exit_code is not None and exit_code(self.answers[-1]) != task.exit_code:
            return False
        return task.leaves is None or self._file(task.leaves[0]) == fill(task.leaves[1], self.given)

    def _file(self, name: str) -> str:
        return (Path(self.client.home) / name).read_text()

    def _screen(self, pane: str) -> str:
        try:
            return self.client.tmux("capture-pane", "-p", "-t", f"={pane}:").rstrip()
        except subprocess.CalledProcessError:
            return ""


def read_json(answer: str) -> object:
    try:
        return json.loads(answer)
    except ValueError:
        return answer


def texts(answer: str) -> Iterator[str]:
    """Find the texts of an answer, which may be JSON; a list of texts is lines."""
    waiting = [read_json(answer)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            yield "\n".join(each for each in value if isinstance(each, str))
            waiting += [each for each in value if not isinstance(each, str)]


def exit_code(answer: str) -> int | None:
    """Return the exit code of an answer: a field of it, or what a typed `echo` has printed."""
    found = read_json(answer)
    codes = [found[name] for name in EXIT_CODES if name in found] if isinstance(found, dict) else []
    if codes:
        return int(codes[0]) if codes[0] is not None else None
    typed = re.findall(r"exit=(\d+)", "\n".join(texts(answer)))
    return int(typed[-1]) if typed else None


def command_id(answer: str) -> str:
    found = read_json(answer)
    ids = [found[name] for name in COMMAND_IDS if name in found] if isinstance(found, dict) else []
    return str(ids[0]) if ids else ""


async def play_ours(play: Play, task: Task) -> None:
    """Call muxpilot as the task says; `<one>` is the id of the command in the pane of that name."""
    ids: dict[str, str] = {}
    for way in task.ours:
        answer = await play.call(way, **ids)
        ids[str(way.arguments.get("paneId", "main"))] = command_id(answer)


async def play_steps(play: Play, task: Task) -> None:
    """Do the steps of a task with the tools of another server, in a session for each pane."""
    manual = MANUALS[play.client.peer.name]
    player = StepPlayer(play, manual)
    for step in task.steps:
        await player.open(step.pane)
        await ACTS[step.act](player, step)


class StepPlayer:
    """Does steps with the tools of a server, and keeps the ids of its commands."""

    def __init__(self, play: Play, manual: Manual) -> None:
        self._play = play
        self._manual = manual
        self._ids: dict[str, str] = {}
        self._panes: dict[str, str] = {}

    async def open(self, pane: str) -> None:
        """Open a session for a pane, once, and learn what its tools call it."""
        if pane in self._panes:
            return
        self._panes[pane] = pane
        for way in self._manual.open:
            answer = await self._play.call(way, pane=pane)
        if self._manual.wants_pane_ids:
            self._panes[pane] = max(re.findall(r"%\d+", answer), key=lambda found: int(found[1:]))
        await self._play.wait_for_screen(pane, PROMPT)

    async def run(self, step: Step) -> None:
        """Run a command to its end, by a tool or else by typing it."""
        if not self._manual.run:
            await self._type_and_read_exit_code(step)
        for way in self._manual.run:
            await self._command(way, step)

    async def run_long(self, step: Step) -> None:
        """Run a command of whose output only the end matters."""
        if not self._manual.run_long:
            await self.run(replace(step, text=f"{step.text} | tail; (exit ${{PIPESTATUS[0]}})"))
        for way in self._manual.run_long:
            await self._command(way, step)

    async def run_there(self, step: Step) -> None:
        """Run a command behind ssh, where tools that talk to their own tmux cannot."""
        if self._manual.runs_behind_ssh:
            await self.run(step)
        else:
            await self._type_and_read_exit_code(step)

    async def type(self, step: Step) -> None:
        await self._call(self._manual.type, step)
        await self._see(step)

    async def press(self, step: Step) -> None:
        await self._call(self._manual.press(step.text, step.times), step)
        await self._see(step)

    async def wait(self, step: Step) -> None:
        """Wait for what comes in its time: by a tool, or by reading again each second."""
        if self._manual.wait is not None:
            await self._call(self._manual.wait, step)
            return
        for _ in range(POLLS):
            if re.search(step.text, await self._call(self._manual.read, step)):
                return
            await asyncio.sleep(POLL_PAUSE_S)

    async def begin(self, step: Step) -> None:
        if self._manual.begin is None:
            await self.type(step)
        else:
            await self._command(self._manual.begin, step)

    async def end(self, step: Step) -> None:
        if self._manual.end is None:
            await self._see(step)
        else:
            await self._command(self._manual.end, step)

    async def _type_and_read_exit_code(self, step: Step) -> None:
        typed = Step("type", f"{step.text}; echo exit=$?", r"exit=\d", pane=step.pane)
        await self.type(typed)

    async def _command(self, way: Way, step: Step) -> None:
        """Make one call of a command, again where the output comes late."""
        for _ in range(LATE_TRIES if self._manual.output_comes_late else 1):
            answer = await self._call(way, step)
            self._ids[step.pane] = command_id(answer)
            if "exitCode" not in answer or '"output"' in answer:
                return
            await asyncio.sleep(LATE_PAUSE_S)

    async def _call(self, way: Way, step: Step) -> str:
        pane, known = self._panes[step.pane], self._ids.get(step.pane, "")
        text = fill(step.text, self._play.given)
        return await self._play.call(way, pane=pane, text=text, id=known)

    async def _see(self, step: Step) -> None:
        if step.until:
            await self._play.wait_for_screen(step.pane, step.until)
            await self._call(self._manual.read, step)


ACTS: Mapping[str, Callable[[StepPlayer, Step], Awaitable[None]]] = {
    "run": StepPlayer.run,
    "run long": StepPlayer.run_long,
    "run there": StepPlayer.run_there,
    "type": StepPlayer.type,
    "press": StepPlayer.press,
    "wait": StepPlayer.wait,
    "begin": StepPlayer.begin,
    "end": StepPlayer.end,
}
