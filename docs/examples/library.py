"""The engine as a library: ten lines from nothing to a program's last byte."""

from __future__ import annotations

import asyncio
import sys

from muxpilot import PaneProgram, Tmux
from muxpilot.tmux import Data, End


async def main(socket: str) -> None:
    async with Tmux(socket) as tmux:
        session = await tmux.sessions.create("example", program=PaneProgram("seq 1 3; exit 7"))
        stream = tmux.streams.find_stream(session.pane_id)
        assert stream is not None
        async for event in stream.follow(0):
            if isinstance(event, Data):
                print(event.data.decode(), end="")
            elif isinstance(event, End):
                print("status", event.status)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
