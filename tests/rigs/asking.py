"""A muxpilot that asks, and people at terminals who answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muxpilot.people.sockets import ASKS, find_sockets
from tests.rigs.engine import AttachedPerson, attach_person, wait_until
from tests.rigs.wire import LIMIT_S, TMUX, Pending, Place, Wire, private_place

# Reads a secret without showing it, and tells only its length.
READER = "stty -echo; printf 'Password: '; read -r given; stty echo; echo; echo got ${#given}; exec cat"


@dataclass
class Asking:
    """A tmux server with the session `dev` of a person, and a muxpilot."""

    place: Place
    wire: Wire

    def person(self, *args: str) -> AbstractAsyncContextManager[AttachedPerson]:
        """Attach a person for the time of the block."""
        return attach_person(self.place.program, self.place.socket, *(args or ("attach", "-t", "dev")))

    async def ask(self, **arguments: Any) -> Pending:
        """Begin a question."""
        return await self.wire.start_call("ask-person", **arguments)

    def attach_in(self, outer: Place) -> str:
        """Attach a person whose terminal is a pane of another tmux server. Return the pane."""
        attach = f"env -u TMUX {self.place.program} -S {self.place.socket} attach -t dev"
        size = ("-x", "80", "-y", "24")
        return outer.tmux("new-session", "-d", "-s", "outer", *size, "-P", "-F", "#{pane_id}", attach)

    @property
    def sockets(self) -> list[Path]:
        """The sockets of the muxpilot, which exist while it has an open question."""
        return [path for path in find_sockets(ASKS) if path.name.startswith(f"{ASKS}{self.wire.pid}-")]


async def reply_of(pending: Pending) -> Any:
    """Wait for the answer of a call, which must be no error."""
    message = await asyncio.wait_for(pending, LIMIT_S)
    assert not message["result"].get("isError"), message
    return message["result"]["structuredContent"]


async def refusal_of(pending: Pending) -> str:
    """Wait for the answer of a call that must fail, and return its text."""
    message = await asyncio.wait_for(pending, LIMIT_S)
    assert message["result"].get("isError"), message
    return str(message["result"]["content"][0]["text"])


async def wait_for_prompt(place: Place, pane: str) -> None:
    """Wait until the program in a pane asks for its secret."""
    await wait_until(lambda: "Password:" in place.tmux("capture-pane", "-p", "-t", pane))


async def start_reader(asking: Asking) -> str:
    """Start a program that asks for a secret in a pane of muxpilot, which has a journal. Return the pane."""
    made = await asking.wire.call("create-session", name="work", command=READER)
    pane = str(made["paneId"])
    await wait_for_prompt(asking.place, pane)
    return pane


async def see_popup(person: AttachedPerson, question: bytes = b"") -> None:
    """Wait until the popup of this question, or any popup, takes keys on a person's terminal."""
    await wait_until(lambda: question in person.seen and takes_keys(person, question))


def takes_keys(person: AttachedPerson, question: bytes) -> bool:
    return (
        b"Escape: no answer" in person.seen.partition(question)[2]
        if question
        else (b"Escape: no answer" in person.seen)
    )


@contextmanager
def use_home(place: Place) -> Iterator[None]:
    """Let this process see the questions of the muxpilots of a place, and no others."""
    before = os.environ.get("HOME", "")
    os.environ["HOME"] = str(place.home)
    try:
        yield
    finally:
        os.environ["HOME"] = before


@asynccontextmanager
async def start_asking(*args: str, program: str = TMUX) -> AsyncIterator[Asking]:
    with private_place(program) as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "-x", "80", "-y", "24", "exec cat")
        async with place.serve("--scope", "all", *args) as wire:
            await wire.shake_hands()
            yield Asking(place, wire)
