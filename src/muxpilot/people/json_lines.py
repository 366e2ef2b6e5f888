"""Messages between the processes of one user: each is one line of JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

LONGEST_LINE = 1 << 20


async def send_message(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    """Send a message. JSON keeps lone surrogates, so that every text arrives as it was."""
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


async def receive_message(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return the next message, or None at the end. Raise ValueError for what is no message."""
    line = await reader.readline()
    if not line:
        return None
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message
