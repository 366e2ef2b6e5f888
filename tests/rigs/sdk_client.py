"""The SDK's own client, which starts muxpilot and speaks with it over stdio."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TextIO

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.rigs.wire import Place, environment


@asynccontextmanager
async def start_sdk_client(
    place: Place, *flags: str, log: TextIO, answer_question: Any = None
) -> AsyncIterator[ClientSession]:
    """Start muxpilot for a place; its stderr goes to `log`. `answer_question` is the elicitation callback."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "muxpilot", "--socket", place.socket, *flags],
        env=environment(place.home),
        cwd=place.home,
    )
    async with (
        stdio_client(parameters, errlog=log) as (reader, writer),
        ClientSession(reader, writer, elicitation_callback=answer_question) as client,
    ):
        await client.initialize()
        yield client
