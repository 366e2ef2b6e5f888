"""Random and half-right JSON-RPC over stdio: whatever comes, ping is answered and nothing of ours leaks.

./dev bench fuzz [--messages N] [--seed S]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from muxpilot.config.scope import Scope
from muxpilot.tools import TOOLS
from tests.rigs.wire import Wire, private_place

METHODS = (
    "initialize ping tools/list tools/call resources/list resources/read resources/subscribe prompts/get "
    "resources/templates/list prompts/list completion/complete logging/setLevel notifications/cancelled "
    "notifications/initialized server/discover subscriptions/listen nonsense"
).split()
# Those that end what others work on, or wait by themselves, would only hide what is looked for.
LEFT_OUT = frozenset("kill-session kill-window kill-pane start-and-watch watch-pane run-in-repl".split())
NAMES = [tool.name for tool in TOOLS if Scope.ALL in tool.scopes and tool.name not in LEFT_OUT]
LEAKS = ("Traceback", "pydantic", "site-packages", "muxpilot/", "incident")
ATOMS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**63, 10**400, "", "x", "%0", "$0", "@0", "\x00", "é" * 50),
    *("#(touch x)", "{last}", "-t", ";", "../../etc/passwd", "tmux://pane/%0", "tmux://nothing", "x" * 5000),
)


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.random()
    if depth > 3 or kind < 0.7:
        return rng.choice(ATOMS)
    if kind < 0.85:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {str(value(rng, 4))[:20]: value(rng, depth + 1) for _ in range(rng.randrange(4))}


def arguments(rng: random.Random, name: str) -> dict[str, Any]:
    """Some of its own, of which some are good."""
    schema = next(tool for tool in TOOLS if tool.name == name).input_schema["properties"]
    own = [key for key in schema if key != "socket" and rng.random() < 0.6]
    return {key: value(rng) for key in own} | ({"timeout": 0} if "timeout" in schema else {})


def message(rng: random.Random, number: int) -> bytes:
    kind = rng.random()
    if kind < 0.1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200))).replace(b"\n", b" ")
    method = rng.choice(METHODS) if kind < 0.5 else "tools/call"
    params: Any = value(rng)
    if method == "tools/call":
        name = rng.choice(NAMES)
        params = {"name": name, "arguments": arguments(rng, name) if rng.random() < 0.9 else value(rng)}
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    if not method.startswith("notifications/"):
        body["id"] = rng.choice((number, f"f{number}", value(rng, 4)))
    for key in tuple(body):
        if rng.random() < 0.03:
            body[key] = value(rng)
    text = json.dumps(body).encode()
    return text[: rng.randrange(len(text))] if rng.random() < 0.05 else text


def leaks(wire: Wire) -> list[str]:
    told = (json.dumps(each) for each in wire.unasked)
    return [text[:300] for text in told if any(word in text for word in LEAKS)]


async def fuzz(messages: int, seed: int) -> tuple[int, list[str]]:
    """How many were answered, and what was wrong."""
    rng = random.Random(seed)
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "fuzz", "cat")
        async with place.serve("--scope", "all", is_new=True) as wire:
            await wire.shake_hands()
            for number in range(messages):
                await wire.write(message(rng, 10_000 + number) + b"\n")
                if number % 50 == 49:
                    await wire.ask("ping", limit_s=40)
            await wire.ask("ping", limit_s=40)
            answered, found = len(wire.unasked), leaks(wire)
            code = await wire.close_stdin()
            said = await wire.stderr()
        if code != 0 or "Traceback" in said:
            found.append(f"ended with {code}: {said[-2000:]}")
    return answered, found


def main() -> int:
    parser = argparse.ArgumentParser(description="random JSON-RPC over stdio")
    parser.add_argument("--messages", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    answered, found = asyncio.run(fuzz(given.messages, given.seed))
    print(f"{given.messages} messages, seed {given.seed}: {answered} answered, {len(found)} faults")
    for line in found[:20]:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
